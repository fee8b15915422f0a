r"""Cut plain running text into pre-tokens 64 bytes at a time; other text is left to `next_pretoken`.

Plain are line ends, single spaces, ASCII letters, those letters of two bytes whose first byte leads nothing but letters
(Cyrillic, Latin with marks), and the symbols of ASCII, « and », and those of U+2010 to U+2027 (dashes, quotes,
ellipsis), but for the two apostrophes. GPT-4's and our pattern cut these alike:

    [^\r\n\p{L}\p{N}]?\p{L}+      letters, with the space or the lone symbol before them
    ' '?[^\s\p{L}\p{N}]+[\r\n]*   symbols, with the space before them and the line ends after them
    \s*[\r\n]                    line ends

A symbol is lone when neither a space nor another symbol stands before it. The first byte of a window starts a
pre-token, and how a pattern goes on from there depends on nothing before it. GPT-4o's pattern, which cuts before
capitals, is left to `next_pretoken` altogether.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mws_hf.kernels.instructions import WINDOW, range_mask, trailing_zeros
from mws_hf.kernels.jit import njit
from mws_hf.kernels.scanner import N_KINDS, O200K_KIND, next_pretoken

_U: Any = np.uint64
_ONE = _U(1)


@njit(inline="always")
def _letter_bits(text: np.ndarray, at: int, ascii_letters: int) -> int:
    """Mark the bytes of plain letters; a letter cut by the end of the window is none.

    0xC4 to 0xCA, 0xD0, 0xD1 and 0xD3 make a letter with every continuation byte, 0xC3 with all but those of × and ÷.
    """
    rest = range_mask(text, at, 0x80, 0x40)
    latin = range_mask(text, at, 0xC3, 1) & ~((range_mask(text, at, 0x97, 1) | range_mask(text, at, 0xB7, 1)) >> _ONE)
    leads = range_mask(text, at, 0xC4, 7) | range_mask(text, at, 0xD0, 2) | range_mask(text, at, 0xD3, 1) | latin
    leads &= rest >> _ONE
    return ascii_letters | leads | leads << _ONE


@njit(inline="always")
def _wide_symbols(text: np.ndarray, at: int) -> tuple[int, int]:
    """Mark the first bytes of symbols of two and of three bytes: « », and U+2010 to U+2027 without ’."""
    quotes = range_mask(text, at, 0xC2, 1) & (range_mask(text, at, 0xAB, 1) | range_mask(text, at, 0xBB, 1)) >> _ONE
    third = range_mask(text, at, 0x90, 0x18) & ~range_mask(text, at, 0x99, 1)
    return quotes, range_mask(text, at, 0xE2, 1) & range_mask(text, at, 0x80, 1) >> _ONE & third >> _U(2)


@njit(inline="always")
def plain_boundaries(text: np.ndarray, at: int, end: int) -> int:
    """Find where pre-tokens end that begin with one at byte `at`: uint64, bit k stands for byte ``at + k``; may be 0.

    The text, uint8, has `WINDOW` bytes after `at`; an end at the document's `end`, greater than `at`, is never found.
    """
    inside = (_ONE << _U(end - at)) - _ONE if end - at < WINDOW else ~_U(0)
    ascii_ = range_mask(text, at, 0, 0x80) & inside
    ascii_letters = (range_mask(text, at, 0x41, 26) | range_mask(text, at, 0x61, 26)) & inside
    letters = _letter_bits(text, at, ascii_letters) & inside
    spaces = range_mask(text, at, 0x20, 1) & inside
    lines = (range_mask(text, at, 0x0A, 1) | range_mask(text, at, 0x0D, 1)) & inside
    single = ascii_ & ~(ascii_letters | spaces)
    single &= ~(range_mask(text, at, 9, 5) | range_mask(text, at, 0x30, 10) | range_mask(text, at, 0x27, 1))
    double, triple = _wide_symbols(text, at)
    double, triple = double & inside, triple & inside
    symbols = single | double | double << _ONE | triple | triple << _ONE | triple << _U(2)
    words = letters | symbols
    starts = spaces | (single | double | triple) & ~((spaces | symbols) << _ONE)
    starts |= lines & ~((symbols | lines) << _ONE)
    lone = starts & single & ~(symbols >> _ONE)  # the last bytes of lone symbols
    lone |= (starts & double & ~(symbols >> _U(2))) << _ONE | (starts & triple & ~(symbols >> _U(3))) << _U(2)
    starts |= letters & ~((letters | spaces | lone) << _ONE)
    stops = ~(words | lines) & ~(spaces & (words >> _ONE))
    stop = stops & -stops
    ends_word = ascii_ & ~range_mask(text, at, 0x27, 1) & letters << _ONE
    known = (starts & (stop - _ONE)) | (stop & (ends_word | spaces & symbols << _ONE))
    return known & ~_ONE


@njit(inline="always")
def cut(
    text: np.ndarray, start: int, end: int, classes: np.ndarray, kind: int, bounds: np.ndarray, n: int, wanted: int
) -> int:
    """Cut pre-tokens of ``text[start:end]`` until there are `wanted` or a few more, or the text is at its end.

    Their ends are written to ``bounds[n + 1:]``, which has room for `wanted` and a `WINDOW`; returned is the last place
    written. Only where the text is not UTF-8, the last one may end beyond `end`.
    """
    while n < wanted and start < end:
        plain = kind % N_KINDS != O200K_KIND and start + WINDOW <= len(text)
        found = plain_boundaries(text, start, end) if plain else _U(0)
        if found == _U(0):
            n += 1
            bounds[n] = next_pretoken(text, start, end, classes, kind)
        while found != _U(0):
            n += 1
            bounds[n] = start + trailing_zeros(found)
            found &= found - _ONE
        start = bounds[n]
    return n


@njit(nogil=True)
def find_short(text: np.ndarray, size: int, wanted: np.ndarray) -> int:
    """Find the first place of one to eight bytes in ``text[:size]``, or -1; often ten times as fast as `bytes.find`."""
    for start in range(0, size, WINDOW):
        found = range_mask(text, start, wanted[0], 1)
        for k in range(1, wanted.shape[0]):
            found &= range_mask(text, start + k, wanted[k], 1)
        if found != 0:
            at = start + trailing_zeros(found)
            return at if at + wanted.shape[0] <= size else -1
    return -1
