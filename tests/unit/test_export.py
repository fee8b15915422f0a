"""`mws export`: the files as other programs read them, and tokenizers that are rejected.

Modules: commands/export.py, text/sample_texts.py, tokenizer/export.py.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from functools import partial

import pytest
from tokenizers import AddedToken, Tokenizer
from transformers import AutoTokenizer

from mws_hf.errors import MwSError
from mws_hf.text.pattern import with_digits
from mws_hf.text.sample_texts import NATURAL, sample_texts
from mws_hf.text.symbols import BYTE_CHARACTERS, BYTE_TOKENS
from mws_hf.tokenizer.backend import build_backend, tokenizer_tables
from mws_hf.tokenizer.export import compare_ids, to_byte_level_backend, write_gguf, write_tiktoken
from tests.in_process import mws
from tests.processes import one_line
from tests.small_tokenizers import ADVERSARIAL, ALPHABET, small_fast

TEXTS = [text for text in (*ADVERSARIAL, *sample_texts()) if text and "'ſ" not in text]
export = partial(mws, "export")


@pytest.fixture
def in_bytes():
    return small_fast("llama3", alphabet="bytes")


IN_LLAMA_CPP = [(name, digits) for name in ("llama3", "gpt4") for digits in ("threes", "single")]


@pytest.mark.parametrize(("pattern", "digits"), IN_LLAMA_CPP)
def test_llama_cpp_gives_the_same_ids_and_texts(pattern, digits, tmp_path):
    pytest.importorskip("gguf")
    llama_cpp = pytest.importorskip("llama_cpp")
    tokenizer = small_fast(with_digits(pattern, digits), alphabet="bytes")
    tokenizer.chat_template = "{{ messages }}"
    tokenizer.add_tokens(["<new>"])
    tokenizer.save_pretrained(tmp_path / "bytes")
    result = export(tmp_path / "bytes", "--format", "gguf", "-o", tmp_path / "x.gguf")
    assert (result.returncode, result.stdout) == (0, f"{tmp_path / 'x.gguf'}: {len(tokenizer)} tokens, gguf\n")
    model = llama_cpp.Llama(str(tmp_path / "x.gguf"), vocab_only=True, verbose=False)
    for text in [*TEXTS, "чит<new>чит"]:
        ids = model.tokenize(text.encode(), add_bos=False, special=True)
        assert ids == tokenizer.encode(text)
        assert model.detokenize(ids, special=True).decode() == text
    assert (model.token_eos(), model.token_bos()) == (tokenizer.eos_token_id, tokenizer.eos_token_id)
    assert model.metadata["tokenizer.chat_template"] == "{{ messages }}"
    assert model.n_vocab() == len(tokenizer)


def test_the_tokens_of_a_gguf_file_spell_every_text(in_bytes, tmp_path):
    """Decode as llama.cpp does, without llama.cpp: the bytes of each token, and special tokens as they are written."""
    gguf = pytest.importorskip("gguf")
    in_bytes.add_tokens(["<new>"])
    write_gguf(in_bytes.backend_tokenizer, {}, tmp_path / "x.gguf", [], "x")
    fields = gguf.GGUFReader(tmp_path / "x.gguf").fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    ordinary = [kind == gguf.TokenType.NORMAL for kind in fields["tokenizer.ggml.token_type"].contents()]
    assert [token for token, plain in zip(tokens, ordinary, strict=True) if not plain][-1] == "<new>"
    byte_of = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}
    for text in [*TEXTS, "чит<new>чит"]:
        ids = in_bytes.encode(text)
        spelled = [bytes(map(byte_of.get, tokens[i])) if ordinary[i] else tokens[i].encode() for i in ids]
        assert b"".join(spelled).decode() == text


def test_a_gguf_file_names_the_end_for_the_beginning_where_there_is_none(in_bytes, tmp_path):
    """Otherwise llama.cpp would use token 11."""
    gguf = pytest.importorskip("gguf")
    tokens = in_bytes.convert_ids_to_tokens(range(2))
    for roles, wanted in (({"eos_token": tokens[1]}, 1), ({"eos_token": tokens[1], "bos_token": tokens[0]}, 0)):
        write_gguf(in_bytes.backend_tokenizer, roles, tmp_path / "x.gguf", [], "x")
        fields = gguf.GGUFReader(tmp_path / "x.gguf").fields
        assert fields["tokenizer.ggml.bos_token_id"].contents() == wanted
        assert fields["tokenizer.ggml.eos_token_id"].contents() == 1


def test_a_reader_that_decodes_differently_is_found_and_rejected(in_bytes):
    backend = in_bytes.backend_tokenizer

    def ids_of(text):
        return backend.encode(text, add_special_tokens=False).ids

    def drops_spaces(ids):  # `llama_detokenize` removes spaces before periods
        return backend.decode(ids, skip_special_tokens=False).replace(" .", ".")

    texts = ["дом .", "дом.", "a . b"]
    assert compare_ids(backend, texts, ids_of, backend.decode) == (3, [], [])
    found = compare_ids(backend, texts, ids_of, drops_spaces)
    assert found == (3, [], ["дом .", "a . b"])
    with pytest.raises(MwSError, match="different decoded text on 2 of 3 texts, for example 'дом .'; use a program"):
        found.refuse("it")


@pytest.mark.parametrize("format", ["tiktoken", "gguf"])
def test_an_export_that_a_reader_would_decode_differently_is_not_written(in_bytes, tmp_path, monkeypatch, format):
    """A stand-in for the library of another project returns right ids, and decodes all of them to the same text."""
    if format == "gguf":
        pytest.importorskip("gguf")
        pytest.importorskip("llama_cpp")
        monkeypatch.setattr("llama_cpp.llama_token_to_piece", lambda *_: 0)
    else:
        pytest.importorskip("tiktoken")
        monkeypatch.setattr("tiktoken.Encoding.decode", lambda *_: "?")
    write = {"gguf": write_gguf, "tiktoken": lambda b, _, *rest: write_tiktoken(b, *rest)}[format]
    with pytest.raises(MwSError, match="different decoded text"):
        write(in_bytes.backend_tokenizer, {}, tmp_path / "x", TEXTS, "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(("pattern", "digits"), IN_LLAMA_CPP)
def test_llama_cpp_splits_where_the_pattern_does(pattern, digits, tmp_path):
    """Any two of these characters have a merge, so the ids of a text show where it was split."""
    pytest.importorskip("gguf")
    pytest.importorskip("llama_cpp")
    characters = "aBяЯ\u0301ʰǅ漢12٣!. \n\r\t'’s/½\u00a0हि"
    merges = [(left, right) for left in characters for right in characters]
    backend = build_backend(*tokenizer_tables([], characters, merges, "bytes"), with_digits(pattern, digits))
    numbers = random.Random(3)
    texts = ["".join(numbers.choices(characters, k=numbers.randrange(2, 9))) for _ in range(2000)]
    assert write_gguf(backend, {}, tmp_path / "x.gguf", texts, "x") == (2000, [], [])


def test_tiktoken_loads_the_folder_with_the_same_ids(in_bytes, tmp_path, monkeypatch):
    pytest.importorskip("tiktoken")
    in_bytes.save_pretrained(tmp_path / "bytes")
    result = export(tmp_path / "bytes", "--format", "tiktoken", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    monkeypatch.syspath_prepend(tmp_path / "out")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    sys.modules.pop("load_tiktoken", None)
    encoding = importlib.import_module("load_tiktoken").encoding
    for text in TEXTS:
        assert encoding.encode(text, allowed_special="all") == in_bytes.encode(text)
        assert encoding.decode(in_bytes.encode(text)) == text
    assert encoding.n_vocab == len(in_bytes)


def test_tiktoken_reads_a_folder_that_was_written_again(tmp_path, monkeypatch):
    """Before, it read the old file, because tiktoken's own loader caches rank files by their paths."""
    pytest.importorskip("tiktoken")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path / "out")
    pattern = with_digits("llama3", "threes")
    for merges in ([("a", "b")], [("b", "a"), ("c", "d")]):
        backend = build_backend(*tokenizer_tables([], "", merges, "bytes"), pattern)
        write_tiktoken(backend, tmp_path / "out", [], "x")
        sys.modules.pop("load_tiktoken", None)
        importlib.invalidate_caches()
        encoding = importlib.import_module("load_tiktoken").encoding
        assert encoding.encode("abacd") == backend.encode("abacd").ids


