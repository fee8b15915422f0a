"""Compute boundary probabilities of words (called *evidence*): how probable a morph boundary after each letter is.

`collect_evidence` computes them from types, which are distinct words in lowercase. `Evidence` looks them up for
pre-tokens, whatever their letter case and their first character.

They are computed by an ensemble of views:

* The lexicon view explains words by whole morphs (`lexicon`).
* The context view generalizes the probabilities of the lexicon view over contexts (`context_view`). This is one round
  of co-training (Blum and Mitchell 1998) on soft labels. More rounds change nothing or make the result worse.
* Normalized variation uses only the entropy of the next letter (`contexts`).
* Two more views re-rank the positions of a short list (`reranking`).

The log-odds of the views are mixed and then calibrated. If there are labeled words, `labels` re-fits the mixture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import regex

from mws_hf.kernels import Bytes, Doubles, Floats, Ints, Longs, Mask
from mws_hf.kernels.arithmetic import log_odds, moments, sigmoid
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import ThreadPool, give_back, in_parts
from mws_hf.learn.defaults import DEFAULT_GRANULARITY
from mws_hf.learn.evidence.context_view import context_log_odds
from mws_hf.learn.evidence.contexts import CONTEXT_LENGTHS, Contexts, collect_contexts, normalized_variation, trie_view
from mws_hf.learn.evidence.forms import (
    FoundWords,
    TypeCounts,
    count_graphemes,
    find_words,
    inner_positions,
    share_threshold,
    split_graphemes,
)
from mws_hf.learn.evidence.lexicon import AVERAGED_COST_FACTORS, lexicon_posteriors
from mws_hf.learn.evidence.paradigm_view import word_support
from mws_hf.learn.evidence.reranking import SHORT_LIST, rerank, short_list_weight
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import CodePoints, SymbolCorpus, distinct_points, find_among, table_size
from mws_hf.text.letter_case import fold

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import GoldWord
    from mws_hf.learn.evidence.labels import LabelFit, Refit

NO_WORD = -2
"""Type of a pre-token that is not a word, in `Evidence.types_of`."""

UNKNOWN = 0.5
"""Boundary probability at each position inside a word that is not among the types."""

CODE = "code"
"""Name of the group whose words are identifiers. In them a boundary before an uppercase letter is certain
(``get|User|Name``), whereas in natural languages uppercase letters do not show morphs.

