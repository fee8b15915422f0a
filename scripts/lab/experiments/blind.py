"""Test sets that were never used for tuning, scored once: SIGMORPHON 2022, MorphScore, Universal Dependencies.

`--with fetched=FOLDER` names a folder with clones of these GitHub repositories, or with single files of them at the
same paths. None of them is part of the project.

* sigmorphon/2022SegmentationST: the test sets, and Mongolian words;
* catherinearnett/morphscore: the version of 2024;
* UniversalDependencies: the treebanks in `TREEBANKS`;
* MartinXPN/word2morph: the roots of Russian words;
* hermitdave/FrequencyWords: word lists of film subtitles;
* sigmorphon/conll2017: inflection tables, for `paradigms`.

If the shared data has no running text of a language, the tokenizers learn from a word list, only at vocabulary size
8,000, because 32,000 tokens would contain most words of the list. A language without a word list is not measured, and
the page names it.

For whole segmentations, the figures are boundary F1, precision and recall (micro, words after a space). MorphScore, and
the words of Universal Dependencies that begin with their lemma, have only one boundary per word, so that a correct
split point elsewhere would count as wrong. Therefore the figures are recall at that boundary, and tokens per word.
MorphScore excludes the words that a tokenizer does not split. Its authors find that it explains little of the variance
of downstream tasks.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from lab.cells import Cell, Found, Page, Place, Row, beside
from lab.data import MB, first, gold_of, order_of, parts_of, treebank
from lab.systems import MORPHS, UNIGRAM, cut_words, judged, labelled, trained
from lab.tables import groups, tabulated, where
from mws_hf import WordCounts
from mws_hf.compare import baselines
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import GoldWord, read_gold
from mws_hf.corpus.word_list import count_mapping, read_word_list
from mws_hf.scoring.boundaries import summarize
from mws_hf.scoring.significance import bootstrap_f1, interval
from mws_hf.tokenizer.opened import open_tokenizer

TEXTS = ("rus", "fin", "tur", "hun", "ces", "eng", "ukr")
"""The languages with running text in the shared data; tokenizers of all others learn from a word list."""

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
    "fin": "UD_Finnish-FTB", "hun": "UD_Hungarian-Szeged", "ces": "UD_Czech-FicTree", "tur": "UD_Turkish-IMST",
    "ukr": "UD_Ukrainian-IU", "rus": "UD_Russian-GSD",
}  # fmt: skip
"""The treebanks, whose sentences are not in the training text."""

SEGMENTATIONS = ("spa", "ita", "fra", "mon", "ces", "eng")
"""The languages of SIGMORPHON 2022 that are scored.

