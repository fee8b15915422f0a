"""Find the words of a corpus as a base cuts them, and lay their tokens out in the cells of the merge engine.

A sample of old text can be protected: new merges then leave its cut alone, token for token. A merge of two tokens of
the base fires in a text just where they stand side by side in its cut. A merge with a new part fires nowhere as long as
no new token comes about there. So if no pair that stands in the sample is learnt, no character that it spells in bytes
becomes a symbol, and (where a base takes whole words from its vocabulary) no word of it becomes a token, then its cut
is as before. Of other texts nothing can be promised, only measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np

from mws_hf.corpus.counts import WordCounts
from mws_hf.extend.base import Base
from mws_hf.extend.cuts import cuts
from mws_hf.kernels.arrays import Array, Ints, Longs, Mask
from mws_hf.kernels.jit import njit
from mws_hf.learn.engine.pairs import INSIDE, SEPARATOR
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.evidence.forms import Forms, collect_forms
from mws_hf.learn.words import CodePoints, SymbolCorpus, utf8_sizes
from mws_hf.tokenizer.stock import Tokenizer

_LINES_AT_ONCE = 1000


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
    while batch := list(islice(iterator, _LINES_AT_ONCE)):
        codes = np.unique(np.concatenate([codes, *(ids[:-1] * size + ids[1:] for ids in cuts(pipeline, batch))]))
        for text in map(normal, batch):
            characters.update(text)
            if whole and pipeline.pre_tokenizer is not None:
                words.update(word for word, _ in pipeline.pre_tokenizer.pre_tokenize_str(text))
    tokens = {number: token for token, number in base.vocab.items()}
    pairs = {(tokens[code // size], tokens[code % size]) for code in codes.tolist()}
    return Protection(frozenset(pairs), frozenset(characters), frozenset(words.difference(base.vocab)))


_BATCH = 1 << 16


def collect_base_forms(base: Base, counts: WordCounts) -> Forms:
    """Collect the words of counts by any pattern, normalized and cut by the base's own pre-tokenizer."""
    pipeline = base.pipeline()
    forms = collect_forms(CodePoints.of_counts(counts), counts.counts)
    pieces: dict[str, int] = {}
    for form, count in zip(forms.words.strings(), forms.counts.tolist(), strict=True):
        for text in pre_tokens(base, pipeline, form):
            pieces[text] = pieces.get(text, 0) + count
    numbers = np.fromiter(pieces.values(), np.int64, len(pieces))
    return collect_forms(CodePoints.of(list(pieces)), numbers)


def pre_tokens(base: Base, pipeline: Tokenizer, text: str) -> list[str]:
    """Cut a text into the pieces that the base's model is given, each as people read it."""
    normalized = text if pipeline.normalizer is None else pipeline.normalizer.normalize_str(text)
    if pipeline.pre_tokenizer is None:
        return [base.read(normalized)]
    pieces = pipeline.pre_tokenizer.pre_tokenize_str(normalized)
    if len(pieces) == 1 and pieces[0][1] == (0, len(text)) and normalized == text:
        return [text]  # seldom otherwise
    return [base.read(piece) for piece, _ in pieces]


@dataclass(frozen=True)
class CutWords:
    """Words cut by a base, laid out for the merge engine: a cell for each symbol, a separator around each word.

    Attributes:
        segmentation: the words in tokens; learning moves it on.
        words: the words, in characters.
        chosen: int64, numbers of these words among the words given; words with symbols that are no tokens are left out.
        sizes: int64, symbols of each character: bytes, or 1.
        last: int64, the cell of each character's last symbol.
    """

    segmentation: Segmentation
    words: CodePoints
    chosen: Longs
    sizes: Longs
    last: Longs

    def cells(self, after: Longs, within: Longs) -> Longs:
        """Lay values out by cell, from the value of the place after each character and of the places within it.

        Args:
            after: int64, shape (n_characters,), value of the place after each character.
            within: int64, shape (n_characters,), value of the places between the symbols of each character.
        """
        values = np.zeros(len(self.segmentation.text), np.int64)
        values[self.last] = after
        for k in range(1, int(self.sizes.max(initial=1))):
            more = self.sizes > k
            values[self.last[more] - k] = within[more]
        return values

    def broken(self) -> Mask:
        """Mark the characters within which a token ends; bool, shape (n_characters,)."""
        lengths = np.fromiter(map(len, self.segmentation.tokens), np.int64, len(self.segmentation.tokens))
        ends = np.zeros(len(self.segmentation.text), bool)
        _mark_ends(self.segmentation.text, lengths, ends)
        broken = np.zeros(len(self.last), bool)
        for k in range(1, int(self.sizes.max(initial=1))):
            broken |= (self.sizes > k) & ends[self.last - k]
        return broken

    def per_character(self, of_words: Array) -> Array:
        """Repeat the value of each word for each of its characters."""
        return np.repeat(of_words, np.diff(self.words.starts))


