"""Tokenizers that cut words where language does: morphemic BPE merges from raw text, as a stock tokenizer.json.

Public names are imported on first use, so that `import mws_hf` loads neither the learner nor transformers.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_HOME = {
    "BlockDataset": "mws_hf.encode.blocks",
    "EncodedCorpus": "mws_hf.encode.corpus",
    "encode_corpus": "mws_hf.encode.bulk",
    "trim": "mws_hf.extend.trim",
    "MwSError": "mws_hf.errors",
    "MwSTokenizer": "mws_hf.tokenization_mws",
    "MwSTokenizerFast": "mws_hf.tokenization_mws_fast",
    "MwSTrainer": "mws_hf.trainer",
    "WordCounts": "mws_hf.corpus.counts",
    "pretrained": "mws_hf.by_name",
    "pretrained_folder": "mws_hf.by_name",
}

__all__ = [
    "BlockDataset",
    "EncodedCorpus",
    "MwSError",
    "MwSTokenizer",
    "MwSTokenizerFast",
    "MwSTrainer",
    "WordCounts",
    "__version__",
    "encode_corpus",
    "pretrained",
    "pretrained_folder",
    "trim",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mws_hf' has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)
