"""Time and memory of training one tokenizer for eight languages: whole processes, from plain text to a saved tokenizer.

`mws train` with the languages as groups, and BPE of `tokenizers` in the fastest way it has: it reads the files itself.
The two in turn; the table has the least of the repeats.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.data import LANGUAGES, lines_of
from lab.process import timed
from lab.tables import groups
from mws_hf.text.markdown import markdown_table
from mws_hf.text.pattern import DEFAULT_PATTERN

BPE = """
import sys
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
pattern, size, output, *files = sys.argv[1:]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
tokenizer.train(files, trainers.BpeTrainer(vocab_size=int(size), show_progress=False))
tokenizer.save(output)
"""
AXES = {"vocab_size": (64_000,), "repeat": range(2), "system": ("mws", "tokenizers BPE")}
SHARED = 1


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Time each process."""
    output = place.work / "mixture" / "cost"
    output.parent.mkdir(parents=True, exist_ok=True)
    files = {language: output.parent / f"{language}.txt" for language in LANGUAGES}
    for language, file in files.items():
        if not file.exists():
            file.write_text("".join(lines_of(place.data, language)), encoding="utf-8", newline="\n")
    groups_of_mws = [f"{language}={file}" for language, file in files.items()]
    for cell in cells:
        size = str(cell["vocab_size"])
        if cell["system"] == "mws":
            command = [
                "-m",
                "mws_hf",
                "train",
                *groups_of_mws,
                "--vocab-size",
                size,
                "-q",
                "-o",
                str(output),
                "--force",
            ]
        else:
            command = ["-c", BPE, DEFAULT_PATTERN, size, f"{output}.json", *map(str, files.values())]
        yield cell, {"load": os.getloadavg()[0], **timed([sys.executable, *command])}


def table(rows: list[Row]) -> str:
    """A row a system and size; the least of the repeats."""
    lines = []
    for (system, size), here in groups(rows, "system", "vocab_size").items():
        least = [min(row[name] for row in here) for name in ("seconds", "cpu_seconds", "peak_mb")]
        lines.append([f"{system}, {size:,}", *(f"{each:,.0f}" for each in least), str(len(here))])
    return markdown_table(["whole process, from text to tokenizer", "s", "processor s", "peak MB", "runs"], lines)
