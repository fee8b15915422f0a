"""The contextual criterion as a learner: evidence for the words of a list, and the merges it is worth. No tokenizer.

A pair of tokens is worth the sum over its occurrences of 1 - (1 + lambda) * P(boundary between them): each occurrence
inside a morph earns 1, each across a boundary costs lambda. Which pre-tokens are words is told in `forms`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mws_hf.kernels.arrays import Bytes, Doubles, Ints, Longs, Mask
from mws_hf.kernels.jit import njit
from mws_hf.kernels.memory import give_back
from mws_hf.kernels.threads import in_parts
from mws_hf.learn.engine.segmentation import Segmentation
from mws_hf.learn.evidence.forms import (
    Forms,
    TypeCounts,
    WordPlaces,
    count_graphemes,
    find_words,
    fold,
    split_graphemes,
    with_lower_case,
)
from mws_hf.learn.evidence.identifiers import cases_of, part_ends
from mws_hf.learn.evidence.labels import LabelFit, add_labelled, bounded, label_targets, report
from mws_hf.learn.evidence.mixture import find_boundaries
from mws_hf.learn.evidence.settings import EvidenceSettings
from mws_hf.learn.first_merges import find_marked_letters, grapheme_merges, space_merges
from mws_hf.learn.limits import spare_bits
from mws_hf.learn.settings import DEFAULT_CROSSING_PENALTY
from mws_hf.learn.words import CodePoints, LearnedMerges, SymbolCorpus, find_among, numbering

UNIT = 1 << 16
"""Value of an occurrence that is surely inside a morph; evidence is rounded to 1 / UNIT before anything is compared."""

FORM_UNIT = 256
"""Weight of a type, shared out among its forms by their counts, each at least 1: entries go to the forms that text has
(equal shares cost lower-case English words .008 of F1, Russian ones .002)."""

NO_WORD = -2

ALONE, MIXED = ((0.4, 3.0), (1.0, 0.875)), ((0.2, 3.0), (1.0, 1.0))
"""To which share of the merges which factor of the crossing penalty holds, in one list and in a mixture: the commonest
pairs, made early, are wrong in many words. Mean F1 of six languages +.008 (8,000 entries) and +.010 (32,000)."""

UNKNOWN = 0.5
"""Boundary probability inside words without evidence."""


class _Tables(NamedTuple):
    """Arrays of an `Evidence`: starts, probabilities and `in_code`; and the cases of code points.

    The last two are empty where there is no group of code.
    """

    starts: Longs
    probabilities: Doubles
    in_code: Doubles
    cases: Bytes


@dataclass(frozen=True)
class Evidence:
    """Boundary evidence of the word types it was computed from.

    Attributes:
        code_points: the types, case-folded letters, by count.
        probabilities: float64, one a character of the types: probability of a boundary after it; 0 at the end of a
            type and between a letter and its mark.
        settings: the constants used, the labels among them.
        weights: float64, shape (n_types,), what each type weighs in the merges, 1 in the mean; None: all alike.
        prices: float64, shape (n_types,), what compositions pay for boundaries of each type; None: 1 for all.
        labels: what came of the labels by group, "" where groups have no names; empty where there were none.
        in_code: float64, shape (n_types,), how much each type belongs to the group of `evidence.identifiers`, from 0 to
            1; None: there is no such group. At a capital that begins a part, evidence p becomes p + in_code * (1 - p).
    """

    code_points: CodePoints
    probabilities: Doubles
    settings: EvidenceSettings = field(default_factory=EvidenceSettings)
    weights: Doubles | None = None
    labels: Mapping[str, LabelFit] = field(default_factory=dict)
    in_code: Doubles | None = None
    prices: Doubles | None = None
    times: Longs | None = None

    @cached_property
    def types(self) -> list[str]:
        """The lower-cased types as strings."""
        return self.code_points.strings()

    @property
    def starts(self) -> Longs:
        """int64, shape (n_types + 1,): where each type begins in `probabilities`."""
        return self.code_points.starts

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.types)}

    def find(self, words: Sequence[str] | CodePoints) -> Ints:
        """Index of each lower-cased word among the types, -1 where it is none of them."""
        return find_among(CodePoints.of(words), self.code_points)

    def word(self, pretoken: str) -> list[float] | None:
        """Probability of a boundary after each character of a pre-token; None if it is not among the types.

        A leading space belongs to the word (0), any other leading character does not (1).
        """
        places = find_words([pretoken])
        found = self._index.get(fold(pretoken[places.begins[0] :])) if places.is_word[0] else None
        return None if found is None else self._fill(places, np.array([found], np.int32)).tolist()

    def types_of(self, pretokens: Sequence[str] | CodePoints) -> Ints:
        """The number of each pre-token's type, int32; -1 where that has no evidence, NO_WORD for what is no word."""
        places = find_words(pretokens)
        words = np.nonzero(places.is_word)[0]
        type_of = np.full(len(places.text), NO_WORD, np.int32)
        type_of[words] = self.find(places.types(words))
        return type_of

    def boundaries(
        self, pretokens: Sequence[str] | CodePoints, type_of: Ints | None = None, *, priced: bool = False
    ) -> Doubles:
        """`word` of many pre-tokens, one after another; `type_of`, from `types_of`, saves time.

        Without evidence it is 0.5 at every position inside a word but those before combining marks, 1 at capitals if
        there is a group of code; 0 in what is no word. If `priced`, all times the type's price, 1 if it has none.
        """
        type_of = self.types_of(pretokens) if type_of is None else type_of
        places = find_words(pretokens)
        out = self._fill(places, type_of)
        if priced and self.prices is not None:
            price = np.where(type_of >= 0, self.prices[np.maximum(type_of, 0)], 1.0)
            out *= np.repeat(price, np.diff(places.text.starts))
        return out

    def _fill(self, places: WordPlaces, type_of: Ints) -> Doubles:
        """`boundaries`, given the index of each pre-token's type: NO_WORD, or -1 for a word without evidence."""
        text, out = places.text, np.zeros(len(places.text.points))
        tables = self.tables(text.points)
        in_parts(
            lambda a, b: _fill_boundaries(
                text.points, text.starts[a : b + 1], places.begins[a:b], places.spaced[a:b], type_of[a:b],
                places.table.mark, tables, out,
            ),
            len(text),
        )  # fmt: skip
        return out

    def tables(self, points: Ints) -> _Tables:
        """What kernels read, of words with these code points."""
        code = (np.zeros(0), np.zeros(0, np.uint8)) if self.in_code is None else (self.in_code, cases_of(points))
        return _Tables(self.starts, self.probabilities, *code)


