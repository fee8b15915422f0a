"""Where a name leads: to a path, to one of this project's own tokenizers, or to a copy of one on the Hub."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from mws_hf.errors import MissingTokenizerError, MwSError, brief
from mws_hf.tokenizer.layout import FETCHED, TOKENIZER_FILE, Of, patterns

_REPOSITORY = re.compile(
    r"[A-Za-z0-9][\w.-]*/[\w.-]+|(albert-|bert-|camembert-|ctrl|distil(bert-|gpt2|roberta-)|gpt2|openai-gpt|roberta-|t5-"
    r"|transfo-xl-|xlm-roberta-|xlnet-)[\w-]*"
)
"""``user/repo``, or as old repositories without a user begin: any other mistyped directory is never asked for there."""
_PATIENCE = 5.0
"""Seconds that the Hub has for its first answer; transformers itself tries six times for each of its files."""

INDEX = Path(__file__).with_name("ready_made.json")
"""The trained tokenizers of this project with their figures: system ("MwS", or "BPE" to compare with), languages,
entries, licence, boundary F1 (`f1`) on the gold set `gold`, tokens and bytes counted on held-out text."""

_PLACES = [Path(__file__).parents[up] / "model_cards" for up in (1, 2)]
BESIDE = next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])
"""The folders of these tokenizers: inside the package where a wheel was installed, or in the checkout."""


def is_repository(name: str) -> bool:
    """Return whether a name is one of the Hub: ``user/repo``, or an old one such as ``gpt2``, and no local folder.

    >>> is_repository("user/repo"), is_repository("gpt2"), is_repository("my-tokenizer"), is_repository("a/b/c")
    (True, True, False, False)
    """
    return _REPOSITORY.fullmatch(name) is not None and not Path(name).exists()


@cache
def ready_made() -> dict[str, dict[str, Any]]:
    """List every tokenizer that comes with the package, by name, with its row of `INDEX`."""
    return {row["name"]: row for row in json.loads(INDEX.read_text(encoding="utf-8"))["tokenizers"]}


def pretrained_folder(name: str) -> Path:
    """Return the folder of a trained tokenizer of this project, such as "mws-ru-32k".

    Raises:
        MwSError: there is no such tokenizer, or the installation lacks its files.
    """
    if name not in ready_made():
        raise MwSError(f"{name}: no tokenizer of this project has that name; choose one of {', '.join(ready_made())}")
    file = BESIDE / name / TOKENIZER_FILE
    if not file.is_file():
        raise MwSError(f"{file}: is missing; install mws_hf from its wheel or from a whole checkout")
    return file.parent


def tokenizer_place(source: str | os.PathLike[str]) -> Path:
    """Return the local path of a tokenizer: `source` itself, or the folder of a ready-made one or of the Hub's copy."""
    if Path(source).exists():
        return Path(source)
    if os.fspath(source) in ready_made():
        return pretrained_folder(os.fspath(source))
    return snapshot(source, allow_patterns=list(FETCHED))


def tokenizer_folder(source: str | os.PathLike[str]) -> Path:
    """Return `tokenizer_place`, or the folder that holds it where that is a file."""
    place = tokenizer_place(source)
    return place.parent if place.is_file() else place


def named_sources(given: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Give names to places of tokenizers: ``NAME=PLACE``, or a directory or Hub name, named by its last part.

    Raises:
        MwSError: two places have one name.

    >>> named_sources(["a=out/one", "out/two", "user/three"])
    {'a': 'out/one', 'two': 'out/two', 'three': 'user/three'}
    """
    named: dict[str, str] = {}
    for each in map(str, given):
        name, equals, place = each.partition("=")
        if not equals or Path(each).exists():
            name, place = Path(each).resolve().name, each
        if name in named:
            raise MwSError(f"two tokenizers are called {name!r}; write NAME=DIR to tell them apart")
        named[name] = place
    return named


def refuse_unreachable(name: str | os.PathLike[str], *, ask_hub: bool = True) -> bool:
    """Say at once that a tokenizer cannot be found, before transformers begins to try.

    Returns whether the Hub must be left alone, because it does not answer or is not to be asked (`ask_hub`).
    """
    if Path(name).exists():
        return False
    if not is_repository(str(name)):
        ours = f"; tokenizers of this project: {', '.join(ready_made())}" if str(name).startswith("mws-") else ""
        raise MissingTokenizerError(
            f"{name}: no such directory; give one written by save_pretrained or `mws train`, or a Hub name of the form "
            f"user/repo{ours}"
        )
    return not ask_hub or not answers()


def hub_is_silent(name: str | os.PathLike[str]) -> MissingTokenizerError:
    """Make the error for a repository that is not in the cache while the Hub does not answer."""
    from huggingface_hub import constants

    return MissingTokenizerError(
        f"{name}: no such directory, and as a Hub name it is not in the cache while {constants.ENDPOINT} does not "
        "answer; check the path or the network"
    )


def snapshot(name: str | os.PathLike[str], **patterns: Any) -> Path:
    """Return the local copy of a Hub repository, or of the files that patterns of `snapshot_download` name."""
    unanswered = refuse_unreachable(name)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        folder = Path(snapshot_download(os.fspath(name), local_files_only=unanswered, **patterns))
    except LocalEntryNotFoundError as error:
        raise hub_is_silent(name) from error
    except GatedRepoError as error:
        raise MwSError(
            f"{name}: the Hub asks to accept its terms first; do so on its page, then `hf auth login`"
        ) from error
    except RepositoryNotFoundError as error:
        raise MissingTokenizerError(
            f"{name}: no such directory, and the Hub finds no such repository, or hides it from you; check the name, "
            "or log in with `hf auth login`"
        ) from error
    except Exception as error:  # requests, httpx or the Hub's own, by version
        raise MwSError(f"{name}: cannot be downloaded ({brief(error)}); check the name or the network") from error
    if not folder.is_dir():  # nothing there is of these patterns
        raise MissingTokenizerError(
            f"{name}: the repository has no file of a tokenizer; give one with a tokenizer.json or a SentencePiece "
            ".model"
        )
    return folder


def fetch_record(folder: Path) -> None:
    """Fetch the record and the evidence beside a tokenizer.json in the Hub's cache, of the same revision."""
    head, cached, tail = str(folder).partition(f"{os.sep}snapshots{os.sep}")
    kind, *name = Path(head).name.split("--")
    if not cached or kind != "models" or any((folder / each).is_file() for each in patterns(Of.RECORD)):
        return
    revision, _, below = tail.partition(os.sep)
    wanted = [f"{below}/{each}".lstrip("/") for each in patterns(Of.RECORD)]
    with suppress(MwSError):  # while the Hub does not answer there is no record
        snapshot("/".join(name), revision=revision, allow_patterns=wanted)


def answers() -> bool:
    """Return whether the Hub answers at all; it is not asked while HF_HUB_OFFLINE is set."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
    except Exception:  # requests or httpx, by version; whatever it is, there is no answer
        return False
    return True
