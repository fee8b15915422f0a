"""A marker instead of uppercase letters: every text comes back, and ``Word`` has the tokens of ``word``.

Modules: text/capitals.py, tokenizer/leading_space.py.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from mws_hf import EncodedCorpus, MwSError, MwSTokenizer, MwSTokenizerFast, MwSTrainer, WordCounts, encode_corpus
from mws_hf.check import check
from mws_hf.compare import baselines
from mws_hf.corpus import blocks
from mws_hf.corpus.counting import count_documents, count_files
from mws_hf.corpus.splitter import Splitter
from mws_hf.text.capitals import is_common, restore_capitals, write_marker
from mws_hf.tokenizer.backend import base_vocab, build_backend
from mws_hf.tokenizer.export import byte_tables, to_byte_level_backend
from mws_hf.tokenizer.notebook import export_notebook
from mws_hf.tokenizer.spec import Spec
from tests.in_process import mws
from tests.short_text import TEXT

LETTERS = "ABİCDЁАБ".replace("İ", "")
SOME = st.text(alphabet="AaBbЁёАаßİǅ\x0e\x0f \n'.1-\u0301\u0306", max_size=12)
LINES = [line + ". " + line.capitalize() + " " + line.upper() for line in TEXT.splitlines() if line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer that was trained with the marker."""
    path = tmp_path_factory.mktemp("capitals") / "tokenizer"
    MwSTrainer(vocab_size=700, capitals="marker", show_progress=False).train(LINES).save_pretrained(path)
    return path


def small(alphabet: str, letters: str = LETTERS, form: str | None = None) -> Tokenizer:
    from mws_hf.text.symbols import BYTE_CHARACTERS

    vocab = base_vocab((), "ab", ()) if alphabet == "characters" else base_vocab(byte_symbols=BYTE_CHARACTERS)
    return build_backend(vocab, [], normalization=form, special_tokens=["<|end|>"], capitals=letters)


@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
@given(text=st.one_of(st.text(max_size=12), SOME))
def test_every_text_comes_back(alphabet: str, text: str) -> None:
    tokenizer = small(alphabet)
    ids = tokenizer.encode(text).ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    slow = MwSTokenizer(vocab=tokenizer.get_vocab(with_added_tokens=False), capitals=LETTERS)
    slow_ids = slow.convert_tokens_to_ids(slow._tokenize(text))
    assert slow.convert_tokens_to_string(slow.convert_ids_to_tokens(slow_ids)) == text


@given(text=SOME)
def test_streamed_text_never_changes_when_a_token_is_added(text: str) -> None:
    tokenizer, shown = small("bytes"), ""
    ids = tokenizer.encode(text).ids
    for n in range(len(ids) + 1):
        now = tokenizer.decode(ids[:n], skip_special_tokens=False)
        if not now.endswith("\ufffd"):
            assert now.startswith(shown)
            shown = now
    assert shown == text


@given(text=st.one_of(SOME, st.text(max_size=12).filter(is_common)))
def test_the_marker_in_python_is_that_of_the_rules(text: str) -> None:
    tokenizer = small("bytes")
    assert write_marker(text, LETTERS) == tokenizer.normalizer.normalize_str(text)
    assert restore_capitals(write_marker(text, LETTERS), LETTERS) == text


def test_a_capitalized_word_has_the_tokens_of_the_word(folder: Path) -> None:
    tokenizer = MwSTokenizerFast.from_pretrained(folder)
    words = [word for word in TEXT.split() if word.isalpha() and word.islower() and len(word) > 3][:20]
    for word in words:
        marker, *capitalized = tokenizer.tokenize("x " + word.capitalize())[1:]
        assert [marker, *capitalized] == ["Ď", *tokenizer.tokenize("x " + word)[1:]]
        assert len(tokenizer.tokenize("x. " + word.capitalize())) == len(tokenizer.tokenize("x. " + word))


def test_all_classes_agree_and_nobody_needs_the_plug_in(folder: Path, tmp_path: Path) -> None:
    fast, slow = MwSTokenizerFast.from_pretrained(folder), MwSTokenizer.from_pretrained(folder)
    standard = AutoTokenizer.from_pretrained(folder)
    copied = pickle.loads(pickle.dumps(slow))
    fast.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    for text in [*LINES[:5], "A b C. D\x0e \x0eE <|endoftext|>Aa İß McDonald NASA"]:
        ids = fast(text)["input_ids"]
        for tokenizer in (slow, standard, copied, again):
            assert tokenizer(text)["input_ids"] == ids
            assert tokenizer.decode(ids) == text
        offsets = fast(text, return_offsets_mapping=True)["offset_mapping"]
        assert all(0 <= begin <= end <= len(text) for begin, end in offsets)


