"""Documents to training blocks of a fixed number of raw bytes of context, so that all tokenizers see equal contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from mws_hf.errors import MwSError
from mws_hf.lm.codec import Codec, Ids

IGNORED = -100
"""The label that transformers leaves out of the loss."""


@dataclass(frozen=True)
class Blocks:
    """A stream of ids cut into blocks.

    Block i predicts ``stream[bounds[i] + 1 : bounds[i + 1] + 1]`` from what precedes within the block, which starts one
    id earlier. So every id but the first separator is predicted once.

    Attributes:
        stream: int64 ids, a separator first and one after each document.
        bounds: int64 (blocks + 1,).
        n_bytes: int64 (blocks,), raw bytes of the predicted ids; separators add none.
    """

    stream: Ids
    bounds: Ids
    n_bytes: Ids

    def __len__(self) -> int:
        return len(self.n_bytes)

    @property
    def n_tokens(self) -> int:
        """Predicted ids, separators included."""
        return int(self.bounds[-1])

    def first(self, n_blocks: int) -> Blocks:
        """Only the first blocks: the same text for a smaller budget."""
        return Blocks(self.stream, self.bounds[: n_blocks + 1], self.n_bytes[:n_blocks])


def pack(codec: Codec, documents: Sequence[str], context_bytes: int) -> Blocks:
    """Encode documents and cut the stream greedily into blocks whose raw bytes are at most `context_bytes`.

    Documents run on across blocks; nothing is dropped. The bytes of all blocks add up to those of the documents for
    every tokenizer that spells its text.

    Raises:
        MwSError: no documents, or a token is longer than the context.
    """
    if not documents:
        raise MwSError("there are no documents to train on; give files with one document a line")
    separator = np.array([codec.separator], np.int64)
    parts = [separator]
    for ids in codec.encode(documents):
        parts += [ids, separator]
    stream = np.concatenate(parts)
    lengths = codec.lengths[stream[1:]]
    if int(lengths.max(initial=0)) > context_bytes:
        raise MwSError(f"context_bytes={context_bytes} is less than the longest token, {lengths.max()} bytes; raise it")
    bounds = cut_points(lengths, context_bytes)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return Blocks(stream, bounds, np.diff(ends[bounds]))


def cut_points(lengths: Ids, limit: int) -> Ids:
    """Greedy cuts: the fewest runs whose lengths add up to at most `limit`; int64 (runs + 1,), first 0, last the size.

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


class BlockDataset(Dataset):
    """Blocks as a torch dataset; an item is the int64 ids of a block, one more than it predicts."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, index: int) -> dict[str, npt.NDArray[np.int64]]:
        start, end = self.blocks.bounds[index], self.blocks.bounds[index + 1]
        return {"input_ids": self.blocks.stream[start : end + 1]}


@dataclass(frozen=True)
class Collator:
    """Pads blocks on the right to the longest of the batch.

    Attributes:
        padding: id written in padded places; its label is `IGNORED`.
    """

    padding: int

    def __call__(self, items: Sequence[dict[str, npt.NDArray[np.int64]]]) -> dict[str, torch.Tensor]:
        """Input ids and labels, int64 (blocks, longest); no mask, for causal models do not see padding on the right."""
        longest = max(len(item["input_ids"]) for item in items)
        ids = np.full((len(items), longest), self.padding, np.int64)
        labels = np.full((len(items), longest), IGNORED, np.int64)
        for row, item in enumerate(items):
            block = item["input_ids"]
            ids[row, : len(block)] = block
            labels[row, 1 : len(block)] = block[1:]  # nothing predicts the first, and the mean must not count it
        return {"input_ids": torch.from_numpy(ids), "labels": torch.from_numpy(labels)}
