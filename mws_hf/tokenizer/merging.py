"""BPE and BPE-dropout in readable Python, which tests compare with all faster implementations.

With BPE-dropout (Provilkov, Emelianenko, Voita 2020, arXiv:1910.13267) merges fail at random. At each step, each pair
that could be merged is left out with a given probability. Of the other pairs, the one of lowest rank is merged, the
leftmost first; if no pair is left, the pre-token is finished. With a different seed, the same text therefore gets
different tokens, which still decode to the text.

A hash of the seed, the text, the position and the step decides whether a pair is left out. Therefore the tokens of a
text depend only on the seed, not on the order of the texts or the number of workers. Use a new seed for each pass over
a corpus. `mws_hf.encode.bpe_kernels` contains the same in machine code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

from mws_hf.errors import MwSError, SettingError
from mws_hf.text.symbols import BYTE_TOKENS, Alphabet, to_byte_level
from mws_hf.tokenizer.training_record import kinds_by_rank

T = TypeVar("T", str, int)
Dropped = Literal["all", "morph", "composition"]

DROPPED_KINDS: dict[Dropped, tuple[str, ...]] = {
    "morph": ("morph", "added morph"),
    "composition": ("composition", "added composition"),
}
"""The kinds of merges, as training metadata name them (`training_record.kinds_in`), that each choice may leave out."""

STEP_FACTOR, POSITION_FACTOR, BYTE_FACTOR = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x100000001B3
"""Odd 64-bit numbers by which the number of a step, a position and a hash of bytes are multiplied."""
MIX_FACTOR_1, MIX_FACTOR_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The multipliers of SplitMix64's last step (Steele, Lea, Flood 2014)."""
_MASK = (1 << 64) - 1
DRAW_BITS = 53
"""The number of bits of a pseudo-random number, which is compared with `Dropout.threshold`."""


@dataclass(frozen=True)
class Dropout:
    """The merges that fail at random, and how often they do.

    Attributes:
        share: probability that a pair is left out at a step, from 0 to 1; 0.1 is usual.
        seed: a whole number from 0 to 2^64 - 1; a different seed gives different tokens.
        kind: which merges may fail: "all"; "morph", only those that boundary probabilities decided, so that morphs are
            split further; or "composition", only those that join frequent neighbors, so that words are split into
            morphs.

    Raises:
        MwSError: a value is out of range.
    """

    share: float
    seed: int = 0
    kind: Dropped = "all"

    def __post_init__(self) -> None:
        """Check the values, and convert numbers of numpy, with which 64-bit arithmetic would overflow."""
        share: Any = self.share
        seed: Any = self.seed
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= float(share) <= 1:
            raise SettingError("dropout", share, "is not a probability; give a number from 0 to 1, such as 0.1")
        if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) <= _MASK:
            raise SettingError("seed", seed, "is not a whole number from 0 to 2^64 - 1")
        if self.kind not in ("all", *DROPPED_KINDS):
            raise SettingError("drop", self.kind, "is unknown; choose all, morph or composition")
        object.__setattr__(self, "share", share if isinstance(share, int) else float(share))
        object.__setattr__(self, "seed", int(seed))

    @property
    def threshold(self) -> int:
        """The number below which a draw of `DRAW_BITS` bits leaves a pair out."""
        return round(self.share * (1 << DRAW_BITS))

    def may_fail(self, n_merges: int, n_building: int, kinds: Sequence[tuple[str, int]]) -> list[bool]:
        """List for each merge, in the order of ranks, whether it may be left out.

        Args:
            n_merges: number of merges.
            n_building: number of the first merges, which build characters from bytes and never fail.
            kinds: the kinds of the last merges, from `training_record.kinds_in`.

        Raises:
            MwSError: `kind` is not "all", and the kinds of the merges are not known.

        >>> Dropout(0.1, kind="morph").may_fail(6, 1, [("morph", 3), ("composition", 2)])
        [False, True, True, True, False, False]
        """
        if self.kind == "all":
            return [rank >= n_building for rank in range(n_merges)]
        chosen = [name in DROPPED_KINDS[self.kind] for name in kinds_by_rank(kinds, n_merges)]
        if not any(chosen):
            raise SettingError(
                "drop",
                self.kind,
                "is not possible, because the tokenizer has no mws_training.json with the kinds of its merges; "
                "give the folder that training wrote, or choose 'all'",
            )
        return chosen


