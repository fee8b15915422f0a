"""MorphBPE (Asgari et al. 2025) without labels: BPE by frequency that merges nothing across Morfessor's boundaries.

Morfessor cuts the training words; the BPE learner sees the segments as if each were a word of its own. The merges make
a stock tokenizer.json, which knows no Morfessor: there they apply wherever their pair stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tokenizers import Tokenizer

from mws_hf.baselines.bpe import build_character_bpe
from mws_hf.baselines.morfessor_baseline import MAX_LENGTH, MAX_TYPES, MorfessorModel, build_frequent
from mws_hf.corpus.counts import WordCounts


def build_morph_bpe(
    counts: WordCounts,
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = (),
    show_progress: bool = False,
    max_types: int = MAX_TYPES,
) -> Tokenizer:
    """Character-level BPE inside the segments of Morfessor, which learns from the `max_types` most frequent words.

    Raises:
        MwSError: Morfessor is absent, or there are no words.
    """
    model = build_frequent(counts, vocab_size, max_types=max_types)
    segments: Counter[str] = Counter()
    for word, count in counts.items():
        for segment in _segments(word, model):
            segments[segment] += count
    inside = WordCounts.from_mapping(segments, pattern=counts.pattern, normalization=counts.normalization)
    return build_character_bpe(inside, vocab_size, special_tokens=special_tokens, show_progress=show_progress)


def _segments(pre_token: str, model: MorfessorModel) -> list[str]:
    """The pieces of a pre-token of letters, its leading space with the first; any other in one piece."""
    word = pre_token.removeprefix(" ")
    if not word.isalpha() or len(word) > MAX_LENGTH:
        return [pre_token]
    first, *others = model.segment(word)
    return [pre_token[: len(pre_token) - len(word)] + first, *others]
