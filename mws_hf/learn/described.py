"""The settings of a training, each written once: name, type, default, what it does and which values it takes.

`MwSTrainer`, its docstring, the options of `mws train` and the page of reference come from `TrainerFields`. Arguments
are checked against their descriptions before any work begins. Nothing heavy is imported here, so that the help of a
command needs no numpy.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, get_type_hints

from mws_hf.errors import MwSError, SettingError
from mws_hf.text.alphabets import NAMED_ALPHABETS
from mws_hf.text.byte_alphabet import Alphabet
from mws_hf.text.pattern import Digits
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import Labels
    from mws_hf.learn.settings import CriterionSettings
else:  # their names are enough to read the descriptions
    Labels = CriterionSettings = Any

T = TypeVar("T")

_PLACE = "The arguments are described in `mws_hf.learn.described`."


class Range(NamedTuple):
    """The numbers that a setting takes, `least` not among them if `above` is true, and a `word` in their place.

    `advice` is what a message adds where another number was given.
    """

    least: float = 0
    most: float = 1.7976931348623157e308
    whole: bool = False
    above: bool = False
    word: str = ""
    advice: str = ""


COUNT, NUMBER, FLAG = Range(whole=True), Range(), "flag"
"""Whole numbers from 0 up; numbers from 0 up; True or False."""


class Setting(NamedTuple):
    """A setting in words, and the values it takes.

    `about` says in sentences what it does, `more` what only a program may want to know. `default` is "" where the
    signature shows it; `shown` is how the command line writes it, where it differs. `takes` is None where other code
    checks the value (a default of None is always allowed). `option` is how `mws train` calls it, where it differs from
    its name; None: there is no such option. `first` settings are among those to choose first.
    """

    about: str
    default: str = ""
    more: str = ""
    contextual: bool = False
    takes: Range | str | None = None
    option: str | None = ""
    metavar: str | None = None
    shown: str | None = None
    first: bool = False

    def option_help(self) -> str:
        """Write the help of an option.

        >>> Setting("Pairs to merge.", "all", contextual=True).option_help()
        'Pairs to merge [default: all; not with --criterion classic].'
        """
        value_shown = self.default if self.shown is None else self.shown
        other = "; not with --criterion classic" if self.contextual else ""
        return f"{self.about[:-1]} [default: {value_shown}{other}]." if value_shown else self.about

    def argument_help(self) -> str:
        """Write the lines of an argument in a docstring.

        >>> Setting("Pairs to merge.", "all", "An int.", contextual=True).argument_help()
        'Pairs to merge. An int. Of the contextual criterion alone. Default: all.'
        """
        parts = [self.about, self.more, "Of the contextual criterion alone." if self.contextual else ""]
        return " ".join(filter(None, [*parts, f"Default: {self.default}." if self.default else ""]))


CROSSING_PENALTY = Setting(
    "Price of merging across a boundary against one within a morph (lambda); higher cuts finer.",
    takes=Range(above=True, advice="8 to 20 work for all languages"),
)
HIDDEN_BOUNDARY_PRICE = Setting(
    "Price of a morph boundary that a frequent stem or word hides; 0 is plain frequency.",
    "1.0",
    "In units of the mean frequency of a word type, see `learn.settings.DEFAULT_HIDDEN_BOUNDARY_PRICE`.",
    contextual=True,
    takes=NUMBER,
)
MOST_TYPES = Setting("Boundary evidence comes from this many most frequent word types.", takes=Range(1, whole=True))
GRANULARITY = Setting(
    "How finely to cut: the share of places inside words where the evidence passes one half, 0.05 (coarse) to 0.15 "
    "(fine); how many places come to be cut is reported after training.",
    "0.095, or as the labels ask",
    contextual=True,
    # gold has a boundary at a quarter of the places (`labels.USUAL_SHARE`), for which .095 is right; from twice the
    # useful .15 on most words would fall apart into letters
    takes=Range(0.01, 0.3, advice="useful are 0.05 (coarse) to 0.15 (fine)"),
    first=True,
)
"""The settings that the contextual criterion, its evidence and `mws extend` have as well."""


@dataclass(frozen=True, kw_only=True)
class VocabularyFields:
    """What both criteria share; see `mws_hf.learn.settings.VocabularySettings`."""

    vocab_size: Annotated[
        int | None,
        Setting(
            "Entries of the whole vocabulary: special tokens, bytes, alphabet and merges.",
            "32,000, or what n_merges gives",
            takes=COUNT,
            metavar="SIZE",
            shown="32k, or what --n-merges gives",
            first=True,
        ),
    ] = None
    n_merges: Annotated[
        int | None,
        Setting(
            "Number of merges, in place of a vocabulary size.",
            "what vocab_size leaves",
            'With ``criterion="classic"`` the published size test applies: special tokens are counted before they are '
            "appended, so `n_merges` + the number of special tokens merges are learnt.",
            takes=COUNT,
            metavar="SIZE",
            shown="what --vocab-size leaves",
        ),
    ] = None
    alphabet: Annotated[
        Alphabet | None,
        Setting(
            "Start from bytes (GPT-2's alphabet, known to most programs) or from characters (token strings that can be "
            "read).",
            "bytes; characters with the classic criterion",
            '``"bytes"`` writes token strings like ``ĠÑĩ``; ``"characters"`` has byte tokens for characters that were '
            "not seen, and needs no merges that build characters. See `byte_alphabet.DEFAULT_ALPHABET`.",
            option="--byte-level/--characters",
            shown="bytes; characters with --criterion classic",
        ),
    ] = None
    min_frequency: Annotated[
        int,
        Setting(
            "Least frequency of a merged pair.",
            more="As in `tokenizers`, occurrences weighted by word count (1 a word when `types` is True; compositions "
            "always by count). The seed merges, a space with a letter and a letter with its marks, are excepted.",
            takes=COUNT,
        ),
    ] = 0
    min_count: Annotated[int, Setting("Leave out pre-tokens seen less often.", takes=COUNT)] = 1
    special_tokens: Annotated[
        Sequence[str],
        Setting(
            "Tokens that stand for something else than text; customary names take their role (<|endoftext|>: eos, "
            "[PAD]: pad).",
            more="They get the ids 0, 1, ...",
            option="--special-token",
            shown=f"{', '.join(DEFAULT_SPECIAL_TOKENS)}; repeat for more",
            first=True,
        ),
    ] = DEFAULT_SPECIAL_TOKENS
    initial_alphabet: Annotated[
        Iterable[str],
        Setting(
            "Characters to know whether the text has them or not.",
            "none",
            'A string of them, or a list of characters and names of alphabets, such as ``["latin-1", "€"]``; see '
            "`alphabets.NAMED_ALPHABETS`.",
            metavar="NAMES|FILE",
            shown=f"none; a file that holds them, or names with commas between: {', '.join(NAMED_ALPHABETS)}",
        ),
    ] = ()
    tokens: Annotated[
        Sequence[str],
        Setting(
            "Strings that must be entries, whatever the learner thinks; each a word to the split pattern, its leading "
            "space included.",
            "none",
            "Their merges rank after all others, in place of the last compositions.",
            metavar="FILE",
            shown="none; one a line",
        ),
    ] = ()
    keep_apart: Annotated[
        Sequence[str],
        Setting(
            "Characters that are merged with no other, and pairs of characters that are never joined.",
            "none",
            'Strings of one character or of two, such as ``["\'", "ss"]``.',
            metavar="FILE",
            shown="none; one a line",
        ),
    ] = ()
    limit_alphabet: Annotated[
        int | None,
        Setting(
            "Keep this many of the most frequent characters; others become bytes.", "all", takes=COUNT, option=None
        ),
    ] = None
    max_token_length: Annotated[
        int | None,
        Setting("Longest token in characters, a leading space included.", "no limit", takes=Range(1, whole=True)),
    ] = None
    types: Annotated[
        bool,
        Setting(
            "Learn morphs from every form once (the good-dataset principle).",
            more="False weighs forms by their counts. Compositions always use the counts.",
            takes=FLAG,
            option=None,
        ),
    ] = True
    composition: Annotated[
        float | Literal["fill"] | None,
        Setting(
            "Share of the merges for frequent stems and words after the morphs: 0 (morphs only) to 1, or fill (what "
            "the morphs leave).",
            "0.5; 0.6 for several groups; 0 with the classic criterion",
            "Compositions also fill what the morphs leave.",
            takes=Range(most=1, word="fill"),
            shown="0.5; 0.6 for several groups; 0 with --criterion classic",
            first=True,
        ),
    ] = None
    weights: Annotated[
        Mapping[str, float],
        Setting(
            "Weight of a group of words against the others.",
            "1 each",
            'A dict such as ``{"ru": 2}``. In the morphs every language weighs the same, however much text and however '
            "many forms it has; compositions go by the text, that of a group repeated as its weight says. The words of "
            "a group named ``code`` are cut at their capitals for sure: ``get|User|Name``, ``HTTP|Server``.",
            option="--weight",
            metavar="GROUP=NUMBER",
            shown="1 each; repeat for more",
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrainerFields(VocabularyFields):
    """What `mws_hf.MwSTrainer` takes."""

    criterion: Annotated[
        Literal["contextual", "classic"] | CriterionSettings,
        Setting(
            "How merges are chosen: contextual (boundary evidence from the word list) or classic (the published MwS "
            "coefficient, exact).",
            more="Or the settings of one: `learn.settings.ContextualSettings`, "
            "`learn.classic.coefficient.ClassicSettings`.",
        ),
    ] = "contextual"
    granularity: Annotated[float | None, GRANULARITY] = None
    hidden_boundary_price: Annotated[float | None, HIDDEN_BOUNDARY_PRICE] = None
    labels: Annotated[
        Labels | None,
        Setting(
            "Words cut by hand to learn from, better 20 or more: a file of word<TAB>mor ph eme s, alternatives after a "
            "comma, or another format that `mws evaluate` reads; of several groups a file each.",
            "none",
            'Also a dict, or pairs; by group ``{"fin": "fin.tsv"}``. See `corpus.segmentations.read_labels`.',
            contextual=True,
            metavar="[GROUP=]FILE",
            shown="none; repeat for more",
            first=True,
        ),
    ] = None
    pattern: Annotated[
        str | None,
        Setting(
            "Split pattern: a regular expression, or the name of one (words, gpt4, llama3, o200k).",
            "o200k; gpt4 with the classic criterion; that of saved counts",
            metavar="NAME|REGEX",
            shown="o200k, or that of the criterion or of saved counts",
            first=True,
        ),
    ] = None
    digits: Annotated[
        Digits | None,
        Setting(
            "How the pattern cuts numbers: threes from the left (123|456|7), single digits, or threes from the right "
            "(1|234|567).",
            "as the pattern has it, the named ones in threes",
            '``"threes"``, ``"single"`` or ``"right"``.',
            metavar="threes|single|right",
        ),
    ] = None
    normalization: Annotated[
        str | None,
        Setting(
            "Unicode form that becomes part of the tokenizer: nfc, nfd, nfkc or nfkd (lossy).",
            "none, or that of saved counts",
        ),
    ] = None
    show_progress: Annotated[
        bool, Setting("Progress bars on stderr when it is a terminal.", takes=FLAG, option=None)
    ] = True


@cache
def descriptions_of(cls: Any) -> dict[str, Setting]:
    """Return the descriptions of a dataclass's fields, by name, in their order."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        each.name: found
        for each in fields(cls)
        for found in getattr(hints[each.name], "__metadata__", ())
        if isinstance(found, Setting)
    }