Hungarian is not scored, because its test set contains most of the Hungarian development set.
"""
KINDS = {"sigmorphon": SEGMENTATIONS, "lemma": tuple(TREEBANKS), "morphscore": tuple(MORPHSCORE)}
"""The kinds of sets, and the languages that have a set of each kind."""

LANGUAGES = tuple(dict.fromkeys((*TEXTS, *SEGMENTATIONS, *MORPHSCORE, *LISTS)))
NOT_WORDS = {"PUNCT", "SYM", "NUM", "X", "PROPN"}
MOST_WORDS = 4000
LEAST_LEMMA = 3

SYSTEMS = ("mws", "mws-morphs", "bpe-byte", UNIGRAM, "morfessor")
AXES = {"language": list(LANGUAGES), "vocab_size": (8000, 32000), "kind": list(KINDS), "system": SYSTEMS}
SHARED = 2
FIGURES = ("f1", "precision", "recall", "exact", "single_recall", "morphscore", "morphscore_words", "tokens_per_word")


def exists(cell: Cell) -> bool:
    """Return whether a cell exists; size 32,000 is measured only with running text, and not for Morfessor."""
    if cell["vocab_size"] > 8000 and (cell["language"] not in TEXTS or cell["system"] == "morfessor"):
        return False
    return cell["language"] in KINDS[cell["kind"]]


def measure(place: Place, cells: list[Cell]) -> Found:
    language, size = cells[0]["language"], cells[0]["vocab_size"]
    fetched = place.path("fetched", "a folder with clones of the repositories that lab/experiments/blind.py names")
    sets = sets_of(language, fetched)
    words = words_of(language, place.data, fetched)
    for system, own in groups([cell for cell in cells if cell["kind"] in sets], "system"):
        if words is None:
            yield from ((cell, {"left_out": "no words to learn from"}) for cell in own)
            continue
        counts, about = words
        directory = trained(system, counts, size, place.work / "ngram_map" / language)
        source = open_tokenizer(baselines.saved(directory), by_class=True)
        for cell in own:
            n_rows, gold = sets[cell["kind"]]
            cut = cut_words(source, gold)
            scores, (low, high) = asdict(summarize(cut)), interval(bootstrap_f1([cut])[0])
            facts = {"trained_on": about, "types": len(counts), "words": len(gold), "rows_of_set": n_rows}
            yield cell, {**facts, **{name: scores[name] for name in FIGURES}, "f1_low": low, "f1_high": high}


def table(rows: list[Row]) -> Page:
    for kind, (title, form) in TITLES.items():
        lines = []
        for language, size, here in groups(where(rows, kind=kind, left_out=None), "language", "vocab_size"):
            line = {"language": language, "vocabulary size": f"{size:,}", "trained on": here[0]["trained_on"]}
            cells = {row["system"]: form(row) for row in here}
            by_system = {system: cells.get(system, "") for system in SYSTEMS}
            lines.append({**line, "words": f"{here[0]['words']:,}", **by_system})
        yield f"## {title}"
        yield tabulated(lines)
    absent = sorted({row["language"] for row in rows if "left_out" in row})
    yield f"These languages were not measured, because there are no words to learn from: {', '.join(absent) or 'none'}."


def whole_scores(row: Row) -> str:
    """Format F1 with its interval, precision and recall."""
    return f"{row['f1']:.3f} ({row['f1_low']:.3f}-{row['f1_high']:.3f}); {row['precision']:.2f}, {row['recall']:.2f}"


def single_scores(row: Row) -> str:
    """Format recall at the single boundary, MorphScore and tokens per word."""
    return f"{row['single_recall']:.3f}; {row['morphscore']:.3f}; {row['tokens_per_word']:.2f}"


TITLES: dict[str, tuple[str, Callable[[Row], str]]] = {
    "sigmorphon": ("Whole segmentations: SIGMORPHON 2022, test", whole_scores),
    "lemma": ("Forms that begin with their lemma: Universal Dependencies, dev and test", single_scores),
    "morphscore": ("MorphScore, first version", single_scores),
}


def sets_of(language: str, fetched: Path) -> dict[str, tuple[int, list[GoldWord]]]:
    """Read the sets of a language that exist in the fetched files, by kind.

    Each result has the number of rows of the set and at most 4,000 of its words, evenly spaced.
    """
    found: dict[str, tuple[int, Sequence[GoldWord]]] = {}
    files = {"morphscore": fetched / "morphscore" / "data" / f"{MORPHSCORE.get(language)}_morph_data.csv"}
    if language in SEGMENTATIONS:
        files["sigmorphon"] = fetched / "2022SegmentationST" / "data" / f"{language}.word.test.gold.tsv"
    for kind in [kind for kind, file in files.items() if file.exists()]:
        gold = read_gold(files[kind])
        found[kind] = gold.lines, gold.words
    if language in TREEBANKS and (clone := fetched / TREEBANKS[language]).is_dir():
        pairs = dict(lemmas(word for sentence in treebank(clone, "dev", "test") for word in sentence.words))
        found["lemma"] = len(pairs), [GoldWord(form, ((lemma, form[len(lemma) :]),)) for form, lemma in pairs.items()]
    return {kind: (n, list(words[:: -(-len(words) // MOST_WORDS)])) for kind, (n, words) in found.items() if words}


def lemmas(words: Iterable[list[str]]) -> Iterator[tuple[str, str]]:
    r"""Yield the lowercase form and lemma of each word that begins with its lemma and is longer than it.

    >>> words = ("1\tKoirat\tkoira\tNOUN", "2\t.\t.\tPUNCT", "3\ttulee\ttulla\tVERB")
    >>> list(lemmas([word.split("\t") for word in words]))
    [('koirat', 'koira')]
    """
    for _, form, lemma, kind, *_ in words:
        form, lemma = form.lower(), lemma.lower().replace("#", "")
        is_word = kind not in NOT_WORDS and form.isalpha() and len(lemma) >= LEAST_LEMMA
        if is_word and form.startswith(lemma) and form != lemma:
            yield form, lemma


def words_of(language: str, data: Path, fetched: Path) -> tuple[WordCounts, str] | None:
    """Return the words to learn from and their kind, or None if there are no words.

    The first of these that exists is used: the running text of --data, its word list, a fetched word list.
    """
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
    """Divide all counts by the smallest one.

    Baselines read each word as often as it was counted, which would be 400 million words in Spanish.

    >>> scaled({"de": 1000, "que": 790, "casa": 200})
    {'de': 5, 'que': 3, 'casa': 1}
    """
    least = min(counts.values())
    return {word: count // least for word, count in counts.items()}


def roots(fetched: Path) -> dict[str, str]:
    """Read the root of each word of Tikhonov's dictionary that has exactly one root."""
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
    """Divide words into `n` folds so that all words with the same root are in one fold, in an arbitrary order.

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


FOLDS, SIZE = 5, 8000
OF_ROOTS = {"F1": "f1", "precision": "precision", "recall": "recall", "words exact": "exact"}


def labelled_roots(place: Place, cells: list[Cell]) -> Found:
    """Labels in Russian, scored on words whose roots were never labeled.

    The words are the development half of Tikhonov's dictionary, divided into five folds so that all words with the same
    root are in one fold. Labels come from four folds, and the fifth one is scored. The tokenizers have a vocabulary
    size of 8,000 and morphs only, and learn from 4 MB of text, because there are fifteen trainings. For comparison, the
    share of completely correct words of supervised systems is 16 to 18 points lower on unseen roots (Garipov, Morozov,
    and Glazkova 2023, doi:10.1109/ISPRAS60948.2023.10508171). `--with fetched=FOLDER` names a folder with a clone of
    MartinXPN/word2morph, whose dictionary marks the roots.
    """
    fetched = place.path("fetched", "a folder with a clone of MartinXPN/word2morph")
    parts = folds(gold_of(place.data, "rus"), roots(fetched), FOLDS)
    lines, _ = parts_of(place.data, "rus")
    counts = count_documents(first(lines, 4 * MB))
    for number, own in groups(cells, "fold"):
        pool = sorted((w for n, part in enumerate(parts) if n != number for w in part), key=lambda w: order_of(w.word))
        rest = parts[number]
        for n, _, backend in labelled(counts, pool[:1000], [cell["labels"] for cell in own], [SIZE], MORPHS):
            yield {"labels": n, "fold": number}, {"vocab_size": SIZE, **judged(backend, rest), "words": len(rest)}


def roots_table(rows: list[Row]) -> Page:
    """Write the mean scores by number of labels, and the range of F1 over folds."""
    lines = []
    for n, here in groups(rows, "labels"):
        line = {"labels": f"{n:,}", "words": f"{sum(row['words'] for row in here):,}"}
        line |= {title: f"{statistics.fmean(row[name] for row in here):.3f}" for title, name in OF_ROOTS.items()}
        folds = [row["f1"] for row in here]
        lines.append(line | {"F1 by fold": f"{min(folds):.3f} to {max(folds):.3f}"})
    yield tabulated(lines)


blind_roots = beside(labelled_roots, roots_table, {"labels": (0, 100, 1000), "fold": range(FOLDS)}, 0)
