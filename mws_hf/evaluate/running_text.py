"""Measure a tokenizer on running text: length, use of the vocabulary, whole words, fallbacks. No gold is involved."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from mws_hf.corpus.files import PLAIN, Reading
from mws_hf.corpus.inputs import read_documents
from mws_hf.errors import MwSError
from mws_hf.evaluate.boundaries import boundaries
from mws_hf.evaluate.encoder import Encoded, Encoder, Span
from mws_hf.evaluate.formats import open_encoder
from mws_hf.evaluate.segment import segment_words
from mws_hf.kernels.arrays import Ints, Longs, Mask
from mws_hf.text.pattern import compiled
from mws_hf.text.special import byte_of

WORD = r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*"
"""A word of running text: the letters of a word pre-token of `mws_hf.text.pattern.WORD_PATTERN`."""

_BATCH = 1000


@dataclass(frozen=True)
class TextScores:
    """Measures on running text; measures of words are NaN when no line has words or none can be laid out.

    Attributes:
        bytes: UTF-8 bytes read.
        words: running words (`WORD`), unaligned lines apart.
        tokens: tokens of the whole text, no special tokens added.
        fertility: tokens that touch a word or stand for the space before it, per word.
        bytes_per_token: bytes / tokens.
        characters_per_token: code points / tokens.
        vocabulary_size: entries of the vocabulary.
        vocabulary_used: share of the entries that occur.
        renyi_efficiency: Rényi entropy of the token distribution, alpha 2.5, over log of the vocabulary size
            (Zouhar et al. 2023; their package divides by the log of the types seen instead).
        next_efficiency: how open the next token is, see `next_efficiency`.
        residues: share of the entries made by merges that are `residues`; NaN without merges.
        whole_words: share of running words that no token boundary cuts.
        byte_tokens: share of tokens that hold less than a character (``<0xD0>`` and parts of characters).
        unknown_tokens: share of tokens that are the unknown token.
        context_agreement: share of running words cut as they are when isolated (after a space).
        unaligned_lines: lines that count for lengths only, since the tokenizer has no offsets and does not spell them.
    """

    bytes: int
    words: int
    tokens: int
    fertility: float
    bytes_per_token: float
    characters_per_token: float
    vocabulary_size: int
    vocabulary_used: float
    renyi_efficiency: float
    next_efficiency: float
    residues: float
    whole_words: float
    byte_tokens: float
    unknown_tokens: float
    context_agreement: float
    unaligned_lines: int

    def to_dict(self) -> dict[str, float | int]:
        """Return name -> value, in the order of the attributes."""
        return asdict(self)


@dataclass
class _Tally:
    """Running sums over batches; a word is kept with one byte for each place inside it, 1 where it is cut."""

    ids: Counter[int] = field(default_factory=Counter)
    neighbours: list[Ints] = field(default_factory=list)
    strings: dict[int, str] = field(default_factory=dict)
    cut_words: Counter[tuple[str, bytes]] = field(default_factory=Counter)
    bytes: int = 0
    characters: int = 0
    words: int = 0
    word_tokens: int = 0
    shared: int = 0
    unaligned: int = 0


def score_text(source: Any, lines: Iterable[str]) -> TextScores:
    """Measure a tokenizer on lines of text, each encoded on its own.

    The tokenizer is anything that `mws_hf.evaluate.formats.open_encoder` opens.

    Raises:
        MwSError: there is no token at all in the text.
    """
    encoder = open_encoder(source)
    tally = _Tally()
    iterator = iter(lines)
    while batch := list(islice(iterator, _BATCH)):
        _score_batch(tally, batch, encoder.encode(batch))
    tokens = tally.ids.total()
    if not tokens:
        raise MwSError("the text holds no token; give a file with some lines of text")
    words = tally.words or math.nan
    whole = sum(count for (_, cuts), count in tally.cut_words.items() if not any(cuts))
    fallbacks = sum(count for token, count in tally.ids.items() if byte_of(tally.strings[token]) is not None)
    return TextScores(
        bytes=tally.bytes,
        words=tally.words,
        tokens=tokens,
        fertility=tally.word_tokens / words,
        bytes_per_token=tally.bytes / tokens,
        characters_per_token=tally.characters / tokens,
        vocabulary_size=encoder.vocabulary_size,
        vocabulary_used=len(tally.ids) / encoder.vocabulary_size,
        renyi_efficiency=renyi_efficiency(tally.ids.values(), encoder.vocabulary_size),
        next_efficiency=next_efficiency(np.concatenate(tally.neighbours, axis=1), encoder.vocabulary_size),
        residues=math.nan if encoder.parts is None else _share_of_residues(tally, encoder.parts()),
        whole_words=whole / words,
        byte_tokens=(fallbacks + tally.shared) / tokens,
        unknown_tokens=0.0 if encoder.unknown_id is None else tally.ids[encoder.unknown_id] / tokens,
        context_agreement=_agreement(encoder, tally.cut_words) / words,
        unaligned_lines=tally.unaligned,
    )


def lines_of(text: str | os.PathLike[str] | Iterable[str], how: Reading = PLAIN) -> list[str]:
    """Read the lines of a file by `read_lines`, or return lines given as they are."""
    return list(read_lines(text, how) if isinstance(text, str | os.PathLike) else text)


def read_lines(path: str | os.PathLike[str], how: Reading = PLAIN) -> Iterator[str]:
    """Read lines of a file of any kind that is counted, without their line breaks, empty ones left out.

    Raises:
        MwSError: the file is missing, unreadable, of a kind that is not read, or not UTF-8 (file:line).
    """
    for document in read_documents(path, how):
        for line in document.split("\n"):
            if stripped := line.rstrip("\r"):
                yield stripped


def renyi_efficiency(counts: Iterable[int], vocabulary_size: int | None = None, alpha: float = 2.5) -> float:
    """Compute the Rényi entropy of order alpha of a token distribution, over the log of the vocabulary size.

    The measure is that of Zouhar et al. (2023).

    Args:
        counts: occurrences of each token type.
        vocabulary_size: None takes the number of types seen, as the authors' package does.
        alpha: order, not 1; the paper finds 2.5 to go best with translation quality.

    The two published answers of the authors' package page (its default order, 3):

    >>> def efficiency(text): return round(renyi_efficiency(Counter(text.split()).values(), alpha=3), 12)
    >>> efficiency("pick @@ed pick @@l @@ed pick @@les"), efficiency("pick @@e @@d pick @@l @@e @@d pick @@l @@e @@s")
    (0.803152850136, 0.910568192382)
    """
    seen = [count for count in counts if count]
    total = sum(seen)
    size = len(seen) if vocabulary_size is None else vocabulary_size
    if size < 2:
        return 1.0
    power = math.fsum((count / total) ** alpha for count in seen)
    return math.log(power) / (1 - alpha) / math.log(size)


def next_efficiency(neighbours: Ints | Longs, vocabulary_size: int) -> float:
    """Compute how open the next token is: 0 where each token has one that follows it, 1 where any may follow alike.

    The entropy of what follows a token, over the most that it can be: the log of the vocabulary size, or of the token's
    occurrences where these are fewer. The mean is over all tokens that another one follows. It is the token-bigram
    measure of Poelman et al. (2025), on the right side and weighted by occurrences, as their package TkTkT computes it.

    Args:
        neighbours: integers, shape (2, n), ids of tokens and of the tokens that follow them.
        vocabulary_size: entries of the vocabulary.

    Token 0 is followed by two others twice each, half as open as four places can be; token 1 is followed once:

    >>> round(next_efficiency(np.array([[0, 0, 0, 0, 1], [1, 2, 1, 2, 0]]), 100), 9)
    0.4
    """
    if neighbours.shape[1] == 0 or vocabulary_size < 2:
        return 0.0
    radix = int(neighbours.max()) + 1
    keys, counts = np.unique(neighbours[0].astype(np.int64) * radix + neighbours[1], return_counts=True)
    begins = np.flatnonzero(np.diff(keys // radix, prepend=-1))
    times = np.add.reduceat(counts, begins)
    entropy = np.log(times) - np.add.reduceat(counts * np.log(counts), begins) / times
    most = np.log(np.minimum(times, vocabulary_size))
    several = times > 1
    return float((times * entropy / np.where(several, most, 1))[several].sum() / neighbours.shape[1])


def _neighbours(ids: Sequence[Sequence[int]]) -> Ints:
    """List the tokens of some lines that another one follows, and those that follow; int32, shape (2, n)."""
    ends = np.cumsum([len(each) for each in ids])
    flat = np.fromiter(chain.from_iterable(ids), np.int32, int(ends[-1]))
    inside = np.ones(max(0, len(flat) - 1), np.bool_)
    inside[ends[(ends > 0) & (ends < len(flat))] - 1] = False
    return np.stack([flat[:-1][inside], flat[1:][inside]])


RESIDUE = 0.1
"""An entry that is final in less than this share of its uses is a residue of merging."""


def residues(uses: Mapping[str, int], parts: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Find the entries that a text makes nearly always on the way to a longer entry (LiteToken, Sun et al. 2026).

    A use is final where the entry is a token of the text, intermediate where a later merge takes it up. The paper's
    measure is the share of final uses; entries that are not used at all are no residues. The threshold is ours, and
    the paper's second sieve, by the entropy of neighbours, is left out.

    Args:
        uses: occurrences of the tokens of a text.
        parts: entry -> the two that its merge joins.

    Returns:
        Residue -> share of its uses that are final, below `RESIDUE`.

    >>> residues({"the": 30, "th": 1, "e": 9}, {"th": ("t", "h"), "the": ("th", "e")})
    {'th': 0.03225806451612903}
    """
    total = Counter(uses)
    for entry in sorted(parts, key=len, reverse=True):  # what an entry is part of is longer
        for part in parts[entry]:
            total[part] += total[entry]
    found = {entry: uses.get(entry, 0) / total[entry] for entry in parts if total[entry]}
    return {entry: share for entry, share in found.items() if share < RESIDUE}


