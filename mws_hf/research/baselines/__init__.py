"""The rival systems, trained from the same word counts; none of them is used by MwS itself."""

from __future__ import annotations

from mws_hf.errors import MwSError
from mws_hf.tokenizer.stock import IS_ONE

if IS_ONE:
    raise MwSError("the rivals are trained by tokenizers 0.x (1.0 has no trainers): pip install 'tokenizers<1'")

from mws_hf.research.baselines.registry import BASELINES, Baseline, System, load, train

__all__ = ["BASELINES", "Baseline", "System", "load", "train"]
