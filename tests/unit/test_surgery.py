"""What holds of every change of a pretrained tokenizer: of each kind of base, extended, trimmed, or both."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from mws_hf.corpus.counting import count_documents
from mws_hf.extend.base import Base, read_ids
from mws_hf.extend.extension import extend
from mws_hf.extend.trim import trim
from tests.examples import examples
from tests.small_bases import BASES, ENGLISH, SPECIAL, every_split, llama3_like, russian, save, turkish
from tests.small_tokenizers import ADVERSARIAL

CODE = [ENGLISH[1], ENGLISH[3]]
OPERATIONS = ("extend", "replace", "trim", "both")
MATRIX = [(kind, operation) for kind in (*BASES, "tiktoken") for operation in OPERATIONS]
MASK = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "special": True}
_ANY = st.text(
    st.sampled_from("walkteding 'чтиаерепо ışğ\n1漢😀é\ufeff") | st.characters(exclude_categories=["Cs"]), max_size=30
)


def changed(base, operation):
    """The changed tokenizer, and a function that saves it, after a source if one is given."""
    counts = count_documents(russian() + turkish(), workers=1)
    if operation == "trim":
        smaller = trim(base, CODE, min_count=1)
        return smaller, smaller.ids, smaller.save
    if operation == "both":
        smaller = trim(base, CODE, keep_size=340)
        larger = extend(smaller.trimmed_base, counts, 30)
        ids = {old: None if new is None else larger.old_ids[new] for old, new in smaller.ids.items()}
        return larger, ids, lambda place, source: larger.save(place, source, smaller)
    larger = extend(base, counts, 60, replace=CODE if operation == "replace" else None)
    return larger, larger.old_ids, larger.save


@cache
def case(kind, operation):
    """The base, the changed tokenizer, and the new id of each old one."""
    base = Base.of(every_split() if kind == "tiktoken" else BASES[kind]())
    made, ids, _ = changed(base, operation)
    return Tokenizer.from_str(json.dumps(base.spec)), made.tokenizer, dict(ids)


def cut(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(("kind", "operation"), MATRIX)
@examples(60)
@given(text=_ANY | st.sampled_from([*ADVERSARIAL, *ENGLISH, *russian()]) | st.text("def walk(self)[]:\n", max_size=30))
def test_text_of_kept_entries_keeps_its_cut_and_every_text_comes_back(kind, operation, text):
    base, after, map_of = case(kind, operation)
    given_ids, found = cut(base, text), cut(after, text)
    kept = [map_of[number] for number in given_ids]
    if None not in kept and set(found) <= set(map_of.values()):
        assert found == kept
    elif operation == "extend":
        assert len(found) < len(given_ids)
    assert after.decode(found, skip_special_tokens=False) == base.decode(given_ids, skip_special_tokens=False)


@pytest.mark.parametrize(("kind", "operation"), MATRIX)
def test_ids_follow_the_map_without_holes_and_the_rest_is_as_it_was(kind, operation):
    base, after, map_of = case(kind, operation)
    kept = [(old, new) for old, new in map_of.items() if new is not None]
    assert list(map_of) == list(range(base.get_vocab_size())) and kept == sorted(kept, key=lambda pair: pair[1])
    assert all(base.id_to_token(old) == after.id_to_token(new) for old, new in kept)
    assert sorted(after.get_vocab().values()) == list(range(after.get_vocab_size()))
    more = {"trim": 0, "both": 30}.get(operation, 60)
    assert after.get_vocab_size() == len(kept) + more
    old, new = (json.loads(tokenizer.to_str()) for tokenizer in (base, after))
    merges, made = old["model"].pop("merges"), new["model"].pop("merges")
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    places = [ranks[tuple(pair)] for pair in made if tuple(pair) in ranks]
    assert places == sorted(places) and [tuple(pair) in ranks for pair in made[: len(places)]] == [True] * len(places)
    for part in (old, new):
        del part["model"]["vocab"], part["post_processor"]
        part["added_tokens"] = [{**token, "id": None} for token in part["added_tokens"]]
    assert old == new


@pytest.mark.parametrize(("kind", "operation"), [*MATRIX[:4], *(pair for pair in MATRIX[4:] if pair[1] == "both")])
def test_transformers_reads_what_is_saved_and_files_follow(kind, operation, tmp_path):
    base = every_split() if kind == "tiktoken" else BASES[kind]()
    added = {number: token.content for number, token in base.get_added_tokens_decoder().items()}
    decoder = {str(number): {"content": content, "special": True} for number, content in added.items()}
    source = save(base, tmp_path / "base", eos_token=min(added.values()), added_tokens_decoder=decoder)
    for name in ("chat_template.jinja", "merges.txt"):
        (source / name).write_text("{{ messages }}", encoding="utf-8")
    _, ids, write = changed(source, operation)
    assert write(tmp_path / "new", source) == ["merges.txt"] and read_ids(tmp_path / "new" / "ids.json") == ids
    assert (tmp_path / "new" / "chat_template.jinja").read_bytes() == (source / "chat_template.jinja").read_bytes()
    old, new = (AutoTokenizer.from_pretrained(place) for place in (source, tmp_path / "new"))
    assert new.eos_token_id == ids[old.eos_token_id] and set(new.all_special_tokens) == set(old.all_special_tokens)
    config = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["added_tokens_decoder"] == {str(ids[int(number)]): token for number, token in decoder.items()}
    for text in (*CODE, *russian()):
        around = [ids[number] for number in old("")["input_ids"]]  # what the template adds
        assert new(text)["input_ids"][: len(around)] == around
        assert new.decode(new(text)["input_ids"], skip_special_tokens=True) == text


@pytest.mark.parametrize(
    "settings",
    [
        {"pad_token": "<pad>", "additional_special_tokens": None, "extra_special_tokens": None},
        {"additional_special_tokens": ["<a>", "<b>"], "mask_token": MASK},
        {"pad_token": " talking"},  # an entry like others, but for the config
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_tokens_that_the_config_alone_names_count_as_the_class_counts_them(operation, settings, tmp_path):
    base = save(llama3_like(), tmp_path / "base", eos_token=SPECIAL[1], **settings)
    _, ids, write = changed(base, operation)
    write(tmp_path / "new", base)
    old, new = (AutoTokenizer.from_pretrained(place) for place in (base, tmp_path / "new"))
    assert len(ids) == len(old) and set(old.all_special_tokens) == set(new.all_special_tokens)
    assert {ids[number] for number in old.all_special_ids} == set(new.all_special_ids)
    assert len(new) == max(Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json")).get_vocab().values()) + 1
