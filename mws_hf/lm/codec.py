"""A tokenizer directory as a language model sees it: documents to ids, bytes of every id, the losslessness gate."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from mws_hf.encode.encoder import load_backend
from mws_hf.errors import MwSError
from mws_hf.lm.token_bytes import byte_lengths, raw_bytes

Ids = npt.NDArray[np.int64]
_BATCH = 4096


@dataclass(frozen=True)
class Codec:
    """What training and evaluation need to know of a tokenizer.

    Attributes:
        directory: where it was read from.
        backend: the Rust tokenizer, without truncation, padding or special treatment of special tokens in text.
        pieces: raw bytes of each id; empty for special tokens.
        lengths: int64 (ids,), their lengths.
        separator: id of the end-of-sequence token: it starts every stream and ends every document.
        padding: id of the padding token; the separator when there is none (padded places never count).
    """

    directory: Path
    backend: Tokenizer
    pieces: list[bytes]
    lengths: Ids
    separator: int
    padding: int

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Codec:
        """Read a directory with tokenizer.json.

        Raises:
            MwSError: no such tokenizer, or it has no end-of-sequence token.
        """
        path = Path(directory)
        if not (path / "tokenizer.json").is_file():
            raise MwSError(f"{path}: no tokenizer.json there; train one with: mws train --output {path}")
        original, end = load_backend(path)
        backend = Tokenizer.from_str(original.to_str())
        backend.no_padding()
        backend.no_truncation()
        backend.encode_special_tokens = True
        separator = backend.token_to_id(end) if end else None
        if separator is None:
            raise MwSError(f"{path}: no eos_token in tokenizer_config.json; a language model ends documents with it")
        padding = backend.token_to_id(_named_token(path, "pad_token") or "")
        pieces = raw_bytes(backend)
        return cls(path, backend, pieces, byte_lengths(pieces), separator, separator if padding is None else padding)

    @property
    def vocabulary_size(self) -> int:
        """Ids from 0 to the largest."""
        return len(self.pieces)

    def encode(self, documents: Sequence[str]) -> list[Ids]:
        """Ids of each document, no separators; text that looks like a special token stays text."""
        encoded: list[Ids] = []
        for start in range(0, len(documents), _BATCH):
            batch = list(documents[start : start + _BATCH])
            for item in self.backend.encode_batch_fast(batch, add_special_tokens=False):
                encoded.append(np.array(item.ids, np.int64))
        return encoded

    def decode(self, documents: Sequence[Ids]) -> list[str]:
        """The text of each list of ids; special tokens are left out."""
        return [self.backend.decode(ids.tolist(), skip_special_tokens=True) for ids in documents]

    def represented(self, documents: Sequence[str]) -> npt.NDArray[np.bool_]:
        """The losslessness gate: bool (documents,), whether decode(encode(document)) == document.

        A tokenizer that fails for a document is compared with others on the documents it can represent only.
        """
        decoded = self.decode(self.encode(documents))
        return np.array([text == document for text, document in zip(decoded, documents, strict=True)], np.bool_)

    def laid_out(self, document: str, ids: Ids) -> Ids | None:
        """Bytes of `document` each id takes, or None when the ids do not spell it byte by byte.

        A word mark that the tokenizer itself puts before a text (metaspace) takes no byte of it.
        """
        raw = document.encode()
        spelled = b"".join(self.pieces[index] for index in ids)
        lengths = self.lengths[ids]
        if spelled == raw:
            return lengths
        if spelled == b" " + raw:
            lengths[int(np.argmax(lengths > 0))] -= 1
            return lengths
        return None


def _named_token(directory: Path, name: str) -> str | None:
    config = directory / "tokenizer_config.json"
    settings = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    token = settings.get(name)
    return token.get("content") if isinstance(token, dict) else token
