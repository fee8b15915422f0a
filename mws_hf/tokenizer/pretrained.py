"""The trained tokenizers of this project, which travel in the wheel and lie in `model_cards/` of a checkout.

`ready_made.json` beside this module names them with their figures and the SHA-256 of their files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mws_hf.atomic import staged
from mws_hf.errors import MwSError

INDEX = Path(__file__).with_name("ready_made.json")
_PLACES = (Path(__file__).parent.parent / "model_cards", Path(__file__).parent.parent.parent / "model_cards")
BESIDE = next((folder for folder in _PLACES if folder.is_dir()), _PLACES[0])
"""The folders of the tokenizers: inside the package where a wheel was installed, or in the checkout."""


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


def pretrained_folder(name: str) -> Path:
    """Return the folder of a trained tokenizer of this project, such as "mws-ru-32k", its files checked.

    Raises:
        MwSError: there is no such tokenizer, or its files are not those of the release.
    """
    return _checked(name)[0]


def write_pretrained(name: str, output: Path) -> None:
    """Copy a tokenizer of this project into a folder, whole or not at all, its files checked."""
    _, files = _checked(name)
    with staged(output) as stage:
        for file, content in files.items():
            (stage / file).write_bytes(content)


def text_digest(content: bytes) -> str:
    """Return the SHA-256 of a text file, the same for the line ends of every system."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def _checked(name: str) -> tuple[Path, dict[str, bytes]]:
    """Return a tokenizer's folder and the content of its files, all there and unchanged."""
    if name not in ready_made():
        raise MwSError(f"{name}: no tokenizer of this project has that name; choose one of {', '.join(ready_made())}")
    folder, files = BESIDE / name, dict[str, bytes]()
    for file, digest in ready_made()[name].files.items():
        if not (folder / file).is_file():
            raise MwSError(f"{folder / file}: is missing; install mws_hf from its wheel or from a whole checkout")
        files[file] = (folder / file).read_bytes()
        if text_digest(files[file]) != digest:
            raise MwSError(
                f"{folder / file}: not the file that this version of mws_hf was released with; install it again, or "
                "load the folder itself if it was changed on purpose"
            )
    return folder, files
