"""Measure what a trimming changes: entries by reason, and each text's length and bits before and after.

Nothing is trimmed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mws_hf.extend.base import Base
from mws_hf.extend.trim import Trimming, count_uses
from mws_hf.kernels.arrays import Longs


@dataclass(frozen=True)
class TextUse:
    """A text as a tokenizer cuts it.

    Attributes:
        n_bytes: bytes of the text in UTF-8.
        uses: int64 (largest id + 1,), occurrences of each entry.
    """

    n_bytes: int
    uses: Longs

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of a code by the frequency of each entry alone; NaN for no bytes."""
        return unigram_bits(self.uses) / self.n_bytes if self.n_bytes else float("nan")


def measure_use(base: Base, texts: Iterable[str]) -> TextUse:
    """Encode texts once, counting bytes and entries."""
    n_bytes = 0

    def weighed() -> Iterator[str]:
        nonlocal n_bytes
        for text in texts:
            n_bytes += len(text.encode())
            yield text

    uses = count_uses(base, weighed())
    return TextUse(n_bytes, uses)


def unigram_bits(uses: Longs) -> float:
    """Compute the bits that a code by the frequency of each entry alone needs for all uses.

    >>> unigram_bits(np.array([2, 1, 1, 0]))
    6.0
    """
    seen = uses[uses > 0]
    return float(seen.sum() * math.log2(seen.sum()) - (seen * np.log2(seen)).sum()) if len(seen) else 0.0


def trim_facts(trimming: Trimming, before: Mapping[str, TextUse], after: Mapping[str, TextUse]) -> dict[str, Any]:
    """Collect all facts that a command reports as plain values for JSON; `before` and `after` go by the text's name."""
    gone = [old for old, new in trimming.ids.items() if new is None]
    texts = {
        name: {
            "bytes": use.n_bytes,
            "tokens": [int(use.uses.sum()), int(after[name].uses.sum())],
            "uses_lost": float(use.uses[gone].sum() / max(1, use.uses.sum())),
            "unigram_bits_per_byte": [use.bits_per_byte, after[name].bits_per_byte],
        }
        for name, use in before.items()
    }
    return {
        "entries": [len(trimming.base.vocab), sum(trimming.kept.values())],
        "merges": [len(trimming.base.merges), len(trimming.spec["model"]["merges"])],
        "kept": trimming.kept,
        "dropped": trimming.dropped,
        "uses_lost": trimming.uses_lost,
        "texts": texts,
    }


def trim_told(found: Mapping[str, Any]) -> str:
    """Write the facts for people: a line on the entries and a line for each text."""
    kept, dropped = (", ".join(f"{n:,} {why}" for why, n in found[side].items()) for side in ("kept", "dropped"))
    (before, after), (merges_before, merges_after) = found["entries"], found["merges"]
    rows = [
        f"{before:,} -> {after:,} entries, {merges_before:,} -> {merges_after:,} merges; kept: {kept}; dropped: "
        f"{dropped or 'none'}"
    ]
    for name, text in found["texts"].items():
        (first, second), (bits_before, bits_after) = text["tokens"], text["unigram_bits_per_byte"]
        more = second / first - 1 if first else 0.0
        rows.append(
            f"{name}: {first:,} -> {second:,} tokens ({more:+.2%}), {text['uses_lost']:.2%} of uses lost, unigram code "
            f"{bits_before:.4f} -> {bits_after:.4f} bits a byte"
        )
    return "\n".join(rows)
