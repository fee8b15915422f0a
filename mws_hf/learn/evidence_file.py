"""Write the boundary probabilities of a training to a Parquet file next to the tokenizer, and read them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mws_hf.corpus.arrow_arrays import arrow_integers
from mws_hf.corpus.files import open_for_arrow
from mws_hf.errors import MwSError, brief
from mws_hf.learn.any_word import AnyWord, most_frequent
from mws_hf.learn.evidence.forms import inner_positions
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.words import CodePoints, utf8_sizes
from mws_hf.tokenizer.training_record import merges_digest

if TYPE_CHECKING:
    from mws_hf.tokenizer.opened import Opened

_FORMAT = "1"
"""The version of the format, in the metadata of the file."""


def _table(evidence: Evidence) -> pa.Table:
    """Lay out the most frequent types (at most `MAX_TYPES`) as a table, sorted by their letters.

    Its columns are `type` (string), `percent` (binary, one byte per position inside the type, the probability in
    percent) and, if there is a group of code, `in_code` (uint8, in percent).
    """
    kept = most_frequent(evidence)
    points, starts = kept.code_points.points, kept.starts
    n_bytes = np.concatenate([[0], np.cumsum(utf8_sizes(points))])
    text = points.tobytes().decode("utf-32-le").encode()
    types = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(n_bytes[starts]), pa.py_buffer(text))
    order = pc.sort_indices(types)  # neighboring rows share their first letters, so that the file is small
    percent = np.rint(kept.probabilities[inner_positions(starts)] * 100).astype(np.uint8)
    rows = pa.Array.from_buffers(
        pa.large_binary(), len(types), [None, pa.py_buffer(starts - np.arange(len(starts))), pa.py_buffer(percent)]
    )
    columns: dict[str, Any] = {
        "type": types.take(order).cast(pa.string()),
        "percent": rows.take(order).cast(pa.binary()),
    }
    if kept.in_code is not None:
        columns["in_code"] = arrow_integers(np.rint(kept.in_code * 100).astype(np.uint8)).take(order)
    return pa.table(columns)


def evidence_bytes(evidence: Evidence, merges: str) -> bytes:
    """Return boundary probabilities as the content of a Parquet file.

    Args:
        evidence: the boundary probabilities of the training.
        merges: `merges_digest` of the tokenizer that was learned from them. `read_evidence` ignores the file for any
            other tokenizer.

    Returns:
        The content of the file, with probabilities in whole percent.
    """
    out = io.BytesIO()
    encodings = {"type": "DELTA_BYTE_ARRAY", "percent": "DELTA_LENGTH_BYTE_ARRAY"}
    table = _table(evidence).replace_schema_metadata({"mws_hf.evidence": _FORMAT, "mws_hf.merges": merges})
    pq.write_table(table, out, compression="zstd", use_dictionary=False, column_encoding=encodings)
    return out.getvalue()


def read_evidence(opened: Opened) -> AnyWord | None:
    """Read the boundary probabilities that are saved next to a tokenizer.

    Returns:
        The probabilities, in steps of 0.01; None if the tokenizer has no such file, or if it belongs to other merges.

    Raises:
        MwSError: the file is damaged.
    """
    path = opened.evidence_file
    if path is None:
        return None
    merges = merges_digest(opened.backend)
    try:
        with open_for_arrow(path) as stored:
            table = pq.read_table(stored)
        metadata = table.schema.metadata or {}
        if metadata.get(b"mws_hf.merges", b"").decode() != merges:
            return None
        types = CodePoints.of(table["type"].to_pylist())
        percent = np.frombuffer(b"".join(table["percent"].to_pylist()), np.uint8)
        probabilities = np.zeros(len(types.points))
        probabilities[inner_positions(types.starts)] = percent / 100
        in_code = table["in_code"].to_numpy() / 100 if "in_code" in table.column_names else None
        if percent.max(initial=0) > 100:
            raise ValueError("a probability is above 100 percent")
    except Exception as error:  # pyarrow raises many kinds of errors, depending on the damage
        raise MwSError(f"{path}: damaged ({brief(error)}); train again, or delete the file") from error
    return AnyWord(Evidence(types, probabilities, in_code=in_code))
