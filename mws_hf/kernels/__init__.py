"""The parts that compiled loops share: `jit` compiles, `scanner` reads text, `containers` hold, `interning` numbers.

Nothing here knows of merges, counts or files. Here stand short names for NumPy array types, one for each type of
element, for the annotations of the whole package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Elements of a type that the docstring tells."""

Mask = npt.NDArray[np.bool_]
"""True or False: which rows of another array are meant."""

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
