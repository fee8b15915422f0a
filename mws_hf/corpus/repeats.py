"""Find texts that would be used twice: a file given again, a copy under another name, a text beside its own counts."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Iterable
from glob import escape, glob

from mws_hf.corpus.counts_file import CountsFile, is_counts_file
from mws_hf.corpus.files import open_binary, read_blocks
from mws_hf.errors import MwSError

_HEAD = 1 << 16
_MOST = 5
_logger = logging.getLogger(__name__)


def warn_of_repeated(names: Iterable[str]) -> None:
    """Warn of files that hold one text; such a text is used as often as it is given.

    Two files hold one text if their unpacked content begins with the same 64 KiB, or if one holds counts that
    `mws count` made from the other. Standard input and pipes are not looked at.
    """
    found, seen = [], dict[str, str]()
    for name, times in Counter(map(os.path.normpath, names)).items():
        if times > 1:
            found.append(f"{name}: given {times} times, so its words count as often")
        other = next((seen[mark] for mark in marks_of(name) if mark in seen), None)
        if other is not None:
            found.append(f"{name}, {other}: begin alike or hold counts of one text, whose words then count twice")
        for mark in marks_of(name):
            seen.setdefault(mark, name)
    for message in found[:_MOST]:
        _logger.warning("%s", message)
    if len(found) > _MOST:
        _logger.warning("%d more files are given twice or hold a text that another one holds", len(found) - _MOST)


def text_marks(names: Iterable[str]) -> list[str]:
    """Return the marks of some files, sorted: what counts of them are saved with."""
    return sorted({mark for name in names for mark in marks_of(name)})


def marks_of(name: str) -> list[str]:
    """Return the mark of the content of a file, and for saved counts also the marks of the texts counted.

    An empty file, and all that cannot be read twice or at all, has none.
    """
    if os.path.isdir(name):  # of `save_to_disk`
        return [mark for file in sorted(glob(os.path.join(escape(name), "*.arrow")))[:1] for mark in marks_of(file)]
    if not os.path.isfile(name):
        return []
    try:
        with open_binary(name) as stream:
            head = next(read_blocks(stream, name, _HEAD), b"")
        counted = CountsFile.open(name).texts if is_counts_file(name) else []
    except MwSError:
        return []
    return [hashlib.blake2b(head, digest_size=8).hexdigest(), *counted] if head else []
