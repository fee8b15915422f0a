"""Language models on any tokenizer directory (extra `mws-hf[lm]`).

`pretrain` trains a small decoder, `evaluate_run` measures bits per byte, `transplant` gives a pretrained model another
tokenizer, `MultiTokenModel` predicts several tokens at once. All of it needs torch: importing this package without it
says what to install.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from mws_hf.errors import MwSError

# names are imported when asked for, so that `--help` and scripts need not wait for torch; no module has a public name
_MODULE = {
    "BitsPerByte": "mws_hf.research.lm.scoring",
    "Codec": "mws_hf.research.lm.data",
    "MultiTokenConfig": "mws_hf.research.lm.model",
    "MultiTokenModel": "mws_hf.research.lm.model",
    "RunConfig": "mws_hf.research.lm.config",
    "bits_per_byte": "mws_hf.research.lm.scoring",
    "evaluate_run": "mws_hf.research.lm.evaluation",
    "generate": "mws_hf.research.lm.decoding",
    "judge": "mws_hf.research.lm.evaluation",
    "paired_bootstrap": "mws_hf.evaluate.significance",
    "pretrain": "mws_hf.research.lm.training",
    "speculative_generate": "mws_hf.research.lm.decoding",
    "transplant": "mws_hf.extend.embeddings",
}
__all__ = sorted(_MODULE)  # noqa: PLE0605

if importlib.util.find_spec("torch") is None:
    raise MwSError("language models need PyTorch, which is not installed; install it with: pip install mws-hf[lm]")


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'mws_hf.lm' has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(importlib.import_module(_MODULE[name]), name)
