"""Learn a vocabulary from word counts: alphabet, morphs, then compositions on top; a pure function, without files.

Upper-case variants of frequent words are counted at a small share, so that some become compositions: running text has
few words in capitals, so a vocabulary learnt from it cuts a headline into many tokens. One occurrence in capitals for
every `SHARE` in small letters mends this for 30 to 300 entries (scripts/LOG.md, 2026-11-23). Words with one capital at
the head get no variant: they are so many that they would make text 1.9 % longer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mws_hf.corpus.groups import UNNAMED
from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Ints, Longs
from mws_hf.kernels.threads import give_back
from mws_hf.learn.job import LearningJob
from mws_hf.learn.settings import ContextualSettings, CriterionSettings, VocabularySettings
from mws_hf.learn.wishes import merges_for
from mws_hf.learn.words import CodePoints, LearnedMerges, SymbolCorpus, both_lists, find_among

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.learn.contextual import Evidence
    from mws_hf.learn.engine.segmentation import Segmentation
    from mws_hf.learn.evidence.labels import LabelFit


SHARE = 500
"""Occurrences in small letters for which a word counts once in capitals."""


def with_capitals(words: CodePoints, counts: Longs) -> tuple[CodePoints, Longs]:
    """Give each word that occurs `SHARE` times and more in small letters an upper-case variant.

    A word whose upper-case variant is longer, such as one with "ß", gets none.

    Args:
        words: distinct words.
        counts: int64, shape (n_words,), how often each occurs.

    Returns:
        The words, with new ones at the end, and the count of each.

    >>> words, counts = with_capitals(CodePoints.of([" ab", " AB", " Cd", " cd"]), np.array([1000, 3, 900, 500]))
    >>> words.strings(), counts.tolist()
    ([' ab', ' AB', ' Cd', ' cd', ' CD'], [1000, 5, 900, 500, 1])
    """
    often = np.nonzero(counts >= SHARE)[0]
    variants: dict[str, int] = {}
    for word, count in zip(words.take(often).strings(), counts[often].tolist(), strict=True):
        variant = word.upper()
        if word == word.lower() and variant != word and len(variant) == len(word):
            variants[variant] = variants.get(variant, 0) + count // SHARE
    if not variants:
        return words, counts
    added, times = CodePoints.of(list(variants)), np.fromiter(variants.values(), np.int64, len(variants))
    found = find_among(added, words)
    known = found >= 0
    counts = counts.astype(np.int64)  # a copy
    counts[found[known]] += times[known]
    return both_lists(words, added.take(np.nonzero(~known)[0])), np.concatenate([counts, times[~known]])


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearnedVocabulary:
    """Alphabet and merges that training found, before they become a tokenizer.

    Attributes:
        alphabet: the characters that are tokens, ascending by code point.
        merges: (left, right) in merge-rank order: morphs, compositions, those of strings that must be entries.
        n_morphs: how many of the merges the criterion itself chose.
        exhausted: True when the criterion ran out of candidates before its share of the budget was spent.
        n_types: distinct pre-tokens trained on.
        evidence: the boundary evidence the merges were learned from; None for the classic criterion and where no morph
            merges were wanted.
        n_required: how many merges, the last ones, make strings that must be entries.
        places_cut: share of the places inside the words learnt from, each form once, that the morph merges leave cut;
            compositions join some of them again. None where there is no evidence.
    """

    alphabet: list[str]
    merges: list[tuple[str, str]]
    n_morphs: int
    exhausted: bool
    n_types: int
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    n_required: int = 0
    places_cut: float | None = None

    @property
    def label_fits(self) -> Mapping[str, LabelFit]:
        """Return the results of fitting to labelled words, by group ("" if unnamed); empty without labels."""
        return {} if self.evidence is None else self.evidence.labels

    @property
    def label_fit(self) -> LabelFit | None:
        """Return the result of fitting to labelled words that belong to no named group; None without such labels."""
        return self.label_fits.get(UNNAMED)

    @property
    def label_record(self) -> dict[str, Any]:
        """Label results as mws_training.json stores them: one dict, or one per group if groups are named."""
        found = {name: asdict(fit) for name, fit in self.label_fits.items()}
        return {"label_fit": found.get(UNNAMED, found)} if found else {}

    @property
    def record(self) -> dict[str, Any]:
        """Return facts for mws_training.json: how many merges are morphs and compositions, cuts, the label results.

        The last merges of a tokenizer are those of required strings; compositions come before them, morphs first.
        """
        required = {"required": self.n_required} if self.n_required else {}
        cut = {} if self.places_cut is None else {"places_cut": round(self.places_cut, 4)}
        merges = {"morph": self.n_morphs, "composition": self.n_compositions, **required}
        return {"merges": merges, **cut} | self.label_record

    @property
    def n_compositions(self) -> int:
        """Count the merges that the second phase added."""
        return len(self.merges) - self.n_morphs - self.n_required


def learn(
    counts: WordCounts | Mapping[str, WordCounts],
    settings: CriterionSettings | None = None,
    vocabulary: VocabularySettings | None = None,
    *,
    evidence: Evidence | None = None,
    show_progress: bool = False,
) -> LearnedVocabulary:
    """Learn alphabet and merges from word counts.

    Args:
        counts: words and how often each occurs in running text; by group, such as language, where groups are named.
        settings: `ContextualSettings` (the default) or `ClassicSettings`; their type is the criterion.
        vocabulary: size, limits and whatever else both criteria share.
        evidence: boundary evidence of the same counts (`multilingual.find_evidence`), to save computing it again.
        show_progress: show progress bars on stderr when it is a terminal.

    Raises:
        MwSError: there is no word to learn from, counts are too large to be weighed, a special token is a character of
            the words, or `evidence` was computed with other settings.

    >>> from mws_hf.corpus.counting import count_documents
    >>> from mws_hf.learn.classic.coefficient import ClassicSettings
    >>> counts = count_documents(["читать читал читала читали"])
    >>> learned = learn(counts, ClassicSettings(), VocabularySettings(n_merges=2, special_tokens=[]))
    >>> learned.merges, learned.n_types
    ([(' ', 'ч'), (' ч', 'и')], 4)
    """
    settings = settings or ContextualSettings()
    _check_evidence(evidence, settings)
    give_back()  # what counting took
    job = LearningJob.plan(counts, settings, vocabulary or VocabularySettings(), show_progress)
    # 1. evidence: how freely could each word have gone on after each of its characters?
    evidence = _find_evidence(job, evidence)
    # 2. morphs: merges that stay between the boundaries
    words = CodePoints.of_counts(job.counts)
    with ThreadPoolExecutor(1) as beside:  # merging takes one thread; another looks up the words of the third step
        text = beside.submit(_running_text, job, words, evidence)
        morphs, known = _learn_morphs(job, words, evidence)
        cut = None if known is None or evidence is None else known.places_cut()
    # 3. compositions: frequent neighbours, which pay for the boundaries that they hide
    compositions = _learn_compositions(job, text.result(), evidence, morphs, known)
    # 4. the result, still without a file
    merges, n_required = _with_required(job, morphs.merges + compositions.merges)
    _warn_if_short(job, len(merges))
    n_morphs = min(len(morphs.merges), len(merges) - n_required)
    return LearnedVocabulary(
        job.alphabet, merges, n_morphs, morphs.exhausted, len(job.counts), evidence, n_required, cut
    )


def _with_required(job: LearningJob, merges: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], int]:
    """Add the merges of the strings that must be entries, in place of the last ones; returns how many these are."""
    room = min(len(merges), job.n_merges)
    while room >= 0:
        required = merges_for(job.vocabulary.tokens, merges[:room], job.alphabet)
        over = room + len(required) - job.n_merges
        if over <= 0 or not required:
            return merges[:room] + required, len(required)
        room -= over
    raise MwSError(
        f"{len(job.vocabulary.tokens)} strings must be entries, which takes more than the {job.n_merges} merges that "
        "there is room for; raise vocab_size, or leave some out"
    )


def _check_evidence(evidence: Evidence | None, settings: CriterionSettings) -> None:
    if evidence is None:
        return
    if settings.evidence is None:
        raise MwSError(f"evidence= is of no use to the {settings.criterion} criterion; leave it out")
    if evidence.settings != settings.evidence:
        raise MwSError("the evidence given was computed with other settings than those asked for; compute it again")


def _find_evidence(job: LearningJob, given: Evidence | None) -> Evidence | None:
    """Compute the boundary evidence, unless it is given or of no use: a criterion without, or no morphs, need none."""
    settings = job.settings.evidence
    if settings is None:
        return None
    if job.n_morphs == 0:  # compositions alone are plain frequency BPE
        if settings.labels or settings.group_labels:
            logger.warning("the labels are not used: no merge is to be a morph; lower composition")
        return None
    if given is not None:
        return given
    from mws_hf.learn.multilingual import find_evidence

    return find_evidence(job.groups, settings, job.vocabulary.weights)


def _learn_morphs(
    job: LearningJob, words: CodePoints, evidence: Evidence | None
) -> tuple[LearnedMerges, Segmentation | None]:
    """Learn the criterion's own merges; also returns the words cut by them where there are such merges."""
    if not isinstance(job.settings, ContextualSettings):
        from mws_hf.learn.classic.learner import learn_classic
        from mws_hf.learn.engine.segmentation import Segmentation

        weights = None if job.vocabulary.types else job.counts.counts
        segmentation = Segmentation(SymbolCorpus.from_words(words, weights, job.alphabet))
        return learn_classic(segmentation, job.n_morphs, job.settings, job.limits), segmentation
    if evidence is None:
        return LearnedMerges([]), None
    from mws_hf.learn.evidence.forms import collect_forms
    from mws_hf.learn.morphs import MORPH_LIMITS, learn_contextual

    return learn_contextual(
        collect_forms(words, job.counts.counts),
        job.alphabet,
        job.n_morphs,
        evidence,
        crossing_penalty=job.settings.crossing_penalty,
        types=job.vocabulary.types,
        limits=replace(job.limits, min_occurrences=MORPH_LIMITS.min_occurrences),
    )


