"""Write files and folders completely or not at all, and by only one run at a time.

A new file is flushed to the disk before it replaces an old one, so that a power failure leaves either the old or the
new file.
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
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from mws_hf.errors import MwSError

PathLike = str | os.PathLike[str]
Inputs = PathLike | Sequence[PathLike] | None

LOCK_TIMEOUT_SECONDS = 60.0
"""How long saving waits for another run that saves to the same folder, such as another process of a training."""

MAX_NAME_BYTES = 150
"""Maximum number of bytes of a name that the name of a hidden file repeats, because file systems allow only 255."""

_IN_USE = "in-use.lock"
"""The file in a temporary folder that its process locks."""


def _hidden_name(target: Path) -> str:
    """Return the beginning of the name of a hidden file next to `target`; a long name is shortened and gets its hash.

    >>> _hidden_name(Path("out/russian"))
    '.russian'
    """
    name = os.fsencode(target.name)
    if len(name) <= MAX_NAME_BYTES:
        return f".{target.name}"
    return f".{name[:MAX_NAME_BYTES].decode(errors='ignore')}.{hashlib.sha256(name).hexdigest()[:16]}"


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path; on success the file there replaces `path` in one step, and on an error it is removed.

    If `path` is a link, the file that it points to is replaced, and the link stays.

    Raises:
        MwSError: `path` is a folder, a device or a broken link, or cannot be written.
    """
    target = _written_file(path)
    temporary = target.parent / f"{_hidden_name(target)}.{secrets.token_hex(4)}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # with the usual mode of new files
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror}); choose a folder you may write to") from error
    try:
        yield temporary
        _flush_file(temporary)
        os.replace(temporary, target)
        _flush_folder(target.parent)
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)


def _written_file(path: str | os.PathLike[str]) -> Path:
    """Return the file that is replaced when `path` is written; raises MwSError if it is not a file."""
    check_name(path)
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if target.is_dir():
        raise MwSError(f"{path}: is a folder; give a file to write")
    check_not_broken_link(target, _OTHER_OUTPUT)
    if target.exists() and not target.is_file():
        raise MwSError(f"{path}: is a device or a pipe; give a file to write")
    return target


def check_name(path: str | os.PathLike[str]) -> None:
    r"""Raise MwSError for a name that no file can have, because it contains a NUL or cannot be encoded.

    Python raises ValueError for such names, and only when it uses them.

    >>> check_name("out/a\0b")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: out/a\u0000b: no file can have this name, because it contains a NUL; choose another name
    """
    try:
        problem = "contains a NUL" if b"\0" in os.fsencode(path) else None
    except UnicodeEncodeError:
        problem = "contains characters that cannot be encoded"
    if problem is not None:
        raise MwSError(f"{os.fspath(path)}: no file can have this name, because it {problem}; choose another name")


_OTHER_OUTPUT = "remove it, or choose another output"


def check_not_broken_link(path: PathLike, advice: str = "remove it, or restore its file") -> None:
    """Raise MwSError if a path is a link to nothing, or one of several links that point to each other.

    Args:
        path: the file or folder that will be read or written.
        advice: what to do, at the end of the message; the default is for inputs.
    """
    if os.path.islink(path) and not os.path.exists(path):
        raise MwSError(f"{path}: is a broken link; {advice}")


def check_not_overwriting(outputs: Iterable[PathLike], *inputs: Inputs) -> None:
    """Raise MwSError if an output is the same file or folder as an input, even under another name or through a link.

    Args:
        outputs: the paths that will be written; they need not exist.
        *inputs: paths, globs or "-", lists of these, and None for options that were not given.
    """
    existing = {found for path in outputs if (found := _identity(path))}
    for given in inputs:
        for name in [given] if isinstance(given, (str, os.PathLike)) else given or []:
            text = os.fspath(name)
            for path in [text] if os.path.exists(text) else glob.glob(text, recursive=True) if existing else []:
                if _identity(path) in existing:
                    raise MwSError(f"{path}: is an input and would be overwritten; choose another output")


def _identity(path: PathLike) -> tuple[int, int] | None:
    """Return device and inode, which are equal for two names of one file; None if the file does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def check_output(path: str | os.PathLike[str], *, folder: bool) -> None:
    """Raise MwSError if a file or a folder cannot be written; call it before the work whose result is written.

    Nothing is created.

    Args:
        path: the file or folder.
        folder: whether a folder will be written; otherwise it is a file.
    """
    check_name(path)
    target = Path(path)
    try:
        target = target if folder else _written_file(path)
        check_not_broken_link(target, _OTHER_OUTPUT)
        if folder and target.is_file():
            raise MwSError(f"{target}: is a file; give a folder to write")
        place = target if folder else target.absolute().parent
        while not place.exists():
            place = place.absolute().parent
        with tempfile.TemporaryFile(dir=place):  # the only reliable test; on most systems this file has no name
            pass
    except OSError as error:
        raise MwSError(f"{target}: cannot be written ({error.strerror}); choose a folder you may write to") from error


def json_text(value: Any, indent: int | None = None, sort_keys: bool = False) -> str:
    """Return a value as JSON, with null instead of NaN and infinity; characters beyond ASCII are not escaped.

    >>> json_text({"\u0436": [float("nan"), 1]})
    '{"ж": [null, 1]}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys, allow_nan=False)
    except ValueError:
        plain = json.loads(json.dumps(value), parse_constant=lambda _: None)
        return json.dumps(plain, ensure_ascii=False, indent=indent, sort_keys=sort_keys)


