"""What each setting of a training does: the one text that `MwSTrainer`'s docstring and `mws train --help` both show.

Arguments of a trainer are checked against these descriptions before any work begins. Nothing heavy is imported here,
so that the help of a command needs no numpy.
"""

from __future__ import annotations

import math
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

from mws_hf.errors import MwSError

T = TypeVar("T")

CONTEXTUAL, CLASSIC = "contextual", "classic"
_PLACE = "    The arguments are described in `mws_hf.learn.described`."


class Range(NamedTuple):
    """The numbers that a setting takes.

    Attributes:
        least: the smallest one.
        most: the largest one; by default any but infinity.
        whole: whole numbers alone.
        above: `least` itself is not taken.
        advice: what a message adds for those who gave another number.
    """

    least: float = 0
    most: float = 1.7976931348623157e308
    whole: bool = False
    above: bool = False
    advice: str = ""


COUNT, NUMBER, FLAG = Range(whole=True), Range(), "flag"
"""Whole numbers from 0 up; numbers from 0 up; True or False."""


class Setting(NamedTuple):
    """A setting in words, and the values it takes.

    Attributes:
        about: what it does and which values it takes; sentences.
        default: what holds where it is not given; "" where the signature shows it.
        more: what only a program may want to know, such as further types of its value; sentences.
        criterion: the only one that has it; "" for both.
        takes: the numbers that are allowed, or `FLAG`; None where other code checks the value. A value of None is
            allowed where it is the default.
    """

    about: str
    default: str = ""
    more: str = ""
    criterion: str = ""
    takes: Range | str | None = None

    def option_help(self, default: str | None = None) -> str:
        """Write the help of an option of `mws train`.

        Args:
            default: as the command line writes it, where that differs.

        >>> Setting("Pairs to merge.", "all", criterion="contextual").option_help()
        'Pairs to merge [default: all; not with --criterion classic].'
        """
        other = {CONTEXTUAL: "; not with --criterion classic", CLASSIC: "; with --criterion classic alone"}
        told = self.default if default is None else default
        return f"{self.about[:-1]} [default: {told}{other.get(self.criterion, '')}]." if told else self.about

    def argument_help(self) -> str:
        """Write the lines of an argument in a docstring.

        >>> Setting("Pairs to merge.", "all", "An int.", "classic").argument_help()
        'Pairs to merge. An int. Of the classic criterion alone. Default: all.'
        """
        parts = [self.about, self.more, f"Of the {self.criterion} criterion alone." if self.criterion else ""]
        return " ".join(filter(None, [*parts, f"Default: {self.default}." if self.default else ""]))


