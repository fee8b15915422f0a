"""Find where on this machine a tokenizer lies, named by a path, by a Hub repository or as one of this project's own.

`ready_made.json` beside this module names the trained tokenizers of this project with their figures and the SHA-256 of
their files. The folders themselves travel in the wheel, and lie in `model_cards/` of a checkout. No network is asked
for these unless the source is a URL or a user of the Hub.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mws_hf.atomic import staged
from mws_hf.errors import MissingTokenizerError, MwSError, brief

INDEX = Path(__file__).with_name("ready_made.json")
_PLACES = (Path(__file__).parent.parent / "model_cards", Path(__file__).parent.parent.parent / "model_cards")
BESIDE = next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])
"""The folders of the tokenizers: inside the package where a wheel was installed, or in the checkout."""
VARIABLE = "MWS_PRETRAINED"
"""Environment variable that names the source where none is given."""
_HUB = "hub:"
_MOST_BYTES = 64_000_000
"""Bytes of a file in an archive; a larger one is none of ours."""
_DOWNLOAD_PATIENCE = 30
"""Seconds that a URL has for each answer."""


@dataclass(frozen=True)
class ReadyMade:
    """A tokenizer that can be had by name, as the index has it.

    `system` is "MwS", or "BPE" for one to compare with; `f1` is boundary F1 on the gold set `gold`, if there is one;
    tokens and bytes were counted on held-out text; `files` are the SHA-256 of each file in the folder.
    """

    name: str
    system: str
    languages: Sequence[str]
    entries: int
    license: str
    megabytes: float
    gold: str | None
    f1: float | None
    tokens_per_word: float
    bytes_per_token: float
    files: Mapping[str, str]


@cache
def ready_made() -> dict[str, ReadyMade]:
    """List every tokenizer that can be had, by name."""
    rows = json.loads(INDEX.read_text(encoding="utf-8"))["tokenizers"]
    return {row["name"]: ReadyMade(**row) for row in rows}


def pretrained_folder(name: str, source: str | os.PathLike[str] | None = None) -> Path:
    """Return a local folder that holds a trained tokenizer of this project, its files checked.

    Args:
        name: such as "mws-ru-32k".
        source: the tokenizer's folder, or one that holds it; a .zip or .tar archive with such a folder, by path or URL;
            or ``hub:USER``, whose repository ``USER/NAME`` holds it. None: the source that the environment variable
            MWS_PRETRAINED names, or else the package itself, or else the copy taken before.

    Returns:
        The folder beside the package, or the copy in the cache (``~/.cache/mws_hf/pretrained``), where a tokenizer
        from another source is kept.

    Raises:
        MwSError: there is no such tokenizer, the source lacks it, or its files differ from the released ones.
    """
    entry = _entry(name)
    if source is not None and os.fspath(source).startswith(_HUB):
        source = snapshot(f"{os.fspath(source).removeprefix(_HUB)}/{name}")
    source = source or os.environ.get(VARIABLE)
    kept = cache_folder() / name
    if source is None:
        found = next((folder for folder in (BESIDE / name, kept) if (folder / "tokenizer.json").is_file()), None)
        if found is None:
            raise MwSError(
                f"{name}: not on this machine; take it from a release's archive with `mws pretrained {name} --from "
                f"FILE-OR-URL`, or set {VARIABLE} to that archive"
            )
        _checked_files(entry, _files_of_folder(found, entry), str(found))
        return found
    files = _checked_files(entry, _files(entry, os.fspath(source)), os.fspath(source))
    _write_files(kept, files)
    return kept


def write_folder(name: str, folder: Path, output: Path) -> None:
    """Copy the folder of a tokenizer, whole or not at all, its files checked."""
    entry = _entry(name)
    _write_files(output, _checked_files(entry, _files_of_folder(folder, entry), str(folder)))


def cache_folder() -> Path:
    """Return the folder where tokenizers that were taken from an archive or from the Hub are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mws_hf" / "pretrained"


