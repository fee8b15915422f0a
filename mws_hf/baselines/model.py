"""What every trained rival offers: a segmenter, and a directory that others can load; it trains nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tokenizers import Tokenizer

import mws_hf
from mws_hf.atomic import staged
from mws_hf.errors import MwSError
from mws_hf.evaluate.encoder import Encoder, load_encoder
from mws_hf.evaluate.segment import segment_words
from mws_hf.portable import STOCK_MODULE, STOCK_SOURCE, load_json, portable_config
from mws_hf.special import special_roles

DESCRIPTION_FILE = "baseline.json"
UNKNOWN = "[UNK]"


@runtime_checkable
class Segmenter(Protocol):
    """A rival that has no form in tokenizer.json: it cuts words and writes its own text files."""

    def segment(self, word: str) -> list[str]:
        """The pieces of a word, which spell it."""

    def save(self, directory: Path) -> None:
        """Write the files it is read from again."""

    def __len__(self) -> int:
        """How many different pieces it knows."""


Model: TypeAlias = Tokenizer | Segmenter


@dataclass(frozen=True)
class Baseline:
    """A trained rival.

    Attributes:
        name: its name in `mws_hf.baselines.BASELINES`.
        source: what `mws_hf.evaluate.segment_words` takes: an encoder, or a function where there is no tokenizer.json.
        n_tokens: entries of its vocabulary, special tokens included.
        directory: where it was saved; None when it was not.
    """

    name: str
    source: Encoder | Callable[[str], list[str]]
    n_tokens: int
    directory: Path | None = None

    def segment(self, word: str) -> list[str]:
        """Cut a word as it stands inside a sentence; the pieces spell it. Marks such as ``##`` are not part of them."""
        return list(segment_words(self.source, [word])[0])

    def segment_all(self, words: Sequence[str]) -> list[list[str]]:
        """`segment` for many words in one call, which is much faster."""
        return [list(pieces) for pieces in segment_words(self.source, words)]


def as_baseline(name: str, model: Model, directory: Path | None) -> Baseline:
    """Wrap a trained model."""
    if isinstance(model, Tokenizer):
        return Baseline(name, load_encoder(model), model.get_vocab_size(), directory)
    return Baseline(name, model.segment, len(model), directory)


def save(
    name: str, model: Model, directory: str | os.PathLike[str], special_tokens: Iterable[str], about: dict[str, Any]
) -> Path:
    """Write a directory, all of it or nothing: tokenizer.json for `AutoTokenizer`, or the model's own text files.

    Args:
        name: the system.
        model: what training gave.
        directory: made if absent.
        special_tokens: they get their roles (eos, pad, ...) in tokenizer_config.json; the unknown token has none there,
            because transformers would then drop it from decoded text.
        about: kept in baseline.json for the reader.

    Raises:
        MwSError: the directory cannot be written.
    """
    path = Path(directory)
    description = {"system": name, "mws_hf": mws_hf.__version__, **about}
    with staged(path) as stage:
        if isinstance(model, Tokenizer):
            model.save(str(stage / "tokenizer.json"))
            _write_json(stage / "tokenizer_config.json", _config(special_tokens))
            (stage / f"{STOCK_MODULE}.py").write_text(STOCK_SOURCE, encoding="utf-8")
        else:
            model.save(stage)
        _write_json(stage / DESCRIPTION_FILE, description)
    return path


def read_description(directory: Path) -> dict[str, Any]:
    """The content of baseline.json.

    Raises:
        MwSError: the directory was not written by `save`.
    """
    file = directory / DESCRIPTION_FILE
    if not file.is_file():
        raise MwSError(f"{directory}: holds no {DESCRIPTION_FILE}; give a directory that mws_hf.baselines.train wrote")
    description = load_json(file)
    if not isinstance(description, dict) or "system" not in description:
        raise MwSError(f"{file}: names no system; train it again")
    return description


def _config(special_tokens: Iterable[str]) -> dict[str, Any]:
    tokens = [token for token in special_tokens if token != UNKNOWN]
    roles = special_roles(tokens)
    extra = [token for token in tokens if token not in roles.values()]
    config = {**roles, "model_max_length": 10**30, **({"additional_special_tokens": extra} if extra else {})}
    return portable_config(config)


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
