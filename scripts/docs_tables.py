"""Fill tables, figures and the reference into README and docs/, so that GitHub and the site show the same pages.

    python scripts/docs_tables.py

Two comments in a page mark the position of a table, and everything between them is replaced:

    <!-- from scripts/results/clients.md -->
    <!-- end -->

The text after `from` is one of these:

* a Markdown file. Its title, and the sentence at its end that says which command writes the file, are removed. Its
  headings are put below the page's last heading before the comment, and its links are changed to lead from the page to
  the same files;
* `mws_hf:settings` or `mws_hf:commands`, a section that `reference.py` writes from the code;
* `figures:works` or another name, a table of `checks/figures.py`.

A single figure of `checks/figures.py` is quoted as `<!--=sets.bpe-->38 of 40<!--/-->`. tests/process/test_documents.py
fails if a page differs from the raw results.
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
_TITLE_AND_WRITER = re.compile(r"\A# .*\n|^This page is written by .*\n\Z", re.MULTILINE)
_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)([^)\s]+)(\))")


def filled(page: str, folder: Path, root: Path = ROOT) -> str:
    """Return a page, which is in `folder`, with its tables and figures filled in."""

    def table(found: re.Match[str]) -> str:
        begin, source, section, end = found.groups()
        if source == "mws_hf":
            return f"{begin}\n{reference.SECTIONS[section]()}\n\n{end}"
        if source == "figures":
            return f"{begin}\n{_with_spaces(known[section])}\n\n{end}"
        above = _HEADING.findall(page[: found.start()])
        text = _TITLE_AND_WRITER.sub("", (root / source).read_text(encoding="utf-8"))
        text = _with_spaces(_lower(text, len(above[-1]) if above else 1))
        return f"{begin}\n{_links(text, (root / source).parent, folder).strip()}\n\n{end}"

    known = figures() if "<!--" in page else {}
    return FIGURE.sub(lambda found: f"{found[1]}{known[found[2]]}{found[3]}", PLACE.sub(table, page))


def _with_spaces(text: str) -> str:
    """Write a space before each percent sign, as the pages do."""
    return re.sub(r"(?<=\d)%", " %", text)


def _lower(text: str, above: int) -> str:
    """Shift the headings of a text so that the highest one is one level below a heading of level `above`."""
    levels = [len(marks) for marks in _HEADING.findall(text)]
    more = above + 1 - min(levels, default=above + 1)
    return _HEADING.sub(lambda found: "#" * (len(found[1]) + more) + " ", text)


def _links(text: str, source: Path, folder: Path) -> str:
    """Change the relative links of a text in the folder `source` so that they are correct in `folder`."""

    def link(found: re.Match[str]) -> str:
        return f"{found[1]}{Path(os.path.relpath(source / found[2], folder)).as_posix()}{found[3]}"

    return _LINK.sub(link, text)


def main() -> None:
    """Write every page whose tables or figures have changed."""
    for path in [ROOT / "README.md", ROOT / "scripts/results/README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        new = filled(text, path.parent)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
