"""What `quality` and `mixture` of scripts/lab read and compare, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.experiments import quality
from lab.experiments.mixture import ORDER, excess, parity_bpe
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from mws_hf.evaluate import read_gold
from mws_hf.text.pattern import DEFAULT_PATTERN

PARAMA = "rocks:rock-s rocks\nnewest:new-est\ncross-talk:cross-talk\newers':ewer-s-'\nunder:under\n"


def test_gold_of_parama_is_fetched_once_and_read(tmp_path: Path):
    (tmp_path / "gold.eng.txt").write_text(PARAMA, encoding="utf-8")
    file = quality.gold_file("eng", tmp_path / "cache", tmp_path.as_uri())
    assert file is not None
    gold = read_gold(file)
    assert (gold.name, gold.format, gold.problems) == ("eng.parama", "words", ())
    assert {word.word: word.segmentations for word in gold.words} == {
        "rocks": (("rock", "s"), ("rocks",)),
        "newest": (("new", "est"),),
        "ewers'": (("ewer", "s", "'"),),
        "under": (("under",),),
    }
    (tmp_path / "gold.eng.txt").unlink()
    assert quality.gold_file("eng", tmp_path / "cache", tmp_path.as_uri()) == file


def test_without_a_network_the_rest_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert quality.gold_file("eng", tmp_path / "cache", "http://127.0.0.1:9") is None
    assert "going on without this gold" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()


def test_turkish_letters_and_colons_of_words_are_read(tmp_path: Path):
    (tmp_path / "gold.tur.txt").write_text("dISsatImcI:dISsatIm-cI\n", encoding="utf-8")
    (tmp_path / "gold.fin.txt").write_text("eu:n:eu-:-n eu-:n\r\naidasta:aida-sta aidas-ta\r\n", encoding="utf-8")
    found = {name: read_gold(quality.gold_file(name, tmp_path / "c", tmp_path.as_uri())) for name in ("tur", "fin")}
    assert [word.segmentations for word in found["tur"].words] == [(("dışsatım", "cı"),)]
    assert [word.segmentations for word in found["fin"].words] == [
        (("eu", ":", "n"), ("eu", ":n")),
        (("aida", "sta"), ("aidas", "ta")),
    ]


def test_the_length_of_a_mixture_beside_bpe_of_its_size():
    lengths = {"mws": 1.3, "bpe": 1.25, "mws-morphs": 2.0}
    rows = [
        {"system": system, "vocab_size": size, "language": name, "tokens_per_word": length}
        for system, length in lengths.items()
        for size in (64, 128)
        for name in ORDER
        if (system, size) != ("bpe", 128)
    ]
    text = excess(rows)
    assert "| mws, 64 |" in text and text.count("+4.0%") == 8 and "128" not in text


def test_balanced_bpe_cuts_the_language_of_little_text_less_often():
    large = ["they walked and talked while others waited for the walking talkers"] * 200
    small = ["talossa talosta taloista autossa autosta autoista"] * 2
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), "isolated")
    plain.train_from_iterator([*large, *small], trainers.BpeTrainer(vocab_size=60, show_progress=False))
    balanced = parity_bpe([iter(large), iter(small)], 60)
    assert balanced.get_vocab_size() == plain.get_vocab_size() == 60
    lengths = [len(each.encode(small[0]).tokens) for each in (balanced, plain)]
    assert lengths[0] < lengths[1]
