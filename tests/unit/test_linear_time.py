"""Large inputs take time in proportion to their size; processor seconds with a wide margin.

Modules: encode/added_tokens.py.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from mws_hf import MwSTrainer, extend
from mws_hf.corpus.blocks import block_of
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.encode.added_tokens import AddedTexts
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.errors import MwSError
from mws_hf.learn.evidence.forms import collect_types
from mws_hf.learn.evidence.posteriors import collect_evidence
from mws_hf.scoring.consistency import consistency, emma2
from mws_hf.text.symbols import byte_level_merges, check_special_tokens
from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import import_notebook
from mws_hf.tokenizer.explain import trace
from tests.encode_cases import ALPHABET, make_backend, make_byte_level, random_merges, rust_ids
from tests.examples import with_more
from tests.in_process import mws
from tests.peak_memory import peak_of
from tests.small_tokenizers import small_fast


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def test_forty_thousand_special_tokens():
    names = [f"<|{k}|>" for k in range(40_000)]
    with within(1):
        assert check_special_tokens(names) == names
    with pytest.raises(MwSError, match="given twice"):
        check_special_tokens([*names, "<|7|>"])


@pytest.mark.parametrize("name", with_more(["{}слово"], "<extra_{}>"))
def test_twenty_thousand_added_tokens_in_bulk(name: str):
    backend = make_backend(random_merges(3, 100))
    backend.add_special_tokens([AddedToken(name.format(k), normalized=False) for k in range(20_000)])
    chooser = random.Random(5)
    documents = ["".join(chooser.choices(ALPHABET + "<ex", k=500)) for _ in range(1300)]
    for place in (3, 700, 701):
        documents[place] = f"а{name.format(19_999)}б"
    encoder = BlockEncoder(backend)
    encoder.encode(block_of([f"а {name.format(1)}".encode()], str))  # compiles the kernels
    with within(3):
        encoded = encoder.encode(block_of([document.encode() for document in documents], str))
    assert [piece.tolist() for piece in np.split(encoded.ids, encoded.ends[:-1])] == rust_ids(backend, documents)


@given(
    st.lists(st.text("ab<я", min_size=1, max_size=5), max_size=40),
    st.lists(st.text("ab<я\n", max_size=12), min_size=1, max_size=6),
)
def test_documents_that_contain_an_added_text(texts: list[str], documents: list[str]):
    expected = {k for k, document in enumerate(documents) if any(text in document for text in texts)}
    block = block_of([each.encode() for each in documents], str)
    assert AddedTexts(text.encode() for text in texts).documents(block) == expected


def test_one_long_word_is_scored():
    chooser = random.Random(2)
    word = "".join(chooser.choices("абвгдежзийклмнопрстуфхцчшщ", k=4000))
    morphs = tuple(word[k : k + 3] for k in range(0, 4000, 3))
    gold = [GoldWord(word, (morphs,)), GoldWord("аб", (("а", "б"),))]
    for predicted in ([word, "аб"], [tuple(word), ("а", "б")], [[word[k : k + 4] for k in range(0, 4000, 4)], ["аб"]]):
        with within(1):
            consistency(gold, predicted)
            emma2(gold, predicted)


def test_one_long_word_is_explained():
    letters = "абвгдежзийклмнопрстуфхцчшщ"
    word = "".join(random.Random(3).choices(letters, k=4000))
    twos = {(one, other) for one in letters for other in letters}
    fours = {(word[k : k + 2], word[k + 2 : k + 4]) for k in range(0, 3998, 2)}
    backend = make_byte_level(byte_level_merges(letters, [*sorted(twos), *sorted(fours)]))
    with within(3):
        (traced,) = trace(backend, word)
    assert "".join(traced.tokens) == word and len(traced.steps) > 600


def test_a_word_that_is_too_long_to_explain_or_to_require_is_an_error_at_once(tmp_path: Path):
    word, tokenizer = "аб" * 150_000, small_fast()
    in_bytes = MwSTrainer(n_merges=2, show_progress=False).train_from_counts({"дом": 3})
    refused = (
        ("' аб.* has 300,001 characters, but the merges of at most 10,000", lambda: tokenizer.explain(word)),
        ("' аб.* has 600,001 bytes, but the merges of at most 10,000", lambda: in_bytes.explain(word)),
        ("a required token may have at most 1,000", lambda: MwSTrainer(required=["дом", word])),
        ("a required token may have at most 1,000", lambda: extend(tokenizer, {"дом": 3}, 9, required=[f" {word}"])),
        ("the empty string cannot become a token", lambda: MwSTrainer(required=[""])),
        ("the empty string cannot become a token", lambda: extend(tokenizer, {"дом": 3}, 9, required=["дом", ""])),
    )
    for message, call in refused:
        with within(3), pytest.raises(MwSError, match=message) as caught:
            call()
        assert len(str(caught.value)) < 300
    (tmp_path / "required.txt").write_text(f"дом\n{word}\n", encoding="utf-8")
    (tmp_path / "text.txt").write_text("дом дома", encoding="utf-8")
    code, _, errors = mws(
        "train", tmp_path / "text.txt", "--required", tmp_path / "required.txt", "-o", tmp_path / "new"
    )
    assert code == 2 and "required.txt:2: " in errors and not (tmp_path / "new").exists()


def test_one_word_is_looked_up_without_a_table_of_all_characters():
    """Before, a table per word took most of the time of `mws report` and `mws explain`, which look up gold words."""
    evidence = collect_evidence(collect_types([" дом", " дома", " ISPARTALI", " ışık"], np.array([5, 4, 3, 2])))
    evidence.word(" дом")
    words, known = (" дома", " Işık", "(Дом", " ıspartalı", " 𐐀"), list[bool]()
    assert peak_of(lambda: known.extend(evidence.word(word) is not None for word in words)) < 1_000_000
    assert known == [True, True, True, False, False]


def test_holes_of_an_imported_vocabulary(tmp_path: Path):
    (tmp_path / "vocabulary.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2, "[EOS]": 100_000}))
    (tmp_path / "merges.json").write_text(json.dumps({"merges": [["a", "b"]]}))
    with within(5):
        tokenizer = import_notebook(tmp_path)
    assert tokenizer.convert_tokens_to_ids("[EOS]") == 100_000 and len(tokenizer) > 100_001


def test_thousands_of_added_tokens_hardly_slow_down_a_call_or_a_save(tmp_path: Path):
    tokenizer = small_fast()
    assert tokenizer.add_tokens([AddedToken(f"<unused{k}>", normalized=False) for k in range(6000)]) == 6000
    held = tokenizer.backend_tokenizer
    short = {"truncation": True, "max_length": 4}
    tokenizer("читал", **short)
    with within(1):  # 5 s if the added tokens are compared at each call
        for _ in range(1000):
            tokenizer("читал", **short)
    held.add_tokens(["читал"])  # the tokenizer notices that other code changed its backend
    assert tokenizer("читал", **short)["input_ids"] == [held.token_to_id("читал")]
    tokenizer.save_pretrained(tmp_path)
    slow = MwSTokenizer.from_pretrained(tmp_path)
    with within(4):  # 20 s if they are added one by one
        slow.save_pretrained(tmp_path / "slow")
    assert MwSTokenizer.from_pretrained(tmp_path / "slow").get_vocab() == tokenizer.get_vocab()
