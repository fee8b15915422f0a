"""Speed of tokenizer trainers: each trains on the same text file and saves the result, in a process of its own.

`--with python=VENV/bin/python` names a Python in which rustbpe, ffbpe, gigatoken, gigabpe, sentencepiece and tokenizers
0.x are installed with pip; the table names missing packages. The text is all Russian text of the shared data, or its
first 3 MB. Our trainer is `mws train` with default settings, and with `--composition 1 --hidden-boundary-price 0`,
which is BPE by frequency. Its kernels are compiled before. The programs take turns.

A trainer in `LATER` was added when the other trainers had been measured. `mws train` is timed again directly before
each of its rounds, and its seconds in the table are scaled by the ratio of the two times of `mws train`. `encoders`,
below, compares encoders in the same way. `benchmark` measures classic MwS and BPE over characters.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from lab.cells import Cell, Found, Page, Place, Row, beside
from lab.data import cut, mixed
from lab.systems import trained
from lab.tables import groups, tabulated
from lab.timing import timed
from mws_hf import EncodedCorpus
from mws_hf.corpus.counting import count_documents
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.tokenizer.opened import open_tokenizer

HEAD = "import sys, json; text, out, size, pattern = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]\n"
SENTENCE_PIECE = """
import sentencepiece
sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=out, vocab_size=size, model_type="{}",
    character_coverage=1.0, max_sentence_length=1 << 20, minloglevel=2)"""
GIGABPE = "gigabpe (GPT-2's pattern)"
THEIRS = {
    "tokenizers BpeTrainer, bytes": """
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
t = Tokenizer(models.BPE())
cut = pre_tokenizers.Split(Regex(pattern), "isolated")
t.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(False, use_regex=False)])
alphabet = pre_tokenizers.ByteLevel.alphabet()
t.train([text], trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
t.save(out)""",
    "rustbpe": """
import rustbpe, pickle
t = rustbpe.Tokenizer()
with open(text, encoding="utf-8") as lines:
    t.train_from_iterator(lines, size, pattern=pattern)
pickle.dump(t.get_mergeable_ranks(), open(out, "wb"))""",
    "ffbpe (its own pattern)": """
import ffbpe
with open(text, encoding="utf-8") as lines:
    ffbpe.train_bpe(lines, vocab_size=size).save_files(out + ".json", out + ".txt")""",
    "gigatoken train_bpe (GPT-2's pattern)": """
import gigatoken, pickle
pickle.dump(gigatoken.train_bpe(gigatoken.TextFileSource([text]), size, []), open(out, "wb"))""",
    GIGABPE: """
import gigabpe
gigabpe.train_tokenizer([text], vocab_size=size, output=out, pretokenizer="bytelevel")""",
    "SentencePiece BPE (its own rules)": SENTENCE_PIECE.format("bpe"),
    "SentencePiece Unigram (its own rules)": SENTENCE_PIECE.format("unigram"),
}
OURS = {"mws train, contextual": [], "mws train, frequency": ["--composition", "1", "--hidden-boundary-price", "0"]}
TEXTS = {"93.3 MB, 32,000 entries": (93.3, 32_000), "3.0 MB, 8,000 entries": (3.0, 8_000)}
COMMAND = (sys.executable, "-m", "mws_hf")
AXES = {"text": list(TEXTS), "round": range(3), "program": (*OURS, *THEIRS)}
SHARED = 1
LATER = (GIGABPE,)


def race(rows: list[Row], what: str, ours: str) -> str:
    """Write a table with one row per program: median seconds, and their ratio to the first program's."""
    lines, first = [], 0.0
    for program, here in groups(rows, "program"):
        if not (measured := [row for row in here if "seconds" in row]):
            figures = here[0]["failed"], ""
        else:
            middle = scaled_seconds(measured, first)
            first = first or middle
            figures = f"{middle:.1f}", f"{middle / first:.2f}"
        lines.append(dict(zip((what, "seconds", f"times `{ours}`"), (program, *figures), strict=True)))
    rounds = max(row["round"] for row in rows) + 1
    return f"The figures are medians of {rounds} rounds of whole processes.\n\n{tabulated(lines)}"


def scaled_seconds(rows: list[Row], ours: float) -> float:
    """Return the median seconds of a program.

    For a program in `LATER`, they are scaled as if `mws train` had taken `ours` seconds in the same rounds.
    """
    middle = statistics.median(row["seconds"] for row in rows)
    if "ours_seconds" not in rows[0]:
        return middle
    return middle / statistics.median(row["ours_seconds"] for row in rows) * ours


def measure(place: Place, cells: list[Cell]) -> Found:
    megabytes, size = TEXTS[cells[0]["text"]]
    text = str(cut(mixed(place.data, "rus.*.txt.gz", place.work), megabytes))
    theirs = str(place.path("python", "a Python in which the other trainers are installed"))
    out = str(place.work / "trainers")
    ours = [*COMMAND, "train", text, "--vocab-size", str(size), "-q", "-o", out, "--force"]
    for cell in cells:
        name = cell["program"]
        command = [theirs, "-c", HEAD + THEIRS.get(name, ""), text, f"{out}-theirs", str(size), DEFAULT_PATTERN]
        if name in OURS:
            command = [*ours, *OURS[name]]
        more: Row = {}
        if name in LATER:
            more = {f"ours_{figure}": value for figure, value in timed(ours).items()} | {"load": os.getloadavg()[0]}
        found = timed(command) | more
        if name == GIGABPE and cell["round"] == 0 and "failed" not in found:
            found |= {"same_merges": same_merges(text, Path(f"{out}-theirs")), "tokenizers": tokenizers.__version__}
        yield cell, found


def same_merges(text: str, file: Path) -> bool:
    """Return whether byte-level BPE of `tokenizers` learns the same merges in the same order as in a tokenizer.json."""
    found = json.loads(file.read_text(encoding="utf-8"))["model"]
    own = Tokenizer(models.BPE())
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.train([text], trainers.BpeTrainer(vocab_size=len(found["vocab"]), show_progress=False))
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in found["merges"]]
    return merges == json.loads(own.to_str())["model"]["merges"]


