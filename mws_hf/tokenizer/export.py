"""Exports that other programs read: byte-level twins of a tokenizer, rank files for tiktoken, GGUF for llama.cpp.

A byte-level tokenizer is made from one of characters, or from a byte-level one that splits otherwise; all ids stay. A
rank file comes with the few lines of Python that load it. A vocabulary-only GGUF file is for llama.cpp and programs
built on it (Ollama, LM Studio). Both are read back with their program's own tokenizer before they take their place.
"""

from __future__ import annotations

import base64
import ctypes
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from mws_hf.atomic import atomic_path, staged
from mws_hf.errors import MwSError
from mws_hf.text.alphabets import BYTE_CHARACTERS, byte_level_merges, bytes_of, check_added_tokens, to_byte_level
from mws_hf.text.pattern import Digits, literal_pattern, with_digits
from mws_hf.text.special import BYTE_TOKENS
from mws_hf.tokenizer.backend import alphabet_of, check_ids, is_byte_level, pattern_of, settle_leading_space, tables_of
from mws_hf.tokenizer.spec import Spec, bpe_model, decoder, special_places, splitter


class ByteTables(NamedTuple):
    """A byte-level BPE: tokens by id (added ones as they stand in text), merges, added tokens by id, split pattern."""

    tokens: list[str]
    merges: list[tuple[str, str]]
    added: dict[int, Any]
    pattern: str


def byte_tables(backend: Tokenizer) -> ByteTables:
    """Read the tables of a byte-level tokenizer; MwSError where it has something that other formats cannot carry."""
    vocab, merges = tables_of(backend)
    if alphabet_of(vocab) != "bytes" or not is_byte_level(backend):
        raise MwSError(
            "this format knows byte-level tokenizers only, and this one is of characters; train with "
            "--byte-level (for llama.cpp `mws export DIR --format byte-level --pattern llama3` will do)"
        )
    if backend.normalizer is not None:
        raise MwSError(f"its normalizer ({type(backend.normalizer).__name__}) would be lost; train without")
    if settle_leading_space(backend, None):
        raise MwSError("its add_prefix_space would be lost; save it with add_prefix_space=False first")
    if not Spec.of(backend).plain:
        raise MwSError("its BPE has dropout, ignore_merges or affixes, which would be lost; train one without")
    by_id = {number: token for token, number in backend.get_vocab(with_added_tokens=True).items()}
    if sorted(by_id) != list(range(len(by_id))):
        raise MwSError("its ids have holes, which this format cannot have; save it again with all ids in use")
    tokens = [by_id[number] for number in range(len(by_id))]
    return ByteTables(tokens, merges, dict(sorted(backend.get_added_tokens_decoder().items())), pattern_of(backend))


class IdComparison(NamedTuple):
    """The number of texts compared, those that a reader cuts otherwise, and those that it decodes otherwise."""

    texts: int
    ids: list[str]
    decoded: list[str]


def compare_ids(
    backend: Tokenizer,
    texts: Iterable[str],
    encode: Callable[[str], Sequence[int]],
    decode: Callable[[list[int]], str] | None = None,
) -> IdComparison:
    """Compare a reader with `tokenizers`, text by text; special tokens in a text count as such, none are added."""
    wrong_ids, wrong_text, number = [], [], 0
    for text in texts:
        number += 1
        ids = backend.encode(text, add_special_tokens=False).ids
        if list(encode(text)) != ids:
            wrong_ids.append(text)
        if decode is not None and decode(ids) != backend.decode(ids, skip_special_tokens=False):
            wrong_text.append(text)
    return IdComparison(number, wrong_ids, wrong_text)


def refuse_differences(found: IdComparison, what: str, remedy: str) -> None:
    """Stop an export that would not be exact; the first text is shown."""
    if found.ids or found.decoded:
        kind, first = ("ids", found.ids[0]) if found.ids else ("decoded text", found.decoded[0])
        number = len(found.ids or found.decoded)
        shown = repr(first if len(first) < 60 else first[:57] + "...")
        raise MwSError(
            f"{what} would give other {kind} on {number:,} of {found.texts:,} texts, {shown} for one; {remedy}"
        )


def to_byte_level_backend(backend: Tokenizer, pattern: str | None = None) -> Tokenizer:
    """Write a tokenizer of characters in the byte alphabet; of a byte-level one change the pattern alone.

    A model trained with the old ids goes on with the new tokenizer: tokens keep their ids, the byte tokens become the
    bytes (an ASCII character and its byte token were two, and the latter is left unused), and beginnings of characters
    that have no id yet get new ones at the end. Ids differ only where characters outside the vocabulary occur, and
    where another pattern, or its name, is given.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("о", "н"), (" ", "он")]
    >>> old = build_backend(base_vocab((), " но", merges), merges)
    >>> to_byte_level_backend(old).encode("но он я").ids == old.encode("но он я").ids
    True
    """
    vocab, merges = tables_of(backend)
    in_characters = alphabet_of(vocab) == "characters"
    if pattern is None and not in_characters:
        raise MwSError("it is byte-level already; export it as gguf or tiktoken, give it another --pattern, or use it")
    there = pattern_of(backend)
    spec = dict(Spec.of(backend).raw)
    if in_characters:
        spec |= _in_bytes(backend, vocab, merges)
    spec["pre_tokenizer"] = splitter(there if pattern is None else literal_pattern(pattern), in_bytes=True)
    return Spec(spec).open()


