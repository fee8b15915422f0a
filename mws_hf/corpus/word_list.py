"""Count words that do not come from running text: word lists, dicts from word to count, and lexicons.

A word list has ``word<TAB>count`` on each line. Lexicons are the dictionaries of pymorphy3.
"""

from __future__ import annotations

import numbers
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.blocks import Columns, arrow_block
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import check_total
from mws_hf.corpus.files import PathLike, Reading, expand_paths
from mws_hf.corpus.kinds import kind_of
from mws_hf.corpus.octets import stored_lines
from mws_hf.corpus.place import Fault, about
from mws_hf.corpus.splitter import Splitter
from mws_hf.corpus.token_table import TokenTable
from mws_hf.errors import MwSError, needed
from mws_hf.kernels.jit import njit
from mws_hf.text.pattern import DEFAULT_PATTERN, split
from mws_hf.text.valid_text import check_unicode

LEXICONS = {"ru": "pymorphy3_dicts_ru", "uk": "pymorphy3_dicts_uk"}
"""The package of the lexicon of each language."""
_ROWS = 1 << 16
_RECORD = re.compile(r"\s*\{.*\}\s*")
_SPACED = re.compile(r"\s*\d+\s+\S+\s*|\s*\S+\s+\d+\s*")  # `uniq -c`, and a word list with spaces for tabs


