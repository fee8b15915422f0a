"""What protecting old text does: texts that are cut otherwise after 8,000 Turkish tokens for an English base.

The base is the English stand-in of 64,000 entries; nothing is protected, or a sample of English and Python code that no
new merge may change, or all text that the base learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tokenizers import Tokenizer

from lab.cells import Cell, Place, Row
from lab.stand_ins import CODE, MIXTURE, base, held_out, learnt
from lab.tables import about, plain
from mws_hf.corpus.counting import count_documents
from mws_hf.extend.extension import extend

AXES = {"protects": ("nothing", "a sample", "all")}
SHARED = 0
CUT = ("sample: texts cut otherwise", "English and code: texts cut otherwise")
TOLD = ("protected", *CUT, "Turkish tokens")


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Append with some lines protected, and cut others."""
    data, directory = place.data, base(place.data, place.work, "English, byte-level")
    before = Tokenizer.from_file(str(directory / "tokenizer.json"))
    counts = count_documents(learnt(data, "tur", MIXTURE["tur"]))
    english, code = [*learnt(data, "eng", MIXTURE["eng"])], [*learnt(data, "code", CODE)]
    sample = [*islice(english, 20_000), *islice(code, 100)]
    protected = {"nothing": [], "a sample": sample, "all": [*english, *code]}
    shown = [sample[::8], [*held_out(data, "eng", MIXTURE["eng"], 2000), *held_out(data, "code", CODE, 40)]]
    turkish = held_out(data, "tur", MIXTURE["tur"])
    for cell in cells:
        lines = protected[cell["protects"]]
        after = extend(directory, counts, 8000, protected=lines).tokenizer
        row = {"protected": f"{len(lines):,} lines"}
        for name, texts in zip(CUT, shown, strict=True):
            pairs = zip(before.encode_batch_fast(texts), after.encode_batch_fast(texts), strict=True)
            row[name] = f"{sum(old.ids != new.ids for old, new in pairs):,} of {len(texts):,}"
        lengths = [sum(len(item.ids) for item in each.encode_batch_fast(turkish)) for each in (before, after)]
        yield cell, row | {"Turkish tokens": f"{lengths[1] / lengths[0] - 1:+.1%}"}


def table(rows: list[Row]) -> str:
    """The rows as they are."""
    return f"{about(__doc__)}\n\n{plain(rows, TOLD)}"
