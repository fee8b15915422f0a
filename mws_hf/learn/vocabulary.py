"""From word counts to a vocabulary: alphabet, the merges of a criterion, compositions on top; a pure function."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mws_hf.backend import BYTE_TOKENS, tokenizer_tables
from mws_hf.byte_alphabet import character_merges
from mws_hf.corpus.groups import UNNAMED, GroupedCounts
from mws_hf.errors import MwSError
from mws_hf.kernels.arrays import Longs
from mws_hf.kernels.memory import give_back
from mws_hf.learn.classic.coefficient import ClassicSettings
from mws_hf.learn.limits import SCALE, check_fits
from mws_hf.learn.settings import (
    DEFAULT_COMPOSITION,
    DEFAULT_VOCAB_SIZE,
    MIXTURE_COMPOSITION,
    ContextualSettings,
    CriterionSettings,
    VocabularySettings,
    alphabet_kind,
    criterion_of,
)
from mws_hf.learn.words import CodePoints, LearnedMerges, SymbolCorpus, count_points

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.learn.composition import PricedWords
    from mws_hf.learn.contextual import Evidence
    from mws_hf.learn.engine.segmentation import Segmentation
    from mws_hf.learn.evidence.labels import LabelFit

logger = logging.getLogger(__name__)

BYTE_ORDER_MARK = "\ufeff"
"""In every alphabet of characters, seen or not: as three byte tokens JavaScript's decoders drop it from a text.

Not in those of the classic criterion, whose vocabulary is as published.
"""


@dataclass(frozen=True)
class LearnedVocabulary:
    """What training found, before it becomes a tokenizer.

    Attributes:
        alphabet: the characters that are tokens, ascending by code point.
        merges: (left, right) in merge-rank order, morphs first, then compositions.
        n_morphs: how many of the merges the criterion itself chose.
        exhausted: True when the criterion ran out of candidates before its share of the budget was spent.
        n_types: distinct pre-tokens trained on.
        evidence: the boundary evidence the merges were learned from; None for the classic criterion and where no morph
            merges were wanted.
    """

    alphabet: list[str]
    merges: list[tuple[str, str]]
    n_morphs: int
    exhausted: bool
    n_types: int
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @property
    def label_fits(self) -> Mapping[str, LabelFit]:
        """What came of labelled words by group, "" where groups have no names; empty where there were none."""
        return {} if self.evidence is None else self.evidence.labels

    @property
    def label_fit(self) -> LabelFit | None:
        """What came of labelled words that belong to no group in particular; None where there were none."""
        return self.label_fits.get(UNNAMED)

    @property
    def label_record(self) -> dict[str, Any]:
        """`label_fits` as a record keeps it: the one of no group in particular without a name."""
        found = {name: asdict(fit) for name, fit in self.label_fits.items()}
        return {"label_fit": found.get(UNNAMED, found)} if found else {}

    @property
    def record(self) -> dict[str, Any]:
        """What the tokenizer's record says of the result: how many merges are morphs and compositions, and of labels.

        The last merges of a tokenizer are its compositions, those before them its morphs.
        """
        return {"merges": {"morph": self.n_morphs, "composition": self.n_compositions}} | self.label_record

    @property
    def n_compositions(self) -> int:
        """How many merges the second phase added."""
        return len(self.merges) - self.n_morphs


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
        vocabulary: size, limits and what else both criteria share.
        evidence: boundary evidence of the same counts (`mixtures.find_evidence`), to save computing it again.
        show_progress: bars on stderr when it is a terminal.

    Raises:
        MwSError: there is no word to learn from, counts are too large to be weighed, a special token is a character of
            the words, or `evidence` was computed with other settings.

    >>> from mws_hf.corpus.counting import count_documents
    >>> counts = count_documents(["читать читал читала читали"])
    >>> learned = learn(counts, ClassicSettings(), VocabularySettings(n_merges=2, special_tokens=[]))
    >>> learned.merges, learned.n_types
    ([(' ', 'ч'), (' ч', 'и')], 4)
    """
    settings, vocabulary = settings or ContextualSettings(), vocabulary or VocabularySettings()
    _check_evidence(evidence, settings)
    give_back()  # what counting took
    groups = GroupedCounts.of(counts).at_least(vocabulary.min_count)
    _check_words(groups, vocabulary.min_count)
    counts = groups.weighted(vocabulary.weights)
    words = CodePoints.of_counts(counts)
    price = settings.hidden_boundary_price if isinstance(settings, ContextualSettings) else 0.0
    check_fits(words.starts, counts.counts, SCALE, price)
    kind = alphabet_kind(settings, vocabulary)
    initial = set(vocabulary.initial_alphabet)
    if kind == "characters" and isinstance(settings, ContextualSettings):
        initial.add(BYTE_ORDER_MARK)
    alphabet = choose_alphabet(words, counts.counts, initial, vocabulary.limit_alphabet)
    tokenizer_tables(vocabulary.special_tokens, alphabet, [], kind)  # refuses a special token that is a character
    composition = _composition(settings, vocabulary, len(groups))
    budget = _merge_budget(settings, vocabulary, alphabet)
    n_morphs = budget if isinstance(composition, str) else round(budget * (1 - composition))
    if n_morphs == 0:  # compositions alone are plain frequency BPE, and evidence would be for nothing
        evidence = None
        if isinstance(settings, ContextualSettings) and (settings.evidence.labels or settings.evidence.group_labels):
            logger.warning("the labels are not used: no merge is to be a morph; lower composition")
    elif evidence is None and isinstance(settings, ContextualSettings):
        from mws_hf.learn.mixtures import find_evidence

        del words  # evidence takes most memory
        evidence = find_evidence(groups, settings.evidence, vocabulary.weights)
        words = CodePoints.of_counts(counts)

    with ThreadPoolExecutor(1) as beside:  # merging is done by one thread
        needed = words, counts, groups, settings, vocabulary, alphabet, evidence
        prepared = beside.submit(_prepare, *needed) if composition else None
        morphs, known = _learn_morphs(words, counts, settings, vocabulary, alphabet, n_morphs, evidence, show_progress)
    merges = morphs.merges
    if len(merges) < budget and prepared:
        ready = prepared.result()()
        merges = merges + _compose(ready, vocabulary, merges, budget - len(merges), known, show_progress)
    if len(merges) < budget:
        advice = "" if composition else "; composition='fill' would fill the rest with frequent neighbours"
        logger.warning(
            "the %s criterion found %d of %d merges: the vocabulary has %d entries fewer than asked for%s",
            criterion_of(settings), len(merges), budget, budget - len(merges), advice,
        )  # fmt: skip
    return LearnedVocabulary(alphabet, merges, len(morphs.merges), morphs.exhausted, len(counts), evidence)


