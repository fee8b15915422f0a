"""Read headers of weights on disk: names of tensors, their files and shapes. No weight is loaded.

A .safetensors file is a length (8 bytes, little-endian), a JSON header with type, shape and place of each tensor, and
their bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.tokenizer.file import load_json

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
_INPUTS = (
    *("embed_tokens.weight", "wte.weight", "embed_in.weight", "word_embeddings.weight", "tok_embeddings.weight"),
    "shared.weight",
)
_OUTPUTS = ("lm_head.weight", "embed_out.weight", "output.weight")


def shard_of_tensors(directory: Path) -> dict[str, str]:
    """Find the file of each tensor of a model's weights; raises MwSError where there are no .safetensors weights."""
    if (directory / INDEX).is_file():
        return dict(load_json(directory / INDEX)["weight_map"])
    if not (directory / SINGLE).is_file():
        raise MwSError(f"{directory}: no {SINGLE} and no {INDEX}; save the model with save_pretrained first")
    return dict.fromkeys((name for name in read_tensor_header(directory / SINGLE) if name != "__metadata__"), SINGLE)


def read_tensor_header(file: Path) -> dict[str, Any]:
    """Read the header of a .safetensors file; raises MwSError if it is damaged."""
    try:
        with file.open("rb") as stream:
            return dict(json.loads(stream.read(int.from_bytes(stream.read(8), "little"))))
    except (OSError, ValueError, MemoryError) as error:
        raise MwSError(f"{file}: not a readable .safetensors file ({error}); download it again") from error


def embedding_rows(directory: Path) -> dict[str, int]:
    """Count the rows of the input and output embeddings by tensor name, as far as they have one of the usual names.

    Empty where there are no .safetensors weights. Raises MwSError if the weights are damaged.
    """
    if not any((directory / name).is_file() for name in (INDEX, SINGLE)):
        return {}
    shards = shard_of_tensors(directory)
    named = [name for name in shards if any(_ends(name, known) for known in (*_INPUTS, *_OUTPUTS))]
    return {name: read_tensor_header(directory / shards[name])[name]["shape"][0] for name in named}


def _ends(name: str, known: str) -> bool:
    return name == known or name.endswith(f".{known}")
