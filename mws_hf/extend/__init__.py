"""New merges behind those of a pretrained BPE tokenizer: read, learn on its own cuts, append. It touches no model."""

from __future__ import annotations

from mws_hf.extend.extension import Extension, extend

__all__ = ["Extension", "extend"]
