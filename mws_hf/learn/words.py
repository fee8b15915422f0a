"""Words as flat arrays of code points (`CodePoints`) or of symbols (`SymbolCorpus`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Ints, Longs, Mask
from mws_hf.kernels.interning import find_slices, hash_slices, intern_slices
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import in_parts
from mws_hf.text.capitals import frequent_letters

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts

N_POINTS = 0x110000
"""Number of Unicode code points; tables of all characters have this length."""
_FEW_POINTS = 10_000
"""Maximum number of code points for which a table ends after the highest one of them."""
_MIN_TABLE_SIZE = 0x200
"""Minimum size of a table; it includes ı (U+0131), which may replace I in words that are converted to lowercase."""


@dataclass(frozen=True)
class CodePoints:
    """Words as one array of code points, one word after another.

    Attributes:
        points: int32, shape (n_characters,): the code points of all words.
        starts: int64, shape (n_words + 1,): word w is ``points[starts[w]:starts[w + 1]]``.

    >>> words = CodePoints.of(["до", "ма"])
    >>> len(words), words.starts.tolist(), words.take(np.array([1, 1])).strings()
    (2, [0, 2, 4], ['ма', 'ма'])
    """

    points: Ints
    starts: Longs

    @classmethod
    def of(cls, words: Sequence[str] | CodePoints) -> CodePoints:
        """Convert strings to code points, lone surrogates included; `CodePoints` are returned as they are."""
        if isinstance(words, CodePoints):
            return words
        points = np.frombuffer(bytearray("".join(words).encode("utf-32-le", "surrogatepass")), np.int32)
        starts = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=starts[1:])
        return cls(points, starts)

    @classmethod
    def of_counts(cls, counts: WordCounts) -> CodePoints:
        """Return the words of word counts, in their order there."""
        points, starts = counts.code_points()
        return cls(points.view(np.int32), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def strings(self) -> list[str]:
        """Convert the words to strings."""
        text = self.points.tobytes().decode("utf-32-le", "surrogatepass")
        bounds = self.starts.tolist()
        return [text[begin:end] for begin, end in zip(bounds, bounds[1:], strict=False)]

    def take(self, words: Longs | Ints) -> CodePoints:
        """Copy the words with these numbers, in the order of the numbers."""
        return slices_as_words(self.points, self.starts[words], self.starts[words + 1])


def concatenated(lists: Sequence[CodePoints]) -> CodePoints:
    """Put the words of all lists one after another."""
    ends = np.cumsum([0, *(len(words.points) for words in lists)], dtype=np.int64)
    starts = [words.starts[:-1] + end for words, end in zip(lists, ends.tolist(), strict=False)]
    return CodePoints(np.concatenate([words.points for words in lists]), np.concatenate([*starts, ends[-1:]]))


def slices_as_words(points: Ints, begins: Longs, ends: Longs) -> CodePoints:
    """Copy the slices ``points[begins[k]:ends[k]]`` as words."""
    starts = np.zeros(len(begins) + 1, np.int64)
    np.cumsum(ends - begins, out=starts[1:])
    out = np.empty(starts[-1], np.int32)
    in_parts(lambda a, b: _copy_slices(points, begins[a:b], starts[a : b + 1], out), len(begins))
    return CodePoints(out, starts)


@njit(nogil=True)
def _copy_slices(points: Ints, begins: Longs, starts: Longs, out: Ints) -> None:
    for k in range(len(begins)):
        shift = begins[k] - starts[k]
        for i in range(starts[k], starts[k + 1]):
            out[i] = points[i + shift]


class Distinct(NamedTuple):
    """The distinct words of a list.

    Attributes:
        ids: int32, shape (n_words,): the number of each word among the distinct ones, in order of first appearance.
        first: int32, shape (n_distinct,): the index at which each distinct word first appears in the list.
        hashes: int64, shape (n_distinct,): hashes of the distinct words, which are the same on all machines.
    """

    ids: Ints
    first: Ints
    hashes: Longs


def distinct(words: CodePoints) -> Distinct:
    """Number the distinct words among words."""
    ids, first = intern_slices(words.points, words.starts)
    return Distinct(ids, first, hash_slices(words.points, words.starts, first))


def find_among(words: CodePoints, known: CodePoints) -> Ints:
    """Find each word in another list: int32, shape (n_words,), the index at which it first occurs there, or -1."""
    return find_slices(words.points, words.starts, known.points, known.starts)


def count_points(words: CodePoints, weights: Longs) -> Longs:
    """Count the code points of words, each word as often as its weight: int64, shape (N_POINTS,)."""
    found = np.zeros(N_POINTS, np.int64)
    _add_points(words.points, words.starts, weights, found)
    return found


def letters_with_marker(counts: WordCounts) -> str:
    """Return the uppercase letters that get a marker in a tokenizer of these counts, or "" if none does.

    Capitalized words are counted in lowercase, so the frequency of the lowercase letters decides.
    """
    if not counts.splitter.marks_capitals:
        return ""
    frequency = count_points(CodePoints.of_counts(counts), counts.counts)
    total, seen = max(int(frequency.sum()), 1), np.nonzero(frequency)[0].tolist()
    return frequent_letters({chr(point): int(frequency[point]) / total for point in seen})


@njit(nogil=True)
def _add_points(points: Ints, starts: Longs, weights: Longs, found: Longs) -> None:
    for w in range(len(weights)):
        for i in range(starts[w], starts[w + 1]):
            found[points[i]] += weights[w]


def table_size(points: Ints) -> int:
    """Return the size of a table by code point; it is small for few points, because clearing a full table is slow."""
    return N_POINTS if len(points) > _FEW_POINTS else max(points.max(initial=0) + 1, _MIN_TABLE_SIZE)


def distinct_points(points: Ints) -> list[int]:
    """List the distinct code points, ascending."""
    seen = np.zeros(table_size(points), bool)
    seen[points] = True
    return np.nonzero(seen)[0].tolist()


def utf8_sizes(points: Array) -> Longs:
    """Count the UTF-8 bytes of each character: int64, shape (n_characters,).

    >>> utf8_sizes(np.array([97, 1078, 8364, 128512], np.int32)).tolist()
    [1, 2, 3, 4]
    """
    return 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)


def numbering(alphabet: Iterable[str]) -> tuple[tuple[str, ...], Ints]:
    """Number the distinct characters of an alphabet.

    Returns:
        The distinct characters, ascending; and for each code point its index among them or -1, int32, shape
        (N_POINTS,).
    """
    kept = np.array(sorted({ord(c) for c in alphabet}), np.int64)
    number = np.full(N_POINTS, -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    return tuple(map(chr, kept.tolist())), number


def in_alphabet(words: CodePoints, alphabet: Iterable[str]) -> Mask:
    """Check for each character of words whether it belongs to an alphabet: bool, shape (n_characters,)."""
    return np.greater_equal(numbering(alphabet)[1][words.points], 0)


@dataclass(frozen=True)
class SymbolCorpus:
    """Words as one array of symbols, one word after another; all learners take this as input.

    Attributes:
        alphabet: the symbols as strings; the id of a symbol is its index here.
        symbols: int32, shape (n_symbols,): the ids of the symbols of all words.
        starts: int64, shape (n_words + 1,): word w is ``symbols[starts[w]:starts[w + 1]]``.
        weights: int64, shape (n_words,): how often each word counts. It is 1 if every distinct word counts once, which
            the original MwS calls the good-dataset principle.
    """

    alphabet: tuple[str, ...]
    symbols: Ints
    starts: Longs
    weights: Longs

    def __len__(self) -> int:
        return len(self.weights)

    def word(self, index: int) -> str:
        """Return the word with this number as a string."""
        return "".join(self.alphabet[s] for s in self.symbols[self.starts[index] : self.starts[index + 1]])

    @classmethod
    def from_words(
        cls,
        words: Sequence[str] | CodePoints,
        weights: Iterable[int] | Longs | None = None,
        alphabet: Iterable[str] | None = None,
    ) -> SymbolCorpus:
        """Convert words to symbols, with one symbol per character.

        A character that is not in the alphabet is left out, and the parts of the word before and after it become
        separate words. Empty words are left out.

        Args:
            words: the words.
            weights: how often each word counts; by default 1.
            alphabet: characters to keep; by default all characters of the words.

        Raises:
            MwSError: there are more or fewer weights than words.

        >>> limited = SymbolCorpus.from_words(["aba", "cab"], [2, 1], alphabet="ac")
        >>> [limited.word(i) for i in range(len(limited))], limited.weights.tolist()
        (['a', 'a', 'ca'], [2, 2, 1])
        """
        text = CodePoints.of(words)
        ones = np.ones(len(text), np.int64) if weights is None else weights
        counts = np.asarray(ones if isinstance(ones, np.ndarray) else list(ones), np.int64)
        if len(counts) != len(text):
            raise MwSError(f"{len(text)} words but {len(counts)} weights; give one weight per word")
        characters, number = numbering(map(chr, np.unique(text.points).tolist()) if alphabet is None else alphabet)
        symbols = number[text.points]
        known = symbols >= 0
        if known.all() and np.diff(text.starts).all():
            return cls(characters, symbols, text.starts, counts.copy())  # not read-only: kernels would be recompiled
        edges = np.zeros(len(symbols) + 1, bool)
        edges[text.starts] = True
        first = known & edges[:-1]
        first[1:] |= known[1:] & ~known[:-1]
        last = known & edges[1:]
        last[:-1] |= known[:-1] & ~known[1:]
        begins = np.nonzero(first)[0]
        starts = np.zeros(len(begins) + 1, np.int64)
        np.cumsum(np.nonzero(last)[0] + 1 - begins, out=starts[1:])
        owners = np.searchsorted(text.starts, begins, "right") - 1
        return cls(characters, symbols[known], starts, counts[owners])


SCORE_BITS = 62
"""Sums of scores stay below 2 ** SCORE_BITS, which is half of the largest int64."""


def weighted_letter_count(starts: Longs, weights: Longs) -> int:
    """Add up the length of each word times its weight, as a Python integer, because the sum may exceed 64 bits.

    >>> weighted_letter_count(np.array([0, 3, 4]), np.array([2**62, 1]))
    13835058055282163713
    """
    lengths = np.diff(starts)
    return (int((lengths * (weights >> 32)).sum()) << 32) + int((lengths * (weights & 0xFFFFFFFF)).sum())
