"""Where training words come from: files, lists and lexicons named by options, checked and counted together."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.commands.options import INPUTS, add_lexicon, add_reading, group_of, reading_of
from mws_hf.commands.parser import Parser
from mws_hf.corpus.files import PLAIN, Reading
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, compiled, cut_by, literal_pattern
from mws_hf.text.symbols import DEFAULT_SPECIAL_TOKENS

if TYPE_CHECKING:
    from mws_hf.corpus.groups import GroupedCounts
    from mws_hf.corpus.sources import Source


@dataclass(frozen=True, kw_only=True)
class Words:
    """Where the words of a training come from: text and saved counts by group, lists of words, lexicons."""

    files: Sequence[str] = ()
    lexicon: str | None = None
    word_list: Sequence[Path] = ()
    group_column: str | None = None
    reading: Reading = PLAIN

    @staticmethod
    def add_options(parser: Parser) -> None:
        """Add the arguments and options that name the words."""
        files = (
            f"{INPUTS}, or counts from `mws count`. For several languages give GROUP=FILE, such as 'ru=ru/*.gz' (a "
            "file whose name contains = is given as ./NAME)."
        )
        parser.add_argument("files", nargs="*", default=[], metavar="FILES...", help=files)
        add_lexicon(parser.input)
        add = parser.input.add_argument
        lists = "A list of word<TAB>count, plain or compressed; repeat the option for more."
        add("--word-list", action="append", default=[], type=Path, metavar="FILE", help=lists)
        add("--group-column", help="The column of tables and datasets that contains the group of each row.")
        add_reading(parser)

    @classmethod
    def of(cls, given: Namespace) -> Words:
        """Return the words that the options name."""
        return cls(
            files=given.files,
            lexicon=given.lexicon,
            word_list=given.word_list,
            group_column=given.group_column,
            reading=reading_of(given),
        )

    @property
    def read(self) -> list[str | Path]:
        """Name every file that is read."""
        return [*(group_of(name)[1] for name in self.files), *self.word_list]

    @property
    def by_group(self) -> dict[str, list[str]]:
        """Return the files, without their groups' names, by group; "" is the group of files that have none."""
        found: dict[str, list[str]] = {}
        for group, file in map(group_of, self.files):
            found.setdefault(group, []).append(file)
        return found

    def describe(self) -> str:
        """Name the sources in words, for a model card."""
        named = [f"{group}{'=' if group else ''}{Path(file).name}" for group, file in map(group_of, self.files)]
        lexicon = [f"the pymorphy3 lexicon '{self.lexicon}'"] if self.lexicon else []
        return ", ".join(lexicon + named + [path.name for path in self.word_list])

    @property
    def is_empty(self) -> bool:
        """Whether no source was given."""
        return not (self.files or self.word_list or self.lexicon)

    @cached_property
    def source(self) -> Source:
        """The files, checked, before anything is counted, like all else that was given."""
        from mws_hf.corpus.sources import Source

        if self.is_empty:
            raise MwSError("no training words: give text files, --lexicon ru, or --word-list FILE")
        files, lists = self.by_group, [*map(str, self.word_list)]
        named = sorted(group for group in files if group)
        if named and (others := [*files.get("", []), *lists, *filter(None, [self.lexicon])]):
            raise MwSError(
                f"{others[0]}: belongs to no group, while other sources do ({', '.join(named)}); name a group "
                "for every source (GROUP=FILE), or for none"
            )
        if self.group_column is not None and (named or lists or self.lexicon):
            raise MwSError("--group-column names groups within tables; give no other groups, word lists or lexicons")
        if lists or self.lexicon:
            from mws_hf.corpus.word_list import check_lexicon, check_list

            if self.lexicon:
                check_lexicon(self.lexicon)
            if lists:
                check_list(lists)
        return Source.of_files(files, self.reading, self.group_column, lists=lists)

    @property
    def saved_alone(self) -> list[str]:
        """The files if they are counts saved before, to which nothing is to be added; else none."""
        alone = not (self.word_list or self.lexicon or self.group_column or self.source.files)
        return self.source.saved.get("", []) if alone else []

    def gather(
        self,
        pattern: str | None,
        normalization: str | None,
        default_pattern: str = DEFAULT_PATTERN,
        special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
        memory_cap: int | None = None,
        *,
        show_progress: bool,
    ) -> GroupedCounts:
        """Count every source with one pattern and merge the results, group by group.

        A pattern of None is that of saved counts among the files, else `default_pattern`; so with the normalization.
        Texts are cut at special tokens.
        """
        from mws_hf.corpus.counting import MEMORY_CAP, count
        from mws_hf.corpus.counts import check_normalization
        from mws_hf.corpus.groups import GroupedCounts

        normalization = check_normalization(normalization)
        if pattern is not None:
            compiled(pattern)
        parts = []
        for group, name in [(group, name) for group, names in self.source.saved.items() for name in names]:
            counts = GroupedCounts.load(name)
            own = counts.pattern, counts.normalization
            asked = literal_pattern(pattern or counts.pattern), normalization or counts.normalization
            if asked != own:
                raise MwSError(
                    f"{name}: counted with {cut_by(*own)}, not {cut_by(*asked)}; count the text again, or leave "
                    "--pattern and --normalization out"
                )
            parts.append(GroupedCounts({group: counts.union}) if group else counts)
        pattern = literal_pattern(pattern or (parts[0].pattern if parts else default_pattern))
        normalization = normalization or (parts[0].normalization if parts else None)
        cut: dict[str, Any] = {"pattern": pattern, "normalization": normalization}
        if self.word_list or self.lexicon:
            from mws_hf.corpus.word_list import lexicon_counts, read_word_list

            how = {"encoding": self.reading.encoding, "errors": self.reading.errors}
            parts += [GroupedCounts.of(read_word_list(path, **how, **cut)) for path in self.word_list]
            if self.lexicon:
                parts.append(GroupedCounts.of(lexicon_counts(self.lexicon, show_progress=show_progress, **cut)))
        if self.source.files:
            parts.append(
                count(
                    self.source, special_tokens=special_tokens, show_progress=show_progress,
                    memory_cap=memory_cap or MEMORY_CAP, **cut,
                )
            )  # fmt: skip
        return parts[0].merge(*parts[1:]) if len(parts) > 1 else parts[0]


def entries_in(file: Path | None, reading: Reading = PLAIN, check: Callable[[str], object] | None = None) -> list[str]:
    """Read the lines of a file that are not empty, without their line ends; spaces at either end belong to an entry.

    `check` is called with each entry, and raises MwSError for what is none.
    """
    from mws_hf.corpus.files import expand_paths
    from mws_hf.corpus.octets import stored_lines

    if file is None:
        return []
    if file.is_dir():
        raise MwSError(f"{file}: a folder; give a file with one entry a line")
    expand_paths(file)
    found = []
    for number, line in enumerate(stored_lines(file, reading), start=1):
        if entry := line.rstrip("\r\n"):
            try:
                if check is not None:
                    check(entry)
            except MwSError as error:
                raise MwSError(f"{file}:{number}: {error}") from error
            found.append(entry)
    if not found:
        raise MwSError(f"{file}: is empty; give one entry a line")
    return found
