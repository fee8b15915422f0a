"""Word counts as flat arrays of symbol ids, and the result type of every learner; no learning happens here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mws_hf.errors import MwSError


@dataclass(frozen=True)
class SymbolCorpus:
    """Distinct pre-tokens as one flat array of symbols, the input of every learner.

    Attributes:
        alphabet: the characters, ascending by code point; a symbol's id is its index here.
        symbols: int32, shape (n_characters,), all pre-tokens one after another.
        starts: int64, shape (n_words + 1,); word w is ``symbols[starts[w]:starts[w + 1]]``.
        weights: int64, shape (n_words,), how often each word counts (1 each under the good-dataset principle).
    """

    alphabet: tuple[str, ...]
    symbols: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.weights)

    def word(self, index: int) -> str:
        """The characters of word `index` as a string."""
        return "".join(self.alphabet[s] for s in self.symbols[self.starts[index] : self.starts[index + 1]])

    @classmethod
    def from_words(
        cls, words: Sequence[str], weights: Iterable[int] | None = None, alphabet: Iterable[str] | None = None
    ) -> SymbolCorpus:
        """Build the arrays; characters outside `alphabet`, when one is given, split their word and are left out.

        Args:
            words: pre-tokens; empty ones are dropped.
            weights: one positive integer a word; 1 each when absent.
            alphabet: the characters to keep; all characters seen when absent.

        Raises:
            MwSError: the numbers of words and weights differ.

        >>> corpus = SymbolCorpus.from_words(["aba", "cab"], [2, 1])
        >>> corpus.alphabet, corpus.symbols.tolist(), corpus.starts.tolist(), corpus.weights.tolist()
        (('a', 'b', 'c'), [0, 1, 0, 2, 0, 1], [0, 3, 6], [2, 1])
        >>> limited = SymbolCorpus.from_words(["aba", "cab"], [2, 1], alphabet="ac")
        >>> [limited.word(i) for i in range(len(limited))], limited.weights.tolist()
        (['a', 'a', 'ca'], [2, 2, 1])
        """
        counts = np.ones(len(words), np.int64) if weights is None else np.fromiter(weights, np.int64)
        if len(counts) != len(words):
            raise MwSError(f"{len(words)} words but {len(counts)} weights; give one weight a word")
        lengths = np.fromiter((len(w) for w in words), np.int64, len(words))
        points = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
        owner = np.repeat(np.arange(len(words)), lengths)
        kept = np.unique(points) if alphabet is None else np.array(sorted({ord(c) for c in alphabet}), np.uint32)
        index = np.searchsorted(kept, points)
        known = np.zeros(len(points), bool) if len(kept) == 0 else kept[np.minimum(index, len(kept) - 1)] == points
        # a new word starts where the owner changes or an unknown character was dropped
        begins = np.ones(len(points), bool)
        begins[1:] = (owner[1:] != owner[:-1]) | ~known[:-1]
        begins, owner, index = begins[known], owner[known], index[known]
        first = np.nonzero(begins)[0]
        return cls(
            alphabet=tuple(map(chr, kept.tolist())),
            symbols=index.astype(np.int32),
            starts=np.append(first, len(index)).astype(np.int64),
            weights=counts[owner[first]] if len(first) else np.zeros(0, np.int64),
        )


@dataclass(frozen=True)
class Learnt:
    """What a learner found.

    Attributes:
        merges: (left, right) strings in merge-rank order; each product is a string no earlier token has.
        scores: the criterion's value of each merge when it was taken.
        exhausted: True when the criterion had no further candidate, False when the wanted number was reached.
    """

    merges: list[tuple[str, str]]
    scores: list[float] = field(default_factory=list)
    exhausted: bool = False
