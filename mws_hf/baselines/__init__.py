"""A name only: `mws_hf.baselines` is `mws_hf.research.baselines`."""

from __future__ import annotations

from mws_hf.research.names import keep_name

keep_name("mws_hf.baselines", "mws_hf.research.baselines")
