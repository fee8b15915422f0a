"""What commands write: no file that they read, numbers with their nouns, tables aligned."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from mws_hf.errors import MwSError

PathLike = str | os.PathLike[str]


def refuse_overwriting(outputs: Iterable[PathLike], *inputs: PathLike | Sequence[PathLike] | None) -> None:
    """Refuse a command whose output is one of its inputs: the same file or folder, through links as well.

    Args:
        outputs: what will be written, files or folders, there already or not.
        *inputs: what will be read: names, globs, "-", lists of these, or None for an option that was not given.

    Raises:
        MwSError: the first input that is also an output.

    >>> refuse_overwriting(["counts.parquet"], ["corpus.txt", "-"], None)
    >>> refuse_overwriting(["."], "./")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: ./: is read and would be written over; name another output
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


def tokenizer_files(directory: Path) -> list[Path]:
    """List a directory itself and those of its files that saving a tokenizer there writes or removes."""
    from mws_hf.tokenizer.portable import STALE_FILES, STOCK_MODULE
    from mws_hf.tokenizer.training_record import EVIDENCE_FILE, FILE

    return files_in(
        directory,
        (
            "tokenizer.json",
            "tokenizer_config.json",
            f"{STOCK_MODULE}.py",
            "README.md",
            FILE,
            EVIDENCE_FILE,
            *STALE_FILES,
        ),
    )


def _identity(path: PathLike) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


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
    """Tell whether a cell is a number, or one written out with its unit, or left empty."""
    if isinstance(value, str):
        return value == "" or value.lstrip("+-")[:1].isdigit()
    return isinstance(value, int | float)
