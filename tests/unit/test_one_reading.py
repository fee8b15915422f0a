"""A mapping of counts means one thing everywhere; counts that cannot be weighed, or stand twice, are refused."""

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf import MwSTrainer
from mws_hf.compare import rivals
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.counts_file import fingerprint
from mws_hf.corpus.groups import GroupedCounts
from mws_hf.corpus.word_list import count_mapping
from mws_hf.errors import MwSError
from mws_hf.extend.changes import facts
from mws_hf.extend.extension import extend, whole_words
from mws_hf.learn.evidence import labels as label_module
from mws_hf.learn.settings import Settings
from mws_hf.learn.vocabulary import learn
from mws_hf.text.pattern import WORD_PATTERN
from tests.small_bases import gpt2_like, russian

WORDS = {"читать": 50, "читала": 20, "писать": 30, "писала": 10, "кое-кто": 4}


def trained(counts, **options):
    trainer = MwSTrainer(n_merges=12, show_progress=False, **options)
    return trainer.train_from_counts(counts).backend_tokenizer.to_str()


def test_a_mapping_is_read_alike_by_training_extending_and_rivals():
    counts = count_mapping(WORDS)
    assert trained(WORDS) == trained(counts) == trained({" " + word: count for word, count in WORDS.items()})
    words = {word: 20 for line in russian() for word in line.split()}
    one, two = (extend(gpt2_like(), each, 12).learned.merges for each in (words, count_mapping(words)))
    assert one == two and one
    for name in ("bpe-character", "wordpiece-likelihood"):
        first, second = (rivals.train(name, each, 290).source.cut(["читать"]) for each in (WORDS, counts))
        assert first == second
    trainer = MwSTrainer(n_merges=12, show_progress=False)
    assert trainer.learn(WORDS).merges == trainer.learn(counts).merges


def test_the_items_of_counts_train_as_they_do_or_are_refused():
    text = count_documents([" читать и писать; читала, писала"] * 9)
    with pytest.raises(MwSError, match="begins with a space.*train_from_counts.*WordCounts.from_mapping"):
        trained(dict(text.items()))
    with pytest.raises(MwSError, match="begins with a space.*WordCounts.from_mapping"):
        extend(gpt2_like(), dict(text.items()), 5)
    with pytest.raises(MwSError, match="begins with a space"):
        rivals.train("bpe-character", dict(text.items()), 290)
    assert trained(WordCounts.from_mapping(dict(text.items()), pattern=text.pattern)) == trained(text)
    spaced = count_documents([" читать писать читала писала"] * 9)
    assert all(word.startswith(" ") for word in spaced.words) and trained(dict(spaced.items())) == trained(spaced)


def test_an_empty_word_is_refused():
    with pytest.raises(MwSError, match="the empty string is no word"):
        trained({"": 3, "кот": 2})


# the largest sum of letters that may be weighed, for compositions without a price
LARGEST = (2**62 - 1) // 256


@pytest.mark.parametrize("settings", [{"hidden_boundary_price": 0}, {"criterion": "classic"}])
def test_counts_up_to_the_bound_are_weighed_and_beyond_it_refused(settings):
    words = [" ab", " abc", " bcd", " abcd", " cdab"]
    base = np.array([7, 5, 3, 2, 1])
    letters = int((base * [len(word) for word in words]).sum())

    def merges(counts):
        return learn(
            WordCounts.from_arrays(pa.array(words, pa.large_string()), counts, pattern=WORD_PATTERN),
            Settings(n_merges=9, composition=1, special_tokens=[], **settings),
        ).merges

    factor = LARGEST // letters
    assert merges(base * factor) == merges(base) and len(merges(base)) > 3
    with pytest.raises(MwSError, match="more than can be weighed; divide all counts by 2 "):
        merges(base * (factor + 1))
    for huge in (10**17, 2**61):
        with pytest.raises(MwSError, match="divide all counts by"):
            merges(np.array([huge, 1, 1, 1, 1]))


def test_running_text_of_any_size_gives_the_same_morphs():
    """A boundary costs 16 to 48 times 65,536 for each occurrence, so that three trillion letters were the most."""
    counts = count_mapping(
        {
            f"{stem}{end}": k + 3
            for k, stem in enumerate(["walk", "talk", "balk", "jump", "bump"])
            for end in ("", "s", "ed", "ing")
        }
    )
    settings = Settings(n_merges=40, composition=0, special_tokens=[], types=False)
    factor = LARGEST // 8 // int(sum(len(word) * count for word, count in counts.items()))
    factor = 1 << (factor.bit_length() - 1)
    times = WordCounts.from_arrays(counts.strings, counts.counts * factor, pattern=counts.pattern)
    found = learn(times, settings)
    assert found.merges == learn(counts, settings).merges and len(found.merges) > 10


