"""The panel of a word as HTML: the evidence under each letter as a picture, and the merges in order."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mws_hf.demo.tokens import Opened
from mws_hf.demo.views import COLOURS, paragraph_direction, views, well_formed
from mws_hf.errors import MwSError
from mws_hf.evaluate.segment import cuts_within, pieces_of
from mws_hf.text.pattern import split
from mws_hf.tokenizer.backend import is_byte_level
from mws_hf.tokenizer.explain import Tracer

if TYPE_CHECKING:
    from mws_hf.tokenizer.explain import WordEvidence

LONGEST = 60  # characters of a word that are shown
_BARS = "Bars: probability of a morph boundary after the letter, in percent"


@dataclass(frozen=True)
class TrainingEvidence:
    """Boundary evidence, the split of its training words from text, and their source."""

    evidence: WordEvidence
    pattern: str
    normalization: str | None
    source: str

    def values(self, text: str) -> list[float | None]:
        """Return the probability of a boundary after each character; None in pre-tokens that are no words."""
        found: list[float | None] = []
        for part in split(text, self.pattern):
            found += self.evidence.word(part) or [None] * len(part)
        return found

    def has_all(self, text: str) -> bool:
        """Return whether all words of a text are among the training words."""
        return all(self.evidence.knows(p) for p in split(text, self.pattern) if self.evidence.word(p) is not None)


def word_html(tokenizers: Sequence[Opened], word: str, known: TrainingEvidence | None) -> str:
    """Write the panel: the picture, each tokenizer's cut of the word, and its merges in order."""
    word = " ".join(well_formed(word).split())
    if not word:
        return str(views().note("Type a word: how it is cut, and why, appears here."))
    said = [f"Only the first {LONGEST} characters are shown."] if len(word) > LONGEST else []
    word = word[:LONGEST]
    if known is not None and known.normalization:
        form: Any = known.normalization.upper()
        word = unicodedata.normalize(form, word)
    values = known.values(" " + word)[1:] if known else [None] * len(word)
    about = _about_evidence(values, known, word)
    picture = evidence_html(word, values, {opened.name: word_cuts(opened, word) for opened in tokenizers})
    return str(views().word(said, picture, about, [(opened.name, *_merges(opened, word)) for opened in tokenizers]))


def _about_evidence(values: Sequence[float | None], known: TrainingEvidence | None, word: str) -> str:
    if known is None:
        return "No evidence to show: none of the tokenizers keeps any, as those of `mws train` do."
    if all(value is None for value in values):
        return "This is no word, so there is no evidence of morphs."
    if not known.has_all(" " + word):
        return f"{_BARS}. The word is not among {known.source}: its letters tell."
    return f"{_BARS}, from {known.source}."


def word_cuts(opened: Opened, word: str) -> list[int]:
    """Find where a tokenizer cuts a word that stands after a space: places strictly inside it."""
    prefix = "" if opened.encoder.adds_space else " "
    spans = opened.encoder.encode([prefix + word])[0].spans or []
    return cuts_within(spans, len(prefix), len(prefix) + len(word))


def letters_of(word: str, values: Sequence[float | None]) -> list[tuple[str, int, float | None]]:
    """List letters with their marks, the place after each, and the evidence there, which the last one has not.

    >>> letters_of("не\u0301т", [0.1, 0.0, 0.7, 0.0])
    [('н', 1, 0.1), ('е́', 3, 0.7), ('т', 4, None)]
    """
    letters: list[tuple[str, int, float | None]] = []
    for end, (character, value) in enumerate(zip(word, values, strict=True), start=1):
        before = letters.pop()[0] if letters and unicodedata.category(character).startswith("M") else ""
        letters.append((before + character, end, None if end == len(word) else value))
    return letters


def evidence_html(word: str, values: Sequence[float | None], cuts: dict[str, list[int]]) -> str:
    """Draw the picture: a bar after each letter as high as the evidence, and below a strip of tokens per tokenizer."""
    letters = [
        {
            "shown": shown,
            "percent": None if value is None else round(100 * value),
            "strips": [(bisect_left(places, end) % COLOURS, end in places) for places in cuts.values()],
        }
        for shown, end, value in letters_of(word, values)
    ]
    told = [f"{letter['shown']} {letter['percent']} %" for letter in letters if letter["percent"] is not None]
    label = "evidence of a boundary after: " + ", ".join(told) if told else word
    pieces = [(name, pieces_of(word, places)) for name, places in cuts.items()]
    picture: str = views().evidence(letters, pieces, paragraph_direction(word), bool(told), label)
    return picture


def _merges(opened: Opened, word: str) -> tuple[list[dict[str, Any]], str]:
    """List the merges that make a tokenizer's tokens of a word, in order, or the reason why there are none."""
    try:
        traced = Tracer(opened.backend)(" " + word)
    except MwSError as error:
        return [], f"Its merges cannot be shown: {error}"
    readable = str if is_byte_level(opened.backend) else opened.readable  # the tracer spells byte-level tokens in text
    steps = [
        {
            "rank": step.rank,
            "kind": opened.merge_kinds[step.rank],
            "left": readable(step.left),
            "right": readable(step.right),
            "tokens": list(map(readable, step.tokens)),
        }
        for each in traced
        for step in each.steps
    ]
    return steps, "" if steps else "No merge fires: every character, or byte, is a token."
