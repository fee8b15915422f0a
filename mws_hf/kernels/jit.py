"""numba's `njit` with a disk cache that notices every change of the package and every damage to itself.

numba's own cache looks at the file a kernel stands in, not at the files of the kernels it calls, so after an upgrade it
could run yesterday's machine code. A file cut short ends every run, and anybody who may write there has his code run.
Here the cache folder is named by a digest of all files that hold a kernel, a file's name is a digest of the kernel and
its constants, and each file carries a digest of its content (`mws_hf.kernels.cache`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.options import DefaultOptions

from mws_hf.kernels import cache

_PACKAGE = Path(__file__).resolve().parent.parent
_SIGNS = (b"njit", b"numba")
"""What only files that hold kernels, or what kernels are made of, say; in which folder they lie is no matter."""


@lru_cache(maxsize=1)
def cache_directory() -> Path:
    """Return the folder of machine code: ``NUMBA_CACHE_DIR`` or ``~/.cache/mws_hf/numba``, then a digest of sources.

    >>> len(cache_directory().name)
    16
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(_PACKAGE.rglob("*.py")):
        source = file.read_bytes()
        if any(sign in source for sign in _SIGNS):
            digest.update(source)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mws_hf" / "numba"
    return Path(os.environ.get("NUMBA_CACHE_DIR") or home) / digest.hexdigest()[:16]


def njit(
    function: Callable[..., Any] | None = None, *, allocates: bool = False, inner: bool = False, **options: Any
) -> Any:
    """Compile as ``numba.njit(cache=True)`` into `cache_directory`; numba's own cache serves if its parts are unknown.

    Args:
        function: the kernel.
        allocates: whether the kernel makes arrays, or returns one. Other kernels are compiled without reference counts,
            in less time, and are called in less. numba refuses to compile a kernel that allocates unannounced ("NRT
            required").
        inner: whether kernels alone call it. Then it is compiled without the part that Python calls, in two thirds of
            the time; called from Python it would crash.
        **options: options of `numba.njit`. ``inline="always"`` is for a kernel with one caller or a few lines: a kernel
            of its own costs 50 ms of compilation, and where kernels nest, each compiles those below it again.

    >>> @njit
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add(2, 3)
    5
    """
    if function is None:
        return lambda decorated: njit(decorated, allocates=allocates, inner=inner, **options)
    options = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner, **options}
    if hasattr(DefaultOptions, "_nrt"):
        options["_nrt"] = allocates
    compiled = numba.njit(**options)(function)
    if cache.attach(compiled, function, cache_directory()):
        return compiled
    if not cache.is_ours(cache_directory().parent):  # numba trusts whatever lies there
        return compiled
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba's word for: no folder to cache in
        return compiled
