"""Export a tokenizer for programs that do not read its tokenizer.json.

There are three formats:

* A byte-level tokenizer.json is made from a tokenizer of characters, or from a byte-level one with a different split
  pattern. Tokens keep their ids.
* A rank file for tiktoken comes with a short Python module that loads it.
* A GGUF file with only the vocabulary is for llama.cpp and programs that are built on it (Ollama, LM Studio).

If tiktoken or llama.cpp is installed, the new file is read with it and compared before it replaces an older one.
"""

from __future__ import annotations

import base64
import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from mws_hf.atomic import atomic_path, staged
from mws_hf.errors import MwSError, is_installed, needed, printable
from mws_hf.text.pattern import Digits, compiled, literal_pattern, problem_in_tokenizers, with_digits
from mws_hf.text.sample_texts import texts_with
from mws_hf.text.symbols import (
    BYTE_CHARACTERS,
    BYTE_TOKENS,
    byte_level_merges,
    bytes_of,
    check_added_tokens,
    to_byte_level,
)
from mws_hf.tokenizer.backend import alphabet_of, is_byte_level, pattern_of, tables_of
from mws_hf.tokenizer.id_comparison import IdComparison, compare_ids
from mws_hf.tokenizer.leading_space import settle_leading_space
from mws_hf.tokenizer.post_processor import template_of
from mws_hf.tokenizer.spec import Spec, bpe_model, capitals_of, decoder, splitter

_BY_DIGITS: dict[Digits, str] = {"threes": "dbrx", "single": "qwen2"}
PRE_TYPES = {with_digits(name, way): kind for name in ("llama3", "gpt4") for way, kind in _BY_DIGITS.items()}
"""The name of each split pattern that llama.cpp supports.

``dbrx`` is Llama 3's pattern without `ignore_merges`, and ``qwen2`` is the same with single digits. GPT-4's pattern
splits like Llama 3's. The pattern o200k is missing, because llama.cpp ignores the case of letters outside ASCII when it
splits, and its ``gpt-4o`` separates combining marks from letters. llama.cpp has no other of our patterns, and it cannot
split numbers from the right.
"""


class ByteTables(NamedTuple):
    """The tables of a byte-level BPE.

    Attributes:
        tokens: all tokens; the index of a token is its id. Added tokens are written as text.
        merges: (left, right) pairs in the order of their ranks.
        added: the added tokens by id.
        pattern: the split pattern.
    """

    tokens: list[str]
    merges: list[tuple[str, str]]
    added: dict[int, Any]
    pattern: str


def check_no_normalizer(backend: Tokenizer) -> None:
    """Raise MwSError if a tokenizer has a normalizer, which the format of an export cannot contain."""
    if backend.normalizer is None:
        return
    if capitals_of(backend):
        raise MwSError("its marker for capitals would be lost; train without --capitals")
    raise MwSError(f"its normalizer ({type(backend.normalizer).__name__}) would be lost; train without --normalization")


def byte_tables(backend: Tokenizer) -> ByteTables:
    """Return the tables of a byte-level tokenizer.

    Raises:
        MwSError: it is not a byte-level BPE, or it has a part that other formats do not have: a normalizer,
            `add_prefix_space`, dropout, affixes, `ignore_merges`, ids without a token, flags of added tokens, or a
            pre-tokenizer that is not one split by a pattern.
    """
    vocab, merges = tables_of(backend)
    if alphabet_of(vocab) != "bytes" or not is_byte_level(backend):
        raise MwSError(
            "this format is for byte-level tokenizers only, and this tokenizer is of characters; train with --alphabet "
            "bytes (for llama.cpp, you can instead use `mws export DIR --format byte-level --pattern llama3`)"
        )
    check_no_normalizer(backend)
    if settle_leading_space(backend, None):
        raise MwSError("its add_prefix_space would be lost; save it with add_prefix_space=False first")
    _check_plain(Spec.of(backend))
    by_id = {number: token for token, number in backend.get_vocab(with_added_tokens=True).items()}
    if sorted(by_id) != list(range(len(by_id))):
        raise MwSError(
            "some ids below the highest one have no token, which this format does not allow; give each id a token"
        )
    added = dict(sorted(backend.get_added_tokens_decoder().items()))
    for token in added.values():
        if flags := [flag for flag in ("lstrip", "rstrip", "single_word") if getattr(token, flag)]:
            raise MwSError(
                f"{flags[0]} of the added token {token.content!r} would be lost; add the token again without it"
            )
    return ByteTables([by_id[number] for number in range(len(by_id))], merges, added, pattern_of(backend))


