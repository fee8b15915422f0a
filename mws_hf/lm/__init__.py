"""Language models on any tokenizer directory (extra `mws-hf[lm]`); nothing else in the package imports this.

`pretrain` trains a small decoder, `evaluate_run` measures bits per byte, `transplant` gives a pretrained model another
tokenizer, `MultiTokenModel` predicts several tokens at once. All of it needs torch: importing this package without it
says what to install.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from mws_hf.errors import MwSError

_HOME = {
    "BitsPerByte": "mws_hf.lm.bits_per_byte",
    "Codec": "mws_hf.lm.codec",
    "MultiTokenConfig": "mws_hf.lm.mtp",
    "MultiTokenModel": "mws_hf.lm.mtp",
    "RunConfig": "mws_hf.lm.config",
    "bits_per_byte": "mws_hf.lm.bits_per_byte",
    "evaluate_run": "mws_hf.lm.evaluation",
    "generate": "mws_hf.lm.generate",
    "paired_bootstrap": "mws_hf.evaluate.paired",
    "pretrain": "mws_hf.lm.pretrain",
    "speculative_generate": "mws_hf.lm.speculative",
    "transplant": "mws_hf.lm.transplant",
}

__all__ = [
    "BitsPerByte",
    "Codec",
    "MultiTokenConfig",
    "MultiTokenModel",
    "RunConfig",
    "bits_per_byte",
    "evaluate_run",
    "generate",
    "paired_bootstrap",
    "pretrain",
    "speculative_generate",
    "transplant",
]

if importlib.util.find_spec("torch") is None:
    raise MwSError("language models need PyTorch, which is not installed; install it with: pip install mws-hf[lm]")


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mws_hf.lm' has no attribute {name!r}; public names: {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value
