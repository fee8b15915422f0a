"""Word counts that do not come from running text: word lists, dicts from word to count, and lexicons.

A word list has `word<TAB>count` on each line. Lexicons are the dictionaries of pymorphy3.
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
from mws_hf.corpus.files import PathLike, Reading, expand_paths
from mws_hf.corpus.kinds import kind_of
from mws_hf.corpus.octets import stored_lines
from mws_hf.corpus.place import Fault, about
from mws_hf.corpus.splitter import Splitter
from mws_hf.corpus.token_table import TokenTable
from mws_hf.errors import MwSError, needed
from mws_hf.kernels.jit import njit
from mws_hf.text.pattern import DEFAULT_PATTERN, split
from mws_hf.text.symbols import check_unicode

LEXICONS = {"ru": "pymorphy3_dicts_ru", "uk": "pymorphy3_dicts_uk"}
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
    """Read files of `word<TAB>count` lines, plain or compressed; the counts of equal words add up.

    A list of bare words stands for words inside sentences, so each form is split into pre-tokens as ``" " + form``,
    unless it starts with a space already. A form that the pattern splits, such as ``кое-кто`` into ``" кое"`` and
    ``"-кто"``, gives its count to each of its pre-tokens. A line without a tab is a word counted once.
    """
    how, splitter = Reading(encoding=encoding, errors=errors), Splitter(pattern, normalization)
    return _counted(chain.from_iterable(_listed(name, how) for name in check_list(expand_paths(paths))), splitter)


def words_listed(name: str, how: Reading, splitter: Splitter) -> Columns:
    """Return the pre-tokens of one list and their counts, as `read_word_list` does."""
    counts = _counted(_listed(name, how), splitter)
    return counts.strings, counts.counts


def check_list(names: Sequence[str]) -> Sequence[str]:
    """Return the names of lists; raises MwSError for a table or records by its name."""
    for name in names:
        kind = kind_of(name)
        if not kind.is_word_list:
            raise MwSError(
                f"{name}: not a list of words, one per line with an optional tab and count, but a {kind.title} file by "
                "its name; convert it, or give it as text with --column"
            )
    return names


def _listed(name: str, how: Reading) -> Iterator[tuple[str, int]]:
    """Read the words of one list and their counts."""
    with about(name):
        for number, line in enumerate(stored_lines(name, how), start=1):
            if _RECORD.fullmatch(line):
                raise Fault("a JSON record, not a word; a list of words has word<TAB>count on each line", number)
            form, tab, count = line.rstrip("\r\n").partition("\t")
            if not tab and _SPACED.fullmatch(form):
                raise Fault(f"{form!r} has no tab between word and count; write word<TAB>count", number)
            times = _number(count) if tab else 1
            if times < 1:
                raise Fault(f"count {count!r} is not a positive integer; write word<TAB>count", number)
            yield form, times


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def as_word_counts(counts: Any, splitter: Splitter | None = None) -> WordCounts:
    """Turn a Python user's counts into `WordCounts`.

    They are a file of counts, a dict or Counter, `value_counts` of pandas, or a dict from group to any of these.
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
    if hasattr(counts, "to_dict"):
        counts = counts.to_dict()
    if not isinstance(counts, Mapping):
        raise MwSError(
            f"{type(counts).__name__}: not counts of words; give a WordCounts, a dict or Counter, or the name of a "
            "file from `mws count`; for texts call train_from_iterator(texts), for files train(files)"
        )
    return _of_mapping(counts, splitter or Splitter())


def count_mapping(
    mapping: Mapping[str, int], *, pattern: str = DEFAULT_PATTERN, normalization: str | None = None
) -> WordCounts:
    """Count the words of a dict or Counter of word -> count; every reader of such a mapping calls this function.

    The keys are words, which are split as after a space, exactly as `read_word_list` reads them from a file. If every
    key begins with a space, as most pre-tokens do, the result is the same. If only some do, they can be pre-tokens,
    such as those of ``dict(counts.items())``, or words that are written in two ways; this is an error.
    """
    return _of_mapping(mapping, Splitter(pattern, normalization))


