"""Boundary evidence of a list of words: the posterior probability of a boundary after each character. No merges here.

`collect_evidence` computes it from word types; `Evidence` looks it up for pre-tokens, whatever their case and leading
character. `evidence.forms` tells words from other pre-tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mws_hf.kernels.arrays import Bytes, Doubles, Ints, Longs, Mask
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import give_back, in_parts
from mws_hf.learn.evidence.ensemble import boundary_posteriors
from mws_hf.learn.evidence.forms import TypeCounts, WordPlaces, count_graphemes, find_words, fold, split_graphemes
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import N_POINTS, CodePoints, distinct_points, find_among
from mws_hf.text.pattern import compiled

if TYPE_CHECKING:
    from mws_hf.learn.evidence.labels import LabelFit

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
    """Compute boundary evidence for the `max_types` most frequent types of 2 to `LONGEST_WORD` graphemes.

    Labelled words that are no types of the list are added. The result does not depend on the number of threads.
    """
    settings = settings or Settings()
    sizes = count_graphemes(listed.words)
    chosen = np.nonzero((sizes > 1) & (sizes <= LONGEST_WORD))[0][: settings.max_types]
    types, times, n_text = listed.words.take(chosen), listed.counts[chosen], len(chosen)
    if settings.labels:
        from mws_hf.learn.evidence.labels import add_labelled, bounded, label_targets, report_labels

        labels = bounded(settings.labels)
        types = add_labelled(types, labels, LONGEST_WORD)
        rare = find_among(types.take(np.arange(n_text, len(types))), listed.words)
        times = np.concatenate([times, np.where(rare >= 0, listed.counts[rare], 1)])
    del listed, sizes, chosen
    graphemes = split_graphemes(types)
    give_back()
    labelled = label_targets(types, labels, graphemes.last) if settings.labels else None
    found = np.zeros(len(graphemes.last))
    found[graphemes.last], fitted = boundary_posteriors(graphemes.corpus, settings, n_threads, labelled)
    fits = report_labels(settings.labels, types, n_text, fitted) if settings.labels else {}
    return Evidence(types, found, settings, labels=fits, times=times)