SETTINGS = {
    "criterion": Setting(
        "How merges are chosen: contextual (boundary evidence from the word list) or classic (the published MwS "
        "coefficient, exact).",
        more="Or `learn.settings.ContextualSettings` or `learn.classic.coefficient.ClassicSettings` in full.",
    ),
    "vocab_size": Setting(
        "Entries of the whole vocabulary: special tokens, bytes, alphabet and merges.",
        "32,000, or what n_merges gives",
        takes=COUNT,
    ),
    "alphabet": Setting(
        "Start from bytes (GPT-2's alphabet, known to most programs) or from characters (token strings that can be "
        "read).",
        "bytes; characters with the classic criterion",
        '``"bytes"`` writes token strings like ``ĠÑĩ``; ``"characters"`` has byte tokens for characters that were not '
        "seen, and needs no merges that build characters. See `byte_alphabet.DEFAULT_ALPHABET`.",
    ),
    "n_merges": Setting(
        "Number of merges, in place of a vocabulary size.",
        "what vocab_size leaves",
        'With ``criterion="classic"`` the published size test applies: special tokens are counted before they are '
        "appended, so `n_merges` + the number of special tokens merges are learnt.",
        takes=COUNT,
    ),
    "min_frequency": Setting(
        "Least frequency of a merged pair.",
        more="As in `tokenizers`, occurrences weighted by word count (1 a word when `types` is True; compositions "
        "always by count). The seed merges, a space with a letter and a letter with its marks, are excepted.",
        takes=COUNT,
    ),
    "min_count": Setting("Leave out pre-tokens seen less often.", takes=COUNT),
    "special_tokens": Setting(
        "Tokens that stand for something else than text; customary names take their role (<|endoftext|>: eos, "
        "[PAD]: pad).",
        more="They get the ids 0, 1, ...",
    ),
    "initial_alphabet": Setting(
        "Characters to know whether the text has them or not.",
        "none",
        "A string of them, or a list of characters and names of alphabets, such as ``[\"latin-1\", \"€\"]``; see "
        "`alphabets.NAMED_ALPHABETS`.",
    ),
    "tokens": Setting(
        "Strings that must be entries, whatever the learner thinks; each a word to the split pattern, its leading "
        "space included.",
        "none",
        "Their merges rank behind all others, in place of the last compositions.",
    ),
    "keep_apart": Setting(
        "Characters that are merged with no other, and pairs of characters that are never joined.",
        "none",
        'Strings of one character or of two, such as ``["\'", "ss"]``.',
    ),
    "limit_alphabet": Setting(
        "Keep this many of the most frequent characters; others become bytes.", "all", takes=COUNT
    ),
    "max_token_length": Setting(
        "Longest token in characters, a leading space included.", "no limit", takes=Range(1, whole=True)
    ),
    "show_progress": Setting("Progress bars on stderr when it is a terminal.", takes=FLAG),
    "types": Setting(
        "Learn morphs from every form once (the good-dataset principle).",
        more="False weighs forms by their counts. Compositions always use the counts.",
        takes=FLAG,
    ),
    "pattern": Setting(
        "Split pattern: a regular expression, or the name of one (words, gpt4, llama3, o200k).",
        "o200k; gpt4 with the classic criterion; that of saved counts",
    ),
    "digits": Setting(
        "How the pattern cuts numbers: threes from the left (123|456|7), single digits, or threes from the right "
        "(1|234|567).",
        "as the pattern has it, the named ones in threes",
        '``"threes"``, ``"single"`` or ``"right"``.',
    ),
    "normalization": Setting(
        "Unicode form that becomes part of the tokenizer: nfc, nfd, nfkc or nfkd (lossy).",
        "none, or that of saved counts",
    ),
    "composition": Setting(
        "Share of the merges for frequent stems and words after the morphs: 0 (morphs only) to 1, or fill (what the "
        "morphs leave).",
        "0.5; 0.6 for several groups; 0 with the classic criterion",
        "Compositions also fill what the morphs leave.",
    ),
    "len_norm_factor": Setting("Weight of the length penalty.", "2", criterion=CLASSIC),
    "log_base": Setting("Base of all logarithms, above 1.", "2", criterion=CLASSIC, takes=Range(1, above=True)),
    "max_merge_len": Setting(
        "Longest product of a merge, in characters without the leading space.", "5", criterion=CLASSIC,
        takes=Range(2, (1 << 20) - 1, whole=True),
    ),
    "max_len_delta": Setting(
        "Largest distance of a product's length from the root of the mean token length.", "2", criterion=CLASSIC,
        takes=Range(most=float("inf")),
    ),
    "stop_threshold": Setting("Stop when the best coefficient is not above this.", "0", criterion=CLASSIC),
    "crossing_penalty": Setting(
        "Price of merging across a boundary against one within a morph (lambda); higher cuts finer.",
        "16",
        "Three times as much at first, see `learn.morphs`.",
        CONTEXTUAL,
        takes=Range(above=True, advice="8 to 20 work for all languages"),
    ),
    "max_types": Setting(
        "Boundary evidence comes from this many most frequent word types.", "400,000", criterion=CONTEXTUAL,
        takes=Range(1, whole=True),
    ),
    "granularity": Setting(
        "Share of the places inside words to cut, 0.05 (coarse) to 0.15 (fine).",
        "0.095, or as the labels ask",
        criterion=CONTEXTUAL,
        # gold has a boundary at a quarter of the places (`labels.USUAL_SHARE`), for which .095 is right; from twice the
        # useful .15 on most words would fall apart into letters
        takes=Range(0.01, 0.3, advice="useful are 0.05 (coarse) to 0.15 (fine)"),
    ),
    "labels": Setting(
        "Words cut by hand to learn from, better 20 or more: a file of word<TAB>mor ph eme s, alternatives after a "
        "comma, or another format that `mws evaluate` reads; of several groups a file each.",
        "none",
        "Also a dict, or pairs; by group ``{\"fin\": \"fin.tsv\"}``. See `corpus.labels.read_labels`.",
        CONTEXTUAL,
    ),
    "hidden_boundary_price": Setting(
        "Price of a morph boundary that a frequent stem or word hides; 0 is plain frequency.",
        "1.0",
        "In units of the mean frequency of a word type, see `learn.settings.DEFAULT_HIDDEN_BOUNDARY_PRICE`.",
        CONTEXTUAL,
        takes=NUMBER,
    ),
    "weights": Setting(
        "Weight of a group of words against the others.",
        "1 each",
        "A dict such as ``{\"ru\": 2}``. In the morphs every language weighs the same, however much text and however "
        "many forms it has; compositions go by the text, that of a group repeated as its weight says. The words of a "
        "group named ``code`` are cut at their capitals for sure: ``get|User|Name``, ``HTTP|Server``.",
    ),
}  # fmt: skip
"""The settings by the name of the argument, in the order in which `MwSTrainer` has them."""


