"""Measures of a tokenizer on running text: length, use of the vocabulary, whole words, byte and unknown tokens."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
import regex

from mws_hf.corpus.files import PLAIN, Reading
from mws_hf.corpus.sources import read_documents
from mws_hf.errors import MwSError
from mws_hf.kernels import Ints, Longs
from mws_hf.scoring.boundaries import boundaries
from mws_hf.text.capitals import MARKER
from mws_hf.text.pattern import compiled
from mws_hf.text.symbols import BYTE_CHARACTERS, byte_of
from mws_hf.text.valid_text import each_text
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.segmenting import Encoded, Span, token_boundaries

WORD = r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*"
"""A word of running text: the letters of a word pre-token of `mws_hf.text.pattern.WORD_PATTERN`."""

_UNSPACED = regex.compile(r"[\p{Thai}\p{Lao}\p{Tibetan}\p{Myanmar}\p{Khmer}\p{Han}\p{Hiragana}\p{Katakana}]")
"""A letter of a script that is written without spaces between words."""

_BATCH = 1000
_MARKERS = (MARKER, BYTE_CHARACTERS[ord(MARKER)])
"""The marker for capitals in tokens of characters and in byte-level tokens. It has the span of its letter."""


@dataclass(frozen=True)
class TextScores:
    """Measures on running text.

    Measures of words are NaN if no line has words, or if no line can be aligned with its tokens.

    Attributes:
        bytes: UTF-8 bytes of the text, without line breaks.
        words: running words (`WORD`) in the lines that could be aligned with their tokens.
        tokens: tokens of the text, without special tokens.
        fertility: tokens that touch a word or stand for the space before it, per word.
        bytes_per_token: UTF-8 bytes per token.
        characters_per_token: code points per token.
        vocabulary_size: entries of the vocabulary.
        vocabulary_used: share of the entries that occur in the text.
        renyi_efficiency: Rényi efficiency of token frequencies; see the function `renyi_efficiency`.
        next_efficiency: how evenly tokens follow a token; see the function `next_efficiency`.
        residues: share of the entries made by merges that are `residues`; NaN without merges.
        whole_words: share of the running words that are not split.
        byte_tokens: share of the tokens that are part of a character (``<0xD0>`` and parts of characters).
        unknown_tokens: share of the tokens that are unknown.
        context_agreement: share of the running words that are segmented in the text as in isolation, after a space.
        unspaced: share of the letters of words that are in scripts without spaces.
        unaligned_lines: lines that count only for lengths, because the tokenizer has no offsets and its tokens do not
            spell the line.
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
    unspaced: float
    unaligned_lines: int


@dataclass
class _Tally:
    """Sums over the batches so far.

    Attributes:
        ids: occurrences of each id.
        neighbors: pairs of consecutive tokens in each batch, shape (2, n).
        strings: the token of each id.
        split_words: occurrences of each word with its split points.
        bytes: UTF-8 bytes.
        characters: code points.
        words: running words in aligned lines.
        word_tokens: tokens of these words.
        shared: tokens that are part of a character.
        unaligned: lines that cannot be aligned with their tokens.
    """

    ids: Counter[int] = field(default_factory=Counter)
    neighbors: list[Ints] = field(default_factory=list)
    strings: dict[int, str] = field(default_factory=dict)
    split_words: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)
    bytes: int = 0
    characters: int = 0
    words: int = 0
    word_tokens: int = 0
    shared: int = 0
    unaligned: int = 0


