"""Encode blocks of documents with any tokenizer of `tokenizers`, by the fast kernel if it gives the same ids.

The ids are those of ``backend.encode(document, add_special_tokens=False)``; with dropout, `mws_hf.tokenizer.merging`
defines them. Documents are first split at added tokens, and the kernel encodes the text between them. The library
`tokenizers` itself encodes three kinds of documents: all documents if the kernel cannot read the tokenizer, small
texts, and documents with added tokens that include the white space next to them.
"""

from __future__ import annotations

import hashlib
import json
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from mws_hf.corpus.blocks import Block, block_of
from mws_hf.encode.added_tokens import AddedTokens
from mws_hf.encode.bpe_kernels import BpeTables, bpe_tables, is_served
from mws_hf.encode.kernel import CACHE_LIMIT, Failing, Worker, encode_dropped
from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Longs
from mws_hf.text.capitals import is_common, marking_rules, write_marker
from mws_hf.text.symbols import built_first
from mws_hf.tokenizer.backend import check_added
from mws_hf.tokenizer.merging import Dropout
from mws_hf.tokenizer.spec import Spec, parts_of, without_limits


def _with_marker(letters: str, otherwise: Callable[[str], str], text: str) -> str:
    """Write the marker for capitals in Python, or if the text has rare letters by `otherwise`, which is slower."""
    return write_marker(text, letters) if is_common(text) else otherwise(text)


class EncodedBlock(NamedTuple):
    """The ids of the documents of a block.

    Attributes:
        ids: the ids of all documents one after another, including separators, uint16 or uint32.
        ends: the end of the ids of each document, int64, shape (n_documents,).
        n_bytes: the number of UTF-8 bytes of each document, int64, shape (n_documents,).
    """

    ids: Array
    ends: Longs
    n_bytes: Longs


