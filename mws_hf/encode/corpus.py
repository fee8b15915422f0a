"""Write and read an encoded corpus on disk, with random access to its ids by document or by position.

A shard is an Arrow stream file that `datasets` can load. The manifest (``corpus.json``) contains the positions of the
arrays in each file, so that NumPy can map them into memory.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import numpy as np
import pyarrow as pa

from mws_hf.atomic import atomic_path, write_json
from mws_hf.corpus.arrow_arrays import arrow_integers
from mws_hf.errors import MwSError, quoted

if TYPE_CHECKING:
    from mws_hf.encode.encoder import EncodedBlock

MANIFEST = "corpus.json"
"""The name of the file that lists settings and shards."""
DATASET_FILES = ("dataset_info.json", "state.json")
"""The names of the files that `datasets.load_from_disk` needs."""

_SETTINGS: dict[str, tuple[type, ...]] = {
    "complete": (bool,),
    "tokenizer": (str,),
    "separator": (str, type(None)),
    "separator_id": (int, type(None)),
    "document": (str,),
    "shard_size": (int,),
}


class Shard(NamedTuple):
    """A shard of an encoded corpus, as the manifest lists it; numbers in its file are little-endian.

    Attributes:
        file: name of the file.
        documents: number of documents.
        tokens: number of ids, including separators.
        bytes: UTF-8 bytes of the documents.
        blocks: number of blocks of the source.
        checksum: CRC-32 of the text and of the ends of documents, in hexadecimal.
        ids_at: byte of the file where the ids begin; they have the dtype of the manifest.
        ends_at: byte where the ``documents + 1`` offsets of documents begin, int64.
        n_bytes_at: byte where the lengths of the documents in bytes begin, int64.
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


def write_shard(path: Path, parts: Sequence[EncodedBlock], checksum: str) -> Shard:
    """Write encoded blocks as a file with one record batch, whose columns are `input_ids` and `n_bytes`.

    The file is written completely or not at all.

    Args:
        path: the file.
        parts: the encoded blocks.
        checksum: the checksum of their text.

    Returns:
        The entry for the manifest.

    Raises:
        MwSError: the file cannot be written.
    """
    shifts = np.cumsum([0, *(len(part.ids) for part in parts)])
    ids = np.concatenate([part.ids for part in parts])
    offsets = np.concatenate([[0], *(part.ends + shift for part, shift in zip(parts, shifts, strict=False))])
    n_bytes = np.concatenate([part.n_bytes for part in parts])
    column = pa.LargeListArray.from_arrays(arrow_integers(offsets), arrow_integers(ids))
    batch = pa.record_batch({"input_ids": column, "n_bytes": arrow_integers(n_bytes)})
    with atomic_path(path) as temporary:
        with pa.OSFile(os.fsencode(temporary), "wb") as sink, pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        ids_at, ends_at, n_bytes_at = _places(temporary)
    size = int(n_bytes.sum())
    return Shard(path.name, len(n_bytes), len(ids), size, len(parts), checksum, ids_at, ends_at, n_bytes_at)


def _places(path: Path) -> tuple[int, int, int]:
    """Return the positions in bytes of the ids, the offsets and the byte lengths in the file of a shard."""
    with pa.memory_map(os.fsencode(path)) as file:
        start = file.read_buffer().address
        file.seek(0)
        batch = pa.ipc.open_stream(file).read_next_batch()
        lists, n_bytes = batch.column(0), batch.column(1)
        buffers = (lists.values.buffers()[1], lists.buffers()[1], n_bytes.buffers()[1])
        ids_at, ends_at, n_bytes_at = (b.address - start if b is not None and b.size else 0 for b in buffers)
        return ids_at, ends_at, n_bytes_at


def shard_name(number: int) -> str:
    """Return the file name of a shard, which are numbered from 0.

    >>> shard_name(3)
    'shard-00003.arrow'
    """
    return f"shard-{number:05d}.arrow"


