"""Measure a tokenizer on running text: length, use of the vocabulary, whole words, fallbacks. No gold is involved."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from mws_hf.corpus.files import PLAIN, Reading
from mws_hf.corpus.sources import read_documents
from mws_hf.errors import MwSError
from mws_hf.kernels import Ints, Longs
from mws_hf.scoring.boundaries import boundaries
from mws_hf.text.pattern import compiled
from mws_hf.text.symbols import byte_of
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.segmenting import Encoded, Span, token_cuts

WORD = r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*"
"""A word of running text: the letters of a word pre-token of `mws_hf.text.pattern.WORD_PATTERN`."""

_UNSPACED = compiled(r"[\p{Thai}\p{Lao}\p{Tibetan}\p{Myanmar}\p{Khmer}\p{Han}\p{Hiragana}\p{Katakana}]")
"""A letter of a script whose texts have no spaces between words."""

_BATCH = 1000


@dataclass(frozen=True)
class TextScores:
    """Measures on running text; measures of words are NaN when no line has words or none can be laid out."""

    bytes: int
    words: int  # running words (`WORD`) in aligned lines
    tokens: int  # no special tokens added
    fertility: float  # tokens that touch a word or stand for the space before it, per word
    bytes_per_token: float
    characters_per_token: float  # code points
    vocabulary_size: int
    vocabulary_used: float  # share of the entries that occur
    renyi_efficiency: float
    next_efficiency: float
    residues: float  # share of the entries made by merges; NaN without merges
    whole_words: float  # share of running words that no token boundary cuts
    byte_tokens: float  # share of tokens that hold less than a character (``<0xD0>`` and parts of characters)
    unknown_tokens: float  # share of tokens
    context_agreement: float  # share of running words cut as they are when isolated (after a space)
    unspaced: float  # share of the letters of words that are of scripts without spaces
    unaligned_lines: int  # count for lengths only: the tokenizer has no offsets and does not spell them


@dataclass
class _Tally:
    """Running sums over batches; a word is kept with the places inside it where it is cut."""

    ids: Counter[int] = field(default_factory=Counter)
    neighbours: list[Ints] = field(default_factory=list)
    strings: dict[int, str] = field(default_factory=dict)
    cut_words: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)
    bytes: int = 0
    characters: int = 0
    words: int = 0
    word_tokens: int = 0
    shared: int = 0
    unaligned: int = 0


def score_text(source: Any, text: str | os.PathLike[str] | Iterable[str]) -> TextScores:
    """Measure a tokenizer (what `open_tokenizer` opens) on a file or on lines of text, each encoded on its own."""
    opened = open_tokenizer(source, by_class=True)
    tally = _Tally()
    iterator = read_lines(text) if isinstance(text, str | os.PathLike) else iter(text)
    while batch := list(islice(iterator, _BATCH)):
        _score_batch(tally, batch, opened.encode(batch))
    tokens = tally.ids.total()
    if not tokens:
        raise MwSError("the text holds no token; give a file with some lines of text")
    words = tally.words or math.nan
    whole = sum(count for (_, cuts), count in tally.cut_words.items() if not cuts)
    uses = {tally.strings[token]: count for token, count in tally.ids.items()}
    parts = opened.parts
    fallbacks = sum(count for token, count in tally.ids.items() if byte_of(tally.strings[token]) is not None)
    return TextScores(
        bytes=tally.bytes,
        words=tally.words,
        tokens=tokens,
        fertility=tally.word_tokens / words,
        bytes_per_token=tally.bytes / tokens,
        characters_per_token=tally.characters / tokens,
        vocabulary_size=opened.vocabulary_size,
        vocabulary_used=len(tally.ids) / opened.vocabulary_size,
        renyi_efficiency=renyi_efficiency(tally.ids.values(), opened.vocabulary_size),
        next_efficiency=next_efficiency(np.concatenate(tally.neighbours, axis=1), opened.vocabulary_size),
        residues=len(residues(uses, parts)) / len(parts) if parts else math.nan,
        whole_words=whole / words,
        byte_tokens=(fallbacks + tally.shared) / tokens,
        unknown_tokens=0.0 if opened.unknown_id is None else tally.ids[opened.unknown_id] / tokens,
        context_agreement=_agreement(opened, tally.cut_words) / words,
        unspaced=_unspaced(tally.cut_words),
        unaligned_lines=tally.unaligned,
    )


def lines_of(text: str | os.PathLike[str] | Iterable[str], how: Reading = PLAIN) -> list[str]:
    """Read the lines of a file by `read_lines`, or return lines given as they are."""
    return list(read_lines(text, how) if isinstance(text, str | os.PathLike) else text)


def read_lines(path: str | os.PathLike[str], how: Reading = PLAIN) -> Iterator[str]:
    """Read lines of a file of any kind that is counted, without their line breaks, empty ones left out."""
    for document in read_documents(path, how):
        yield from filter(None, (line.rstrip("\r") for line in document.split("\n")))


def renyi_efficiency(counts: Iterable[int], vocabulary_size: int | None = None, alpha: float = 2.5) -> float:
    """Compute the Rényi entropy of token counts, over the log of the vocabulary size (Zouhar et al. 2023).

    The paper finds an `alpha` of 2.5 to go best with translation quality. Without a size the number of types seen is
    taken, as the authors' package does. The two published answers of its page (its default order is 3):

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
    occurrences where these are fewer. The mean is over all tokens that another one follows, as in TkTkT (Poelman et al.
    2025). `neighbours` has shape (2, n): tokens, and the tokens that follow them. Here token 0 is followed by two twice
    each, half as open as four places can be:

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


