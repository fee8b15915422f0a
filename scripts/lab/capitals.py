r"""A marker in place of uppercase: the rules of a tokenizer.json that write it before encoding and undo it afterwards.

A word of one uppercase letter and lowercase letters becomes a marker and the lowercase word. The marker stands before
the space of the word, where split patterns take it for punctuation. Words of uppercase letters only, mixed words, and
letters without a rule stay as they are.

``tokenizers`` can neither lower a single match of a pattern nor raise a letter, so there is one rule per letter in each
direction. A marker that stands in the text already is followed by a second character, so that every text comes back.
A marker that nothing follows yet is not shown, so that what is decoded so far never changes when a token is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, normalizers

from mws_hf import WordCounts

MARKER, ESCAPE = "\x0e", "\x0f"
"""The marker, and what follows a marker that stood in the text."""
SHARE = 1e-4
"""Letters with a smaller share of the uppercase letters have no rule."""
ALONE = r"(?<![\p{L}\p{N}])%s(?=[\p{Ll}\p{M}]*(?![\p{L}\p{M}\p{N}]))"
"""Where a letter begins a word whose other letters are lowercase."""


def inverted(letter: str) -> bool:
    """Tell whether a letter is uppercase, and its lowercase letter leads back to it.

    >>> [inverted(letter) for letter in "AЖaİẞǅ"]
    [True, True, False, False, False, False]
    """
    small = letter.lower()
    return len(small) == 1 and small != letter and small.upper() == letter


def frequent_letters(counts: WordCounts) -> list[str]:
    """Return the uppercase letters of running text that get a rule, by code point."""
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for letter in filter(inverted, word):
            found[letter] += count
    return sorted(letter for letter, count in found.items() if count >= SHARE * found.total())


def normalizer_of(letters: Iterable[str]) -> normalizers.Sequence:
    r"""Return the rules that write the marker.

    >>> normalizer_of("АИО").normalize_str("А в Омске, НИИ (Иван)")
    '\x0eа в\x0e омске, НИИ (\x0eиван)'
    """
    marked = [normalizers.Replace(Regex(ALONE % letter), MARKER + letter.lower()) for letter in letters]
    escaped = normalizers.Replace(MARKER, MARKER + ESCAPE)
    return normalizers.Sequence([escaped, *marked, normalizers.Replace(" " + MARKER, MARKER + " ")])


def decoder_of(letters: Iterable[str]) -> decoders.Sequence:
    """Return the rules that undo the marker, behind a byte-level decoder."""
    raised = [decoders.Replace(MARKER + letter.lower(), letter) for letter in letters]
    behind = decoders.Replace(MARKER + " ", " " + MARKER)
    dropped = decoders.Replace(Regex(f"{MARKER}(?!{ESCAPE})"), "")
    kept = decoders.Replace(MARKER + ESCAPE, MARKER)
    return decoders.Sequence([decoders.ByteLevel(), behind, *raised, dropped, kept])


def with_marker(tokenizer: Any, letters: list[str]) -> Tokenizer:
    """Return a copy of a byte-level tokenizer that writes the marker before it encodes."""
    found = Tokenizer.from_str(tokenizer.to_str())
    found.normalizer, found.decoder = normalizer_of(letters), decoder_of(letters)
    return found


def marked(documents: Iterable[str], letters: list[str]) -> Iterator[str]:
    """Yield documents with the marker written, as the tokenizer will see them."""
    normalizer = normalizer_of(letters)
    yield from map(normalizer.normalize_str, documents)