@njit(nogil=True)
def _mark_ends(text: Ints, lengths: Longs, ends: Mask) -> None:
    at = 0
    while at < len(text):
        if text[at] >= 0:
            at += lengths[text[at]]
            ends[at - 1] = True
        else:
            at += 1


def cut_words(base: Base, words: CodePoints, weights: Longs, more: list[str]) -> CutWords:
    """Cut words by the base's merges.

    Args:
        base: the tokenizer to extend.
        words: distinct words as its pre-tokenizer leaves them, with spaces for its mark.
        weights: int64, shape (n_words,), occurrences of each word.
        more: symbols that join the base's vocabulary.
    """
    pipeline, strings = base.pipeline(more), words.strings()
    ids, ends = _encode(pipeline, strings)
    used = np.unique(ids)
    known = {number: token for token, number in base.tokens.items()}
    known |= {base.next_id + i: symbol for i, symbol in enumerate(more)}
    tokens = _relevant_tokens(known, {known[number] for number in used.tolist() if number in known})
    local = np.full(int(max(known, default=0)) + 1, -1, np.int64)
    numbers = {token: number for number, token in known.items()}
    local[[numbers[token] for token in tokens]] = np.arange(len(tokens))
    lengths = np.append(np.fromiter(map(len, tokens), np.int64, len(tokens)), 0)  # -1 is no token, of no length
    pieces = np.where(ids < len(local), local[np.minimum(ids, len(local) - 1)], -1)
    sizes = utf8_sizes(words.points) if base.byte_level else np.ones(len(words.points), np.int64)
    spelled = _sums_by_word(sizes, words.starts)
    good = (_sums_by_word(pieces < 0, ends) == 0) & (_sums_by_word(lengths[pieces], ends) == spelled) & (spelled > 0)
    chosen = np.nonzero(good)[0]
    pieces = pieces[np.repeat(good, np.diff(ends))]
    sizes = sizes[np.repeat(good, np.diff(words.starts))]
    kept = words.take(chosen)
    starts = np.concatenate([[0], np.cumsum(spelled[good])])
    text = _to_cells(pieces, lengths, starts, np.repeat(np.arange(len(chosen)), np.diff(ends)[good]))
    corpus = SymbolCorpus((), np.zeros(0, np.int32), starts, weights[chosen])
    owner = np.repeat(np.arange(len(chosen)), np.diff(kept.starts))
    return CutWords(Segmentation(corpus, tokens, text), kept, chosen, sizes, np.cumsum(sizes) + owner)


def _encode(pipeline: Tokenizer, words: list[str]) -> tuple[Longs, Longs]:
    """Encode all words: ids one after another, and where the ids of each word start."""
    parts, sizes = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)]
    for start in range(0, len(words), _BATCH):
        batch = [item.ids for item in pipeline.encode_batch_fast(words[start : start + _BATCH])]
        sizes.append(np.fromiter(map(len, batch), np.int64, len(batch)))
        parts.append(np.fromiter(chain.from_iterable(batch), np.int64))
    return np.concatenate(parts), np.cumsum(np.concatenate(sizes))


def _relevant_tokens(known: dict[int, str], used: set[str]) -> list[str]:
    """List the tokens used and all tokens that merges of their symbols could spell, ascending by id."""
    symbols = set(chain.from_iterable(used))
    return [token for _, token in sorted(known.items()) if token in used or symbols.issuperset(token)]


def _sums_by_word(values: Array, starts: Longs) -> Longs:
    """Add up the values of each word."""
    return np.diff(np.concatenate([[0], np.cumsum(values, dtype=np.int64)])[starts])


def _to_cells(pieces: Longs, lengths: Longs, starts: Longs, owner: Longs) -> Ints:
    """Lay tokens out in the cells of learn/engine/pairs.py."""
    text = np.full(int(starts[-1]) + len(starts), INSIDE, np.int32)
    text[starts + np.arange(len(starts))] = SEPARATOR
    sizes = lengths[pieces]
    first = np.cumsum(sizes) - sizes + owner + 1
    text[first] = text[first + sizes - 1] = pieces
    return text
