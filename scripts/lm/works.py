"""Find where each novel and play begins in the text of `../shared/data`, so that whole works can be held out.

    python scripts/lm/works.py --data ../shared/data --sources CLONES

The text files hold one work after another and say nowhere where one ends. CLONES holds a git clone of each public
repository the text was taken from: `ELTeC-hun`, `ELTeC-deu`, `ELTeC-eng`, `RussianNovels`, `rusdracor`. Each line of a
text file is looked up among the lines of all works; a work begins at its first line. Writes
scripts/results/works.json: by text file, the number of each work's first line (0-based) and its name. No text.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mws_hf.atomic import write_text
from mws_hf.evaluate.running_text import read_lines

SOURCES = {
    "hun.eltec": ("ELTeC-hun", r"level1/.*\.xml"),
    "deu.eltec": ("ELTeC-deu", r"level1/.*\.xml"),
    "eng.eltec": ("ELTeC-eng", r"level1/.*\.xml"),
    "rus.novels": ("RussianNovels", r"corpus/.*\.txt"),
    "rus.drama": ("rusdracor", r"tei/.*\.xml"),
}
LETTERS = 60
"""Letters that two lines must share to be the same; white space and punctuation differ between a source and a text."""
FEWEST = 20
"""Fewer lines between two others of one work are quotations, not a work."""


def works_of(clone: Path, names: str) -> Iterator[tuple[str, str]]:
    """Name and raw text of each work of a clone, in the order of their paths; files the clone lacks are left out."""
    git = ["git", "-C", str(clone)]
    listed = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True, check=True)
    for path in sorted(listed.stdout.splitlines()):
        if re.fullmatch(names, path):
            text = subprocess.run([*git, "show", f"HEAD:{path}"], capture_output=True, check=False).stdout
            yield Path(path).stem, text.decode("utf-8", errors="replace")


def letters(text: str) -> str:
    """The letters of a text without markup, white space and punctuation.

    >>> letters("<p>Ах, да!</p>")
    'Ахда'
    """
    return re.sub(r"[\W\d_]+", "", re.sub(r"<[^>]*>", " ", text))


def first_lines(lines: list[str], works: dict[str, str]) -> list[tuple[int, str]]:
    """The number of the first line of each work, ascending.

    Args:
        lines: of a text file.
        works: letters of each work by name.
    """
    keys = [letters(line)[:LETTERS] for line in lines]
    wanted = {key for key in keys if len(key) == LETTERS}
    work_of: dict[str, str] = {}
    for name, text in works.items():
        for at in range(len(text) - LETTERS + 1):
            if (key := text[at : at + LETTERS]) in wanted:
                work_of.setdefault(key, name)
    found = [(number, work_of[key]) for number, key in enumerate(keys) if key in work_of]
    frequent = Counter(name for _, name in found)
    found = [(number, name) for number, name in found if frequent[name] >= FEWEST]
    begins: dict[str, int] = {}
    for at, (number, name) in enumerate(found):
        near = [each for _, each in found[at : at + FEWEST]]
        if name not in begins and near.count(name) > FEWEST // 2:
            begins[name] = number
    return sorted((number, name) for name, number in begins.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=list(SOURCES), choices=SOURCES)
    parser.add_argument("--results", type=Path, default=Path("scripts/results/works.json"))
    arguments = parser.parse_args()
    found = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    for file in arguments.only:
        clone, names = SOURCES[file]
        works = {name: letters(text) for name, text in works_of(arguments.sources / clone, names)}
        lines = list(read_lines(str(arguments.data / "text" / f"{file}.txt.gz")))
        found[file] = first_lines(lines, works)
        print(f"{file}: {len(found[file])} of {len(works)} works in {len(lines):,} lines", flush=True)
    write_text(arguments.results, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
