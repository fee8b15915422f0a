"""Tokenizers and segmenters of other programs: by file, in `evaluate`, `segment` and `report`."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.errors import MwSError
from mws_hf.evaluate import evaluate, score_text, segment_words
from mws_hf.text.sample_texts import NATURAL
from mws_hf.tokenizer.opened import open_tokenizer
from tests.in_process import mws
from tests.small_tokenizers import small_fast

spm = pytest.importorskip("sentencepiece")
morfessor = pytest.importorskip("morfessor")
GOLD = "unlocks\tun lock s\nlocks\tlock s\nundo\tun do\n"


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request, tmp_path_factory):
    """Train a small SentencePiece model, with its own normal form and byte fallback."""
    made = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter([*NATURAL, "unlock unlocks locks undo"] * 20),
        model_writer=made,
        model_type=request.param,
        vocab_size=600,
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    file = tmp_path_factory.mktemp("spm") / f"{request.param}.model"
    file.write_bytes(made.getvalue())
    return file


@pytest.fixture
def segmenter(tmp_path):
    trained = morfessor.BaselineModel()
    trained.load_data([(5, "unlocks"), (4, "locks"), (4, "unties"), (3, "ties"), (2, "undo"), (9, "do")])
    trained.train_batch()
    file = tmp_path / "morfessor.txt"
    morfessor.MorfessorIO(encoding="utf-8").write_segmentation_file(str(file), trained.get_segmentations())
    return file, trained


def test_a_sentence_piece_model_gives_its_own_ids_and_its_text_back(model):
    encoder, processor = open_tokenizer(model, by_class=True), spm.SentencePieceProcessor(model_file=str(model))
    assert encoder.vocabulary_size == len(processor) and encoder.adds_space
    for line, encoded in zip(NATURAL, encoder.encode(NATURAL), strict=True):
        assert encoded.ids == processor.encode(line)
        assert encoder.decode([encoded.ids]) == [processor.decode(encoded.ids)]


@given(st.text(max_size=20))
def test_spans_of_sentence_piece_cover_the_text_in_order(model, text):
    spans = open_tokenizer(model, by_class=True).encode([text])[0].spans
    assert spans is not None
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


def test_words_of_a_sentence_piece_model_are_cut_where_it_cuts(model):
    processor = spm.SentencePieceProcessor(model_file=str(model))
    for word, pieces in zip(["unlocks", "locks"], segment_words(model, ["unlocks", "locks"]), strict=True):
        told = [piece.replace("▁", "") for piece in processor.encode(word, out_type=str)]
        assert list(pieces) == [piece for piece in told if piece]


def test_a_morfessor_model_saved_as_text_cuts_as_its_program_does(segmenter):
    file, trained = segmenter
    words = ["unlocks", "unlock", "ties", "redo"]
    assert segment_words(file, words) == [tuple(trained.viterbi_segment(word, 0)[0]) for word in words]


def test_a_file_of_segmentations_is_scored_as_its_pieces_are(tmp_path):
    gold, ours = tmp_path / "gold.tsv", tmp_path / "ours.tsv.gz"
    gold.write_text(GOLD)
    ours.write_bytes(gzip.compress(b"unlocks\tunlock s\nlocks\tlock s\nundo\tundo\n"))
    scores = evaluate([ours], [gold], baselines=False).rows[0].scores
    assert (scores.precision, scores.recall) == (1.0, 0.5)


def test_words_that_a_file_of_segmentations_lacks_are_counted_and_named(tmp_path):
    gold, ours = tmp_path / "gold.tsv", tmp_path / "ours.tsv"
    gold.write_text(GOLD)
    ours.write_text("unlocks\tunlock s\n")
    with pytest.raises(MwSError, match=r"ours.tsv: no segmentation of 2 of 3 words \(locks, undo\)"):
        evaluate([ours], [gold])
    ours.write_text("undo\tun do\nundo\tund o\n")
    with pytest.raises(MwSError, match=r"ours.tsv:2: 'undo' is cut in another way above"):
        segment_words(ours, ["undo"])
    ours.write_text("undo\tun do\nlocks\tlock z\n")
    with pytest.raises(MwSError, match=r"ours.tsv:2"):
        segment_words(ours, ["undo"])


class _Trap:
    def __reduce__(self):
        return (exec, ("raise SystemExit('a pickle was run')",))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pickle_is_refused_and_not_run(tmp_path, pack):
    (tmp_path / "model.bin").write_bytes(pack(pickle.dumps(_Trap())))
    with pytest.raises(MwSError, match="save a Morfessor model as text"):
        open_tokenizer(tmp_path / "model.bin")


def test_damaged_files_are_refused_with_their_name(tmp_path, model):
    half = model.read_bytes()
    for name, content in {"a.model": half[: len(half) // 2], "b.model": b"\xff\xfe\0", "c.tsv": b"\xff\xfe"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MwSError, match=name):
            open_tokenizer(tmp_path / name)


def test_a_tokenizer_json_by_itself_is_the_tokenizer(tmp_path):
    small_fast().save_pretrained(tmp_path / "whole")
    for name in ("alone.json", "alone"):
        shutil.copy(tmp_path / "whole" / "tokenizer.json", tmp_path / name)
        assert segment_words(tmp_path / name, ["читали"]) == segment_words(tmp_path / "whole", ["читали"])


def test_evaluate_and_segment_take_them_all_beside_each_other(tmp_path, model, segmenter):
    gold, text, ours = tmp_path / "gold.tsv", tmp_path / "text.txt", tmp_path / "ours.tsv"
    gold.write_text(GOLD)
    ours.write_text(GOLD)
    text.write_text("\n".join(NATURAL), encoding="utf-8")
    code, out, err = mws(
        "evaluate", str(model), str(segmenter[0]), f"mine={ours}", "--gold", str(gold), "--text", str(text), "--json"
    )
    assert code == 0 and "morfessor.txt, mine: cut words alone" in err
    found = json.loads(out)
    assert list(found["text"]) == [model.name]
    assert found["text"][model.name]["tokens"] == score_text(model, NATURAL).tokens
    assert {row["tokenizer"] for row in found["rows"]} >= {model.name, "morfessor.txt", "mine"}
    assert mws("segment", str(ours), "unlocks", "undo")[1] == "un·lock·s\nun·do\n"
    code, _, err = mws("evaluate", str(ours), "--text", str(text))
    assert code == 2 and "--gold FILE" in err


def test_a_report_needs_neither_text_nor_gold_and_shows_them_all(tmp_path, model):
    small_fast().save_pretrained(tmp_path / "ours")
    page = tmp_path / "report.html"
    assert mws("report", str(tmp_path / "ours"), str(model), "-o", str(page))[0] == 0
    shown = page.read_text(encoding="utf-8")
    assert (
        "samples of the package" in shown
        and model.name in shown
        and f">{score_text(model, NATURAL).fertility:.3f}<" in shown
    )
    gold = tmp_path / "gold.tsv"
    gold.write_text(GOLD)
    assert mws("report", str(tmp_path / "ours"), f"cut={gold}", "--gold", str(gold), "-o", str(page), "--force")[0] == 0
    assert "<td>1.000<small>" in page.read_text(encoding="utf-8")