def _of_mapping(mapping: Mapping[str, int], splitter: Splitter) -> WordCounts:
    bare = next((word for word in mapping if isinstance(word, str) and word and not word[0].isspace()), None)
    spaced = next((word for word in mapping if isinstance(word, str) and word and word[0].isspace()), None)
    if bare is not None and spaced is not None:
        raise MwSError(
            f"counts of words: {spaced!r} begins with a space and {bare!r} does not; for words give all without, as "
            "train_from_counts({word.strip(): count, ...}) does, for pre-tokens call "
            "WordCounts.from_mapping(mapping, pattern=...)"
        )
    return _counted(map(_checked, mapping.items()), splitter)


def _checked(item: tuple[object, object]) -> tuple[str, int]:
    word, count = item
    if not isinstance(word, str):
        raise MwSError(f"counts of words: {word!r} is {type(word).__name__}, not a word; give a dict of word -> count")
    if not word:
        raise MwSError(f"counts of words: the empty string is not a word (count {count!r}); leave it out")
    check_unicode(word, "counts of words")
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1:
        raise MwSError(f"counts of words: the count {count!r} of {word!r} is not a positive integer")
    return word, int(count)


def _counted(forms: Iterable[tuple[str, int]], splitter: Splitter) -> WordCounts:
    totals: Counter[str] = Counter()
    for form, count in forms:
        form = splitter.normalize(form)
        if form and not form[0].isspace():
            form = " " + form
        for piece in split(form, splitter.pattern):
            totals[piece] += count
    return WordCounts.from_mapping(totals, pattern=splitter.pattern, normalization=splitter.normalization)


def check_lexicon(language: str) -> Any:
    """Return the package of a lexicon; raises MwSError, with the pip command, unless it is known and installed."""
    if language not in LEXICONS:
        raise MwSError(f"no lexicon for language {language!r}; choose one of {', '.join(LEXICONS)}, or count text")
    package = LEXICONS[language]
    return needed(package, f"the lexicon {language!r}", package.replace("_", "-"))


def lexicon_words(language: str) -> pa.LargeStringArray:
    """List all distinct lower-cased word forms of a pymorphy3 dictionary, ascending by code point: Arrow large_string.

    They are the words of ``MorphAnalyzer(lang=language).dictionary.iter_known_words()``, read from the automaton itself
    (half a second instead of minutes): "ru" has 3.05 million forms, "uk" 3.66 million.
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
    """Count the pre-tokens of a lexicon, each once: every form is split after a leading space.

    A form that the pattern splits (``кое-кто``) gives each of its pre-tokens (``" кое"``, ``"-кто"``).
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
    """Spell out the keys of a dawgdic automaton of records, ascending by byte, each key once.

    Args:
        units: uint32, the double array; ``units[i]`` holds the offset to the children of node i.
        guide: uint8, shape (2 * nodes,), first-child label and next-sibling label of each node.

    Returns:
        data: uint8, all keys one after another.
        ends: int64, shape (n_keys + 1,); key k is ``data[ends[k]:ends[k + 1]]``.

    A record's key ends at the byte 1, which separates it from the payload (pymorphy3: paradigm and form numbers).
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
    """Read the two arrays of a .dawg file: uint32 count, units, uint32 count, pairs of guide bytes (little endian)."""
    raw = path.read_bytes()
    n_units = int.from_bytes(raw[:4], "little")
    start = 4 + 4 * n_units
    n_guide = int.from_bytes(raw[start : start + 4], "little")
    if len(raw) != start + 4 + 2 * n_guide:
        raise MwSError(f"{path}: not an automaton of pymorphy3; reinstall the dictionary package")
    return np.frombuffer(raw, "<u4", n_units, 4), np.frombuffer(raw, np.uint8, 2 * n_guide, start + 4)
