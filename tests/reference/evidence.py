"""The kernels of the boundary probabilities as executable specifications, with dictionaries and strings, for tests."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise, product

BOUNDARY = "\0"
STEM, SPELLED = 1, 3
Matrix = Sequence[Sequence[float]]


def continuations(words: Sequence[str], order: int | None) -> dict[str, Counter[str]]:
    """Count how many words continue each context (`context_at`) with each symbol, `BOUNDARY` at the end of the word."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for word in words:
        for i in range(len(word)):
            following = word[i + 1] if i + 1 < len(word) else BOUNDARY
            found[context_at(word, i, order)][following] += 1
    return found


def context_at(word: str, i: int, order: int | None) -> str:
    """Return the context that ends with character `i`: `order` characters, padded at the start; None is the prefix."""
    prefix = word[: i + 1]
    return prefix if order is None else (BOUNDARY * order + prefix)[-order:]


def entropy(counter: Counter[str]) -> float:
    """Compute the entropy of the relative frequencies, in bits."""
    total = counter.total()
    return -sum(c / total * math.log2(c / total) for c in counter.values())


def branching(
    words: Sequence[str], order: int | None, *, backwards: bool = False
) -> list[list[tuple[float, float, float]]]:
    """Compute (entropy, log2 support, log2 variety) of contexts that end (or backwards begin) with each character."""
    if backwards:
        return [row[::-1] for row in branching([word[::-1] for word in words], order)]
    table = continuations(words, order)
    rows = []
    for word in words:
        counters = [table[context_at(word, i, order)] for i in range(len(word))]
        rows.append([(abs(entropy(c)), math.log2(c.total()), math.log2(len(c))) for c in counters])
    return rows


def substring_counts(words: Sequence[str], longest: int, min_count: int) -> dict[str, int]:
    """Count candidates for the lexicon: single symbols, and longer substrings that occur at least `min_count` times."""
    found = Counter(
        word[i:j] for word in words for i in range(len(word)) for j in range(i + 1, min(len(word), i + longest) + 1)
    )
    return {entry: count for entry, count in found.items() if len(entry) == 1 or count >= min_count}


def segmentations(word: str, p: Collection[str]) -> Iterator[tuple[str, ...]]:
    """List all ways to write `word` as a sequence of lexicon entries."""
    if not word:
        yield ()
    for end in range(1, len(word) + 1):
        if word[:end] in p:
            for rest in segmentations(word[end:], p):
                yield (word[:end], *rest)


def expected_counts(
    words: Sequence[str],
    p: Mapping[str, Sequence[float]],
    step: Matrix,
    stop: Sequence[float],
    start: Sequence[float],
    known: float,
    spelled: Callable[[str], float],
) -> tuple[dict[tuple[str, int], float], list[list[float]], list[list[float]]]:
    """Compute the result of `lexicon_kernels.forward_backward` by enumerating all ways to write each word.

    `spelled` returns the probability that a stem is spelled out as these characters. The result is the uses of each
    (entry, class), the moves, and for each word the probability of a boundary after each character.
    """

    def piece_probability(piece: str, source: int) -> float:
        if source == SPELLED:
            return spelled(piece)
        return (known if source == STEM else 1.0) * p[piece][source] if piece in p else 0.0

    uses: dict[tuple[str, int], float] = defaultdict(float)
    moves = [[0.0] * 3 for _ in range(5)]
    posteriors = []
    for word in words:
        ways = []
        for pieces in segmentations(word, {word[i:j] for j in range(len(word) + 1) for i in range(j)}):
            for sources in product((*range(3), SPELLED), repeat=len(pieces)):
                weight = math.prod(map(piece_probability, pieces, sources))
                classes = [STEM if source == SPELLED else source for source in sources]
                weight *= start[classes[0]] * stop[classes[-1]] * math.prod(step[a][b] for a, b in pairwise(classes))
                if weight > 0:
                    ways.append((pieces, sources, classes, weight))
        total = sum(weight for *_, weight in ways)
        posterior = [0.0] * len(word)
        for pieces, sources, classes, weight in ways:
            share = weight / total
            for piece, source in zip(pieces, sources, strict=True):
                if source != SPELLED:
                    uses[piece, source] += share
            for a, b in pairwise(classes):
                moves[a][b] += share
            moves[3][classes[-1]] += share
            moves[4][classes[0]] += share
            for k in range(1, len(pieces)):
                posterior[sum(map(len, pieces[:k])) - 1] += share
        posteriors.append(posterior)
    return dict(uses), moves, posteriors


