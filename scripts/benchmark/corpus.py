"""The text of a benchmark: files mixed and cut to size, or words made up from a seed. Nothing is measured here."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from mws_hf.atomic import atomic_path
from mws_hf.corpus.files import expand_paths, file_kind, open_binary
from mws_hf.errors import MwSError

MB = 1_000_000
_PIECE = 1 << 16
_VOWELS, _CONSONANTS = "аеиоуыюя", "бвгджзклмнпрстфхцчш"
_SUFFIXES = (
    "а у е ы ой ов ам ами ах ый ого ому ым ая ую ые ых ыми ть л ла ло ли ет ют ем ите ал ала али ать ает ают "
    "ник ника нику ники ость ости остью ение ения ением ка ки ку кой"
).split()
_PREFIXES = ["", "", "", "", "по", "за", "на", "пере", "вы", "раз", "под", "при"]


def mixed_text(patterns: Sequence[str], work: Path) -> Path:
    """The lines of all files in one plain file, pieces of 64 KiB in a fixed random order.

    Mixed, so that a prefix of any size has the style of the whole; the sizes of a benchmark differ in size alone.

    Raises:
        MwSError: a file is missing, unreadable or not text.
    """
    names = expand_paths(list(patterns))
    unfit = [name for name in names if file_kind(name) != "text"]
    if unfit:
        raise MwSError(f"{unfit[0]}: the benchmark reads .txt and .gz of it only; extract the text first")
    stamp = "".join(f"{name} {Path(name).stat().st_size} {Path(name).stat().st_mtime_ns}\n" for name in names)
    target = work / f"text-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}.txt"
    if target.exists():
        return target
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


def generated_text(megabytes: float, work: Path, seed: int = 0) -> Path:
    """About `megabytes` of made-up Cyrillic sentences: prefix x stem x suffix, each by Zipf's law."""
    target = work / f"generated-{megabytes:g}-{seed}.txt"
    if target.exists():
        return target
    rng = np.random.default_rng(seed)
    stems = _stems(rng, 50_000)
    suffixes = rng.permutation(np.array(["", *_SUFFIXES], dtype=object))
    prefixes = np.array(_PREFIXES, dtype=object)
    with atomic_path(target) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        while stream.tell() < megabytes * MB:
            words = prefixes[_zipf(rng, len(prefixes))] + stems[_zipf(rng, len(stems))]
            stream.write(_lines(words + suffixes[_zipf(rng, len(suffixes))], rng))
    return target


def redrawn_text(text: Path, megabytes: float, seed: int = 0) -> Path:
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


def _stems(rng: np.random.Generator, n: int) -> np.ndarray:
    consonants, vowels = (rng.choice(list(letters), (n, 4)) for letters in (_CONSONANTS, _VOWELS))
    pairs = np.char.add(consonants, vowels)
    syllables = rng.integers(1, 4, n)
    return np.array(
        ["".join(row[:k]) + c for row, k, c in zip(pairs, syllables, consonants[:, 3], strict=True)], dtype=object
    )


def _zipf(rng: np.random.Generator, n: int, size: int = 20_000) -> np.ndarray:
    """Ranks 0..n-1 with probability about 1 / (rank + 1)."""
    return (n ** rng.random(size)).astype(np.int64) - 1


def _lines(words: np.ndarray, rng: np.random.Generator) -> str:
    """Sentences of 12 words, some commas and numbers among them, four sentences a line."""
    words = words + rng.choice(np.array(["", "", "", "", "", "", ","], dtype=object), len(words))
    words[:: rng.integers(90, 110)] = str(rng.integers(1, 2000))
    sentences = [" ".join(words[i : i + 12]).capitalize() + "." for i in range(0, len(words), 12)]
    return "".join(" ".join(sentences[i : i + 4]) + "\n" for i in range(0, len(sentences), 4))


def cut(text: Path, megabytes: float) -> Path:
    """A copy of the first `megabytes` of a text, to the end of the last whole line.

    Raises:
        MwSError: the text is shorter than that, or has no line end there.
    """
    size = round(megabytes * MB)
    if text.stat().st_size < size:
        raise MwSError(
            f"{text}: {text.stat().st_size / MB:.1f} MB, but {megabytes:g} MB are asked for; give more text, a smaller "
            "--base-mb, or fewer --sizes"
        )
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
