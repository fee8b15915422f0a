"""Find what new merges must leave alone so that a sample of old text keeps its cut, token for token.

A merge of two tokens of the base fires in a text just where they stand side by side in its cut. A merge with a new part
fires nowhere as long as no new token comes about there. So if no pair that stands in the sample is learnt, no character
that it spells in bytes becomes a symbol, and (where a base takes whole words from its vocabulary) no word of it becomes
a token, then its cut is as before. Of other texts nothing can be promised, only measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from mws_hf.extend.base import Base

_BATCH = 1000


@dataclass(frozen=True)
class Protection:
    """The pairs, characters and words that are not learnt.

    Attributes:
        pairs: (left, right), tokens of the base that are not merged.
        characters: characters that stay spelled in bytes.
        words: strings that do not become tokens.
    """

    pairs: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    characters: frozenset[str] = field(default_factory=frozenset)
    words: frozenset[str] = field(default_factory=frozenset)

    def struck(self, tokens: list[str]) -> list[tuple[int, int]]:
        """Return the pairs as indices into a list of tokens, as far as both are in it; ascending."""
        numbers = {token: number for number, token in enumerate(tokens)}
        return sorted((numbers[a], numbers[b]) for a, b in self.pairs if a in numbers and b in numbers)


UNPROTECTED = Protection()


def protect(base: Base, texts: Iterable[str]) -> Protection:
    """Find what new merges must leave alone for texts to keep their cut.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("a", "b")]
    >>> found = protect(Base.of(build_backend(base_vocab([], "abcd", merges), merges)), ["abc", "dж"])
    >>> sorted(found.pairs), sorted(found.characters)
    ([('<0xD0>', '<0xB6>'), ('ab', 'c'), ('d', '<0xD0>')], ['a', 'b', 'c', 'd', 'ж'])
    """
    pipeline, size, iterator = base.pipeline(with_prefix=True), base.next_id, iter(texts)
    normal = str if pipeline.normalizer is None else pipeline.normalizer.normalize_str
    whole = bool(base.spec["model"].get("ignore_merges"))
    codes = np.zeros(0, np.int64)
    characters: set[str] = set()
    words: set[str] = set()
    while batch := list(islice(iterator, _BATCH)):
        cuts = [np.array(item.ids, np.int64) for item in pipeline.encode_batch_fast(batch, add_special_tokens=False)]
        codes = np.unique(np.concatenate([codes, *(ids[:-1] * size + ids[1:] for ids in cuts)]))
        for text in map(normal, batch):
            characters.update(text)
            if whole and pipeline.pre_tokenizer is not None:
                words.update(word for word, _ in pipeline.pre_tokenizer.pre_tokenize_str(text))
    tokens = {number: token for token, number in base.vocab.items()}
    pairs = {(tokens[code // size], tokens[code % size]) for code in codes.tolist()}
    return Protection(frozenset(pairs), frozenset(characters), frozenset(words.difference(base.vocab)))
