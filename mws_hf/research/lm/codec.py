"""A tokenizer directory as a language model sees it: documents to ids, the raw bytes of every id, losslessness."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.extend.spelling import raw_bytes
from mws_hf.kernels.arrays import Longs, Mask
from mws_hf.tokenizer.backend import without_limits
from mws_hf.tokenizer.file import CONFIG_FILE, load_backend, load_settings, token_of

_BATCH = 4096


@dataclass(frozen=True)
class Codec:
    """The parts of a tokenizer that training and evaluation need.

    Attributes:
        directory: the directory it was read from.
        backend: the Rust tokenizer, without truncation, padding or special treatment of special tokens in text.
        pieces: raw bytes of each id; empty for special tokens.
        lengths: int64 (ids,), length in bytes of each piece.
        separator: id of the end-of-sequence token: it starts every stream and ends every document.
        padding: id of the padding token; the separator when there is none (padded places never count).
    """

    directory: Path
    backend: Tokenizer
    pieces: list[bytes]
    lengths: Longs
    separator: int
    padding: int

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Codec:
        """Read a directory with tokenizer.json; raises MwSError where there is none, or no end-of-sequence token."""
        path = Path(directory)
        if not (path / "tokenizer.json").is_file():
            raise MwSError(f"{path}: no tokenizer.json there; train one with: mws train --output {path}")
        original, end = load_backend(path)
        backend = without_limits(original)
        backend.encode_special_tokens = True
        separator = backend.token_to_id(end) if end else None
        if separator is None:
            raise MwSError(f"{path}: no eos_token in tokenizer_config.json; a language model ends documents with it")
        # the file is there, for it named the end-of-sequence token
        config = path / CONFIG_FILE
        padding = backend.token_to_id(token_of(load_settings(config), "pad_token", config) or "")
        pieces = raw_bytes(backend)
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        return cls(path, backend, pieces, lengths, separator, separator if padding is None else padding)

    @property
    def vocabulary_size(self) -> int:
        """Ids from 0 to the largest."""
        return len(self.pieces)

    def encode(self, documents: Sequence[str]) -> list[Longs]:
        """Return the ids of each document, no separators; text that looks like a special token stays text."""
        batches = (list(documents[start : start + _BATCH]) for start in range(0, len(documents), _BATCH))
        return [
            np.array(item.ids, np.int64)
            for batch in batches
            for item in self.backend.encode_batch_fast(batch, add_special_tokens=False)
        ]

    def decode(self, documents: Sequence[Longs]) -> list[str]:
        """Return the text of each list of ids; special tokens are left out."""
        return [self.backend.decode(ids.tolist(), skip_special_tokens=True) for ids in documents]

    def represented(self, documents: Sequence[str]) -> Mask:
        """Apply the losslessness gate: bool (documents,), whether decode(encode(document)) == document.

        A tokenizer that fails for a document is compared with others on the documents it can represent only.
        """
        decoded = self.decode(self.encode(documents))
        return np.array([text == document for text, document in zip(decoded, documents, strict=True)], np.bool_)

    def laid_out(self, document: str, ids: Longs) -> Longs | None:
        """Count the bytes of `document` that each id takes; None when the ids do not spell it byte by byte.

        A word mark that the tokenizer itself puts before a text (metaspace) takes no byte of it.
        """
        raw = document.encode()
        spelled = b"".join(self.pieces[index] for index in ids)
        lengths = self.lengths[ids]
        if spelled == b" " + raw:
            lengths[int(np.argmax(lengths > 0))] -= 1
        return lengths if spelled in (raw, b" " + raw) else None
