"""Give a model on disk another tokenizer; only its embeddings are loaded into memory.

All other tensors are copied in parts from file to file; `mws_hf.surgery.model_tables` describes the format.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError, safe_open
from transformers import AutoConfig

from mws_hf.atomic import check_not_overwriting, staged, write_json
from mws_hf.errors import MwSError
from mws_hf.surgery.base import read_ids
from mws_hf.surgery.companions import check_no_adapter, copy_companions
from mws_hf.surgery.embeddings import fit_settings
from mws_hf.surgery.ids import add_default_ids, model_rows
from mws_hf.surgery.mixtures import TransplantReport, mix_rows, new_table
from mws_hf.surgery.model_tables import (
    Table,
    read_shards,
    read_tensor_header,
    tensors_in,
    usable_tables,
    vocabulary_tables,
    weights_file,
)
from mws_hf.tokenizer.file import load_json, load_settings
from mws_hf.tokenizer.layout import IDS_FILE, MODEL_FILE, FileKind, files, patterns
from mws_hf.tokenizer.links import copy_inside, file_inside
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.places import model_folder, tokenizer_folder

logger = logging.getLogger(__name__)
_COPIED_BYTES = 16 << 20
"""The number of bytes that are copied at once."""
_OLD_FILES = tuple(kind for kind in FileKind if kind is not FileKind.CARD)
"""Files of a model that are never copied as they are: its old tokenizer, its weights, and settings with ids."""


def transplant_directory(
    model: str | os.PathLike[str],
    tokenizer: str | os.PathLike[str],
    output: str | os.PathLike[str],
    init: str = "mean",
    pad_to_multiple: int | None = None,
) -> TransplantReport:
    """Write a copy of a pretrained model for another tokenizer, with the tokenizer next to it.

    If ids.json is next to the new tokenizer, it maps the old ids to the new ones. Without it, tokens are matched as in
    `embeddings.transplant`.

    All files and folders of the model are copied, such as the modules of sentence-transformers, except those that
    contain the old vocabulary: other tokenizers, and weights in other formats. A warning lists the exceptions.

    Args:
        model: a folder with config.json, tokenizer and .safetensors weights, or a Hub name.
        tokenizer: a folder with tokenizer.json, a pretrained name, or a Hub name.
        output: the folder to write; it is written completely or not at all.
        init: "mean" or "quiet", see `embeddings.transplant`.
        pad_to_multiple: the number of rows is rounded up to a multiple of this; with None, rows are padded like the
            embeddings of the model (see `mixtures.row_count`).

    Returns:
        How many new embeddings were computed in which way.

    Raises:
        MwSError: one of these is true:

            * `init` is unknown, or the output is the folder of the model or of the tokenizer.
            * The model or the tokenizer is missing, or the tokenizer is slow.
            * The model has no config.json or no .safetensors weights, or their index names files outside of the folder.
            * A tensor with a row per token cannot be changed, or the model has fewer rows than ids.
            * A module of sentence-transformers contains the old vocabulary, or a LoRA adapter is next to the weights.
            * The ids.json of the new tokenizer belongs to a different base.
            * The model numbers positions from its padding id up (RoBERTa), and the new tokenizer has a different one.
            * config.json needs the id of a token that the new tokenizer lacks, such as that of images.
    """
    source, target = model_folder(model), tokenizer_folder(tokenizer)
    check_not_overwriting([output], source, target)
    check_no_adapter(source)
    settings = load_settings(source / MODEL_FILE)
    old_tokenizer, new_tokenizer = (
        open_tokenizer(folder, by_class=True).of_transformers for folder in (source, target)
    )
    shards, headers = read_shards(source)
    if not (source / MODEL_FILE).is_file():
        raise MwSError(
            f"{source}: no {MODEL_FILE}, which has the vocabulary size and the ids of special tokens; copy it there, "
            "or save the model with save_pretrained"
        )
    weights = str(weights_file(source))
    tables = vocabulary_tables(tensors_in(source, shards, headers), settings)
    rows = usable_tables(tables, settings, source)
    ids = read_ids(target / IDS_FILE) if (target / IDS_FILE).is_file() else None
    mixtures, report = mix_rows(old_tokenizer, new_tokenizer, init, rows, pad_to_multiple, ids)
    changed = {
        table.name: new_table(_read_tensor(source / shards[table.name], table.name), table, mixtures)
        for table in tables
    }
    with staged(Path(output), patterns(*_OLD_FILES), head=MODEL_FILE) as stage:
        left = copy_companions(source, stage, {*shards.values(), weights})
        size = 0
        for file in sorted(set(shards.values())):
            (stage / file).parent.mkdir(parents=True, exist_ok=True)
            inside = {name: rows for name, rows in changed.items() if shards[name] == file}
            size += rewrite_shard(source / file, stage / file, inside)
        if weights not in shards.values():
            write_json(stage / weights, _resized_index(load_json(source / weights), size, tables, changed), indent=2)
        _write_configs(source, stage, old_tokenizer, new_tokenizer, len(mixtures))
        modules = [path.name for path in sorted(target.glob("*.py"))]
        for own_file in (*files(target, FileKind.TOKENIZER, FileKind.SETTINGS, FileKind.RECORD), *modules):
            copy_inside(target, own_file, stage)
    if left:
        logger.warning(
            "not copied, because they may contain the old vocabulary: %s; copy those that do not contain it",
            ", ".join(left),
        )
    return report


def _write_configs(source: Path, stage: Path, old_tokenizer: Any, new_tokenizer: Any, rows: int) -> None:
    """Write config.json and generation_config.json with the ids of the new tokenizer.

    Args:
        source: the folder of the model.
        stage: the folder to write to.
        old_tokenizer: the tokenizer of the model.
        new_tokenizer: the new tokenizer.
        rows: the number of rows of the new embeddings.

    Raises:
        MwSError: the model cannot be loaded without an id of a token that the new tokenizer lacks.
    """
    full, tokens = _full_config(source), set(old_tokenizer.get_vocab().values())
    for name in [name for name in patterns(FileKind.MODEL) if (source / name).is_file()]:
        settings = load_settings(file_inside(source, name))
        if name == MODEL_FILE:
            add_default_ids(settings, full, tokens.__contains__)
        lost = fit_settings(settings, name, old_tokenizer, new_tokenizer, rows)
        if name == MODEL_FILE and model_rows(settings) is None:
            _text_part(settings)["vocab_size"] = rows
        write_json(stage / name, settings, indent=2)
        if name == MODEL_FILE and lost and full and not _full_config(stage):
            raise MwSError(
                f"{source / name}: transformers cannot load this model without {', '.join(lost)}, but the new "
                "tokenizer lacks the tokens of these ids; add them to it"
            )


def _full_config(model: Path) -> dict[str, Any]:
    """Return the config.json of a model with the defaults of its class; empty if transformers cannot read it."""
    try:
        config = AutoConfig.from_pretrained(model, trust_remote_code=False)
        full: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))  # the numbers in id2label are strings
    except Exception:  # of any kind: for a model with code of its own, or of a newer transformers
        return {}
    return full


def _text_part(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a config.json that has the size of the vocabulary: its ``text_config``, or else all of it.

    transformers leaves the size out of a ``text_config`` if it is the default of the class, as in Gemma 3.
    """
    part = settings.get("text_config")
    return part if isinstance(part, dict) else settings


