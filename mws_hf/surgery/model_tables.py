"""Find the tensors of a model with a row for each entry of the vocabulary: embeddings, head, bias, tables of layers.

They are found only by their names and shapes, so that the result is the same for a model in memory and for its files,
and so that transformers need not support the model. A .safetensors file consists of a length (8 bytes, little-endian),
a JSON header with type, shape and position of each tensor, and the bytes of the tensors. Only headers are read here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import regex

from mws_hf.errors import MwSError, first_line
from mws_hf.surgery.ids import PER_LAYER, SIZES, is_id_field, model_rows, parts_of_model
from mws_hf.tokenizer.file import load_json, load_settings
from mws_hf.tokenizer.layout import MODEL_FILE, SINGLE_WEIGHTS, WEIGHTS_INDEX
from mws_hf.tokenizer.links import file_inside

_KNOWN = frozenset(
    ("embed_tokens", "embed_tokens_per_layer", "wte", "embed_in", "word_embeddings", "tok_embeddings", "shared")
    + ("lm_head", "embed_out")
)
"""Modules whose tensors always have a row per entry, even if the number of rows contradicts the config."""
_MAX_HEADER_BYTES = 100_000_000
"""The longest header that the format of .safetensors allows."""
_POSITIONS = regex.compile(r"(^|_)(pos|positions?|positional|wpe|patch|relative\w*)(_|$)")
_VOCABULARY = regex.compile(
    r"emb|head|logit|vocab|token|word|wte|lexic|predict|unembed|^output(_projection)?$|^decoder$|^proj_out$"
)
_LAYERS = regex.compile(
    r"norm|proj|(^|_)(dense|fc\d*|ln\w*|conv\w*|attn|attention|mlp|gate|up|down|qkv|[qkvo]|w\d|query|key|value|linear"
    r"|router|experts?|in|out)(_|$)"
)
_PART = regex.compile(
    r"\d+|weight|bias|scales?|zeros?|qweight|qzeros|g_idx|absmax|quant\w*|bitsandbytes\w*|weight_\w+|nested_\w+|SCB"
)
"""The end of the name of a tensor, after its module."""


class Tensor(NamedTuple):
    """Type and shape of a tensor; the type has the name that safetensors or torch uses."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def plain(self) -> bool:
        """Whether its rows can be averaged, because they are floats of two bytes or more."""
        floats = ("F16", "BF16", "F32", "F64", "float16", "bfloat16", "float32", "float64")
        return self.dtype.removeprefix("torch.") in floats


class Table(NamedTuple):
    """A tensor with a row for each entry of the vocabulary.

    Attributes:
        name: its name in the model.
        axis: the axis of the entries.
        rows: its length along that axis.
        fault: the reason why it cannot be changed, if there is one.
    """

    name: str
    axis: int
    rows: int
    fault: str | None = None


def vocabulary_tables(tensors: Mapping[str, Tensor], settings: Mapping[str, Any]) -> list[Table]:
    """List the tensors of a model that have a row for each entry of its vocabulary; `settings` are its config.json.

    A tensor is listed if its module has a name of embeddings or heads, or if it has as many rows as the vocabulary and
    is not a part of a layer by its name.

    >>> shapes = {"lm_head.weight": (90, 8), "norm.weight": (8,), "a.lookup": (2, 90, 4), "wpe.weight": (90, 8)}
    >>> found = vocabulary_tables({name: Tensor("F32", shape) for name, shape in shapes.items()}, {"vocab_size": 90})
    >>> [(table.name, table.axis) for table in found]
    [('lm_head.weight', 0), ('a.lookup', 1)]
    """
    sizes, others = _sizes(settings)
    known = {
        name: tensor
        for name, tensor in tensors.items()
        if _module(name)[-1] in _KNOWN and tensor.shape and (tensor.shape[0] in sizes or tensor.shape[0] not in others)
    }
    if whole := [tensor.shape[0] for tensor in known.values() if tensor.plain and len(tensor.shape) == 2]:
        sizes |= set(whole)
    other_sizes = _other_sizes(settings)
    found = []
    for name, tensor in tensors.items():
        axes = [0] if name in known else [axis for axis, size in enumerate(tensor.shape) if size in sizes]
        has_entries = name in known or bool(axes) and _has_entries(name, tensor.shape[axes[0]] in other_sizes)
        if axes and has_entries is not False:
            fault = _fault(name, tensor, len(axes) == 1 and has_entries)
            found.append(Table(name, axes[0], tensor.shape[axes[0]], fault))
    return found


