"""`mws check`: find out where a tokenizer loads correctly, and what is wrong with it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mws_hf.commands.options import add_json, add_tokenizer
from mws_hf.commands.outputs import show
from mws_hf.commands.parser import Parser
from mws_hf.errors import MissingTokenizerError, MwSError, printable

if TYPE_CHECKING:
    from mws_hf.check import Report

HELP = """
Check whether a tokenizer loses text or has other faults, and list the libraries that read it correctly.

The exit code is 0 if nothing is wrong, and 1 if something gives wrong ids, loses text or fails to load somewhere.

For example:

    mws check my-tokenizer

    mws check Qwen/Qwen3-0.6B --json

    mws check checkpoints/last --repair
"""

_FACT_NAMES = {"hardly_used": "rarely used tokens"}
_VERDICTS = {
    "right": "correct",
    "export": "correct after an export",
    "refuses": "cannot use it",
    "wrong": "wrong ids or text, without an error",
    "unknown": "not tested",
}
"""How the verdicts of `ClientFact` are printed; `--json` has the short ones."""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add_tokenizer(parser)
    repair = "First repair the files that a standard class saved wrongly or lost. Ids never change."
    parser.add_argument("--repair", action="store_true", help=repair)
    add_json(parser.output)


def run(given: Namespace) -> None:
    """Check and print the report; exit with 1 if something is wrong."""
    from mws_hf import check as checking
    from mws_hf.tokenizer.places import is_repository, tokenizer_place

    tokenizer, repair = given.tokenizer, given.repair
    if repair and is_repository(tokenizer):
        raise MwSError(
            f"{tokenizer}: is on the Hub, where it cannot be repaired; download it with `hf download {tokenizer} "
            f"--local-dir DIR`, run `mws check DIR --repair`, and upload it with `hf upload {tokenizer} DIR`"
        )
    place = tokenizer_place(tokenizer)
    done = checking.repair(place.parent if place.is_file() else place) if repair else []
    try:
        report = checking.check(place, tokenizer if is_repository(tokenizer) else None)
    except MissingTokenizerError:
        raise
    except MwSError as error:  # a damaged tokenizer is a finding, not a misuse of the command
        report = checking.Report({}, [checking.Finding("error", "damaged", str(error))], [])
    lines = [*(done or ["nothing to repair"] * repair), *_report_lines(report)]
    show(checking.as_values(report, done), "\n".join(map(printable, lines)), given)
    if not report.ok:
        raise SystemExit(1)


def _report_lines(report: Report) -> Iterator[str]:
    """Yield the printed lines of a report: facts, findings, and the verdict on each program."""
    for name, value in report.facts.items():
        shown = "no" if value in (None, False) else "yes" if value is True else value
        shown = f"{shown:,}" if isinstance(shown, int) else shown
        yield f"{_FACT_NAMES.get(name, name.replace('_', ' ')):<20}{shown}"
    if report.ok:
        what = "its normalized form" if report.facts.get("normalizer") else "the original"
        wrong = any(fact.verdict == "wrong" for fact in report.clients)
        least = "" if report.findings else ", but not in all programs" if wrong else "; nothing is wrong"
        yield f"every sample text decodes to {what}{least}"
    for finding in report.findings:
        yield f"{finding.level}: {finding.message}"
    if report.clients:
        yield "how each program reads it:"
    for fact in report.clients:
        remark = f" ({fact.remark})" if fact.remark else ""
        yield f"  {fact.client}: {_VERDICTS[fact.verdict]}{remark}"
