"""The text of a language model: training and held-out documents, and training ids in blocks of equal bytes.

Documents are sorted by a digest of their own text. The split therefore does not depend on the files or on their order,
a larger budget only adds documents, and no document is in both parts. Blocks have a fixed number of bytes, so that all
tokenizers get the same amount of context.

`Codec` provides what a language model needs of a tokenizer: ids of documents, the bytes of each id, and a check that
encoding is lossless.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from lm.config import RunConfig
from mws_hf.encode.bulk import encode_corpus
from mws_hf.errors import MwSError
from mws_hf.kernels import Longs, Mask
from mws_hf.scoring.running_text import read_lines
from mws_hf.surgery.base import raw_bytes
from mws_hf.tokenizer.file import load_settings, roles_in
from mws_hf.tokenizer.layout import CONFIG_FILE
from mws_hf.tokenizer.merging import Dropout
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.spec import without_limits

_BATCH = 4096


@dataclass(frozen=True)
class Codec:
    """The parts of a tokenizer that training and evaluation need.

    Attributes:
        directory: the directory that it was read from.
        backend: the Rust tokenizer, without truncation and padding; special tokens in text are encoded as text.
        pieces: the bytes of each id; empty for special tokens.
        lengths: int64, shape (n_ids,): the number of bytes of each id.
        separator: id of the end-of-sequence token, which is at the start of each stream and after each document.
        padding: id of the padding token, or the separator if there is none; padding is never scored.
    """

    directory: Path
    backend: Tokenizer
    pieces: list[bytes]
    lengths: Longs
    separator: int
    padding: int

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Codec:
        """Read a tokenizer directory.

        Raises:
            MwSError: the directory has no tokenizer.json, or the tokenizer has no end-of-sequence token.
        """
        path = Path(directory)
        if not (path / "tokenizer.json").is_file():
            raise MwSError(f"{path} has no tokenizer.json; train a tokenizer with: mws train --output {path}")
        opened = open_tokenizer(path)
        backend, end = without_limits(opened.backend), opened.eos_token
        backend.encode_special_tokens = True
        separator = backend.token_to_id(end) if end else None
        if separator is None:
            raise MwSError(
                f"{path}: tokenizer_config.json has no eos_token, which ends each document of a language model; add it"
            )
        # tokenizer_config.json exists, because it has the end-of-sequence token
        padding = backend.token_to_id(roles_in(load_settings(path / CONFIG_FILE)).get("pad_token", ""))
        pieces = raw_bytes(backend)
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        return cls(path, backend, pieces, lengths, separator, separator if padding is None else padding)

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, which is the largest id plus 1."""
        return len(self.pieces)

    def encode(self, documents: Sequence[str]) -> list[Longs]:
        """Return the ids of each document, without separators; special tokens in the text are encoded as text."""
        batches = (list(documents[start : start + _BATCH]) for start in range(0, len(documents), _BATCH))
        return [
            np.array(item.ids, np.int64)
            for batch in batches
            for item in self.backend.encode_batch_fast(batch, add_special_tokens=False)
        ]

    def encode_dropped(self, documents: Sequence[str], how: Dropout) -> list[Longs]:
        """Return the ids of each document with BPE-dropout, without separators.

        Unlike in `encode`, special tokens in the text are encoded as special tokens.
        """
        with tempfile.TemporaryDirectory() as directory:
            settings: dict[str, Any] = {"separator": None, "dropout": how}
            found = encode_corpus(self.directory, iter(documents), Path(directory) / "ids", **settings)
            return [np.array(found[place], np.int64) for place in range(len(found))]

    def decode(self, documents: Sequence[Longs]) -> list[str]:
        """Return the text of each list of ids, without special tokens."""
        return [self.backend.decode(ids.tolist(), skip_special_tokens=True) for ids in documents]

    def represented(self, documents: Sequence[str]) -> Mask:
        """Return for each document whether decode(encode(document)) == document; bool, shape (n_documents,).

        Tokenizers are compared only on documents that all of them restore.
        """
        decoded = self.decode(self.encode(documents))
        return np.array([text == document for text, document in zip(decoded, documents, strict=True)], np.bool_)

    def bytes_per_id(self, document: str, ids: Longs) -> Longs | None:
        """Return how many bytes of `document` each id covers, or None if the ids do not spell it byte by byte.

        A space that the tokenizer itself adds before a text (metaspace) covers no byte of the document.
        """
        raw = document.encode()
        spelled = b"".join(self.pieces[index] for index in ids)
        lengths = self.lengths[ids]
        if spelled == b" " + raw:
            lengths[int(np.argmax(lengths > 0))] -= 1
        return lengths if spelled in (raw, b" " + raw) else None


