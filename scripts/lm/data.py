"""Text for a language model: documents split into training and held-out, training ids in blocks of equal bytes.

Documents are put in order by a digest of their own text. So the split depends on neither files nor their order, a
larger budget only adds documents, and no document stands on both sides. Blocks have a fixed number of raw bytes of
context, so that all tokenizers see equal contexts.

`Codec` is a tokenizer directory as a language model sees it: documents to ids, the raw bytes of every id, losslessness.
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
        directory: the directory it was read from.
        backend: the Rust tokenizer, without truncation, padding or special treatment of special tokens in text.
        pieces: raw bytes of each id; empty for special tokens.
        lengths: int64 (ids,), length in bytes of each piece.
        separator: id of the end-of-sequence token: it starts every stream and ends every document.
        padding: id of the padding token; the separator when there is none (padded places never count).
    """

    directory: Path
    backend: Tokenizer
    pieces: list[bytes]
    lengths: Longs
    separator: int
    padding: int

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Codec:
        """Read a directory with tokenizer.json; raises MwSError where there is none, or no end-of-sequence token."""
        path = Path(directory)
        if not (path / "tokenizer.json").is_file():
            raise MwSError(f"{path}: no tokenizer.json there; train one with: mws train --output {path}")
        opened = open_tokenizer(path)
        backend, end = without_limits(opened.backend), opened.eos_token
        backend.encode_special_tokens = True
        separator = backend.token_to_id(end) if end else None
        if separator is None:
            raise MwSError(f"{path}: no eos_token in tokenizer_config.json; a language model ends documents with it")
        # the file is there, for it named the end-of-sequence token
        padding = backend.token_to_id(roles_in(load_settings(path / CONFIG_FILE)).get("pad_token", ""))
        pieces = raw_bytes(backend)
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        return cls(path, backend, pieces, lengths, separator, separator if padding is None else padding)

    @property
    def vocabulary_size(self) -> int:
        """Ids from 0 to the largest."""
        return len(self.pieces)

    def encode(self, documents: Sequence[str]) -> list[Longs]:
        """Return the ids of each document, no separators; text that looks like a special token stays text."""
        batches = (list(documents[start : start + _BATCH]) for start in range(0, len(documents), _BATCH))
        return [
            np.array(item.ids, np.int64)
            for batch in batches
            for item in self.backend.encode_batch_fast(batch, add_special_tokens=False)
        ]

    def encode_dropped(self, documents: Sequence[str], how: Dropout) -> list[Longs]:
        """Return the ids of each document where merges fail at random; no separators.

        Special tokens that stand in the text are read as such, unlike in `encode`.
        """
        with tempfile.TemporaryDirectory() as directory:
            settings: dict[str, Any] = {"separator": None, "dropout": how}
            found = encode_corpus(self.directory, iter(documents), Path(directory) / "ids", **settings)
            return [np.array(found[place], np.int64) for place in range(len(found))]

    def decode(self, documents: Sequence[Longs]) -> list[str]:
        """Return the text of each list of ids; special tokens are left out."""
        return [self.backend.decode(ids.tolist(), skip_special_tokens=True) for ids in documents]

    def represented(self, documents: Sequence[str]) -> Mask:
        """Apply the losslessness gate: bool (documents,), whether decode(encode(document)) == document.

        A tokenizer that fails for a document is compared with others on the documents it can represent only.
        """
        decoded = self.decode(self.encode(documents))
        return np.array([text == document for text, document in zip(decoded, documents, strict=True)], np.bool_)

    def laid_out(self, document: str, ids: Longs) -> Longs | None:
        """Count the bytes of `document` that each id takes; None when the ids do not spell it byte by byte.

        A word mark that the tokenizer itself puts before a text (metaspace) takes no byte of it.
        """
        raw = document.encode()
        spelled = b"".join(self.pieces[index] for index in ids)
        lengths = self.lengths[ids]
        if spelled == b" " + raw:
            lengths[int(np.argmax(lengths > 0))] -= 1
        return lengths if spelled in (raw, b" " + raw) else None


IGNORED = -100
"""The label that transformers leaves out of the loss."""


@dataclass(frozen=True)
class TextSplit:
    """Documents of one experiment.

    Attributes:
        train: documents to train on, in the order of their digests, up to the budget.
        held_out: documents never trained on, distinct from all of `train`.
        pool: documents that tokenizers learn from: all that are not held out, the rest of the corpus included.
    """

    train: list[str]
    held_out: list[str]
    pool: list[str]


