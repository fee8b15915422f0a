"""Measure how well a tokenizer cuts: boundary scores against gold, and measures on running text.

`evaluate` does it all for any Hugging Face tokenizer directory; the parts: `encoder` and `segment` (any tokenizer),
`boundaries`, `running_text`, `significance`, `ngram_bits` (bits per byte, by `kneser_ney`).
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import Gold, GoldWord, read_gold
    from mws_hf.evaluate.boundaries import BoundaryScores, score
    from mws_hf.evaluate.ngram_bits import NgramBits, bits_differences, ngram_bits
    from mws_hf.evaluate.report import EvaluationReport, evaluate
    from mws_hf.evaluate.running_text import TextScores, read_lines, score_text
    from mws_hf.evaluate.segment import segment_words

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


_HOME = {
    "Gold": "mws_hf.corpus.segmentations",
    "GoldWord": "mws_hf.corpus.segmentations",
    "read_gold": "mws_hf.corpus.segmentations",
    "BoundaryScores": "mws_hf.evaluate.boundaries",
    "score": "mws_hf.evaluate.boundaries",
    "NgramBits": "mws_hf.evaluate.ngram_bits",
    "bits_differences": "mws_hf.evaluate.ngram_bits",
    "ngram_bits": "mws_hf.evaluate.ngram_bits",
    "EvaluationReport": "mws_hf.evaluate.report",
    "evaluate": "mws_hf.evaluate.report",
    "TextScores": "mws_hf.evaluate.running_text",
    "read_lines": "mws_hf.evaluate.running_text",
    "score_text": "mws_hf.evaluate.running_text",
    "segment_words": "mws_hf.evaluate.segment",
}
"""Where each public name is: imported on first use, so that `mws segment` loads neither numpy nor pyarrow."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


class _Callable(ModuleType):
    """The module as a function, so that `mws_hf.evaluate(...)` is `mws_hf.evaluate.evaluate(...)`."""

    def __call__(self, *arguments: Any, **options: Any) -> EvaluationReport:
        return __getattr__("evaluate")(*arguments, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        """Let no submodule hide the function of its name."""
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Callable