IGNORED = -100
"""The label that transformers excludes from the loss."""


@dataclass(frozen=True)
class TextSplit:
    """The documents of one experiment.

    Attributes:
        train: documents that models are trained on, in the order of their digests, up to the budget.
        held_out: documents that are scored; none of them is in `train` or `pool`.
        pool: documents that tokenizers learn from: all documents that are not held out, also beyond the budget.
    """

    train: list[str]
    held_out: list[str]
    pool: list[str]


def documents_of(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Read UTF-8 text files, optionally compressed (.gz), with one document per line; empty lines are skipped.

    Raises:
        MwSError: a file cannot be read or is not UTF-8, or the files contain no document.
    """
    documents = [line for path in paths for line in read_lines(path)]
    if not documents:
        raise MwSError(
            f"{', '.join(map(str, paths)) or 'no files'}: no line of text; pass a file with one document per line"
        )
    return documents


def read_split(config: RunConfig) -> TextSplit:
    """Read the text of a run and split it: by files if the run names held-out files, and by documents if not.

    Raises:
        MwSError: a file cannot be read, or the corpus is smaller than the requested number of bytes.
    """
    documents = documents_of(config.text)
    if not config.held_out:
        return split_documents(documents, config.train_bytes, config.held_out_bytes)
    held_out = list(dict.fromkeys(documents_of(config.held_out)))
    unseen = set(held_out)
    pool = shuffled((each for each in dict.fromkeys(documents) if each not in unseen), 0)
    return TextSplit(_first(pool, config.train_bytes), held_out, pool)


def split_documents(documents: Iterable[str], train_bytes: int | None, held_out_bytes: int) -> TextSplit:
    """Split distinct documents in the order of their digests: the first ones are held out, the next ones for training.

    Both parts have at least the requested number of UTF-8 bytes, because the last document is kept whole. If
    `train_bytes` is None, all remaining documents are for training.

    Raises:
        MwSError: the corpus is smaller than both parts together.

    >>> split = split_documents(["a", "b", "c", "a"], train_bytes=1, held_out_bytes=1)
    >>> len(split.train), len(split.held_out), len(split.pool)
    (1, 1, 2)
    """
    ordered = shuffled(dict.fromkeys(documents), 0)
    n_held_out = _reaching(ordered, held_out_bytes)
    pool = ordered[n_held_out:]
    return TextSplit(_first(pool, train_bytes), ordered[:n_held_out], pool)


def _first(pool: list[str], train_bytes: int | None) -> list[str]:
    """Return the first documents with at least `train_bytes` bytes, or all documents if it is None."""
    n_train = len(pool) if train_bytes is None else _reaching(pool, train_bytes)
    if n_train == 0:
        raise MwSError("the corpus has no documents left to train on; add text or hold out less")
    return pool[:n_train]


def shuffled(documents: Iterable[str], seed: int) -> list[str]:
    """Sort documents in an order that depends only on their text and the seed, and so is equal for all tokenizers."""
    salt = seed.to_bytes(8, "little")
    return sorted(documents, key=lambda text: hashlib.blake2b(text.encode(), digest_size=16, salt=salt).digest())


def _reaching(documents: Sequence[str], size: int) -> int:
    """Return how many of the first documents are needed to have `size` bytes."""
    ends = np.cumsum([0, *(len(document.encode()) for document in documents)])
    if ends[-1] < size:
        raise MwSError(
            f"the corpus has {ends[-1]} bytes, but {size} are asked for; add text or choose a smaller budget"
        )
    return int(np.searchsorted(ends, size))


@dataclass(frozen=True)
class Blocks(Dataset):
    """A torch dataset of blocks, which are parts of a stream of ids.

    Block i predicts the ids ``stream[bounds[i] + 1 : bounds[i + 1] + 1]`` from the ids before them in the block, which
    starts one id earlier. Each id except the first separator is therefore predicted exactly once.

    Attributes:
        stream: int64 ids, with a separator at the start and after each document.
        bounds: int64, shape (n_blocks + 1,).
        n_bytes: int64, shape (n_blocks,): bytes of the predicted ids; separators have no bytes.
    """

    stream: Longs
    bounds: Longs
    n_bytes: Longs

    def __len__(self) -> int:
        return len(self.n_bytes)

    def __getitem__(self, index: int) -> dict[str, Longs]:
        return {"input_ids": self.stream[self.bounds[index] : self.bounds[index + 1] + 1]}

    @property
    def n_tokens(self) -> int:
        """The number of predicted ids, including separators."""
        return int(self.bounds[-1])

    def first(self, n_blocks: int) -> Blocks:
        """Return only the first blocks, for a smaller budget of the same text."""
        return Blocks(self.stream, self.bounds[: n_blocks + 1], self.n_bytes[:n_blocks])


def blocks_of(codec: Codec, documents: Sequence[Longs], context_bytes: int) -> Blocks:
    """Join the ids of documents, with a separator after each, and divide the stream greedily into blocks.

    A block has at most `context_bytes` bytes. A document may continue in the next block, and no id is dropped. If the
    tokenizer is lossless, the bytes of all blocks add up to the bytes of the documents.

    Raises:
        MwSError: there are no documents, or a token is longer than the context.
    """
    if not documents:
        raise MwSError("there are no documents to train on; pass files with one document per line")
    separator = np.array([codec.separator], np.int64)
    stream = np.concatenate([separator, *(part for ids in documents for part in (ids, separator))])
    lengths = codec.lengths[stream[1:]]
    if int(lengths.max()) > context_bytes:
        raise MwSError(
            f"context_bytes={context_bytes} is less than the longest token, with {lengths.max()} bytes; increase it"
        )
    bounds = run_bounds(lengths, context_bytes)
    return Blocks(stream, bounds, np.add.reduceat(lengths, bounds[:-1]))


def run_bounds(lengths: Longs, limit: int) -> Longs:
    """Divide a sequence greedily into the fewest runs whose lengths add up to at most `limit`.

    The result has the bounds of the runs: int64, shape (n_runs + 1,), from 0 to the number of items. An item of length
    0 joins the run before it, if there is one.

    >>> run_bounds(np.array([3, 3, 0, 3, 1]), 6).tolist()
    [0, 3, 5]
    """
    ends = np.cumsum(lengths)
    cuts, done = [0], 0
    while cuts[-1] < len(lengths):
        cuts.append(int(np.searchsorted(ends, done + limit, side="right")))
        done = int(ends[cuts[-1] - 1])
    return np.array(cuts, np.int64)


@dataclass(frozen=True)
class Collator:
    """A collator that pads blocks with `padding` on the right to the longest block of the batch.

    The labels of padding are `IGNORED`.
    """

    padding: int

    def __call__(self, items: Sequence[dict[str, Longs]]) -> dict[str, torch.Tensor]:
        """Return input ids and labels, int64, shape (n_blocks, longest block).

        There is no attention mask, because a causal model does not see padding on the right.
        """
        blocks = [torch.from_numpy(item["input_ids"]) for item in items]
        labels = pad_sequence(blocks, batch_first=True, padding_value=IGNORED)
        labels[:, 0] = IGNORED  # nothing predicts the first id, so the mean must not count it
        return {"input_ids": pad_sequence(blocks, batch_first=True, padding_value=self.padding), "labels": labels}