def _composition(settings: CriterionSettings, vocabulary: VocabularySettings, n_groups: int) -> float | Literal["fill"]:
    """The share of compositions asked for, or the usual one."""
    if vocabulary.composition is not None:
        return vocabulary.composition
    if isinstance(settings, ClassicSettings):
        return 0
    return DEFAULT_COMPOSITION if n_groups == 1 else MIXTURE_COMPOSITION


def _check_words(groups: GroupedCounts, least: int) -> None:
    for name, counts in groups.items():
        if len(counts) == 0:
            of = f" of group {name!r}" if name else ""
            raise MwSError(f"no training words{of} are left (min_count={least}); give text with at least one word")


def choose_alphabet(words: CodePoints, counts: Longs, initial: Iterable[str], limit: int | None) -> list[str]:
    """The characters that become tokens, ascending by code point.

    Args:
        words: the training words.
        counts: int64, how often each occurs.
        initial: characters to include in any case.
        limit: how many of the other characters to keep, the most frequent first (ties: lower code point); None: all.

    >>> choose_alphabet(CodePoints.of(["ab", "bc"]), np.array([1, 2]), "z", 1)
    ['b', 'z']
    """
    frequency = count_points(words, counts)
    kept = set(initial)
    seen = np.nonzero(frequency)[0]
    ordered = seen[np.lexsort((seen, -frequency[seen]))]
    others = [c for c in map(chr, ordered.tolist()) if c not in kept]
    return sorted(kept.union(others if limit is None else others[:limit]))


def _check_evidence(evidence: Evidence | None, settings: CriterionSettings) -> None:
    if evidence is None:
        return
    if not isinstance(settings, ContextualSettings):
        raise MwSError("evidence= belongs to the contextual criterion, not to 'classic'; leave it out")
    if evidence.settings != settings.evidence:
        raise MwSError("the evidence given was computed with other settings than those asked for; compute it again")


