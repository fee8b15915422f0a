"""scripts/blind.py and scripts/paradigms.py on made-up files: what is read, what is scored, what is left out."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import blind
import blind_sets
import paradigms
import pytest

from mws_hf.corpus.segmentations import GoldWord

STEMS = [a + b + c for a in "ptkms" for b in "aeiou" for c in ("lan", "rit", "sok", "nu")]
ENDINGS = ("ssa", "sta", "lle", "n")


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    """Repositories with a few made-up words, in the places where `git clone` would leave them."""
    folder = tmp_path / "fetched"
    surface = [f"{stem}{end}\t{stem} @@{end}\t100" for stem in STEMS[:20] for end in ENDINGS]
    write(folder / "2022SegmentationST/data/mon.word.test.gold.tsv", [*surface, "panu\tpan @@ua\t100"])
    train = [f"{stem}{end}\t{stem} @@{end}\t100" for stem in STEMS for end in ENDINGS]
    write(folder / "2022SegmentationST/data/surprise/mon.word.train.tsv", train)
    pairs = [f"{n},{stem}ssa,{stem},ssa" for n, stem in enumerate(STEMS[:10])]
    write(folder / "morphscore/data/zulu_morph_data.csv", [",full_word,pt1,rest", *pairs])
    forms = [f"{stem}\t{stem}{end}\tN;SG" for stem in STEMS[:30] for end in ENDINGS]
    write(folder / "conll2017/all/task2/english-train-high", [*forms, "put up\tputs up\tV"])
    return folder


def write(file: Path, lines: list[str]) -> None:
    """Write lines, and the folders above."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(script, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    """Run a script in this process."""
    monkeypatch.setattr(sys, "argv", ["script", *map(str, arguments)])
    script.main()


def test_blind_sets_are_scored_once_and_languages_without_words_are_named(
    fetched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    results = tmp_path / "blind.json"
    arguments = ["--data", tmp_path / "data", "--fetched", fetched, "--results", results, "--sizes", 400, 500]
    arguments += ["--tokenizers", tmp_path / "out", "--output", tmp_path / "sets", "--parts", "sets"]
    arguments += ["--systems", "mws", "bpe-byte", "--languages", "mon", "zul"]
    run(blind, monkeypatch, *arguments)
    found = json.loads(results.read_text(encoding="utf-8"))["rows"]
    scored = [row for row in found if "system" in row]
    assert [(row["language"], row["kind"], row["system"], row["vocab_size"]) for row in scored] == [
        ("mon", "sigmorphon", "mws", 400),  # of a list the first size alone
        ("mon", "sigmorphon", "bpe-byte", 400),
    ]
    assert {(row["words"], row["rows_of_set"]) for row in scored} == {(80, 81)}  # "pan ua" does not spell its word
    assert all(row["f1_low"] <= row["f1"] <= row["f1_high"] for row in scored)
    assert [row["language"] for row in found if "left_out" in row] == ["zul"]
    page = results.with_suffix(".md").read_text(encoding="utf-8")
    assert "Left out, as there are no words to learn from: zul." in page and f"{scored[0]['f1']:.3f}" in page
    run(blind, monkeypatch, *arguments)
    assert json.loads(results.read_text(encoding="utf-8"))["rows"] == found


def test_forms_that_begin_with_their_lemma_make_a_set(tmp_path: Path):
    rows = ["1\tKoirassa\tkoira\tNOUN", "2\tkoira\tkoira\tNOUN", "3\ttulee\ttulla\tVERB", "4\tNokian\tNokia\tPROPN"]
    for part in ("dev", "test"):
        write(tmp_path / f"UD_Finnish-FTB/fi_ftb-ud-{part}.conllu", rows)
    (found,) = blind_sets.sets_of("fin", tmp_path, tmp_path / "scratch")
    assert (found.kind, found.gold.words) == ("lemma", (GoldWord("koirassa", (("koira", "ssa"),)),))


def test_no_root_is_in_two_folds(tmp_path: Path):
    tagged = ["дом\tдом:ROOT", "домик\tдом:ROOT/ик:SUFF", "паровоз\tпар:ROOT/о:LINK/воз:ROOT", "кот\tкот:ROOT"]
    write(tmp_path / "word2morph/datasets/rus.train", tagged)
    roots = blind_sets.roots(tmp_path)
    assert roots == {"дом": "дом", "домик": "дом", "кот": "кот"}
    many = roots | {f"{letter}{n}": letter for letter in "абвгдежз" for n in range(5)}
    parts = blind_sets.folds(tuple(GoldWord(word, ((word,),)) for word in [*many, "паровоз"]), many, 5)
    assert sorted(word.word for part in parts for word in part) == sorted(many)
    seen = [{many[word.word] for word in part} for part in parts]
    assert sum(map(len, seen)) == len(set.union(*seen))


def test_forms_that_share_their_stem_are_told(fetched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = tmp_path / "data" / "text"
    text.mkdir(parents=True)
    with gzip.open(text / "eng.made-up.txt.gz", "wt", encoding="utf-8") as file:
        file.writelines(" ".join(f"{stem}{end}" for stem in STEMS) + "\n" for end in ENDINGS * 30)
    results = tmp_path / "paradigms.json"
    arguments = ["--data", tmp_path / "data", "--fetched", fetched, "--results", results, "--sizes", 400, 800]
    arguments += ["--tokenizers", tmp_path / "out", "--systems", "mws-morphs", "bpe-byte", "--languages", "eng"]
    monkeypatch.setattr(paradigms, "SYSTEMS", ("mws-morphs", "bpe-byte"))
    run(paradigms, monkeypatch, *arguments)
    rows = {(row["system"], row["vocab_size"]): row for row in json.loads(results.read_text(encoding="utf-8"))}
    assert {(row["lexemes"], row["forms"]) for row in rows.values()} == {(30, 120)}
    morphs, bpe = rows["mws-morphs", 800], rows["bpe-byte", 800]
    assert morphs["same_stem"] > 0.9 and bpe["same_stem"] < 0.5  # frequency holds whole forms, one token each
    assert morphs["shared"] > bpe["shared"] and bpe["lead_same_stem"][0] > 0
    assert "eng" in results.with_suffix(".md").read_text(encoding="utf-8")
