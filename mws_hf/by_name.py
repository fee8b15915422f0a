"""Load the trained tokenizers of this project by name, or write them into a folder; the Hub is one of the sources."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mws_hf.tokenizer.hub import folder_of, ready_made, snapshot, write_folder

if TYPE_CHECKING:
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast

_HUB = "hub:"


def pretrained(name: str, source: str | os.PathLike[str] | None = None) -> MwSTokenizerFast:
    """Load a trained tokenizer of this project by name.

    Args:
        name: such as "mws-ru-32k"; `mws pretrained` lists them.
        source: the folder, archive or Hub user to take the tokenizer from; see `pretrained_folder`.

    Raises:
        MwSError: there is no such tokenizer, the source lacks it, or its files differ from the released ones.
    """
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast  # only now, for transformers takes seconds

    loaded: MwSTokenizerFast = MwSTokenizerFast.from_pretrained(pretrained_folder(name, source))
    return loaded


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
    if source is not None and os.fspath(source).startswith(_HUB) and name in ready_made():
        source = snapshot(f"{os.fspath(source).removeprefix(_HUB)}/{name}")
    return folder_of(name, source)


def write_pretrained(name: str, output: str | os.PathLike[str], source: str | os.PathLike[str] | None = None) -> Path:
    """Copy a trained tokenizer of this project into a folder, whole or not at all; see `pretrained_folder`."""
    write_folder(name, pretrained_folder(name, source), Path(output))
    return Path(output)
