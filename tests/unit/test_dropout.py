"""Dropout: the kernel compared with the definition, seeds and kinds, and values that are rejected.

Modules: tokenizer/client_facts.py, tokenizer/merging.py.
"""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models

from mws_hf import MwSTokenizer, MwSTrainer, encode_corpus
from mws_hf.corpus.blocks import block_of
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.errors import MwSError
from mws_hf.text.pattern import O200K_PATTERN, WORD_PATTERN, split
from mws_hf.text.symbols import built_first
from mws_hf.tokenizer.backend import pattern_of, tables_of
from mws_hf.tokenizer.layout import RECORD_FILE
from mws_hf.tokenizer.merging import Dropout, merge_dropped, ranked, starting_symbols, symbols_of, text_key, word_key
from mws_hf.tokenizer.opened import open_tokenizer
from tests.encode_cases import EOS, TRICKY, byte_level_backends, make_backend, random_merges, rust_ids, texts
from tests.examples import examples
from tests.in_process import mws

WORDS = ("read", "reader", "reading", "readers", "play", "player", "playing", "players", "speak", "speaker")
TEXT = [" ".join(WORDS) + "\n", " the speakers read\n", "plays 12 readers!\n", f"the{EOS} player\n", "\n"] * 40
BACKENDS = [make_backend(random_merges(9, 300)), *byte_level_backends(O200K_PATTERN)]
HOW = Dropout(0.4, seed=7)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dropout") / "mine"
    MwSTrainer(vocab_size=420, show_progress=False).train(iter(TEXT)).save_pretrained(folder)
    return folder


def ids_of(encoder, documents):
    encoded = encoder.encode(block_of([d.encode() for d in documents], "document {}".format))
    return [piece.tolist() for piece in np.split(encoded.ids, encoded.ends[:-1])]


def defined(backend, how, text):
    """Compute the ids of a text without added tokens from the definition of dropout."""
    vocab, merges = tables_of(backend)
    in_bytes = "<0x00>" not in vocab
    whole, building = built_first(merges) if in_bytes else ([], 0)
    may_fail = how.may_fail(len(merges), building, [])
    key, place, found = text_key(how.seed, text.encode()), 0, []
    for word in split(text, pattern_of(backend)):
        symbols = symbols_of(word, vocab, "bytes" if in_bytes else "characters")
        symbols = starting_symbols(word, whole, symbols) if in_bytes else symbols
        found += merge_dropped(symbols, ranked(merges), may_fail, how.threshold, word_key(key, place))
        place += len(word.encode())
    return [vocab[token] for token in found]


@examples(150)
@given(st.lists(texts.filter(lambda text: EOS not in text), min_size=1, max_size=3), st.sampled_from(BACKENDS))
def test_kernel_equals_the_definition(documents, backend):
    encoder = BlockEncoder(backend, dropout=HOW)
    assert ids_of(encoder, documents) == [defined(backend, HOW, text) for text in documents]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_of_0_and_of_1(share):
    for backend in BACKENDS:
        found = ids_of(BlockEncoder(backend, dropout=Dropout(share)), TRICKY)
        if share == 0:
            assert found == rust_ids(backend, TRICKY)
        assert [backend.decode(ids, skip_special_tokens=False) for ids in found] == [
            backend.decode(ids, skip_special_tokens=False) for ids in rust_ids(backend, TRICKY)
        ]
    assert len(found[0]) >= len(rust_ids(backend, TRICKY)[0])


def test_pairs_are_left_out_as_often_as_asked():
    merges = {("a", "b"): (0, "ab")}
    how = Dropout(0.3, seed=5)
    kept = [len(merge_dropped("ab", merges, [True], how.threshold, word_key(9, place))) == 1 for place in range(4000)]
    assert sum(kept) / 4000 == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("share", [0, 0.1])