def shard_problem(directory: Path, shard: Shard, dtype: str) -> str | None:
    """Return why the file of a shard cannot be mapped; None if it can.

    It may be missing, truncated, or a link to another folder. Links are allowed if all files of the corpus are links
    into the same folder, as in the cache of the Hub.
    """
    path = directory / shard.file
    if not path.is_file():
        return "is missing"
    if path.is_symlink() and path.resolve().parent != (directory / MANIFEST).resolve().parent:
        return "is a link to a file outside of the corpus"
    places = (
        (shard.ids_at, shard.tokens, np.dtype(dtype).itemsize),
        (shard.ends_at, shard.documents + 1, 8),
        (shard.n_bytes_at, shard.documents, 8),
    )
    needed, size = max(at + count * width for at, count, width in places), path.stat().st_size
    return f"is truncated: it has {size} bytes instead of at least {needed}" if size < needed else None


def map_array(path: Path, dtype: np.dtype, place: int, size: int) -> np.ndarray:
    """Map `size` numbers of a file, from byte `place` on, into memory; the array is read-only."""
    if size == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r", place, (size,))


def write_dataset_files(directory: Path, shards: Sequence[Shard], dtype: str, fingerprint: str) -> None:
    """Write `dataset_info.json` and `state.json`, so that `datasets.load_from_disk` reads the folder."""
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
        write_json(directory / name, content)


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """Read the manifest of an encoded corpus, with its shards as `Shard` values; None if there is none.

    Raises:
        MwSError: the manifest is damaged, has a newer format, or names files that are not shards.
    """
    path = directory / MANIFEST
    if not os.path.isfile(path):
        return None
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise MwSError(f"{path}: cannot be read ({str(error)[:200]}); encode the corpus into another folder") from error
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(version, int) and version > 1:
        raise MwSError(f"{path}: format {version} is newer than this version of mws_hf; upgrade it")
    problem = f"format is {quoted(version)}" if version != 1 else _manifest_problem(manifest)
    if problem is not None:
        raise MwSError(f"{path}: is not the manifest of an encoded corpus ({problem}); encode into another folder")
    manifest["shards"] = [Shard(**shard) for shard in manifest["shards"]]
    return cast(dict[str, Any], manifest)


def _manifest_problem(manifest: dict[str, Any]) -> str | None:
    """Return what is wrong with a manifest, which any program may have written; None if nothing is wrong."""
    for key, types in _SETTINGS.items():
        if not isinstance(manifest.get(key, ...), types):
            return f"{key} is {quoted(manifest.get(key))}"
    if manifest.get("dtype") not in ("uint16", "uint32"):
        return f"dtype is {quoted(manifest.get('dtype'))}"
    shards = manifest.get("shards")
    if not isinstance(shards, list):
        return "it has no list of shards"
    for number, shard in enumerate(shards):
        if not isinstance(shard, dict) or set(shard) != set(Shard._fields):
            return f"shard {number} has other fields"
        if shard["file"] != shard_name(number):
            return f"the file of shard {number} is {quoted(shard['file'])}, not {shard_name(number)}"
        for key in Shard._fields[1:]:
            good = isinstance(shard[key], str) if key == "checksum" else type(shard[key]) is int and shard[key] >= 0
            if not good:
                return f"{key} of shard {number} is {quoted(shard[key])}"
    return None


