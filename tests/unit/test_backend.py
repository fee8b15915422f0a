import json
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.text.pattern import GPT4_PATTERN, WORD_PATTERN, split
from mws_hf.tokenizer.backend import (
    BYTE_TOKENS,
    base_vocab,
    build_backend,
    check_merges,
    check_vocab,
    pattern_of,
    tables_of,
)
from tests.examples import examples
from tests.small_tokenizers import ADVERSARIAL, PATTERNS


def test_layout_is_specials_bytes_alphabet_merges():
    vocab = base_vocab(["<s>", "</s>"], "ba", [("a", "b"), ("ab", "b")])
    order = sorted(vocab, key=lambda token: vocab[token])
    assert order == ["<s>", "</s>", *BYTE_TOKENS, "a", "b", "ab", "abb"]
    assert list(vocab.values()) == list(range(len(vocab)))


@pytest.mark.parametrize(
    ("special", "alphabet", "merges", "words"),
    [
        (["<s>", "<s>"], "", [], "twice"),
        ([""], "", [], "empty"),
        (["<0x41>"], "", [], "byte token"),
        (["a"], "a", [], "also an ordinary token"),
        (["ab"], "ab", [("a", "b")], "also an ordinary token"),
        ([], ["ab"], [], "not one character"),
    ],
)
def test_conflicting_names_are_refused(special, alphabet, merges, words):
    with pytest.raises(MwSError, match=words):
        base_vocab(special, alphabet, merges)


@pytest.mark.parametrize(
    ("merges", "words"),
    [
        ([("a", "b"), ("c", "d"), ("a", "b")], r"merge 2 .* repeats merge 0"),
        ([("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")], r"merge 3 .* makes 'abc' like merge 2"),
        ([("ab", "c"), ("a", "b")], r"merge 0 .* made only later, by merge 1"),
        ([("ab", "c"), ("abc", "d")], r"merge 0 .* made by no merge"),
        ([("a", "")], "non-empty"),
        ([("a", "b", "c")], "pair"),
        (["a b"], "pair"),
        ([("a", 1)], "pair"),
        ([("a", "\ud83d")], "surrogate"),
        ([("<", "0"), ("<0", "x"), ("4", "1"), ("<0x", "41"), ("<0x41", ">")], "byte token"),
    ],
)
def test_bad_merges_are_refused_one_by_one(merges, words):
    with pytest.raises(MwSError, match=words):
        check_merges(merges)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v | {"b": v["a"]}, "share id"),
        (lambda v: v | {"b": len(v) + 5}, "no token has id"),
        (lambda v: v | {"b": -1}, "integers from 0"),
        (lambda v: v | {"b": "7"}, "integers from 0"),
        (lambda v: {t: i for t, i in v.items() if i != len(v) - 1}, "of merge 0"),
        (lambda v: {t: i for i, t in enumerate(t for t in v if t != "<0x7F>")}, "<0x7F> is missing"),
    ],
)
def test_bad_vocabularies_are_refused(change, words):
    merges = [("a", "a")]
    with pytest.raises(MwSError, match=words):
        check_vocab(change(base_vocab((), "a", merges)), merges)


def test_unknown_normalization_and_bad_patterns_are_refused():
    with pytest.raises(MwSError, match="nfkd"):
        build_backend(base_vocab(), [], normalization="nfx")
    with pytest.raises(MwSError, match="does not compile"):
        build_backend(base_vocab(), [], pattern="(")
    with pytest.raises(MwSError, match="empty string"):
        build_backend(base_vocab(), [], pattern="a*")
    with pytest.raises(MwSError, match="does not compile in tokenizers"):
        build_backend(base_vocab(), [], pattern=r"(?P<twice>a)(?P=twice)")


