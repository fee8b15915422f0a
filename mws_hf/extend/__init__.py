"""Surgery on pretrained BPE tokenizers: trim and extend; and on their models' rows. Import what you need by module.

`extension.extend` learns new merges on the base's own cuts and appends them, `trim.trim` drops entries that texts do
not use, `embeddings` finds the old row of each new id.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mws_hf.extend.extension import Extension


class _Callable(ModuleType):
    """So that `mws_hf.extend(...)` is `mws_hf.extend.extension.extend(...)`."""

    def __call__(self, *arguments: Any, **options: Any) -> Extension:
        from mws_hf.extend.extension import extend

        return extend(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
