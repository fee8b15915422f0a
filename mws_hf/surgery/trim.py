"""Trim a pretrained BPE: remove the tokens that texts do not use.

If a token stays, the parts from which the base builds it stay, too. Wherever a token occurs, it is built from its
symbols by the same merges in the order of their ranks, and no merge crosses its ends. Therefore a text that the base
segments into kept tokens is segmented by the same merges as before, in the same order. All other texts are segmented
differently, but still decode to the original text, because byte tokens stay.
"""

from __future__ import annotations

import heapq
import logging
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
from mws_hf.surgery.ids import ids_of_parts, renumbered_tokenizer
from mws_hf.text.phrases import counted
from mws_hf.text.symbols import BYTE_CHARACTERS, BYTE_TOKENS
from mws_hf.text.valid_text import each_text
from mws_hf.tokenizer.merging import merge_steps, ranked

_logger = logging.getLogger(__name__)

Reason = Literal["added", "bytes", "named", "used", "part", "unused", "rare"]
"""The reason why a token stays (the first five, or "unused" if there is room for it) or is dropped (the last two)."""


@dataclass(frozen=True)
class Trimming(Rewritten):
    """A trimmed tokenizer, and which tokens of its base stay.

    Attributes:
        base: the tokenizer that was trimmed.
        ids: the new id of each old id, ascending; None if the token was dropped.
        uses: int64, shape (largest old id + 1,): occurrences of each token in the texts.
        kept: number of tokens that stay, by reason.
        dropped: number of tokens that were dropped, by reason.
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
        """Share of the tokens in the texts, as the base segments them, that were dropped from the vocabulary."""
        return self.share_lost(self.uses)

    def share_lost(self, uses: Longs) -> float:
        """Return the share of the uses that dropped tokens have.

        Args:
            uses: int64, shape (largest old id + 1,): occurrences of each token in a text.
        """
        dropped = [old for old, new in self.ids.items() if new is None]
        return float(uses[dropped].sum() / max(1, uses.sum()))

    @property
    def old_ids(self) -> IdMap:
        """The new id of each id of the base: the attribute `ids`."""
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
    """Drop the tokens of a BPE tokenizer that texts do not use, or use least.

    Tokens are dropped one by one, the least used first. The uses of a dropped token are added to its two parts. Added
    tokens, the tokens of the post-processor and of padding, and byte tokens always stay. A text that the base segments
    into kept tokens is segmented as before.

    Args:
        tokenizer: any tokenizer that `mws_hf.extend` takes.
        texts: texts like those that the tokenizer will encode, or the result of `count_uses` for them.
        keep_size: number of tokens that stay, added tokens included; less than the tokenizer has.
        min_count: minimum number of uses of a token that stays; give this or `keep_size`. A warning is logged if
            every token stays.
        keep: tokens that always stay, as readable text (``" the"``) or as they are written in the vocabulary.

    Returns:
        The trimmed tokenizer, whose method `save` writes a folder.

    Raises:
        MwSError: the tokenizer is missing or unsupported; both or neither of `keep_size` and `min_count` are given;
            a token to keep is not in the vocabulary; more tokens than `keep_size` must stay; the tokenizer has no more
            than `keep_size`; all texts are empty; or `texts` or `keep` is not a list of str.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("a", "b"), ("c", "d"), ("ab", "c")]
    >>> base = build_backend(base_vocab([], "abcd", merges), merges)
    >>> smaller = trim(base, ["abc", "abab"], min_count=1)
    >>> smaller.tokenizer.encode("abc ab").tokens, smaller.dropped
    (['abc', '<0x20>', 'ab'], {'unused': 2})
    """
    if (keep_size is None) == (min_count is None):
        raise MwSError("give either keep_size (how many tokens to keep) or min_count (how often each must be used)")
    for name, value in (("keep_size", keep_size), ("min_count", min_count)):
        check_range(name, value, Range(1, whole=True), optional=True)
    base = open_base(tokenizer)
    check_keep_size(base, keep_size)
    if isinstance(texts, np.ndarray) and texts.dtype.kind != "i":
        texts = texts.tolist()  # an array of texts and not of uses
    if isinstance(texts, np.ndarray) and texts.shape != (base.next_id,):
        raise MwSError(
            f"the uses have shape {texts.shape}, but the highest id is {base.next_id - 1:,}; give texts, or the result "
            "of count_uses for this tokenizer"
        )
    uses = texts if isinstance(texts, np.ndarray) else check_used(count_uses(base, each_text(texts)))
    pinned = _pinned(base, each_text(keep, "keep"))
    remaining = prune(base, uses, pinned, keep_size, min_count)
    ids: dict[int, int | None] = dict.fromkeys(range(base.next_id))
    ids.update({number: place for place, number in enumerate(sorted(base.vocab[token] for token in remaining))})
    if len(remaining) == len(base.vocab):
        _logger.warning(
            "no token was removed, because each is used at least %s, or must stay (added tokens, bytes, tokens to "
            "keep, and their parts); the new tokenizer equals the old one",
            counted(min_count or 1, "time"),
        )
    spec = renumbered_tokenizer(base.spec, ids)
    spec["model"]["merges"] = base.merges_among(remaining)
    trimming = Trimming(base, ids, uses, *_reasons(base, uses, remaining, pinned), spec)
    trimming.check_ids({token: ids[base.vocab[token]] for token in remaining})
    return trimming


def check_keep_size(base: Base, keep_size: int | None) -> None:
    """Raise MwSError if the base has at most `keep_size` tokens, so that nothing would be dropped."""
    if keep_size is not None and keep_size >= len(base.vocab):
        said = f"would drop nothing, because the tokenizer has {len(base.vocab)} tokens; give a smaller number"
        raise SettingError("keep_size", keep_size, said)


def count_uses(base: Base, texts: Iterable[str]) -> Longs:
    """Count how often each token occurs in texts that the base encodes.

    Returns:
        Int64, shape (largest id + 1,).
    """
    return count_ids(base.pipeline(with_prefix=True), texts, base.next_id)


def check_used(uses: Longs) -> Longs:
    """Return the uses of all texts together; some of the texts may be empty.

    Raises:
        MwSError: all uses are 0.
    """
    if not uses.any():
        raise MwSError("the texts have no token, so that every token would be unused; give texts that are not empty")
    return uses


def last_merges(base: Base) -> dict[str, tuple[str, str]]:
    """Find the two parts from which the base makes each token; tokens that no merge makes are left out."""
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


def never_removed(base: Base) -> set[str]:
    """List the added tokens, and the tokens whose ids the post-processor and the padding of the base contain."""
    numbers = ids_of_parts(base.spec)
    return {token for token, number in base.vocab.items() if token in base.added or number in numbers}


def _pinned(base: Base, keep: Iterable[str]) -> dict[str, Reason]:
    """List the tokens that always stay, and the reason for each."""
    unknown = base.spec["model"].get("unk_token")
    pinned: dict[str, Reason] = dict.fromkeys(never_removed(base), "added")
    if unknown in base.vocab:
        pinned[unknown] = "added"
    pinned |= dict.fromkeys(BYTE_CHARACTERS if base.byte_level else BYTE_TOKENS, "bytes")
    for text in keep:
        pinned.setdefault(named_entry(base, text), "named")
    return {token: reason for token, reason in pinned.items() if token in base.vocab}


def named_entry(base: Base, text: str) -> str:
    """Return the token of a readable text, or of a text that is written as in the vocabulary.

    Raises:
        MwSError: there is no such token.
    """
    for spelled in (base.spell(text), text):
        if spelled in base.vocab:
            return spelled
    raise MwSError(f"{text!r} is not a token of the tokenizer; a space before a word is part of its token")


def prune(base: Base, uses: Longs, pinned: Collection[str], keep_size: int | None, min_count: int | None) -> set[str]:
    """Choose the tokens that stay.

    Tokens that are not part of another token are dropped one by one, the least used first, and of equally used tokens
    the one with the largest id. If both `keep_size` and `min_count` are given, no token with `min_count` uses is
    dropped, so that more than `keep_size` tokens may stay.

    Args:
        base: the tokenizer.
        uses: int64, shape (largest id + 1,): occurrences of each token.
        pinned: tokens that always stay.
        keep_size: number of tokens that stay; None for no limit.
        min_count: number of uses at which a token stays; None for no limit.

    Raises:
        MwSError: more tokens than `keep_size` must stay, and `min_count` is not given.
    """
    parts = {token: pair for token, pair in last_merges(base).items() if token in base.vocab}
    remaining = set(base.vocab)
    wholes = Counter(part for pair in parts.values() for part in set(pair))
    counts = {token: int(uses[number]) for token, number in base.vocab.items()}

    def entry(token: str) -> tuple[int, int, str]:
        # without a merged token, each use takes one token more; without a character, as many as it has bytes, less one
        more = 1 if token in parts or base.byte_level else max(1, len(token.encode()) - 1)
        return counts[token] * (more if min_count is None else 1), -base.vocab[token], token

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
            f"is too small: {len(remaining)} tokens must stay (added tokens, bytes, tokens to keep, and their "
            "parts); give a larger number",
        )
    return remaining


def _reasons(
    base: Base, uses: Longs, remaining: set[str], pinned: Mapping[str, Reason]
) -> tuple[dict[Reason, int], dict[Reason, int]]:
    """Count the tokens that stay and those that are dropped, by reason."""
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
