"""Compare all ids and special tokens that the files of a directory name with its tokenizer; a part of `mws check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import regex

from mws_hf.tokenizer.file import CONFIG_FILE, TOKENIZER_FILE, load_settings
from mws_hf.tokenizer.ids import Named, model_ids, processor_ids, unknown_ids
from mws_hf.tokenizer.spec import Spec
from mws_hf.tokenizer.stock import Tokenizer


class Finding(NamedTuple):
    """One thing that a user of a tokenizer directory should know.

    Attributes:
        level: an "error" gives wrong ids, lost text or a failed load somewhere; a "warning" may, by a user's doing.
        trap: a short name for scripts.
        message: the fact, and the remedy.
    """

    level: Literal["error", "warning"]
    trap: str
    message: str


def model_rows(model: dict[str, Any]) -> int | None:
    """Return the number of embedding rows that a config.json tells, maybe in the part of a text model."""
    parts = [model, model["text_config"] if isinstance(model.get("text_config"), dict) else {}]
    return next((part["vocab_size"] for part in parts if isinstance(part.get("vocab_size"), int)), None)


_IN_TEMPLATES = regex.compile(r"<\|[^\s<>|]+\|>")
"""Special tokens as chat templates write them."""


def named_ids(directory: Path, backend: Tokenizer, spec: Spec, settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare all ids and special tokens that files name with the vocabulary; fields that may hold ids are reported."""
    added = backend.get_added_tokens_decoder()
    for token, number in processor_ids(spec.raw["post_processor"]):
        if backend.token_to_id(token) != number:
            yield _stale(TOKENIZER_FILE, "post_processor", number, f"of {token!r}, whose id is another", "train")
    padding = spec.raw.get("padding")
    if padding and backend.token_to_id(padding["pad_token"]) != padding["pad_id"]:
        yield _stale(TOKENIZER_FILE, "padding", padding["pad_id"], "of another token than its pad_token", "repair")
    for number, token in (settings.get("added_tokens_decoder") or {}).items():
        content = token.get("content") if isinstance(token, Mapping) else None
        if not number.isdecimal() or backend.token_to_id(str(content)) != int(number):
            yield _stale(CONFIG_FILE, "added_tokens_decoder", number, f"of {content!r}, whose id is another", "save")
    for name, token in settings.items():
        content = token.get("content") if isinstance(token, Mapping) else token
        if name.endswith("_token") and content is not None and not isinstance(content, bool):
            if not isinstance(content, str):
                message = f"{CONFIG_FILE}: {name} is {content!r}, which is no text; write the token there"
                yield Finding("error", "token-no-text", message)
            elif backend.token_to_id(content) is None:
                message = f"{CONFIG_FILE}: {name} {content!r} is no token of {TOKENIZER_FILE}: it would get a new id"
                yield Finding("error", "token-unknown", message)
    for file in ("config.json", "generation_config.json"):
        yield from _model_ids(file, load_settings(directory / file), backend, added)
    yield from _in_template(directory, settings, backend)


def _stale(file: str, field: str, number: Any, what: str, remedy: str) -> Finding:
    advice = {"train": "train or save it again", "repair": "mws repair takes it out", "save": "save it again"}[remedy]
    return Finding("error", "stale-id", f"{file}: {field} names id {number} {what}; {advice}")


def _model_ids(file: str, model: dict[str, Any], backend: Tokenizer, added: Mapping[int, Any]) -> Iterator[Finding]:
    """Compare the ids in a config of the model beside the tokenizer."""
    size = 1 + max(backend.get_vocab(with_added_tokens=True).values(), default=-1)
    rows = max(size, model_rows(model) or 0)
    for named_id in model_ids(model):
        token = backend.id_to_token(named_id.number)
        if named_id.token is not None and named_id.token != token:
            yield _wrong_in_model(file, named_id, f"for {named_id.token!r}, but it is {token!r}")
        elif token is None and named_id.number >= rows:
            yield _wrong_in_model(file, named_id, "which is no token")
        elif named_id.special and token is not None and named_id.number not in added:
            yield _wrong_in_model(file, named_id, f"which is {token!r}, no special token")
    for path in unknown_ids(model, size):
        message = f"{file}: {path} could be an id and is not known; a change of the tokenizer leaves it as it is"
        yield Finding("warning", "maybe-id", message)


def _wrong_in_model(file: str, named_id: Named, what: str) -> Finding:
    message = f"{file}: {named_id.path} names id {named_id.number}, {what}; name the id of this tokenizer there"
    return Finding("error", "stale-id", message)


def _in_template(directory: Path, settings: Mapping[str, Any], backend: Tokenizer) -> Iterator[Finding]:
    """Look for special tokens of the chat template that are not in the vocabulary."""
    file = directory / "chat_template.jinja"
    template = file.read_text(encoding="utf-8") if file.is_file() else settings.get("chat_template")
    if isinstance(template, str):
        absent = sorted({token for token in _IN_TEMPLATES.findall(template) if backend.token_to_id(token) is None})
        if absent:
            message = f"the chat template writes {', '.join(absent[:3])}, no token here: it is cut into pieces"
            yield Finding("warning", "template-token", message)
