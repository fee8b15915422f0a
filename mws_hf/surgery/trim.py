"""Trim a pretrained BPE: drop the entries that texts do not use. Nothing is learnt or measured here.

An entry stays with the parts that the base makes it of. Every instance of an entry, in whatever text, is made as from
the entry's own symbols alone, for all merges within it are made in the order of their ranks and none crosses its ends.
So a text that was cut into kept entries alone is cut by the same merges as before, in the same order; all other texts
are cut otherwise but come back whole, since bytes stay.
"""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer

from mws_hf.errors import MwSError, SettingError
from mws_hf.kernels import Longs
from mws_hf.learn.setting_rules import Range, check_range
from mws_hf.surgery.base import Base, IdMap, Rewritten, count_ids, open_base
from mws_hf.surgery.ids import renumbered_tokenizer
from mws_hf.text.symbols import BYTE_CHARACTERS, BYTE_TOKENS
from mws_hf.tokenizer.merging import merge_steps, ranked

Reason = Literal["added", "bytes", "named", "used", "part", "unused", "rare"]
"""Why an entry stays (the first five; "unused" ones do where there is room) or goes (the last two)."""


@dataclass(frozen=True)
class Trimming(Rewritten):
    """A base and its entries that stay or go.

    Attributes:
        base: the tokenizer trimmed.
        ids: old id -> new id, or None where the entry is gone; ascending.
        uses: int64 (largest old id + 1,), occurrences of each entry in the texts.
        kept: entries that stay, by reason.
        dropped: entries that go, by reason.
        spec: the new tokenizer.json; `tokenizer` is loaded from it.
    """

    base: Base
    ids: dict[int, int | None]
    uses: Longs
    kept: dict[Reason, int]
    dropped: dict[Reason, int]
    spec: dict[str, Any]

    @property
    def uses_lost(self) -> float:
        """Share of all tokens of the texts, as the base cuts them, whose entry is gone."""
        return self.share_lost(self.uses)

    def share_lost(self, uses: Longs) -> float:
        """Compute the share of uses of entries that are gone."""
        gone = [old for old, new in self.ids.items() if new is None]
        return float(uses[gone].sum() / max(1, uses.sum()))

    @property
    def old_ids(self) -> IdMap:
        """The attribute `ids`."""
        return self.ids

    @cached_property
    def trimmed_base(self) -> Base:
        """The trimmed tokenizer as a base to extend."""
        return replace(Base.of(self.tokenizer, "the trimmed tokenizer", self.spec), before=self.ids)


def trim(
    tokenizer: str | os.PathLike[str] | Tokenizer | Any,
    texts: Iterable[str] | Longs,
    *,
    keep_size: int | None = None,
    min_count: int | None = None,
    keep: Iterable[str] = (),
) -> Trimming:
    """Drop entries of a BPE tokenizer that texts do not use, or use least.

    Entries go one by one, the least used first; the uses of each go over to the two parts it falls into. Added tokens
    and bytes always stay. A text that the base cuts into kept entries alone is cut as before.

    Args:
        tokenizer: any tokenizer that `mws_hf.extend` takes.
        texts: texts that the tokenizer must be good at, or `count_uses` of them.
        keep_size: number of entries that stay, added ones included.
        min_count: the least number of uses with which an entry stays; give this or `keep_size`.
        keep: entries that stay in any case, as people read them (``" the"``) or as they stand in the vocabulary.

    Raises:
        MwSError: there is no such tokenizer or one of another kind, no such entry to keep, fewer entries than must
            stay.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("a", "b"), ("c", "d"), ("ab", "c")]
    >>> base = build_backend(base_vocab([], "abcd", merges), merges)
    >>> smaller = trim(base, ["abc", "abab"], min_count=1)
    >>> smaller.tokenizer.encode("abc ab").tokens, smaller.dropped
    (['abc', '<0x20>', 'ab'], {'unused': 2})
    """
    if (keep_size is None) == (min_count is None):
        raise MwSError("give one of keep_size (how many entries stay) and min_count (the least uses of each)")
    for name, value in (("keep_size", keep_size), ("min_count", min_count)):
        check_range(name, value, Range(1, whole=True), optional=True)
    base = open_base(tokenizer)
    uses = texts if isinstance(texts, np.ndarray) else count_uses(base, texts)
    pinned = _pinned(base, keep)
    remaining = prune(base, uses, pinned, keep_size, min_count)
    ids: dict[int, int | None] = dict.fromkeys(range(base.next_id))
    ids.update({number: place for place, number in enumerate(sorted(base.vocab[token] for token in remaining))})
    spec = renumbered_tokenizer(base.spec, ids)
    spec["model"]["merges"] = base.merges_among(remaining)
    trimming = Trimming(base, ids, uses, *_reasons(base, uses, remaining, pinned), spec)
    trimming.check_ids({token: ids[base.vocab[token]] for token in remaining})
    return trimming


