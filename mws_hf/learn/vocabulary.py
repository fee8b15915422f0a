"""Learn a vocabulary from word counts: first the alphabet, then morph merges, then compositions. No file is read.

`LearningJob.plan` checks everything and computes the sizes before learning begins, and `learn` executes the plan.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.groups import UNNAMED
from mws_hf.errors import MwSError
from mws_hf.kernels import Ints, Longs
from mws_hf.kernels.threads import give_back
from mws_hf.learn.evidence.forms import collect_forms
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.learn.limits import Apart, LearnedMerges, MergeLimits
from mws_hf.learn.phases import (
    MORPH_LIMITS,
    SCALE,
    check_fits,
    learn_compositions,
    learn_contextual,
    penalized_boundaries,
)
from mws_hf.learn.settings import Settings
from mws_hf.learn.uppercase import with_uppercase
from mws_hf.learn.words import CodePoints, SymbolCorpus, count_points, letters_with_marker
from mws_hf.text.capitals import MARKER, steps_of
from mws_hf.text.pattern import split
from mws_hf.text.symbols import BYTE_TOKENS, character_merges
from mws_hf.tokenizer.backend import build_backend, tokenizer_tables
from mws_hf.tokenizer.merging import merges_for

if TYPE_CHECKING:
    from mws_hf.learn.evidence.labels import LabelFit

_logger = logging.getLogger(__name__)

BYTE_ORDER_MARK = "\ufeff"
"""Every alphabet of characters contains it, because decoders in JavaScript drop it if it consists of byte tokens.

The original MwS is an exception, because its vocabulary must stay as it was published.
"""


@dataclass(frozen=True)
class LearnedVocabulary:
    """Alphabet and merges that training found, before they become a tokenizer.

    Attributes:
        alphabet: characters, in the order of code points.
        merges: (left, right) in the order of their ranks: morph merges, compositions, then merges of required strings.
        n_morphs: number of morph merges, which the criterion chose.
        n_types: number of distinct words that were learned from.
        evidence: boundary probabilities; None with the original MwS score, and if no morph merges were wanted.
        n_required: number of merges that make required strings.
        places_cut: share of the positions inside the distinct words at which they are split after the morph merges;
            compositions join some of these parts again. None with the original MwS score and without morph merges.
        capitals: uppercase letters for which the tokenizer writes a marker; "" without ``capitals="marker"``.
    """

    alphabet: list[str]
    merges: list[tuple[str, str]]
    n_morphs: int
    n_types: int
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    n_required: int = 0
    places_cut: float | None = None
    capitals: str = ""

    @property
    def label_fits(self) -> Mapping[str, LabelFit]:
        """Results of fitting to labeled words, by group ("" if unnamed); empty without labels."""
        return {} if self.evidence is None else self.evidence.labels

    @property
    def record(self) -> dict[str, Any]:
        """The part of mws_training.json from learning: numbers of merges, share of splits, results of labels."""
        required = {"required": self.n_required} if self.n_required else {}
        splits = {} if self.places_cut is None else {"places_cut": round(self.places_cut, 4)}
        merges = {"morph": self.n_morphs, "composition": self.n_compositions, **required}
        fits = {name: asdict(fit) for name, fit in self.label_fits.items()}
        return {"merges": merges, **splits} | ({"label_fit": fits.get(UNNAMED, fits)} if fits else {})

    @property
    def n_compositions(self) -> int:
        """Number of merges of the second phase."""
        return len(self.merges) - self.n_morphs - self.n_required


def learn(
    counts: WordCounts | Mapping[str, WordCounts],
    settings: Settings | None = None,
    *,
    evidence: Evidence | None = None,
) -> LearnedVocabulary:
    """Learn alphabet and merges from word counts.

    Args:
        counts: words and how often each occurs in running text, or such counts by group, such as language.
        settings: settings of the training. Pattern and normalization are those of the counts.
        evidence: boundary probabilities of the same counts (`group_evidence.find_evidence`), so that they are not
            computed again.

    Returns:
        Alphabet and merges, with figures of the training.

    Raises:
        MwSError: there is no word to learn from, the counts do not fit into 64 bits, a special token is a character
            of the words, a required string cannot become a token, weights or labels name an unknown group, or
            `evidence` was computed with other settings.

    >>> from mws_hf.corpus.counting import count_documents
    >>> counts = count_documents(["читать читал читала читали"])
    >>> learned = learn(counts, Settings(criterion="classic", n_merges=2, special_tokens=[]))
    >>> learned.merges, learned.n_types
    ([(' ', 'ч'), (' ч', 'и')], 4)
    """
    settings = settings or Settings()
    _check_evidence(evidence, settings)
    give_back()  # memory that counting has freed
    job = LearningJob.plan(counts, settings)
    _warn_of_unused_settings(job)
    # 1. boundary probabilities inside each word
    evidence = _find_evidence(job, evidence)
    words = CodePoints.of_counts(job.counts)
    # 2. to 4. the merges
    learned = _learn_merges(job, words, evidence)
    # 5. with labels: adjust the probabilities inside tokens that labeled words contain, and learn all merges again
    if evidence is not None and evidence.label_shares:
        evidence = _adjusted(job, evidence, learned.merges)
        again = replace(job.limits, progress_suffix=", again with labels")
        learned = _learn_merges(replace(job, limits=again), words, evidence)
    _warn_if_short(job, len(learned.merges))
    return learned


def _learn_merges(job: LearningJob, words: CodePoints, evidence: Evidence | None) -> LearnedVocabulary:
    """Learn all merges from boundary probabilities: steps 2 to 4 of `learn`; `words` are those of the job's counts."""
    # 2. morph merges, which stay between the boundaries
    with ThreadPoolExecutor(1) as beside:  # merging uses one thread; another looks up the words for step 3
        text = beside.submit(_running_text, job, words, evidence)
        morphs, split_share = _learn_morphs(job, words, evidence)
    # 3. compositions of frequent neighbors, which are penalized for the boundaries that they hide
    compositions = _learn_compositions(job, text.result(), evidence, morphs.merges)
    # 4. the merges of required strings
    merges, n_required = _with_required(job, morphs.merges + compositions.merges)
    n_morphs = min(len(morphs.merges), len(merges) - n_required)
    return LearnedVocabulary(
        job.alphabet, merges, n_morphs, len(job.counts), evidence, n_required, split_share, job.capitals
    )


