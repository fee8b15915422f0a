"""The inputs of a compiled kernel besides its arguments' types: its code, its constants, the kernels it calls.

numba freezes constants and global values into machine code, so a kernel whose constant changed is another kernel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np


def constants_digest(function: Callable[..., Any]) -> str:
    """Digest a function's code, all constants in it, and the functions and global values that it names.

    >>> one, two = (eval(f"lambda x: x - {k}", {}) for k in (1, 2))
    >>> one.__code__.co_code == two.__code__.co_code, constants_digest(one) == constants_digest(two)
    (True, False)
    """
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
    """Add byte code and constants, those of inner functions too."""
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
    """Add a global value: a function by its code, an array by its content, other objects by their name."""
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
