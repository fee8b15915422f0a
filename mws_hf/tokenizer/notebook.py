"""Read and write the files of the original notebook, vocabulary.json and merges.json, with the same ids."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.atomic import staged, write_text
from mws_hf.errors import MwSError, quoted
from mws_hf.text.pattern import GPT4_PATTERN
from mws_hf.text.sample_texts import sample_texts, texts_with
from mws_hf.text.symbols import BYTE_TOKENS, check_special_tokens, special_settings
from mws_hf.tokenizer.backend import build_backend, check_ids, check_merges, is_byte_level, pattern_of, tables_of
from mws_hf.tokenizer.export import check_no_normalizer
from mws_hf.tokenizer.file import load_json
from mws_hf.tokenizer.id_comparison import compare_ids
from mws_hf.tokenizer.layout import NOTEBOOK_FILES
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.spec import without_limits

VOCABULARY_FILE, MERGES_FILE = NOTEBOOK_FILES
_MAX_HOLES = 1_000_000


def read_notebook(
    source: Any, special_tokens: Iterable[str] | None, pattern: str | None, repair: bool
) -> tuple[Tokenizer, dict[str, Any]]:
    """Return the tokenizer and its special tokens by role; `import_notebook` describes the arguments and errors."""
    vocabulary, table = _files_of(source)
    vocab, document = load_json(vocabulary), load_json(table)
    if not isinstance(vocab, dict) or not vocab:
        raise MwSError(f"{vocabulary}: not a JSON object of token -> id; is it a {VOCABULARY_FILE}?")
    with _naming(vocabulary):
        check_ids(vocab.items())
    wanted = None if special_tokens is None else check_special_tokens(special_tokens)
    document = document if isinstance(document, dict) else {"merges": document}
    merges, written = document.get("merges"), document.get("pattern", GPT4_PATTERN)
    if not isinstance(merges, list):
        raise MwSError(f"{table}: does not contain a list of merges; write {{'merges': [[left, right], ...]}}")
    if not isinstance(written, str):
        raise MwSError(f"{table}: the pattern is {written!r}; write a regular expression, or remove it")
    merges = [tuple(pair) if isinstance(pair, list) else pair for pair in merges]
    if repair:
        last = {pair: place for place, pair in enumerate(merges)}
        merges = [pair for place, pair in enumerate(merges) if last[pair] == place]
    with _naming(table):
        check_merges(merges)
    with _naming(vocabulary):
        backend, special = _backend_of(vocab, merges, pattern or written, wanted)
    return backend, special_settings(special)


def _files_of(source: Any) -> tuple[Path, Path]:
    """Return the paths of the two files; raise MwSError if the source is neither a folder nor two paths."""
    is_list = isinstance(source, tuple | list)
    if is_list and len(source) == 2 and all(isinstance(each, str | os.PathLike) for each in source):
        return Path(source[0]), Path(source[1])
    if not isinstance(source, str | os.PathLike) or not os.path.isdir(source):
        raise MwSError(
            f"{quoted(source) if is_list else source}: no such folder; give one with "
            f"{VOCABULARY_FILE} and {MERGES_FILE}, or the paths of these two files"
        )
    return Path(source, VOCABULARY_FILE), Path(source, MERGES_FILE)


def export_notebook(tokenizer: Any, directory: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write vocabulary.json and merges.json as the notebook does; `import_notebook` reads them with the same ids.

    A split pattern other than GPT-4's is also written into merges.json. The notebook's own program ignores it and
    splits with GPT-4's pattern.

    Args:
        tokenizer: an MwS tokenizer of either class, or another fast tokenizer with a BPE model.
        directory: the folder to write into.

    Returns:
        The paths of vocabulary.json and merges.json.

    Raises:
        MwSError: the tokenizer has a part that the two files do not have (it is byte-level, has a normalizer, puts
            tokens around a text, ...), or the folder cannot be written. Nothing is written then.
    """
    backend = open_tokenizer(tokenizer).backend
    if is_byte_level(backend):
        raise MwSError(
            "the notebook's two files are for tokenizers of characters, and this tokenizer is byte-level; "
            "train it with alphabet='characters' (--alphabet characters)"
        )
    merges = tables_of(backend)[1]
    vocab = backend.get_vocab(with_added_tokens=True)
    with _naming("the notebook's two files cannot describe this tokenizer"):
        check_no_normalizer(backend)
        pattern = pattern_of(backend)
        plain, again = without_limits(backend), _backend_of(vocab, merges, pattern)[0]
        texts = [*sample_texts(), *texts_with(sorted(vocab))]
        ids_of, text_of = (lambda text: plain.encode(text).ids), partial(plain.decode, skip_special_tokens=False)
        compare_ids(again, texts, ids_of, text_of).raise_if_different("import_notebook")
    document = {"merges": merges} if pattern == GPT4_PATTERN else {"merges": merges, "pattern": pattern}
    with staged(Path(directory), head=VOCABULARY_FILE) as stage:
        write_text(stage / VOCABULARY_FILE, json.dumps(dict(sorted(vocab.items(), key=lambda item: item[1]))))
        write_text(stage / MERGES_FILE, json.dumps(document))
    return Path(directory, VOCABULARY_FILE), Path(directory, MERGES_FILE)


@contextmanager
def _naming(place: object) -> Iterator[None]:
    """Put the name of a file before the message of each MwSError that is raised inside the block."""
    try:
        yield
    except MwSError as error:
        raise MwSError(f"{place}: {error}") from error


def _backend_of(
    vocab: Mapping[str, int], merges: Sequence[tuple[str, str]], pattern: str, wanted: list[str] | None = None
) -> tuple[Tokenizer, list[str]]:
    """Build the tokenizer of the two tables; return it and its special tokens.

    The special tokens are the wanted ones or, if none were given, all tokens of several characters that no merge makes.
    """
    products = {left + right for left, right in merges}
    unmade = [token for token in vocab if len(token) > 1 and token not in products and token not in BYTE_TOKENS]
    special = unmade if wanted is None else wanted
    for token in special:
        if wanted is None and (token[0].isalnum() or token[0].isspace()):
            raise MwSError(
                f"no merge makes {token!r}; check that the two files belong together, or, if it is a special token, "
                "name all special tokens in special_tokens"
            )
        if token not in vocab:
            raise MwSError(f"special token {token!r} is not in the vocabulary; leave it out, or add it later")
        if token in products or len(token) == 1:
            raise MwSError(
                f"special token {token!r} is an ordinary token, a character or the result of a merge; choose another"
            )
    special = sorted(special, key=lambda token: vocab[token])
    return build_backend(_complete_vocab(vocab, merges), merges, pattern, special_tokens=special), special


def _complete_vocab(vocab: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Keep all given ids, fill the holes between them, and append tokens that byte fallback and the merges need."""
    result, taken = dict(vocab), set(vocab.values())
    highest = max(taken, default=-1)
    if highest >= len(vocab) + _MAX_HOLES:
        raise MwSError(f"id {highest} among {len(vocab)} tokens: too many holes to fill; number the tokens from 0")
    names = (f"<|unused{count}|>" for count in itertools.count())
    for number in sorted(set(range(highest)) - taken):
        result[next(name for name in names if name not in result)] = number
    for token in (*(token for left, right in merges for token in (left, right, left + right)), *BYTE_TOKENS):
        result.setdefault(token, len(result))
    return result
