r"""Process UTF-8 in kernels: split text by the named patterns, check that bytes are valid, and decode code points.

The caller passes ``kind = scanner_kind(pattern)`` and the class of each code point, ``classes_of(kind)``, both from
`mws_hf.text.scanner_classes`. Other patterns need `regex`.

`find_pretokens` splits plain text 64 bytes at a time, and leaves other text to `next_pretoken`. Plain text consists of

* line ends and single spaces,
* ASCII letters, and letters of two bytes whose first byte begins only letters (Cyrillic, Latin with marks),
* the symbols of ASCII, « and », and U+2010 to U+2027 (dashes, quotes, ellipsis), except for the two apostrophes.

The patterns `gpt4` and `words` split plain text in the same way:

    [^\r\n\p{L}\p{N}]?\p{L}+      letters, with the space or the lone symbol before them
    ' '?[^\s\p{L}\p{N}]+[\r\n]*   symbols, with the space before them and the line ends after them
    \s*[\r\n]                    line ends

A symbol is lone if neither a space nor another symbol is before it. The first byte of a window starts a pre-token, and
the split from there on does not depend on anything before it. The patterns of GPT-4o and Tekken, which split before
uppercase letters, always use `next_pretoken`.

The check of validity (`is_utf8`) compares each byte with the three before it, without branches, so that the compiled
code works on many bytes at once. On Cyrillic it is three times as fast as Arrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mws_hf.kernels import Array, Bytes
from mws_hf.kernels.containers import WINDOW, range_mask, trailing_zeros
from mws_hf.kernels.jit import njit

GPT4_KIND, WORD_KIND, O200K_KIND, TEKKEN_KIND = range(4)
"""The split patterns of the scanner; those from `O200K_KIND` on distinguish uppercase from lowercase letters."""
N_KINDS = 4
"""A kind is a split pattern, plus `N_KINDS` times the way in which numbers are split.

