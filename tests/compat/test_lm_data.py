"""Documents, token bytes, the losslessness gate and packing: properties over several kinds of tokenizer."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import numpy as np
import pytest

pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st
from lm.config import MultiToken, RunConfig
from lm.data import (
    IGNORED,
    Codec,
    Collator,
    blocks_of,
    cut_points,
    documents_of,
    read_split,
    shuffled,
    split_documents,
)
from lm.training import training_blocks

from mws_hf.errors import MwSError
from mws_hf.tokenizer.merging import Dropout
from tests.examples import examples
from tests.small_language import sentences, tokenizer_dir
from tests.small_tokenizers import ADVERSARIAL

LOSSLESS = ["mws", "bpe-character", "bpe-byte", "unigram", "characters"]
KINDS = [*LOSSLESS, "sentencepiece-unigram", "wordpiece"]
ODD = ["Дом 漢字 🦔!", "##дом ▁стол</w> Ġ <0x41>", "<|endoftext|> дом", " дом", "е\u0308ё", *ADVERSARIAL]


@pytest.fixture(scope="module")
def codecs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers")
    return {kind: Codec.open(tokenizer_dir(folder, kind)) for kind in KINDS}


@pytest.mark.parametrize("kind", LOSSLESS)
def test_raw_bytes_of_tokens_spell_the_text_and_the_gate_opens(codecs, kind):
    codec = codecs[kind]
    documents = [*sentences(50), *ODD]
    for document, ids in zip(documents, codec.encode(documents), strict=True):
        assert b"".join(codec.pieces[i] for i in ids) == document.encode()
        assert codec.laid_out(document, ids).sum() == len(document.encode())
    assert codec.represented(documents).all()


def test_a_word_mark_the_tokenizer_adds_takes_no_byte(codecs):
    codec = codecs["sentencepiece-unigram"]
    document = sentences(1)[0]
    ids = codec.encode([document])[0]
    assert codec.lengths[ids].sum() == len(document.encode()) + 1
    assert codec.laid_out(document, ids).sum() == len(document.encode())


def test_lossy_tokenizers_are_found_out(codecs):
    assert not codecs["wordpiece"].represented(["дом , стол.", "дом漢"]).any()
    assert codecs["wordpiece"].represented(["дом стол"]).all()
    assert not codecs["sentencepiece-unigram"].represented(["ﬁ ①"]).any()
    assert codecs["wordpiece"].laid_out("дом стол", codecs["wordpiece"].encode(["дом стол"])[0]) is None


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("context", [40, 160])
def test_packing_loses_nothing_and_keeps_to_the_context(codecs, kind, context):
    codec, documents = codecs[kind], sentences(80)
    blocks = blocks_of(codec, codec.encode(documents), context)
    size = sum(len(document.encode()) for document in documents)
    assert blocks.n_bytes.sum() == size
    assert blocks.n_bytes.max() <= context
    assert b"".join(codec.pieces[i] for i in blocks.stream) == "".join(documents).encode()
    assert blocks.stream[0] == codec.separator and (blocks.stream == codec.separator).sum() == len(documents) + 1
    # greedy: no block could have taken the first token of the next
    firsts = codec.lengths[blocks.stream[blocks.bounds[1:-1] + 1]]
    assert (blocks.n_bytes[:-1] + firsts > context).all()


def test_every_token_is_predicted_once(codecs):
    blocks = blocks_of(codecs["bpe-character"], codecs["bpe-character"].encode(sentences(20)), 60)
    batch = Collator(padding=1)(
        [{"input_ids": blocks.stream[a : b + 1]} for a, b in zip(blocks.bounds, blocks.bounds[1:], strict=False)]
    )
    predicted = batch["labels"][batch["labels"] != IGNORED]
    assert predicted.tolist() == blocks.stream[1:].tolist()
    assert (batch["labels"][:, 0] == IGNORED).all()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(9, 30))
@examples(200)
def test_cut_points_are_the_fewest_runs_within_the_limit(lengths, limit):
    cuts = cut_points(np.array(lengths, np.int64), limit)
    assert cuts[0] == 0 and cuts[-1] == len(lengths) and (np.diff(cuts) > 0).all()
    sums = [sum(lengths[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]
    assert max(sums) <= limit
    assert all(total + lengths[end] > limit for total, end in zip(sums, cuts[1:-1], strict=False))


def test_the_split_depends_on_the_texts_alone(tmp_path):
    documents = sentences(300)
    first = split_documents(documents, 5000, 2000)
    again = split_documents([*reversed(documents), *documents[:50]], 9000, 2000)
    assert first.held_out == again.held_out and set(first.train) < set(again.train)
    assert not set(first.held_out) & set(again.pool) and len(first.pool) + len(first.held_out) == 300
    assert shuffled(first.train, 0) != shuffled(first.train, 1)
    assert shuffled(first.train, 1) == shuffled(first.train[::-1], 1)
    file = tmp_path / "a.txt"
    file.write_text("один\n\nдва\n", encoding="utf-8")
    assert documents_of([file]) == ["один", "два"]


def test_files_held_out_are_never_trained_on(tmp_path):
    for name, text in (("training", "один\nдва\nтри\nдва\n"), ("works", "два\nчетыре\nчетыре\n")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    config = RunConfig(tokenizer="t", text=(str(tmp_path / "training.txt"),), held_out=(str(tmp_path / "works.txt"),))
    split = read_split(config)
    assert split.held_out == ["два", "четыре"] and sorted(split.pool) == sorted(split.train) == ["один", "три"]


def test_mistakes_are_named(codecs, tmp_path):
    with pytest.raises(MwSError, match=r"no tokenizer\.json"):
        Codec.open(tmp_path)
    with pytest.raises(MwSError, match="longest token"):
        blocks_of(codecs["bpe-character"], codecs["bpe-character"].encode(sentences(3)), 1)
    with pytest.raises(MwSError, match="bytes are asked for|asked for"):
        split_documents(["a"], 10, 10)
    with pytest.raises(MwSError, match="unknown key colour"):
        RunConfig.from_dict({"tokenizer": "t", "text": "x", "colour": 1})
    with pytest.raises(MwSError, match="text must be given"):
        RunConfig.from_dict({"tokenizer": "t"})
    with pytest.raises(MwSError, match="horizon"):
        MultiToken(horizon=1)


def test_training_with_dropout_reads_the_same_text_in_more_tokens_and_cuts_each_pass_anew(codecs, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(sentences(60)), encoding="utf-8")
    codec = codecs["mws"]

    def blocks(**values):
        values = {"text": (str(text),), "held_out_bytes": 100, "passes": 2} | values
        return training_blocks(RunConfig(tokenizer=str(codec.directory), **values), codec)

    plain, dropped = blocks(), blocks(dropout=0.3)
    assert dropped.n_bytes.sum() == plain.n_bytes.sum()
    assert dropped.n_tokens > plain.n_tokens
    assert np.array_equal(dropped.stream, blocks(dropout=0.3).stream)
    documents = shuffled(sentences(60), 0)
    first, again = (codec.encode_dropped(documents, Dropout(0.3, seed)) for seed in (0, 1))
    assert [codec.decode([ids])[0] for ids in first] == documents
    assert any(len(a) != len(b) for a, b in zip(first, again, strict=True))
    with pytest.raises(MwSError, match="dropout=2"):
        blocks(dropout=2)
