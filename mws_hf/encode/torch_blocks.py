"""Fixed-length blocks of an encoded corpus for training loops. Importing this module imports torch."""

from __future__ import annotations

import operator

import numpy as np
import torch
from torch.utils.data import Dataset

from mws_hf.encode.corpus import EncodedCorpus
from mws_hf.errors import MwSError, SettingError


class BlockDataset(Dataset):
    """A torch Dataset of consecutive blocks of `block_size` ids, in which documents continue across blocks.

    Item i is a dict with `input_ids` and `labels`, both int64 of shape (block_size,): the ids of the corpus from
    ``i * block_size`` on. Labels are equal to the inputs, because models of `transformers` shift them. Ids after the
    last whole block are dropped. Random access reads the memory map once, and the workers of a loader share its pages.
    """

    def __init__(self, corpus: EncodedCorpus, block_size: int) -> None:
        """Divide a corpus into blocks.

        Args:
            corpus: the encoded corpus.
            block_size: number of ids in a block.

        Raises:
            MwSError: the block size is not a positive whole number, or the corpus is shorter than one block.
        """
        if isinstance(block_size, bool) or not hasattr(block_size, "__index__") or block_size < 1:
            raise SettingError("block_size", block_size, "must be a whole number of at least 1")
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
            raise IndexError(f"block {index} of {len(self)}")
        start = (index % len(self)) * self.block_size
        ids = torch.from_numpy(self.corpus.tokens(start, start + self.block_size).astype(np.int64))
        return {"input_ids": ids, "labels": ids.clone()}
