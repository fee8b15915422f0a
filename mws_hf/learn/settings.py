"""Hold what `learn` is told: settings of each criterion and of both, also as flat arguments and as records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

from mws_hf.corpus.groups import check_weights
from mws_hf.corpus.labels import is_by_group, read_group_labels, read_labels, to_mapping
from mws_hf.errors import MwSError
from mws_hf.learn.classic.coefficient import ClassicSettings
from mws_hf.learn.described import check_composition, check_settings
from mws_hf.learn.evidence.settings import EvidenceSettings
from mws_hf.learn.wishes import Apart
from mws_hf.text.alphabets import characters_of
from mws_hf.text.byte_alphabet import DEFAULT_ALPHABET, Alphabet, check_alphabet_kind
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS, check_special_tokens

DEFAULT_VOCAB_SIZE = 32_000

DEFAULT_COMPOSITION = 0.5
"""Share of the merges given to compositions by the contextual criterion.

Half of 32,000 leaves more morph merges than most lists yield evidence for, and at 8,000 the morph F1 is on its plateau
from 4,000 on (scripts/LOG.md, 2026-11-21).
"""

MULTILINGUAL_COMPOSITION = 0.6
"""Share of the merges given to compositions where there are several groups, such as languages.

Morphs are learnt with every language alike, compositions by the frequencies of the text, as BPE does. With half of the
merges a language that has more text than others gets too few whole words. Measured on eight languages at 64,000 and
128,000 entries against BPE of the same text: Russian has up to 9 % more tokens a word with .5, at most 7.7 % with .6
(scripts/LOG.md, 2026-11-22).
"""

DEFAULT_HIDDEN_BOUNDARY_PRICE = 1.0
"""Price of hiding one certain boundary of one word type, in units of the mean frequency of a word type.