@njit(nogil=True)
def _fill_boundaries(
    points: Ints, starts: Longs, begins: Longs, spaced: Mask, type_of: Ints, mark: Mask, tables: _Tables, out: Doubles
) -> None:
    """See `Evidence._fill`."""
    type_starts, probabilities, in_code, cases = tables
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


def collect_evidence(
    listed: TypeCounts, settings: EvidenceSettings | None = None, n_threads: int | None = None
) -> Evidence:
    """Evidence for the `max_types` most frequent types of 2 to `max_word_length` graphemes.

    Args:
        listed: from `collect_types`.
        settings: constants of the recipe.
        n_threads: threads; all cores when absent. The result does not depend on it.
    """
    settings = settings or EvidenceSettings()
    sizes = count_graphemes(listed.words)
    chosen = np.nonzero((sizes > 1) & (sizes <= settings.max_word_length))[0][: settings.max_types]
    types, times, n_text = listed.words.take(chosen), listed.counts[chosen], len(chosen)
    labels = bounded(settings.labels)
    if labels:
        types = add_labelled(types, labels, settings.max_word_length)
        rare = find_among(types.take(np.arange(n_text, len(types))), listed.words)
        times = np.concatenate([times, np.where(rare >= 0, listed.counts[rare], 1)])
    del listed, sizes, chosen
    graphemes = split_graphemes(types)
    give_back()
    labelled = label_targets(types, labels, graphemes.last) if labels else None
    found = np.zeros(len(graphemes.last))
    found[graphemes.last], fitted = find_boundaries(graphemes.corpus, settings, n_threads, labelled)
    return Evidence(types, found, settings, labels=report(settings.labels, types, n_text, fitted), times=times)


