"""The notebook's two-file artifact, vocabulary.json + merges.json: import with every id kept, and export back.

Reading runs no code and touches no network; directories for other clients are written by `save_pretrained`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.backend import BYTE_TOKENS, build_backend, check_ids, check_merges, tables_of
from mws_hf.errors import MwSError
from mws_hf.pattern import GPT4_PATTERN
from mws_hf.portable import load_json
from mws_hf.special import check_special_tokens, special_roles
from mws_hf.tokenization_mws_fast import MwSTokenizerFast

VOCABULARY_FILE = "vocabulary.json"
MERGES_FILE = "merges.json"
MAX_HOLES = 1_000_000


def import_notebook(
    source: str | os.PathLike[str] | tuple[str | os.PathLike[str], str | os.PathLike[str]],
    special_tokens: Iterable[str] | None = None,
    pattern: str = GPT4_PATTERN,
    repair: bool = False,
) -> MwSTokenizerFast:
    """Read the notebook's artifact as a tokenizer that keeps every id, so that trained embeddings keep their meaning.

    New ids follow the old ones: characters that merges use without an id, the 256 byte tokens, and fillers
    ``<|unused0|>`` for holes. One thing changes: a special token typed in text is now recognized
    (``split_special_tokens=True`` restores the old behaviour).

    Args:
        source: a directory, or the paths of vocabulary.json and merges.json.
        special_tokens: by default the tokens that no merge makes, such as ``[EOS]``.
        pattern: the split pattern it was trained with.
        repair: keep the last of repeated merges, as the notebook's encoder did, instead of refusing them.

    Raises:
        MwSError: a file is missing, damaged or malformed; ids collide; merges are repeated, cyclic or use a part that
            no earlier merge makes; a special token is absent from the vocabulary or made by merges.
    """
    vocabulary_file, merges_file = _paths(source)
    vocab = _read_vocabulary(vocabulary_file)
    merges = _read_merges(merges_file, repair)
    try:
        check_merges(merges)
    except MwSError as error:
        raise MwSError(f"{merges_file}: {error}") from error
    products = {left + right for left, right in merges}
    special = _special_tokens(vocab, products, special_tokens, vocabulary_file)
    vocab = complete_vocab(vocab, merges)
    try:
        backend = build_backend(vocab, merges, pattern, special_tokens=special)
    except MwSError as error:
        raise MwSError(f"{vocabulary_file}: {error}") from error
    roles = special_roles(special)
    others = [token for token in special if token not in roles.values()]
    options: dict[str, Any] = {**roles, **({"additional_special_tokens": others} if others else {})}
    return MwSTokenizerFast(tokenizer_object=backend, **options)


def export_notebook(tokenizer: Any, directory: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write vocabulary.json and merges.json as the notebook does; `import_notebook` gives the same ids back.

    Args:
        tokenizer: an MwS tokenizer of either class, or a stock fast tokenizer with a BPE model.
        directory: made if absent.

    Returns:
        The two paths.

    Raises:
        MwSError: the model is no BPE, or the directory cannot be written.
    """
    backend = tokenizer.backend_tokenizer if getattr(tokenizer, "is_fast", False) else tokenizer.to_backend()
    _, merges = tables_of(backend)
    vocab = backend.get_vocab(with_added_tokens=True)
    vocabulary_file, merges_file = Path(directory, VOCABULARY_FILE), Path(directory, MERGES_FILE)
    write_text(vocabulary_file, json.dumps(dict(sorted(vocab.items(), key=lambda item: item[1]))))
    write_text(merges_file, json.dumps({"merges": merges}))
    return vocabulary_file, merges_file


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


def _read_merges(path: Path, repair: bool) -> list[tuple[str, str]]:
    document = load_json(path)
    table = document.get("merges") if isinstance(document, dict) else document
    if not isinstance(table, list):
        raise MwSError(f"{path}: holds no list of merges; expected {{'merges': [[left, right], ...]}}")
    pairs = [tuple(pair) if isinstance(pair, list) else pair for pair in table]
    if not repair:
        return pairs
    last = {pair: place for place, pair in enumerate(pairs)}
    return [pair for place, pair in enumerate(pairs) if last[pair] == place]


def _special_tokens(
    vocab: Mapping[str, int], products: set[str], wanted: Iterable[str] | None, path: Path
) -> list[str]:
    """The special tokens in id order."""
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
