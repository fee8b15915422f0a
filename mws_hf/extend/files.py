"""The files of a tokenizer directory that an extension reads, copies and leaves behind; on disk or on the Hub."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from mws_hf.atomic import staged
from mws_hf.errors import MissingTokenizerError
from mws_hf.hub import tokenizer_place
from mws_hf.tokenizer_file import TOKENIZER_FILE

KEPT = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "chat_template.json")
"""Copied byte for byte."""

TEMPLATES = "additional_chat_templates"

LEFT_BEHIND = ("vocab.json", "merges.txt", "tokenizer.model", "added_tokens.json", "vocabulary.json", "merges.json")
"""Older forms of the vocabulary, which would contradict the new tokenizer.json."""


def fetch(source: str | os.PathLike[str]) -> Path:
    """The local folder of a tokenizer: `source` itself, the folder of a file, or the Hub's copy in the cache.

    Raises MwSError if there is no such tokenizer, or it has no tokenizer.json.
    """
    path = tokenizer_place(source)
    file = path / TOKENIZER_FILE if path.is_dir() else path
    if not file.is_file():
        raise MissingTokenizerError(f"{source}: holds no {TOKENIZER_FILE}; save it with a fast tokenizer first")
    return file.parent


def write_directory(directory: Path, source: Path | None, spec: dict[str, Any]) -> list[str]:
    """Write tokenizer.json and copy what stands beside the old one in `source`; returns the names of what is left."""
    with staged(directory, (*KEPT, *LEFT_BEHIND, f"{TEMPLATES}/*.jinja")) as stage:
        text = json.dumps(spec, ensure_ascii=False, indent=2)
        (stage / TOKENIZER_FILE).write_text(text, encoding="utf-8", newline="\n")
        if source is None:
            return []
        for name in (*KEPT, *_modules(source)):
            if (source / name).is_file():
                shutil.copyfile(source / name, stage / name)
        if (source / TEMPLATES).is_dir():
            shutil.copytree(source / TEMPLATES, stage / TEMPLATES)
    return [name for name in LEFT_BEHIND if (source / name).is_file()]


def _modules(source: Path) -> list[str]:
    """Python modules that tokenizer_config.json names; they are copied, never run."""
    config = source / "tokenizer_config.json"
    if not config.is_file():
        return []
    return sorted(file.name for file in source.glob("*.py") if file.stem in config.read_text(encoding="utf-8"))