class BlockEncoder:
    """An encoder of blocks of documents with one tokenizer; several threads may call `encode` at the same time.

    Attributes:
        backend: the tokenizer, without padding and truncation.
        separator: the token that is written after each document; None for none.
        separator_id: the id of the separator; -1 for none.
        fingerprint: a digest of everything that decides the ids.
        dtype: the type of the ids, uint16 or uint32.
        spec: the content of tokenizer.json.
        is_fast: whether the kernel can read the tokenizer.
    """

    def __init__(
        self,
        backend: Tokenizer,
        separator: str | None = None,
        cache_limit: int = CACHE_LIMIT,
        dropout: Dropout | None = None,
        kinds: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Prepare an encoder.

        Args:
            backend: the tokenizer, which is not changed; its padding and truncation are ignored.
            separator: token that is written after each document; None for none.
            cache_limit: the most bytes that each thread's cache of pre-tokens may take.
            dropout: BPE-dropout; None for none.
            kinds: kinds of the last merges (`training_record.kinds_in`), for a dropout of only one kind.

        Raises:
            MwSError: the separator is not in the vocabulary, an added token would not decode to itself, or a dropout is
                given for a tokenizer that the kernel cannot read.
        """
        check_added(backend)
        self.backend = without_limits(backend)
        self.separator = separator
        self.separator_id = self._separator_id()  # -1 without a separator
        text = self.backend.to_str()
        settings = f"\n{self.backend.encode_special_tokens} {self.separator_id}" + (f" {dropout}" if dropout else "")
        self.fingerprint = hashlib.sha256((text + settings).encode()).hexdigest()
        spec = Spec(json.loads(text))
        self.dtype = np.dtype(np.uint16 if spec.highest_id < 1 << 16 else np.uint32)
        self.spec, self.is_fast, self._reading = spec, is_served(spec), threading.Lock()
        self._failing = None if dropout is None else self._failing_merges(dropout, kinds, spec.merges)
        self._cache_limit = cache_limit
        self._workers: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._added = AddedTokens(self.backend)

    def _separator_id(self) -> int:
        """Return the id of the separator; -1 if there is none."""
        if self.separator is None:
            return -1
        index = self.backend.token_to_id(self.separator)
        if index is None:
            raise MwSError(
                f"separator {self.separator!r} is not in the vocabulary; give a token of the vocabulary, or none (in "
                "Python: None)"
            )
        return int(index)

    def _failing_merges(self, dropout: Dropout, kinds: Sequence[tuple[str, int]], merges: list[tuple[str, str]]) -> Any:
        """Return the settings of a dropout in the form that the kernel needs."""
        if not self.is_fast:
            raise MwSError(
                "dropout works only for byte-level BPE, or BPE with byte fallback, with a named split pattern, and "
                "this tokenizer is different; leave out --dropout, or train with a named pattern such as o200k"
            )
        return Failing.of(dropout, dropout.may_fail(len(merges), built_first(merges)[1], kinds))

    @cached_property
    def tables(self) -> BpeTables | None:
        """The tokenizer as arrays, made at the first use; None if the kernel cannot read it."""
        with self._reading:  # several threads may need them at once
            return self.__dict__.get("tables") or bpe_tables(self.spec)

    def encode_without_kernels(self, block: Block) -> EncodedBlock:
        """Encode a block as `encode` does, but with `tokenizers`, which is faster for small texts.

        Neither tables nor numba are needed, except for dropout, which only the kernel can do.
        """
        if self._failing is not None:
            return self.encode(block)
        found = self._by_the_library([block.document(k) for k in range(len(block))])
        n_bytes = np.diff(block.offsets)
        nothing = np.empty(0, self.dtype), np.zeros(len(n_bytes), np.int64)
        return EncodedBlock(*self._stitch(*nothing, dict(enumerate(found))), n_bytes)

    def encode(self, block: Block) -> EncodedBlock:
        """Encode the documents of a padded block.

        Raises:
            MwSError: a document is not UTF-8; the message contains its name.
        """
        if not self.is_fast:
            return self.encode_without_kernels(block)
        with_added = self._added.in_raw.documents(block)
        plain = block
        if self.backend.normalizer is not None:
            plain = self._normalized(block)
        with_added |= self._added.in_normalized.documents(plain)
        ids, ends = self._by_the_kernel(plain, self.separator_id)
        if with_added:
            numbers = sorted(with_added)
            found = self._around_added([block.document(k) for k in numbers])
            ids, ends = self._stitch(ids, ends, dict(zip(numbers, found, strict=True)))
        return EncodedBlock(ids, ends, np.diff(block.offsets))

    def _by_the_library(self, texts: list[str]) -> list[list[int]]:
        """Encode texts with `tokenizers`, without separators."""
        return [item.ids for item in self.backend.encode_batch_fast(texts, add_special_tokens=False)]

    def _by_the_kernel(self, block: Block, separator: int) -> tuple[Array, Longs]:
        """Return ids and ends of documents without added tokens; with the separator -1, no separators are written."""
        assert self.tables is not None
        if self._failing is not None:
            ends = np.empty(len(block), np.int64)
            ids = np.empty(block.size + len(block) + 3, self.dtype)
            bad = encode_dropped(block.text, block.offsets[1:], self.tables, self._failing, separator, ids, ends)
            ids = ids[: ends[-1] if len(block) else 0]
        else:
            try:
                worker = self._workers.get_nowait()
            except queue.Empty:
                worker = Worker(self.tables, self.dtype, self._cache_limit)
            ids, ends, bad = worker.encode(block.text, block.offsets[1:], separator)
            self._workers.put(worker)
        if bad >= 0:
            block.document(bad)  # raises the error that names the document
        return ids, ends

    def _around_added(self, texts: list[str]) -> list[list[int]]:
        """Return the ids of documents with added tokens, without separators.

        The text between two added tokens is encoded as a separate text.
        """
        if self._added.take_space and self._failing is None:
            return self._by_the_library(texts)
        parts = [self._added.split(text) for text in texts]
        between = [part.encode() for document in parts for part in document if isinstance(part, str)]
        ids, ends = self._by_the_kernel(block_of(between, str), -1)
        encoded = iter(np.split(ids, ends[:-1]))
        return [
            [index for part in document for index in (next(encoded).tolist() if isinstance(part, str) else [part])]
            for document in parts
        ]

    @cached_property
    def _normalize(self) -> Callable[[str], str]:
        """Normalize a text as the backend does."""
        normalize, letters = self.backend.normalizer.normalize_str, self.spec.capitals
        if letters and list(parts_of(self.spec.raw["normalizer"])) == marking_rules(letters):
            return partial(_with_marker, letters, normalize)
        return normalize

    def _normalized(self, block: Block) -> Block:
        """Return a block with the normalized documents."""
        normalize = self._normalize
        return block_of([normalize(block.document(k)).encode() for k in range(len(block))], block.where)

    def _stitch(self, ids: Array, ends: Longs, found: Mapping[int, list[int]]) -> tuple[Array, Longs]:
        """Replace the ids of some documents.

        Args:
            ids: the ids of all documents.
            ends: the end of the ids of each document.
            found: the new ids by the number of the document, in ascending order, without separators, which are added.
        """
        tail = [self.separator_id] if self.separator is not None else []
        starts, sizes = np.concatenate(([0], ends[:-1])), np.diff(ends, prepend=0)
        pieces, done = [], 0
        for k, others in found.items():
            pieces += [ids[done : starts[k]], np.array(others + tail, ids.dtype)]
            sizes[k], done = len(pieces[-1]), ends[k]
        return np.concatenate([*pieces, ids[done:]]), np.cumsum(sizes)
