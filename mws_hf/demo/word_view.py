"""The panel of a word: the evidence under each letter as a picture, and the merges in order. Pure functions to HTML."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mws_hf.demo.text_view import COLOURS, note
from mws_hf.demo.tokens import Opened
from mws_hf.demo.writing import direction, visible
from mws_hf.errors import MwSError
from mws_hf.evaluate.segment import cuts_within
from mws_hf.text.pattern import split
from mws_hf.tokenizer.backend import is_byte_level
from mws_hf.tokenizer.explain import Step, Tracer

if TYPE_CHECKING:
    from mws_hf.tokenizer.explain import WordEvidence

LONGEST = 60
"""Characters of a word that are shown."""


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


@dataclass(frozen=True)
class Letter:
    """A letter with its combining marks, the place after it in the word, and the probability of a boundary there.

    The probability is None where it is not known, and after the last letter.
    """

    shown: str
    end: int
    probability: float | None


def word_html(tokenizers: Sequence[Opened], word: str, known: TrainingEvidence | None) -> str:
    """Write the panel: the picture, each tokenizer's cut of the word, and its merges in order."""
    word = " ".join(word.encode("utf-16", "surrogatepass").decode("utf-16", "replace").split())
    if not word:
        return note("Type a word: how it is cut, and why, appears here.")
    said = "" if len(word) <= LONGEST else note(f"Only the first {LONGEST} characters are shown.")
    word = word[:LONGEST]
    if known is not None and known.normalization:
        form: Any = known.normalization.upper()
        word = unicodedata.normalize(form, word)
    values = known.values(" " + word)[1:] if known else [None] * len(word)
    cuts = [word_cuts(opened, word) for opened in tokenizers]
    steps = "".join(merges_html(opened, word) for opened in tokenizers)
    picture = evidence_html(letters_of(word, values), cuts, [opened.name for opened in tokenizers])
    about = _evidence_note(values, known, word)
    return f'<div class="mws">{said}{picture}{about}<div class="mws-cards">{steps}</div></div>'


def _evidence_note(values: Sequence[float | None], known: TrainingEvidence | None, word: str) -> str:
    if known is None:
        return note("No evidence to show: none of the tokenizers keeps any, as those of `mws train` do.")
    if all(value is None for value in values):
        return note("This is no word, so there is no evidence of morphs.")
    if not known.has_all(" " + word):
        return note(
            "Bars: probability of a morph boundary after the letter, in percent. The word is not among "
            f"{known.source}: its letters tell."
        )
    return note(f"Bars: probability of a morph boundary after the letter, in percent, from {known.source}.")


def word_cuts(opened: Opened, word: str) -> list[int]:
    """Find where a tokenizer cuts a word that stands after a space: places strictly inside it."""
    prefix = "" if opened.encoder.adds_space else " "
    spans = opened.encoder.encode([prefix + word])[0].spans or []
    return cuts_within(spans, len(prefix), len(prefix) + len(word))


def letters_of(word: str, values: Sequence[float | None]) -> list[Letter]:
    """List letters with their marks, and the evidence after each.

    >>> [(letter.shown, letter.end, letter.probability) for letter in letters_of("не\u0301т", [0.1, 0.0, 0.7, 0.0])]
    [('н', 1, 0.1), ('е́', 3, 0.7), ('т', 4, None)]
    """
    letters: list[Letter] = []
    for end, (character, value) in enumerate(zip(word, values, strict=True), start=1):
        value = None if end == len(word) else value
        if letters and unicodedata.category(character).startswith("M"):
            letters[-1] = Letter(letters[-1].shown + character, end, value)
        else:
            letters.append(Letter(character, end, value))
    return letters


