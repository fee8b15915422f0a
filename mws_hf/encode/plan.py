"""Plan where `encode_corpus` writes, and move the result there; a finished corpus stays until the new one is complete.

Planning only reads. Files are removed only if they have names that this package gives to files, and never because a
manifest names them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from mws_hf.atomic import write_json
from mws_hf.encode.corpus import DATASET_FILES, MANIFEST, Shard, read_manifest, shard_problem, write_dataset_files
from mws_hf.errors import MwSError

REPLACEMENT = ".replacement"
"""Name of the folder inside a finished corpus where its replacement is written."""
_FIXED = ("tokenizer", "separator", "document", "shard_size")
_NAMES = rf"shard-[0-9]{{5,}}\.arrow|{'|'.join(map(re.escape, DATASET_FILES))}"
_REMOVABLE = re.compile(rf"{_NAMES}|\.({_NAMES}|{re.escape(MANIFEST)})\.\w+\.tmp", re.ASCII)


class Plan(NamedTuple):
    """The work that a run has to do.

    Attributes:
        work: the folder to write. If it is not the output itself, its content will replace the corpus there.
        shards: the shards that an earlier run finished; they are compared with the source and kept.
        finished: whether the corpus is already complete, so that it is only compared with the source.
    """

    work: Path
    shards: list[Shard]
    finished: bool = False

    @classmethod
    def of(cls, directory: Path, new: dict[str, Any], resume: bool, force: bool) -> Plan:
        """Decide what a run with the manifest `new` has to do, from the manifest that is in its output, if any.

        Raises:
            MwSError: the output contains something else, an unreadable manifest, or a corpus that must not be changed.
        """
        work, old = directory, read_manifest(directory)
        if old is None and directory.exists() and (not directory.is_dir() or any(directory.glob("*.arrow"))):
            raise MwSError(f"{directory}: contains something that is not an encoded corpus; choose another output")
        if old is not None and old["complete"]:
            if (differing := _differing(old, new)) and not force:
                what = f"contains a finished corpus with a different {differing}"
                raise MwSError(f"{directory}: {what}; give --force to replace it")
            if resume and not force:
                for shard in old["shards"]:
                    if problem := shard_problem(directory, shard, old["dtype"]):
                        raise MwSError(f"{directory / shard.file}: {problem}; --force encodes the corpus again")
                return cls(directory, old["shards"], finished=True)
            work = directory / REPLACEMENT
            if work.is_symlink() or work.exists() and not work.is_dir():
                raise MwSError(f"{work}: is not a folder, but the new corpus would be written there; remove it")
            old = read_manifest(work)
        if old is None or not resume:
            return cls(work, [])
        if differing := _differing(old, new):
            if force:
                return cls(work, [])
            what = f"was begun with a different {differing}"
            raise MwSError(f"{work}: {what}; choose another output, or give --force to start again")
        dtype = old["dtype"]  # a damaged shard and those after it are encoded again
        return cls(work, list(takewhile(lambda shard: shard_problem(work, shard, dtype) is None, old["shards"])))


def _differing(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return the settings that differ between two manifests, for a message; an empty string if none does."""
    keys = [key for key in _FIXED if old[key] != new[key]]
    if "separator" in keys:
        keys.remove("tokenizer")  # its fingerprint includes separator and dropout, so it differs in any case
    return " and ".join(
        "tokenizer or dropout" if key == "tokenizer" else f"{key.replace('_', ' ')} ({old[key]!r}, now {new[key]!r})"
        for key in keys
    )


def prepare(work: Path, manifest: dict[str, Any]) -> None:
    """Remove the files of earlier runs from `work`, except the shards of `manifest`, and write the manifest.

    Raises:
        MwSError: the folder cannot be written.
    """
    kept = {shard.file for shard in manifest["shards"]}
    try:
        work.mkdir(parents=True, exist_ok=True)
        _remove_files(work, kept)
        _remove_replacement(work)
    except OSError as error:
        raise MwSError(f"{work}: cannot be written ({error.strerror}); choose another output") from error
    write_manifest(work, manifest)


def write_manifest(work: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest, with the total numbers of documents, tokens and bytes."""
    shards: list[Shard] = manifest["shards"]
    totals = {
        "documents": sum(shard.documents for shard in shards),
        "tokens": sum(shard.tokens for shard in shards),
        "bytes": sum(shard.bytes for shard in shards),
    }
    rows = {**manifest, **totals, "shards": [shard._asdict() for shard in shards]}
    write_json(work / MANIFEST, rows)


def finish(work: Path, directory: Path, manifest: dict[str, Any]) -> None:
    """Complete the corpus in `work` and move it to `directory`.

    A run that is killed during the replacement leaves an unfinished corpus, which the same command encodes again.
    """
    if work != directory:
        write_manifest(work, {**manifest, "complete": True})
        try:
            write_manifest(directory, {**manifest, "shards": []})
            _remove_files(directory, kept=set())
            for shard in manifest["shards"]:
                os.replace(work / shard.file, directory / shard.file)
        except OSError as error:
            raise MwSError(f"{directory}: cannot be written ({error.strerror}); run the command again") from error
    write_dataset_files(directory, manifest["shards"], manifest["dtype"], _fingerprint(manifest))
    write_manifest(directory, {**manifest, "complete": True})
    _remove_files(directory, kept={*DATASET_FILES, *(shard.file for shard in manifest["shards"])})  # of killed runs
    if work != directory:
        _remove_replacement(directory)


def _fingerprint(manifest: dict[str, Any]) -> str:
    """Return a digest of the content, by which `datasets` finds cached results of `map`; it depends on every shard."""
    parts = [manifest["tokenizer"], *(shard.checksum for shard in manifest["shards"])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _remove_files(folder: Path, kept: set[str]) -> None:
    """Remove the files with names that this package gives to files, except those in `kept`."""
    for path in list(folder.iterdir()):
        if _REMOVABLE.fullmatch(path.name) and path.name not in kept:
            path.unlink()


def _remove_replacement(directory: Path) -> None:
    """Remove the folder in which the replacement of a corpus was written, unless it contains other files."""
    work = directory / REPLACEMENT
    if work.is_symlink() or not work.is_dir():
        return
    _remove_files(work, kept=set())
    (work / MANIFEST).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the folder contains other files
        work.rmdir()
