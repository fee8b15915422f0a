"""Language models on any tokenizer directory (needs torch and accelerate): `python -m lm` from `scripts/`.

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
    "BitsPerByte": "lm.scoring",
    "Codec": "lm.data",
    "MultiTokenConfig": "lm.model",
    "MultiTokenModel": "lm.model",
    "RunConfig": "lm.config",
    "bits_per_byte": "lm.scoring",
    "evaluate_run": "lm.evaluation",
    "generate": "lm.decoding",
    "paired_bootstrap": "mws_hf.evaluate.significance",
    "pretrain": "lm.training",
    "speculative_generate": "lm.decoding",
    "transplant": "mws_hf.extend.embeddings",
}
__all__ = sorted(_MODULE)  # noqa: PLE0605

if importlib.util.find_spec("torch") is None:
    raise MwSError("language models need PyTorch, which is not installed: pip install torch accelerate")


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'lm' has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(importlib.import_module(_MODULE[name]), name)
