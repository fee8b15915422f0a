"""The robustness of the lab: a tiny run of every part, and the noise and the made-up lists behind it."""

from __future__ import annotations

import gzip
import random
import unicodedata

import pytest
from lab import made_up
from lab.cells import Experiment, Place, measure

from mws_hf import WordCounts
from mws_hf.text.pattern import DEFAULT_PATTERN, WORD_PATTERN, split
from tests.agglutinative import make_language

LANGUAGES = {
    "rus": ["tikhonov", "wiktionary-forms", "running-text-forms"],
    "fin": ["morphochallenge2010"],
    "eng": ["morphochallenge2010"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder like ../shared/data with a small made-up language under each name."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("text", "gold", "words"):
        (folder / name).mkdir()
    for seed, (language, golds) in enumerate(LANGUAGES.items()):
        words = make_language(n_stems=60, seed=seed)
        draw = random.Random(seed).choices
        lines = [" ".join(draw(list(words), k=12)) + ".\n" for _ in range(2500)]
        with gzip.open(folder / "text" / f"{language}.made.txt.gz", "wt", encoding="utf-8", newline="\n") as stream:
            stream.writelines(lines)
        table = "".join(f"{word}\t{' '.join(morphs)}\n" for word, morphs in words.items())
        for gold in golds:
            (folder / "gold" / f"{language}.{gold}.tsv").write_text(table, encoding="utf-8")
    with gzip.open(folder / "words" / "est.made.tsv.gz", "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{word}\t{i + 1}\n" for i, word in enumerate(words))
    return folder


@pytest.mark.slow
def test_a_tiny_run_of_every_part_measures_and_writes_its_page(data, tmp_path):
    experiment, place = Experiment.of("robustness"), Place(data, tmp_path / "work", tmp_path / "results")
    parts = (("growth", "rus"), ("noise", "fin"), ("seeds", "fin"), ("unseen", "est"), ("unseen", "hin"))
    due = [
        cell for part, name in parts for cell in experiment.due([], {"part": [part], "language": [name]}, again=False)
    ]
    assert len(due) == 3 + 7 + 3 + 1 + 1
    records = {tuple(row[name] for name in experiment.axes): row for row in measure(experiment, place, due)}
    for record in records.values():
        for row in record.get("rows", []):
            assert 0 <= row["f1_low"] <= row["f1"] <= row["f1_high"] <= 1
    assert [len(records["growth", "rus", f"{n}x"]["rows"]) for n in (1, 3, 9)] == [3, 3, 3]
    clean = records["noise", "fin", "clean"]
    for variant in ("foreign", "typos", "capitals", "hyphens", "numbers", "all"):
        noisy = records["noise", "fin", variant]
        assert noisy["types"] > 1.05 * clean["types"]
        assert noisy["rows"][0]["delta"] == pytest.approx(noisy["rows"][0]["f1"] - clean["rows"][0]["f1"])
    assert records["seeds", "fin", "0"]["rows"] != records["seeds", "fin", "1"]["rows"]
    assert records["unseen", "est", ""]["not_restored"] == 0 and records["unseen", "hin", ""]["marks_torn_off"] == 0
    page = (place.results / "robustness.md").read_text(encoding="utf-8")
    for text in ("| rus.tikhonov | 9x |", "| fin.morphochallenge2010 | foreign |", "| Hindi verbs", "Made up"):
        assert text in page


def test_noise_adds_a_tenth_and_takes_nothing_away():
    words = [f" {word}" for word in make_language(n_stems=60)]
    clean = WordCounts.from_mapping(dict.fromkeys(words, 20), pattern=DEFAULT_PATTERN)
    donor = WordCounts.from_mapping(
        {f" {w.upper()[::-1].lower()}q": 3 for w in make_language(seed=9)}, pattern=DEFAULT_PATTERN
    )
    for kind in made_up.KINDS:
        noisy = made_up.polluted(clean, donor, [kind])
        before, after = dict(clean.items()), dict(noisy.items())
        assert all(after[word] >= n for word, n in before.items())
        added = noisy.total - clean.total
        forms = {"foreign": 3, "capitals": 2}.get(kind, 1)
        assert added >= forms * round(0.1 * len(words)), kind  # a form may be several pre-tokens
        assert made_up.polluted(clean, donor, [kind]) == noisy
        assert all(split(word) == [word] for word in noisy.words)
    everything = made_up.polluted(clean, donor, list(made_up.KINDS))
    assert len(everything) > 1.35 * len(clean)


def test_made_up_words_are_spelled_by_their_morphs_and_are_one_pretoken():
    for name, each in made_up.made_up_lists().items():
        assert len(each.gold) >= 400 and {"".join(morphs) for morphs in each.gold.values()} == set(each.gold)
        for word, morphs in each.gold.items():
            assert "".join(morphs) == word and split(" " + word, WORD_PATTERN) == [" " + word]
            assert not any(unicodedata.combining(morph[0]) for morph in morphs), name
        assert all(split(" " + word, WORD_PATTERN) == [" " + word] for word in each.training)
        assert 0.5 < len(set(each.training) & set(each.gold)) / len(each.gold) < 0.7
