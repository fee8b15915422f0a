"""Compile kernels with numba at their first call, and cache their machine code (`njit`).

A kernel is a plain object until it is called. Only then is numba imported (0.3 s), and machine code is loaded or
compiled for this kernel and those that it calls. A command that calls no kernel runs without numba. The cache detects
changed sources and damaged files.

numba's own cache compares the file in which a kernel is defined, but not the files of the kernels that it calls, so
after an upgrade it could run outdated machine code. Here the cache folder is named after a digest of all files that
define a kernel. A key contains a kernel's argument types, its code, its constants and the kernels that it calls. The
constants are included because numba compiles constants and global values into the machine code.

Each kernel and signature has one file: a digest, then the pickled key and code. Damaged, unreadable or unwritable files
are skipped with one warning. Damage is detected before anything is unpickled or passed to LLVM, because LLVM would end
the process. Unpickling runs code from the file, so a file is read only if nobody except this user and root could have
written it; the digest protects against accidents, not against forgery. `attach` names every internal part of numba that
is used.

A wheel may also contain machine code (`SHIPPED`). It is read if a user's own folder has none, and it is as trusted as
the package itself.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import pickle
import secrets
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from mws_hf.errors import MwSError

_SIGNS = (b"njit", b"numba")
"""Words that only files with kernels, or with parts of kernels, contain; their folder does not matter."""


@lru_cache(maxsize=1)
def cache_directory() -> Path:
    """Return the folder of machine code, whose name is a digest of the sources of kernels and of the versions.

    Each version of numba and of Python has a folder of its own, because machine code of one is not loaded by another.
    It is in ``NUMBA_CACHE_DIR`` if that is set, otherwise in ``~/.cache/mws_hf/numba``.
    """
    import numba

    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}".encode())
    for source in _sources(files("mws_hf")):
        if any(sign in source for sign in _SIGNS):
            digest.update(source)
    return Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache() / "numba") / digest.hexdigest()[:16]


def _sources(package: Traversable) -> Iterator[bytes]:
    """Yield the sources of a package in the order of their names; the package may be in a zip file."""
    for entry in sorted(package.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry.read_bytes()


def user_cache() -> Path:
    """Return the folder for files that can be recreated: ``~/.cache/mws_hf``, or a temporary one without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mws_hf"
    except RuntimeError:  # no HOME, and a user id without an entry in the system, as in containers
        return Path(tempfile.gettempdir()) / f"mws_hf-{getattr(os, 'getuid', int)()}"


_NUMBA_LOCK = threading.RLock()
"""The lock that is held while numba makes or compiles a kernel, because its registries are not thread-safe."""


