"""Do the forms of a word share tokens? Inflection tables split by MwS, byte-level BPE and SentencePiece Unigram.

The tables are those of CoNLL 2017 (task 2, whole paradigms), of which `--with fetched=FOLDER` contains a clone of
https://github.com/sigmorphon/conll2017. For Russian there are also the lexemes of words in held-out text according to
pymorphy3. Forms of several words are excluded, as are lexemes with fewer than four forms (three in English). The
tokenizers are the same as in `ngram_map` and were trained only on text. For each lexeme, the figures are:

* *same stem*: the largest share of its forms that begin with the same tokens, where these tokens spell at least half of
  the lemma;
* *shared*: the mean Jaccard index of the token sets of two forms. *Apart* is the same index for forms of different
  lexemes, which shows how many tokens forms share by chance;
* *tokens per form*, and *distinct tokens per form*: the distinct tokens of all forms divided by the number of forms.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import order_of, parts_of
from lab.systems import UNIGRAM, trained
from lab.tables import groups, half_interval, tabulated
from mws_hf.corpus.counting import count_documents
from mws_hf.tokenizer.opened import Opened, open_tokenizer

SYSTEMS = ("mws", "mws-morphs", "mws-shuffled", "bpe-byte", UNIGRAM)
TABLES = {"rus": "russian", "fin": "finnish", "tur": "turkish", "hun": "hungarian", "ces": "czech", "eng": "english",
          "ukr": "ukrainian"}  # fmt: skip
AXES = {"vocab_size": (8000, 32000), "source": (*TABLES, "rus-pymorphy3"), "system": SYSTEMS}
SHARED, TOGETHER = 2, True
MOST_LEXEMES, MOST_FORMS = 1000, 40
MEASURES = ("same_stem", "shared", "apart", "tokens_a_form", "entries_a_form")
TITLES = {"apart": "apart", "tokens_a_form": "tokens per form", "entries_a_form": "distinct tokens per form"}

Lexemes = dict[str, list[str]]


class CutForm(NamedTuple):
    """A form as tokens.

    Attributes:
        ids: ids of the tokens.
        ends: the number of letters up to the end of each token.
        lettered: ids of the tokens that contain a letter.
    """

    ids: tuple[int, ...]
    ends: tuple[int, ...]
    lettered: frozenset[int]


def tables_of(language: str, fetched: Path) -> Lexemes:
    """Read the lexemes of all parts of the CoNLL tables that exist in the fetched files."""
    lexemes: Lexemes = {}
    for name in ("all/task2/{}-train-high", "all/task2/{}-uncovered-dev", "answers/task2/{}-uncovered-test"):
        file = fetched / "conll2017" / name.format(TABLES[language])
        for row in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
            lemma, form = row.split("\t")[:2]
            if lemma.isalpha() and form.isalpha():
                lexemes.setdefault(lemma, []).append(form)
    return lexemes


def lexemes_of_text(lines: Iterable[str]) -> Lexemes:
    """Return all forms of the Russian nouns, adjectives and verbs in a text that are in pymorphy3's dictionary."""
    import pymorphy3

    analyzer = pymorphy3.MorphAnalyzer()
    lexemes: Lexemes = {}
    for word in sorted({word.lower() for line in lines for word in re.findall(r"[а-яёА-ЯЁ]{3,}", line)}, key=order_of):
        parse = analyzer.parse(word)[0]
        known = parse.is_known and parse.tag.POS in ("NOUN", "ADJF", "VERB", "INFN")
        if known and parse.normal_form not in lexemes:
            lexemes[parse.normal_form] = [form.word for form in parse.lexeme]
        if len(lexemes) == MOST_LEXEMES:
            break
    return lexemes


def chosen(lexemes: Lexemes, least_forms: int) -> Lexemes:
    """Choose lexemes with enough distinct forms in an arbitrary order, and at most 40 forms of each.

    >>> chosen({"cat": ["cats", "cat", "cats"], "put": ["put"]}, 2)
    {'cat': ['cat', 'cats']}
    """
    lemmas = sorted(lexemes, key=order_of)[:MOST_LEXEMES]
    kept = {lemma: sorted(sorted(set(lexemes[lemma]), key=order_of)[:MOST_FORMS]) for lemma in lemmas}
    return {lemma: forms for lemma, forms in kept.items() if len(forms) >= least_forms}


