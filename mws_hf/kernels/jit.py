"""numba's `njit`, at the first call, with a disk cache that notices every change of the package and every damage.

A kernel is a plain object until it is called: only then is numba imported (0.3 s) and machine code loaded or compiled,
for this kernel and those that it calls. A command that needs no kernel does without numba.

numba's own cache looks at the file a kernel stands in, not at the files of the kernels it calls, so after an upgrade it
could run yesterday's machine code. Here the cache folder is named by a digest of all files that hold a kernel. A key
holds a kernel's argument types, its code, its constants and the kernels it calls: numba freezes constants and global
values into machine code, so a kernel whose constant changed is another kernel.

There is one file for each kernel and signature: a digest of the rest, then the pickled key and code. Damaged,
unreadable or unwritable files are passed over, with one note. Damage is noticed before anything is unpickled or handed
to LLVM, which would end the process. Unpickling runs code of the file, so it is read only where nobody but this user or
root can have written it: the digest guards against accidents, not against forgery. `attach` names every inner part of
numba that is used.

A wheel may carry machine code too (`SHIPPED`); it is read where a user's own folder has none, and trusted as the
package is.
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
"""What only files that hold kernels, or what kernels are made of, say; in which folder they lie is no matter."""


@lru_cache(maxsize=1)
def cache_directory() -> Path:
    """Return the folder of machine code: ``NUMBA_CACHE_DIR`` or ``~/.cache/mws_hf/numba``, then a digest of sources."""
    import numba

    digest = hashlib.sha256(numba.__version__.encode())
    for source in _sources(files("mws_hf")):
        if any(sign in source for sign in _SIGNS):
            digest.update(source)
    return Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache() / "numba") / digest.hexdigest()[:16]


def _sources(package: Traversable) -> Iterator[bytes]:
    """Yield the sources of a package in the order of their names; the package may lie in a zip."""
    for each in sorted(package.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from _sources(each)
        elif each.name.endswith(".py"):
            yield each.read_bytes()


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
    if not attach(compiled, function, cache_directory()):
        with contextlib.suppress(RuntimeError):  # numba's word for: no folder to cache in
            if is_ours(cache_directory().parent):  # numba trusts whatever lies there
                compiled = numba.njit(cache=True, **options)(function)
    compile_one = compiled._compile_for_args  # what it calls for a signature that is new to it

    def compile_alone(*arguments: Any, **named: Any) -> Any:
        with _MAKING:
            return compile_one(*arguments, **named)

    compiled._compile_for_args = compile_alone
    return compiled


def constants_digest(function: Callable[..., Any]) -> str:
    """Digest a function's code, all constants in it, and the functions and global values that it names."""
    parts: list[str] = []
    _add_function(function, parts, set())
    return hashlib.sha256("\n".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def _add_function(function: Any, parts: list[str], seen: set[int]) -> None:
    """Add a function or kernel, each once: kernels may call themselves."""
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
    parts.append(f"{code.co_code!r} {code.co_names} {code.co_varnames}")
    names.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(constant, parts, names)
        elif isinstance(constant, frozenset):
            parts.append(f"{sorted(map(repr, constant))}")  # whose order differs from run to run
        else:
            parts.append(f"{type(constant).__name__} {constant!r}")


def _add_value(value: Any, parts: list[str], seen: set[int]) -> None:
    kind = type(value).__name__
    if hasattr(getattr(value, "py_func", value), "__code__"):
        _add_function(value, parts, seen)
    elif isinstance(value, np.ndarray):
        parts.append(f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
    elif isinstance(value, tuple):
        for each in value:
            _add_value(each, parts, seen)
    elif isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        parts.append(f"{kind} {value!r}")
    else:
        parts.append(f"{kind} {getattr(value, '__name__', '')}")


logger = logging.getLogger(__name__)
notices = logging.getLogger(__name__ + ".notices")
"""Says that kernels are being compiled, unless its level is above WARNING (``--quiet``)."""

_SEAL = 32  # bytes of SHA-256
_COMPILING = "compiling kernels for this machine, once, about 15 s"
_DAMAGED = "the cache of compiled kernels %s is damaged (%s) and is mended: what is damaged is compiled anew"
_UNREADABLE = "the cache of compiled kernels %s cannot be read (%s): kernels are compiled anew, for about 15 s"
_UNWRITABLE = (
    "compiled kernels cannot be kept in %s (%s): every process compiles them, for about 15 s; set NUMBA_CACHE_DIR to a "
    "folder of your own that nobody else can write"
)
_FOREIGN = (
    "the cache of compiled kernels %s is not used (%s), for it could hold another's code: every process compiles, for "
    "about 15 s; set NUMBA_CACHE_DIR to a folder of your own that nobody else can write"
)
SHIPPED = Path(__file__).with_name("machine_code")
"""Machine code that came with the package: made by `scripts/project.py wheel`, absent from a checkout."""
PROCESSOR_FILE = "processor.json"
"""In `SHIPPED`, what its code was compiled for: numba's triple, name and features of a processor."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_said: set[str] = set()
_asked: list[float] = []  # when kernels had to be compiled


def attach(dispatcher: Any, function: Callable[..., Any], folder: Path) -> bool:
    """Let a numba dispatcher keep its machine code in `folder`; False where this numba lacks the parts it takes.

    numba's own cache imports SciPy at loading where there is one (0.4 s in every process), and it trusts its files.
    """
    try:
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys
        from numba.core.serialize import dumps

        rebuild, _ = CompileResult._rebuild, CompileResult._reduce
        dispatcher._cache.load_overload, dispatcher._cache.save_overload  # noqa: B018 - there must be such a slot
        dispatcher._cache = _KernelCache(function, folder, rtsys.initialize, rebuild, dumps)
    except (ImportError, AttributeError):
        return False
    return True


@dataclass(eq=False)
class _KernelCache:
    """The cache that a dispatcher asks. No error of reading or writing leaves it."""

    _function: Callable[..., Any]
    _folder: Path
    _initialize: Callable[[Any], None]  # readies numba's runtime for code that was loaded
    _rebuild: Callable[..., Any]  # makes code ready to run from what was stored
    _dumps: Callable[[Any], bytes]

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def flush(self) -> None:
        """Do nothing: numba calls it when a kernel is compiled anew by hand."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code of a signature, or None when it has to be compiled."""
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
        say_compiling()
        return None

    def _read(self, path: Path) -> bytes | None:
        """Return the content of a file, if it is there, whole, and nobody else can have written it."""
        shipped = path.is_relative_to(SHIPPED)  # who may write there may change the package itself
        try:
            if not shipped and self._is_foreign(os.lstat(self._folder), self._folder):
                return None
            with open(path, "rb", opener=_open_no_link) as file:
                if not shipped and self._is_foreign(os.fstat(file.fileno()), path):
                    return None
                sealed = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn_once(_UNREADABLE, self._folder, error.strerror or str(error))
            return None
        if hashlib.sha256(sealed[_SEAL:]).digest() != sealed[:_SEAL]:
            _warn_once(_DAMAGED, self._folder, path.name)
            return None
        return sealed[_SEAL:]

    def _is_foreign(self, status: os.stat_result, path: Path) -> bool:
        reason = _foreign(status)
        if reason is not None:
            _warn_once(_FOREIGN, self._folder, reason if path == self._folder else f"{path.name}: {reason}")
        return reason is not None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code, where it can be kept."""
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
        """The kernel's identity: its place in the source, and the code of it and of the kernels it calls."""
        function = self._function
        return function.__module__, function.__qualname__, function.__code__.co_firstlineno, constants_digest(function)

    def _path(self, key: tuple[Any, ...], folder: Path) -> Path:
        """Name the file of a key (types, processor, sources, the kernel itself): no file serves as another's."""
        digest = hashlib.sha256(f"{sys.version_info[:2]} {key!r}".encode()).hexdigest()
        return folder / f"{self._function.__name__}-{digest[:24]}.kernel"


@lru_cache(maxsize=1)
def shipped_for(processor: tuple[str, str, str]) -> tuple[str, str, str] | None:
    """Return the processor that `SHIPPED` was compiled for, if `processor` can do all that it can; None otherwise."""
    try:
        triple, name, features = json.loads((SHIPPED / PROCESSOR_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    needed = {each for each in features.split(",") if each.startswith("+")}
    return (triple, name, features) if triple == processor[0] and needed <= set(processor[2].split(",")) else None


def is_ours(folder: Path) -> bool:
    """Return whether nobody but this user or root can write in a folder, or it is absent."""
    try:
        return _foreign(os.lstat(folder)) is None
    except OSError:
        return True


def _foreign(status: os.stat_result) -> str | None:
    """Return why others can have written a folder or file of that status; None also where systems have no owners."""
    if not hasattr(os, "geteuid"):
        return None
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return "it is a link or a device"
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & _OTHERS_WRITE:
        return f"others may write it, mode {stat.S_IMODE(status.st_mode):03o}"
    return None


def _open_no_link(path: str, flags: int) -> int:
    """Open a file, and never the target of a link."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _write(path: Path, content: bytes) -> None:
    """Put `content` there in one step, so that no other process reads half of it, and for this user alone."""
    temporary = path.with_suffix(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def say_compiling() -> None:
    """Say once a process that kernels are being compiled: on a terminal at once, elsewhere after a second."""
    if _COMPILING in _said or sys.stderr is None or not notices.isEnabledFor(logging.WARNING):
        return
    _asked.append(time.monotonic())
    if sys.stderr.isatty() or _asked[-1] - _asked[0] > 1:
        _said.add(_COMPILING)
        if "tqdm" in sys.modules:  # where bars may be drawn, which it leaves whole
            sys.modules["tqdm"].tqdm.write(_COMPILING, file=sys.stderr)
        else:
            sys.stderr.write(f"{_COMPILING}\n")


def _warn_once(what: str, folder: Path, why: str) -> None:
    """Say `what` of the folder and why, unless it was said before."""
    if what not in _said:
        _said.add(what)
        logger.warning(what, folder, why)
