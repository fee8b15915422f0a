"""Hold what `learn` is given: the settings of each criterion and of both, from flat arguments and from records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.groups import check_weights
from mws_hf.corpus.token_table import TokenTable
from mws_hf.errors import MwSError, SettingError
from mws_hf.kernels.arrays import Array, Mask
from mws_hf.learn.described import (
    CROSSING_PENALTY,
    GRANULARITY,
    HIDDEN_BOUNDARY_PRICE,
    MOST_TYPES,
    VocabularyFields,
    check_settings,
)
from mws_hf.learn.words import utf8_sizes
from mws_hf.text.alphabets import characters_of
from mws_hf.text.byte_alphabet import DEFAULT_ALPHABET, Alphabet, check_alphabet_kind
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.text.special import BYTE_TOKENS, check_order, check_special_tokens

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import GoldWord
    from mws_hf.learn.classic.coefficient import ClassicSettings
else:  # its name is enough to read the descriptions
    GoldWord = Any

DEFAULT_VOCAB_SIZE = 32_000

DEFAULT_COMPOSITION = 0.5
"""Share of the merges given to compositions by the contextual criterion.

Half of 32,000 leaves more morph merges than most lists yield evidence for, and at 8,000 the morph F1 is on its plateau
from 4,000 on (scripts/log, 2026-11-21).
"""

MULTILINGUAL_COMPOSITION = 0.6
"""Share of the merges given to compositions where there are several groups, such as languages.

Morphs are learnt with every language alike, compositions by the frequencies of the text, as BPE does. With half of the
merges a language that has more text than others gets too few whole words. Measured on eight languages at 64,000 and
128,000 entries against BPE of the same text: Russian has up to 9 % more tokens a word with .5, at most 7.7 % with .6
(scripts/log, 2026-11-22).
"""

DEFAULT_HIDDEN_BOUNDARY_PRICE = 1.0
"""Price of hiding one certain boundary of one word type, in units of the mean frequency of a word type.

1 means: a composition must save at least as many tokens as an average type has occurrences for each boundary it hides.
At 32,000 entries this costs 4.6 (English) to 7.9 % (Russian) more tokens a word than BPE and keeps 80 (forms of Russian
text) to 100 % (English) of the boundary F1 of the morphs (scripts/results/quality.md). 0 (plain frequency) costs .5 %
more in Finnish and 2.6 % in Russian, and keeps 79 and 73 % of the F1 (scripts/log, 2026-11-22).
"""

DEFAULT_CROSSING_PENALTY = 16.0

DEFAULT_GRANULARITY = 0.095
"""From 0.09 to 0.11 English falls from 0.663 to 0.654 and Turkish rises from 0.664 to 0.676."""


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings of the boundary evidence; its constants are in the modules of the views.

    One set of constants serves all languages. They were chosen on the gold sets of README's quality table, language by
    language as their notes and scripts/log show, so that figures on those sets are mildly optimistic; other gold was
    never looked at.

    Attributes:
        max_types: evidence is given for this many most frequent word types; from 150,000 to 400,000 Hungarian gains
            0.008, Russian lemmas 0.010 and Czech 0.047, Finnish nothing.
        granularity: share of the places inside words (between two letters of one) where the evidence for a boundary
            passes one half, 0.01 to 0.3: more cuts finer. Together with `ensemble.SHARPNESS` and the crossing
            penalty it sets how much is cut. None: as the labels ask, or `DEFAULT_GRANULARITY`.
        labels: words cut by hand, to which the evidence is fitted (`labels.refit`), of one list of words.
        group_labels: the same by group, where groups are named.

    Raises:
        MwSError: a value is out of range.
    """

    max_types: Annotated[int, MOST_TYPES] = 400_000
    granularity: Annotated[float | None, GRANULARITY] = None
    labels: tuple[GoldWord, ...] = ()
    group_labels: Mapping[str, tuple[GoldWord, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class ContextualSettings:
    """Settings of the contextual criterion; `evidence` holds the settings of the boundary evidence.

    `hidden_boundary_price` and the settings of the evidence are arguments of `mws_hf.MwSTrainer` too and described
    there. A `crossing_penalty` (the price of merging across a boundary against one within a morph) of 8 with a
    `granularity` 0.02 higher is a tie on the mean.

    Raises:
        MwSError: a value is out of range.
    """

    crossing_penalty: Annotated[float, CROSSING_PENALTY] = DEFAULT_CROSSING_PENALTY
    hidden_boundary_price: Annotated[float, HIDDEN_BOUNDARY_PRICE] = DEFAULT_HIDDEN_BOUNDARY_PRICE
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)

    criterion: ClassVar[Literal["contextual", "classic"]] = "contextual"
    usual_alphabet: ClassVar[Alphabet] = DEFAULT_ALPHABET
    usual_pattern: ClassVar[str] = DEFAULT_PATTERN
    as_published: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)

    @staticmethod
    def usual_composition(n_groups: int) -> float:
        """The share of compositions where none is asked for."""
        return DEFAULT_COMPOSITION if n_groups == 1 else MULTILINGUAL_COMPOSITION


