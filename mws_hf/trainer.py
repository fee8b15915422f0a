"""MwSTrainer: the one way from files, texts or word counts to a tokenizer that can be saved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.learn.setting_rules import described
from mws_hf.learn.setting_values import read_label_files
from mws_hf.learn.settings import Settings
from mws_hf.portable import Training
from mws_hf.text.symbols import special_settings
from mws_hf.tokenizer.backend import build_backend, tokenizer_tables
from mws_hf.tokenizer.file import save_backend
from mws_hf.tokenizer.training_record import merges_digest

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.learn.evidence.posteriors import Evidence
    from mws_hf.learn.vocabulary import LearnedVocabulary
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast


@dataclass(frozen=True)
class TrainedTokenizer:
    """A tokenizer just learnt: backend, special tokens by role (``eos_token``), training, digest of its merges."""

    backend: Tokenizer
    roles: Mapping[str, Any]
    training: Training
    merges: str

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the directory that `MwSTokenizerFast.save_pretrained` writes, but for its card, or change nothing.

        Raises:
            MwSError: the directory cannot be written, or another run is writing it.
        """
        save_backend(directory, self.backend, self.roles, self.training.files(self.merges))

    def wrapped(self) -> MwSTokenizerFast:
        """Make it a tokenizer of transformers."""
        from mws_hf.tokenization_mws_fast import MwSTokenizerFast  # only now, for transformers takes 20 MB

        tokenizer = MwSTokenizerFast(tokenizer_object=self.backend, **self.roles)
        tokenizer.training = self.training
        return tokenizer


