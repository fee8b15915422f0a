"""Find merges for strings that must be entries of a vocabulary, whatever their value to the learner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mws_hf.errors import MwSError
from mws_hf.tokenizer.merging import merge, ranked

Merge = tuple[str, str]


def merges_for(strings: Iterable[Sequence[str]], merges: Sequence[Merge], known: Collection[str] = ()) -> list[Merge]:
    """Find merges that make each string one token where it is a word by itself; they rank behind all other merges.

    A string falls into pieces under the merges so far. New merges join these pieces, the left ones first, unless the
    product is an entry already. A later string changes no earlier one, since its merges rank behind.

    Args:
        strings: the symbols of each string.
        merges: the merges that exist, in rank order.
        known: entries that no merge need make.

    Raises:
        MwSError: other merges already make every product that could lead to a string.

    >>> merges_for(["abcd", "abc"], [("b", "c")])
    [('a', 'bc'), ('abc', 'd')]
    """
    table = ranked(merges)
    entries = {*known, *(left + right for left, right in merges)}
    found: list[Merge] = []
    for string in strings:
        whole = "".join(string)
        pieces = [whole] if whole in entries else merge(string, table)
        while len(pieces) > 1:
            pairs = [(pieces[at], pieces[at + 1]) for at in range(len(pieces) - 1)]
            pair = next((pair for pair in pairs if pair[0] + pair[1] not in entries), None)
            if pair is None:
                raise MwSError(f"{whole!r} cannot become an entry: all ways to it are other entries; leave it out")
            table[pair] = len(table) + len(merges), pair[0] + pair[1]
            found.append(pair)
            entries.add(pair[0] + pair[1])
            pieces = merge(pieces, table)
    return found
