"""What commands write: no file that they read, numbers with their nouns, tables aligned."""

from __future__ import annotations

import glob
import json
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mws_hf.atomic import check_output
from mws_hf.errors import MwSError

if TYPE_CHECKING:
    from mws_hf.tokenizer.stock import Tokenizer

PathLike = str | os.PathLike[str]
Inputs = PathLike | Sequence[PathLike] | None


def refuse_overwriting(outputs: Iterable[PathLike], *inputs: Inputs) -> None:
    """Refuse a command whose output is one of its inputs: the same file or folder, through links as well.

    Inputs are names, globs, "-", lists of these, or None for an option that was not given.
    """
    there = {_identity(path): path for path in outputs if os.path.exists(path)}
    for given in inputs:
        for name in [given] if isinstance(given, (str, os.PathLike)) else given or []:
            text = os.fspath(name)
            for path in [text] if os.path.exists(text) else glob.glob(text, recursive=True) if there else []:
                if _identity(path) in there:
                    raise MwSError(f"{path}: is read and would be written over; name another output")


def files_in(directory: Path, names: Iterable[str]) -> list[Path]:
    """List a directory itself and those of its files that some globs name."""
    return [directory, *(path for name in names for path in directory.glob(name))]


_OURS = ("tokenizer.json", "tokenizer_config.json", "ids.json", "retired.json", "trim.json", "stock_tokenizer.py")
"""Files that `mws` writes anew where the record beside them is of the tokenizer there; besides the record itself."""
_OF_TOKENIZERS = (
    *(*_OURS, "chat_template.jinja", "chat_template.json", "additional_chat_templates/*.jinja", "added_tokens.json"),
    *("special_tokens_map.json", "vocab.json", "merges.txt", "tokenizer.model", "vocabulary.json", "merges.json"),
)
_REMADE = ("mws_training.json", "mws_evidence.pq", "README.md")
_OF_MODELS = ("config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json", "*.bin")


def claim_folder(
    output: Path, *inputs: Inputs, beside: Path | None = None, model: bool = False, anew: bool = True
) -> None:
    """Refuse a folder that cannot be written, is read, or where files would be replaced that `mws` did not write.

    What has nothing to do with tokenizers stays, and an edited README.md is kept. A tokenizer may be written anew
    (unless `anew` is False) where mws_training.json is the record of its merges. Any other one, its chat template, or,
    where a `model` is written, a model is refused. Files equal to those of the folder `beside` may be there.
    """
    refuse_overwriting(files_in(output, (*_OF_TOKENIZERS, *_REMADE)), *inputs)
    check_output(output, folder=True)
    patterns = (*_OF_TOKENIZERS, *(_OF_MODELS if model else ()), *(() if anew else ("README.md",)))
    there = [path for name in patterns for path in sorted(output.glob(name)) if path.is_file()]
    ours = set(_OURS) if there and anew and not model and _is_recorded(output) else set()
    copied = [path for path in there if not (anew and path.name == "tokenizer.json") and _is_copy(path, output, beside)]
    foreign = [path for path in there if path.name not in ours and path not in copied]
    if foreign:
        names = ", ".join(str(path.relative_to(output)) for path in foreign[:3])
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise MwSError(f"{output}: holds {names}{more}, not written by this command; name another folder or move them")


def _is_recorded(folder: Path) -> bool:
    from mws_hf.tokenizer.file import read_tokenizer
    from mws_hf.tokenizer.training_record import belongs

    try:
        return belongs(folder, read_tokenizer(folder / "tokenizer.json"))
    except MwSError:
        return not (folder / "tokenizer.json").exists() and (folder / "mws_training.json").exists()


def _is_copy(path: Path, output: Path, beside: Path | None) -> bool:
    twin = None if beside is None else beside / path.relative_to(output)
    return twin is not None and twin.is_file() and twin.read_bytes() == path.read_bytes()


def tell_faults(output: Path) -> None:
    """Write a line to stderr for each error that `mws check` finds in a directory that a command wrote."""
    from mws_hf.tokenizer.check import check

    for finding in check(output).findings:
        if finding.level == "error":
            sys.stderr.write(f"left to do ({finding.trap}): {finding.message}\n")


def save_card(
    output: Path, backend: Tokenizer, data: str, settings: Mapping[str, Any] | None = None, **figures: Any
) -> None:
    """Write the card of a tokenizer that a command made, and the facts (see `CardFacts`) into its record."""
    from mws_hf.cards.card import keep_card, trained_card
    from mws_hf.cards.facts import CardFacts

    facts = CardFacts(data=data, command=shlex.join(["mws", *sys.argv[1:]]), **figures)
    keep_card(output, backend, trained_card(output.resolve().name, backend, facts, settings or {}))


def _identity(path: PathLike) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def tell(result: object, text: str, as_json: bool) -> None:
    """Print what a command found: for people, or for programs with --json."""
    typer.echo(json.dumps(result, ensure_ascii=False) if as_json else text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun.

    >>> counted(1, "merge"), counted(2000, "merge"), counted(3, "entry", "entries")
    ('1 merge', '2,000 merges', '3 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def aligned(rows: Sequence[Sequence[object]]) -> str:
    """Write rows as an aligned text table, the header first; numbers to the right, with four significant digits.

    >>> print(aligned([["left", "pmi", "share"], ["чи", 2.12345, "5 %"], ["п", 13, "12 %"]]))
    left    pmi  share
    чи    2.123    5 %
    п        13   12 %
    """
    cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    numeric = [all(_is_figure(row[i]) for row in rows[1:]) for i in range(len(widths))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    )


def _is_figure(value: object) -> bool:
    if isinstance(value, str):
        return value == "" or value.lstrip("+-")[:1].isdigit()
    return isinstance(value, int | float)
