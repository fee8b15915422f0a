"""Bits per byte of running words by whether training text held their form, or their lemma.

Nats of a token are spread evenly over its bytes; a word owns its letters and the space before it. Where tokens keep to
words, as with every split pattern of this package, that is the plain sum over the word's tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.evaluate.running_text import WORD
from mws_hf.lm.codec import Codec
from mws_hf.lm.scoring import BitsPerByte
from mws_hf.pattern import compiled

SEEN, KNOWN_LEMMA, NEW_LEMMA, UNSEEN = "seen form", "unseen form, seen lemma", "unseen lemma", "unseen form"


@dataclass(frozen=True)
class GroupScore:
    """One group of words.

    Attributes:
        words: running words.
        n_bytes: their raw bytes, the space before them included.
        bits_per_byte: NaN without words.
    """

    words: int
    n_bytes: int
    bits_per_byte: float


def word_forms(documents: Iterable[str]) -> set[str]:
    """Lower-cased words of the documents.

    >>> sorted(word_forms(["Дом, дома."]))
    ['дом', 'дома']
    """
    pattern = compiled(WORD)
    return {word.lower() for document in documents for word in pattern.findall(document)}


def russian_lemmas() -> Callable[[str], str]:
    """The most probable lemma of a form by pymorphy3.

    Raises:
        MwSError: pymorphy3 or its Russian dictionary is not installed.
    """
    try:
        from pymorphy3 import MorphAnalyzer  # noqa: PLC0415  (half a second to load)

        analyzer = MorphAnalyzer(lang="ru")
    except (ImportError, ValueError) as error:
        raise MwSError(f"lemmas need pymorphy3 and pymorphy3-dicts-ru ({error}); install them with pip") from error
    return lambda form: analyzer.parse(form)[0].normal_form


def group_of_forms(forms: Iterable[str], trained: set[str], lemma: Callable[[str], str] | None) -> dict[str, str]:
    """Form -> group; without `lemma`, unseen forms are one group.

    >>> group_of_forms(["дом", "дому", "кот"], {"дом"}, lambda form: form[:3])["дому"]
    'unseen form, seen lemma'
    """
    known = {lemma(form) for form in trained} if lemma is not None else set()

    def group(form: str) -> str:
        if form in trained:
            return SEEN
        if lemma is None:
            return UNSEEN
        return KNOWN_LEMMA if lemma(form) in known else NEW_LEMMA

    return {form: group(form) for form in forms}


def score_groups(
    scores: BitsPerByte, codec: Codec, documents: Sequence[str], groups: dict[str, str]
) -> dict[str, GroupScore]:
    """Bits per byte of each group over the documents whose tokens spell them byte by byte.

    Args:
        scores: of these documents.
        codec: the tokenizer they were scored with.
        documents: the texts.
        groups: `group_of_forms` of all their forms.
    """
    totals = {name: [0.0, 0, 0] for name in sorted(set(groups.values()))}
    pattern = compiled(WORD)
    for document, ids, nats in zip(documents, codec.encode(documents), scores.token_nats, strict=True):
        lengths = codec.laid_out(document, ids)
        if lengths is None:
            continue
        density = np.repeat(nats / np.maximum(lengths, 1), lengths)
        until = np.concatenate(([0.0], np.cumsum(density)))
        places = _byte_places(document)
        for match in pattern.finditer(document):
            start, end = match.span()
            start -= start > 0 and document[start - 1] == " "
            total = totals[groups[match.group().lower()]]
            total[0] += until[places[end]] - until[places[start]]
            total[1] += int(places[end] - places[start])
            total[2] += 1
    return {
        name: GroupScore(int(words), int(size), float(nats) / (math.log(2) * size) if size else math.nan)
        for name, (nats, size, words) in totals.items()
    }


def _byte_places(document: str) -> np.ndarray:
    """Where each character starts in UTF-8, and where the last ends; int64 (characters + 1,)."""
    points = np.frombuffer(document.encode("utf-32-le"), np.uint32)
    sizes = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    return np.concatenate(([0], np.cumsum(sizes)))
