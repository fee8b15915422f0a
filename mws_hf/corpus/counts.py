"""`WordCounts`: how often each distinct pre-token occurs; it can be merged, filtered and saved as Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.blocks import Columns, arrow_integers, flat_utf8, integers
from mws_hf.corpus.counts_file import (
    MAX_TOTAL,
    ROW_GROUP,
    CountsFile,
    check_total,
    check_utf8,
    exact_sum,
    write_columns,
)
from mws_hf.corpus.place import Fault, about
from mws_hf.corpus.splitter import Splitter
from mws_hf.corpus.token_table import hash_words, summed
from mws_hf.errors import MwSError
from mws_hf.kernels.scanner import write_code_points
from mws_hf.kernels.threads import in_parts


@dataclass(frozen=True, eq=False)
class WordCounts:
    """The number of times each distinct pre-token occurs, in canonical order: by count descending, then by code point.

    Build one with `from_mapping`, `from_arrays`, `load` or the functions of `mws_hf.corpus.counting`.

    Attributes:
        strings: the distinct pre-tokens as an Arrow large_string array (a tenth of the memory of a list of str).
        counts: int64, shape (n_words,), positive, read-only.
        splitter: what made the pre-tokens: the split pattern and the Unicode normalization before it.

    >>> counts = WordCounts.from_mapping({" дом": 3, "дом": 1, " кот": 3}, pattern="...")
    >>> counts.words, counts.counts.tolist(), counts.total
    ([' дом', ' кот', 'дом'], [3, 3, 1], 7)
    >>> counts.merge(counts).at_least(6).words
    [' дом', ' кот']
    """

    strings: pa.LargeStringArray
    counts: npt.NDArray[np.int64]
    splitter: Splitter

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, int], *, pattern: str, normalization: str | None = None) -> WordCounts:
        """Build from a dictionary of pre-token -> count.

        Raises:
            MwSError: an empty word, a lone surrogate, a count that is not a positive 64-bit integer, or an overflow.
        """
        try:
            empty = pa.nulls(0, pa.large_string())  # of no words `pa.array` would import pandas
            strings = pa.array(list(mapping.keys()), pa.large_string()) if mapping else empty
        except (UnicodeEncodeError, pa.ArrowException) as error:
            raise MwSError(f"word counts: words must be str without lone surrogates ({error})") from error
        counts = np.array(list(mapping.values()) or np.zeros(0, np.int64))
        if counts.dtype.kind not in "iu" or (counts > MAX_TOTAL).any():
            raise MwSError(f"word counts: every count must be an integer of at most 64 bits, got {counts.dtype}")
        return cls.from_arrays(strings, counts, pattern=pattern, normalization=normalization)

    @classmethod
    def from_arrays(
        cls, strings: Any, counts: npt.NDArray[np.int64], *, pattern: str, normalization: str | None = None
    ) -> WordCounts:
        """Build from distinct words and their counts, in any order.

        Raises:
            MwSError: a word that is empty or not UTF-8, a count below 1, an unknown normalization, a total over 2**63.
        """
        with about("word counts"):
            check_utf8(strings)
        return cls.of(strings, counts, Splitter(pattern, normalization))

    @classmethod
    def of(cls, strings: Any, counts: npt.NDArray[np.int64], splitter: Splitter) -> WordCounts:
        """Build from distinct words that are valid UTF-8 and their counts, in any order; checks as `from_arrays`."""
        counts = np.ascontiguousarray(counts, np.int64)
        shortest = pc.min(pc.binary_length(strings)).as_py()
        if len(counts) and (int(counts.min()) < 1 or shortest == 0 or strings.null_count):
            raise MwSError("word counts: every word must be non-empty and every count positive")
        check_total(exact_sum(counts))
        return cls._frozen(*in_order(strings, counts), splitter)

    @classmethod
    def _frozen(cls, strings: Any, counts: npt.NDArray[np.int64], splitter: Splitter) -> WordCounts:
        counts.flags.writeable = False
        return cls(_flat(strings), counts, splitter)

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
        """The distinct pre-tokens as a list of str (made on first use: about 100 bytes per word)."""
        return self.strings.to_pylist()

    @cached_property
    def total(self) -> int:
        """The sum of all counts, which is the number of pre-tokens counted."""
        return int(self.counts.sum())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of pattern and normalization in hexadecimal."""
        return self.splitter.fingerprint

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordCounts):
            return NotImplemented
        same = self.fingerprint == other.fingerprint and np.array_equal(self.counts, other.counts)
        return bool(same and self.strings.equals(other.strings))

    __hash__ = None  # type: ignore[assignment]

    def items(self) -> Iterator[tuple[str, int]]:
        """Yield pairs (word, count) in canonical order."""
        return zip(self.words, self.counts.tolist(), strict=True)

    def code_points(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return all words as flat arrays, with no Python object per word.

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
        """Return all words as UTF-8 without a copy: word w is ``data[offsets[w]:offsets[w + 1]]``."""
        return flat_utf8(self.strings)

    def as_types(self) -> WordCounts:
        """Return the same words in the same order, each with a count of 1."""
        return self._frozen(self.strings, np.ones(len(self), np.int64), self.splitter)

    def at_least(self, min_frequency: int) -> WordCounts:
        """Return the words that occur at least `min_frequency` times."""
        return self.where(self.counts >= min_frequency)

    def where(self, mask: npt.NDArray[np.bool_]) -> WordCounts:
        """Return the words for which a mask is true."""
        rows = np.flatnonzero(mask)
        return self._frozen(self.strings.take(arrow_integers(rows)), self.counts[rows], self.splitter)

    def merge(self, *others: WordCounts) -> WordCounts:
        """Add up counts; the order and grouping of the operands do not matter.

        Raises:
            MwSError: an operand was made with another pattern or normalization, or the total exceeds 64 bits.
        """
        for other in others:
            if not other.splitter.agrees(self.splitter):
                raise MwSError(
                    "word counts made with different settings cannot be merged: "
                    f"{self.splitter} against {other.splitter}; count again with one setting"
                )
        parts = [self, *others]
        check_total(sum(exact_sum(part.counts) for part in parts))
        strings, counts = summed((part.strings, part.counts) for part in parts)
        return self.of(strings, counts, self.splitter)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file with columns word, count and the fingerprint in its metadata, atomically."""
        write_columns(path, {"": (self.strings, self.counts)}, self.splitter)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WordCounts:
        """Read a file that `save` wrote.

        Raises:
            MwSError: the file is missing, truncated, corrupt, not made by `save`, or holds counts of named groups.
        """
        groups = cls.load_groups(path)
        if set(groups) != {""}:
            raise MwSError(
                f"{path}: counts of the groups {', '.join(groups)}; load them with "
                "mws_hf.corpus.groups.GroupedCounts.load, whose `union` adds them up"
            )
        return groups[""]

    @classmethod
    def load_groups(cls, path: str | os.PathLike[str]) -> dict[str, WordCounts]:
        """Read a file of counts, each group on its own; "" is the name of words of no group."""
        file = CountsFile.open(path)
        parts: dict[str, list[Columns]] = {name: [] for name in file.totals}
        for name, columns in file.batches(ROW_GROUP):
            parts[name].append(columns)
        found, first = {}, 1
        for name in file.totals:
            pieces = parts.pop(name)
            words = pa.chunked_array([words for words, _ in pieces], pa.large_string())
            counts = np.concatenate([np.zeros(0, np.int64), *(counts for _, counts in pieces)])
            with about(path):
                found[name] = cls._frozen(*_as_written(words, counts, first), file.splitter)
            first += len(counts)
        return found


def _as_written(
    strings: Any, counts: npt.NDArray[np.int64], first: int
) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
    """Put the words of a file in canonical order if a count rises; raises `Fault` if a word is in two rows.

    `first` is the number of their first row.
    """
    words = _flat(strings)
    if len(np.unique(hash_words(*flat_utf8(words)))) < len(counts):  # equal words, or else equal hashes by chance
        rows: dict[str, int] = {}
        for row, word in enumerate(words.to_pylist(), start=first):
            if (before := rows.setdefault(word, row)) != row:
                raise Fault(f"row {row}: {word!r} is in row {before} too; add them up with `mws count` of the file")
    ordered = bool((counts[1:] <= counts[:-1]).all())  # types, each once, stay in the order of their text
    return (words, counts) if ordered else in_order(words, counts)


def _flat(strings: Any) -> pa.LargeStringArray:
    if not isinstance(strings, pa.LargeStringArray):
        strings = pc.cast(strings, pa.large_string())
    return strings.combine_chunks() if isinstance(strings, pa.ChunkedArray) else strings


def in_order(strings: Any, counts: npt.NDArray[np.int64]) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
    """Put words and counts in canonical order.

    Half of the words of a text occur once. They and the other words, which come first, are sorted side by side.
    """
    words = _flat(strings)

    def sorted_rows(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        rows = rows[integers(pc.array_sort_indices(words.take(arrow_integers(rows)))).view(np.int64)]
        return rows[np.argsort(-counts[rows], kind="stable")]

    with ThreadPoolExecutor(2) as pool:
        rows = np.concatenate(list(pool.map(sorted_rows, (np.nonzero(counts > 1)[0], np.nonzero(counts <= 1)[0]))))
    return words.take(arrow_integers(rows)), counts[rows]
