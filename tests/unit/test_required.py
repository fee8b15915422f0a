"""Entries that must be there and characters that must stay apart, in extensions and in tokenizers trained from text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from mws_hf import MwSError, MwSTrainer
from mws_hf.corpus.counting import count_documents
from mws_hf.extend.extension import extend
from mws_hf.learn.vocabulary import merges_for
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.training_record import read_record
from tests.examples import examples
from tests.in_process import mws
from tests.small_bases import BASES, SPECIAL, llama3_like, russian, save, turkish

KINDS = list(BASES)
WANTED = ["Hallo", " Überraschung", "читатель", " 漢字", " talked", "漢"]


def corpus():
    return count_documents(russian() + turkish(), workers=1)


@pytest.mark.parametrize("kind", KINDS)
def test_strings_become_entries_and_words_of_one_token(kind):
    larger = extend(BASES[kind](), corpus(), 60, required=WANTED)
    assert len(larger.ids) == 60 and larger.learned.found["required"] > 10
    pipeline = type(larger.base).of(larger.tokenizer).pipeline()
    for text in WANTED:
        assert pipeline.encode(text).tokens == [larger.base.spell(text)]
        assert larger.tokenizer.decode(larger.tokenizer.encode(text + "!").ids).endswith(text.strip() + "!")


@examples(200)
@given(
    st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=6, unique=True),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=4, unique=True),
)
def test_stock_bpe_makes_each_string_one_token(strings, merges):
    try:
        made = [*merges, *merges_for(strings, merges, "abc")]
    except MwSError:
        return
    entries = dict.fromkeys([*"abc", *(a + b for a, b in made)])
    assert len(entries) == 3 + len(made)  # each entry is made in one way
    model = models.BPE({token: number for number, token in enumerate(entries)}, made)
    for string in strings:
        assert [token.value for token in model.tokenize(string)] == [string]


@pytest.mark.parametrize("kind", KINDS)
def test_no_new_merge_joins_what_is_kept_apart(kind):
    larger = extend(BASES[kind](), corpus(), 60, keep_apart=["т", "ал", "ev"])
    texts = [larger.base.read(left + right) for left, right in larger.learned.merges]
    whole = [text for text in texts if "\ufffd" not in text]
    assert len(whole) > 20
    assert not [text for text in whole if "т" in text.strip() and len(text) > 1]
    assert not [text for text in whole if "ал" in text or "ev" in text]
    free = extend(BASES[kind](), corpus(), 60)
    read = [free.base.read(left + right) for left, right in free.learned.merges]
    assert any("т" in text and len(text) > 2 for text in read) and any("ал" in text for text in read)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"required": ["two words"]}, "pattern cuts it"),
        ({"required": [""]}, "cannot become an entry"),
        ({"required": ["".join(map(chr, range(0x4E00, 0x4E5A)))]}, "more than 60 new tokens"),
        ({"keep_apart": ["abc"]}, "cannot be kept apart"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(MwSError, match=message):
        extend(llama3_like(), corpus(), 60, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("lists")
    save(llama3_like(), place / "base", eos_token=SPECIAL[1])
    (place / "ru.txt").write_text("\n".join(russian() * 6), encoding="utf-8")
    (place / "tokens.txt").write_text(" Überraschung\nHallo\n", encoding="utf-8")
    (place / "apart.txt").write_text("т\nал\n", encoding="utf-8")
    return place


def test_extend_takes_both_files_and_names_the_line_of_a_bad_entry(folder):
    arguments = ["extend", folder / "base", folder / "ru.txt", "--add", 50, "-q", "--json"]
    lists = ["--required", folder / "tokens.txt", "--keep-apart", folder / "apart.txt"]
    done = mws(*arguments, *lists, "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["new_tokens"] == 50
    made = Tokenizer.from_file(str(folder / "out" / "tokenizer.json"))
    assert len(made.encode(" Überraschung", add_special_tokens=False).ids) == 1
    (folder / "bad.txt").write_text("Hallo\n\ntwo words\n", encoding="utf-8")
    for option, message in (("--required", "bad.txt:3"), ("--keep-apart", "bad.txt:1")):
        done = mws(*arguments, option, folder / "bad.txt", "-o", folder / "x")
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert not (folder / "x").exists()


TEXT = ["readers read reading 12 21 players play playing it's 1212 assess pass"] * 30
TRAINED_WANTED = (" reading", "XQZ", " naïve")


def trained(**options):
    return MwSTrainer(vocab_size=400, show_progress=False, **options).train(TEXT)


@pytest.mark.parametrize("options", [{}, {"criterion": "classic"}, {"alphabet": "characters"}])
def test_strings_are_entries_and_the_size_stays(options):
    plain, asked = trained(**options), trained(required=TRAINED_WANTED, **options)
    for string in TRAINED_WANTED:
        assert len(asked.encode(string, add_special_tokens=False)) == 1
        assert len(plain.encode(string, add_special_tokens=False)) > 1 or string == " reading"
    assert len(asked) <= max(len(plain), 400)
    assert asked.decode(asked.encode(TEXT[0])) == TEXT[0]


def test_a_vocabulary_that_is_full_makes_room(tmp_path):
    small = MwSTrainer(vocab_size=280, show_progress=False)
    plain, asked = small.train(TEXT), MwSTrainer(vocab_size=280, required=["XQZ"], show_progress=False).train(TEXT)
    assert len(plain) == len(asked) == 280 and asked.tokenize("XQZ") == ["XQZ"]
    asked.save_pretrained(tmp_path)
    assert read_record(tmp_path, asked.backend_tokenizer)["settings"]["required"] == ["XQZ"]
    assert open_tokenizer(tmp_path).kinds[-1] == ("required", 2)


def test_characters_and_pairs_are_kept_apart():
    tokenizer = trained(keep_apart=["'", "12", "ss"])
    tokens = [tokenizer.decode([index]) for index in range(len(tokenizer))]
    assert not [token for token in tokens if "'" in token and len(token) > 1]
    assert not [token for token in tokens if "12" in token or "ss" in token]
    assert any("21" in token for token in tokens)
    assert tokenizer.decode(tokenizer.encode(TEXT[0])) == TEXT[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"required": ["two words"]}, r"the split pattern cuts it \(two\| words\)"),
        ({"required": ["it'll"], "keep_apart": ["'"]}, "kept apart"),
        ({"required": ["é"], "normalization": "nfd"}, "normalization makes"),
        ({"required": "XQZ"}, "give a list"),
        ({"keep_apart": ["abc"]}, "cannot be kept apart"),
        (
            {"required": ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"], "vocab_size": 290},
            "ask for a larger vocabulary",
        ),
    ],
)
def test_what_training_cannot_do_is_refused(options, message):
    with pytest.raises(MwSError, match=message):
        MwSTrainer(**{"vocab_size": 400, "show_progress": False} | options).train(TEXT)


def test_the_command(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(TEXT))
    (tmp_path / "tokens").write_text(" reading\nXQZ\n")
    (tmp_path / "apart").write_text("'\nss\n")
    lists = ("--required", tmp_path / "tokens", "--keep-apart", tmp_path / "apart")
    done = mws("train", tmp_path / "text.txt", "--vocab-size", 400, "-o", tmp_path / "t", *lists, "--json")
    assert done.returncode == 0, done.stderr
    vocabulary = json.loads((tmp_path / "t" / "tokenizer.json").read_text())["model"]["vocab"]
    assert {"Ġreading", "XQZ"} <= set(vocabulary) and not [token for token in vocabulary if "ss" in token]
    (tmp_path / "apart").write_text("'\nabc\n")
    done = mws("train", tmp_path / "text.txt", "-o", tmp_path / "u", *lists)
    assert done.returncode == 2 and f"{tmp_path / 'apart'}:2" in done.stderr