RESIDUE = 0.1  # an entry that is final in less than this share of its uses is a residue of merging


def residues(uses: Mapping[str, int], parts: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Find the entries that a text makes nearly always on the way to a longer entry (LiteToken, Sun et al. 2026).

    The share of their uses that are final, which no later merge takes up, is below `RESIDUE`, a threshold of ours; the
    paper's second sieve is left out. `parts` are the two that each entry's merge joins.
    """
    total = Counter(uses)
    for entry in sorted(parts, key=len, reverse=True):  # what an entry is part of is longer
        for part in parts[entry]:
            total[part] += total[entry]
    found = {entry: uses.get(entry, 0) / total[entry] for entry in parts if total[entry]}
    return {entry: share for entry, share in found.items() if share < RESIDUE}


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
    spans, strings = _flat_spans(aligned)
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    tally.word_tokens += _tokens_of_words(text, words, starts, ends)
    tally.shared += _tokens_sharing_a_character(strings, starts, ends)
    cuts = token_cuts(spans)
    for start, end in words:
        inside = tuple(place - start for place in range(start + 1, end) if place in cuts)
        tally.cut_words[text[start:end], inside] += 1


def _flat_spans(aligned: list[tuple[str, Encoded]]) -> tuple[list[Span], list[str]]:
    """Return the spans of the non-empty tokens as places in the joined lines, and the token strings."""
    spans: list[Span] = []
    strings: list[str] = []
    base = 0
    for line, item in aligned:
        for (start, end), string in zip(item.spans or (), item.tokens, strict=True):
            if start < end:
                spans.append((base + start, base + end))
                strings.append(string)
        base += len(line) + 1
    return spans, strings


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
    """Count tokens that overlap a neighbour, so hold less than a character; no byte fallbacks and bare word marks."""
    apart = {string for string in set(strings) if byte_of(string) is not None or not string.strip("▁Ġ")}
    real = np.array([string not in apart for string in strings], dtype=np.bool_)
    overlap = (ends[:-1] > starts[1:]) & real[:-1] & real[1:]
    return int((np.append(overlap, False) | np.append(False, overlap)).sum())


def _unspaced(cut_words: Counter[tuple[str, tuple[int, ...]]]) -> float:
    """Compute the share of the letters of words that are of scripts without spaces; NaN without words."""
    letters = sum(count * len(word) for (word, _), count in cut_words.items())
    found = sum(count * len(_UNSPACED.findall(word)) for (word, _), count in cut_words.items())
    return found / letters if letters else math.nan


def _agreement(opened: Opened, cut_words: Counter[tuple[str, tuple[int, ...]]]) -> int:
    """Count running words whose cuts in the text are those of the isolated word."""
    words = list(dict.fromkeys(word for word, _ in cut_words))
    alone = dict(zip(words, map(boundaries, opened.cut(words)), strict=True))
    return sum(count for (word, cuts), count in cut_words.items() if alone[word] == cuts)
