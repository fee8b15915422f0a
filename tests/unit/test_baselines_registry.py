"""Every rival trains, saves, loads again and opens in transformers with the same cuts."""

import json
import sys
from collections import Counter
from itertools import product

import pytest

from mws_hf.compare.feed import Task
from mws_hf.compare.morfessor_baseline import build_morph_bpe
from mws_hf.compare.rivals import RIVALS, load, train
from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, split
from tests.small_corpus import morphs, small_counts

WORDS = ["".join(parts) for parts in morphs()] + ["walkost", "unbereging", "Ж", "漢字"]
NEEDS = {
    "morfessor": "morfessor",
    "morfessor-frequent": "morfessor",
    "morph-bpe": "morfessor",
    "sentencepiece-bpe": "sentencepiece",
    "sentencepiece-unigram": "sentencepiece",
    "sentencepiece-unigram-identity": "sentencepiece",
}


@pytest.mark.parametrize("types", [True, False], ids=["types", "text"])
@pytest.mark.parametrize("name", RIVALS)
def test_train_save_load(name, types, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    counts = small_counts().as_types() if types else small_counts()
    trained = train(name, counts, 450, tmp_path / "out")
    pieces = trained.segment_all(WORDS)
    assert ["".join(p) for p in pieces] == WORDS
    assert load(tmp_path / "out").segment_all(WORDS) == pieces
    assert trained.n_tokens <= 450
    about = json.loads((tmp_path / "out" / "baseline.json").read_text(encoding="utf-8"))
    assert about["system"] == name
    assert not list((tmp_path / "out").glob("*.pkl"))


@pytest.mark.parametrize("name", [name for name in RIVALS if not name.startswith("morfessor")])
def test_opens_in_transformers(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    from transformers import AutoTokenizer

    trained = train(name, small_counts(), 450, tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "Walks talked, 2024 unberegами"
    (encoded,) = trained.source.encode([text])
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == encoded.ids
    assert len(tokenizer) == trained.n_tokens
    assert tokenizer.eos_token == "<|endoftext|>"
    assert tokenizer.eos_token_id is not None
    saved = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert saved["tokenizer_class"] == "PreTrainedTokenizerFast"


@pytest.mark.parametrize("name", [name for name in RIVALS if name != "unigram"])
def test_training_twice_writes_the_same_files(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    for run in "ab":
        train(name, small_counts(), 430, tmp_path / run)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


@pytest.mark.parametrize("name", RIVALS)
def test_awkward_words(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    texts = [
        "a\x00b c\u2028d \ue000\ue001 </w> <0x41> ##x [UNK] <unk> ▁▁ x▁y 漢字 👨‍👩‍👧 te\u0301",
        "\ufeff\uffff नमस्ते ﬁ İ\x1f",
        "a" * 3000,
    ]
    counts = WordCounts.from_mapping(Counter(p for text in texts for p in split(text)), pattern=DEFAULT_PATTERN)
    words = ["a", "x▁y", "नमस्ते", "İstanbul", "<0x41>", "</w>", "b" * 200, "\x00"]
    trained = train(name, counts, 500, tmp_path / "out")
    pieces = trained.segment_all(words)
    assert ["".join(p) for p in pieces] == words
    assert load(tmp_path / "out").segment_all(words) == pieces


@pytest.mark.parametrize("name", RIVALS)
def test_no_words_but_spaces(name):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    counts = WordCounts.from_mapping({" ": 3, "\n": 1}, pattern=DEFAULT_PATTERN)
    try:
        assert "".join(train(name, counts, 500).segment("ab")) == "ab"
    except MwSError:
        pass


@pytest.mark.parametrize("name", ["bpe-character", "bpe-byte", "unigram", "wordpiece-top-down"])
def test_a_size_below_the_characters_keeps_them(name):
    trained = train(name, small_counts(), 10)
    assert trained.source.encode(["walk"])[0].tokens.count("[UNK]") == 0
    assert "".join(trained.segment("walk")) == "walk"


def test_characters_and_words():
    assert train("characters", small_counts(), 0).segment("walk") == list("walk")
    assert train("words", small_counts(), 300).segment("neverseen") == ["neverseen"]


def test_user_errors(tmp_path, monkeypatch):
    with pytest.raises(MwSError, match="choose one of bpe-byte"):
        train("bpee", small_counts(), 300)
    with pytest.raises(MwSError, match="no words"):
        train("bpe-character", small_counts().at_least(10**9), 300)
    with pytest.raises(MwSError, match="baseline.json"):
        load(tmp_path)
    for module, name in NEEDS.items():
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MwSError, match="pip install"):
            train(module, small_counts(), 450)


@pytest.mark.parametrize("name", ["morfessor", "morfessor-frequent"])
def test_morfessor_samples_a_list_without_counts_evenly(name, tmp_path):
    pytest.importorskip("morfessor")
    words = [" " + first + "".join(rest) for first in "abcd" for rest in product("xyz", repeat=4)]
    train(name, WordCounts.from_mapping(dict.fromkeys(words, 1), pattern=DEFAULT_PATTERN), 0, tmp_path, max_types=81)
    table = (tmp_path / "segmentations.tsv").read_text(encoding="utf-8").splitlines()
    initials = Counter("".join(line.split("\t")[1:])[0] for line in table)
    assert initials.total() == 81 and min(initials[letter] for letter in "abcd") >= 10


def test_morfessor_on_the_most_frequent_words(tmp_path):
    pytest.importorskip("morfessor")
    counts = WordCounts.from_mapping({" rare": 1, " often": 9, " most": 12}, pattern=DEFAULT_PATTERN)
    train("morfessor-frequent", counts, 0, tmp_path, max_types=2)
    table = (tmp_path / "segmentations.tsv").read_text(encoding="utf-8").splitlines()
    assert {(line.split("\t")[0], "".join(line.split("\t")[1:])) for line in table} == {("1", "often"), ("1", "most")}


def test_damaged_morfessor_table_is_named(tmp_path):
    pytest.importorskip("morfessor")
    train("morfessor", small_counts(), 0, tmp_path / "m")
    file = tmp_path / "m" / "segmentations.tsv"
    file.write_text("1\tab\nx\tcd\n", encoding="utf-8")
    with pytest.raises(MwSError, match=r"segmentations\.tsv:2"):
        load(tmp_path / "m")


def test_morph_bpe_merges_inside_the_segments_of_morfessor():
    pytest.importorskip("morfessor")
    endings = ("ing", "ed", "s", "er")
    stems = ("walk", "talk", "jump", "play", "work", "kick", "cook", "clean", "paint", "start")
    words = {
        f" {stem}{end}": 5 for stem in stems for end in ("", *endings)
    }  # bare stems too, or none is worth an entry
    counts = WordCounts.from_mapping(words, pattern=DEFAULT_PATTERN)
    model = train("morfessor-frequent", counts, 0)
    segments = {piece for word in words for piece in model.segment(word.strip())}
    assert segments & set(endings)
    tokenizer = build_morph_bpe(Task(counts, 2000))
    tokens = {token.strip() for token in tokenizer.get_vocab() if not token.startswith("<")}
    assert all(any(token in segment for segment in segments) for token in tokens)
    assert tokenizer.encode(" walking").tokens == [" walk", "ing"]
