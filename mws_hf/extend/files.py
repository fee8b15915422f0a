"""The files of a tokenizer directory that an extension reads, copies and leaves behind; on disk or on the Hub."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mws_hf.atomic import staged
from mws_hf.errors import MissingTokenizerError, MwSError
from mws_hf.extend.base import Base
from mws_hf.extend.id_map import IDS_FILE, IdMap, dump_ids, renumbered_config
from mws_hf.tokenizer.file import CONFIG_FILE, TOKENIZER_FILE, load_settings, open_file
from mws_hf.tokenizer.hub import tokenizer_place
from mws_hf.tokenizer.stock import Tokenizer

RETIRED_FILE, TRIM_FILE = RECORDS = ("retired.json", "trim.json")
"""What `mws extend --replace` retired, and what was measured of a trimming."""

KEPT = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "chat_template.json")
"""Copied byte for byte."""

TEMPLATES = "additional_chat_templates"

LEFT_BEHIND = ("vocab.json", "merges.txt", "tokenizer.model", "added_tokens.json", "vocabulary.json", "merges.json")
"""Older forms of the vocabulary, which would contradict the new tokenizer.json."""


def fetch(source: str | os.PathLike[str]) -> Path:
    """Return the local folder of a tokenizer: `source` itself, the folder of a file, or the Hub's copy in the cache.

    Raises MwSError if there is no such tokenizer, or it has no tokenizer.json.
    """
    path = tokenizer_place(source)
    file = path / TOKENIZER_FILE if path.is_dir() else path
    if not file.is_file():
        raise MissingTokenizerError(f"{source}: holds no {TOKENIZER_FILE}; save it with a fast tokenizer first")
    return file.parent


def open_base(source: Any) -> Base:
    """Open a tokenizer that can be extended and trimmed.

    Args:
        source: a directory with tokenizer.json or such a file, a Hub name, a `tokenizers.Tokenizer`, or a fast
            tokenizer of transformers; its model a BPE, byte-level or with byte fallback. Also one open already.

    Raises:
        MwSError: there is no such tokenizer, a damaged one, or one of another kind.
    """
    if isinstance(source, Base):
        return source
    if isinstance(source, str | os.PathLike):
        file = fetch(source) / TOKENIZER_FILE
        file = Path(source) if Path(source).is_file() else file
        tokenizer, spec = open_file(file)
        return Base.of(tokenizer, str(source), spec)
    backend = getattr(source, "backend_tokenizer", source)
    if not isinstance(backend, Tokenizer):
        raise MwSError(f"{type(source).__name__} has no tokenizer.json; load it with AutoTokenizer from one that has")
    return Base.of(backend)


def write_directory(
    directory: Path, source: Path | None, spec: dict[str, Any], ids: IdMap, records: Mapping[str, Any] | None = None
) -> list[str]:
    """Write tokenizer.json and ids.json, and copy the other files beside the old tokenizer.json in `source`.

    Args:
        directory: where to write, atomically.
        source: the folder of the base; None copies nothing.
        spec: the new tokenizer.json.
        ids: new id of each id of the base, or None.
        records: more JSON files, by a name in `RECORDS`.

    Returns:
        Names of files that are left behind, since they hold the old vocabulary in another form.
    """
    with staged(directory, (*KEPT, *LEFT_BEHIND, *RECORDS, f"{TEMPLATES}/*.jinja")) as stage:
        for name, record in (records or {}).items():
            text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
            (stage / name).write_text(text, encoding="utf-8", newline="\n")
        text = json.dumps(spec, ensure_ascii=False, indent=2)
        (stage / TOKENIZER_FILE).write_text(text, encoding="utf-8", newline="\n")
        (stage / IDS_FILE).write_text(dump_ids(ids), encoding="utf-8", newline="\n")
        if source is None:
            return []
        for name in (*KEPT, *_modules(source)):
            if (source / name).is_file():
                shutil.copyfile(source / name, stage / name)
        settings = load_settings(source / CONFIG_FILE)
        if (changed := renumbered_config(settings, ids)) != settings:
            text = json.dumps(changed, ensure_ascii=False, indent=2) + "\n"
            (stage / CONFIG_FILE).write_text(text, encoding="utf-8", newline="\n")
        if (source / TEMPLATES).is_dir():
            shutil.copytree(source / TEMPLATES, stage / TEMPLATES)
    return [name for name in LEFT_BEHIND if (source / name).is_file()]


def _modules(source: Path) -> list[str]:
    """List the Python modules that tokenizer_config.json names; they are copied, never run."""
    config = source / "tokenizer_config.json"
    if not config.is_file():
        return []
    return sorted(file.name for file in source.glob("*.py") if file.stem in config.read_text(encoding="utf-8"))
