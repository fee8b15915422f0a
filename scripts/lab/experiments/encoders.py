"""Encoders side by side: one text file to token ids on disk by one tokenizer.json of ours, whole processes, in turn.

`--with python=VENV/bin/python` has gigatoken with awkward and tokie by pip, `one=VENV/bin/python` has tokenizers 1.0;
what is lacking is named. Tokenizer and text are Russian, 32,000 entries. Every line is a document. `mws encode` and
those that are given lines by Python keep the line end, those that read the file themselves drop it. The ids of the
first 20,000 lines are compared with those of the `tokenizers` installed here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import tokenizers

from lab.cells import Cell, Place, Row
from lab.files import cut, mixed
from lab.process import race, timed
from lab.systems import trained
from lab.tables import groups
from mws_hf.corpus.counting import count_documents
from mws_hf.encode import EncodedCorpus
from mws_hf.tokenizer.opened import open_tokenizer

HEAD = "import sys, numpy as np; json, text, out = sys.argv[1:4]\n"
OURS = "mws encode"
THEIRS = {
    "gigatoken encode_files": """
import awkward, gigatoken
found = gigatoken.Tokenizer(json).encode_files(gigatoken.TextFileSource([text], separator="\\n"))
np.save(out, np.asarray(awkward.flatten(found)).astype(np.uint16))""",
    "tokie encode_files": """
from tokie import Tokenizer
ids, ends = Tokenizer.from_json(json).encode_files([text], b"\\n")
np.save(out, ids.astype(np.uint16))""",
    "tokenizers 1.0 encode_batch": """
from tokenizers import Tokenizer
lines = open(text, encoding="utf-8", newline="\\n").readlines()
tokenizer, found = Tokenizer.from_file(json), []
for at in range(0, len(lines), 10_000):
    batch = tokenizer.encode_batch(lines[at : at + 10_000], add_special_tokens=False)
    found += [each.ids_array for each in batch]
np.save(out, np.concatenate([np.array(each, np.uint16) for each in found]))""",
}
DROP_THE_END = ("gigatoken encode_files", "tokie encode_files")
COMPARED = 20_000
AXES = {"megabytes": (93.3, 3.0), "round": range(3), "program": (OURS, *THEIRS)}
SHARED = 1


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Time each process, and compare its ids."""
    whole = mixed(place.data, "rus.*.txt.gz", place.work)
    text = cut(whole, cells[0]["megabytes"])
    with whole.open(encoding="utf-8", newline="\n") as lines:
        directory = trained("mws", count_documents(lines), 32_000, place.work / "encoders")
    right = {ends: expected(directory, text, ends) for ends in (True, False)}
    for cell in cells:
        name, out = cell["program"], place.work / "encoders" / cell["program"].replace(" ", "-")
        if name == OURS:
            command = [sys.executable, "-m", "mws_hf", "encode", str(directory), str(text), "-o", str(out), "-q"]
            command += ["--separator", "none", "--force"]
        else:
            python = place.path("one" if "1.0" in name else "python", "a Python that has the rival")
            command = [str(python), "-c", HEAD + THEIRS[name], f"{directory}/tokenizer.json", str(text), f"{out}.npy"]
        figures = timed(command)
        if "failed" not in figures:
            corpus = EncodedCorpus.open(out) if name == OURS else None
            ids = corpus.tokens(0, corpus.n_tokens) if corpus else np.load(f"{out}.npy")
            wanted = right[name not in DROP_THE_END]
            same = bool(np.array_equal(ids[: len(wanted)], wanted))
            figures |= {"ids": len(ids), "same": same, "tokenizers": tokenizers.__version__}
        yield cell, figures


def expected(directory: Path, text: Path, ends: bool) -> np.ndarray:
    """The ids that `tokenizers` gives here for the first lines of a text, with their ends or without."""
    backend = open_tokenizer(directory).backend
    with text.open(encoding="utf-8", newline="\n") as lines:
        each = [line if ends else line.removesuffix("\n") for line in islice(lines, COMPARED)]
    return np.concatenate([row.ids for row in backend.encode_batch_fast(each, add_special_tokens=False)])


def table(rows: list[Row]) -> str:
    """A table a text."""
    parts = []
    for (megabytes,), here in groups(rows, "megabytes").items():
        others = dict.fromkeys(row["program"] for row in here if not row.get("same", True))
        done = next((row for row in here if "ids" in row), {"ids": 0, "tokenizers": "(none ran)"})
        note = f"Ids of the first {COMPARED:,} lines are those of `tokenizers` {done['tokenizers']}"
        note += f", but not all of {', '.join(others)}." if others else "."
        title = f"## {megabytes:.1f} MB, {done['ids']:,} ids"
        parts.append(f"{title}\n\n{note} {race(here, ('encoder', 'seconds', 'times `mws encode`'))}")
    return "\n\n".join(parts)
