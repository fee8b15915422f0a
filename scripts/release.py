"""Check that a tag, the package's version, the changelog and the citation agree; needs nothing but Python.

    python scripts/release.py v0.2.0

Prints what a release says of itself (the changelog's section); exit code 1 and a line for each disagreement.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def found(pattern: str, file: str, root: Path) -> str:
    """The first group of a pattern's first line in a file; "" for none."""
    match = re.search(pattern, (root / file).read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else ""


def disagreements(tag: str, root: Path = ROOT) -> list[str]:
    """A line for each place that says another version, or date, than the tag and the changelog."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"{tag!r} is no tag of a release, such as v0.2.0"]
    version = tag.removeprefix("v")
    said = {
        "pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"],
        "mws_hf/__init__.py": found(r'^__version__ = "(.*)"$', "mws_hf/__init__.py", root),
        "CITATION.cff": found(r"^version: (\S+)$", "CITATION.cff", root),
        "CHANGELOG.md": found(r"^## \[(\d\S*)\] - ", "CHANGELOG.md", root),
    }
    wrong = [
        f"{file} says {other or 'no version'}, the tag {version}" for file, other in said.items() if other != version
    ]
    dates = {
        "CITATION.cff": found(r'^date-released: "(.*)"$', "CITATION.cff", root),
        "CHANGELOG.md": found(r"^## \[\d\S*\] - (\d{4}-\d\d-\d\d)$", "CHANGELOG.md", root),
    }
    if len(set(dates.values())) > 1 or "" in dates.values():
        wrong.append(f"the dates of release differ or are missing: {dates}")
    return wrong


def notes(version: str, root: Path = ROOT) -> str:
    """The changelog's section of a version, without its title."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## \[{re.escape(version)}\] .*\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return section[1].strip("\n") if section else ""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} TAG")
    if wrong := disagreements(sys.argv[1]):
        sys.exit("\n".join(wrong))
    print(notes(sys.argv[1].removeprefix("v")))