def write_json(path: str | os.PathLike[str], value: Any, indent: int | None = 1, end: str = "\n") -> None:
    """Write a value as JSON, followed by `end`, completely or not at all.

    Raises:
        MwSError: the file cannot be written.
    """
    write_text(path, json_text(value, indent) + end)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    r"""Write a text as UTF-8, completely or not at all.

    A lone surrogate, which is how Python represents a byte of a file name that is not UTF-8, is written as an escape
    such as ``\udcff``, which a JSON parser reads.

    Raises:
        MwSError: the file cannot be written.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


@contextlib.contextmanager
def output_lock(directory: str | os.PathLike[str], timeout: float = 0) -> Iterator[None]:
    """Lock a folder, which need not exist, so that no other run writes to it.

    All links to a folder share its lock, and the same thread may take the lock again. The lock belongs to the operating
    system (library `filelock`), so that it ends with a killed process. Its file is next to the folder and is removed at
    the end; a killed process leaves an empty file, which does no harm.

    Args:
        directory: the folder.
        timeout: the time in seconds to wait for another run.

    Raises:
        MwSError: another run is writing to the folder, or the folder cannot be written.
    """
    check_name(directory)
    target = Path(os.path.realpath(directory))  # `resolve` raises at a loop of links
    if target.is_dir() and not os.access(target.parent, os.W_OK):
        target = target / "directory"  # for example a mounted volume, where the lock's file must be inside
    file = target.parent / f"{_hidden_name(target)}.lock"
    absent = [parent for parent in target.parents if not parent.exists()]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = _acquired(file, timeout)
    except Timeout as error:
        raise MwSError(f"{directory}: another run is writing there; wait for it, or choose another output") from error
    except OSError as error:
        raise MwSError(f"{directory}: cannot be written ({error.strerror or error}); choose another output") from error
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            with contextlib.suppress(OSError):  # before the release; later, it might be the file of another run's lock
                os.unlink(lock.lock_file)
        lock.release()
        for parent in absent:
            with contextlib.suppress(OSError):  # removes the folders that a failed run created, if they are empty
                parent.rmdir()


def _acquired(file: Path, timeout: float) -> BaseFileLock:
    """Lock a file by the operating system; if the file system has no locks, the existence of a file is the lock."""
    try:
        lock: BaseFileLock = FileLock(file, is_singleton=True)
        lock.acquire(timeout=timeout)
    except OSError as error:
        if isinstance(error, Timeout) or error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        file.unlink(missing_ok=True)
        lock = SoftFileLock(file.with_suffix(".softlock"), is_singleton=True)
        lock.acquire(timeout=timeout)
    return lock


@contextlib.contextmanager
def staged(directory: Path, stale: Collection[str] = (), head: str = "tokenizer.json") -> Iterator[Path]:
    """Yield an empty folder; on success its files replace those of `directory`, and on an error nothing changes.

    A new folder appears in one step. In an existing folder the changed files are replaced at the end. Meanwhile `head`
    is absent, so that a process that is killed at this moment leaves a folder that cannot be loaded, and not a mixture
    of old and new files. If a replacement fails, the old files are restored. Links inside the folder are replaced and
    not followed. The folder is locked; if another run is saving to it, this run waits for up to `LOCK_TIMEOUT_SECONDS`.

    Args:
        directory: the folder that the files are moved to.
        stale: globs of older files that would contradict the new ones; they are removed unless they are written again.
        head: the file without which the folder cannot be loaded.

    Raises:
        MwSError: the folder is a file or cannot be written, or another run does not finish writing to it.
    """
    if directory.exists() and not directory.is_dir():
        raise MwSError(f"{directory}: is a file; give a folder to save in")
    stage = None
    with output_lock(directory, LOCK_TIMEOUT_SECONDS):
        try:
            home = directory if directory.is_dir() else directory.parent
            home.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(home, _hidden_name(directory))
            stage = home / f"{_hidden_name(directory)}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
            stage.mkdir()
            yield stage
            if directory.is_dir():
                _replace(stage, directory, stale, head)
            else:
                for path in [*stage.rglob("*"), stage]:
                    if path.is_dir():
                        _flush_folder(path)
                    else:
                        _flush_file(path)
                stage.rename(directory)
                _flush_folder(home)
        except MwSError as error:
            error.args = (str(error).replace(str(stage), str(directory)),)
            raise
        except OSError as error:
            reason = error.strerror or error
            raise MwSError(f"{directory}: cannot be written ({reason}); choose another folder") from error
        finally:
            if stage is not None:
                shutil.rmtree(stage, ignore_errors=True)


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder for temporary files, which is removed at the end; set TMPDIR to choose where it is.

    Folders with the same prefix that killed processes left (SIGKILL, out of memory) are removed first. A folder is in
    use while its process holds the lock on a file in it. A file system without locks keeps what killed processes left.
    """
    for leftover in Path(tempfile.gettempdir()).glob(f"{glob.escape(prefix)}*"):
        if _is_abandoned(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        lock = FileLock(Path(name, _IN_USE))
        with contextlib.suppress(OSError):
            lock.acquire(timeout=0)
        try:
            yield Path(name)
        finally:
            lock.release()


def _is_abandoned(folder: Path) -> bool:
    """Return whether no process has the lock of a temporary folder that is at least a minute old."""
    try:
        if not (folder / _IN_USE).is_file() or time.time() - folder.stat().st_mtime < 60:  # perhaps not locked yet
            return False
        with FileLock(folder / _IN_USE, timeout=0):
            return True
    except OSError:  # locked, of another user, removed meanwhile, or on a file system without locks
        return False


def _remove_leftovers(home: Path, begin: str) -> None:
    """Remove temporary folders of killed processes that are at least an hour old; younger ones may be in use."""
    for leftover in home.glob(f"{glob.escape(begin)}.*-*.tmp"):
        if leftover.is_dir() and time.time() - leftover.stat().st_mtime > 3600:
            shutil.rmtree(leftover, ignore_errors=True)
            # the lock of a folder that was saved inside `staged`
            (home / f"{_hidden_name(leftover)}.lock").unlink(missing_ok=True)


def _replace(stage: Path, directory: Path, stale: Collection[str], head: str) -> None:
    """Remove stale files and replace files that differ, or restore all of them if this fails.

    Equal files are not touched, so that the replacement takes little time. Links to files and folders are replaced and
    not followed, so that nothing outside the folder changes.
    """
    new = sorted(path.relative_to(stage) for path in stage.rglob("*") if path.is_file())
    old = {path.relative_to(directory) for pattern in stale for path in directory.glob(pattern)}.difference(new)
    links = {name: link for name in [*old, *new] if (link := _linked_folder(directory, name)) is not None}
    old = {name for name in old if name not in links}.union(links.values())
    _, differing, absent = filecmp.cmpfiles(stage, directory, map(str, new), shallow=False)
    changed = sorted({*map(Path, (*differing, *absent)), *links}.intersection(new))
    for name in [*old, *changed]:
        if (directory / name).is_dir() and not (directory / name).is_symlink():
            raise MwSError(f"{directory / name}: is a folder where a file belongs; remove it, or choose another folder")
    for name in changed:
        _flush_file(stage / name)  # before the first one is moved, because flushing takes longest
    if len(old) + len(changed) > 1:
        _exchange(stage, directory, old, changed, Path(head))
    else:
        for name in old:
            (directory / name).unlink()
        for name in changed:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / name, directory / name)
    for folder in {(directory / name).parent for name in [*old, *changed]}:
        _flush_folder(folder)