def _share_of_residues(tally: _Tally, parts: Mapping[str, tuple[str, str]]) -> float:
    uses = {tally.strings[token]: count for token, count in tally.ids.items()}
    return len(residues(uses, parts)) / len(parts) if parts else math.nan


def _score_batch(tally: _Tally, lines: list[str], encoded: list[Encoded]) -> None:
    for item in encoded:
        tally.ids.update(item.ids)
        tally.strings.update(zip(item.ids, item.tokens, strict=True))
    tally.neighbours.append(_neighbours([item.ids for item in encoded]))
    tally.bytes += sum(len(line.encode()) for line in lines)
    tally.characters += sum(map(len, lines))
    aligned = [(line, item) for line, item in zip(lines, encoded, strict=True) if item.spans is not None]
    tally.unaligned += len(lines) - len(aligned)
    if not aligned:
        return
    text = "\n".join(line for line, _ in aligned)
    words = [match.span() for match in compiled(WORD).finditer(text)]
    tally.words += len(words)
    starts, ends, strings = _flat_spans(aligned)
    tally.word_tokens += _tokens_of_words(text, words, starts, ends)
    tally.shared += _tokens_sharing_a_character(strings, starts, ends)
    cut = _cuts(len(text), starts, ends).tobytes()
    tally.cut_words.update((text[start:end], cut[start + 1 : end]) for start, end in words)


