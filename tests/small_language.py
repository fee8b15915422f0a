"""A small artificial language with stems and endings, tokenizers for it, and runs on it, for tests of scripts/lm."""

from __future__ import annotations

import random
from pathlib import Path

from lm.config import RunConfig

from mws_hf.compare.baselines import train
from mws_hf.corpus.counting import count_documents
from mws_hf.trainer import MwSTrainer

STEMS = ("дом", "стол", "рек", "книг", "город", "лес", "ветк", "окн", "трав", "звер")
ENDINGS = ("", "а", "у", "ом", "е", "ами", "ах")


def sentences(number: int, seed: int = 0) -> list[str]:
    """Distinct sentences of three to eight words; each word's ending follows from the word before."""
    generator = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < number:
        words, ending = [], 0
        for _ in range(generator.randint(3, 8)):
            stem = generator.randrange(len(STEMS))
            words.append(STEMS[stem] + ENDINGS[ending])
            ending = (stem + ending) % len(ENDINGS)
        made[" ".join(words).capitalize() + "."] = None
    return list(made)


def write_corpus(folder: Path, number: int = 1500) -> Path:
    """A text file, a sentence a line."""
    file = folder / "corpus.txt"
    file.write_text("\n".join(sentences(number)) + "\n", encoding="utf-8")
    return file


def tokenizer_dir(folder: Path, name: str, size: int = 340) -> Path:
    """A tokenizer trained on the language: "mws", or one of `mws_hf.compare.baselines`."""
    directory = folder / f"{name}-{size}"
    if not directory.is_dir():
        counts = count_documents(sentences(1500), workers=1)
        if name == "mws":
            MwSTrainer(vocab_size=size).train_from_counts(counts).save_pretrained(directory)
        else:
            train(name, counts, size, directory)
    return directory


def small_run(tokenizer: Path, text: Path, **changes: object) -> RunConfig:
    """A run that takes seconds."""
    values = {"train_bytes": 60_000, "held_out_bytes": 6_000, "context_bytes": 160, "batch_blocks": 8}
    model = {"hidden_size": 32, "layers": 2, "heads": 2, "learning_rate": 5e-3, "log_every": 5}
    return RunConfig.from_dict({"tokenizer": str(tokenizer), "text": str(text), **values, **model, **changes})


def train_steps(model, codec, documents: list[str], steps: int, *, context_bytes: int, rate: float) -> None:
    """Train a model for some steps of eight blocks, in their order."""
    import torch
    from lm.data import Collator, blocks_of

    blocks, collate = blocks_of(codec, codec.encode(documents), context_bytes), Collator(codec.padding)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model.train()
    for step in range(steps):
        batch = collate([blocks[(8 * step + row) % len(blocks)] for row in range(8)])
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
