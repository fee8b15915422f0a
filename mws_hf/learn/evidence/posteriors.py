"""Boundary evidence of a list of words: the posterior probability of a boundary after each character. No merges here.

`collect_evidence` computes it from word types; `Evidence` looks it up for pre-tokens, whatever their case and leading
character. `evidence.forms` tells words from other pre-tokens.

It comes from an ensemble of views, mixed as log-odds, then calibrated. The lexicon view explains words by whole morphs.
The context view generalises the posteriors of the lexicon over contexts (one round of co-training, Blum and Mitchell
1998, on soft labels). Normalised variation looks at entropy alone. One round suffices: with classes in the lexicon
further rounds move nothing or harm. In a short list `reranking` re-ranks the positions by two more views. Where words
are labelled, `labels` re-fits the mixture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mws_hf.kernels import Bytes, Doubles, Floats, Ints, Longs, Mask
from mws_hf.kernels.arithmetic import log_odds, moments, sigmoid
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import ThreadPool, give_back, in_parts
from mws_hf.learn.defaults import DEFAULT_GRANULARITY
from mws_hf.learn.evidence.context_view import context_log_odds
from mws_hf.learn.evidence.contexts import CONTEXT_LENGTHS, Contexts, collect_contexts, normalised_variation, trie_view
from mws_hf.learn.evidence.forms import (
    TypeCounts,
    WordPlaces,
    count_graphemes,
    find_words,
    inner_positions,
    least_cut,
    split_graphemes,
)
from mws_hf.learn.evidence.lexicon import PRICE_ENDS, lexicon_posteriors
from mws_hf.learn.evidence.reranking import SHORT_LIST, rerank, short_list_weight, word_support
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import N_POINTS, CodePoints, SymbolCorpus, distinct_points, find_among
from mws_hf.text.letter_case import fold
from mws_hf.text.pattern import compiled

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import GoldWord
    from mws_hf.learn.evidence.labels import LabelFit, Refit

NO_WORD = -2

UNKNOWN = 0.5
"""Boundary probability inside words without evidence."""

CODE = "code"
"""Name of the group whose words are identifiers: their capitals are certain boundaries, ``get|User|Name``.

