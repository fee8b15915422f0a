"""Which documents a language model trains on and which are held out; no tokenizer is involved.

Documents are put in order by a digest of their own text. So the split depends on neither files nor their order, a
larger budget only adds documents, and no document stands on both sides.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mws_hf.errors import MwSError
from mws_hf.evaluate.running_text import read_lines


@dataclass(frozen=True)
class Split:
    """Documents of one experiment.

    Attributes:
        train: in the order of their digests, up to the budget.
        held_out: never trained on, distinct from all of `train`.
        pool: all documents that are not held out, the rest of the corpus included: what tokenizers learn from.
    """

    train: list[str]
    held_out: list[str]
    pool: list[str]


def read_documents(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Lines of UTF-8 text files (.gz allowed), a document each; empty lines are left out.

    Raises:
        MwSError: a file cannot be read or is not UTF-8, or there is no document in them.
    """
    documents = [line for path in paths for line in read_lines(path)]
    if not documents:
        raise MwSError(
            f"{', '.join(map(str, paths)) or 'no files'}: no line of text; give a file with one document a line"
        )
    return documents


def split_documents(documents: Iterable[str], train_bytes: int | None, held_out_bytes: int) -> Split:
    """Take distinct documents in the order of their digests: first those held out, then those to train on.

    Args:
        documents: any order; duplicates count once.
        train_bytes: UTF-8 bytes to train on, at least (the last document is not cut); None: all.
        held_out_bytes: UTF-8 bytes to hold out, at least.

    Raises:
        MwSError: the corpus is smaller than both together.

    >>> split = split_documents(["a", "b", "c", "a"], train_bytes=1, held_out_bytes=1)
    >>> len(split.train), len(split.held_out), len(split.pool)
    (1, 1, 2)
    """
    distinct = {_digest(document): document for document in documents}
    ordered = [distinct[key] for key in sorted(distinct)]
    n_held_out = _reaching(ordered, held_out_bytes)
    pool = ordered[n_held_out:]
    n_train = len(pool) if train_bytes is None else _reaching(pool, train_bytes)
    if n_train == 0:
        raise MwSError("the corpus has no documents left to train on; give more text or hold out less")
    return Split(pool[:n_train], ordered[:n_held_out], pool)


def shuffled(documents: Sequence[str], seed: int) -> list[str]:
    """The documents in an order that depends on the seed and their text alone, equal for every tokenizer."""
    salt = seed.to_bytes(8, "little")
    return sorted(documents, key=lambda document: _digest(document, salt))


def _digest(document: str, salt: bytes = b"") -> bytes:
    return hashlib.blake2b(document.encode(), digest_size=16, salt=salt).digest()


def _reaching(documents: Sequence[str], size: int) -> int:
    """How many first documents hold `size` bytes."""
    total = 0
    for index, document in enumerate(documents):
        if total >= size:
            return index
        total += len(document.encode())
    if total < size:
        raise MwSError(f"the corpus holds {total} bytes where {size} are asked for; give more text or a smaller budget")
    return len(documents)
