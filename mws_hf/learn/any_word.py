"""Find boundary probabilities for any word, whether it is among the training words or not.

For training words, the probabilities of the training are returned. Those of other words are estimated by the context
view only: its regression is fitted to the probabilities of the training words, and the contexts of the new word are
counted together with theirs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from mws_hf.kernels import Doubles
from mws_hf.kernels.arithmetic import sigmoid
from mws_hf.kernels.threads import ThreadPool, side_by_side
from mws_hf.learn.evidence.context_view import add_log_odds, fit_contexts
from mws_hf.learn.evidence.contexts import CONTEXT_LENGTHS, Contexts, collect_contexts, contexts_of_each, trie_view
from mws_hf.learn.evidence.forms import find_words, inner_positions, split_graphemes
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.words import CodePoints, SymbolCorpus, concatenated
from mws_hf.text.letter_case import fold

MAX_TYPES = 200_000
"""Maximum number of training words that are kept, the most frequent ones. More words take space and time, and do not
improve the probabilities of other words."""

FIT_POSITIONS = 20_000
"""Maximum number of positions inside training words that the regression is fitted to."""


class AnyWord:
    """Boundary probabilities of any word; those of words outside the training words are estimated from their contexts.

    Attributes:
        evidence: the boundary probabilities of the training words.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._weights: tuple[Doubles, Doubles] | None = None
        self._estimated: dict[str, Evidence] = {}

    def is_training_word(self, pretoken: str) -> bool:
        """Return whether a pre-token is one of the training words, in any letter case.

        A saved file has only the `MAX_TYPES` most frequent training words.
        """
        return self.evidence.word(pretoken) is not None

    def knows(self, pretoken: str) -> bool:
        """Call `is_training_word`; this is its former name, kept for one version."""
        warnings.warn("AnyWord.knows is now AnyWord.is_training_word", DeprecationWarning, stacklevel=2)
        return self.is_training_word(pretoken)

    def word(self, pretoken: str) -> list[float] | None:
        """Return the probability of a boundary after each character of a pre-token; None if it is not a word."""
        return self.words([pretoken])[0]

    def words(self, pretokens: Sequence[str]) -> list[list[float] | None]:
        """Return the boundary probabilities of several pre-tokens.

        The result for a pre-token does not depend on the others. The probabilities of all words that are not among the
        training words are estimated in one pass, so one call for many pre-tokens is faster than many calls.

        Args:
            pretokens: words, with or without the space before them, or any other pre-tokens.

        Returns:
            For each pre-token the probability of a boundary after each of its characters, or None if it is not a word.

        >>> from mws_hf.corpus.counts import WordCounts
        >>> from mws_hf.learn.group_evidence import find_evidence
        >>> counts = WordCounts.from_mapping({" walked": 1, " walking": 1, " talked": 1, " talking": 1}, pattern="...")
        >>> known, new, number = AnyWord(find_evidence(counts)).words([" walked", " talks", "12"])
        >>> len(known), len(new), number
        (7, 6, None)
        """
        found = [self.evidence.word(pretoken) for pretoken in pretokens]
        places = find_words(pretokens)
        unlisted = {
            row: fold(pretokens[row][begin:])
            for row, begin in enumerate((places.begins - places.text.starts[:-1]).tolist())
            if found[row] is None and places.is_word[row]
        }
        if new := [letters for letters in dict.fromkeys(unlisted.values()) if letters not in self._estimated]:
            in_code = None if self.evidence.in_code is None else np.ones(1)
            for letters, probabilities in zip(new, self._estimate(new), strict=True):
                self._estimated[letters] = Evidence(
                    CodePoints.of([letters]), probabilities, self.evidence.settings, in_code=in_code
                )
        for row, letters in unlisted.items():
            found[row] = self._estimated[letters].word(pretokens[row])
        return found

    def _estimate(self, words: Sequence[str]) -> list[Doubles]:
        """Compute the boundary probabilities of distinct words, which are not among the training words.

        Args:
            words: lowercase letters of the words.

        Returns:
            For each word: float64, shape (n_characters,).
        """
        listed = most_frequent(self.evidence)
        new = CodePoints.of(words)
        graphemes = split_graphemes(concatenated([listed.code_points, new]))
        corpus, n_listed, n = graphemes.corpus, len(listed.code_points), len(listed.probabilities)
        last = graphemes.last[n:]
        found = np.zeros(len(last))
        starts = corpus.starts[: n_listed + 1]
        if inner_positions(starts).any():
            with ThreadPool() as pool:
                contexts = pool.submit(_contexts_of, corpus, empty=True)
                if self._weights is None:
                    targets = listed.probabilities[graphemes.last[:n]].astype(np.float32)
                    known = SymbolCorpus(
                        corpus.alphabet, corpus.symbols[: starts[-1]], starts, corpus.weights[:n_listed]
                    )
                    self._weights = fit_contexts(known, _contexts_of(known), targets, FIT_POSITIONS)
            by_word = contexts_of_each(corpus, contexts.result(), n_listed)
            found[last] = np.concatenate([_probabilities(word_contexts, *self._weights) for word_contexts in by_word])
        return [found[begin:end] for begin, end in pairwise(new.starts.tolist())]


def _contexts_of(corpus: SymbolCorpus, *, empty: bool = False) -> Contexts:
    """Collect the contexts of distinct words; `empty` is that of `collect_contexts`."""
    tries = side_by_side(lambda backwards: trie_view(corpus, backwards, empty=empty), (False, True))
    return collect_contexts(corpus, CONTEXT_LENGTHS, tries, empty=empty)


def _probabilities(contexts: Contexts, linear: Doubles, square: Doubles) -> Doubles:
    """Compute the probability of a boundary after each symbol of a word from its contexts; 0 after the last one."""
    size = len(contexts.views[0].ids)
    log_odds = np.zeros(size)
    add_log_odds(contexts, 0, np.array([0, size]), linear, square, log_odds)
    found = sigmoid(log_odds)
    found[-1] = 0.0
    return found


def most_frequent(evidence: Evidence) -> Evidence:
    """Keep at most `MAX_TYPES` types, the most frequent ones, or the first ones if their counts are not known."""
    if len(evidence.code_points) <= MAX_TYPES:
        return evidence
    times = evidence.times
    rows = np.arange(MAX_TYPES) if times is None else np.sort(np.argsort(-times, kind="stable")[:MAX_TYPES])
    sizes = np.diff(evidence.starts)
    kept = np.zeros(len(sizes), bool)
    kept[rows] = True
    return replace(
        evidence,
        code_points=evidence.code_points.take(rows),
        probabilities=evidence.probabilities[np.repeat(kept, sizes)],
        in_code=None if evidence.in_code is None else evidence.in_code[rows],
        times=None if times is None else times[rows],
        weights=None,
        penalties=None,
        label_shares={},
    )
