"""Measure how well a tokenizer cuts: boundary scores against gold, and measures on running text.

`evaluate` does it all for any Hugging Face tokenizer directory; the parts: `encoder` and `segment` (any tokenizer),
`boundaries`, `running_text`, `significance`, `ngram_bits` (bits per byte, by `kneser_ney`),
`minimal_pairs` (which of two sentences is the more probable).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

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


class _Callable(ModuleType):
    """The module as a function, so that `mws_hf.evaluate(...)` is `mws_hf.evaluate.evaluate(...)`."""

    def __call__(self, *arguments: Any, **options: Any) -> EvaluationReport:
        return evaluate(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