def test_byte_level_keeps_every_id_and_every_text(tmp_path):
    old = small_fast(add_prefix_space=False)
    old.chat_template = "{{ messages }}"
    old.add_tokens(["<new>"])
    old.save_pretrained(tmp_path / "old")
    result = export(tmp_path / "old", "--format", "byte-level", "-o", tmp_path / "new")
    assert result.returncode == 0
    stock = AutoTokenizer.from_pretrained(tmp_path / "new")
    known = set(ALPHABET)
    for text in [*ADVERSARIAL, *TEXTS, "чит<new>чит"]:
        assert stock.decode(stock.encode(text)) == text
        if set(text) <= known:
            assert stock.encode(text) == old.encode(text)
    assert (stock.eos_token_id, stock.pad_token_id, stock.chat_template) == (0, 1, "{{ messages }}")
    differing = [text for text in sample_texts() if stock.encode(text) != old.encode(text)]
    assert differing and f"ids differ on {len(differing)} of {len(sample_texts())} sample texts" in result.stderr


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda spec: spec["model"].update(byte_fallback=False), "does not spell unknown characters in bytes"),
        (lambda spec: list(map(spec["model"]["vocab"].pop, BYTE_TOKENS)), "does not spell unknown characters in bytes"),
        (lambda spec: spec["model"].update(end_of_word_suffix="</w>"), "affixes"),
        (lambda spec: spec["model"].update(ignore_merges=True), "ignore_merges"),
        (lambda spec: spec.update(decoder={"type": "Fuse"}), "different decoded text"),
        (
            lambda spec: spec.update(
                normalizer={"type": "Replace", "pattern": {"String": "о"}, "content": "0"},
                decoder={
                    "type": "Sequence",
                    "decoders": [
                        {"type": "Replace", "pattern": {"String": "0"}, "content": "о"},
                        {"type": "ByteFallback"},
                        {"type": "Fuse"},
                    ],
                },
            ),
            "different decoded text",
        ),
    ],
)
def test_byte_level_rejects_other_tokenizers_of_characters(change, reason, tmp_path):
    """Before, their ids or decoded texts changed silently, or the command ended with a KeyError."""
    spec = json.loads(small_fast().backend_tokenizer.to_str())
    change(spec)
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    done = export(tmp_path / "tokenizer.json", "--format", "byte-level", "-o", tmp_path / "out")
    assert one_line(done) and reason in done.stderr and not (tmp_path / "out").exists()


