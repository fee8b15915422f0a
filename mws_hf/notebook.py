"""Import the notebook's two files, vocabulary.json and merges.json, with every id kept; export them again.

Reading runs no code and touches no network; directories for other clients are written by `save_pretrained`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mws_hf.atomic import staged, write_text
from mws_hf.errors import MwSError
from mws_hf.text.pattern import GPT4_PATTERN
from mws_hf.text.special import BYTE_TOKENS, check_special_tokens, special_roles
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import build_backend, check_ids, check_merges, is_byte_level, pattern_of, tables_of
from mws_hf.tokenizer.file import load_json
from mws_hf.tokenizer.stock import Tokenizer, without_limits

VOCABULARY_FILE = "vocabulary.json"
MERGES_FILE = "merges.json"
MAX_HOLES = 1_000_000
_SAMPLE = (
    *("", " ", "  \n\t\r\n x ", "Перечитывающаяся, don't I'LL п'ять 12345 !?", "漢字 e\u0301 é \ufeff\x00\u2028"),
    *("😀👨\u200d👩\u200d👧 🇺🇦", "<0x41><0xD0>", "a\u00a0b\u3000c", "हिन्दी عَرَبِيّ ไทย", "\ufffd\ue000\U0010ffff"),
)


def import_notebook(
    source: str | os.PathLike[str] | tuple[str | os.PathLike[str], str | os.PathLike[str]],
    special_tokens: Iterable[str] | None = None,
    pattern: str | None = None,
    repair: bool = False,
) -> MwSTokenizerFast:
    """Read the notebook's artifact as a tokenizer that keeps every id, so that trained embeddings keep their meaning.

    New ids follow the old ones: characters that merges use without an id, the 256 byte tokens, and fillers
    ``<|unused0|>`` for holes. One thing changes: a special token typed in text is now recognized
    (``split_special_tokens=True`` restores the old behaviour).

    Args:
        source: a directory, or the paths of vocabulary.json and merges.json.
        special_tokens: by default the tokens that no merge makes, such as ``[EOS]``.
        pattern: the split pattern it was trained with; by default the one that `export_notebook` wrote into
            merges.json, or else the notebook's, which is GPT-4's.
        repair: keep the last of repeated merges, as the notebook's encoder did, instead of refusing them.

    Raises:
        MwSError: a file is missing, damaged or malformed; ids collide; merges are repeated, cyclic or use a part that
            no earlier merge makes; a special token is absent from the vocabulary or made by merges.
    """
    vocabulary_file, merges_file = _paths(source)
    vocab = _read_vocabulary(vocabulary_file)
    merges, written = _read_merges(merges_file, repair)
    backend, special = _backend_of(vocab, merges, pattern or written, special_tokens, (vocabulary_file, merges_file))
    roles = special_roles(special)
    others = [token for token in special if token not in roles.values()]
    options: dict[str, Any] = {**roles, **({"additional_special_tokens": others} if others else {})}
    return MwSTokenizerFast(tokenizer_object=backend, **options)


def export_notebook(tokenizer: Any, directory: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write vocabulary.json and merges.json as the notebook does; `import_notebook` gives the same ids back.

    A split pattern other than GPT-4's is written into merges.json too; the notebook's own program does not read it
    and splits by GPT-4's. The tokenizer is an MwS one of either class, or a stock fast tokenizer with a BPE model.
    Returns the two paths.

    Raises:
        MwSError: the two files cannot carry the tokenizer exactly (byte-level, a normalizer, tokens added around a
            text, ...), or the directory cannot be written; then nothing is.
    """
    backend = tokenizer.backend_tokenizer if getattr(tokenizer, "is_fast", False) else tokenizer.to_backend()
    if is_byte_level(backend):
        raise MwSError(
            "the notebook's two files hold characters, and this tokenizer is byte-level; "
            "train it with alphabet='characters' (--characters)"
        )
    merges = tables_of(backend)[1]
    vocab = backend.get_vocab(with_added_tokens=True)
    try:
        if backend.normalizer is not None:
            raise MwSError(f"its normalizer ({type(backend.normalizer).__name__}) would be lost")
        pattern = pattern_of(backend)
        again, _ = _backend_of(vocab, merges, pattern, None, (Path(VOCABULARY_FILE), Path(MERGES_FILE)))
        _check_same(backend, again)
    except MwSError as error:
        raise MwSError(f"the notebook's two files cannot carry this tokenizer: {error}") from error
    document = {"merges": merges} if pattern == GPT4_PATTERN else {"merges": merges, "pattern": pattern}
    with staged(Path(directory), head=VOCABULARY_FILE) as stage:
        write_text(stage / VOCABULARY_FILE, json.dumps(dict(sorted(vocab.items(), key=lambda item: item[1]))))
        write_text(stage / MERGES_FILE, json.dumps(document))
    return Path(directory, VOCABULARY_FILE), Path(directory, MERGES_FILE)


def _backend_of(
    vocab: dict[str, int],
    merges: list[tuple[str, str]],
    pattern: str,
    special_tokens: Iterable[str] | None,
    files: tuple[Path, Path],
) -> tuple[Tokenizer, list[str]]:
    """Build the backend of the two tables, whose files errors name; return its special tokens in id order too."""
    try:
        check_merges(merges)
    except MwSError as error:
        raise MwSError(f"{files[1]}: {error}") from error
    products = {left + right for left, right in merges}
    special = _special_tokens(vocab, products, special_tokens, files[0])
    try:
        return build_backend(complete_vocab(vocab, merges), merges, pattern, special_tokens=special), special
    except MwSError as error:
        raise MwSError(f"{files[0]}: {error}") from error


