"""Write tables in Markdown, for model cards, evaluations and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    r"""Return a table in Markdown; characters in cells that would break it are escaped.

    Args:
        header: the titles of the columns.
        rows: the cells of each row.
        numbers: whether the columns after the first one are aligned right, as numbers are; otherwise all are aligned
            left.

    >>> print(markdown_table(["a", "b|c"], [["x", "1"]]))
    | a | b\|c |
    |---|---:|
    | x | 1 |
    """
    rule = "|---" + ("|---:" if numbers else "|---") * (len(header) - 1) + "|"
    first, *others = ["| " + " | ".join(map(cell, row)) + " |" for row in (header, *rows)]
    return "\n".join([first, rule, *others])


def cell(text: str) -> str:
    r"""Return a text as it is written in a cell of a table, with ``|`` and line ends replaced.

    >>> cell("a|b\nc")
    'a\\|b c'
    """
    return text.replace("|", "\\|").replace("\n", " ")
