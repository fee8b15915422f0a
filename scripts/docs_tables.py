"""Copy the tables of scripts/results into README and docs/, so that they read the same on GitHub as on the site.

    python scripts/docs_tables.py

A page says where a table goes by two comments, and everything between them is replaced:

    <!-- from scripts/results/clients.md -->
    <!-- end -->

`scripts/results/README.md:reading` takes the part of a file between `<!-- --8<-- [start:reading] -->` and
`[end:reading]`. The title of a file is left out, its headings go below the page's heading before the comment, and its
links are told from the page. tests/process/test_documents.py fails where a page is behind its tables.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"^(<!-- from (\S+?)(?::(\w+))? -->\n)(?:(?!<!-- (?:from|end)).*\n)*(<!-- end -->)$", re.MULTILINE)
_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)([^)\s]+)(\))")


def filled(page: str, folder: Path, root: Path = ROOT) -> str:
    """A page of a folder with its tables as they are now."""

    def table(found: re.Match[str]) -> str:
        begin, source, section, end = found.groups()
        above = _HEADING.findall(page[: found.start()])
        text = _lower(_part((root / source).read_text(encoding="utf-8"), section), len(above[-1]) if above else 1)
        return f"{begin}\n{_links(text, (root / source).parent, folder).strip()}\n\n{end}"

    return PLACE.sub(table, page)


def _part(text: str, section: str | None) -> str:
    """A section of a file; or all of it but its title."""
    if section is None:
        return re.sub(r"\A# .*\n", "", text)
    return text.split(f"<!-- --8<-- [start:{section}] -->\n")[1].split(f"<!-- --8<-- [end:{section}] -->")[0]


def _lower(text: str, above: int) -> str:
    """Text whose highest heading is one below a heading of level `above`."""
    levels = [len(marks) for marks in _HEADING.findall(text)]
    more = above + 1 - min(levels, default=above + 1)
    return _HEADING.sub(lambda found: "#" * (len(found[1]) + more) + " ", text)


def _links(text: str, source: Path, folder: Path) -> str:
    """Text of one folder with its relative links told from another."""

    def told(found: re.Match[str]) -> str:
        return f"{found[1]}{Path(os.path.relpath(source / found[2], folder)).as_posix()}{found[3]}"

    return _LINK.sub(told, text)


def main() -> None:
    """Write every page whose tables have changed."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        new = filled(text, path.parent)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