In a natural language capitals say nothing of morphs. An underscore and a digit need no rule: split patterns end a word
there, so no merge crosses them.
"""

LOWER, UPPER = 1, 2

LONGEST_WORD = 29
"""Longer words (in graphemes) are URLs, concatenations and noise rather than morphology."""


@dataclass(frozen=True)
class Evidence:
    """Boundary evidence of word types: posterior probabilities of a boundary, weights, prices and label results.

    Attributes:
        code_points: the types, case-folded letters, by count.
        probabilities: float64, shape (n_characters of the types,): probability of a boundary after each character; 0 at
            the end of a type and between a letter and its mark.
        settings: the settings used, the labels among them.
        weights: float64, shape (n_types,), what each type weighs in the merges, 1 in the mean; None: all alike.
        labels: results of fitting to labelled words by group, "" where groups have no names; empty without labels.
        in_code: float64, shape (n_types,), how much each type belongs to the group of `CODE`, from 0 to 1; None: there
            is no group of code. At a capital that begins a part, evidence p becomes p + in_code * (1 - p).
        prices: float64, shape (n_types,), what compositions pay for boundaries of each type; None: 1 for all.
        times: int64, shape (n_types,), how often each type occurs, comparable among types; None: not known.
    """

    code_points: CodePoints
    probabilities: Doubles
    settings: Settings = field(default_factory=Settings)
    weights: Doubles | None = None
    labels: Mapping[str, LabelFit] = field(default_factory=dict)
    in_code: Doubles | None = None
    prices: Doubles | None = None
    times: Longs | None = None

    @cached_property
    def types(self) -> list[str]:
        """List the lower-cased types as strings."""
        return self.code_points.strings()

    @property
    def starts(self) -> Longs:
        """Return where each type begins in `probabilities`: int64, shape (n_types + 1,)."""
        return self.code_points.starts

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.types)}

    def find(self, words: Sequence[str] | CodePoints) -> Ints:
        """Find lower-cased words among the types: int32, the index of each word's type, -1 where there is none."""
        return find_among(CodePoints.of(words), self.code_points)

    def word(self, pretoken: str) -> list[float] | None:
        """Return the probability of a boundary after each character of a pre-token; None if it is not among the types.

        A leading space belongs to the word (0), any other leading character does not (1).
        """
        places = find_words([pretoken])
        found = self._index.get(fold(pretoken[places.begins[0] :])) if places.is_word[0] else None
        return None if found is None else self._fill(places, np.array([found], np.int32)).tolist()

    def types_of(self, pretokens: Sequence[str] | CodePoints) -> Ints:
        """Find the type of each pre-token: int32, its index; -1 for a word without evidence, NO_WORD for all else."""
        places = find_words(pretokens)
        words = np.nonzero(places.is_word)[0]
        type_of = np.full(len(places.text), NO_WORD, np.int32)
        type_of[words] = self.find(places.types(words))
        return type_of

    def boundaries(self, pretokens: Sequence[str] | CodePoints, type_of: Ints | None = None) -> Doubles:
        """Return the probability of a boundary after each character of pre-tokens, one pre-token after another.

        In a word without evidence it is 0.5 at every position except before combining marks. If there is a group of
        code, it is 1 at capitals that begin a part. In a pre-token that is no word it is 0.

        Args:
            pretokens: any pre-tokens.
            type_of: int32, from `types_of` of the same pre-tokens, if it is known; saves time.

        Returns:
            float64, shape (n_characters,).
        """
        type_of = self.types_of(pretokens) if type_of is None else type_of
        return self._fill(find_words(pretokens), type_of)

    def _fill(self, places: WordPlaces, type_of: Ints) -> Doubles:
        """Write the boundary probabilities of the words among pre-tokens; `type_of` as `types_of` gives it."""
        text, out = places.text, np.zeros(len(places.text.points))
        code = (np.zeros(0), np.zeros(0, np.uint8)) if self.in_code is None else (self.in_code, cases_of(text.points))
        in_parts(
            lambda a, b: _fill_boundaries(
                text.points, text.starts[a : b + 1], places.begins[a:b], places.spaced[a:b], type_of[a:b],
                places.table.mark, self.starts, self.probabilities, *code, out,
            ),
            len(text),
        )  # fmt: skip
        return out


def cases_of(points: Ints) -> Bytes:
    """Look up the case of the code points that occur in `points`: shape (N_POINTS,), LOWER, UPPER or 0."""
    table = np.zeros(N_POINTS, np.uint8)
    for case, pattern in ((LOWER, r"\p{Ll}"), (UPPER, r"[\p{Lu}\p{Lt}]")):
        match = compiled(pattern).match
        table[[point for point in distinct_points(points) if match(chr(point)) is not None]] = case
    return table


@njit(inline="always")
def part_ends(points: Ints, i: int, end: int, cases: Bytes) -> bool:
    """Return whether a part of an identifier ends after character `i` of the pre-token that ends before `end`.

    It ends before a capital that follows a small letter, and before the last of several capitals if a small letter
    follows.

    >>> points = CodePoints.of(["parseHTTPServerURL"]).points
    >>> [i for i in range(18) if part_ends(points, i, 18, cases_of(points))]
    [4, 8, 14]
    """
    if i + 1 >= end or cases[points[i + 1]] != UPPER:
        return False
    here = cases[points[i]]
    return here == LOWER or (here == UPPER and i + 2 < end and cases[points[i + 2]] == LOWER)


@njit(nogil=True)
def _fill_boundaries(
    points: Ints, starts: Longs, begins: Longs, spaced: Mask, type_of: Ints, mark: Mask, type_starts: Longs,
    probabilities: Doubles, in_code: Doubles, cases: Bytes, out: Doubles
) -> None:  # fmt: skip
    """Write the probability of a boundary after each character of words; `cases` is empty without code."""
    for w in range(len(type_of)):
        if type_of[w] == NO_WORD:
            continue
        begin, end = begins[w], starts[w + 1]
        if begin > starts[w] and not spaced[w]:
            out[starts[w]] = 1.0
        if type_of[w] < 0:
            for i in range(begin, end - 1):
                out[i] = 0.0 if mark[points[i + 1]] else UNKNOWN
        else:
            for i in range(begin, end):
                out[i] = probabilities[type_starts[type_of[w]] + i - begin]
        for i in range(begin, end - 1 if len(cases) else begin):
            if part_ends(points, i, end, cases):
                out[i] += (in_code[type_of[w]] if type_of[w] >= 0 else 1.0) * (1.0 - out[i])


