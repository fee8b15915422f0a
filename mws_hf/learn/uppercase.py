"""Add uppercase variants of frequent words, so that text in capitals is not split into many tokens."""

from __future__ import annotations

import numpy as np

from mws_hf.kernels import Longs
from mws_hf.learn.words import CodePoints, concatenated, find_among
from mws_hf.text.letter_case import DOTLESS, DOTTED, uppercase

LOWERCASE_PER_CAPITAL = 500
"""Number of lowercase occurrences of a word that count as one occurrence in uppercase."""


def with_uppercase(words: CodePoints, counts: Longs) -> tuple[CodePoints, Longs]:
    """Add uppercase variants of words that occur at least `LOWERCASE_PER_CAPITAL` times in lowercase.

    Running text has few words in uppercase, so without the variants a headline would be split into many tokens. They
    take 30 to 300 tokens of the vocabulary (scripts/log, 2026-11-23). Titlecase variants are not added, because with
    them text becomes 1.9 % longer. A word whose uppercase is longer, such as one with "ß", gets no variant. The
    uppercase of Turkish words has İ for i (`uppercase_variants`).

    Returns:
        The words, new ones last, and their counts.

    >>> words, counts = with_uppercase(CodePoints.of([" ab", " AB", " Cd", " cd"]), np.array([1000, 3, 900, 500]))
    >>> words.strings(), counts.tolist()
    ([' ab', ' AB', ' Cd', ' cd', ' CD'], [1000, 5, 900, 500, 1])
    """
    often = np.nonzero(counts >= LOWERCASE_PER_CAPITAL)[0]
    variants: dict[str, int] = {}
    listed = words.take(often).strings()
    for word, variant, count in zip(
        listed, uppercase_variants(listed, words, counts), counts[often].tolist(), strict=True
    ):
        if word == word.lower() and variant != word and len(variant) == len(word):
            variants[variant] = variants.get(variant, 0) + count // LOWERCASE_PER_CAPITAL
    if not variants:
        return words, counts
    added, times = CodePoints.of(list(variants)), np.fromiter(variants.values(), np.int64, len(variants))
    found = find_among(added, words)
    known = found >= 0
    counts = counts.astype(np.int64)  # a copy, which is changed
    counts[found[known]] += times[known]
    return concatenated([words, added.take(np.nonzero(~known)[0])]), np.concatenate([counts, times[~known]])


DOTLESS_PER_I = 0.1
"""Number of ı per i above which the i of a text is taken to be Turkish, so that its uppercase is İ.

Turkish and Azerbaijani have about 0.5 ı per i; other texts have ı only in names.
"""


def uppercase_variants(listed: list[str], words: CodePoints, counts: Longs) -> list[str]:
    """Return the uppercase of each listed word, with İ for i if the text writes it so.

    For each word, the form with I or İ that occurs more often among all words is taken. If neither occurs, i becomes İ
    if the whole text has as many ı as Turkish has (`DOTLESS_PER_I`).

    >>> words = CodePoints.of([" bir", " kapı", " BİR"])
    >>> uppercase_variants([" bir", " iki", " kapı"], words, np.array([9, 5, 1]))
    [' BİR', ' İKİ', ' KAPI']
    >>> uppercase_variants([" in", " bir"], CodePoints.of([" in", " BİR"]), np.array([100, 1]))
    [' IN', ' BİR']
    """
    plain = [uppercase(word) for word in listed]
    if not (words.points == ord(DOTTED)).any() and not (words.points == ord(DOTLESS)).any():
        return plain
    dotted = [uppercase(word.replace("i", DOTTED)) for word in listed]
    times = np.append(counts, 0)  # -1 stands for a word that does not occur
    of_plain, of_dotted = (times[find_among(CodePoints.of(forms), words)] for forms in (plain, dotted))
    is_turkic = _times_of(DOTLESS, words, counts) > DOTLESS_PER_I * _times_of("i", words, counts)
    takes_dotted = np.where(of_plain == of_dotted, is_turkic, of_dotted > of_plain).tolist()
    return [
        with_dot if taken else without for without, with_dot, taken in zip(plain, dotted, takes_dotted, strict=True)
    ]


def _times_of(character: str, words: CodePoints, counts: Longs) -> int:
    """Count the occurrences of a character in running text."""
    places = np.nonzero(words.points == ord(character))[0]
    return int(counts[np.searchsorted(words.starts, places, side="right") - 1].sum())
