"""Old and new ids of a base: the file ids.json, and numbers in other files that must follow it.

For a model's embeddings: the old row that each new id keeps, and the number of rows. Tokens are matched by the map in
ids.json where there is one, else by their strings. Nothing is read or written here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from mws_hf.errors import MwSError, SettingError
from mws_hf.tokenizer.file import load_json
from mws_hf.tokenizer.stock import Tokenizer

_LARGEST_MULTIPLE = 256


def kept_rows(old: Tokenizer, new: Tokenizer, ids: IdMap | None = None) -> dict[int, int]:
    """Match ids of a new tokenizer with those of the old one that stand for the same token.

    Args:
        old: the tokenizer of the model.
        new: the model's tokenizer to be.
        ids: the map in the new tokenizer's ids.json; None matches equal strings, if both tokenizers decode alike.

    Returns:
        New id -> old id. An id that is no token in either stands for itself.

    Raises:
        MwSError: the map does not belong to these two tokenizers.
    """
    size, old_size = (max(each.get_vocab().values(), default=-1) + 1 for each in (new, old))
    if ids is not None:
        _check_map(old, new, ids, old_size)
        return {number: index for index, number in ids.items() if number is not None}
    if _text_form(old) != _text_form(new):  # the same string may be other bytes
        return {}
    found = {}
    for index in range(size):
        token = new.id_to_token(index)
        source = index if token is None and old.id_to_token(index) is None else old.token_to_id(token or "")
        if source is not None:
            found[index] = source
    return found


def _check_map(old: Tokenizer, new: Tokenizer, ids: IdMap, old_size: int) -> None:
    remedy = (
        f"{IDS_FILE} belongs to another base; give its model, or remove {IDS_FILE} to match tokens by their strings"
    )
    if len(ids) != old_size:
        raise MwSError(f"{IDS_FILE} maps {len(ids)} ids but the model's tokenizer has {old_size}: {remedy}")
    for index, number in ids.items():
        if number is not None and old.id_to_token(index) != new.id_to_token(number):
            tokens = f"{index} is {old.id_to_token(index)!r}, but {number} is {new.id_to_token(number)!r}"
            raise MwSError(f"{IDS_FILE} maps id {index} to {number}, but of the tokens {tokens}: {remedy}")


def _text_form(backend: Tokenizer) -> str:
    return "" if backend.decoder is None else backend.decoder.__getstate__().decode()


def row_count(rows: int, old_size: int, new_size: int, pad_to_multiple: int | None) -> int:
    """Compute the number of rows of the new embeddings.

    Args:
        rows: rows of the old embeddings.
        old_size: largest id of the old tokenizer, plus one.
        new_size: the same of the new one.
        pad_to_multiple: fill up to a multiple of this. None does as the base: no padding where it has none; else up to
            the largest power of two, at most 256, that divides its rows; never fewer rows than the base unless the
            vocabulary shrank.

    Raises:
        MwSError: the old embeddings have fewer rows than the old tokenizer ids, or the multiple is no whole number.

    >>> row_count(262_208, 262_145, 278_145, None), row_count(151_936, 151_665, 151_700, None)  # Gemma 3, Qwen 2.5
    (278208, 151936)
    >>> row_count(500, 500, 480, None), row_count(512, 500, 450, None), row_count(500, 500, 450, 64)
    (480, 512, 512)
    """
    if rows < old_size:
        raise MwSError(
            f"the model has {rows} rows of embeddings, but its tokenizer {old_size} ids; give the tokenizer it was "
            "trained with, or resize its embeddings first"
        )
    if pad_to_multiple is not None:
        if pad_to_multiple < 1:
            raise SettingError("pad_to_multiple", pad_to_multiple, "is no whole number from 1 up, such as 64")
        return -(-new_size // pad_to_multiple) * pad_to_multiple
    if rows == old_size:
        return new_size
    if old_size <= new_size <= rows:
        return rows
    multiple = min(rows & -rows, _LARGEST_MULTIPLE)
    return -(-new_size // multiple) * multiple


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