That is 0 for threes from the left, `SINGLE` for single digits, and `RIGHT` for threes from the right.
"""
SINGLE, RIGHT = 1, 2
LOOK_AHEAD = 101
"""The most digits that the part ``right`` of `mws_hf.text.pattern.DIGIT_PARTS` can match: 2, and 33 times 3."""
# the order matters: SPACE to NEWLINE are \s, and MARK to QUOTE are [^\s\p{L}\p{N}]; for patterns that distinguish case,
# LETTER is a letter without case, \p{Lm} or \p{Lo}
LETTER, NUMBER, MARK, OTHER, APOSTROPHE, QUOTE, SPACE, BLANK, NEWLINE, UPPER, LOWER = range(11)


@njit(inline="always")
def _lead_length(byte: int) -> int:
    """Return the length in bytes of the UTF-8 sequence that starts with `byte`."""
    if byte < 0x80:
        return 1
    if byte < 0xE0:
        return 2
    return 3 if byte < 0xF0 else 4


@njit
def _class_at(data: Bytes, i: int, classes: Bytes) -> np.int64:
    """Return the class of the character at byte `i`."""
    lead = np.int64(data[i])
    if lead < 0x80:
        return np.int64(classes[lead])
    if lead < 0xE0:
        return np.int64(classes[(lead & 0x1F) << 6 | (data[i + 1] & 0x3F)])
    if lead < 0xF0:
        return np.int64(classes[(lead & 0x0F) << 12 | np.int64(data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F)])
    point = (lead & 0x07) << 18 | np.int64(data[i + 1] & 0x3F) << 12 | np.int64(data[i + 2] & 0x3F) << 6
    return np.int64(classes[point | (data[i + 3] & 0x3F)])


@njit
def _contraction_end(data: Bytes, i: int, n: int) -> int:
    """Return the end of ``(?i:[sdmt]|ll|ve|re)`` at byte `i`; -1 if it does not match.

    U+017F, the long s, matches as s.
    """
    if i >= n:
        return -1
    first = data[i] | 0x20
    if data[i] < 0x80 and (first == 0x73 or first == 0x64 or first == 0x6D or first == 0x74):  # s d m t
        return i + 1
    if i + 1 >= n:
        return -1
    if data[i] == 0xC5 and data[i + 1] == 0xBF:
        return i + 2
    if data[i] >= 0x80 or data[i + 1] >= 0x80:
        return -1
    second = data[i + 1] | 0x20
    if first == 0x6C and second == 0x6C:  # ll
        return i + 2
    return i + 2 if (first == 0x76 or first == 0x72) and second == 0x65 else -1  # ve re


@njit
def _word_end(data: Bytes, i: int, n: int, classes: Bytes, kind: int) -> int:
    r"""Return the end of the word whose first letter is at byte `i`.

    A word is ``\p{L}+`` for GPT4_KIND, and ``\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*`` for WORD_KIND.
    """
    while i < n:
        code = _class_at(data, i, classes)
        after = i + _lead_length(data[i])
        if code == LETTER or (kind == WORD_KIND and code == MARK):
            i = after
        elif kind == WORD_KIND and (code == APOSTROPHE or code == QUOTE):
            if after >= n or _class_at(data, after, classes) != LETTER:
                return i
            i = after
        else:
            return i
    return i


@njit(inline="always")
def _blank_end(data: Bytes, i: int, n: int, classes: Bytes) -> int:
    r"""Return the end of ``\s*[\r\n]|\s+(?!\S)|\s+`` at byte `i`, where a white-space character begins."""
    last_newline = previous = -1
    start = i
    while i < n:
        code = _class_at(data, i, classes)
        if code < SPACE or code > NEWLINE:
            break
        previous = i
        i += _lead_length(data[i])
        if code == NEWLINE:
            last_newline = i
    if last_newline >= 0:
        return last_newline
    return i if i >= n or previous == start else previous


@njit
def _symbols_end(data: Bytes, i: int, n: int, classes: Bytes, kind: int) -> int:
    r"""Return the end of ``[^\s\p{L}\p{N}]*[\r\n]*`` at byte `i`; from O200K_KIND on the last part is ``[\r\n/]*``."""
    while i < n:
        code = _class_at(data, i, classes)
        if code <= NUMBER or code >= SPACE:
            break
        i += _lead_length(data[i])
    while i < n and (data[i] == 0x0A or data[i] == 0x0D or (kind >= O200K_KIND and data[i] == 0x2F)):
        i += 1
    return i


@njit(inline="always")
def _cased_end(data: Bytes, i: int, n: int, classes: Bytes, kind: int) -> int:
    r"""Return the end of ``U*L+|U+L*`` at byte `i`; `i` if neither matches. O200K_KIND adds an English ending.

    U is ``[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]``, and L is ``[\p{Ll}\p{Lm}\p{Lo}\p{M}]``. After the longest ``U*`` there are
    three cases: a lowercase letter follows and begins ``L+``; or the last character that is in both U and L is the
    ``L+`` of the first alternative; or the second alternative matches.
    """
    start, both, code = i, -1, np.int64(OTHER)
    while i < n:
        code = _class_at(data, i, classes)
        if code != UPPER and code != LETTER and code != MARK:
            break
        i += _lead_length(data[i])
        if code != UPPER:
            both = i
    if i < n and code == LOWER:
        while i < n and (code == LOWER or code == LETTER or code == MARK):
            i += _lead_length(data[i])
            code = _class_at(data, i, classes) if i < n else np.int64(OTHER)
    elif both >= 0:
        i = both
    if kind == O200K_KIND and i > start and i < n and data[i] == 0x27:
        end = _contraction_end(data, i + 1, n)
        return end if end >= 0 else i
    return i


@njit(inline="always")
def _number_end(data: Bytes, i: int, n: int, classes: Bytes, digits: int) -> int:
    """Return the end of the pattern's part for numbers, one of `DIGIT_PARTS`, at byte `i`, where a number begins."""
    most = 3
    if digits == SINGLE:
        most = 1
    elif digits == RIGHT:
        run, end = 0, i
        while end < n and run <= LOOK_AHEAD and _class_at(data, end, classes) == NUMBER:
            run += 1
            end += _lead_length(data[end])
        if 3 < run <= LOOK_AHEAD and run % 3:
            most = run % 3
    for _ in range(most):
        if i >= n or _class_at(data, i, classes) != NUMBER:
            break
        i += _lead_length(data[i])
    return i


