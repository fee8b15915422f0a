"""Encode corpora in bulk into memory-mapped token ids; ids equal the Rust backend's."""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "BlockDataset": "mws_hf.encode.torch_blocks",
    "EncodedCorpus": "mws_hf.encode.corpus",
    "encode_corpus": "mws_hf.encode.bulk",
}

__all__ = ["BlockDataset", "EncodedCorpus", "encode_corpus"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mws_hf.encode' has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)