1 means: a composition must save at least as many tokens as an average type has occurrences for each boundary it hides.
At 32,000 entries this costs 4.6 (English) to 7.9 % (Russian) more tokens a word than BPE and keeps 80 (forms of Russian
text) to 100 % (English) of the boundary F1 of the morphs (scripts/results/quality.md). 0 (plain frequency) costs .5 %
more in Finnish and 2.6 % in Russian, and keeps 79 and 73 % of the F1 (scripts/LOG.md, 2026-11-22).
"""

DEFAULT_CROSSING_PENALTY = 16.0


@dataclass(frozen=True)
class ContextualSettings:
    """Settings of the contextual criterion; `evidence` holds the constants of the boundary evidence.

    The others are arguments of `mws_hf.MwSTrainer` and described there. A `crossing_penalty` of 8 with a `granularity`
    0.02 higher is a tie on the mean.

    Raises:
        MwSError: a value is out of range.

    >>> ContextualSettings(hidden_boundary_price=0.3).evidence.max_types
    400000
    """

    crossing_penalty: float = DEFAULT_CROSSING_PENALTY
    hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)

    def __post_init__(self) -> None:
        check_settings(self)


CriterionSettings = ClassicSettings | ContextualSettings

_FLAT_EVIDENCE = ("max_types", "granularity", "labels")
"""The constants of the evidence that are flat arguments too."""

_OLD_NAMES = {"cut_rate": "granularity", "burial_cost": "hidden_boundary_price"}
"""Settings in older records, and what they are called now."""

_OWN: dict[str, tuple[str, ...]] = {
    "contextual": ("crossing_penalty", "hidden_boundary_price", *_FLAT_EVIDENCE),
    "classic": tuple(each.name for each in fields(ClassicSettings)),
}
"""The flat arguments of each criterion."""

_RECORDED = (
    *("vocab_size", "n_merges", "min_frequency", "min_count", "limit_alphabet", "max_token_length", "types"),
    "composition",
)
"""The shared settings that a record of a training keeps."""


@dataclass(frozen=True, kw_only=True)
class VocabularySettings:
    """Settings that both criteria share; each field is the argument of the same name of `mws_hf.MwSTrainer`.

    Raises:
        MwSError: a value is out of range, or both `vocab_size` and `n_merges` are given.

    >>> VocabularySettings(initial_alphabet="ba").initial_alphabet
    ['a', 'b']
    """

    vocab_size: int | None = None
    n_merges: int | None = None
    min_frequency: int = 0
    min_count: int = 1
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS
    initial_alphabet: Iterable[str] = ()
    tokens: Sequence[str] = ()
    keep_apart: Sequence[str] = ()
    limit_alphabet: int | None = None
    max_token_length: int | None = None
    types: bool = True
    composition: float | Literal["fill"] | None = None
    alphabet: Alphabet | None = None
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.vocab_size is not None and self.n_merges is not None:
            raise MwSError("vocab_size and n_merges both given; give one of them")
        check_settings(self)
        check_composition(self.composition)
        if self.alphabet is not None:
            check_alphabet_kind(self.alphabet)
        object.__setattr__(self, "weights", check_weights(self.weights))
        object.__setattr__(self, "special_tokens", check_special_tokens(self.special_tokens))
        object.__setattr__(self, "initial_alphabet", characters_of(self.initial_alphabet))
        for name in ("tokens", "keep_apart"):
            object.__setattr__(self, name, _strings(name, getattr(self, name)))
        self.apart  # noqa: B018  # refuses what cannot be kept apart

    @cached_property
    def apart(self) -> Apart:
        """Return what `keep_apart` says, read."""
        return Apart.of(self.keep_apart)


def _strings(name: str, given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise MwSError(f"{name}={given!r}: give a list of strings")
    return tuple(given)


def criterion_of(settings: CriterionSettings) -> Literal["contextual", "classic"]:
    """Name the criterion that settings belong to."""
    return "classic" if isinstance(settings, ClassicSettings) else "contextual"


def alphabet_kind(settings: CriterionSettings, vocabulary: VocabularySettings) -> Alphabet:
    """Tell whether symbols below the merges are bytes or characters; the classic criterion defaults to characters."""
    if vocabulary.alphabet is not None:
        return vocabulary.alphabet
    return "characters" if isinstance(settings, ClassicSettings) else DEFAULT_ALPHABET


def read_settings(arguments: Mapping[str, Any]) -> tuple[CriterionSettings, VocabularySettings]:
    """Read settings from flat arguments, as `mws_hf.MwSTrainer` takes them.

    Args:
        arguments: fields of `VocabularySettings`; ``criterion``, a name or the settings themselves; and the criterion's
            own arguments, where None stands for the default.

    Raises:
        MwSError: an argument is unknown, out of range, or of the other criterion.

    >>> read_settings({"criterion": "classic", "log_base": 3.0})[0].log_base
    3.0
    >>> read_settings({"criterion": "classic", "hidden_boundary_price": 0.3})
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: hidden_boundary_price=0.3 belongs to criterion='contextual', not to 'classic'; leave it out
    """
    shared = {each.name for each in fields(VocabularySettings)}
    criterion = arguments.get("criterion", "contextual")
    own = {name: value for name, value in arguments.items() if name not in shared and name != "criterion"}
    vocabulary = VocabularySettings(**{name: value for name, value in arguments.items() if name in shared})
    return _criterion_settings(criterion, {n: value for n, value in own.items() if value is not None}), vocabulary


def _criterion_settings(criterion: Any, given: dict[str, Any]) -> CriterionSettings:
    if isinstance(criterion, ClassicSettings | ContextualSettings):
        if given:
            raise MwSError(f"{', '.join(given)}: given beside settings of the criterion; write it into the settings")
        return criterion
    if not isinstance(criterion, str) or criterion not in _OWN:
        raise MwSError(f"criterion {criterion!r} is unknown; choose 'contextual' or 'classic'")
    other = "classic" if criterion == "contextual" else "contextual"
    for name, value in given.items():
        if name in _OWN[other]:
            raise MwSError(f"{name}={value!r} belongs to criterion={other!r}, not to {criterion!r}; leave it out")
        if name not in _OWN[criterion]:
            raise MwSError(f"unknown argument {name!r}; known for {criterion!r}: {', '.join(_OWN[criterion])}")
    if criterion == "classic":
        return ClassicSettings(**given)
    if "labels" in given and is_by_group(given["labels"]):
        given["group_labels"] = read_group_labels(given.pop("labels"))
    elif "labels" in given:
        given["labels"] = read_labels(given["labels"])
    evidence = EvidenceSettings(
        **{name: given.pop(name) for name in (*_FLAT_EVIDENCE, "group_labels") if name in given}
    )
    return ContextualSettings(**given, evidence=evidence)


def to_record(
    settings: CriterionSettings, vocabulary: VocabularySettings, pattern: str, normalization: str | None
) -> dict[str, Any]:
    """Write the settings that decide about merges as a flat dict, for mws_training.json beside a tokenizer."""
    record: dict[str, Any] = {"criterion": criterion_of(settings), "pattern": pattern, "normalization": normalization}
    record |= {name: getattr(vocabulary, name) for name in _RECORDED} | asdict(settings)
    record["alphabet"] = alphabet_kind(settings, vocabulary)
    record |= {"weights": dict(vocabulary.weights)} if vocabulary.weights else {}
    record |= {name: list(value) for name in ("tokens", "keep_apart") if (value := getattr(vocabulary, name))}
    if isinstance(settings, ContextualSettings):
        evidence, usual = record.pop("evidence"), asdict(EvidenceSettings())
        record |= {name: evidence.pop(name) for name in _FLAT_EVIDENCE}
        del evidence["group_labels"]
        by_group = {name: to_mapping(labels) for name, labels in settings.evidence.group_labels.items()}
        record["labels"] = by_group or to_mapping(settings.evidence.labels) or None
        changed = {name: value for name, value in evidence.items() if value != usual[name]}
        record |= {"evidence": changed} if changed else {}
    return record


def from_record(record: Mapping[str, Any]) -> tuple[CriterionSettings, VocabularySettings]:
    """Read the settings of a record. Unknown names are passed over, and in older records those of the other criterion.

    Raises:
        MwSError: a value is out of range.
        TypeError: a value has a type that `to_record` never writes.

    >>> settings = ContextualSettings(evidence=EvidenceSettings(granularity=0.1))
    >>> from_record(to_record(settings, VocabularySettings(), "a", None))[0] == settings
    True
    """
    names = (
        "criterion",
        "weights",
        "tokens",
        "keep_apart",
        *_RECORDED,
        *_OWN.get(str(record.get("criterion", "contextual")), ()),
    )
    record = {_OLD_NAMES.get(name, name): value for name, value in record.items()}
    arguments = {name: record[name] for name in names if name in record}
    arguments["alphabet"] = record.get("alphabet", "characters")  # older records know of no other
    settings, vocabulary = read_settings(arguments)
    evidence = (record.get("evidence") or {}).items()
    changed: dict[str, Any] = {_OLD_NAMES.get(n, n): tuple(v) if isinstance(v, list) else v for n, v in evidence}
    if isinstance(settings, ContextualSettings):
        settings = replace(settings, evidence=replace(settings.evidence, **changed))
    return settings, vocabulary
