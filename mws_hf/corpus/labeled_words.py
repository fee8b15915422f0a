"""Read labeled words, which are words that a person segmented, for one language or by group.

They are read from a file in a format of `segmentations`, from a mapping, or from a list.

A mistake in a plain list of labels is an error, because a person who labels words will want to correct it. In the
published formats it is usual that lines do not spell their word, so these lines are left out with a warning.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mws_hf.corpus.segmentations import (
    MAX_SHOWN_PROBLEMS,
    GoldWord,
    Morphs,
    merge_alternatives,
    read_gold,
    spelled,
    split_alternatives,
)
from mws_hf.errors import MwSError, quoted
from mws_hf.text.letter_case import fold

OneList: TypeAlias = (
    str | os.PathLike[str] | Mapping[str, str | Iterable[Any]] | Iterable[GoldWord | tuple[str, str | Iterable[Any]]]
)
"""A file, or words with their segmentations.

The segmentations of a word are a string ``"m1 m2, alternative"``, a list of morphs, or a list of such lists.
"""

Labels: TypeAlias = OneList | Mapping[str, OneList]
"""Labels of one language, or labels by the name of their group."""

_logger = logging.getLogger(__name__)


def read_labels(source: OneList) -> tuple[GoldWord, ...]:
    """Read labeled words from a file, a mapping or a list.

    In a file of a published format, a line that cannot be read is left out with a warning, and different segmentations
    of a word are alternatives. In all other labels, both are errors. Words that differ only in letter case are one word
    for the training.

    Args:
        source: a file in one of `FORMATS`, or a mapping or list of words and segmentations (see `OneList`). MorphScore
            and derivational MorphyNet cannot be used, because they mark only one or two boundaries of a word.

    Returns:
        The words with their segmentations, in the order of the source.

    Raises:
        MwSError: an entry cannot be read, or two entries of one word, in any letter case, have different segmentations.
            The message contains file and line, or the number of the entry.

    >>> read_labels({"unlocks": "un lock s, unlock s", "cats": ["cat", "s"]})[1]
    GoldWord(word='cats', segmentations=(('cat', 's'),))
    """
    if isinstance(source, str | os.PathLike):
        if not os.fspath(source):
            raise MwSError(
                "labels: the name of the file is empty; give the name of a file, or words with segmentations"
            )
        return _read_file(Path(source))
    entries = source.items() if isinstance(source, Mapping) else source
    if not isinstance(entries, Iterable):
        raise MwSError(
            f"labels: {type(entries).__name__} is neither a file nor words with segmentations; give a path, a dict or "
            "a list of pairs"
        )
    problems: list[str] = []
    rows: list[tuple[str, str, tuple[Morphs, ...]]] = []
    for number, entry in enumerate(entries, start=1):
        try:
            rows.append((f"labels, entry {number}", *_parsed_entry(entry)))
        except MwSError as reason:
            problems.append(f"labels, entry {number}: {reason}")
    _raise_for_problems(problems, rows)
    return merge_alternatives((word, found) for _, word, found in rows)


def read_all_labels(source: Any, *, files: bool = True) -> tuple[GoldWord, ...] | dict[str, tuple[GoldWord, ...]]:
    """Read labels of one language as `read_labels` does, or labels by group.

    The keys of a mapping are names of groups if each of its values is a path, a mapping or a list of `GoldWord`.
    Otherwise they are words. A string in a mapping is a path if a file has this name. Otherwise it is the segmentation
    of a word.

    Args:
        source: labels, or labels by group.
        files: whether files may be read. If not, every string is the segmentation of a word, and a path is an error.

    Returns:
        The labels; if they were given by group, the labels of each group, with the names ascending.

    Raises:
        MwSError: as in `read_labels`, with the name of the group; or the name of a group is not allowed.

    >>> list(read_all_labels({"eng": {"cats": "cat s"}})), len(read_all_labels({"cats": "cat s"}))
    (['eng'], 1)
    """
    read = read_labels if files else _words_of
    if not (isinstance(source, Mapping) and source and all(_is_source(value, files) for value in source.values())):
        return read(source)
    from mws_hf.corpus.groups import check_group_name  # here, because most labels have no groups

    found = {}
    for name in sorted(map(check_group_name, source)):
        try:
            found[name] = read(source[name])
        except MwSError as error:
            raise MwSError(f"group {name!r}: {error}") from error
    return found


def _words_of(source: Any) -> tuple[GoldWord, ...]:
    """Read labels of one language that are not in a file."""
    if isinstance(source, str | os.PathLike):
        raise MwSError(
            f"labels: {os.fspath(source)!r} is a file, but Settings accept only words; pass the file to MwSTrainer"
        )
    return read_labels(source)


def _is_source(value: Any, files: bool) -> bool:
    """Return whether a value of a mapping is labels of a group, and not the segmentation of a word."""
    if isinstance(value, str):
        return files and os.path.isfile(value)
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, GoldWord) for each in value)
    return isinstance(value, os.PathLike | Mapping)


def normalized_labels(
    labels: tuple[GoldWord, ...] | dict[str, tuple[GoldWord, ...]], form: str | None
) -> tuple[GoldWord, ...] | dict[str, tuple[GoldWord, ...]]:
    r"""Normalize the words and morphs of labels as the training normalizes its text.

    Args:
        labels: labels, or labels by group.
        form: "nfc", "nfd", "nfkc" or "nfkd"; None changes nothing.

    Raises:
        MwSError: two words that normalization makes equal have different segmentations, or two morphs are normalized to
            one character.

    >>> normalized_labels((GoldWord("go\u0308ze", (("go\u0308z", "e"),)),), "nfc")
    (GoldWord(word='göze', segmentations=(('göz', 'e'),)),)
    """
    from mws_hf.corpus.splitter import Splitter  # here, because it needs numpy

    if form is None:
        return labels
    normalize = Splitter(normalization=form).normalize
    try:
        if isinstance(labels, dict):
            return {name: _normalized(part, normalize) for name, part in labels.items()}
        return _normalized(labels, normalize)
    except MwSError as error:
        raise MwSError(f"after normalization to {form}: {error}") from error


def _normalized(labels: Iterable[GoldWord], normalize: Callable[[str], str]) -> tuple[GoldWord, ...]:
    """Normalize the words and morphs of labels."""
    return read_labels(
        [
            GoldWord(normalize(label.word), tuple(tuple(map(normalize, morphs)) for morphs in label.segmentations))
            for label in labels
        ]
    )


def labels_of_groups(
    groups: Iterable[str], labels: tuple[GoldWord, ...] | Mapping[str, tuple[GoldWord, ...]]
) -> Mapping[str, tuple[GoldWord, ...]]:
    """Find the labels of each group of the training text; labels without a group belong to the only group.

    Args:
        groups: names of the groups of the text; "" is the name of a text without named groups.
        labels: labels, or labels by group.

    Raises:
        MwSError: labels are for a group that the text does not have; or they are for no group although the text has
            several.

    >>> labels_of_groups([""], ())
    {'': ()}
    """
    names, by_group = list(groups), labels if isinstance(labels, Mapping) else {}
    here = ", ".join(name for name in names if name) or "the text has none"
    if unknown := sorted(set(by_group) - set(names)):
        raise MwSError(
            f"labels are given for group {', '.join(map(repr, unknown))}, but the text has no such group "
            f"(groups: {here})"
        )
    if isinstance(labels, Mapping):
        return labels
    if labels and len(names) > 1:
        raise MwSError(
            f"the labels have no group, but the text has {len(names)} ({here}); give the group of each file of labels, "
            f"such as {names[0]}=FILE"
        )
    return dict.fromkeys(names, labels)


def _read_file(file: Path) -> tuple[GoldWord, ...]:
    """Read labels from a file; problems are errors in the format ``words``, and warnings in the published formats."""
    found = read_gold(file)
    if found.partial:
        raise MwSError(
            f"{file}: format {found.format!r} marks only one or two boundaries of a word, so it cannot be used for "
            "labels; give complete segmentations, word<TAB>m1 m2 m3"
        )
    if found.format == "words":
        rows = [(f"{file}:{number}", word, alternatives) for number, word, alternatives in found.rows]
        _raise_for_problems(found.problems, rows)
    for problem in found.problems[:MAX_SHOWN_PROBLEMS]:
        _logger.warning("a label is left out: %s", problem)
    if len(found.problems) > MAX_SHOWN_PROBLEMS:
        _logger.warning("%s: %d of %d lines are left out", file, len(found.problems), found.lines)
    return found.words


def _raise_for_problems(problems: Iterable[str], rows: Iterable[tuple[str, str, tuple[Morphs, ...]]]) -> None:
    """Raise MwSError if there are problems, or if a word, in any letter case, has different segmentations in two rows.

    Args:
        problems: messages of rows that cannot be read.
        rows: for each row that can be read, its position, its word and the segmentations of the word.
    """
    first: dict[str, tuple[str, str, set[tuple[int, ...]]]] = {}
    problems = list(problems)
    for place, word, alternatives in rows:
        morph_lengths = {tuple(map(len, morphs)) for morphs in alternatives}
        first_place, first_word, first_lengths = first.setdefault(fold(word), (place, word, morph_lengths))
        if morph_lengths != first_lengths:
            spelled_there = "" if word == first_word else f" as {first_word!r} (letter case makes no difference)"
            problems.append(
                f"{place}: {word!r} is segmented differently in {first_place}{spelled_there}; keep one, or put both in "
                "one line, with a comma"
            )
    if problems:
        rest = len(problems) - MAX_SHOWN_PROBLEMS
        more = f"; and {rest} more" if rest > 0 else ""
        raise MwSError("; ".join(problems[:MAX_SHOWN_PROBLEMS]) + more)


def _parsed_entry(entry: Any) -> tuple[str, tuple[Morphs, ...]]:
    """Read one entry of a list of labels, and return the word and its segmentations.

    Raises:
        MwSError: the entry is not a pair of a word and its segmentations.
    """
    if isinstance(entry, GoldWord):
        entry = (entry.word, entry.segmentations)
    is_pair = isinstance(entry, tuple | list) and len(entry) == 2
    if not (is_pair and isinstance(entry[0], str) and isinstance(entry[1], Iterable)):
        raise MwSError(f"{quoted(entry)} is not a pair of a word and its morphs; give ('unlocks', 'un lock s')")
    word, analysis = entry
    if isinstance(analysis, str):
        return word, spelled(word, split_alternatives(word, analysis))
    parts = list(analysis)
    nested = parts if parts and not isinstance(parts[0], str) else [parts]
    alternatives = [list(part) if isinstance(part, Iterable) else [part] for part in nested]
    if not all(isinstance(morph, str) for morphs in alternatives for morph in morphs):
        raise MwSError(
            f"{quoted(analysis)} contains something that is not a string; give the morphs of {quoted(word)}, or, if "
            "this is the name of a group, a dict of its words"
        )
    return word, spelled(word, alternatives)