def described(documented: type[T]) -> type[T]:
    """Put `SETTINGS` into a class's docstring, as arguments, where it names this module.

    Programs that read the source alone, such as an editor or the reference page, see the name.
    """
    if documented.__doc__:
        lines = "\n".join(f"        {name}: {setting.argument_help()}" for name, setting in SETTINGS.items())
        documented.__doc__ = documented.__doc__.replace(_PLACE, f"    Args:\n{lines}")
    return documented


def check_settings(settings: Any) -> None:
    """Check each field of a dataclass by the values that its description takes (`described.SETTINGS`).

    Raises:
        MwSError: one of them is out of range; the message names it.
    """
    for each in fields(settings):
        takes, value = SETTINGS[each.name].takes if each.name in SETTINGS else None, getattr(settings, each.name)
        if takes == FLAG:
            check_flag(each.name, value)
        elif isinstance(takes, Range) and not (value is None and each.default is None):
            check_range(each.name, value, takes)


def check_range(name: str, value: Any, takes: Range) -> None:
    """Check that an argument is a number of a range.

    Raises:
        MwSError: the argument is another thing.

    >>> check_range("crossing_penalty", 0, Range(above=True, advice="8 to 20 work"))
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: crossing_penalty=0 must be a number greater than 0; 8 to 20 work
    """
    if takes.whole:
        check_whole(name, value, int(takes.least))
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if takes.least <= number <= takes.most and not (takes.above and number == takes.least):
        return
    bounds = f"from {takes.least} " + ("up" if takes.most >= NUMBER.most else f"to {takes.most}")
    bounds = f"greater than {takes.least}" if takes.above else bounds
    raise MwSError(f"{name}={value!r} must be a number {bounds}" + (f"; {takes.advice}" if takes.advice else ""))


def check_whole(name: str, value: Any, least: int) -> None:
    """Check that an argument is None or a whole number from `least` up.

    Raises:
        MwSError: the argument is another thing.

    >>> check_whole("vocab_size", 1000.5, 0)
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: vocab_size=1000.5 is not a whole number; give one from 0 up
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise MwSError(f"{name}={value!r} is not a whole number; give one from {least} up")
    if value < least:
        raise MwSError(f"{name}={value} is {'negative' if value < 0 else 'too small'}; give a number from {least} up")


def check_flag(name: str, value: Any) -> None:
    """Check that an argument is True or False. The string "False" is refused, which Python would count as true.

    Raises:
        MwSError: the argument is another thing.

    >>> check_flag("types", "False")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: types='False' is neither True nor False
    """
    if not isinstance(value, bool):
        raise MwSError(f"{name}={value!r} is neither True nor False")


def check_composition(value: Any) -> None:
    """Check that the share of compositions is None, "fill", or a number from 0 to 1.

    Raises:
        MwSError: the share is another thing.
    """
    if value is None or (isinstance(value, str) and value == "fill"):
        return
    if isinstance(value, bool | str) or not isinstance(value, Real):
        raise MwSError(f"composition={value!r}; give a share from 0 to 1, or 'fill'")
    if not 0 <= float(value) <= 1:
        raise MwSError(f"composition={value} is outside 0..1; give the share of merges, or 'fill'")
