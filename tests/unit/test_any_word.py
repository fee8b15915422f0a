"""Saved boundary probabilities: correct for training words and for other words, and not loaded by encoding.

Modules: learn/any_word.py, learn/evidence_file.py.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

import mws_hf
from mws_hf import MwSError, MwSTokenizer, MwSTokenizerFast, MwSTrainer
from mws_hf.learn.any_word import AnyWord
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.text.symbols import BYTE_CHARACTERS
from mws_hf.tokenizer.backend import base_vocab
from mws_hf.tokenizer.layout import EVIDENCE_FILE
from tests.in_process import mws
from tests.processes import python
from tests.short_text import ENDINGS, PREFIXES, STEMS, TEXT

UNSEEN = [p + s + e for p, s, e in zip(PREFIXES[1:], STEMS, ENDINGS[5:], strict=False)]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Text without some words; their prefixes, stems and endings occur in other words."""
    return [" ".join(word for word in line.split() if word not in UNSEEN) for line in TEXT.splitlines()]


@pytest.fixture(scope="module")
def saved(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any_word") / "t"
    trainer = MwSTrainer(vocab_size=500, composition=0, show_progress=False)
    trainer.train_from_iterator(lines).save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def found(lines: list[str]) -> AnyWord:
    return AnyWord(find_evidence(mws_hf.count_documents(lines, show_progress=False)))


def test_training_words_have_the_evidence_of_the_training(saved: Path, found: AnyWord):
    tokenizer = MwSTokenizerFast.from_pretrained(saved)
    for word in ("читал", "переписать", "Подводник"):
        explained = tokenizer.explain(word)
        assert explained.seen == (True,)
        assert np.abs(np.array(explained.boundaries[0]) - found.word(" " + word)).max() <= 0.005
    assert "читал"[0] in str(tokenizer.explain("читал")) and "not among" not in str(tokenizer.explain("читал"))


def test_words_outside_of_the_training_are_split_between_their_parts(saved: Path):
    tokenizer = MwSTokenizerFast.from_pretrained(saved)
    ranks = []
    for word in UNSEEN:
        explained = tokenizer.explain(word)
        assert explained.seen == (False,) and "not among the training words" in str(explained)
        (values,) = explained.boundaries
        assert len(values) == len(word) + 1 and values[0] == 0 and values[-1] == 0 and 0 <= min(values)
        prefix = next(p for p in PREFIXES[::-1] if p and word.startswith(p))
        stem = next(s for s in STEMS if word[len(prefix) :].startswith(s))
        inner = values[1:-1]
        for place in (len(prefix), len(prefix) + len(stem)):
            ranks.append(sum(value > inner[place - 1] for value in inner))
    assert np.mean(np.array(ranks) < 2) > 0.8  # the two true boundaries have the highest probabilities


def test_a_word_gets_the_same_probabilities_by_itself_and_among_others(found: AnyWord, lines: list[str]):
    """Other words of the call, even prefixes of the word, and words of earlier calls make no difference."""
    asked = [f" {word}" for word in UNSEEN]
    prefixes = [f" {word[:k]}" for word in UNSEEN for k in range(2, len(word))]
    together = AnyWord(found.evidence).words([*prefixes, *asked, "12", " читал", *asked[:3]])
    alone = [AnyWord(found.evidence).word(word) for word in asked]
    assert None not in alone and together[len(prefixes) :][: len(asked)] == alone
    assert together[-5:] == [None, found.word(" читал"), *alone[:3]]
    assert not any(found.knows(word) for word in asked)


def test_explain_needs_no_training_words(saved: Path):
    known, other = (mws("explain", w, "--model", saved) for w in ("читал", UNSEEN[0]))
    assert known.returncode == other.returncode == 0
    assert all(re.fullmatch(r"[ \d]+ %", each.stdout.splitlines()[-1]) for each in (known, other))
    assert "not among" not in known.stderr and "not among the training words" in other.stderr


@pytest.mark.parametrize("word", ["я", "ж"])
def test_a_word_of_one_letter_has_no_position_and_no_note(saved: Path, word: str):
    done = mws("explain", word, "--model", saved, "--quiet")
    assert done.returncode == 0 and not done.stderr and word in done.stdout
    assert "not a" not in mws("explain", word, "--model", saved).stderr


def test_a_note_names_what_is_not_a_word(saved: Path):
    for word, named in (("123", "123: not a word"), (" ", "' ': not a word")):
        noted = [line for line in mws("explain", word, "--model", saved).stderr.splitlines() if "not a word" in line]
        assert len(noted) == 1 and noted[0].startswith(named), noted


def test_without_saved_evidence_merges_are_shown_with_a_note(saved: Path, tmp_path: Path):
    for file in saved.iterdir():
        if file.name != EVIDENCE_FILE:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    done = mws("explain", "читал", "--model", tmp_path)
    assert done.returncode == 0 and "->" in done.stdout and "no boundary probabilities are saved" in done.stderr
    assert MwSTokenizerFast.from_pretrained(tmp_path).explain("читал").boundaries == (None,)
    drawn = ["explain", "читал", "--model", str(tmp_path), "--plot", str(tmp_path / "x.png")]
    assert "no boundary probabilities are saved" in mws(*drawn).stderr
    (tmp_path / EVIDENCE_FILE).write_bytes((saved / EVIDENCE_FILE).read_bytes()[:-40])
    with pytest.raises(MwSError, match=r"mws_evidence\.pq: damaged"):
        MwSTokenizerFast.from_pretrained(tmp_path).explain("читал")
    other = MwSTrainer(vocab_size=420, show_progress=False).train_from_iterator([TEXT])
    other.save_pretrained(str(tmp_path / "other"))
    (tmp_path / "other" / EVIDENCE_FILE).write_bytes((saved / EVIDENCE_FILE).read_bytes())
    assert MwSTokenizerFast.from_pretrained(tmp_path / "other").explain("читал").boundaries == (None,)


def test_a_tokenizer_that_was_just_learned_explains_and_copies_leave_the_evidence_behind(lines: list[str]):
    tokenizer = MwSTrainer(vocab_size=450, show_progress=False).train_from_iterator(lines)
    assert tokenizer.explain("читал").seen == (True,)
    assert len(pickle.dumps(tokenizer)) < 200_000
    assert copy.deepcopy(tokenizer).explain("читал").boundaries == (None,)
    classic = MwSTrainer(criterion="classic", n_merges=20, show_progress=False).train_from_iterator(lines)
    assert classic.explain("читал").boundaries == (None,) and classic.explain("читал").parts[0].steps


def test_both_classes_segment_and_explain_alike(saved: Path):
    fast, slow = (kind.from_pretrained(saved) for kind in (MwSTokenizerFast, MwSTokenizer))
    assert "".join(fast.segment("перечитать")) == "перечитать" and len(fast.segment("перечитать")) > 1
    text = " перечитал,  читал\nписал "
    pieces = fast.segment(text)
    assert "".join(pieces) == text.strip() and pieces == slow.segment(text)
    # the spaces before the second and the third word
    assert len([piece for piece in pieces if piece[0].isspace()]) == 2
    assert fast.segment(["читал", "", text]) == [fast.segment("читал"), [], pieces]
    assert fast.explain(["читал", "писал"]) == [fast.explain("читал"), slow.explain("писал")]
    assert fast.explain("читал") == slow.explain("читал")
    assert repr(fast.explain("читал")) == str(fast.explain("читал"))


def test_an_explanation_uses_the_present_merges_of_the_tokenizer(saved: Path):
    tokenizer = MwSTokenizerFast.from_pretrained(saved)
    other = MwSTokenizerFast(vocab=base_vocab(byte_symbols=BYTE_CHARACTERS))
    assert tokenizer.explain("читал").parts[0].steps
    tokenizer.backend_tokenizer.model = other.backend_tokenizer.model
    assert tokenizer.explain("читал").parts == other.explain("читал").parts


def test_an_explanation_follows_the_merges_although_the_number_of_tokens_stays(saved: Path):
    tokenizer = MwSTokenizerFast.from_pretrained(saved)
    assert tokenizer.explain("читал").parts[0].steps
    spec = json.loads(tokenizer.backend_tokenizer.to_str())
    spec["model"]["merges"] = spec["model"]["merges"][:2]
    size, tokenizer.backend_tokenizer.model = len(tokenizer), Tokenizer.from_str(json.dumps(spec)).model
    assert len(tokenizer) == size
    (part,) = tokenizer.explain("читал").parts
    fresh = MwSTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer)
    assert part == fresh.explain("читал").parts[0] and len(part.steps) <= 2


