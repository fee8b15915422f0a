"""Convert Arrow arrays of strings and numbers, and check those that were read from files.

Arrow returns bytes and offsets as they are in a file, and code that reads them without a check can crash;
`valid_strings` checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mws_hf.corpus.octets import BAD_BYTES
from mws_hf.corpus.place import Fault
from mws_hf.errors import first_line


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a string type, a dictionary of strings, or the type of a column of nulls.

    Writers give a column the type `null` if all of its values are missing, as they can be in one file of several.
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    string = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(string or pa.types.is_null(kind))


def valid_strings(array: pa.Array, first: int = 1, errors: str = "strict") -> pa.LargeStringArray:
    """Check the bytes and offsets of an array of text, and convert it to large strings; nulls stay.

    Args:
        array: an array of any string type, as read from a file.
        first: the number of its first row, for the error.
        errors: "strict", "replace" or "ignore" for bytes that are not UTF-8.

    Raises:
        Fault: a row is not valid UTF-8, or the data is damaged.
    """
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        try:
            raw = _as_bytes(array)
            raw.validate(full=True)
        except pa.ArrowException:
            raise Fault(f"the data is damaged ({first_line(error)})") from error
        array = pa.array([_decoded(row, first + k, errors) for k, row in enumerate(raw.to_pylist())])
    return array.cast(pa.large_string())


def _as_bytes(array: pa.Array) -> pa.Array:
    """View an array of strings as an array of bytes, which need not be UTF-8."""
    if isinstance(array, pa.DictionaryArray):
        values = _as_bytes(array.dictionary)
        values.validate(full=True)
        return pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()
    if pa.types.is_string_view(array.type):
        return array.view(pa.binary_view())
    return array.view(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())


def _decoded(row: bytes | None, number: int, errors: str) -> str | None:
    """Decode one row; raises `Fault` with its number if it is not UTF-8 and `errors` is strict."""
    try:
        return None if row is None else row.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not utf-8 ({error.reason}), as strings of a table must be"
        advice = f"write the table again, or if it is a file, {BAD_BYTES}"
        raise Fault(f"{problem}; {advice}", inside=f", row {number}") from error


def arrow_strings(texts: Sequence[str]) -> pa.LargeStringArray:
    """Convert strings to an Arrow array; `pa.array` would import an installed pandas, which takes 0.2 s."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    data = pa.py_buffer(b"".join(encoded))
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), data)


def arrow_integers(values: npt.NDArray[Any]) -> pa.Array:
    """Convert a one-dimensional array of numbers to an Arrow array without a copy; `pa.array` would import pandas."""
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, buffer])


def integers(array: pa.Array) -> npt.NDArray[Any]:
    """View an Arrow array of numbers without nulls as a NumPy array; `to_numpy` would import pandas."""
    numbers = np.frombuffer(array.buffers()[1] or b"", str(array.type))
    return numbers[array.offset : array.offset + len(array)]


def flat_utf8(strings: pa.LargeStringArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of an Arrow large_string array (uint8) and n + 1 offsets into them (int64), without a copy."""
    _, offsets, data = strings.buffers()
    bounds = np.frombuffer(offsets, np.int64) if offsets is not None else np.zeros(1, np.int64)
    empty = np.zeros(0, np.uint8)
    return (
        empty if data is None else np.frombuffer(data, np.uint8),
        bounds[strings.offset : strings.offset + len(strings) + 1],
    )