@described
@dataclass(kw_only=True, frozen=True)
class MwSTrainer(Settings):
    """Learn morphemic BPE merges without labels; keyword arguments follow `tokenizers.trainers`.

    Choose these first: `vocab_size`, `composition`, `granularity`, `labels`, `pattern`, `special_tokens`, `weights`.
    The record of a training makes its trainer again: ``MwSTrainer.from_record(tokenizer.training.settings)``.

    The arguments are described in `mws_hf.learn.settings`.

    Raises:
        MwSError: an argument is unknown, out of range, contradicts another or belongs to the other criterion.

    >>> trainer = MwSTrainer(criterion="classic", n_merges=3, show_progress=False)
    >>> tokenizer = trainer.train_from_iterator(["читать читал читала читали"])
    >>> tokenizer.decode(tokenizer("читали!")["input_ids"])
    'читали!'
    """

    def __post_init__(self) -> None:
        self.set({"labels": read_label_files(self.labels)})
        super().__post_init__()

    def train(
        self, source: Any, *, column: str | None = None, group_column: str | None = None, **reader_options: Any
    ) -> MwSTokenizerFast:
        """Train on files or on texts, of one language or of several.

        A str or path is a file, glob or "-" (standard input). A list of paths, or of strings of which one of the first
        hundred names a file, is files, and all must exist; a list of strings is texts if one of them has a space in it
        and none looks like a file name. Any other iterable is texts: iterators, generators, batches (lists of lists),
        `datasets` of all four kinds, columns and tables of pandas and pyarrow. Anything else is an error.

        A dict from group to such a source, ``{"ru": "ru/*.gz", "en": [...]}``, is a mixture: each group, a language or
        code, gets boundary evidence of its own, and the merges are learnt together (see `weights`).

        Args:
            source: see above; `corpus.kinds` has the kinds of files.
            column: the text column of tables and datasets, or field of records, in files or not; None: ``text``.
            group_column: the column of tables and datasets that holds the group of each row.
            **reader_options: further options of `corpus.counting.count_files` (`encoding`, `errors`, `workers`,
                `memory_cap`), or for texts of `count_documents` (`length`, `workers`, `memory_cap`).

        Raises:
            MwSError: a missing or unreadable file, something that is no text, strings that could be files or texts.

        >>> tokenizer = MwSTrainer(n_merges=3, show_progress=False).train(["читать читал", "читала читали"])
        >>> MwSTrainer().train(["читать", "читал"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        mws_hf.errors.MwSError: a list of strings such as 'читать': no file, and not surely texts; ...
        """
        from mws_hf.corpus.counting import count_source

        _check_options("train", reader_options, ("encoding", "errors", "length", "workers", "memory_cap"))
        groups = count_source(source, column=column, group_column=group_column, **self._counting, **reader_options)
        return self.train_from_counts(groups)

    def train_from_iterator(
        self, iterator: Any, length: int | None = None, *, column: str | None = None, **options: Any
    ) -> MwSTokenizerFast:
        """Train on texts: whatever `corpus.columns.iterate_documents` takes.

        Args:
            iterator: strings, batches of strings, a dataset, a table or a column of one.
            length: the progress bar's total, nothing else.
            column: the text column of a dataset or table, or field of records; None: ``text``.
            **options: `workers` and `memory_cap` of `corpus.counting.count_documents`.
        """
        from mws_hf.corpus.counting import count_documents

        _check_options("train_from_iterator", options, ("workers", "memory_cap"))
        return self.train_from_counts(
            count_documents(iterator, **self._counting, length=length, column=column, **options)
        )

    def train_from_counts(
        self, counts: WordCounts | Mapping[str, int] | Mapping[str, WordCounts] | str | Path
    ) -> MwSTokenizerFast:
        """Train on word counts, made with the trainer's pattern and normalization.

        Args:
            counts: a `WordCounts`, the file of a saved one, or a dict or Counter of words, which are cut as after a
                space, see `corpus.word_list.count_mapping`; for one of pre-tokens use `WordCounts.from_mapping`. Or a
                dict from group to such counts.

        Raises:
            MwSError: there is no word, or the counts were made with another pattern than the one asked for.

        >>> trainer = MwSTrainer(n_merges=3, show_progress=False)
        >>> tokenizer = trainer.train_from_counts({"читать": 5, "читала": 2})
        >>> tokenizer.decode(tokenizer(" читать")["input_ids"][0])[:2]
        ' ч'
        """
        return self.trained(counts).wrapped()

    def trained(
        self,
        counts: WordCounts | Mapping[str, int] | Mapping[str, WordCounts] | str | Path,
        *,
        evidence: Evidence | None = None,
    ) -> TrainedTokenizer:
        """Train as `train_from_counts`, without transformers.

        Args:
            counts: as `train_from_counts` takes them.
            evidence: boundary evidence of the same counts, to save computing it again.

        Returns:
            Backend, roles and training as one value, which saves itself; `mws train` writes what this gives.
        """
        words = self._words_of(counts)
        learned = self.learn(words, evidence=evidence)
        backend, merges = self._build(learned)
        training = Training.of(self, learned, backend, words)
        return TrainedTokenizer(backend, special_settings(self.special_tokens), training, merges_digest(merges))

    def learn(
        self, counts: WordCounts | Mapping[str, WordCounts], *, evidence: Evidence | None = None
    ) -> LearnedVocabulary:
        """Learn alphabet and merges without building a tokenizer; see `mws_hf.learn.vocabulary.learn`.

        Raises:
            MwSError: there is no word to learn from, or pattern or normalization differ from the counts'.
        """
        from mws_hf.learn.vocabulary import learn

        return learn(self._words_of(counts), self, evidence=evidence)

    def backend(self, learned: LearnedVocabulary) -> Tokenizer:
        """Build the `tokenizers` backend from the alphabet and merges that `learn` found."""
        return self._build(learned)[0]

    def _build(self, learned: LearnedVocabulary) -> tuple[Tokenizer, Sequence[tuple[str, str]]]:
        """Build the backend; returns it and its merges."""
        special = self.special_tokens
        vocab, merges = tokenizer_tables(special, learned.alphabet, learned.merges, self.alphabet_kind)
        return build_backend(vocab, merges, self.split_pattern, self.normalization, special), merges

    def _words_of(self, counts: Any) -> WordCounts:
        """Read the counts that a user gives; MwSError where their pattern or normalization differ from those here."""
        from mws_hf.corpus.splitter import Splitter  # `mws train --help` needs no numpy
        from mws_hf.corpus.word_list import as_word_counts

        splitter = Splitter(self.split_pattern, self.normalization, self.special_tokens)
        words = as_word_counts(counts, splitter)
        if not words.splitter.agrees(splitter):
            raise MwSError(
                f"the counts were made with {words.splitter}, but training asks for {splitter}; count again, or pass "
                "pattern= and normalization= of the counts"
            )
        return words

    @property
    def _counting(self) -> dict[str, Any]:
        """Return how text is counted for this training: cut at its special tokens, too."""
        return {name: getattr(self, name) for name in ("pattern", "normalization", "special_tokens", "show_progress")}


def _check_options(method: str, options: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse keywords that a method of `MwSTrainer` does not take, in its own name."""
    if unknown := sorted(set(options) - set(known)):
        columns = ("column", "group_column") if method == "train" else ("column", "length")
        raise MwSError(
            f"MwSTrainer.{method} takes no {', '.join(unknown)}; it takes {', '.join((*columns, *known))}, and "
            "settings of the training are given to MwSTrainer(...)"
        )
