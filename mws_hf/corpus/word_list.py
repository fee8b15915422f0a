"""Read counts from a list of words, `word<TAB>count` a line, or from a mapping; running text is counted elsewhere."""

from __future__ import annotations

import numbers
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mws_hf.corpus.block_counts import normalizer
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import PLAIN, PathLike, Reading, expand_paths, file_kind
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.corpus.readers import stored_lines
from mws_hf.errors import MwSError
from mws_hf.text.alphabets import check_unicode
from mws_hf.text.pattern import DEFAULT_PATTERN, split

_RECORD = re.compile(r"\s*\{.*\}\s*")
_SPACED = re.compile(r"\s*\d+\s+\S+\s*|\s*\S+\s+\d+\s*")  # `uniq -c`, and a word list with spaces for tabs


def read_word_list(
    paths: PathLike | list[PathLike],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    leading_space: bool = True,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> WordCounts:
    """Read files of `word<TAB>count` lines, plain or compressed; the counts of equal words add up.

    A list of bare words stands for words inside sentences, so each form is cut into pre-tokens as ``" " + form``
    (unless it starts with a space already, or `leading_space` is False). A form that the pattern splits, such as
    ``кое-кто`` -> ``" кое"``, ``"-кто"``, gives its count to each of its pre-tokens. A line without a tab is a word
    counted once.
    """
    how = Reading(encoding=encoding, errors=errors)
    forms = (_parse(line, where) for where, line in list_lines(paths, how))
    return _counted(forms, pattern, normalization, leading_space)


def check_list(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Return the names of plain lists; raises MwSError for a missing file, and for a table or records by its name."""
    names = expand_paths(paths)
    for name in names:
        kind = file_kind(name)
        if kind != "text" and not (kind == "csv" and ".tsv" in os.path.basename(name).lower()):
            raise MwSError(
                f"{name}: not a list of words, one a line with an optional tab and count, but a {kind} file by its "
                "name; convert it, or give it as text with --column"
            )
    return names


def list_lines(paths: PathLike | Sequence[PathLike], how: Reading = PLAIN) -> Iterator[tuple[str, str]]:
    """Yield the lines of word lists without their line ends, and the place of each (file:line)."""
    for name in check_list(paths):
        for number, line in enumerate(stored_lines(name, how), start=1):
            if _RECORD.fullmatch(line):
                raise MwSError(f"{name}:{number}: a JSON record, not a word; a list of words has word<TAB>count a line")
            yield f"{name}:{number}", line.rstrip("\r\n")


def as_word_counts(counts: Any, *, pattern: str = DEFAULT_PATTERN, normalization: str | None = None) -> WordCounts:
    """Turn a Python user's counts into `WordCounts`: a file of them, a dict or Counter, `value_counts` of pandas."""
    if isinstance(counts, WordCounts):
        return counts
    if isinstance(counts, (str, os.PathLike)):
        return WordCounts.load(counts)
    if hasattr(counts, "to_dict"):
        counts = counts.to_dict()
    if not isinstance(counts, Mapping):
        raise MwSError(
            f"{type(counts).__name__}: not counts of words; give a WordCounts, a dict or Counter, or the name of a "
            "file from `mws count`; for texts call train_from_iterator(texts), for files train(files)"
        )
    return count_mapping(counts, pattern=pattern, normalization=normalization)


def as_grouped_counts(
    counts: Any, *, pattern: str = DEFAULT_PATTERN, normalization: str | None = None
) -> GroupedCounts:
    """Turn a Python user's counts, or a dict from group to such counts, into `GroupedCounts`."""
    if isinstance(counts, GroupedCounts):
        return counts
    if isinstance(counts, Mapping) and any(_is_counts(part) for part in counts.values()):
        parts = {
            name: as_word_counts(part, pattern=pattern, normalization=normalization) for name, part in counts.items()
        }
        return GroupedCounts(parts)
    if isinstance(counts, (str, bytes)) or hasattr(counts, "__fspath__"):
        return GroupedCounts.load(counts)
    return GroupedCounts.of(as_word_counts(counts, pattern=pattern, normalization=normalization))


def _is_counts(part: Any) -> bool:
    return isinstance(part, (WordCounts, Mapping, str)) or hasattr(part, "to_dict") or hasattr(part, "__fspath__")


def count_mapping(
    mapping: Mapping[str, int],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
) -> WordCounts:
    """Count the words of a dict or Counter of word -> count; every reader of such a mapping calls this function.

    Its keys are words, cut as after a space, exactly as `read_word_list` takes them from a file; where each has its
    space already, as most pre-tokens do, that is the same. Keys of both kinds are pre-tokens, such as those of
    ``dict(counts.items())``, or words written in two ways: as nobody can tell, they are refused.
    """
    _refuse_both(mapping)
    return _counted(map(_checked, mapping.items()), pattern, normalization, leading_space=True)


def _refuse_both(mapping: Mapping[str, int]) -> None:
    bare = next((word for word in mapping if isinstance(word, str) and word and not word[0].isspace()), None)
    spaced = next((word for word in mapping if isinstance(word, str) and word and word[0].isspace()), None)
    if bare is not None and spaced is not None:
        raise MwSError(
            f"counts of words: {spaced!r} begins with a space and {bare!r} does not; for words give all without, as "
            "train_from_counts({word.strip(): count, ...}) does, for pre-tokens call "
            "WordCounts.from_mapping(mapping, pattern=...)"
        )


def _checked(item: tuple[object, object]) -> tuple[str, int]:
    word, count = item
    if not isinstance(word, str):
        raise MwSError(f"counts of words: {word!r} is {type(word).__name__}, not a word; give a dict of word -> count")
    if not word:
        raise MwSError(f"counts of words: the empty string is no word (count {count!r}); leave it out")
    check_unicode(word, "counts of words")
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1:
        raise MwSError(f"counts of words: the count {count!r} of {word!r} is not a positive integer")
    return word, int(count)


def _counted(
    forms: Iterable[tuple[str, int]], pattern: str, normalization: str | None, leading_space: bool
) -> WordCounts:
    normalize = normalizer(normalization)
    totals: Counter[str] = Counter()
    for form, count in forms:
        form = normalize(form)
        if leading_space and form and not form[0].isspace():
            form = " " + form
        for piece in split(form, pattern):
            totals[piece] += count
    return WordCounts.from_mapping(totals, pattern=pattern, normalization=normalization)


def _parse(line: str, where: str) -> tuple[str, int]:
    form, tab, number = line.partition("\t")
    if not tab:
        if _SPACED.fullmatch(form):
            raise MwSError(f"{where}: {form!r} has no tab between word and count; write word<TAB>count")
        return form, 1
    try:
        count = int(number)
    except ValueError:
        count = 0
    if count < 1:
        raise MwSError(f"{where}: count {number!r} is not a positive integer; write word<TAB>count")
    return form, count
