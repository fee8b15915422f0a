"""A small made-up language with prefixes, stems and suffixes, so that tests need no data files."""

from itertools import product

from mws_hf.corpus.counts import WordCounts
from mws_hf.text.pattern import DEFAULT_PATTERN

PREFIXES = ["", "un", "re", "над"]
STEMS = ["walk", "talk", "tun", "берег", "светл", "mölk", "п'ят"]
SUFFIXES = ["", "s", "ed", "ing", "ами", "ost"]


def morphs():
    """All words as lists of their morphs."""
    return [[m for m in parts if m] for parts in product(PREFIXES, STEMS, SUFFIXES)]


def small_counts(pattern=DEFAULT_PATTERN):
    """Counts of the words of the language, with and without a space in front, capitals, digits and punctuation."""
    words = {}
    for number, parts in enumerate(morphs()):
        words[" " + "".join(parts)] = 1 + 97 % (number + 2)
        if number % 7 == 0:
            words["".join(parts).capitalize()] = 1 + number % 3
    words |= {",": 40, ".": 31, " ": 3, "202": 2, "4": 5, " —": 4, "-ost": 2, "\n": 6}
    return WordCounts.from_mapping(words, pattern=pattern)


def running_text():
    """Lines of text in the language."""
    words = ["".join(parts) for parts in morphs()]
    return [" ".join(words[i::11]).capitalize() + ", 2024." for i in range(11)]
