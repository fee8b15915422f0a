"""Select the words among pre-tokens, group them by their type in lowercase, and split words into graphemes.

A pre-token is a word if it consists of letters with their combining marks and with apostrophes (' and ’) between them.
Any single character except a letter or a digit may come before them. Numbers, punctuation, whitespace and mixtures of
these with letters are not words.

The *type* of a word is its letters in lowercase (`letter_case.fold`). All its forms, in any letter case and with or
without a space, have the boundary probabilities of their type. A space before the letters belongs to the form. Any
other character before them does not, because a boundary after it is certain.

This module also finds the positions inside words, ranges of words for threads, and the threshold of a share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import regex

from mws_hf.kernels import Doubles, Ints, Longs, Mask
from mws_hf.kernels.interning import intern_pairs
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import in_parts, side_by_side
from mws_hf.learn.words import (
    N_POINTS,
    CodePoints,
    SymbolCorpus,
    concatenated,
    distinct,
    distinct_points,
    find_among,
    slices_as_words,
    table_size,
)
from mws_hf.text.letter_case import DOTLESS, DOTTED, lowercase

_CLASSES = (r"\p{L}", r"\p{M}", r"\p{N}", "['’]")
"""Patterns of the classes of a `CharacterTable`, in their order there."""


class CharacterTable(NamedTuple):
    """Lowercase and classes of code points.

    Attributes:
        lower: int32, shape (table_size,): the code point of the lowercase letter.
        letter, mark, number, apostrophe: bool, shape (table_size,): whether a code point belongs to the class.
    """

    lower: Ints
    letter: Mask
    mark: Mask
    number: Mask
    apostrophe: Mask

    @classmethod
    def of(cls, points: Ints) -> CharacterTable:
        """Build the table for the code points that occur in `points`; all others belong to no class."""
        found = distinct_points(points)
        characters = list(map(chr, found))
        lower = np.arange(table_size(points), dtype=np.int32)
        lower[found] = [ord(lowercase(c)) for c in characters]
        classes = np.zeros((len(_CLASSES), len(lower)), bool)
        for members, pattern in zip(classes, _CLASSES, strict=True):
            match = regex.compile(pattern).match
            members[found] = [match(c) is not None for c in characters]
        return cls(lower, *classes)

    def write_lower(self, words: CodePoints) -> None:
        """Convert words to lowercase as `fold` does, in place."""
        points = words.points
        turkic = np.nonzero((points == ord(DOTTED)) | (points == ord(DOTLESS)))[0]
        if len(turkic):
            capitals = np.nonzero(points == ord("I"))[0]
            word_of_turkic, word_of_capital = (np.searchsorted(words.starts, at, "right") for at in (turkic, capitals))
            points[capitals[np.isin(word_of_capital, word_of_turkic)]] = ord(DOTLESS)
        in_parts(lambda a, b: _replace_each(points[a:b], self.lower), len(points))


@njit(nogil=True)
def _replace_each(points: Ints, table: Ints) -> None:
    for i in range(len(points)):
        points[i] = table[points[i]]


@dataclass(frozen=True)
class FoundWords:
    """Pre-tokens, which of them are words, and where the letters of each word begin.

    Attributes:
        text: the pre-tokens.
        begins: int64, shape (n_pretokens,): index in the code points of `text` at which the letters of a word begin.
        is_word: bool, shape (n_pretokens,): whether the pre-token is a word.
        spaced: bool, shape (n_pretokens,): whether it is a word after a space.
        table: classes of the characters of `text`.
    """

    text: CodePoints
    begins: Longs
    is_word: Mask
    spaced: Mask
    table: CharacterTable

    def forms(self, words: Longs) -> CodePoints:
        """Return the words with these numbers, with the space before them, but without any other character there."""
        return slices_as_words(self.text.points, self.begins[words] - self.spaced[words], self.text.starts[words + 1])

    def types(self, words: Longs) -> CodePoints:
        """Return the letters, in lowercase, of the words with these numbers."""
        letters = slices_as_words(self.text.points, self.begins[words], self.text.starts[words + 1])
        self.table.write_lower(letters)
        return letters


def find_words(pretokens: Sequence[str] | CodePoints) -> FoundWords:
    """Find the words among pre-tokens; empty pre-tokens are not words.

    >>> found = find_words([" п'ять", "2nd", "(Дом", "a'", "..."])
    >>> found.is_word.tolist(), (found.begins - found.text.starts[:-1])[found.is_word].tolist()
    ([True, False, True, False, False], [1, 1])
    """
    text = CodePoints.of(pretokens)
    table = CharacterTable.of(text.points)
    begins, is_word, spaced = text.starts[:-1].copy(), np.zeros(len(text), bool), np.zeros(len(text), bool)
    in_parts(
        lambda a, b: _find_words(text.points, text.starts[a : b + 1], table, begins[a:b], is_word[a:b], spaced[a:b]),
        len(text),
    )
    return FoundWords(text, begins, is_word, spaced, table)


@njit(nogil=True)
def _find_words(points: Ints, starts: Longs, table: CharacterTable, begins: Longs, is_word: Mask, spaced: Mask) -> None:
    _, letter, mark, number, apostrophe = table
    for w in range(len(begins)):
        head, end = starts[w], starts[w + 1]
        if head == end:
            continue
        lead = not letter[points[head]] and not number[points[head]]
        begins[w] = begin = head + lead
        if begin == end or not letter[points[begin]]:
            continue
        good = True
        for i in range(begin + 1, end):
            p = points[i]
            if not letter[p] and not mark[p]:
                between = i + 1 < end and letter[points[i + 1]] and (letter[points[i - 1]] or mark[points[i - 1]])
                good = good and apostrophe[p] and between
        is_word[w] = good
        spaced[w] = good and lead and points[head] == 32


@dataclass(frozen=True)
class Forms:
    """The distinct forms of words, which keep their letter case and leading space, and the types of these forms.

    Types are ordered by count, descending, then by a hash. So the first types of a list without counts are an even
    sample of the list, instead of words that begin with the same letters.

    Attributes:
        words: the forms.
        counts: int64, shape (n_forms,): how often each form occurs.
        type_of: int64, shape (n_forms,): the index of its type.
        types: the types, in lowercase.
        type_counts: int64, shape (n_types,): how often each type occurs.
    """

    words: CodePoints
    counts: Longs
    type_of: Longs
    types: CodePoints
    type_counts: Longs


def collect_forms(pretokens: Sequence[str] | CodePoints, counts: Longs) -> Forms:
    """Group the words among distinct pre-tokens by form and by type.

    Args:
        pretokens: distinct pre-tokens.
        counts: int64, shape (n_pretokens,): how often each occurs.
    """
    places = find_words(pretokens)
    words = np.nonzero(places.is_word)[0]
    counts = counts[words]
    types, type_of = _collect_types(places, words, counts)
    forms = places.forms(words)
    del places, pretokens
    form = distinct(forms)
    return Forms(
        forms.take(form.first),
        _sums_by_row(form.ids, counts, len(form.first)),
        type_of[form.first],
        types.words,
        types.counts,
    )


class TypeCounts(NamedTuple):
    """The distinct types, in lowercase, the most frequent first, and how often each occurs."""

    words: CodePoints
    counts: Longs


def collect_types(pretokens: Sequence[str] | CodePoints, counts: Longs) -> TypeCounts:
    """Collect the types of the words among distinct pre-tokens, without their forms.

    It takes half the time of `collect_forms`, whose arguments are the same.
    """
    places = find_words(pretokens)
    words = np.nonzero(places.is_word)[0]
    return _collect_types(places, words, counts[words])[0]


def _collect_types(places: FoundWords, words: Longs, counts: Longs) -> tuple[TypeCounts, Longs]:
    """Collect the types of the words with these numbers; returns them and the index of each word's type."""
    letters = places.types(words)
    found = distinct(letters)
    type_counts = _sums_by_row(found.ids, counts, len(found.first))
    order = _by_count(type_counts, found.hashes)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return TypeCounts(letters.take(found.first[order]), type_counts[order]), rank[found.ids]


