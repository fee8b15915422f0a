"""First rows of new tokens: weights of pieces by their share in a text, and of other tokens by their company in it."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import json
from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tokenizers import Tokenizer, models
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from mws_hf import MwSError
from mws_hf.corpus.counting import count_documents
from mws_hf.extend.embeddings import transplant
from mws_hf.extend.extension import extend
from mws_hf.extend.first_rows import LEAST_USES, WINDOW, by_company, hushed, neighbours, static_vectors
from mws_hf.extend.spelling import Spelling
from mws_hf.text.byte_alphabet import BYTE_CHARACTERS
from tests.in_process import mws
from tests.small_bases import SPECIAL, llama3_like, save

SHAPE = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
OLD, NEW = " talk", " pakinoida"
TEXT = [
    f"{who}{does} {where}."
    for who in ("He", "She", "the")
    for does in (OLD, NEW)
    for where in ("in rain", "while it is")
] * 10 + ["1234, 1234; 'it is' 1234"] * 20
"""A word that the base has, and one it has not, in the same places."""

IN_TEXTS = set(b"".join(chr(point).encode() for point in range(0x110000) if not 0xD800 <= point < 0xE000))
"""The bytes of all characters."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A base, its extension, a random model."""
    place = tmp_path_factory.mktemp("rows")
    base = save(llama3_like(), place / "base", eos_token=SPECIAL[1], pad_token=SPECIAL[2])
    extend(base, count_documents(TEXT, workers=1), 40, composition=1).save(place / "larger", base)
    torch.manual_seed(0)
    rows = max(llama3_like().get_vocab().values()) + 1
    LlamaForCausalLM(LlamaConfig(vocab_size=rows, **SHAPE)).save_pretrained(place / "model")
    AutoTokenizer.from_pretrained(base).save_pretrained(place / "model")
    return place


@pytest.fixture(scope="module")
def parts(folder):
    """The model and both tokenizers."""
    found = [AutoTokenizer.from_pretrained(folder / name) for name in ("base", "larger")]
    return LlamaForCausalLM.from_pretrained(folder / "model"), *found


def row_of(tokenizer, token):
    ids = tokenizer(token, add_special_tokens=False)["input_ids"]
    assert len(ids) == 1
    return ids[0]


def test_weighted_is_the_mean_of_pieces_by_their_share_in_the_text(parts):
    model, old, new = parts
    changed, _ = transplant(model, old, new, "weighted", text=iter(TEXT))
    uses = Counter(each for line in TEXT for each in old(line, add_special_tokens=False)["input_ids"])
    pieces = old(NEW, add_special_tokens=False)["input_ids"]
    assert len(pieces) > 2
    shares = torch.tensor([uses[each] + 1.0 for each in pieces])
    expected = (shares / shares.sum()) @ model.get_input_embeddings().weight[pieces]
    found = changed.get_input_embeddings().weight[row_of(new, NEW)]
    assert torch.allclose(found, expected, atol=1e-6)
    plain, _ = transplant(model, old, new, "mean")
    assert not torch.allclose(found, plain.get_input_embeddings().weight[row_of(new, NEW)], atol=1e-3)


def test_quiet_is_half_the_pieces_and_half_the_bytes_that_no_text_has(parts):
    model, old, new = parts
    changed, report = transplant(model, old, new, "quiet")
    given, found = model.get_input_embeddings().weight, changed.get_input_embeddings().weight
    never = [old.convert_tokens_to_ids(each) for byte, each in enumerate(BYTE_CHARACTERS) if byte not in IN_TEXTS]
    pieces = old(NEW, add_special_tokens=False)["input_ids"]
    assert len(never) == 13 and report.mixed > 5
    expected = given[pieces].mean(0) / 2 + given[never].mean(0) / 2
    assert torch.allclose(found[row_of(new, NEW)], expected, atol=1e-6)
    assert torch.equal(found[: len(old)], given)
    with pytest.raises(MwSError, match="single bytes, which the old one lacks"):
        hushed([([0, 1], [0.5, 0.5])], Spelling(Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))))


def test_focus_makes_a_token_of_those_in_like_places(parts):
    model, old, new = parts
    first, second = (transplant(model, old, new, "focus", text=TEXT)[0] for _ in range(2))
    rows, given = first.get_input_embeddings().weight, model.get_input_embeddings().weight
    assert torch.equal(rows, second.get_input_embeddings().weight)
    likeness = torch.nn.functional.cosine_similarity(rows[row_of(new, NEW)][None], given)
    assert int(likeness.argmax()) == row_of(old, OLD) and likeness.max() > 0.9


