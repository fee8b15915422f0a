"""Find the folder of a tokenizer or a model by its name: a path, a pretrained name, or a repository on the Hub."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from mws_hf.errors import MissingTokenizerError, MwSError, nearest, quoted
from mws_hf.tokenizer.layout import FETCHED, TOKENIZER_FILE, FileKind, is_kind, patterns

_REPOSITORY = re.compile(
    r"[A-Za-z0-9][\w.-]*/[\w.-]+|(albert-|bert-|camembert-|ctrl|distil(bert-|gpt2|roberta-)|gpt2|openai-gpt|roberta-|t5-"
    r"|transfo-xl-|xlm-roberta-|xlnet-)[\w-]*"
)
"""``user/repo``, or the beginning of an old name without a user. Any other name is never looked up on the Hub."""
_ANSWER_TIMEOUT_SECONDS = 5.0
"""The time that the first request waits for the Hub.

Without this request, transformers would try six times for each file while the Hub does not answer.
"""

PRETRAINED_INDEX = resources.files("mws_hf.tokenizer") / "ready_made.json"
"""The list of the pretrained tokenizers with their figures.

Each row has the system ("MwS", or "BPE" to compare with), languages, vocabulary size, license, boundary F1 (`f1`) on
the reference segmentations `gold`, and the tokens and bytes of held-out text.
"""

_PLACES: list[Traversable] = [resources.files("mws_hf") / "model_cards", Path(__file__).parents[2] / "model_cards"]
PRETRAINED_FOLDER = next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])
"""The folder with a folder for each of these tokenizers: in the package of a wheel or a zip, or in the checkout."""


def is_repository(name: str) -> bool:
    """Return whether a name is one of the Hub (``user/repo``, or an old one such as ``gpt2``) and not a local path.

    >>> is_repository("user/repo"), is_repository("gpt2"), is_repository("my-tokenizer"), is_repository("a/b/c")
    (True, True, False, False)
    """
    return _REPOSITORY.fullmatch(name) is not None and not os.path.exists(name)


@cache
def pretrained_rows() -> dict[str, dict[str, Any]]:
    """Return the row of `PRETRAINED_INDEX` of every tokenizer that comes with the package, by its name."""
    return {row["name"]: row for row in json.loads(PRETRAINED_INDEX.read_text(encoding="utf-8"))["tokenizers"]}


def pretrained_folder(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a pretrained tokenizer of this project.

    If the package is in a zip, the folder is unpacked into a temporary one, which is removed when the process ends.

    Args:
        name: the name, such as "mws-ru-32k"; `mws pretrained` lists all.

    Returns:
        The path of the folder.

    Raises:
        MwSError: there is no such tokenizer, or the installation lacks its files.

    >>> pretrained_folder("mws-fi-32k").name
    'mws-fi-32k'
    """
    name = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(name, str) or name not in pretrained_rows():
        raise MwSError(
            f"{name}: no pretrained tokenizer has that name{_did_you_mean(str(name))}; "
            f"choose one of {', '.join(pretrained_rows())}"
        )
    folder = PRETRAINED_FOLDER / name
    if not (folder / TOKENIZER_FILE).is_file():
        raise MwSError(f"{folder / TOKENIZER_FILE}: is missing; install mws_hf from its wheel or from a whole checkout")
    return folder if isinstance(folder, Path) else _unpacked(name)


@cache
def _unpacked(name: str) -> Path:
    """Unpack a pretrained tokenizer from the zip of the package into a temporary folder, and return the folder."""
    folder = Path(tempfile.mkdtemp(prefix="mws_hf-")) / name
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    folder.mkdir()
    for file in (PRETRAINED_FOLDER / name).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def _did_you_mean(name: str) -> str:
    """Return a suggestion of a pretrained tokenizer with a similar name for a message, or "".

    The languages have to begin with the same letter, so that ``mws-turkish-32k`` is not taken for ``mws-uk-32k``.
    """
    last = Path(name).name.lower()
    initial = last.partition("-")[2][:1] if last.startswith("mws-") else ""
    names = [row for row in pretrained_rows() if row.partition("-")[2].startswith(initial)]
    near = nearest(last, names) if len(last) > 3 else None
    return f" (did you mean {near!r}?)" if near else ""


