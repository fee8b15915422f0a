"""Write a vocabulary-only GGUF file for llama.cpp and programs built on it (Ollama, LM Studio), by `gguf`.

The file is read back with llama.cpp's own tokenizer, from `llama-cpp-python`, before it takes its place.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from mws_hf.atomic import atomic_path
from mws_hf.errors import MwSError
from mws_hf.text.pattern import Digits, with_digits
from mws_hf.tokenizer.export import ByteTables, IdComparison, byte_tables, compare_ids, refuse_differences
from mws_hf.tokenizer.stock import Tokenizer, special_places

_BY_DIGITS: dict[Digits, str] = {"threes": "dbrx", "single": "qwen2"}
PRE_TYPES = {with_digits(name, way): kind for name in ("llama3", "gpt4") for way, kind in _BY_DIGITS.items()}
"""Split pattern -> the name that llama.cpp knows it by.

``dbrx`` is Llama 3's pattern without its `ignore_merges`, ``qwen2`` the same with single digits; GPT-4's splits alike.
There is no o200k: llama.cpp keeps no case of letters outside ASCII while it splits, and its ``gpt-4o`` no combining
marks beside letters. Any other pattern is unknown there, and so are numbers cut from the right.
"""

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # gguf.TokenType


def write_gguf(
    backend: Tokenizer, roles: Mapping[str, str], output: str | os.PathLike[str], texts: list[str], name: str
) -> IdComparison | None:
    """Write the vocabulary of a byte-level tokenizer as a GGUF file that llama.cpp reads with the same ids, or nothing.

    What the post-processor puts before and after a text becomes ``add_bos_token`` and ``add_eos_token``. `roles` are
    ``{"eos_token": "<|endoftext|>", ...}`` and ``chat_template``; both tokenizers must agree on the texts.
    Returns the comparison, or None where `llama-cpp-python` is not installed.
    """
    tables = byte_tables(backend)
    pre_type = PRE_TYPES.get(tables.pattern)
    if pre_type is None:
        raise MwSError(
            "llama.cpp does not split exactly so, only as gpt4 and llama3, with --digits threes or single; train with "
            "--pattern llama3 or write a tokenizer that does with `mws export DIR --format byte-level --pattern llama3`"
        )
    around = tokens_around(backend)
    with atomic_path(output) as temporary:
        _write_values(tables, pre_type, roles, around, temporary, name)
        found = read_back(backend, temporary, texts)
        if found is not None:
            refuse_differences(found, "llama.cpp", "keep to clients that read tokenizer.json")
    return found


def tokens_around(backend: Tokenizer) -> tuple[int | None, int | None]:
    """Return the ids that the post-processor puts before and after a text; the format can say one on each side."""
    pieces = [piece.special for piece in special_places(backend).single]
    at = pieces.index(None)
    before, after = pieces[:at], pieces[at + 1 :]
    if len(before) > 1 or len(after) > 1:
        raise MwSError(
            f"the post-processor puts {len(before)} tokens before a text and {len(after)} after it; llama.cpp can put "
            "one on each side; take the others out of the post-processor"
        )
    return next(iter(before), None), next(iter(after), None)


def _write_values(
    tables: ByteTables,
    pre_type: str,
    roles: Mapping[str, str],
    around: tuple[int | None, int | None],
    file: Path,
    name: str,
) -> None:
    try:
        from gguf import GGUFWriter
    except ImportError as error:
        raise MwSError("writing GGUF needs the package gguf; pip install gguf") from error

    kinds = [_NORMAL] * len(tables.tokens)
    for number, token in tables.added.items():
        kinds[number] = _CONTROL if token.special else _USER_DEFINED
    writer = GGUFWriter(file, "llama")
    writer.add_name(name)
    writer.add_vocab_size(len(tables.tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre_type)
    writer.add_token_list(tables.tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{left} {right}" for left, right in tables.merges])
    ids = {role: tables.tokens.index(token) for role, token in roles.items() if token in tables.tokens}
    first, last = around
    end = ids.get("eos_token") if last is None else last
    begin = ids.get("bos_token", end) if first is None else first  # llama.cpp would take token 11
    pad = ids.get("pad_token")
    for place, add in (
        (begin, writer.add_bos_token_id),
        (end, writer.add_eos_token_id),
        (pad, writer.add_pad_token_id),
    ):
        if place is not None:
            add(place)
    writer.add_add_bos_token(first is not None)
    writer.add_add_eos_token(last is not None)
    if roles.get("chat_template"):
        writer.add_chat_template(roles["chat_template"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def read_back(backend: Tokenizer, file: Path, texts: list[str]) -> IdComparison | None:
    """Compare llama.cpp's tokenizer with `tokenizers`; None where it is not installed, MwSError if it stops."""
    try:
        import llama_cpp
    except ImportError:
        return None
    llama_cpp.llama_log_set(_silence(llama_cpp), None)
    options = llama_cpp.llama_model_default_params()
    options.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(os.fsencode(file), options)
    if not model:
        raise MwSError("llama.cpp cannot load the vocabulary that was written; a newer llama-cpp-python may")
    try:
        vocab = llama_cpp.llama_model_get_vocab(model)
        return compare_ids(backend, texts, partial(_encode_value, llama_cpp, vocab), partial(_decode, llama_cpp, vocab))
    finally:
        llama_cpp.llama_model_free(model)


def _encode_value(llama_cpp: Any, vocab: Any, text: str) -> list[int]:
    data = text.encode()
    room = len(data) + 8
    ids = (llama_cpp.llama_token * room)()
    number = llama_cpp.llama_tokenize(vocab, data, len(data), ids, room, False, True)
    return list(ids[:number])


def _decode(llama_cpp: Any, vocab: Any, ids: list[int]) -> str:
    """Join the pieces of the tokens as llama.cpp streams; its `llama_detokenize` drops spaces before points."""
    pieces = []
    for token in ids:
        size = -llama_cpp.llama_token_to_piece(vocab, token, None, 0, 0, True)  # minus the length
        room = ctypes.create_string_buffer(size)
        llama_cpp.llama_token_to_piece(vocab, token, room, size, 0, True)
        pieces.append(room.raw)
    return b"".join(pieces).decode("utf-8", "replace")


@cache
def _silence(llama_cpp: Any) -> Any:
    """Return a logger that says nothing; llama.cpp keeps no reference to it."""
    return llama_cpp.llama_log_callback(lambda *_: None)
