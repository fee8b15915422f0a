"""The training text of the pretrained tokenizers: the files, their sources and licenses, and the held-out part.

Text under a share-alike license is used only if the other text is not enough. At vocabulary size 16,000, Finnish is as
good without it (boundary F1 0.598 instead of 0.600). Turkish is worse without it (0.585 instead of 0.608, with 11 %
more tokens). Therefore the Turkish tokenizers use such text and are under a share-alike license themselves, and
multilingual tokenizers do not use it. The sentences of RuBLiMP are not used for training, because they are a benchmark.
"""

from __future__ import annotations

import re
import sysconfig
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.data import GOLDS, HELD_OUT_EVERY, read, split_lines

_ELTEC = "public domain by age; the markup, which is not used, is CC BY 4.0"


@dataclass(frozen=True)
class Source:
    """A text.

    Attributes:
        file: its name in the folder `text` of the data, without ``.txt.gz``.
        about: a description of the text and its source.
        license: the license that the source states.
    """

    file: str
    about: str
    license: str

    @property
    def share_alike(self) -> bool:
        """Whether works derived from the text must be under the same license."""
        return "BY-SA" in self.license


def _eltec(file: str, language: str, tail: str) -> Source:
    return Source(file, f"ELTeC-{tail}, {language} novels of 1840 to 1920 (COST-ELTeC)", _ELTEC)


SOURCES: dict[str, tuple[Source, ...]] = {
    "ru": (
        Source("rus.novels", "RussianNovels (JoannaBy), by authors who died before 1950", "public domain by age"),
        Source("rus.drama", "RusDraCor, Russian plays (dracor-org)", "CC0 1.0"),
        _eltec("rus.eltec", "Russian", "rus"),
    ),
    "uk": (_eltec("ukr.eltec", "Ukrainian", "ukr"),),
    "fi": (
        Source("fin.fincore", "FinCORE, Finnish web text (TurkuNLP)", "CC BY 4.0"),
        Source("fin.msdocs", "Finnish documentation of MicrosoftDocs", "CC BY 4.0"),
    ),
    "tr": (
        Source("tur.msdocs-ht", "Turkish documentation of MicrosoftDocs, translated by people", "CC BY 4.0"),
        Source("tur.blog", "daron-turkce-blog (daronyondem)", "CC BY-SA 4.0"),
        Source("tur.ud-boun", "UD Turkish-BOUN", "CC BY-SA 4.0"),
    ),
    "hu": (_eltec("hun.eltec", "Hungarian", "hun"),),
    "cs": (_eltec("ces.eltec", "Czech", "cze"),),
    "de": (_eltec("deu.eltec", "German", "deu"),),
    "en": (_eltec("eng.eltec", "English", "eng"),),
    "code": (Source("", "the standard library of CPython 3.11, modules and C headers, without tests", "PSF-2.0"),),
}
GOLD = dict(zip(("ru", "fi", "tr", "hu", "cs", "en"), GOLDS.values(), strict=True))
GOLD_SOURCES = {
    "tikhonov": "lemmas of Tikhonov's dictionary (AlexeySorokin/NeuralMorphemeSegmentation)",
    "wiktionary-forms": "noun forms from Wiktionary (slowwavesleep/NeuralMorphemeSegmenter)",
    "running-text-forms": "forms from running text, segmented by rules as in Tikhonov's dictionary",
    "morphochallenge2010": "words of Morpho Challenge 2010",
    "sigmorphon2022": "words of the SIGMORPHON 2022 shared task on morpheme segmentation",
}
WORDS = {
    "ru": "переписывающаяся подводник безработица читательницами краснолицый учителям",
    "uk": "переписування підводник безробіття читачками вчителям найкращий",
    "fi": "taloissammekin kirjastossa työttömyys lukijoille juoksentelisin opettajat",
    "tr": "evlerimizden kitaplıkta işsizlik okuyucular öğretmenlere geliyorlardı",
    "hu": "házaikban könyvtárban munkanélküliség olvasóknak legszebb tanítókkal",
    "cs": "přepisování knihovnách nezaměstnanost čtenářkami nejkrásnější učitelům",
    "de": "Arbeitslosigkeit Bibliotheken umgeschrieben Leserinnen schönsten Freundschaft",
    "en": "rewriting unemployment readers unbelievable friendships kindness",
    "code": "getUserName read_file HTTPServer",
}
"""Everyday words for examples, chosen before any tokenizer had split them."""
NOVELS = ("ru", "uk", "hu", "cs", "de", "en")
"""The languages whose text is literature from before 1950."""


def sources_of(group: str, share_alike: bool) -> tuple[Source, ...]:
    """List the texts of a language or of source code; share-alike texts are included only if `share_alike` is true."""
    return tuple(source for source in SOURCES[group] if share_alike or not source.share_alike)


def texts_of(group: str, data: Path, share_alike: bool) -> tuple[list[str], list[str]]:
    """Return the training documents and the held-out documents of a group.

    Documents are lines. For source code, training documents are whole files, and the held-out documents are the
    paragraphs of one module in ten.
    """
    if group == "code":
        return _code()
    names = [source.file for source in sources_of(group, share_alike)]
    training, held_out = split_lines([line for line in read(data, names) if line.strip()])
    return training, [line.rstrip("\n") for line in held_out]


def _code() -> tuple[list[str], list[str]]:
    training, held_out = [], []
    for module, text in _modules():
        if zlib.crc32(module.encode()) % (HELD_OUT_EVERY // 5) == 0:
            held_out += [part for part in re.split(r"\n{2,}", text) if part]
        else:
            training.append(text)
    return training, held_out


def _modules() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each module and C header of the running Python."""
    paths = sysconfig.get_paths()
    for root, kind in ((Path(paths["stdlib"]), "py"), (Path(paths["include"]), "h")):
        for path in sorted(root.rglob(f"*.{kind}")):
            parts = path.relative_to(root).parts
            if {"test", "tests", "idle_test", "site-packages", "dist-packages", "ensurepip"} & set(parts):
                continue
            try:
                yield parts[0], path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
