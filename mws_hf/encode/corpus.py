"""Reading an encoded corpus: memory-mapped ids with random access by document or by position. It encodes nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from mws_hf.encode.shards import Shard, map_array
from mws_hf.errors import MwSError

MANIFEST = "corpus.json"


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """The manifest of a corpus directory, with its shards as `Shard` rows; None if there is none.

    Raises:
        MwSError: it is not one of ours.
    """
    path = directory / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != 1:
            raise MwSError(f"{path}: format {manifest['format']} is newer than this version of mws_hf; upgrade it")
        manifest["shards"] = [Shard(**shard) for shard in manifest["shards"]]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise MwSError(f"{path}: not the manifest of an encoded corpus ({error!r}); remove the directory") from error
    return manifest


class EncodedCorpus:
    """An encoded corpus on disk; nothing is read until it is asked for.

    Documents hold their ids and, last, the separator, if the corpus has one: the same rows as
    ``datasets.load_from_disk(directory)["input_ids"]``.

    Attributes:
        directory: where it lies.
        manifest: the contents of ``corpus.json``.
        ids: the ids of each shard, uint16 or uint32 memory maps; joined, they are the whole corpus.
        offsets: for each shard, int64, where its documents start and the last one ends in `ids`.
        dtype: of ids.
        separator_id: id that ends every document, or None.
        n_tokens: ids in all, separators included.
        n_bytes: UTF-8 bytes of all documents.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """See `open`."""
        self.directory = Path(directory)
        manifest = read_manifest(self.directory)
        if manifest is None:
            raise MwSError(f"{self.directory}: no encoded corpus ({MANIFEST} is missing); make one with: mws encode")
        if not manifest["complete"]:
            raise MwSError(f"{self.directory}: encoding was interrupted; run the same command again to finish it")
        self.manifest = manifest
        self.dtype = np.dtype(manifest["dtype"])
        self.separator_id: int | None = manifest["separator_id"]
        shards: list[Shard] = manifest["shards"]
        paths = [self.directory / shard.file for shard in shards]
        rows = list(zip(paths, shards, strict=True))
        self.ids = [map_array(p, self.dtype, s.ids_at, s.tokens) for p, s in rows]
        self.offsets = [map_array(p, np.dtype(np.int64), s.ends_at, s.documents + 1) for p, s in rows]
        self._n_bytes = [map_array(p, np.dtype(np.int64), s.n_bytes_at, s.documents) for p, s in rows]
        self._documents = np.cumsum([0, *(shard.documents for shard in shards)])
        self._tokens = np.cumsum([0, *(shard.tokens for shard in shards)])
        self.n_tokens = int(self._tokens[-1])
        self.n_bytes = sum(shard.bytes for shard in shards)

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> EncodedCorpus:
        """Open the directory that `encode_corpus` wrote.

        Raises:
            MwSError: no corpus there, or one that is not finished.
        """
        return cls(directory)

    def __len__(self) -> int:
        return int(self._documents[-1])

    def __getitem__(self, index: int) -> np.ndarray:
        shard, row = self._locate(index)
        return self.ids[shard][self.offsets[shard][row] : self.offsets[shard][row + 1]]

    def document_bytes(self, index: int) -> int:
        """UTF-8 bytes of the text of one document: the denominator of bits per byte."""
        shard, row = self._locate(index)
        return int(self._n_bytes[shard][row])

    def _locate(self, index: int) -> tuple[int, int]:
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"document {index} of {len(self)}")
        shard = int(np.searchsorted(self._documents, position, side="right")) - 1
        return shard, position - int(self._documents[shard])

    def tokens(self, start: int, stop: int) -> np.ndarray:
        """Ids ``[start, stop)`` of the corpus as one stream; a view where they lie in one shard, else a copy.

        Raises:
            IndexError: the range is not within the corpus.
        """
        if not 0 <= start <= stop <= self.n_tokens:
            raise IndexError(f"ids [{start}, {stop}) of {self.n_tokens}")
        first = max(0, int(np.searchsorted(self._tokens, start, side="right")) - 1)
        pieces: list[np.ndarray] = []
        for shard in range(first, len(self.ids)):
            begin = int(self._tokens[shard])
            if begin >= stop and pieces:
                break
            pieces.append(self.ids[shard][max(start - begin, 0) : stop - begin])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def __reduce__(self) -> tuple[Any, ...]:
        return EncodedCorpus, (self.directory,)  # a memory map would be pickled by value
