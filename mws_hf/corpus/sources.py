"""Describe and check all inputs of a call or command (`Source`), and read them by group.

A `Source` is read as blocks of text by group, or as documents. In plain text a document can be a line or the whole
file; in every other kind of input each record, row or element is a document. A `Source` also warns of texts that would
be used twice: a file that is given twice, a copy under another name, and a text together with its own counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa

from mws_hf.corpus.blocks import BLOCK_BYTES, Block, Columns, GroupBlock, arrow_block, padded, whole_files
from mws_hf.corpus.columns import no_texts
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import CountsFile, is_counts_file
from mws_hf.corpus.files import (
    PLAIN,
    STDIN,
    Reading,
    check_read_once,
    expand_paths,
    is_read_once,
    names_file,
)
from mws_hf.corpus.groups import UNNAMED, check_group_name
from mws_hf.corpus.kinds import InMemory, Kind, has_known_suffix, kind_of
from mws_hf.corpus.octets import Advance
from mws_hf.corpus.repeated_texts import text_digests, warn_of_repeated
from mws_hf.corpus.splitter import Splitter
from mws_hf.errors import MwSError, SettingError, quoted

_EXAMINED_ITEMS = 100  # elements at the start of a list that decide whether it is a list of files
_UNSPACED = re.compile("[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{2}")
"""Letters of scripts in which texts have no spaces: Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese."""
_NO_COLUMNS = "none of the inputs has columns"


@dataclass(frozen=True)
class Source:
    """All inputs: texts, saved counts, word lists and a lexicon.

    Each of them belongs to a group, which is `UNNAMED` if the user gives no names of groups.

    Attributes:
        files: names of files of text, by group.
        values: texts in memory, by group; `columns.iterate_documents` lists their types.
        saved: names of files of counts, by group.
        lists: names of word lists.
        lexicon: the language of a lexicon whose words are counted.
        how: how files are read, and the column of values.
        group_column: the column of tables and datasets that contains the group of each row.
    """

    files: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    saved: dict[str, list[str]] = field(default_factory=dict)
    lists: list[str] = field(default_factory=list)
    lexicon: str | None = None
    how: Reading = PLAIN
    group_column: str | None = None

    @classmethod
    def of(
        cls,
        given: Any,
        how: Reading = PLAIN,
        group_column: str | None = None,
        *,
        groups: bool = True,
        call: str = "train_from_iterator(texts)",
    ) -> Source:
        """Create a source from files or texts, or from a dict of these by group, and check it.

        A str or path is a file, a glob or "-". The first hundred elements decide about a list or tuple:

        - It contains files if one of them is a path, or if one of them names an existing file and every other one could
          be a file name, too, because it contains no space or ends in a known suffix. Then all files must exist.
        - It contains texts if all of them are strings, one contains a space (or letters of a script without spaces,
          such as Thai or Chinese), and none looks like a file name; or if one is neither a string nor a path.
        - Any other list is an error.

        Any other value (an iterator, dataset or table) contains texts.

        Args:
            given: files or texts, or a dict from group to files or texts.
            how: how files are read, and the column of values.
            group_column: the column of tables and datasets that contains the group of each row.
            groups: whether the keys of a dict are the names of groups; otherwise they are the names of splits.
            call: a call that always takes strings as texts; the error for strings that could be files or texts
                proposes it.

        Raises:
            MwSError: a file does not exist, an input cannot be read, or strings could be files or texts.
        """
        files, values = dict[str, list[str]](), dict[str, Any]()
        by_name = groups and _names_groups(given) and group_column is None
        if by_name and not given:
            raise MwSError("no groups of words; give at least one, such as {'fin': files}")
        for group, part in (given if by_name else {UNNAMED: given}).items():
            if by_name:
                _check_part(group, part)
            try:
                names = _named_files(part, call)
            except MwSError as error:
                if not by_name:
                    raise
                raise MwSError(f"group {group!r}: {error}") from error
            if names is None:
                values[group] = part
            else:
                files[group] = names
        source = cls(files, values, how=how, group_column=group_column)
        source.check()
        return source

    @classmethod
    def of_options(
        cls,
        names: Mapping[str, Sequence[str]] | Sequence[str],
        how: Reading = PLAIN,
        group_column: str | None = None,
        *,
        lists: Sequence[str] = (),
        lexicon: str | None = None,
        also: Sequence[str] = (),
        twice: str | None = None,
    ) -> Source:
        """Create a source from the options of a command, and check it; files of counts are recognized.

        Args:
            names: files and globs, or these by group.
            how: how files are read.
            group_column: the column of tables and datasets that contains the group of each row.
            lists: word lists.
            lexicon: the language of a lexicon.
            also: other files that the command reads in the same way, which are checked, too.
            twice: the option or command that reads the texts twice, or None if texts are read once. Counts, standard
                input and pipes cannot be read twice as text, and the error for them contains this name.

        Raises:
            MwSError: a file does not exist or cannot be read, or only some of the inputs have a group.
        """
        files, saved = dict[str, list[str]](), dict[str, list[str]]()
        also = expand_paths(also) if also else []
        for group, given in (names if isinstance(names, Mapping) else {UNNAMED: names}).items():
            for name in expand_paths(given) if given else []:
                is_saved = os.path.isfile(name) and is_counts_file(name)  # a pipe can be read only once
                (saved if is_saved else files).setdefault(group, []).append(name)
        once = [*chain.from_iterable(saved.values()), *filter(is_read_once, [*chain(*files.values()), *also])]
        if twice is not None and once:
            raise MwSError(f"{once[0]}: {twice} reads text twice to see which tokens it uses; give files of text")
        named = {group for group in (*files, *saved) if group}
        of_counts = {name: CountsFile.open(name).totals.keys() for name in saved.get(UNNAMED, [])}
        without = [name for name, groups in of_counts.items() if UNNAMED in groups]
        unnamed = [*files.get(UNNAMED, []), *without, *lists, *filter(None, [lexicon])]
        groups = named if group_column is not None else named.union(*of_counts.values()) - {UNNAMED}
        if groups and unnamed:
            raise MwSError(
                f"{unnamed[0]}: belongs to no group, but other sources do ({', '.join(sorted(groups))}); give a group "
                "for every source (GROUP=FILE), or for none"
            )
        if group_column is not None and (named or lists or lexicon):
            raise MwSError("--group-column names groups within tables; give no other groups, word lists or lexicons")
        source = cls(files, {}, saved, list(lists), lexicon, how, group_column)
        source.check(also)
        return source

    def check(self, also: Sequence[str] = ()) -> None:
        """Check everything before any work: the first record of JSON lines and the header of a table are read.

        Args:
            also: other files of text that are checked, too.

        Raises:
            MwSError: an input cannot be read, or lacks a column, or standard input or a pipe is given twice.
        """
        check_read_once([*self.all_names, *also])
        if self.lists or self.lexicon:
            from mws_hf.corpus.word_list import check_lexicon, check_list

            if self.lexicon:
                check_lexicon(self.lexicon)
            check_list(self.lists)
        kinds = [kind for _, kind in self.kinds]
        others = [kind_of(name, self.how) for name in also]
        if self.how.column is not None and self.group_column is None:
            if not any(kind.has_columns for kind in [*kinds, *others]):
                what = f"{kinds[0].place}: is plain text, which has no columns" if kinds else _NO_COLUMNS
                raise MwSError(f"{what}; leave --column {self.how.column} out")
        for kind in kinds:
            _check(kind, self.group_column)
        for kind in others:
            _check(kind, None)
        warn_of_repeated(self.all_names, self.how)

    @cached_property
    def kinds(self) -> list[tuple[str, Kind]]:
        """Everything that is read as text: its group, and how it is read."""
        found: list[tuple[str, Kind]] = []
        for group, names in self.files.items():
            found += [(group, kind_of(name, self.how)) for name in names]
        return found + [(group, InMemory(value, self.how)) for group, value in self.values.items()]

    @property
    def names(self) -> list[str]:
        """All files of text."""
        return [*chain.from_iterable(self.files.values())]

    @property
    def all_names(self) -> list[str]:
        """All files: lists of words, counts, text."""
        return [*self.lists, *chain.from_iterable(self.saved.values()), *self.names]

    @property
    def groups(self) -> list[str]:
        """The names of the groups that the user gave; none if a column names the group of each row."""
        listed = [UNNAMED] if self.lists or self.lexicon else []
        saved = [group or own for group, file in self._counts for own in file.totals]
        return [*listed, *saved, *([] if self.group_column is not None else [*self.files, *self.values])]

    @property
    def only_saved(self) -> list[str]:
        """The files of counts without groups if there is nothing else to count; otherwise an empty list."""
        others = self.files or self.values or self.lists or self.lexicon or self.group_column
        return [] if others else self.saved.get(UNNAMED, [])

    @cached_property
    def _counts(self) -> list[tuple[str, CountsFile]]:
        """The metadata of saved counts, each with its group."""
        return [(group, CountsFile.open(name)) for group, names in self.saved.items() for name in names]

    @property
    def saved_splitter(self) -> Splitter | None:
        """The splitter that made the first of the saved counts; None if there are no saved counts."""
        return self._counts[0][1].splitter if self._counts else None

    @property
    def size(self) -> int | None:
        """The bytes of all files as stored; None if there is no file, or if one has no size, such as a pipe."""
        names = self.names
        return sum(map(os.path.getsize, names)) if names and all(map(os.path.isfile, names)) else None

    def streams(
        self, splitter: Splitter, advance: Advance | None = None
    ) -> Iterator[Iterator[tuple[str, Block | Columns]]]:
        """Yield, for every file and value, an iterator over its blocks or its counts, each with its group.

        The iterators can be read side by side, in any order. A file is opened when its first block is read, and takes
        no memory after its last one.

        Args:
            splitter: the splitter that will split the text; its `division` decides how files of plain text are divided.
            advance: called with the number of bytes taken from files as stored, or if there are no files, with 1 for
                each document.
        """
        for group, file in self._counts:
            yield _loaded(group, file)
        for group, kind in self.kinds:
            counted = advance if kind.is_stored or not self.files else None
            if self.group_column is None:
                yield _with_group(group, kind.blocks(division=splitter.division, advance=counted))
            else:
                yield _by_group(kind.groups(self.group_column, counted))
        if self.lists or self.lexicon:
            yield self._listed(splitter)

    def check_splitter(self, splitter: Splitter) -> None:
        """Raise MwSError if saved counts were made with a different pattern or normalization."""
        for _, file in self._counts:
            if not file.splitter.agrees(splitter):
                raise MwSError(
                    f"{file.path}: counted with {file.splitter}, not {splitter}; count the text again, or leave "
                    "out --pattern, --normalization and --capitals"
                )

    def only_counted(self, splitter: Splitter) -> WordCounts | None:
        """Return the counts of a file of counts, or of a lexicon, if there is nothing else to count; otherwise None."""
        if self.files or self.values or self.lists or self.group_column is not None:
            return None
        if self.lexicon and not self._counts:
            from mws_hf.corpus.word_list import lexicon_words_counted

            return WordCounts.of(*lexicon_words_counted(self.lexicon, splitter), splitter)
        if len(self._counts) == 1 and not self.lexicon:
            group, file = self._counts[0]
            counts = WordCounts.load(file.path)
            return WordCounts.from_groups({group: counts}) if group else counts
        return None

    def _listed(self, splitter: Splitter) -> Iterator[tuple[str, Columns]]:
        """Count word lists and the lexicon."""
        from mws_hf.corpus.word_list import lexicon_words_counted, words_listed

        for name in self.lists:
            yield UNNAMED, words_listed(name, self.how, splitter)
        if self.lexicon:
            yield UNNAMED, lexicon_words_counted(self.lexicon, splitter)

    def blocks(
        self, document: str = "line", size: int = BLOCK_BYTES, advance: Advance | None = None
    ) -> Iterator[Block]:
        """Read the documents of all groups in order, in padded blocks.

        Args:
            document: what a document is in text files: "line" (with its line end, without a byte order mark) or "file".
            size: the approximate number of bytes of a block. A block of lines has at most as many, unless a line is
                longer; a block of whole files, records or rows can have more.
            advance: called with the number of bytes taken from files as stored, or for other sources with the number of
                bytes of the text.

        Raises:
            MwSError: `document` is unknown, or it is "file" although some of the files are not plain text.
        """
        if document not in ("line", "file"):
            raise SettingError("document", document, "is unknown; in a text file a document is a 'line' or a 'file'")
        if document == "file" and not self.values:
            for _, kind in self.kinds:
                if not kind.is_text:
                    problem = f"is for text files, but each record of {kind.place}, a {kind.title} file, is a document"
                    raise SettingError("document", document, problem)
            return whole_files(self.names, size, advance, self.how)

        def read(kind: Kind) -> Iterator[Block]:
            counted = advance if kind.is_stored else None
            for block in map(padded, kind.blocks(division=None, advance=counted, size=size)):
                yield block
                if advance is not None and not kind.is_stored:
                    advance(block.size)

        return chain.from_iterable(read(kind) for _, kind in self.kinds)

    def documents(self) -> Iterator[str]:
        """Read the documents in order: lines of text files, each with its line end, and records, rows or elements."""
        return chain.from_iterable(kind.texts() for _, kind in self.kinds)

    def marks(self) -> list[str]:
        """Return the digests of all texts, sorted, which are saved together with the counts.

        For a file of counts, they are the digests of the texts that were counted, not the digest of that file.
        Therefore the saved result does not depend on whether a text was counted in this run or in an earlier one.
        """
        counted = chain.from_iterable(file.texts for _, file in self._counts)
        files = [*self.lists, *self.names]
        return sorted({*counted, *chain.from_iterable(text_digests(name, self.how) for name in files)})


def read_documents(paths: Any, how: Reading = PLAIN) -> Iterator[str]:
    """Read the documents of files that were already checked; see `Source.documents`."""
    return Source({UNNAMED: expand_paths(paths)}, how=how).documents()


def _loaded(group: str, file: CountsFile) -> Iterator[tuple[str, Columns]]:
    """Load saved counts; their groups are those of the file, or the given one if it has a name."""
    for own, columns in WordCounts.load(file.path).parts.items():
        yield group or own, columns


def _with_group(group: str, blocks: Iterable[Block]) -> Iterator[GroupBlock]:
    """Yield every block with its group; unlike `zip`, this keeps no reference to the last block."""
    for block in blocks:
        yield group, block


def _by_group(batches: Iterable[tuple[str, pa.LargeStringArray]]) -> Iterator[GroupBlock]:
    """Yield a block for each batch of texts, with the name of its group."""
    for group, texts in batches:
        yield group, arrow_block(texts, lambda _, group=group: f"a text of group {group!r}")  # type: ignore[misc]


def _names_groups(source: Any) -> bool:
    """Return whether a source is a dict by group; a `DatasetDict` is one by split."""
    return isinstance(source, Mapping) and not hasattr(source, "with_format")


def _check_part(group: Any, part: Any) -> None:
    """Raise MwSError if a value of a dict of groups contains no texts, or if the name of the group is not allowed."""
    if not isinstance(part, (str, os.PathLike)) and (isinstance(part, bytes) or not hasattr(part, "__iter__")):
        raise no_texts(group, part)
    check_group_name(group)
    if _names_groups(part):
        raise MwSError(f"group {group!r} contains groups, which is not possible; give its files or texts")


def _named_files(source: Any, call: str) -> list[str] | None:
    """Return the files that a source names, or None if it contains texts; `Source.of` has the rule."""
    if isinstance(source, str) and not names_file(source):
        raise MwSError(f"{quoted(source)}: no such file, nor a glob that matches one; for texts call {call}")
    if isinstance(source, (str, os.PathLike)):
        return expand_paths(source)
    if not isinstance(source, (list, tuple)):
        return None
    if not source:
        raise MwSError("an empty list contains neither files nor texts; give at least one")
    first = source[:_EXAMINED_ITEMS]
    if not all(isinstance(item, (str, os.PathLike)) for item in first):
        return None
    if any(isinstance(item, os.PathLike) for item in first) or _are_names(first):
        if strange := next((item for item in source if not isinstance(item, (str, os.PathLike))), None):
            raise MwSError(f"a list of files contains {type(strange).__name__}; give only names of files")
        return expand_paths(source)
    if any(map(_like_a_path, first)) or not any(len(item.split()) > 1 or _UNSPACED.search(item) for item in first):
        example = next((item for item in first if not names_file(item)), first[0])
        raise MwSError(
            f"a list of strings such as {quoted(example)} names no file and may not be texts: check the names, "
            f"or call {call} for texts"
        )
    return None


def _are_names(items: Sequence[str]) -> bool:
    """Return whether strings are names of files: at least one names a file, and none of the others is prose.

    Prose contains spaces and does not look like a path. If some strings are prose, a line of asterisks among them is
    not meant as a glob, although it matches files.
    """
    others = [item for item in items if not names_file(item)]
    return len(others) < len(items) and not any(len(item.split()) > 1 and not _like_a_path(item) for item in others)


def _like_a_path(name: str) -> bool:
    """Return whether a string looks like the name of a file: it has a known suffix, or a slash and no space."""
    if "\n" in name:
        return False
    return has_known_suffix(name) or (os.sep in name and len(name.split()) == 1)


def _check(kind: Kind, group_column: str | None) -> None:
    """Check an input of a source; a column of groups is possible only in tables and datasets."""
    if group_column is not None and (kind.place == STDIN or not kind.has_groups):
        raise MwSError(
            f"{kind.place}: a column of groups is for tables (.csv, .tsv, .parquet, .arrow) and datasets; give other "
            "files by group (group=FILE)"
        )
    if not kind.is_stored or os.path.isfile(kind.place):  # standard input and pipes can be read only once
        kind.check([kind.how.column] if group_column is None else [kind.how.column, group_column])
