"""Capitalized words written as a marker and the lowercase word: n-gram bits per byte and number of tokens.

The text is rewritten before training and encoding. A capitalized word, which is an uppercase letter followed by
lowercase letters, becomes a marker and the lowercase word, so that both forms share tokens and boundary probabilities.
Words in uppercase and in mixed case stay unchanged. The marker has one of two positions:

* *before the space*: the marker is before the space of the word, so split patterns treat it as punctuation, and the
  learner is unchanged;
* *as the space*: the marker replaces the space, and the learner treats it as it treats the leading space. A second
  marker is used for words without a space before them.

The text and the held-out lines are the same as in `granularity`. Bits are per byte of the original text. F1 is measured
on the development set, which is lowercase. The acceptance criterion was fixed before the first run: in at least two of
English, Finnish, Russian and German, bits are at least 0.3 % lower, with at most 0.5 % more tokens. The other half of
the criterion (speed, small models) is not measured here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLD, gold_of, head, n_bytes_of, read
from lab.experiments.granularity import BYTES, HELD_OUT, HELD_OUT_EVERY, SOURCES, TRAINING
from lab.systems import judged, learnt, tokens
from lab.tables import groups, tabulated
from mws_hf.corpus.counting import count_documents
from mws_hf.kernels import Ints, Longs, Mask
from mws_hf.learn import phases
from mws_hf.learn.evidence import forms
from mws_hf.scoring.ngram_model import ngram_bits
from mws_hf.text.capitals import MARKER, write_marker

PLAIN, BEFORE, AS_SPACE = "as it is", "before the space", "as the space"
AXES = {"language": ("rus", "eng", "fin", "deu"), "size": (8000, 32_000), "text": (PLAIN, BEFORE, AS_SPACE)}
SHARED = 1
SPACE, NO_SPACE = "\x0b", "\x0c"
"""The markers *as the space*: for words with a space before them, and for words without one."""


def rewritten(line: str, text: str) -> str:
    r"""Write a marker before capitalized words, as a training with ``capitals="marker"`` does (*before the space*).

    >>> rewritten("А в Омске, НИИ", BEFORE), rewritten("Iron (Iron)", AS_SPACE)
    ('\x0eа в\x0e омске, НИИ', '\x0ciron (\x0ciron)')
    """
    if text == PLAIN:
        return line
    marked = write_marker(line)
    return marked if text == BEFORE else marked.replace(MARKER + " ", SPACE).replace(MARKER, NO_SPACE)


@contextmanager
def markers_as_spaces() -> Iterator[None]:
    """Make the learner treat the markers as leading spaces, and merge them with the letters that follow them."""
    kept = forms._find_words, phases.space_merges

    def find_words(points: Ints, starts: Longs, table: Any, begins: Longs, is_word: Mask, spaced: Mask) -> None:
        kept[0](points, starts, table, begins, is_word, spaced)
        rows = np.flatnonzero(is_word & (begins > starts[:-1]))
        spaced[rows] |= np.isin(points[starts[rows]], [ord(SPACE), ord(NO_SPACE)])

    def space_merges(corpus: Any, *more: Any) -> list[tuple[str, str]]:
        merges, starts, alphabet = kept[1](corpus, *more), corpus.starts[:-1], corpus.alphabet
        for marker in [each for each in (SPACE, NO_SPACE) if each in alphabet]:
            heads = starts[corpus.symbols[starts] == alphabet.index(marker)]
            followers = {alphabet[symbol] for symbol in corpus.symbols[heads + 1].tolist()}
            merges += [(marker, letter) for _, letter in merges if letter in followers and letter.isalpha()]
        return list(dict.fromkeys(merges))

    forms._find_words, phases.space_merges = find_words, space_merges
    try:
        yield
    finally:
        forms._find_words, phases.space_merges = kept


def measure(place: Place, cells: list[Cell]) -> Found:
    """Train a tokenizer per cell on the rewritten text, and score it on held-out lines rewritten in the same way."""
    language = cells[0]["language"]
    lines = head(read(place.data, SOURCES.get(language, (f"{language}.eltec",))), BYTES)
    lines = [line for line in lines if not {SPACE, NO_SPACE, MARKER} & set(line)]
    training = [line for n, line in enumerate(lines, 1) if n % HELD_OUT_EVERY]
    held_out = head(lines[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY], HELD_OUT)
    gold = gold_of(place.data, language) if language in GOLD else ()
    for text, here in groups(cells, "text"):
        learned, of_bits, read_lines = (
            [rewritten(line, text) for line in part] for part in (training, head(training, TRAINING), held_out)
        )
        counts = count_documents(learned)
        for cell in here:
            with markers_as_spaces():
                backend = learnt(counts, vocab_size=cell["size"])
            longer = sum(map(n_bytes_of, read_lines)) / sum(map(n_bytes_of, held_out))
            bits = ngram_bits(backend, of_bits, read_lines).value * longer
            figures = {"bits": round(bits, 5), "tokens": tokens(backend, read_lines)}
            yield cell, figures | ({"f1": round(judged(backend, gold)["f1"], 5)} if gold else {})


def table(rows: list[Row]) -> Page:
    """Write bits and tokens of the original text, and the differences that each position of the marker makes."""
    for size, here in groups(sorted(rows, key=lambda row: row["size"]), "size"):
        yield f"## Vocabulary size {size:,}"
        yield "Bits are per byte of the text as it was; tokens are of the held-out lines."
        lines = []
        for language, own in groups(here, "language"):
            found = {row["text"]: row for row in own}
            base = found.pop(PLAIN, None)
            if base:
                lines.append({"language": language, "bits": f"{base['bits']:.4f}", "tokens": f"{base['tokens']:,}"})
                for text, row in found.items():
                    bits, length = (100 * (row[name] / base[name] - 1) for name in ("bits", "tokens"))
                    f1 = f", F1 {row['f1'] - base['f1']:+.3f}" if "f1" in row else ""
                    lines[-1][text] = f"bits {bits:+.2f} %, tokens {length:+.2f} %{f1}"
        yield tabulated(lines)
