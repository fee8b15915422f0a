"""Write tables in Markdown, for model cards, evaluations and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    r"""Write a table. The first column is aligned left; the others are aligned right if they have `numbers`, else left.

    >>> print(markdown_table(["a", "b|c"], [["x", "1"]]))
    | a | b\|c |
    |---|---:|
    | x | 1 |
    """
    rule = "|---" + ("|---:" if numbers else "|---") * (len(header) - 1) + "|"
    first, *others = ["| " + " | ".join(map(cell, row)) + " |" for row in (header, *rows)]
    return "\n".join([first, rule, *others])


def cell(text: str) -> str:
    r"""Escape a text for a cell of a table.

    >>> cell("a|b\nc")
    'a\\|b c'
    """
    return text.replace("|", "\\|").replace("\n", " ")