_SHIFT = 21  # bits of a code point


@dataclass(frozen=True)
class Apart:
    """Characters that are merged with no other, and strings of two characters that no merge joins in this order."""

    alone: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Apart:
        """Read a list of entries, each of one character or two.

        Raises:
            MwSError: an entry is empty or longer.

        >>> Apart.of(["'", "12"]) == Apart(frozenset("'"), frozenset(["12"]))
        True
        """
        given = list(entries)
        for entry in given:
            if not isinstance(entry, str) or not 1 <= len(entry) <= 2:
                raise MwSError(f"{entry!r} cannot be kept apart; give one character, or two that are not to be joined")
        return cls(frozenset(e for e in given if len(e) == 1), frozenset(e for e in given if len(e) == 2))

    def after(self, points: Array) -> Mask:
        """Find the places that no merge may cross: bool, True after each of the n code points where a merge must stop.

        >>> Apart.of(["'", "12"]).after(np.array([ord(c) for c in "a'b121"])).tolist()
        [True, True, False, True, False, False]
        """
        points = points.astype(np.int64)
        alone = np.isin(points, [ord(character) for character in self.alone])
        found = alone.copy()
        found[:-1] |= alone[1:]
        codes = [ord(pair[0]) << _SHIFT | ord(pair[1]) for pair in self.pairs]
        found[:-1] |= np.isin(points[:-1] << _SHIFT | points[1:], codes)
        return found

    def split(self, counts: WordCounts) -> WordCounts:
        """Cut words where characters are kept apart; each part counts as often as the words that hold it.

        >>> counts = WordCounts.from_mapping({" it's": 3, "s": 1}, pattern="...")
        >>> dict(Apart.of("'").split(counts).items())
        {'s': 4, ' it': 3, "'": 3}
        """
        if not (self.alone or self.pairs) or not len(counts):
            return counts
        points, starts = counts.code_points()
        data, offsets = counts.utf8()
        cuts = np.union1d(starts, np.nonzero(self.after(points))[0] + 1)
        ends = offsets[0] + np.concatenate([[0], np.cumsum(utf8_sizes(points))])
        owner = np.searchsorted(starts, cuts[:-1], "right") - 1
        table = TokenTable()
        table.count_words(data, ends[cuts], counts.counts[owner])
        strings, numbers = table.entries()
        return WordCounts.from_arrays(
            strings, numbers, pattern=counts.pattern, normalization=counts.normalization, checked=True
        )


CriterionSettings: TypeAlias = "ClassicSettings | ContextualSettings"

_EVIDENCE = ("max_types", "granularity", "labels")
"""What a record keeps of the evidence's settings; labels are by group where groups are named."""

_OF_TRAINER = ("hidden_boundary_price", "granularity", "labels")
"""The settings of the contextual criterion that are flat arguments too."""

_RECORDED = (
    *("vocab_size", "n_merges", "min_frequency", "min_count", "limit_alphabet", "max_token_length", "types"),
    "composition",
)
"""The shared settings that a record of a training always keeps."""


@dataclass(frozen=True, kw_only=True)
class VocabularySettings(VocabularyFields):
    """Settings that both criteria share; each field is the argument of the same name of `mws_hf.MwSTrainer`.

    Raises:
        MwSError: a value is out of range, or both `vocab_size` and `n_merges` are given.

    >>> VocabularySettings(initial_alphabet="ba").initial_alphabet
    ['a', 'b']
    """

    def __post_init__(self) -> None:
        if self.vocab_size is not None and self.n_merges is not None:
            raise SettingError("vocab_size", self.vocab_size, "is given beside a number of merges; give one of them")
        check_settings(self)
        if self.alphabet is not None:
            check_alphabet_kind(self.alphabet)
        object.__setattr__(self, "weights", check_weights(self.weights))
        object.__setattr__(self, "special_tokens", check_special_tokens(self.special_tokens))
        if self.vocab_size is not None and self.vocab_size < (least := len(self.special_tokens) + len(BYTE_TOKENS)):
            said = f"is less than the {least} entries of {len(BYTE_TOKENS)} bytes and the special tokens; ask for more"
            raise SettingError("vocab_size", self.vocab_size, said)
        object.__setattr__(self, "initial_alphabet", characters_of(self.initial_alphabet))
        for name in ("tokens", "keep_apart"):
            given = getattr(self, name)
            check_order(name, given)
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise MwSError(f"{name}={given!r}: give a list of strings")
            object.__setattr__(self, name, tuple(given))
        self.apart  # noqa: B018  # refuses what cannot be kept apart

    @property
    def wanted(self) -> int | None:
        """The entries asked for; None where a number of merges is."""
        return DEFAULT_VOCAB_SIZE if self.vocab_size is None and self.n_merges is None else self.vocab_size

    @cached_property
    def apart(self) -> Apart:
        """Return what `keep_apart` says, read."""
        return Apart.of(self.keep_apart)


