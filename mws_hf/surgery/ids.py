"""Find and renumber the ids in a tokenizer.json, its config, and the configs of the model next to it.

Trimming, transplanting and retraining renumber ids with this module, and `check_ids` compares them. An id without a
successor is removed and reported. Unknown fields are never changed; `unknown_ids` lists those that could be ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Successor: TypeAlias = Callable[[int], "int | None"]
"""A function from an old id to the new id, or None if its token was removed."""

_ENDINGS = ("_token_id", "_token_ids", "_token_index")
_LISTS = frozenset(("suppress_tokens", "begin_suppress_tokens", "stop_token_ids"))
_SEQUENCES = frozenset(("bad_words_ids", "force_words_ids", "sequence_bias"))
"""Fields with several ids that belong together; such a sequence is removed as a whole."""
_PAIRS = frozenset(("forced_decoder_ids",))
"""Fields with pairs of a position and an id."""
_NAMED = frozenset(("lang_to_id", "task_to_id"))
"""Fields with tokens and their ids."""
ROLE_FIELDS = ("bos_token_id", "eos_token_id", "pad_token_id")
"""Fields with ids of roles, which each tokenizer has in its own tokens."""
_COUNTS = ("num_", "max_", "min_", "n_")
_NO_IDS = ("_size", "_len", "_length", "_count", "_dim", "_per_second", "_per_image")
_GONE = object()
POSITIONS_AFTER_PAD = frozenset(
    ("roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "camembert", "xmod", "longformer", "ibert")
    + ("data2vec-text", "esm", "lilt", "layoutlmv3", "luke", "markuplm", "mpnet", "fsmt", "m2m_100", "nllb-moe")
    + ("altclip_text_model", "bridgetower_text_model", "clap_text_model", "kosmos_2_text_model")
)
"""Values of ``model_type`` whose models number the positions of a text from ``pad_token_id`` + 1 on."""
PER_LAYER = "vocab_size_per_layer_input"
SIZES = ("vocab_size", PER_LAYER)
"""Fields with the number of rows of tensors with a row per entry; tables of single layers may have fewer (Gemma)."""


class Named(NamedTuple):
    """An id in a config.

    Attributes:
        path: path of the field.
        number: the id.
        special: whether the field should have the id of a special token.
        token: the token that the field has next to the id, or None.
    """

    path: str
    number: int
    special: bool
    token: str | None = None


def is_id_field(name: str) -> bool:
    """Return whether a field of the config of a model is known to have ids of the tokenizer."""
    return name.endswith(_ENDINGS) or name in _LISTS | _SEQUENCES | _PAIRS | _NAMED


def parts_of_model(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a config and the nested configs that have the same vocabulary, such as ``text_config``, with their paths.

    A nested config with a vocabulary of a different size, such as that of an image encoder, is left out.
    """
    sizes = {each for each in (_size(settings), _size(settings.get("text_config"))) if each is not None}
    yield prefix, settings
    for name, value in settings.items():
        if isinstance(value, Mapping) and not is_id_field(name) and (not sizes or _size(value) in (None, *sizes)):
            yield from parts_of_model(value, f"{prefix}{name}.")


def _size(settings: Any) -> int | None:
    size = settings.get("vocab_size") if isinstance(settings, Mapping) else None
    return size if isinstance(size, int) else None


def model_rows(settings: Mapping[str, Any], name: str = "vocab_size") -> int | None:
    """Return the number of embedding rows in a config.json or in its part for a text model, by the field's name."""
    sizes = (part.get(name) for _, part in parts_of_model(settings))
    return next((size for size in sizes if isinstance(size, int)), None)


def model_ids(settings: Mapping[str, Any]) -> list[Named]:
    """List all ids in a config.json or generation_config.json.

    >>> [(each.path, each.number) for each in model_ids({"eos_token_id": [3, 5], "bad_words_ids": [[7, 8]]})]
    [('eos_token_id', 3), ('eos_token_id', 5), ('bad_words_ids', 7), ('bad_words_ids', 8)]
    """
    found = []
    for prefix, part in parts_of_model(settings):
        for name, value in part.items():
            if name in _NAMED and isinstance(value, Mapping):
                found += [Named(prefix + name, each, True, token) for token, each in value.items() if _is_id(each)]
            elif is_id_field(name):
                found += [Named(prefix + name, each, name.endswith(_ENDINGS)) for each in _ids_in(name, value)]
    return found


