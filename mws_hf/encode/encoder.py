"""Any `tokenizers` backend as an encoder of blocks: the fast kernel where it is exact, the Rust code everywhere else.

Ids equal ``backend.encode(document, add_special_tokens=False)``; with dropout `mws_hf.tokenizer.merging` defines them.

Documents that hold the text of an added token go to the Rust code, which alone cuts it out exactly.
"""

from __future__ import annotations

import hashlib
import json
import queue
import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from mws_hf.corpus.blocks import Block, block_of
from mws_hf.encode.bpe_kernels import BpeTables, bpe_tables, is_served
from mws_hf.encode.kernel import CACHE_LIMIT, Failing, Worker, encode_dropped
from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Bytes, Longs
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import find_short
from mws_hf.text.symbols import built_first
from mws_hf.tokenizer.backend import check_added
from mws_hf.tokenizer.merging import Dropout
from mws_hf.tokenizer.spec import Spec, without_limits

_PREFIX = 3
_FEW = 16
"""So many beginnings are searched for one by one, which takes next to no time where there are none."""


class AddedTexts:
    """The texts of added tokens, sorted, so that a document is read once however many there are."""

    def __init__(self, texts: Iterable[str]) -> None:
        literals = sorted({text.encode() for text in texts} - {b""})
        self._bytes = np.frombuffer(b"".join(literals), np.uint8)
        self._starts = np.cumsum([0, *map(len, literals)])
        firsts = np.array([literal[0] for literal in literals], np.int64)
        self._begins = np.searchsorted(firsts, np.arange(257))
        beginnings = {literal[:_PREFIX] for literal in literals}
        self._beginnings = [np.frombuffer(each, np.uint8) for each in sorted(beginnings)]

    def documents(self, block: Block) -> set[int]:
        """List the numbers of the documents of a padded block that hold at least one of the texts."""
        first = self._first_beginning(block)
        if first < 0:
            return set()
        found = np.zeros(len(block), np.uint8)
        _mark_documents(block.text, block.offsets, first, self._bytes, self._starts, self._begins, found)
        return set(np.flatnonzero(found).tolist())

    def _first_beginning(self, block: Block) -> int:
        """Find a place before which no text starts; -1 where no text starts at all."""
        if len(self._beginnings) > _FEW:
            return 0
        places = [find_short(block.text, block.size, beginning) for beginning in self._beginnings]
        return min((place for place in places if place >= 0), default=-1)


@njit(inner=True)
def _at_least(texts: Bytes, starts: Longs, low: int, high: int, depth: int, byte: int) -> int:
    """Find the first of the sorted texts `low` to `high` whose byte number `depth` is at least `byte`; else `high`."""
    while low < high:
        middle = (low + high) >> 1
        if texts[starts[middle] + depth] < byte:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True)
def _mark_documents(
    block: Bytes, offsets: Longs, first: int, texts: Bytes, starts: Longs, begins: Longs, found: Bytes
) -> None:
    """Mark in `found` the documents that hold a text, which starts at byte `first` of the block or later.

    At each byte the range of sorted texts that agree with the document so far is narrowed, byte by byte; of texts that
    begin alike the shortest is the first. ``begins[b]`` is the first text that starts with byte b or a higher one.
    """
    for document in range(len(found)):
        stop = offsets[document + 1]
        at = max(offsets[document], first)
        while at < stop and found[document] == 0:
            low, high = begins[block[at]], begins[np.int64(block[at]) + 1]
            depth = 1
            while low < high:
                if starts[low] + depth == starts[low + 1]:
                    found[document] = 1
                    break
                if at + depth >= stop:
                    break
                byte = np.int64(block[at + depth])
                low = _at_least(texts, starts, low, high, depth, byte)
                high = _at_least(texts, starts, low, high, depth, byte + 1)
                depth += 1
            at += 1


class EncodedBlock(NamedTuple):
    """The ids of a block."""

    ids: Array  # uint16 or uint32, all documents one after another, separators included
    ends: Longs  # end of each document's ids
    n_bytes: Longs  # bytes of each document