def to_byte_level_backend(backend: Tokenizer, pattern: str | None = None) -> Tokenizer:
    """Make a byte-level tokenizer from one of characters, or give a byte-level tokenizer a new split pattern.

    A model that was trained with the old tokenizer can use the new one, because tokens keep their ids. Byte tokens
    become the bytes of the byte alphabet. The byte token of an ASCII character that is in the vocabulary remains
    unused. The first bytes of a longer character get new ids at the end if they are not a token yet. Texts get
    different ids only if they have characters outside the vocabulary, or if a new pattern splits them differently.

    Args:
        backend: the tokenizer.
        pattern: the new split pattern or its name; None keeps the old one.

    Returns:
        The new tokenizer.

    Raises:
        MwSError: one of these is true:

            * The tokenizer is byte-level, and no pattern is given.
            * The new pattern does not compile.
            * Its pre-tokenizer is not one split by a pattern.
            * It is of characters, and does not spell unknown characters in bytes.
            * It is of characters, and has settings or an added token that a byte-level tokenizer cannot have.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("о", "н"), (" ", "он")]
    >>> old = build_backend(base_vocab((), " но", merges), merges)
    >>> to_byte_level_backend(old).encode("но он я").ids == old.encode("но он я").ids
    True
    """
    vocab, merges = tables_of(backend)
    in_characters = alphabet_of(vocab) == "characters"
    if pattern is None and not in_characters:
        raise MwSError(
            "it is already byte-level; use it as it is, export it as gguf or tiktoken, or give a new --pattern"
        )
    there = pattern_of(backend)
    own = Spec.of(backend)
    spec = dict(own.raw)
    if in_characters:
        _check_characters(own)
        added = {token.content: number for number, token in backend.get_added_tokens_decoder().items()}
        check_added_tokens(list(added))
        in_bytes = byte_level_merges([token for token in vocab if len(token) == 1 and token not in added], merges)
        model = bpe_model(_recoded(vocab, added, in_bytes), in_bytes, in_bytes=True)
        spec |= {"truncation": None, "padding": None, "decoder": decoder(own.capitals, in_bytes=True), "model": model}
    spec["pre_tokenizer"] = splitter(there if pattern is None else _checked(pattern), in_bytes=True)
    return Spec(spec).open()


def _checked(pattern: str) -> str:
    """Return a split pattern, given by its name or as it is; raise MwSError if it does not compile."""
    literal = literal_pattern(pattern)
    compiled(literal)
    if problem := problem_in_tokenizers(literal):
        raise MwSError(problem)
    return literal


def _check_characters(spec: Spec) -> None:
    """Raise MwSError if a tokenizer of characters does more than merge by rank and fall back to bytes."""
    if not spec.model.get("byte_fallback") or any(token not in spec.model["vocab"] for token in BYTE_TOKENS):
        raise MwSError(
            "it does not spell unknown characters in bytes (byte_fallback and the tokens <0x00> to <0xFF>), so its ids "
            "cannot be those of bytes; train a tokenizer with `mws train`"
        )
    _check_plain(spec)


def _check_plain(spec: Spec) -> None:
    """Raise MwSError if a BPE does more than merge by rank."""
    if not spec.plain:
        raise MwSError(
            "its BPE has dropout, ignore_merges or affixes, which would be lost; train a tokenizer without them"
        )


