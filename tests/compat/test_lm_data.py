"""Language models: documents, token bytes, packing and bits per byte, over several kinds of tokenizer."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import math
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st
from lm.config import MultiToken, RunConfig
from lm.data import IGNORED, Codec, Collator, blocks_of, documents_of, read_split, run_bounds, shuffled, split_documents
from lm.scoring import Window, batches_of, bits_per_byte, score_groups, windows_of, word_forms
from lm.training import training_blocks
from transformers import LlamaConfig, LlamaForCausalLM

from mws_hf.errors import MwSError
from mws_hf.scoring.significance import paired_bootstrap
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
        assert codec.bytes_per_id(document, ids).sum() == len(document.encode())
    assert codec.represented(documents).all()


def test_a_word_mark_the_tokenizer_adds_takes_no_byte(codecs):
    codec = codecs["sentencepiece-unigram"]
    document = sentences(1)[0]
    ids = codec.encode([document])[0]
    assert codec.lengths[ids].sum() == len(document.encode()) + 1
    assert codec.bytes_per_id(document, ids).sum() == len(document.encode())


def test_lossy_tokenizers_are_detected(codecs):
    assert not codecs["wordpiece"].represented(["дом , стол.", "дом漢"]).any()
    assert codecs["wordpiece"].represented(["дом стол"]).all()
    assert not codecs["sentencepiece-unigram"].represented(["ﬁ ①"]).any()
    assert codecs["wordpiece"].bytes_per_id("дом стол", codecs["wordpiece"].encode(["дом стол"])[0]) is None


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
    # packing is greedy: no block has room for the first token of the next block
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
def test_run_bounds_are_the_fewest_runs_within_the_limit(lengths, limit):
    cuts = run_bounds(np.array(lengths, np.int64), limit)
    assert cuts[0] == 0 and cuts[-1] == len(lengths) and (np.diff(cuts) > 0).all()
    sums = [sum(lengths[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]
    assert max(sums) <= limit
    assert all(total + lengths[end] > limit for total, end in zip(sums, cuts[1:-1], strict=False))


def test_the_split_depends_only_on_the_texts(tmp_path):
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


def test_training_with_dropout_reads_the_same_text_in_more_tokens_and_splits_each_pass_differently(codecs, tmp_path):
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


class Toy(torch.nn.Module):
    """A model for calculations by hand: P(next = current) = 1/2, and the other half is spread evenly."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = torch.nn.Parameter(torch.tensor(float(size)))

    def forward(self, input_ids):
        size = int(self.size)
        rest = math.log(0.5 / (size - 1))
        logits = torch.full((*input_ids.shape, size), rest)
        logits.scatter_(2, input_ids[..., None], math.log(0.5))
        return SimpleNamespace(logits=logits + 7.0)


@pytest.fixture(scope="module")
def by_characters(tmp_path_factory):
    return Codec.open(tokenizer_dir(tmp_path_factory.mktemp("tokenizers"), "characters"))


@pytest.fixture(scope="module")
def llama(by_characters):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=by_characters.vocabulary_size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    return LlamaForCausalLM(config).eval()


def test_equals_a_hand_calculation(by_characters):
    size = by_characters.vocabulary_size
    scores = bits_per_byte(Toy(size), by_characters, ["ддом", "漢"], 100)
    # in ддом only the second letter repeats the letter before it; 漢 is three byte tokens, E6 BC A2
    surprise = math.log(2 * (size - 1))
    assert scores.nats == pytest.approx([math.log(2) + 3 * surprise, 3 * surprise])
    assert scores.n_bytes.tolist() == [8, 3]
    assert scores.value == pytest.approx((math.log(2) + 6 * surprise) / (11 * math.log(2)))
    assert scores.lossless