def test_neighbours_are_counted_within_texts_as_by_hand(parts):
    backend = parts[2].backend_tokenizer
    size = len(parts[2])
    expected, uses = Counter(), Counter()
    for line in TEXT:
        ids = backend.encode(line, add_special_tokens=False).ids
        uses.update(ids)
        for one in range(len(ids)):
            for other in range(max(0, one - WINDOW), one + WINDOW + 1):
                if other != one and other < len(ids):
                    expected[ids[one], ids[other]] += 1
    keys, counts, found = neighbours(backend, TEXT, size)
    pairs = zip((keys // size).tolist(), (keys % size).tolist(), strict=True)
    assert dict(zip(pairs, counts.tolist(), strict=True)) == expected and keys.tolist() == sorted(keys.tolist())
    assert {index: count for index, count in enumerate(found.tolist()) if count} == uses


def test_vectors_are_the_eigenvectors_of_the_dense_matrix(parts):
    backend, size = parts[2].backend_tokenizer, len(parts[2])
    vectors = static_vectors(backend, TEXT, size).double().numpy()
    keys, counts, uses = neighbours(backend, TEXT, size)
    table = np.zeros((size, size))
    table[keys // size, keys % size] = counts
    seen = uses >= LEAST_USES
    table = table[np.ix_(seen, seen)]
    share = table.sum(1) ** 0.75 / (table.sum(1) ** 0.75).sum()
    with np.errstate(divide="ignore"):
        matrix = np.log(table / table.sum() / np.outer(share, share)).clip(min=0)
    strengths, axes = np.linalg.eigh(matrix)  # fewer than the width: none is left out
    dense = axes * np.sqrt(np.abs(strengths))
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    assert seen.sum() < vectors.shape[1] and not vectors[~seen].any()
    assert np.allclose(vectors[seen] @ vectors[seen].T, dense @ dense.T, atol=1e-4)


def test_tokens_that_a_text_lacks_keep_their_pieces():
    vectors = torch.eye(4)
    vectors[2] = 0
    vectors[3] = torch.tensor([0.6, 0.8, 0, 0])
    mixtures = [([7], [1.0]), ([8], [1.0]), ([7, 8], [0.5, 0.5]), ([5, 6], [0.5, 0.5])]
    found = by_company(mixtures, vectors)
    assert found[:3] == mixtures[:3]
    assert found[3][0] == [8, 7] and np.allclose(found[3][1], [0.6, 0.4])  # sparsemax of 0.8 and 0.6


@pytest.mark.parametrize(
    ("init", "text", "message"),
    [
        ("focus", None, "init='focus' needs text"),
        ("weighted", None, "init='weighted' needs text"),
        ("mean", ["text"], "init='mean' reads no text"),
        ("quiet", ["text"], "init='quiet' reads no text"),
        ("focus", ["rain"], "too few tokens"),
        ("weighted", [], "too few tokens"),
    ],
)
def test_text_that_is_missing_or_not_read_is_told_of(parts, init, text, message):
    with pytest.raises(MwSError, match=message):
        transplant(*parts, init, text=text)


def test_the_command_reads_text(folder, tmp_path):
    text, counts = tmp_path / "text.jsonl", tmp_path / "counts.parquet"
    text.write_text("".join(json.dumps({"body": line}) + "\n" for line in TEXT), encoding="utf-8")
    count_documents(TEXT, workers=1).save(counts)
    common = ["transplant", folder / "model", folder / "larger"]
    done = mws(*common, "--init", "focus", "--text", text, "--column", "body", "-o", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    given = [AutoTokenizer.from_pretrained(folder / name) for name in ("base", "larger")]
    model = LlamaForCausalLM.from_pretrained(folder / "model")
    wanted, _ = transplant(model, *given, "focus", text=TEXT)
    made = LlamaForCausalLM.from_pretrained(tmp_path / "new")
    assert torch.equal(made.get_input_embeddings().weight, wanted.get_input_embeddings().weight)
    for options, message in (
        (["--init", "focus"], "--init focus needs text"),
        (["--init", "mean", "--text", text], "--init mean reads no text"),
        (["--init", "focus", "--text", counts], "holds counts of words"),
        (["--init", "weighted", "--text", tmp_path / "none.txt"], "none.txt"),
        (["--init", "weighted", "--text", text, "--column", "other"], "text.jsonl:1"),
    ):
        done = mws(*common, *options, "-o", tmp_path / "x")
        assert done.returncode == 2 and message in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and not (tmp_path / "x").exists()