def local_name(source: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the folder of a pretrained tokenizer of this project; any other name or path is returned unchanged.

    Raises:
        MwSError: the name is not a string or a path, such as None.
    """
    if not isinstance(source, str | os.PathLike):
        raise MwSError(f"{source!r} is not the name or the path of a tokenizer; give a string or a Path")
    is_pretrained = not os.path.exists(source) and os.fspath(source) in pretrained_rows()
    return pretrained_folder(os.fspath(source)) if is_pretrained else source


def tokenizer_place(source: str | os.PathLike[str]) -> Path:
    """Return the local path of a tokenizer; a repository on the Hub is downloaded if the cache does not have it.

    Args:
        source: a folder or file, the name of a pretrained tokenizer, or the name of a repository on the Hub.

    Raises:
        MwSError: there is no such tokenizer, or the Hub cannot be used (see `snapshot`).
    """
    place = Path(local_name(source))
    return place if os.path.exists(place) else snapshot(source, allow_patterns=list(FETCHED))


def tokenizer_folder(source: str | os.PathLike[str]) -> Path:
    """Return the local folder of a tokenizer: `tokenizer_place`, or its parent if that is a file.

    Raises:
        MwSError: as in `tokenizer_place`.
    """
    place = tokenizer_place(source)
    return place.parent if place.is_file() else place


def model_folder(source: str | os.PathLike[str]) -> Path:
    """Return the local folder of a model; from the Hub, weights are downloaded only as safetensors.

    Args:
        source: a folder, or the name of a repository on the Hub.

    Raises:
        MwSError: there is no such folder or repository, or it is the name of a pretrained tokenizer.
    """
    if os.path.isdir(source):
        return Path(source)
    if os.fspath(source) in pretrained_rows():
        raise MwSError(
            f"{source}: is a pretrained tokenizer of this project and not a model; give the model first, then the "
            f"tokenizer: mws transplant MODEL {source} --output DIR"
        )
    ignored = [name for name in patterns(FileKind.WEIGHTS) if "safetensors" not in name]
    return snapshot(source, ignore_patterns=ignored)


def named_sources(
    given: Iterable[str | os.PathLike[str]],
    what: str = "tokenizers",
    advice: str = "write NAME=PATH to tell them apart",
) -> dict[str, str]:
    """Return paths or Hub names of tokenizers, or files, by the names that a user gave them.

    Args:
        given: ``NAME=PLACE``, or only a path or Hub name, whose last part becomes the name.
        what: their noun for the message.
        advice: what to do about equal names, for the message.

    Raises:
        MwSError: two of them have the same name.

    >>> named_sources(["a=out/one", "out/two", "user/three"])
    {'a': 'out/one', 'two': 'out/two', 'three': 'user/three'}
    """
    named: dict[str, str] = {}
    for each in map(str, given):
        name, equals, place = each.partition("=")
        if not equals or os.path.exists(each):
            name, place = Path(os.path.abspath(each)).name, each
        if name in named:
            raise MwSError(f"two {what} are called {quoted(name)}; {advice}")
        named[name] = place
    return named


class Trouble(NamedTuple):
    """The reason why the Hub cannot be used now, and its remedy.

    Attributes:
        reason: a clause for a message, such as "https://huggingface.co does not answer".
        remedy: the advice for the user, such as "check the path or the network".
    """

    reason: str
    remedy: str


def check_known_name(name: str | os.PathLike[str]) -> None:
    """Raise MissingTokenizerError for a name that is neither a path nor the name of a repository on the Hub."""
    if os.path.exists(name) or is_repository(str(name)):
        return
    ours = f"; pretrained tokenizers: {', '.join(pretrained_rows())}" if str(name).startswith("mws-") else ""
    raise MissingTokenizerError(
        f"{name}: no such folder{_did_you_mean(str(name))}; give one written by save_pretrained or `mws train`, or "
        f"a Hub name of the form user/repo{ours}"
    )


def check_loadable(name: str | os.PathLike[str], subfolder: str | None) -> None:
    """Raise MissingTokenizerError for a name that `from_pretrained` of transformers cannot load.

    Args:
        name: a path, or the name of a repository on the Hub, whose files are not checked.
        subfolder: the argument ``subfolder`` of `from_pretrained`.
    """
    check_known_name(name)
    in_other_file = Path(name).suffix == ".json" and not Path(name).name.endswith(TOKENIZER_FILE)
    if in_other_file and os.path.isfile(name):
        raise MissingTokenizerError(
            f"{name}: is neither a folder nor a file whose name ends in {TOKENIZER_FILE}; give the folder of the "
            "tokenizer, or load a tokenizer file of another name with the argument tokenizer_file"
        )
    if os.path.isdir(name) and subfolder and not os.path.exists(folder := Path(name, subfolder)):
        raise MissingTokenizerError(f"{folder}: no such folder; check subfolder={subfolder!r}")


def hub_trouble(name: str | os.PathLike[str], options: Mapping[str, Any]) -> Trouble | None:
    """Return why only the cache can be used for a repository, or None if the Hub can be used.

    The Hub cannot be used if it does not answer, if it fails, or if the user switched it off. One request finds this
    out before other libraries begin to try again and again. For a local path, and for a repository that the Hub does
    not have, the result is None, because the error for it is raised when its files are downloaded.

    Args:
        name: the name of a repository or a path.
        options: options of `from_pretrained`; ``revision``, ``subfolder``, ``token`` and ``local_files_only`` are read.
    """
    if os.path.exists(name):
        return None
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if options.get("local_files_only"):
        return Trouble("local_files_only=True allows only the cache", "leave that out once")
    if constants.HF_HUB_OFFLINE:
        return Trouble("HF_HUB_OFFLINE allows only the cache", "check the path, or unset that variable once")
    try:
        url = hf_hub_url(
            os.fspath(name), TOKENIZER_FILE, subfolder=options.get("subfolder"), revision=options.get("revision")
        )
        found = get_hf_file_metadata(url, timeout=_ANSWER_TIMEOUT_SECONDS, token=options.get("token"))
    except (EntryNotFoundError, GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError):
        return None  # the Hub itself says so, and it is reported when the files are fetched
    except Exception as error:  # requests, httpx or the Hub's own, by version
        return trouble_in(error) or _trouble_of(None)
    return None if found.commit_hash else _not_the_hub()


def _not_the_hub() -> Trouble:
    """Return the trouble with an address that answers and is not the Hub."""
    from huggingface_hub import constants

    return Trouble(
        f"{constants.ENDPOINT} answers with a page that is not the Hub's, such as the login page of a network",
        "log in to the network, or check HF_ENDPOINT and the proxy",
    )


def trouble_in(error: BaseException) -> Trouble | None:
    """Return the trouble with the Hub that an error of another library reports, or None if the Hub works."""
    from huggingface_hub.errors import (
        EntryNotFoundError,
        FileMetadataError,
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    chain = [each for each in _causes(error) if not isinstance(each, LocalEntryNotFoundError)]
    answers = (EntryNotFoundError, GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError)
    if any(isinstance(each, answers) for each in chain):
        return None
    if any(isinstance(each, FileMetadataError | json.JSONDecodeError) for each in chain):
        return _not_the_hub()
    response = next((found for each in chain if (found := getattr(each, "response", None)) is not None), None)
    return _trouble_of(getattr(response, "status_code", None)) if response is not None else None


def _trouble_of(status: int | None) -> Trouble:
    """Return the trouble behind an HTTP status; None means that the Hub does not answer."""
    from huggingface_hub import constants

    if status is None:
        return Trouble(f"{constants.ENDPOINT} does not answer", "check the path or the network")
    said = f"HTTP status {status}"
    if status == 401:
        return Trouble(
            f"{constants.ENDPOINT} requires a login, or rejects your token ({said})", "log in with `hf auth login`"
        )
    if status == 403:
        return Trouble(
            f"{constants.ENDPOINT} denies access ({said})",
            "check that your token may read the repository (`hf auth whoami`), and that no firewall blocks the Hub",
        )
    if status == 429:
        return Trouble(
            f"{constants.ENDPOINT} has had too many requests from here ({said})",
            "wait a few minutes, or log in with `hf auth login` for a higher limit",
        )
    return Trouble(f"{constants.ENDPOINT} fails at the moment ({said})", "try again later, or check HF_ENDPOINT")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it was raised from, the last one first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def not_in_cache(
    name: str | os.PathLike[str], trouble: Trouble, cache: str | os.PathLike[str] | None = None
) -> MissingTokenizerError:
    """Return the error for a tokenizer that is not in the cache while the Hub cannot be used.

    Args:
        name: the name of the repository.
        trouble: the reason why the Hub cannot be used.
        cache: the folder of the cache; by default the cache of huggingface_hub.
    """
    from huggingface_hub import constants

    copies = Path(cache or constants.HF_HUB_CACHE, "--".join(["models", *os.fspath(name).split("/")]), "snapshots")
    there = any(copies.glob("*/*"))
    found = "the cache has files of this repository and no tokenizer" if there else (
        "no such folder, and as a Hub name it is not in the cache"
    )  # fmt: skip
    return MissingTokenizerError(f"{name}: {found}, while {trouble.reason}; {trouble.remedy}")


def snapshot(name: str | os.PathLike[str], **patterns: Any) -> Path:
    """Return the local copy of a Hub repository, or of the files that patterns of `snapshot_download` select.

    If the Hub cannot be used, the copy in the cache is returned.

    Args:
        name: the name of the repository.
        **patterns: arguments of `huggingface_hub.snapshot_download`, such as ``allow_patterns`` and ``revision``.

    Returns:
        The folder of the copy.

    Raises:
        MissingTokenizerError: there is no such repository, it has no files of these patterns, or the cache has no
            tokenizer of it while the Hub cannot be used.
        MwSError: the user must first accept the terms of the repository.
    """
    check_known_name(name)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError

    trouble = hub_trouble(name, patterns)
    folder = None
    try:
        folder = None if trouble else Path(snapshot_download(os.fspath(name), **patterns))
    except GatedRepoError as error:
        raise MwSError(
            f"{name}: you must accept its terms first, on its page on the Hub; then log in with `hf auth login`"
        ) from error
    except RepositoryNotFoundError as error:
        raise MissingTokenizerError(
            f"{name}: no such folder{_did_you_mean(str(name))}, and no such repository is on the Hub, or you have "
            "no access to it; check the name, or log in with `hf auth login`"
        ) from error
    except Exception as error:  # requests, httpx or the Hub's own, by version
        trouble = trouble_in(error) or _trouble_of(None)
    if trouble:
        try:
            folder = Path(snapshot_download(os.fspath(name), local_files_only=True, **patterns))
        except LocalEntryNotFoundError as error:
            raise not_in_cache(name, trouble) from error
        if not _may_contain_tokenizer(folder):
            raise not_in_cache(name, trouble)
    if folder is None or not folder.is_dir():  # no file there matches the patterns
        raise MissingTokenizerError(
            f"{name}: the repository has no file of a tokenizer; give one with a tokenizer.json or a SentencePiece "
            ".model"
        )
    return folder


def _may_contain_tokenizer(folder: Path) -> bool:
    """Return whether a folder has files besides settings, cards, code and weights."""
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    return any(
        not is_kind(name, FileKind.SETTINGS, FileKind.CARD, FileKind.MODEL, FileKind.WEIGHTS)
        and not name.endswith(".py")
        for name in names
    )


def fetch_record(folder: Path) -> None:
    """Download the training metadata and boundary probabilities of a tokenizer in the Hub's cache, if it has none yet.

    They are of the same revision. If the folder is not in the cache, or the Hub does not answer, nothing happens.

    Args:
        folder: the folder of the tokenizer in the cache.
    """
    head, cached, tail = str(folder).partition(f"{os.sep}snapshots{os.sep}")
    kind, *name = Path(head).name.split("--")
    if not cached or kind != "models" or any((folder / each).is_file() for each in patterns(FileKind.RECORD)):
        return
    revision, _, below = tail.partition(os.sep)
    wanted = [f"{below}/{each}".lstrip("/") for each in patterns(FileKind.RECORD)]
    with suppress(MwSError):  # while the Hub does not answer, there are no training metadata
        snapshot("/".join(name), revision=revision, allow_patterns=wanted)
