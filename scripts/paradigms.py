"""Do the forms of a word share tokens? Inflection tables cut by MwS, byte-level BPE and SentencePiece Unigram.

    nice -n 5 python scripts/paradigms.py --data ../shared/data --fetched DIR [--languages rus fin] [--sizes 8000]

Tables of CoNLL 2017 (task 2, whole paradigms; https://github.com/sigmorphon/conll2017 in `--fetched`), and for Russian
also of pymorphy3: the lexemes of words in held-out text. Forms of two words are left out, and so are lexemes of fewer
than four forms, or three in English. Tokenizers are those of `ngram_map.py`, trained on text alone. Of each lexeme:

* *same stem*: the share of its forms that begin with the same tokens, these spelling half of the lemma or more.
* *shared*: the mean Jaccard index of the token sets of two forms. *Apart* is that of forms of different lexemes: what
  short pieces share by chance.
* *tokens a form*, and *entries a form*: distinct tokens of all forms over the number of forms.

Writes scripts/results/paradigms.json language by language (a run goes on where the last one stopped) and paradigms.md.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from blind_sets import hash_of
from lab.systems import UNIGRAM
from ngram_map import parts_of, trained

from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate.encoder import Encoder, load_encoder
from mws_hf.text.markdown import markdown_table

SYSTEMS = ("mws", "mws-morphs", "mws-shuffled", "bpe-byte", UNIGRAM)
TABLES = {"rus": "russian", "fin": "finnish", "tur": "turkish", "hun": "hungarian", "ces": "czech", "eng": "english",
          "ukr": "ukrainian"}  # fmt: skip
SOURCES = (*TABLES, "rus-pymorphy3")
MOST_LEXEMES, MOST_FORMS = 1000, 40
LEAST_FORMS = {"eng": 3}
MEASURES = ("same_stem", "shared", "apart", "tokens_a_form", "entries_a_form")

Lexemes = dict[str, list[str]]


@dataclass(frozen=True)
class CutForm:
    """A form as tokens: ids, the letters of the form that each reaches, and the ids of those that hold a letter."""

    ids: tuple[int, ...]
    ends: tuple[int, ...]
    lettered: frozenset[int]


def tables_of(language: str, fetched: Path) -> Lexemes:
    """The lexemes of the CoNLL tables, training and development, that are among the fetched files."""
    folder = fetched / "conll2017"
    lexemes: Lexemes = {}
    for name in (
        "all/task2/{}-train-high",
        "all/task2/{}-uncovered-dev",
        "answers/task2/{}-uncovered-test",
    ):
        file = folder / name.format(TABLES[language])
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
    for word in sorted({word.lower() for line in lines for word in re.findall(r"[а-яёА-ЯЁ]{3,}", line)}, key=hash_of):
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
    kept = {}
    for lemma in sorted(lexemes, key=hash_of)[:MOST_LEXEMES]:
        forms = sorted(set(lexemes[lemma]), key=hash_of)[:MOST_FORMS]
        if len(forms) >= least_forms:
            kept[lemma] = sorted(forms)
    return kept


def cut(encoder: Encoder, lexemes: Lexemes) -> dict[str, list[CutForm]]:
    """Every form as it is cut behind a space."""
    prefix = "" if encoder.adds_space else " "
    forms = [form for each in lexemes.values() for form in each]
    encoded = iter(encoder.encode([prefix + form for form in forms]))
    found = {}
    for lemma, own in lexemes.items():
        found[lemma] = []
        for _ in own:
            item = next(encoded)
            ends = tuple(end - len(prefix) for _, end in item.spans or [])
            lettered = frozenset(token for token, end in zip(item.ids, ends, strict=True) if end > 0)
            found[lemma].append(CutForm(tuple(item.ids), ends, lettered))
    return found


def same_stem(forms: Sequence[CutForm], lemma: str) -> float:
    """The share of forms that begin with the same tokens, these reaching half of the lemma's letters or more.

    >>> whole, cut_up = CutForm((7,), (4,), frozenset({7})), CutForm((5, 6), (3, 4), frozenset({5, 6}))
    >>> same_stem([cut_up, cut_up, whole], "cat")
    0.6666666666666666
    """
    half = math.ceil(len(lemma) / 2)
    begun = Counter(form.ids[: k + 1] for form in forms for k, end in enumerate(form.ends) if end >= half)
    return max(begun.values(), default=0) / len(forms)


def jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    """How much of two sets is in both."""
    return len(a & b) / len(a | b) if a or b else 1.0


def measures(found: dict[str, list[CutForm]]) -> dict[str, list[float]]:
    """The measures of each lexeme."""
    lists = list(found.values())
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for (lemma, forms), others in zip(found.items(), [*lists[1:], *lists[:1]], strict=True):
        values["same_stem"].append(same_stem(forms, lemma))
        pairs = combinations([form.lettered for form in forms], 2)
        values["shared"].append(statistics.fmean(jaccard(a, b) for a, b in pairs))
        beside = zip(forms, others, strict=False)
        values["apart"].append(statistics.fmean(jaccard(a.lettered, b.lettered) for a, b in beside))
        values["tokens_a_form"].append(statistics.fmean(len(form.ids) for form in forms))
        values["entries_a_form"].append(len(frozenset().union(*(form.lettered for form in forms))) / len(forms))
    return values


def rows_of(source: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a system and size: means over lexemes, and the default's lead in two of them with half a 95 % interval."""
    language = source.partition("-")[0]
    lines, held_out = parts_of(arguments.data, language)
    found = tables_of(language, arguments.fetched) if source in TABLES else lexemes_of_text(held_out)
    lexemes = chosen(found, LEAST_FORMS.get(language, 4))
    if not lexemes:
        return []
    counts = count_documents(lines)
    rows = []
    for size in arguments.sizes:
        own: dict[str, dict[str, list[float]]] = {}
        for system in arguments.systems:
            directory = trained(counts, system, size, arguments.tokenizers / language)
            own[system] = measures(cut(load_encoder(directory), lexemes))
            row = {"source": source, "lexemes": len(lexemes), "forms": sum(map(len, lexemes.values()))}
            row |= {"system": system, "vocab_size": size}
            row |= {name: statistics.fmean(values) for name, values in own[system].items()}
            rows.append(row | {f"lead_{name}": lead(own, system, name) for name in ("same_stem", "shared")})
    return rows