class BlockEncoder:
    """An encoder of blocks of documents with one tokenizer; `encode` may be called from several threads."""

    def __init__(
        self,
        backend: Tokenizer,
        separator: str | None = None,
        cache_limit: int = CACHE_LIMIT,
        dropout: Dropout | None = None,
        kinds: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Prepare the tables; the backend is not changed, its padding and truncation are ignored.

        `cache_limit` is the memory cap of each thread's pre-token cache, in bytes. `kinds` are those of the last merges
        (`training_record.kinds_in`), for a dropout of one kind alone.
        """
        check_added(backend)
        self.backend = without_limits(backend)
        self.separator = separator
        self.separator_id = self._separator_id()  # -1 without a separator
        text = self.backend.to_str()
        settings = f"\n{self.backend.encode_special_tokens} {self.separator_id}" + (f" {dropout}" if dropout else "")
        # of all that decides the ids
        self.fingerprint = hashlib.sha256((text + settings).encode()).hexdigest()
        spec = Spec(json.loads(text))
        self.dtype = np.dtype(np.uint16 if spec.highest_id < 1 << 16 else np.uint32)
        self.spec, self.is_fast, self._reading = spec, is_served(spec), threading.Lock()
        self._failing = None if dropout is None else self._failing_merges(dropout, kinds, spec.merges)
        self._cache_limit = cache_limit
        self._workers: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._added = self._added_texts()

    def _separator_id(self) -> int:
        if self.separator is None:
            return -1
        index = self.backend.token_to_id(self.separator)
        if index is None:
            raise MwSError(
                f"separator {self.separator!r} is not in the vocabulary; name a token of it, or none (in Python: None)"
            )
        return int(index)

    def _failing_merges(self, dropout: Dropout, kinds: Sequence[tuple[str, int]], merges: list[tuple[str, str]]) -> Any:
        if not self.is_fast:
            raise MwSError(
                "dropout: this tokenizer is no BPE with byte fallback or of bytes after a split pattern that mws_hf "
                "knows; leave --dropout out, or train with a named pattern such as o200k"
            )
        return Failing.of(dropout, dropout.may_fail(len(merges), built_first(merges)[1], kinds))

    def _added_texts(self) -> AddedTexts:
        """List added tokens, raw and normalized: texts that hold none of them cannot be cut by any."""
        contents = [token.content for token in self.backend.get_added_tokens_decoder().values()]
        normalizer = self.backend.normalizer
        return AddedTexts(contents + ([] if normalizer is None else list(map(normalizer.normalize_str, contents))))

    @cached_property
    def tables(self) -> BpeTables | None:
        """The tokenizer as arrays for the kernel, made when they are first needed; None where it is not served."""
        with self._reading:  # several threads may ask at once
            return self.__dict__.get("tables") or bpe_tables(self.spec)

    def encode_little(self, block: Block) -> EncodedBlock:
        """Return the ids of a little text as `encode` does, by the Rust code, which needs neither tables nor numba."""
        if self._failing is not None:
            return self.encode(block)
        n_bytes = np.diff(block.offsets)
        nothing = np.empty(0, self.dtype), np.zeros(len(n_bytes), np.int64)
        return EncodedBlock(*self._stitch(*nothing, block, range(len(n_bytes))), n_bytes)

    def encode(self, block: Block) -> EncodedBlock:
        """Return the ids of the documents of a padded block; raise MwSError for a document that is not UTF-8."""
        if not self.is_fast:
            return self.encode_little(block)
        routed = self._added.documents(block)
        plain = block
        if self.backend.normalizer is not None:
            plain = self._normalized(block)
            routed |= self._added.documents(plain)
        ids, ends = self._encode_plain(plain)
        if routed:
            ids, ends = self._stitch(ids, ends, block, sorted(routed))
        return EncodedBlock(ids, ends, np.diff(block.offsets))

    def _encode_plain(self, block: Block) -> tuple[Array, Longs]:
        """Return ids and ends of documents that hold no added token."""
        assert self.tables is not None
        if self._failing is not None:
            return self._encode_dropped(block, self.separator_id)
        try:
            worker = self._workers.get_nowait()
        except queue.Empty:
            worker = Worker(self.tables, self.dtype, self._cache_limit)
        ids, ends, bad = worker.encode(block.text, block.offsets[1:], self.separator_id)
        self._workers.put(worker)
        if bad >= 0:
            block.document(bad)  # raises the error that names it
        return ids, ends

    def _encode_dropped(self, block: Block, separator: int) -> tuple[Array, Longs]:
        out_ends = np.empty(len(block), np.int64)
        out = np.empty(block.size + len(block) + 3, self.dtype)
        bad = encode_dropped(block.text, block.offsets[1:], self.tables, self._failing, separator, out, out_ends)
        if bad >= 0:
            block.document(bad)  # raises the error that names it
        return out[: out_ends[-1] if len(block) else 0], out_ends

    def _dropped_around_added(self, text: str) -> list[int]:
        """Encode a document that holds added tokens with dropout: each stretch between two is a text of its own."""
        added = self.backend.get_added_tokens_decoder()
        encoding = self.backend.encode(text, add_special_tokens=False)
        pieces, found, at = list[str](), list[int](), 0
        for index, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if index in added:
                pieces.append(text[at:begin])
                found.append(index)
                at = end
        block = block_of([piece.encode() for piece in [*pieces, text[at:]]], str)
        if self.backend.normalizer is not None:
            block = self._normalized(block)
        ids, ends = self._encode_dropped(block, -1)
        joined, *rest = (part.tolist() for part in np.split(ids, ends[:-1]))
        for index, part in zip(found, rest, strict=True):
            joined += [index, *part]
        return list(joined)

    def _normalized(self, block: Block) -> Block:
        normalize = self.backend.normalizer.normalize_str
        return block_of([normalize(block.document(k)).encode() for k in range(len(block))], block.where)

    def _stitch(self, ids: Array, ends: Longs, block: Block, routed: range | list[int]) -> tuple[Array, Longs]:
        """Replace the ids of the `routed` documents (ascending), which the kernel alone does not serve."""
        texts = [block.document(k) for k in routed]
        if self._failing is None:
            found = [item.ids for item in self.backend.encode_batch_fast(texts, add_special_tokens=False)]
        else:
            found = [self._dropped_around_added(text) for text in texts]
        tail = [self.separator_id] if self.separator is not None else []
        starts, sizes = np.concatenate(([0], ends[:-1])), np.diff(ends, prepend=0)
        pieces, done = [], 0
        for k, others in zip(routed, found, strict=True):
            pieces += [ids[done : starts[k]], np.array(others + tail, ids.dtype)]
            sizes[k], done = len(pieces[-1]), ends[k]
        return np.concatenate([*pieces, ids[done:]]), np.cumsum(sizes)