def mixed(number: int) -> int:
    """Mix the bits of a 64-bit number, as SplitMix64 does.

    >>> hex(mixed(0x9E3779B97F4A7C15))
    '0xe220a8397b1dcdaf'
    """
    number = (number ^ (number >> 30)) * MIX_FACTOR_1 & _MASK
    number = (number ^ (number >> 27)) * MIX_FACTOR_2 & _MASK
    return number ^ (number >> 31)


def text_key(seed: int, text: bytes) -> int:
    """Return the 64-bit hash of a text and a seed (FNV-1a, with mixed bits before and after).

    Args:
        seed: `Dropout.seed`.
        text: the text in UTF-8, without added tokens.
    """
    key = mixed(seed)
    for byte in text:
        key = (key ^ byte) * BYTE_FACTOR & _MASK
    return mixed(key)


def word_key(key: int, offset: int) -> int:
    """Return the hash of a pre-token, from the `text_key` of its text and the byte at which it begins."""
    return mixed(key ^ (offset * POSITION_FACTOR & _MASK))


def draw(key: int, step: int, position: int) -> int:
    """Return a pseudo-random number of `DRAW_BITS` bits for a step and a pair.

    Args:
        key: the `word_key` of the pre-token.
        step: number of merges so far.
        position: the number of starting symbols before the left part of the pair.

    Returns:
        A number from 0 to 2^53 - 1.
    """
    return mixed((key + step * STEP_FACTOR + position * POSITION_FACTOR) & _MASK) >> (64 - DRAW_BITS)


def merge_dropped(
    symbols: Sequence[T],
    merges: Mapping[tuple[T, T], tuple[int, T]],
    may_fail: Sequence[bool],
    threshold: int,
    key: int,
) -> list[T]:
    """Merge the symbols of one pre-token with BPE-dropout.

    Args:
        symbols: the symbols to start from.
        merges: the result of `ranked`.
        may_fail: by rank, whether a merge may be left out.
        threshold: `Dropout.threshold`.
        key: the `word_key` of the pre-token.

    Returns:
        The remaining symbols, which are the tokens.

    >>> merges = {("a", "b"): (0, "ab"), ("ab", "c"): (1, "abc")}
    >>> [merge_dropped("abc", merges, [True, True], Dropout(share).threshold, 0) for share in (0, 1)]
    [['abc'], ['a', 'b', 'c']]
    """
    result, positions, step = list(symbols), list(range(len(symbols))), 0
    while True:
        left = [
            (merges[pair][0], at)
            for at, pair in enumerate(pairwise(result))
            if pair in merges and not (may_fail[merges[pair][0]] and draw(key, step, positions[at]) < threshold)
        ]
        if not left:
            return result
        _, at = min(left)
        result[at : at + 2] = [merges[result[at], result[at + 1]][1]]
        del positions[at + 1]
        step += 1


def starting_symbols(word: str, whole: Collection[str], pieces: Sequence[str]) -> list[str]:
    """Join the bytes of those characters from which the merges of a byte-level tokenizer start.

    Args:
        word: the pre-token.
        whole: the characters that the first merges build from bytes (`symbols.built_first`).
        pieces: one symbol per byte of the pre-token.

    Returns:
        One symbol per character in `whole`, and one per byte of every other character.

    >>> starting_symbols("aя", {"a", "я"}, ["a", "Ñ", "ı"]), starting_symbols("я", {"a"}, ["Ñ", "ı"])
    (['a', 'Ñı'], ['Ñ', 'ı'])
    """
    found, at = list[str](), 0
    for character in word:
        end = at + len(character.encode())
        found += ["".join(pieces[at:end])] if character in whole else pieces[at:end]
        at = end
    return found


def ranked(merges: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, str]]:
    """Return the rank and the result of each merge; a pair that is listed twice has its last rank, as in `tokenizers`.

    >>> ranked([("o", "n"), (" ", "on")])
    {('o', 'n'): (0, 'on'), (' ', 'on'): (1, ' on')}
    """
    return {(left, right): (rank, left + right) for rank, (left, right) in enumerate(merges)}


