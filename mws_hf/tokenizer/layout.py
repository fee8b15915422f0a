"""The files of a directory: whose they are, who writes them, and whether a new tokenizer makes them stale.

Saving, refusing, copying and checking read this one list. A name may be a glob, relative to the directory.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple


class Of(Enum):
    """What a file of a directory belongs to."""

    TOKENIZER = "the tokenizer that every client loads"
    SETTINGS = "the settings of the tokenizer's class, and its chat templates"
    FOREIGN = "a vocabulary in the form of another program or an older class"
    RECORD = "the record of the training"
    CHANGE = "the record of a change: extended or trimmed"
    CARD = "the card"
    MODEL = "the settings of the model"
    WEIGHTS = "the weights of the model"


class Entry(NamedTuple):
    """A file's name or glob, what it belongs to, who writes it.

    `stale`: AutoTokenizer reads it beside or before a new tokenizer.json, so that each save removes it. The other
    foreign files may be a user's own: they go only where a tokenizer is replaced as a whole.
    """

    name: str
    of: Of
    by: str
    stale: bool = False


TOKENIZER_FILE, CONFIG_FILE, CARD_FILE = "tokenizer.json", "tokenizer_config.json", "README.md"
RECORD_FILE, EVIDENCE_FILE = "mws_training.json", "mws_evidence.pq"  # the Hub warns of .parquet beside a model
IDS_FILE, RETIRED_FILE, TRIM_FILE = "ids.json", "retired.json", "trim.json"
MODEL_FILE = "config.json"
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
STOCK_FILE, ADDED_FILE = "stock_tokenizer.py", "added_tokens.json"
NOTEBOOK_FILES = ("vocabulary.json", "merges.json")

_OF_PROGRAMS = (
    *("tiktoken.model", "*.tiktoken", "tokenizer*.model", "tokenizer.model.v*", "spiece.model", "sentencepiece*.model"),
    *("spm.model", "spm_char.model", "*.spm", "prophetnet.tokenizer", "entity_vocab.json"),
    *("vocab.bpe", "encoder.json", "bpe.codes", "vocab.model"),
)
LAYOUT = (
    Entry(TOKENIZER_FILE, Of.TOKENIZER, "all", stale=True),
    Entry(CONFIG_FILE, Of.SETTINGS, "all", stale=True),
    Entry("special_tokens_map.json", Of.SETTINGS, "transformers 4", stale=True),
    Entry("chat_template.jinja", Of.SETTINGS, "transformers", stale=True),
    Entry("additional_chat_templates/*.jinja", Of.SETTINGS, "transformers", stale=True),
    Entry("chat_template.json", Of.SETTINGS, "processors of transformers"),
    Entry(STOCK_FILE, Of.SETTINGS, "mws_hf", stale=True),
    Entry(ADDED_FILE, Of.FOREIGN, "transformers 4", stale=True),
    Entry("*tekken*.json", Of.FOREIGN, "mistral-common", stale=True),
    *(Entry(name, Of.FOREIGN, "its program") for name in _OF_PROGRAMS),
    *(Entry(name, Of.FOREIGN, "transformers 4") for name in ("vocab.json", "vocab.txt", "merges.txt")),
    *(Entry(name, Of.FOREIGN, "a notebook") for name in NOTEBOOK_FILES),
    *(Entry(name, Of.RECORD, "mws_hf") for name in (RECORD_FILE, EVIDENCE_FILE)),
    *(Entry(name, Of.CHANGE, "mws extend, mws trim") for name in (IDS_FILE, RETIRED_FILE, TRIM_FILE)),
    Entry(CARD_FILE, Of.CARD, "mws_hf, or a person"),
    *(Entry(name, Of.MODEL, "transformers") for name in (MODEL_FILE, "generation_config.json")),
    *(Entry(name, Of.WEIGHTS, "transformers") for name in (INDEX, SINGLE)),
    *(Entry(f"*.{end}", Of.WEIGHTS, "transformers") for end in ("safetensors", "safetensors.index.json", "bin")),
    *(Entry(f"*.{end}", Of.WEIGHTS, "other programs") for end in ("bin.index.json", "pt", "pth", "h5", "msgpack")),
    *(Entry(f"*.{end}", Of.WEIGHTS, "other programs") for end in ("gguf", "onnx")),
)


def patterns(*of: Of) -> tuple[str, ...]:
    """List the names and globs of files that belong to some things; of all files without arguments."""
    return tuple(entry.name for entry in LAYOUT if not of or entry.of in of)


FETCHED = (
    *patterns(*(of for of in Of if of is not Of.WEIGHTS)),
    *("*.model", "*.py", "*vocab*.json", "byte_maps.json", "emoji.json", "normalizer.json", "word_*.json", "dict.txt"),
)
"""What is fetched of a repository on the Hub: also models of SentencePiece, code to be copied with its config, and
files that single classes of transformers read (FSMT, Marian, RoCBert, Whisper, ...)."""

STALE = tuple(entry.name for entry in LAYOUT if entry.stale)
"""What contradicts a new tokenizer.json and goes in each save unless it is written anew."""


def is_of(name: str | Path, *of: Of) -> bool:
    """Return whether a file, by its path within a directory, belongs to some things.

    >>> is_of("o200k.tiktoken", Of.FOREIGN), is_of("corpus.txt", Of.FOREIGN, Of.MODEL)
    (True, False)
    """
    return any(Path(name).match(pattern) for pattern in patterns(*of))


def matching(directory: Path, globs: Iterable[str]) -> list[Path]:
    """List the files of a directory that patterns name, sorted, as paths relative to the directory."""
    found = (path for pattern in globs for path in directory.glob(pattern) if path.is_file() or path.is_symlink())
    return sorted({path.relative_to(directory) for path in found})


def files(directory: Path, *of: Of) -> list[Path]:
    """List the files of a directory that belong to some things, sorted, as paths relative to the directory."""
    return matching(directory, patterns(*of))