def _resized_index(
    index: dict[str, Any], size: int, tables: Iterable[Table], changed: Mapping[str, torch.Tensor]
) -> dict[str, Any]:
    """Return the index of the shards with the new size in bytes, and if it has one, the new number of parameters."""
    metadata = {**(index.get("metadata") or {}), "total_size": size}
    if isinstance(metadata.get("total_parameters"), int):
        new = {table: changed[table.name] for table in tables}
        grown = (each.numel() - each.numel() // each.shape[table.axis] * table.rows for table, each in new.items())
        metadata["total_parameters"] += sum(grown)
    return {**index, "metadata": metadata}


def rewrite_shard(source: Path, target: Path, changed: Mapping[str, torch.Tensor]) -> int:
    """Copy a .safetensors file with some tensors replaced.

    Args:
        source: the file.
        target: the file to write.
        changed: the new tensors by name; their dtypes are those of the old ones.

    Returns:
        The bytes of all tensors in the new file.

    Raises:
        MwSError: the file is damaged.
    """
    header, metadata = read_tensor_header(source)
    new: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    ordered, at = sorted((each["data_offsets"], name) for name, each in header.items()), 0
    for (begin, end), name in ordered:
        size, shape = end - begin, header[name]["shape"]
        if name in changed:
            size, shape = changed[name].nbytes, list(changed[name].shape)
        new[name] = {"dtype": header[name]["dtype"], "shape": shape, "data_offsets": [at, at + size]}
        at += size
    if not changed:
        shutil.copyfile(source, target)
        return at
    text = json.dumps(new, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with source.open("rb") as given, target.open("wb") as out:
        body = 8 + int.from_bytes(given.read(8), "little")
        out.write(len(text).to_bytes(8, "little") + text)
        for (begin, end), name in ordered:
            if name in changed:
                out.write(changed[name].contiguous().view(torch.uint8).numpy().data)
            else:
                _copy_range(given, out, body + begin, end - begin)
    return at


def _copy_range(given: BinaryIO, out: BinaryIO, start: int, size: int) -> None:
    given.seek(start)
    while size > 0:
        piece = given.read(min(size, _COPIED_BYTES))
        if not piece:
            raise MwSError(f"{given.name}: is shorter than its header says; download it again")
        out.write(piece)
        size -= len(piece)


def _read_tensor(file: Path, name: str) -> torch.Tensor:
    try:
        with safe_open(file, framework="pt") as tensors:
            return tensors.get_tensor(name)
    except (OSError, SafetensorError) as error:
        raise MwSError(f"{file}: not a readable .safetensors file ({error}); download it again") from error
