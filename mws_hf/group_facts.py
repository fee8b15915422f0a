"""What a tokenizer does to each group it was trained on: length and share of the vocabulary. Nothing is learnt here."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from mws_hf.corpus.blocks import arrow_block, padded
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.kernels.threads import thread_count
from mws_hf.learn.evidence.forms import find_words
from mws_hf.learn.mixtures import AT_ONCE
from mws_hf.learn.words import CodePoints
from mws_hf.stock import Tokenizer


def group_facts(backend: Tokenizer, groups: GroupedCounts, weights: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Facts of every group that a tokenizer was trained on.

    Args:
        backend: the trained tokenizer.
        groups: what it was trained on.
        weights: of the groups; 1 for one that is not named.

    Returns:
        By group ``weight`` in training, ``types`` (distinct pre-tokens), ``words`` (running ones, of letters),
        ``tokens_per_word`` (of those, the space before each included; 0 without words), ``bytes_per_token`` (UTF-8
        bytes of the group's text) and ``own_vocabulary`` (share of the vocabulary that no other group's text uses).
    """
    encoder, size = BlockEncoder(backend), backend.get_vocab_size()
    with ThreadPoolExecutor(min(AT_ONCE, thread_count())) as pool:
        cut = list(pool.map(lambda counts: _cut(encoder, counts, size), groups.values()))
    alone = np.sum([used for used, _ in cut], axis=0) == 1
    return {
        name: {
            "weight": weights.get(name, 1.0),
            **lengths,
            "own_vocabulary": round(int((used & alone).sum()) / size, 4),
        }
        for name, (used, lengths) in zip(groups, cut, strict=True)
    }


def _cut(encoder: BlockEncoder, counts: WordCounts, size: int) -> tuple[npt.NDArray[np.bool_], dict[str, float]]:
    """Which entries of the vocabulary a group uses, and what its text alone tells."""
    encoded = encoder.encode(padded(arrow_block(counts.strings)))
    used = np.zeros(size, bool)
    used[encoded.ids] = True
    tokens = np.diff(encoded.ends, prepend=0) * counts.counts
    is_word = find_words(CodePoints.of_counts(counts)).is_word
    words = int(counts.counts[is_word].sum())
    n_bytes = int((np.diff(counts.utf8()[1]) * counts.counts).sum())
    return used, {
        "types": len(counts),
        "words": words,
        "tokens_per_word": round(int(tokens[is_word].sum()) / max(1, words), 4),
        "bytes_per_token": round(n_bytes / max(1, int(tokens.sum())), 4),
    }
