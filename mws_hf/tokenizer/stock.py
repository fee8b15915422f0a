"""The `tokenizers` of Hugging Face, whichever version is installed; other modules import its names from here.

Up to 0.x these names are the library's own. 1.0 kept encoding and decoding alone: there `stock_one` builds and reads
tokenizer.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tokenizers

IS_ONE = not hasattr(tokenizers, "models")
"""Whether it is `tokenizers` 1.0 or later."""

if TYPE_CHECKING or not IS_ONE:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
else:
    from mws_hf.tokenizer.stock_one import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

__all__ = [
    "IS_ONE",
    "AddedToken",
    "Regex",
    "Tokenizer",
    "decoders",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
]
