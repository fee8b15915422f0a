"""`mws warmup`: compile all kernels into the cache, by training and encoding on made-up text once."""

from __future__ import annotations

import logging
import random
import tempfile
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import mws_hf
from mws_hf.commands.options import add_quiet
from mws_hf.commands.parser import Parser
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, WORD_PATTERN

_STEMS = "чит пис рис каш вод лес дом стол рук ног слов дел игр свет мор и\u0306г walk talk look".split()
_ENDINGS = "а у ой ы ам ами ах ать ал ала али ed ing s".split()
_SYLLABLES = [consonant + vowel for consonant in "бвгдлмнрст" for vowel in "аиоу"]
TEXT = "".join(stem + ending + " кое-кто, 1234!\n" for stem in _STEMS for ending in _ENDINGS) * 3 + "".join(
    f" {first}{second}{_ENDINGS[(i + k) % len(_ENDINGS)]}"  # so many words that hash tables must grow
    for i, first in enumerate(_SYLLABLES)
    for k, second in enumerate(_SYLLABLES)
)
LETTERS, MANY = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", 60_000
"""Letters and number of random words, which are enough for the kernels of long lists and of several threads."""

HELP = """
Compile all kernels now and keep them on disk, so that no later command has to wait for this. It is needed once for each
version of mws_hf and each kind of processor, and takes one to two minutes.

For example, while you build a Docker image:

    pip install mws_hf-*.whl && mws warmup --quiet
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add_quiet(parser.output)


def run(given: Namespace) -> None:
    """Compile, and print where the kernels are kept."""
    from mws_hf.kernels.jit import cache_directory

    began = time.perf_counter()
    warm_up(show_progress=not given.quiet)
    if not given.quiet:
        print(f"{cache_directory()}: ready in {time.perf_counter() - began:.1f} s")


def warm_up(*, show_progress: bool = False) -> None:
    """Compile every kernel that counting, training and encoding call, and keep them in `jit.cache_directory`."""
    from tqdm import tqdm

    steps = (_count, _learn_contextual, _learn_much, _learn_classic, _encode)
    logger = logging.getLogger("mws_hf")
    level = logger.level
    logger.setLevel(logging.ERROR)  # the tiny corpus runs out of merges, as expected
    try:
        with tempfile.TemporaryDirectory() as folder:
            for step in tqdm(steps, unit=" steps", disable=None if show_progress else True):
                step(Path(folder))
    finally:
        logger.setLevel(level)


def _count(folder: Path) -> None:
    from mws_hf.corpus.word_list import lexicon_words

    file = folder / "text.txt"
    file.write_text(TEXT, encoding="utf-8", newline="\n")
    for pattern in (DEFAULT_PATTERN, GPT4_PATTERN, WORD_PATTERN):
        counts = mws_hf.count_files(file, pattern=pattern, workers=2, memory_cap=1)  # 1 byte, so that counts spill
        one = mws_hf.count_files(file, pattern=pattern, workers=1)
        counts.merge(mws_hf.count_documents(TEXT.splitlines(), pattern=pattern), one)
    lexicon_words("ru")


def _learn_contextual(_folder: Path) -> None:
    counts = mws_hf.count_documents(TEXT.splitlines())
    for types in (True, False):
        for limit in (None, 12):
            mws_hf.MwSTrainer(vocab_size=600, types=types, max_token_length=limit, show_progress=False).learn(counts)
    mws_hf.MwSTrainer(vocab_size=600, composition=1, show_progress=False).learn(counts)


def _learn_much(folder: Path) -> None:
    chance = random.Random(0)
    words = ("".join(chance.choices(LETTERS, range(len(LETTERS), 0, -1), k=chance.randint(4, 12))) for _ in range(MANY))
    file = folder / "much.txt"
    file.write_text(" ".join(words) * 2, encoding="utf-8")
    mws_hf.MwSTrainer(vocab_size=2000, show_progress=False).learn(mws_hf.count_files([file, file], workers=2))


def _learn_classic(_folder: Path) -> None:
    from mws_hf.learn.classic_explained import explain_merges
    from mws_hf.learn.words import SymbolCorpus

    counts = mws_hf.count_documents([TEXT], pattern=GPT4_PATTERN)
    for types in (True, False):
        trainer = mws_hf.MwSTrainer(
            criterion="classic", vocab_size=800, composition="fill", types=types, show_progress=False
        )
        trainer.learn(counts)
    explain_merges(SymbolCorpus.from_words(counts.words), 3)


def _encode(folder: Path) -> None:
    from mws_hf.corpus.blocks import MAX_BYTES_WITHOUT_KERNELS

    trainer = mws_hf.MwSTrainer(n_merges=150, alphabet="characters", special_tokens=["<s>"], show_progress=False)
    learned = trainer.learn(mws_hf.count_documents([TEXT]))
    file = folder / "text.txt"
    text = TEXT + "ж" * 5000 + "漢字 😀<s>\n"
    file.write_text(text * (MAX_BYTES_WITHOUT_KERNELS // len(text) + 1), encoding="utf-8", newline="\n")
    many = [*learned.alphabet, *map(chr, range(0x10000, 0x20000))]  # more than 65,536 ids take 32 bits
    for name, alphabet in (("narrow", learned.alphabet), ("wide", many)):
        backend = trainer.backend(replace(learned, alphabet=alphabet))
        for _ in range(2):
            mws_hf.encode_corpus(backend, [file], folder / name, separator="<s>", workers=1)
