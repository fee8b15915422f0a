"""Counts from a list of words, `word<TAB>count` a line; running text is counted elsewhere."""

from __future__ import annotations

import re
from collections import Counter

from mws_hf.errors import MwSError
from mws_hf.pattern import WORD_PATTERN, split
from mws_hf.words.counting import normalizer
from mws_hf.words.counts import WordCounts
from mws_hf.words.readers import PathLike, expand_paths, read_lines

_SPACED = re.compile(r"\s*\d+\s+\S+\s*|\s*\S+\s+\d+\s*")  # `uniq -c`, and a word list with spaces for tabs


def read_word_list(
    paths: PathLike | list[PathLike],
    *,
    pattern: str = WORD_PATTERN,
    normalization: str | None = None,
    leading_space: bool = True,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> WordCounts:
    r"""Read files of `word<TAB>count` lines, plain or .gz; the counts of equal words add up.

    A list of bare words stands for words inside sentences, so each form is cut into pre-tokens as ``" " + form``
    (unless it starts with a space already). A form that the pattern splits, such as ``кое-кто`` -> ``" кое"``,
    ``"-кто"``, gives its count to each of its pre-tokens. A line without a tab is a word counted once.

    Args:
        paths: names, globs or "-".
        pattern: the split pattern.
        normalization: Unicode normalization done first, or None.
        leading_space: False keeps the forms exactly as they are.
        encoding: of the files.
        errors: what to do with bytes that are not of `encoding`.

    Raises:
        MwSError: a count that is no positive integer or follows a space, more than one tab, an unreadable file
            (file:line).

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "list.tsv"
    >>> _ = path.write_text("кот\t3\nкое-кто\t2\n", encoding="utf-8")
    >>> list(read_word_list(path).items())
    [(' кот', 3), (' кое', 2), ('-кто', 2)]
    """
    normalize = normalizer(normalization)
    totals: Counter[str] = Counter()
    for name in expand_paths(paths):
        for number, line in enumerate(read_lines(name, encoding=encoding, errors=errors), start=1):
            form, count = _parse(line.rstrip("\r\n"), f"{name}:{number}")
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
