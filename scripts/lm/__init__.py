"""Language models on any tokenizer directory (needs torch and accelerate): `python scripts/lm`.

`training.pretrain` trains a small decoder, `evaluation.evaluate_run` measures bits per byte, `model.MultiTokenModel`
predicts several tokens at once. All of it needs torch: importing this package without it says what to install.
"""

import importlib.util

from mws_hf.errors import MwSError

if importlib.util.find_spec("torch") is None:
    raise MwSError("language models need PyTorch, which is not installed: pip install torch accelerate")
