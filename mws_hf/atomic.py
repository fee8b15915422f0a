"""Write files and directories whole or not at all, and by one run at a time.

A new file is on the disk before it replaces an old one, so that a machine that loses its power has one or the other.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import glob
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from mws_hf.errors import MwSError

PATIENCE = 60.0
"""Seconds that a save waits for another one of the same directory, such as that of another process of a training."""

_LONGEST = 150
"""Bytes of a name that are repeated in the names beside it, for file systems take 255."""


def _beside(target: Path) -> str:
    """Begin the name of a hidden file that lies beside `target`; that of a long name holds its hash.

    >>> _beside(Path("out/russian"))
    '.russian'
    """
    name = os.fsencode(target.name)
    if len(name) <= _LONGEST:
        return f".{target.name}"
    return f".{name[:_LONGEST].decode(errors='ignore')}.{hashlib.sha256(name).hexdigest()[:16]}"


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it replaces `path` in one step, on any error it is removed.

    A link stays a link, and the file that it leads to is replaced.
    """
    target = _written_file(path)
    temporary = target.parent / f"{_beside(target)}.{secrets.token_hex(4)}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # the mode any new file gets
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror}); choose a folder you may write to") from error
    try:
        yield temporary
        _to_disk(temporary)
        os.replace(temporary, target)
        _entries_to_disk(target.parent)
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)


def _written_file(path: str | os.PathLike[str]) -> Path:
    """Return the file that is replaced when `path` is written; raises MwSError where that is no file."""
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if target.is_dir():
        raise MwSError(f"{path}: is a folder; name a file to write")
    if target.is_symlink():
        raise MwSError(f"{path}: is a link that leads nowhere; remove it, or name another output")
    if target.exists() and not target.is_file():
        raise MwSError(f"{path}: is a device or a pipe; name a file to write")
    return target


def check_output(path: str | os.PathLike[str], *, folder: bool) -> None:
    """Check, before any work, that a file or a folder can be written; nothing is made."""
    target = Path(path)
    try:
        target = target if folder else _written_file(path)
        if folder and target.is_symlink() and not target.exists():
            raise MwSError(f"{target}: is a link that leads nowhere; remove it, or name another output")
        if folder and target.is_file():
            raise MwSError(f"{target}: is a file; name a directory to write")
        place = target if folder else target.absolute().parent
        while not place.exists():
            place = place.absolute().parent
        with tempfile.TemporaryFile(dir=place):  # the only sure test, and it has no name where the system allows that
            pass
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror}); choose a folder you may write to") from error