class LazyKernel:
    """A kernel, or another object that numba makes of a function, which is made at its first use.

    Attributes:
        py_func: the Python function.
    """

    def __init__(self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._make = function, make

    @cached_property
    def made(self) -> Any:
        """The object that numba made of the function.

        In the module of the function, all lazy kernels that the function calls are replaced by their objects, because
        numba can compile only calls of those.
        """
        with _NUMBA_LOCK:
            if "made" not in self.__dict__:  # another thread may have made it meanwhile
                known = self.py_func.__globals__
                for name in _names(self.py_func.__code__):
                    if isinstance(known.get(name), LazyKernel):
                        known[name] = known[name].made
                self.__dict__["made"] = self._make(self.py_func)
        return self.__dict__["made"]

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; the first call with arguments of new types loads or compiles machine code."""
        return self.made(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name == "made":  # numba raised an AttributeError when it made the kernel
            raise MwSError(f"numba cannot make the kernel {self.py_func.__name__}: pip install --upgrade numba")
        return getattr(self.made, name)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names that a function and the functions inside it may use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def njit(
    function: Callable[..., Any] | None = None, *, allocates: bool = False, inner: bool = False, **options: Any
) -> Any:
    """Compile a function as ``numba.njit(cache=True)`` does, but at its first call, and with our own cache.

    The cache is in `cache_directory`. If this version of numba does not have the internal parts that our cache needs,
    numba's own cache is used.

    Args:
        function: the kernel.
        allocates: whether the kernel makes or returns arrays. Without this option numba does not compile such a kernel
            ("NRT required"). Other kernels do not count references, so they are compiled and called faster.
        inner: whether only other kernels call the kernel. It is then compiled in two thirds of the time, but a call
            from Python would crash.
        **options: options of `numba.njit`. Use ``inline="always"`` for a kernel with one caller or a few lines, because
            each separate kernel takes 50 ms to compile, and a kernel compiles all kernels that it calls again.
    """
    if function is None:
        return lambda decorated: njit(decorated, allocates=allocates, inner=inner, **options)
    return LazyKernel(function, functools.partial(_dispatcher, allocates, inner, options))


def instruction(function: Callable[..., Any]) -> Any:
    """Make a processor instruction for kernels from a function, as numba's `intrinsic` does, at its first use."""

    def make(typing: Callable[..., Any]) -> Any:
        from numba.extending import intrinsic

        return intrinsic(typing)

    return LazyKernel(function, make)


def _dispatcher(allocates: bool, inner: bool, more: dict[str, Any], function: Callable[..., Any]) -> Any:
    """Make numba's dispatcher of a kernel, with our cache if this numba has the parts that the cache needs."""
    import numba
    from numba.core.options import DefaultOptions

    options = {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner, **more}
    if hasattr(DefaultOptions, "_nrt"):
        options["_nrt"] = allocates
    if numba.config.DISABLE_JIT:
        raise MwSError("NUMBA_DISABLE_JIT is set, but training and `mws encode` need compiled kernels; unset it")
    compiled = numba.njit(**options)(function)
    if not attach(compiled, function, cache_directory()):
        with contextlib.suppress(RuntimeError):  # numba raises it if there is no folder to cache in
            if is_ours(cache_directory().parent):  # numba trusts any file there
                compiled = numba.njit(cache=True, **options)(function)
    compile_one = compiled._compile_for_args  # the method for a signature that is not compiled yet

    def compile_locked(*arguments: Any, **named: Any) -> Any:
        with _NUMBA_LOCK:
            return compile_one(*arguments, **named)

    compiled._compile_for_args = compile_locked
    return compiled


def constants_digest(function: Callable[..., Any]) -> str:
    """Return a digest of a function's code and constants, and of the functions and global values that it uses."""
    parts: list[str] = []
    _add_function(function, parts, set())
    return hashlib.sha256("\n".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def _add_function(function: Any, parts: list[str], seen: set[int]) -> None:
    """Append a function or kernel to `parts`, unless it is in `seen`, because kernels may call themselves."""
    function = getattr(function, "py_func", function)
    if id(function) in seen:
        return
    seen.add(id(function))
    names: set[str] = set()
    _add_code(function.__code__, parts, names)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values = {name: cell.cell_contents for name, cell in cells}
    values |= {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name in sorted(values):
        parts.append(name)
        _add_value(values[name], parts, seen)


def _add_code(code: CodeType, parts: list[str], names: set[str]) -> None:
    """Append the bytecode and the constants of a function to `parts`, and the names that it uses to `names`."""
    parts.append(f"{code.co_code!r} {code.co_names} {code.co_varnames}")
    names.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(constant, parts, names)
        elif isinstance(constant, frozenset):
            parts.append(f"{sorted(map(repr, constant))}")  # its order differs from run to run
        else:
            parts.append(f"{type(constant).__name__} {constant!r}")


def _add_value(value: Any, parts: list[str], seen: set[int]) -> None:
    """Append a constant or global value to `parts`; functions and kernels are followed."""
    kind = type(value).__name__
    if hasattr(getattr(value, "py_func", value), "__code__"):
        _add_function(value, parts, seen)
    elif isinstance(value, np.ndarray):
        parts.append(f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
    elif isinstance(value, tuple):
        for element in value:
            _add_value(element, parts, seen)
    elif isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        parts.append(f"{kind} {value!r}")
    else:
        parts.append(f"{kind} {getattr(value, '__name__', '')}")


logger = logging.getLogger(__name__)
notices = logging.getLogger(__name__ + ".notices")
"""The logger whose level decides whether `report_compiling` prints its note; `--quiet` sets it above WARNING."""

_DIGEST_BYTES = 32  # of SHA-256, at the beginning of a file
_COMPILING = "compiling kernels for this machine (only once, about 15 s)"
_DAMAGED = "the cache of compiled kernels %s is damaged (%s); the damaged kernels are compiled again"
_UNREADABLE = "the cache of compiled kernels %s cannot be read (%s); kernels are compiled again, for about 15 s"
_UNWRITABLE = (
    "compiled kernels cannot be stored in %s (%s), so each process compiles them for about 15 s; set NUMBA_CACHE_DIR "
    "to a folder that only you can write"
)
_FOREIGN = (
    "the cache of compiled kernels %s is not used, because it could contain another user's code (%s), so each process "
    "compiles kernels for about 15 s; set NUMBA_CACHE_DIR to a folder that only you can write"
)
SHIPPED = Path(__file__).with_name("machine_code")
"""The folder of the machine code in a wheel, which `scripts/project.py wheel` makes; a checkout does not have it."""
PROCESSOR_FILE = "processor.json"
"""The file in `SHIPPED` that names the processor it was compiled for: numba's triple, name and features."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_shown: set[str] = set()
"""The messages that this process has already shown."""
_compilations: list[float] = []
"""The times at which kernels had to be compiled, in seconds."""


def attach(dispatcher: Any, function: Callable[..., Any], folder: Path) -> bool:
    """Make a numba dispatcher store its machine code in `folder`; return False if this numba lacks the necessary parts.

    numba's own cache imports SciPy, if that is installed, when it loads code (0.4 s in every process), and it trusts
    its files.
    """
    try:
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys
        from numba.core.serialize import dumps

        rebuild, _ = CompileResult._rebuild, CompileResult._reduce
        dispatcher._cache.load_overload, dispatcher._cache.save_overload  # noqa: B018 - raises AttributeError if they are missing
        dispatcher._cache = _KernelCache(function, folder, rtsys.initialize, rebuild, dumps)
    except (ImportError, AttributeError):
        return False
    return True


@dataclass(eq=False)
class _KernelCache:
    """The cache of a dispatcher. Errors of reading and writing become warnings."""

    _function: Callable[..., Any]
    _folder: Path
    _initialize: Callable[[Any], None]  # prepares numba's runtime for loaded code
    _rebuild: Callable[..., Any]  # makes runnable code from the stored form
    _dumps: Callable[[Any], bytes]

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def flush(self) -> None:
        """Do nothing; numba calls this method from `recompile`."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code of a signature; None if it must be compiled."""
        self._initialize(target_context)
        processor = target_context.codegen().magic_tuple()
        shipped = SHIPPED / self._folder.name
        for folder, made_for in ((self._folder, processor), (shipped, shipped_for(processor))):
            key = signature, made_for, self._folder.name, self._where
            content = self._read(self._path(key, folder)) if made_for is not None else None
            if content is not None:
                found, code = pickle.loads(content)
                if found == key:
                    return self._rebuild(target_context, *code)
        report_compiling()
        return None

    def _read(self, path: Path) -> bytes | None:
        """Return the content of a file without its digest.

        The result is None if the file is absent, unreadable or damaged, or if another user could have written it.
        """
        shipped = path.is_relative_to(SHIPPED)  # whoever can write there can change the package itself
        try:
            if not shipped and self._is_foreign(os.lstat(self._folder), self._folder):
                return None
            with open(path, "rb", opener=_open_no_link) as file:
                if not shipped and self._is_foreign(os.fstat(file.fileno()), path):
                    return None
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn_once(_UNREADABLE, self._folder, error.strerror or str(error))
            return None
        digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if hashlib.sha256(payload).digest() != digest:
            _warn_once(_DAMAGED, self._folder, path.name)
            return None
        return payload

    def _is_foreign(self, status: os.stat_result, path: Path) -> bool:
        """Return whether another user could have written a file or folder, and warn once if so."""
        reason = _foreign(status)
        if reason is not None:
            _warn_once(_FOREIGN, self._folder, reason if path == self._folder else f"{path.name}: {reason}")
        return reason is not None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store compiled code, if it can be stored."""
        if compiled.library.has_dynamic_globals or not all(lifted.can_cache for lifted in compiled.lifted):
            return
        key = signature, compiled.library.codegen.magic_tuple(), self._folder.name, self._where
        content = self._dumps((key, compiled._reduce()))
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._is_foreign(os.lstat(self._folder), self._folder):
                _write(self._path(key, self._folder), hashlib.sha256(content).digest() + content)
        except OSError as error:
            _warn_once(_UNWRITABLE, self._folder, error.strerror or str(error))

    @cached_property
    def _where(self) -> tuple[str, str, int, str]:
        """The identity of the kernel: its position in the source, its code, and that of the kernels that it calls."""
        function = self._function
        return function.__module__, function.__qualname__, function.__code__.co_firstlineno, constants_digest(function)

    def _path(self, key: tuple[Any, ...], folder: Path) -> Path:
        """Return the file for a key (types, processor, sources and kernel); no two keys have the same file."""
        digest = hashlib.sha256(f"{sys.version_info[:2]} {key!r}".encode()).hexdigest()
        return folder / f"{self._function.__name__}-{digest[:24]}.kernel"


@lru_cache(maxsize=1)
def shipped_for(processor: tuple[str, str, str]) -> tuple[str, str, str] | None:
    """Return the processor that `SHIPPED` was compiled for, if `processor` has all its features; otherwise None."""
    try:
        triple, name, features = json.loads((SHIPPED / PROCESSOR_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    needed = {feature for feature in features.split(",") if feature.startswith("+")}
    return (triple, name, features) if triple == processor[0] and needed <= set(processor[2].split(",")) else None


def is_ours(folder: Path) -> bool:
    """Return whether only this user and root can write in a folder, or whether it is absent."""
    try:
        return _foreign(os.lstat(folder)) is None
    except OSError:
        return True


def _foreign(status: os.stat_result) -> str | None:
    """Return why another user could have written a folder or file with this status; None if nobody else could.

    The result is also None on systems in which files have no owners.
    """
    if not hasattr(os, "geteuid"):
        return None
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return "it is a link or a device"
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & _OTHERS_WRITE:
        return f"other users can write to it, mode {stat.S_IMODE(status.st_mode):03o}"
    return None


def _open_no_link(path: str, flags: int) -> int:
    """Open a file, but not the target of a link."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _write(path: Path, content: bytes) -> None:
    """Write a file that only this user can read, in one step, so that no other process reads a part of it."""
    temporary = path.with_suffix(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def report_compiling() -> None:
    """Print once per process that kernels are being compiled: on a terminal at once, elsewhere after a second."""
    if _COMPILING in _shown or sys.stderr is None or not notices.isEnabledFor(logging.WARNING):
        return
    _compilations.append(time.monotonic())
    if sys.stderr.isatty() or _compilations[-1] - _compilations[0] > 1:
        _shown.add(_COMPILING)
        if "tqdm" in sys.modules:  # its `write` does not damage progress bars
            sys.modules["tqdm"].tqdm.write(_COMPILING, file=sys.stderr)
        else:
            sys.stderr.write(f"{_COMPILING}\n")


def _warn_once(template: str, folder: Path, reason: str) -> None:
    """Log a warning about a folder, once per process; the template has places for the folder and the reason."""
    if template not in _shown:
        _shown.add(template)
        logger.warning(template, folder, reason)
