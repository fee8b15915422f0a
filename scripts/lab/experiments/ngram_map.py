"""N-gram bits per byte of MwS, its ablations and the baselines, by language and vocabulary size.

Every tokenizer learns from all training lines of its language. Russian does not include the sentences of RuBLiMP, which
are a benchmark, and novels that are in the data twice. The n-gram model (`mws_hf.scoring.ngram_model`) learns from the
first 4 MB of the same lines in shuffled order, or from all lines in Finnish and Turkish. One line in 50 is held out, at
most 4,000 lines, and each line is a document. `lab/systems.py` describes the ablations.
"""

from __future__ import annotations

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import GOLD, MB, first, parts_of
from lab.systems import UNIGRAM, trained
from lab.tables import groups, percents, span, tabulated
from mws_hf.corpus.counting import count_documents
from mws_hf.scoring.ngram_model import bits_differences, ngram_bits

ABLATIONS = {
    "mws-shuffled": "shuffled probabilities",
    "mws-no-evidence": "no probabilities",
    "mws-price0": "no penalty",
    "mws-counts": "morphs by counts",
}
RIVALS = {"bpe-byte": "byte-level BPE", UNIGRAM: "SentencePiece Unigram", "mws-shuffled": "shuffled probabilities"}
AGAINST = ("bpe", *RIVALS)
"""The systems with which every system is compared, in percent."""

SYSTEMS = ("mws", "mws-morphs", *ABLATIONS, "bpe", "bpe-byte", UNIGRAM)
AXES = {"size": (8000, 32000), "language": list(GOLD), "slice": ("4 MB", "all"), "system": SYSTEMS}
SHARED, TOGETHER = 3, True


def exists(cell: Cell) -> bool:
    """Return whether a cell is measured: n-gram models of Finnish and Turkish learn from all text, others from 4 MB."""
    return (cell["slice"] == "all") == (cell["language"] in ("fin", "tur"))


def measure(place: Place, cells: list[Cell]) -> Found:
    language, size = cells[0]["language"], cells[0]["size"]
    lines, held_out = parts_of(place.data, language)
    counts, folder = count_documents(lines), place.work / "ngram_map" / language
    part = lines if cells[0]["slice"] == "all" else first(lines, 4 * MB)
    names = [cell["system"] for cell in cells]
    bits = {name: ngram_bits(trained(name, counts, size, folder), part, held_out) for name in names}
    differences = {rival: bits_differences({rival: bits[rival], **bits}) for rival in AGAINST}
    for cell in cells:
        found = {rival: each[cell["system"]] for rival, each in differences.items()}
        gaps = {f"against_{rival}": percents(gap) for rival, gap in found.items() if gap}
        yield cell, {**bits[cell["system"]].to_dict(), **gaps}


def table(rows: list[Row]) -> Page:
    shown = {"mws": "default", **ABLATIONS, UNIGRAM: RIVALS[UNIGRAM]}
    leads, losses = [], []
    for size, language, _, here in groups(rows, "size", "language", "slice"):
        own = {row["system"]: row for row in here}
        train = f"{own['mws']['train_bytes'] / MB:.0f} MB"
        about = {"vocabulary size": f"{size:,}", "language": language, "text": train}
        lead = {name: span(own["mws"][f"against_{rival}"], bold=False) for rival, name in RIVALS.items()}
        loss = {name: span(own[system]["against_bpe-byte"], bold=False) for system, name in shown.items()}
        leads.append(about | lead)
        losses.append(about | loss)
    yield (
        "The figures are differences in n-gram bits per byte of held-out lines, in percent with a 95 % interval over "
        "lines. Negative values are better."
    )
    yield "## Default settings compared with each column"
    yield tabulated(leads)
    yield "## Each column compared with byte-level BPE"
    yield tabulated(losses)