def _fault(name: str, tensor: Tensor, is_certain: bool | None) -> str | None:
    part = name.rpartition(".")[2]
    if not tensor.plain or (_PART.fullmatch(part) and part not in ("weight", "bias") and not part.isdecimal()):
        return f"is quantized or contains ids ({tensor.dtype}); give the weights as floating-point numbers"
    return None if is_certain else "may have a row for each token, or have the same size by chance"


def _module(name: str) -> list[str]:
    """Return the parts of a tensor's name without numbers and without its last part, such as "weight"."""
    parts = name.split(".")
    while len(parts) > 1 and _PART.fullmatch(parts[-1]):
        parts.pop()
    return [part for part in parts if not part.isdecimal()] or parts


def _has_entries(name: str, is_other_size: bool) -> bool | None:
    """Decide whether a tensor as large as the vocabulary has a row for each entry; None if that is not certain.

    `is_other_size` is true if the config has another size, or a product of sizes, that equals the vocabulary's.
    """
    path = _module(name)
    if _POSITIONS.search(path[-1]):
        return False
    if any(_VOCABULARY.search(part) for part in path[-2:]):
        return True
    if _LAYERS.search(path[-1]):
        return False if is_other_size else None
    return None if is_other_size else True


def _sizes(settings: Mapping[str, Any]) -> tuple[set[int], set[int]]:
    """Return the sizes of the text vocabulary in a config, and the sizes of other vocabularies in it."""
    parts = [part for _, part in parts_of_model(settings)]
    own = {part[name] for part in parts for name in SIZES if isinstance(part.get(name), int)}
    named = {value for name, value in _numbers(settings) if "vocab_size" in name}
    return own, named - own


def _other_sizes(settings: Mapping[str, Any]) -> set[int]:
    """Return the sizes in a config that do not belong to a vocabulary, and the products of two of them."""
    sizes = {value for name, value in _numbers(settings) if "vocab" not in name and not is_id_field(name)}
    sizes |= {2, 3, 4}
    return sizes | {one * other for one, other in combinations_with_replacement(sizes, 2)}