def test_equals_an_independent_loop(by_characters, llama):
    documents = sentences(5)
    scores = bits_per_byte(llama, by_characters, documents, 1000)
    for document, nats in zip(documents, scores.nats, strict=True):
        ids = [by_characters.separator, *by_characters.encode([document])[0].tolist()]
        with torch.no_grad():
            log_p = llama(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        expected = -sum(float(log_p[place, ids[place + 1]]) for place in range(len(ids) - 1))
        assert nats == pytest.approx(expected, rel=1e-5)


def test_batch_size_does_not_matter(by_characters, llama):
    documents = [*sentences(13), " ".join(sentences(9))]
    results = [bits_per_byte(llama, by_characters, documents, 80, batch_size=size) for size in (1, 3, 64)]
    for other in results[1:]:
        assert other.nats == pytest.approx(results[0].nats, rel=1e-5)
        assert [len(part) for part in other.token_nats] == [len(part) for part in results[0].token_nats]


@pytest.mark.parametrize("kind", ["bpe-character", "characters", "bpe-byte"])
def test_windows_score_every_token_once_within_the_context(kind, tmp_path):
    by_characters = Codec.open(tokenizer_dir(tmp_path, kind))
    documents = [" ".join(sentences(20, seed)) for seed in range(3)]
    encoded = by_characters.encode(documents)
    context = 64
    for index, ids in enumerate(encoded):
        windows = [window for window in windows_of(by_characters, encoded, context) if window.document == index]
        assert np.concatenate([window.ids[-window.scored :] for window in windows]).tolist() == ids.tolist()
        assert all(by_characters.lengths[window.ids].sum() <= context for window in windows)
        # each window except the first has half of the context before the tokens that it scores, to within one token
        spare = int(by_characters.lengths.max())
        for window in windows[1:]:
            assert by_characters.lengths[window.ids[: -window.scored]].sum() >= context // 2 - 2 * spare


def test_only_represented_documents_count(tmp_path):
    by_characters = Codec.open(tokenizer_dir(tmp_path, "wordpiece"))
    documents = ["дом стол", "дом漢, стол"]
    scores = bits_per_byte(Toy(by_characters.vocabulary_size), by_characters, documents, 100)
    assert scores.represented.tolist() == [True, False] and not scores.lossless
    assert scores.value == pytest.approx(scores.nats[0] / (math.log(2) * 15))
    with pytest.raises(MwSError, match="restores no document"):
        _ = bits_per_byte(Toy(by_characters.vocabulary_size), by_characters, documents[1:], 100).value


def test_words_by_novelty_add_up(by_characters):
    document = "Дом, дому кот."
    size = by_characters.vocabulary_size
    scores = bits_per_byte(Toy(size), by_characters, [document], 100)
    assert word_forms([document]) == {"дом", "дому", "кот"}
    result = score_groups(
        scores, by_characters, [document], {"дом": "seen form", "дому": "unseen form", "кот": "names"}
    )
    surprise = math.log(2 * (size - 1)) / math.log(2)
    assert [result[name].n_bytes for name in ("seen form", "unseen form", "names")] == [6, 9, 7]
    assert result["seen form"].bits_per_byte == pytest.approx(3 * surprise / 6)
    assert result["unseen form"].bits_per_byte == pytest.approx(5 * surprise / 9)
    assert result["names"].words == 1


def test_the_paired_interval_is_narrower_than_the_spread_of_documents():
    generator = np.random.default_rng(0)
    sizes = generator.integers(50, 500, 400)
    base = sizes * generator.normal(1.0, 0.3, 400)
    better = base - 0.01 * sizes + generator.normal(0, 0.5, 400)
    result = paired_bootstrap([better], [base], sizes)
    assert result.value == pytest.approx(-0.01 / math.log(2), abs=5e-4)
    assert result.low < result.value < result.high < 0
    assert result.high - result.low < 0.005
    mirrored = paired_bootstrap([base], [better], sizes)
    assert mirrored.value == pytest.approx(-result.value)
    half = np.arange(400) < 200
    assert paired_bootstrap([better], [base], sizes, represented=half).documents == 200
    with pytest.raises(MwSError, match="same documents"):
        paired_bootstrap([better[:5]], [base], sizes)


def test_seeds_widen_the_interval():
    sizes = np.full(500, 100)
    base = [np.full(500, 100.0), np.full(500, 104.0)]
    result = paired_bootstrap(base, [np.full(500, 100.0)], sizes)
    assert result.low == pytest.approx(0.0) and result.high == pytest.approx(0.04 / math.log(2))


def test_a_large_vocabulary_is_scored_in_smaller_passes():
    """The scores of 32 windows of 600 ids over 32,000 tokens would take 2.5 GB, several times."""
    lengths = [1, 600, 599, 30, 8, 600, 70_000] * 9
    windows = [Window(0, np.zeros(length, np.int64), 1) for length in lengths]
    for vocabulary in (300, 32_000, 1_000_000):
        groups = list(batches_of(windows, 32, vocabulary))
        assert sorted(index for group in groups for index in group) == list(range(len(windows)))
        for group in groups:
            longest = max(len(windows[index].ids) for index in group)
            assert len(group) <= 32
            assert len(group) == 1 or len(group) * longest * vocabulary <= 1 << 26
    assert len(list(batches_of(windows, 32, 1))) == 2  # 63 windows; only their number limits a pass