def _check_same(backend: Tokenizer, again: Tokenizer) -> None:
    """Compare two backends on every token of the first, alone and within a text, and on what has no token of its own.

    Raises MwSError for the first text that gives other ids, or another text when decoded.
    """
    plain = without_limits(backend)
    tokens = sorted(plain.get_vocab(with_added_tokens=True))
    texts = [*_SAMPLE, *tokens, *(f"a {token} b{token}" for token in tokens)]
    pairs = zip(texts, plain.encode_batch(texts), again.encode_batch(texts), strict=True)
    for text, old, new in pairs:
        if old.ids != new.ids:
            raise MwSError(f"{text!r} would get the ids {_few(new.ids)} instead of {_few(old.ids)}")
        lost, kept = (each.decode(old.ids, skip_special_tokens=False) for each in (again, plain))
        if lost != kept:
            raise MwSError(f"the ids of {text!r} would decode to {lost!r} instead of {kept!r}")


def _few(ids: list[int]) -> str:
    return f"{ids[:6]}" if len(ids) <= 6 else f"{ids[:6]}... ({len(ids)} of them)"


def complete_vocab(vocab: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Append what byte fallback and the merges need, keeping all given ids; fill the holes between ids.

    >>> vocab = complete_vocab({"a": 0, "[EOS]": 2}, [("a", "b")])
    >>> [(token, vocab[token]) for token in ("a", "<|unused0|>", "[EOS]", "b", "ab", "<0x00>", "<0xFF>")]
    [('a', 0), ('<|unused0|>', 1), ('[EOS]', 2), ('b', 3), ('ab', 4), ('<0x00>', 5), ('<0xFF>', 260)]

    Raises:
        MwSError: the ids have more than `MAX_HOLES` holes.
    """
    needed = [token for left, right in merges for token in (left, right, left + right)]
    result = dict(vocab)
    taken = set(vocab.values())
    highest = max(taken, default=-1)
    if highest >= len(vocab) + MAX_HOLES:
        raise MwSError(f"id {highest} among {len(vocab)} tokens: too many holes to fill; number the tokens from 0")
    names = (f"<|unused{count}|>" for count in itertools.count())
    for number in sorted(set(range(highest)) - taken):
        result[next(name for name in names if name not in result)] = number
    for token in (*needed, *BYTE_TOKENS):
        if token not in result:
            result[token] = len(result)
    return result


def _paths(source: Any) -> tuple[Path, Path]:
    if isinstance(source, tuple):
        return Path(source[0]), Path(source[1])
    directory = Path(source)
    if not directory.is_dir():
        raise MwSError(f"{directory}: no such directory; give one with {VOCABULARY_FILE} and {MERGES_FILE}")
    return directory / VOCABULARY_FILE, directory / MERGES_FILE


def _read_vocabulary(path: Path) -> dict[str, int]:
    vocab = load_json(path)
    if not isinstance(vocab, dict) or not vocab:
        raise MwSError(f"{path}: not a JSON object of token -> id; is it a {VOCABULARY_FILE}?")
    try:
        check_ids(vocab)
    except MwSError as error:
        raise MwSError(f"{path}: {error}") from error
    return vocab


def _read_merges(path: Path, repair: bool) -> tuple[list[tuple[str, str]], str]:
    """Read the merges and the split pattern."""
    document = load_json(path)
    table = document.get("merges") if isinstance(document, dict) else document
    if not isinstance(table, list):
        raise MwSError(f"{path}: holds no list of merges; expected {{'merges': [[left, right], ...]}}")
    pattern = document.get("pattern", GPT4_PATTERN) if isinstance(document, dict) else GPT4_PATTERN
    if not isinstance(pattern, str):
        raise MwSError(f"{path}: the pattern is {pattern!r}; write a regular expression, or nothing")
    pairs = [tuple(pair) if isinstance(pair, list) else pair for pair in table]
    if not repair:
        return pairs, pattern
    last = {pair: place for place, pair in enumerate(pairs)}
    return [pair for place, pair in enumerate(pairs) if last[pair] == place], pattern


def _special_tokens(
    vocab: Mapping[str, int], products: set[str], wanted: Iterable[str] | None, path: Path
) -> list[str]:
    """List the special tokens in id order."""
    if wanted is None:
        found = [token for token in vocab if len(token) > 1 and token not in products and token not in BYTE_TOKENS]
        for token in found:
            if token[0].isalnum() or token[0].isspace():
                raise MwSError(
                    f"{path}: {token!r} is made by no merge; do the two files belong together? If it is a special "
                    "token, name all of them in special_tokens"
                )
        return sorted(found, key=lambda token: vocab[token])
    special = check_special_tokens(wanted)
    for token in special:
        if token not in vocab:
            raise MwSError(f"{path}: special token {token!r} is not in the vocabulary; leave it out or add it later")
        if token in products or len(token) == 1:
            raise MwSError(f"{path}: special token {token!r} is an ordinary token of the merges; choose another")
    return sorted(special, key=lambda token: vocab[token])