Underscores and digits need no rule, because split patterns end a word there, so that no merge crosses them.
"""

LOWER, UPPER = 1, 2
"""Letter case of a character, in the table of `cases_of`; 0 is neither."""

LONGEST_WORD = 29
"""Maximum length of a word that has boundary probabilities, in graphemes. Longer words are usually URLs, concatenations
or noise."""


@dataclass(frozen=True)
class Evidence:
    """Boundary probabilities of types, with the weights and penalties of the types and the results of labels.

    Attributes:
        code_points: the types, which are distinct words in lowercase, the most frequent first.
        probabilities: float64, shape (n_characters of the types,): probability of a boundary after each character. It
            is 0 at the end of a type, and between a letter and its combining mark.
        settings: the settings of the training, including the labels.
        weights: float64, shape (n_types,): weight of each type in the morph merges, 1 on average. If None, all types
            have the same weight.
        labels: result of the labels by group, or by "" if the labels belong to no named group; empty without labels.
        in_code: float64, shape (n_types,): share of the group `CODE` in each type, from 0 to 1. Before an uppercase
            letter that begins a part, a probability p becomes p + in_code * (1 - p). None if there is no such group.
        penalties: float64, shape (n_types,): factor of the penalty for boundaries inside a token, in frequency merges.
            If None, it is 1 for all types.
        times: int64, shape (n_types,): how often each type occurs, in any unit that is the same for all types; None if
            it is not known.
        label_shares: float64, shape (n_types,), by group with labels that are used: share of the group in each type,
            from 0 to 1. Its tokens will be compared with its labels (`learn/token_rates.py`). Empty without labels,
            and in the result of this comparison.
    """

    code_points: CodePoints
    probabilities: Doubles
    settings: Settings = field(default_factory=Settings)
    weights: Doubles | None = None
    labels: Mapping[str, LabelFit] = field(default_factory=dict)
    in_code: Doubles | None = None
    penalties: Doubles | None = None
    times: Longs | None = None
    label_shares: Mapping[str, Doubles] = field(default_factory=dict)

    @cached_property
    def types(self) -> list[str]:
        """The types as strings, in lowercase."""
        return self.code_points.strings()

    @property
    def starts(self) -> Longs:
        """Index in `probabilities` at which each type begins, then their total length: int64, shape (n_types + 1,)."""
        return self.code_points.starts

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.types)}

    def find(self, words: Sequence[str] | CodePoints) -> Ints:
        """Find lowercase words among the types: int32, shape (n_words,), the index of each in `types`, or -1."""
        return find_among(CodePoints.of(words), self.code_points)

    def word(self, pretoken: str) -> list[float] | None:
        """Return the probability of a boundary after each character of a pre-token; None if it is not among the types.

        After a space at the beginning it is 0, because the space belongs to the word. After any other character before
        the word, such as a parenthesis, it is 1.
        """
        places = find_words([pretoken])
        found = self._index.get(fold(pretoken[places.begins[0] :])) if places.is_word[0] else None
        return None if found is None else self._fill(places, np.array([found], np.int32)).tolist()

    def types_of(self, pretokens: Sequence[str] | CodePoints) -> Ints:
        """Find the type of each pre-token.

        Returns:
            int32, shape (n_pretokens,): the index of its type; -1 for a word that is not among the types, and `NO_WORD`
            for a pre-token that is not a word.
        """
        places = find_words(pretokens)
        words = np.nonzero(places.is_word)[0]
        type_of = np.full(len(places.text), NO_WORD, np.int32)
        type_of[words] = self.find(places.types(words))
        return type_of

    def boundaries(self, pretokens: Sequence[str] | CodePoints, type_of: Ints | None = None) -> Doubles:
        """Return the probability of a boundary after each character of all pre-tokens.

        In a word that is not among the types, it is 0.5 at every position except before combining marks. If there is a
        group of code, it is 1 before an uppercase letter that begins a part of such a word. In a pre-token that is not
        a word, it is 0.

        Args:
            pretokens: any pre-tokens.
            type_of: the result of `types_of` for the same pre-tokens, if you have it, which saves time.

        Returns:
            float64, shape (n_characters of the pre-tokens,), one pre-token after another.
        """
        type_of = self.types_of(pretokens) if type_of is None else type_of
        return self._fill(find_words(pretokens), type_of)

    def _fill(self, places: FoundWords, type_of: Ints) -> Doubles:
        """Compute `boundaries` from the positions of the words in the pre-tokens, and from their types."""
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
    """Look up the letter case of the code points that occur in `points`.

    Returns:
        uint8, shape (`table_size(points)`,): LOWER, UPPER or 0.
    """
    table = np.zeros(table_size(points), np.uint8)
    for case, pattern in ((LOWER, r"\p{Ll}"), (UPPER, r"[\p{Lu}\p{Lt}]")):
        match = regex.compile(pattern).match
        table[[point for point in distinct_points(points) if match(chr(point)) is not None]] = case
    return table


@njit(inline="always")
def part_ends(points: Ints, i: int, end: int, cases: Bytes) -> bool:
    """Return whether a part of an identifier ends after character `i` of the pre-token that ends before `end`.

    A part ends before an uppercase letter that follows a lowercase letter, and before the last of several uppercase
    letters if a lowercase letter follows it.

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
    """Write the probability of a boundary after each character of words; `cases` is empty without a group of code."""
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
        from mws_hf.learn.evidence.labels import add_labeled, label_targets, report_labels, usable_labels

        labels = usable_labels(settings.labels, LONGEST_WORD)
    if labels:
        types = add_labeled(types, labels)
        rare = find_among(types.take(np.arange(n_text, len(types))), listed.words)
        times = np.concatenate([times, np.where(rare >= 0, listed.counts[rare], 1)])
    del listed, sizes, chosen
    graphemes = split_graphemes(types)
    give_back()
    targets = label_targets(types, labels, graphemes.last) if labels else None
    found = np.zeros(len(graphemes.last))
    found[graphemes.last], fitted = boundary_posteriors(graphemes.corpus, settings, n_threads, targets)
    fits = report_labels(len(settings.labels), labels, types, n_text, fitted) if settings.labels else {}
    return Evidence(types, found, settings, labels=fits, times=times)


EM_TYPES = 150_000
"""The most types that the lexicon is learned from, by frequency. With more types it takes longer, and names, typing
errors and loanwords make the lexicon worse: with 400,000, F1 on Russian lemmas is lower by 0.005 to 0.03. With fewer
types it lacks stems: with 60,000, F1 is lower by 0.01 in Finnish."""

CONTEXT_WEIGHT = 0.75
"""Share of the context view in the mixture of its log-odds with those of the lexicon view, which are sharper but have
more noise. With 0.5 F1 is higher in English, with 0.875 in Turkish, by 0.005 to 0.02."""

VARIATION_WEIGHT, FULL_LIST = 0.5, 70_000
"""Weight of the normalized variation (in standard scores) in the mixture for lists of `FULL_LIST` types or more.

In shorter lists the lexicon is poor, so the weight grows in inverse proportion to the number of types. At 8,000 types
this raises F1 by 0.05 to 0.12 on Latin, Czech and Russian, and lowers it by 0.02 to 0.05 on Finnish and Turkish. Below
`SHORT_LIST` types the weight stays the same. In artificial paradigms of a few hundred types every view is right, and
twice this weight lowers their F1 (Hindi from 0.82 to 0.78, Finnish from 0.87 to 0.79)."""

SHARPNESS = 4.0
"""Slope of the calibration: log-odds of the result per standard deviation of the mixture. From 3 to 5 there is no
significant difference; with 2, F1 on unseen Finnish stems is lower by 0.02."""


