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

_PACKAGE = Path(__file__).resolve().parent
_KERNEL_FOLDERS = ("learn", "words", "encode")


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
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba's word for: no folder to cache in
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = usual