def documents_of(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Read lines of UTF-8 text files (.gz allowed), a document each; empty lines are left out.

    Raises MwSError if a file cannot be read or is not UTF-8, or the files hold no document.
    """
    documents = [line for path in paths for line in read_lines(path)]
    if not documents:
        raise MwSError(
            f"{', '.join(map(str, paths)) or 'no files'}: no line of text; give a file with one document a line"
        )
    return documents


def read_split(config: RunConfig) -> TextSplit:
    """Read the text of a run and split it: by whole files where the run names some to hold out, else by documents.

    Raises:
        MwSError: a file cannot be read, or the corpus is smaller than the bytes asked for.
    """
    documents = documents_of(config.text)
    if not config.held_out:
        return split_documents(documents, config.train_bytes, config.held_out_bytes)
    held_out = list(dict.fromkeys(documents_of(config.held_out)))
    unseen = set(held_out)
    pool = shuffled((each for each in dict.fromkeys(documents) if each not in unseen), 0)
    return TextSplit(_first(pool, config.train_bytes), held_out, pool)


def split_documents(documents: Iterable[str], train_bytes: int | None, held_out_bytes: int) -> TextSplit:
    """Take distinct documents in the order of their digests: first the held-out ones, then documents to train on.

    Both get so many UTF-8 bytes at least, for the last document is not cut; None trains on all.

    Raises:
        MwSError: the corpus is smaller than both together.

    >>> split = split_documents(["a", "b", "c", "a"], train_bytes=1, held_out_bytes=1)
    >>> len(split.train), len(split.held_out), len(split.pool)
    (1, 1, 2)
    """
    ordered = shuffled(dict.fromkeys(documents), 0)
    n_held_out = _reaching(ordered, held_out_bytes)
    pool = ordered[n_held_out:]
    return TextSplit(_first(pool, train_bytes), ordered[:n_held_out], pool)


def _first(pool: list[str], train_bytes: int | None) -> list[str]:
    """Return the first documents of so many bytes; None: all."""
    n_train = len(pool) if train_bytes is None else _reaching(pool, train_bytes)
    if n_train == 0:
        raise MwSError("the corpus has no documents left to train on; give more text or hold out less")
    return pool[:n_train]


def shuffled(documents: Iterable[str], seed: int) -> list[str]:
    """Put documents in an order that depends on the seed and their text alone, equal for every tokenizer."""
    salt = seed.to_bytes(8, "little")
    return sorted(documents, key=lambda text: hashlib.blake2b(text.encode(), digest_size=16, salt=salt).digest())


def _reaching(documents: Sequence[str], size: int) -> int:
    """Count the first documents that hold `size` bytes."""
    ends = np.cumsum([0, *(len(document.encode()) for document in documents)])
    if ends[-1] < size:
        raise MwSError(
            f"the corpus holds {ends[-1]} bytes where {size} are asked for; give more text or a smaller budget"
        )
    return int(np.searchsorted(ends, size))


@dataclass(frozen=True)
class Blocks(Dataset):
    """A stream of ids cut into blocks, and a torch dataset of them.

    Block i predicts ``stream[bounds[i] + 1 : bounds[i + 1] + 1]`` from what precedes within the block, which starts one
    id earlier. So every id but the first separator is predicted once.

    Attributes:
        stream: int64 ids, a separator first and one after each document.
        bounds: int64 (blocks + 1,).
        n_bytes: int64 (blocks,), raw bytes of the predicted ids; separators add none.
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
        """Predicted ids, separators included."""
        return int(self.bounds[-1])

    def first(self, n_blocks: int) -> Blocks:
        """Return only the first blocks: the same text for a smaller budget."""
        return Blocks(self.stream, self.bounds[: n_blocks + 1], self.n_bytes[:n_blocks])


def blocks_of(codec: Codec, documents: Sequence[Longs], context_bytes: int) -> Blocks:
    """Join the ids of documents, a separator after each, and cut the stream greedily into blocks of equal bytes.

    A block has at most `context_bytes` raw bytes. Documents run on across blocks; nothing is dropped. The bytes of
    all blocks add up to those of the documents for every tokenizer that spells its text.

    Raises:
        MwSError: there are no documents, or a token is longer than the context.
    """
    if not documents:
        raise MwSError("there are no documents to train on; give files with one document a line")
    separator = np.array([codec.separator], np.int64)
    stream = np.concatenate([separator, *(part for ids in documents for part in (ids, separator))])
    lengths = codec.lengths[stream[1:]]
    if int(lengths.max()) > context_bytes:
        raise MwSError(f"context_bytes={context_bytes} is less than the longest token, {lengths.max()} bytes; raise it")
    bounds = cut_points(lengths, context_bytes)
    return Blocks(stream, bounds, np.add.reduceat(lengths, bounds[:-1]))


def cut_points(lengths: Longs, limit: int) -> Longs:
    """Cut greedily: the fewest runs whose lengths add up to at most `limit`; int64 (runs + 1,), from 0 to the size.

    Items of length 0 join the run before them where they can.

    >>> cut_points(np.array([3, 3, 0, 3, 1]), 6).tolist()
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
    """A function that pads blocks on the right to the longest of the batch with `padding`; its labels are `IGNORED`."""

    padding: int

    def __call__(self, items: Sequence[dict[str, Longs]]) -> dict[str, torch.Tensor]:
        """Return input ids and labels, int64 (blocks, longest).

        There is no mask, for causal models do not see padding on the right.
        """
        blocks = [torch.from_numpy(item["input_ids"]) for item in items]
        labels = pad_sequence(blocks, batch_first=True, padding_value=IGNORED)
        labels[:, 0] = IGNORED  # nothing predicts the first, and the mean must not count it
        return {"input_ids": pad_sequence(blocks, batch_first=True, padding_value=self.padding), "labels": labels}
