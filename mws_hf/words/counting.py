"""Text to counts of pre-tokens. Reading files and storing counts happen elsewhere."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, cast

from mws_hf.errors import MwSError
from mws_hf.pattern import WORD_PATTERN, compiled, split
from mws_hf.words.counts import WordCounts, check_normalization
from mws_hf.words.readers import PathLike, read_documents


def normalizer(normalization: str | None) -> Callable[[str], str]:
    """The function that brings text to a Unicode normalization form; identity for None.

    >>> normalizer("nfc")("и\\u0306") == "й"
    True
    """
    if check_normalization(normalization) is None:
        return lambda text: text
    form = cast(Literal["NFC", "NFD", "NFKC", "NFKD"], str(normalization).upper())
    return lambda text: unicodedata.normalize(form, text)


def count_documents(
    documents: Iterable[str],
    *,
    pattern: str = WORD_PATTERN,
    normalization: str | None = None,
    show_progress: bool = False,
) -> WordCounts:
    """Count the pre-tokens of documents."""
    normalize = normalizer(normalization)
    compiled(pattern)
    totals: Counter[str] = Counter()
    for text in documents:
        totals.update(split(normalize(text), pattern))
    try:
        return WordCounts.from_mapping(totals, pattern=pattern, normalization=normalization)
    except UnicodeEncodeError as error:
        raise MwSError(f"a document holds a lone surrogate ({error})") from error


def count_files(
    paths: PathLike | Sequence[PathLike],
    *,
    pattern: str = WORD_PATTERN,
    normalization: str | None = None,
    field: str | None = None,
    column: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    workers: int | None = None,
    show_progress: bool = False,
) -> WordCounts:
    """Count the pre-tokens of files."""
    documents = read_documents(paths, field=field, column=column, encoding=encoding, errors=errors)
    return count_documents(documents, pattern=pattern, normalization=normalization, show_progress=show_progress)
