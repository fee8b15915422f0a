"""Warn of texts that are given more than once, which would be counted more than once."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Iterable

from mws_hf.corpus.counts_file import CountsFile, is_counts_file
from mws_hf.corpus.files import STDIN, Reading
from mws_hf.corpus.kinds import kind_of
from mws_hf.corpus.octets import stored_head
from mws_hf.errors import MwSError

_MAX_WARNINGS = 5  # warnings about texts that are used twice
_logger = logging.getLogger(__name__)


def warn_of_repeated(names: Iterable[str], how: Reading) -> None:
    """Warn of texts that are given more than once, and of empty files.

    Two files are assumed to contain the same text if their unpacked content begins with the same 64 KiB, or if one
    contains counts that `mws count` made from the other. Standard input and pipes are not examined.
    """
    found, seen = list[str](), dict[str, str]()
    for name, times in Counter(os.path.normpath(name) for name in names if name != STDIN).items():
        if times > 1:
            found.append(f"{name}: is given {times} times, so its words count {times} times")
        if os.path.isfile(name) and not os.path.getsize(name):
            found.append(f"{name}: is empty")
        marks = text_digests(name, how)
        other = next((seen[mark] for mark in marks if mark in seen), None)
        if other is not None:
            found.append(
                f"{name}, {other}: begin in the same way, or contain counts of the same text, so its words count twice"
            )
        for mark in marks:
            seen.setdefault(mark, name)
    for message in found[:_MAX_WARNINGS]:
        _logger.warning("%s", message)
    if len(found) > _MAX_WARNINGS:
        _logger.warning(
            "%d more files are empty, are given twice or contain the text of another file", len(found) - _MAX_WARNINGS
        )


def text_digests(name: str, how: Reading) -> list[str]:
    """Return the digest of the first bytes of a file, and for saved counts also the digests of the counted texts.

    The list is empty for an empty file, and for a file that cannot be read twice or at all.
    """
    if not os.path.exists(name) or not (os.path.isfile(name) or os.path.isdir(name)):
        return []
    try:
        counted = CountsFile.open(name).texts if is_counts_file(name) else None
        head = stored_head(name) if counted is not None else kind_of(name, how).head()
    except (MwSError, OSError):
        return []
    return [hashlib.blake2b(head, digest_size=8).hexdigest(), *(counted or [])] if head else []