def _recoded(vocab: dict[str, int], added: dict[str, int], merges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the old ids with their tokens in the byte alphabet, and new ids for other tokens that merges make."""
    byte_ids = {token: vocab[token] for token in BYTE_TOKENS}
    recoded = dict(added)  # first, so that no new token gets the id of an added one
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
"""The file that `write_tiktoken` writes: each token in base64, and its rank."""
MODULE_FILE = "load_tiktoken.py"
"""The module that `write_tiktoken` writes, which loads `RANKS_FILE`."""
_MODULE = '''\
"""Loads the tokenizer next to this file: `from load_tiktoken import encoding`, `encoding.encode(text)`."""

import base64
from pathlib import Path

import tiktoken

# load_tiktoken_bpe would keep a copy for each path, and would not read a file that was replaced later
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
    """Write a folder with a rank file, and a module that loads it into tiktoken with the same ids.

    Args:
        backend: a byte-level tokenizer.
        output: the folder.
        texts: texts on which both programs must agree, in addition to texts with each added token.
        name: the name that the encoding gets in tiktoken.

    Returns:
        The comparison, or None if tiktoken is not installed.

    Raises:
        MwSError: tiktoken cannot give the same ids, or the folder cannot be written; nothing is written then.
    """
    tables = byte_tables(backend)
    ranks = ranks_of(tables)
    special = {token.content: number for number, token in tables.added.items()}
    for token, longer in pairwise(sorted(special)):
        if longer.startswith(token):
            raise MwSError(
                f"the added token {longer!r} begins with the added token {token!r}, and tiktoken may find either in a "
                "text; leave one of them out"
            )
    found = None
    if is_installed("tiktoken"):
        encoding = needed("tiktoken").Encoding(
            "mws", pat_str=tables.pattern, mergeable_ranks=ranks, special_tokens=special
        )
        texts = [*texts, *texts_with(special)]
        found = compare_ids(backend, texts, partial(encoding.encode, allowed_special="all"), encoding.decode)
        found.raise_if_different("tiktoken")
    with staged(Path(output), head=MODULE_FILE) as stage:
        lines = [f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()]
        (stage / RANKS_FILE).write_text("".join(lines), encoding="ascii", newline="\n")
        module = _MODULE.format(name=name, pattern=tables.pattern, ranks=RANKS_FILE, special=special)
        (stage / MODULE_FILE).write_text(module, encoding="utf-8", newline="\n")
    return found


def ranks_of(tables: ByteTables) -> dict[bytes, int]:
    """Return the id of each token except added ones, by the bytes of the token.

    Raises:
        MwSError: a later merge makes a token with a smaller id; tiktoken uses ids as merge ranks.
    """
    places = {token: number for number, token in enumerate(tables.tokens)}
    made = [places[left + right] for left, right in tables.merges]
    if made != sorted(made):
        raise MwSError(
            "tiktoken uses ids as merge ranks, but in this tokenizer a later merge makes a token with a smaller id (as "
            "in an export from characters, which keeps ids); train with --alphabet bytes"
        )
    return {bytes_of(token): number for number, token in enumerate(tables.tokens) if number not in tables.added}


_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # gguf.TokenType


def write_gguf(
    backend: Tokenizer,
    roles: Mapping[str, str],
    output: str | os.PathLike[str],
    texts: list[str],
    name: str,
    templates: Mapping[str, str] | None = None,
) -> IdComparison | None:
    """Write the vocabulary of a byte-level tokenizer as a GGUF file, which llama.cpp reads with the same ids.

    Tokens that the post-processor puts before and after a text become ``add_bos_token`` and ``add_eos_token``.

    Args:
        backend: a byte-level tokenizer.
        roles: the special tokens by role: ``{"eos_token": "<|endoftext|>", ...}``.
        output: the file.
        texts: texts on which both programs must agree.
        name: the name of the model in the file.
        templates: chat templates by name, the main one as "default".

    Returns:
        The comparison, or None if `llama-cpp-python` is not installed.

    Raises:
        MwSError: llama.cpp cannot give the same ids, the library `gguf` is not installed, or the file cannot be
            written; nothing is written then.
    """
    tables = byte_tables(backend)
    pre_type = PRE_TYPES.get(tables.pattern)
    if pre_type is None:
        raise MwSError(
            "llama.cpp does not have this split pattern, only gpt4 and llama3 with --digits threes or single; train "
            "with --pattern llama3, or first write a tokenizer with that pattern: "
            "`mws export DIR --format byte-level --pattern llama3`"
        )
    first, last = tokens_around(backend)
    with atomic_path(output) as temporary:
        writer = needed("gguf").GGUFWriter(temporary, "llama")
        writer.add_name(printable(name))
        writer.add_tokenizer_pre(pre_type)
        _add_tables(writer, tables)
        ids = {role: tables.tokens.index(token) for role, token in roles.items() if token in tables.tokens}
        _add_roles(writer, ids, first, last)
        _add_templates(writer, templates or {})
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        found = _read_gguf(backend, temporary, texts)
        if found is not None:
            found.raise_if_different("llama.cpp")
    return found


def tokens_around(backend: Tokenizer) -> tuple[int | None, int | None]:
    """Return the id that the post-processor puts before a text, and the one after it, or None.

    Raises:
        MwSError: it puts several tokens on one side, for which GGUF has no field.
    """
    pieces = [piece.special for piece in template_of(backend).single]
    at = pieces.index(None)
    before, after = pieces[:at], pieces[at + 1 :]
    if len(before) > 1 or len(after) > 1:
        raise MwSError(
            f"the post-processor puts {len(before)} tokens before a text and {len(after)} after it; llama.cpp can put "
            "one on each side; remove the others from the post-processor"
        )
    return next(iter(before), None), next(iter(after), None)


def _add_tables(writer: Any, tables: ByteTables) -> None:
    """Write tokens, their types and the merges."""
    kinds = [_NORMAL] * len(tables.tokens)
    for number, token in tables.added.items():
        kinds[number] = _CONTROL if token.special else _USER_DEFINED
    writer.add_vocab_size(len(tables.tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tables.tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{left} {right}" for left, right in tables.merges])


def _add_roles(writer: Any, ids: Mapping[str, int], first: int | None, last: int | None) -> None:
    """Write the ids of roles; `first` and `last` are the ids that are put before and after a text."""
    end = ids.get("eos_token") if last is None else last
    begin = ids.get("bos_token", end) if first is None else first  # llama.cpp would take token 11
    for role, number in (("bos", begin), ("eos", end), ("pad", ids.get("pad_token"))):
        if number is not None:
            getattr(writer, f"add_{role}_token_id")(number)
    writer.add_add_bos_token(first is not None)
    writer.add_add_eos_token(last is not None)


def _add_templates(writer: Any, templates: Mapping[str, str]) -> None:
    """Write chat templates; llama.cpp reads the one called "default" if no other is chosen."""
    if more := sorted(templates.keys() - {"default"}):
        writer.add_array("tokenizer.chat_templates", more)
    for key, text in sorted(templates.items()):
        writer.add_string("tokenizer.chat_template" + ("" if key == "default" else f".{key}"), text)


def _read_gguf(backend: Tokenizer, file: Path, texts: Sequence[str]) -> IdComparison | None:
    """Compare llama.cpp's tokenizer with `tokenizers`; None if llama.cpp is not installed.

    Raises:
        MwSError: llama.cpp cannot load the file.
    """
    if not is_installed("llama_cpp"):
        return None
    llama_cpp = needed("llama_cpp", install="llama-cpp-python")
    llama_cpp.llama_log_set(_silence(llama_cpp), None)
    options = llama_cpp.llama_model_default_params()
    options.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(os.fsencode(file), options)
    if not model:
        raise MwSError("llama.cpp cannot load the vocabulary that was written; try a newer llama-cpp-python")
    vocab = llama_cpp.llama_model_get_vocab(model)

    def encode(text: str) -> list[int]:
        """Return the ids that llama.cpp gives to a text; special tokens in the text are recognized, none are added."""
        data = text.encode()
        ids = (llama_cpp.llama_token * (len(data) + 8))()
        return list(ids[: llama_cpp.llama_tokenize(vocab, data, len(data), ids, len(ids), False, True)])

    def piece(token: int) -> bytes:
        """Return the bytes of a token."""
        size = -llama_cpp.llama_token_to_piece(vocab, token, None, 0, 0, True)  # it returns the negated length
        buffer = ctypes.create_string_buffer(size)
        llama_cpp.llama_token_to_piece(vocab, token, buffer, size, 0, True)
        return buffer.raw

    def decode(ids: list[int]) -> str:
        """Decode ids as llama.cpp does when it streams; its `llama_detokenize` would remove spaces before periods."""
        return b"".join(map(piece, ids)).decode("utf-8", "replace")

    try:
        return compare_ids(backend, texts, encode, decode)
    finally:
        llama_cpp.llama_model_free(model)


@cache
def _silence(llama_cpp: Any) -> Any:
    """Return a logger that writes nothing; it is cached, because llama.cpp does not keep a reference to it."""
    return llama_cpp.llama_log_callback(lambda *_: None)