def _adjusted(job: LearningJob, evidence: Evidence, merges: list[tuple[str, str]]) -> Evidence:
    """Adjust the boundary probabilities to the labels, by the tokens that the merges make (`token_rates`).

    Only words in lowercase are segmented, so a marker for capitals would change nothing.
    """
    from mws_hf.learn.token_rates import adjust_to_labels

    vocabulary, ranked = tokenizer_tables((), job.alphabet, merges, job.settings.alphabet_kind)
    form, _ = steps_of(job.counts.normalization)
    return adjust_to_labels(evidence, build_backend(vocabulary, ranked, job.counts.pattern, form))


@dataclass(frozen=True)
class LearningJob:
    """One training after its settings and words were checked, and before anything is learned.

    Attributes:
        grouped: the words by group, without rare words, and split at characters that are kept apart.
        counts: the words of all groups together, whose counts are multiplied by the weights of the groups.
        settings: settings of the training.
        alphabet: characters that become tokens or are spelled by merges, in the order of code points.
        composition: share of compositions; "fill" means all merges that the morphs leave.
        n_merges: number of merges that the vocabulary has room for.
        n_morphs: maximum number of morph merges.
        limits: what may be merged.
        capitals: uppercase letters that get a marker; "" without ``capitals="marker"``.
    """

    grouped: WordCounts
    counts: WordCounts
    settings: Settings
    alphabet: list[str]
    composition: float | Literal["fill"]
    n_merges: int
    n_morphs: int
    limits: MergeLimits
    capitals: str

    @classmethod
    def plan(cls, counts: WordCounts | Mapping[str, WordCounts], settings: Settings) -> LearningJob:
        """Check the words, choose the alphabet and compute the number of merges.

        The arguments and the errors are those of `learn`.
        """
        grouped = words_learned_from(counts, settings)
        _check_words(grouped, settings.min_count)
        total = grouped.weighted(settings.weights)
        words = CodePoints.of_counts(total)
        check_fits(words.starts, total.counts, SCALE, 0.0 if settings.is_classic else settings.hidden_boundary_price)
        kind = settings.alphabet_kind
        settings.apart.check_normalized(total.splitter.to_unicode_form)
        _check_required(settings.required, total, settings.apart)
        initial = set(settings.initial_alphabet).union(*settings.required)
        if kind == "characters" and not settings.is_classic:
            initial.add(BYTE_ORDER_MARK)
        alphabet = choose_alphabet(words, total.counts, initial, settings.limit_alphabet)
        # raises MwSError if a special token is a character
        tokenizer_tables(settings.special_tokens, alphabet, [], kind)
        composition = settings.share_of_compositions(len(grouped.groups))
        n_merges = _merge_budget(settings, alphabet)
        n_morphs = n_merges if isinstance(composition, str) else round(n_merges * (1 - composition))
        limits = MergeLimits(
            min_frequency=settings.min_frequency,
            max_token_length=settings.max_token_length,
            forbidden=frozenset(settings.special_tokens),
            show_progress=settings.show_progress,
        )
        letters = letters_with_marker(total)
        return cls(grouped, total, settings, alphabet, composition, n_merges, n_morphs, limits, letters)


