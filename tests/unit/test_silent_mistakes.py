"""Mistakes that were once passed over in silence: settings that saved counts contradict, names that are none."""

import os
import sys

import pytest
from tokenizers import Tokenizer

from mws_hf import MwSTrainer
from mws_hf.cards.card import CardFacts, trained_card
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.extend.extension import extend
from mws_hf.text.pattern import LLAMA3_PATTERN, compiled
from tests.in_process import mws
from tests.processes import one_line

LETTERS = str.maketrans("0123456789", "абвгдежзик")
TEXT = "читать читали читал писать писали писал\n" * 40


@pytest.fixture
def counted(tmp_path):
    text, counts = tmp_path / "text.txt", tmp_path / "llama3.parquet"
    text.write_text(TEXT, encoding="utf-8")
    assert mws("count", text, "--pattern", "llama3", "--output", counts).returncode == 0
    return counts


def test_saved_counts_and_another_pattern_or_normalization_are_refused(counted, tmp_path):
    out = tmp_path / "out"
    for command in ("train", "count"):
        for options in (["--pattern", "words"], ["--normalization", "nfc"]):
            refused = mws(command, counted, *options, "--output", out)
            assert one_line(refused) and str(counted) in refused.stderr and options[0] in refused.stderr
            assert not out.exists()
    assert "llama3" in mws("train", counted, "--pattern", "gpt4", "--output", out).stderr
    assert mws("train", counted, "--pattern", "llama3", "--vocab-size", 300, "--output", out).returncode == 0
    state = Tokenizer.from_file(str(out / "tokenizer.json")).pre_tokenizer.__getstate__().decode()
    assert LLAMA3_PATTERN.split("|")[0].replace("\\", "\\\\") in state


@pytest.mark.parametrize("name", ["lama3", "Llama3", "gpt-4", "word"])
def test_a_misspelt_pattern_name_is_no_pattern(name, tmp_path):
    with pytest.raises(MwSError, match="none of words, gpt4, llama3, o200k"):
        MwSTrainer(pattern=name)
    assert compiled("[a-z]+|.") and compiled(r"\w+|\W+") and compiled(".")


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are no text")
def test_arguments_that_are_no_text_are_refused_and_files_may_be_named_so(tmp_path):
    name = os.fsdecode(b"kirj\xe4.txt")
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    for arguments in (
        ("train", tmp_path / "text.txt", "--output", tmp_path / name),
        ("count", tmp_path / "text.txt", "--output", tmp_path / name),
        ("explain", name, "--model", tmp_path),
    ):
        refused = mws(*arguments)
        assert one_line(refused) and "not valid text" in refused.stderr
    (tmp_path / name).write_text(TEXT, encoding="utf-8")
    done = mws("train", tmp_path / name, "--vocab-size", 300, "--output", tmp_path / "out")
    assert done.returncode == 0 and "kirj\\udce4" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_a_card_claims_no_morphemes_where_none_were_learnt_and_keeps_its_tables():
    trainer = MwSTrainer(vocab_size=300, composition=1, show_progress=False)
    trained = trainer.trained(count_documents([TEXT]))
    facts = CardFacts(data="a | b", command="mws train 'a|b'")
    card = trained_card("x", trained.backend, facts, trained.training.settings).to_markdown()
    assert "join frequent neighbours" in card and "follow morphemes" not in card
    assert "| trained on | a \\| b |" in card and "'a\\|b'" in card


def test_the_granularity_that_is_reported_is_the_one_that_was_used():
    labels = {
        "читать": "чит а ть",
        "писать": "пис а ть",
        "читали": "чит а л и",
        "писали": "пис а л и",
        "писал": "пис а л",
    }
    labels |= {"читал": "чит а л"}
    trainer = MwSTrainer(vocab_size=320, granularity=0.15, labels=labels, show_progress=False)
    fit = trainer.learn(count_documents([TEXT])).label_fits[""]
    assert fit.granularity == 0.15 and "granularity 0.150" in fit.describe()


def test_an_empty_output_does_not_write_into_the_folder_one_stands_in(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    for output in (["-o", ""], ["--output="]):
        refused = mws("train", "text.txt", *output, cwd=tmp_path)
        assert one_line(refused) and "--output is empty" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_a_list_of_words_that_all_occur_once_is_told_of_morphs_alone(tmp_path):
    words = tmp_path / "words.tsv"
    words.write_text("".join(f"слово{i:04}ами".translate(LETTERS) + "\t1\n" for i in range(2000)), encoding="utf-8")
    for options, told in ([], True), (["--composition", "0"], False):
        done = mws("train", "--word-list", words, *options, "--vocab-size", 500, "-o", tmp_path / "out", "--force")
        assert done.returncode == 0 and ("--composition 0" in done.stderr) == told


def test_a_corpus_that_gives_fewer_tokens_than_asked_for_is_told(tmp_path, caplog):
    base = MwSTrainer(vocab_size=300, show_progress=False).train_from_iterator([TEXT])
    assert len(extend(base, {" читательница": 9}, 500).ids) < 500
    assert "of 500 tokens" in caplog.text


def test_a_folder_for_a_file_and_labels_that_are_not_there_are_told_as_what_they_are(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    refused = mws("evaluate", tmp_path, "--text", tmp_path)
    assert one_line(refused) and f"{tmp_path}: a folder" in refused.stderr
    refused = mws("train", text, "--labels", tmp_path / "none.tsv", "--output", tmp_path / "out")
    assert one_line(refused) and "No such file" in refused.stderr and "Errno" not in refused.stderr
