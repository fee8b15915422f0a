"""Describe settings, and check and record their values, in a base class for dataclasses of settings.

The docstring of a class, the options of a command, the reference page and the training metadata come from the
descriptions of its fields. Nothing heavy is imported here, because the help of a command must start without numpy.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, field, fields
from numbers import Integral, Real
from typing import Any, NamedTuple, Self, TypeVar

from mws_hf.errors import MwSError, SettingError, nearest, quoted

T = TypeVar("T")

PLACE = "The arguments are described in `mws_hf.learn.settings`."
"""The sentence in a docstring that `described` replaces by the arguments."""
CONTEXTUAL, CLASSIC = "contextual", "classic"
"""The criteria by which merges are chosen."""


class Range(NamedTuple):
    """The numbers that a setting accepts.

    Attributes:
        least: minimum.
        most: maximum; by default the largest finite number.
        whole: True if only whole numbers are accepted.
        above: True if `least` itself is not accepted.
        word: a word that is accepted instead of a number, "" for none.
        advice: which values are useful, for the message about any other value.
    """

    least: float = 0
    most: float = 1.7976931348623157e308
    whole: bool = False
    above: bool = False
    word: str = ""
    advice: str = ""


COUNT, NUMBER, FLAG = Range(whole=True), Range(), "flag"
"""Values of `Setting.takes`: whole numbers from 0 up, finite numbers from 0 up, and True or False."""


_DESCRIPTION = "setting"
"""The key of a description in the metadata of a dataclass field."""


class Setting(NamedTuple):
    """The description of a setting, and the values that it accepts.

    Attributes:
        about: what it does, in sentences.
        default: its default in words, "" if the signature shows it.
        more: sentences that only users of Python need.
        criterion: the criterion that it belongs to, "" for both.
        takes: the accepted values: a `Range`, or `FLAG`; None if other code checks them. None as a value is replaced by
            the default.
        option: option of `mws train`, "" if it is the name of the setting, None if there is no option.
        metavar: what the help of the option shows for its value.
        shown: the default as the help of the option shows it, None if it is `default`.
        first: True if it is one of the settings that people change first.
        unrecorded: the reason why training metadata do not contain it, "" if they do.
    """

    about: str
    default: str = ""
    more: str = ""
    criterion: str = ""
    takes: Range | str | None = None
    option: str | None = ""
    metavar: str | None = None
    shown: str | None = None
    first: bool = False
    unrecorded: str = ""

    def field(self, default: Any = MISSING, default_factory: Any = MISSING) -> Any:
        """Return a dataclass field with this description; the arguments are those of `dataclasses.field`.

        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Job:
        ...     n_pairs: int = Setting("Pairs to merge.").field(3)
        >>> Job().n_pairs, descriptions_of(Job)["n_pairs"].about
        (3, 'Pairs to merge.')
        """
        return field(default=default, default_factory=default_factory, metadata={_DESCRIPTION: self})

    def option_help(self) -> str:
        """Return the help text of the option.

        >>> Setting("Pairs to merge.", "all", criterion=CONTEXTUAL).option_help()
        'Pairs to merge [default: all; not with --criterion classic].'
        """
        value_shown = self.default if self.shown is None else self.shown
        other = "; not with --criterion classic" if self.criterion == CONTEXTUAL else ""
        return f"{self.about[:-1]} [default: {value_shown}{other}]." if value_shown else self.about

    def argument_help(self) -> str:
        """Return the text of the argument in a docstring.

        >>> Setting("Pairs to merge.", "all", "An int.", criterion=CONTEXTUAL).argument_help()
        'Pairs to merge. An int. Only with the contextual criterion. Default: all.'
        """
        only = f"Only with the {self.criterion} criterion." if self.criterion else ""
        kept = f"Not in the training metadata, because {self.unrecorded}." if self.unrecorded else ""
        return " ".join(filter(None, [self.about, self.more, only, self.default and f"Default: {self.default}.", kept]))


def descriptions_of(cls: Any) -> dict[str, Setting]:
    """Return the descriptions of the fields of a dataclass by name, in their order."""
    return {entry.name: entry.metadata[_DESCRIPTION] for entry in fields(cls) if _DESCRIPTION in entry.metadata}


def plain(value: Any) -> Any:
    """Return the value of a setting as JSON can contain it; labels (`GoldWord`) become words with their morphs."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if not isinstance(value, list | tuple):
        return value
    if value and hasattr(value[0], "segmentations"):
        return {label.word: [list(morphs) for morphs in label.segmentations] for label in value}
    return list(value)


