"""Unusual values that both tokenizer classes, retraining, dropout and explanations accept, or name in an error.

Modules: text/valid_text.py, tokenizer/id_comparison.py, tokenizer/post_processor.py, tokenizer/spec_checks.py.
"""

from __future__ import annotations

import json
import shutil
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from tokenizers import AddedToken, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from mws_hf import MwSTokenizer, MwSTokenizerFast, MwSTrainer, import_notebook
from mws_hf.check import check, repair
from mws_hf.errors import MissingTokenizerError, MwSError
from mws_hf.tokenizer.backend import base_vocab
from mws_hf.tokenizer.export import to_byte_level_backend
from mws_hf.tokenizer.id_comparison import IdComparison
from mws_hf.tokenizer.merging import Dropout
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from mws_hf.tokenizer.places import pretrained_folder
from mws_hf.tokenizer.spec_checks import check_spec
from mws_hf.tokenizer.training_record import kinds_by_rank
from tests.short_text import TEXT
from tests.small_tokenizers import small_fast, small_slow

MAKERS = pytest.mark.parametrize("make", [small_fast, small_slow])
LINES = [line + ". " + line.title() for line in TEXT.splitlines() if line]


@pytest.fixture(scope="module", params=[None, "nfkc"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer that writes a marker for capitals, without a Unicode form and with one."""
    folder = tmp_path_factory.mktemp("unusual") / "tokenizer"
    trainer = MwSTrainer(n_merges=150, capitals="marker", normalization=request.param, show_progress=False)
    trainer.train(LINES).save_pretrained(folder)
    return folder


def test_an_explanation_has_one_probability_per_character_of_the_word(trained: Path):
    tokenizer = MwSTokenizerFast.from_pretrained(trained)
    words = [word for word in TEXT.split() if word.isalpha() and word.islower() and len(word) > 3][:5]
    for word in words:
        capitalized, lowercase = (each.to_dict()["boundaries"] for each in tokenizer.explain([word.title(), word]))
        assert capitalized == lowercase and len(capitalized) == len(word)


def test_both_classes_segment_words_that_the_normalizer_changes(trained: Path):
    fast, slow = MwSTokenizerFast.from_pretrained(trained), MwSTokenizer.from_pretrained(trained)
    text = " ".join([LINES[0], "и\u0306 ﬁ ½ Cafe\u0301"])
    assert slow.segment(text) == fast.segment(text)
    assert any(len(pieces) > 1 for pieces in fast.segment(text.split())), "some words are split"


@MAKERS
@pytest.mark.parametrize("tokens", [["<x\ud83d>"], ["fine", "b\udfff"]])
def test_an_added_token_with_a_lone_surrogate_is_an_error_that_names_it(make: Any, tokens: list[Any]):
    tokenizer = make()
    size = len(tokenizer)
    with pytest.raises(MwSError, match="lone surrogate"):
        tokenizer.add_tokens(tokens)
    assert len(tokenizer) == size


@pytest.mark.parametrize("normalization", [None, "nfc"])
def test_both_classes_take_an_object_or_a_file_before_tables(normalization: str | None, tmp_path: Path):
    fast = small_fast(normalization=normalization)
    fast.save_pretrained(tmp_path)
    file = tmp_path / "tokenizer.json"
    sources = ({"tokenizer_object": fast.backend_tokenizer}, {"tokenizer_file": str(file)}, {"tokenizer_file": file})
    for make in (MwSTokenizer, MwSTokenizerFast):
        with pytest.raises(MissingTokenizerError, match="absent"):
            make(tokenizer_file=tmp_path / "absent.json")
        for source in sources:
            for more in ({}, {"pattern": "words", "vocab": base_vocab()}):
                assert make(**source, **more)("the перечитать")["input_ids"] == fast("the перечитать")["input_ids"]
    MwSTokenizer(tokenizer_object=fast.backend_tokenizer).add_tokens(["qqq"])
    assert fast.backend_tokenizer.token_to_id("qqq") is None, "the given object does not change"


def test_a_tokenizer_can_be_retrained_after_its_folder_was_removed(tmp_path: Path):
    small_fast().save_pretrained(tmp_path / "t")
    tokenizer = MwSTokenizerFast.from_pretrained(tmp_path / "t")
    shutil.rmtree(tmp_path / "t")
    assert len(tokenizer.train_new_from_iterator([TEXT], 300, show_progress=False)) == 300


@pytest.mark.parametrize("form", [None, "nfc"])
def test_retraining_reads_the_same_kinds_of_texts_as_a_trainer(form: str | None):
    tokenizer = MwSTrainer(n_merges=20, normalization=form, show_progress=False).train_from_iterator([TEXT])
    expected = tokenizer.train_new_from_iterator([TEXT], 300, show_progress=False).get_vocab()
    for same in ([{"text": TEXT}], Dataset.from_dict({"text": [TEXT, None]}), [(TEXT,)]):
        assert tokenizer.train_new_from_iterator(same, 300, show_progress=False).get_vocab() == expected
    for wrong in (TEXT, TEXT.encode(), [5], [[TEXT.encode()]], [{"body": TEXT}], ["a\ud800"], None):
        with pytest.raises(MwSError):
            tokenizer.train_new_from_iterator(wrong, 300)
    for wrong in ("<|user|>", {"<|user|>": 3}):
        with pytest.raises(MwSError, match=r"new_special_tokens=.*is not a list"):
            tokenizer.train_new_from_iterator([TEXT], 300, new_special_tokens=wrong)


def test_dropout_takes_numbers_of_numpy():
    tokenizer = small_slow()
    for seed in (np.int64(3), np.uint64(2**64 - 1)):
        found = []
        for share, number in ((np.float32(0.5), seed), (0.5, int(seed))):
            tokenizer.set_dropout(share, seed=number)
            found.append(tokenizer([TEXT, "перечитать"])["input_ids"])
        assert found[0] == found[1]
    assert Dropout(np.float64(0.5), np.int32(7)) == Dropout(0.5, 7)
    for wrong in (True, "0.5", float("nan"), 2):
        with pytest.raises(MwSError, match="is not a probability"):
            Dropout(wrong)


def test_settings_with_numbers_of_numpy_are_those_of_python_and_are_saved(tmp_path: Path):
    given = {"vocab_size": np.int64(500), "composition": np.float32(0.5), "granularity": Fraction(1, 10)}
    trainer = MwSTrainer(**given, types=np.True_, pattern=np.str_("words"), show_progress=np.False_)
    plain = {"vocab_size": 500, "composition": 0.5, "granularity": 0.1}
    assert trainer == MwSTrainer(**plain, pattern="words", show_progress=False)
    assert "np." not in repr(trainer) and "Fraction" not in repr(trainer)
    trainer.train(LINES).save_pretrained(tmp_path)
    content = json.loads((tmp_path / "mws_training.json").read_text(encoding="utf-8"))
    assert plain.items() <= content["settings"].items()
    assert MwSTrainer.from_record(content, show_progress=False) == trainer, "the whole file restores them, too"


@pytest.mark.parametrize("name", ["vocab_size", "composition", "types"])
def test_an_array_is_not_a_number(name: str):
    with pytest.raises(MwSError, match=name):
        MwSTrainer(**{name: np.array([1])})


@pytest.mark.parametrize("record", [None, "mws_training.json", []])
def test_missing_metadata_are_an_error_of_their_own(record: Any):
    with pytest.raises(MwSError, match=r"only a tokenizer that mws_hf trained has them"):
        MwSTrainer.from_record(record)


@pytest.mark.parametrize("source", [None, 5, ["vocabulary.json"], ("a.json", "b.json", "c.json"), "absent"])
def test_a_notebook_that_is_neither_a_folder_nor_two_files_is_an_error(source: Any):
    with pytest.raises(MwSError, match="no such folder"):
        import_notebook(source)


def test_the_files_of_a_notebook_may_be_in_a_list(tmp_path: Path):
    merges = [("о", "н"), (" ", "он")]
    vocab = base_vocab((), " но", merges)
    files = [str(tmp_path / name) for name in ("v.json", "m.json")]
    for file, content in zip(files, (vocab, {"merges": merges}), strict=True):
        Path(file).write_text(json.dumps(content), encoding="utf-8")
    assert import_notebook(files).tokenize("но он") == import_notebook(tuple(files)).tokenize("но он")


def test_special_tokens_of_a_vocabulary_may_be_objects_or_a_generator():
    expected = base_vocab(["<s>", "</s>"], "ba", [("a", "b")])
    for same in ([AddedToken("<s>"), AddedToken("</s>", special=True)], iter(["<s>", "</s>"])):
        assert base_vocab(same, "ba", [("a", "b")]) == expected


def test_a_pretrained_tokenizer_may_be_named_by_a_path():
    assert pretrained_folder(Path("mws-fi-32k")) == pretrained_folder("mws-fi-32k")
    with pytest.raises(MwSError, match="no pretrained tokenizer has that name"):
        pretrained_folder(Path("mws-fi-33k"))


def test_an_empty_name_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingTokenizerError, match=r"^\.: has no tokenizer\.json"):
        open_tokenizer("")


@pytest.mark.parametrize("given", [None, [1, 2], ["wal", None], ["x"], 5])
def test_a_function_whose_result_does_not_spell_the_word_is_an_error_that_shows_it(given: Any):
    with pytest.raises(MwSError, match=r"the segmenter split 'walked' into .*must spell the word"):
        segment_words(lambda word: given, ["walked"])


@pytest.mark.parametrize("pattern", ["(", "[a", "(a|a)*b|."])
def test_a_pattern_of_an_export_that_does_not_work_is_an_error(pattern: str):
    with pytest.raises(MwSError, match="pattern"):
        to_byte_level_backend(small_fast().backend_tokenizer, pattern)


class Letters:
    """A pre-tokenizer that is written in Python."""

    def pre_tokenize(self, text: Any) -> None:
        text.split(lambda _, part: [part])


def test_a_part_that_is_written_in_python_is_named_when_a_file_would_need_it(trained: Path, tmp_path: Path):
    tokenizer, other = MwSTokenizerFast.from_pretrained(trained), small_fast()
    for each in (tokenizer, other):
        each.backend_tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Letters())
    assert other.decode(other("дома")["input_ids"]) == "дома", "texts are encoded"
    needing = (
        lambda: tokenizer.save_pretrained(tmp_path / "new"),
        lambda: tokenizer.explain("дома"),
        lambda: other.explain("дома"),
        lambda: tokenizer([["до", "ма"]], is_split_into_words=True),
    )
    for call in needing:
        with pytest.raises(MwSError, match="written in Python"):
            call()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("number", [-(10**7), 0, 3, 10**7])
def test_a_number_of_merges_in_damaged_metadata_takes_no_memory(number: int):
    tracemalloc.start()
    found = kinds_by_rank([("morph", number), ("composition", 2)], 4)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    first = "morph" if number > 0 else ""
    assert found == [first, first, "composition", "composition"] and peak < 1 << 20
    assert kinds_by_rank([("morph", 1), ("composition", 10**7)], 2) == ["composition"] * 2


def test_a_folder_to_check_may_be_a_string(tmp_path: Path):
    small_fast().save_pretrained(tmp_path)
    assert check(str(tmp_path)).ok and repair(str(tmp_path)) == []


@pytest.mark.parametrize("folder", [".", "../mine", "../mine/"])
def test_a_repository_is_called_like_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    asked, save = [], PreTrainedTokenizerFast.save_pretrained

    def record(self, directory, **options):
        asked.append(options.pop("repo_id", None))
        options.pop("push_to_hub", None)
        return save(self, directory, **options)

    monkeypatch.setattr(PreTrainedTokenizerFast, "save_pretrained", record)
    small_fast().save_pretrained(folder, push_to_hub=True)
    assert asked == [None, "mine"]


def test_former_names_of_methods_warn():
    different = IdComparison(1, ["дом"], [])
    with pytest.warns(DeprecationWarning, match="raise_if_different"), pytest.raises(MwSError, match="дом"):
        different.refuse("llama.cpp")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"padding": {"strategy": {"Fixed": 1 << 40}}}, "pads to"),
        ({"truncation": {"max_length": 4, "stride": 4}}, "a stride of 4"),
        ({"added_tokens": [{"id": 3}]}, "added token 1"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "x"}}, "replaces the empty string"),
    ],
)
def test_parts_that_would_crash_the_library_are_errors(change: dict[str, Any], message: str):
    spec = {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    assert check_spec(spec) == spec
    with pytest.raises(MwSError, match=message):
        check_spec(spec | change)
