"""Select the words in a list of pre-tokens and group them by case-folded type; cut words into graphemes.

A word pre-token is an optional leading character followed by letters, their combining marks and inner apostrophes
(' and ’). Its letters, lower-cased character by character where that keeps the length, are its lower-cased type; all
cased and spaced forms share the evidence of their type. A leading space is part of the form; any other leading
character is cut off, since the position after it is a certain boundary. Numbers, punctuation, whitespace and mixed
pre-tokens are no words.

Also found here: positions inside words, ranges of words for threads, and the threshold of a share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mws_hf.kernels import Doubles, Ints, Longs, Mask
from mws_hf.kernels.interning import intern_pairs
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import in_parts, side_by_side
from mws_hf.learn.words import (
    N_POINTS,
    CodePoints,
    SymbolCorpus,
    concatenated,
    cut_out,
    distinct,
    distinct_points,
    find_among,
)
from mws_hf.text.letter_case import DOTLESS, DOTTED, lowercase
from mws_hf.text.pattern import compiled

_CLASSES = (r"\p{L}", r"\p{M}", r"\p{N}", "['’]")


class CharacterTable(NamedTuple):
    """Lower case (int32) and classes (bool) of code points, each of shape (N_POINTS,)."""

    lower: Ints
    letter: Mask
    mark: Mask
    number: Mask
    apostrophe: Mask

    @classmethod
    def of(cls, points: Ints) -> CharacterTable:
        """Build the table for the code points in `points` only; all others get no class."""
        found = distinct_points(points)
        characters = list(map(chr, found))
        lower = np.arange(N_POINTS, dtype=np.int32)
        lower[found] = [ord(lowercase(c)) for c in characters]
        classes = np.zeros((len(_CLASSES), N_POINTS), bool)
        for members, pattern in zip(classes, _CLASSES, strict=True):
            match = compiled(pattern).match
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
class WordPlaces:
    """Places of the words in a list of pre-tokens; a word's type is what follows from `begins` on."""

    text: CodePoints
    begins: Longs
    is_word: Mask
    spaced: Mask
    table: CharacterTable

    def forms(self, words: Longs) -> CodePoints:
        """Return words by number with their leading space, without any other leading character."""
        return cut_out(self.text.points, self.begins[words] - self.spaced[words], self.text.starts[words + 1])

    def types(self, words: Longs) -> CodePoints:
        """Return the lower-cased letters of words by number."""
        letters = cut_out(self.text.points, self.begins[words], self.text.starts[words + 1])
        self.table.write_lower(letters)
        return letters


def find_words(pretokens: Sequence[str] | CodePoints) -> WordPlaces:
    """Separate words from other pre-tokens; empty pre-tokens are no words.

    >>> places = find_words([" п'ять", "2nd", "(Дом", "a'", "..."])
    >>> places.is_word.tolist(), (places.begins - places.text.starts[:-1])[places.is_word].tolist()
    ([True, False, True, False, False], [1, 1])
    """
    text = CodePoints.of(pretokens)
    table = CharacterTable.of(text.points)
    begins, is_word, spaced = text.starts[:-1].copy(), np.zeros(len(text), bool), np.zeros(len(text), bool)
    in_parts(
        lambda a, b: _find_words(text.points, text.starts[a : b + 1], table, begins[a:b], is_word[a:b], spaced[a:b]),
        len(text),
    )
    return WordPlaces(text, begins, is_word, spaced, table)


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
    """Distinct (spaced or bare, cased) forms of the words, their counts, and the lower-cased types they share.

    Types are ordered by count, descending, then by a hash. So the first n of a list without counts are an even sample
    of it and not one corner of the alphabet.
    """

    words: CodePoints
    counts: Longs
    type_of: Longs
    types: CodePoints
    type_counts: Longs


def collect_forms(pretokens: Sequence[str] | CodePoints, counts: Longs) -> Forms:
    """Group the words among distinct pre-tokens by form and by lower-cased type."""
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
    """Distinct lower-cased types, the most frequent first, and how often each occurs."""

    words: CodePoints
    counts: Longs


def collect_types(pretokens: Sequence[str] | CodePoints, counts: Longs) -> TypeCounts:
    """Collect the lower-cased types of the words among distinct pre-tokens, without their forms, in half the time."""
    places = find_words(pretokens)
    words = np.nonzero(places.is_word)[0]
    return _collect_types(places, words, counts[words])[0]


def _collect_types(places: WordPlaces, words: Longs, counts: Longs) -> tuple[TypeCounts, Longs]:
    """Collect the types of words by number, and the number of each word's type."""
    letters = places.types(words)
    found = distinct(letters)
    type_counts = _sums_by_row(found.ids, counts, len(found.first))
    order = _by_count(type_counts, found.hashes)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return TypeCounts(letters.take(found.first[order]), type_counts[order]), rank[found.ids]


