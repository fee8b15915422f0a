"""MwSTrainer: from word counts, files or an iterator to a ready tokenizer; the criteria themselves live elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mws_hf.backend import base_vocab, build_backend
from mws_hf.corpus.counts import check_normalization
from mws_hf.errors import MwSError
from mws_hf.kernels.memory import give_back
from mws_hf.learn.alphabet import choose_alphabet, spelled
from mws_hf.learn.arguments import check_alphabet, check_composition, check_number, check_whole
from mws_hf.learn.classic.coefficient import ClassicScore
from mws_hf.learn.evidence.settings import EvidenceSettings
from mws_hf.learn.spelled import Spelled, symbol_corpus
from mws_hf.learn.symbols import Learnt
from mws_hf.pattern import GPT4_PATTERN, WORD_PATTERN, compiled
from mws_hf.special import DEFAULT_SPECIAL_TOKENS, check_special_tokens, special_roles

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from mws_hf.corpus.counts import WordCounts
    from mws_hf.learn.contextual import Evidence
    from mws_hf.learn.engine.segmentation import Segmentation
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast

logger = logging.getLogger(__name__)

Longs = npt.NDArray[np.int64]
Criterion = Literal["contextual", "classic"]
DEFAULT_VOCAB_SIZE = 32_000
N_BYTE_TOKENS = 256
_LEAST = {
    "vocab_size": 0, "n_merges": 0, "limit_alphabet": 0, "min_frequency": 0, "min_count": 0, "max_token_length": 1,
    "max_merge_len": 2,
}  # fmt: skip


@dataclass(frozen=True)
class LearntVocabulary:
    """What training found, before it becomes a tokenizer.

    Attributes:
        alphabet: the characters that are tokens, ascending by code point.
        merges: (left, right) in merge-rank order, morphs first, then compositions.
        n_morphs: how many of the merges the criterion itself chose.
        exhausted: True when the criterion ran out of candidates before its share of the budget was spent.
        n_types: distinct pre-tokens trained on.
    """

    alphabet: list[str]
    merges: list[tuple[str, str]]
    n_morphs: int
    exhausted: bool
    n_types: int

    @property
    def n_compositions(self) -> int:
        """How many merges the second phase added."""
        return len(self.merges) - self.n_morphs


@dataclass(kw_only=True)
class MwSTrainer:
    """Learn morphemic BPE merges without labels; keyword arguments follow `tokenizers.trainers`.

    Args:
        criterion: ``"contextual"`` (boundary evidence from the word list, the default) or ``"classic"`` (the published
            MwS coefficient, exact).
        vocab_size: entries of the whole vocabulary: special tokens, 256 byte tokens, alphabet and merges; 32,000 when
            neither this nor `n_merges` is given.
        n_merges: number of merges instead of a vocabulary size. With ``criterion="classic"`` the published size test
            applies: special tokens are counted before they are appended, so `n_merges` + the number of special tokens
            merges are learnt.
        min_frequency: least frequency of a pair, as in `tokenizers`: occurrences weighted by word count (1 a word
            when `types` is True; compositions always by count). What the contextual criterion joins first, a space with
            a letter and a letter with its marks, is excepted.
        min_count: least count of a pre-token; rarer ones are left out of the training words.
        special_tokens: get ids 0, 1, ...; customary names take their role (``<|endoftext|>``: eos, ``[PAD]``: pad).
        initial_alphabet: characters to include whether seen or not.
        limit_alphabet: keep only this many most frequent characters besides `initial_alphabet`; others become bytes.
        max_token_length: longest token in characters, a leading space included.
        show_progress: progress bars on stderr when it is a terminal.
        types: learn morphs from every form once (the good-dataset principle); False weighs forms by their counts.
            Compositions always use the counts.
        pattern: split pattern; by default GPT-4's for the classic criterion, `WORD_PATTERN` for the contextual.
        normalization: None, "nfc", "nfd", "nfkc" or "nfkd", in any case; becomes part of the tokenizer.
        composition: share of the merges reserved for frequent neighbours (whole stems, whole words) after the morphs;
            they also fill what the morphs leave. 0: morphs only. "fill": morphs while the criterion finds any, then
            compositions. None: the criterion's default (classic: 0; contextual: `DEFAULT_COMPOSITION`).
        len_norm_factor: classic; weight of the length penalty.
        log_base: classic; base of all logarithms, > 1.
        max_merge_len: classic; longest product of a merge in characters without leading space.
        max_len_delta: classic; largest distance of a product's length from the root of the mean token length.
        stop_threshold: classic; stop when the best coefficient is not above it; None: stop at 0.
        crossing_penalty: contextual; how much a merge across a boundary costs against one within a morph (lambda).
        burial_cost: contextual; price of a boundary that a composition hides, see `learn.composition`.
        max_types: contextual; evidence comes from this many most frequent word types.

    Raises:
        MwSError: an argument is out of range or contradicts another; the message says which.

    >>> trainer = MwSTrainer(criterion="classic", n_merges=3, show_progress=False)
    >>> tokenizer = trainer.train_from_iterator(["читать читал читала читали"])
    >>> tokenizer.decode(tokenizer("читали!")["input_ids"])
    'читали!'
    """

    criterion: Criterion = "contextual"
    vocab_size: int | None = None
    n_merges: int | None = None
    min_frequency: int = 0
    min_count: int = 1
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS
    initial_alphabet: Iterable[str] = ()
    limit_alphabet: int | None = None
    max_token_length: int | None = None
    show_progress: bool = True
    types: bool = True
    pattern: str | None = None
    normalization: str | None = None
    composition: float | Literal["fill"] | None = None
    len_norm_factor: float = 2.0
    log_base: float = 2.0
    max_merge_len: int = 5
    max_len_delta: float = 2.0
    stop_threshold: float | None = None
    crossing_penalty: float = 16.0
    max_types: int = 400_000
    burial_cost: float = 1.0
    report: LearntVocabulary | None = field(default=None, init=False, repr=False)
    evidence: Evidence | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.criterion not in ("contextual", "classic"):
            raise MwSError(f"criterion {self.criterion!r} is unknown; choose 'contextual' or 'classic'")
        if self.vocab_size is not None and self.n_merges is not None:
            raise MwSError("vocab_size and n_merges both given; give one of them")
        for name, least in _LEAST.items():
            check_whole(name, getattr(self, name), least)
        check_composition(self.composition)
        check_number("burial_cost", self.burial_cost)
        self._settings()
        self._score()
        self.special_tokens = check_special_tokens(self.special_tokens)
        self.initial_alphabet = check_alphabet(self.initial_alphabet)
        self.normalization = check_normalization(self.normalization)
        if self.pattern is None:
            self.pattern = GPT4_PATTERN if self.criterion == "classic" else WORD_PATTERN
        compiled(self.pattern)

    def train(self, source: Any, *, column: str | None = None, **reader_options: Any) -> MwSTokenizerFast:
        """Train on files or on texts.

        A str or path is a file, glob or "-" (standard input). A list of paths, or of strings of which one of the first
        hundred names a file, is files, and all must exist; a list of strings is texts if one of them has a space in it
        and none looks like a file name. Any other iterable is texts: iterators, generators, batches (lists of lists),
        `datasets` of all four kinds, columns and tables of pandas and pyarrow. Anything else is an error.

        Args:
            source: see above; `corpus.files.file_kind` has the kinds of files.
            column: the text column of tables and datasets, in files or not.
            **reader_options: further options of `corpus.counting.count_files` (`field`, `encoding`, `errors`,
                `workers`, `memory_cap`), or for texts of `count_documents` (`length`, `workers`, `memory_cap`).

        Raises:
            MwSError: a missing or unreadable file, something that is no text, strings that could be files or texts.

        >>> tokenizer = MwSTrainer(n_merges=3, show_progress=False).train(["читать читал", "читала читали"])
        >>> MwSTrainer().train(["читать", "читал"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        mws_hf.errors.MwSError: a list of strings such as 'читать': no file, and not surely texts; ...
        """
        from mws_hf.corpus.counting import count_files
        from mws_hf.corpus.inputs import input_files

        files = input_files(source, "train_from_iterator(texts)")
        if files is None:
            only_files = sorted({"field", "encoding", "errors"}.intersection(reader_options))
            if only_files:
                raise MwSError(f"{', '.join(only_files)}: for files, but {type(source).__name__} holds texts")
            return self.train_from_iterator(source, column=column, **reader_options)
        counts = count_files(
            files,
            pattern=str(self.pattern),
            normalization=self.normalization,
            show_progress=self.show_progress,
            column=column,
            **reader_options,
        )
        return self.train_from_counts(counts)

    def train_from_iterator(
        self, iterator: Any, length: int | None = None, *, column: str | None = None, **options: Any
    ) -> MwSTokenizerFast:
        """Train on texts: whatever `corpus.inputs.iterate_documents` takes.

        Args:
            iterator: strings, batches of strings, a dataset, a table or a column of one.
            length: the progress bar's total, nothing else.
            column: the text column of a dataset or table.
            **options: `workers` and `memory_cap` of `corpus.counting.count_documents`.
        """
        from mws_hf.corpus.counting import count_documents

        counts = count_documents(
            iterator,
            pattern=str(self.pattern),
            normalization=self.normalization,
            show_progress=self.show_progress,
            length=length,
            column=column,
            **options,
        )
        return self.train_from_counts(counts)

    def train_from_counts(self, counts: WordCounts | Mapping[str, int] | str | Path) -> MwSTokenizerFast:
        """Train on word counts; the pattern and normalization they were made with become the tokenizer's.

        Args:
            counts: a `WordCounts`, the file of a saved one, or a dict or Counter of words, which are cut as after a
                space, see `corpus.word_list.read_word_list`; for one of pre-tokens use `WordCounts.from_mapping`.

        Raises:
            MwSError: there is no word, or the counts were made with another pattern than the one asked for.

        >>> trainer = MwSTrainer(n_merges=3, show_progress=False)
        >>> trainer.train_from_counts({"читать": 5, "читала": 2}).tokenize(" читать")[0][:2]
        ' ч'
        """
        from mws_hf.corpus.word_list import as_word_counts

        counts = as_word_counts(counts, pattern=str(self.pattern), normalization=self.normalization)
        backend, roles = self.backend_from_counts(counts)
        from mws_hf.tokenization_mws_fast import MwSTokenizerFast  # only now, for transformers takes 20 MB
        from mws_hf.training_record import settings_of

        tokenizer = MwSTokenizerFast(tokenizer_object=backend, **roles)
        tokenizer.training_settings = settings_of(self)
        return tokenizer

    def backend_from_counts(self, counts: WordCounts) -> tuple[Tokenizer, dict[str, Any]]:
        """Train without transformers: the `tokenizers` backend, and which special token plays which role.

        Raises:
            MwSError: as `train_from_counts`.
        """
        learnt = self.learn(counts)
        backend = build_backend(
            base_vocab(self.special_tokens, learnt.alphabet, learnt.merges),
            learnt.merges,
            pattern=counts.pattern,
            normalization=counts.normalization,
            special_tokens=self.special_tokens,
        )
        roles: dict[str, Any] = {**special_roles(self.special_tokens)}
        extra = [token for token in self.special_tokens if token not in roles.values()]
        if extra:
            roles["additional_special_tokens"] = extra
        return backend, roles

    def learn(self, counts: WordCounts) -> LearntVocabulary:
        """Learn alphabet and merges without building a tokenizer; the result is also kept as `report`.

        Raises:
            MwSError: there is no word to learn from, or pattern or normalization differ from the counts'.
        """
        self._check_fingerprint(counts)
        give_back()  # what counting took
        counts = counts.at_least(self.min_count) if self.min_count > 1 else counts
        if len(counts) == 0:
            raise MwSError(f"no training words are left (min_count={self.min_count}); give text with at least one word")
        alphabet = choose_alphabet(spelled(counts), counts.counts, self.initial_alphabet, self.limit_alphabet)
        base_vocab(self.special_tokens, alphabet)  # a special token that is a character is refused before learning
        budget = self._merge_budget(len(alphabet))
        morphs, known = self._learn_morphs(counts, alphabet, self._morph_budget(budget))
        merges = morphs.merges
        if len(merges) < budget and self._composition() != 0:
            merges = merges + self._compose(counts, alphabet, merges, budget - len(merges), known).merges
        if len(merges) < budget:
            advice = "" if self._composition() else "; composition='fill' would fill the rest with frequent neighbours"
            logger.warning(
                "the %s criterion found %d of %d merges: the vocabulary has %d entries fewer than asked for%s",
                self.criterion, len(merges), budget, budget - len(merges), advice,
            )  # fmt: skip
        self.report = LearntVocabulary(alphabet, merges, len(morphs.merges), morphs.exhausted, len(counts))
        return self.report

    def _check_fingerprint(self, counts: WordCounts) -> None:
        if counts.pattern != self.pattern or counts.normalization != self.normalization:
            raise MwSError(
                f"the counts were made with pattern {counts.pattern!r} and normalization {counts.normalization}, but "
                f"training asks for {self.pattern!r} and {self.normalization}; count again, or pass "
                "pattern= and normalization= of the counts"
            )

    def _composition(self) -> float | str:
        if self.composition is not None:
            return self.composition
        from mws_hf.learn.composition import DEFAULT_COMPOSITION

        return 0 if self.criterion == "classic" else DEFAULT_COMPOSITION

    def _merge_budget(self, n_alphabet: int) -> int:
        """How many merges the vocabulary has room for; a vocabulary too small for its base warns and gets none."""
        if self.n_merges is not None:
            # the published size test counts special tokens before they are appended (mws.md, Training)
            return self.n_merges + (len(self.special_tokens) if self.criterion == "classic" else 0)
        wanted = DEFAULT_VOCAB_SIZE if self.vocab_size is None else self.vocab_size
        base = len(self.special_tokens) + N_BYTE_TOKENS + n_alphabet
        if wanted < base:
            logger.warning(
                "vocab_size=%d is less than %d special tokens + %d byte tokens + %d characters = %d: no merges are "
                "learnt; raise vocab_size, or set limit_alphabet",
                wanted, len(self.special_tokens), N_BYTE_TOKENS, n_alphabet, base,
            )  # fmt: skip
        return max(0, wanted - base)

    def _morph_budget(self, budget: int) -> int:
        composition = self._composition()
        return budget if isinstance(composition, str) else round(budget * (1 - composition))

    def _learn_morphs(
        self, counts: WordCounts, alphabet: list[str], n_merges: int
    ) -> tuple[Learnt, Segmentation | None]:
        """Merges of the criterion's own, and words cut by them where the learner has kept them."""
        if self.criterion == "classic":
            return self._learn_classic(spelled(counts), counts.counts, alphabet, n_merges)
        self.evidence = None
        if n_merges == 0:  # compositions alone are plain frequency BPE, and evidence would be for nothing
            return Learnt([]), None
        from mws_hf.learn.contextual import learn_contextual
        from mws_hf.learn.evidence.forms import collect_forms

        self.evidence = self._collect(counts, self._settings())
        return learn_contextual(
            collect_forms(spelled(counts), counts.counts),  # anew: nobody but the callee is to hold them
            alphabet,
            n_merges,
            self.evidence,
            types=self.types,
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
            forbidden=frozenset(self.special_tokens),
            show_progress=self.show_progress,
        )

    def _settings(self) -> EvidenceSettings:
        return EvidenceSettings(max_types=self.max_types, crossing_penalty=self.crossing_penalty)

    def _score(self) -> ClassicScore:
        return ClassicScore(
            len_norm_factor=self.len_norm_factor,
            log_base=self.log_base,
            max_merge_len=self.max_merge_len,
            max_len_delta=self.max_len_delta,
            stop_threshold=self.stop_threshold,
        )

    def _collect(self, counts: WordCounts, settings: EvidenceSettings) -> Evidence:
        """The boundary evidence of the words."""
        from mws_hf.learn.contextual import collect_evidence
        from mws_hf.learn.evidence.forms import collect_forms

        return collect_evidence(collect_forms(spelled(counts), counts.counts), settings)

    def _learn_classic(
        self, words: Spelled, counts: Longs, alphabet: list[str], n_merges: int
    ) -> tuple[Learnt, Segmentation]:
        from mws_hf.learn.classic.learner import learn_classic
        from mws_hf.learn.engine.segmentation import Segmentation

        weights = np.ones(len(words), np.int64) if self.types else counts
        segmentation = Segmentation(symbol_corpus(words, weights, alphabet))
        learnt = learn_classic(
            segmentation,
            n_merges,
            self._score(),
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
            forbidden=frozenset(self.special_tokens),
            show_progress=self.show_progress,
        )
        return learnt, segmentation

    def _compose(
        self, counts: WordCounts, alphabet: list[str], morphs: list[tuple[str, str]], n_merges: int,
        known: Segmentation | None,
    ) -> Learnt:  # fmt: skip
        from mws_hf.learn.composition import learn_compositions

        evidence = self.evidence
        return learn_compositions(
            spelled(counts),
            counts.counts,
            alphabet,
            morphs,
            n_merges,
            known=known,
            boundaries=None if evidence is None else lambda: evidence.boundaries(spelled(counts)),
            burial_cost=self.burial_cost,
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
            forbidden=frozenset(self.special_tokens),
            show_progress=self.show_progress,
        )