def test_words_given_one_by_one_are_those_of_running_text(folder: Path) -> None:
    fast, slow = MwSTokenizerFast.from_pretrained(folder), MwSTokenizer.from_pretrained(folder)
    words = ["A", "word", "Word", "NASA"]
    given_ids = fast(words, is_split_into_words=True)["input_ids"]
    assert given_ids == fast(" A word Word NASA")["input_ids"] == slow(words, is_split_into_words=True)["input_ids"]
    assert fast("A word")["input_ids"] != fast(" A word")["input_ids"], "the tokenizer itself did not change"
    spaced = MwSTokenizerFast.from_pretrained(folder, add_prefix_space=True)
    assert spaced("A word")["input_ids"] == spaced(" A word")["input_ids"] == fast(" A word")["input_ids"]
    assert MwSTokenizer.from_pretrained(folder, add_prefix_space=True)("A b")["input_ids"] == spaced("A b")["input_ids"]


@pytest.mark.parametrize("stop", ["\nThe", "\nUser:", " The", "the"])
def test_a_stop_string_with_the_marker_stops_a_generation(folder: Path, stop: str) -> None:
    torch = pytest.importorskip("torch")
    from transformers import StopStringCriteria

    tokenizer = AutoTokenizer.from_pretrained(folder)
    written = tokenizer.backend_tokenizer.normalizer.normalize_str(stop)
    for start in ("one", "one.", "One two"):
        stops = StopStringCriteria(tokenizer, [written])
        assert stops(torch.tensor([tokenizer(f"{start}{stop}")["input_ids"]]), None).all()
        assert not stops(torch.tensor([tokenizer(start)["input_ids"]]), None).any()


def test_a_saved_leading_space_is_found_and_taken_away_again(folder: Path, tmp_path: Path) -> None:
    MwSTokenizerFast.from_pretrained(folder, add_prefix_space=True).save_pretrained(tmp_path)
    letter = Spec.of(Tokenizer.from_file(str(folder / "tokenizer.json"))).capitals[0]
    expected = MwSTokenizerFast.from_pretrained(folder).tokenize(f" {letter}ba")
    assert AutoTokenizer.from_pretrained(tmp_path).tokenize(f"{letter}ba") == expected
    assert MwSTokenizerFast.from_pretrained(tmp_path).add_prefix_space
    plain = MwSTokenizerFast.from_pretrained(tmp_path, add_prefix_space=False)
    assert plain("Word")["input_ids"] == MwSTokenizerFast.from_pretrained(folder)("Word")["input_ids"]


def test_a_corpus_gets_the_same_ids(folder: Path, tmp_path: Path) -> None:
    texts = [*LINES, "<|endoftext|>A\x0e b", "", "Ⴀ Ꭰ A", "\u0301A"]
    encode_corpus(folder, texts, tmp_path / "ids", separator=None)
    found, tokenizer = EncodedCorpus(tmp_path / "ids"), Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert [found[n].tolist() for n in range(len(texts))] == [tokenizer.encode(text).ids for text in texts]


def test_counts_record_the_marker_and_training_takes_it_over(tmp_path: Path) -> None:
    text, counts = tmp_path / "text.txt", tmp_path / "counts.parquet"
    text.write_text("\n".join(LINES), encoding="utf-8")
    mws("count", str(text), "--capitals", "marker", "--normalization", "nfc", "--output", str(counts))
    loaded = WordCounts.load(counts)
    assert loaded.normalization == "nfc+capitals"
    assert dict(loaded.items()) == dict(count_files(text, normalization="nfc+capitals").items())
    with pytest.raises(MwSError, match="another pattern or normalization|normalization"):
        loaded.merge(count_documents(LINES))
    for source in (counts, text):
        options = () if source == counts else ("--capitals", "marker", "--normalization", "nfc")
        mws("train", str(source), "--output", str(tmp_path / source.stem), "--vocab-size", "600", *options)
    assert (tmp_path / "counts/tokenizer.json").read_bytes() == (tmp_path / "text/tokenizer.json").read_bytes()
    again = MwSTokenizerFast.from_pretrained(tmp_path / "text")
    assert again.decode(again("E\u0301cole Word")["input_ids"]) == "École Word"


def test_lines_are_counted_as_documents_however_large_the_file(tmp_path: Path) -> None:
    lines = [f"end{n}. Begin{n % 7} of it\n" for n in range(40_000)]
    file = tmp_path / "text.txt"
    file.write_text("".join(lines), encoding="utf-8")
    assert file.stat().st_size > 1 << 19, "more than one block"
    assert dict(count_files(file, normalization="capitals").items()) == dict(
        count_documents(lines, normalization="capitals").items()
    )


