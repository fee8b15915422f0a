"""Learn new merges on the segmentation of a base: characters, word beginnings, morphs, frequency merges.

1. Characters. A byte-level base with few letters of a script spells the others in bytes. Their merges come first, and
   only within characters. A base with byte fallback gets such characters as symbols. Characters that are still several
   tokens are not changed by later steps, so that no new token contains a part of a character and something else.
2. The space with the letter after it, so that a space is rarely a token before a letter.
3. Morphs: pairs by their boundary probabilities, by `learn.phases` with its schedule of penalties.
4. Frequency merges (called compositions), with a penalty for each boundary inside a token, by `learn.phases`.

Of pairs with equal scores, the one with the smaller id of the base comes first, then the one whose new token was found
earlier; the left token is compared before the right one.

A sample of old text can be protected, so that new merges do not change its segmentation. A merge of two tokens of the
base applies in a text only where they are neighbors in its segmentation. A merge with a new token cannot apply as long
as no new token occurs. Therefore the segmentation of the sample is unchanged under three conditions:

* no pair of neighbors in the sample is learned;
* no character that it spells in bytes becomes a symbol;
* no word of it becomes a token, if the base looks up whole words in its vocabulary.

Changes in other texts cannot be excluded, but they are measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Self

import numpy as np
from tokenizers import Tokenizer

from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Doubles, Ints, Longs
from mws_hf.learn.defaults import DEFAULT_COMPOSITION
from mws_hf.learn.evidence.forms import Forms, TypeCounts, collect_forms, with_lowercase
from mws_hf.learn.evidence.posteriors import Evidence, collect_evidence
from mws_hf.learn.letter_merges import MERGES_PER_SPACE_MERGE
from mws_hf.learn.limits import LearnedMerges, MergeLimits
from mws_hf.learn.pairs import INSIDE, SEPARATOR
from mws_hf.learn.phases import (
    MORPH_LIMITS,
    SCALE,
    check_fits,
    compose,
    fitting_weights,
    form_weights,
    learn_morphs,
    penalty_schedule,
)
from mws_hf.learn.setting_rules import COUNT, Range, Setting, check_names
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import CodePoints, SymbolCorpus, count_points, utf8_sizes
from mws_hf.learn.working_corpus import PositionScores, WorkingCorpus
from mws_hf.surgery.base import Base, encode_texts

CHARACTER_SHARE = 2
"""At most one in this many new tokens is a character."""

_LINES_AT_ONCE = 1000


_TAKES = (
    *("composition", "hidden_boundary_price", "crossing_penalty", "granularity", "max_types", "labels"),
    *("max_token_length", "keep_apart", "min_saving"),
)
"""The settings of an extension: its own `min_saving`, and those that a training has, too."""


@dataclass(frozen=True, kw_only=True)
class ExtensionSettings(Settings):
    """The settings of an extension.

    It has `min_saving`, and of the settings of a training `composition`, `hidden_boundary_price`, `crossing_penalty`,
    `granularity`, `max_types`, `labels`, `max_token_length` and `keep_apart`. They mean the same as in a training,
    except `composition`.

    Attributes:
        composition: share of the new tokens that are compositions (frequency merges), from 0 to 1. With 1, which is
            BPE by frequency, no boundary probabilities are computed.
        min_saving: minimum number of tokens that a new token must save in the corpus when it is learned.

    Raises:
        MwSError: a value is out of range, or there is no such setting.
    """

    composition: float = Setting("Share of compositions.", takes=Range(most=1)).field(DEFAULT_COMPOSITION)
    min_saving: int = Setting("Least saving.", takes=COUNT).field(2)

    def __new__(cls, **given: Any) -> Self:
        """Raise MwSError for settings that an extension does not have."""
        check_names("extend", given, _TAKES)
        return super().__new__(cls)


@dataclass(frozen=True)
class LearnedTokens:
    """Tokens and merges to append to a base.

    Attributes:
        symbols: characters that a base with byte fallback gets as symbols; no merge makes them.
        merges: (left, right) as the base spells them, in the order of their ranks.
        found: number of merges of each step, in the order of the steps: characters, spaces, morphs, compositions, and
            required if strings had to become tokens.
        n_types: number of distinct words that were learned from.
    """

    symbols: list[str]
    merges: list[tuple[str, str]]
    found: dict[str, int]
    n_types: int

    @property
    def tokens(self) -> list[str]:
        """The new tokens, in the order of their ids."""
        return [*self.symbols, *(left + right for left, right in self.merges)]

    def first(self, n_tokens: int) -> LearnedTokens:
        """Return the first `n_tokens` of the new tokens, with the numbers of their merges."""
        symbols = self.symbols[:n_tokens]
        merges, found = self.merges[: n_tokens - len(symbols)], dict[str, int]()
        for step, number in self.found.items():
            found[step] = min(number, len(merges) - sum(found.values()))
        return replace(self, symbols=symbols, merges=merges, found=found)


@dataclass(frozen=True)
class Protection:
    """The pairs, characters and words that must not be learned, so that protected texts are segmented as before.

    Attributes:
        pairs: pairs of tokens of the base that are not merged.
        characters: characters that do not become symbols.
        words: words that do not become tokens.
    """

    pairs: frozenset[tuple[str, str]] = frozenset()
    characters: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


def protect(base: Base, texts: Iterable[str]) -> Protection:
    """Find the pairs, characters and words that must not be learned, so that texts are segmented as before.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("a", "b")]
    >>> found = protect(Base.of(build_backend(base_vocab([], "abcd", merges), merges)), ["abc", "dж"])
    >>> sorted(found.pairs), sorted(found.characters)
    ([('<0xD0>', '<0xB6>'), ('ab', 'c'), ('d', '<0xD0>')], ['a', 'b', 'c', 'd', 'ж'])
    """
    pipeline, size, iterator = base.pipeline(with_prefix=True), base.next_id, iter(texts)
    normal = str if pipeline.normalizer is None else pipeline.normalizer.normalize_str
    whole = bool(base.spec["model"].get("ignore_merges"))
    codes, characters, words = np.zeros(0, np.int64), set[str](), set[str]()
    while batch := list(islice(iterator, _LINES_AT_ONCE)):
        codes = np.unique(
            np.concatenate([codes, *(ids[:-1] * size + ids[1:] for ids in encode_texts(pipeline, batch))])
        )
        for text in map(normal, batch):
            characters.update(text)
            if whole and pipeline.pre_tokenizer is not None:
                words.update(word for word, _ in pipeline.pre_tokenizer.pre_tokenize_str(text))
    tokens = {number: token for token, number in base.vocab.items()}
    pairs = {(tokens[code // size], tokens[code % size]) for code in codes.tolist()}
    return Protection(frozenset(pairs), frozenset(characters), frozenset(words.difference(base.vocab)))


def learn_tokens(
    base: Base,
    counts: WordCounts,
    n_tokens: int,
    settings: ExtensionSettings,
    protection: Protection,
    show_progress: bool,
) -> LearnedTokens:
    """Learn at most `n_tokens` tokens for a base from words.

    Args:
        base: the tokenizer.
        counts: words and how often each occurs.
        n_tokens: maximum number of tokens to learn.
        settings: the settings of the extension.
        protection: pairs, characters and words that are not learned.
        show_progress: whether to draw progress bars on standard error, if it is a terminal.

    Raises:
        MwSError: there is no word to learn from.
    """
    forms = collect_base_forms(base, counts)
    if not len(forms.counts):
        raise MwSError("no words to learn from; give text with at least one word of letters")
    listed = TypeCounts(forms.types, forms.type_counts)
    evidence = collect_evidence(listed, settings) if settings.composition < 1 else None
    n_forms = len(forms.counts)
    most = 0 if base.byte_level else n_tokens // CHARACTER_SHARE
    symbols = missing_characters(base, forms, most, settings, protection.characters)
    forms = with_lowercase(forms) if evidence is not None else forms
    counted = np.where(np.arange(len(forms.counts)) < n_forms, forms.counts, 0)
    segmented = segment_with_base(base, forms.words, counted, symbols)
    learner = Learner(segmented, counted[segmented.chosen], settings, show_progress, protection)
    left = n_tokens - len(symbols)
    characters = learner.characters(left // CHARACTER_SHARE)
    spaces = learner.spaces((left - characters) // MERGES_PER_SPACE_MERGE)
    left -= characters + spaces
    morphs = 0
    if evidence is not None:
        morphs = learner.morphs(forms, evidence, round(left * (1 - settings.composition)))
    compositions = learner.compositions(evidence, n_forms, left - morphs) if settings.composition > 0 else 0
    found = {"characters": characters, "spaces": spaces, "morphs": morphs, "compositions": compositions}
    return LearnedTokens(symbols, learner.merges, found, n_forms)


def missing_characters(
    base: Base, forms: Forms, most: int, settings: ExtensionSettings, excluded: frozenset[str] = frozenset()
) -> list[str]:
    """List characters that the base spells in bytes; those that would save the most tokens as symbols come first.

    Args:
        base: the tokenizer.
        forms: the words of the corpus.
        most: maximum number of characters to return.
        settings: `min_saving` is the minimum number of tokens that a character must save.
        excluded: characters that are not returned.
    """
    counts = count_points(forms.words, forms.counts)
    points = np.nonzero(counts)[0]
    saved = counts[points] * (utf8_sizes(points.astype(np.int32)) - 1)
    ordered = points[np.lexsort((points, -saved))]
    saving = ordered[np.sort(-saved) <= -max(1, settings.min_saving)]
    missing = (character for character in map(chr, saving.tolist()) if base.spell(character) not in base.vocab)
    return [character for character in missing if character not in excluded][:most]


class Learner:
    """The steps of learning; each step changes the segmentation, appends its merges and returns their number.

    Args:
        segmented: the words, segmented by the base.
        counts: int64, shape (n_words of `segmented`,): how often each word occurs.
        settings: the settings of the extension.
        show_progress: whether to draw progress bars on standard error, if it is a terminal.
        protection: pairs and words that are not learned.

    Attributes:
        merges: (left, right) of all merges so far, as the base spells them.
    """

    def __init__(
        self,
        segmented: SegmentedWords,
        counts: Longs,
        settings: ExtensionSettings,
        show_progress: bool,
        protection: Protection,
    ) -> None:
        self.segmented, self.counts, self.settings = segmented, counts, settings
        numbers = {token: number for number, token in enumerate(segmented.segmentation.tokens)}
        excluded_pairs = ((numbers[a], numbers[b]) for a, b in protection.pairs if a in numbers and b in numbers)
        self.limits = MergeLimits(
            min_frequency=settings.min_saving,
            max_token_length=settings.max_token_length,
            forbidden=protection.words,
            excluded_pairs=tuple(sorted(excluded_pairs)),
            show_progress=show_progress,
        )
        self.apart = segmented.last[settings.apart.after(segmented.words.points)]
        self.merges: list[tuple[str, str]] = []

    def characters(self, n_merges: int) -> int:
        """Learn merges within characters, by frequency."""
        values = self.segmented.lay_out(
            np.ones(len(self.segmented.last)), self.counts, lambda ends, counts: counts * (ends == 0)
        )
        return self._append(self.segmented.segmentation.learn(values, n_merges, self.limits, title="characters"))

    def spaces(self, n_merges: int) -> int:
        """Learn merges of the space with a whole letter after it, by frequency."""
        text, words, last = self.segmented.segmentation.text, self.segmented.words, self.segmented.last
        several = np.nonzero(np.diff(words.starts) > 1)[0]
        first = words.starts[several]
        whole = self.segmented.lengths()[text[last[first] + 1]] == self.segmented.sizes[first + 1]
        spaced = (words.points[first] == ord(" ")) & whole
        values = np.zeros(len(text), np.int64)
        values[last[first[spaced]]] = self.counts[several[spaced]]
        return self._append(
            self.segmented.segmentation.learn(self._closed(values), n_merges, self.limits, title="spaces")
        )

    def morphs(self, forms: Forms, evidence: Evidence, n_merges: int) -> int:
        """Learn merges by boundary probabilities; every distinct lowercase word has the same weight."""
        schedule = penalty_schedule(evidence, n_merges, self.settings.crossing_penalty)
        weights = form_weights(forms, evidence.find(forms.types)[forms.type_of])[self.segmented.chosen]
        weights = fitting_weights(self.segmented.words, weights, schedule)
        limits = replace(self.limits, min_occurrences=MORPH_LIMITS.min_occurrences)
        values = partial(self._values, evidence.boundaries(self.segmented.words), weights)
        return self._append(learn_morphs(self.segmented.segmentation, values, schedule, n_merges, limits))

    def compositions(self, evidence: Evidence | None, n_types: int, n_merges: int) -> int:
        """Learn merges by frequency; a boundary inside a token is penalized in units of the mean frequency of a word.

        `n_types` is the number of distinct words.
        """
        boundaries = (
            np.zeros(len(self.segmented.last)) if evidence is None else evidence.boundaries(self.segmented.words)
        )
        boundaries[np.repeat(self.counts == 0, np.diff(self.segmented.words.starts))] = 0
        mean = float(self.counts.sum()) / max(1, n_types)
        penalty = self.settings.hidden_boundary_price * mean if evidence is not None else 0.0
        check_fits(self.segmented.words.starts, self.counts, SCALE, self.settings.hidden_boundary_price)
        values = partial(self._values, boundaries, self.counts)
        return self._append(compose(self.segmented.segmentation, values, penalty, n_merges, self.limits))

    def _append(self, learned: LearnedMerges) -> int:
        self.merges += learned.merges
        return len(learned.merges)

    def _values(self, boundaries: Doubles, weights: Longs, score: PositionScores) -> Longs:
        return self._closed(self.segmented.lay_out(boundaries, weights, score))

    def _closed(self, values: Longs) -> Longs:
        """Set scores to 0 where characters are kept apart, and within and around each character of several tokens.

        A pair at one of these positions is never merged. Whether it is at one depends only on its two tokens, so that
        the scores of all its occurrences are 0.
        """
        values[self.segmented.around_broken()] = 0
        values[self.apart] = 0
        return values


def collect_base_forms(base: Base, counts: WordCounts) -> Forms:
    """Collect the words of counts, normalized and split by the pre-tokenizer of the base."""
    pipeline = base.pipeline()
    forms = collect_forms(CodePoints.of_counts(counts), counts.counts)
    pieces: dict[str, int] = {}
    for form, count in zip(forms.words.strings(), forms.counts.tolist(), strict=True):
        for text in pre_tokens(base, pipeline, form):
            pieces[text] = pieces.get(text, 0) + count
    numbers = np.fromiter(pieces.values(), np.int64, len(pieces))
    return collect_forms(CodePoints.of(list(pieces)), numbers)


def pre_tokens(base: Base, pipeline: Tokenizer, text: str) -> list[str]:
    """Split a text into the pre-tokens that the model of the base receives, each written as readable text."""
    normalized = text if pipeline.normalizer is None else pipeline.normalizer.normalize_str(text)
    if pipeline.pre_tokenizer is None:
        return [base.read(normalized)]
    pieces = pipeline.pre_tokenizer.pre_tokenize_str(normalized)
    if len(pieces) == 1 and pieces[0][1] == (0, len(text)) and normalized == text:
        return [text]  # the usual case
    return [base.read(piece) for piece, _ in pieces]


@dataclass(frozen=True)
class SegmentedWords:
    """Words segmented by a base, in the cells of the learner: one per symbol, with a separator around each word.

    Attributes:
        segmentation: the words in tokens; learning changes it.
        words: the words, in characters.
        chosen: indices of these words among the given ones; words with symbols that are not tokens are left out.
        sizes: number of symbols of each character: its bytes, or 1.
        last: the cell of the last symbol of each character.
    """

    segmentation: WorkingCorpus
    words: CodePoints
    chosen: Longs
    sizes: Longs
    last: Longs

    def lay_out(self, boundaries: Doubles, weights: Longs, score: PositionScores) -> Longs:
        """Call `WorkingCorpus.lay_out` with boundary probabilities by character; there is no boundary within one."""
        of_symbols = np.zeros(int(self.segmentation.corpus.starts[-1]))
        of_symbols[np.cumsum(self.sizes) - 1] = boundaries
        return self.segmentation.lay_out(of_symbols, weights, score)

    def lengths(self) -> Longs:
        """Count the symbols of each token."""
        return np.fromiter(map(len, self.segmentation.tokens), np.int64, len(self.segmentation.tokens))

    def around_broken(self) -> Longs:
        """List the cells within and around each character that contains the end of a token."""
        ids = np.nonzero(self.segmentation.text >= 0)[0]
        several = self.lengths()[self.segmentation.text[ids]] > 1
        ends = np.zeros(len(self.segmentation.text), np.int64)
        # a token of several cells has its id in the first and the last one
        ends[ids[~several]] = ends[ids[several][1::2]] = 1
        before = np.cumsum(ends)
        broken = before[self.last - 1] > before[self.last - self.sizes]
        last, sizes = self.last[broken], self.sizes[broken]
        return np.concatenate([last[sizes >= k] - k for k in range(int(sizes.max(initial=0)) + 1)])


def segment_with_base(base: Base, words: CodePoints, weights: Longs, more: list[str]) -> SegmentedWords:
    """Segment distinct words by the merges of the base, whose vocabulary gets `more` symbols."""
    parts = list(encode_texts(base.pipeline(more), words.strings()))
    ids, ends = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
    numbers = {**base.tokens, **{symbol: base.next_id + i for i, symbol in enumerate(more)}}
    used = np.bincount(ids, minlength=base.next_id + len(more))
    symbols = set[str]().union(*(token for token, number in numbers.items() if used[number]))
    # the tokens that are used, and those that merges of these symbols could build
    tokens = [token for token in numbers if symbols.issuperset(token)]
    local = np.full(len(used), -1, np.int64)
    local[[numbers[token] for token in tokens]] = np.arange(len(tokens))
    pieces = local[ids]
    lengths = np.array([*map(len, tokens), 0], np.int64)  # index -1, no token, has length 0
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
    return SegmentedWords(WorkingCorpus(corpus, tokens, text), kept, chosen, sizes, np.cumsum(sizes) + owner)


def _sums_by_word(values: Array, starts: Longs) -> Longs:
    return np.diff(np.concatenate([[0], np.cumsum(values, dtype=np.int64)])[starts])


def _to_cells(pieces: Longs, lengths: Longs, starts: Longs, owner: Longs) -> Ints:
    """Arrange tokens in the cells that `learn.pairs` describes."""
    text = np.full(int(starts[-1]) + len(starts), INSIDE, np.int32)
    text[starts + np.arange(len(starts))] = SEPARATOR
    sizes = lengths[pieces]
    first = np.cumsum(sizes) - sizes + owner + 1
    text[first] = text[first + sizes - 1] = pieces
    return text
