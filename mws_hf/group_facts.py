"""What a tokenizer does to each group it was trained on: length and share of the vocabulary. Nothing is learnt here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from mws_hf.corpus.blocks import arrow_block, padded
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.learn.evidence.forms import find_words
from mws_hf.learn.words import CodePoints


@dataclass(frozen=True)
class GroupFacts:
    """One group of the training text, as the tokenizer cuts it.

    Attributes:
        weight: of the group in training.
        types: distinct pre-tokens.
        words: running words (pre-tokens of letters).
        tokens_per_word: tokens of those, the space before each included, per word; 0 without words.
        bytes_per_token: UTF-8 bytes of the group's text per token.
        own_vocabulary: share of the vocabulary that no other group uses, in the training text.
    """

    weight: float
    types: int
    words: int
    tokens_per_word: float
    bytes_per_token: float
    own_vocabulary: float


def group_facts(backend: Tokenizer, groups: GroupedCounts, weights: Mapping[str, float]) -> dict[str, GroupFacts]:
    """Facts of every named group that a tokenizer was trained on, with its weight (or 1); none if nobody named any."""
    if not groups.is_named:
        return {}
    encoder = BlockEncoder(backend)
    size = backend.get_vocab_size()
    used, facts = np.zeros((len(groups), size), bool), dict[str, dict[str, Any]]()
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
    shares = {name: round(int((used[k] & alone).sum()) / size, 4) for k, name in enumerate(groups)}
    return {name: GroupFacts(**found, own_vocabulary=shares[name]) for name, found in facts.items()}


def facts_record(facts: Mapping[str, GroupFacts]) -> dict[str, Any]:
    """The facts as a training record keeps them; empty where there are none."""
    return {"groups": {name: asdict(each) for name, each in facts.items()}} if facts else {}