def read_word_list(
    paths: PathLike | list[PathLike],
    *,
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> WordCounts:
    """Count the pre-tokens of files of ``word<TAB>count`` lines; the counts of equal words are added up.

    The words are counted as if each stood inside a sentence, so a space is put before a word that does not begin with
    white space. If the pattern splits a word, such as ``кое-кто`` ("someone") into ``" кое"`` and ``"-кто"``, each of
    its pre-tokens gets the count. A line without a tab is a word that is counted once.

    Args:
        paths: files or globs, which may be compressed.
        pattern: the split pattern, or its name.
        normalization: the normalization before splitting, as in `CountOptions`.
        encoding: the encoding of the files.
        errors: "strict", "replace" or "ignore" for bytes that are not text.

    Returns:
        The number of times each pre-token occurs.

    Raises:
        MwSError: a file cannot be read or is not a word list, or a count is not a positive integer; the message
            contains file and line.
    """
    how, splitter = Reading(encoding=encoding, errors=errors), Splitter(pattern, normalization)
    return _counted(chain.from_iterable(_listed(name, how) for name in check_list(expand_paths(paths))), splitter)


def words_listed(name: str, how: Reading, splitter: Splitter) -> Columns:
    """Return the pre-tokens of one list and their counts, as `read_word_list` does."""
    counts = _counted(_listed(name, how), splitter)
    return counts.strings, counts.counts


def check_list(names: Sequence[str]) -> Sequence[str]:
    """Return the names of word lists; raises MwSError for the name of a table or of JSON lines."""
    for name in names:
        kind = kind_of(name)
        if not kind.is_word_list:
            raise MwSError(
                f"{name}: is a {kind.title} file by its name, and not a list of words, one per line with an optional "
                "tab and count; convert it, or give it as text with --column"
            )
    return names


def _listed(name: str, how: Reading) -> Iterator[tuple[str, int]]:
    """Read the words of one list and their counts."""
    with about(name):
        for number, line in enumerate(stored_lines(name, how), start=1):
            if _RECORD.fullmatch(line):
                raise Fault("is a JSON record, not a word; write word<TAB>count on each line", number)
            form, tab, count = line.rstrip("\r\n").partition("\t")
            if not tab and _SPACED.fullmatch(form):
                raise Fault(f"{form!r} has no tab between word and count; write word<TAB>count", number)
            times = _number(count) if tab else 1
            if times < 1:
                raise Fault(f"count {count!r} is not a positive integer; write word<TAB>count", number)
            yield form, times


def _number(text: str) -> int:
    """Convert a count to int; 0 if it is not an integer."""
    try:
        return int(text)
    except ValueError:
        return 0


def as_word_counts(counts: Any, splitter: Splitter | None = None) -> WordCounts:
    """Convert counts of any form to `WordCounts`.

    Args:
        counts: a `WordCounts`, the name of a file of counts, a dict or Counter from word to count, the result of
            `value_counts` of pandas, or a dict from group to any of these.
        splitter: splits words into pre-tokens; by default, one with the default pattern.

    Raises:
        MwSError: the value is not of such a form, or contains a word or count that is not valid.
    """
    if isinstance(counts, WordCounts):
        return counts
    if isinstance(counts, (str, os.PathLike)):
        return WordCounts.load(counts)
    of_a_group = (WordCounts, Mapping, str, os.PathLike)
    if isinstance(counts, Mapping) and any(
        isinstance(part, of_a_group) or hasattr(part, "to_dict") for part in counts.values()
    ):
        return WordCounts.from_groups({name: as_word_counts(part, splitter) for name, part in counts.items()})
    return _count_mapping(counts.to_dict() if hasattr(counts, "to_dict") else counts, splitter or Splitter())


def count_mapping(
    mapping: Mapping[str, int], *, pattern: str = DEFAULT_PATTERN, normalization: str | None = None
) -> WordCounts:
    """Count the pre-tokens of the words of a dict or Counter from word to count.

    The words are split as `read_word_list` splits them, as if each stood after a space. It makes no difference whether
    all of them begin with a space or none does. A dict in which only some begin with a space is an error, because its
    keys could be pre-tokens, for example those of ``dict(counts.items())``.

    Args:
        mapping: the count of each word, a positive integer.
        pattern: the split pattern, or its name.
        normalization: the normalization before splitting, as in `CountOptions`.

    Returns:
        The number of times each pre-token occurs.

    Raises:
        MwSError: the value is not a mapping, a word is empty or contains a lone surrogate, a count is not a positive
            integer, or only some words begin with a space.

    >>> list(count_mapping({"кот": 2, "кое-кто": 1}).items())
    [(' кот', 2), (' кое', 1), ('-кто', 1)]
    """
    return _count_mapping(mapping, Splitter(pattern, normalization))


def _count_mapping(mapping: Mapping[str, int], splitter: Splitter) -> WordCounts:
    """Count the words of a mapping as `count_mapping` does."""
    if not isinstance(mapping, Mapping):
        raise MwSError(
            f"{type(mapping).__name__} is not counts of words; give a WordCounts, a dict or Counter, or the name of a "
            "file from `mws count`; count texts with count_documents(texts), and files with count_files(files)"
        )
    bare = next((word for word in mapping if isinstance(word, str) and word and not word[0].isspace()), None)
    spaced = next((word for word in mapping if isinstance(word, str) and word and word[0].isspace()), None)
    if bare is not None and spaced is not None:
        raise MwSError(
            f"counts of words: {spaced!r} begins with a space and {bare!r} does not; if they are words, remove the "
            "spaces, as in train_from_counts({word.strip(): count, ...}); if they are pre-tokens, call "
            "WordCounts.from_mapping(mapping, pattern=...)"
        )
    return _counted(map(_checked, mapping.items()), splitter)


def _checked(item: tuple[object, object]) -> tuple[str, int]:
    """Return a word and its count; raises MwSError if one of them is not valid."""
    word, count = item
    if not isinstance(word, str):
        raise MwSError(f"counts of words: {word!r} is {type(word).__name__}, not a word; give a dict of word -> count")
    if not word:
        raise MwSError(f"counts of words: the empty string is not a word (count {count!r}); leave it out")
    check_unicode(word, "counts of words")
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1:
        raise MwSError(f"counts of words: the count {count!r} of {word!r} is not a positive integer; correct it")
    return word, int(count)


def _counted(forms: Iterable[tuple[str, int]], splitter: Splitter) -> WordCounts:
    """Count the pre-tokens of words, each with its count, as if it stood after a space."""
    totals: Counter[str] = Counter()
    for form, count in forms:
        form = splitter.normalize(form)
        if form and not form[0].isspace():
            form = " " + form
        for pretoken in split(form, splitter.pattern):
            totals[pretoken] += count
    check_total(sum(totals.values()))
    return WordCounts.from_mapping(totals, pattern=splitter.pattern, normalization=splitter.normalization)


def check_lexicon(language: str) -> Any:
    """Import the package of a lexicon and return it.

    Raises:
        MwSError: there is no lexicon for this language, or it is not installed (the message contains the pip command).
    """
    if language not in LEXICONS:
        raise MwSError(
            f"there is no lexicon for language {language!r}; choose one of {', '.join(LEXICONS)}, or count text"
        )
    package = LEXICONS[language]
    return needed(package, f"the lexicon {language!r}", package.replace("_", "-"))


def lexicon_words(language: str) -> pa.LargeStringArray:
    """List all distinct lowercase word forms of a pymorphy3 dictionary: Arrow large_string, ascending by code point.

    They are the words of ``MorphAnalyzer(lang=language).dictionary.iter_known_words()``, but they are read from the
    automaton itself, which takes half a second instead of minutes. "ru" has 3.06 million forms, and "uk" 3.66 million.

    Raises:
        MwSError: there is no lexicon for this language, or it is not installed.
    """
    units, guide = _read_automaton(Path(check_lexicon(language).get_path()) / "words.dawg")
    data, ends = spell_keys(units, guide)
    words = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data))
    lowered = pc.utf8_lower(words)
    if lowered.equals(words):
        return words
    distinct = pc.unique(lowered)
    return distinct.take(pc.sort_indices(distinct))


