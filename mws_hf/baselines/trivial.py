"""The two trivial ends, characters and whole words: what any criterion must beat; nothing is learnt."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer, decoders, models

from mws_hf.backend import base_vocab, build_backend
from mws_hf.baselines.bpe import set_normalizer, split_of
from mws_hf.baselines.model import UNKNOWN
from mws_hf.words.counts import WordCounts


def build_characters(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """Every character a token, unseen ones as bytes; `vocab_size` does not matter."""
    alphabet = sorted(set().union(*counts.words))
    vocab = base_vocab(special_tokens, alphabet)
    return build_backend(vocab, [], counts.pattern, counts.normalization, special_tokens)


def build_words(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """The most frequent pre-tokens as tokens and ``[UNK]`` for all others.

    Args:
        counts: pre-tokens in canonical order; the first ones are kept.
        vocab_size: entries, special tokens and ``[UNK]`` included.
        special_tokens: get the first ids.
        show_progress: nothing to show.
    """
    first = dict.fromkeys((*special_tokens, UNKNOWN))
    words = counts.words[: max(0, vocab_size - len(first))]
    vocab = {token: number for number, token in enumerate(dict.fromkeys((*first, *words)))}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token=UNKNOWN))
    set_normalizer(tokenizer, counts)
    tokenizer.pre_tokenizer = split_of(counts)
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([token for token in special_tokens if token != UNKNOWN])
    return tokenizer
