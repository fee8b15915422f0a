"""`mws check` and `mws repair`: where a tokenizer directory can go, and mending one that lost something on its way."""

from __future__ import annotations

import typer

from mws_hf.commands.options import Json, Tokenizer
from mws_hf.errors import MissingTokenizerError, MwSError


def check_command(tokenizer: Tokenizer, as_json: Json = False) -> None:
    """Tell where a directory can go: lost text, traps, versions, and which clients read it rightly.

    Exits with 0 when nothing is wrong, with 1 when something gives wrong ids, loses text or fails to load somewhere.

    For example:

        mws check out/russian

        mws check Qwen/Qwen3-0.6B --json
    """
    from mws_hf.tokenizer import check as checking
    from mws_hf.tokenizer.hub import tokenizer_folder

    folder = tokenizer_folder(tokenizer)
    try:
        report = checking.check(folder)
    except MissingTokenizerError:
        raise
    except MwSError as error:  # damaged: not a misuse of the command
        report = checking.Report({}, [checking.Finding("error", "damaged", str(error))], [])
    if as_json:
        typer.echo(checking.as_json(report))
    else:
        for name, value in report.facts.items():
            typer.echo(f"{name.replace('_', ' '):<20}{'no' if value in (None, False) else value}")
        if report.ok:
            how = "comes back" if not report.facts.get("normalizer") else "comes back as normalized"
            wrong = any(fact.verdict == "wrong" for fact in report.clients)
            least = "" if report.findings else "; other programs, see below" if wrong else "; nothing is wrong"
            typer.echo(f"every text of the sample {how}{least}")
        for finding in report.findings:
            typer.echo(f"{finding.level}: {finding.message}")
        for fact in report.clients:
            remark = f" ({fact.remark})" if fact.remark else ""
            typer.echo(f"{fact.verdict:<8}{fact.client}{remark}")
    if not report.ok:
        raise typer.Exit(1)


def repair_command(tokenizer: Tokenizer) -> None:
    """Mend a directory that a stock class saved or that lost files: names, module, baked truncation; never ids.

    For example:

        mws repair checkpoints/last
    """
    from mws_hf.tokenizer.check import repair as mend
    from mws_hf.tokenizer.hub import is_repository, tokenizer_folder

    if is_repository(tokenizer):
        raise MwSError(
            f"{tokenizer}: lies on the Hub, where nothing can be repaired; fetch it with `hf download {tokenizer} "
            "--local-dir DIR`, repair DIR, and `mws push` it"
        )
    done = mend(tokenizer_folder(tokenizer))
    for line in done or ["nothing to repair"]:
        typer.echo(line)
