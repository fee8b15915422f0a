"""Word counts as input of trainers that only take text, and tokenizers that split text as the counts were made.

The trainers of `tokenizers` have no weighted input. Each word is repeated as often as its count, with a character after
it that no word contains and at which the text is split, which takes less time than the running text.
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
_MAX_RUNNING_WORDS = 2_000_000
"""Repeated words of a training, which take about two seconds."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """What a baseline is trained on.

    Attributes:
        counts: the training words.
        vocab_size: size of the vocabulary, special tokens included.
        special_tokens: special tokens, which get the first ids.
    """

    counts: WordCounts
    vocab_size: int
    special_tokens: Sequence[str] = ()


def repeated(words: Mapping[str, int], mark: str) -> Iterator[str]:
    """Yield texts of about 20,000 characters in which each word occurs as often as its count, with `mark` after it."""
    parts: list[str] = []
    room = _TEXT_CHARACTERS
    for word, count in words.items():
        unit = word + mark
        while count:
            number = min(count, max(1, room // len(unit)))
            parts.append(unit * number)
            count -= number
            room -= number * len(unit)
            if room <= 0:
                yield "".join(parts)
                parts, room = [], _TEXT_CHARACTERS
    if parts:
        yield "".join(parts)


def divided(words: Mapping[str, int]) -> Mapping[str, int]:
    """Divide all counts if their sum is too large to repeat the words; no count becomes 0.

    >>> divided({"a": 3, "b": 100_000_000})
    {'a': 1, 'b': 1960784}
    """
    running, most = sum(words.values()), max(_MAX_RUNNING_WORDS, 100 * len(words))
    if running <= most:
        return words
    by = -(-running // most)
    _say_divided(running, by)
    return {word: max(1, (count + by // 2) // by) for word, count in words.items()}


@cache  # otherwise each system at each size would warn
def _say_divided(running: int, by: int) -> None:
    logger.warning(
        "baselines repeat each word as often as it occurs, and %s running words are too many: for them all counts are "
        "divided by %s",
        f"{running:,}", f"{by:,}",
    )  # fmt: skip


def train_on_counts(
    learner: Tokenizer,
    trainer: trainers.Trainer,
    words: Mapping[str, int],
    then: pre_tokenizers.PreTokenizer | None = None,
) -> None:
    """Train a model on word counts; `then`, such as `ByteLevel`, is applied to each word before."""
    words = divided(words)
    seen = set().union(*words)
    mark = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in seen)  # from the private use area
    cut = pre_tokenizers.CharDelimiterSplit(mark)
    learner.pre_tokenizer = cut if then is None else pre_tokenizers.Sequence([cut, then])
    learner.train_from_iterator(repeated(words, mark), trainer)


def rewritten(counts: WordCounts, rewrite: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Count the words into which pre-tokens are rewritten, in the order of the pre-tokens.

    Counts of equal words are added; if every pre-token counts once (types), every word counts once.

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
    then: pre_tokenizers.PreTokenizer | None = None,
) -> Tokenizer:
    """Make a tokenizer of a trained model that normalizes and splits text as the counts were made, and then by `then`.

    `UNKNOWN` is an ordinary entry, so that decoding keeps it, and a text that contains it is not special.
    """
    tokenizer = Tokenizer(model)
    if counts.normalization is not None:
        tokenizer.normalizer = getattr(normalizers, counts.normalization.upper())()
    split = pre_tokenizers.Split(Regex(counts.pattern), behavior="isolated")
    tokenizer.pre_tokenizer = split if then is None else pre_tokenizers.Sequence([split, then])
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([token for token in special_tokens if token != UNKNOWN])
    return tokenizer


def numbered(tokens: Iterable[str]) -> dict[str, int]:
    """Number tokens in the given order; a repeated token keeps its first number."""
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
