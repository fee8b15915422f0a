"""What surgery costs and brings in length: tokens of held-out lines, trimmed, and extended in two ways.

Bases are stand-ins of public size and mixture, and tokenizers of public models: folders of their names in
`--with public=FOLDER`, English kept. They are trimmed to 60 % of the entries by the learnt text of the languages that
are kept, then 16,000 Russian tokens are added; the last column has as many tokens appended by frequency alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tokenizers import Tokenizer

from lab.cells import Cell, Place, Row
from lab.stand_ins import BASES, SIZES, base, held_out, learnt
from lab.tables import about, plain
from mws_hf.corpus.counting import count_documents
from mws_hf.extend.base import open_base
from mws_hf.extend.extension import extend
from mws_hf.extend.trim import trim

KEPT = {"GPT-NeoX 20B": ("eng",), "OpenLLaMA": ("eng",), **BASES}
SHARE, NEW, RUSSIAN = 0.6, 16_000, 12
"""Of the entries that stay; Russian tokens to add, and million characters to learn them from."""

AXES = {"base": list(KEPT), "language": ("eng", "deu", "fin", "rus")}
SHARED = 1
TOLD = ("base", "entries", "trimmed to", "language", "tokens", "trimmed", f"and {NEW:,} Russian tokens", "by frequency")


def exists(cell: Cell) -> bool:
    """Whether the language is kept, or added."""
    return cell["language"] in (*KEPT[cell["base"]], "rus")


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Trim a tokenizer to the languages that are kept, and extend that."""
    name, data = cells[0]["base"], place.data
    public = name not in BASES
    directory = place.path("public", "a folder of tokenizers") / name if public else base(data, place.work, name)
    opened = open_base(directory)
    texts = chain.from_iterable(learnt(data, language, SIZES[language]) for language in KEPT[name])
    smaller = trim(opened, texts, keep_size=round(SHARE * len(opened.vocab)))
    counts = count_documents(learnt(data, "rus", RUSSIAN))
    larger = extend(smaller.trimmed_base, counts, NEW)
    plain_bpe = extend(smaller.trimmed_base, counts, NEW, composition=1, hidden_boundary_price=0)
    before = Tokenizer.from_file(str(directory / "tokenizer.json"))
    for cell in cells:
        lines = held_out(data, cell["language"], RUSSIAN if cell["language"] == "rus" else SIZES[cell["language"]])
        stages = (before, smaller.tokenizer, larger.tokenizer, plain_bpe.tokenizer)
        first, *later = (tokens(each, lines) for each in stages)
        changes = dict(zip(TOLD[-3:], (f"{each / first - 1:+.2%}" for each in later), strict=True))
        yield cell, {"entries": len(opened.vocab), "trimmed to": sum(smaller.kept.values()), "tokens": first, **changes}


def tokens(tokenizer: Tokenizer, lines: list[str]) -> int:
    """Count the tokens of lines."""
    return sum(len(item.ids) for item in tokenizer.encode_batch_fast(lines, add_special_tokens=False))


def table(rows: list[Row]) -> str:
    """The rows as they are."""
    return f"{about(__doc__)}\n\n{plain(rows, TOLD)}"
