"""Measure the peak memory of a call in this process."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable


def peak_of(use: Callable[[], object]) -> int:
    """Return the peak memory of a call in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        use()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