def score_text(source: Any, text: str | os.PathLike[str] | Iterable[str]) -> TextScores:
    """Measure a tokenizer on running text; each line is encoded separately.

    Args:
        source: anything that `open_tokenizer` opens.
        text: a file, or lines of text.

    Raises:
        MwSError: the text has no tokens, a line is not text, or the tokenizer or the file cannot be read.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("к", "о"), ("ко", "т"), (" ", "кот")]
    >>> scores = score_text(build_backend(base_vocab((), " аикот", merges), merges), ["кот и кота"])
    >>> scores.words, scores.tokens, round(scores.fertility, 2), round(scores.whole_words, 2)
    (3, 5, 1.67, 0.67)
    """
    opened = open_tokenizer(source, by_class=True)
    tally = _Tally()
    iterator = _each_line(text, PLAIN)
    while batch := list(islice(iterator, _BATCH)):
        _score_batch(tally, batch, opened.encode(batch))
    tokens = tally.ids.total()
    if not tokens:
        raise MwSError("the text has no tokens; give a file with at least one line of text")
    words = tally.words or math.nan
    whole = sum(count for (_, splits), count in tally.split_words.items() if not splits)
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
        next_efficiency=next_efficiency(np.concatenate(tally.neighbors, axis=1), opened.vocabulary_size),
        residues=len(residues(uses, parts)) / len(parts) if parts else math.nan,
        whole_words=whole / words,
        byte_tokens=(fallbacks + tally.shared) / tokens,
        unknown_tokens=0.0 if opened.unknown_id is None else tally.ids[opened.unknown_id] / tokens,
        context_agreement=_agreement(opened, tally.split_words) / words,
        unspaced=_unspaced(tally.split_words),
        unaligned_lines=tally.unaligned,
    )


def lines_of(text: str | os.PathLike[str] | Iterable[str], how: Reading = PLAIN) -> list[str]:
    """Read the lines of a file by `read_lines`, or return given lines unchanged; MwSError if one is not text."""
    return list(_each_line(text, how))


def _each_line(text: str | os.PathLike[str] | Iterable[str], how: Reading) -> Iterator[str]:
    return read_lines(text, how) if isinstance(text, str | os.PathLike) else each_text(text)


def read_lines(path: str | os.PathLike[str], how: Reading = PLAIN) -> Iterator[str]:
    """Yield the lines of a file of any kind that can be counted, without line breaks; empty lines are skipped."""
    for document in read_documents(path, how):
        yield from filter(None, (line.rstrip("\r") for line in document.split("\n")))


def renyi_efficiency(counts: Iterable[int], vocabulary_size: int | None = None, alpha: float = 2.5) -> float:
    """Compute the Rényi efficiency of token frequencies (Zouhar et al. 2023): their entropy divided by its maximum.

    It is 1 if there are fewer than two different tokens.

    Args:
        counts: how often each token occurs.
        vocabulary_size: size of the vocabulary, whose logarithm is the maximum; None for the number of distinct tokens,
            as in the authors' package.
        alpha: order of the Rényi entropy. In the paper, 2.5 correlates best with translation quality.

    Two examples with the published results (the default order of that package is 3):

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


def next_efficiency(neighbors: Ints | Longs, vocabulary_size: int) -> float:
    """Compute how evenly tokens follow a token, from 0 (always the same token) to 1 (all equally often).

    The entropy of the successors of a token is divided by its maximum: the logarithm of the vocabulary size, or of the
    number of occurrences of the token if that is smaller. The mean is over all running tokens that have a successor, as
    in TkTkT (Poelman et al. 2025); it is 0 if there are none.

    Args:
        neighbors: tokens and their successors, shape (2, n).
        vocabulary_size: size of the vocabulary.

    In the example, token 0 occurs four times and has two successors, twice each, so its entropy is half of the maximum:

    >>> round(next_efficiency(np.array([[0, 0, 0, 0, 1], [1, 2, 1, 2, 0]]), 100), 9)
    0.4
    """
    if neighbors.shape[1] == 0 or vocabulary_size < 2:
        return 0.0
    radix = int(neighbors.max()) + 1
    keys, counts = np.unique(neighbors[0].astype(np.int64) * radix + neighbors[1], return_counts=True)
    begins = np.flatnonzero(np.diff(keys // radix, prepend=-1))
    times = np.add.reduceat(counts, begins)
    entropy = np.log(times) - np.add.reduceat(counts * np.log(counts), begins) / times
    most = np.log(np.minimum(times, vocabulary_size))
    several = times > 1
    return float((times * entropy / np.where(several, most, 1))[several].sum() / neighbors.shape[1])


def _neighbors(ids: Sequence[Sequence[int]]) -> Ints:
    """Return the tokens of lines that have a successor in their line, and these successors; int32, shape (2, n)."""
    ends = np.cumsum([len(line) for line in ids])
    flat = np.fromiter(chain.from_iterable(ids), np.int32, int(ends[-1]))
    inside = np.ones(max(0, len(flat) - 1), np.bool_)
    inside[ends[(ends > 0) & (ends < len(flat))] - 1] = False
    return np.stack([flat[:-1][inside], flat[1:][inside]])


RESIDUE_SHARE = 0.1
"""A token is a residue if less than this share of its uses are tokens of the text; in the others it is merged."""


def residues(uses: Mapping[str, int], parts: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Find the tokens that are nearly always merged into a longer token (LiteToken, Sun et al. 2026).

    The threshold `RESIDUE_SHARE` is our choice, and the second criterion of the paper is not used.

    Args:
        uses: how often each token occurs in the text.
        parts: the two parts that the merge of each token joins.

    Returns:
        For each residue, the share of its uses in which it stays a token of the text.

    >>> residues({"the": 19, "th": 1}, {"th": ("t", "h"), "the": ("th", "e")})
    {'th': 0.05}
    """
    total = Counter(uses)
    for entry in sorted(parts, key=len, reverse=True):  # the entries that contain an entry are longer
        for part in parts[entry]:
            total[part] += total[entry]
    found = {entry: uses.get(entry, 0) / total[entry] for entry in parts if total[entry]}
    return {entry: share for entry, share in found.items() if share < RESIDUE_SHARE}