def test_weighted_groups_do_not_overflow():
    one = WordCounts.from_mapping({" a": 2**60}, pattern=WORD_PATTERN)
    two = WordCounts.from_mapping({" b": 1}, pattern=WORD_PATTERN)
    with pytest.raises(MwSError, match="more than 64 bits hold"):
        GroupedCounts({"a": one, "b": two}).weighted({"b": 1000})


def write(path, words, counts, pattern="[a-z ]+", group=None):
    columns = {"word": pa.array(words, pa.large_string()), "count": pa.array(counts, pa.int64())}
    total = sum(counts)
    settings = {"mws_hf.word_counts": "1", "pattern": pattern, "normalization": "", "total": str(total)}
    settings["fingerprint"] = fingerprint(pattern, None)
    pq.write_table(pa.table(columns).replace_schema_metadata(settings), path)
    return path


def test_a_word_in_two_rows_is_refused_by_row_and_mended_by_count(tmp_path):
    from tests.in_process import invoke

    path = write(tmp_path / "c.parquet", [" ab", " cd", " ab"], [5, 4, 3])
    with pytest.raises(MwSError, match=r"c.parquet: row 3: ' ab' stands in row 1 too; .*mws count"):
        WordCounts.load(path)
    assert invoke(["count", str(path), "-o", str(tmp_path / "d.parquet")]).exit_code == 0
    assert dict(WordCounts.load(tmp_path / "d.parquet").items()) == {" ab": 8, " cd": 4}


@pytest.mark.parametrize("word", ["", None])
def test_a_row_without_a_word_is_refused(word, tmp_path):
    with pytest.raises(MwSError, match="c.parquet: row 2: its word is missing or empty"):
        WordCounts.load(write(tmp_path / "c.parquet", [" ab", word], [5, 4]))


def test_rows_out_of_order_train_as_rows_in_order(tmp_path):
    mixed = WordCounts.load(write(tmp_path / "c.parquet", [" b", " a", " c"], [1, 1, 7]))
    assert list(mixed.items()) == [(" c", 7), (" a", 1), (" b", 1)]


@pytest.mark.parametrize("value", [0.5, 0.9, 0.31, 0.001, 0, True, "0.1"])
def test_a_granularity_that_cuts_everything_or_nothing_is_refused(value):
    with pytest.raises(MwSError, match="useful are 0.05 .coarse. to 0.15 .fine."):
        MwSTrainer(granularity=value)
    assert MwSTrainer(granularity=0.15).granularity == 0.15


def test_too_few_labels_are_told_of_once(caplog, tmp_path):
    from tests.in_process import invoke

    (tmp_path / "text.txt").write_text("walks walked talks talked walking talking\n" * 9)
    (tmp_path / "labels.tsv").write_text("walks\twalk s\ntalks\ttalk s\n")
    arguments = ["train", "text.txt", "--labels", "labels.tsv", "--vocab-size", "300", "--output", "t"]
    arguments = [str(tmp_path / each) if each in ("text.txt", "labels.tsv", "t") else each for each in arguments]
    with caplog.at_level(logging.WARNING):
        done = invoke(arguments)
    assert done.exit_code == 0, done.exception
    assert caplog.text.count("labels not used: 2 given, and at least 5 words of letters are needed") == 1
    assert "2 of 2 used" not in done.output + caplog.text


def test_many_labels_are_fitted_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(label_module, "MAX_LABELS", 6)
    pairs = [
        (f"{stem}{end}", f"{stem} {end}") for stem in ("walk", "talk", "balk", "jump") for end in ("s", "ed", "ing")
    ]
    counts = count_mapping({word: 3 for word, _ in pairs})
    trainer = MwSTrainer(n_merges=20, labels=pairs, show_progress=False, composition=0)
    fit = trainer.learn(counts).label_fit
    assert (fit.given, fit.used) == (12, 6)


def test_whole_words_that_are_retired_are_told_of(caplog):
    """English words that the texts given do not use went without a word."""
    words = {word: 20 for line in russian() for word in line.split()}
    with caplog.at_level(logging.WARNING):
        extension = extend(gpt2_like(), words, 20, replace=russian())
    retired = whole_words(extension.base, extension.retired.tokens)
    assert retired and f"{len(retired)} of 20 tokens retired are whole words" in caplog.text
    assert repr(retired[-1]) in caplog.text and facts(extension, {})["retired_words"] == retired