def learn_contextual(
    forms: Forms, alphabet: Sequence[str], n_merges: int, evidence: Evidence, *,
    crossing_penalty: float = DEFAULT_CROSSING_PENALTY, types: bool = True, min_occurrences: int = 2,
    min_frequency: int = 0, max_token_length: int | None = None, forbidden: frozenset[str] = frozenset(),
    show_progress: bool = False,
) -> tuple[LearnedMerges, Segmentation]:  # fmt: skip
    """Learn morph merges from words that have evidence; also the words cut by them, to build on.

    First come letters with their combining marks, also those seen once and in words without evidence, up to half of the
    merges (see `first_merges`); then the merges of the space with each letter of the alphabet and each letter with
    marks that begins a word, by code points, so that a space is never a token before a letter; then pairs by their
    worth until none is positive, at first at a higher crossing penalty.

    Args:
        forms: from `collect_forms`; those without evidence take no part.
        alphabet: the characters that are tokens.
        n_merges: how many merges are wanted.
        evidence: from `collect_evidence`, usually of the same forms.
        crossing_penalty: the lambda of the module docstring.
        types: every lower-cased type weighs the same, shared out among its forms and their lower-case twins;
            False: forms weigh their counts.
        min_occurrences: least number of forms' places where a pair must stand, the first merges excepted; lower-case
            twins count.
        min_frequency: least number of a pair's occurrences in forms, twins left out, the first merges excepted: 1 a
            form when `types`, else weighted by count.
        max_token_length: longest token in characters, a leading space included.
        forbidden: strings that must not become tokens.
        show_progress: a bar on stderr when it is a terminal.
    """
    n_forms = len(forms.counts)
    marked = find_marked_letters(forms.words, forms.counts)
    forms = with_lower_case(forms) if types else forms
    frequencies = (np.arange(len(forms.counts)) < n_forms).astype(np.int64) if types else forms.counts
    type_of = evidence.find(forms.types)[forms.type_of]
    kept = np.nonzero(type_of >= 0)[0]
    weights = _shares(forms, type_of, evidence.weights)[kept] if types else forms.counts[kept]
    type_of, frequencies = type_of[kept], frequencies[kept]
    words = forms.words.take(kept)
    del forms, kept
    give_back()
    corpus = SymbolCorpus.from_words(words, frequencies, alphabet)
    turns = [(share, times * crossing_penalty) for share, times in (MIXED if evidence.weights is not None else ALONE)]
    penalties = np.array([penalty for _, penalty in turns])
    if spare := spare_bits(words.starts, weights, UNIT * (1 + float(penalties.max()))):
        weights = weights >> spare
    values = _position_values(words, type_of, weights, evidence, alphabet, corpus, penalties)
    del words, type_of, weights, frequencies
    give_back()
    limits: dict[str, Any] = {"max_token_length": max_token_length, "forbidden": forbidden}
    graphemes = grapheme_merges(marked, alphabet, n_merges // 2, **limits)
    first = graphemes + space_merges(corpus, n_merges, marked, graphemes, **limits)
    segmentation = Segmentation(corpus)
    segmentation.apply(first)
    give_back()
    most = [round(share * n_merges) for share, _ in turns]
    limits |= {"min_occurrences": min_occurrences, "min_frequency": min_frequency, "show_progress": show_progress}
    learnt = _learn_in_turn(segmentation, values, most, n_merges - len(first), **limits)
    unit = float(UNIT * FORM_UNIT if types else UNIT)
    scores = [0.0] * len(first) + [score / unit for score in learnt.scores]
    return LearnedMerges(first + learnt.merges, scores, learnt.exhausted), segmentation


def _learn_in_turn(
    segmentation: Segmentation, values: list[Longs], most: Sequence[int], n_merges: int, **options: Any
) -> LearnedMerges:
    """At most ``most[k]`` merges by the values number k, one after another, `n_merges` in all; `values` is emptied."""
    learnt = LearnedMerges([])
    for wanted in most:
        room = min(wanted, n_merges - len(learnt.merges))
        found = segmentation.learn(values.pop(0), room, title="morph merges", **options)
        learnt = LearnedMerges(learnt.merges + found.merges, learnt.scores + found.scores, found.exhausted)
        give_back()
    return learnt


def _shares(forms: Forms, type_of: Ints, weights: Doubles | None) -> Longs:
    """What each form weighs of its type's `FORM_UNIT`, times the weight of its type where types have one."""
    total = np.bincount(forms.type_of, forms.counts)[forms.type_of]
    shares = np.rint(FORM_UNIT * forms.counts / total)
    if weights is not None:
        shares = np.rint(np.maximum(1, shares) * weights[np.maximum(type_of, 0)])
    return np.maximum(1, shares).astype(np.int64)


def _position_values(
    forms: CodePoints, type_of: Ints, weights: Longs, evidence: Evidence, alphabet: Sequence[str], corpus: SymbolCorpus,
    penalties: Doubles,
) -> list[Longs]:  # fmt: skip
    """Worth of the positions of forms in 1 / UNIT of an occurrence times weight, by cells of their corpus.

    Returns:
        int64, one a cell (see learn/engine/pairs.py), for each crossing penalty; 0 in those between words.
    """
    number, tables = numbering(alphabet)[1], evidence.tables(forms.points)
    values = tuple(np.zeros(len(corpus.symbols) + len(corpus) + 1, np.int64) for _ in penalties)

    def fill(a: int, b: int) -> None:
        starts = forms.starts[a : b + 1]
        _fill_values(forms.points, starts, type_of[a:b], weights[a:b], tables, penalties, number, starts[0] + a, values)

    if len(corpus.symbols) == len(forms.points) and len(corpus) == len(forms):
        in_parts(fill, len(forms))
    else:  # how many cells the words before one take is not known
        fill(0, len(forms))
    return list(values)


@njit(nogil=True)
def _fill_values(
    points: Ints, starts: Longs, type_of: Ints, weights: Longs, tables: _Tables, penalties: Doubles, number: Ints,
    cell: int, values: tuple[Longs, ...],
) -> None:  # fmt: skip
    """Write the values of characters that have a number, each unbroken run of them behind a cell that is left out.

    The first of them is `cell`, between words.
    """
    type_starts, probabilities, in_code, cases = tables
    cell -= 1
    for w in range(len(type_of)):
        shift = type_starts[type_of[w] + 1] - starts[w + 1]
        for i in range(starts[w], starts[w + 1]):
            if number[points[i]] < 0:
                continue
            cell += 2 if i == starts[w] or number[points[i - 1]] < 0 else 1
            within = i + shift >= type_starts[type_of[w]]
            j = probabilities[i + shift] if within else 0.0
            if within and len(cases) and part_ends(points, i, starts[w + 1], cases):
                j += in_code[type_of[w]] * (1.0 - j)
            for turn in range(len(values)):
                values[turn][cell] = int(np.rint(UNIT * (1 - (1 + penalties[turn]) * j))) * weights[w]
