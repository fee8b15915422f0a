"""Follow names and links inside a folder that somebody else wrote only to files inside that folder.

This applies to names in files, such as a shard in a model's index, and to links among the files. Links may also lead to
the Hub's cache, whose folders consist of links. Without this rule, a folder could make a command copy or overwrite
other files of the user.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from mws_hf.errors import MwSError, printable

_PACKAGE = Path(__file__).resolve().parents[1]


def file_inside(directory: str | os.PathLike[str], name: object) -> Path:
    """Return the path of a file in a folder, after checking that it leads to a regular file inside.

    Use it for every name that a file of the folder gives, and before the content of a file is copied.

    Args:
        directory: the folder of a tokenizer or a model, perhaps in the Hub's cache.
        name: the path relative to the folder, which may be in a subfolder; any value that a JSON file may have.

    Raises:
        MwSError: the name is not a relative path inside the folder, the file is missing or is not a regular file,
            or it is a link to a place that is neither inside the folder nor inside the Hub's cache.

    >>> file_inside("out/model", "../mine/model.safetensors")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: out/model: '../mine/model.safetensors' leads out of the folder; correct the name
    """
    shown = f"{printable(directory)}: {printable(name)!r}"
    if not isinstance(name, str | os.PathLike) or not _can_be_a_name(os.fspath(name)):
        raise MwSError(f"{shown} is not the name of a file; correct the name")
    relative = Path(name)
    if relative.is_absolute() or relative.drive or ".." in relative.parts:
        raise MwSError(f"{shown} leads out of the folder; correct the name")
    file = Path(directory) / relative
    home, target = Path(os.path.realpath(directory)), Path(os.path.realpath(file))
    if not any(target.is_relative_to(trusted) for trusted in (home, *_repository(home))) and not _is_trusted(
        home, target
    ):
        raise MwSError(
            f"{printable(file)}: is a link to {printable(target)}, outside of the folder; if you trust it, put a "
            "copy of that file in its place"
        )
    if not target.is_file():
        kind = "is not a regular file" if target.exists() else "is missing"
        raise MwSError(f"{printable(file)}: {kind}; fetch or save the folder again")
    return file


def _can_be_a_name(name: str) -> bool:
    """Return whether a text can be the path of a file: not empty, without NUL and lone surrogates, no part too long."""
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return bool(encoded) and b"\0" not in encoded and all(len(part) < 256 for part in encoded.split(b"/"))


def copy_inside(directory: str | os.PathLike[str], name: object, output: Path) -> None:
    """Copy a file of a folder to the same relative path in another folder, after the check of `file_inside`.

    Args:
        directory: the folder of the file.
        name: the path relative to the folder.
        output: the other folder; folders in it are created as needed.

    Raises:
        MwSError: `file_inside` does not allow it.
    """
    source = file_inside(directory, name)
    target = output / source.relative_to(directory)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _repository(home: Path) -> list[Path]:
    """Return the folder of a repository in the Hub's cache, ``models--USER--NAME``, that a snapshot belongs to."""
    return [
        folder.parent
        for folder in (home, *home.parents)
        if folder.name == "snapshots" and folder.parent.name.startswith("models--")
    ][:1]


def _is_trusted(home: Path, target: Path) -> bool:
    """Return whether a file is in the Hub's cache, or belongs to this package, which some installers link."""
    if home.is_relative_to(_PACKAGE):
        return True
    from huggingface_hub import constants

    return target.is_relative_to(os.path.realpath(constants.HF_HUB_CACHE))
