"""Explain why a word is cut as it is: the merges that fired, the evidence under its letters. Nothing is learnt here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from tokenizers import Tokenizer

from mws_hf.atomic import atomic_path
from mws_hf.errors import MwSError
from mws_hf.text.alphabets import bytes_of, readable
from mws_hf.text.special import BYTE_TOKENS
from mws_hf.tokenizer.backend import is_byte_level, tables_of
from mws_hf.tokenizer.merging import merge_steps, ranked, symbols_of
from mws_hf.tokenizer.spec import without_limits

_BYTES = frozenset(BYTE_TOKENS)
UNSEEN = "not among the training words, judged by its letters"
Tables: TypeAlias = tuple[dict[str, int], dict[tuple[str, str], tuple[int, str]]]
"""The vocabulary of a BPE, and its merges as `merging.ranked` gives them."""


class Step(NamedTuple):
    """One merge while a pre-token is encoded: its rank (0 first), its parts, and the whole pre-token after it."""

    rank: int
    left: str
    right: str
    tokens: tuple[str, ...]


class Traced(NamedTuple):
    """A pre-token after normalizer and split: its tokens, the merges that fired, and the pieces that spell its text."""

    text: str
    tokens: tuple[str, ...]
    steps: tuple[Step, ...]
    pieces: tuple[str, ...]


class Spelt(NamedTuple):
    """A word without the space before it, the evidence after each of its letters, and its pieces."""

    letters: str
    boundaries: list[float]
    pieces: list[str]

    def lines(self) -> str:
        """Write two aligned lines: pieces with their cuts, and under each letter P(boundary after it) in per cent.

        >>> print(Spelt("читал", [0.01, 0.2, 0.93, 0.4, 0.0], ["чит", "ал"]).lines())
        ч   и   т | а   л
          1  20  93  40
        """
        cuts = {*accumulate(map(len, self.pieces))}
        *inner, last = enumerate(self.letters, start=1)
        first = "".join(letter + (" | " if place in cuts else "   ") for place, letter in inner) + last[1]
        return (
            first
            + "\n"
            + "".join(f"{round(100 * self.boundaries[place - 1]):>{3 if place == 1 else 4}}" for place, _ in inner)
        )


@dataclass(frozen=True)
class Explanation:
    """The reasons why a word is cut as it is: merges and evidence.

    Attributes:
        parts: the pre-tokens of the word, usually one, with the merges that fired in each.
        boundaries: for each part, the probability of a morph boundary after each of its characters, or None.
        seen: for each part, whether it is among the training words; None where that is not known.
    """

    parts: tuple[Traced, ...]
    boundaries: tuple[list[float] | None, ...]
    seen: tuple[bool | None, ...]

    @classmethod
    def of(cls, parts: Iterable[Traced], evidence: WordEvidence | None) -> Explanation:
        """Look up the evidence of each part of a word."""
        parts = tuple(parts)
        values = tuple(None if evidence is None else evidence.word(part.text) for part in parts)
        seen = (
            None if evidence is None or own is None else evidence.knows(part.text)
            for part, own in zip(parts, values, strict=True)
        )
        return cls(parts, values, tuple(seen))

    @property
    def spelt(self) -> list[Spelt]:
        """The parts that have evidence."""
        found = []
        for part, values in zip(self.parts, self.boundaries, strict=True):
            if values is not None:
                lead = len(part.text) - len(part.text.removeprefix(" "))
                first, *others = part.pieces
                pieces = [piece for piece in (first[lead:], *others) if piece]
                found.append(Spelt(part.text[lead:], values[lead:], pieces))
        return found

    def text(self) -> str:
        """Write the merges in order, then pieces with the evidence under their letters."""
        steps = (step for part in self.parts for step in part.steps)
        merges = [f"{step.rank:>7}  {step.left!r} + {step.right!r}  ->  {'·'.join(step.tokens)}" for step in steps]
        return "\n".join(merges + [part.lines() for part in self.spelt])

    def __str__(self) -> str:
        return self.text() + f"\n({UNSEEN})" * (False in self.seen)

    def to_dict(self, *, merges: bool = True, evidence: bool = True) -> dict[str, Any]:
        """Return plain values for JSON; evidence is None for pre-tokens without any, and as a whole without any."""
        found: dict[str, Any] = {}
        if merges:
            found["pretokens"] = [part.text for part in self.parts]
            found["tokens"] = [token for part in self.parts for token in part.tokens]
            found["merges"] = [step._asdict() for part in self.parts for step in part.steps]
        if evidence:
            values: list[float | None] = []
            for part, own in zip(self.parts, self.boundaries, strict=True):
                values += [None] * len(part.text) if own is None else [round(value, 4) for value in own]
            found["boundaries"] = values[1:] if self.spelt else None
        return found


class WordEvidence(Protocol):
    """The interface of an object that tells the evidence of a pre-token, such as `mws_hf.learn.any_word.AnyWord`."""

    def word(self, pretoken: str) -> list[float] | None:
        """Return the probability of a boundary after each character; None where the pre-token is no word."""

    def knows(self, pretoken: str) -> bool:
        """Return whether a pre-token is among the training words."""


def explain_word(
    backend: Tokenizer, word: str, evidence: WordEvidence | None = None, tables: Tables | None = None
) -> Explanation:
    """Replay a word's merges as after a space, and report the evidence under its letters where some is given.

    `tables` are those of `backend`, from `tracing_tables`, where several words are explained.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("о", "н"), (" ", "он")]
    >>> print(explain_word(build_backend(base_vocab((), " но", merges), merges), "он"))
          0  'о' + 'н'  ->   ·он
          1  ' ' + 'он'  ->   он
    """
    return Explanation.of(Tracer(backend, tables)(" " + word), evidence)


def untraced(texts: Iterable[str]) -> list[Traced]:
    """Take pre-tokens whole, where there is no tokenizer."""
    return [Traced(text, (text,), (), (text,)) for text in texts]


def tracing_tables(backend: Tokenizer) -> Tables:
    """Read the tables that a `Tracer` needs; MwSError where the model is no BPE."""
    vocab, merges = tables_of(backend)
    return vocab, ranked(merges)


class Tracer:
    """A BPE tokenizer whose merges are replayed one by one, after its own normalizer, split and byte fallback.

    A byte-level tokenizer is shown in text: tokens as people read them (`alphabets.readable`), without the merges
    that build a character from its bytes.
    """

    def __init__(self, backend: Tokenizer, tables: Tables | None = None) -> None:
        self._backend = without_limits(backend)
        self._vocab, self._ranks = tables or tracing_tables(backend)
        self._byte_level = is_byte_level(backend)

    def __call__(self, text: str) -> list[Traced]:
        """Trace every pre-token of a text; MwSError where the tokenizer itself cuts otherwise."""
        normalizer, splitter = self._backend.normalizer, self._backend.pre_tokenizer
        text = text if normalizer is None else normalizer.normalize_str(text)
        parts = [text] if splitter is None else [part for part, _ in splitter.pre_tokenize_str(text)]
        traced = [self._pretoken(part) for part in parts]
        tokens = [token for each in traced for token in each.tokens]
        if tokens != self._backend.encode(text, add_special_tokens=False).tokens:
            raise MwSError(f"{text!r}: holds an added token, or the model does more than merge; it cannot be replayed")
        return [_in_text(each) for each in traced] if self._byte_level else traced

    def _pretoken(self, text: str) -> Traced:
        symbols = list(text) if self._byte_level else symbols_of(text, self._vocab, "characters")
        steps = merge_trace(symbols, self._ranks)
        tokens = steps[-1].tokens if steps else tuple(symbols)
        lengths = [len(self._bytes(token)) for token in tokens]
        return Traced(text, tokens, tuple(steps), spell(self._bytes(text), lengths))

    def _bytes(self, token: str) -> bytes:
        if self._byte_level:
            return bytes_of(token)
        return b"?" if token in _BYTES else token.encode()


def _in_text(traced: Traced) -> Traced:
    """Rewrite a trace in the byte alphabet as text."""
    steps = [
        Step(step.rank, readable(step.left), readable(step.right), tuple(map(readable, step.tokens)))
        for step in traced.steps
        if _joins_characters(step)
    ]
    return Traced(readable(traced.text), tuple(map(readable, traced.tokens)), tuple(steps), traced.pieces)


def _joins_characters(step: Step) -> bool:
    """Return whether a merge of bytes is also one of characters: its right part starts a character."""
    return bytes_of(step.right)[0] & 0xC0 != 0x80


def merge_trace(symbols: Iterable[str], ranks: Mapping[tuple[str, str], tuple[int, str]]) -> list[Step]:
    """List the merges that fire on the symbols of a pre-token, in their order; each one fires at all its places."""
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


def spell(text: bytes, lengths: Iterable[int]) -> tuple[str, ...]:
    """Cut a text into the pieces that tokens of so many bytes spell, in UTF-8; a character's tokens are one piece."""
    cuts = [0, *accumulate(lengths)]
    whole = [cut for cut in cuts if cut == len(text) or text[cut] & 0xC0 != 0x80]  # not within a character
    return tuple(text[begin:end].decode() for begin, end in pairwise(whole))


def plot_evidence(path: Path, words: Sequence[Spelt]) -> None:
    """Draw the evidence of words, one panel a word: bars between letters, a line where the tokenizer cuts."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MwSError("plotting needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(8, 1.6 * len(words) + 0.4), layout="constrained")
    panels = figure.subplots(len(words), 1, squeeze=False)[:, 0]
    for panel, (letters, values, pieces) in zip(panels, words, strict=True):
        inner = range(len(letters) - 1)
        panel.bar([place + 0.5 for place in inner], [values[place] for place in inner], width=0.5, color="#4a7ebb")
        for cut in accumulate(map(len, pieces[:-1])):
            panel.axvline(cut - 0.5, color="#c0392b", linewidth=1.5)
        panel.set_xticks(range(len(letters)), list(letters))
        panel.set(ylim=(0, 1), xlim=(-0.5, len(letters) - 0.5), ylabel="P(boundary)")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=150)