def place_of(name: str) -> str:
    """Return where a tokenizer would be taken from without a source: "installed", "cache", or "" for nowhere."""
    places = {"installed": BESIDE / name, "cache": cache_folder() / name}
    return next((place for place, folder in places.items() if (folder / "tokenizer.json").is_file()), "")


def text_digest(content: bytes) -> str:
    """Return the SHA-256 of a text file, the same for the line ends of every system."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def _entry(name: str) -> ReadyMade:
    known = ready_made()
    if name not in known:
        raise MwSError(f"{name}: no tokenizer of this project has that name; choose one of {', '.join(known)}")
    return known[name]


def _checked_files(entry: ReadyMade, files: Mapping[str, bytes], source: str) -> Mapping[str, bytes]:
    """Return the files after checking that all are there and unchanged."""
    if not files:
        raise MwSError(f"{source}: holds no folder {entry.name}; give the archive of a release, or `model_cards`")
    for name, sha256 in entry.files.items():
        if name not in files:
            raise MwSError(f"{source}: {entry.name}/{name} is missing; take the folder whole")
        if text_digest(files[name]) != sha256:
            raise MwSError(
                f"{source}: {entry.name}/{name} is not the file that this version of mws_hf was released with; take "
                "the archive of the same version, or load the folder itself if it was changed on purpose"
            )
    return files


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    with staged(folder) as stage:
        for name, content in files.items():
            (stage / name).write_bytes(content)


def _files(entry: ReadyMade, source: str) -> dict[str, bytes]:
    """Return the files of a tokenizer that a source holds; none where it holds no such folder."""
    if source.startswith(("https://", "http://")):
        with _downloaded(source) as path:
            return _files_of_archive(path, source, entry)
    path = Path(source)
    if path.is_dir():
        return _files_of_folder(path if (path / "tokenizer.json").is_file() else path / entry.name, entry)
    if not path.is_file():
        raise MwSError(f"{source}: no such file or folder; give the archive of a release, a folder or a URL")
    return _files_of_archive(path, source, entry)


def _files_of_folder(folder: Path, entry: ReadyMade) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in entry.files if (folder / name).is_file()}


def _files_of_archive(path: Path, source: str, entry: ReadyMade) -> dict[str, bytes]:
    """Return the files in an archive's folder of the tokenizer's name, at whatever depth; links are passed over."""
    found: dict[str, bytes] = {}
    try:
        for place, content in _members(path, {(entry.name, name) for name in entry.files}):
            found.setdefault(place, content)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise MwSError(f"{source}: not a readable .zip or .tar archive ({brief(error)}); download it again") from error
    return found


def _members(path: Path, wanted: set[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files whose last folder and name are wanted."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for each in archive.infolist():
                if tuple(each.filename.split("/")[-2:]) in wanted:
                    with archive.open(each) as member:
                        yield each.filename.split("/")[-1], _read_member(member)
        return
    with tarfile.open(path) as tar:
        for entry in tar:
            stream = tar.extractfile(entry) if entry.isfile() and tuple(entry.name.split("/")[-2:]) in wanted else None
            if stream is not None:
                yield entry.name.split("/")[-1], _read_member(stream)


def _read_member(stream: Any) -> bytes:
    content: bytes = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"a file of more than {_MOST_BYTES:,} bytes")
    return content


@contextmanager
def _downloaded(url: str) -> Iterator[Path]:
    """Yield a file from the network, removed afterwards; its content is trusted no more than any other's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "archive")
        try:
            from urllib.request import urlopen  # here, for its TLS takes as long to load as the rest of this module

            with urlopen(url, timeout=_DOWNLOAD_PATIENCE) as answer, path.open("wb") as file:
                while piece := answer.read(1 << 20):
                    file.write(piece)
                    if file.tell() > 16 * _MOST_BYTES:
                        raise OSError("far larger than an archive of ours")
        except (OSError, ValueError) as error:
            raise MwSError(f"{url}: cannot be downloaded ({brief(error)}); check the address or the network") from error
        yield path