def test_the_slow_class_and_the_corpus_agree_whatever_the_workers(directory, tmp_path, share):
    how = Dropout(share, seed=3)
    tokenizer = MwSTokenizer.from_pretrained(directory)
    tokenizer.set_dropout(share, seed=3)
    expected = [tokenizer.encode(text, add_special_tokens=False) for text in TEXT]
    for workers in (1, 3):
        corpus = encode_corpus(
            directory, iter(TEXT), tmp_path / str(workers), workers=workers, separator=None, dropout=how, shard_size=900
        )
        assert [list(ids) for ids in corpus] == expected
    assert [tokenizer.decode(ids) for ids in expected] == TEXT
    again = pickle.loads(pickle.dumps(tokenizer))
    rows = Dataset.from_dict({"text": TEXT[::-1]}).map(lambda row: {"ids": again.encode(row["text"])})
    assert rows["ids"][::-1] == expected


def test_seeds_split_differently_and_each_reproducibly(directory):
    backend = open_tokenizer(directory).backend
    found = {seed: ids_of(BlockEncoder(backend, dropout=Dropout(0.2, seed)), TEXT) for seed in (0, 1)}
    assert found[0] != found[1] and found[0] == ids_of(BlockEncoder(backend, dropout=Dropout(0.2)), TEXT)


def test_only_one_kind_of_merges_fails(directory):
    tokenizer = MwSTokenizer.from_pretrained(directory)
    merges = json.loads((directory / RECORD_FILE).read_text())["settings"]["merges"]
    products = ["".join(pair) for pair in tables_of(open_tokenizer(directory).backend)[1]]
    compositions = set(products[len(products) - merges["composition"] :])
    text = " ".join(WORDS)
    whole = tokenizer.tokenize(text)
    assert merges["composition"] > 0 and compositions & set(whole)
    tokenizer.set_dropout(1.0, kind="composition")
    morphs = tokenizer.tokenize(text)
    assert not compositions & set(morphs) and len(whole) < len(morphs) < len(text)
    tokenizer.set_dropout(0)
    assert tokenizer.tokenize(text) == whole


def test_added_tokens_stay_whole(directory):
    backend = open_tokenizer(directory).backend
    text = f"readers{EOS}players{EOS}{EOS}"
    found = ids_of(BlockEncoder(backend, dropout=Dropout(1.0)), [text])[0]
    assert found.count(backend.token_to_id(EOS)) == 3
    assert backend.decode(found, skip_special_tokens=False) == text


@pytest.mark.parametrize("option", [("--seed", "2"), ("--drop", "morph")])
def test_an_option_of_dropout_without_dropout_is_an_error(directory, tmp_path, option):
    done = mws("encode", directory, tmp_path / "absent.txt", "-o", tmp_path / "ids", *option)
    assert done.returncode == 2 and "--seed and --drop are for --dropout" in done.stderr


def test_the_command(directory, tmp_path):
    (tmp_path / "text.txt").write_text("".join(TEXT))
    arguments = ("encode", directory, tmp_path / "text.txt", "-o")
    plain = mws(*arguments, tmp_path / "plain", "--json")
    dropped = mws(*arguments, tmp_path / "dropped", "--dropout", "0.2", "--seed", "4", "--drop", "morph", "--json")
    assert json.loads(dropped.stdout)["tokens"] > json.loads(plain.stdout)["tokens"]
    other = mws(*arguments, tmp_path / "dropped", "--dropout", "0.2", "--seed", "5", "--drop", "morph")
    assert other.returncode == 2 and "a different tokenizer or dropout" in other.stderr


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"share": 1.5}, "from 0 to 1"),
        ({"share": True}, "from 0 to 1"),
        ({"share": 0.1, "seed": -1}, "whole number"),
        ({"share": 0.1, "kind": "words"}, "all, morph or composition"),
    ],
)
def test_values_out_of_range_are_rejected(how, message):
    with pytest.raises(MwSError, match=message):
        Dropout(**how)


def test_impossible_dropouts_are_rejected():
    with pytest.raises(MwSError, match="the tokenizer has no mws_training.json"):
        BlockEncoder(BACKENDS[0], dropout=Dropout(0.1, kind="morph"))
    other = make_backend(random_merges(9, 30), pattern=WORD_PATTERN)
    other.model = models.WordLevel({"a": 0}, unk_token="a")
    with pytest.raises(MwSError, match="leave out --dropout"):
        BlockEncoder(other, dropout=HOW)
