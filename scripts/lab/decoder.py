"""A small decoder for surgery: a byte-level tokenizer of English, German and code, and models trained on English.

Trimmed by English text, the tokenizer has room for Finnish tokens: a language in Latin script, so that their pieces are
known to the model, as the letters of most languages are to public ones.
"""

from __future__ import annotations

from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import torch
from lm.config import RunConfig
from lm.data import Codec, shuffled
from lm.scoring import bits_per_byte
from lm.training import pretrain

from lab.cells import Place
from lab.stand_ins import END, byte_level, held_out, learnt, save
from mws_hf.corpus.counting import count_documents
from mws_hf.extend.base import open_base
from mws_hf.extend.extension import extend
from mws_hf.extend.trim import trim

SIZES = {"eng": 12, "deu": 6, "code": 3, "fin": 9}
"""Million characters of each text that tokenizers learn from."""

ENTRIES, NEW, CONTEXT_BYTES = 8_000, 2_000, 256
MODELS: dict[str, dict[str, Any]] = {
    "1.1 M": {"hidden_size": 96, "layers": 3, "learning_rate": 4e-3, "train_bytes": 5_000_000},
    "5.2 M": {"hidden_size": 256, "layers": 4, "learning_rate": 2e-3, "train_bytes": 8_000_000},
}
"""Models by their number of weights: shape, peak rate and bytes of English."""


def base_tokenizer(place: Place) -> Path:
    """Train the base's tokenizer, once."""
    directory = place.work / "decoder" / "tokenizer"
    if not (directory / "tokenizer.json").is_file():
        texts = chain.from_iterable(learnt(place.data, name, SIZES[name]) for name in ("eng", "deu", "code"))
        save(byte_level(texts, ENTRIES - 3), directory, END)
    return directory


def base_model(place: Place, size: str) -> Path:
    """Train the base's model of one of the sizes, once; an interrupted run goes on."""
    torch.set_num_threads(1)
    tokenizer, text = base_tokenizer(place), place.work / "decoder" / "english.txt"
    if not text.is_file():
        text.write_text("".join(learnt(place.data, "eng", SIZES["eng"])), encoding="utf-8")
    config = RunConfig(
        tokenizer=str(tokenizer), text=(str(text),), held_out_bytes=10_000,
        context_bytes=CONTEXT_BYTES, batch_blocks=8, heads=4, save_every=100, **MODELS[size],
    )  # fmt: skip
    directory = place.work / "decoder" / size.replace(" ", "")
    pretrain(config, directory)
    return directory / "model"


def operated(place: Place, kept: int) -> dict[str, Path]:
    """Trim the base's tokenizer to so many entries and extend that, once."""
    base, folder = base_tokenizer(place), place.work / "decoder"
    found = {"base": base, "trimmed": folder / f"trimmed-{kept}", "both": folder / f"both-{kept}"}
    if not (found["both"] / "tokenizer.json").is_file():
        smaller = trim(open_base(base), learnt(place.data, "eng", SIZES["eng"]), keep_size=kept)
        smaller.save(found["trimmed"], base)
        larger = extend(smaller.trimmed_base, count_documents(learnt(place.data, "fin", SIZES["fin"])), NEW)
        larger.save(found["both"], base, smaller)
    return found


def sample(place: Place, language: str) -> list[str]:
    """Held-out lines of 40,000 characters."""
    lines = [line.strip()[:600] for line in held_out(place.data, language, SIZES[language], 10**9)]
    lines = shuffled(filter(None, lines), 0)
    ends = accumulate(map(len, lines))
    return [line for line, end in zip(lines, ends, strict=True) if end <= 40_000]


def scores(model: Any, codec: Codec, place: Place) -> dict[str, float]:
    """Bits per byte of held-out text."""
    return {
        name: round(bits_per_byte(model.eval(), codec, sample(place, code), CONTEXT_BYTES, batch_size=16).value, 4)
        for name, code in (("English", "eng"), ("Finnish", "fin"))
    }
