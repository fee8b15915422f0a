"""Tables in Markdown, for cards, evaluations and reports; it knows nothing of what they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    r"""Write a table: the first column aligned left, the others right, as numbers are, or left without `numbers`.

    >>> print(markdown_table(["a", "b|c"], [["x", "1"]]))
    | a | b\|c |
    |---|---:|
    | x | 1 |
    """
    rule = "|---" + ("|---:" if numbers else "|---") * (len(header) - 1) + "|"
    first, *others = ["| " + " | ".join(map(cell, row)) + " |" for row in (header, *rows)]
    return "\n".join([first, rule, *others])


def cell(text: str) -> str:
    r"""Write a text so that it can stand within a table.

    >>> cell("a|b\nc")
    'a\\|b c'
    """
    return text.replace("|", "\\|").replace("\n", " ")