def _score_batch(tally: _Tally, lines: list[str], encoded: list[Encoded]) -> None:
    """Add the counts of encoded lines to the sums."""
    for item in encoded:
        tally.ids.update(item.ids)
        tally.strings.update(zip(item.ids, item.tokens, strict=True))
    tally.neighbors.append(_neighbors([item.ids for item in encoded]))
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
    splits = token_boundaries(spans)
    for start, end in words:
        inside = tuple(position - start for position in range(start + 1, end) if position in splits)
        tally.split_words[text[start:end], inside] += 1


def _flat_spans(aligned: list[tuple[str, Encoded]]) -> tuple[list[Span], list[str]]:
    """Return the spans of the non-empty tokens as positions in the joined lines, and the token strings."""
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
    """Count the tokens that contain a letter of a word, or are only the white space before a word."""
    edges = np.array(words, dtype=np.int64).reshape(-1, 2)
    inside = np.bincount(edges[:, 0], minlength=len(text) + 2) - np.bincount(edges[:, 1], minlength=len(text) + 2)
    until = np.concatenate(([0], np.cumsum(np.cumsum(inside))))
    touching = until[ends] > until[starts]
    space_before = np.zeros(len(text) + 1, dtype=np.bool_)
    space_before[[start - 1 for start, _ in words if start and text[start - 1].isspace()]] = True
    return int((touching | (space_before[starts] & (ends - starts == 1))).sum())


def _tokens_sharing_a_character(strings: list[str], starts: Longs, ends: Longs) -> int:
    """Count the tokens that are part of a character, because their span overlaps that of a neighbor.

    Byte tokens are counted elsewhere. Word marks, and markers for capitals, may overlap without being part of a
    character.
    """
    ignored = {
        string
        for string in set(strings)
        if byte_of(string) is not None or not string.removesuffix("</w>").strip(" ▁Ġ") or string.endswith(_MARKERS)
    }
    real = np.array([string not in ignored for string in strings], dtype=np.bool_)
    overlap = (ends[:-1] > starts[1:]) & real[:-1] & real[1:]
    return int((np.append(overlap, False) | np.append(False, overlap)).sum())


def _unspaced(split_words: Counter[tuple[str, tuple[int, ...]]]) -> float:
    """Compute the share of the letters of words that are in scripts without spaces; NaN without words."""
    letters = sum(count * len(word) for (word, _), count in split_words.items())
    found = sum(count * len(_UNSPACED.findall(word)) for (word, _), count in split_words.items())
    return found / letters if letters else math.nan


def _agreement(opened: Opened, split_words: Counter[tuple[str, tuple[int, ...]]]) -> int:
    """Count the running words that have the same split points in the text as alone."""
    words = list(dict.fromkeys(word for word, _ in split_words))
    alone = dict(zip(words, map(boundaries, opened.segment_words(words)), strict=True))
    return sum(count for (word, splits), count in split_words.items() if alone[word] == splits)