def cut(encoder: Opened, forms: Sequence[str]) -> Iterator[CutForm]:
    """Segment forms as after a space."""
    prefix = " " if encoder.before else ""
    for item in encoder.encode([prefix + form for form in forms]):
        ends = tuple(end - len(prefix) for _, end in item.spans or [])
        lettered = frozenset(token for token, end in zip(item.ids, ends, strict=True) if end > 0)
        yield CutForm(tuple(item.ids), ends, lettered)


def same_stem(forms: Sequence[CutForm], lemma: str) -> float:
    """Return the largest share of forms that begin with the same tokens up to at least the middle of the lemma.

    >>> whole, cut_up = CutForm((7,), (4,), frozenset({7})), CutForm((5, 6), (3, 4), frozenset({5, 6}))
    >>> same_stem([cut_up, cut_up, whole], "cat")
    0.6666666666666666
    """
    middle = math.ceil(len(lemma) / 2)
    begun = Counter(form.ids[: k + 1] for form in forms for k, end in enumerate(form.ends) if end >= middle)
    return max(begun.values(), default=0) / len(forms)


def jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    """Return the Jaccard index of two sets."""
    return len(a & b) / len(a | b) if a or b else 1.0


def measures(found: dict[str, list[CutForm]]) -> dict[str, list[float]]:
    """Compute the figures of each lexeme; different lexemes are compared in pairs."""
    lists = list(found.values())
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for (lemma, forms), others in zip(found.items(), [*lists[1:], *lists[:1]], strict=True):
        pairs, beside = combinations([form.lettered for form in forms], 2), zip(forms, others, strict=False)
        values["same_stem"].append(same_stem(forms, lemma))
        values["shared"].append(statistics.fmean(jaccard(a, b) for a, b in pairs))
        values["apart"].append(statistics.fmean(jaccard(a.lettered, b.lettered) for a, b in beside))
        values["tokens_a_form"].append(statistics.fmean(len(form.ids) for form in forms))
        values["entries_a_form"].append(len(frozenset().union(*(form.lettered for form in forms))) / len(forms))
    return values


def measure(place: Place, cells: list[Cell]) -> Found:
    source, size = cells[0]["source"], cells[0]["vocab_size"]
    language = source[:3]
    lines, held_out = parts_of(place.data, language)
    fetched = place.path("fetched", "a folder with a clone of sigmorphon/conll2017")
    found = tables_of(language, fetched) if source in TABLES else lexemes_of_text(held_out)
    lexemes = chosen(found, 3 if language == "eng" else 4)
    if not lexemes:
        return
    counts, folder = count_documents(lines), place.work / "ngram_map" / language
    own: dict[str, dict[str, list[float]]] = {}
    for cell in cells:
        directory = trained(cell["system"], counts, size, folder)
        encoder = open_tokenizer(directory, by_class=True)
        values = own[cell["system"]] = measures({lemma: list(cut(encoder, forms)) for lemma, forms in lexemes.items()})
        row = {"lexemes": len(lexemes), "forms": sum(map(len, lexemes.values()))}
        row |= {name: statistics.fmean(each) for name, each in values.items()}
        for name in ("same_stem", "shared"):
            gaps = [a - b for a, b in zip(own[SYSTEMS[0]][name], values[name], strict=True)]
            row[f"lead_{name}"] = [statistics.fmean(gaps), half_interval(gaps)]
        yield cell, row


def table(rows: list[Row]) -> Page:
    yield (
        "Brackets contain the difference of MwS with default settings from the system on the same lexemes, ± half the "
        "width of its 95 % interval."
    )
    for size, here in groups(rows, "vocab_size"):
        lines = []
        for row in here:
            lines.append({"table": row["source"], "lexemes": f"{row['lexemes']:,}", "system": row["system"]})
            for title, name in {"same stem": "same_stem", "shared": "shared"}.items():
                lead, doubt = row[f"lead_{name}"]
                beside = "" if row["system"] == SYSTEMS[0] else f" ({lead:+.3f} ± {doubt:.3f})"
                lines[-1][title] = f"{row[name]:.3f}{beside}"
            for name, form in {"apart": ".3f", "tokens_a_form": ".2f", "entries_a_form": ".2f"}.items():
                lines[-1][TITLES[name]] = format(row[name], form)
        yield f"## Vocabulary size {size:,}"
        yield tabulated(lines)
