"""Feed the rivals: counted words as input of trainers that only take text, and tokenizers cut as the counts are.

The trainers of `tokenizers` have no weighted input. A sequence of words joined by a character that no word holds, split
at it again, gives them exactly the counts wanted, for less time than the running text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from mws_hf.corpus.counts import WordCounts

UNKNOWN = "[UNK]"
_CHUNK = 20_000
_MOST = 2_000_000  # running words, which take about two seconds
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """The training words of a rival and the size to train it to."""

    counts: WordCounts
    vocab_size: int  # special tokens included
    special_tokens: Sequence[str] = ()  # they get the first ids


def repeated(words: Mapping[str, int], mark: str) -> Iterator[str]:
    """Yield texts of about 20,000 characters in which each word stands as often as its count, with `mark` after it."""
    parts: list[str] = []
    room = _CHUNK
    for word, count in words.items():
        unit = word + mark
        while count:
            number = min(count, max(1, room // len(unit)))
            parts.append(unit * number)
            count -= number
            room -= number * len(unit)
            if room <= 0:
                yield "".join(parts)
                parts, room = [], _CHUNK
    if parts:
        yield "".join(parts)


def divided(words: Mapping[str, int]) -> Mapping[str, int]:
    """Divide the counts of words that stand too often to be repeated, 100 times the number of words; none becomes 0.

    >>> divided({"a": 3, "b": 100_000_000})
    {'a': 1, 'b': 1960784}
    """
    running, most = sum(words.values()), max(_MOST, 100 * len(words))
    if running <= most:
        return words
    by = -(-running // most)
    _say_divided(running, by)
    return {word: max(1, (count + by // 2) // by) for word, count in words.items()}


@cache  # each system at each size would say it again
def _say_divided(running: int, by: int) -> None:
    logger.warning(
        "rivals repeat each word as often as it occurs, and %s running words are too many: for them all counts are "
        "divided by %s",
        f"{running:,}", f"{by:,}",
    )  # fmt: skip


def train_on_counts(
    learner: Tokenizer,
    trainer: trainers.Trainer,
    words: Mapping[str, int],
    then: pre_tokenizers.PreTokenizer | None = None,
) -> None:
    """Train a model on counted pre-tokens, to each of which `then` is done before, such as `ByteLevel`."""
    words = divided(words)
    seen = set().union(*words)
    mark = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in seen)  # for private use
    cut = pre_tokenizers.CharDelimiterSplit(mark)
    learner.pre_tokenizer = cut if then is None else pre_tokenizers.Sequence([cut, then])
    learner.train_from_iterator(repeated(words, mark), trainer)


def rewritten(counts: WordCounts, rewrite: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Count the words that each pre-token is rewritten to, in canonical order of the pre-tokens.

    Counts of words that coincide add up; where every pre-token counts once (types), every word counts once.

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
    """Make a tokenizer of a trained model that normalizes and splits text as the counts were made, then as `then` does.

    `UNKNOWN` stays an ordinary entry, so that decoding keeps it and text cannot ask for it.
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
    """Number tokens in the order given; a token given twice keeps its first place."""
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}