def collect_evidence(listed: TypeCounts, settings: Settings | None = None, n_threads: int | None = None) -> Evidence:
    """Compute boundary probabilities for the `max_types` most frequent types of 2 to `LONGEST_WORD` graphemes.

    Labeled words that are not among these types are added to them. If there are too few labels to use, the result is
    the same as without labels. It does not depend on the number of threads.
    """
    settings = settings or Settings()
    sizes = count_graphemes(listed.words)
    chosen = np.nonzero((sizes > 1) & (sizes <= LONGEST_WORD))[0][: settings.max_types]
    types, times, n_text = listed.words.take(chosen), listed.counts[chosen], len(chosen)
    labels: Sequence[GoldWord] = ()
    if settings.labels:
        from mws_hf.learn.evidence.labels import add_labelled, label_targets, report_labels, usable_labels

        labels = usable_labels(settings.labels, LONGEST_WORD)
    if labels:
        types = add_labelled(types, labels)
        rare = find_among(types.take(np.arange(n_text, len(types))), listed.words)
        times = np.concatenate([times, np.where(rare >= 0, listed.counts[rare], 1)])
    del listed, sizes, chosen
    graphemes = split_graphemes(types)
    give_back()
    labelled = label_targets(types, labels, graphemes.last) if labels else None
    found = np.zeros(len(graphemes.last))
    found[graphemes.last], fitted = boundary_posteriors(graphemes.corpus, settings, n_threads, labelled)
    fits = report_labels(len(settings.labels), labels, types, n_text, fitted) if settings.labels else {}
    return Evidence(types, found, settings, labels=fits, times=times)


EM_TYPES = 150_000
"""The lexicon is learnt from this many most frequent types. More take time and spoil it with names, typing errors and
loans (400,000: Russian lemmas lose 0.005 to 0.03), fewer miss stems (60,000: Finnish 0.01)."""

CONTEXT_WEIGHT = 0.75
"""Share of the context view in the mixture of its log-odds with the lexicon's, which are the sharper and noisier of the
two; 0.5 favours English, 0.875 Turkish, by 0.005 to 0.02."""

VARIATION_WEIGHT, FULL_LIST = 0.5, 70_000
"""Weight of the normalised variation (standard scores) in the mixture, and the types from which on a list is full. In
shorter lists the lexicon is poor and the weight grows in inverse proportion to their number: at 8,000 types this gains
0.05 to 0.12 on Latin, Czech and Russian and loses 0.02 to 0.05 on Finnish and Turkish. Below `SHORT_LIST` types it
grows no more: in made-up paradigms of some hundred types every view is right, and twice this weight spoils them (Hindi
0.82 to 0.78, Finnish 0.87 to 0.79)."""

SHARPNESS = 4.0
"""Slope of the calibration, in log-odds of the evidence for each standard deviation of the mixture; 3 to 5 are ties, at
half of it unseen Finnish stems lose 0.02."""


def boundary_posteriors(
    corpus: SymbolCorpus, settings: Settings, n_threads: int | None = None, labelled: Doubles | None = None
) -> tuple[Doubles, Refit | None]:
    """Compute the posterior probability of a morph boundary after each symbol, fitted to labels where there are some.

    Every type counts once: weights are not used. `labelled` is from `labels.label_targets`. The posteriors, 0 after the
    last symbol of a word, do not depend on the number of threads. With them comes the fit, None without labels.
    """
    mixture = mix_views(corpus, settings, n_threads, keep=labelled is not None)
    return calibrated_posteriors(mixture, corpus, settings, n_threads, labelled)


@dataclass(frozen=True)
class Ensemble:
    """Log-odds of the views at the n inner positions, mixed but not calibrated; single views and contexts only if kept.

    `views` has the shape (n, 4): the lexicon, whether it was learnt there, contexts, variation; in a short list (n, 6),
    with paradigms and affixes last.
    """

    log_odds: Doubles
    views: Doubles | None = None
    contexts: Contexts | None = None