def _ids_in(name: str, value: Any) -> list[int]:
    numbers: list[int] = []
    _changed(name, value, numbers.append)
    return numbers


class Role(NamedTuple):
    """The id of a role, such as ``eos_token_id``, in the new tokenizer, and whether the old one had no such token."""

    number: int | None
    new: bool


def add_default_ids(settings: dict[str, Any], full: Mapping[str, Any], is_token: Callable[[int], bool]) -> None:
    """Add the ids that a config leaves out because they are the defaults of its class, in place.

    Nested configs are completed, too; those that are missing as a whole are not added.

    Args:
        settings: the config.
        full: the same config with all fields of its class.
        is_token: whether an id is a token; other ids are added only in `ROLE_FIELDS`.

    >>> settings = {"eos_token_id": None, "text_config": {}}
    >>> full = {"eos_token_id": 2, "pad_token_id": 9, "image_token_id": 9, "text_config": {"mask_token_id": 1}}
    >>> add_default_ids(settings, full, lambda number: number < 9)
    >>> settings
    {'eos_token_id': None, 'text_config': {'mask_token_id': 1}, 'pad_token_id': 9}
    """
    for name, value in full.items():
        if is_id_field(name):
            numbers = _ids_in(name, value)
            if any(map(is_token, numbers)) or (numbers and name in ROLE_FIELDS):
                settings.setdefault(name, value)
        elif isinstance(value, Mapping) and isinstance(settings.get(name), dict):
            add_default_ids(settings[name], value, is_token)


def renumber_model(
    settings: dict[str, Any],
    successor: Successor,
    roles: Mapping[str, Role],
    rows: int | None = None,
    by_role: Mapping[int, int] | None = None,
) -> list[str]:
    """Replace the ids in a config.json or generation_config.json by those of another tokenizer, in place.

    Nested configs that have the same vocabulary are changed, too.

    Args:
        settings: the config.
        successor: the function from an old id to the new one.
        roles: the id of each role in the new tokenizer. A field of a role gets this id if the token of the field was
            removed, or if the field is None and the old tokenizer had no such token.
        rows: the new size of the vocabulary, which all fields with this size get; None leaves them unchanged.
        by_role: the new id of each old id with a role in both tokenizers, such as the end of a text. In fields, it
            replaces the id of a token that was removed.

    Returns:
        The paths of the fields that lost an id, except those that got the id of their role.
    """
    lost: list[str] = []

    def follow(number: int) -> int | None:
        new = successor(number)
        return (by_role or {}).get(number) if new is None else new

    for prefix, part in list(parts_of_model(settings)):
        size = part.get("vocab_size")
        for name, value in list(part.items()):
            if rows is not None and (name in SIZES or ("vocab" in name and value == size is not None)):
                part[name] = rows  # type: ignore[index]
            elif is_id_field(name):
                new = _changed(name, value, follow)
                role = roles.get(name, Role(None, new=False))
                gone = successor(value) is None if _is_id(value) else new in ([], ()) and value != new
                if role.number is not None and (role.new if value is None else gone):
                    new = role.number
                elif any(follow(number) is None for number in _ids_in(name, value)):
                    lost.append(f"{prefix}{name}")
                part[name] = None if new is _GONE else new  # type: ignore[index]
    return lost


def _changed(name: str, value: Any, successor: Successor) -> Any:
    """Return the value of a field with new ids, or `_GONE`."""
    if name in _NAMED and isinstance(value, Mapping):
        followed = {token: successor(number) if _is_id(number) else number for token, number in value.items()}
        return {token: number for token, number in followed.items() if number is not None}
    if name in _PAIRS and isinstance(value, list) and all(isinstance(pair, list | tuple) for pair in value):
        followed_pairs = [(pair[:1], _nested(pair[1:], successor, whole=True)) for pair in value]
        return [[*position, *number] for position, number in followed_pairs if number is not _GONE]
    return _nested(value, successor, whole=name in _SEQUENCES)


