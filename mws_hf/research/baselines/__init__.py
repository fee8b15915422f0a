"""The rival systems, trained from the same word counts; none of them is used by MwS itself."""

from __future__ import annotations

from mws_hf.research.baselines.registry import BASELINES, Baseline, System, load, train

__all__ = ["BASELINES", "Baseline", "System", "load", "train"]
