r"""Compute the class of every code point (letter, number, mark, ...) in `tokenizers`, for `mws_hf.kernels.scanner`.

The classes come from the Unicode tables of `tokenizers` (Oniguruma), so that pre-tokens are those of the Rust library
even for code points that are letters only in newer versions of Unicode.
"""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np
import regex
import tokenizers
from tokenizers import Regex, pre_tokenizers

from mws_hf.atomic import atomic_path
from mws_hf.errors import MwSError
from mws_hf.kernels import Array, Bytes
from mws_hf.kernels.jit import cache_directory
from mws_hf.kernels.scanner import (
    APOSTROPHE,
    BLANK,
    GPT4_KIND,
    LETTER,
    LOWER,
    MARK,
    N_KINDS,
    NEWLINE,
    NUMBER,
    O200K_KIND,
    OTHER,
    QUOTE,
    RIGHT,
    SINGLE,
    SPACE,
    TEKKEN_KIND,
    UPPER,
    WORD_KIND,
)
from mws_hf.text.pattern import Digits, digits_of, with_digits

_DIGITS: dict[Digits, int] = {"threes": 0, "single": SINGLE, "right": RIGHT}
_NAMED = {"words": WORD_KIND, "gpt4": GPT4_KIND, "llama3": GPT4_KIND, "o200k": O200K_KIND, "tekken": TEKKEN_KIND}
"""The scanner's kind of each named pattern; `llama3` splits exactly as `gpt4` does."""
_KINDS = {with_digits(name, "threes"): kind for name, kind in _NAMED.items()}
_PROBED = {LETTER: r"\p{L}", NUMBER: r"\p{N}", MARK: r"\p{M}", BLANK: r"\s"}
_CASES = {UPPER: r"\p{Lu}\p{Lt}", LOWER: r"\p{Ll}"}


def scanner_kind(pattern: str) -> int | None:
    """Return the kind of a split pattern in the scanner; None if only `regex` can apply the pattern."""
    digits = digits_of(pattern)
    if digits is None:
        return None
    kind = _KINDS.get(with_digits(pattern, "threes"))
    return None if kind is None else kind + N_KINDS * _DIGITS[digits]


def classes_of(kind: int) -> Bytes:
    """Return the table of `character_classes` that the scanner needs for a kind of pattern."""
    return character_classes(cased=kind % N_KINDS >= O200K_KIND)


@lru_cache(maxsize=2)
def character_classes(cased: bool = False) -> Bytes:
    """Return the class of every code point: uint8, shape (0x110000,), read-only.

    The table is computed once for each version of `tokenizers` and `regex`, in 0.4 s, and then kept in the folder of
    compiled kernels.

    Args:
        cased: whether letters with a case have the classes UPPER and LOWER instead of LETTER.
    """
    name = f"{'cased' if cased else 'classes'}-{tokenizers.__version__}-{regex.__version__}.npz"
    path = cache_directory() / name
    classes = _stored_table(path)
    if classes is None:
        classes = probe_cases() if cased else probe_classes()
        with contextlib.suppress(OSError, MwSError), atomic_path(path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, classes=classes)  # if it cannot be stored, the next process computes it again
    classes.flags.writeable = False
    return classes


def _stored_table(path: Path) -> Bytes | None:
    """Read the table that an earlier process stored; None if there is none or it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:  # reading verifies a checksum
            classes = stored["classes"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    return classes if classes.dtype == np.uint8 and classes.shape == (0x110000,) else None


def probe_classes() -> Bytes:
    """Compute the table of `character_classes` by matching every code point with `regex` and `tokenizers`.

    Code points that are letters, numbers, marks or spaces for `regex` get their class from `tokenizers`. All others,
    such as symbols and unassigned code points, are OTHER, because the tables of Oniguruma have no letters, numbers,
    marks or spaces beyond those of `regex` (a test checks this).
    """
    classes = np.full(0x110000, OTHER, np.uint8)
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    for code, name in _PROBED.items():
        candidates = "".join(regex.findall(f"{name}+", everything))
        known = _matches(name, candidates)
        classes[_points(known)] = code
        rest = "".join(sorted(set(candidates) - set(known)))
        for other, other_name in _PROBED.items():
            if rest and other != code:
                classes[_points(_matches(other_name, rest))] = other
    for text, code in (("'", APOSTROPHE), ("’", QUOTE), (" ", SPACE), ("\r\n", NEWLINE)):
        classes[_points(text)] = code
    return classes


def probe_cases() -> Bytes:
    """Compute the table of `character_classes` in which letters have the case that they have in `tokenizers`."""
    classes = character_classes().copy()
    letters = np.flatnonzero(classes == LETTER).astype(np.uint32).tobytes().decode("utf-32-le")
    for code, name in _CASES.items():
        classes[_points(_matches(name, letters))] = code
    return classes


def _points(text: str) -> Array:
    """Return the code points of a text, uint32."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _matches(name: str, text: str) -> str:
    r"""Return the characters of a text that match an expression such as ``\p{L}`` in `tokenizers`."""
    pieces = pre_tokenizers.Split(Regex(f"[^{name}]+"), "removed").pre_tokenize_str(text)
    return "".join(piece for piece, _ in pieces)