def words_learned_from(counts: WordCounts | Mapping[str, WordCounts], settings: Settings) -> WordCounts:
    """Remove words below `min_count`, and split words where characters are kept apart.

    The arguments are those of `learn`.
    """
    words = WordCounts.from_groups(counts).at_least(settings.min_count)
    if not settings.keep_apart:
        return words
    return WordCounts.from_groups({name: settings.apart.split(part) for name, part in words.groups.items()})


def _check_words(words: WordCounts, least: int) -> None:
    for name, counts in words.groups.items():
        if len(counts) == 0:
            of = f" of group {name!r}" if name else ""
            if least > 1:
                raise MwSError(
                    f"no training words{of} occur at least {least:,} times; give more text, or lower that number"
                )
            raise MwSError(f"there are no training words{of}; give text with at least one word")


def _check_required(required: Sequence[str], counts: WordCounts, apart: Apart) -> None:
    """Raise MwSError for strings that no merge could make, because they are normalized or split."""
    normalize = counts.splitter.normalize
    for token in required:
        if normalize(token) != token:
            changed, why = normalize(token), "normalization changes it to"
            if counts.splitter.marks_capitals and MARKER not in token and MARKER in changed:
                changed, why = changed.replace(MARKER, ""), "a marker stands for its capital, before"
            raise MwSError(f"{token!r} cannot become a token: {why} {changed!r}; give that")
        parts = split(token, counts.pattern)
        if len(parts) != 1:
            raise MwSError(
                f"{token!r} cannot become a token: the pattern splits it ({'|'.join(parts)}); give its parts"
            )
        if apart.after(CodePoints.of([token]).points)[:-1].any():
            raise MwSError(
                f"{token!r} cannot become a token: keep_apart separates characters in it; leave one of the two out"
            )


def choose_alphabet(words: CodePoints, counts: Longs, initial: Iterable[str], limit: int | None) -> list[str]:
    """Choose the characters of the alphabet; return them in the order of code points.

    Args:
        words: distinct words.
        counts: how often each occurs.
        initial: characters that are included in any case.
        limit: maximum number of other characters, the most frequent ones (of equally frequent ones those with lower
            code points); None for all.
    """
    frequency = count_points(words, counts)
    kept = set(initial)
    seen = np.nonzero(frequency)[0]
    ordered = seen[np.lexsort((seen, -frequency[seen]))]
    others = [c for c in map(chr, ordered.tolist()) if c not in kept]
    return sorted(kept.union(others if limit is None else others[:limit]))


def _merge_budget(settings: Settings, alphabet: list[str]) -> int:
    """Return the number of merges that the vocabulary has room for; log a warning if its size is too small for any."""
    n_special = len(settings.special_tokens)
    if (wanted := settings.wanted) is None:
        # the original MwS tests the size before the special tokens are appended (docs/original-mws.md)
        return (settings.n_merges or 0) + (n_special if settings.is_classic else 0)
    in_bytes = settings.alphabet_kind == "bytes"  # merges of bytes make the alphabet then
    n_alphabet = len(character_merges(alphabet) if in_bytes else alphabet)
    base = n_special + len(BYTE_TOKENS) + n_alphabet
    if wanted < base:
        _logger.warning(
            "the vocabulary has %s tokens, although %s were asked for, because %d special tokens, %d bytes and %d %s "
            "leave no room for merges; ask for more, or limit the alphabet",
            f"{base:,}", f"{wanted:,}", n_special, len(BYTE_TOKENS), n_alphabet,
            "parts of characters" if in_bytes else "characters",
        )  # fmt: skip
    return max(0, wanted - base)


def _check_evidence(evidence: Evidence | None, settings: Settings) -> None:
    if evidence is None:
        return
    if settings.is_classic:
        raise MwSError("evidence= is not used by the classic criterion; leave it out")
    if evidence.settings.of_evidence != settings.of_evidence:
        raise MwSError("evidence= was computed with settings that differ from those of this training; compute it again")