def _nested(value: Any, successor: Successor, *, whole: bool) -> Any:
    """Replace an id, or ids in lists; with `whole` a list of ids is removed if one of its ids is."""
    if _is_id(value):
        new = successor(value)
        return _GONE if new is None else new
    if isinstance(value, Mapping):  # sequence_bias in memory: ids -> bias
        followed = {_nested(key, successor, whole=whole): bias for key, bias in value.items()}
        return {key: bias for key, bias in followed.items() if key is not _GONE}
    if not isinstance(value, list | tuple):
        return value
    parts = [_nested(part, successor, whole=whole) for part in value]
    together = whole and not all(isinstance(part, list | tuple) for part in value)
    if together and any(part is _GONE for part in parts):
        return _GONE
    kept = [part for part in parts if part is not _GONE]
    return tuple(kept) if isinstance(value, tuple) else kept


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def unknown_ids(settings: Mapping[str, Any], size: int) -> list[str]:
    """List the unknown fields of a config whose value could be an id below `size`."""
    return [
        f"{prefix}{name}"
        for prefix, part in parts_of_model(settings)
        for name, value in part.items()
        if not is_id_field(name) and _may_be_ids(name, value, size)
    ]


def _may_be_ids(name: str, value: Any, size: int) -> bool:
    if name.startswith(_COUNTS) or name.endswith(_NO_IDS) or (name.endswith("tokens") and not isinstance(value, list)):
        return False
    values = value if isinstance(value, list) and value else [value]
    sounds = "token" in name or name.endswith(("_id", "_ids", "_idx", "_index"))
    return sounds and all(_is_id(each) and each < size for each in values)


def renumbered_tokenizer(spec: Mapping[str, Any], ids: Mapping[int, int | None]) -> dict[str, Any]:
    """Copy a tokenizer.json without removed entries and with new ids; its merges are unchanged."""
    vocab = {token: ids[number] for token, number in spec["model"]["vocab"].items() if ids[number] is not None}
    changed = {**spec, "model": {**spec["model"], "vocab": vocab}}
    changed["added_tokens"] = [{**token, "id": ids[token["id"]]} for token in spec.get("added_tokens", [])]
    if spec.get("post_processor"):
        changed["post_processor"] = renumbered_processor(spec["post_processor"], lambda _, number: ids[number])
    if spec.get("padding"):
        changed["padding"] = {**spec["padding"], "pad_id": ids[spec["padding"]["pad_id"]]}
    return changed


def renumbered_config(settings: Mapping[str, Any], ids: Mapping[int, int | None]) -> dict[str, Any]:
    """Copy a tokenizer_config.json with new ids of the added tokens, which transformers 4 writes there.

    Entries of tokens that were removed, and those whose key is not an id, are left out.
    """
    decoder = settings.get("added_tokens_decoder")
    if not isinstance(decoder, dict):
        return dict(settings)
    renumbered = {ids.get(int(key)): token for key, token in decoder.items() if key.isdecimal()}
    kept = {str(number): token for number, token in renumbered.items() if number is not None}
    return {**settings, "added_tokens_decoder": kept}


def renumbered_processor(
    part: Mapping[str, Any], number_of: Callable[[str, int], int | None], names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Copy a post-processor, or a sequence of them, with new ids.

    Args:
        part: the post-processor in the form of tokenizer.json.
        number_of: returns the new id of a special token, given its new name and its old id.
        names: the new names of special tokens whose names change.
    """
    names = names or {}
    changed = dict(part)
    if "processors" in part:
        changed["processors"] = [renumbered_processor(each, number_of, names) for each in part["processors"]]
    if part.get("type") == "TemplateProcessing":
        changed["special_tokens"] = {}
        for name, token in part["special_tokens"].items():
            tokens = [names.get(each, each) for each in token["tokens"]]
            numbers = [number_of(each, number) for each, number in zip(tokens, token["ids"], strict=True)]
            changed["special_tokens"][name] = {**token, "tokens": tokens, "ids": numbers}
    for role in ("sep", "cls"):  # of BertProcessing and RobertaProcessing
        if isinstance(part.get(role), list):
            token, number = part[role]
            changed[role] = [names.get(token, token), number_of(names.get(token, token), number)]
    return changed


def ids_of_parts(spec: Mapping[str, Any]) -> set[int]:
    """Return the ids that the post-processor and the padding of a tokenizer.json contain."""
    padding = [spec["padding"]["pad_id"]] if spec.get("padding") else []
    return {*padding, *(number for _, number in processor_ids(spec.get("post_processor")))}


def processor_ids(part: Mapping[str, Any] | None) -> list[tuple[str, int]]:
    """List the special tokens of a post-processor with their ids."""
    found: list[tuple[str, int]] = []

    def note(token: str, number: int) -> None:
        found.append((token, number))

    renumbered_processor(part or {}, note)
    return found