def test_truncation_and_padding_in_a_file_do_not_matter_to_a_comparison(in_bytes, tmp_path):
    """They are left over from an earlier call. Before, the comparison reported different ids because of them."""
    pytest.importorskip("tiktoken")
    in_bytes.backend_tokenizer.enable_truncation(4)
    in_bytes.backend_tokenizer.enable_padding(length=9)
    in_bytes.save_pretrained(tmp_path / "kept")
    in_bytes.backend_tokenizer.save(str(tmp_path / "kept/tokenizer.json"))
    result = export(tmp_path / "kept", "--format", "tiktoken", "-o", tmp_path / "out")
    assert result.returncode == 0 and "tiktoken gives the same ids" in result.stderr
    differing = []
    for name, options in (("kept", {}), ("whole", {"truncation": None, "padding": None})):
        spec = json.loads((tmp_path / "kept/tokenizer.json").read_text(encoding="utf-8")) | options
        (tmp_path / f"{name}.json").write_text(json.dumps(spec), encoding="utf-8")
        byte_level = ("--format", "byte-level", "--pattern", r"\s+|\S+|aaaa")
        differing.append(export(tmp_path / f"{name}.json", *byte_level, "-o", tmp_path / f"{name}-new").stderr)
    assert differing[0].splitlines()[-1] == differing[1].splitlines()[-1]
    assert "ids differ on 0" not in differing[0]


