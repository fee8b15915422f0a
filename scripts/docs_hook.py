"""What `mkdocs build` changes in the pages: README as the first one, help of commands, settings, links, examples.

The pages are written for GitHub. On the site a picture of scripts/results is copied to the pages, and a link to
another file of the repository becomes its path, for the site has only the pages. Doctests are fenced.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

from mws_hf.commands.app import COMMANDS, parser_of
from mws_hf.learn.settings import SETTINGS
from mws_hf.text.markdown import markdown_table

RESULTS = Path(__file__).parent / "results"
PLACE_OF_SETTINGS = "<!-- the settings of a training -->"
PLACE_OF_COMMANDS = "<!-- the help of every command -->"
_DOCTEST = re.compile(r"(?:^|(?<=\n\n))(>>> (?:.+\n?)+)")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Let pages show pictures of scripts/results as results/NAME.png."""
    for picture in sorted(RESULTS.glob("*.png")):
        files.append(File.generated(config, f"results/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Take README as the first page, lead links from the site, and put the help of every command where it belongs."""
    if page.file.src_uri == "index.md":
        markdown = (RESULTS.parents[1] / "README.md").read_text(encoding="utf-8").replace("](docs/", "](../docs/")
        markdown = re.sub(r"\]\((?![a-z]+:|\.\./|#)", "](../", markdown).replace("](../docs/", "](")
    markdown = links_of_the_site(markdown, posixpath.join("docs", page.file.src_uri))
    markdown = markdown.replace(PLACE_OF_SETTINGS, settings_table())
    if PLACE_OF_COMMANDS not in markdown:
        return markdown
    sections = [f"## mws {name}\n\n```text\n{help_of(name)}\n```\n" for name in COMMANDS]
    return markdown.replace(PLACE_OF_COMMANDS, "\n".join(sections))


def settings_table() -> str:
    """Return the arguments of `MwSTrainer` as a table."""
    rows = [[f"`{name}`", setting.argument_help()] for name, setting in SETTINGS.items()]
    return "The arguments of `MwSTrainer`:\n\n" + markdown_table(["argument", "what it does"], rows, numbers=False)


def links_of_the_site(markdown: str, page: str) -> str:
    """A page, named by its path in the repository, without links that leave docs/.

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


def help_of(command: str) -> str:
    """What `mws COMMAND --help` prints."""
    os.environ["COLUMNS"] = "100"
    return parser_of(command).format_help().strip()


class FencedDoctests(griffe.Extension):
    """Put each paragraph of a docstring that begins with `>>>` between fences, for mkdocstrings."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object as it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(
                lambda found: f"```pycon\n{found[1].rstrip()}\n```\n", obj.docstring.value
            )