def lead(values: dict[str, dict[str, list[float]]], system: str, name: str) -> list[float]:
    """The default's mean minus the system's over the same lexemes, and half of its 95 % interval (normal)."""
    gaps = [a - b for a, b in zip(values[SYSTEMS[0]][name], values[system][name], strict=True)]
    return [statistics.fmean(gaps), 1.96 * statistics.stdev(gaps) / math.sqrt(len(gaps))]


def tables(rows: list[dict[str, Any]]) -> str:
    """Markdown: a table a size, a row a source and system."""
    parts = []
    for size in sorted({row["vocab_size"] for row in rows}):
        lines = []
        for row in (each for each in rows if each["vocab_size"] == size):
            told = [
                f"{row[name]:.3f}"
                if row["system"] == SYSTEMS[0]
                else f"{row[name]:.3f} ({row[f'lead_{name}'][0]:+.3f} ± {row[f'lead_{name}'][1]:.3f})"
                for name in ("same_stem", "shared")
            ]
            rest = [f"{row['apart']:.3f}", f"{row['tokens_a_form']:.2f}", f"{row['entries_a_form']:.2f}"]
            lines.append([row["source"], f"{row['lexemes']:,}", row["system"], *told, *rest])
        header = ["table", "lexemes", "system", "same stem", "shared", "apart", "tokens a form", "entries a form"]
        parts.append(f"## Vocabulary {size:,}\n\n{markdown_table(header, lines)}")
    note = "In brackets: the default minus the system, over the same lexemes, with half of its 95 % interval."
    return "\n\n".join([note, *parts]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--fetched", type=Path, required=True, help="folder of the repository above")
    parser.add_argument("--tokenizers", type=Path, default=Path("out/ngram_map"), help="those trained are used again")
    parser.add_argument("--languages", nargs="+", default=list(SOURCES), choices=SOURCES)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[8000, 32000])
    parser.add_argument("--results", type=Path, default=Path("scripts/results/paradigms.json"))
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else []
    for source in arguments.languages:
        there = {row["vocab_size"] for row in rows if row["source"] == source}
        if all(size in there for size in arguments.sizes):
            continue
        new = rows_of(source, arguments)
        rows = [row for row in rows if row["source"] != source or row["vocab_size"] not in arguments.sizes] + new
        rows.sort(key=lambda row: (row["vocab_size"], SOURCES.index(row["source"]), SYSTEMS.index(row["system"])))
        write_text(arguments.results, json.dumps(rows, indent=1) + "\n")
        write_text(arguments.results.with_suffix(".md"), tables(rows))
        print(source, *(f"{row['system']} {row['same_stem']:.3f} {row['shared']:.3f}" for row in new), flush=True)


if __name__ == "__main__":
    main()
