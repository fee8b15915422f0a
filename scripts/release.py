"""Check that a tag, the package's version, the changelog and the citation file agree; this script needs only Python.

    python scripts/release.py v0.2.0

The script prints the release notes, which are the changelog's section of this version. If something disagrees, it
prints one line per disagreement, and the exit code is 1.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def found(pattern: str, file: str, root: Path) -> str:
    """Return the first group of a pattern's first match in a file, or "" if there is no match."""
    match = re.search(pattern, (root / file).read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else ""


def disagreements(tag: str, root: Path = ROOT) -> list[str]:
    """Write a line for each file whose version differs from the tag, and a line if the release dates differ."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"{tag!r} is not the tag of a release; pass a tag such as v0.2.0"]
    version = tag.removeprefix("v")
    said = {
        "pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"],
        "mws_hf/__init__.py": found(r'^__version__ = "(.*)"$', "mws_hf/__init__.py", root),
        "CITATION.cff": found(r"^version: (\S+)$", "CITATION.cff", root),
        "CHANGELOG.md": found(r"^## \[(\d\S*)\] - ", "CHANGELOG.md", root),
    }
    wrong = [
        f"{file} has {'version ' + other if other else 'no version'}, but the tag has {version}"
        for file, other in said.items()
        if other != version
    ]
    dates = {
        "CITATION.cff": found(r'^date-released: "(.*)"$', "CITATION.cff", root),
        "CHANGELOG.md": found(r"^## \[\d\S*\] - (\d{4}-\d\d-\d\d)$", "CHANGELOG.md", root),
    }
    if len(set(dates.values())) > 1 or "" in dates.values():
        wrong.append(f"the release dates differ or are missing: {dates}")
    return wrong


def notes(version: str, root: Path = ROOT) -> str:
    """Return the changelog's section of a version without its heading."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## \[{re.escape(version)}\] .*\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return section[1].strip("\n") if section else ""


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: python {sys.argv[0]} TAG, for example v0.5.0; it lists what disagrees, and prints the notes")
    if wrong := disagreements(sys.argv[1]):
        sys.exit("\n".join(wrong))
    print(notes(sys.argv[1].removeprefix("v")))