def test_tokenizer_json_holds_the_stock_parts_and_gives_the_tables_back(tmp_path):
    merges = [(" ", "a"), (" a", "b")]
    vocab = base_vocab(["<s>"], " ab", merges)
    path = tmp_path / "tokenizer.json"
    build_backend(vocab, merges, GPT4_PATTERN, "nfc", ["<s>"]).save(str(path))
    spec = json.loads(path.read_text(encoding="utf-8"))
    assert (spec["model"]["type"], spec["model"]["byte_fallback"], spec["normalizer"]) == ("BPE", True, {"type": "NFC"})
    assert spec["pre_tokenizer"]["pattern"] == {"Regex": GPT4_PATTERN}
    loaded = Tokenizer.from_file(str(path))
    assert tables_of(loaded) == (vocab, merges)
    assert pattern_of(loaded) == GPT4_PATTERN
    assert loaded.encode("<s> ab").ids == [0, vocab[" ab"]]


def test_pattern_keeps_what_javascript_clients_replace_literally():
    for pattern in (GPT4_PATTERN, WORD_PATTERN):
        for part in (r"(?i:[sdmt]|ll|ve|re)", r"[^\r\n\p{L}\p{N}]?+", r"[^\s\p{L}\p{N}]++"):
            assert part in pattern


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_the_backend_splits_as_the_counting_code_does(pattern):
    pre_tokenizer = build_backend(base_vocab(), [], pattern).pre_tokenizer
    for text in ADVERSARIAL:
        if "\U00010d40" not in text:  # letters newer than the backend's Unicode tables; see MwSTokenizer
            assert [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)] == split(text, pattern)


@st.composite
def learnt_tables(draw):
    """Merges as any of our learners gives them: parts before wholes, each string once."""
    tokens = list("abc")
    merges = []
    for _ in range(draw(st.integers(0, 12))):
        left, right = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if left + right not in tokens:
            merges.append((left, right))
            tokens.append(left + right)
    return merges


@given(learnt_tables(), st.text("abc", max_size=40))
@examples(300)
def test_encoding_equals_a_replay_of_the_merges(merges, word):
    symbols = list(word)
    for left, right in merges:
        merged = []
        for symbol in symbols:
            if merged and merged[-1] == left and symbol == right:
                merged[-1] = left + right
            else:
                merged.append(symbol)
        symbols = merged
    assert build_backend(base_vocab((), "abc", merges), merges).encode(word).tokens == symbols


def test_the_order_of_ids_does_not_matter():
    merges = [("a", "b"), ("ab", "c"), ("c", "a")]
    vocab = base_vocab((), "abc", merges)
    numbers = list(vocab.values())
    random.Random(0).shuffle(numbers)
    shuffled = dict(zip(vocab, numbers, strict=True))
    for text in ("abcabcab", "cacab"):
        assert build_backend(shuffled, merges).encode(text).tokens == build_backend(vocab, merges).encode(text).tokens


def test_inference_loads_no_learning_code():
    code = (
        "import sys, mws_hf, mws_hf.text.pattern, mws_hf.tokenizer.backend, mws_hf.tokenizer.file;"
        "import mws_hf.tokenizer.notebook, mws_hf.text.special;"
        "from mws_hf import MwSTokenizer, MwSTokenizerFast;"
        "rooms = ('mws_hf.learn', 'mws_hf.corpus', 'mws_hf.encode', 'mws_hf.commands', 'mws_hf.kernels');"
        "bad = [m for m in sys.modules if m.startswith(rooms)"
        " or m.split('.')[0] in ('numba', 'pyarrow', 'pymorphy3', 'datasets')];"
        "assert not bad, bad"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_special_tokens_are_looked_for_before_normalization():
    vocab = base_vocab(["<ﬁ>"], "<fi>")
    backend = build_backend(vocab, [], normalization="nfkc", special_tokens=["<ﬁ>"])
    assert backend.encode("<ﬁ>").ids == [vocab["<ﬁ>"]]
    assert vocab["<ﬁ>"] not in backend.encode("<fi>").ids
