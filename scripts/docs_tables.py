"""Write tables, figures and the reference into README and docs/, so that a code host and the site show the same.

    python scripts/docs_tables.py

A page says where a table goes by two comments, and everything between them is replaced:

    <!-- from scripts/results/clients.md -->
    <!-- end -->

`mws_hf:settings` and `mws_hf:commands` in place of a file take a section of `reference.py`, which is written from the
code. `figures:works` takes a table of `checks/figures.py`, and `<!--=sets.bpe-->38 of 40<!--/-->` quotes
a figure of it. The title of a file is left out, its headings go below the page's heading before the
comment, and its links lead on from the page. tests/process/test_documents.py fails where a page differs from its rows.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import reference
from checks.figures import figures

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"^(<!-- from (\S+?)(?::(\w+))? -->\n)(?:(?!<!-- (?:from|end)).*\n)*(<!-- end -->)$", re.MULTILINE)
FIGURE = re.compile(r"(<!--=([\w.-]+)-->).*?(<!--/-->)")
_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)([^)\s]+)(\))")


def filled(page: str, folder: Path, root: Path = ROOT) -> str:
    """A page of a folder with its tables and figures as the rows have them."""

    def table(found: re.Match[str]) -> str:
        begin, source, section, end = found.groups()
        if source == "mws_hf":
            return f"{begin}\n{reference.SECTIONS[section]()}\n\n{end}"
        if source == "figures":
            return f"{begin}\n{known[section]}\n\n{end}"
        above = _HEADING.findall(page[: found.start()])
        text = re.sub(r"\A# .*\n", "", (root / source).read_text(encoding="utf-8"))
        text = _lower(text, len(above[-1]) if above else 1)
        return f"{begin}\n{_links(text, (root / source).parent, folder).strip()}\n\n{end}"

    known = figures() if "<!--" in page else {}
    return FIGURE.sub(lambda found: f"{found[1]}{known[found[2]]}{found[3]}", PLACE.sub(table, page))


def _lower(text: str, above: int) -> str:
    """Text whose highest heading is one below a heading of level `above`."""
    levels = [len(marks) for marks in _HEADING.findall(text)]
    more = above + 1 - min(levels, default=above + 1)
    return _HEADING.sub(lambda found: "#" * (len(found[1]) + more) + " ", text)


def _links(text: str, source: Path, folder: Path) -> str:
    """Text of one folder with its relative links leading on from another."""

    def link(found: re.Match[str]) -> str:
        return f"{found[1]}{Path(os.path.relpath(source / found[2], folder)).as_posix()}{found[3]}"

    return _LINK.sub(link, text)


def main() -> None:
    """Write every page whose tables have changed."""
    for path in [ROOT / "README.md", ROOT / "scripts/results/README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        new = filled(text, path.parent)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