class EncodedCorpus:
    """An encoded corpus on disk, whose ids are read from the disk only when they are used.

    ``corpus[i]`` is the array of ids of document i, with the separator at its end if the corpus has one, and ``len`` is
    the number of documents. The documents are the rows of ``datasets.load_from_disk(directory)["input_ids"]``. A slice
    is a list of such arrays.

    Another process, such as a worker of a `DataLoader`, opens the folder again when it gets the corpus. If another
    corpus has replaced it meanwhile, this is an error.

    Args:
        directory: the folder that `encode_corpus` wrote.

    Raises:
        MwSError: the folder contains no corpus, or one that is unfinished, damaged or not made by `encode_corpus`.

    Attributes:
        directory: the folder of the corpus.
        manifest: the content of ``corpus.json``.
        ids: for each shard, the memory map of its ids (uint16 or uint32); all of them in order are the whole corpus.
        offsets: for each shard, the positions in its `ids` where its documents start and where the last one ends
            (int64).
        dtype: type of the ids.
        separator_id: id at the end of each document; None for none.
        n_tokens: number of ids, including separators.
        n_bytes: UTF-8 bytes of all documents.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._place = self.directory.absolute()
        manifest = read_manifest(self.directory)
        if manifest is None:
            raise MwSError(
                f"{self.directory}: is not an encoded corpus, because {MANIFEST} is missing; run mws encode first"
            )
        if not manifest["complete"]:
            raise MwSError(f"{self.directory}: encoding was interrupted; run the same command again to finish it")
        self.manifest = manifest
        self.dtype = np.dtype(manifest["dtype"])
        self.separator_id: int | None = manifest["separator_id"]
        shards: list[Shard] = manifest["shards"]
        for shard in shards:
            problem = shard_problem(self.directory, shard, manifest["dtype"])
            if problem is not None:
                raise MwSError(f"{self.directory / shard.file}: {problem}; encode the corpus again with --force")
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
        """Open the folder that `encode_corpus` wrote.

        Raises:
            MwSError: the folder contains no corpus, or one that is unfinished, damaged or not made by `encode_corpus`.

        >>> import tempfile
        >>> import mws_hf
        >>> texts = ["ein Haus", "zwei Häuser"]
        >>> tokenizer = mws_hf.MwSTrainer(n_merges=3, show_progress=False).train_from_iterator(texts)
        >>> corpus = mws_hf.encode_corpus(tokenizer, iter(texts), tempfile.mkdtemp())
        >>> tokenizer.decode(EncodedCorpus.open(corpus.directory)[1])
        'zwei Häuser<|endoftext|>'
        """
        return cls(directory)

    def __repr__(self) -> str:
        return f"<EncodedCorpus of {len(self):,} documents, {self.n_tokens:,} tokens, in {str(self.directory)!r}>"

    def __len__(self) -> int:
        return int(self._documents[-1])

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice) -> list[np.ndarray]: ...
    def __getitem__(self, index: int | slice) -> np.ndarray | list[np.ndarray]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        shard, row = self._locate(index)
        return self.ids[shard][self.offsets[shard][row] : self.offsets[shard][row + 1]]

    def document_bytes(self, index: int) -> int:
        """Return the number of UTF-8 bytes of the text of one document, for example to compute bits per byte.

        Raises:
            IndexError: there is no such document.
        """
        shard, row = self._locate(index)
        return int(self._n_bytes[shard][row])

    def _locate(self, index: int) -> tuple[int, int]:
        """Return the shard of a document, and the number of the document in the shard."""
        index = operator.index(index)
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"there is no document {index}; the corpus has {len(self):,} documents")
        shard = int(np.searchsorted(self._documents, position, side="right")) - 1
        return shard, position - int(self._documents[shard])

    def tokens(self, start: int, stop: int) -> np.ndarray:
        """Return the ids of the corpus from position `start` up to, but not including, `stop`.

        Returns:
            An array of type `dtype`: a view if all ids are in one shard, otherwise a copy.

        Raises:
            IndexError: the range is not within the corpus.
        """
        start, stop = operator.index(start), operator.index(stop)
        if not 0 <= start <= stop <= self.n_tokens:
            raise IndexError(f"there are no ids from {start} to {stop}; the corpus has {self.n_tokens:,} ids")
        first = max(0, int(np.searchsorted(self._tokens, start, side="right")) - 1)
        pieces: list[np.ndarray] = []
        for shard in range(first, len(self.ids)):
            begin = int(self._tokens[shard])
            if begin >= stop and pieces:
                break
            pieces.append(self.ids[shard][max(start - begin, 0) : stop - begin])
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, self.dtype), *pieces])

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._place, self.manifest)  # a memory map would be pickled by value


def _reopened(place: Path, manifest: dict[str, Any]) -> EncodedCorpus:
    """Open a corpus that was pickled; raise MwSError if another one has replaced it."""
    corpus = EncodedCorpus(place)
    if corpus.manifest != manifest:
        raise MwSError(f"{place}: was replaced by another corpus after it was opened; open it again")
    return corpus
