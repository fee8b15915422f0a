"""Pack a vocabulary for a page: compressed, as text, so that the browser unpacks it and searches in it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence

from mws_hf.report.facts import Entry


def packed(entries: Sequence[Entry]) -> str:
    """Pack entries as columns of JSON, compressed (zlib's form, which browsers call `deflate`) and in base64.

    Entries come in the order of their ids: an id is told by its distance from the one before, a rank by its distance
    from the id, so that most of these numbers are alike and take no room.
    """
    entries = sorted(entries, key=lambda entry: entry.number)
    columns = {
        "id": [b.number - a for a, b in zip([0, *(entry.number for entry in entries)], entries, strict=False)],
        "shown": [entry.shown for entry in entries],
        "uses": [entry.uses for entry in entries],
        "rank": [None if entry.rank is None else entry.rank - entry.number for entry in entries],
        "kind": [entry.kind for entry in entries],
        "edges": [entry.edges for entry in entries],
        "right": [entry.at_boundaries for entry in entries],
        "ends": [_per_cent(entry.evidence_at_ends) for entry in entries],
        "inside": [_per_cent(entry.evidence_inside) for entry in entries],
    }
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def _per_cent(value: float | None) -> int | None:
    return None if value is None else round(100 * value)


def packed_within(entries: Sequence[Entry], most: int) -> tuple[str, int]:
    """Pack as many of the first entries as fit into so many characters; return the text and their number.

    >>> packed_within([Entry(number, str(number), 0, None, "", 0, 0) for number in range(9)], 1000)[1]
    9
    """
    kept = len(entries)
    while True:
        text = packed(entries[:kept])
        if len(text) <= most or kept == 0:
            return text, kept
        kept = min(kept - 1, int(kept * most / len(text) * 0.98))
