"""Figures between people and commands: '2G' read, '1 merge' written, tables aligned. It computes none."""

from __future__ import annotations

from collections.abc import Sequence

from mws_hf.errors import MwSError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_bytes(text: str, option: str) -> int:
    """A number of bytes, plain or with K, M, G or T (of 1024).

    Raises:
        MwSError: it is neither, or zero.

    >>> parse_bytes("2G", "--memory-cap"), parse_bytes("1.5m", "--memory-cap"), parse_bytes("64", "--shard-size")
    (2147483648, 1572864, 64)
    """
    number = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = number[-1:] if number[-1:].isalpha() else ""
    try:
        size = float(number.removesuffix(unit))
        return _positive(int(size * _UNITS[unit]))
    except (ValueError, KeyError, OverflowError):
        raise MwSError(f"{option} {text!r}: give a number of bytes above 0, such as 500M or 2G") from None


def _positive(size: int) -> int:
    if size < 1:
        raise ValueError(size)
    return size


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "merge"), counted(2000, "merge"), counted(3, "entry", "entries")
    ('1 merge', '2,000 merges', '3 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def aligned(rows: Sequence[Sequence[object]]) -> str:
    """Rows as an aligned text table, the first being the header; numbers to the right, with four significant digits.

    >>> print(aligned([["left", "pmi"], ["чи", 2.12345], ["п", 13]]))
    left    pmi
    чи    2.123
    п        13
    """
    cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    numeric = [all(isinstance(row[i], int | float) for row in rows[1:]) for i in range(len(widths))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    )