@given(text=st.text(alphabet="aAЯ1.\n\x0e /\u00a0", min_size=8, max_size=60), size=st.integers(8, 24))
def test_a_text_is_counted_as_a_whole_however_it_is_divided(text: str, size: int) -> None:
    splitter, raw, found = Splitter(normalization="capitals"), text.encode(), list[str]()
    while cut := blocks.last_division_point(raw[:size], division=blocks.MARKED_STREAM):
        found += splitter.split(raw[:cut].decode())
        raw = raw[cut:]
    assert [*found, *splitter.split(raw.decode())] == splitter.split(text)


def test_blank_lines_become_tokens_in_texts_with_the_marker(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("One word. Two words.\n\nThree.\n\n" * 50, encoding="utf-8")
    assert ".\n\n" in dict(count_files(file, normalization="capitals").items())


def test_a_script_without_capitalized_words_gets_no_rules() -> None:
    trained = MwSTrainer(vocab_size=400, capitals="marker", show_progress=False).train(
        ["კაცი კაცები კაცებში სახლი"] * 50
    )
    assert trained.backend_tokenizer.normalizer is None
    assert trained.decode(trained.encode("ᲙᲐᲪᲘ კაცი")) == "ᲙᲐᲪᲘ კაცი"


@pytest.mark.parametrize("letters", ["marker", "İ", "a", "]", "\u1c90", "Ǆ"])
def test_a_letter_that_does_not_come_back_is_rejected(letters: str) -> None:
    for kind in (MwSTokenizer, MwSTokenizerFast):
        with pytest.raises(MwSError, match="not an uppercase letter"):
            kind(capitals=letters)


@pytest.mark.parametrize("value", ["", "+capitals", "nfc+", "capitals+nfc", "nfc+capitals+capitals"])
def test_malformed_normalizations_are_rejected(value: str) -> None:
    with pytest.raises(MwSError, match="unknown normalization"):
        MwSTrainer(vocab_size=600, normalization=value)


def test_a_required_word_with_a_capital_names_the_one_to_give() -> None:
    with pytest.raises(MwSError, match="' word'; give that"):
        MwSTrainer(vocab_size=600, capitals="marker", required=[" Word"], show_progress=False).train(LINES)


def test_the_figures_of_a_training_are_those_of_the_text() -> None:
    trained = MwSTrainer(vocab_size=700, capitals="marker", show_progress=False).train(LINES)
    n_tokens = sum(len(trained(line)["input_ids"]) for line in LINES)
    n_bytes = sum(len(line.encode()) for line in LINES)
    assert trained.training.settings["bytes_per_token"] == pytest.approx(n_bytes / n_tokens, abs=1e-3)


def test_the_card_names_the_marker(folder: Path) -> None:
    assert "| uppercase letters | a marker" in (folder / "README.md").read_text(encoding="utf-8")


def test_retraining_keeps_the_marker(folder: Path) -> None:
    new = MwSTokenizerFast.from_pretrained(folder).train_new_from_iterator(LINES, 600)
    assert Spec.of(new.backend_tokenizer).capitals and new.training.settings["capitals"] == "marker"
    assert new.decode(new(LINES[0])["input_ids"]) == LINES[0]
    with pytest.raises(MwSError, match="capitals"):
        MwSTokenizerFast.from_pretrained(folder).train_new_from_iterator(LINES, 600, capitals=None)


def test_check_names_the_programs_that_cannot_undo_it(folder: Path) -> None:
    report = check(folder)
    verdicts = {fact.client: fact.verdict for fact in report.clients}
    assert report.ok and report.facts["capitals"]
    assert verdicts["tiktoken"] == "refuses" and verdicts["tokenizers 1.0"] == "wrong"
    with pytest.raises(MwSError, match="its marker for capitals would be lost; train without --capitals"):
        byte_tables(Tokenizer.from_file(str(folder / "tokenizer.json")))


def test_an_export_in_bytes_undoes_the_marker() -> None:
    trained = MwSTrainer(vocab_size=700, capitals="marker", alphabet="characters", show_progress=False).train(LINES)
    exported = to_byte_level_backend(trained.backend_tokenizer)
    assert [exported.decode(exported.encode(line).ids) for line in LINES] == LINES


def test_the_notebook_has_no_marker(tmp_path: Path) -> None:
    trained = MwSTrainer(vocab_size=700, capitals="marker", alphabet="characters", show_progress=False).train(LINES)
    with pytest.raises(MwSError, match="its marker for capitals would be lost"):
        export_notebook(trained, tmp_path / "notebook")


@pytest.mark.parametrize("name", ["bpe-byte", "words"])
def test_baselines_reject_counts_with_the_marker(name: str) -> None:
    with pytest.raises(MwSError, match="count the text again without"):
        baselines.train(name, count_documents(LINES, normalization="capitals"), 600)


@pytest.mark.parametrize("value", ["Marker", True, ""])
def test_another_value_is_rejected(value: Any) -> None:
    with pytest.raises(MwSError, match="capitals"):
        MwSTrainer(vocab_size=600, capitals=value)
