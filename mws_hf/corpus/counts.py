"""Store, combine, save and load word counts (`WordCounts`): the number of times each distinct pre-token occurs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.arrow_arrays import arrow_integers, flat_utf8, integers
from mws_hf.corpus.blocks import Columns
from mws_hf.corpus.counts_file import (
    MAX_TOTAL,
    ROW_GROUP,
    CountsFile,
    check_total,
    check_utf8,
    exact_sum,
    write_columns,
)
from mws_hf.corpus.groups import MAX_GROUPS, UNNAMED, check_all_or_none, check_group_name, group_shares
from mws_hf.corpus.place import Fault, about
from mws_hf.corpus.splitter import Splitter
from mws_hf.corpus.token_table import hash_words, summed
from mws_hf.errors import MwSError
from mws_hf.kernels.scanner import write_code_points
from mws_hf.kernels.threads import in_parts

_ONCE_IN_A_LIST = 0.95
"""In a list of words, more than this share of the distinct pre-tokens occurs once. In a text of 14 kB it was 0.86."""


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts:
    """The number of times each distinct pre-token occurs; pre-tokens may belong to named groups, such as languages.

    Pre-tokens are in canonical order: by descending count, then by code point. Groups are sorted by name, and a
    pre-token that occurs in two groups is in both. `groups` returns each group separately, and `union` adds them up.

    Create it with `from_mapping`, `from_arrays`, `from_groups`, `load` or the functions of `mws_hf.corpus.counting`.

    Attributes:
        parts: the pre-tokens and counts of each group; without named groups, those of the only group `UNNAMED`.
        splitter: the split pattern, and the Unicode normalization before it, that produced the pre-tokens.

    >>> counts = WordCounts.from_mapping({" дом": 3, "дом": 1, " кот": 3}, pattern="...")
    >>> counts.words, counts.counts.tolist(), counts.total
    ([' дом', ' кот', 'дом'], [3, 3, 1], 7)
    >>> counts.merge(counts).at_least(6).words
    [' дом', ' кот']

    >>> one, two = (WordCounts.from_mapping(m, pattern="...") for m in ({"sana": 3}, {"word": 1, "sana": 1}))
    >>> mixture = WordCounts.from_groups({"fin": one, "eng": two})
    >>> list(mixture.groups), mixture.total, list(mixture.union.items())
    (['eng', 'fin'], 5, [('sana', 4), ('word', 1)])
    >>> list(mixture.weighted({"eng": 3}).items())  # as if there were three times as much English as Finnish
    [('sana', 7), ('word', 4)]
    >>> list(mixture.repeated({"eng": 3}).items())  # as if the English text were repeated three times
    [('sana', 6), ('word', 3)]
    """

    parts: Mapping[str, Columns]
    splitter: Splitter

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, int], *, pattern: str, normalization: str | None = None) -> WordCounts:
        """Create counts from a dict of pre-tokens and their counts.

        Args:
            mapping: the count of each pre-token. Pre-tokens inside a sentence begin with their space; for words use
                `corpus.word_list.count_mapping`.
            pattern: the split pattern that made the pre-tokens, or its name.
            normalization: the normalization before splitting, as in `CountOptions`.

        Raises:
            MwSError: a word is empty or contains a lone surrogate, a count is not a positive 64-bit integer, or their
                sum exceeds 64 bits.
        """
        if not isinstance(mapping, Mapping):
            raise MwSError(f"word counts: {type(mapping).__name__} is not a dict; give one of pre-token -> count")
        try:
            empty = pa.nulls(0, pa.large_string())  # `pa.array` of an empty list would import pandas
            strings = pa.array(list(mapping.keys()), pa.large_string()) if mapping else empty
        except (UnicodeEncodeError, pa.ArrowException) as error:
            raise MwSError(f"word counts: words must be str without lone surrogates ({error})") from error
        counts = np.array(list(mapping.values()) or np.zeros(0, np.int64))
        return cls.from_arrays(strings, counts, pattern=pattern, normalization=normalization)

    @classmethod
    def from_arrays(
        cls, strings: Any, counts: npt.NDArray[np.int64], *, pattern: str, normalization: str | None = None
    ) -> WordCounts:
        """Create counts from an Arrow array of distinct words and an array of their counts, in any order.

        Args:
            strings: the words, an array of any Arrow string type.
            counts: the count of each word, int64, shape (n_words,).
            pattern: the split pattern that made the words, or its name.
            normalization: the normalization before splitting, as in `CountOptions`.

        Raises:
            MwSError: the arrays have different lengths or types, a word is empty or not UTF-8, a count is below 1, the
                normalization is unknown, or the sum exceeds 64 bits.
        """
        counts = np.asarray(counts)
        if counts.dtype.kind not in "iu" or (counts > MAX_TOTAL).any():
            raise MwSError(f"word counts: every count must be an integer below 2^63, but they are {counts.dtype}")
        if not isinstance(strings, (pa.Array, pa.ChunkedArray)) or len(strings) != len(counts):
            raise MwSError(f"word counts: give an Arrow array of {len(counts)} strings, as many as counts")
        with about("word counts"):
            check_utf8(strings)
        return cls.of(strings, counts, Splitter(pattern, normalization))

    @classmethod
    def of(cls, strings: Any, counts: npt.NDArray[np.int64], splitter: Splitter) -> WordCounts:
        """Create counts as `from_arrays` does, from words that are known to be valid UTF-8, and a splitter."""
        counts = np.ascontiguousarray(counts, np.int64)
        shortest = pc.min(pc.binary_length(strings)).as_py()
        if len(counts) and (int(counts.min()) < 1 or shortest == 0 or strings.null_count):
            raise MwSError("word counts: a word is empty or missing, or a count is below 1; leave such words out")
        check_total(exact_sum(counts))
        return cls({UNNAMED: _frozen(*in_order(strings, counts))}, splitter)

    @classmethod
    def from_groups(cls, groups: WordCounts | Mapping[str, WordCounts]) -> WordCounts:
        """Combine the counts of several groups, by name; the order of the names does not matter.

        `WordCounts` are returned unchanged. If the counts of a group have groups themselves, they are added up.

        Raises:
            MwSError: there is no group, a name is not allowed, only some words belong to a named group, or the groups
                were counted with different patterns or normalizations.
        """
        if isinstance(groups, WordCounts):
            return groups
        if not groups:
            raise MwSError("there are no groups of words; give at least one, such as {'fin': counts}")
        for name, counts in groups.items():
            if not isinstance(counts, WordCounts):
                raise MwSError(
                    f"group {name!r} has {type(counts).__name__}, not a WordCounts; make one with count_mapping"
                )
            if name != UNNAMED or len(groups) > 1:
                check_group_name(name)
        if len(groups) > MAX_GROUPS:
            raise MwSError(
                f"there are {len(groups)} groups of words, but at most {MAX_GROUPS} can be learned together; merge some"
            )
        ordered = {name: groups[name].union for name in sorted(groups)}
        first = next(iter(ordered.values())).splitter
        for name, counts in ordered.items():
            if not counts.splitter.agrees(first):
                raise MwSError(
                    f"group {name!r} was counted with {counts.splitter}, but another one with {first}; count them "
                    "again with the same settings"
                )
        return cls({name: part for name, counts in ordered.items() for part in counts.parts.values()}, first)

    @cached_property
    def groups(self) -> dict[str, WordCounts]:
        """The counts of each group by its name, sorted; without named groups, all counts under the name `UNNAMED`."""
        if not self.is_grouped:
            return {UNNAMED: self}
        return {name: WordCounts({UNNAMED: part}, self.splitter) for name, part in self.parts.items()}

    @property
    def is_grouped(self) -> bool:
        """Whether the words belong to named groups."""
        return UNNAMED not in self.parts

    @cached_property
    def union(self) -> WordCounts:
        """The counts of all groups added up, as counts without groups."""
        first, *others = self.groups.values()
        return first.merge(*others) if others else first

    @cached_property
    def strings(self) -> pa.LargeStringArray:
        """The pre-tokens as an Arrow large_string array (a tenth of the memory of a list of str)."""
        words = [strings for strings, _ in self.parts.values()]
        return words[0] if len(words) == 1 else pa.concat_arrays(words)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """The count of each pre-token: int64, shape (n_words,), positive, read-only."""
        numbers = [counts for _, counts in self.parts.values()]
        return numbers[0] if len(numbers) == 1 else _read_only(np.concatenate(numbers))

    @property
    def is_list(self) -> bool:
        """Whether nearly all pre-tokens occur once, as in a list of words.

        In a list, only line ends, and parts that several words share, occur more often.
        """
        return bool(np.count_nonzero(self.counts == 1) > _ONCE_IN_A_LIST * len(self.counts))

    @property
    def pattern(self) -> str:
        """The split pattern that made the pre-tokens."""
        return self.splitter.pattern

    @property
    def normalization(self) -> str | None:
        """The Unicode normalization before splitting, None or one of `NORMALIZATIONS`."""
        return self.splitter.normalization

    @cached_property
    def words(self) -> list[str]:
        """The pre-tokens as a list of str, which is created at the first use and takes about 100 bytes per word."""
        return self.strings.to_pylist()

    @cached_property
    def total(self) -> int:
        """The sum of all counts, which is the number of pre-tokens in the text."""
        return sum(int(counts.sum()) for _, counts in self.parts.values())

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of pattern and normalization in hexadecimal; counts can be added up only if it is equal."""
        return self.splitter.fingerprint

    def __len__(self) -> int:
        return sum(len(counts) for _, counts in self.parts.values())

    def __repr__(self) -> str:
        named = f", groups: {', '.join(self.parts)}" if self.is_grouped else ""
        return f"<WordCounts of {len(self):,} distinct pre-tokens, {self.total:,} in all{named}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordCounts):
            return NotImplemented
        return (
            self.fingerprint == other.fingerprint
            and list(self.parts) == list(other.parts)
            and all(
                np.array_equal(own_counts, counts) and own_words.equals(words)
                for (own_words, own_counts), (words, counts) in zip(
                    self.parts.values(), other.parts.values(), strict=True
                )
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def items(self) -> Iterator[tuple[str, int]]:
        """Yield pairs (word, count) in canonical order, group by group."""
        return zip(self.words, self.counts.tolist(), strict=True)

    def code_points(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return all words as flat arrays of code points, without a Python object per word.

        Returns:
            points: uint32, shape (n_characters,), the code points of all words one after another.
            starts: int64, shape (n_words + 1,); word w is ``points[starts[w]:starts[w + 1]]``.
        """
        starts = np.zeros(len(self) + 1, np.int64)
        np.cumsum(integers(pc.utf8_length(self.strings)), out=starts[1:])
        data, offsets = self.utf8()
        points = np.empty(starts[-1], np.uint32)
        in_parts(lambda a, b: write_code_points(data, offsets[a], offsets[b], points[starts[a] :]), len(self))
        return points, starts

    def utf8(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Return all words in UTF-8, without a copy.

        Returns:
            data: uint8, the bytes of the words.
            offsets: int64, shape (n_words + 1,); word w is ``data[offsets[w]:offsets[w + 1]]``.
        """
        return flat_utf8(self.strings)

    def as_types(self) -> WordCounts:
        """Return the same words in the same order, each with a count of 1."""
        ones = {name: (words, _read_only(np.ones(len(words), np.int64))) for name, (words, _) in self.parts.items()}
        return WordCounts(ones, self.splitter)

    def at_least(self, min_count: int) -> WordCounts:
        """Return the words that occur at least `min_count` times in all groups together, with their counts by group."""
        if min_count <= 1:
            return self
        if len(self.parts) == 1:
            return self.where(self.counts >= min_count)
        kept = self.union.at_least(min_count)
        words = pa.chunked_array([words for words, _ in self.parts.values()])  # without a copy, unlike `strings`
        found = self.where(np.asarray(pc.is_in(words, value_set=kept.strings)))
        found.__dict__["union"] = kept
        return found

    def where(self, mask: npt.NDArray[np.bool_]) -> WordCounts:
        """Return the words for which `mask` is true: bool, shape (n_words,), in the order of `words`."""
        kept, first = {}, 0
        for name, (words, counts) in self.parts.items():
            rows = np.flatnonzero(mask[first : first + len(counts)])
            kept[name] = _frozen(words.take(arrow_integers(rows)), counts[rows])
            first += len(counts)
        return WordCounts(kept, self.splitter)

    def merge(self, *others: WordCounts) -> WordCounts:
        """Add up counts, group by group; the order of the operands does not matter.

        Raises:
            MwSError: the operands were counted with different patterns or normalizations, the sum exceeds 64 bits, or
                only some of the operands have named groups.
        """
        parts: dict[str, list[Columns]] = {}
        for each in (self, *others):
            if not each.splitter.agrees(self.splitter):
                raise MwSError(
                    "word counts that were made with different settings cannot be merged: "
                    f"{self.splitter}, and {each.splitter}; count them again with the same settings"
                )
            for name, part in each.parts.items():
                parts.setdefault(name, []).append(part)
        check_all_or_none(parts)
        check_total(sum(exact_sum(counts) for part in parts.values() for _, counts in part))
        added = {
            name: part[0] if len(part) == 1 else _frozen(*in_order(*summed(part)))
            for name, part in sorted(parts.items())
        }
        return WordCounts(added, self.splitter)

    def weighted(self, weights: Mapping[str, float]) -> WordCounts:
        """Scale counts up so that the totals of the groups are in proportion to their weights, and add the groups up.

        A group without a weight has the weight 1. Counts are rounded, and no count becomes smaller.

        Raises:
            MwSError: a weight names a group that does not exist.
        """
        shares = group_shares(self.parts, weights)
        if len(self.parts) == 1:
            return self.union
        whole = max(part.total / shares[name] for name, part in self.groups.items())
        return self._scaled({name: whole * shares[name] / max(1, part.total) for name, part in self.groups.items()})

    def repeated(self, weights: Mapping[str, float]) -> WordCounts:
        """Multiply the counts of each group by its weight, relative to the smallest weight, and add the groups up.

        The result is the same as if the text of a group were repeated. A group without a weight has the weight 1.

        Raises:
            MwSError: a weight names a group that does not exist.
        """
        shares = group_shares(self.parts, weights)
        least = min(shares.values())
        return self._scaled({name: share / least for name, share in shares.items()})

    def _scaled(self, factors: Mapping[str, float]) -> WordCounts:
        """Multiply the counts of each group by its factor, or by 1 if the factor is less, and add the groups up."""
        if all(factor == 1 for factor in factors.values()):
            return self.union
        check_total(math.ceil(sum(part.total * max(1.0, factors[name]) for name, part in self.groups.items())))
        first, *others = (
            WordCounts.of(words, np.rint(counts * max(1.0, factors[name])).astype(np.int64), self.splitter)
            for name, (words, counts) in self.parts.items()
        )
        return first.merge(*others)

    def save(self, path: str | os.PathLike[str], texts: Sequence[str] = ()) -> None:
        """Write a Parquet file with the columns word and count, and if there are named groups, group.

        Args:
            path: the file, which is written completely or not at all.
            texts: digests of the counted texts, so that a text is recognized if it is given together with its counts.

        Raises:
            MwSError: the file cannot be written.
        """
        write_columns(path, self.parts, self.splitter, texts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WordCounts:
        """Read a file that `save` wrote.

        Raises:
            MwSError: the file is missing, truncated, damaged, or was not written by `save`.
        """
        file = CountsFile.open(path)
        pieces: dict[str, list[Columns]] = {name: [] for name in file.totals}
        for name, columns in file.batches(ROW_GROUP):
            pieces[name].append(columns)
        parts, first = {}, 1
        for name in file.totals:
            batches = pieces.pop(name)
            words = pa.chunked_array([words for words, _ in batches], pa.large_string())
            counts = np.concatenate([np.zeros(0, np.int64), *(counts for _, counts in batches)])
            with about(path):
                parts[name] = _frozen(*_as_written(words, counts, first))
            first += len(counts)
        return cls(parts, file.splitter)


def _frozen(strings: Any, counts: npt.NDArray[np.int64]) -> Columns:
    """Return words as one array, and their counts read-only."""
    return _flat(strings), _read_only(counts)


def _read_only(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Make an array read-only, and return it."""
    counts.flags.writeable = False
    return counts


def _as_written(
    strings: Any, counts: npt.NDArray[np.int64], first: int
) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
    """Sort the words of a file into canonical order if their counts are not descending.

    Raises `Fault` if a word is in two rows; `first` is the number of the first row.
    """
    words = _flat(strings)
    if len(np.unique(hash_words(*flat_utf8(words)))) < len(counts):  # equal words, or different ones with equal hashes
        rows: dict[str, int] = {}
        for row, word in enumerate(words.to_pylist(), start=first):
            if (before := rows.setdefault(word, row)) != row:
                raise Fault(f"row {row}: {word!r} is also in row {before}; to add them up, run `mws count` on the file")
    ordered = bool((counts[1:] <= counts[:-1]).all())  # words that all have the count 1 keep their order
    return (words, counts) if ordered else in_order(words, counts)


def _flat(strings: Any) -> pa.LargeStringArray:
    """Convert an Arrow array or chunked array of strings to one array of large strings."""
    if not isinstance(strings, pa.LargeStringArray):
        strings = pc.cast(strings, pa.large_string())
    return strings.combine_chunks() if isinstance(strings, pa.ChunkedArray) else strings


def in_order(strings: Any, counts: npt.NDArray[np.int64]) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
    """Sort words and counts into canonical order: by descending count, then by code point.

    One thread sorts the words that occur once, which are about half of the words of a text, and another thread sorts
    all others, which come first in the result.
    """
    words = _flat(strings)

    def sorted_rows(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        rows = rows[integers(pc.array_sort_indices(words.take(arrow_integers(rows)))).view(np.int64)]
        return rows[np.argsort(-counts[rows], kind="stable")]

    with ThreadPoolExecutor(2) as pool:
        rows = np.concatenate(list(pool.map(sorted_rows, (np.nonzero(counts > 1)[0], np.nonzero(counts <= 1)[0]))))
    return words.take(arrow_integers(rows)), counts[rows]
