"""numba's `njit` with a disk cache that notices every change of the package; it compiles nothing itself.

numba's own cache looks at the file a kernel stands in, not at the files of the kernels it calls, so after an upgrade it
could run yesterday's machine code. Here the cache folder is named by a digest of all kernel sources.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

_PACKAGE = Path(__file__).resolve().parent.parent
_KERNEL_FOLDERS = ("kernels", "learn", "words", "encode")


@lru_cache(maxsize=1)
def cache_directory() -> Path:
    """Where machine code is kept: ``NUMBA_CACHE_DIR`` or ``~/.cache/mws_hf/numba``, then a digest of the sources.

    >>> len(cache_directory().name)
    16
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for folder in _KERNEL_FOLDERS:
        for file in sorted((_PACKAGE / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mws_hf" / "numba"
    return Path(os.environ.get("NUMBA_CACHE_DIR") or home) / digest.hexdigest()[:16]


class _LightCache(FunctionCache):
    """numba's cache without its first step at loading, `target_context.refresh()`.

    That step makes everything known that a kernel may be compiled with, and imports SciPy for it where there is one:
    0.4 s in every process. A loaded kernel is compiled; it needs the runtime alone. Compiling refreshes by itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code of a signature, or None when it is not in the cache."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit(cache=True)` into `cache_directory`; without a cache where no folder can be written.

    >>> @njit
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add(2, 3)
    5
    """
    if function is None:
        return lambda decorated: njit(decorated, **options)
    compiled = numba.njit(**options)(function)
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        compiled._cache = _LightCache(function)  # what `enable_caching` does with FunctionCache
    except RuntimeError:  # numba's word for: no folder to cache in
        pass
    finally:
        numba.config.CACHE_DIR = usual
    return compiled