def merge_steps(symbols: list[T], merges: Mapping[tuple[T, T], tuple[int, T]]) -> Iterator[tuple[int, int]]:
    """Merge the symbols of one pre-token in place, each time the leftmost pair of the lowest rank.

    Args:
        symbols: the symbols, which are changed.
        merges: the rank and the result of each pair, from `ranked`.

    Yields:
        After each merge, its rank and the index of its result.
    """
    never = 1 << 62
    ranks = [merges[pair][0] if pair in merges else never for pair in pairwise(symbols)]
    while ranks and (rank := min(ranks)) < never:
        at = ranks.index(rank)
        symbols[at : at + 2] = [merges[symbols[at], symbols[at + 1]][1]]
        del ranks[at]
        for left in range(max(0, at - 1), min(at + 1, len(ranks))):
            pair = symbols[left], symbols[left + 1]
            ranks[left] = merges[pair][0] if pair in merges else never
        yield rank, at


def merge(symbols: Iterable[T], merges: Mapping[tuple[T, T], tuple[int, T]]) -> list[T]:
    """Return the symbols of one pre-token after all merges, which are applied in the order of `merge_steps`.

    Args:
        symbols: the symbols from which merging starts.
        merges: the rank and the result of each pair, from `ranked`.

    >>> merge("читать", ranked([("ч", "и"), ("чи", "т"), ("т", "ь")]))
    ['чит', 'а', 'ть']
    >>> merge([0, 1, 0, 1], {(0, 1): (0, 2), (2, 2): (1, 3)})
    [3]
    """
    result = list(symbols)
    for _ in merge_steps(result, merges):
        pass
    return result


def merges_for(
    strings: Iterable[Sequence[str]], merges: Sequence[tuple[str, str]], known: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Find the additional merges that make each string one token if it is a word by itself.

    Each string is segmented by all earlier merges. New merges join the resulting tokens, from left to right, except
    pairs whose product is a token already. A string does not change how earlier strings are segmented, because its
    merges have later ranks.

    Args:
        strings: strings as sequences of their symbols.
        merges: all other merges, in the order of their ranks; the new ones come after them.
        known: tokens that exist without a merge, such as the alphabet.

    Returns:
        The new merges, in the order of their ranks.

    Raises:
        MwSError: a string cannot be built, because the product of each pair of its tokens is a token already.

    >>> merges_for(["abcd", "abc"], [("b", "c")])
    [('a', 'bc'), ('abc', 'd')]
    """
    table = ranked(merges)
    existing = {*known, *(left + right for left, right in merges)}
    found: list[tuple[str, str]] = []
    for string in strings:
        whole = "".join(string)
        tokens = [whole] if whole in existing else merge(string, table)
        while len(tokens) > 1:
            pair = next((pair for pair in pairwise(tokens) if pair[0] + pair[1] not in existing), None)
            if pair is None:
                raise MwSError(
                    f"{whole!r} cannot become a token, because each merge of two of its parts makes a token that "
                    "exists already; leave it out"
                )
            table[pair] = len(table) + len(merges), pair[0] + pair[1]
            found.append(pair)
            existing.add(pair[0] + pair[1])
            tokens = merge(tokens, table)
    return found


def symbols_of(word: str, vocab: Mapping[str, int], kind: Alphabet) -> list[str]:
    """List the symbols from which merging starts: bytes, or characters with byte tokens for those without an id.

    Args:
        word: the pre-token.
        vocab: the id of each token, which is read only for the alphabet "characters".
        kind: the alphabet of the tokenizer.

    >>> symbols_of("aя", {"a": 0}, "characters"), symbols_of(" я", {}, "bytes")
    (['a', '<0xD1>', '<0x8F>'], ['Ġ', 'Ñ', 'ı'])
    """
    if kind == "bytes":
        return list(to_byte_level(word))
    symbols: list[str] = []
    for character in word:
        symbols += [character] if character in vocab else [BYTE_TOKENS[byte] for byte in character.encode()]
    return symbols