def evidence_html(letters: Sequence[Letter], cuts: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """Draw the picture: a bar after each letter as high as the evidence, and below a strip of tokens per tokenizer."""
    with_bars = any(letter.probability is not None for letter in letters)
    colour = [0] * len(cuts)
    cells = []
    for letter in letters:
        strips = []
        for row, places in enumerate(cuts):
            last = letter.end in places
            strips.append(f'<span class="mws-strip mws-c{colour[row] % COLOURS}{" mws-end" * last}"></span>')
            colour[row] += last
        bar = _evidence_bar(letter.probability) if with_bars else ""
        cells.append(f'<span class="mws-letter">{bar}<b>{visible(letter.shown)}</b>{"".join(strips)}</span>')
    word = "".join(letter.shown for letter in letters)
    base = "rtl" if direction(word) == "rtl" else "ltr"
    legend = "".join(_legend_row(name, word, places) for name, places in zip(names, cuts, strict=True))
    label = html.escape(_in_words(letters), quote=True)
    attributes = f'style="--n:{len(letters)}" dir="{base}" role="img" aria-label="{label}"'
    picture = f'<div class="mws-evidence" {attributes}>{_row_names(names, with_bars)}{"".join(cells)}</div>'
    return f'{picture}<ul class="mws-legend">{legend}</ul>'


def _row_names(names: Sequence[str], with_bars: bool) -> str:
    """Write the names beside the rows of the picture: over the letters the bars, below them each tokenizer's strip."""
    bar = '<span class="mws-bar"><small>boundary, %</small></span>' if with_bars else ""
    strips = "".join(
        f'<span class="mws-strip" title="{html.escape(name, quote=True)}">{html.escape(name)}</span>' for name in names
    )
    return f'<span class="mws-rows" aria-hidden="true">{bar}<b></b>{strips}</span>'


def _evidence_bar(probability: float | None) -> str:
    if probability is None:
        return '<span class="mws-bar"></span>'
    percent = round(100 * probability)
    return f'<span class="mws-bar"><s style="height:{percent}%"></s><em>{percent}</em></span>'


def _in_words(letters: Sequence[Letter]) -> str:
    said = [
        f"{letter.shown} {round(100 * letter.probability)} %" for letter in letters if letter.probability is not None
    ]
    return "evidence of a boundary after: " + ", ".join(said) if said else "".join(letter.shown for letter in letters)


def _legend_row(name: str, word: str, cuts: Sequence[int]) -> str:
    pieces = [word[a:b] for a, b in zip([0, *cuts], [*cuts, len(word)], strict=True)]
    drawn = "·<wbr>".join(visible(piece) for piece in pieces)
    return f'<li><span class="mws-name">{html.escape(name)}</span> <bdi class="mws-cut">{drawn}</bdi></li>'


def merges_html(opened: Opened, word: str) -> str:
    """List the merges that make a tokenizer's tokens of a word, in order."""
    try:
        traced = Tracer(opened.backend)(" " + word)
    except MwSError as error:
        return _card(opened.name, note(f"Its merges cannot be shown: {error}"))
    steps = [step for each in traced for step in each.steps]
    if not steps:
        return _card(opened.name, note("No merge fires: every character, or byte, is a token."))
    told_in_text = is_byte_level(opened.backend)  # by the tracer
    part = _shown if told_in_text else lambda token: _shown(opened.readable(token))
    items = "".join(_item(number, step, opened.kind(step.rank), part) for number, step in enumerate(steps, start=1))
    return _card(opened.name, f'<ol class="mws-merges">{items}</ol>')


def _item(number: int, step: Step, kind: str, part: Callable[[str], str]) -> str:
    """Write one merge of the list: rank and kind, its two parts, the word after it."""
    rank = f'<span class="mws-rank">merge {step.rank}{_kind(kind)}</span>'
    tokens = "·<wbr>".join(map(part, step.tokens))
    return (
        f'<li value="{number}">{rank} {part(step.left)} + {part(step.right)} <bdi class="mws-cut">{tokens}</bdi></li>'
    )


def _kind(kind: str) -> str:
    """Write a mark for a merge of a kind that is known."""
    return f' <b class="mws-{kind.split()[-1]}">{kind}</b>' if kind else ""


def _shown(text: str) -> str:
    """Write a token with the space before a word as an open box."""
    return f"<bdi>{visible(text).replace(' ', '␣')}</bdi>"


def _card(name: str, body: str) -> str:
    return f'<section class="mws-card"><h3>{html.escape(name)}: merges in order</h3>{body}</section>'
