"""Define the settings of a training: name, type, default, description and accepted values of each.

`Settings` contains them, and `mws_hf.MwSTrainer` adds the methods that train. The options of `mws train`, the reference
page and the training metadata come from the fields, and the metadata restore the settings. Nothing heavy is imported
here, because the help of a command must start without numpy. Measured defaults are in `defaults.py`, with the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mws_hf.errors import MwSError, SettingError
from mws_hf.learn.defaults import (
    COMPOSITION_OF_GROUPS,
    DEFAULT_COMPOSITION,
    DEFAULT_CROSSING_PENALTY,
    DEFAULT_HIDDEN_BOUNDARY_PRICE,
    DEFAULT_VOCAB_SIZE,
)
from mws_hf.learn.setting_rules import (
    CLASSIC,
    CONTEXTUAL,
    COUNT,
    FLAG,
    NUMBER,
    Described,
    Range,
    Setting,
    descriptions_of,
)
from mws_hf.learn.setting_values import in_one_form, read_label_files
from mws_hf.text.capitals import with_capitals
from mws_hf.text.pattern import NAMED_PATTERNS, Digits, compiled, named, problem_in_tokenizers
from mws_hf.text.phrases import counted
from mws_hf.text.symbols import (
    BYTE_TOKENS,
    DEFAULT_ALPHABET,
    DEFAULT_SPECIAL_TOKENS,
    Alphabet,
    check_added_tokens,
)

if TYPE_CHECKING:
    from mws_hf.learn.limits import Apart

S = TypeVar("S", bound="Settings")


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings(Described):
    """All settings of a training, checked; `MwSTrainer` takes them as arguments.

    `Settings` reads no file: `labels` are words here, and `read_settings` and `MwSTrainer` read the files of labels. If
    `alphabet` and `pattern` are not given, they have the default of the criterion. The object cannot be changed.

    Raises:
        MwSError: a value is out of range, a name is unknown, or a setting contradicts another or belongs to the other
            criterion.

    >>> Settings(initial_alphabet="ba").initial_alphabet, Settings(criterion="classic").alphabet
    (['a', 'b'], 'characters')
    """

    vocab_size: int | None = Setting(
        "Size of the whole vocabulary: special tokens, bytes, alphabet and merges.",
        "32,000, or the size that n_merges gives",
        takes=COUNT,
        metavar="SIZE",
        shown="32k, or the size that --n-merges gives",
        first=True,
    ).field(None)
    n_merges: int | None = Setting(
        "Number of merges, instead of a vocabulary size.",
        "as many as vocab_size has room for",
        'With ``criterion="classic"`` the size test of the original MwS is used. It counts the special tokens '
        "before it appends them, so the number of learned merges is `n_merges` plus the number of special tokens.",
        takes=COUNT,
        metavar="SIZE",
        shown="as many as --vocab-size has room for",
    ).field(None)
    alphabet: Alphabet | None = Setting(
        "Start from bytes (GPT-2's alphabet, which most programs know) or from characters (readable token strings).",
        "bytes; characters with the classic criterion",
        '``"bytes"`` writes token strings such as ``ĠÑĩ``. ``"characters"`` needs no merges that build characters, '
        "and has byte tokens for characters that the text does not have. See `symbols.DEFAULT_ALPHABET`.",
        shown="bytes; characters with --criterion classic",
    ).field(None)
    min_frequency: int = Setting(
        "Minimum frequency of a merged pair.",
        more="As in `tokenizers`, an occurrence counts as often as its word occurs. If `types` is True, it counts "
        "once per word among the morph merges, but frequency merges always use the word counts. The minimum does "
        "not apply to the first merges, which join a space with a letter, or a letter with its marks.",
        takes=COUNT,
        option=None,
    ).field(0)
    min_count: int = Setting("Leave out pre-tokens that occur less often than this.", takes=COUNT).field(1)
    special_tokens: Sequence[str] = Setting(
        "Tokens that do not stand for text. A token with a usual name has a role (<|endoftext|>: eos, [PAD]: pad).",
        more="They get the ids 0, 1, ... in this order.",
        option="--special-token",
        metavar="TOKEN",
        shown=f"{', '.join(DEFAULT_SPECIAL_TOKENS)}; repeat the option for more",
        first=True,
    ).field(DEFAULT_SPECIAL_TOKENS)
    initial_alphabet: Iterable[str] = Setting(
        "Characters that are in the vocabulary even if the text does not have them.",
        "none",
        "Give a string of characters, or a list of characters and names of alphabets, such as "
        '``["latin-1", "€"]`` (see `symbols.NAMED_ALPHABETS`).',
        option=None,
    ).field(())
    required: Sequence[str] = Setting(
        "Strings that always become tokens. Each must be one word for the split pattern, with its leading space.",
        "none",
        "Their merges come after all others, and replace the last frequency merges. Each string has at most 1,000 "
        "characters.",
        metavar="FILE",
        shown="none; in the file, give one per line",
    ).field(())
    keep_apart: Sequence[str] = Setting(
        "Characters that are never merged with others, and pairs of characters that are never joined.",
        "none",
        'Give strings of one or two characters, such as ``["\'", "ss"]``.',
        metavar="FILE",
        shown="none; in the file, give one per line",
    ).field(())
    limit_alphabet: int | None = Setting(
        "Keep only this number of the most frequent characters; the others become bytes.",
        "all",
        takes=COUNT,
        option=None,
    ).field(None)
    max_token_length: int | None = Setting(
        "Maximum length of a token in characters, with its leading space.",
        "no limit",
        takes=Range(1, whole=True),
        option=None,
    ).field(None)
    types: bool = Setting(
        "Learn morphs from each distinct word once, however often it occurs, as in the original MwS.",
        more="If False, each word counts as often as it occurs. Frequency merges always use the counts.",
        takes=FLAG,
        option=None,
    ).field(True)
    composition: float | Literal["fill"] | None = Setting(
        "Share of the merges that join frequent stems and words after the morphs: 0 (morphs only) to 1 (plain "
        "frequency BPE), or fill (all merges that the morphs leave).",
        "0.5; 0.6 for several groups; 0 with the classic criterion",
        "If the words yield fewer morph merges than their share, frequency merges fill the vocabulary.",
        takes=Range(most=1, word="fill"),
        shown="0.5; 0.6 for several groups; 0 with --criterion classic",
        first=True,
    ).field(None)
    weights: Mapping[str, float] = Setting(
        "Weight of a group of words relative to the others.",
        "1 each",
        'Give a dict such as ``{"ru": 2}``. When morphs are learned, all languages have equal weight by default, '
        "however much text and however many words they have. Frequency merges depend on the amount of text, and the "
        "text of a group counts as often as its weight says. Words of a group named ``code`` are always split at their "
        "uppercase letters: ``get|User|Name``, ``HTTP|Server``.",
        option="--weight",
        metavar="GROUP=NUMBER",
        shown="1 each; repeat the option for more",
    ).field(default_factory=dict)
    criterion: Literal["contextual", "classic"] = Setting(
        "How merges are chosen: contextual (by boundary probabilities estimated from the words) or classic (by the "
        "original MwS score, computed exactly).",
    ).field("contextual")
    granularity: float | None = Setting(
        "How finely words are split: the share of positions inside words where a boundary is more probable than "
        "not, from 0.05 (coarse) to 0.15 (fine). The share of positions that are split is reported after "
        "training.",
        "0.095, or estimated from the labels",
        criterion=CONTEXTUAL,
        # In reference segmentations a quarter of the positions are boundaries (`labels.USUAL_SHARE`), for which
        # 0.095 is right. From twice the useful 0.15 on, most words would fall apart into letters.
        takes=Range(0.01, 0.3, advice="useful values are 0.05 (coarse) to 0.15 (fine)"),
        first=True,
    ).field(None)
    hidden_boundary_price: float = Setting(
        "Penalty for each morpheme boundary inside a token, when frequent stems and words are merged; 0 merges "
        "by frequency only.",
        "1.0",
        "The unit is the mean frequency of a distinct word; see `learn.defaults.DEFAULT_HIDDEN_BOUNDARY_PRICE`.",
        criterion=CONTEXTUAL,
        takes=Range(most=1000),  # far above it, scores do not fit into 64 bits
    ).field(DEFAULT_HIDDEN_BOUNDARY_PRICE)
    crossing_penalty: float = Setting(
        "Penalty of a morph merge across a boundary that is certain (lambda), if one inside a morph scores 1; a higher "
        "value splits more finely.",
        takes=Range(most=1000, above=True, advice="8 to 20 work for all languages"),
        more="On average, 8 with a `granularity` that is higher by 0.02 gives equally good results.",
        criterion=CONTEXTUAL,
        option=None,
    ).field(DEFAULT_CROSSING_PENALTY)
    max_types: int = Setting(
        "Boundary probabilities are estimated from at most this number of the most frequent distinct words.",
        more="From 150,000 to 400,000 the F1 of Hungarian rises by 0.008, of Russian lemmas by 0.010 and of Czech "
        "by 0.047, but the F1 of Finnish does not rise.",
        criterion=CONTEXTUAL,
        takes=Range(1, whole=True),
        option=None,
    ).field(400_000)
    labels: Any = Setting(
        "Words that you split by hand, preferably 20 or more: a file with lines such as unlocks<TAB>un lock s, with "
        "alternatives after a comma, or in another format that `mws evaluate` reads. Give one file per group.",
        "none",
        "In Python you can also give a dict, or pairs of a word and its morphs. For several groups, give a dict such "
        'as ``{"fin": "fin.tsv"}`` (see `corpus.labeled_words.read_all_labels`). Labels re-fit the boundary '
        "probabilities, and the merges are learned twice, so that labels act on tokens, too.",
        criterion=CONTEXTUAL,
        metavar="[GROUP=]FILE",
        shown="none; repeat the option for more",
        first=True,
    ).field(())
    len_norm_factor: float = Setting(
        "Weight of the length penalty, from 0 to `log_base`.", criterion=CLASSIC, takes=NUMBER, option=None
    ).field(2.0)
    log_base: float = Setting(
        "Base of all logarithms.", criterion=CLASSIC, takes=Range(1, above=True), option=None
    ).field(2.0)
    max_merge_len: int = Setting(
        "Maximum length of the product of a merge in characters, without leading white space.",
        criterion=CLASSIC,
        takes=Range(2, (1 << 20) - 1, whole=True),
        option=None,
    ).field(5)
    max_len_delta: float = Setting(
        "Maximum difference between the length of a product and the square root of the mean token length.",
        criterion=CLASSIC,
        takes=Range(most=math.inf),
        option=None,
    ).field(2.0)
    stop_threshold: float | None = Setting(
        "Stop when the best score is not above this value; a value below 0 acts like 0.",
        "0",
        criterion=CLASSIC,
        takes=Range(-math.inf, math.inf),
        option=None,
    ).field(None)
    pattern: str | None = Setting(
        f"Split pattern: a regular expression, or the name of a known one ({', '.join(NAMED_PATTERNS)}).",
        "o200k; gpt4 with the classic criterion; the pattern of saved counts",
        "A pattern of your own is tried in `tokenizers` before anything is read, because its engine gives up on "
        "patterns that can match a run of letters in too many ways.",
        metavar="NAME|REGEX",
        shown="o200k; gpt4 with --criterion classic; the pattern of saved counts",
        first=True,
    ).field(None)
    digits: Digits | None = Setting(
        "How the pattern splits numbers: into threes from the left (123|456|7), into single digits, or into threes "
        "from the right (1|234|567).",
        "as the pattern does: single digits in tekken, threes in the other named ones",
        '``"threes"``, ``"single"`` or ``"right"``.',
        unrecorded="it is part of the pattern",
    ).field(None)
    normalization: str | None = Setting(
        "Unicode form into which the tokenizer converts text: nfc, nfd, nfkc or nfkd (nfkc and nfkd lose "
        "distinctions). Decoded text has this form, so nfd and nfkd return Korean syllables and accented letters "
        "decomposed.",
        "none, or the form of saved counts",
        metavar="{nfc,nfd,nfkc,nfkd}",
    ).field(None)
    capitals: Literal["marker"] | None = Setting(
        "Write a marker and the lowercase word instead of a capitalized word, so that both share their tokens.",
        "none, or as in saved counts",
        "Decoded text has the uppercase letter again. Fewer programs read such a tokenizer; see `text.capitals`.",
    ).field(None)
    show_progress: bool = Setting(
        "Show progress bars on stderr if it is a terminal.",
        takes=FLAG,
        option=None,
        unrecorded="nothing depends on it",
    ).field(True)

    def __post_init__(self) -> None:
        self.check()
        if self.vocab_size is not None and self.n_merges is not None:
            fault = "is given together with a number of merges; give one of them"
            raise SettingError("vocab_size", self.vocab_size, fault)
        self._check_classic()
        self.set(in_one_form(self))
        least = len(self.special_tokens) + len(BYTE_TOKENS)
        if self.vocab_size is not None and self.vocab_size < least:
            fault = f"is too small: {len(BYTE_TOKENS)} bytes and the special tokens take {least}; give a larger size"
            raise SettingError("vocab_size", self.vocab_size, fault)
        self.apart  # noqa: B018  # raises MwSError if an entry of keep_apart is neither a character nor a pair
        compiled(self.split_pattern)
        if problem := problem_in_tokenizers(self.split_pattern):
            raise MwSError(problem)
        if self.alphabet == "bytes":
            check_added_tokens(self.special_tokens)

    def _argument(self, name: str, value: Any) -> str:
        """Write a setting for `repr`: a known split pattern by its name, and labels by their number."""
        if name == "pattern" and (known := named(value)):
            pattern, digits = known
            unlisted = self.digits is None and NAMED_PATTERNS[pattern] != value
            return f"pattern={pattern!r}" + f", digits={digits!r}" * unlisted
        return f"labels=<{self.size_of_labels}>" if name == "labels" else super()._argument(name, value)

    def _check_classic(self) -> None:
        if self.criterion == CLASSIC and self.len_norm_factor > self.log_base:
            raise MwSError(
                f"len_norm_factor={self.len_norm_factor} must be between 0 and log_base={self.log_base}, because "
                "above that the length penalty is the logarithm of a negative number; give a smaller one"
            )

    @property
    def is_classic(self) -> bool:
        """Whether merges are chosen by the original MwS score, which uses no boundary probabilities."""
        return self.criterion == CLASSIC

    @property
    def alphabet_kind(self) -> Alphabet:
        """The alphabet that merges start from: "bytes" or "characters"."""
        return self.alphabet or DEFAULT_ALPHABET

    @property
    def split_pattern(self) -> str:
        """The split pattern as a regular expression."""
        return str(self.pattern)

    @property
    def normalization_steps(self) -> str | None:
        """The changes of text before it is split, in the form of `WordCounts.normalization`, such as "nfc+capitals"."""
        return with_capitals(self.normalization) if self.capitals else self.normalization

    @property
    def wanted(self) -> int | None:
        """The vocabulary size that was asked for, or its default; None if `n_merges` was given instead."""
        return DEFAULT_VOCAB_SIZE if self.vocab_size is None and self.n_merges is None else self.vocab_size

    @property
    def of_evidence(self) -> tuple[Any, ...]:
        """The settings that boundary probabilities depend on, as a tuple to compare."""
        return self.max_types, self.granularity, self.labels

    @property
    def size_of_labels(self) -> str:
        """The number of labeled words for a message, such as "20 words"."""
        by_group = self.labels.values() if isinstance(self.labels, Mapping) else [self.labels]
        return counted(sum(map(len, by_group)), "word")

    @cached_property
    def apart(self) -> Apart:
        """The characters and pairs of `keep_apart`."""
        from mws_hf.learn.limits import Apart

        return Apart.of(self.keep_apart)

    def share_of_compositions(self, n_groups: int) -> float | Literal["fill"]:
        """Return the setting `composition`, or its default for the criterion and this number of groups."""
        usual = 0.0 if self.is_classic else DEFAULT_COMPOSITION if n_groups == 1 else COMPOSITION_OF_GROUPS
        return usual if self.composition is None else self.composition


def read_settings(kind: type[S], /, **given: Any) -> S:
    """Read the files that settings name, then make the settings from their content.

    Args:
        kind: the class to create, `Settings` or a class derived from it.
        **given: its fields; `labels` may be a file, or files by group.

    Returns:
        An object of this class.

    Raises:
        MwSError: a file cannot be read, or a value is wrong (see `Settings`).

    >>> read_settings(Settings, labels={"cats": "cat s"}).labels
    (GoldWord(word='cats', segmentations=(('cat', 's'),)),)
    """
    return kind(**given | ({"labels": read_label_files(given["labels"])} if "labels" in given else {}))


SETTINGS = descriptions_of(Settings)
"""The descriptions of all settings, by name."""
