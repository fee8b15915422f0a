"""numba's `njit`, at the first call, with a disk cache that notices every change of the package and every damage.

A kernel is a plain object until it is called: only then is numba imported (0.3 s) and machine code loaded or compiled,
for this kernel and those that it calls. A command that needs no kernel does without numba.

numba's own cache looks at the file a kernel stands in, not at the files of the kernels it calls, so after an upgrade it
could run yesterday's machine code. Here the cache folder is named by a digest of all files that hold a kernel
(`mws_hf.kernels.cache` has its files).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.kernels import cache

_PACKAGE = Path(__file__).resolve().parent.parent
_SIGNS = (b"njit", b"numba")
"""What only files that hold kernels, or what kernels are made of, say; in which folder they lie is no matter."""


@lru_cache(maxsize=1)
def cache_directory() -> Path:
    """Return the folder of machine code: ``NUMBA_CACHE_DIR`` or ``~/.cache/mws_hf/numba``, then a digest of sources."""
    import numba

    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(_PACKAGE.rglob("*.py")):
        source = file.read_bytes()
        if any(sign in source for sign in _SIGNS):
            digest.update(source)
    return Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache() / "numba") / digest.hexdigest()[:16]


def user_cache() -> Path:
    """Return the folder for what can be made again: ``~/.cache/mws_hf``, or without a home a temporary one."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mws_hf"
    except RuntimeError:  # no HOME, and a user id that the system does not know, as in containers
        return Path(tempfile.gettempdir()) / f"mws_hf-{getattr(os, 'getuid', int)()}"


_MAKING = threading.RLock()
"""Held while numba makes a kernel or compiles it: its registries break where two threads come at once."""


class Later:
    """What numba makes of a function, made when it is first asked for; it is called like the result of `make`."""

    def __init__(self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._make = function, make

    @cached_property
    def made(self) -> Any:
        """What numba made of the function; in its module the names of others like it now stand for theirs."""
        with _MAKING:
            if "made" not in self.__dict__:
                known = self.py_func.__globals__
                for name in _names(self.py_func.__code__):
                    if isinstance(known.get(name), Later):
                        known[name] = known[name].made
                self.__dict__["made"] = self._make(self.py_func)
        return self.__dict__["made"]

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel."""
        return self.made(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name == "made":  # making it failed: an AttributeError of numba's
            raise MwSError(f"numba cannot make the kernel {self.py_func.__name__}; pip install --upgrade numba")
        return getattr(self.made, name)


def _names(code: CodeType) -> Iterator[str]:
    """List the global names that a function and those within it may use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def njit(
    function: Callable[..., Any] | None = None, *, allocates: bool = False, inner: bool = False, **options: Any
) -> Any:
    """Compile as ``numba.njit(cache=True)`` into `cache_directory`; numba's own cache serves if its parts are unknown.

    Args:
        function: the kernel.
        allocates: whether the kernel makes or returns arrays; numba refuses to compile one otherwise ("NRT required").
            Other kernels do without reference counts: they compile and are called faster.
        inner: whether kernels alone call it. It compiles in two thirds of the time; called from Python it would crash.
        **options: options of `numba.njit`. ``inline="always"`` is for a kernel with one caller or a few lines: a kernel
            of its own costs 50 ms of compilation, and where kernels nest, each compiles those below it again.
    """
    if function is None:
        return lambda decorated: njit(decorated, allocates=allocates, inner=inner, **options)
    return Later(function, functools.partial(_dispatcher, allocates, inner, options))


def instruction(function: Callable[..., Any]) -> Any:
    """Let kernels call what numba's `intrinsic` makes of a function."""

    def make(typing: Callable[..., Any]) -> Any:
        from numba.extending import intrinsic

        return intrinsic(typing)

    return Later(function, make)


def _dispatcher(allocates: bool, inner: bool, more: dict[str, Any], function: Callable[..., Any]) -> Any:
    """Make numba's dispatcher of a kernel, with our cache where this numba has the parts that it takes."""
    import numba
    from numba.core.options import DefaultOptions

    options = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner, **more}
    if hasattr(DefaultOptions, "_nrt"):
        options["_nrt"] = allocates
    if numba.config.DISABLE_JIT:
        raise MwSError("NUMBA_DISABLE_JIT is set, but training and encoding in bulk need compiled kernels; unset it")
    compiled = numba.njit(**options)(function)
    if not cache.attach(compiled, function, cache_directory()):
        with contextlib.suppress(RuntimeError):  # numba's word for: no folder to cache in
            if cache.is_ours(cache_directory().parent):  # numba trusts whatever lies there
                compiled = numba.njit(cache=True, **options)(function)
    compile_one = compiled._compile_for_args  # what it calls for a signature that is new to it

    def compile_alone(*arguments: Any, **named: Any) -> Any:
        with _MAKING:
            return compile_one(*arguments, **named)

    compiled._compile_for_args = compile_alone
    return compiled
