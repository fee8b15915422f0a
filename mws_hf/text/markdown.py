"""Write tables in Markdown, for model cards, evaluations and comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"[\\`*~\[<]|&(?=[#\w])|(?<!\w)_|_(?!\w)")


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


def plain(text: str) -> str:
    r"""Return a text in which Markdown finds no markup, such as a name of files; in tables `cell` is needed, too.

    >>> print(plain("ru/*.gz, en/*.gz, my_text.txt"))
    ru/\*.gz, en/\*.gz, my_text.txt
    """
    return _MARKUP.sub(r"\\\g<0>", text)


def code(text: str) -> str:
    """Return a text as inline code, between more backticks than the text has in a row.

    >>> code("mws train a.txt"), code("a`b")
    ('`mws train a.txt`', '``a`b``')
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " if "`" in text[:1] + text[-1:] else ""
    return f"{fence}{space}{text}{space}{fence}"
