"""Public test sets that nothing was ever tuned on, in the form that `read_gold` reads, and words to learn from.

Nothing of them is part of the project: a folder holds their repositories as `git clone` leaves them, each under its own
name. Single files from the same addresses do as well, in the same places.

    mkdir fetched; cd fetched; git clone https://github.com/sigmorphon/2022SegmentationST   # and so on: REPOSITORIES
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lab.data import order_of, parts_of
from mws_hf import WordCounts
from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import Gold, GoldWord, read_gold
from mws_hf.corpus.word_list import count_mapping, read_word_list

REPOSITORIES = {
    "sigmorphon/2022SegmentationST": "test gold of spa, ita, fra, mon, ces, eng; Mongolian words of the training split",
    "catherinearnett/morphscore": "MorphScore, first version (2024), 22 languages",
    "UniversalDependencies/UD_Finnish-FTB": "forms and lemmas, dev and test",
    "UniversalDependencies/UD_Hungarian-Szeged": "likewise",
    "UniversalDependencies/UD_Czech-FicTree": "likewise",
    "UniversalDependencies/UD_Turkish-IMST": "likewise",
    "UniversalDependencies/UD_Ukrainian-IU": "likewise",
    "UniversalDependencies/UD_Russian-GSD": "likewise",
    "MartinXPN/word2morph": "Tikhonov's dictionary with its roots marked",
    "hermitdave/FrequencyWords": "words of film subtitles with counts, for languages without text in --data",
    "sigmorphon/conll2017": "whole inflection tables (experiment `paradigms`)",
}
"""What is read of each repository https://github.com/NAME."""

TEXTS = ("rus", "fin", "tur", "hun", "ces", "eng", "ukr")
"""Languages that --data has running text of; all others learn from a list of words."""

LISTS = {"spa": "es", "ita": "it", "fra": "fr", "bul": "bg", "ell": "el", "eus": "eu", "hye": "hy", "ind": "id",
         "isl": "is", "jpn": "ja", "kat": "ka", "kor": "ko", "pes": "fa", "slv": "sl", "tam": "ta",
         "urd": "ur"}  # fmt: skip
MORPHSCORE = {
    "hye": "armenian", "eus": "basque", "bul": "bulgarian", "ceb": "cebuano", "eng": "english", "kat": "georgian",
    "ell": "greek", "guj": "gujarati", "hun": "hungarian", "isl": "icelandic", "ind": "indonesian", "gle": "irish",
    "jpn": "japanese", "kor": "korean", "kmr": "kurdish", "pes": "persian", "slv": "slovenian", "spa": "spanish",
    "tam": "tamil", "tur": "turkish", "urd": "urdu", "zul": "zulu",
}  # fmt: skip
TREEBANKS = {
    "fin": "UD_Finnish-FTB/fi_ftb",
    "hun": "UD_Hungarian-Szeged/hu_szeged",
    "ces": "UD_Czech-FicTree/cs_fictree",
    "tur": "UD_Turkish-IMST/tr_imst",
    "ukr": "UD_Ukrainian-IU/uk_iu",
    "rus": "UD_Russian-GSD/ru_gsd",
}
"""Treebanks whose sentences are not among the training text."""

SEGMENTATIONS = ("spa", "ita", "fra", "mon", "ces", "eng")
"""Test gold of SIGMORPHON 2022 that is scored; the Hungarian test holds most of the Hungarian development gold."""
KINDS = {"sigmorphon": SEGMENTATIONS, "lemma": tuple(TREEBANKS), "morphscore": tuple(MORPHSCORE)}
"""The kinds of sets, and the languages that have one."""

LANGUAGES = tuple(dict.fromkeys((*TEXTS, *SEGMENTATIONS, *MORPHSCORE, *LISTS)))
NOT_WORDS = {"PUNCT", "SYM", "NUM", "X", "PROPN"}
MOST_WORDS = 4000
LEAST_LEMMA = 3


@dataclass(frozen=True)
class BlindSet:
    """A test set: its kind ("sigmorphon", "morphscore", "lemma"), its language, and its words."""

    kind: str
    language: str
    gold: Gold