class _RunningText(NamedTuple):
    """The words that compositions are learnt from, how often each occurs, and its type in the evidence, if any."""

    words: CodePoints
    counts: Longs
    type_of: Ints | None


def _running_text(job: LearningJob, words: CodePoints, evidence: Evidence | None) -> _RunningText | None:
    """Look up the words of the running text, `words` of ``job.counts`` among them; None: no composition is wanted."""
    if not job.composition:
        return None
    repeated = job.groups.repeated(job.vocabulary.weights)
    listed = words if repeated is job.counts else CodePoints.of_counts(repeated)
    if evidence is None:
        return _RunningText(listed, repeated.counts, None)
    listed, times = with_capitals(listed, repeated.counts)
    found = _RunningText(listed, times, evidence.types_of(listed))
    give_back()  # what the look-up took
    return found


def _learn_compositions(
    job: LearningJob,
    text: _RunningText | None,
    evidence: Evidence | None,
    morphs: LearnedMerges,
    known: Segmentation | None,
) -> LearnedMerges:
    """Fill the room that the morphs leave; `known` are words that they have cut already."""
    from mws_hf.learn.compositions import learn_compositions, priced_boundaries

    room = job.n_merges - len(morphs.merges)
    if text is None or room <= 0:
        return LearnedMerges([])
    boundaries = None if evidence is None else partial(priced_boundaries, evidence, text.words, text.type_of)
    return learn_compositions(
        text.words, text.counts, job.alphabet, morphs.merges, room, boundaries=boundaries,
        hidden_boundary_price=job.settings.hidden_boundary_price, known=known, limits=job.limits,
    )  # fmt: skip


def _warn_if_short(job: LearningJob, n_found: int) -> None:
    if n_found < job.n_merges:
        advice = "" if job.composition else "; composition='fill' would fill the rest with frequent neighbours"
        logger.warning(
            "the %s criterion found %d of %d merges: the vocabulary has %d entries fewer than asked for%s",
            job.settings.criterion, n_found, job.n_merges, job.n_merges - n_found, advice,
        )  # fmt: skip
