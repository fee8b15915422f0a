"""Train MwS and baseline tokenizers on the same words, and compare them."""

from __future__ import annotations

from mws_hf.compare.results import Comparison
from mws_hf.compare.run import DEFAULT_SYSTEMS, SystemSpec, compare, parse_systems

__all__ = ["DEFAULT_SYSTEMS", "Comparison", "SystemSpec", "compare", "parse_systems"]
