"""Where training words come from: files, lists and lexicons named by options, checked and counted together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.commands.options import group_of
from mws_hf.corpus.files import PLAIN, Reading
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, compiled, cut_by, literal_pattern
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.corpus.groups import GroupedCounts
    from mws_hf.corpus.sources import Source


@dataclass(frozen=True)
class Words:
    """Where the words of a training come from: text and saved counts by group, lists of words, lexicons."""

    files: Sequence[str] = ()
    lexicon: str | None = None
    word_lists: Sequence[Path] = ()
    lemmas: Path | None = None
    reading: Reading = PLAIN
    workers: int | None = None
    memory_cap: int | None = None
    show_progress: bool = True
    group_column: str | None = None
    also: Sequence[Path] = ()
    """Files that the command reads in the same way for something else."""

    @property
    def lists(self) -> list[Path]:
        """Return the lists of words and of lemmas."""
        return [*self.word_lists, *filter(None, [self.lemmas])]

    @property
    def by_group(self) -> dict[str, list[str]]:
        """Return the files, without their groups' names, by group; "" is the group of files that have none."""
        found: dict[str, list[str]] = {}
        for name in self.files:
            group, file = group_of(name)
            found.setdefault(group, []).append(file)
        return found

    def describe(self) -> str:
        """Name the sources in words, for a model card."""
        named = [f"{group}{'=' if group else ''}{Path(file).name}" for group, file in map(group_of, self.files)]
        lexicon = [f"the pymorphy3 lexicon '{self.lexicon}'"] if self.lexicon and self.lemmas is None else []
        return ", ".join(lexicon + named + [path.name for path in self.lists])

    @property
    def is_empty(self) -> bool:
        """Return whether no source was given."""
        return not (self.files or self.lists or self.lexicon)

    @cached_property
    def source(self) -> Source:
        """The files, checked, before anything is counted, like all else that was given."""
        from mws_hf.corpus.sources import Source
        from mws_hf.corpus.word_list import check_lexicon, check_list

        if self.is_empty:
            raise MwSError("no training words: give text files, --lexicon ru, --word-list FILE, or --lemmas FILE")
        self._check_groups()
        for path in self.lists:
            check_list(path)
        if self.lexicon is not None or self.lemmas is not None:
            check_lexicon(self.lexicon or "ru")
        also = list(map(str, self.also))
        return Source.of_files(
            self.by_group, self.reading, self.group_column, also=also, lists=list(map(str, self.word_lists))
        )

    def check(self, pattern: str | None, normalization: str | None) -> None:
        """Check that every source is there and every option has a meaning."""
        from mws_hf.corpus.counts import check_normalization

        check_normalization(normalization)
        if pattern is not None:
            compiled(pattern)
        _ = self.source

    def _check_groups(self) -> None:
        named = sorted(group for group in self.by_group if group)
        loose = [*self.by_group.get("", []), *self.lists, *filter(None, [self.lexicon])]
        if named and loose:
            raise MwSError(
                f"{loose[0]}: belongs to no group, while other sources do ({', '.join(named)}); name a group for every "
                "source (GROUP=FILE), or for none"
            )
        if self.group_column is not None and (named or self.lists or self.lexicon):
            raise MwSError("--group-column names groups within tables; give no other groups, word lists or lexicons")

    @property
    def saved_alone(self) -> list[str]:
        """The files if they are counts saved before, to which nothing is to be added; else none."""
        alone = not (self.lists or self.lexicon or self.group_column or self.source.files)
        return self.source.saved.get("", []) if alone else []

    def gather(
        self,
        pattern: str | None,
        normalization: str | None,
        default_pattern: str = DEFAULT_PATTERN,
        special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    ) -> GroupedCounts:
        """Count every source with one pattern and merge the results, group by group.

        A pattern of None is that of saved counts among the files, else `default_pattern`; so with the normalization.
        Texts are cut at special tokens.
        """
        from mws_hf.corpus.counting import MEMORY_CAP, count
        from mws_hf.corpus.counts import check_normalization
        from mws_hf.corpus.groups import GroupedCounts

        self.check(pattern, normalization)
        normalization = check_normalization(normalization)
        parts = []
        for group, name in ((group, name) for group, names in self.source.saved.items() for name in names):
            counts = GroupedCounts.load(name)
            _check_counted_so(name, counts, pattern, normalization)
            parts.append(GroupedCounts({group: counts.union}) if group else counts)
        pattern = pattern or (parts[0].pattern if parts else default_pattern)
        normalization = normalization or (parts[0].normalization if parts else None)
        cut: dict[str, Any] = {"pattern": pattern, "normalization": normalization}
        parts += [GroupedCounts.of(counts) for counts in self._lists(cut)]
        if self.source.files:
            parts.append(
                count(
                    self.source, special_tokens=special_tokens, workers=self.workers, show_progress=self.show_progress,
                    memory_cap=self.memory_cap or MEMORY_CAP, **cut,
                )
            )  # fmt: skip
        return parts[0].merge(*parts[1:]) if len(parts) > 1 else parts[0]

    def _lists(self, cut: dict[str, Any]) -> list[WordCounts]:
        if not self.lists and self.lexicon is None:
            return []
        from mws_hf.corpus.word_list import lemma_counts, lexicon_counts, list_lines, read_word_list

        coding: dict[str, Any] = {"encoding": self.reading.encoding, "errors": self.reading.errors}
        parts = [read_word_list(path, **coding, **cut) for path in self.word_lists]
        forms: dict[str, Any] = {"show_progress": self.show_progress, **cut}
        if self.lemmas is not None:
            lines = [line.strip() for _, line in list_lines(self.lemmas, self.reading)]
            parts.append(lemma_counts([line for line in lines if line], self.lexicon or "ru", **forms))
        elif self.lexicon is not None:
            parts.append(lexicon_counts(self.lexicon, **forms))
        return parts


def _check_counted_so(name: str, counts: GroupedCounts, pattern: str | None, normalization: str | None) -> None:
    """Refuse saved counts that were made with another pattern or normalization than is asked for."""
    own = counts.pattern, counts.normalization
    asked = literal_pattern(pattern or counts.pattern), normalization or counts.normalization
    if asked != own:
        raise MwSError(
            f"{name}: counted with {cut_by(*own)}, not {cut_by(*asked)}; count the text again, or leave --pattern and "
            "--normalization out"
        )


def entries_in(file: Path | None, reading: Reading = PLAIN, check: Callable[[str], object] | None = None) -> list[str]:
    """Read the lines of a file that are not empty, without their line ends; spaces at either end belong to an entry.

    `check` is called with each entry, and raises MwSError for what is none.
    """
    from mws_hf.corpus.files import expand_paths
    from mws_hf.corpus.readers import stored_lines

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


def check_scored(gold: list[Path] | None, texts: Iterable[Path | None], bits: Path | None) -> None:
    """Refuse a missing gold file or text, and bits of no text, before anything is counted, trained or scored."""
    given = [path for path in texts if path is not None]
    if bits is not None and not given:
        raise MwSError("--bits measures the bits of --text; give that too")
    for path in [*(gold or []), *given, *filter(None, [bits])]:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no such file"
            raise MwSError(f"{path}: {what}; give a gold file to --gold and a file of running text to --text")