def lexicon_counts(language: str, *, pattern: str = DEFAULT_PATTERN, normalization: str | None = None) -> WordCounts:
    """Return the distinct pre-tokens of a lexicon, each with a count of 1; forms are split as after a space.

    If the pattern splits a form, such as ``кое-кто`` ("someone"), all its pre-tokens are counted (``" кое"`` and
    ``"-кто"``).

    Args:
        language: one of `LEXICONS`.
        pattern: the split pattern, or its name.
        normalization: the normalization before splitting, as in `CountOptions`.

    Raises:
        MwSError: there is no lexicon for this language, or it is not installed.
    """
    splitter = Splitter(pattern, normalization)
    return WordCounts.of(*lexicon_words_counted(language, splitter), splitter)


def lexicon_words_counted(language: str, splitter: Splitter) -> Columns:
    """Return the pre-tokens of a lexicon, each with a count of 1."""
    empty, space = pa.scalar("", pa.large_string()), pa.scalar(" ", pa.large_string())
    spaced = pc.binary_join_element_wise(empty, lexicon_words(language), space)
    table, add = TokenTable(text_bytes=spaced.nbytes), splitter.counter()
    for start in range(0, len(spaced), _ROWS):
        add(table, arrow_block(spaced.slice(start, _ROWS)))
    words, _ = table.entries()
    return words, np.ones(len(words), np.int64)


@njit(allocates=True)
def spell_keys(
    units: npt.NDArray[np.uint32], guide: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Spell out the keys of a dawgdic automaton of records, each key once, ascending by byte.

    The key of a record ends at the byte 1, which separates it from the payload (in pymorphy3, the numbers of paradigm
    and form).

    Args:
        units: uint32, the double array; ``units[i]`` contains the offset to the children of node i.
        guide: uint8, shape (2 * nodes,), first-child label and next-sibling label of each node.

    Returns:
        data: uint8, all keys one after another.
        ends: int64, shape (n_keys + 1,); key k is ``data[ends[k]:ends[k + 1]]``.
    """
    data, used = np.empty(1 << 20, np.uint8), 0
    ends, found = np.zeros(1 << 16, np.int64), 0
    path, key, depth = np.zeros(4096, np.int64), np.empty(4096, np.uint8), 0
    label = np.int64(guide[0])
    while label != 0 or depth > 0:
        if label == 0:
            label = np.int64(guide[2 * path[depth] + 1])
            depth -= 1
            continue
        unit = np.int64(units[path[depth]])
        child = path[depth] ^ ((unit >> 10) << ((unit & 512) >> 6)) ^ label
        if label != 1:
            key[depth] = label
            depth += 1
            path[depth] = child
            label = np.int64(guide[2 * child])
            continue
        if used + depth > len(data):
            data = np.concatenate((data, np.empty_like(data)))
        if found + 2 > len(ends):
            ends = np.concatenate((ends, np.empty_like(ends)))
        data[used : used + depth] = key[:depth]
        used += depth
        found += 1
        ends[found] = used
        label = np.int64(guide[2 * child + 1])
    return data[:used], ends[: found + 1]


def _read_automaton(path: Path) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Read the two arrays of a .dawg file: the units, and the guide.

    The file contains, in little endian, the number of units (uint32), the units, the number of nodes in the guide
    (uint32), and two bytes for each node.
    """
    raw = path.read_bytes()
    n_units = int.from_bytes(raw[:4], "little")
    start = 4 + 4 * n_units
    n_guide = int.from_bytes(raw[start : start + 4], "little")
    if len(raw) != start + 4 + 2 * n_guide:
        raise MwSError(f"{path}: is not an automaton of pymorphy3; reinstall the dictionary package")
    return np.frombuffer(raw, "<u4", n_units, 4), np.frombuffer(raw, np.uint8, 2 * n_guide, start + 4)
