"""Sort words by writing system, so that each word gets evidence among words like it. No evidence is computed here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mws_hf.kernels.arrays import Ints, Longs
from mws_hf.learn.words import N_POINTS, CodePoints
from mws_hf.text.pattern import compiled

FEWEST = 1_000
"""Distinct pre-tokens below which a script gets no list of its own."""

SCRIPTS = (
    *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Han", "Hangul", "Thai", "Armenian", "Georgian"),
    *("Bengali", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Oriya", "Sinhala", "Tamil", "Telugu", "Tibetan"),
    *("Myanmar", "Khmer", "Lao", "Ethiopic", "Mongolian", "Thaana", "Syriac", "Tifinagh", "Nko", "Cherokee", "Gothic"),
    *("Coptic", "Yi", "Canadian_Aboriginal", "Javanese", "Balinese", "Sundanese", "Cham", "Tai_Le", "Ol_Chiki", "Vai"),
    *("Adlam", "Meetei_Mayek", "Tagalog", "Glagolitic", "Runic", "Ogham", "Deseret", "Osage", "Lisu", "Bopomofo"),
)
_MEMBERS = {"Han": r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]"}
_NO_SAY = 0


def script_lists(words: CodePoints, fewest: int = FEWEST) -> list[Longs]:
    """Sort words by script into lists; every word is in one list.

    Args:
        words: any words.
        fewest: words that a script must have for a list of its own; words of rarer scripts, mixed words and words
            without letters join the list of the main script.

    Returns:
        Numbers of the words of each list, ascending, int64; the main script, which has most words, is first.

    >>> words = CodePoints.of([" дом", "2", " кот", " house", "мiр", " дома", " дому"])
    >>> [rows.tolist() for rows in script_lists(words, fewest=1)]
    [[0, 1, 2, 4, 5, 6], [3]]
    >>> [rows.tolist() for rows in script_lists(words, fewest=2)]
    [[0, 1, 2, 3, 4, 5, 6]]
    """
    own = _scripts_of(words)
    sizes = np.bincount(own, minlength=len(SCRIPTS) + 1)
    sizes[_NO_SAY] = 0
    main = int(np.argmax(sizes))
    large = [k for k in np.nonzero(sizes >= fewest)[0].tolist() if k != main]
    apart = np.isin(own, large)
    return [np.nonzero(~apart)[0], *(np.nonzero(own == k)[0] for k in large)]


def _scripts_of(words: CodePoints) -> npt.NDArray[np.int8]:
    """Find the script of each word: one more than its place in `SCRIPTS`; 0 for mixed words and without letters."""
    letters = _script_table(words.points)[words.points]
    starts = words.starts[:-1]
    if len(starts) == 0:
        return np.zeros(0, np.int8)
    highest = np.maximum.reduceat(letters, starts)
    letters[letters == _NO_SAY] = np.iinfo(np.int8).max
    lowest = np.minimum.reduceat(letters, starts)
    return np.where(highest == lowest, highest, np.int8(_NO_SAY))


def _script_table(points: Ints) -> npt.NDArray[np.int8]:
    """Find the script of the characters that occur in `points`: int8, shape (N_POINTS,), as in `_scripts_of`."""
    table = np.zeros(N_POINTS, np.int8)
    seen = np.zeros(N_POINTS, bool)
    seen[points] = True
    left = [(point, chr(point)) for point in np.nonzero(seen)[0].tolist()]
    is_letter = compiled(r"\p{L}").match
    left = [(point, character) for point, character in left if is_letter(character)]
    for number, script in enumerate(SCRIPTS, start=1):
        if not left:
            break
        match = compiled(_MEMBERS.get(script, rf"\p{{Script={script}}}")).match
        rest = [each for each in left if match(each[1]) is None]
        if len(rest) < len(left):
            table[sorted({point for point, _ in left} - {point for point, _ in rest})] = number
        left = rest
    return table
