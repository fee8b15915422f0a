"""Retiring tokens of a base that texts never use, so that new ones can have their ids. Nothing is learnt or written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

from mws_hf.extend.base import Base
from mws_hf.special import BYTE_TOKENS

_BATCH = 1000


@dataclass(frozen=True)
class Retirement:
    """What goes.

    Attributes:
        tokens: token -> the id it had, ascending by id.
        merges: the merges left, in rank order.
        dropped: the merges that make a retired token or use one.
    """

    tokens: dict[str, int]
    merges: list[tuple[str, str]]
    dropped: list[tuple[str, str]]


def used_ids(base: Base, texts: Iterable[str]) -> set[int]:
    """The ids that occur where the base encodes the texts."""
    pipeline, used, iterator = base.pipeline(), set[int](), iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        for item in pipeline.encode_batch_fast(batch, add_special_tokens=False):
            used.update(item.ids)
    return used


def retire(base: Base, used: Collection[int], wanted: int) -> Retirement:
    """Choose tokens to retire: neither used nor a part of one that is, those made by the latest merges first.

    Symbols that no merge makes, byte tokens and added tokens stay. Texts that use only the ids of `used` are encoded as
    before.

    Args:
        base: the tokenizer.
        used: ids to keep.
        wanted: how many ids are needed; fewer are retired where there are no more.
    """
    kept = base.added.union(BYTE_TOKENS, (token for token, number in base.vocab.items() if number in used))
    ranks: dict[str, int] = {}
    needed = set(kept)
    for rank, (left, right) in reversed(list(enumerate(base.merges))):
        ranks[left + right] = rank
    grown = True
    while grown:  # once, where parts are made before wholes
        grown = False
        for left, right in reversed(base.merges):
            if left + right in needed and not needed.issuperset((left, right)):
                needed.update((left, right))
                grown = True
    spare = sorted((token for token in ranks if token not in needed), key=lambda token: -ranks[token])
    gone = {token for token in spare[:wanted] if token in base.vocab}
    merges = [pair for pair in base.merges if not gone.intersection((*pair, pair[0] + pair[1]))]
    while orphans := set(spare) - gone - {left + right for left, right in merges}:
        gone |= orphans
        merges = [pair for pair in merges if not gone.intersection(pair)]
    remaining = set(merges)
    dropped = [pair for pair in base.merges if pair not in remaining]
    return Retirement(dict(sorted(((t, base.vocab[t]) for t in gone), key=lambda item: item[1])), merges, dropped)