def _by_count(counts: Longs, hashes: Longs) -> Longs:
    """Order rows by count, descending, then by hash.

    Rows with count 1, which are often the majority, are sorted in a thread of their own.
    """

    def sorted_rows(rows: Longs) -> Longs:
        return rows[np.lexsort((hashes[rows], -counts[rows]))]

    return np.concatenate(side_by_side(sorted_rows, (np.nonzero(counts > 1)[0], np.nonzero(counts <= 1)[0])))


def with_lowercase(forms: Forms) -> Forms:
    """Add the lowercase variant of every form that has uppercase letters.

    A variant that the text does not contain gets the count of its form. So words that occur only at the beginning of a
    sentence, and German nouns, are not split like unknown words when a query or a dictionary writes them in lowercase.

    >>> more = with_lowercase(collect_forms([" Дом", " дома"], np.array([5, 1])))
    >>> more.words.strings(), more.counts.tolist()
    ([' Дом', ' дома', ' дом'], [5, 1, 5])
    """
    words = forms.words
    lower = CodePoints(words.points.copy(), words.starts)
    CharacterTable.of(words.points).write_lower(lower)
    absent = np.nonzero(find_among(lower, words) < 0)[0]
    variants = lower.take(absent)
    found = distinct(variants)
    added = variants.take(found.first)
    return replace(
        forms,
        words=concatenated([words, added]),
        counts=np.concatenate([forms.counts, _sums_by_row(found.ids, forms.counts[absent], len(found.first))]),
        type_of=np.concatenate([forms.type_of, forms.type_of[absent][found.first]]),
    )