@pytest.mark.parametrize("in_config", [False, True])
@pytest.mark.parametrize(
    "templates", [{"default": "{{ 1 }}", "rag": "{{ 2 }}", "tool_use": "{{ 3 }}"}, {"rag": "{{ 2 }}"}]
)
def test_named_chat_templates_stay_in_exports(templates, in_config, tmp_path):
    """transformers 5 writes them as files, and transformers 4 as a list in tokenizer_config.json."""
    gguf = pytest.importorskip("gguf")
    old = small_fast("llama3", alphabet="bytes")
    old.chat_template = None if in_config else templates
    old.save_pretrained(tmp_path / "old")
    if in_config:
        file = tmp_path / "old" / "tokenizer_config.json"
        named = [{"name": name, "template": text} for name, text in templates.items()]
        file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | {"chat_template": named}), encoding="utf-8")
    for form, options, output in (("byte-level", ["--pattern", "llama3"], "new"), ("gguf", [], "x.gguf")):
        result = export(tmp_path / "old", "--format", form, *options, "-o", tmp_path / output)
        assert result.returncode == 0, result.stderr
    assert AutoTokenizer.from_pretrained(tmp_path / "new").chat_template == templates
    fields = gguf.GGUFReader(tmp_path / "x.gguf").fields
    names = {name: "tokenizer.chat_template" + (f".{name}" if name != "default" else "") for name in templates}
    assert {name: fields[names[name]].contents() for name in templates} == templates
    assert fields["tokenizer.chat_templates"].contents() == sorted(templates.keys() - {"default"})


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
def test_a_byte_level_export_with_another_pattern_can_be_exported_to_llama_cpp(alphabet, tmp_path):
    pytest.importorskip("gguf")
    old = small_fast(alphabet=alphabet)
    old.add_tokens(["<new>"])
    old.save_pretrained(tmp_path / "old")
    assert (
        export(tmp_path / "old", "--format", "byte-level", "--pattern", "llama3", "-o", tmp_path / "new").returncode
        == 0
    )
    new = AutoTokenizer.from_pretrained(tmp_path / "new")
    assert new.encode("<new>он чит") == old.encode("<new>он чит")
    llama3, words = (small_fast(pattern, alphabet="bytes").tokenize("п'ять") for pattern in ("llama3", "words"))
    assert new.tokenize("п'ять") == llama3 != words
    assert export(tmp_path / "new", "--format", "gguf", "-o", tmp_path / "x.gguf").returncode == 0


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: small_fast(), "byte-level tokenizers only"),
        (lambda: small_fast(alphabet="bytes"), "does not have this split pattern"),
        (lambda: small_fast("o200k", alphabet="bytes"), "does not have this split pattern"),
        (lambda: small_fast(with_digits("llama3", "right"), alphabet="bytes"), "does not have this split pattern"),
        (lambda: small_fast("llama3", "nfc", alphabet="bytes"), "normalizer"),
        (lambda: small_fast("llama3", alphabet="bytes", add_prefix_space=True), "add_prefix_space"),
    ],
)
def test_tokenizers_that_llama_cpp_would_read_differently_are_rejected(make, reason, tmp_path):
    pytest.importorskip("gguf")
    with pytest.raises(MwSError, match=reason):
        write_gguf(make().backend_tokenizer, {}, tmp_path / "x.gguf", list(NATURAL), "x")
    assert not list(tmp_path.iterdir())


