"""MwS against its rivals on one corpus: train over vocabulary sizes, evaluate, write tables and plots."""

from __future__ import annotations

from mws_hf.research.compare.plan import DEFAULT_SYSTEMS, SystemSpec, parse_systems
from mws_hf.research.compare.results import Comparison, Row
from mws_hf.research.compare.run import compare

__all__ = ["DEFAULT_SYSTEMS", "Comparison", "Row", "SystemSpec", "compare", "parse_systems"]
