"""Compile all kernels into the cache, by doing a little of everything once; the results are thrown away."""

from __future__ import annotations

import logging
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from mws_hf.corpus.blocks import LITTLE
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.word_list import lexicon_words
from mws_hf.encode.bulk import encode_corpus
from mws_hf.learn.classic.terms import explain_merges
from mws_hf.learn.words import SymbolCorpus
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, WORD_PATTERN
from mws_hf.trainer import MwSTrainer

_STEMS = "чит пис рис каш вод лес дом стол рук ног слов дел игр свет мор и\u0306г walk talk look".split()
_ENDINGS = "а у ой ы ам ами ах ать ал ала али ed ing s".split()
_SYLLABLES = [consonant + vowel for consonant in "бвгдлмнрст" for vowel in "аиоу"]
TEXT = "".join(stem + ending + " кое-кто, 1234!\n" for stem in _STEMS for ending in _ENDINGS) * 3 + "".join(
    f" {first}{second}{_ENDINGS[(i + k) % len(_ENDINGS)]}"  # so many that tables must grow
    for i, first in enumerate(_SYLLABLES)
    for k, second in enumerate(_SYLLABLES)
)
LETTERS, MANY = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", 60_000
"""Made-up words of these letters, so many that lists are long and tables are filled side by side."""


def warm_up(*, show_progress: bool = False) -> None:
    """Compile every kernel that training, counting and encoding call, and keep them in `jit.cache_directory`."""
    steps: dict[str, Callable[[Path], None]] = {
        "counting": _count_a_little,
        "contextual training": _learn_contextual,
        "a long list": _learn_much,
        "classic training": _learn_classic,
        "encoding": _encode_a_little,
    }
    logger = logging.getLogger("mws_hf")
    level = logger.level
    logger.setLevel(logging.ERROR)  # the tiny corpus runs out of merges, which is no news
    hidden = None if show_progress else True
    try:
        with tempfile.TemporaryDirectory() as folder, tqdm(total=len(steps), unit=" steps", disable=hidden) as bar:
            for title, step in steps.items():
                bar.set_description(title)
                step(Path(folder))
                bar.update()
    finally:
        logger.setLevel(level)


def learn_merges() -> None:
    """Compile the kernels of merging, without counting or evidence; a process beside `mws train` calls it."""
    counts = WordCounts.from_mapping({f" {word}": 1 for word in set(TEXT.split())}, pattern=DEFAULT_PATTERN)
    MwSTrainer(vocab_size=600, composition=1, show_progress=False).learn(counts)


def _count_a_little(folder: Path) -> None:
    file = folder / "text.txt"
    file.write_text(TEXT, encoding="utf-8", newline="\n")
    for pattern in (DEFAULT_PATTERN, GPT4_PATTERN, WORD_PATTERN):
        counts = count_files(file, pattern=pattern, workers=2, memory_cap=1)  # so small a cap spills
        counts.merge(count_documents(TEXT.splitlines(), pattern=pattern), count_files(file, pattern=pattern, workers=1))
    lexicon_words("ru")


def _learn_contextual(_folder: Path) -> None:
    for types in (True, False):
        for limit in (None, 12):
            MwSTrainer(vocab_size=600, types=types, max_token_length=limit, show_progress=False).learn(
                count_documents(TEXT.splitlines())
            )
    learn_merges()


def _learn_much(folder: Path) -> None:
    chance = random.Random(0)
    words = ("".join(chance.choices(LETTERS, range(len(LETTERS), 0, -1), k=chance.randint(4, 12))) for _ in range(MANY))
    file = folder / "much.txt"
    file.write_text(" ".join(words) * 2, encoding="utf-8")
    MwSTrainer(vocab_size=2000, show_progress=False).learn(count_files([file, file], workers=2))


def _learn_classic(_folder: Path) -> None:
    counts = count_documents([TEXT], pattern=GPT4_PATTERN)
    for types in (True, False):
        trainer = MwSTrainer(criterion="classic", vocab_size=800, types=types, composition="fill", show_progress=False)
        trainer.learn(counts)
    explain_merges(SymbolCorpus.from_words(counts.words), 3)


def _encode_a_little(folder: Path) -> None:
    trainer = MwSTrainer(n_merges=150, alphabet="characters", special_tokens=["<s>"], show_progress=False)
    learned = trainer.learn(count_documents([TEXT]))
    file = folder / "text.txt"
    text = TEXT + "ж" * 5000 + "漢字 😀<s>\n"
    file.write_text(text * (LITTLE // len(text) + 1), encoding="utf-8", newline="\n")
    many = [*learned.alphabet, *map(chr, range(0x10000, 0x20000))]  # more than 65,536 ids take 32 bits
    for name, alphabet in (("narrow", learned.alphabet), ("wide", many)):
        backend = trainer.backend(replace(learned, alphabet=alphabet))
        encode_corpus(backend, [file], folder / name, separator="<s>", workers=1)
        encode_corpus(backend, [file], folder / name, separator="<s>", workers=1)
