"""Give counted words to trainers that only take text; it does not count text.

The trainers of `tokenizers` count pre-tokens themselves and have no weighted input. A sequence of words joined by a
character that no word holds, split at it again, gives them exactly the counts wanted. It costs less than training on
the running text, since nothing is matched by a regular expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from tokenizers import Tokenizer, pre_tokenizers, trainers

from mws_hf.words.counts import WordCounts

_CHUNK = 20_000


def separator(words: Iterable[str]) -> str:
    """A private-use character that occurs in no word.

    >>> separator(["a", chr(0xE000)]) == chr(0xE001)
    True
    """
    seen = set().union(*words)
    return next(c for c in map(chr, range(0xE000, 0xF900)) if c not in seen)


def repeated(words: Mapping[str, int], mark: str) -> Iterator[str]:
    """Texts of about 20,000 characters in which each word stands as often as its count, with `mark` after it.

    >>> list(repeated({"a": 3, "bc": 1}, "|"))
    ['a|a|a|bc|']
    """
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


def train_on_counts(
    tokenizer: Tokenizer,
    trainer: trainers.Trainer,
    words: Mapping[str, int],
    then: pre_tokenizers.PreTokenizer | None = None,
) -> None:
    """Train a `tokenizers` model on counted pre-tokens; its own normalizer and pre-tokenizer are not used and stay.

    Args:
        tokenizer: gets the trained model and the trainer's special tokens.
        trainer: one of `tokenizers.trainers`.
        words: pre-tokens and their counts.
        then: what is done to each pre-token before it is learnt from, such as `ByteLevel`.
    """
    mark = separator(words)
    kept, normalizer = tokenizer.pre_tokenizer, tokenizer.normalizer
    cut = pre_tokenizers.CharDelimiterSplit(mark)
    tokenizer.pre_tokenizer = cut if then is None else pre_tokenizers.Sequence([cut, then])
    if normalizer is not None:
        tokenizer.normalizer = None
    tokenizer.train_from_iterator(repeated(words, mark), trainer)
    if kept is not None:
        tokenizer.pre_tokenizer = kept
    if normalizer is not None:
        tokenizer.normalizer = normalizer


def rewritten(counts: WordCounts, rewrite: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Counts of the words that each pre-token is rewritten to, in canonical order of the pre-tokens.

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
