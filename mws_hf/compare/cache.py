"""Trained tokenizers and their text scores, kept under a hash of all they depend on; it decides nothing about them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import mws_hf
from mws_hf.atomic import write_text
from mws_hf.compare.plan import Job
from mws_hf.words.counts import WordCounts

_LIBRARIES = ("tokenizers", "sentencepiece", "morfessor", "numpy")
# what decides how a system is trained and saved; evaluation is not cached but for text scores
_SOURCES = {True: ("learn", "*.py"), False: ("baselines", "backend.py", "pattern.py")}


@dataclass(frozen=True)
class Cache:
    """A folder of results by content.

    Attributes:
        folder: made when something is kept.
        corpus: `counts_digest` of the training words.
        special_tokens: of all tokenizers.
    """

    folder: Path
    corpus: str
    special_tokens: tuple[str, ...]

    def directory(self, job: Job) -> Path:
        """Where the tokenizer of a job is or will be."""
        state = {
            "corpus": self.corpus,
            "special_tokens": self.special_tokens,
            "system": job.spec.label,
            "vocab_size": job.vocab_size,
            "program": program_digest(job.spec.is_mws),
        }
        return self.folder / f"{job.title}-{_digest(json.dumps(state, sort_keys=True))}"

    def read(self, job: Job, what: str) -> dict[str, Any] | None:
        """A record about a job, or None when there is none (or a damaged one, which is then made again)."""
        try:
            record = json.loads(self._file(job, what).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and self.directory(job).is_dir() else None

    def write(self, job: Job, what: str, record: dict[str, Any]) -> None:
        """Keep a record about a job whose tokenizer is saved; NaN becomes null."""
        plain = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in record.items()}
        write_text(self._file(job, what), json.dumps(plain, allow_nan=False) + "\n")

    def _file(self, job: Job, what: str) -> Path:
        directory = self.directory(job)
        return directory.with_name(f"{directory.name}.{what}.json")


def counts_digest(counts: WordCounts) -> str:
    """Hash of words, counts, pattern and normalization.

    >>> counts = WordCounts.from_mapping({"a": 1}, pattern="x")
    >>> counts_digest(counts) == counts_digest(counts.merge(counts))
    False
    """
    digest = hashlib.sha256(counts.fingerprint.encode())
    data, offsets = counts.utf8()
    digest.update(data[offsets[0] : offsets[-1]].tobytes())
    digest.update((offsets - offsets[0]).tobytes())
    digest.update(counts.counts.tobytes())
    return digest.hexdigest()


def lines_digest(lines: Iterable[str]) -> str:
    """Hash of a text given by lines."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


@lru_cache(maxsize=2)
def program_digest(is_mws: bool) -> str:
    """Hash of the code and the library versions that training depends on, so that no result of other code is reused."""
    root = Path(mws_hf.__file__).parent
    digest = hashlib.sha256(mws_hf.__version__.encode())
    for name in _SOURCES[is_mws]:
        digest.update(_tree(root, name))
    for library in () if is_mws else _LIBRARIES:
        try:
            digest.update(f"{library}={importlib.metadata.version(library)}".encode())
        except importlib.metadata.PackageNotFoundError:
            digest.update(library.encode())
    return digest.hexdigest()


def _tree(root: Path, name: str) -> bytes:
    files: Sequence[Path] = sorted((root / name).rglob("*.py")) if (root / name).is_dir() else sorted(root.glob(name))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).digest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
