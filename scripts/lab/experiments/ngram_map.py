"""N-gram bits per byte: MwS, its rivals, and MwS with one thing taken away, by language and vocabulary size.

Every tokenizer learns from all training lines of its language (Russian without the sentences of RuBLiMP, which are
another benchmark's, and without novels that are there twice); the n-gram model (`mws_hf.evaluate.ngram_bits`) learns
from the first 4 MB of the same lines in shuffled order, of Finnish and Turkish from all of them. Every 50th line is
held out, 4,000 lines at most; a line is a document. `lab/systems.py` says what is taken away.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.cells import Cell, Place, Row
from lab.data import GOLD, MB, first, parts_of
from lab.systems import UNIGRAM, trained
from lab.tables import groups, span, where
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate.ngram_bits import NgramBits, bits_differences, ngram_bits
from mws_hf.text.markdown import markdown_table
from mws_hf.tokenizer.opened import open_tokenizer

SLICES = {"4 MB": 4 * MB, "all": None}
ABLATIONS = {
    "mws-shuffled": "shuffled evidence",
    "mws-no-evidence": "no evidence",
    "mws-price0": "price 0",
    "mws-counts": "morphs by counts",
}
RIVALS = {"bpe-byte": "byte-level BPE", UNIGRAM: "SentencePiece Unigram", "mws-shuffled": "shuffled evidence"}
AGAINST = ("bpe", *RIVALS)
"""What every system is compared with, in per cent."""

SYSTEMS = ("mws", "mws-morphs", *ABLATIONS, "bpe", "bpe-byte", UNIGRAM)
AXES = {"size": (8000, 32000), "language": list(GOLD), "slice": list(SLICES), "system": SYSTEMS}
SHARED, TOGETHER = 3, True


def exists(cell: Cell) -> bool:
    """Whether this is the amount of text of a language: 4 MB where there is twice as much, all where there is not."""
    return (cell["slice"] == "all") == (cell["language"] in ("fin", "tur"))


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Bits per byte of each system, and its differences to the rivals in per cent, with 95 % intervals over lines."""
    language, size = cells[0]["language"], cells[0]["size"]
    lines, held_out = parts_of(place.data, language)
    counts, folder = count_documents(lines), place.work / "ngram_map" / language
    part = first(lines, SLICES[cells[0]["slice"]]) or lines
    bits = {
        name: ngram_bits(open_tokenizer(trained(name, counts, size, folder), by_class=True), part, held_out)
        for name in (cell["system"] for cell in cells)
    }
    against = {rival: percent_against(bits, rival) for rival in AGAINST}
    for cell in cells:
        system = cell["system"]
        gaps = {f"against_{rival}": found[system] for rival, found in against.items() if system in found}
        yield cell, {**bits[system].to_dict(), **gaps}


def percent_against(bits: dict[str, NgramBits], base: str) -> dict[str, list[float]]:
    """Bits per byte of each other system against `base`, in per cent with the ends of the 95 % interval."""
    ordered = {base: bits[base], **{name: each for name, each in bits.items() if name != base}}
    of = 100 / bits[base].value
    return {
        name: [of * x for x in (difference.value, difference.low, difference.high)]
        for name, difference in bits_differences(ordered).items()
        if difference is not None
    }


def table(rows: list[Row]) -> str:
    """The default against what it must beat, and each ablation against byte-level BPE."""
    shown = {"mws": "default", **ABLATIONS, UNIGRAM: RIVALS[UNIGRAM]}
    leads, losses = [], []
    for (size, language, _), here in groups(rows, "size", "language", "slice").items():
        own = {system: where(here, system=system)[0] for system in shown}
        about = [f"{size:,}", language, f"{own['mws']['train_bytes'] / MB:.0f} MB"]
        leads.append([*about, *(span(own["mws"][f"against_{rival}"], bold=False) for rival in RIVALS)])
        losses.append([*about, *(span(row["against_bpe-byte"], bold=False) for row in own.values())])
    header = ["entries", "language", "text"]
    return (
        "Difference in n-gram bits per byte of held-out lines, in per cent with its 95 % interval over lines. Below 0 "
        f"is better.\n\n## The default against\n\n{markdown_table([*header, *RIVALS.values()], leads)}\n\n"
        f"## Against byte-level BPE\n\n{markdown_table([*header, *shown.values()], losses)}"
    )
