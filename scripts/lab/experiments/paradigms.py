"""Do the forms of a word share tokens? Inflection tables cut by MwS, byte-level BPE and SentencePiece Unigram.

Tables of CoNLL 2017 (task 2, whole paradigms; a clone of https://github.com/sigmorphon/conll2017 in
`--with fetched=FOLDER`), and for Russian also of pymorphy3: the lexemes of words in held-out text. Forms of two words
are left out, and so are lexemes of fewer than four forms, or three in English. Tokenizers are those of `ngram_map`,
trained on text alone. Of each lexeme:

* *same stem*: the share of its forms that begin with the same tokens, these spelling half of the lemma or more.
* *shared*: the mean Jaccard index of the token sets of two forms. *Apart* is that of forms of different lexemes: what
  short pieces share by chance.
* *tokens a form*, and *entries a form*: distinct tokens of all forms over the number of forms.
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
from lab.tables import groups, half, tabulated
from mws_hf.corpus.counting import count_documents
from mws_hf.tokenizer.opened import Opened, open_tokenizer

SYSTEMS = ("mws", "mws-morphs", "mws-shuffled", "bpe-byte", UNIGRAM)
TABLES = {"rus": "russian", "fin": "finnish", "tur": "turkish", "hun": "hungarian", "ces": "czech", "eng": "english",
          "ukr": "ukrainian"}  # fmt: skip
AXES = {"vocab_size": (8000, 32000), "source": (*TABLES, "rus-pymorphy3"), "system": SYSTEMS}
SHARED, TOGETHER = 2, True
MOST_LEXEMES, MOST_FORMS = 1000, 40
MEASURES = ("same_stem", "shared", "apart", "tokens_a_form", "entries_a_form")

Lexemes = dict[str, list[str]]


class CutForm(NamedTuple):
    """A form as tokens: ids, the letters of the form that each reaches, and the ids of those that hold a letter."""

    ids: tuple[int, ...]
    ends: tuple[int, ...]
    lettered: frozenset[int]


def tables_of(language: str, fetched: Path) -> Lexemes:
    """The lexemes of the CoNLL tables, all parts, that are among the fetched files."""
    lexemes: Lexemes = {}
    for name in ("all/task2/{}-train-high", "all/task2/{}-uncovered-dev", "answers/task2/{}-uncovered-test"):
        file = fetched / "conll2017" / name.format(TABLES[language])
        for row in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
            lemma, form = row.split("\t")[:2]
            if lemma.isalpha() and form.isalpha():
                lexemes.setdefault(lemma, []).append(form)
    return lexemes


def lexemes_of_text(lines: Iterable[str]) -> Lexemes:
    """The lexemes that pymorphy3 knows of Russian words in a text: nouns, adjectives, verbs; all their forms."""
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
    """Lexemes with enough distinct forms, in an order that tells nothing, and 40 forms of each at most.

    >>> chosen({"cat": ["cats", "cat", "cats"], "put": ["put"]}, 2)
    {'cat': ['cat', 'cats']}
    """
    lemmas = sorted(lexemes, key=order_of)[:MOST_LEXEMES]
    kept = {lemma: sorted(sorted(set(lexemes[lemma]), key=order_of)[:MOST_FORMS]) for lemma in lemmas}
    return {lemma: forms for lemma, forms in kept.items() if len(forms) >= least_forms}


def cut(encoder: Opened, forms: Sequence[str]) -> Iterator[CutForm]:
    """Forms as they are cut after a space."""
    prefix = " " if encoder.before else ""
    for item in encoder.encode([prefix + form for form in forms]):
        ends = tuple(end - len(prefix) for _, end in item.spans or [])
        lettered = frozenset(token for token, end in zip(item.ids, ends, strict=True) if end > 0)
        yield CutForm(tuple(item.ids), ends, lettered)


def same_stem(forms: Sequence[CutForm], lemma: str) -> float:
    """The share of forms that begin with the same tokens, these reaching half of the lemma's letters or more.

    >>> whole, cut_up = CutForm((7,), (4,), frozenset({7})), CutForm((5, 6), (3, 4), frozenset({5, 6}))
    >>> same_stem([cut_up, cut_up, whole], "cat")
    0.6666666666666666
    """
    middle = math.ceil(len(lemma) / 2)
    begun = Counter(form.ids[: k + 1] for form in forms for k, end in enumerate(form.ends) if end >= middle)
    return max(begun.values(), default=0) / len(forms)


def jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def measures(found: dict[str, list[CutForm]]) -> dict[str, list[float]]:
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
            row[f"lead_{name}"] = [statistics.fmean(gaps), half(gaps)]
        yield cell, row


def table(rows: list[Row]) -> Page:
    yield "In brackets: the default minus the system, over the same lexemes, with half of its 95 % interval."
    for size, here in groups(rows, "vocab_size"):
        lines = []
        for row in here:
            lines.append({"table": row["source"], "lexemes": f"{row['lexemes']:,}", "system": row["system"]})
            for title, name in {"same stem": "same_stem", "shared": "shared"}.items():
                lead, doubt = row[f"lead_{name}"]
                beside = "" if row["system"] == SYSTEMS[0] else f" ({lead:+.3f} ± {doubt:.3f})"
                lines[-1][title] = f"{row[name]:.3f}{beside}"
            for name, form in {"apart": ".3f", "tokens_a_form": ".2f", "entries_a_form": ".2f"}.items():
                lines[-1][name.replace("_", " ")] = format(row[name], form)
        yield f"## Vocabulary {size:,}"
        yield tabulated(lines)
