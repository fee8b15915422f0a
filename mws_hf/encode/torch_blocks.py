"""Provide fixed-length blocks of an encoded corpus for training loops; importing this module imports torch."""

from __future__ import annotations

import operator

import numpy as np
import torch
from torch.utils.data import Dataset

from mws_hf.encode.corpus import EncodedCorpus
from mws_hf.errors import MwSError, check_count, quoted


class BlockDataset(Dataset):
    """A torch Dataset of consecutive blocks of `block_size` ids; a document may continue in the next block.

    Item i is a dict with `input_ids` and `labels`, both int64 of shape (block_size,): the ids of the corpus from
    position ``i * block_size`` on. Labels are equal to the inputs, because models of `transformers` shift them. Ids
    after the last whole block are left out. Each item is copied from the memory map, whose pages the workers of a
    `DataLoader` share.
    """

    def __init__(self, corpus: EncodedCorpus, block_size: int) -> None:
        """Divide a corpus into blocks.

        Args:
            corpus: the encoded corpus.
            block_size: number of ids in a block.

        Raises:
            MwSError: the block size is not a positive whole number, `corpus` is not an `EncodedCorpus`, or it is
                shorter than one block.
        """
        check_count("block_size", block_size)
        if not isinstance(corpus, EncodedCorpus):
            raise MwSError(f"{quoted(corpus)} is not an EncodedCorpus; give EncodedCorpus.open(folder)")
        if corpus.n_tokens < block_size:
            raise MwSError(
                f"{corpus.directory}: has only {corpus.n_tokens} ids, fewer than one block; give a smaller block_size"
            )
        self.corpus = corpus
        self.block_size = block_size

    def __len__(self) -> int:
        return self.corpus.n_tokens // self.block_size

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no block {index}; the corpus has {len(self):,} blocks")
        start = (index % len(self)) * self.block_size
        ids = torch.from_numpy(self.corpus.tokens(start, start + self.block_size).astype(np.int64))
        return {"input_ids": ids, "labels": ids.clone()}