def _numbers(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _numbers(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            yield name, value


def usable_tables(tables: list[Table], settings: Mapping[str, Any], where: object) -> int:
    """Return the number of rows of the tables of a model.

    Args:
        tables: the tables.
        settings: the config.json of the model.
        where: the name of the model in messages.

    Raises:
        MwSError: there is no table, one of them cannot be changed, or they have different numbers of rows.
    """
    if not tables:
        raise MwSError(
            f"{where}: no tensor of its weights has a row for each token of the vocabulary; give a language model"
        )
    if wrong := [f"{table.name} {table.fault}" for table in tables if table.fault]:
        raise MwSError(f"{where}: {'; '.join(wrong)}")
    if offsets := [name for name, _ in _numbers(settings) if name == "vocab_offset"]:
        raise MwSError(
            f"{where}: config.json has {offsets[0]}, the first id of the tables of images or sounds, which a different "
            "number of tokens would shift; save only the text model (its AutoModelForCausalLM) and give that"
        )
    short = model_rows(settings, PER_LAYER)
    rows = sorted({table.rows for table in tables if table.rows != short}) or [tables[0].rows]
    if len(rows) > 1:
        sizes = ", ".join(f"{table.name} {table.rows:,}" for table in tables)
        raise MwSError(
            f"{where}: tensors with a row for each token have different numbers of rows ({sizes}); resize them to the "
            "same number first"
        )
    return rows[0]


def weights_file(directory: Path) -> str | None:
    """Return the name of the file from which transformers loads a model: one file of weights or an index of several.

    It is the file that config.json names as `transformers_weights`, or else model.safetensors, or else its index.
    Other weights next to it are not loaded.
    """
    named = load_settings(directory / MODEL_FILE).get("transformers_weights")
    if named is not None:
        return str(file_inside(directory, named).relative_to(directory))
    return next((name for name in (SINGLE_WEIGHTS, WEIGHTS_INDEX) if (directory / name).is_file()), None)


def read_shards(directory: Path) -> tuple[dict[str, str], dict[str, dict[str, Tensor]]]:
    """Read the headers of a model's weights, each once.

    Returns:
        The file of each tensor, by its path in the folder, which may be in a subfolder; and of each file, type and
        shape of its tensors.

    Raises:
        MwSError: there are no .safetensors weights, the index is damaged, or it names a file outside of the folder.
    """
    name = weights_file(directory)
    if name is None:
        raise MwSError(
            f"{directory}: no {SINGLE_WEIGHTS} and no {WEIGHTS_INDEX}, so it has no weights of a model; give a "
            "folder that save_pretrained of the model wrote"
        )
    file = file_inside(directory, name)
    if file.suffix != ".json":
        tensors = tensors_of(file)
        return dict.fromkeys(tensors, name), {name: tensors}
    index = load_json(file)
    shards = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(shards, dict) or not shards or not isinstance(index.get("metadata", {}), dict | None):
        raise MwSError(f"{file}: has no weight_map of tensors and files; download it again")
    names = {name for name in shards.values() if isinstance(name, str)}
    places = {name: str(file_inside(directory, name).relative_to(directory)) for name in names}
    if unnamed := next((tensor for tensor, name in shards.items() if name not in names), None):
        raise MwSError(f"{file}: {unnamed!r} has no file name; download it again")
    headers = {place: tensors_of(directory / place) for place in sorted(set(places.values()))}
    # transformers also loads tensors that the index does not name
    unindexed = {tensor: place for place in reversed(headers) for tensor in headers[place]}
    return unindexed | {tensor: places[name] for tensor, name in shards.items()}, headers


def read_tensor_header(file: Path) -> tuple[dict[str, Any], Any]:
    """Read and check the header of a .safetensors file.

    Returns:
        The entries ``dtype``, ``shape`` and ``data_offsets`` of each tensor, and the ``__metadata__`` of the file, or
        None if it has none.

    Raises:
        MwSError: the file is damaged, or its header is longer than the format allows.
    """
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            rest = file.stat().st_size - 8 - length
            if length > _MAX_HEADER_BYTES or rest < 0:
                raise ValueError(f"a header of {length:,} bytes")
            header = json.loads(stream.read(length))
        metadata = header.pop("__metadata__", None)
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            sizes = [begin, end, *tensor["shape"]]
            if not all(type(size) is int for size in sizes) or not 0 <= begin <= end <= rest or min(sizes) < 0:
                raise ValueError(f"tensor {name!r} has an impossible shape or impossible offsets")
            if math.prod(tensor["shape"]) > 8 * (end - begin):  # no type has less than one bit
                raise ValueError(f"tensor {name!r} has more elements than its bytes can hold")
            if not isinstance(tensor["dtype"], str):
                raise ValueError(f"tensor {name!r} has no type")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MwSError(f"{file}: not a readable .safetensors file ({first_line(error)}); download it again") from error
    return header, metadata


def tensors_of(file: Path) -> dict[str, Tensor]:
    """Read type and shape of each tensor in a .safetensors file."""
    header, _ = read_tensor_header(file)
    return {name: Tensor(tensor["dtype"], tuple(tensor["shape"])) for name, tensor in header.items()}


def stored_tensors(directory: Path) -> dict[str, Tensor]:
    """Read type and shape of each tensor of a model's weights; empty without .safetensors weights."""
    return {} if weights_file(directory) is None else tensors_in(directory, *read_shards(directory))


def tensors_in(
    directory: Path, shards: Mapping[str, str], headers: Mapping[str, Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """Return type and shape of each tensor, from the result of `read_shards`.

    Raises:
        MwSError: a file lacks a tensor that the index names there.
    """
    for name, file in shards.items():
        if name not in headers[file]:
            raise MwSError(f"{directory / file}: lacks {name}, which the index names there; download it again")
    return {name: headers[file][name] for name, file in shards.items()}
