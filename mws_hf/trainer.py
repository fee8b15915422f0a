"""Train a tokenizer on files, texts or word counts (`MwSTrainer`)."""

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
from mws_hf.tokenizer.saving import save_backend
from mws_hf.tokenizer.training_record import merges_digest

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.learn.evidence.posteriors import Evidence
    from mws_hf.learn.vocabulary import LearnedVocabulary
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast


@dataclass(frozen=True)
class TrainedTokenizer:
    """A tokenizer that was just trained; it can be saved without importing transformers.

    Attributes:
        backend: the tokenizer of the library `tokenizers`.
        roles: special tokens by role, such as ``{"eos_token": "<|endoftext|>"}``.
        training: settings and figures of the training, and the boundary probabilities if there are any.
        digest: the `merges_digest` of the merges, which is saved with the training metadata.
    """

    backend: Tokenizer
    roles: Mapping[str, Any]
    training: Training
    digest: str

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the files that `MwSTokenizerFast.save_pretrained` writes, except for the model card.

        If an error occurs, the folder does not change.

        Args:
            directory: where to write; it is created if it does not exist.

        Raises:
            MwSError: the folder cannot be written, or another run is writing to it.
        """
        save_backend(directory, self.backend, self.roles, self.training.files(self.digest))

    def wrapped(self) -> MwSTokenizerFast:
        """Return the same tokenizer as an object of `MwSTokenizerFast`, for transformers."""
        from mws_hf.tokenization_mws_fast import MwSTokenizerFast  # here, because transformers takes 20 MB of memory

        tokenizer = MwSTokenizerFast(tokenizer_object=self.backend, **self.roles)
        tokenizer.training = self.training
        return tokenizer


@described
@dataclass(kw_only=True, frozen=True, repr=False)
class MwSTrainer(Settings):
    """Train a BPE tokenizer whose merges follow morpheme boundaries.

    Training needs raw text and no labels. From the list of distinct words it estimates where morpheme boundaries are,
    learns merges that stay between them, and then joins frequent neighbors as BPE does (docs/how-it-works.md). The
    result is a `MwSTokenizerFast`. Any Hugging Face program can load the folder that its `save_pretrained` writes,
    without mws_hf.

    All settings are keyword arguments. Settings that `tokenizers.trainers` also has keep their names and meanings. A
    trainer never changes, so one trainer can train many tokenizers, and
    ``dataclasses.replace(trainer, vocab_size=8_000)`` makes a variant. It keeps the alphabet and the split pattern,
    which have other defaults with the other criterion; for that, make a new trainer.

    The defaults suit the tokenizer of a language model. The settings that people change first:

    - `vocab_size`: size of the whole vocabulary, 32,000 by default.
    - `composition`: share of the merges that join frequent neighbors; 0 gives morphs only, 1 plain frequency BPE.
    - `granularity`: how finely words are split, from 0.05 (coarse) to 0.15 (fine).
    - `labels`: words that you split by hand, as examples of how words should be split.
    - `pattern`: the regular expression that splits text into words first, or its name, such as ``"llama3"``.
    - `special_tokens`: for example ``["[PAD]", "[CLS]", "[SEP]", "[MASK]"]``.
    - `weights`: how much each language counts, if there are several.

    To train again with the settings of a tokenizer that you have just trained, use
    ``MwSTrainer.from_record(tokenizer.training.settings)``. A tokenizer that was loaded has no `training`; its settings
    are ``mws_hf.tokenizer.opened.open_tokenizer("my-tokenizer").record``.

    The arguments are described in `mws_hf.learn.settings`.

    Raises:
        MwSError: a setting is unknown or out of range, contradicts another, or belongs to the other criterion; or a
            file of labels cannot be read.

    >>> stems = ["walk", "talk", "jump", "play", "paint", "help", "work", "clean", "start", "plant"]
    >>> text = " ".join(stem + ending for stem in stems for ending in ["", "s", "ed", "ing", "er", "ers"])
    >>> tokenizer = MwSTrainer(n_merges=40, composition=0, show_progress=False).train([text])
    >>> tokenizer.segment("planted")
    ['plant', 'ed']
    >>> tokenizer.decode(tokenizer("planted!")["input_ids"])
    'planted!'
    """

    def __post_init__(self) -> None:
        self.set({"labels": read_label_files(self.labels)})
        super().__post_init__()

    def train(
        self, source: Any, *, column: str | None = None, group_column: str | None = None, **reader_options: Any
    ) -> MwSTokenizerFast:
        """Train a tokenizer on files or texts.

        `source` can be:

        - A str or path: a file, a glob such as ``"corpus/*.txt.gz"``, or ``"-"`` for standard input. Text, JSON lines,
          CSV and TSV may be compressed; Parquet, Arrow and saved `datasets` are read, too.
        - A list of these.
        - Texts: a list, generator or other iterable of strings, or of batches (lists) of strings.
        - A dataset of `datasets` (map-style or streamed), or a table or column of pandas or pyarrow.
        - A dict of groups, ``{"ru": "ru/*.gz", "en": [...]}``, for a tokenizer of several languages, or of text and
          code. Boundaries are estimated for each group separately, and merges are learned together (see `weights`).

        A list of strings may contain file names or texts. The first hundred strings decide:

        - The strings are file names if one of them names an existing file, and every other one could be a file name,
          too, because it contains no space or ends in a known suffix such as ``.txt``.
        - They are texts if one of them contains a space (or letters of a script without spaces, such as Thai or
          Chinese), and none has the form of a file name.
        - Any other list is an error, so that a mistyped file name is never learned as text. Pass such texts to
          `train_from_iterator`.

        Args:
            source: what to train on, as described above; `docs/inputs.md` describes the kinds of files.
            column: column of a table or dataset, or field of JSON records, that contains the text. By default
                ``"text"``.
            group_column: column of a table or dataset that names the group of each row; use it instead of a dict.
            **reader_options: `encoding` and `errors` for files, `length` (the number of texts, for the progress bar)
                for iterables, and for both `workers` (the number of threads) and `memory_cap` (the size in bytes above
                which the tables of counts are moved to disk).

        Returns:
            The trained tokenizer. Its `training` attribute contains the settings. Save it with `save_pretrained`.

        Raises:
            MwSError: a file is missing or cannot be read, an item is not text, a list of strings could be file names or
                texts, there is no word to learn from, or an option is unknown.

        >>> trainer = MwSTrainer(n_merges=3, show_progress=False)
        >>> tokenizer = trainer.train(["first text", "second text"])
        >>> trainer.train(["walked", "walking"])  # files or texts?  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        mws_hf.errors.MwSError: a list of strings such as 'walked' names no file and may not be texts: ...
        """
        from mws_hf.corpus.counting import count_source

        _check_options("train", reader_options, ("encoding", "errors", "length", "workers", "memory_cap"))
        groups = count_source(source, column=column, group_column=group_column, **self._counting, **reader_options)
        return self.train_from_counts(groups)

    def train_from_iterator(
        self, iterator: Any, length: int | None = None, *, column: str | None = None, **options: Any
    ) -> MwSTokenizerFast:
        """Train a tokenizer on texts, as the trainers of `tokenizers` do.

        Strings are always texts here, and never names of files.

        Args:
            iterator: strings, batches of strings, a dataset, or a table or a column of one.
            length: number of texts, which only the progress bar uses.
            column: column of a dataset or table, or field of records, that contains the text. By default ``"text"``.
            **options: `workers` (the number of threads) and `memory_cap` (the size in bytes above which the tables of
                counts are moved to disk).

        Returns:
            The trained tokenizer.

        Raises:
            MwSError: an item is not text, there is no word to learn from, or an option is unknown.

        >>> trainer = MwSTrainer(n_merges=3, show_progress=False)
        >>> trainer.train_from_iterator(["walked", "walking"]).segment("walked")
        ['walk', 'e', 'd']
        """
        from mws_hf.corpus.counting import count_documents

        _check_options("train_from_iterator", options, ("workers", "memory_cap"))
        return self.train_from_counts(
            count_documents(iterator, **self._counting, length=length, column=column, **options)
        )

    def train_from_counts(
        self, counts: WordCounts | Mapping[str, int] | Mapping[str, WordCounts] | str | Path
    ) -> MwSTokenizerFast:
        """Train a tokenizer on word counts.

        Args:
            counts: one of these:

                - a `WordCounts`, or the file of a saved one;
                - a dict or `Counter` from words to counts, where each word is split as after a space (see
                  `corpus.word_list.count_mapping`); for counts of pre-tokens use `WordCounts.from_mapping`;
                - a dict from the names of groups to such counts.

        Returns:
            The trained tokenizer.

        Raises:
            MwSError: there is no word to learn from, a word or a count is not valid, a file of counts cannot be read,
                or the pattern or normalization of the counts differs from that of the trainer.

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
        """Train as `train_from_counts` does, without importing transformers.

        Args:
            counts: as `train_from_counts` accepts them.
            evidence: boundary probabilities of the same counts, so that they are not computed again.

        Returns:
            The trained tokenizer, which `mws train` saves.

        Raises:
            MwSError: as in `train_from_counts`, or `evidence` was computed with other settings.
        """
        words = self._words_of(counts)
        learned = self.learn(words, evidence=evidence)
        backend, merges = self._build(learned)
        training = Training.of(self, learned, backend, words)
        return TrainedTokenizer(backend, special_settings(self.special_tokens), training, merges_digest(merges))

    def learn(
        self,
        counts: WordCounts | Mapping[str, int] | Mapping[str, WordCounts] | str | Path,
        *,
        evidence: Evidence | None = None,
    ) -> LearnedVocabulary:
        """Learn an alphabet and merges without building a tokenizer (see `mws_hf.learn.vocabulary.learn`).

        Args:
            counts: as `train_from_counts` accepts them.
            evidence: boundary probabilities of the same counts, so that they are not computed again.

        Returns:
            The alphabet and the merges, with figures of the training.

        Raises:
            MwSError: as in `train_from_counts`, or `evidence` was computed with other settings.
        """
        from mws_hf.learn.vocabulary import learn

        return learn(self._words_of(counts), self, evidence=evidence)

    def backend(self, learned: LearnedVocabulary) -> Tokenizer:
        """Build a tokenizer of the library `tokenizers` from the alphabet and merges that `learn` returns.

        Args:
            learned: the result of `learn`, with the same settings.

        Returns:
            The tokenizer, which has no training metadata.

        >>> trainer = MwSTrainer(n_merges=3, show_progress=False)
        >>> trainer.backend(trainer.learn({"walked": 2, "walking": 1})).encode(" walked").tokens
        ['Ġw', 'alk', 'e', 'd']
        """
        return self._build(learned)[0]

    def _build(self, learned: LearnedVocabulary) -> tuple[Tokenizer, Sequence[tuple[str, str]]]:
        """Build the tokenizer, and return it with its merges."""
        special = self.special_tokens
        vocab, merges = tokenizer_tables(special, learned.alphabet, learned.merges, self.alphabet_kind)
        backend = build_backend(
            vocab, merges, self.split_pattern, self.normalization, special, capitals=learned.capitals
        )
        return backend, merges

    def _words_of(self, counts: Any) -> WordCounts:
        """Read the counts that a user gives; raises MwSError if their pattern or normalization is not the trainer's."""
        from mws_hf.corpus.counts import WordCounts  # here, because `mws train --help` must start without numpy
        from mws_hf.corpus.splitter import Splitter

        splitter, words = Splitter(self.split_pattern, self.normalization_steps, self.special_tokens), counts
        if not isinstance(words, WordCounts):
            from mws_hf.corpus.word_list import as_word_counts

            words = as_word_counts(counts, splitter)
        if not words.splitter.agrees(splitter):
            raise MwSError(
                f"the counts were made with {words.splitter}, but the trainer has {splitter}; count again, or pass "
                "pattern=, normalization= and capitals= of the counts"
            )
        return words

    @property
    def _counting(self) -> dict[str, Any]:
        """The arguments for counting: how text is split into words, and whether progress is shown."""
        same = {name: getattr(self, name) for name in ("pattern", "special_tokens", "show_progress")}
        return same | {"normalization": self.normalization_steps}


def _check_options(method: str, options: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise MwSError for options that a method of `MwSTrainer` does not have."""
    if unknown := sorted(set(options) - set(known)):
        columns = ("column", "group_column") if method == "train" else ("column", "length")
        raise MwSError(
            f"MwSTrainer.{method} has no option {', '.join(unknown)}; its options are "
            f"{', '.join((*columns, *known))}; pass settings of the training to MwSTrainer(...)"
        )
