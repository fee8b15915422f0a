"""Plain text files of a size: the sources of a language mixed, cut, or drawn anew. Nothing is measured here."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mws_hf.atomic import atomic_path
from mws_hf.corpus.files import expand_paths, open_binary
from mws_hf.errors import MwSError

MB = 1_000_000
_PIECE = 1 << 16


def mixed(data: Path, sources: str, work: Path) -> Path:
    """The lines of all text files that fit a pattern in one plain file, pieces of 64 KiB in a fixed random order.

    Mixed, so that a prefix of any size has the style of the whole; texts of several sizes differ in size alone.
    """
    names = expand_paths([str(data / "text" / sources)])
    stamp = "".join(f"{name} {Path(name).stat().st_size} {Path(name).stat().st_mtime_ns}\n" for name in names)
    target = work / f"text-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}.txt"
    if not target.exists():
        pieces = [piece for name in names for piece in _pieces(name)]
        random.Random(0).shuffle(pieces)
        with atomic_path(target) as temporary:
            temporary.write_bytes(b"".join(pieces))
    return target


def _pieces(name: str) -> Iterator[bytes]:
    with open_binary(name) as stream:
        while piece := stream.read(_PIECE):
            whole = piece + stream.readline()
            yield whole if whole.endswith(b"\n") else whole + b"\n"


def cut(text: Path, megabytes: float) -> Path:
    """A copy of the first `megabytes` of a text, to the end of the last whole line; the text itself if it is shorter.

    Raises:
        MwSError: there is no line end so far.
    """
    size = round(megabytes * MB)
    if text.stat().st_size <= size:
        return text
    target = text.with_name(f"{text.stem}-{megabytes:g}MB.txt")
    if not target.exists():
        with text.open("rb") as stream:
            prefix = stream.read(size)
        end = prefix.rfind(b"\n") + 1
        if end == 0:
            raise MwSError(f"{text}: no line end in its first {megabytes:g} MB; give text in lines")
        with atomic_path(target) as temporary:
            temporary.write_bytes(prefix[:end])
    return target


def redrawn(text: Path, megabytes: float, seed: int = 0) -> Path:
    """The text itself, then its words drawn anew by their frequency, until it has `megabytes`.

    One word in forty is new: the beginning of one word and the end of another. So types go on growing with the text
    as they do in real corpora, where repeating a text would add none.
    """
    target = text.with_name(f"{text.stem}-redrawn-{megabytes:g}-{seed}.txt")
    if target.exists():
        return target
    raw = text.read_bytes()
    words = np.array(raw.decode("utf-8", "ignore").split(), dtype=object)
    rng = np.random.default_rng(seed)
    with atomic_path(target) as temporary, temporary.open("wb") as stream:
        stream.write(raw)
        while stream.tell() < megabytes * MB:
            drawn = words[rng.integers(0, len(words), 200_000)]  # a place at random: a word by its frequency
            new = rng.random(len(drawn)) < 1 / 40
            others = words[rng.integers(0, len(words), int(new.sum()))]
            drawn[new] = [a[: (len(a) + 1) // 2] + b[len(b) // 2 :] for a, b in zip(drawn[new], others, strict=True)]
            drawn[15::16] += "\n"
            stream.write(" ".join(drawn).replace("\n ", "\n").encode() + b"\n")
    return target