def boundary_posteriors(
    corpus: SymbolCorpus, settings: Settings, n_threads: int | None = None, targets: Doubles | None = None
) -> tuple[Doubles, Refit | None]:
    """Compute the probability of a morph boundary after each symbol, and fit it to labels if there are any.

    The result does not depend on the number of threads.

    Args:
        corpus: the types; each counts once, so their weights are not used.
        settings: settings of the training.
        n_threads: number of threads; by default as many as there are processors.
        targets: the labels, as `labels.label_targets` returns them; None without labels.

    Returns:
        The probabilities, float64, shape (n_symbols,), which are 0 after the last symbol of a word; and the fit to the
        labels, which is None without labels.
    """
    mixture = mix_views(corpus, settings, n_threads, keep=targets is not None)
    return calibrated_posteriors(mixture, corpus, settings, n_threads, targets)


@dataclass(frozen=True)
class Ensemble:
    """The mixture of all views before calibration.

    Attributes:
        log_odds: float64, shape (n,): log-odds of the mixture at the n positions inside words.
        views: float64, shape (n, 4): log-odds of the lexicon view, whether the lexicon was learned from the word (0 or
            1), log-odds of the context view, normalized variation. In a short list the shape is (n, 6), and the last
            two columns are paradigms and affixes. None if the views were not kept.
        contexts: the contexts of all symbols; None if they were not kept.
    """

    log_odds: Doubles
    views: Doubles | None = None
    contexts: Contexts | None = None


def calibrated_posteriors(
    mixture: Ensemble,
    corpus: SymbolCorpus,
    settings: Settings,
    n_threads: int | None = None,
    targets: Doubles | None = None,
) -> tuple[Doubles, Refit | None]:
    """Re-fit an ensemble to labels if there are any, and calibrate it.

    The arguments and the result are those of `boundary_posteriors`. With labels, the ensemble must have its views and
    contexts.
    """
    inner = inner_positions(corpus.starts)
    probabilities, mixed, found = np.zeros(len(inner)), mixture.log_odds.copy(), None
    if len(mixed) == 0:
        return probabilities, None
    if targets is not None and mixture.views is not None and mixture.contexts is not None:
        from mws_hf.learn.evidence.labels import refit

        _calibrate(mixed, DEFAULT_GRANULARITY)
        with ThreadPool(n_threads) as pool:
            found = refit(corpus, mixture.contexts, mixture.views, mixed, targets, pool)
        mixed = found.log_odds.copy()
    granularity = settings.granularity or (DEFAULT_GRANULARITY if found is None else found.granularity)
    if found is not None:
        found = replace(found, granularity=granularity)
    _calibrate(mixed, granularity)
    probabilities[inner] = sigmoid(mixed)
    return probabilities, found


def _calibrate(mixed: Doubles, granularity: float) -> None:
    """Scale log-odds to the standard deviation `SHARPNESS`, and shift them so that a share `granularity` is above 0.

    The array is changed.
    """
    slope = SHARPNESS / max(float(moments(mixed[:, None])[1][0]), 1e-9)
    mixed -= share_threshold(mixed, granularity)
    mixed *= slope


def mix_views(
    corpus: SymbolCorpus, settings: Settings, n_threads: int | None = None, *, keep: bool = False
) -> Ensemble:
    """Compute the views and their weighted sum at every position inside words.

    The lexicon view is part of the sum only in words that the lexicon was learned from. With `keep`, the result also
    contains the single views and the contexts.
    """
    inner = inner_positions(corpus.starts)
    if not inner.any():
        return Ensemble(np.zeros(0))
    starts = corpus.starts[: EM_TYPES + 1]
    frequent = SymbolCorpus(corpus.alphabet, corpus.symbols[: starts[-1]], starts, corpus.weights[:EM_TYPES])

    def contexts_of() -> Contexts:
        return collect_contexts(corpus, CONTEXT_LENGTHS, [trie_view(corpus, backwards) for backwards in (False, True)])

    with ThreadPool(n_threads) as pool:
        prepared = pool.submit(contexts_of)  # in one thread beside the lexicon view, which leaves some threads idle
        targets, lexicon = _lexicon_view(frequent, pool)
        give_back()
        contexts = prepared.result()
        del prepared
        is_short = short_list_weight(len(corpus)) > 0
        support = pool.submit(word_support, corpus, *contexts.views[:2]) if is_short else None
        varied = pool.submit(normalized_variation, corpus, contexts)  # at the same time as the context view is fitted
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
    """Average the boundary probabilities of the lexicon, and also their log-odds, over `AVERAGED_COST_FACTORS`.

    Returns:
        Two arrays, float32, shape (n_symbols,): the mean probability and the mean log-odds after each symbol.
    """
    levels = np.float32(len(AVERAGED_COST_FACTORS))
    mean, odds = np.zeros(len(corpus.symbols), np.float32), np.zeros(len(corpus.symbols), np.float32)
    for posterior in lexicon_posteriors(corpus, pool):
        mean += posterior / levels
        odds += log_odds(posterior) / levels
    return mean, odds
