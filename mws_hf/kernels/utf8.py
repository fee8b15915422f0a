"""UTF-8 in kernels: the test whether bytes are valid, and the code points of valid ones.

The test looks at each byte and the three before it, without branches, so that the compiler works on many bytes at once:
three times as fast as Arrow on Cyrillic.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mws_hf.kernels.jit import njit

# unsigned: numba tests signed indices for being negative
_U1, _U2, _U3, _U4 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@njit(inline="always")
def _wrong(byte: int, one: int, two: int, three: int) -> bool:
    """Tell whether `byte` may not stand after the bytes `one`, `two` and `three` places before it."""
    continues = 0x80 <= byte < 0xC0
    must_continue = (one >= 0xC0) | (two >= 0xE0) | (three >= 0xF0)
    never = (byte == 0xC0) | (byte == 0xC1) | (byte >= 0xF5)
    overlong = ((one == 0xE0) & (byte < 0xA0)) | ((one == 0xF0) & (byte < 0x90))
    beyond = ((one == 0xED) & (byte >= 0xA0)) | ((one == 0xF4) & (byte >= 0x90))  # surrogates, above U+10FFFF
    return (continues != must_continue) | never | overlong | beyond


@njit(nogil=True)
def is_utf8(data: npt.NDArray[np.uint8]) -> bool:
    r"""Tell whether `data` (uint8, any length) is valid UTF-8 as Python's strict decoder sees it.

    >>> is_utf8(np.frombuffer("Ёж 🦔".encode(), np.uint8)), is_utf8(np.frombuffer(b"\xed\xa0\x80", np.uint8))
    (True, False)
    """
    n, wrong = np.uint64(len(data)), False
    for i in range(min(n, _U3)):
        one, two = data[i - 1] if i > 0 else 0, data[i - 2] if i > 1 else 0
        wrong |= _wrong(data[i], one, two, 0)
    for i in range(_U3, n):
        wrong |= _wrong(data[i], data[i - _U1], data[i - _U2], data[i - _U3])
    for i in range(min(n, _U3)):  # a sequence that the end cuts off
        wrong |= data[n - i - _U1] >= (0xC0, 0xE0, 0xF0)[i]
    return not wrong


@njit(nogil=True)
def write_code_points(data: npt.NDArray[np.uint8], begin: int, end: int, out: npt.NDArray[np.uint32]) -> None:
    """Decode ``data[begin:end]``, which is valid UTF-8, into the front of `out`.

    >>> points = np.zeros(3, np.uint32)
    >>> write_code_points(np.frombuffer(bytearray("Ё€🦔".encode()), np.uint8), 0, 9, points)
    >>> "".join(map(chr, points))
    'Ё€🦔'
    """
    at, i = np.uint64(0), np.uint64(begin)
    while i < np.uint64(end):
        byte = data[i]
        if byte < 0x80:
            out[at] = byte
            i += _U1
        elif byte < 0xE0:
            out[at] = (byte & 0x1F) << 6 | data[i + _U1] & 0x3F
            i += _U2
        elif byte < 0xF0:
            out[at] = (byte & 0x0F) << 12 | (data[i + _U1] & 0x3F) << 6 | data[i + _U2] & 0x3F
            i += _U3
        else:
            last = (data[i + _U2] & 0x3F) << 6 | data[i + _U3] & 0x3F
            out[at] = (byte & 0x07) << 18 | (data[i + _U1] & 0x3F) << 12 | last
            i += _U4
        at += _U1