def _merge_budget(settings: CriterionSettings, vocabulary: VocabularySettings, alphabet: list[str]) -> int:
    """How many merges the vocabulary has room for; a vocabulary too small for its base warns and gets none.

    The base of a byte-level one holds, in place of the alphabet, what the merges of characters make.
    """
    n_special = len(vocabulary.special_tokens)
    if vocabulary.n_merges is not None:
        # the published size test counts special tokens before they are appended (mws.md, Training)
        return vocabulary.n_merges + (n_special if isinstance(settings, ClassicSettings) else 0)
    wanted = DEFAULT_VOCAB_SIZE if vocabulary.vocab_size is None else vocabulary.vocab_size
    in_bytes = alphabet_kind(settings, vocabulary) == "bytes"
    n_alphabet = len(character_merges(alphabet) if in_bytes else alphabet)
    base = n_special + len(BYTE_TOKENS) + n_alphabet
    if wanted < base:
        logger.warning(
            "vocab_size=%d is less than %d special tokens + %d byte tokens + %d %s = %d: no merges are "
            "learnt; raise vocab_size, or set limit_alphabet",
            wanted, n_special, len(BYTE_TOKENS), n_alphabet, "parts of characters" if in_bytes else "characters", base,
        )  # fmt: skip
    return max(0, wanted - base)


def _learn_morphs(
    words: CodePoints, counts: WordCounts, settings: CriterionSettings, vocabulary: VocabularySettings,
    alphabet: list[str], n_merges: int, evidence: Evidence | None, show_progress: bool,
) -> tuple[LearnedMerges, Segmentation | None]:  # fmt: skip
    """The criterion's own merges, and words cut by them where the learner has kept them."""
    if isinstance(settings, ClassicSettings):
        return _learn_classic(words, counts, settings, vocabulary, alphabet, n_merges, show_progress)
    if evidence is None:
        return LearnedMerges([]), None
    from mws_hf.learn.contextual import learn_contextual
    from mws_hf.learn.evidence.forms import collect_forms

    return learn_contextual(
        collect_forms(words, counts.counts),
        alphabet,
        n_merges,
        evidence,
        crossing_penalty=settings.crossing_penalty,
        types=vocabulary.types,
        min_frequency=vocabulary.min_frequency,
        max_token_length=vocabulary.max_token_length,
        forbidden=frozenset(vocabulary.special_tokens),
        show_progress=show_progress,
    )


def _learn_classic(
    words: CodePoints, counts: WordCounts, settings: ClassicSettings, vocabulary: VocabularySettings,
    alphabet: list[str], n_merges: int, show_progress: bool,
) -> tuple[LearnedMerges, Segmentation]:  # fmt: skip
    from mws_hf.learn.classic.learner import learn_classic
    from mws_hf.learn.engine.segmentation import Segmentation

    weights = None if vocabulary.types else counts.counts
    segmentation = Segmentation(SymbolCorpus.from_words(words, weights, alphabet))
    learned = learn_classic(
        segmentation,
        n_merges,
        settings,
        min_frequency=vocabulary.min_frequency,
        max_token_length=vocabulary.max_token_length,
        forbidden=frozenset(vocabulary.special_tokens),
        show_progress=show_progress,
    )
    return learned, segmentation


def _prepare(
    words: CodePoints, counts: WordCounts, groups: GroupedCounts, settings: CriterionSettings,
    vocabulary: VocabularySettings, alphabet: list[str], evidence: Evidence | None,
) -> Callable[[], PricedWords]:  # fmt: skip
    """What gives the words as compositions need them, once memory is free for it; `words` are those of `counts`."""
    from mws_hf.learn.composition import price_words

    repeated = groups.repeated(vocabulary.weights)
    listed = words if repeated is counts else CodePoints.of_counts(repeated)
    if evidence is None or not isinstance(settings, ContextualSettings):
        plain = price_words(listed, repeated.counts, alphabet)
        return lambda: plain
    from mws_hf.learn.capitals import with_capitals
    from mws_hf.learn.hidden_boundaries import priced_boundaries

    listed, times = with_capitals(listed, repeated.counts)
    boundaries = partial(priced_boundaries, evidence, listed, evidence.types_of(listed))
    give_back()  # what the look-up took
    return partial(price_words, listed, times, alphabet, boundaries, settings.hidden_boundary_price)


def _compose(
    words: PricedWords, vocabulary: VocabularySettings, morphs: list[tuple[str, str]], n_merges: int,
    known: Segmentation | None, show_progress: bool,
) -> list[tuple[str, str]]:  # fmt: skip
    from mws_hf.learn.composition import learn_compositions

    return learn_compositions(
        words,
        morphs,
        n_merges,
        known=known,
        min_frequency=vocabulary.min_frequency,
        max_token_length=vocabulary.max_token_length,
        forbidden=frozenset(vocabulary.special_tokens),
        show_progress=show_progress,
    ).merges