def sets_of(language: str, fetched: Path, scratch: Path) -> Iterator[BlindSet]:
    """The sets of a language that are among the fetched files, 4,000 words at most, evenly taken."""
    files = {"morphscore": fetched / "morphscore" / "data" / f"{MORPHSCORE.get(language)}_morph_data.csv"}
    if language in SEGMENTATIONS:
        files["sigmorphon"] = fetched / "2022SegmentationST" / "data" / f"{language}.word.test.gold.tsv"
    if language in TREEBANKS:
        files["lemma"] = lemma_set(language, fetched, scratch)
    for kind, file in files.items():
        if file.exists():
            gold = read_gold(file)
            step = -(-len(gold.words) // MOST_WORDS)
            yield BlindSet(kind, language, replace(gold, words=gold.words[::step]))


def lemma_set(language: str, fetched: Path, scratch: Path) -> Path:
    """Write the forms of a treebank that begin with their lemma, as MorphScore has them; no file without a treebank."""
    files = [fetched / f"{TREEBANKS[language]}-ud-{part}.conllu" for part in ("dev", "test")]
    target = scratch / f"{language}.lemma.csv"
    if not all(file.exists() for file in files):
        return target
    pairs = dict(pair for file in files for pair in lemmas(file.read_text(encoding="utf-8")))
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("full_word", "pt1", "rest"))
    writer.writerows((form, lemma, form[len(lemma) :]) for form, lemma in pairs.items())
    scratch.mkdir(parents=True, exist_ok=True)
    write_text(target, table.getvalue())
    return target


def lemmas(conllu: str) -> Iterator[tuple[str, str]]:
    r"""Pairs of form and lemma in small letters, of words that begin with their lemma and go on.

    >>> list(lemmas("1\tKoirat\tkoira\tNOUN\n2\t.\t.\tPUNCT\n3\ttulee\ttulla\tVERB\n"))
    [('koirat', 'koira')]
    """
    for line in conllu.splitlines():
        columns = line.split("\t")
        if len(columns) < 4 or columns[3] in NOT_WORDS:
            continue
        form, lemma = columns[1].lower(), columns[2].lower().replace("#", "")
        if form.isalpha() and len(lemma) >= LEAST_LEMMA and form.startswith(lemma) and form != lemma:
            yield form, lemma


def words_of(language: str, data: Path, fetched: Path) -> tuple[WordCounts, str] | None:
    """Words to learn from, and what they are: text of --data, else its list, else a fetched one; None without any."""
    if language in TEXTS:
        return count_documents(parts_of(data, language)[0]), "text"
    if own := sorted((data / "words").glob(f"{language}.*")):
        listed = read_word_list([str(file) for file in own])
        return WordCounts.from_mapping(scaled(dict(listed.items())), pattern=listed.pattern), "list"
    if language == "mon":
        train = fetched / "2022SegmentationST" / "data" / "surprise" / "mon.word.train.tsv"
        rows = train.read_text(encoding="utf-8").splitlines() if train.exists() else []
        return (count_mapping({row.split("\t")[0]: 1 for row in rows}), "words of the training split") if rows else None
    folder = fetched / "FrequencyWords" / "content" / "2018" / LISTS.get(language, "-")
    for file in [*folder.glob("*_50k.txt"), *folder.glob("*_full.txt")]:
        rows = [line.split(" ") for line in file.read_text(encoding="utf-8").splitlines()]
        return count_mapping(scaled({row[0]: int(row[1]) for row in rows if len(row) == 2})), "list"
    return None


def scaled(counts: dict[str, int]) -> dict[str, int]:
    """Counts over the smallest one: rivals are trained on words as often as they are counted, 400 million in Spanish.

    >>> scaled({"de": 1000, "que": 790, "casa": 200})
    {'de': 5, 'que': 3, 'casa': 1}
    """
    least = min(counts.values())
    return {word: count // least for word, count in counts.items()}


def roots(fetched: Path) -> dict[str, str]:
    """The root of each word of Tikhonov's dictionary that has one, as fetched; words of several roots are left out."""
    found = {}
    for part in ("train", "valid", "test"):
        file = fetched / "word2morph" / "datasets" / f"rus.{part}"
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
            word, _, morphs = line.partition("\t")
            own = [morph for morph, _, kind in (each.partition(":") for each in morphs.split("/")) if kind == "ROOT"]
            if len(own) == 1:
                found[word] = own[0]
    return found


def folds(gold: tuple[GoldWord, ...], root_of: dict[str, str], n: int) -> list[list[GoldWord]]:
    """Divide words into `n` folds so that words of one root are in one fold; the order in a fold tells nothing.

    >>> words = tuple(GoldWord(word, ((word,),)) for word in ("дом", "домик", "кот", "рот"))
    >>> [len(fold) for fold in folds(words, {"дом": "дом", "домик": "дом", "кот": "кот"}, 2)]
    [2, 1]
    """
    by_root: dict[str, list[GoldWord]] = {}
    for word in gold:
        if word.word in root_of:
            by_root.setdefault(root_of[word.word], []).append(word)
    found: list[list[GoldWord]] = [[] for _ in range(n)]
    for number, root in enumerate(sorted(by_root, key=order_of)):
        found[number % n] += by_root[root]
    return [sorted(fold, key=lambda each: order_of(each.word)) for fold in found]
