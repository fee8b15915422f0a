"""What an extension brings: length and boundary F1 of a base, of ours, and of frequency BPE appended the same way.

Bases are stand-ins: English text and Python code, none of the language added. 8,000 tokens are learnt from 15 million
characters of a language; each 50th line is held out for lengths; gold is read to score alone. "Frequency" is the same
way of appending with composition 1 and no price; at equal length it is cut down to the number of tokens at which it is
as long as ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tokenizers import Tokenizer

from lab.cells import Cell, Place, Row
from lab.data import GOLD, lines_of
from lab.stand_ins import END, byte_fallback, byte_level, code, save, some
from lab.tables import about, plain
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.evaluate.evaluation import evaluate
from mws_hf.extend.changes import measure_change
from mws_hf.extend.extension import Extension, extend

SYSTEMS = {
    "ours": {},
    "ours, morphs only": {"composition": 0},
    "frequency": {"composition": 1, "hidden_boundary_price": 0},
}
AS_LONG = "frequency, as long as ours"
AXES = {"base": ("byte-level", "byte fallback"), "language": ("rus", "tur"), "system": ("base", *SYSTEMS, AS_LONG)}
SHARED, TOGETHER = 2, True
NEW, CHARACTERS = 8000, 15_000_000
TOLD = ("new tokens", "tokens/word", "bytes/token", "fewer tokens", "F1", "95 %", "precision", "recall",
        "English and code texts with the same ids")  # fmt: skip


def base_of(place: Place, kind: str) -> Path:
    """The directory of a stand-in, trained unless it is there."""
    directory = place.work / "extend" / kind.replace(" ", "-")
    if not (directory / "tokenizer.json").is_file():
        texts = chain(some(lines_of(place.data, "eng"), 12), some(code(), 6))
        built = byte_level(texts, 32_000) if kind == "byte-level" else byte_fallback(texts, 32_000)
        save(built, directory, END if kind == "byte-level" else "<eos>")
    return directory


def as_short(longer: Extension, before: Tokenizer, lines: list[str], wanted: float) -> Extension:
    """The fewest of the new tokens with which text is at most `wanted` tokens a word."""
    low, high = 1, len(longer.ids)
    while low < high:
        middle = (low + high) // 2
        if measure_change(before, longer.first(middle).tokenizer, lines).tokens_per_word[1] <= wanted:
            high = middle
        else:
            low = middle + 1
    return longer.first(high)


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Append in all ways to one base, and compare."""
    base, language = base_of(place, cells[0]["base"]), cells[0]["language"]
    before = Tokenizer.from_file(str(base / "tokenizer.json"))
    lines = lines_of(place.data, language)
    lines = lines[:: max(1, sum(map(len, lines)) // CHARACTERS)]
    held_out = lines[::50][::5][:1000]
    counts = count_documents(line for number, line in enumerate(lines) if number % 50)
    english = [*some(lines_of(place.data, "eng"), 3)][-2000:] + [*some(code(), 7)][-40:]
    found = {name: extend(base, counts, NEW, **options) for name, options in SYSTEMS.items()}
    length = {name: measure_change(before, each.tokenizer, held_out).tokens_per_word[1] for name, each in found.items()}
    found[AS_LONG] = as_short(found["frequency"], before, held_out, length["ours"])
    tokenizers = {"base": before} | {name: each.tokenizer for name, each in found.items()}
    gold = place.data / "gold" / f"{GOLD[language]}.tsv"
    for row in evaluate(tokenizers, [gold], baselines=False, resamples=200).rows:
        after = tokenizers[row.tokenizer]
        change = measure_change(before, after, held_out)
        figures = {
            "new tokens": after.get_vocab_size() - before.get_vocab_size(),
            "tokens/word": round(change.tokens_per_word[1], 3), "bytes/token": round(change.bytes_per_token[1], 2),
            "fewer tokens": f"{1 - change.tokens[1] / change.tokens[0]:.1%}",
            "F1": round(row.scores.f1, 3), "95 %": f"{row.interval[0]:.3f}-{row.interval[1]:.3f}",
            "precision": round(row.scores.precision, 3), "recall": round(row.scores.recall, 3),
            "English and code texts with the same ids": f"{same(before, after, english)} of {len(english)}",
        }  # fmt: skip
        yield {"base": cells[0]["base"], "language": language, "system": row.tokenizer}, figures


def same(before: Tokenizer, after: Tokenizer, texts: list[str]) -> int:
    """How many texts keep their ids.

    Raises:
        MwSError: a text has other ids though it holds no new token.
    """
    new = set(after.get_vocab().values()) - set(before.get_vocab().values())
    pairs = [(before.encode(text).ids, after.encode(text).ids) for text in texts]
    if any(old != made and new.isdisjoint(made) for old, made in pairs):
        raise MwSError("a text without new tokens has other ids")
    return sum(old == made for old, made in pairs)


def table(rows: list[Row]) -> str:
    """The rows as they are."""
    return f"{about(__doc__)}\n\n{plain(rows, [*AXES, *TOLD])}"
