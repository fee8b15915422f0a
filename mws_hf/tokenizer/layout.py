"""List the files of a tokenizer's folder: the part that each belongs to, and those that a save must remove.

Saving, copying and checking all use this list. A name may be a glob, relative to the folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path


class Of(Enum):
    """The part of a tokenizer or a model that a file in their folder belongs to."""

    TOKENIZER = "the tokenizer that every program loads"
    SETTINGS = "the settings of the tokenizer's class, and its chat templates"
    FOREIGN = "a vocabulary in the form of another program or an older class"
    RECORD = "the training metadata and boundary probabilities"
    CHANGE = "the metadata of a change: extended or trimmed"
    CARD = "the model card"
    MODEL = "the settings of the model"
    WEIGHTS = "the weights of the model"


TOKENIZER_FILE, CONFIG_FILE, CARD_FILE = "tokenizer.json", "tokenizer_config.json", "README.md"
RECORD_FILE, EVIDENCE_FILE = "mws_training.json", "mws_evidence.pq"  # the Hub warns of .parquet beside a model
IDS_FILE, RETIRED_FILE, TRIM_FILE = "ids.json", "retired.json", "trim.json"
MODEL_FILE = "config.json"
WEIGHTS_INDEX, SINGLE_WEIGHTS = "model.safetensors.index.json", "model.safetensors"
STOCK_FILE, ADDED_FILE, MAP_FILE = "stock_tokenizer.py", "added_tokens.json", "special_tokens_map.json"
NAMED_TEMPLATES = "additional_chat_templates/*.jinja"
TEMPLATE_FILES = ("chat_template.jinja", NAMED_TEMPLATES)
NOTEBOOK_FILES = ("vocabulary.json", "merges.json")

LAYOUT = {
    Of.TOKENIZER: (TOKENIZER_FILE,),
    Of.SETTINGS: (CONFIG_FILE, MAP_FILE, *TEMPLATE_FILES, "chat_template.json", STOCK_FILE),
    Of.FOREIGN: (
        *(ADDED_FILE, "vocab.json", "vocab.txt", "merges.txt"),  # of transformers 4
        *NOTEBOOK_FILES,
        *("*tekken*.json", "tiktoken.model", "*.tiktoken", "tokenizer*.model", "tokenizer.model.v*", "spiece.model"),
        *("sentencepiece*.model", "spm.model", "spm_char.model", "*.spm", "prophetnet.tokenizer", "entity_vocab.json"),
        *("vocab.bpe", "encoder.json", "bpe.codes", "vocab.model"),
    ),
    Of.RECORD: (RECORD_FILE, EVIDENCE_FILE),
    Of.CHANGE: (IDS_FILE, RETIRED_FILE, TRIM_FILE),
    Of.CARD: (CARD_FILE,),
    Of.MODEL: (MODEL_FILE, "generation_config.json", "params.json"),  # the last one of Mistral's and Meta's own loaders
    Of.WEIGHTS: (
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


def patterns(*of: Of) -> tuple[str, ...]:
    """Return the names and globs of the files that belong to the given parts, or to any part if none is given."""
    return tuple(name for each in of or Of for name in LAYOUT[each])


FETCHED = (
    *patterns(*(of for of in Of if of is not Of.WEIGHTS)),
    *("*.model", "*.py", "*vocab*.json", "byte_maps.json", "emoji.json", "normalizer.json", "word_*.json", "dict.txt"),
)
"""The files that are downloaded from a repository on the Hub.

They include SentencePiece models, code that is copied together with its config, and files that only some classes of
transformers read (FSMT, Marian, RoCBert, Whisper, ...).
"""


def is_of(name: str | Path, *of: Of) -> bool:
    """Return whether a file belongs to one of the given parts, by its path within the folder.

    >>> is_of("o200k.tiktoken", Of.FOREIGN), is_of("corpus.txt", Of.FOREIGN, Of.MODEL)
    (True, False)
    """
    return any(Path(name).match(pattern) for pattern in patterns(*of))


def matching(directory: Path, globs: Iterable[str]) -> list[Path]:
    """List the files in a directory that match one of the globs, as sorted paths relative to the directory."""
    found = (path for pattern in globs for path in directory.glob(pattern) if path.is_file() or path.is_symlink())
    return sorted({path.relative_to(directory) for path in found})


def files(directory: Path, *of: Of) -> list[Path]:
    """List the files in a directory that belong to the given parts, as sorted paths relative to the directory."""
    return matching(directory, patterns(*of))
