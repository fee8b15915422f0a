"""Explain why a word is segmented as it is, by the merges that were applied and the boundary probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

from tokenizers import Tokenizer

from mws_hf.errors import MwSError, printable, quoted
from mws_hf.text.capitals import MARKER
from mws_hf.text.symbols import BYTE_TOKENS, bytes_of, readable
from mws_hf.tokenizer.backend import is_byte_level, tables_of
from mws_hf.tokenizer.merging import merge_steps, ranked, symbols_of
from mws_hf.tokenizer.spec import without_limits

_BYTES = frozenset(BYTE_TOKENS)
MAX_TRACED_SYMBOLS = 10_000
"""Maximum number of symbols (bytes or characters) of a pre-token that `trace` explains.

The size of its result grows with the square of this number.
"""
UNSEEN = "not among the training words, so its boundaries are estimated from its letters"
"""The remark below the explanation of a word whose probabilities are estimated."""
Tables: TypeAlias = tuple[dict[str, int], dict[tuple[str, str], tuple[int, str]]]
"""The vocabulary of a BPE, and its merges as `merging.ranked` gives them."""


class WordEvidence(Protocol):
    """An object that returns boundary probabilities of pre-tokens, such as `AnyWord`."""

    def word(self, pretoken: str) -> list[float] | None:
        """Return the probability of a boundary after each character; None if the pre-token is not a word."""

    def words(self, pretokens: Sequence[str]) -> list[list[float] | None]:
        """Return the result of `word` for each pre-token; one call for many pre-tokens is faster."""

    def is_training_word(self, pretoken: str) -> bool:
        """Return whether a pre-token is one of the training words whose probabilities were saved."""


class Step(NamedTuple):
    """One merge in the encoding of a pre-token.

    Attributes:
        rank: the rank of the merge, from 0.
        left: its left part.
        right: its right part.
        tokens: all tokens of the pre-token after this merge.
    """

    rank: int
    left: str
    right: str
    tokens: tuple[str, ...]


class Traced(NamedTuple):
    """A pre-token with the merges that were applied to it.

    Attributes:
        text: the pre-token after normalization.
        tokens: its tokens.
        steps: the merges, in the order in which they were applied.
        pieces: the parts of the text that its tokens spell; a character that several tokens share is in one piece.
    """

    text: str
    tokens: tuple[str, ...]
    steps: tuple[Step, ...]
    pieces: tuple[str, ...]


class SpelledWord(NamedTuple):
    """A word with its boundary probabilities and the points at which its tokens split it.

    Attributes:
        letters: the word without the space before it.
        boundaries: the probability of a boundary after each character of `letters`.
        split_points: for each split, the number of characters before it, in ascending order.
    """

    letters: str
    boundaries: list[float]
    split_points: list[int]

    def lines(self) -> str:
        """Return two aligned lines: letters with the splits, and under each the probability (%) of a boundary after it.

        >>> print(SpelledWord("читал", [0.01, 0.2, 0.93, 0.4, 0.0], [3]).lines())
        ч   и   т | а   л
          1  20  93  40 %
        """
        inner = range(1, len(self.letters))
        first = "".join(self.letters[place - 1] + (" | " if place in self.split_points else "   ") for place in inner)
        second = "".join(f"{round(100 * self.boundaries[place - 1]):>{3 if place == 1 else 4}}" for place in inner)
        return f"{first}{self.letters[-1]}\n{second}{' %' * bool(second)}"


@dataclass(frozen=True)
class Explanation:
    """The reasons why a word is segmented as it is: merges and boundary probabilities.

    Attributes:
        parts: the pre-tokens of the word, usually one, with the merges that fired in each.
        boundaries: for each part, the probability of a morph boundary after each of its characters, or None.
        seen: for each part, whether it is one of the training words; None if that is not known, as for a word of one
            letter, which has no position for a boundary.
    """

    parts: tuple[Traced, ...]
    boundaries: tuple[list[float] | None, ...]
    seen: tuple[bool | None, ...]

    @classmethod
    def of_words(cls, words: Sequence[Sequence[Traced]], evidence: WordEvidence | None) -> list[Explanation]:
        """Explain words whose pre-tokens were traced; the boundary probabilities of all words are found in one pass.

        Args:
            words: for each word, the result of `trace`.
            evidence: the boundary probabilities; None if there are none.

        Returns:
            The explanation of each word.

        >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
        >>> merges = [("о", "н"), (" ", "он")]
        >>> print(*Explanation.of_words([trace(build_backend(base_vocab((), " но", merges), merges), " он")], None))
              0  'о' + 'н'  ->   ·он
              1  ' ' + 'он'  ->   он
        """
        texts = list(dict.fromkeys(part.text for parts in words for part in parts))
        values = dict.fromkeys(texts) if evidence is None else dict(zip(texts, evidence.words(texts), strict=True))
        seen = {
            text: evidence.is_training_word(text)
            if evidence is not None and value is not None and len(text.lstrip(" ")) > 1
            else None
            for text, value in values.items()
        }
        return [
            cls(
                tuple(parts),
                tuple(values[part.text] for part in parts),
                tuple(seen[part.text] for part in parts),
            )
            for parts in words
        ]

    @property
    def spelled_words(self) -> list[SpelledWord]:
        """The parts that have boundary probabilities."""
        found = []
        for part, values in zip(self.parts, self.boundaries, strict=True):
            if values is not None:
                lead = part.text.startswith(" ")
                ends = accumulate(map(len, part.pieces))
                split_points = [end - lead for end in ends if lead < end < len(part.text)]
                found.append(SpelledWord(part.text[lead:], values[lead:], split_points))
        return found

    @property
    def spelt(self) -> list[SpelledWord]:
        """The former name of `spelled_words`, kept for one version."""
        warnings.warn("Explanation.spelt is now Explanation.spelled_words", DeprecationWarning, stacklevel=2)
        return self.spelled_words

    def text(self) -> str:
        """Return the merges in order, one per line, then the letters with the boundary probabilities under them."""
        steps = (step for part in self.parts for step in part.steps)
        merges = [f"{step.rank:>7}  {step.left!r} + {step.right!r}  ->  {'·'.join(step.tokens)}" for step in steps]
        return printable("\n".join(merges + [part.lines() for part in self.spelled_words]), keep="\n")

    def __repr__(self) -> str:
        """Show what `print` shows, because Python and notebooks show a result without `print`."""
        return str(self)

    def __str__(self) -> str:
        return self.text() + f"\n({UNSEEN})" * (False in self.seen)

    def to_dict(self, *, merges: bool = True, evidence: bool = True) -> dict[str, Any]:
        """Return plain values for JSON.

        Args:
            merges: include ``pretokens``, ``tokens`` and ``merges``.
            evidence: include ``boundaries``, the probability of a boundary after each character of the word, without
                the space before it and without a marker for capitals. A probability is None in a pre-token that has
                none, and the list is None if no pre-token has any.
        """
        found: dict[str, Any] = {}
        if merges:
            found["pretokens"] = [part.text for part in self.parts]
            found["tokens"] = [token for part in self.parts for token in part.tokens]
            found["merges"] = [step._asdict() for part in self.parts for step in part.steps]
        if evidence:
            values: list[float | None] = []
            for part, known in zip(self.parts, self.boundaries, strict=True):
                values += [None] * len(part.text) if known is None else [round(value, 4) for value in known]
            found["boundaries"] = values[self._before_word :] if self.spelled_words else None
        return found

    @property
    def _before_word(self) -> int:
        """The number of characters before the word: of the space, and of a marker for capitals before the space."""
        text = "".join(part.text for part in self.parts)
        return len(text) - len(text.lstrip(MARKER).removeprefix(" "))


def tracing_tables(backend: Tokenizer) -> Tables:
    """Return the tables that `trace` needs; raise MwSError if the model is not a BPE."""
    vocab, merges = tables_of(backend)
    return vocab, ranked(merges)


def trace(backend: Tokenizer, text: str, tables: Tables | None = None) -> list[Traced]:
    """Replay the merges of a BPE tokenizer one by one, after its own normalizer, split and byte fallback.

    Tokens of a byte-level tokenizer are written as text (`symbols.readable`), and the merges that build a character
    from its bytes are left out.

    Args:
        backend: the tokenizer.
        text: the text to encode.
        tables: the result of `tracing_tables`, if several texts are traced.

    Returns:
        The pre-tokens of the text, in order.

    Raises:
        MwSError: the model is not a BPE, a word has more than `MAX_TRACED_SYMBOLS` symbols, or the tokenizer itself
            segments the text differently.
    """
    backend = without_limits(backend)
    vocab, ranks = tables or tracing_tables(backend)
    in_bytes = is_byte_level(backend)
    normalized = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
    splitter = backend.pre_tokenizer
    parts = [normalized] if splitter is None else [part for part, _ in splitter.pre_tokenize_str(normalized)]
    found, tokens = [], list[str]()
    for part in parts:
        symbols = list(part) if in_bytes else symbols_of(part, vocab, "characters")
        if len(symbols) > MAX_TRACED_SYMBOLS:
            word, unit = (readable(part), "bytes") if in_bytes else (part, "characters")
            raise MwSError(
                f"{quoted(word)} has {len(symbols):,} {unit}, but the merges of at most {MAX_TRACED_SYMBOLS:,} can be "
                "explained, because each step lists all tokens; give a shorter word"
            )
        steps = merge_trace(symbols, ranks)
        merged = steps[-1].tokens if steps else tuple(symbols)
        tokens += merged
        if in_bytes:
            traced = Traced(part, merged, tuple(steps), _pieces(bytes_of(part), map(len, merged)))
            found.append(_in_text(traced))
        else:
            sizes = [1 if token in _BYTES else len(token.encode()) for token in merged]
            found.append(Traced(part, merged, tuple(steps), _pieces(part.encode(), sizes)))
    if tokens != backend.encode(text, add_special_tokens=False).tokens:
        raise MwSError(
            f"{text!r}: its merges cannot be shown, because it contains an added token, or because the model does more "
            "than merge"
        )
    return found


def merge_trace(symbols: Iterable[str], ranks: Mapping[tuple[str, str], tuple[int, str]]) -> list[Step]:
    """List the merges of the symbols of a pre-token in their order; each merge is applied at all its positions.

    Args:
        symbols: the symbols from which merging starts.
        ranks: the rank and the result of each merge, from `merging.ranked`.

    >>> merge_trace("onon", {("o", "n"): (0, "on")})
    [Step(rank=0, left='o', right='n', tokens=('on', 'on'))]
    """
    steps: list[Step] = []
    tokens = list(symbols)
    before = tuple(tokens)
    for rank, at in merge_steps(tokens, ranks):
        left, right = before[at : at + 2]
        before = tuple(tokens)
        if steps and steps[-1].rank == rank:
            del steps[-1]
        steps.append(Step(rank, left, right, before))
    return steps


def _in_text(part: Traced) -> Traced:
    """Rewrite a trace from the byte alphabet as text, without the merges whose right part starts within a character."""
    shown = tuple(
        Step(step.rank, readable(step.left), readable(step.right), tuple(map(readable, step.tokens)))
        for step in part.steps
        if bytes_of(step.right)[0] & 0xC0 != 0x80
    )
    return Traced(readable(part.text), tuple(map(readable, part.tokens)), shown, part.pieces)


def _pieces(text: bytes, sizes: Iterable[int]) -> tuple[str, ...]:
    """Split a text in UTF-8 into the pieces of tokens with these sizes in bytes; a character is never split."""
    edges = [0, *accumulate(sizes)]
    between = [edge for edge in edges if edge == len(text) or text[edge] & 0xC0 != 0x80]  # not inside a character
    return tuple(text[begin:end].decode() for begin, end in pairwise(between))
