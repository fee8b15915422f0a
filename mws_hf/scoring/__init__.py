"""Score tokenizers against reference segmentations and on running text; `evaluate` does both."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import Gold, GoldWord, read_gold
    from mws_hf.scoring.boundaries import BoundaryScores, score
    from mws_hf.scoring.evaluation import EvaluationReport, evaluate
    from mws_hf.scoring.ngram_model import NgramBits, bits_differences, ngram_bits
    from mws_hf.scoring.running_text import TextScores, read_lines, score_text
    from mws_hf.tokenizer.opened import segment_words

_MODULES = {
    "BoundaryScores": "mws_hf.scoring.boundaries",
    "EvaluationReport": "mws_hf.scoring.evaluation",
    "Gold": "mws_hf.corpus.segmentations",
    "GoldWord": "mws_hf.corpus.segmentations",
    "NgramBits": "mws_hf.scoring.ngram_model",
    "TextScores": "mws_hf.scoring.running_text",
    "bits_differences": "mws_hf.scoring.ngram_model",
    "evaluate": "mws_hf.scoring.evaluation",
    "ngram_bits": "mws_hf.scoring.ngram_model",
    "read_gold": "mws_hf.corpus.segmentations",
    "read_lines": "mws_hf.scoring.running_text",
    "score": "mws_hf.scoring.boundaries",
    "score_text": "mws_hf.scoring.running_text",
    "segment_words": "mws_hf.tokenizer.opened",
}
"""The module of each public name, imported on first use, so that `mws segment` loads neither numpy nor pyarrow."""
__all__ = [
    "BoundaryScores",
    "EvaluationReport",
    "Gold",
    "GoldWord",
    "NgramBits",
    "TextScores",
    "bits_differences",
    "evaluate",
    "ngram_bits",
    "read_gold",
    "read_lines",
    "score",
    "score_text",
    "segment_words",
]


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; public names: {', '.join(__all__)}")
        return getattr(import_module(_MODULES[name]), name)
