"""Trainers of BPE side by side: the same text file to a file on disk, each in a process of its own, in turn.

`--with python=VENV/bin/python` has rustbpe, ffbpe, gigatoken, sentencepiece and tokenizers 0.x by pip; what it lacks is
named. The text is the Russian of the shared data, all of it and its first 3 MB. Ours is `mws train`, contextual and
with `--composition 1 --hidden-boundary-price 0`; its kernels are compiled before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.files import cut, mixed
from lab.process import race, timed
from lab.tables import groups
from mws_hf.text.pattern import DEFAULT_PATTERN

HEAD = "import sys, json; text, out, size, pattern = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]\n"
SENTENCE_PIECE = """
import sentencepiece
sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=out, vocab_size=size, model_type="{}",
    character_coverage=1.0, max_sentence_length=1 << 20, minloglevel=2)"""
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
    "SentencePiece BPE (its own rules)": SENTENCE_PIECE.format("bpe"),
    "SentencePiece Unigram (its own rules)": SENTENCE_PIECE.format("unigram"),
}
OURS = {"mws train, contextual": [], "mws train, frequency": ["--composition", "1", "--hidden-boundary-price", "0"]}
TEXTS = {"93.3 MB, 32,000 entries": (93.3, 32_000), "3.0 MB, 8,000 entries": (3.0, 8_000)}
AXES = {"text": list(TEXTS), "round": range(3), "program": (*OURS, *THEIRS)}
SHARED = 1


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Time each process."""
    megabytes, size = TEXTS[cells[0]["text"]]
    text = str(cut(mixed(place.data, "rus.*.txt.gz", place.work), megabytes))
    theirs = str(place.path("python", "a Python that has the rivals"))
    for cell in cells:
        name, out = cell["program"], str(place.work / "trainers")
        if name in OURS:
            command = [sys.executable, "-m", "mws_hf", "train", text, "--vocab-size", str(size), "-q", "-o", out]
            command += ["--force", *OURS[name]]
        else:
            command = [theirs, "-c", HEAD + THEIRS[name], text, f"{out}-theirs", str(size), DEFAULT_PATTERN]
        yield cell, timed(command)


def table(rows: list[Row]) -> str:
    """A table a text."""
    header = ("trainer", "seconds", "times `mws train`")
    return "\n\n".join(f"## {text}\n\n{race(here, header)}" for (text,), here in groups(rows, "text").items())
