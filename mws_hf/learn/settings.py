"""The settings of a training: name, type, default, description and accepted values of each.

`Settings` contains them, and `mws_hf.MwSTrainer` adds the methods that train. The options of `mws train`, the reference
page and the training metadata come from the fields, and the metadata make the settings again. Nothing heavy is imported
here, because the help of a command must start without numpy. Measured defaults are in `defaults.py`, with the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from mws_hf.text.pattern import NAMED_PATTERNS, Digits, compiled, problem_in_tokenizers
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


@dataclass(frozen=True, kw_only=True)
class Settings(Described):
    """All settings of a training, checked; `MwSTrainer` takes them as arguments.

    No file is read to make one, and it does not change afterwards. `labels` are words here; `read_settings` and
    `MwSTrainer` read the files of labels. `alphabet` and `pattern` have the default of the criterion if not given.

    Raises:
        MwSError: a value is out of range, a name is unknown, or a setting contradicts another or belongs to the other
            criterion.

    >>> Settings(initial_alphabet="ba").initial_alphabet, Settings(criterion="classic").alphabet
    (['a', 'b'], 'characters')
    """

    vocab_size: int | None = field(
        default=None,
        metadata=Setting(
            "Entries of the whole vocabulary: special tokens, bytes, alphabet and merges.",
            "32,000, or what n_merges gives",
            takes=COUNT,
            metavar="SIZE",
            shown="32k, or what --n-merges gives",
            first=True,
        ).metadata,
    )
    n_merges: int | None = field(
        default=None,
        metadata=Setting(
            "Number of merges, in place of a vocabulary size.",
            "what vocab_size leaves",
            'With ``criterion="classic"`` the published size test applies: special tokens are counted before they are '
            "appended, so `n_merges` + the number of special tokens merges are learnt.",
            takes=COUNT,
            metavar="SIZE",
            shown="what --vocab-size leaves",
        ).metadata,
    )
    alphabet: Alphabet | None = field(
        default=None,
        metadata=Setting(
            "Start from bytes (GPT-2's alphabet, known to most programs) or from characters (token strings that can be "
            "read).",
            "bytes; characters with the classic criterion",
            '``"bytes"`` writes token strings like ``ĠÑĩ``; ``"characters"`` has byte tokens for characters that were '
            "not seen, and needs no merges that build characters. See `symbols.DEFAULT_ALPHABET`.",
            shown="bytes; characters with --criterion classic",
        ).metadata,
    )
    min_frequency: int = field(
        default=0,
        metadata=Setting(
            "Least frequency of a merged pair.",
            more="As in `tokenizers`, occurrences weighted by word count (1 a word when `types` is True; compositions "
            "always by count). The seed merges, a space with a letter and a letter with its marks, are excepted.",
            takes=COUNT,
            option=None,
        ).metadata,
    )
    min_count: int = field(
        default=1,
        metadata=Setting("Leave out pre-tokens seen less often.", takes=COUNT).metadata,
    )
    special_tokens: Sequence[str] = field(
        default=DEFAULT_SPECIAL_TOKENS,
        metadata=Setting(
            "Tokens that stand for something else than text; customary names take their role (<|endoftext|>: eos, "
            "[PAD]: pad).",
            more="They get the ids 0, 1, ...",
            option="--special-token",
            shown=f"{', '.join(DEFAULT_SPECIAL_TOKENS)}; repeat for more",
            first=True,
        ).metadata,
    )
    initial_alphabet: Iterable[str] = field(
        default=(),
        metadata=Setting(
            "Characters to know whether the text has them or not.",
            "none",
            'A string of them, or a list of characters and names of alphabets, such as ``["latin-1", "€"]``; see '
            "`symbols.NAMED_ALPHABETS`.",
            option=None,
        ).metadata,
    )
    required: Sequence[str] = field(
        default=(),
        metadata=Setting(
            "Strings that must be entries, whatever the learner thinks; each a word to the split pattern, its leading "
            "space included.",
            "none",
            "Their merges rank after all others, in place of the last compositions.",
            metavar="FILE",
            shown="none; one a line",
        ).metadata,
    )
    keep_apart: Sequence[str] = field(
        default=(),
        metadata=Setting(
            "Characters that are merged with no other, and pairs of characters that are never joined.",
            "none",
            'Strings of one character or of two, such as ``["\'", "ss"]``.',
            metavar="FILE",
            shown="none; one a line",
        ).metadata,
    )
    limit_alphabet: int | None = field(
        default=None,
        metadata=Setting(
            "Keep this many of the most frequent characters; others become bytes.", "all", takes=COUNT, option=None
        ).metadata,
    )
    max_token_length: int | None = field(
        default=None,
        metadata=Setting(
            "Longest token in characters, its space included.", "no limit", takes=Range(1, whole=True), option=None
        ).metadata,
    )
    types: bool = field(
        default=True,
        metadata=Setting(
            "Learn morphs from every form once (the good-dataset principle).",
            more="False weighs forms by their counts. Compositions always use the counts.",
            takes=FLAG,
            option=None,
        ).metadata,
    )
    composition: float | Literal["fill"] | None = field(
        default=None,
        metadata=Setting(
            "Share of the merges for frequent stems and words after the morphs: 0 (morphs only) to 1, or fill (what "
            "the morphs leave).",
            "0.5; 0.6 for several groups; 0 with the classic criterion",
            "Compositions also fill what the morphs leave.",
            takes=Range(most=1, word="fill"),
            shown="0.5; 0.6 for several groups; 0 with --criterion classic",
            first=True,
        ).metadata,
    )
    weights: Mapping[str, float] = field(
        default_factory=dict,
        metadata=Setting(
            "Weight of a group of words against the others.",
            "1 each",
            'A dict such as ``{"ru": 2}``. In the morphs every language weighs the same, however much text and however '
            "many forms it has; compositions go by the text, that of a group repeated as its weight says. The words of "
            "a group named ``code`` are cut at their capitals for sure: ``get|User|Name``, ``HTTP|Server``.",
            option="--weight",
            metavar="GROUP=NUMBER",
            shown="1 each; repeat for more",
        ).metadata,
    )
    criterion: Literal["contextual", "classic"] = field(
        default="contextual",
        metadata=Setting(
            "How merges are chosen: contextual (boundary evidence from the word list) or classic (the published MwS "
            "coefficient, exact).",
        ).metadata,
    )
    granularity: float | None = field(
        default=None,
        metadata=Setting(
            "How finely to cut: the share of places inside words where the evidence passes one half, 0.05 (coarse) to "
            "0.15 (fine); how many places come to be cut is reported after training.",
            "0.095, or as the labels ask",
            criterion=CONTEXTUAL,
            # gold has a boundary at a quarter of the places (`labels.USUAL_SHARE`), for which .095 is right; from
            # twice the useful .15 on most words would fall apart into letters
            takes=Range(0.01, 0.3, advice="useful are 0.05 (coarse) to 0.15 (fine)"),
            first=True,
        ).metadata,
    )
    hidden_boundary_price: float = field(
        default=DEFAULT_HIDDEN_BOUNDARY_PRICE,
        metadata=Setting(
            "Price of a morph boundary that a frequent stem or word hides; 0 is plain frequency.",
            "1.0",
            "In units of the mean frequency of a word type, see `learn.defaults.DEFAULT_HIDDEN_BOUNDARY_PRICE`.",
            criterion=CONTEXTUAL,
            takes=NUMBER,
        ).metadata,
    )
    crossing_penalty: float = field(
        default=DEFAULT_CROSSING_PENALTY,
        metadata=Setting(
            "Price of merging across a boundary against one within a morph (lambda); higher cuts finer.",
            takes=Range(above=True, advice="8 to 20 work for all languages"),
            more="8 with a `granularity` 0.02 higher is a tie on the mean.",
            criterion=CONTEXTUAL,
            option=None,
        ).metadata,
    )
    max_types: int = field(
        default=400_000,
        metadata=Setting(
            "Boundary evidence comes from this many most frequent word types.",
            more="From 150,000 to 400,000 Hungarian gains 0.008, Russian lemmas 0.010, Czech 0.047, Finnish nothing.",
            criterion=CONTEXTUAL,
            takes=Range(1, whole=True),
            option=None,
        ).metadata,
    )
    labels: Any = field(
        default=(),
        metadata=Setting(
            "Words cut by hand to learn from, better 20 or more: a file of word<TAB>mor ph eme s, alternatives after a "
            "comma, or another format that `mws evaluate` reads; of several groups a file each.",
            "none",
            'Also a dict, or pairs; by group ``{"fin": "fin.tsv"}``. See `corpus.segmentations.read_all_labels`.',
            criterion=CONTEXTUAL,
            metavar="[GROUP=]FILE",
            shown="none; repeat for more",
            first=True,
        ).metadata,
    )
    len_norm_factor: float = field(
        default=2.0,
        metadata=Setting(
            "Weight of the length penalty, 0 to `log_base`.", criterion=CLASSIC, takes=NUMBER, option=None
        ).metadata,
    )
    log_base: float = field(
        default=2.0,
        metadata=Setting(
            "Base of all logarithms.", criterion=CLASSIC, takes=Range(1, above=True), option=None
        ).metadata,
    )
    max_merge_len: int = field(
        default=5,
        metadata=Setting(
            "Longest product of a merge in characters, without leading white space.",
            criterion=CLASSIC,
            takes=Range(2, (1 << 20) - 1, whole=True),
            option=None,
        ).metadata,
    )
    max_len_delta: float = field(
        default=2.0,
        metadata=Setting(
            "Largest distance between the length of a product and the root of the mean token length.",
            criterion=CLASSIC,
            takes=Range(most=math.inf),
            option=None,
        ).metadata,
    )
    stop_threshold: float | None = field(
        default=None,
        metadata=Setting(
            "Stop where the best coefficient is not above this.", "0", criterion=CLASSIC, option=None
        ).metadata,
    )
    pattern: str | None = field(
        default=None,
        metadata=Setting(
            f"Split pattern: a regular expression, or the name of one ({', '.join(NAMED_PATTERNS)}).",
            "o200k; gpt4 with the classic criterion; that of saved counts",
            "A pattern of your own is tried in `tokenizers` before anything is read, because its engine gives up on "
            "patterns that can match a run of letters in too many ways.",
            metavar="NAME|REGEX",
            shown="o200k, or that of the criterion or of saved counts",
            first=True,
        ).metadata,
    )
    digits: Digits | None = field(
        default=None,
        metadata=Setting(
            "How the pattern splits numbers: threes from the left (123|456|7), single digits, or threes from the right "
            "(1|234|567).",
            "as the pattern has it: single digits in tekken, threes in the other named ones",
            '``"threes"``, ``"single"`` or ``"right"``.',
            unrecorded="it is part of the pattern",
        ).metadata,
    )
    normalization: str | None = field(
        default=None,
        metadata=Setting(
            "Unicode form that becomes part of the tokenizer: nfc, nfd, nfkc or nfkd (lossy). Decoded text has this "
            "form, so that nfd and nfkd return Korean syllables and accented letters decomposed.",
            "none, or that of saved counts",
        ).metadata,
    )
    show_progress: bool = field(
        default=True,
        metadata=Setting(
            "Progress bars on stderr when it is a terminal.",
            takes=FLAG,
            option=None,
            unrecorded="nothing depends on it",
        ).metadata,
    )

    def __post_init__(self) -> None:
        self.check()
        if self.vocab_size is not None and self.n_merges is not None:
            raise SettingError("vocab_size", self.vocab_size, "is given beside a number of merges; give one of them")
        self._check_classic()
        self.set(in_one_form(self))
        least = len(self.special_tokens) + len(BYTE_TOKENS)
        if self.vocab_size is not None and self.vocab_size < least:
            said = f"is less than the {least} entries of {len(BYTE_TOKENS)} bytes and the special tokens; ask for more"
            raise SettingError("vocab_size", self.vocab_size, said)
        self.apart  # noqa: B018  # refuses what cannot be kept apart
        compiled(self.split_pattern)
        if problem := problem_in_tokenizers(self.split_pattern):
            raise MwSError(problem)
        if self.alphabet == "bytes":
            check_added_tokens(self.special_tokens)

    def _check_classic(self) -> None:
        if self.criterion == CLASSIC and self.len_norm_factor > self.log_base:
            raise MwSError(
                f"len_norm_factor={self.len_norm_factor} must lie between 0 and log_base={self.log_base}: beyond, the "
                "length penalty is the logarithm of a negative number"
            )
        if self.stop_threshold is not None and math.isnan(self.stop_threshold):
            raise MwSError("stop_threshold is not a number; give a number or None")

    @property
    def is_classic(self) -> bool:
        """Whether the criterion is the published one, which finds no evidence and whose learner is kept as it was."""
        return self.criterion == CLASSIC

    @property
    def alphabet_kind(self) -> Alphabet:
        """Whether symbols below the merges are bytes or characters, which is known once the settings are made."""
        return self.alphabet or DEFAULT_ALPHABET

    @property
    def split_pattern(self) -> str:
        """The split pattern, which is known once the settings are made."""
        return str(self.pattern)

    @property
    def wanted(self) -> int | None:
        """The entries asked for; None where a number of merges is."""
        return DEFAULT_VOCAB_SIZE if self.vocab_size is None and self.n_merges is None else self.vocab_size

    @property
    def of_evidence(self) -> tuple[Any, ...]:
        """The settings that the boundary evidence depends on."""
        return self.max_types, self.granularity, self.labels

    @cached_property
    def apart(self) -> Apart:
        """What `keep_apart` says, read."""
        from mws_hf.learn.limits import Apart

        return Apart.of(self.keep_apart)

    def share_of_compositions(self, n_groups: int) -> float | Literal["fill"]:
        """Return the share of compositions: as asked for, or usual; the published learner makes none."""
        usual = 0.0 if self.is_classic else DEFAULT_COMPOSITION if n_groups == 1 else COMPOSITION_OF_GROUPS
        return usual if self.composition is None else self.composition


def read_settings(kind: type[S], /, **given: Any) -> S:
    """Read the files that settings name, and make the settings, which read no file themselves.

    Args:
        kind: the class to make, `Settings` or a class derived from it.
        **given: its fields; `labels` may be a file, or files by group.

    Raises:
        MwSError: a file cannot be read, or a value is wrong (see `Settings`).

    >>> read_settings(Settings, labels={"cats": "cat s"}).labels
    (GoldWord(word='cats', segmentations=(('cat', 's'),)),)
    """
    return kind(**given | ({"labels": read_label_files(given["labels"])} if "labels" in given else {}))


SETTINGS = descriptions_of(Settings)
"""The settings by the name of the argument."""
