"""Old and new ids of a base: the file ids.json, and numbers in other files that must follow it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mws_hf.errors import MwSError
from mws_hf.tokenizer.file import load_json

IDS_FILE = "ids.json"

IdMap: TypeAlias = Mapping[int, int | None]
"""Old id -> new id, or None where the entry is gone; every id of the base, ascending. New entries are not in it."""


def dump_ids(ids: IdMap) -> str:
    r"""Write a map as the text of ids.json.

    >>> dump_ids({0: 0, 1: None, 2: 1})
    '{"0": 0, "1": null, "2": 1}\n'
    """
    return json.dumps({str(old): new for old, new in ids.items()}) + "\n"


def read_ids(file: Path) -> dict[int, int | None]:
    """Read an ids.json.

    Raises:
        MwSError: the file is no JSON object of ids, or gives one new id twice.
    """
    content = load_json(file)
    if not isinstance(content, dict):
        raise MwSError(f'{file}: not a JSON object such as {{"0": 0, "1": null}}; trim or extend the base again')
    ids: dict[int, int | None] = {}
    owners: dict[int, int] = {}
    for old, new in content.items():
        if not old.isdecimal() or not (new is None or type(new) is int and new >= 0):
            raise MwSError(f"{file}: {old!r}: {new!r} is no pair of ids; trim or extend the base again")
        ids[int(old)] = new
        if new is not None and owners.setdefault(new, int(old)) != int(old):
            raise MwSError(f"{file}: ids {owners[new]} and {old} both become {new}; trim or extend the base again")
    return ids


def composed(first: IdMap, second: IdMap) -> dict[int, int | None]:
    """Join the map from a base to a tokenizer with the map from this tokenizer to a third.

    >>> composed({0: 0, 1: None, 2: 1}, {0: 0, 1: None})
    {0: 0, 1: None, 2: None}
    """
    return {old: None if between is None else second[between] for old, between in first.items()}


def renumbered(spec: Mapping[str, Any], ids: IdMap) -> dict[str, Any]:
    """Copy a tokenizer.json without the entries that are gone; the others have their new ids, wherever ids stand.

    Merges are left alone.
    """
    vocab = {token: ids[number] for token, number in spec["model"]["vocab"].items() if ids[number] is not None}
    changed = {**spec, "model": {**spec["model"], "vocab": vocab}}
    changed["added_tokens"] = [{**token, "id": ids[token["id"]]} for token in spec.get("added_tokens", [])]
    if spec.get("post_processor"):
        changed["post_processor"] = _processor(spec["post_processor"], ids)
    if spec.get("padding"):
        changed["padding"] = {**spec["padding"], "pad_id": ids.get(spec["padding"]["pad_id"])}
    return changed


def renumbered_config(settings: Mapping[str, Any], ids: IdMap) -> dict[str, Any]:
    """Copy a tokenizer_config.json with new ids in what transformers 4 writes of added tokens.

    >>> renumbered_config({"added_tokens_decoder": {"7": {"content": "<s>"}}}, {7: 3})
    {'added_tokens_decoder': {'3': {'content': '<s>'}}}
    """
    decoder = settings.get("added_tokens_decoder")
    if not isinstance(decoder, dict):
        return dict(settings)
    kept = {str(new): token for old, token in decoder.items() if (new := ids.get(int(old))) is not None}
    return {**settings, "added_tokens_decoder": kept}


def _processor(part: Mapping[str, Any], ids: IdMap) -> dict[str, Any]:
    """Return a post-processor, or the parts of a sequence of them, with new ids."""
    changed = dict(part)
    if "processors" in part:
        changed["processors"] = [_processor(each, ids) for each in part["processors"]]
    if part["type"] == "TemplateProcessing":
        special = part["special_tokens"]
        changed["special_tokens"] = {
            name: {**token, "ids": [ids[number] for number in token["ids"]]} for name, token in special.items()
        }
    for role in ("sep", "cls"):  # of BertProcessing and RobertaProcessing
        if isinstance(part.get(role), list):
            token, number = part[role]
            changed[role] = [token, ids[number]]
    return changed
