"""One shard on disk: an Arrow stream file that `datasets` loads, with the place of its arrays, so that NumPy maps them.

The ids are stored once. It knows nothing of tokenizers, and of the manifest only the row that describes a shard.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mws_hf.atomic import atomic_path, write_text
from mws_hf.encode.encoder import Encoded

DATASET_FILES = ("dataset_info.json", "state.json")


class Shard(NamedTuple):
    """A row of the manifest.

    Attributes:
        file: name within the corpus directory.
        documents: how many.
        tokens: how many ids, separators included.
        bytes: UTF-8 bytes of the documents.
        blocks: how many blocks of the source went into it.
        checksum: of the text and the document ends, in hexadecimal.
        ids_at: byte of the file where the ids start (dtype of the manifest, little-endian, `tokens` of them).
        ends_at: byte where the int64 ``documents + 1`` offsets of documents start.
        n_bytes_at: byte where the int64 `documents` byte lengths start.
    """

    file: str
    documents: int
    tokens: int
    bytes: int
    blocks: int
    checksum: str
    ids_at: int
    ends_at: int
    n_bytes_at: int


def write_shard(path: Path, parts: Sequence[Encoded], checksum: str) -> Shard:
    """Write encoded blocks as one record batch with the columns `input_ids` and `n_bytes`; atomic."""
    shifts = np.cumsum([0, *(len(part.ids) for part in parts)])
    ids = np.concatenate([part.ids for part in parts])
    offsets = np.concatenate([[0], *(part.ends + shift for part, shift in zip(parts, shifts, strict=False))])
    n_bytes = np.concatenate([part.n_bytes for part in parts])
    column = pa.LargeListArray.from_arrays(_arrow(offsets), _arrow(ids))
    batch = pa.record_batch({"input_ids": column, "n_bytes": _arrow(n_bytes)})
    with atomic_path(path) as temporary:
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        ids_at, ends_at, n_bytes_at = _places(temporary)
    size = int(n_bytes.sum())
    return Shard(path.name, len(n_bytes), len(ids), size, len(parts), checksum, ids_at, ends_at, n_bytes_at)


def _arrow(numbers: np.ndarray) -> pa.Array:
    """The same memory as an Arrow array; `pa.array` would import pandas to look at it, half a second."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, pa.py_buffer(numbers)])


def _places(path: Path) -> tuple[int, int, int]:
    """Where the buffers of ids, offsets and byte lengths lie in the file."""
    with pa.memory_map(str(path)) as file:
        start = file.read_buffer().address
        file.seek(0)
        batch = pa.ipc.open_stream(file).read_next_batch()
        lists, n_bytes = batch.column(0), batch.column(1)
        buffers = (lists.values.buffers()[1], lists.buffers()[1], n_bytes.buffers()[1])
        ids_at, ends_at, n_bytes_at = (b.address - start if b is not None and b.size else 0 for b in buffers)
        return ids_at, ends_at, n_bytes_at


def shard_name(number: int) -> str:
    """The file of a shard.

    >>> shard_name(7)
    'shard-00007.arrow'
    """
    return f"shard-{number:05d}.arrow"


def shard_problem(directory: Path, shard: Shard, dtype: str) -> str | None:
    """Why the file of a shard cannot be mapped, or None: it is missing, cut off, or a link that leads elsewhere.

    Links may stand for a whole corpus, as in the Hub's cache: then all of its files lie in one other folder.
    """
    path = directory / shard.file
    if not path.is_file():
        return "this shard is missing"
    if path.is_symlink() and path.resolve().parent != (directory / "corpus.json").resolve().parent:
        return "a link to a file that is no part of the corpus"
    places = (
        (shard.ids_at, shard.tokens, np.dtype(dtype).itemsize),
        (shard.ends_at, shard.documents + 1, 8),
        (shard.n_bytes_at, shard.documents, 8),
    )
    needed, size = max(at + count * width for at, count, width in places), path.stat().st_size
    return f"cut off, {size} bytes of at least {needed}" if size < needed else None


def map_array(path: Path, dtype: np.dtype, place: int, size: int) -> np.ndarray:
    """`size` numbers of a file from byte `place` on, memory-mapped, read-only."""
    if size == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r", place, (size,))


def write_dataset_files(directory: Path, shards: Sequence[Shard], dtype: str, fingerprint: str) -> None:
    """Write `dataset_info.json` and `state.json`, which make the directory one that `datasets.load_from_disk` reads."""
    features: dict[str, Any] = {
        "input_ids": {"feature": {"dtype": dtype, "_type": "Value"}, "_type": "LargeList"},
        "n_bytes": {"dtype": "int64", "_type": "Value"},
    }
    info = {"citation": "", "description": "", "features": features, "homepage": "", "license": ""}
    state: dict[str, Any] = {
        "_data_files": [{"filename": shard.file} for shard in shards],
        "_fingerprint": fingerprint[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    for name, content in zip(DATASET_FILES, (info, state), strict=True):
        write_text(directory / name, json.dumps(content, indent=1))
