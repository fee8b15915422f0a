"""A pretrained tokenizer to build on: its kind, its spelling of text, its ids in use. It learns nothing.

Two kinds are known. A byte-level BPE (GPT-2, Llama 3, Qwen) writes each byte of UTF-8 as a printable character; a BPE
with byte fallback (Llama 2, Gemma, those of this package) writes characters, and unknown ones as tokens ``<0xD0>``.

An extension reads some files of its directory, on disk or on the Hub, copies others and leaves the rest behind.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mws_hf.atomic import staged
from mws_hf.errors import MissingTokenizerError, MwSError
from mws_hf.extend.id_map import IDS_FILE, IdMap, dump_ids
from mws_hf.text.byte_alphabet import bytes_of, to_byte_level
from mws_hf.text.special import BYTE_TOKENS
from mws_hf.tokenizer.backend import check_added
from mws_hf.tokenizer.file import CONFIG_FILE, TOKENIZER_FILE, load_settings, open_file
from mws_hf.tokenizer.hub import tokenizer_place
from mws_hf.tokenizer.ids import renumbered_config
from mws_hf.tokenizer.spec import Spec, parts_of
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


logger = logging.getLogger(__name__)


class Rewritten:
    """A tokenizer that was changed, given by the `spec`, its new tokenizer.json; the base class of changes."""

    spec: dict[str, Any]

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The changed tokenizer, loaded from `spec`."""
        return Tokenizer.from_str(json.dumps(self.spec, ensure_ascii=False))


@dataclass(frozen=True)
class Base:
    """A tokenizer as it was read; nothing here is ever changed.

    Attributes:
        spec: the tokenizer.json.
        byte_level: whether symbols are bytes in GPT-2's alphabet; else characters with byte fallback.
        mark: the character that it writes for a space.
        vocab: token -> id, those added to the model's vocabulary included, as `tokenizers` numbers them.
        added: the added tokens, special or not.
        merges: (left, right) in rank order.
    """

    spec: Mapping[str, Any]
    byte_level: bool
    mark: str
    vocab: Mapping[str, int]
    added: frozenset[str]
    merges: list[tuple[str, str]]

    @classmethod
    def of(cls, tokenizer: Tokenizer, name: str = "the tokenizer", spec: Mapping[str, Any] | None = None) -> Base:
        """Look through a loaded tokenizer, which errors call `name`; `spec`: its tokenizer.json on disk, if any.

        Raises:
            MwSError: the tokenizer is no BPE, or of neither kind, or has ids that `tokenizers` does not give.
        """
        if (kind := type(tokenizer.model).__name__) != "BPE":
            raise MwSError(
                f"{name}: its model is {kind}, not BPE; only byte-level or byte-fallback BPE can be extended"
            )
        spec = Spec.of(tokenizer).raw if spec is None else spec
        model = spec["model"]
        for part in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(part):
                raise MwSError(f"{name}: marks parts of words ({part}={model[part]!r}); such a BPE cannot be extended")
        vocab = tokenizer.get_vocab(with_added_tokens=True)
        parsed = Spec(spec)
        byte_level = parsed.byte_level
        if not byte_level and not (model.get("byte_fallback") and vocab.keys() >= set(BYTE_TOKENS)):
            raise MwSError(f"{name}: a BPE neither byte-level nor with byte fallback; unknown characters would be lost")
        for token in spec.get("added_tokens", []):
            if vocab[token["content"]] != token["id"]:
                raise MwSError(
                    f"{name}: added token {token['content']!r} says id {token['id']} but gets "
                    f"{vocab[token['content']]}; save the tokenizer again with transformers"
                )
        check_added(tokenizer, name)
        added = frozenset(token["content"] for token in spec.get("added_tokens", []))
        _warn_of_odd_merges(parsed.merges, name)
        return cls(spec, byte_level, parsed.space, vocab, added, parsed.merges)

    @property
    def next_id(self) -> int:
        """The smallest id after all in use."""
        return max(self.vocab.values()) + 1

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The tokens that merges can work on, token -> id, ascending by id: no added tokens, no bytes."""
        left_out = self.added if self.byte_level else self.added.union(BYTE_TOKENS)
        kept = [(number, token) for token, number in self.vocab.items() if token not in left_out]
        return {token: number for number, token in sorted(kept)}

    def spell(self, text: str) -> str:
        """Write a text as the symbols it starts from."""
        return to_byte_level(text) if self.byte_level else text.replace(" ", self.mark)

    def read(self, spelled: str) -> str:
        """Return the text of symbols; parts of characters are replaced by U+FFFD."""
        return bytes_of(spelled).decode("utf-8", "replace") if self.byte_level else spelled.replace(self.mark, " ")

    def pipeline(self, more: Iterable[str] = (), *, with_prefix: bool = False) -> Tokenizer:
        """Build the base without added tokens and special ones around a text, with `more` symbols in its vocabulary.

        Nothing is put before a text unless `with_prefix` leaves the base its way.
        """
        spec = copy.copy(dict(self.spec))
        model = dict(self.spec["model"])
        model |= {"dropout": None, "vocab": {**model["vocab"], **{c: self.next_id + i for i, c in enumerate(more)}}}
        spec |= {"model": model, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
        if not with_prefix:
            spec["normalizer"] = _without_prefix(spec.get("normalizer"))
            spec["pre_tokenizer"] = _without_prefix(spec.get("pre_tokenizer"))
        return Tokenizer.from_str(json.dumps(spec))


def _without_prefix(component: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a component without the part that it puts before a text; None where no other part is left."""
    kept = []
    for part in parts_of(component):
        if part["type"] == "Metaspace":
            part = {**part, "prepend_scheme": "never", "add_prefix_space": False}
        elif part["type"] == "ByteLevel" and "add_prefix_space" in part:
            part = {**part, "add_prefix_space": False}
        if part["type"] != "Prepend":
            kept.append(part)
    if component is None or not kept:
        return None
    name = next((name for name in ("normalizers", "pretokenizers") if name in component), None)
    return kept[0] if name is None else {"type": "Sequence", name: kept}


def _warn_of_odd_merges(merges: list[tuple[str, str]], name: str) -> None:
    """Warn of merges that are repeated, or use a part that only a later merge makes (cyclic or out of order)."""
    last = {left + right: rank for rank, (left, right) in enumerate(merges)}
    first = {left + right: rank for rank, (left, right) in reversed(list(enumerate(merges)))}
    repeated = len(merges) - len(set(merges))
    late = [pair for rank, pair in enumerate(merges) if any(part in last and first[part] > rank for part in pair)]
    if repeated:
        logger.warning("%s: %d merges are there twice; the later rank counts, as in tokenizers", name, repeated)
    if late:
        logger.warning(
            "%s: %d merges use a part that only a later merge makes, such as %r; they are kept as they are",
            name, len(late), late[0],
        )  # fmt: skip