def alphabet_kind(settings: CriterionSettings, vocabulary: VocabularySettings) -> Alphabet:
    """Return whether symbols below the merges are bytes or characters; each criterion has its default."""
    return settings.usual_alphabet if vocabulary.alphabet is None else vocabulary.alphabet


def read_settings(arguments: Mapping[str, Any]) -> tuple[CriterionSettings, VocabularySettings]:
    """Read settings from flat arguments, as `mws_hf.MwSTrainer` takes them.

    Args:
        arguments: fields of `VocabularySettings`; ``criterion``, a name or the settings themselves; and the contextual
            criterion's own arguments, where None stands for the default.

    Raises:
        MwSError: an argument is unknown, out of range, or of the other criterion.

    >>> read_settings({"hidden_boundary_price": 0.3})[0].hidden_boundary_price
    0.3
    """
    shared = {each.name for each in fields(VocabularySettings)}
    own = {name: value for name, value in arguments.items() if name not in shared and value is not None}
    vocabulary = VocabularySettings(**{name: value for name, value in arguments.items() if name in shared})
    return _criterion_settings(own.pop("criterion", "contextual"), own), vocabulary


def _criterion_settings(criterion: Any, given: dict[str, Any]) -> CriterionSettings:
    for name in given:
        if name not in _OF_TRAINER:
            raise MwSError(f"unknown argument {name!r}; of the criterion there are {', '.join(_OF_TRAINER)}")
    if criterion == ContextualSettings.criterion:
        return _contextual(given)
    from mws_hf.learn.classic.coefficient import ClassicSettings

    if isinstance(criterion, ClassicSettings | ContextualSettings):
        if given:
            raise MwSError(f"{', '.join(given)}: given beside settings of the criterion; write it into the settings")
        return criterion
    if criterion != ClassicSettings.criterion:
        raise MwSError(f"criterion {criterion!r} is unknown; choose 'contextual' or 'classic'")
    for name, value in given.items():
        raise SettingError(name, value, "belongs to the contextual criterion; leave it out")
    return ClassicSettings()


def _contextual(given: dict[str, Any]) -> ContextualSettings:
    if "labels" in given:
        from mws_hf.corpus.segmentations import is_by_group, read_group_labels, read_labels

        by_group = is_by_group(given["labels"])
        labels = given.pop("labels")
        given |= {"group_labels": read_group_labels(labels)} if by_group else {"labels": read_labels(labels)}
    evidence = {name: given.pop(name) for name in (*_EVIDENCE, "group_labels") if name in given}
    return ContextualSettings(**given, evidence=EvidenceSettings(**evidence))


def to_record(
    settings: CriterionSettings, vocabulary: VocabularySettings, pattern: str, normalization: str | None
) -> dict[str, Any]:
    """Write the settings that decide about merges as a flat dict, for mws_training.json beside a tokenizer."""
    record: dict[str, Any] = {"criterion": settings.criterion, "pattern": pattern, "normalization": normalization}
    record |= {name: getattr(vocabulary, name) for name in _RECORDED} | asdict(settings)
    record["alphabet"] = alphabet_kind(settings, vocabulary)
    record |= {"weights": dict(vocabulary.weights)} if vocabulary.weights else {}
    record |= {name: list(value) for name in ("tokens", "keep_apart") if (value := getattr(vocabulary, name))}
    if isinstance(settings, ContextualSettings):
        evidence = settings.evidence
        del record["evidence"]
        record |= {"max_types": evidence.max_types, "granularity": evidence.granularity, "labels": None}
        if evidence.labels or evidence.group_labels:
            from mws_hf.corpus.segmentations import to_mapping

            by_group = {name: to_mapping(labels) for name, labels in evidence.group_labels.items()}
            record["labels"] = by_group or to_mapping(evidence.labels) or None
    return record


def from_record(record: Mapping[str, Any]) -> tuple[CriterionSettings, VocabularySettings]:
    """Read the settings of a record; unknown names are passed over.

    Raises:
        MwSError: a value is out of range.
        TypeError: a value has a type that `to_record` never writes.
    """
    shared = ("weights", "tokens", "keep_apart", "alphabet", *_RECORDED)
    vocabulary = VocabularySettings(**{name: record[name] for name in shared if name in record})
    if record.get("criterion") == "classic":
        from mws_hf.learn.classic.coefficient import ClassicSettings

        own = [each.name for each in fields(ClassicSettings) if each.name in record]
        return ClassicSettings(**{name: record[name] for name in own}), vocabulary
    names = [each.name for each in fields(ContextualSettings) if each.name != "evidence"]
    return _contextual(
        {name: record[name] for name in (*names, *_EVIDENCE) if record.get(name) is not None}
    ), vocabulary
