"""BPE in readable Python: the definition of merging, which every faster way is tested against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TypeVar

from mws_hf.text.byte_alphabet import Alphabet, to_byte_level
from mws_hf.text.pattern import split
from mws_hf.text.special import BYTE_TOKENS
from mws_hf.tokenizer.backend import alphabet_of

T = TypeVar("T", str, int)


def ranked(merges: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, str]]:
    """Number merges by rank, as `merge_steps` takes them; a pair listed twice keeps its last rank, as in `tokenizers`.

    >>> ranked([("o", "n"), (" ", "on")])
    {('o', 'n'): (0, 'on'), (' ', 'on'): (1, ' on')}
    """
    return {(left, right): (rank, left + right) for rank, (left, right) in enumerate(merges)}


def merge_steps(symbols: list[T], merges: Mapping[tuple[T, T], tuple[int, T]]) -> Iterator[tuple[int, int]]:
    """Merge the symbols of one pre-token in place: the adjacent pair of lowest rank, the leftmost first, until none is.

    `merges`: pair -> (rank, product). Yields the rank of each merge and the index of its product, after it was done.
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
    """Return the symbols of one pre-token after all merges; `merge_steps` tells the order.

    >>> merge("читать", ranked([("ч", "и"), ("чи", "т"), ("т", "ь")]))
    ['чит', 'а', 'ть']
    >>> merge([0, 1, 0, 1], {(0, 1): (0, 2), (2, 2): (1, 3)})
    [3]
    """
    result = list(symbols)
    for _ in merge_steps(result, merges):
        pass
    return result


def with_bytes(word: str, known: Mapping[str, int]) -> list[str]:
    """List the characters of a pre-token, with byte tokens in place of characters that are not `known`.

    >>> with_bytes("aя", {"a": 0})
    ['a', '<0xD1>', '<0x8F>']
    """
    symbols: list[str] = []
    for character in word:
        symbols += [character] if character in known else [BYTE_TOKENS[byte] for byte in character.encode()]
    return symbols


def symbols_of(word: str, vocab: Mapping[str, int], kind: Alphabet) -> list[str]:
    """List the symbols that merging starts from: `with_bytes`, or in a byte-level tokenizer a symbol for each byte.

    >>> symbols_of(" я", {}, "bytes")
    ['Ġ', 'Ñ', 'ı']
    """
    return list(to_byte_level(word)) if kind == "bytes" else with_bytes(word, vocab)


def encode(
    text: str, vocab: Mapping[str, int], merges: Mapping[tuple[int, int], tuple[int, int]], pattern: str
) -> list[int]:
    """Encode a document: split it by the tables of `regex`, turn characters or bytes into ids, merge each pre-token.

    `merges`: pair of ids -> (rank, id of the product).

    >>> vocab = {f"<0x{b:02X}>": b for b in range(256)} | {"a": 256, "b": 257, "ab": 258}
    >>> encode("abяa", vocab, {(256, 257): (0, 258)}, r".+")
    [258, 209, 143, 256]
    """
    words, kind = split(text, pattern), alphabet_of(vocab)
    return [token for word in words for token in merge([vocab[each] for each in symbols_of(word, vocab, kind)], merges)]
