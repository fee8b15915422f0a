"""Build the merges of the lowest ranks: letters with their combining marks, then the space with letters.

They need no evidence. By them no token begins with a mark, and a space is never a token before a letter.

This is guaranteed as long as there is room: where a word of the training text holds a letter with these marks, no text
is ever cut between them. The letter may stand anywhere in the word, in either case. Each such merge adds one mark to
the right, and no other merge begins with a mark, so nothing can come between. Not guaranteed are:

* letters with marks that no word has;
* marks on digits and other characters that are no letters (the split pattern itself cuts there);
* marks left out of the alphabet (they become bytes);
* all but the first 15 marks of a letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mws_hf.kernels.arrays import Longs
from mws_hf.learn.evidence.forms import CharacterTable, fold, split_graphemes
from mws_hf.learn.limits import UNLIMITED, MergeLimits
from mws_hf.learn.words import CodePoints, SymbolCorpus

MAX_GRAPHEME_LENGTH = 16
"""Characters of the longest letter with marks that is put together; real writing has four."""

SPACE_SHARE = 8
"""At most 1 / SPACE_SHARE of the merges join the space with a letter; only Han-like alphabets or tiny budgets need
more. The letters left out join the space where their words earn it."""


@dataclass(frozen=True)
class MarkedLetters:
    """Letters with combining marks, counted.

    Attributes:
        counts: how often each stands in words; "ä" counts where "ä" with one more mark stands, too.
        initial: in how many words each is the whole first letter behind the leading space.
    """

    counts: dict[str, int]
    initial: dict[str, int]


def find_marked_letters(words: CodePoints, counts: Longs) -> MarkedLetters:
    """Count the letters with marks in words; both cases of a letter count as one, and both are in the result.

    Args:
        words: distinct words.
        counts: int64, shape (n_words,), how often each occurs.
    """
    table = CharacterTable.of(words.points)
    places = np.nonzero(table.mark[words.points])[0]
    marked = np.unique(np.searchsorted(words.starts, places, side="right") - 1)
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
    found: MarkedLetters,
    alphabet: Iterable[str],
    room: int,
    limits: MergeLimits = UNLIMITED,
) -> list[tuple[str, str]]:
    """List merges that put letters with marks together, mark by mark, the most frequent letter first.

    Ties: the shorter, then the one with lower code points.

    Args:
        found: from `find_marked_letters`.
        alphabet: the characters that are tokens; letters that hold another character are left out.
        room: at most so many merges.
        limits: greatest length of a token, and strings that must not become tokens. A letter that begins with such a
            string and goes on with more marks is left out as well.
    """
    known = set(alphabet)
    made: list[tuple[str, str]] = []
    for grapheme in sorted(found.counts, key=lambda g: (-found.counts[g], len(g), g)):
        if len(made) < room and limits.allow(grapheme) and known.issuperset((grapheme[:-1], grapheme[-1])):
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
    """List merges of the space with letters, by code point; of too many, the most frequent word-initial letters.

    Args:
        corpus: the words.
        n_merges: how many merges are wanted in all.
        marked: from `find_marked_letters`.
        graphemes: the merges of letters with marks that come before.
        limits: greatest length of a token, and strings that must not become tokens.

    >>> corpus = SymbolCorpus.from_words([" ab", " b"], np.array([3, 1]), [" ", "a", "b"])
    >>> space_merges(corpus, 16, MarkedLetters({}, {}), [])
    [(' ', 'a'), (' ', 'b')]
    """
    room = n_merges // SPACE_SHARE
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
    most = sorted(letters, key=lambda letter: (-letters[letter], letter))[:room]
    return [(" ", c) for c in sorted(most) if limits.allow(" " + c)]
