"""The priority queue: a binary heap in one array. Its users decide the meaning of its entries.

    heap  int64, shape (room, 2): entries of two numbers; the smallest (by the first, then by the second) is ``heap[0]``

The number of entries is handed over and returned; the caller makes sure that there is room.
"""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Longs
from mws_hf.kernels.jit import njit


@njit
def push(heap: Longs, size: int, first: int, second: int) -> int:
    """Add an entry; return the new size."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent, 0] < first or heap[parent, 0] == first and heap[parent, 1] <= second:
            break
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = first, second
    return size + 1


@njit
def pop(heap: Longs, size: int) -> int:
    """Remove the smallest entry; return the new size."""
    heap[0, 0], heap[0, 1] = heap[size - 1, 0], heap[size - 1, 1]
    sift_down(heap, size - 1)
    return size - 1


@njit
def sift_down(heap: Longs, size: int) -> None:
    """Bring ``heap[0]``, which may be too large for its place, down to where it belongs."""
    first, second, at = heap[0, 0], heap[0, 1], np.int64(0)
    while 2 * at + 1 < size:
        child = 2 * at + 1
        other = child + 1
        if other < size and (
            heap[other, 0] < heap[child, 0] or heap[other, 0] == heap[child, 0] and heap[other, 1] < heap[child, 1]
        ):
            child = other
        if heap[child, 0] > first or heap[child, 0] == first and heap[child, 1] >= second:
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at = child
    heap[at, 0], heap[at, 1] = first, second
