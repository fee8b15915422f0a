"""Measure how well a tokenizer cuts: scores against gold, and measures on running text; `evaluate` does it all."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_HOME = {
    "BoundaryScores": "mws_hf.evaluate.boundaries",
    "EvaluationReport": "mws_hf.evaluate.evaluation",
    "Gold": "mws_hf.corpus.segmentations",
    "GoldWord": "mws_hf.corpus.segmentations",
    "NgramBits": "mws_hf.evaluate.ngram_bits",
    "TextScores": "mws_hf.evaluate.running_text",
    "bits_differences": "mws_hf.evaluate.ngram_bits",
    "evaluate": "mws_hf.evaluate.evaluation",
    "ngram_bits": "mws_hf.evaluate.ngram_bits",
    "read_gold": "mws_hf.corpus.segmentations",
    "read_lines": "mws_hf.evaluate.running_text",
    "score": "mws_hf.evaluate.boundaries",
    "score_text": "mws_hf.evaluate.running_text",
    "segment_words": "mws_hf.evaluate.segment",
}
"""Where each public name is: imported on first use, so that `mws segment` loads neither numpy nor pyarrow."""
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


class _Callable(ModuleType):
    """The module as a function, so that `mws_hf.evaluate(...)` is `mws_hf.evaluate.evaluate(...)`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return __getattr__("evaluate")(*arguments, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        """Let no submodule hide the function of its name."""
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Callable
