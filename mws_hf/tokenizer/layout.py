"""List the files of a tokenizer's folder: the kind of each of them, and those that a save must remove.

Saving, copying and checking all use this list. A name may be a glob, relative to the folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path


class FileKind(Enum):
    """The kind of a file in the folder of a tokenizer or a model, by what it describes."""

    TOKENIZER = "the tokenizer that every program loads"
    SETTINGS = "the settings of the tokenizer's class, and its chat templates"
    FOREIGN = "a vocabulary in the form of another program or an older class"
    RECORD = "the training metadata and boundary probabilities"
    CHANGE = "the metadata of a change: extended or trimmed"
    CARD = "the model card"
    MODEL = "the settings of the model"
    WEIGHTS = "the weights of the model"


TOKENIZER_FILE, CONFIG_FILE, CARD_FILE = "tokenizer.json", "tokenizer_config.json", "README.md"
RECORD_FILE, EVIDENCE_FILE = "mws_training.json", "mws_evidence.pq"  # the Hub warns of .parquet next to a model
IDS_FILE, RETIRED_FILE, TRIM_FILE = "ids.json", "retired.json", "trim.json"
MODEL_FILE = "config.json"
WEIGHTS_INDEX, SINGLE_WEIGHTS = "model.safetensors.index.json", "model.safetensors"
STOCK_FILE, ADDED_FILE, MAP_FILE = "stock_tokenizer.py", "added_tokens.json", "special_tokens_map.json"
NAMED_TEMPLATES = "additional_chat_templates/*.jinja"
TEMPLATE_FILES = ("chat_template.jinja", NAMED_TEMPLATES)
NOTEBOOK_FILES = ("vocabulary.json", "merges.json")

LAYOUT = {
    FileKind.TOKENIZER: (TOKENIZER_FILE,),
    FileKind.SETTINGS: (CONFIG_FILE, MAP_FILE, *TEMPLATE_FILES, "chat_template.json", STOCK_FILE),
    FileKind.FOREIGN: (
        *(ADDED_FILE, "vocab.json", "vocab.txt", "merges.txt"),  # of transformers 4
        *NOTEBOOK_FILES,
        *("*tekken*.json", "tiktoken.model", "*.tiktoken", "tokenizer*.model", "tokenizer.model.v*", "spiece.model"),
        *("sentencepiece*.model", "spm.model", "spm_char.model", "*.spm", "prophetnet.tokenizer", "entity_vocab.json"),
        *("vocab.bpe", "encoder.json", "bpe.codes", "vocab.model"),
    ),
    FileKind.RECORD: (RECORD_FILE, EVIDENCE_FILE),
    FileKind.CHANGE: (IDS_FILE, RETIRED_FILE, TRIM_FILE),
    FileKind.CARD: (CARD_FILE,),
    # params.json belongs to the loaders of Mistral and Meta
    FileKind.MODEL: (MODEL_FILE, "generation_config.json", "params.json"),
    FileKind.WEIGHTS: (
        *(WEIGHTS_INDEX, SINGLE_WEIGHTS, "*.safetensors", "*.safetensors.index.json", "*.bin", "*.bin.index.json"),
        *("*.pt", "*.pth", "*.h5", "*.msgpack", "*.gguf", "*.onnx", "*.onnx_data", "*.tflite", "*.ckpt", "*.ot"),
        *("*.nemo", "*.distcp"),
    ),
}
STALE = (TOKENIZER_FILE, CONFIG_FILE, MAP_FILE, *TEMPLATE_FILES, STOCK_FILE, ADDED_FILE, "*tekken*.json")
"""Files that AutoTokenizer reads in addition to tokenizer.json, or instead of it.

Every save removes them, unless it writes them again. All other foreign files may be the user's own, so they are removed
only when a whole tokenizer is replaced.
"""


def patterns(*kinds: FileKind) -> tuple[str, ...]:
    """Return the names and globs of the files of the given kinds, or of all kinds if none is given."""
    return tuple(name for kind in kinds or FileKind for name in LAYOUT[kind])


FETCHED = (
    *patterns(*(kind for kind in FileKind if kind is not FileKind.WEIGHTS)),
    *("*.model", "*.py", "*vocab*.json", "byte_maps.json", "emoji.json", "normalizer.json", "word_*.json", "dict.txt"),
)
"""The files that are downloaded from a repository on the Hub.

They include SentencePiece models, code that is copied together with its config, and files that only some classes of
transformers read (FSMT, Marian, RoCBert, Whisper, ...).
"""


def is_kind(name: str | Path, *kinds: FileKind) -> bool:
    """Return whether a file has one of the given kinds, by its path within the folder.

    >>> is_kind("o200k.tiktoken", FileKind.FOREIGN), is_kind("corpus.txt", FileKind.FOREIGN, FileKind.MODEL)
    (True, False)
    """
    return any(Path(name).match(pattern) for pattern in patterns(*kinds))


def matching(directory: Path, globs: Iterable[str]) -> list[Path]:
    """List the files in a folder that match one of the globs, as sorted paths relative to the folder."""
    found = (path for pattern in globs for path in directory.glob(pattern) if path.is_file() or path.is_symlink())
    return sorted({path.relative_to(directory) for path in found})


def files(directory: Path, *kinds: FileKind) -> list[Path]:
    """List the files in a folder that have one of the given kinds, as sorted paths relative to the folder."""
    return matching(directory, patterns(*kinds))
