"""A small decoder before and after surgery: bits per byte of held-out English and Finnish.

Models of 1.1 and 5.2 million weights under 8,000 entries, trained on 5 and 8 MB of English novels: before surgery,
trimmed to 4,800 and to 6,400 entries, and with 2,000 Finnish tokens more.
"""

from __future__ import annotations

from collections.abc import Iterator

from lm.data import Codec
from transformers import AutoModelForCausalLM, AutoTokenizer

from lab.cells import Cell, Place, Row
from lab.decoder import MODELS, base_model, operated, sample, scores
from lab.tables import about, plain
from mws_hf.extend.embeddings import transplant

STAGES = {
    "base": ("base", ""),
    "trimmed": ("trimmed", "mean"),
    "trimmed and extended, --init mean": ("both", "mean"),
    "trimmed and extended, --init quiet": ("both", "quiet"),
}
AXES = {"weights": list(MODELS), "kept": (8000, 4800, 6400), "tokenizer": list(STAGES)}
SHARED, TOGETHER = 1, True
TOLD = ("weights", "tokenizer", "rows", "English tokens", "bits per byte, English", "bits per byte, Finnish")


def exists(cell: Cell) -> bool:
    """Whether all entries are kept for the base alone."""
    return (cell["kept"] == 8000) == (cell["tokenizer"] == "base")


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Bits per byte of a base with the tokenizer it was trained with, that trimmed, and that extended."""
    directory = base_model(place, cells[0]["weights"])
    model, old = (kind.from_pretrained(directory) for kind in (AutoModelForCausalLM, AutoTokenizer))
    first: dict[str, float] = {}
    for cell in cells:
        stage, init = STAGES[cell["tokenizer"]]
        tokenizer = operated(place, cell["kept"] if init else 4800)[stage]
        codec = Codec.open(tokenizer)
        changed = transplant(model, old, AutoTokenizer.from_pretrained(tokenizer), init)[0] if init else model
        tokens = sum(map(len, codec.encode(sample(place, "eng"))))
        found = {"tokens": tokens, **scores(changed, codec, place)}
        first = first or found
        yield (
            cell,
            {
                "rows": changed.config.vocab_size,
                "English tokens": f"{tokens:,} ({tokens / first['tokens'] - 1:+.2%})",
                "bits per byte, English": f"{found['English']:.3f} ({found['English'] / first['English'] - 1:+.2%})",
                "bits per byte, Finnish": f"{found['Finnish']:.3f}",
            },
        )


def table(rows: list[Row]) -> str:
    """The rows as they are."""
    return f"{about(__doc__)}\n\n{plain(rows, TOLD)}"
