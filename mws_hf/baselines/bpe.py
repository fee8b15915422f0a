"""Byte-level and character-level BPE by frequency, both by the library's own trainer; ends of words are not marked."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from mws_hf.backend import BYTE_TOKENS, NORMALIZERS, base_vocab, build_backend, tables_of
from mws_hf.baselines.feed import train_on_counts
from mws_hf.words.counts import WordCounts


def build_byte_bpe(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """BPE over the 256 bytes (Radford et al. 2019, GPT-2) within the pre-tokens of the counts.

    Args:
        counts: pre-tokens and how often each counts.
        vocab_size: entries, special tokens and the 256 bytes included.
        special_tokens: get the first ids.
        show_progress: the library's own progress bars.
    """
    tokenizer = Tokenizer(models.BPE())
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    set_normalizer(tokenizer, counts)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split_of(counts), to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=show_progress,
    )
    train_on_counts(tokenizer, trainer, dict(counts.items()), to_bytes)
    return tokenizer


def build_character_bpe(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """BPE over characters with byte fallback: MwS in everything but the choice of merges.

    Args:
        counts: pre-tokens and how often each counts.
        vocab_size: entries: special tokens, 256 byte tokens, alphabet, merges.
        special_tokens: get the first ids.
        show_progress: the library's own progress bars.
    """
    learner = Tokenizer(models.BPE())
    room = vocab_size - len(special_tokens) - len(BYTE_TOKENS)
    trainer = trainers.BpeTrainer(vocab_size=max(0, room), show_progress=show_progress)
    train_on_counts(learner, trainer, dict(counts.items()))
    vocab, merges = tables_of(learner)
    alphabet = [token for token in vocab if len(token) == 1]
    merges = [pair for pair in merges if "".join(pair) not in BYTE_TOKENS]
    return build_backend(
        base_vocab(special_tokens, alphabet, merges), merges, counts.pattern, counts.normalization, special_tokens
    )


def split_of(counts: WordCounts) -> pre_tokenizers.PreTokenizer:
    """The pre-tokenizer that cuts text as the counts were made."""
    return pre_tokenizers.Split(Regex(counts.pattern), behavior="isolated")


def set_normalizer(tokenizer: Tokenizer, counts: WordCounts) -> None:
    """Give the tokenizer the Unicode normalization of the counts, when there is one."""
    if counts.normalization is not None:
        tokenizer.normalizer = NORMALIZERS[counts.normalization]()
