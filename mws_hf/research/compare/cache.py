"""Keep trained tokenizers and their text scores under a hash of all they depend on; nothing is decided here.

Each record holds a checksum of itself; the record of a training holds one of the tokenizer's files too. A record or
file that does not agree with its checksum is taken for absent, with a warning, and made again.
"""

from __future__ import annotations

import ast
import glob
import hashlib
import importlib.metadata
import json
import logging
import math
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import mws_hf
from mws_hf.atomic import write_text
from mws_hf.corpus.counts import WordCounts
from mws_hf.research.compare.plan import MWS_SYSTEMS, Job

logger = logging.getLogger(__name__)

TRAINING = "training"
Work = Literal["mws", "rival", "evaluation"]

_LIBRARIES = ("numpy", "numba", "tokenizers", "transformers", "regex", "sentencepiece", "morfessor")
# where the code begins that trains and saves ours and theirs, and that scores any of them on text
_ROOTS: dict[Work, tuple[str, ...]] = {
    "mws": ("mws_hf.trainer",),
    "rival": ("mws_hf.research.baselines.registry",),
    "evaluation": ("mws_hf.evaluate.running_text", "mws_hf.evaluate.ngram_bits", "mws_hf.tokenizer.opened"),
}
_OPENER = "mws_hf.research.baselines.registry"
"""What opens a rival to be scored; how it was trained, which this module imports too, is no matter then."""


@dataclass(frozen=True)
class ResultCache:
    """A folder of results, of one corpus (`counts_digest`) and its special tokens; made when a first result is kept."""

    folder: Path
    corpus: str
    special_tokens: tuple[str, ...]

    def directory(self, job: Job) -> Path:
        """Return the place where the tokenizer of a job is or will be."""
        state = {
            "corpus": self.corpus,
            "special_tokens": self.special_tokens,
            "system": job.spec.label,
            "options": MWS_SYSTEMS.get(job.spec.name),
            "vocab_size": job.vocab_size,
            "program": program_digest("mws" if job.spec.is_mws else "rival"),
        }
        return self.folder / f"{job.title}-{_digest(json.dumps(state, sort_keys=True).encode())}"

    def read(self, job: Job, what: str) -> dict[str, Any] | None:
        """Read a record about a job; None when there is none, or it was damaged and is removed, to be made again.

        A damaged `TRAINING` takes all of the job's records and its tokenizer with it.
        """
        file = self._file(job, what)
        if not os.path.lexists(file):
            return None
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            record = content["record"]
            sound = isinstance(record, dict) and content["checksum"] == self._checksum(job, what, record)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            sound = False
        if sound:
            return dict(record)
        logger.warning("%s or what it tells of is damaged; it is made again", file)
        directory = self.directory(job)
        records = directory.parent.glob(f"{glob.escape(directory.name)}.*.json")
        for path in [directory, *records] if what == TRAINING else [file]:
            _remove(path)
        return None

    def write(self, job: Job, what: str, record: dict[str, Any]) -> None:
        """Keep a record about a job whose tokenizer is saved; NaN becomes null."""
        plain = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in record.items()}
        content = {"record": plain, "checksum": self._checksum(job, what, plain)}
        write_text(self._file(job, what), json.dumps(content, allow_nan=False) + "\n")

    def _checksum(self, job: Job, what: str, record: dict[str, Any]) -> str:
        directory = self.directory(job)
        files = sorted(path for path in directory.rglob("*") if path.is_file()) if what == TRAINING else []
        contents = [(path.relative_to(directory).as_posix(), _digest(path.read_bytes())) for path in files]
        return _digest(json.dumps([record, contents], sort_keys=True).encode())

    def _file(self, job: Job, what: str) -> Path:
        directory = self.directory(job)
        return directory.with_name(f"{directory.name}.{what}.json")


def counts_digest(counts: WordCounts) -> str:
    """Hash words, counts, pattern and normalization."""
    digest = hashlib.sha256(counts.fingerprint.encode())
    data, offsets = counts.utf8()
    digest.update(data[offsets[0] : offsets[-1]].tobytes())
    digest.update((offsets - offsets[0]).tobytes())
    digest.update(counts.counts.tobytes())
    return digest.hexdigest()


def text_record(lines: Iterable[str], train: Iterable[str] = ()) -> str:
    """Name the record of a text's scores: a hash of its lines, of the lines trained on, and of the code that scores."""
    digest = hashlib.sha256(program_digest("evaluation").encode())
    for part in (lines, train):
        for line in part:
            digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
        digest.update(b"\0")
    return f"text-{digest.hexdigest()[:16]}"


@lru_cache
def program_digest(work: Work) -> str:
    """Hash the code and the library versions that a result depends on, so that no result of other code is reused.

    The code is that of the modules where it begins and of all modules they import, wherever these lie.
    """
    digest = hashlib.sha256(mws_hf.__version__.encode())
    sources = _sources(_ROOTS[work])
    if work == "evaluation":
        sources[_OPENER] = _sources((_OPENER,))[_OPENER]
    for _, source in sorted(sources.items()):
        digest.update(hashlib.sha256(source).digest())
    for library in _LIBRARIES:
        try:
            digest.update(f"{library}={importlib.metadata.version(library)}".encode())
        except importlib.metadata.PackageNotFoundError:
            digest.update(library.encode())
    return digest.hexdigest()


def _sources(roots: Iterable[str]) -> dict[str, bytes]:
    """Read the sources of modules of the package, by name, and of modules that they import, also inside functions."""
    found: dict[str, bytes] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
        if name not in found and file is not None:
            found[name] = file.read_bytes()
            waiting += _imported(found[name])
        elif file is None and name in roots:
            raise ModuleNotFoundError(f"{name} is gone, where code that decides results began; name its new place")
    return found


def _file_of(name: str) -> Path | None:
    """Find the file of a module of the package; None for a room, a name inside a module, another library."""
    first, *rest = name.split(".")
    file = Path(mws_hf.__file__).parent.joinpath(*rest).with_suffix(".py")
    return file if first == mws_hf.__name__ and file.is_file() else None


def _imported(source: bytes) -> list[str]:
    """List the modules that a module imports when it runs; modules imported for types alone decide no result.

    ``from a.b import c`` may mean the module a.b or the module a.b.c, so both are listed.
    """
    names: list[str] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            waiting += ast.iter_child_nodes(node)
    return names


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
