"""What of a word list can carry morphs: letters cased and folded, leading spaces, graphemes. Nothing is learnt here.

A word pre-token is an optional leading character followed by letters, their combining marks and inner apostrophes
(' and ’). Its letters, lower-cased character by character where that keeps the length, are its core; all cased and
spaced forms share their core's evidence. A leading space is part of the form; any other leading character is cut off,
since the junction after it is certain. Numbers, punctuation, whitespace and mixed pre-tokens are no words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mws_hf.learn.contextual.interning import intern_pairs, intern_slices
from mws_hf.learn.symbols import SymbolCorpus
from mws_hf.pattern import compiled

Longs = npt.NDArray[np.int64]
Points = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_N_POINTS = 0x110000
_CLASSES = (r"\p{L}", r"\p{M}", r"\p{N}", "['’]")


def fold(text: str) -> str:
    """Lower case, character by character, leaving alone what would change its length.

    >>> fold("ЁЛКА"), fold("İğne")
    ('ёлка', 'İğne')
    """
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)


def code_points(words: Sequence[str]) -> tuple[Points, Longs]:
    """All characters of the words as int32 code points, and int64 word starts (one more than words)."""
    points = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.int32)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    return points, np.concatenate([[0], np.cumsum(lengths)])


class CharacterTable:
    """Class and lower case of the code points that occur in `points`."""

    def __init__(self, points: Points) -> None:
        seen = np.zeros(_N_POINTS, bool)
        seen[points] = True
        distinct = np.nonzero(seen)[0]
        characters = list(map(chr, distinct.tolist()))
        self.lower = np.arange(_N_POINTS, dtype=np.int32)
        self.lower[distinct] = [ord(fold(c)) for c in characters]
        tables = []
        for pattern in _CLASSES:
            table = np.zeros(_N_POINTS, bool)
            match = compiled(pattern).match
            table[distinct] = [match(c) is not None for c in characters]
            tables.append(table)
        self.letter, self.mark, self.number, self.apostrophe = tables


@dataclass(frozen=True)
class WordPlaces:
    """Where the words of a list of pre-tokens lie.

    Attributes:
        points: int32, the code points of all pre-tokens; `starts`: int64, where each begins.
        begins: int64, shape (n_pretokens,), the first letter of each pre-token's core; its end is the pre-token's.
        is_word: bool, shape (n_pretokens,).
        spaced: bool, shape (n_pretokens,), a word that starts with a space.
        table: classes and lower case of the code points.
    """

    points: Points
    starts: Longs
    begins: Longs
    is_word: Mask
    spaced: Mask
    table: CharacterTable

    def letters(self, words: Longs) -> tuple[Points, Longs]:
        """Code points of the cores (not folded) of the given words, and where each begins (one more than words)."""
        begins, sizes = self.begins[words], self.starts[words + 1] - self.begins[words]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return self.points[np.arange(starts[-1]) + np.repeat(begins - starts[:-1], sizes)], starts

    def cores(self, words: Longs) -> list[str]:
        """The cores of the given words."""
        letters, starts = self.letters(words)
        return _slices(self.table.lower[letters], starts, np.zeros(len(words), bool))


def find_words(pretokens: Sequence[str]) -> WordPlaces:
    """Tell words from other pre-tokens; empty pre-tokens are no words.

    >>> places = find_words([" п'ять", "2nd", "(Дом", "a'", "..."])
    >>> places.is_word.tolist(), (places.begins - places.starts[:-1])[places.is_word].tolist(), places.spaced.tolist()
    ([True, False, True, False, False], [1, 1], [True, False, False, False, False])
    """
    points, starts = code_points(pretokens)
    table = CharacterTable(points)
    letter = np.append(table.letter[points], [False, False])
    good = letter[:-2] | table.mark[points]
    heads, ends = starts[:-1], starts[1:]
    full = ends > heads
    opens = np.zeros(len(points) + 1, bool)
    opens[starts] = True
    inner_apostrophe = table.apostrophe[points] & letter[1:-1] & ~opens[1:] & np.append(False, good)[:-1]
    allowed = np.append(good | inner_apostrophe, True)
    lead = full & ~letter[heads]
    lead[lead] &= ~table.number[points[heads[lead]]]
    allowed[heads[lead]] = True
    begins = heads + lead
    bad = np.concatenate([[0], np.cumsum(~allowed[:-1])])
    is_word = full & (begins < ends) & letter[begins] & (bad[ends] == bad[heads])
    spaced = is_word & lead
    spaced[spaced] &= points[heads[spaced]] == ord(" ")
    return WordPlaces(points, starts, begins, is_word, spaced, table)


@dataclass(frozen=True)
class Forms:
    """Distinct (spaced or bare, cased) forms of the words and the distinct cores they share.

    Attributes:
        forms: the forms as strings, with their leading space if they have one.
        counts: int64, shape (n_forms,), summed over the pre-tokens that hold the form.
        core_of: int64, shape (n_forms,), index into `cores`.
        cores: the folded letters; by count, descending, then by a hash, so that the first n of a list without counts
            are an even sample of it and not one corner of the alphabet.
        core_counts: int64, shape (n_cores,).
    """

    forms: list[str]
    counts: Longs
    core_of: Longs
    cores: list[str]
    core_counts: Longs


def collect_forms(pretokens: Sequence[str], counts: Longs) -> Forms:
    """Group the words among the pre-tokens by form and by core.

    >>> found = collect_forms([" дом", " Дом", "(дом", "12", "дом"], np.array([5, 1, 2, 9, 1]))
    >>> found.forms, found.counts.tolist(), found.cores, found.core_counts.tolist()
    ([' дом', ' Дом', 'дом'], [5, 1, 3], ['дом'], [9])
    """
    places = find_words(pretokens)
    chosen = np.nonzero(places.is_word)[0]
    letters, starts = places.letters(chosen)
    spaced = places.spaced[chosen]
    form = intern_slices(letters, starts, spaced.astype(np.int32))
    core = intern_slices(places.table.lower[letters], starts, np.zeros(len(chosen), np.int32))
    core_counts = _sums(core.ids, counts[chosen], len(core.first))
    order = np.lexsort((core.hashes, -core_counts))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return Forms(
        _slices(*places.letters(chosen[form.first]), spaced[form.first]),
        _sums(form.ids, counts[chosen], len(form.first)),
        rank[core.ids[form.first]],
        places.cores(chosen[core.first[order]]),
        core_counts[order],
    )


def _slices(points: Points, starts: Longs, spaced: Mask) -> list[str]:
    """The words at `starts` as strings, with a space before where `spaced`."""
    text = points.tobytes().decode("utf-32-le", "surrogatepass")
    bounds = starts.tolist()
    return [
        " " + text[begin:end] if space else text[begin:end]
        for begin, end, space in zip(bounds, bounds[1:], spaced.tolist(), strict=False)
    ]


def _sums(ids: Longs, counts: Longs, n: int) -> Longs:
    """Exact integer sums of `counts` by id."""
    order = np.argsort(ids, kind="stable")
    return np.add.reduceat(counts[order], np.searchsorted(ids[order], np.arange(n))) if n else np.zeros(0, np.int64)


@dataclass(frozen=True)
class Graphemes:
    """Words as sequences of graphemes, a letter with the combining marks that follow it.

    Attributes:
        corpus: the words; symbols are graphemes, numbered in order of appearance after the code points.
        last: bool, shape (n_characters,), the character ends a grapheme.
    """

    corpus: SymbolCorpus
    last: Mask


def split_graphemes(words: Sequence[str]) -> Graphemes:
    """Cut words into graphemes, so that no evidence ever separates a mark from its letter.

    >>> found = split_graphemes(["नमस्ते", "मन"])
    >>> [len(found.corpus.word(i)) for i in range(2)], found.corpus.symbols.tolist(), found.corpus.alphabet
    ([6, 2], [0, 1, 2, 3, 1, 0], ('न', 'म', 'स्', 'ते'))
    """
    points, starts = code_points(words)
    mark = CharacterTable(points).mark[points]
    mark[starts[:-1]] = False
    bases = np.nonzero(~mark)[0]
    sizes = np.diff(np.append(bases, len(points)))
    kinds = points[bases].astype(np.int32)
    offset = np.int32(_N_POINTS)
    for depth in range(1, int(sizes.max(initial=1))):
        more = np.nonzero(sizes > depth)[0]
        longer = intern_pairs(kinds[more], points[bases[more] + depth].astype(np.int32))
        kinds[more] = longer.ids + offset
        offset += np.int32(len(longer.first))
    symbols = intern_pairs(kinds, np.zeros(len(kinds), np.int32))
    text = "".join(words)
    alphabet = tuple(text[bases[i] : bases[i] + sizes[i]] for i in symbols.first)
    grapheme_starts = np.concatenate([[0], np.cumsum(~mark)])[starts]
    corpus = SymbolCorpus(alphabet, symbols.ids, grapheme_starts.astype(np.int64), np.ones(len(words), np.int64))
    return Graphemes(corpus, np.append(~mark, True)[1:])
