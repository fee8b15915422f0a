"""Provide building blocks of compiled loops, and short names of NumPy array types for annotations.

`jit` compiles kernels and caches their machine code, `threads` runs them in several threads, `scanner` splits UTF-8
text, `containers` has hash tables and a heap, `interning` assigns ids to equal rows, and `arithmetic` computes the same
floating-point results on every machine. This package contains nothing about merges, word counts or files.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any type; the docstring of the function says which."""

Mask = npt.NDArray[np.bool_]
"""Booleans that select rows of another array."""

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