def test_a_difference_found_on_the_sample_stops_the_export(tmp_path):
    """llama.cpp does not fold case, so it does not treat an apostrophe and a long s as an English ending."""
    pytest.importorskip("gguf")
    pytest.importorskip("llama_cpp")
    backend = build_backend(*tokenizer_tables([], "ſy", [("ſ", "y")], "bytes"), "llama3")
    with pytest.raises(MwSError, match='1 of 2 texts, for example "x\'ſy"'):
        write_gguf(backend, {}, tmp_path / "x.gguf", ["ſy", "x'ſy"], "x")
    assert not list(tmp_path.iterdir())
    write_gguf(backend, {}, tmp_path / "x.gguf", ["ſy"], "x")


def test_tiktoken_rejects_ids_that_are_not_ranks(tmp_path):
    new = to_byte_level_backend(small_fast("llama3").backend_tokenizer)
    with pytest.raises(MwSError, match="later merge makes a token with a smaller id"):
        write_tiktoken(new, tmp_path / "out", list(NATURAL), "x")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word"])
@pytest.mark.parametrize("write", ["gguf", "tiktoken"])
def test_an_added_token_that_takes_spaces_is_rejected(flag, write, tmp_path):
    """RoBERTa's `<mask>` is such a token; other programs would leave the space in the text."""
    tokenizer = small_fast("llama3", alphabet="bytes")
    tokenizer.add_special_tokens({"mask_token": AddedToken("<mask>", **{flag: True})})
    with pytest.raises(MwSError, match=f"{flag} of the added token '<mask>' would be lost"):
        if write == "gguf":
            pytest.importorskip("gguf")
            write_gguf(tokenizer.backend_tokenizer, {}, tmp_path / "x", list(NATURAL), "x")
        else:
            write_tiktoken(tokenizer.backend_tokenizer, tmp_path / "x", list(NATURAL), "x")
    assert not list(tmp_path.iterdir())


def test_tiktoken_rejects_an_added_token_that_begins_with_another(tmp_path):
    """Its regular expression finds the token that comes first, and their order differs from run to run."""
    tokenizer = small_fast("llama3", alphabet="bytes")
    tokenizer.add_tokens(["чит", "<tool>", "<tool>2"])
    with pytest.raises(MwSError, match="'<tool>2' begins with the added token '<tool>'"):
        write_tiktoken(tokenizer.backend_tokenizer, tmp_path / "x", list(NATURAL), "x")
    assert not list(tmp_path.iterdir())


def test_misuse_is_reported_in_one_line(in_bytes, tmp_path):
    in_bytes.save_pretrained(tmp_path / "bytes")
    small_fast(alphabet="bytes", add_prefix_space=True).save_pretrained(tmp_path / "spaced")
    for arguments, reason in [
        ((tmp_path / "absent", "--format", "gguf", "-o", tmp_path / "x"), "no such folder"),
        ((tmp_path / "bytes", "--format", "gguf", "--pattern", "llama3", "-o", tmp_path / "x"), "--pattern works only"),
        ((tmp_path / "bytes", "--format", "byte-level", "-o", tmp_path / "x"), "already byte-level"),
        ((tmp_path / "spaced", "--format", "byte-level", "--pattern", "gpt4", "-o", tmp_path / "x"), "Metaspace"),
        ((tmp_path / "bytes", "--format", "gguf", "-o", tmp_path / "bytes" / "tokenizer.json"), "overwritten"),
    ]:
        result = export(*arguments)
        assert one_line(result) and reason in result.stderr
    assert Tokenizer.from_file(str(tmp_path / "bytes" / "tokenizer.json"))