def count_uses(base: Base, texts: Iterable[str]) -> Longs:
    """Count how often each entry occurs where the base encodes texts; int64 (largest id + 1,)."""
    uses = count_ids(base.pipeline(with_prefix=True), texts, base.next_id)
    if not uses.any():
        raise MwSError("the texts hold no token, so every entry would count as unused; give texts that are not empty")
    return uses


def last_merges(base: Base) -> dict[str, tuple[str, str]]:
    """Find the two parts that the base makes each entry of; entries that no merge ever makes are left out."""
    table = ranked(base.merges)
    makers: dict[str, list[tuple[str, str]]] = {}
    for left, right in table:
        makers.setdefault(left + right, []).append((left, right))
    found = {}
    for token, pairs in makers.items():
        if len(pairs) == 1:
            found[token] = pairs[0]
        elif steps := list(merge_steps(symbols := list(token), table)):
            found |= {token: base.merges[steps[-1][0]]} if symbols == [token] else {}
    return found


def _pinned(base: Base, keep: Iterable[str]) -> dict[str, Reason]:
    """List the entries that stay in any case, and the reason of each."""
    unknown = base.spec["model"].get("unk_token")
    pinned: dict[str, Reason] = dict.fromkeys(base.added, "added")
    if unknown in base.vocab:
        pinned[unknown] = "added"
    pinned |= dict.fromkeys(BYTE_CHARACTERS if base.byte_level else BYTE_TOKENS, "bytes")
    for text in keep:
        pinned.setdefault(named_entry(base, text), "named")
    return {token: reason for token, reason in pinned.items() if token in base.vocab}


def named_entry(base: Base, text: str) -> str:
    """Return the entry of a text, as people read it or as it stands in the vocabulary; MwSError where there is none."""
    for spelled in (base.spell(text), text):
        if spelled in base.vocab:
            return spelled
    raise MwSError(f"{text!r} is no entry of the tokenizer; a space before a word is part of its entry")


def prune(base: Base, uses: Longs, pinned: Collection[str], keep_size: int | None, min_count: int | None) -> set[str]:
    """Choose the entries that stay: leaves of the merges go, least used first; ties: largest id first.

    Given both, no entry of `min_count` uses goes, and fewer than asked for where there are no more.
    """
    parts = {token: pair for token, pair in last_merges(base).items() if token in base.vocab}
    remaining = set(base.vocab)
    wholes = Counter(part for pair in parts.values() for part in set(pair))
    counts = {token: int(uses[number]) for token, number in base.vocab.items()}

    def entry(token: str) -> tuple[int, int, str]:
        # what goes costs a token a use, a character as many as it has bytes but one
        price = 1 if token in parts or base.byte_level else max(1, len(token.encode()) - 1)
        return counts[token] * (price if min_count is None else 1), -base.vocab[token], token

    leaves = [entry(token) for token in remaining if not wholes[token] and token not in pinned]
    heapq.heapify(leaves)
    least = -1 if keep_size is None else keep_size
    while leaves and len(remaining) > least and (min_count is None or leaves[0][0] < min_count):
        count, token = counts[leaves[0][2]], heapq.heappop(leaves)[2]
        remaining.remove(token)
        for part in parts.get(token, ()):
            counts[part] += count
        for part in set(parts.get(token, ())):
            wholes[part] -= 1
            if not wholes[part] and part not in pinned:
                heapq.heappush(leaves, entry(part))
    if min_count is None and len(remaining) > least:
        raise SettingError(
            "keep_size",
            keep_size,
            f"is too small: {len(remaining)} entries must stay (added tokens, bytes, what is to be kept, and their "
            "parts); give a larger number",
        )
    return remaining


def _reasons(
    base: Base, uses: Longs, remaining: set[str], pinned: Mapping[str, Reason]
) -> tuple[dict[Reason, int], dict[Reason, int]]:
    """Count the entries that stay and go, by reason."""
    parts = last_merges(base)
    needed = {part for token in remaining for part in parts.get(token, ())}
    kept: Counter[Reason] = Counter()
    dropped: Counter[Reason] = Counter()
    for token, number in base.vocab.items():
        if token not in remaining:
            dropped["rare" if uses[number] else "unused"] += 1
        elif token in pinned:
            kept[pinned[token]] += 1
        else:
            kept["used" if uses[number] else "part" if token in needed else "unused"] += 1
    return dict(sorted(kept.items())), dict(sorted(dropped.items()))
