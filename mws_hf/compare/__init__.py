"""MwS and baseline tokenizers (called rivals in the API), trained and evaluated on the same words."""

from __future__ import annotations

from mws_hf.compare.results import Comparison
from mws_hf.compare.run import DEFAULT_SYSTEMS, SystemSpec, compare, parse_systems

__all__ = ["DEFAULT_SYSTEMS", "Comparison", "SystemSpec", "compare", "parse_systems"]