def test_loading_and_encoding_never_read_the_evidence_and_load_no_learning_code(saved: Path):
    code = (
        "import sys, mws_hf.text.pattern, mws_hf.text.symbols, mws_hf.tokenizer.notebook, mws_hf.tokenizer.file\n"
        "from mws_hf import MwSTokenizer, MwSTokenizerFast\n"
        "def check(*names):\n"
        "    bad = [name for name in sys.modules if name.startswith(names)]\n"
        "    assert not bad, bad\n"
        "learning = ('mws_hf.learn', 'mws_hf.kernels', 'numba', 'pyarrow', 'pymorphy3', 'datasets')\n"
        "check(*learning, 'mws_hf.corpus', 'mws_hf.encode', 'mws_hf.commands')\n"
        "for kind in (MwSTokenizerFast, MwSTokenizer):\n"
        f"    tokenizer = kind.from_pretrained({str(saved)!r})\n"
        "    tokenizer('читал'); tokenizer.segment('читал')\n"
        "check(*learning)"
    )
    python(code, check=True)


def test_the_most_important_functions_are_public_and_load_no_library(saved: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    counts = mws_hf.count_files(str(tmp_path / "text.txt"), show_progress=False)
    report = mws_hf.evaluate({"it": saved}, text=tmp_path / "text.txt")
    assert report.text["it"].bytes == len(TEXT.replace("\n", "").encode())
    extension = mws_hf.extend(str(saved), counts, 3, min_saving=0, show_progress=False)
    assert extension.tokenizer.get_vocab_size() == MwSTokenizerFast.from_pretrained(saved).vocab_size + 3
    assert callable(mws_hf.import_notebook)
    code = "import sys, mws_hf; assert not {'numpy', 'tokenizers', 'transformers', 'numba'} & set(sys.modules)"
    python(code, check=True)


def test_a_tokenizer_learned_in_python_has_a_card(saved: Path, lines: list[str], tmp_path: Path):
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert 'from_pretrained("t")' in card and "| criterion | contextual |" in card and "generated by mws-hf" in card
    tokenizer = MwSTrainer(vocab_size=450, show_progress=False).train_from_iterator(lines)
    (tmp_path / "README.md").write_text("by hand", encoding="utf-8")
    tokenizer.save_pretrained(str(tmp_path))
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "by hand"
