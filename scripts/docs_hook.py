"""Adapt the pages, which are written for GitHub, when `mkdocs build` builds the site.

README becomes the first page. Pictures of scripts/results are copied to the site. Because the site has only the pages,
a link to any other file of the repository is replaced by the path of the file. Doctests in docstrings are put into
fenced blocks.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

RESULTS = Path(__file__).parent / "results"
_DOCTEST = re.compile(r"(?:^|(?<=\n\n))(>>> (?:.+\n?)+)")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pictures of scripts/results to the site as results/NAME.png."""
    for picture in sorted(RESULTS.glob("*.png")):
        files.append(File.generated(config, f"results/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the first page by README, and adapt the links of a page to the site."""
    if page.file.src_uri == "index.md":
        markdown = (RESULTS.parents[1] / "README.md").read_text(encoding="utf-8").replace("](docs/", "](../docs/")
        markdown = re.sub(r"\]\((?![a-z]+:|\.\./|#)", "](../", markdown).replace("](../docs/", "](")
    return links_of_the_site(markdown, posixpath.join("docs", page.file.src_uri))


def links_of_the_site(markdown: str, page: str) -> str:
    """Replace the links of a page that lead outside of docs/; `page` is its path in the repository.

    >>> links_of_the_site("![F1](../scripts/results/f1.png) of [cards](../model_cards/) [x](../docs/x.md)", "docs/a.md")
    '![F1](results/f1.png) of cards (`model_cards`) [x](../docs/x.md)'
    """

    def changed(found: re.Match[str]) -> str:
        picture, text, target, _ = found.groups()
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if place.startswith("docs/"):
            return found[0]
        if picture:
            beside = posixpath.relpath(f"docs/results/{posixpath.basename(place)}", posixpath.dirname(page))
            return f"![{text}]({beside})"
        return f"{text} (`{place}`)" if place not in text else text

    return _LINK.sub(changed, markdown)


class FencedDoctests(griffe.Extension):
    """Put each paragraph of a docstring that begins with `>>>` into a fenced block, for mkdocstrings."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object when it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(
                lambda found: f"```pycon\n{found[1].rstrip()}\n```\n", obj.docstring.value
            )