@njit
def next_pretoken(data: Bytes, i: int, n: int, classes: Bytes, kind: int) -> int:
    """Return the end of the pre-token that starts at byte `i`.

    Args:
        data: valid UTF-8.
        i: first byte of the pre-token and of a character, ``0 <= i < n``.
        n: end of the text in `data`; bytes from there on are not read.
        classes: `mws_hf.text.scanner_classes.classes_of` the kind.
        kind: `mws_hf.text.scanner_classes.scanner_kind` of the pattern.
    """
    code = _class_at(data, i, classes)
    if code == NUMBER:
        return _number_end(data, i, n, classes, kind // N_KINDS)
    kind = kind % N_KINDS
    if code == LETTER and kind < O200K_KIND:
        return _word_end(data, i, n, classes, kind)
    after = i + _lead_length(data[i])
    if kind >= O200K_KIND and code != NEWLINE:
        first = i if code == LETTER or code == MARK or code > NEWLINE else after  # another character may come first
        end = _cased_end(data, first, n, classes, kind)
        if end > first:
            return end
    if code == APOSTROPHE and kind < O200K_KIND:
        end = _contraction_end(data, after, n)
        if end >= 0:
            return end
    if after < n:
        following = _class_at(data, after, classes)
        if following == LETTER and code != NEWLINE:
            return _word_end(data, after, n, classes, kind)
        if code == SPACE and NUMBER < following < SPACE:
            return _symbols_end(data, after, n, classes, kind)
    return _blank_end(data, i, n, classes) if code >= SPACE else _symbols_end(data, i, n, classes, kind)


# unsigned, because numba checks whether signed indices are negative
_U1, _U2, _U3, _U4 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@njit(inline="always")
def _wrong(byte: int, one: int, two: int, three: int) -> bool:
    """Return whether `byte` is invalid after the bytes `one`, `two` and `three` positions before it."""
    continues = 0x80 <= byte < 0xC0
    must_continue = (one >= 0xC0) | (two >= 0xE0) | (three >= 0xF0)
    never = (byte == 0xC0) | (byte == 0xC1) | (byte >= 0xF5)
    overlong = ((one == 0xE0) & (byte < 0xA0)) | ((one == 0xF0) & (byte < 0x90))
    beyond = ((one == 0xED) & (byte >= 0xA0)) | ((one == 0xF4) & (byte >= 0x90))  # surrogates, above U+10FFFF
    return (continues != must_continue) | never | overlong | beyond


@njit(nogil=True)
def is_utf8(data: Bytes) -> bool:
    """Return whether `data` is valid UTF-8, by the rules of Python's strict decoder."""
    n, wrong = np.uint64(len(data)), False
    for i in range(min(n, _U3)):
        one, two = data[i - 1] if i > 0 else 0, data[i - 2] if i > 1 else 0
        wrong |= _wrong(data[i], one, two, 0)
    for i in range(_U3, n):
        wrong |= _wrong(data[i], data[i - _U1], data[i - _U2], data[i - _U3])
    for i in range(min(n, _U3)):  # an incomplete sequence at the end
        wrong |= data[n - i - _U1] >= (0xC0, 0xE0, 0xF0)[i]
    return not wrong


@njit(nogil=True)
def write_code_points(data: Bytes, begin: int, end: int, out: Array) -> None:
    """Decode ``data[begin:end]``, which must be valid UTF-8, into the beginning of `out`, uint32."""
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


_U: Any = np.uint64
_ONE = _U(1)


@njit(inline="always")
def _letter_bits(text: np.ndarray, at: int, ascii_letters: int) -> int:
    """Return a mask of the bytes of plain letters, without a letter that crosses the end of the window.

    0xC4 to 0xCA, 0xD0, 0xD1 and 0xD3 begin only letters, and 0xC3 begins only letters besides × and ÷.
    """
    rest = range_mask(text, at, 0x80, 0x40)
    latin = range_mask(text, at, 0xC3, 1) & ~((range_mask(text, at, 0x97, 1) | range_mask(text, at, 0xB7, 1)) >> _ONE)
    leads = range_mask(text, at, 0xC4, 7) | range_mask(text, at, 0xD0, 2) | range_mask(text, at, 0xD3, 1) | latin
    leads &= rest >> _ONE
    return ascii_letters | leads | leads << _ONE


@njit(inline="always")
def _wide_symbols(text: np.ndarray, at: int) -> tuple[int, int]:
    """Return masks of the first bytes of symbols of two bytes (« ») and of three bytes (U+2010 to U+2027 without ’)."""
    quotes = range_mask(text, at, 0xC2, 1) & (range_mask(text, at, 0xAB, 1) | range_mask(text, at, 0xBB, 1)) >> _ONE
    third = range_mask(text, at, 0x90, 0x18) & ~range_mask(text, at, 0x99, 1)
    return quotes, range_mask(text, at, 0xE2, 1) & range_mask(text, at, 0x80, 1) >> _ONE & third >> _U(2)


@njit(inline="always")
def plain_boundaries(text: np.ndarray, at: int, end: int) -> int:
    """Return a mask of the ends of pre-tokens in the plain text from byte `at` on, where a pre-token begins.

    Bit k of the uint64 stands for byte ``at + k``; the mask is 0 if no end is found. The text, uint8, must have
    `WINDOW` bytes from `at` on. An end at the `end` of the document, which is above `at`, is never found.
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
def find_pretokens(
    text: np.ndarray, start: int, end: int, classes: np.ndarray, kind: int, bounds: np.ndarray, n: int, wanted: int
) -> int:
    """Split ``text[start:end]`` into pre-tokens until `wanted` of them, or a few more, are found, or the text ends.

    Their ends are written to `bounds` from index ``n + 1`` on, and the last index written is returned. `bounds` must be
    longer than `wanted` by a `WINDOW`. If the text is not valid UTF-8, the last pre-token may end beyond `end`.
    """
    while n < wanted and start < end:
        plain = kind % N_KINDS < O200K_KIND and start + WINDOW <= len(text)
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
    """Return the first position of one to eight bytes in ``text[:size]``; -1 if they do not occur.

    It is often ten times as fast as `bytes.find`.

    Args:
        text: uint8, with at least `WINDOW` + 7 readable bytes after ``text[:size]``.
        size: the number of bytes that are searched.
        wanted: the bytes to find, uint8, at most eight.
    """
    for start in range(0, size, WINDOW):
        found = range_mask(text, start, wanted[0], 1)
        for k in range(1, wanted.shape[0]):
            found &= range_mask(text, start + k, wanted[k], 1)
        if found != 0:
            at = start + trailing_zeros(found)
            return at if at + wanted.shape[0] <= size else -1
    return -1