def _flat_spans(aligned: list[tuple[str, Encoded]]) -> tuple[Longs, Longs, list[str]]:
    """Return starts and ends of the non-empty tokens as places in the joined lines, and the token strings."""
    starts: list[int] = []
    ends: list[int] = []
    strings: list[str] = []
    base = 0
    for line, item in aligned:
        for (start, end), string in zip(item.spans or (), item.tokens, strict=True):
            if start < end:
                starts.append(base + start)
                ends.append(base + end)
                strings.append(string)
        base += len(line) + 1
    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64), strings


def _cuts(length: int, starts: Longs, ends: Longs) -> Mask:
    """Find where a token starts and none runs across, in a whole text; `segment.cuts_within` does so in a word."""
    started = np.zeros(length + 1, dtype=np.bool_)
    started[starts] = True
    crossing = np.bincount(starts + 1, minlength=length + 2) - np.bincount(ends, minlength=length + 2)
    return started & (np.cumsum(crossing)[: length + 1] == 0)


def _tokens_of_words(text: str, words: list[Span], starts: Longs, ends: Longs) -> int:
    """Count tokens that touch a letter of a word, or are nothing but the white space before a word."""
    edges = np.array(words, dtype=np.int64).reshape(-1, 2)
    inside = np.bincount(edges[:, 0], minlength=len(text) + 2) - np.bincount(edges[:, 1], minlength=len(text) + 2)
    until = np.concatenate(([0], np.cumsum(np.cumsum(inside))))
    touching = until[ends] > until[starts]
    space_before = np.zeros(len(text) + 1, dtype=np.bool_)
    space_before[[start - 1 for start, _ in words if start and text[start - 1].isspace()]] = True
    return int((touching | (space_before[starts] & (ends - starts == 1))).sum())


def _tokens_sharing_a_character(strings: list[str], starts: Longs, ends: Longs) -> int:
    """Count tokens that overlap a neighbour: they hold less than a character.

    Byte fallbacks and bare word marks apart.
    """
    apart = {string for string in set(strings) if byte_of(string) is not None or not string.strip("▁Ġ")}
    real = np.array([string not in apart for string in strings], dtype=np.bool_)
    overlap = (ends[:-1] > starts[1:]) & real[:-1] & real[1:]
    return int((np.append(overlap, False) | np.append(False, overlap)).sum())


def _agreement(encoder: Encoder, cut_words: Counter[tuple[str, bytes]]) -> int:
    """Count running words whose cuts in the text are those of the isolated word."""
    words = list(dict.fromkeys(word for word, _ in cut_words))
    alone: dict[str, bytes] = {}
    for word, pieces in zip(words, segment_words(encoder, words), strict=True):
        cuts = bytearray(len(word) - 1)
        for place in boundaries(pieces):
            cuts[place - 1] = 1
        alone[word] = bytes(cuts)
    return sum(count for (word, cuts), count in cut_words.items() if alone[word] == cuts)