def _warn_of_unused_settings(job: LearningJob) -> None:
    """Warn of settings that are not used, because composition leaves no merges that depend on them."""
    if job.settings.is_classic:
        return
    missing, names, advice = "frequency merges", ["hidden_boundary_price"], "raise"
    if job.n_morphs == 0:
        missing, names, advice = "morph merges", ["labels", "granularity", "hidden_boundary_price"], "lower"
    elif job.composition:
        return
    changed = job.settings.changed()
    if unused := [name for name in names if name in changed]:
        _logger.warning(
            "composition leaves no %s, so %s will not be used; %s composition", missing, " and ".join(unused), advice
        )


def _find_evidence(job: LearningJob, given: Evidence | None) -> Evidence | None:
    """Return the given boundary probabilities or compute them; None if no morph merge depends on them."""
    if job.settings.is_classic:
        return None
    if job.n_morphs == 0:  # only compositions: this is plain frequency BPE
        return None
    if given is not None:
        return given
    return find_evidence(job.grouped, job.settings)


def _learn_morphs(job: LearningJob, words: CodePoints, evidence: Evidence | None) -> tuple[LearnedMerges, float | None]:
    """Learn the morph merges by the criterion; return them and `LearnedVocabulary.places_cut`."""
    if job.settings.is_classic:
        from mws_hf.learn.classic import learn_classic

        weights = None if job.settings.types else job.counts.counts
        corpus = SymbolCorpus.from_words(words, weights, job.alphabet)
        return learn_classic(corpus, job.n_morphs, job.settings, job.limits), None
    if evidence is None:
        return LearnedMerges([]), None
    morphs, working = learn_contextual(
        collect_forms(words, job.counts.counts),
        job.alphabet,
        job.n_morphs,
        evidence,
        crossing_penalty=job.settings.crossing_penalty,
        types=job.settings.types,
        limits=replace(job.limits, min_occurrences=MORPH_LIMITS.min_occurrences),
    )
    return morphs, working.split_share()


_RunningText = tuple[CodePoints, Longs, Ints | None]
"""The words that compositions are learned from, how often each occurs, and their types in the evidence, if any."""


def _running_text(job: LearningJob, words: CodePoints, evidence: Evidence | None) -> _RunningText | None:
    """Return the words of the running text and their types in the evidence; None if no composition is wanted."""
    if not job.composition:
        return None
    repeated = job.grouped.repeated(job.settings.weights)
    listed = words if repeated is job.counts else CodePoints.of_counts(repeated)
    if evidence is None:
        return listed, repeated.counts, None
    listed, times = with_uppercase(listed, repeated.counts)
    types = evidence.types_of(listed)
    give_back()  # memory that the look-up has freed
    return listed, times, types


def _learn_compositions(
    job: LearningJob, text: _RunningText | None, evidence: Evidence | None, morphs: list[tuple[str, str]]
) -> LearnedMerges:
    n_left = job.n_merges - len(morphs)
    if text is None or n_left <= 0:
        return LearnedMerges([])
    words, counts, type_of = text
    boundaries = None if evidence is None else partial(penalized_boundaries, evidence, words, type_of)
    return learn_compositions(
        words, counts, job.alphabet, morphs, n_left, boundaries=boundaries,
        hidden_boundary_price=job.settings.hidden_boundary_price, limits=job.limits,
    )  # fmt: skip


def _warn_if_short(job: LearningJob, n_found: int) -> None:
    if n_found < job.n_merges:
        size = job.settings.wanted
        found = "" if size is None else f"{size - job.n_merges + n_found:,} tokens instead of {size:,}"
        counted = not job.composition and not job.counts.is_list
        _logger.warning(
            "the words yield only %s of %s merges%s; give more text, or ask for fewer%s",
            f"{n_found:,}", f"{job.n_merges:,}", found and f", so the vocabulary has {found}",
            ", or add merges of frequent words (a composition of 'fill')" if counted else "",
        )  # fmt: skip


def _with_required(job: LearningJob, merges: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], int]:
    """Replace the last merges by those of required strings; return all merges, and how many make required strings."""
    n_kept = min(len(merges), job.n_merges)
    if not job.settings.required:
        return merges[:n_kept], 0
    while n_kept >= 0:
        more = merges_for(job.settings.required, merges[:n_kept], job.alphabet)
        excess = n_kept + len(more) - job.n_merges
        if excess <= 0:
            return merges[:n_kept] + more, len(more)
        n_kept -= excess
    raise MwSError(
        f"{len(job.settings.required)} required strings need more merges than the {job.n_merges} that there is room "
        "for; ask for a larger vocabulary, or leave some strings out"
    )
