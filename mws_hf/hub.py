"""Which names may be asked of the Hub, and whether it answers; nothing is downloaded here."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mws_hf.errors import MissingTokenizerError

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_PATIENCE = 5.0
"""Seconds that the Hub has for its first answer; transformers itself tries six times for each of its files."""


def is_repository(name: str) -> bool:
    """Whether a name has the form ``user/repo`` and its first part is no local folder.

    >>> is_repository("user/repo"), is_repository("./repo"), is_repository("my-tokenizer"), is_repository("a/b/c")
    (True, False, False, False)
    """
    return _REPOSITORY.fullmatch(name) is not None and not Path(name).parent.exists()


def refuse_unreachable(name: str | os.PathLike[str], *, ask_hub: bool = True) -> bool:
    """Say at once that a tokenizer cannot be found, before transformers begins to try.

    Args:
        name: a path, or the name of a Hub repository.
        ask_hub: False where only the local cache is to be used.

    Returns:
        Whether the Hub must be left alone, because it does not answer or is not to be asked.

    Raises:
        MissingTokenizerError: `name` is no local path and has not the form ``user/repo``.
    """
    if Path(name).exists():
        return False
    if not is_repository(str(name)):
        raise MissingTokenizerError(
            f"{name}: no such directory; give one written by save_pretrained, or a Hub name of the form user/repo"
        )
    return not ask_hub or not answers()


def absent_from_hub(name: str | os.PathLike[str]) -> MissingTokenizerError:
    """The error for a repository that is not in the cache while the Hub does not answer."""
    from huggingface_hub import constants

    return MissingTokenizerError(
        f"{name}: no such directory, and as a Hub name it is not in the cache while {constants.ENDPOINT} does not "
        "answer; check the path or the network"
    )


def answers() -> bool:
    """Whether the Hub answers at all, asked once; never while HF_HUB_OFFLINE is set."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
    except Exception:  # requests or httpx, by version; whatever it is, there is no answer
        return False
    return True
