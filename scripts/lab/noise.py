"""Word counts made noisy, the same way every time: foreign words, typos, capitals, hyphens, numbers.

Noise is added, nothing is taken away: each kind adds forms to the number of `SHARE` times the word types there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mws_hf import WordCounts
from mws_hf.text.pattern import split

SHARE = 0.1
SEED = 2026
_SHORTEST = 4  # letters of a word that gets a typo

Words = Sequence[tuple[str, int]]


def plain_words(counts: WordCounts) -> list[tuple[str, int]]:
    """Words of letters alone that stand behind a space, without it, and their counts, in the counts' order."""
    return [(word[1:], n) for word, n in counts.items() if word[0] == " " and word[1:].isalpha()]


def polluted(counts: WordCounts, donor: WordCounts, kinds: Sequence[str], share: float = SHARE) -> WordCounts:
    """The counts with noise of each kind added.

    Args:
        counts: running-text counts.
        donor: those of another language.
        kinds: of `KINDS`.
        share: forms that each kind adds, as a share of the plain word types.

    >>> clean = WordCounts.from_mapping({" слово": 5, " дело": 2, " дом": 1}, pattern="p")
    >>> sorted(set(polluted(clean, clean, ["capitals"], 1.0).words) - set(clean.words))
    [' ДЕЛО', ' Дом', ' Слово']
    """
    words = plain_words(counts)
    extra: Counter[str] = Counter()
    for kind in kinds:
        random = np.random.default_rng([SEED, list(KINDS).index(kind)])
        wanted = round(share * len(words))
        for form, n in KINDS[kind](words, plain_words(donor), wanted, random):
            for piece in split(" " + form, counts.pattern):
                extra[piece] += n
    noise = WordCounts.from_mapping(extra, pattern=counts.pattern, normalization=counts.normalization)
    return counts.merge(noise)


def foreign(words: Words, donor: Words, wanted: int, random: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Random types of the donor that are not of the language, each as frequent as it is there."""
    own = {word.lower() for word, _ in words}
    others = [(word, n) for word, n in donor if word.lower() not in own]
    for i in random.permutation(len(others))[:wanted].tolist():
        yield others[i]


def typos(words: Words, donor: Words, wanted: int, random: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Random longer types with one letter replaced, left out, or swapped with the next; each once."""
    letters = sorted({c for word, _ in words for c in word.lower()})
    long = [word for word, _ in words if len(word) >= _SHORTEST]
    for word in _drawn(long, wanted, random):
        at = int(random.integers(0, len(word) - 1))
        middle = (random.choice(letters) + word[at + 1], word[at + 1], word[at + 1] + word[at])[random.integers(3)]
        yield word[:at] + str(middle) + word[at + 2 :], 1


def capitals(words: Words, donor: Words, wanted: int, random: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Random types, by turns Capitalised and in CAPITALS, a tenth as often as the type."""
    counts = dict(words)
    for i, word in enumerate(_drawn(list(counts), wanted, random)):
        yield word.upper() if i % 2 else word.capitalize(), max(1, counts[word] // 10)


def hyphens(words: Words, donor: Words, wanted: int, random: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Two random types with a hyphen between them, each compound once."""
    names = [word for word, _ in words]
    for left, right in zip(_drawn(names, wanted, random), _drawn(names, wanted, random), strict=True):
        yield f"{left}-{right}", 1


def numbers(words: Words, donor: Words, wanted: int, random: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Numbers, and random types with digits at their end, their head and inside them; each once."""
    names = [word for word, _ in words]
    for i, word in enumerate(_drawn(names, wanted, random)):
        digits, half = str(random.integers(1, 10_000)), len(word) // 2
        yield (digits, word + digits, digits + word, word[:half] + digits + word[half:])[i % 4], 1


def _drawn(words: Sequence[str], wanted: int, random: np.random.Generator) -> list[str]:
    """That many words at random, none twice; all of them where there are fewer."""
    return [words[i] for i in random.permutation(len(words))[:wanted].tolist()]


KINDS: dict[str, Callable[[Words, Words, int, np.random.Generator], Iterator[tuple[str, int]]]] = {
    "foreign": foreign,
    "typos": typos,
    "capitals": capitals,
    "hyphens": hyphens,
    "numbers": numbers,
}
