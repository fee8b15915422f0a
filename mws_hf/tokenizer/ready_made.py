"""The trained tokenizers of this project by name: their sources, and the check that their files are unchanged.

`ready_made.json` beside this module names every tokenizer with its figures and the SHA-256 of its files. The folders
themselves travel in the wheel, and lie in `model_cards/` of a checkout. No network is asked unless a URL is named as
the source; `mws_hf.by_name` asks the Hub.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mws_hf.atomic import staged
from mws_hf.errors import MwSError, brief

INDEX = Path(__file__).with_name("ready_made.json")
_PLACES = (Path(__file__).parent.parent / "model_cards", Path(__file__).parent.parent.parent / "model_cards")
BESIDE = next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])
"""The folders of the tokenizers: inside the package where a wheel was installed, or in the checkout."""
VARIABLE = "MWS_PRETRAINED"
"""Environment variable that names the source where none is given."""
_MOST_BYTES = 64_000_000
"""Bytes of a file in an archive; a larger one is none of ours."""
_PATIENCE = 30
"""Seconds that a URL has for each answer."""


@dataclass(frozen=True)
class ReadyMade:
    """A tokenizer that can be had by name.

    Attributes:
        name: such as "mws-ru-32k".
        system: how it was learnt: "MwS", or "BPE" for one to compare with.
        languages: codes of the groups of text that it was learnt from.
        entries: size of the vocabulary.
        license: identifier of the vocabulary's licence.
        megabytes: size of the folder.
        gold: name of the gold set of `f1`; None where there is none.
        f1: boundary F1 on that gold set.
        tokens_per_word: on held-out text.
        bytes_per_token: on held-out text.
        files: SHA-256 of each file of the folder, in hexadecimal.
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
    """List every tokenizer that can be had, by name.

    >>> ready_made()["mws-ru-32k"].entries
    32000
    """
    rows = json.loads(INDEX.read_text(encoding="utf-8"))["tokenizers"]
    return {row["name"]: ReadyMade(**row) for row in rows}


def folder_of(name: str, source: str | os.PathLike[str] | None = None) -> Path:
    """Return a local folder that holds a trained tokenizer of this project, its files checked.

    Args:
        name: such as "mws-ru-32k".
        source: the tokenizer's folder, or one that holds it; a .zip or .tar archive with such a folder, by path or URL.
            None: the source that the environment variable MWS_PRETRAINED names, or else the package itself, or else
            the cache.

    Returns:
        The folder beside the package, or the copy in the cache (``~/.cache/mws_hf/pretrained``), where a tokenizer
        from another source is kept, so that it is had by name afterwards.

    Raises:
        MwSError: there is no such tokenizer, the source lacks it, or its files differ from the released ones.
    """
    entry = _entry(name)
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
    r"""Return the SHA-256 of a text file, the same for the line ends of every system.

    >>> text_digest(b"a\r\nb") == text_digest(b"a\nb")
    True
    """
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def _entry(name: str) -> ReadyMade:
    known = ready_made()
    if name not in known:
        raise MwSError(f"{name}: no tokenizer of this project has that name; choose one of {', '.join(known)}")
    return known[name]


def _checked_files(entry: ReadyMade, files: Mapping[str, bytes], source: str) -> Mapping[str, bytes]:
    """Return the files after checking that all are there and unchanged.

    Raises:
        MwSError: a file is absent or changed; the message names it.
    """
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

            with urlopen(url, timeout=_PATIENCE) as answer, path.open("wb") as file:
                while piece := answer.read(1 << 20):
                    file.write(piece)
                    if file.tell() > 16 * _MOST_BYTES:
                        raise OSError("far larger than an archive of ours")
        except (OSError, ValueError) as error:
            raise MwSError(f"{url}: cannot be downloaded ({brief(error)}); check the address or the network") from error
        yield path
