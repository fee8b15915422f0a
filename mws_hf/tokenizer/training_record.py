"""Training metadata (mws_training.json): settings and figures of a training, and facts for the model card.

The file has the parts ``settings`` (of the training), ``added`` (the kinds of merges that `mws extend` added) and
``card`` (`mws_hf.cards.card`). Explanations, cards and retrainings read it; a tokenizer does not need it to encode.

It contains the hash of the merges that it belongs to, so that a file that was left in a folder is not used for other
merges.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.atomic import json_text, write_text
from mws_hf.text.letter_case import caseless
from mws_hf.text.phrases import percent
from mws_hf.tokenizer.backend import tables_of
from mws_hf.tokenizer.file import load_json
from mws_hf.tokenizer.layout import RECORD_FILE as FILE
from mws_hf.tokenizer.saving import settings_text
from mws_hf.tokenizer.shapes import RECORD, check_shape

TRAINED_KINDS = ("morph", "composition", "required")
"""The kinds of merges, in the order in which a tokenizer has them: by boundary probabilities, by frequency, and those
that build required tokens."""
ADDED_KINDS = ("added", "added morph", "added composition", "added required")
"""The kinds of merges that `mws extend` added, in their order: first those that only build letters."""


def record_bytes(settings: Mapping[str, Any], merges: str) -> bytes:
    """Return the content of mws_training.json for a new tokenizer.

    Args:
        settings: settings and figures of the training, as values that JSON can contain.
        merges: the `merges_digest` of the tokenizer.
    """
    return settings_text({"merges": merges, "settings": settings}).encode()


def write_part(directory: Path, backend: Tokenizer, name: str, part: Mapping[str, Any]) -> None:
    """Write one part of the metadata of a tokenizer; other parts stay, unless they belong to other merges.

    Args:
        directory: the folder of the tokenizer.
        backend: the tokenizer.
        name: the name of the part, such as "card".
        part: its content.

    Raises:
        MwSError: the present file is damaged or has a value of a wrong type, or the file cannot be written.
    """
    record = read_record(directory, backend) or {"merges": merges_digest(backend)}
    write_text(directory / FILE, settings_text(record | {name: part}))


def read_record(directory: Path, backend: Tokenizer) -> dict[str, Any]:
    """Read the metadata of a tokenizer from a folder; return an empty dict if it has none of these merges.

    Raises:
        MwSError: the file is damaged, or the type of a value differs from `shapes.RECORD`.
    """
    record = load_json(directory / FILE) if os.path.lexists(directory / FILE) else None
    if not isinstance(record, dict) or record.get("merges") != merges_digest(backend):
        return {}
    if "card" in record:  # version 0.4.0 wrote NaN for the figures that a text without words lacks
        record["card"] = json.loads(json_text(record["card"]))
    check_shape(record, RECORD, str(directory / FILE))
    return record


def added_record(backend: Tokenizer, merges: int, found: Mapping[str, int]) -> dict[str, Any]:
    """Return the metadata of an extended tokenizer: the kinds of the merges that its base did not have.

    Args:
        backend: the extended tokenizer.
        merges: number of new merges.
        found: how many of them are "morphs", "compositions" and "required"; these are the last ones, in this order,
            after merges that only build letters.
    """
    last = [found.get("morphs", 0), found.get("compositions", 0), *([found["required"]] if "required" in found else [])]
    numbers = (merges - sum(last), *last)
    return {"merges": merges_digest(backend), "added": dict(zip(ADDED_KINDS, numbers, strict=False))}


def kinds_in(record: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the kinds of the last merges in their order, with the number of merges of each kind.

    Args:
        record: training metadata, as `read_record` returns them.

    >>> kinds_in({"settings": {"merges": {"composition": 2, "morph": 5}}}), kinds_in({})
    ([('morph', 5), ('composition', 2)], [])
    """
    settings = record.get("settings")
    found = settings.get("merges") if isinstance(settings, dict) else record.get("added")
    if not isinstance(found, dict) or not all(isinstance(number, int) for number in found.values()):
        return []
    return [(kind, found[kind]) for kind in (*TRAINED_KINDS, *ADDED_KINDS) if kind in found]


def kinds_by_rank(kinds: Sequence[tuple[str, int]], n_merges: int) -> list[str]:
    """Return the kind of each merge, in the order of ranks; "" for the first merges, if their kind is not known.

    Args:
        kinds: the kinds of the last merges with the number of merges of each, from `kinds_in`.
        n_merges: number of merges.

    >>> kinds_by_rank([("morph", 1), ("composition", 2)], 4)
    ['', 'morph', 'composition', 'composition']
    """
    from_last: list[str] = []
    for kind, number in reversed(kinds):
        from_last += [kind] * min(number, n_merges - len(from_last))  # a damaged file may have any number
    return [""] * (n_merges - len(from_last)) + from_last[::-1]


def describe_rare_tokens(rare_entries: Mapping[str, float] | None) -> str:
    """Return the shares of rarely used tokens (`mws_hf.cards.training_figures`) as words; "" if they are not known.

    >>> describe_rare_tokens({"under_5": 0.125, "unused": 0.02})
    '12.5 % fewer than 5 times, 2.0 % never'
    """
    if not rare_entries:
        return ""
    return f"{percent(rare_entries['under_5'])} fewer than 5 times, {percent(rare_entries['unused'])} never"


def labeled_words(settings: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the labeled words that a tokenizer was trained with, in the form that `caseless` returns.

    Args:
        settings: the settings in its training metadata; None if there are none.

    >>> sorted(labeled_words({"labels": {"Cats": [["cat", "s"]]}}))
    ['cats']
    """
    labels = (settings or {}).get("labels")
    if not isinstance(labels, dict):
        return frozenset()
    lists = list(labels.values())
    by_group = bool(lists) and all(isinstance(each, dict) for each in lists)
    return frozenset(caseless(word) for each in (lists if by_group else [labels]) for word in each)


def merges_digest(of: Tokenizer | Sequence[tuple[str, str]]) -> str:
    """Return the SHA-256 hash of merges in hexadecimal; a list of merges is faster than a tokenizer."""
    merges = tables_of(of)[1] if isinstance(of, Tokenizer) else of
    return hashlib.sha256(json.dumps(list(merges)).encode()).hexdigest()
