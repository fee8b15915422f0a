"""What a tokenizer does to each group it was trained on: length and share of the vocabulary. Nothing is learnt here."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tokenizers import Tokenizer

from mws_hf.corpus.blocks import arrow_block, padded
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.learn.evidence.forms import find_words
from mws_hf.learn.words import CodePoints


def group_facts(backend: Tokenizer, groups: GroupedCounts, weights: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Facts of every named group that a tokenizer was trained on; none if nobody named any.

    Args:
        backend: the trained tokenizer.
        groups: what it was trained on.
        weights: of the groups; 1 for one that is not named.

    Returns:
        By group ``weight`` in training, ``types`` (distinct pre-tokens), ``words`` (running ones, of letters),
        ``tokens_per_word`` (of those, the space before each included; 0 without words), ``bytes_per_token`` (UTF-8
        bytes of the group's text) and ``own_vocabulary`` (share of the vocabulary that no other group's text uses).
    """
    if not groups.is_named:
        return {}
    encoder = BlockEncoder(backend)
    size = backend.get_vocab_size()
    used, facts = np.zeros((len(groups), size), bool), dict[str, dict[str, float]]()
    for k, (name, counts) in enumerate(groups.items()):
        encoded = encoder.encode(padded(arrow_block(counts.strings)))
        used[k, encoded.ids] = True
        tokens = np.diff(encoded.ends, prepend=0) * counts.counts
        is_word = find_words(CodePoints.of_counts(counts)).is_word
        words = int(counts.counts[is_word].sum())
        n_bytes = int((np.diff(counts.utf8()[1]) * counts.counts).sum())
        facts[name] = {
            "weight": weights.get(name, 1.0),
            "types": len(counts),
            "words": words,
            "tokens_per_word": round(int(tokens[is_word].sum()) / max(1, words), 4),
            "bytes_per_token": round(n_bytes / max(1, int(tokens.sum())), 4),
        }
    alone = used.sum(axis=0) == 1
    for k, own in enumerate(facts.values()):
        own["own_vocabulary"] = round(int((used[k] & alone).sum()) / size, 4)
    return facts
