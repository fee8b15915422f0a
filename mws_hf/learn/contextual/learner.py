"""The contextual criterion as a learner: evidence for the words of a list, and the merges it is worth. No tokenizer.

A pair of tokens is worth the sum over its occurrences of 1 - (1 + lambda) * P(boundary between them): each occurrence
inside a morph earns 1, each across a boundary costs lambda. Which pre-tokens are words is told in `forms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mws_hf.learn.contextual.evidence import boundary_probabilities
from mws_hf.learn.contextual.forms import CharacterTable, Forms, code_points, find_words, fold, split_graphemes
from mws_hf.learn.contextual.settings import EvidenceSettings
from mws_hf.learn.engine import Segmentation
from mws_hf.learn.symbols import Learnt, SymbolCorpus

Longs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

UNIT = 1 << 16
"""Value of an occurrence that is surely inside a morph; evidence is rounded to 1 / UNIT before anything is compared."""

GRAPHEME_VALUE = UNIT << 14
"""Value of the junction between a letter and its combining mark: more than any other, so merged first (unless sums of
this size would overflow, when it is less)."""

FORM_UNIT = 256
"""Weight of a core, shared out equally among its forms: F1 on lower-case words is the same as with shares by count or a
weight of one for each form (within .003), on capitalised words .01 better than by count."""

UNKNOWN = 0.5
"""Boundary probability inside words without evidence."""

SEED_SHARE = 8
"""At most 1 / SEED_SHARE of the merges join the space with a letter; only Han-like alphabets or tiny budgets need more.
The letters left out join the space where their words earn it."""


@dataclass(frozen=True)
class Evidence:
    """Boundary evidence of the word types it was computed from.

    Attributes:
        cores: the types, case-folded letters, by count.
        starts: int64, shape (n_cores + 1,), where each core's characters begin in `probabilities`.
        probabilities: float64, one a character: probability of a boundary after it; 0 at the end of a core and between
            a letter and its mark.
        settings: the constants used.
    """

    cores: list[str]
    starts: Longs
    probabilities: Doubles
    settings: EvidenceSettings = field(default_factory=EvidenceSettings)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {core: i for i, core in enumerate(self.cores)}

    def find(self, cores: Sequence[str]) -> Longs:
        """Index of each core among the types, -1 where it is none of them."""
        index = self._index
        return np.fromiter((index.get(core, -1) for core in cores), np.int64, len(cores))

    def word(self, pretoken: str) -> list[float] | None:
        """Probability of a boundary after each character of a pre-token; None if it is not among the types.

        A leading space belongs to the word (0), any other leading character does not (1).
        """
        places = find_words([pretoken])
        lead = int(places.begins[0])
        core = self._index.get(fold(pretoken[lead:])) if places.is_word[0] else None
        if core is None:
            return None
        before = [0.0 if places.spaced[0] else 1.0] * lead
        return before + [float(p) for p in self.probabilities[self.starts[core] : self.starts[core + 1]]]

    def boundaries(self, pretokens: Sequence[str]) -> Doubles:
        """`word` of many pre-tokens, one after another.

        Where nothing is known of a word it is 0.5 at every junction inside it but those before combining marks; 0 in
        pre-tokens that are no words.
        """
        places = find_words(pretokens)
        heads, ends = places.starts[:-1], places.starts[1:]
        words = np.nonzero(places.is_word)[0]
        inside = np.zeros(len(places.points) + 1, np.int64)
        inside[places.begins[words]] += 1
        inside[ends[words] - 1] -= 1
        out = np.where(np.cumsum(inside[:-1]) > 0, UNKNOWN, 0.0)
        out[np.append(places.table.mark[places.points], False)[1:]] = 0.0
        out[heads[places.is_word & (places.begins > heads) & ~places.spaced]] = 1.0
        core = self.find(places.cores(words))
        known, chosen = core[core >= 0], words[core >= 0]
        _copy_slices(self.probabilities, self.starts[known], out, places.begins[chosen], ends[chosen])
        return out


def _copy_slices(source: Doubles, first: Longs, target: Doubles, begins: Longs, ends: Longs) -> None:
    """target[begins[k]:ends[k]] = source[first[k]:...] for every k."""
    sizes = ends - begins
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    target[np.repeat(begins, sizes) + within] = source[np.repeat(first, sizes) + within]


def collect_evidence(forms: Forms, settings: EvidenceSettings | None = None, n_threads: int | None = None) -> Evidence:
    """Evidence for the `max_types` most frequent cores of 2 to `max_word_length` graphemes.

    Args:
        forms: from `collect_forms`.
        settings: constants of the recipe.
        n_threads: threads; all cores when absent. The result does not depend on it.
    """
    settings = settings or EvidenceSettings()
    types: list[str] = []
    for at in range(0, len(forms.cores), settings.max_types):
        some = forms.cores[at : at + settings.max_types]
        sizes = np.diff(split_graphemes(some).corpus.starts)
        types += [some[i] for i in np.nonzero((sizes > 1) & (sizes <= settings.max_word_length))[0].tolist()]
        if len(types) >= settings.max_types:
            break
    types = types[: settings.max_types]
    graphemes = split_graphemes(types)
    found = np.zeros(len(graphemes.last))
    found[graphemes.last] = boundary_probabilities(graphemes.corpus, settings, n_threads)
    return Evidence(types, code_points(types)[1], found, settings)


def learn_contextual(
    forms: Forms,
    alphabet: Sequence[str],
    n_merges: int,
    evidence: Evidence,
    *,
    types: bool = True,
    min_occurrences: int = 2,
    max_token_length: int | None = None,
    forbidden: frozenset[str] = frozenset(),
    show_progress: bool = False,
) -> Learnt:
    """Learn morph merges from words that have evidence.

    First come the merges of the space with each letter of the alphabet, by code point, so that a space is never a token
    before a letter; then letters with their combining marks; then pairs by their worth until none is positive.

    Args:
        forms: from `collect_forms`; those without evidence take no part.
        alphabet: the characters that are tokens.
        n_merges: how many merges are wanted.
        evidence: from `collect_evidence`, usually of the same forms.
        types: every core weighs the same, shared out equally among its forms; False: forms weigh their counts.
        min_occurrences: least number of forms' places where a pair must stand.
        max_token_length: longest token in characters, a leading space included.
        forbidden: strings that must not become tokens.
        show_progress: a bar on stderr when it is a terminal.
    """
    core = evidence.find(forms.cores)[forms.core_of]
    kept = np.nonzero(core >= 0)[0]
    texts = [forms.forms[i] for i in kept.tolist()]
    weights = forms.counts[kept]
    if types:
        weights = np.maximum(1, FORM_UNIT // np.bincount(forms.core_of)[forms.core_of[kept]])
    values = _junction_values(texts, core[kept], weights, evidence)
    corpus = SymbolCorpus.from_words(texts, alphabet=alphabet)
    known = np.isin(code_points(texts)[0], np.array([ord(c) for c in alphabet], np.int32))
    seeds = _seeds(corpus, n_merges, max_token_length, forbidden)
    segmentation = Segmentation(corpus)
    segmentation.apply(seeds)
    learnt = segmentation.learn(
        values[known],
        n_merges - len(seeds),
        min_occurrences=min_occurrences,
        max_token_length=max_token_length,
        forbidden=forbidden,
        show_progress=show_progress,
    )
    unit = float(UNIT * FORM_UNIT if types else UNIT)
    scores = [0.0] * len(seeds) + [score / unit for score in learnt.scores]
    return Learnt(seeds + learnt.merges, scores, learnt.exhausted)


def _junction_values(forms: list[str], core: Longs, weights: Longs, evidence: Evidence) -> Longs:
    """Worth of the junction after each character of the forms, int64, in 1 / UNIT of an occurrence times weight."""
    points, starts = code_points(forms)
    j = np.zeros(len(points))
    spaced = (points[starts[:-1]] == ord(" ")) if len(forms) else np.zeros(0, bool)
    _copy_slices(evidence.probabilities, evidence.starts[core], j, starts[:-1] + spaced, starts[1:])
    worth = np.rint(UNIT * (1 - (1 + evidence.settings.crossing_penalty) * j)).astype(np.int64)
    weight = np.repeat(weights, np.diff(starts))
    before_mark = np.append(CharacterTable(points).mark[points], False)[1:]
    worth[before_mark] = min(GRAPHEME_VALUE, (1 << 62) // max(1, int(weight[before_mark].sum())))
    return worth * weight


def _seeds(
    corpus: SymbolCorpus, n_merges: int, max_token_length: int | None, forbidden: frozenset[str]
) -> list[tuple[str, str]]:
    """Merges of the space with letters, by code point; the most frequent word-initial ones where there are too many."""
    room = n_merges // SEED_SHARE
    if " " not in corpus.alphabet or (max_token_length is not None and max_token_length < 2):
        return []
    points = np.array([ord(c) for c in corpus.alphabet], np.int32)
    letters = np.nonzero(CharacterTable(points).letter[points])[0]
    seconds = corpus.starts[:-1][corpus.symbols[corpus.starts[:-1]] == corpus.alphabet.index(" ")] + 1
    frequency = np.bincount(corpus.symbols[seconds[seconds < len(corpus.symbols)]], minlength=len(points))[letters]
    most = letters[np.argsort(-frequency, kind="stable")][:room]
    chosen = sorted(corpus.alphabet[i] for i in most.tolist())
    return [(" ", c) for c in chosen if " " + c not in forbidden]
