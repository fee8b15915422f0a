"""The record of a tokenizer, kept beside it in `FILE`: settings and figures of its training, and facts for its card.

Its parts are ``settings`` (of the training), ``added`` (by `mws extend`) and ``card`` (`mws_hf.cards.card`). No
tokenizer reads it: explanations, cards and retrainings do.

The record names the merges it belongs to by their hash, so that a record left over in a directory says nothing of other
merges.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.atomic import write_text
from mws_hf.text.letter_case import caseless
from mws_hf.tokenizer.backend import tables_of
from mws_hf.tokenizer.file import load_json, settings_text
from mws_hf.tokenizer.layout import RECORD_FILE as FILE
from mws_hf.tokenizer.shapes import RECORD, check_shape

KINDS = ("morph", "composition", "required")
"""Of merges, in the order in which a tokenizer has them: by evidence, by frequency at a price, asked for by name."""
ADDED_KINDS = ("added", "added morph", "added composition")
"""The same of those that `mws extend` added, after those that join letters."""


def record_bytes(settings: Mapping[str, Any], merges: str) -> bytes:
    """Write the record of a tokenizer that was just learnt, as `FILE` holds it; `merges` is its `merges_digest`."""
    return settings_text({"merges": merges, "settings": settings}).encode()


def write_part(directory: Path, backend: Tokenizer, name: str, part: Mapping[str, Any]) -> None:
    """Put a part into the record of a tokenizer; the other parts stay, unless they are those of another tokenizer."""
    record = read_record(directory, backend) or {"merges": merges_digest(backend)}
    write_text(directory / FILE, settings_text(record | {name: part}))


def read_record(directory: Path, backend: Tokenizer) -> dict[str, Any]:
    """Read the record of the tokenizer in a directory; empty where there is none, or another tokenizer's.

    Raises:
        MwSError: a value has another type than `shapes.RECORD` gives.
    """
    record = load_json(directory / FILE) if (directory / FILE).is_file() else None
    if not isinstance(record, dict) or record.get("merges") != merges_digest(backend):
        return {}
    check_shape(record, RECORD, str(directory / FILE))
    return record


def added_record(backend: Tokenizer, merges: int, found: Mapping[str, int]) -> dict[str, Any]:
    """Make the record of an extended tokenizer: the kinds of its last `merges`, which its base did not have.

    `found` tells how many of them are "morphs" and "compositions", the last ones; those before them join letters.
    """
    morphs, compositions = found.get("morphs", 0), found.get("compositions", 0)
    numbers = (max(0, merges - morphs - compositions), morphs, compositions)
    return {"merges": merges_digest(backend), "added": dict(zip(ADDED_KINDS, numbers, strict=True))}


def kinds_in(record: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the kinds of the last merges that a record tells of, in order, and how many there are of each."""
    settings = record.get("settings")
    found = settings.get("merges") if isinstance(settings, dict) else record.get("added")
    if not isinstance(found, dict) or not all(isinstance(number, int) for number in found.values()):
        return []
    return [(kind, found[kind]) for kind in (*KINDS, *ADDED_KINDS) if kind in found]


def kinds_by_rank(kinds: Sequence[tuple[str, int]], n_merges: int) -> list[str]:
    """Name the kind of each merge, in rank order; "" of the first ones, which no record tells of.

    >>> kinds_by_rank([("morph", 1), ("composition", 2)], 4)
    ['', 'morph', 'composition', 'composition']
    """
    kinds_listed = [kind for kind, number in kinds for _ in range(number)]
    named = [""] * (n_merges - len(kinds_listed)) + kinds_listed
    return named[len(named) - n_merges :]


def rare_entries_said(rare_entries: Mapping[str, float] | None) -> str:
    """Say in words the shares of `mws_hf.cards.training_figures.training_facts`; nothing where there are none."""
    if not rare_entries:
        return ""
    return f"{rare_entries['under_5']:.1%} fewer than 5 times, {rare_entries['unused']:.1%} never".replace("%", " %")


def labelled_words(settings: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the words, by `caseless`, whose labels the training with these settings used."""
    labels = (settings or {}).get("labels")
    if not isinstance(labels, dict):
        return frozenset()
    lists = list(labels.values())
    by_group = bool(lists) and all(isinstance(each, dict) for each in lists)
    return frozenset(caseless(word) for each in (lists if by_group else [labels]) for word in each)


def merges_digest(of: Tokenizer | Sequence[tuple[str, str]]) -> str:
    """Name merges, or those of a tokenizer, which take longer to read, by their hash."""
    merges = tables_of(of)[1] if isinstance(of, Tokenizer) else of
    return hashlib.sha256(json.dumps(list(merges)).encode()).hexdigest()
