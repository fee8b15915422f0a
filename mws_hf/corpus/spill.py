"""Counts that outgrow their memory cap: shards on disk, sorted by hash, merged range by range. No text is read here."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mws_hf.corpus.counts import flat_utf8
from mws_hf.corpus.token_table import TokenTable
from mws_hf.corpus.token_table_kernels import hash_words
from mws_hf.errors import MwSError


class Shards:
    """A temporary folder of Arrow files, each the counts of one full table sorted by word hash; a context manager.

    Sorting by hash instead of by word is faster, and equal words still meet: the merge walks over the range of hashes
    in steps, and each step holds only the words whose hashes fall into it.
    """

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()
        self._files: list[Path] = []

    def __enter__(self) -> Shards:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __len__(self) -> int:
        return len(self._files)

    def add(self, table: TokenTable) -> None:
        """Write the entries of `table`; it is not changed. May be called from several threads.

        Raises:
            MwSError: the disk is full or the temporary folder cannot be written.
        """
        strings, counts = table.entries()
        hashes = hash_words(*flat_utf8(strings))
        order = np.argsort(hashes)
        columns = {"hash": hashes[order], "word": strings.take(pa.array(order)), "count": counts[order]}
        try:
            path = self._next_path()
            shard = pa.table(columns)
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, shard.schema) as writer:
                writer.write_table(shard)
        except OSError as error:
            raise MwSError(
                f"{tempfile.gettempdir()}: cannot hold the counts that exceed the memory cap ({error}); "
                "set TMPDIR to a folder with more room, or raise the cap"
            ) from error

    def _next_path(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="mws-counts-")
            self._files.append(Path(self._folder.name) / f"{len(self._files)}.arrow")
            return self._files[-1]

    def merged(self, step_bytes: int) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
        """The sums over all shards, in memory: distinct words in no particular order, and their counts.

        Args:
            step_bytes: how many bytes of the shards one step of the merge may take, about.
        """
        shards = [pa.ipc.open_file(pa.memory_map(str(path))).read_all() for path in self._files]
        steps = 1 + sum(shard.nbytes for shard in shards) // max(1, step_bytes)
        inner = np.array([(k << 64) // steps for k in range(1, steps)], np.uint64)
        edges = [[0, *np.searchsorted(shard["hash"].to_numpy(), inner).tolist(), len(shard)] for shard in shards]
        words: list[pa.LargeStringArray] = []
        counts: list[npt.NDArray[np.int64]] = []
        for k in range(steps):
            table = TokenTable()
            for shard, edge in zip(shards, edges, strict=True):
                part = shard.slice(edge[k], edge[k + 1] - edge[k])
                table.count_words(*flat_utf8(part["word"].combine_chunks()), part["count"].to_numpy())
            strings, sums = table.entries()
            words.append(strings)
            counts.append(sums)
        return pa.concat_arrays(words), np.concatenate(counts)
