"""Labelled words, cut by hand: a file, a mapping or a list becomes `GoldWord`s, or an error that names the line.

A person who labels words wants to hear of a slip, so a plain list with one is refused. In the published formats, lines
that do not spell their word are usual; they are left out with a warning.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mws_hf.corpus.groups import check_group_name
from mws_hf.corpus.segmentations import (
    GoldWord,
    Morphs,
    merge_alternatives,
    read_segmented_lines,
    spelled,
    split_alternatives,
)
from mws_hf.errors import MwSError

OneList: TypeAlias = (
    str | os.PathLike[str] | Mapping[str, str | Iterable[Any]] | Iterable[GoldWord | tuple[str, str | Iterable[Any]]]
)
"""A file; or words with their segmentations: ``"m1 m2, alternative"``, a list of morphs, or a list of such lists."""

Labels: TypeAlias = OneList | Mapping[str, OneList]
"""Those of one list of words, or by group."""

SHOWN = 5
"""Problems named one by one."""

_logger = logging.getLogger(__name__)


def read_labels(source: OneList) -> tuple[GoldWord, ...]:
    """Read labelled words from a file, a mapping or a list; an error names file and line, or the entry.

    A file is of one of `segmentations.FORMATS`, but not MorphScore or derivational MorphyNet, which mark one or two
    boundaries of a word and are silent on the others.

    >>> read_labels({"unlocks": "un lock s, unlock s", "cats": ["cat", "s"]})[1]
    GoldWord(word='cats', segmentations=(('cat', 's'),))
    """
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source))
    entries = source.items() if isinstance(source, Mapping) else source
    problems: list[str] = []
    rows: list[tuple[str, str, tuple[Morphs, ...]]] = []
    for number, entry in enumerate(_checked_entries(entries), start=1):
        try:
            rows.append((f"labels, entry {number}", *_parsed_entry(entry)))
        except MwSError as reason:
            problems.append(f"labels, entry {number}: {reason}")
    _refuse(problems + _disagreements(rows))
    return merge_alternatives((word, found) for _, word, found in rows)


def is_by_group(source: Any) -> bool:
    """Return whether labels are a mapping from groups to labels, each a path, a mapping or `GoldWord`s, not from words.

    A str is a path where a file has that name; else it is the segmentation of a word.

    >>> [is_by_group(each) for each in ({"fin": Path("a.tsv")}, {"eng": {"cats": "cat s"}}, {"cats": "cat s"})]
    [True, True, False]
    """
    return isinstance(source, Mapping) and bool(source) and all(map(_is_source, source.values()))


def _is_source(value: Any) -> bool:
    if isinstance(value, str):
        return os.path.isfile(value)
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, GoldWord) for each in value)
    return isinstance(value, os.PathLike | Mapping)


def read_group_labels(sources: Mapping[Any, Any]) -> dict[str, tuple[GoldWord, ...]]:
    """Read the labels of every group, by name ascending; `read_labels` describes the sources."""
    found = {}
    for name in sorted(map(check_group_name, sources)):
        try:
            found[name] = read_labels(sources[name])
        except MwSError as error:
            raise MwSError(f"group {name!r}: {error}") from error
    return found


def labels_of_groups(
    groups: Iterable[str], labels: tuple[GoldWord, ...], by_group: Mapping[str, tuple[GoldWord, ...]]
) -> Mapping[str, tuple[GoldWord, ...]]:
    """Return the labels of each group that has any: those `by_group`, or `labels`, which belong to the one group."""
    names = list(groups)
    here = ", ".join(name for name in names if name) or "none was named"
    if unknown := sorted(set(by_group) - set(names)):
        raise MwSError(f"labels for group {', '.join(map(repr, unknown))}, which is not there; groups: {here}")
    if labels and len(names) > 1:
        raise MwSError(
            f"labels of one language beside {len(names)} groups ({here}); say whose, such as {names[0]}=FILE"
        )
    return dict.fromkeys(names, labels) if labels else by_group


def to_mapping(labels: Iterable[GoldWord]) -> dict[str, list[list[str]]]:
    """Turn labels into plain lists, as a record keeps them; `read_labels` reads them back."""
    return {label.word: [list(morphs) for morphs in label.segmentations] for label in labels}


def _read_file(file: Path) -> tuple[GoldWord, ...]:
    found = read_segmented_lines(file)
    if found.partial:
        raise MwSError(
            f"{file}: format {found.format!r} marks one or two boundaries of a word and is silent on the others; "
            "give whole segmentations, word<TAB>m1 m2 m3"
        )
    if found.format == "words":
        rows = [(f"{file}:{number}", word, alternatives) for number, word, alternatives in found.rows]
        _refuse([*found.problems, *_disagreements(rows)])
    for problem in found.problems[:SHOWN]:
        _logger.warning("label left out: %s", problem)
    if len(found.problems) > SHOWN:
        _logger.warning("%s: %d of %d lines left out", file, len(found.problems), found.lines)
    return merge_alternatives((word, alternatives) for _, word, alternatives in found.rows)


def _refuse(problems: list[str]) -> None:
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise MwSError("; ".join(problems[:SHOWN]) + more)


def _disagreements(rows: list[tuple[str, str, tuple[Morphs, ...]]]) -> list[str]:
    """Find words that stand twice with different segmentations, by the second place."""
    first: dict[str, tuple[str, tuple[Morphs, ...]]] = {}
    problems = []
    for place, word, alternatives in rows:
        where, known = first.setdefault(word, (place, alternatives))
        if set(known) != set(alternatives):
            problems.append(
                f"{place}: {word!r} is cut otherwise in {where}; keep one, or put both in one line, with a comma"
            )
    return problems


def _checked_entries(entries: Any) -> Iterable[Any]:
    if not isinstance(entries, Iterable):
        raise MwSError(f"labels: {type(entries).__name__} is neither a file nor words; give a path, a dict or pairs")
    return entries


def _parsed_entry(entry: Any) -> tuple[str, tuple[Morphs, ...]]:
    """Return word and segmentations of one entry; raises MwSError where the entry is no such pair."""
    if isinstance(entry, GoldWord):
        entry = (entry.word, entry.segmentations)
    if not isinstance(entry, tuple | list) or len(entry) != 2 or not isinstance(entry[0], str):
        raise MwSError(f"{entry!r} is no pair of a word and its morphs; give ('unlocks', 'un lock s')")
    word, analysis = entry
    if isinstance(analysis, str):
        return word, spelled(word, split_alternatives(word, analysis))
    parts = list(analysis) if isinstance(analysis, Iterable) else []
    nested = parts if parts and not isinstance(parts[0], str) else [parts]
    alternatives = [list(part) if isinstance(part, Iterable) else [part] for part in nested]
    if not all(isinstance(morph, str) for morphs in alternatives for morph in morphs):
        raise MwSError(f"{analysis!r} holds something that is no string; give the morphs of {word!r}")
    return word, spelled(word, alternatives)
