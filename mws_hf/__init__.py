"""Tokenizers that cut words where language does: morphemic BPE merges from raw text, as a stock tokenizer.json.

Public names are imported on first use, so that `import mws_hf` loads neither the learner nor transformers.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.4.0"

_HOME = {
    "BlockDataset": "mws_hf.encode.torch_blocks",
    "EncodedCorpus": "mws_hf.encode.corpus",
    "GroupedCounts": "mws_hf.corpus.groups",
    "count_documents": "mws_hf.corpus.counting",
    "count_files": "mws_hf.corpus.counting",
    "import_notebook": "mws_hf.tokenization_mws_fast",
    "encode_corpus": "mws_hf.encode.bulk",
    "evaluate": "mws_hf.scoring.evaluation",
    "extend": "mws_hf.surgery.extension",
    "trim": "mws_hf.surgery.trim",
    "MwSError": "mws_hf.errors",
    "MwSTokenizer": "mws_hf.tokenization_mws",
    "MwSTokenizerFast": "mws_hf.tokenization_mws_fast",
    "MwSTrainer": "mws_hf.trainer",
    "WordCounts": "mws_hf.corpus.counts",
    "pretrained": "mws_hf.tokenization_mws_fast",
    "pretrained_folder": "mws_hf.tokenizer.places",
}

__all__ = sorted((*_HOME, "__version__"))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mws_hf' has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
