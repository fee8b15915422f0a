"""Counts from a list of words, `word<TAB>count` a line, or a mapping; running text is counted elsewhere."""

from __future__ import annotations

import numbers
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from mws_hf.corpus.counting import normalizer
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.files import PathLike, Reading, expand_paths
from mws_hf.corpus.readers import check_unicode, read_lines
from mws_hf.errors import MwSError
from mws_hf.pattern import DEFAULT_PATTERN, split

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
    r"""Read files of `word<TAB>count` lines, plain or compressed; the counts of equal words add up.

    A list of bare words stands for words inside sentences, so each form is cut into pre-tokens as ``" " + form``
    (unless it starts with a space already, or `leading_space` is False). A form that the pattern splits, such as
    ``кое-кто`` -> ``" кое"``, ``"-кто"``, gives its count to each of its pre-tokens. A line without a tab is a word
    counted once.

    Raises:
        MwSError: a count that is no positive integer or follows a space, more than one tab, an unreadable file
            (file:line).

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "list.tsv"
    >>> _ = path.write_text("кот\t3\nкое-кто\t2\n", encoding="utf-8")
    >>> list(read_word_list(path).items())
    [(' кот', 3), (' кое', 2), ('-кто', 2)]
    """
    how = Reading(encoding=encoding, errors=errors)
    forms = (
        _parse(line.rstrip("\r\n"), f"{name}:{number}")
        for name in expand_paths(paths)
        for number, line in enumerate(read_lines(name, how), start=1)
    )
    return _counted(forms, pattern, normalization, leading_space)


def as_word_counts(counts: Any, *, pattern: str = DEFAULT_PATTERN, normalization: str | None = None) -> WordCounts:
    """What a Python user has for counts: a `WordCounts`, the file of one, a dict or Counter, `value_counts` of pandas.

    Raises:
        MwSError: none of these, or wrong in itself.
    """
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


def count_mapping(
    mapping: Mapping[str, int],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
) -> WordCounts:
    """Counts from a dict or Counter of word -> count, exactly as `read_word_list` takes the same words from a file.

    Raises:
        MwSError: a word that is no text, a count that is no positive integer.

    >>> list(count_mapping({"кот": 3, "кое-кто": 2}).items())
    [(' кот', 3), (' кое', 2), ('-кто', 2)]
    """
    return _counted(map(_checked, mapping.items()), pattern, normalization, leading_space=True)


def _checked(item: tuple[object, object]) -> tuple[str, int]:
    word, count = item
    if not isinstance(word, str):
        raise MwSError(f"counts of words: {word!r} is {type(word).__name__}, not a word; give a dict of word -> count")
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
