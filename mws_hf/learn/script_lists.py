"""Sort the words of a language by script, so that boundaries are found in one list of words per script."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import regex

from mws_hf.kernels import Ints, Longs
from mws_hf.learn.words import N_POINTS, CodePoints, distinct_points

MIN_WORDS_PER_SCRIPT = 1_000
"""Minimum number of distinct pre-tokens with which a script gets a separate list."""

SCRIPTS = (
    *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Han", "Hangul", "Thai", "Armenian", "Georgian"),
    *("Bengali", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Oriya", "Sinhala", "Tamil", "Telugu", "Tibetan"),
    *("Myanmar", "Khmer", "Lao", "Ethiopic", "Mongolian", "Thaana", "Syriac", "Tifinagh", "Nko", "Cherokee", "Gothic"),
    *("Coptic", "Yi", "Canadian_Aboriginal", "Javanese", "Balinese", "Sundanese", "Cham", "Tai_Le", "Ol_Chiki", "Vai"),
    *("Adlam", "Meetei_Mayek", "Tagalog", "Glagolitic", "Runic", "Ogham", "Deseret", "Osage", "Lisu", "Bopomofo"),
)
"""Scripts that may get a separate list, by their Unicode names; Han includes Hiragana and Katakana."""

_PATTERNS = {"Han": r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]"}
"""Patterns of scripts that are not one Unicode script."""

_NO_SCRIPT = 0
"""Number of a character that is not a letter of `SCRIPTS`, and of a word without letters or with several scripts."""


def script_lists(words: CodePoints, fewest: int = MIN_WORDS_PER_SCRIPT) -> list[Longs]:
    """Sort words by script into one list per script; the main script, which has the most words, comes first.

    The list of the main script also contains the words of scripts with fewer than `fewest` words, words with letters of
    several scripts, and words without letters.

    Args:
        words: distinct pre-tokens.
        fewest: minimum number of words with which a script gets a separate list.

    Returns:
        One array per list, int64: the numbers of its words, ascending.

    >>> words = CodePoints.of([" дом", "2", " кот", " house", "мiр", " дома", " дому"])
    >>> [rows.tolist() for rows in script_lists(words, fewest=1)]
    [[0, 1, 2, 4, 5, 6], [3]]
    """
    scripts = _scripts_of(words)
    sizes = np.bincount(scripts, minlength=len(SCRIPTS) + 1)
    sizes[_NO_SCRIPT] = 0
    main = int(np.argmax(sizes))
    large = [k for k in np.nonzero(sizes >= fewest)[0].tolist() if k != main]
    separate = np.isin(scripts, large)
    return [np.nonzero(~separate)[0], *(np.nonzero(scripts == k)[0] for k in large)]


def _scripts_of(words: CodePoints) -> npt.NDArray[np.int8]:
    """Find the script of each word: int8, shape (n_words,), its index in `SCRIPTS` plus 1, or `_NO_SCRIPT`."""
    letters = _script_table(words.points)[words.points]
    starts = words.starts[:-1]
    if len(starts) == 0:
        return np.zeros(0, np.int8)
    highest = np.maximum.reduceat(letters, starts)
    letters[letters == _NO_SCRIPT] = np.iinfo(np.int8).max
    lowest = np.minimum.reduceat(letters, starts)
    return np.where(highest == lowest, highest, np.int8(_NO_SCRIPT))


def _script_table(points: Ints) -> npt.NDArray[np.int8]:
    """Find the script of each code point that occurs in `points`: int8, shape (N_POINTS,), as in `_scripts_of`."""
    table = np.zeros(N_POINTS, np.int8)
    is_letter = regex.compile(r"\p{L}").match
    left = [point for point in distinct_points(points) if is_letter(chr(point))]
    for number, script in enumerate(SCRIPTS, start=1):
        if not left:
            break
        match = regex.compile(_PATTERNS.get(script, rf"\p{{Script={script}}}")).match
        table[[point for point in left if match(chr(point))]] = number
        left = [point for point in left if table[point] == 0]
    return table