def json_text(value: Any, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return JSON with null for NaN and infinity, which JSON does not have, and with characters as they are.

    >>> json_text({"\u0436": [float("nan"), 1]})
    '{"ж": [null, 1]}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys, allow_nan=False)
    except ValueError:
        plain = json.loads(json.dumps(value), parse_constant=lambda _: None)
        return json.dumps(plain, ensure_ascii=False, indent=indent, sort_keys=sort_keys)


def write_json(path: str | os.PathLike[str], value: Any, indent: int | None = 1, end: str = "\n") -> None:
    """Write a value as JSON, and a line end after it, atomically."""
    write_text(path, json_text(value, indent) + end)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` as UTF-8, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def output_lock(directory: str | os.PathLike[str], patience: float = 0) -> Iterator[None]:
    """Hold `directory`, made already or not, against every other run that writes it. Links share the lock.

    The lock is the operating system's (the `filelock` library), so that a killed run holds nothing. Its file lies
    beside the directory and is removed at the end; a killed run leaves it behind, empty and harmless. The same thread
    may take the lock again. Another run is waited for as long as `patience` says, in seconds.
    """
    target = Path(os.path.realpath(directory))  # `resolve` raises at a loop of links
    if target.is_dir() and not os.access(target.parent, os.W_OK):
        target = target / "directory"  # such as a mounted volume: the lock's file can only lie inside
    file = target.parent / f"{_beside(target)}.lock"
    absent = [parent for parent in target.parents if not parent.exists()]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = _acquired(file, patience)
    except Timeout as error:
        raise MwSError(f"{directory}: another run is writing there; wait for it, or name another output") from error
    except OSError as error:
        raise MwSError(f"{directory}: cannot be written ({error.strerror or error}); name another output") from error
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            with contextlib.suppress(OSError):  # while still held, or a third run could lock a file of the same name
                os.unlink(lock.lock_file)
        lock.release()
        for parent in absent:
            with contextlib.suppress(OSError):  # a run that failed leaves no folders; full ones cannot be removed
                parent.rmdir()


def _acquired(file: Path, patience: float) -> BaseFileLock:
    """Take the system's lock on a file, or one by a file of its own where the file system has no locks."""
    try:
        lock: BaseFileLock = FileLock(file, is_singleton=True)
        lock.acquire(timeout=patience)
    except OSError as error:
        if isinstance(error, Timeout) or error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        file.unlink(missing_ok=True)
        lock = SoftFileLock(file.with_suffix(".softlock"), is_singleton=True)
        lock.acquire(timeout=patience)
    return lock


@contextlib.contextmanager
def staged(directory: Path, stale: Collection[str] = (), head: str = "tokenizer.json") -> Iterator[Path]:
    """Yield an empty folder; on success its files replace those of `directory`, on any error nothing changes.

    A new directory appears in one step. In an existing one the changed files are replaced at the end, while `head` is
    absent: a run killed in that moment leaves a directory that nothing loads, never half old and half new. If a
    replacement fails, the old files are put back. Links inside the directory are replaced as links, never followed.
    The directory is locked against other writers meanwhile; another save that is at work is waited for.

    Args:
        directory: where the files go.
        stale: globs of files that would contradict the new ones, and go unless written anew.
        head: the file that whoever reads the directory cannot do without.
    """
    if directory.exists() and not directory.is_dir():
        raise MwSError(f"{directory}: is a file; name a directory to save in")
    stage = None
    with output_lock(directory, PATIENCE):
        try:
            home = directory if directory.is_dir() else directory.parent
            home.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(home, _beside(directory))
            stage = home / f"{_beside(directory)}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
            stage.mkdir()
            yield stage
            if directory.is_dir():
                _replace(stage, directory, stale, head)
            else:
                for path in [*stage.rglob("*"), stage]:
                    if path.is_dir():
                        _entries_to_disk(path)
                    else:
                        _to_disk(path)
                stage.rename(directory)
                _entries_to_disk(home)
        except OSError as error:
            reason = error.strerror or error
            raise MwSError(f"{directory}: cannot be written ({reason}); name another directory") from error
        finally:
            if stage is not None:
                shutil.rmtree(stage, ignore_errors=True)


def _remove_leftovers(home: Path, begin: str) -> None:
    """Remove folders that killed savers left an hour ago or longer; younger ones may be in use."""
    for leftover in home.glob(f"{glob.escape(begin)}.*-*.tmp"):
        if leftover.is_dir() and time.time() - leftover.stat().st_mtime > 3600:
            shutil.rmtree(leftover, ignore_errors=True)


def _replace(stage: Path, directory: Path, stale: Collection[str], head: str) -> None:
    """Move aside what is stale, move in what differs, and put everything back if that fails.

    Equal files are left alone, which keeps the moment short. A link is replaced as a link: neither it nor a linked
    folder is followed, so that nothing outside the directory changes.
    """
    new = sorted(path.relative_to(stage) for path in stage.rglob("*") if path.is_file())
    old = {path.relative_to(directory) for pattern in stale for path in directory.glob(pattern)}.difference(new)
    links = {name: link for name in [*old, *new] if (link := _linked_folder(directory, name)) is not None}
    old = {name for name in old if name not in links}.union(links.values())
    _, differing, absent = filecmp.cmpfiles(stage, directory, map(str, new), shallow=False)
    changed = sorted({*map(Path, (*differing, *absent)), *links}.intersection(new))
    for name in [*old, *changed]:
        if (directory / name).is_dir() and not (directory / name).is_symlink():
            raise MwSError(
                f"{directory / name}: is a folder where a file belongs; remove it, or name another directory"
            )
    for name in changed:
        _to_disk(stage / name)  # all before the first is moved, for it takes longest
    if len(old) + len(changed) > 1:
        _exchange(stage, directory, old, changed, Path(head))
    else:
        for name in old:
            (directory / name).unlink()
        for name in changed:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / name, directory / name)
    for folder in {(directory / name).parent for name in [*old, *changed]}:
        _entries_to_disk(folder)


def _linked_folder(directory: Path, name: Path) -> Path | None:
    """Return the first folder on the way to a file inside a directory that is a link, or None."""
    folders = [folder for folder in reversed(name.parents) if folder != Path()]
    return next((folder for folder in folders if (directory / folder).is_symlink()), None)


def _exchange(stage: Path, directory: Path, old: Collection[Path], changed: list[Path], head: Path) -> None:
    """Move old files aside and new ones in, the head last, or leave everything as it was if one move fails."""
    aside = stage.with_name(f"{stage.name.removesuffix('.tmp')}-old.tmp")
    moved: list[tuple[Path, Path]] = []  # where each file is, and where it was
    made: list[Path] = []

    def move(source: Path, target: Path) -> None:
        made.extend(folder for folder in reversed(target.parents) if not folder.exists())
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(source, target)
        moved.append((target, source))

    staged_head = [head] if (stage / head).is_file() else []  # it leaves first and comes last, equal or not
    others = [name for name in changed if name != head]
    try:
        for name in [*staged_head, *old, *others]:
            if os.path.lexists(directory / name):
                move(directory / name, aside / name)
        for name in [*others, *staged_head]:
            move(stage / name, directory / name)
    except BaseException:
        for now, before in reversed(moved):
            with contextlib.suppress(OSError):
                os.replace(now, before)
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # those that others use by now stay
                folder.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)  # not after a failure: a file that could not be put back is still there


def _to_disk(file: Path) -> None:
    """Have the system write a file's content, before a name points to it."""
    descriptor = os.open(file, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # copies may be read-only
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _entries_to_disk(folder: Path) -> None:
    """Have the system write the names in a folder, where it can: Windows opens no folders, some disks refuse."""
    with contextlib.suppress(OSError):
        _to_disk(folder)
