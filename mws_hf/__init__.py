"""Tokenizers that split words at morpheme boundaries: BPE merges learned from raw text, as a standard tokenizer.json.

Public names are imported on first use, so that `import mws_hf` loads neither the learner nor transformers.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mws_hf.corpus.counting import count_documents, count_files
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.corpus.grouped_counts import GroupedCounts
    from mws_hf.encode.bulk import encode_corpus
    from mws_hf.encode.corpus import EncodedCorpus
    from mws_hf.encode.torch_blocks import BlockDataset
    from mws_hf.errors import MwSError
    from mws_hf.scoring.evaluation import evaluate
    from mws_hf.surgery.extension import extend
    from mws_hf.surgery.trim import trim
    from mws_hf.tokenization_mws import MwSTokenizer
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast, import_notebook, pretrained
    from mws_hf.tokenizer.places import pretrained_folder
    from mws_hf.trainer import MwSTrainer

__version__ = "0.4.0"

_MODULES = {
    "BlockDataset": "mws_hf.encode.torch_blocks",
    "EncodedCorpus": "mws_hf.encode.corpus",
    "GroupedCounts": "mws_hf.corpus.grouped_counts",
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
"""The module of each public name."""
_NEEDS = {"BlockDataset": "torch"}
"""The optional library that a public name needs; if it is not installed, the name is not in `__all__`."""

__all__ = [
    "BlockDataset",
    "EncodedCorpus",
    "GroupedCounts",
    "MwSError",
    "MwSTokenizer",
    "MwSTokenizerFast",
    "MwSTrainer",
    "WordCounts",
    "__version__",
    "count_documents",
    "count_files",
    "encode_corpus",
    "evaluate",
    "extend",
    "import_notebook",
    "pretrained",
    "pretrained_folder",
    "trim",
]
if not TYPE_CHECKING:
    __all__ = [name for name in __all__ if name not in _NEEDS or find_spec(_NEEDS[name]) is not None]


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'mws_hf' has no attribute {name!r}; public names: {', '.join(__all__)}")
        if name in _NEEDS and find_spec(_NEEDS[name]) is None:
            raise AttributeError(
                f"mws_hf.{name} needs {_NEEDS[name]}, which is not installed: pip install {_NEEDS[name]}"
            )
        return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