def _by_count(counts: Longs, hashes: Longs) -> Longs:
    """Order rows by count, descending, then by hash; rows of count 1, often most of them, in a thread of their own."""

    def sorted_rows(rows: Longs) -> Longs:
        return rows[np.lexsort((hashes[rows], -counts[rows]))]

    return np.concatenate(side_by_side(sorted_rows, (np.nonzero(counts > 1)[0], np.nonzero(counts <= 1)[0])))


def with_lower_case(forms: Forms) -> Forms:
    """Add the lower-case variant of every cased form; a variant that the text never has counts like its cased form.

    A dictionary, a query or a sentence may put a word in another case, and it should not be cut as if it were unknown:
    German nouns, or words seen only at the start of sentences, in lower case.

    >>> more = with_lower_case(collect_forms([" Дом", " дома"], np.array([5, 1])))
    >>> more.words.strings(), more.counts.tolist()
    ([' Дом', ' дома', ' дом'], [5, 1, 5])
    """
    words = forms.words
    lower = CodePoints(words.points.copy(), words.starts)
    CharacterTable.of(words.points).write_lower(lower)
    absent = np.nonzero(find_among(lower, words) < 0)[0]
    twins = lower.take(absent)
    twin = distinct(twins)
    added = twins.take(twin.first)
    return replace(
        forms,
        words=concatenated([words, added]),
        counts=np.concatenate([forms.counts, _sums_by_row(twin.ids, forms.counts[absent], len(twin.first))]),
        type_of=np.concatenate([forms.type_of, forms.type_of[absent][twin.first]]),
    )


def _sums_by_row(ids: Ints, counts: Longs, n: int) -> Longs:
    """Add up counts by id, exactly."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, ids, counts)
    return sums


@dataclass(frozen=True)
class Graphemes:
    """Words as graphemes, letters with the combining marks after them; `last`: the character ends a grapheme."""

    corpus: SymbolCorpus
    last: Mask


def count_graphemes(words: CodePoints) -> Longs:
    """Count the graphemes of each word; marks that begin a word are one grapheme of their own.

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
    """Cut words into graphemes, numbered as they appear, so that no evidence ever separates a mark from its letter."""
    words = CodePoints.of(words)
    points, (base, sizes) = words.points, _find_bases(words)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    bases = np.nonzero(base)[0]
    kinds = points[bases]
    ends = np.append(bases, len(base))
    marked = np.unique(np.searchsorted(bases, np.nonzero(~base)[0]) - 1)  # few or none in most writing
    offset = np.int32(N_POINTS)
    depth = 1
    while len(marked := marked[bases[marked] + depth < ends[marked + 1]]):
        longer = intern_pairs(kinds[marked], points[bases[marked] + depth])
        kinds[marked] = longer.ids + offset
        offset += np.int32(len(longer.first))
        depth += 1
    symbols = intern_pairs(kinds, np.zeros(len(kinds), np.int32))
    graphemes = cut_out(points, bases[symbols.first], ends[symbols.first + 1])
    corpus = SymbolCorpus(tuple(graphemes.strings()), symbols.ids, starts, np.ones(len(words), np.int64))
    return Graphemes(corpus, np.append(base, True)[1:])


def inner_positions(starts: Longs) -> Mask:
    """Mark the positions inside words: True after every symbol but the last of each word."""
    inner = np.ones(starts[-1], bool)
    inner[starts[1:] - 1] = False
    return inner


def word_ranges(corpus: SymbolCorpus, n: int) -> list[Longs]:
    """Cut ``corpus.starts`` into at most `n` slices of about as many symbols each; together they cover all words.

    >>> [r.tolist() for r in word_ranges(SymbolCorpus.from_words(["abc", "de", "f"]), 2)]
    [[0, 3], [3, 5, 6]]
    """
    cuts = np.searchsorted(corpus.starts, np.linspace(0, len(corpus.symbols), n + 1).astype(np.int64))
    return [corpus.starts[lo : hi + 1] for lo, hi in zip(cuts[:-1], cuts[1:], strict=True) if hi > lo]


def least_cut(values: Doubles, granularity: float) -> np.float64:
    """Find the value above which a share of `granularity` of the values lies.

    >>> float(least_cut(np.array([4.0, 1.0, 3.0, 2.0, 5.0]), 0.25))
    4.0
    """
    uncut = round((1 - granularity) * (len(values) - 1))
    found: np.float64 = np.partition(values, uncut)[uncut]
    return found
