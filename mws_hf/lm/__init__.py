"""A name only: `mws_hf.lm` is `mws_hf.research.lm`, also for ``python -m mws_hf.lm``."""

from __future__ import annotations

from mws_hf.research.names import keep_name

keep_name("mws_hf.lm", "mws_hf.research.lm")