def table(rows: list[Row]) -> Page:
    for text, here in groups(rows, "text"):
        yield f"## {text}"
        yield race(here, "trainer", "mws train")
        later = [row for row in here if row["program"] in LATER and "seconds" in row]
        if later:
            yield later_note(later)


def later_note(rows: list[Row]) -> str:
    """Describe how a program in `LATER` was timed, and whether its merges equal those of `tokenizers`."""
    theirs, ours = (statistics.median(row[name] for row in rows) for name in ("seconds", "ours_seconds"))
    busy = [statistics.median(row[name] for row in rows) for name in ("cpu_seconds", "ours_cpu_seconds")]
    loads = [row["load"] for row in rows]
    compared = next(row for row in rows if "same_merges" in row)
    same = "are equal to" if compared["same_merges"] else "differ from"
    return (
        f"{rows[0]['program']} was timed later than the other programs, in alternation with `mws train`. They took "
        f"{theirs:.1f} and {ours:.1f} s ({busy[0]:.1f} and {busy[1]:.1f} CPU seconds) on a busy machine (load "
        f"{min(loads):.0f} to {max(loads):.0f}). In the table, its seconds are scaled to those of `mws train` in the "
        f"table. Its merges {same} those of `tokenizers` {compared['tokenizers']} with the pre-tokenizer ByteLevel and "
        "without an initial alphabet."
    )


ENCODE = "import sys, numpy as np; json, text, out = sys.argv[1:4]\n"
MWS = "mws encode"
ENCODERS = {
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


def measure_encoders(place: Place, cells: list[Cell]) -> Found:
    """Speed of encoders: each encodes the same text file to token ids on disk with the same tokenizer.json of ours.

    `--with python=VENV/bin/python` names a Python in which gigatoken with awkward, and tokie, are installed with pip,
    and `one=VENV/bin/python` names one with tokenizers 1.0. The table names missing packages. The tokenizer and the
    text are Russian, and the vocabulary size is 32,000. Every line is a document. `mws encode`, and encoders that get
    lines from Python, keep the line ends; encoders that read the file themselves drop them. The ids of the first 20,000
    lines are compared with those of the installed version of `tokenizers`.
    """
    whole = mixed(place.data, "rus.*.txt.gz", place.work)
    text = cut(whole, cells[0]["megabytes"])
    with whole.open(encoding="utf-8", newline="\n") as lines:
        directory = trained("mws", count_documents(lines), 32_000, place.work / "encoders")
    with text.open(encoding="utf-8", newline="\n") as stream:
        lines = list(islice(stream, COMPARED))
    whole_lines = expected(directory, lines)
    without_ends = expected(directory, (line.removesuffix("\n") for line in lines))
    for cell in cells:
        name, out = cell["program"], place.work / "encoders" / cell["program"].replace(" ", "-")
        if name == MWS:
            command = [*COMMAND, "encode", directory, text, "-o", out, "-q", "--separator", "none", "--force"]
        else:
            python = place.path("one" if "1.0" in name else "python", "a Python with the encoder")
            command = [python, "-c", ENCODE + ENCODERS[name], directory / "tokenizer.json", text, f"{out}.npy"]
        figures = timed(list(map(str, command)))
        if "failed" not in figures:
            corpus = EncodedCorpus.open(out) if name == MWS else None
            ids = corpus.tokens(0, corpus.n_tokens) if corpus else np.load(f"{out}.npy")
            wanted = without_ends if name in DROP_THE_END else whole_lines
            same = bool(np.array_equal(ids[: len(wanted)], wanted))
            figures |= {"ids": len(ids), "same": same, "tokenizers": tokenizers.__version__}
        yield cell, figures


def expected(directory: Path, lines: Iterable[str]) -> np.ndarray:
    """Encode lines with the installed version of `tokenizers`."""
    backend = open_tokenizer(directory).backend
    return np.concatenate([row.ids for row in backend.encode_batch_fast(list(lines), add_special_tokens=False)])


def encoders_table(rows: list[Row]) -> Page:
    """Write the seconds of each encoder, and whether its ids equal those of `tokenizers`."""
    for megabytes, here in groups(rows, "megabytes"):
        others = dict.fromkeys(row["program"] for row in here if not row.get("same", True))
        done = next((row for row in here if "ids" in row), {"ids": 0, "tokenizers": "(none ran)"})
        note = f"The ids of the first {COMPARED:,} lines are equal to those of `tokenizers` {done['tokenizers']}"
        note += f", except with {', '.join(others)}." if others else "."
        yield f"## {megabytes:.1f} MB, {done['ids']:,} ids"
        yield f"{note} {race(here, 'encoder', MWS)}"


AXES_OF_ENCODERS = {"megabytes": (93.3, 3.0), "round": range(3), "program": (MWS, *ENCODERS)}
encoders = beside(measure_encoders, encoders_table, AXES_OF_ENCODERS, 1)