def _in_bytes(backend: Tokenizer, vocab: dict[str, int], merges: list[tuple[str, str]]) -> dict[str, Any]:
    """Return what changes in tokenizer.json, but for the pre-tokenizer."""
    added = {token.content: number for number, token in backend.get_added_tokens_decoder().items()}
    check_added_tokens(list(added))
    characters = [token for token in vocab if len(token) == 1 and token not in added]
    in_bytes = byte_level_merges(characters, merges)
    recoded = _recoded(vocab, added, in_bytes)
    check_ids(recoded)
    model = bpe_model(recoded, in_bytes, in_bytes=True)
    return {"truncation": None, "padding": None, "decoder": decoder(in_bytes=True), "model": model}


def _recoded(vocab: dict[str, int], added: dict[str, int], merges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Give the old ids their names in the byte alphabet, and new ids to further products of the merges."""
    byte_ids = {token: vocab[token] for token in BYTE_TOKENS}
    recoded = dict(added)  # else new ids would be theirs
    for token, number in vocab.items():
        if token not in byte_ids and token not in added:
            recoded[to_byte_level(token)] = number
    for token, character in zip(BYTE_TOKENS, BYTE_CHARACTERS, strict=True):
        recoded[token if character in recoded else character] = byte_ids[token]
    following = max(recoded.values()) + 1
    for left, right in merges:
        if left + right not in recoded:
            recoded[left + right] = following
            following += 1
    return recoded


RANKS_FILE = "ranks.tiktoken"
MODULE_FILE = "load_tiktoken.py"
_MODULE = '''\
"""Loads the tokenizer beside this file: `from load_tiktoken import encoding`, `encoding.encode(text)`."""

import base64
from pathlib import Path

import tiktoken

# not by load_tiktoken_bpe, which keeps a copy by path and would go on reading a file that was since replaced
lines = map(bytes.split, Path(__file__).with_name({ranks!r}).read_bytes().splitlines())
encoding = tiktoken.Encoding(
    name={name!r},
    pat_str={pattern!r},
    mergeable_ranks={{base64.b64decode(token): int(rank) for token, rank in lines}},
    special_tokens={special!r},
)
'''


def write_tiktoken(
    backend: Tokenizer, output: str | os.PathLike[str], texts: list[str], name: str
) -> IdComparison | None:
    """Write a folder with a rank file and its loader that gives the same ids in tiktoken, or nothing.

    Both must agree on the texts. Returns the comparison, or None where tiktoken is not installed.
    """
    tables = byte_tables(backend)
    ranks = _ranks(tables)
    special = {token.content: number for number, token in tables.added.items()}
    found = _read_tiktoken(backend, ranks, special, tables.pattern, texts)
    if found is not None:
        refuse_differences(found, "tiktoken", "keep to clients that read tokenizer.json")
    with staged(Path(output), head=MODULE_FILE) as stage:
        lines = [f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()]
        (stage / RANKS_FILE).write_text("".join(lines), encoding="ascii", newline="\n")
        module = _MODULE.format(name=name, pattern=tables.pattern, ranks=RANKS_FILE, special=special)
        (stage / MODULE_FILE).write_text(module, encoding="utf-8", newline="\n")
    return found


def _ranks(tables: ByteTables) -> dict[bytes, int]:
    """Return token -> id, without added tokens; tiktoken takes ids for ranks, so MwSError where the orders differ."""
    places = {token: number for number, token in enumerate(tables.tokens)}
    made = [places[left + right] for left, right in tables.merges]
    if made != sorted(made):
        raise MwSError(
            "tiktoken takes ids for merge ranks, and here a later merge has a smaller id (as in an export from "
            "characters, which keeps ids); train with --byte-level"
        )
    return {bytes_of(token): number for number, token in enumerate(tables.tokens) if number not in tables.added}


def _read_tiktoken(
    backend: Tokenizer, ranks: dict[bytes, int], special: dict[str, int], pattern: str, texts: list[str]
) -> IdComparison | None:
    try:
        import tiktoken
    except ImportError:
        return None
    encoding = tiktoken.Encoding("mws", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    return compare_ids(backend, texts, lambda text: encoding.encode(text, allowed_special="all"), encoding.decode)


_BY_DIGITS: dict[Digits, str] = {"threes": "dbrx", "single": "qwen2"}
PRE_TYPES = {with_digits(name, way): kind for name in ("llama3", "gpt4") for way, kind in _BY_DIGITS.items()}
"""Split pattern -> the name that llama.cpp knows it by.

``dbrx`` is Llama 3's pattern without its `ignore_merges`, ``qwen2`` the same with single digits; GPT-4's splits alike.
There is no o200k: llama.cpp keeps no case of letters outside ASCII while it splits, and its ``gpt-4o`` no combining
marks beside letters. Any other pattern is unknown there, and so are numbers cut from the right.
"""

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # gguf.TokenType


def write_gguf(
    backend: Tokenizer,
    roles: Mapping[str, str],
    output: str | os.PathLike[str],
    texts: list[str],
    name: str,
    templates: Mapping[str, str] | None = None,
) -> IdComparison | None:
    """Write the vocabulary of a byte-level tokenizer as a GGUF file that llama.cpp reads with the same ids, or nothing.

    What the post-processor puts before and after a text becomes ``add_bos_token`` and ``add_eos_token``. `roles` are
    ``{"eos_token": "<|endoftext|>", ...}``, `templates` those of chats by name, "default" among them; both tokenizers
    must agree on the texts. Returns the comparison, or None where `llama-cpp-python` is not installed.
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
        _write_values(tables, pre_type, roles, around, temporary, name, templates or {})
        found = _read_gguf(backend, temporary, texts)
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
    templates: Mapping[str, str],
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
    if more := sorted(templates.keys() - {"default"}):
        writer.add_array("tokenizer.chat_templates", more)
    for key, text in sorted(templates.items()):
        writer.add_string("tokenizer.chat_template" + ("" if key == "default" else f".{key}"), text)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def _read_gguf(backend: Tokenizer, file: Path, texts: list[str]) -> IdComparison | None:
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
