"""`GroupedCounts`: word counts by language group (languages, code), which are checked, added up, weighted and saved.

The public interface takes any `Mapping[str, WordCounts]`; `GroupedCounts` is the checked one. Words that belong to no
named group are in the one group `UNNAMED`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pyarrow.compute as pc

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import check_total, write_columns
from mws_hf.corpus.splitter import Splitter
from mws_hf.errors import MwSError

UNNAMED = ""
"""The name of the one group where nobody named any."""

MOST_GROUPS = 256
_NAME = re.compile(r"\w[\w.+-]{0,63}")
_LIGHTEST, _HEAVIEST = 1e-3, 1e3


@dataclass(frozen=True, eq=False)
class GroupedCounts(Mapping[str, WordCounts]):
    """A mapping from group to its word counts, by name ascending; the same whatever order the groups were given in.

    Attributes:
        groups: counts by group name, or the one group `UNNAMED`; all of one pattern and normalization.

    Raises:
        MwSError: no group, a bad name, unnamed words beside named groups, counts of different patterns.

    >>> one, two = (WordCounts.from_mapping(m, pattern="...") for m in ({"sana": 3}, {"word": 1, "sana": 1}))
    >>> mixture = GroupedCounts({"fin": one, "eng": two})
    >>> list(mixture), mixture.total, list(mixture.union.items())
    (['eng', 'fin'], 5, [('sana', 4), ('word', 1)])
    >>> list(mixture.weighted({"eng": 3}).items())  # as if there were three times as much English as Finnish
    [('sana', 7), ('word', 4)]
    >>> list(mixture.repeated({"eng": 3}).items())  # as if the English text stood there three times
    [('sana', 6), ('word', 3)]
    """

    groups: Mapping[str, WordCounts]

    def __post_init__(self) -> None:
        if not self.groups:
            raise MwSError("no groups of words; give at least one, such as {'fin': counts}")
        for name in self.groups:
            if name != UNNAMED or len(self.groups) > 1:
                check_group_name(name)
        if len(self.groups) > MOST_GROUPS:
            raise MwSError(f"{len(self.groups)} groups of words; at most {MOST_GROUPS} are learned together")
        ordered = {name: self.groups[name] for name in sorted(self.groups)}
        first = next(iter(ordered.values()))
        for name, counts in ordered.items():
            if not counts.splitter.agrees(first.splitter):
                raise MwSError(
                    f"group {name!r} was counted with {counts.splitter}, another with {first.splitter}; count again "
                    "with one setting"
                )
        object.__setattr__(self, "groups", ordered)

    @classmethod
    def of(cls, counts: WordCounts | Mapping[str, WordCounts]) -> GroupedCounts:
        """Take a user's counts: counts of no group in particular, or counts by group."""
        if isinstance(counts, GroupedCounts):
            return counts
        if isinstance(counts, Mapping) and (others := [c for c in counts.values() if not isinstance(c, WordCounts)]):
            raise MwSError(
                f"groups of words: {type(others[0]).__name__} is not a WordCounts; make one with count_mapping"
            )
        return cls({UNNAMED: counts} if isinstance(counts, WordCounts) else counts)

    def __getitem__(self, name: str) -> WordCounts:
        return self.groups[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def is_named(self) -> bool:
        """Whether somebody named the groups."""
        return UNNAMED not in self.groups

    @property
    def splitter(self) -> Splitter:
        """What made the pre-tokens of all groups."""
        return next(iter(self.groups.values())).splitter

    @property
    def pattern(self) -> str:
        """The split pattern of all groups."""
        return self.splitter.pattern

    @property
    def normalization(self) -> str | None:
        """The Unicode normalization of all groups."""
        return self.splitter.normalization

    @property
    def total(self) -> int:
        """The number of pre-tokens counted in all groups."""
        return sum(counts.total for counts in self.groups.values())

    @cached_property
    def union(self) -> WordCounts:
        """The counts of all groups added up."""
        first, *others = self.groups.values()
        return first.merge(*others) if others else first

    def at_least(self, min_count: int) -> GroupedCounts:
        """Return the words that occur at least `min_count` times in all groups together."""
        if min_count <= 1:
            return self
        kept = self.union.at_least(min_count)
        if len(self) == 1:
            return GroupedCounts({next(iter(self)): kept})
        masks = {name: pc.is_in(each.strings, value_set=kept.strings) for name, each in self.groups.items()}
        return GroupedCounts({name: self.groups[name].where(np.asarray(mask)) for name, mask in masks.items()})

    def weighted(self, weights: Mapping[str, float]) -> WordCounts:
        """Raise counts so that the texts of groups are in proportion to the groups' weights (1 where none is given).

        No count falls; a weight for a group that is not there is a MwSError, as in `repeated`.
        """
        shares = group_shares(self.groups, weights)
        if len(self) == 1:
            return self.union
        whole = max(counts.total / shares[name] for name, counts in self.groups.items())
        return self._scaled({name: whole * shares[name] / max(1, each.total) for name, each in self.groups.items()})

    def repeated(self, weights: Mapping[str, float]) -> WordCounts:
        """Multiply counts as if each group's text stood there as often as its weight says, at least once.

        A group without a weight has weight 1.
        """
        shares = group_shares(self.groups, weights)
        least = min(shares.values())
        return self._scaled({name: share / least for name, share in shares.items()})

    def _scaled(self, factors: Mapping[str, float]) -> WordCounts:
        """Multiply the counts of each group by its factor, which is 1 at least."""
        if all(factors[name] == 1 for name in self.groups):
            return self.union
        check_total(math.ceil(sum(counts.total * max(1.0, factors[name]) for name, counts in self.groups.items())))
        scaled = [
            WordCounts.of(
                counts.strings, np.rint(counts.counts * max(1.0, factors[name])).astype(np.int64), self.splitter
            )
            for name, counts in self.groups.items()
        ]  # fmt: skip
        return scaled[0].merge(*scaled[1:])

    def merge(self, *others: GroupedCounts) -> GroupedCounts:
        """Add up counts group by group.

        Raises:
            MwSError: other patterns or normalizations, or unnamed words beside named groups.
        """
        parts: dict[str, list[WordCounts]] = {}
        for each in (self, *others):
            for name, counts in each.items():
                parts.setdefault(name, []).append(counts)
        if UNNAMED in parts and len(parts) > 1:
            named = ", ".join(sorted(name for name in parts if name))
            raise MwSError(
                f"some words belong to a group ({named}) and some to none; name a group for every source "
                "(group=FILE), or for none"
            )
        return GroupedCounts({name: first.merge(*more) if more else first for name, (first, *more) in parts.items()})

    def save(self, path: str | os.PathLike[str], texts: Sequence[str] = ()) -> None:
        """Write a Parquet file with columns word, count and, where groups are named, group; atomically.

        `texts` are the marks of the texts counted, by which a text given beside its counts is noticed.
        """
        columns = {name: (counts.strings, counts.counts) for name, counts in self.groups.items()}
        write_columns(path, columns, self.splitter, texts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GroupedCounts:
        """Read a file of `save` or `WordCounts.save`; a file without groups is the group `UNNAMED`.

        Raises:
            MwSError: the file is missing, truncated, corrupt, or holds no counts.
        """
        return cls(WordCounts.load_groups(path))


def check_group_name(name: Any) -> str:
    """Return the name of a group; raises MwSError where it can name none."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise MwSError(
        f"{name!r} cannot name a group of words; use letters, digits and . + - _, a letter or digit first, "
        "64 at most, such as 'fin'"
    )


def check_weights(weights: Mapping[Any, Any] | None) -> dict[str, float]:
    """Return the weights of groups as floats, by name ascending; raises MwSError for a bad name or weight."""
    checked = {}
    for name, weight in (weights or {}).items():
        check_group_name(name)
        number = isinstance(weight, Real) and not isinstance(weight, bool) and math.isfinite(weight)
        if not number or not _LIGHTEST <= weight <= _HEAVIEST:
            raise MwSError(f"weight {weight!r} of group {name!r}: give a number from {_LIGHTEST} to {_HEAVIEST:g}")
        checked[name] = float(weight)
    return {name: checked[name] for name in sorted(checked)}


def group_shares(groups: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, float]:
    """Compute the share of each group in the whole, in proportion to its weight; a group without a weight has 1.

    >>> group_shares({"en": ..., "ru": ...}, {"ru": 3})
    {'en': 0.25, 'ru': 0.75}
    """
    if unknown := sorted(set(weights) - set(groups)):
        here = ", ".join(name for name in groups if name) or "none was named"
        raise MwSError(f"a weight for group {', '.join(map(repr, unknown))}, which is not there; groups: {here}")
    whole = math.fsum(weights.get(name, 1.0) for name in groups)
    return {name: weights.get(name, 1.0) / whole for name in groups}