def described(documented: type[T]) -> type[T]:
    """Replace `PLACE` in the docstring of a class by the descriptions of its fields, and return the class."""
    if documented.__doc__:
        settings = descriptions_of(documented)
        lines = "\n".join(f"    {name}: {setting.argument_help()}" for name, setting in settings.items())
        documented.__doc__ = inspect.cleandoc(documented.__doc__).replace(PLACE, f"Args:\n{lines}")
    return documented


_RENAMED = {"tokens": "required"}
"""Former names of settings (before 0.4) and their present names."""


def check_names(taker: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise MwSError for the first unknown name of a setting, with the most similar known one.

    >>> check_names("MwSTrainer", ["vocab"], ["vocab_size", "n_merges"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: MwSTrainer has no setting 'vocab'; did you mean 'vocab_size'?
    """
    for name in given:
        if name not in known:
            near = _RENAMED.get(name) or nearest(name, known)
            advice = f"did you mean {near!r}?" if near else f"its settings are {', '.join(known)}"
            raise MwSError(f"{taker} has no setting {name!r}; {advice}")


class Described:
    """Base class of dataclasses with described fields, which checks their names and values and saves them as JSON."""

    criterion: str

    def __new__(cls, *values: Any, **given: Any) -> Self:
        """Raise MwSError for an unknown name and for a value without a name."""
        if values:
            raise MwSError(f"{cls.__name__}({values[0]!r}): give settings by name, for example vocab_size=32000")
        check_names(cls.__name__, given, descriptions_of(cls))
        return super().__new__(cls)

    def set(self, values: Mapping[str, Any]) -> None:
        """Set fields of the frozen dataclass while it is created; afterwards they do not change."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def check(self) -> None:
        """Replace None by the default in each field, and check the value by its description.

        Numbers of numpy and other libraries become those of Python, so that training metadata can contain them.

        Raises:
            MwSError: the criterion is unknown, or a setting belongs to the other criterion or has a value that it does
                not accept.
        """
        defaults = {
            entry.name: entry.default if entry.default_factory is MISSING else entry.default_factory()
            for entry in fields(self)  # type: ignore[arg-type]
        }
        self.set({name: python_value(getattr(self, name)) for name in defaults})
        self.set({name: default for name, default in defaults.items() if getattr(self, name) is None})
        if self.criterion not in (CONTEXTUAL, CLASSIC):
            raise MwSError(f"criterion {self.criterion!r} is unknown; choose {CONTEXTUAL!r} or {CLASSIC!r}")
        for name, setting in descriptions_of(self.__class__).items():
            value = getattr(self, name)
            if setting.criterion not in ("", self.criterion) and value != defaults[name]:
                raise SettingError(name, value, f"belongs to the {setting.criterion} criterion; leave it out")
            if setting.takes == FLAG and not isinstance(value, bool):  # "False", which Python would count as true
                raise SettingError(name, value, "is neither True nor False")
            if isinstance(setting.takes, Range):
                check_range(name, value, setting.takes, optional=defaults[name] is None)

    def changed(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults of their criterion."""
        usual = type(self)(criterion=self.criterion)
        values = {name: getattr(self, name) for name in descriptions_of(self.__class__)}
        changed = {name: value for name, value in values.items() if value != getattr(usual, name)}
        return changed if self.criterion == CONTEXTUAL else {"criterion": self.criterion, **changed}

    def __repr__(self) -> str:
        """Write the settings that differ from the defaults, long values shortened."""
        arguments = ", ".join(self._argument(name, value) for name, value in self.changed().items())
        return f"{self.__class__.__name__}({arguments})"

    def _argument(self, name: str, value: Any) -> str:
        """Write a setting as an argument for `repr`."""
        return f"{name}={quoted(value)}"

    @classmethod
    def _recorded(cls, criterion: str) -> list[str]:
        """List the settings that training metadata with this criterion contain."""
        described = descriptions_of(cls).items()
        return [name for name, item in described if item.criterion in ("", criterion) and not item.unrecorded]

    @property
    def record(self) -> dict[str, Any]:
        """The settings as plain values, which mws_training.json contains next to a tokenizer."""
        return {name: plain(getattr(self, name)) for name in self._recorded(self.criterion)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], **others: Any) -> Self:
        """Restore the settings of a training from its training metadata; no file is read.

        Args:
            record: content of mws_training.json, its part ``settings``, or ``training.settings`` of a tokenizer that
                was just trained. Names that are not settings are ignored.
            **others: settings to change.

        Raises:
            MwSError: `record` is not a mapping, such as None for a tokenizer without training metadata; a name in
                `others` is unknown; a value is not accepted; or labels are a file.
            TypeError: a value has a type that no training metadata have.

        >>> from mws_hf.learn.settings import Settings
        >>> Settings.from_record({"vocab_size": 500, "word_types": 3}, min_count=2).vocab_size
        500
        """
        if not isinstance(record, Mapping):
            raise MwSError(
                f"the training metadata are {quoted(record)}, not a dict of settings; only a tokenizer that mws_hf "
                "trained has them (mws_training.json)"
            )
        if isinstance(record.get("settings"), Mapping):  # the whole file
            record = record["settings"]
        names = cls._recorded(record.get("criterion", CONTEXTUAL))
        kept = {_RENAMED.get(name, name): value for name, value in record.items() if value is not None}
        if kept.get("labels"):
            from mws_hf.corpus.labeled_words import read_all_labels

            kept["labels"] = read_all_labels(kept["labels"], files=False)
        return cls(**{name: kept[name] for name in names if name in kept} | others)


def python_value(value: Any) -> Any:
    """Convert a number, truth value or string of another library, such as numpy, to the type of Python.

    Any other value is returned unchanged, and so is an array.

    >>> from fractions import Fraction
    >>> python_value(Fraction(1, 2)), python_value("fill"), python_value([1])
    (0.5, 'fill', [1])
    """
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    if isinstance(value, Integral | Real) and not isinstance(value, int | float):
        return int(value) if isinstance(value, Integral) else float(value)
    return value


def check_range(name: str, value: Any, takes: Range, *, optional: bool = False) -> None:
    """Raise SettingError unless a value is in a range, the word of the range, or None if it is `optional`.

    Args:
        name: the name of the setting, for the message.
        value: the given value.
        takes: the accepted numbers.
        optional: True if None is accepted, too.

    >>> check_range("crossing_penalty", 0, Range(above=True, advice="8 to 20 work"))
    Traceback (most recent call last):
        ...
    mws_hf.errors.SettingError: crossing_penalty=0 must be a number greater than 0; 8 to 20 work
    """
    if (optional and value is None) or (takes.word and isinstance(value, str) and value == takes.word):
        return
    if takes.whole and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise SettingError(name, value, f"is not a whole number; give a whole number of at least {takes.least}")
    # An integer is compared as it is, because one of more than 308 digits cannot become a float.
    number: Any = math.nan if isinstance(value, bool) or not isinstance(value, Real) else value
    if takes.least <= number <= takes.most and not (takes.above and number == takes.least):
        return
    if takes.whole and number < takes.least:
        problem = "negative" if number < 0 else "too small"
        raise SettingError(name, value, f"is {problem}; give a number of at least {takes.least}")
    is_bounded = takes.most < NUMBER.most
    if takes.least == -math.inf:
        bounds = ""
    elif takes.above:
        bounds = f" greater than {takes.least}" + (f" and at most {takes.most}" if is_bounded else "")
    else:
        bounds = f" from {takes.least} " + (f"to {takes.most}" if is_bounded else "up")
    word, advice = f", or {takes.word!r}" if takes.word else "", f"; {takes.advice}" if takes.advice else ""
    raise SettingError(name, value, f"must be a number{bounds}{word}{advice}")
