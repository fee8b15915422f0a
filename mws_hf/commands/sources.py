"""Collect the training words of a command: files, word lists and lexicons are checked and counted together."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.commands.options import INPUTS_OR_COUNTS, add_lexicon, add_reading, group_of, reading_of
from mws_hf.commands.outputs import file_names
from mws_hf.commands.parser import Parser
from mws_hf.corpus.files import PLAIN, Reading
from mws_hf.errors import MwSError

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.corpus.sources import Source
    from mws_hf.corpus.splitter import Splitter


@dataclass(frozen=True, kw_only=True)
class Words:
    """The sources of the training words, as the options of a command name them.

    Attributes:
        files: text and saved counts, some of them as GROUP=FILE.
        lexicon: language of a dictionary of pymorphy3; None for none.
        word_list: lists of words with counts.
        group_column: column of tables and datasets with the group of each row.
        reading: how files are read.
    """

    files: Sequence[str] = ()
    lexicon: str | None = None
    word_list: Sequence[Path] = ()
    group_column: str | None = None
    reading: Reading = PLAIN

    @staticmethod
    def add_options(parser: Parser) -> None:
        """Add the arguments and options that name the sources."""
        files = (
            f"{INPUTS_OR_COUNTS}. For several languages give GROUP=FILE, such as 'ru=ru/*.gz'. "
            "If the name of a file contains =, give it as ./NAME."
        )
        parser.add_argument("files", nargs="*", default=[], metavar="FILES...", help=files)
        add_lexicon(parser.input)
        add = parser.input.add_argument
        lists = "A list of word<TAB>count, plain or compressed; repeat the option for more."
        add("--word-list", action="append", default=[], type=Path, metavar="FILE", help=lists)
        column = "The column of tables and datasets that contains the group of each row."
        add("--group-column", metavar="NAME", help=column)
        add_reading(parser)

    @classmethod
    def of(cls, given: Namespace) -> Words:
        """Return the sources that the options name."""
        return cls(
            files=given.files,
            lexicon=given.lexicon,
            word_list=given.word_list,
            group_column=given.group_column,
            reading=reading_of(given),
        )

    @property
    def paths(self) -> list[str | Path]:
        """All files and globs, without the names of groups."""
        return [*(group_of(name)[1] for name in self.files), *self.word_list]

    @property
    def by_group(self) -> dict[str, list[str]]:
        """The files by group, without the names of groups; "" is the group of files without one."""
        found: dict[str, list[str]] = {}
        for group, file in map(group_of, self.files):
            found.setdefault(group, []).append(file)
        return found

    def describe(self) -> str:
        """Return the names of the sources as Markdown for a model card."""
        grouped = [group_of(file) for file in self.files]
        names = file_names([file for _, file in grouped])
        named = [f"{group}={name}" if group else name for (group, _), name in zip(grouped, names, strict=True)]
        lexicon = [f"the pymorphy3 lexicon '{self.lexicon}'"] if self.lexicon else []
        return ", ".join(lexicon + named + file_names(self.word_list))

    @property
    def is_empty(self) -> bool:
        """Whether no source was given."""
        return not (self.files or self.word_list or self.lexicon)

    @cached_property
    def source(self) -> Source:
        """The sources in the form that the library counts; accessing it checks all of them.

        Raises:
            MwSError: there is no source, or one of them cannot be read.
        """
        from mws_hf.corpus.files import expand_paths
        from mws_hf.corpus.sources import Source

        if self.is_empty:
            raise MwSError("there are no training words; give text files, --lexicon ru, or --word-list FILE")
        lists = expand_paths(self.word_list) if self.word_list else []
        return Source.of_options(self.by_group, self.reading, self.group_column, lists=lists, lexicon=self.lexicon)

    def splitter(self, pattern: str | None = None, normalization: str | None = None, **more: Any) -> Splitter:
        """Return the splitter that splits text into pre-tokens.

        Args:
            pattern: split pattern or its name; None for that of the saved counts among the files, or if there are none
                for the default.
            normalization: normalization, such as "nfc"; None for that of the saved counts among the files, or if there
                are none for no normalization.
            **more: other options of `Splitter`, such as special tokens.
        """
        from mws_hf.corpus.splitter import Splitter

        saved = self.source.saved_splitter or Splitter()
        return Splitter(pattern or saved.pattern, normalization or saved.normalization, **more)

    def count(self, splitter: Splitter, *, memory_cap: int | None = None, show_progress: bool) -> WordCounts:
        """Count the words of all sources, separately for each group."""
        from mws_hf.corpus.counting import MEMORY_CAP, count

        return count(self.source, splitter, memory_cap=memory_cap or MEMORY_CAP, show_progress=show_progress)


def entries_in(file: Path | None, reading: Reading = PLAIN, check: Callable[[str], object] | None = None) -> list[str]:
    """Read the entries of a file, one per line; empty lines are skipped, and spaces are part of an entry.

    Args:
        file: the file; with None the list is empty.
        reading: how the file is read.
        check: a function that raises MwSError for a wrong entry.

    Raises:
        MwSError: the file is a folder, does not exist or has no entries, or an entry is wrong (with its line).
    """
    from mws_hf.corpus.files import expand_paths
    from mws_hf.corpus.octets import stored_lines
    from mws_hf.corpus.place import Fault, about

    if file is None:
        return []
    if os.path.isdir(file):
        raise MwSError(f"{file}: is a folder; give a file with one entry per line")
    expand_paths(file)
    found = []
    with about(file):
        for number, line in enumerate(stored_lines(file, reading), start=1):
            if entry := line.rstrip("\r\n"):
                try:
                    if check is not None:
                        check(entry)
                except MwSError as error:
                    raise Fault(str(error), number) from error
                found.append(entry)
    if not found:
        raise MwSError(f"{file}: is empty; give one entry per line")
    return found
