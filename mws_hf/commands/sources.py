"""The options that say where training words come from, shared by `mws train`, `mws count` and `mws explain`."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from mws_hf.errors import MwSError
from mws_hf.kernels.cache import notices
from mws_hf.pattern import WORD_PATTERN
from mws_hf.words.counting import count_files
from mws_hf.words.counts import WordCounts, is_counts_file
from mws_hf.words.files import expand_paths
from mws_hf.words.inputs import check_files
from mws_hf.words.lexicon import lemma_counts, lexicon_counts
from mws_hf.words.readers import read_lines
from mws_hf.words.word_list import read_word_list

INPUTS = (
    "Text (.txt, .jsonl, .csv, .tsv; each also .gz, .bz2, .xz, .zst), .parquet, .arrow, save_to_disk folders, globs, "
    "'-' for stdin"
)
Files = Annotated[list[str] | None, typer.Argument(help=f"{INPUTS}, or counts from `mws count`.")]
Lexicon = Annotated[
    str | None, typer.Option(help="Train on all word forms of a pymorphy3 dictionary: 'ru' (3.06 million) or 'uk'.")
]
WordList = Annotated[list[Path] | None, typer.Option("--word-list", help="A word<TAB>count list, plain or compressed.")]
Lemmas = Annotated[
    Path | None, typer.Option(help="A list of lemmas, one a line, expanded to all forms (--lexicon says whose).")
]
Field = Annotated[str | None, typer.Option("--field", help="The text field of .jsonl records.")]
Column = Annotated[
    str | None, typer.Option("--column", help="The text column of .csv, .tsv, .parquet, .arrow, datasets.")
]
Encoding = Annotated[str, typer.Option(help="Character encoding of text, .jsonl, .csv and word lists.")]
Errors = Annotated[str, typer.Option(help="What to do with undecodable bytes: strict, replace or ignore.")]


def _no_notices(quiet: bool) -> bool:
    """Keep the note on compiling kernels off the terminal as well."""
    if quiet:
        notices.setLevel(logging.ERROR)
    return quiet


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.", callback=_no_notices)]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable result on stdout.")]


@dataclass(frozen=True)
class Reading:
    """How text files are read: the options of the same names."""

    field: str | None = None
    column: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"


@dataclass(frozen=True)
class Sources:
    """Where words come from; `gather` counts them all together."""

    files: list[str] = field(default_factory=list)
    lexicon: str | None = None
    word_lists: list[Path] = field(default_factory=list)
    lemmas: Path | None = None
    reading: Reading = field(default_factory=Reading)
    workers: int | None = None
    memory_cap: int | None = None
    show_progress: bool = True

    @classmethod
    def from_options(
        cls,
        files: list[str] | None,
        lexicon: str | None,
        word_list: list[Path] | None,
        lemmas: Path | None = None,
        *,
        reading: Reading,
        quiet: bool,
        workers: int | None = None,
        memory_cap: int | None = None,
    ) -> Sources:
        """Build from the options of a command as typer gives them, None where one was not given."""
        return cls(files or [], lexicon, word_list or [], lemmas, reading, workers, memory_cap, not quiet)

    def describe(self) -> str:
        """The sources in words, for a model card."""
        lemmas = [] if self.lemmas is None else [self.lemmas]
        named = [Path(str(name)).name for name in [*self.files, *self.word_lists, *lemmas]]
        lexicon = [f"the pymorphy3 lexicon '{self.lexicon}'"] if self.lexicon and self.lemmas is None else []
        return ", ".join(lexicon + named)

    @property
    def is_empty(self) -> bool:
        """Whether no source was given."""
        return not (self.files or self.word_lists or self.lexicon or self.lemmas)

    def gather(self, pattern: str | None, normalization: str | None, default_pattern: str = WORD_PATTERN) -> WordCounts:
        """Count every source with one pattern and merge the results.

        Args:
            pattern: the split pattern; None: that of saved counts among the files, else `default_pattern`.
            normalization: None: that of saved counts among the files, else none.
            default_pattern: see `pattern`.

        Raises:
            MwSError: no source was given, one cannot be read, or saved counts were made with another pattern.
        """
        reading = self.reading
        files = expand_paths(self.files) if self.files else []
        for path in [*self.word_lists, *([self.lemmas] if self.lemmas else [])]:
            expand_paths(path)  # a missing file is said before any work
        saved = [name for name in files if os.path.isfile(name) and is_counts_file(name)]  # a pipe is read but once
        texts = [name for name in files if name not in saved]
        check_files(texts, **asdict(reading))
        parts = [WordCounts.load(name) for name in saved]
        pattern = pattern or (parts[0].pattern if parts else default_pattern)
        normalization = normalization or (parts[0].normalization if parts else None)
        coding: dict[str, Any] = {"encoding": reading.encoding, "errors": reading.errors}
        parts += [read_word_list(p, pattern=pattern, normalization=normalization, **coding) for p in self.word_lists]
        if self.lemmas is not None:
            lines = [line.strip() for line in read_lines(self.lemmas, **coding)]
            parts.append(
                lemma_counts(
                    [line for line in lines if line], self.lexicon or "ru", pattern=pattern, normalization=normalization
                )
            )
        elif self.lexicon is not None:
            parts.append(lexicon_counts(self.lexicon, pattern=pattern, normalization=normalization))
        if texts:
            parts.append(self._count_texts(texts, pattern, normalization))
        if not parts:
            raise MwSError("no training words: give text files, --lexicon ru, --word-list FILE, or --lemmas FILE")
        return parts[0].merge(*parts[1:]) if len(parts) > 1 else parts[0]

    def _count_texts(self, texts: list[str], pattern: str, normalization: str | None) -> WordCounts:
        options: dict[str, Any] = {} if self.memory_cap is None else {"memory_cap": self.memory_cap}
        return count_files(
            texts,
            pattern=pattern,
            normalization=normalization,
            **asdict(self.reading),
            workers=self.workers,
            show_progress=self.show_progress,
            **options,
        )