_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_PATIENCE = 5.0
"""Seconds that the Hub has for its first answer; transformers itself tries six times for each of its files."""

_FILES = (
    *("*.json", "*.jinja", "additional_chat_templates/*.jinja", "*.py", "README.md"),
    *("*.model", "*.tiktoken", "vocab.txt", "merges.txt", "mws_evidence.*"),
)
_RECORD = ("mws_training.json", "mws_evidence.*")
_NOT_TOKENIZERS = ("*.index.json", "*trainer_state.json", "onnx/*", "openvino/*")
"""What a tokenizer and its card need of a repository, and what these patterns match besides."""

_BERT = "bert-base-cased bert-base-uncased bert-base-chinese bert-base-german-cased bert-base-multilingual-cased"
_NAMELESS = frozenset(
    f"{_BERT} bert-base-multilingual-uncased bert-large-cased bert-large-uncased albert-base-v1 albert-base-v2 "
    "albert-large-v2 albert-xlarge-v2 albert-xxlarge-v2 camembert-base ctrl distilbert-base-cased "
    "distilbert-base-uncased distilbert-base-multilingual-cased distilbert-base-german-cased distilgpt2 "
    "distilroberta-base gpt2 gpt2-medium gpt2-large gpt2-xl openai-gpt roberta-base roberta-large t5-small t5-base "
    "t5-large t5-3b t5-11b transfo-xl-wt103 xlm-roberta-base xlm-roberta-large xlnet-base-cased "
    "xlnet-large-cased".split()
)
"""Repositories without a user's name; the Hub makes no new ones, so a mistyped directory is never asked for there."""


def is_repository(name: str) -> bool:
    """Return whether a name is one of the Hub: ``user/repo``, or an old one such as ``gpt2``, and no local folder.

    >>> is_repository("user/repo"), is_repository("gpt2"), is_repository("my-tokenizer"), is_repository("a/b/c")
    (True, True, False, False)
    """
    return (name in _NAMELESS or _REPOSITORY.fullmatch(name) is not None) and not Path(name).exists()


def tokenizer_place(source: str | os.PathLike[str]) -> Path:
    """Return the local path of a tokenizer: `source` itself, or the folder of a ready-made one or of the Hub's copy."""
    if Path(source).exists():
        return Path(source)
    if os.fspath(source) in ready_made():
        return pretrained_folder(os.fspath(source))
    folder = snapshot(source, allow_patterns=list(_FILES), ignore_patterns=list(_NOT_TOKENIZERS))
    if not any(folder.glob(name) for name in ("*token*", "vocab*", "*.model")):
        raise MissingTokenizerError(f"{source}: this Hub repository holds no tokenizer; check the name")
    return folder


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


def absent_from_hub(name: str | os.PathLike[str]) -> MissingTokenizerError:
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
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    shown = not are_progress_bars_disabled()
    disable_progress_bars()  # a bar over a dozen small files says nothing
    try:
        return Path(snapshot_download(os.fspath(name), local_files_only=unanswered, **patterns))
    except LocalEntryNotFoundError as error:
        raise absent_from_hub(name) from error
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
    finally:
        if shown:
            enable_progress_bars()


def fetch_record(folder: Path) -> None:
    """Fetch the record and the evidence beside a tokenizer.json in the Hub's cache, of the same revision."""
    head, cached, tail = str(folder).partition(f"{os.sep}snapshots{os.sep}")
    kind, *name = Path(head).name.split("--")
    if not cached or kind != "models" or any(any(folder.glob(each)) for each in _RECORD):
        return
    revision, _, below = tail.partition(os.sep)
    with suppress(MwSError):  # while the Hub does not answer there is no record
        snapshot("/".join(name), revision=revision, allow_patterns=[f"{below}/{each}".lstrip("/") for each in _RECORD])


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
