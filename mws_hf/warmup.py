"""All kernels compiled into the cache, by doing a little of everything once; the results are thrown away."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tqdm import tqdm

from mws_hf.backend import base_vocab, build_backend
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.dictionary import lexicon_words
from mws_hf.encode.bulk import encode_corpus
from mws_hf.kernels.jit import cache_directory
from mws_hf.kernels.threads import thread_count
from mws_hf.learn.classic.explain import explain_merges
from mws_hf.learn.contextual import find_evidence
from mws_hf.learn.words import SymbolCorpus
from mws_hf.pattern import GPT4_PATTERN, WORD_PATTERN, split
from mws_hf.trainer import MwSTrainer

_STEMS = "чит пис рис каш вод лес дом стол рук ног слов дел игр свет мор и\u0306г walk talk look".split()
_ENDINGS = "а у ой ы ам ами ах ать ал ала али ed ing s".split()
_SYLLABLES = [consonant + vowel for consonant in "бвгдлмнрст" for vowel in "аиоу"]
TEXT = "".join(stem + ending + " кое-кто, 1234!\n" for stem in _STEMS for ending in _ENDINGS) * 3 + "".join(
    f" {first}{second}{_ENDINGS[(i + k) % len(_ENDINGS)]}"  # so many that tables must grow
    for i, first in enumerate(_SYLLABLES)
    for k, second in enumerate(_SYLLABLES)
)


def warm_up(parts: Sequence[str] | None = None, *, workers: int | None = None, show_progress: bool = False) -> None:
    """Compile the kernels of some kinds of work, and keep them in `jit.cache_directory`.

    numba compiles one kernel at a time in a process, so where two cores may be used a second process compiles half of
    the parts, and this one then reads them from the cache. Where it fails this one compiles them.

    Args:
        parts: names from `PARTS`; None: all.
        workers: cores to use; None: all that this process may use.
        show_progress: a bar of parts on stderr when it is a terminal.
    """
    wanted = [name for name in PARTS if parts is None or name in parts]
    others = [name for name in wanted if name in _ASIDE]
    level = logging.getLogger("mws_hf").level
    logging.getLogger("mws_hf").setLevel(logging.ERROR)  # the tiny corpus runs out of merges, which is no news
    aside = _begin(others) if 0 < len(others) < len(wanted) and thread_count(workers) > 1 else None
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            tqdm(total=len(wanted), unit=" parts", disable=None if show_progress else True) as bar,
        ):
            for name in wanted:
                bar.set_description(name)
                if aside is not None and name in _ASIDE:
                    aside.wait()  # then this process reads from the cache what it compiled
                PARTS[name](Path(folder))
                bar.update()
    finally:
        logging.getLogger("mws_hf").setLevel(level)
        if aside is not None:
            aside.kill()
            aside.wait()


def is_cold() -> bool:
    """Whether no kernel of this version has been compiled yet into a cache that can be written."""
    folder = cache_directory()
    if next(folder.glob("*.kernel"), None) is not None:
        return False
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return os.access(there, os.W_OK)


def _begin(parts: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """A process that compiles these parts; None where none can be started."""
    command = [sys.executable, "-m", "mws_hf.warmup", *parts]
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return None


def _small_counts(pattern: str) -> WordCounts:
    """The words of `TEXT`, counted without kernels."""
    return WordCounts.from_mapping(Counter(split(TEXT, pattern)), pattern=pattern)


def _count(folder: Path) -> None:
    file = folder / "text.txt"
    file.write_text(TEXT, encoding="utf-8", newline="\n")
    for pattern in (WORD_PATTERN, GPT4_PATTERN):
        counts = count_files(file, pattern=pattern, workers=2, memory_cap=1)  # so small a cap spills
        counts.merge(count_documents(TEXT.splitlines(), pattern=pattern), count_files(file, pattern=pattern, workers=1))
    lexicon_words("ru")


def _find_evidence(_: Path) -> None:
    find_evidence(_small_counts(WORD_PATTERN))


def _learn_merges(_: Path) -> None:
    MwSTrainer(vocab_size=600, composition=1, show_progress=False).learn(_small_counts(WORD_PATTERN))


def _learn_contextual(_: Path) -> None:
    counts = _small_counts(WORD_PATTERN)
    for types in (True, False):
        for limit in (None, 12):
            MwSTrainer(vocab_size=600, types=types, max_token_length=limit, show_progress=False).learn(counts)


def _learn_classic(_: Path) -> None:
    counts = _small_counts(GPT4_PATTERN)
    for types in (True, False):
        trainer = MwSTrainer(criterion="classic", vocab_size=800, types=types, composition="fill", show_progress=False)
        trainer.learn(counts)
    explain_merges(SymbolCorpus.from_words(counts.words), 3)


def _encode(folder: Path) -> None:
    letters, merges = sorted(set(TEXT)), [("ч", "и"), ("чи", "т"), (" ", "чит")]  # learning is another part
    file = folder / "text.txt"
    file.write_text(TEXT + "ж" * 5000 + "漢字 😀\n", encoding="utf-8", newline="\n")
    many = [*letters, *map(chr, range(0x10000, 0x20000))]  # more than 65,536 ids take 32 bits
    for name, alphabet in (("narrow", letters), ("wide", many)):
        backend = build_backend(base_vocab(["<s>"], alphabet, merges), merges, special_tokens=["<s>"])
        encode_corpus(backend, [file], folder / name, separator="<s>", workers=1)
        encode_corpus(backend, [file], folder / name, separator="<s>", workers=1)


PARTS: dict[str, Callable[[Path], None]] = {
    "counting": _count,
    "merges": _learn_merges,
    "classic training": _learn_classic,
    "evidence": _find_evidence,
    "encoding": _encode,
    "contextual training": _learn_contextual,
}
"""Kinds of work -> what has all their kernels compiled."""

_ASIDE = ("evidence", "encoding")
"""Parts for the second process: they share no kernels with the first three, so that nothing is compiled twice."""

TRAINING = ("counting", "merges", "evidence", "contextual training")
"""What `mws train` does with the default criterion."""

if __name__ == "__main__":
    warm_up(sys.argv[1:], workers=1)