SETTINGS = descriptions_of(TrainerFields)
"""The settings by the name of the argument."""


def described(documented: type[T]) -> type[T]:
    """Put `SETTINGS` into a class's docstring, as arguments, in place of the name of this module."""
    if documented.__doc__:
        lines = "\n".join(f"    {name}: {setting.argument_help()}" for name, setting in SETTINGS.items())
        documented.__doc__ = inspect.cleandoc(documented.__doc__).replace(_PLACE, f"Args:\n{lines}")
    return documented


def check_names(taker: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse the name of a setting that is not known, with the nearest one that is.

    >>> check_names("MwSTrainer", ["vocab"], ["vocab_size", "n_merges"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: MwSTrainer takes no 'vocab'; the nearest name is 'vocab_size'
    """
    for name in given:
        if name not in known:
            near = [*(each for each in known if name in each), *get_close_matches(name, known, 1)]
            advice = f"the nearest name is {near[0]!r}" if near else f"it takes {', '.join(known)}"
            raise MwSError(f"{taker} takes no {name!r}; {advice}")


def check_settings(settings: Any) -> None:
    """Check each field of a dataclass by the values that its description takes; SettingError names a wrong one."""
    defaults = {each.name: each.default for each in fields(settings)}
    for name, setting in descriptions_of(settings.__class__).items():
        value = getattr(settings, name)
        if setting.takes == FLAG:
            check_flag(name, value)
        elif isinstance(setting.takes, Range):
            check_range(name, value, setting.takes, optional=defaults[name] is None)


def check_range(name: str, value: Any, takes: Range, *, optional: bool = False) -> None:
    """Check that an argument is a number of a range, or None where it is optional; SettingError says what is wrong.

    >>> check_range("crossing_penalty", 0, Range(above=True, advice="8 to 20 work"))
    Traceback (most recent call last):
        ...
    mws_hf.errors.SettingError: crossing_penalty=0 must be a number greater than 0; 8 to 20 work
    """
    if (optional and value is None) or (takes.word and isinstance(value, str) and value == takes.word):
        return
    if takes.whole and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise SettingError(name, value, f"is not a whole number; give one from {takes.least} up")
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if takes.least <= number <= takes.most and not (takes.above and number == takes.least):
        return
    if takes.whole and number < takes.least:
        said = "negative" if number < 0 else "too small"
        raise SettingError(name, value, f"is {said}; give a number from {takes.least} up")
    bounds = f"from {takes.least} " + ("up" if takes.most >= NUMBER.most else f"to {takes.most}")
    bounds = f"greater than {takes.least}" if takes.above else bounds
    word, advice = f", or {takes.word!r}" if takes.word else "", f"; {takes.advice}" if takes.advice else ""
    raise SettingError(name, value, f"must be a number {bounds}{word}{advice}")


def check_flag(name: str, value: Any) -> None:
    """Check that an argument is True or False; the string "False" is refused, which Python would count as true."""
    if not isinstance(value, bool):
        raise SettingError(name, value, "is neither True nor False")
