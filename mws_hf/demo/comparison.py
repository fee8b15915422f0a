"""The panel of two tokenizers on one text: lengths, and the words that they cut differently. Pure functions to HTML."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mws_hf.demo.text_view import note, shortened
from mws_hf.demo.tokens import Opened
from mws_hf.demo.writing import visible
from mws_hf.evaluate.running_text import WORD, TextScores, score_text
from mws_hf.evaluate.segment import segment_words
from mws_hf.evaluate.tables import number_cell
from mws_hf.text.pattern import compiled

MOST_LISTED = 200
"""Words that are listed."""


@dataclass(frozen=True)
class WordDifference:
    """A word that two tokenizers cut differently.

    It has the word's frequency in the text, and its pieces by a first and by a second tokenizer.
    """

    word: str
    count: int
    first: tuple[str, ...]
    second: tuple[str, ...]


def differences(first: Opened, second: Opened, text: str) -> list[WordDifference]:
    """List the words that two tokenizers cut differently after a space, the most frequent first, then by letters.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> def toy(name, *merges): return Opened(name, build_backend(base_vocab((), "ано ", merges), merges))
    >>> found = differences(toy("a", ("о", "н")), toy("b", ("н", "а")), "она он на она")
    >>> [(each.word, each.count, each.first, each.second) for each in found][:1]
    [('она', 2, ('он', 'а'), ('о', 'на'))]
    """
    counts = Counter(match.group() for match in compiled(WORD).finditer(text))
    words = sorted(counts, key=lambda word: (-counts[word], word))
    cuts = [segment_words(opened.encoder, words) for opened in (first, second)]
    return [WordDifference(word, counts[word], a, b) for word, a, b in zip(words, *cuts, strict=True) if a != b]


def comparison_html(first: Opened, second: Opened, text: str) -> str:
    """Write the panel: a table of lengths, and a list of words cut differently."""
    if first is second:
        return note("Choose two different tokenizers; start the page with two directories to have them.")
    if not text.strip():
        return note("Paste a text: both are compared on it.")
    text, said = shortened(text)
    scores = [score_text(opened.encoder, [text]) for opened in (first, second)]
    found = differences(first, second, text)
    return (
        f'<div class="mws">{said}{_lengths(first, second, scores)}'
        f"{_listed(first, second, found, sum(1 for _ in compiled(WORD).finditer(text)))}</div>"
    )


_MEASURES: dict[str, Callable[[TextScores], str]] = {
    "tokens": lambda scores: f"{scores.tokens:,}",
    "tokens per word": lambda scores: number_cell(scores.fertility),
    "bytes per token": lambda scores: f"{scores.bytes_per_token:.3f}",
    "words whole": lambda scores: number_cell(scores.whole_words, ".1%"),
    "entries of the vocabulary": lambda scores: f"{scores.vocabulary_size:,}",
}


def _lengths(first: Opened, second: Opened, scores: Sequence[TextScores]) -> str:
    rows = "".join(
        f"<tr><th>{name}</th>{''.join(f'<td>{write(each)}</td>' for each in scores)}</tr>"
        for name, write in _MEASURES.items()
    )
    names = f"<th>{html.escape(first.name)}</th><th>{html.escape(second.name)}</th>"
    return f'<table class="mws-lengths"><thead><tr><th></th>{names}</tr></thead><tbody>{rows}</tbody></table>'


def _listed(first: Opened, second: Opened, found: Sequence[WordDifference], words: int) -> str:
    if not found:
        return note("Every word of the text is cut alike.")
    running = sum(each.count for each in found)
    said = f"{len(found):,} words are cut differently, {running:,} of {words:,} in running text"
    said += f"; the {MOST_LISTED} most frequent:" if len(found) > MOST_LISTED else ":"
    rows = "".join(
        f"<tr><td>{_cut_html(each.first)}</td><td>{_cut_html(each.second)}</td><td>{each.count}</td></tr>"
        for each in found[:MOST_LISTED]
    )
    names = f"<th>{html.escape(first.name)}</th><th>{html.escape(second.name)}</th><th>times</th>"
    return f'{note(said)}<table class="mws-words"><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>'


def _cut_html(pieces: Sequence[str]) -> str:
    return f"<bdi>{'·<wbr>'.join(visible(piece) for piece in pieces)}</bdi>"
