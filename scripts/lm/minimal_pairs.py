"""Minimal pairs: sentences that differ in one form, one of them wrong. Count where a model prefers the right one.

Files are those of RuBLiMP and TurBLiMP, or hand-made ones: a header, then a pair a line, separated by commas,
semicolons or tabs. The caller chooses the judge of sentences: `lm.evaluation.judge` for language
models, or `ngram_judge` for an n-gram model over any tokenizer, which needs no neural training.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.evaluate.ngram_bits import ORDERS, ngram_bits
from mws_hf.kernels.arrays import Doubles

_GOOD, _BAD = ("good_sentence", "source_sentence"), ("bad_sentence", "target_sentence")
_PARADIGM = ("paradigm", "PID", "phenomenon")
_SEPARATORS = ("\t", ";", ",")
_MARKS = " .,;:!?…«»\"'()–—-"
TOGETHER = "all"


class Pair(NamedTuple):
    """A sentence, the same sentence with a wrong form, and the paradigm it tests."""

    good: str
    bad: str
    paradigm: str

    @property
    def change(self) -> tuple[str, str]:
        """The words in which the two sentences differ, without the punctuation around them.

        >>> Pair("Но мент уходит.", "Но мент уходет.", "verb").change
        ('уходит', 'уходет')
        """
        good, bad = self.good.split(), self.bad.split()
        start = _alike(good, bad)
        end = _alike(good[start:][::-1], bad[start:][::-1])
        changed = (words[start : len(words) - end] for words in (good, bad))
        before, after = (" ".join(words).strip(_MARKS) for words in changed)
        return before, after


@dataclass(frozen=True)
class Accuracy:
    """The share of pairs whose right sentence had the higher probability.

    Attributes:
        pairs: pairs judged.
        changes: number of different changes in the pairs. Pairs of one change are not independent: in TurBLiMP a
            thousand pairs show 12 to 81, in RuBLiMP 316 to 806.
        value: share of the pairs that were right; equal probabilities count half.
        low: lower end of the 95 % interval (Wilson's) of the share, as if of `changes` pairs.
        high: upper end of the interval.
    """

    pairs: int
    changes: int
    value: float
    low: float
    high: float


def read_pairs(paths: Iterable[str | os.PathLike[str]]) -> list[Pair]:
    """Read files of pairs; pairs of two equal sentences, of which TurBLiMP has some, are left out.

    The columns are found by name: good_sentence or source_sentence, bad_sentence or target_sentence, and paradigm, PID
    or phenomenon (where there is none, the name of the file).

    Raises:
        MwSError: a file cannot be read, has no such columns, a line lacks a sentence, or there is no pair.
    """
    files = [Path(path) for path in paths]
    pairs = [pair for file in files for pair in _pairs_of(file) if pair.good != pair.bad]
    if not pairs:
        raise MwSError(f"{', '.join(map(str, files)) or 'no files'}: no pair of two different sentences")
    return pairs


def accuracies(pairs: Sequence[Pair], margins: Doubles) -> dict[str, Accuracy]:
    """Compute the accuracy of each paradigm, sorted by name, and of all pairs together.

    `margins` are from `margins_of`.

    >>> pairs = [Pair("a", "b", "x"), Pair("a", "c", "x"), Pair("a", "d", "y")]
    >>> {name: found.value for name, found in accuracies(pairs, np.array([2.0, -1.0, 0.0])).items()}
    {'x': 0.5, 'y': 0.5, 'all': 0.5}
    """
    points = won(margins)
    found = {}
    for name in (*sorted({pair.paradigm for pair in pairs}), TOGETHER):
        chosen = [index for index, pair in enumerate(pairs) if name in (pair.paradigm, TOGETHER)]
        changes = len({pairs[index].change for index in chosen})
        value = float(points[chosen].mean())
        found[name] = Accuracy(len(chosen), changes, value, *wilson(value * changes, changes))
    return found


def won(margins: Doubles) -> Doubles:
    """Return 1 where the good sentence is more probable, 0.5 where both are equal, 0 elsewhere.

    >>> won(np.array([0.1, 0.0, -3.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    return (np.sign(margins) + 1) / 2


def margins_of(pairs: Sequence[Pair], nats: Callable[[list[str]], Doubles]) -> Doubles:
    """Compute the log-probability of the good sentence minus that of the bad sentence, float64 (pairs,).

    `nats` turns sentences into -log p of each, summed over its tokens.
    """
    costs = nats([pair.good for pair in pairs] + [pair.bad for pair in pairs])
    return np.asarray(costs[len(pairs) :] - costs[: len(pairs)], np.float64)


def accuracy_difference(pairs: Sequence[Pair], first: Doubles, second: Doubles) -> tuple[float, float, float]:
    """Compute the accuracy of a first system minus a second's on the same pairs (`won` of each), and its 95 % interval.

    The interval is for a mean over clusters (normal approximation): pairs of the same change go together.

    >>> pairs = [Pair("a", "b", ""), Pair("c a", "c b", ""), Pair("a", "d", ""), Pair("a", "e", "")]
    >>> found = accuracy_difference(pairs, np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    >>> [round(x, 3) for x in found]
    [0.5, -0.235, 1.235]
    """
    values = first - second
    middle = float(values.mean())
    _, cluster = np.unique([pair.change for pair in pairs], axis=0, return_inverse=True)
    sums = np.bincount(cluster.reshape(-1), weights=values - middle)
    error = 1.96 * math.sqrt(float((sums**2).sum()) * len(sums) / max(1, len(sums) - 1)) / len(values)
    return middle, middle - error, middle + error


def ngram_judge(source: Any, train: Sequence[str], pairs: Sequence[Pair], *, orders: Sequence[int] = ORDERS) -> Doubles:
    """Judge pairs by an n-gram model over a tokenizer's tokens, the end of the sentence included; return `margins_of`.

    Training documents that equal a sentence of a pair are left out.
    """
    return margins_of(pairs, lambda sentences: ngram_bits(source, train, sentences, orders=orders).nats)


def to_dict(found: dict[str, Accuracy]) -> dict[str, dict[str, float]]:
    """Turn accuracies into plain values, ready for JSON."""
    return {name: asdict(accuracy) for name, accuracy in found.items()}


def _pairs_of(file: Path) -> list[Pair]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            header = stream.readline()
            separator = next((mark for mark in _SEPARATORS if mark in header), ",")
            stream.seek(0)
            rows = csv.reader(stream, delimiter=separator)
            names = [name.strip() for name in next(rows, [])]
            good, bad = (_column(names, known, file) for known in (_GOOD, _BAD))
            paradigm = next((names.index(name) for name in _PARADIGM if name in names), None)
            pairs = []
            for row in rows:
                if not any(row):
                    continue
                fields = [field.strip() for field in row] + [""] * len(names)
                if not fields[good] or not fields[bad]:
                    raise MwSError(f"{file}:{rows.line_num}: a sentence of the pair is missing; each line needs two")
                named = fields[paradigm] if paradigm is not None else ""
                pairs.append(Pair(fields[good], fields[bad], named or file.stem))
            return pairs
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MwSError(f"{file}: not readable as UTF-8 text in columns ({error}); give a file of pairs") from error


def _column(names: list[str], known: tuple[str, ...], file: Path) -> int:
    for name in known:
        if name in names:
            return names.index(name)
    raise MwSError(f"{file}:1: no column {' or '.join(known)}; the header names {', '.join(names) or 'nothing'}")


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """Count the words that two sequences begin with in common."""
    return sum(1 for _ in takewhile(lambda words: words[0] == words[1], zip(first, second, strict=False)))


def wilson(right: float, number: int) -> tuple[float, float]:
    """Compute the 95 % score interval of a share (Wilson 1927).

    >>> [round(end, 4) for end in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    z = 1.959963984540054
    share, scale = right / number, 1 + z * z / number
    middle = (share + z * z / (2 * number)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    return max(0.0, middle - half), min(1.0, middle + half)
