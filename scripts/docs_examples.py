"""Show the doctests of docstrings as code: what mkdocstrings reads has them fenced."""

from __future__ import annotations

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"(?:^|(?<=\n\n))(>>> (?:.+\n?)+)")


class FencedDoctests(griffe.Extension):
    """Put each paragraph that begins with `>>>` between fences."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object as it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = DOCTEST.sub(
                lambda found: f"```pycon\n{found[1].rstrip()}\n```\n", obj.docstring.value
            )