def _sums_by_row(ids: Ints, counts: Longs, n: int) -> Longs:
    """Add up the counts of each id, exactly: int64, shape (n,)."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, ids, counts)
    return sums


@dataclass(frozen=True)
class Graphemes:
    """Words as graphemes, which are letters with the combining marks after them.

    Attributes:
        corpus: the words, with a grapheme as each symbol.
        last: bool, shape (n_characters of the words,): whether a character ends a grapheme.
    """

    corpus: SymbolCorpus
    last: Mask


def count_graphemes(words: CodePoints) -> Longs:
    """Count the graphemes of each word: int64, shape (n_words,); marks that begin a word are one grapheme.

    >>> count_graphemes(CodePoints.of(["ते", "मन", ""])).tolist()
    [1, 2, 0]
    """
    return _find_bases(words)[1]


def _find_bases(words: CodePoints) -> tuple[Mask, Longs]:
    """Mark the characters that begin a grapheme (bool), and count the graphemes of each word (int64)."""
    base, sizes = np.empty(len(words.points), bool), np.empty(len(words), np.int64)
    _write_bases(words.points, words.starts, CharacterTable.of(words.points).mark, base, sizes)
    return base, sizes


@njit(nogil=True)
def _write_bases(points: Ints, starts: Longs, mark: Mask, base: Mask, sizes: Longs) -> None:
    for w in range(len(sizes)):
        sizes[w] = 0
        for i in range(starts[w], starts[w + 1]):
            base[i] = i == starts[w] or not mark[points[i]]
            sizes[w] += base[i]


def split_graphemes(words: Sequence[str] | CodePoints) -> Graphemes:
    """Split words into graphemes, so that no boundary can separate a combining mark from its letter.

    Graphemes are numbered in the order in which they first appear.
    """
    words = CodePoints.of(words)
    points, (base, sizes) = words.points, _find_bases(words)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    bases = np.nonzero(base)[0]
    kinds = points[bases]
    ends = np.append(bases, len(base))
    # graphemes with marks: few or none in most scripts
    marked = np.unique(np.searchsorted(bases, np.nonzero(~base)[0]) - 1)
    offset = np.int32(N_POINTS)
    depth = 1
    while len(marked := marked[bases[marked] + depth < ends[marked + 1]]):
        longer = intern_pairs(kinds[marked], points[bases[marked] + depth])
        kinds[marked] = longer.ids + offset
        offset += np.int32(len(longer.first))
        depth += 1
    symbols = intern_pairs(kinds, np.zeros(len(kinds), np.int32))
    graphemes = slices_as_words(points, bases[symbols.first], ends[symbols.first + 1])
    corpus = SymbolCorpus(tuple(graphemes.strings()), symbols.ids, starts, np.ones(len(words), np.int64))
    return Graphemes(corpus, np.append(base, True)[1:])


def inner_positions(starts: Longs) -> Mask:
    """Find the positions inside words: bool, shape (n_symbols,), True after each symbol that does not end a word."""
    inner = np.ones(starts[-1], bool)
    inner[starts[1:] - 1] = False
    return inner


def word_ranges(corpus: SymbolCorpus, n: int) -> list[Longs]:
    """Divide a corpus into at most `n` ranges of words with about the same number of symbols.

    Returns:
        For each range, the part of ``corpus.starts`` that delimits its words.

    >>> [r.tolist() for r in word_ranges(SymbolCorpus.from_words(["abc", "de", "f"]), 2)]
    [[0, 3], [3, 5, 6]]
    """
    edges = np.searchsorted(corpus.starts, np.linspace(0, len(corpus.symbols), n + 1).astype(np.int64))
    return [corpus.starts[lo : hi + 1] for lo, hi in zip(edges[:-1], edges[1:], strict=True) if hi > lo]


def share_threshold(values: Doubles, share: float) -> np.float64:
    """Find the value above which the share `share` of the values lies.

    >>> float(share_threshold(np.array([4.0, 1.0, 3.0, 2.0, 5.0]), 0.25))
    4.0
    """
    rank = round((1 - share) * (len(values) - 1))
    found: np.float64 = np.partition(values, rank)[rank]
    return found
