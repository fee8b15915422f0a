"""Check the types of the values in JSON files next to a tokenizer before anything uses them.

A shape is written with Python types:

* ``str``, ``bool``, ``int``, ``float`` (any finite number), ``list`` and ``None`` stand for themselves. A ``bool`` is
  not a number, and an ``int`` has at most 64 bits.
* A tuple stands for any of its shapes.
* A dict stands for an object. Its keys are optional, and all other keys are allowed; `With` lists required keys.
* `Each` stands for a list, or for an object with any keys, whose values all have one shape.
* `Two` stands for a list that begins with two values of one shape.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mws_hf.errors import MwSError, quoted
from mws_hf.tokenizer.layout import ADDED_FILE, CONFIG_FILE, MAP_FILE, MODEL_FILE

_NAMES: dict[Any, str] = {
    str: "a string", bool: "true or false", int: "a whole number", float: "a number", None: "null", dict: "an object",
    list: "a list",
}  # fmt: skip


_ABSENT = object()


@dataclass(frozen=True)
class Each:
    """The shape of a list, or of an object with any keys, whose values all have one shape.

    Attributes:
        kind: `list` or `dict`.
        shape: the shape of each value.
    """

    kind: type
    shape: Any


@dataclass(frozen=True)
class Two:
    """The shape of a list of figures before and after a change.

    Attributes:
        shape: the shape of both figures.
    """

    shape: Any


@dataclass(frozen=True)
class With:
    """The shape of an object in which some keys are required.

    Attributes:
        keys: the required keys.
        shape: the shape of the values, by key.
    """

    keys: tuple[str, ...]
    shape: Mapping[str, Any]


_FLAGS = ("lstrip", "rstrip", "normalized", "single_word", "special")
_TOKEN: Any = (str, None, With(("content",), {"content": str, **dict.fromkeys(_FLAGS, bool)}))
ROLE_NAMES = ("unk_token", "bos_token", "eos_token", "pad_token", "sep_token", "cls_token", "mask_token")
"""The roles of special tokens in every version of transformers."""
LEARNED_MERGES = "mws_merges"
"""The setting with the hash of the merges that a training learned (`training_record.merges_digest`)."""
_TOKENS = {
    **dict.fromkeys(ROLE_NAMES, _TOKEN),
    "additional_special_tokens": (None, Each(list, _TOKEN), Each(dict, _TOKEN)),
}
_NAMED_TEMPLATE = With(("name", "template"), {"name": str, "template": str})
SHAPES: dict[str, Any] = {
    CONFIG_FILE: {
        **_TOKENS,
        "extra_special_tokens": (None, Each(list, _TOKEN), Each(dict, _TOKEN)),
        "model_specific_special_tokens": (None, Each(dict, _TOKEN)),
        "added_tokens_decoder": (None, Each(dict, _TOKEN)),
        "auto_map": (None, str, Each(list, (str, None)), Each(dict, (str, None, Each(list, (str, None))))),
        "chat_template": (
            None,
            str,
            Each(dict, str),
            Each(list, _NAMED_TEMPLATE),
        ),
        "clean_up_tokenization_spaces": (None, bool),
        "model_input_names": (None, Each(list, str)),
        "model_max_length": (None, float),
        "tokenizer_class": (None, str),
        LEARNED_MERGES: (None, str),
        **dict.fromkeys(("add_prefix_space", "add_bos_token", "add_eos_token", "split_special_tokens"), (None, bool)),
    },
    MAP_FILE: _TOKENS,
    ADDED_FILE: Each(dict, int),
    MODEL_FILE: {"model_type": (None, str)},
}
"""The shapes of the files of settings, by name; values that mws_hf does not read may have any type."""


def _all_of(**shape: Any) -> With:
    """Return the shape of an object in which all keys are required."""
    return With(tuple(shape), shape)


_COUNTED, _FITTED = ("given", "used", "in_text"), ("f1", "f1_without", "granularity", "ridge")
_FIT = (
    _all_of(**dict.fromkeys(_COUNTED, int), **dict.fromkeys(_FITTED, float)),
    With(_COUNTED, {**dict.fromkeys(_COUNTED, int), **dict.fromkeys(_FITTED, None)}),  # no label was used
)
_GROUP = _all_of(weight=float, types=int, words=int, tokens_per_word=float, bytes_per_token=float, own_vocabulary=float)
_NUMBER = (float, None)
"""A figure that JSON contains as null if the text has no words."""
_TWO_NUMBERS = Two(_NUMBER)
_EXTENDED_TEXT = _all_of(
    words=int, tokens=Two(int), tokens_per_word=_TWO_NUMBERS, bytes_per_token=_TWO_NUMBERS, words_changed=_NUMBER
)
_TRIMMED_TEXT = _all_of(tokens=Two(int), uses_lost=float, unigram_bits_per_byte=_TWO_NUMBERS)
_EXTENDED = _all_of(
    **dict.fromkeys(("new_tokens", "vocabulary", "word_types", "retired_tokens", "retired_words"), int),
    base=str, dropped_before=int, texts=Each(dict, _EXTENDED_TEXT),
)  # fmt: skip
_TRIMMED = _all_of(
    base=str, entries=Two(int), merges=Two(int), kept=Each(dict, int), dropped=Each(dict, int),
    texts=Each(dict, _TRIMMED_TEXT),
)  # fmt: skip
_WORDS = (None, Each(list, str))
_LABELS = Each(dict, Each(list, Each(list, str)))
RECORD = {
    "merges": str,
    "added": Each(dict, int),
    "settings": {
        **dict.fromkeys(("alphabet", "criterion"), str),
        **dict.fromkeys(("pattern", "normalization"), (None, str)),
        **dict.fromkeys(("bytes_per_token", "places_cut"), (None, float)),
        **dict.fromkeys(("characters", "word_types", "min_count", "max_types"), (None, int)),
        **dict.fromkeys(("sample_words", "special_tokens", "initial_alphabet", "required"), _WORDS),
        "keep_apart": (None, str, Each(list, str)),
        "weights": (None, Each(dict, float)),
        "merges": (None, Each(dict, int)),
        "rare_entries": (None, _all_of(unused=float, under_5=float)),
        "groups": (None, Each(dict, _GROUP)),
        "label_fit": (None, *_FIT, Each(dict, _FIT)),
        "labels": (None, list, _LABELS, Each(dict, _LABELS)),
    },
    "card": {
        **dict.fromkeys(("name", "data", "command", "license", "use", "comparison"), (None, str)),
        **dict.fromkeys(("languages", "words", "notes", "limits"), _WORDS),
        "extended": (None, _EXTENDED),
        "trimmed": (None, _TRIMMED),
    },
}
"""The shape of mws_training.json; the ranges of settings are checked where a training is made of them."""


def check_shape(value: object, shape: Any, place: str) -> None:
    """Check a value of a JSON file against a shape.

    Args:
        value: the value.
        shape: the shape, as described at the head of this module.
        place: the file, and the keys that lead to the value, for the message.

    Raises:
        MwSError: a value has a wrong type; the message names the first such value, its keys and the file.

    >>> check_shape({"a": [1, "x"]}, {"a": Each(list, int)}, "some.json")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: some.json: a[1] is 'x', but must be a whole number; save the tokenizer again
    """
    if (wrong := _first_wrong(value, shape, "")) is not None:
        keys, found, expected = wrong
        shown = quoted(found) if isinstance(found, str | int | float) else _NAMES.get(type(found), "missing")
        shown = json.dumps(found) if found is None or isinstance(found, bool) else shown
        what = f"{keys.removeprefix('.')} is {shown}" if keys else f"the file contains {shown}"
        raise MwSError(f"{place}: {what}, but must be {expected}; save the tokenizer again")


def _first_wrong(value: Any, shape: Any, keys: str) -> tuple[str, object, str] | None:
    """Return the keys of the first value of a wrong type, the value, and a description of the expected type."""
    if isinstance(shape, tuple):
        found = [_first_wrong(value, each, keys) for each in shape]
        if None in found:
            return None
        deepest = max(
            (each for each in found if each is not None), key=lambda each: each[0].count(".") + each[0].count("[")
        )
        names = dict.fromkeys(_NAMES[_kind_of(each)] for each in shape)
        return deepest if deepest[0] != keys else (keys, value, " or ".join(names))
    kind = _kind_of(shape)
    if not _has_kind(value, kind):
        return keys, value, _NAMES[kind]
    if isinstance(shape, With):
        if absent := [key for key in shape.keys if key not in value]:
            return _first_wrong(_ABSENT, shape.shape[absent[0]], f"{keys}.{absent[0]}")
        shape = shape.shape
    if isinstance(shape, Two):
        inner = ((f"{keys}[{k}]", value[k] if k < len(value) else _ABSENT, shape.shape) for k in range(2))
    elif isinstance(shape, Each):
        named = value.items() if kind is dict else enumerate(value)
        inner = ((f"{keys}.{key}" if kind is dict else f"{keys}[{key}]", each, shape.shape) for key, each in named)
    elif isinstance(shape, Mapping):
        inner = ((f"{keys}.{key}", value[key], each) for key, each in shape.items() if key in value)
    else:
        return None
    return next((wrong for at, each, own in inner if (wrong := _first_wrong(each, own, at)) is not None), None)


def _has_kind(value: object, kind: type | None) -> bool:
    """Return whether a value has one of the types that a shape is written with."""
    if kind is None:
        return value is None
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    return isinstance(value, kind)


def _kind_of(shape: Any) -> Any:
    """Return the type of the values that have a shape."""
    if isinstance(shape, Each):
        return shape.kind
    return list if isinstance(shape, Two) else dict if isinstance(shape, With | Mapping) else shape
