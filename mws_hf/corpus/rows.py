"""Parse .csv and .tsv into rows, by a quoting rule that never loses text silently.

In .csv a field that begins with a quotation mark ends at the next mark that is not doubled (RFC 4180); all other marks
are text. In .tsv quotation marks quote a field only if the whole file can be read in this way:

- every quoted field ends before a tab or a line end,
- every row has as many fields as the first one,
- no field contains lines that would be rows by themselves.

Otherwise every mark is text and every line is a row. Names in the first line can be quoted in either case.

A field that is never closed, text after a closing mark, and a row with a different number of fields are errors with
file and line. Fields that contain line ends are reported in a warning, because two stray marks can make such a field.
"""

from __future__ import annotations

import csv
import logging
import os
import re
from collections.abc import Iterable, Iterator

from mws_hf.corpus.compression import suffixes_of
from mws_hf.corpus.files import PathLike, Reading
from mws_hf.corpus.octets import Advance, stored_lines
from mws_hf.corpus.place import Fault
from mws_hf.errors import MwSError
from mws_hf.text.phrases import counted

_MAX_FIELD_CHARACTERS = 16 << 20  # a longer field is an error, because a quotation mark is probably not closed
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas"}
_SEPARATOR_LINE = re.compile(r"sep=.")
_MARK_IN_TEXT = "if the mark is part of the text, double it, and put quotation marks around the field"
_logger = logging.getLogger(__name__)


def read_header(name: PathLike, how: Reading) -> list[str]:
    """Read the names of the columns; the list is empty if the file is empty.

    Raises:
        Fault: the first line is not a row, or only names the separator.
    """
    header = next(_parsed(stored_lines(name, how), is_tsv(name), csv.QUOTE_MINIMAL), ([], 0))[0]
    if _SEPARATOR_LINE.fullmatch(",".join(header)):
        raise Fault("begins with a line for Excel that names the separator; remove this line", 1)
    return header


def check_separator(header: str, *, in_tsv: bool) -> None:
    """Raise `Fault` if the only name in the first line of a table seems to be several, with a different separator."""
    expected = "tabs" if in_tsv else "commas"
    others = ((mark, name) for mark, name in _SEPARATORS.items() if name != expected)
    found = next((name for mark, name in others if mark in header and f"{mark} " not in header), None)  # or prose
    if found is not None:
        name = "rename the file to end in"
        advice = f"{name} .tsv" if found == "tabs" else f"separate the columns by commas, and {name} .csv"
        raise Fault(f"the columns seem to be separated by {found}, not by {expected}; {advice}", 1)


def read_rows(name: PathLike, how: Reading, advance: Advance | None = None) -> Iterator[list[str]]:
    """Yield the rows of a .csv or .tsv file, the header first; empty lines are skipped.

    Raises:
        Fault: a row is malformed, or its number of fields differs from that of the header.
    """
    tabs = is_tsv(name)
    quoting = csv.QUOTE_MINIMAL if not tabs or _quotes_fit(name, how) else csv.QUOTE_NONE
    over, first, last = 0, (0, 0), -1
    for row, line in _parsed(stored_lines(name, how, advance), tabs, quoting):
        if line - last > 1 and last >= 0 and any("\n" in field for field in row):
            first = first if over else (last + 1, line)
            over += 1
        if last < 0 and quoting == csv.QUOTE_NONE:
            names = next(csv.reader(["\t".join(row)], delimiter="\t"))
            row = names if len(names) == len(row) else row
        last = line
        yield row
    if over:
        _logger.warning(
            "%s: %d rows span several lines, the first one lines %d to %d; if rows are missing, a quotation mark is "
            "not closed there",
            name, over, *first,
        )  # fmt: skip


def is_tsv(name: PathLike) -> bool:
    """Return whether the fields of a table are separated by tabs, which its name shows."""
    return suffixes_of(name)[0] == ".tsv"


def _parsed(lines: Iterable[str], tabs: bool, quoting: int) -> Iterator[tuple[list[str], int]]:
    """Yield rows, each with the number of its last line."""
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_FIELD_CHARACTERS))
    reader = csv.reader(lines, delimiter="\t" if tabs else ",", quoting=quoting, strict=True)  # type: ignore[arg-type]
    width = 0
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise Fault(_explained(str(error), reader.line_num), line) from error
        if row is None:
            return
        if row:
            width = width or len(row)
            if len(row) != width:
                raise Fault(f"not a readable CSV row: {counted(len(row), 'field')}, but the header has {width}", line)
            yield row, reader.line_num


def _explained(error: str, line: int) -> str:
    """Return the message of a csv.Error in other words, with what to do; `line` is the last line that was read."""
    if "field larger" in error:
        return (
            f"a field has more than {_MAX_FIELD_CHARACTERS:,} characters; close its quotation mark, or divide its text "
            "into several rows"
        )
    if "unexpected end" in error:
        return f"a quotation mark opens a field here, but none closes it; {_MARK_IN_TEXT}"
    if "expected after" in error:
        return f"text follows the quotation mark that closes a field in line {line}; {_MARK_IN_TEXT}"
    if "new-line character" in error:
        return "a field without quotation marks contains a carriage return; quote the field, or remove that character"
    return error


def _quotes_fit(name: PathLike, how: Reading) -> bool:
    """Return whether quotation marks can be read as quoting in the whole of a .tsv file."""
    if not os.path.isfile(name):  # a pipe can be read only once
        return False
    try:
        rows = _parsed(stored_lines(name, how), True, csv.QUOTE_MINIMAL)
        return not any(_contains_rows(row) for row, _ in rows)
    except MwSError:
        return False


def _contains_rows(row: list[str]) -> bool:
    """Return whether a row spans several lines, and each of them has as many tabs as a whole row."""
    lines = "\t".join(row).removesuffix("\n").split("\n") if len(row) > 1 else []
    return len(lines) > 1 and all(line.count("\t") == len(row) - 1 for line in lines)