def _linked_folder(directory: Path, name: Path) -> Path | None:
    """Return the first folder on the way to a file inside a directory that is a link, or None."""
    folders = [folder for folder in reversed(name.parents) if folder != Path()]
    return next((folder for folder in folders if (directory / folder).is_symlink()), None)


def _exchange(stage: Path, directory: Path, old: Collection[Path], changed: list[Path], head: Path) -> None:
    """Move the old files to a temporary folder, then the new files in, the head last; if this fails, undo all moves."""
    aside = stage.with_name(f"{stage.name.removesuffix('.tmp')}-old.tmp")
    moved: list[tuple[Path, Path]] = []  # where each file is, and where it was
    made: list[Path] = []

    def move(source: Path, target: Path) -> None:
        made.extend(folder for folder in reversed(target.parents) if not folder.exists())
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(source, target)
        moved.append((target, source))

    staged_head = [head] if (stage / head).is_file() else []  # is removed first and moved in last, even if it is equal
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
            with contextlib.suppress(OSError):  # a folder that another program uses by now stays
                folder.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)  # not after a failure, because it may contain a file that was not restored


def _flush_file(file: Path) -> None:
    """Flush the content of a file to the disk, so that it survives a power failure."""
    descriptor = os.open(file, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # copies may be read-only
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    """Flush the names of a folder to the disk, if the system supports it; Windows and some disks do not."""
    with contextlib.suppress(OSError):
        _flush_file(folder)
