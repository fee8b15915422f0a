"""Train models with the trainers of `tokenizers` on word counts, and build tokenizers that split text like the counts.

These trainers take only text, without weights. Therefore each word is repeated as often as its count, and followed by a
separator that no word contains and at which the text is split. This takes less time than the running text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from mws_hf.corpus.counts import WordCounts

UNKNOWN = "[UNK]"
_TEXT_CHARACTERS = 20_000
"""Approximate number of characters in each text that is passed to a trainer."""
_MAX_RUNNING_WORDS = 2_000_000
"""Maximum number of running words in one training, unless there are many distinct words; they take about 2 s."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """The input of a baseline's training.

    Attributes:
        counts: the training words.
        vocab_size: size of the vocabulary, including special tokens.
        special_tokens: special tokens, which get the first ids.
    """

    counts: WordCounts
    vocab_size: int
    special_tokens: Sequence[str] = ()


def repeated(words: Mapping[str, int], mark: str) -> Iterator[str]:
    """Yield texts of about 20,000 characters in which each word occurs as often as its count, followed by `mark`."""
    parts: list[str] = []
    left = _TEXT_CHARACTERS
    for word, count in words.items():
        unit = word + mark
        while count:
            number = min(count, max(1, left // len(unit)))
            parts.append(unit * number)
            count -= number
            left -= number * len(unit)
            if left <= 0:
                yield "".join(parts)
                parts, left = [], _TEXT_CHARACTERS
    if parts:
        yield "".join(parts)


def divided(words: Mapping[str, int]) -> Mapping[str, int]:
    """Divide all counts by the same number if their sum is too large to repeat the words; no count becomes 0.

    >>> divided({"a": 3, "b": 100_000_000})
    {'a': 1, 'b': 1960784}
    """
    running, most = sum(words.values()), max(_MAX_RUNNING_WORDS, 100 * len(words))
    if running <= most:
        return words
    by = -(-running // most)
    _warn_divided(running, by)
    return {word: max(1, (count + by // 2) // by) for word, count in words.items()}


@cache  # once per process, because every system at every size would warn
def _warn_divided(running: int, by: int) -> None:
    logger.warning(
        "baselines repeat each word as often as it occurs, and %s running words are too many, so the baselines learn "
        "from all counts divided by %s",
        f"{running:,}", f"{by:,}",
    )  # fmt: skip


def train_on_counts(
    learner: Tokenizer,
    trainer: trainers.Trainer,
    words: Mapping[str, int],
    pre_tokenizer: pre_tokenizers.PreTokenizer | None = None,
) -> None:
    """Train the model of `learner` on word counts, in place.

    Args:
        learner: a tokenizer with an untrained model.
        trainer: the trainer of that model.
        words: the words with their counts.
        pre_tokenizer: a pre-tokenizer that is applied to each word, such as `ByteLevel`.
    """
    words = divided(words)
    seen = set().union(*words)
    mark = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in seen)  # from the private use area
    split = pre_tokenizers.CharDelimiterSplit(mark)
    learner.pre_tokenizer = split if pre_tokenizer is None else pre_tokenizers.Sequence([split, pre_tokenizer])
    learner.train_from_iterator(repeated(words, mark), trainer)


def rewritten(counts: WordCounts, rewrite: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Rewrite each pre-token to zero or more words, and count these words in the order of the pre-tokens.

    Counts of equal words are added. If every pre-token has the count 1 (types), so has every word.

    >>> counts = WordCounts.from_mapping({" дом": 3, "дом": 1, " ": 9}, pattern="...")
    >>> rewritten(counts, str.split), rewritten(counts.as_types(), str.split)
    ({'дом': 4}, {'дом': 1})
    """
    words: dict[str, int] = {}
    for pre_token, count in counts.items():
        for word in rewrite(pre_token):
            words[word] = words.get(word, 0) + count
    if int(counts.counts.max(initial=0)) <= 1:
        return dict.fromkeys(words, 1)
    return words


def tokenizer_like(
    counts: WordCounts,
    model: models.Model,
    decoder: decoders.Decoder,
    special_tokens: Sequence[str] = (),
    pre_tokenizer: pre_tokenizers.PreTokenizer | None = None,
) -> Tokenizer:
    """Build a tokenizer from a trained model, with the normalization and split pattern of the training words.

    `UNKNOWN` stays an ordinary entry and does not become a special token, so that decoding keeps it.

    Args:
        counts: the training words.
        model: the trained model.
        decoder: the decoder of the model.
        special_tokens: special tokens.
        pre_tokenizer: a pre-tokenizer that follows the split pattern.
    """
    tokenizer = Tokenizer(model)
    if counts.normalization is not None:
        tokenizer.normalizer = getattr(normalizers, counts.normalization.upper())()
    split = pre_tokenizers.Split(Regex(counts.pattern), behavior="isolated")
    tokenizer.pre_tokenizer = split if pre_tokenizer is None else pre_tokenizers.Sequence([split, pre_tokenizer])
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([token for token in special_tokens if token != UNKNOWN])
    return tokenizer


def numbered(tokens: Iterable[str]) -> dict[str, int]:
    """Number tokens in the given order; a repeated token keeps its first number."""
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
