"""Pre-tokens of the compiled scanner, for tests that compare it with `regex` and the Rust backend."""

from __future__ import annotations

import numpy as np

from mws_hf.kernels.scanner import next_pretoken
from mws_hf.text.scanner_classes import classes_of, scanner_kind


def scan(text: str, pattern: str) -> list[str]:
    """Split `text` with the scanner; the pattern is one that it supports."""
    kind = scanner_kind(pattern)
    assert kind is not None
    raw, classes, ends = text.encode(), classes_of(kind), [0]
    data = np.frombuffer(raw, np.uint8)
    while ends[-1] < len(raw):
        ends.append(next_pretoken(data, ends[-1], len(raw), classes, kind))
    return [raw[a:b].decode() for a, b in zip(ends, ends[1:], strict=False)]
