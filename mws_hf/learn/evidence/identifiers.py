"""Find the parts of identifiers by their capitals: ``get|User|Name``, ``HTTP|Server``.

Capitals count as certain boundaries in the group named `CODE` alone; in a natural language they say nothing of morphs.
An underscore and a digit need no rule: split patterns end a word there, so no merge crosses them.
"""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.arrays import Bytes, Ints
from mws_hf.kernels.jit import njit
from mws_hf.learn.words import N_POINTS
from mws_hf.text.pattern import compiled

CODE = "code"
"""Name of the group whose words are identifiers; a group of this name switches the rule on."""

LOWER, UPPER = 1, 2


def cases_of(points: Ints) -> Bytes:
    """Look up the case of the code points that occur in `points`: uint8, shape (N_POINTS,), LOWER, UPPER or 0.

    >>> cases_of(np.array([ord(c) for c in "aЯ_"], np.int32))[[ord("a"), ord("Я"), ord("_")]].tolist()
    [1, 2, 0]
    """
    seen = np.zeros(N_POINTS, bool)
    seen[points] = True
    table = np.zeros(N_POINTS, np.uint8)
    for case, pattern in ((LOWER, r"\p{Ll}"), (UPPER, r"[\p{Lu}\p{Lt}]")):
        match = compiled(pattern).match
        table[[point for point in np.nonzero(seen)[0].tolist() if match(chr(point)) is not None]] = case
    return table


@njit(inline="always")
def part_ends(points: Ints, i: int, end: int, cases: Bytes) -> bool:
    """Tell whether a part of an identifier ends after character `i` of the pre-token that ends before `end`.

    It ends before a capital that follows a small letter, and before the last of several capitals if a small letter
    follows.

    >>> from mws_hf.learn.words import CodePoints
    >>> points = CodePoints.of(["parseHTTPServerURL"]).points
    >>> [i for i in range(18) if part_ends(points, i, 18, cases_of(points))]
    [4, 8, 14]
    """
    if i + 1 >= end or cases[points[i + 1]] != UPPER:
        return False
    here = cases[points[i]]
    return here == LOWER or (here == UPPER and i + 2 < end and cases[points[i + 2]] == LOWER)
