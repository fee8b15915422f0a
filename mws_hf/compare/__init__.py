"""A name only: `mws_hf.compare` is `mws_hf.research.compare`."""

from __future__ import annotations

from mws_hf.research.names import keep_name

keep_name("mws_hf.compare", "mws_hf.research.compare")
