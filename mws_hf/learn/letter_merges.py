"""List the first merges: letters with their combining marks, and then the space with letters.

These merges come before all others and need no boundary probabilities. Because of them no token begins with a mark, and
the space before a letter is never a token by itself.

As long as there is room for these merges, no text is split between a letter and its marks if a word of the training
text contains the letter with these marks. The position of the letter and its case do not matter. Each such merge adds
one mark at the right, and no other merge begins with a mark, so nothing can come between. This is not guaranteed for:

* letters with marks that no word contains;
* marks on digits and other characters that are not letters, because the split pattern separates these;
* marks that are left out of the alphabet, because they become bytes;
* marks of a letter after the first 15.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mws_hf.kernels import Longs
from mws_hf.learn.evidence.forms import CharacterTable, split_graphemes
from mws_hf.learn.limits import UNLIMITED, MergeLimits
from mws_hf.learn.words import CodePoints, SymbolCorpus
from mws_hf.text.letter_case import fold

MAX_GRAPHEME_LENGTH = 16
"""Maximum length of a letter with its marks that merges make, in characters; real writing systems have four."""

MERGES_PER_SPACE_MERGE = 8
"""At most one in this many merges joins the space with a letter.

Only alphabets as large as that of Chinese, or very small vocabularies, need more. A letter that is left out can still
be merged with the space later, by the score of the pair.
"""


@dataclass(frozen=True)
class MarkedLetters:
    """How often letters with combining marks occur in words.

    Attributes:
        counts: occurrences of each letter with its marks; a letter with further marks counts as well.
        initial: number of distinct words in which each letter with its marks follows the leading space.
    """

    counts: dict[str, int]
    initial: dict[str, int]


def find_marked_letters(words: CodePoints, counts: Longs) -> MarkedLetters:
    """Count letters with marks in distinct words.

    For `MarkedLetters.counts`, uppercase and lowercase are counted together, and both get the same count.

    Args:
        words: the distinct words.
        counts: int64, shape (n_words,): how often each occurs.
    """
    table = CharacterTable.of(words.points)
    positions = np.nonzero(table.mark[words.points])[0]
    marked = np.unique(np.searchsorted(words.starts, positions, side="right") - 1)
    corpus = split_graphemes(words.take(marked)).corpus
    times = np.zeros(len(corpus.alphabet), np.int64)
    np.add.at(times, corpus.symbols, np.repeat(counts[marked], np.diff(corpus.starts)))
    letters = {i: g for i, g in enumerate(corpus.alphabet) if len(g) > 1 and table.letter[ord(g[0])]}
    groups: dict[str, int] = {}
    for i, grapheme in letters.items():
        for size in range(2, min(len(grapheme), MAX_GRAPHEME_LENGTH) + 1):
            key = fold(grapheme[0]) + grapheme[1:size]
            groups[key] = groups.get(key, 0) + int(times[i])
    both = {case + key[1:]: count for key, count in groups.items() for case in (key[0], key[0].upper())}
    heads = corpus.starts[:-1]
    firsts = corpus.symbols[heads[[corpus.alphabet[s] == " " for s in corpus.symbols[heads].tolist()]] + 1]
    initial = np.bincount(firsts, minlength=len(corpus.alphabet))
    return MarkedLetters(
        {grapheme: count for grapheme, count in both.items() if 1 < len(grapheme) <= MAX_GRAPHEME_LENGTH},
        {grapheme: int(initial[i]) for i, grapheme in letters.items() if initial[i]},
    )


def grapheme_merges(
    found: MarkedLetters, alphabet: Iterable[str], most: int, limits: MergeLimits = UNLIMITED
) -> list[tuple[str, str]]:
    """List at most `most` merges that join letters of the alphabet with their marks, mark by mark.

    The most frequent letter comes first. Equally frequent ones are ordered by length, then by code points. If the
    limits do not allow a letter with its first marks, the letter with more marks is left out as well.
    """
    known = set(alphabet)
    made: list[tuple[str, str]] = []
    for grapheme in sorted(found.counts, key=lambda g: (-found.counts[g], len(g), g)):
        if len(made) < most and limits.allow(grapheme) and known.issuperset((grapheme[:-1], grapheme[-1])):
            made.append((grapheme[:-1], grapheme[-1]))
            known.add(grapheme)
    return made


def space_merges(
    corpus: SymbolCorpus,
    n_merges: int,
    marked: MarkedLetters,
    graphemes: Sequence[tuple[str, str]],
    limits: MergeLimits = UNLIMITED,
) -> list[tuple[str, str]]:
    """List merges of the space with letters, in the order of code points.

    If there are too many, the letters that most frequently begin a word are chosen.

    Args:
        corpus: the words.
        n_merges: number of all merges to learn, which limits those of the space (`MERGES_PER_SPACE_MERGE`).
        marked: letters with marks in the words.
        graphemes: the earlier merges, which join letters with their marks.
        limits: what may be merged.

    >>> corpus = SymbolCorpus.from_words([" ab", " b"], np.array([3, 1]), [" ", "a", "b"])
    >>> space_merges(corpus, 16, MarkedLetters({}, {}), [])
    [(' ', 'a'), (' ', 'b')]
    """
    n_most = n_merges // MERGES_PER_SPACE_MERGE
    if " " not in corpus.alphabet:
        return []
    points = np.array([ord(c) for c in corpus.alphabet], np.int32)
    seconds = corpus.starts[:-1][corpus.symbols[corpus.starts[:-1]] == corpus.alphabet.index(" ")] + 1
    frequency = np.bincount(corpus.symbols[seconds[seconds < len(corpus.symbols)]], minlength=len(points)).tolist()
    letters = {
        corpus.alphabet[i]: frequency[i] for i in np.nonzero(CharacterTable.of(points).letter[points])[0].tolist()
    }
    products = (left + right for left, right in graphemes)
    letters |= {product: marked.initial[product] for product in products if product in marked.initial}
    frequent = sorted(letters, key=lambda letter: (-letters[letter], letter))[:n_most]
    return [(" ", c) for c in sorted(frequent) if limits.allow(" " + c)]
