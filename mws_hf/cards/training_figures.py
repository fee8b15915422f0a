"""Measure a tokenizer on its training text: rarely used tokens, and the length and share of each group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow.compute as pc
from tokenizers import Tokenizer

from mws_hf.corpus.blocks import MAX_BYTES_WITHOUT_KERNELS, arrow_block, padded
from mws_hf.corpus.counts import WordCounts
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.kernels import Longs
from mws_hf.kernels.threads import part_edges, side_by_side
from mws_hf.learn.evidence.forms import find_words
from mws_hf.learn.group_evidence import MAX_LISTS_AT_ONCE
from mws_hf.learn.words import CodePoints
from mws_hf.text.capitals import MARKER
from mws_hf.tokenizer.spec import Spec, for_counted_words

_RARE_BELOW_USES = 5
_N_SAMPLE_WORDS = 8
_MOST_SAMPLED = 20_000
"""Maximum number of words from which sample words are chosen; creating a million strings would take a second."""


def training_facts(backend: Tokenizer, counts: WordCounts, weights: Mapping[str, float]) -> dict[str, Any]:
    """Measure the figures that the training metadata contains in addition to the settings.

    Args:
        backend: the new tokenizer.
        counts: the word counts that it was trained on.
        weights: the weights of the groups in training.

    Returns:
        A dict with these entries:

        * ``rare_entries``: shares of the tokens that merges make: ``unused`` in the text, and used fewer than five
          times (``under_5``, which includes the unused ones).
        * ``bytes_per_token``: bytes of the text in UTF-8 per token.
        * ``sample_words``: some longer words, taken evenly from the list of words, which a model card shows segmented.
        * ``groups``, if there are several, by name: ``weight``; ``types`` (number of distinct pre-tokens); ``words``
          (number of running words of letters); ``tokens_per_word`` (of these words with the space before them; 0 if
          there are none); ``bytes_per_token``; ``own_vocabulary`` (share of the vocabulary that only the text of this
          group uses).
    """
    encoder, size = BlockEncoder(for_counted_words(backend)), backend.get_vocab_size()
    groups = counts.groups
    measured = side_by_side(
        partial(_measure_group, encoder, size, counts.is_grouped), groups.values(), most=MAX_LISTS_AT_ONCE
    )
    total = np.sum([uses for uses, _ in measured], axis=0)
    words = counts.union.strings
    facts: dict[str, Any] = {
        "rare_entries": _rare_entries(encoder.spec, total),
        "bytes_per_token": round(sum(map(_count_bytes, groups.values())) / max(1, int(total.sum())), 4),
        "sample_words": _sample_words(words[:: len(words) // _MOST_SAMPLED + 1].to_pylist()),
    }
    if counts.is_grouped:
        in_one_group = np.sum([uses > 0 for uses, _ in measured], axis=0) == 1
        facts["groups"] = {
            name: {
                "weight": weights.get(name, 1.0),
                **lengths,
                "own_vocabulary": round(int(((uses > 0) & in_one_group).sum()) / size, 4),
            }
            for name, (uses, lengths) in zip(groups, measured, strict=True)
        }
    return facts


def _rare_entries(spec: Spec, uses: Longs) -> dict[str, float]:
    """Compute the shares of merges whose token is unused, and rarely used; `uses` has shape (vocabulary,)."""
    vocab = spec.model["vocab"]
    made = uses[[vocab[left + right] for left, right in spec.merges]]
    total = max(1, len(made))
    return {
        "unused": round(int((made == 0).sum()) / total, 4),
        f"under_{_RARE_BELOW_USES}": round(int((made < _RARE_BELOW_USES).sum()) / total, 4),
    }


def _measure_group(
    encoder: BlockEncoder, size: int, is_named: bool, counts: WordCounts
) -> tuple[Longs, dict[str, float]]:
    """Encode the words of a group.

    Args:
        encoder: encodes the words.
        size: size of the vocabulary.
        is_named: whether the group has a name, so that its figures are needed.
        counts: the words of the group.

    Returns:
        How often each token is used, int64 (size,), and the figures of a named group, without its weight and
        vocabulary.
    """
    # before encoding, because finding words needs much memory for a moment
    is_word = find_words(CodePoints.of_counts(counts)).is_word if is_named else None
    encode = (
        encoder.encode_without_kernels
        if arrow_block(counts.strings).size <= MAX_BYTES_WITHOUT_KERNELS
        else encoder.encode
    )
    edges = part_edges(len(counts))
    parts = side_by_side(lambda a, b: encode(padded(arrow_block(counts.strings[a:b]))), edges, edges[1:])
    lengths = [np.diff(part.ends, prepend=0) for part in parts]
    uses = np.zeros(size, np.int64)
    for part, times, n_ids in zip(parts, np.split(counts.counts, edges[1:-1]), lengths, strict=True):
        np.add.at(uses, part.ids, np.repeat(times, n_ids))
    del parts
    if is_word is None:
        return uses, {}
    tokens = np.concatenate(lengths) * counts.counts
    words = int(counts.counts[is_word].sum())
    return uses, {
        "types": len(counts),
        "words": words,
        "tokens_per_word": round(int(tokens[is_word].sum()) / max(1, words), 4),
        "bytes_per_token": round(_count_bytes(counts) / max(1, int(tokens.sum())), 4),
    }


def _count_bytes(counts: WordCounts) -> int:
    """Count the UTF-8 bytes of the running text that was counted."""
    sizes = np.diff(counts.utf8()[1])
    if counts.splitter.marks_capitals:
        sizes = sizes - pc.count_substring(counts.strings, MARKER).to_numpy()  # the original text has no markers
    return int((sizes * counts.counts).sum())


def _sample_words(words: Iterable[str]) -> list[str]:
    """Choose a few words of 9 to 20 characters (with a leading space), evenly from a list of pre-tokens."""
    long = [word.strip() for word in words if 9 <= len(word) <= 20 and word.strip().isalpha()]
    step = max(1, len(long) // _N_SAMPLE_WORDS)
    return list(dict.fromkeys(long[::step]))[:_N_SAMPLE_WORDS]