def calibrated_posteriors(
    mixture: Ensemble,
    corpus: SymbolCorpus,
    settings: Settings,
    n_threads: int | None = None,
    labelled: Doubles | None = None,
) -> tuple[Doubles, Refit | None]:
    """Calibrate an ensemble, after re-fitting it where words are labelled; arguments as in `boundary_posteriors`."""
    inner = inner_positions(corpus.starts)
    j, mixed, found = np.zeros(len(inner)), mixture.log_odds.copy(), None
    if len(mixed) == 0:
        return j, None
    if labelled is not None and mixture.views is not None and mixture.contexts is not None:
        from mws_hf.learn.evidence.labels import refit

        _calibrate(mixed, DEFAULT_GRANULARITY)
        with ThreadPool(n_threads) as pool:
            found = refit(corpus, mixture.contexts, mixture.views, mixed, labelled, pool)
        mixed = found.log_odds.copy()
    granularity = settings.granularity or (DEFAULT_GRANULARITY if found is None else found.granularity)
    if found is not None:
        found = replace(found, granularity=granularity)
    _calibrate(mixed, granularity)
    j[inner] = sigmoid(mixed)
    return j, found


def _calibrate(mixed: Doubles, granularity: float) -> None:
    """Bring log-odds to deviation `SHARPNESS`, 0 where a share of `granularity` lies above; in place."""
    slope = SHARPNESS / max(float(moments(mixed[:, None])[1][0]), 1e-9)
    mixed -= least_cut(mixed, granularity)
    mixed *= slope


def mix_views(
    corpus: SymbolCorpus, settings: Settings, n_threads: int | None = None, *, keep: bool = False
) -> Ensemble:
    """Compute the views and their weighted sum at every inner position; the lexicon counts only where it was learnt."""
    inner = inner_positions(corpus.starts)
    if not inner.any():
        return Ensemble(np.zeros(0))
    starts = corpus.starts[: EM_TYPES + 1]
    learnt = SymbolCorpus(corpus.alphabet, corpus.symbols[: starts[-1]], starts, corpus.weights[:EM_TYPES])

    def contexts_of() -> Contexts:
        return collect_contexts(corpus, CONTEXT_LENGTHS, [trie_view(corpus, backwards) for backwards in (False, True)])

    with ThreadPool(n_threads) as pool:
        prepared = pool.submit(contexts_of)  # in one thread, for the lexicon leaves some idle
        targets, lexicon = _lexicon_view(learnt, pool)
        give_back()
        contexts = prepared.result()
        del prepared
        is_short = short_list_weight(len(corpus)) > 0
        support = pool.submit(word_support, corpus, *contexts.views[:2]) if is_short else None
        varied = pool.submit(normalised_variation, corpus, contexts)  # while one thread fits the context view
        mixed = context_log_odds(corpus, contexts, targets, pool)[inner].astype(np.float64)
        context = mixed.copy() if keep else None
        known = np.nonzero(inner[: len(targets)])[0]
        mixed[: len(known)] += (1 - CONTEXT_WEIGHT) * (lexicon[known] - mixed[: len(known)])
        size = min(max(len(corpus), SHORT_LIST), FULL_LIST)
        variation = varied.result()
        variation *= VARIATION_WEIGHT * FULL_LIST / size
        mixed += variation
        more = np.zeros((len(mixed), 0))
        if support is not None:
            mixed, more = rerank(mixed, corpus, support.result(), settings.granularity or DEFAULT_GRANULARITY, pool)
    if context is None:
        return Ensemble(mixed)
    views = np.zeros((len(mixed), 4))
    views[: len(known), 0], views[: len(known), 1] = lexicon[known], 1
    views[:, 2], views[:, 3] = context, variation
    return Ensemble(mixed, np.concatenate([views, more], axis=1), contexts)


def _lexicon_view(corpus: SymbolCorpus, pool: ThreadPool) -> tuple[Floats, Floats]:
    """Average the lexicon's cut probabilities over the end prices, and likewise their log-odds."""
    levels = np.float32(len(PRICE_ENDS))
    mean, odds = np.zeros(len(corpus.symbols), np.float32), np.zeros(len(corpus.symbols), np.float32)
    for posterior in lexicon_posteriors(corpus, pool):
        mean += posterior / levels
        odds += log_odds(posterior) / levels
    return mean, odds
