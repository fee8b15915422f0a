"""Opening a tokenizer by the name of a directory, a file or a Hub repository. Nothing here executes their code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.errors import MissingTokenizerError, MwSError, brief

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
_FILES = (CONFIG_FILE, TOKENIZER_FILE, "vocabulary.json", "merges.json", "special_tokens_map.json")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_PATIENCE = 5.0
"""Seconds that the Hub has for its first answer; transformers itself tries six times for each of its files."""


def named_sources(given: Iterable[str | os.PathLike[str]], *, local: bool = False) -> dict[str, str]:
    """Places of tokenizers by name: ``NAME=PLACE``, or a place named by its last part.

    Args:
        given: what the user wrote.
        local: whether each must be there on disk.

    Raises:
        MwSError: a local one is not there, or two have one name.

    >>> named_sources(["a=out/one", "out/two"])
    {'a': 'out/one', 'two': 'out/two'}
    """
    named: dict[str, str] = {}
    for each in map(str, given):
        name, equals, place = each.partition("=")
        if not equals or Path(each).exists():
            name, place = Path(each).resolve().name, each
        if local and not Path(place).exists():
            raise MwSError(f"{place}: no such directory; fetch a Hub model first: hf download NAME --local-dir DIR")
        if name in named:
            raise MwSError(f"two tokenizers are called {name!r}; write NAME=DIR to tell them apart")
        named[name] = place
    return named


def load_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        MwSError: the file is missing, is not UTF-8, or is not JSON; the message names the line.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise MwSError(
            f"{path}:{error.lineno}: not valid JSON ({error.msg}): truncated or damaged; save again"
        ) from error
    except RecursionError as error:
        raise MwSError(f"{path}: nested too deeply to be a tokenizer's file; save it again") from error
    except UnicodeDecodeError as error:
        raise MwSError(f"{path}: not UTF-8 at byte {error.start}; save it again") from error
    except OSError as error:
        raise MwSError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def load_settings(path: Path) -> dict[str, Any]:
    """Read a tokenizer_config.json; empty when there is none. Raises MwSError if it is damaged or no JSON object."""
    settings = load_json(path) if path.is_file() else {}
    if not isinstance(settings, dict):
        raise MwSError(f"{path}: not a JSON object of settings; save the tokenizer again")
    return settings


def read_tokenizer(file: str | os.PathLike[str]) -> Tokenizer:
    """Read a tokenizer.json; raises MwSError if it is missing, damaged, or made for another version of `tokenizers`."""
    try:
        return Tokenizer.from_file(os.fspath(file))
    except Exception as error:  # the bindings raise nothing narrower
        raise MwSError(
            f"{file}: not a tokenizer.json this version of tokenizers can read ({error}); save it again"
        ) from error


def open_tokenizer(source: str | os.PathLike[str], *, ask_hub: bool = True, by_class: bool = False) -> Any:
    """Open a directory, a tokenizer.json or a Hub name.

    Args:
        source: where the tokenizer is.
        ask_hub: False opens local files only.
        by_class: take the class that tokenizer_config.json names where there is one, since it may cut otherwise than
            tokenizer.json alone; never one whose code lies in the directory (``auto_map``).

    Returns:
        A `tokenizers.Tokenizer`, or the tokenizer of transformers that `AutoTokenizer` makes of other files.

    Raises:
        MwSError: no tokenizer there, or a damaged one.
    """
    path = Path(source)
    file, config = (path, None) if path.is_file() else (path / TOKENIZER_FILE, path / CONFIG_FILE)
    if file.is_file():
        plain = config is None or not by_class or not config.is_file() or "auto_map" in load_settings(config)
        if plain:
            return read_tokenizer(file)
    elif not ask_hub and not path.is_dir():
        raise MissingTokenizerError(
            f"{path}: no such directory; fetch a Hub model first: hf download NAME --local-dir {path}"
        )
    elif path.is_dir() and not any((path / name).is_file() for name in (CONFIG_FILE, "config.json")):
        refuse_empty(str(path))  # transformers would try all it knows, for seconds
    unanswered = refuse_unreachable(source)
    from transformers import AutoTokenizer  # noqa: PLC0415  (seconds to import, and seldom needed)

    try:
        return AutoTokenizer.from_pretrained(
            os.fspath(source), local_files_only=unanswered or not ask_hub, trust_remote_code=False
        )
    except Exception as error:  # it raises whatever its parts raise
        if unanswered:
            raise absent_from_hub(source) from error
        reason = f"{source}: AutoTokenizer cannot open it ({brief(error)})"
        if file.is_file():
            raise MwSError(f"{reason}; mend tokenizer_config.json, or give {file} to take that alone") from error
        raise MwSError(f"{reason}; it needs a tokenizer.json") from error


def load_backend(tokenizer: Any) -> tuple[Tokenizer, str | None]:
    """The `tokenizers` backend of a tokenizer or directory, and its end-of-sequence token if it is known.

    Args:
        tokenizer: a directory with tokenizer.json, such a file, a Hub name (``user/repo``), a fast transformers
            tokenizer, or a `tokenizers.Tokenizer`.

    Raises:
        MwSError: no such tokenizer, or a slow one without a Rust backend.
    """
    if isinstance(tokenizer, (str, os.PathLike)):
        path = Path(tokenizer)
        tokenizer = open_tokenizer(tokenizer)
        if isinstance(tokenizer, Tokenizer):
            settings = load_settings((path if path.is_dir() else path.parent) / CONFIG_FILE)
            eos = settings.get("eos_token")
            return tokenizer, eos.get("content") if isinstance(eos, dict) else eos
    if isinstance(tokenizer, Tokenizer):
        return tokenizer, None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        name = type(tokenizer).__name__
        raise MwSError(f"{name} has no Rust backend; save it and load the directory with PreTrainedTokenizerFast")
    return backend, tokenizer.eos_token


def check_directory(name: str | os.PathLike[str]) -> None:
    """Raise the reason why a local tokenizer directory cannot be loaded; return when there is none to be seen.

    Raises:
        MissingTokenizerError: the path holds no tokenizer.
        MwSError: one of its files is damaged.
    """
    path = Path(name)
    if not path.exists():
        return
    directory = path if path.is_dir() else path.parent
    file = directory / TOKENIZER_FILE
    if not file.is_file() and not (directory / "vocabulary.json").is_file():
        refuse_empty(str(directory))
    for each in _FILES:
        content = load_json(directory / each) if (directory / each).is_file() else {}
        if not isinstance(content, dict) and each != "merges.json":  # merges may be a bare list
            raise MwSError(f"{directory / each}: not a JSON object; save the tokenizer again")
    if file.is_file():
        read_tokenizer(file)


def refuse_empty(name: str | None) -> None:
    """Stop where transformers 5 would make an empty tokenizer of a place without tokenizer files.

    Raises:
        MissingTokenizerError: `name`, the place loaded from, is given.
    """
    if name:
        raise MissingTokenizerError(
            f"{name}: holds no tokenizer.json; give a place written by save_pretrained (for a notebook's "
            "vocabulary.json and merges.json: mws_hf.notebook.import_notebook)"
        )


def is_repository(name: str) -> bool:
    """Whether a name has the form ``user/repo`` and its first part is no local folder.

    >>> is_repository("user/repo"), is_repository("./repo"), is_repository("my-tokenizer"), is_repository("a/b/c")
    (True, False, False, False)
    """
    return _REPOSITORY.fullmatch(name) is not None and not Path(name).parent.exists()


def refuse_unreachable(name: str | os.PathLike[str], *, ask_hub: bool = True) -> bool:
    """Say at once that a tokenizer cannot be found, before transformers begins to try.

    Returns whether the Hub must be left alone, because it does not answer or is not to be asked (`ask_hub`).

    Raises:
        MissingTokenizerError: `name` is no local path and has not the form ``user/repo``.
    """
    if Path(name).exists():
        return False
    if not is_repository(str(name)):
        raise MissingTokenizerError(
            f"{name}: no such directory; give one written by save_pretrained, or a Hub name of the form user/repo"
        )
    return not ask_hub or not answers()


def absent_from_hub(name: str | os.PathLike[str]) -> MissingTokenizerError:
    """The error for a repository that is not in the cache while the Hub does not answer."""
    from huggingface_hub import constants

    return MissingTokenizerError(
        f"{name}: no such directory, and as a Hub name it is not in the cache while {constants.ENDPOINT} does not "
        "answer; check the path or the network"
    )


def snapshot(name: str | os.PathLike[str], **patterns: Any) -> Path:
    """The local copy of a Hub repository, or of the files that patterns of `snapshot_download` name.

    Raises:
        MwSError: there is no such repository, neither in the cache nor on the Hub.
    """
    unanswered = refuse_unreachable(name)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(os.fspath(name), local_files_only=unanswered, **patterns))
    except LocalEntryNotFoundError as error:
        raise absent_from_hub(name) from error
    except Exception as error:  # requests, httpx or the Hub's own, by version
        raise MwSError(f"{name}: cannot be downloaded ({brief(error)}); check the name or the network") from error


def answers() -> bool:
    """Whether the Hub answers at all, asked once; never while HF_HUB_OFFLINE is set."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
    except Exception:  # requests or httpx, by version; whatever it is, there is no answer
        return False
    return True
