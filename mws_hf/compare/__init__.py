"""Train MwS and baseline tokenizers on the same words, and compare them."""

from __future__ import annotations

from mws_hf.compare.results import Comparison
from mws_hf.compare.run import compare
from mws_hf.compare.systems import DEFAULT_SYSTEMS, SystemSpec, parse_systems

__all__ = ["DEFAULT_SYSTEMS", "Comparison", "SystemSpec", "compare", "parse_systems"]
