"""Public test sets in scripts/lab, on made-up files: what is read, what is scored, what is left out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from lab.cells import Experiment, Place, measure
from lab.experiments import blind as public_sets

from mws_hf.corpus.segmentations import GoldWord

STEMS = [a + b + c for a in "ptkms" for b in "aeiou" for c in ("lan", "rit", "sok", "nu")]
ENDINGS = ("ssa", "sta", "lle", "n")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Repositories with a few made-up words, in the places where `git clone` would leave them, and a text."""
    folder = tmp_path / "fetched"
    surface = [f"{stem}{end}\t{stem} @@{end}\t100" for stem in STEMS[:20] for end in ENDINGS]
    write(folder / "2022SegmentationST/data/mon.word.test.gold.tsv", [*surface, "panu\tpan @@ua\t100"])
    train = [f"{stem}{end}\t{stem} @@{end}\t100" for stem in STEMS for end in ENDINGS]
    write(folder / "2022SegmentationST/data/surprise/mon.word.train.tsv", train)
    write(folder / "morphscore/data/zulu_morph_data.csv", [",full_word,pt1,rest", f"0,{STEMS[0]}ssa,{STEMS[0]},ssa"])
    forms = [f"{stem}\t{stem}{end}\tN;SG" for stem in STEMS[:30] for end in ENDINGS]
    write(folder / "conll2017/all/task2/english-train-high", [*forms, "put up\tputs up\tV"])
    (tmp_path / "text").mkdir()
    with gzip.open(tmp_path / "text" / "eng.made-up.txt.gz", "wt", encoding="utf-8") as file:
        file.writelines(" ".join(f"{stem}{end}" for stem in STEMS) + "\n" for end in ENDINGS * 30)
    return Place(tmp_path, tmp_path / "out", tmp_path, {"fetched": str(folder)})


def write(file: Path, lines: list[str]) -> None:
    """Write lines, and the folders above."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_sets_are_scored_and_languages_without_words_are_named(place: Place):
    blind = Experiment.of("blind")
    only = {"language": ["mon", "zul"], "system": ["mws", "bpe-byte"]}
    rows = list(measure(blind, place, blind.due([], only, again=False)))
    scored = [row for row in rows if "left_out" not in row]
    assert {(row["language"], row["kind"], row["vocab_size"]) for row in scored} == {("mon", "sigmorphon", 8000)}
    assert {(row["words"], row["rows_of_set"]) for row in scored} == {(80, 81)}  # "pan ua" does not spell its word
    assert all(row["f1_low"] <= row["f1"] <= row["f1_high"] for row in scored)
    page = (place.results / "blind.md").read_text(encoding="utf-8")
    assert "Left out, as there are no words to learn from: zul." in page and f"{scored[0]['f1']:.3f}" in page
    assert not blind.due(rows, only, again=True)


def test_forms_that_begin_with_their_lemma_make_a_set(tmp_path: Path):
    rows = ["1\tKoirassa\tkoira\tNOUN", "2\tkoira\tkoira\tNOUN", "3\ttulee\ttulla\tVERB", "4\tNokian\tNokia\tPROPN"]
    for part in ("dev", "test"):
        write(tmp_path / f"UD_Finnish-FTB/fi_ftb-ud-{part}.conllu", rows)
    found = public_sets.sets_of("fin", tmp_path)
    assert found == {"lemma": (1, [GoldWord("koirassa", (("koira", "ssa"),))])}


def test_no_root_is_in_two_folds(tmp_path: Path):
    tagged = ["дом\tдом:ROOT", "домик\tдом:ROOT/ик:SUFF", "паровоз\tпар:ROOT/о:LINK/воз:ROOT", "кот\tкот:ROOT"]
    write(tmp_path / "word2morph/datasets/rus.train", tagged)
    roots = public_sets.roots(tmp_path)
    assert roots == {"дом": "дом", "домик": "дом", "кот": "кот"}
    many = roots | {f"{letter}{n}": letter for letter in "абвгдежз" for n in range(5)}
    parts = public_sets.folds(tuple(GoldWord(word, ((word,),)) for word in [*many, "паровоз"]), many, 5)
    assert sorted(word.word for part in parts for word in part) == sorted(many)
    seen = [{many[word.word] for word in part} for part in parts]
    assert sum(map(len, seen)) == len(set.union(*seen))


def test_forms_share_their_stem(place: Place):
    paradigms = Experiment.of("paradigms")
    due = paradigms.due([], {"source": ["eng"], "vocab_size": ["8000"]}, again=False)
    rows = {row["system"]: row for row in measure(paradigms, place, due)}
    assert {(row["lexemes"], row["forms"]) for row in rows.values()} == {(30, 120)}
    assert rows["mws-morphs"]["same_stem"] > 0.9 and rows["bpe-byte"]["shared"] < rows["mws-morphs"]["shared"]
    assert "eng" in (place.results / "paradigms.md").read_text(encoding="utf-8")
