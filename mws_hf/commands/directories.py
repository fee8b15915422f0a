"""`mws export`, `check` and `pretrained`: a tokenizer for other programs: written, looked at, handed out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mws_hf.commands import options
from mws_hf.commands.options import Writing, argument, option
from mws_hf.commands.outputs import aligned, claim_file, claim_folder, counted, note, replaced, tell, tell_faults
from mws_hf.errors import MissingTokenizerError, MwSError, printable

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

    from mws_hf.check import Report

Format = Literal["gguf", "tiktoken", "byte-level", "notebook"]


def export(
    tokenizer: str = options.TOKENIZER,
    output: Path = option("What to write: a file for gguf, else a folder.", names="--output -o"),
    *,
    form: Format = option(
        "gguf: llama.cpp; byte-level: from characters, or with another --pattern; notebook: of the paper.",
        names="--format",
    ),
    pattern: str | None = option(
        "Of byte-level: another split pattern, such as llama3 [default: the one there].", None
    ),
    writing: Writing,
) -> None:
    """Write a tokenizer for other clients; one that a format cannot carry exactly is refused, with the reason.

    Before anything is written, ids and texts are compared with `tokenizers` on a sample: those of gguf with llama.cpp
    (`pip install llama-cpp-python`), those of tiktoken with tiktoken. gguf and tiktoken take byte-level tokenizers.

    For example:

        mws export out/russian --format byte-level --pattern llama3 -o out/russian-bytes

        mws export out/russian-bytes --format gguf -o russian.gguf

        mws export out/imported --format notebook --output notebook/
    """
    if pattern is not None and form != "byte-level":
        raise MwSError("--pattern goes with --format byte-level; the other formats keep the pattern there")
    from mws_hf.tokenizer.opened import open_tokenizer

    opened = open_tokenizer(tokenizer)
    folder = opened.folder or Path()
    read = [*([opened.place] if opened.place else []), *([folder, *folder.glob("*")] if opened.folder else [])]
    claim = claim_file if form == "gguf" else claim_folder
    claim(output, read, force=writing.force)
    if form == "notebook":
        size, remark = _to_notebook(opened.backend, output)
    elif form == "byte-level":
        size, remark = _to_byte_level(opened.backend, folder, output, pattern)
    else:
        size, remark = _to_client(opened.backend, folder, output, form, Path(tokenizer).resolve().name)
    if remark and not writing.quiet:
        note(remark)
    result = {"output": str(output), "format": form, "tokens": size, "note": remark}
    tell(result, f"{output}: {counted(size, 'token')}, {form}", writing.as_json)


def _to_notebook(backend: Backend, output: Path) -> tuple[int, str]:
    from mws_hf.text.pattern import GPT4_PATTERN
    from mws_hf.tokenizer.backend import pattern_of
    from mws_hf.tokenizer.notebook import VOCABULARY_FILE, export_notebook

    with replaced(output, VOCABULARY_FILE) as stage:
        export_notebook(backend, stage)
    own = "its split pattern is not the notebook's: import_notebook reads it from merges.json, the notebook does not"
    return backend.get_vocab_size(), "" if pattern_of(backend) == GPT4_PATTERN else own


def _to_byte_level(old: Backend, directory: Path, output: Path, pattern: str | None) -> tuple[int, str]:
    from mws_hf.text.sample_texts import sample_texts
    from mws_hf.tokenizer.export import compare_ids, to_byte_level_backend
    from mws_hf.tokenizer.file import chat_templates, load_settings, save_backend
    from mws_hf.tokenizer.layout import CONFIG_FILE
    from mws_hf.tokenizer.links import file_inside

    new = to_byte_level_backend(old, pattern)
    found = compare_ids(old, sample_texts(), lambda text: new.encode(text, add_special_tokens=False).ids)
    config = directory / CONFIG_FILE
    settings = load_settings(file_inside(directory, CONFIG_FILE)) if config.is_file() else {}  # they are copied
    if templates := chat_templates(directory, settings):
        named = [{"name": name, "template": text} for name, text in templates.items()]
        settings["chat_template"] = templates["default"] if templates.keys() == {"default"} else named
    with replaced(output) as stage:
        save_backend(stage, new, settings)
    tell_faults(output)
    shown = f", such as {found.ids[0][:60]!r}" if found.ids else ""
    return new.get_vocab_size(), f"ids differ on {len(found.ids):,} of {found.texts:,} texts of the sample{shown}"


def _to_client(backend: Backend, folder: Path, output: Path, form: Format, name: str) -> tuple[int, str]:
    from mws_hf.text.sample_texts import sample_texts
    from mws_hf.tokenizer.export import MODULE_FILE, write_gguf, write_tiktoken
    from mws_hf.tokenizer.file import chat_templates, load_settings, roles_in
    from mws_hf.tokenizer.layout import CONFIG_FILE

    if form == "gguf":
        settings = load_settings(folder / CONFIG_FILE)
        roles = {role: token for role, token in roles_in(settings).items() if isinstance(token, str)}
        found = write_gguf(backend, roles, output, sample_texts(), name, chat_templates(folder, settings))
        reader = "llama-cpp-python"
    else:
        with replaced(output, MODULE_FILE) as stage:
            found = write_tiktoken(backend, stage, sample_texts(), name)
        reader = "tiktoken"
    if found is None:
        return backend.get_vocab_size(), f"not compared, for {reader} is not installed: pip install {reader}"
    return backend.get_vocab_size(), f"{reader} gives the same ids on all {found.texts:,} texts of the sample"


def check_command(
    tokenizer: str = options.TOKENIZER,
    repair: bool = option("First mend what a stock class saved or lost; ids never change.", False),
    as_json: bool = options.JSON,
) -> None:
    """Tell where a directory can go: lost text, traps, versions, and which clients read it rightly.

    Exits with 0 when nothing is wrong, with 1 when something gives wrong ids, loses text or fails to load somewhere.

    For example:

        mws check out/russian

        mws check Qwen/Qwen3-0.6B --json

        mws check checkpoints/last --repair
    """
    from mws_hf import check as checking
    from mws_hf.tokenizer.places import is_repository, tokenizer_folder

    if repair and is_repository(tokenizer):
        raise MwSError(
            f"{tokenizer}: lies on the Hub, where nothing can be repaired; fetch it with `hf download {tokenizer} "
            f"--local-dir DIR`, run `mws check DIR --repair`, and upload it with `hf upload {tokenizer} DIR`"
        )
    folder = tokenizer_folder(tokenizer)
    done = checking.repair(folder) if repair else []
    try:
        report = checking.check(folder, tokenizer if is_repository(tokenizer) else None)
    except MissingTokenizerError:
        raise
    except MwSError as error:  # damaged: not a misuse of the command
        report = checking.Report({}, [checking.Finding("error", "damaged", str(error))], [])
    lines = [*(done or ["nothing to repair"] * repair), *_report_lines(report)]
    tell(checking.as_values(report, done), "\n".join(map(printable, lines)), as_json)
    if not report.ok:
        raise SystemExit(1)


def _report_lines(report: Report) -> Iterator[str]:
    """Yield the lines of a report for people: facts, findings, and the verdict on each program."""
    for name, value in report.facts.items():
        yield f"{name.replace('_', ' '):<20}{'no' if value in (None, False) else value}"
    if report.ok:
        how = "comes back" if not report.facts.get("normalizer") else "comes back as normalized"
        wrong = any(fact.verdict == "wrong" for fact in report.clients)
        least = "" if report.findings else "; other programs, see below" if wrong else "; nothing is wrong"
        yield f"every text of the sample {how}{least}"
    for finding in report.findings:
        yield f"{finding.level}: {finding.message}"
    for fact in report.clients:
        remark = f" ({fact.remark})" if fact.remark else ""
        yield f"{fact.verdict:<8}{fact.client}{remark}"


def pretrained_command(
    name: str | None = argument("The tokenizer to write [default: list all].", None),
    output: Path | None = option("The folder to write [default: NAME, in this folder].", None, names="--output -o"),
    *,
    writing: Writing,
) -> None:
    """List the trained tokenizers of this project, or write one of them into a folder.

    They come with the package; every command takes their names.

    For example:

        mws pretrained

        mws pretrained mws-ru-32k -o out/russian
    """
    from mws_hf.tokenizer.places import pretrained_folder, ready_made

    if name is not None:
        target = output or Path(name)
        folder, entry = pretrained_folder(name), ready_made()[name]
        claim_folder(target, folder, force=writing.force)
        with replaced(target) as stage:
            shutil.copytree(folder, stage, dirs_exist_ok=True)
        found = {"directory": str(target), "license": entry["license"]}
        tell(found, f"{target}: {name}, {entry['entries']:,} entries, {entry['license']}", writing.as_json)
        return
    if output is not None:
        raise MwSError("--output is for one tokenizer; name it: mws pretrained NAME -o DIR")
    rows = list(ready_made().values())
    cells = [
        [row["name"], " ".join(row["languages"]), f"{row['entries']:,}", f"{row['f1']:.3f}" if row["f1"] else "",
         f"{row['tokens_per_word']:.3f}", row["license"]]
        for row in rows
    ]  # fmt: skip
    table = aligned([["name", "languages", "entries", "F1", "tokens/word", "licence"], *cells])
    tell(rows, f"{table}\ndocs/pretrained.md says what the figures are of", writing.as_json)