def letters_alone(letters: Mapping[str, float], unknown: Sequence[float]) -> Callable[[str], float]:
    """Return the probability of a spelled-out stem: of its characters one by one, and of its length by `unknown`."""
    return lambda stem: unknown[len(stem)] * math.prod(letters[c] for c in stem) if len(stem) < len(unknown) else 0.0


def letter_model(
    stems: Collection[str], frequency: Mapping[str, int], most: int, discount: float = 0.75
) -> Callable[[str], float]:
    """Return a function for the probability of two or more characters and the end of a stem, under trigrams of stems.

    All characters except the `most` frequent ones count as one, whose probability they share by their frequencies.
    `discount` is subtracted from every count, and its mass is given to the shorter context.
    """
    kept = sorted(frequency, key=lambda c: -frequency[c])[:most]
    rare = sum(n for c, n in frequency.items() if c not in kept)
    grams: Counter[tuple[str, ...]] = Counter()
    for stem in stems:
        letters = [BOUNDARY, BOUNDARY, *(c if c in kept else "" for c in stem), BOUNDARY]
        grams.update(tuple(letters[i : i + 3]) for i in range(len(letters) - 2))

    def after(context: tuple[str, ...], letter: str, order: int) -> float:
        if order < 0:
            return 1 / (len(kept) + 2)
        here = Counter[str]()
        for gram, count in grams.items():
            if gram[2 - order : 2] == context[2 - order :]:
                here[gram[2]] += count
        lower, total = after(context, letter, order - 1), here.total()
        return max(here[letter] - discount, 0) / total + discount * len(here) / total * lower if total else lower

    def spelled(stem: str) -> float:
        letters = [BOUNDARY, BOUNDARY, *(c if c in kept else "" for c in stem), BOUNDARY]
        found = math.prod(after((letters[i - 2], letters[i - 1]), letters[i], 2) for i in range(2, len(letters)))
        return found * math.prod(frequency[c] / rare for c in stem if c not in kept)

    return spelled


def pieces_by_class(pieces: Sequence[str]) -> list[int]:
    """Find the class of each part of a word: the longest part, or the first of several longest ones, is the stem."""
    stem = max(range(len(pieces)), key=lambda k: len(pieces[k]))
    return [0 if k < stem else 1 if k == stem else 2 for k in range(len(pieces))]


def paradigm_scores(words: Sequence[str], shortest_stem: int, longest_ending: int, most: int) -> list[list[int]]:
    """Count, after each character, the other stems that have both the ending there and its best partner.

    The partners of an ending are the other endings of the stem that begin with a different character; only endings of
    several words count. Stems with more than `most` endings are skipped.

    >>> paradigm_scores(["walked", "walks", "talked", "talks"], 2, 8, 150)[0]
    [0, 0, 0, 1, 0, 0]
    """
    ends = Counter(word[i:] for word in words for i in range(len(word) + 1))
    paradigms: dict[str, set[str]] = defaultdict(set)
    for word in words:
        for i in range(max(shortest_stem, len(word) - longest_ending), len(word) + 1):
            if ends[word[i:]] > 1 or i == len(word):
                paradigms[word[:i]].add(word[i:])
    paradigms = {stem: endings for stem, endings in paradigms.items() if len(endings) <= most}

    def worth(stem: str, ending: str) -> int:
        if ending not in paradigms.get(stem, ()):
            return 0
        partners = [other for other in paradigms[stem] if other[:1] != ending[:1]]
        return max((sum({ending, p} <= found for found in paradigms.values()) - 1 for p in partners), default=0)

    return [[worth(word[: i + 1], word[i + 1 :]) for i in range(len(word))] for word in words]


def mixed_hash(text: str) -> int:
    """Compute the hash that orders words of equal count, a signed 64-bit number."""
    h = 1
    for character in text:
        h = ((h ^ ord(character)) * -7046029254386353131 + 2**63) % 2**64 - 2**63  # two's complement
        h ^= h >> 32
    return h


def best_split(entry: str, logp: Mapping[str, float]) -> float:
    """Compute the log probability of the best way to write an entry as two or more others; -inf if there is none."""
    ways = (pieces for pieces in segmentations(entry, logp) if len(pieces) > 1)
    return max((math.fsum(logp[x] for x in pieces) for pieces in ways), default=-math.inf)
