"""The one opener: what it takes, what it refuses, and how it cuts a word as inside a sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mws_hf import MwSTokenizer, MwSTokenizerFast, MwSTrainer
from mws_hf.errors import MissingTokenizerError, MwSError
from mws_hf.evaluate import score_text
from mws_hf.text.sample_texts import NATURAL
from mws_hf.tokenizer.layout import CARD_FILE, LAYOUT, STALE, Of, files, is_of, patterns
from mws_hf.tokenizer.opened import open_tokenizer
from tests.in_process import mws
from tests.small_tokenizers import sentence_piece, small_fast

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12\n"


@pytest.mark.parametrize("name", ["BertTokenizerFast", "LlamaTokenizer", "T5TokenizerFast", "Qwen2Tokenizer"])
@pytest.mark.parametrize("empty", [{}, {"vocab.json": "{}", "merges.txt": ""}])
def test_a_folder_without_a_vocabulary_is_no_tokenizer(name: str, empty: dict[str, str], tmp_path: Path):
    for file, content in {"tokenizer_config.json": json.dumps({"tokenizer_class": name}), **empty}.items():
        (tmp_path / file).write_text(content)
    for by_class in (True, False):
        with pytest.raises(MwSError, match="tokenizer"):
            open_tokenizer(tmp_path, by_class=by_class)
    (tmp_path / "text.txt").write_text("some text\n")
    for command in (
        ("encode", str(tmp_path), str(tmp_path / "text.txt"), "-o", str(tmp_path / "out")),
        ("evaluate", str(tmp_path), "--text", str(tmp_path / "text.txt")),
        ("segment", str(tmp_path), "word"),
    ):
        code, out, _ = mws(*command)
        assert code == 2 and not out


def test_an_object_without_a_vocabulary_is_no_tokenizer():
    from tokenizers import Tokenizer, models
    from transformers import AddedToken, PreTrainedTokenizerFast

    empty = Tokenizer(models.BPE())
    with pytest.raises(MwSError, match="no vocabulary"):
        open_tokenizer(empty)
    with pytest.raises(MwSError, match="no vocabulary"):
        open_tokenizer(PreTrainedTokenizerFast(tokenizer_object=empty, eos_token=AddedToken("</s>")))


def test_a_tokenizer_json_without_entries_is_no_tokenizer(tmp_path: Path):
    spec = json.loads(small_fast().backend_tokenizer.to_str())
    spec["model"] |= {"vocab": {}, "merges": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    with pytest.raises(MissingTokenizerError, match="its vocabulary has no entries"):
        open_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("vocab.txt", "[PAD]\n[UNK]\n"), ("x.tiktoken", "IQ== 0\nIg== 1\n"), ("tekken.json", "{}")],
)
def test_a_file_of_another_program_is_named_with_a_way_that_helps(name: str, content: str, tmp_path: Path):
    (tmp_path / name).write_text(content)
    for place in (tmp_path, tmp_path / name):
        with pytest.raises(MwSError, match=f"{name} is of another program.*convert_slow_tokenizer"):
            open_tokenizer(place)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model", "tokenizer_config.json"])
def test_a_pointer_of_git_lfs_is_no_tokenizer(name: str, tmp_path: Path):
    small_fast().save_pretrained(tmp_path / "whole")
    folder = tmp_path if name == "tokenizer.model" else tmp_path / "whole"
    (folder / name).write_text(POINTER)
    with pytest.raises(MwSError, match=r"Git LFS pointer.*git lfs pull"):
        open_tokenizer(folder, by_class=True)


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def stripping(request, tmp_path_factory) -> Path:
    """A folder with nothing but a SentencePiece model that strips the space before a text and adds none."""
    folder = tmp_path_factory.mktemp("spm")
    (folder / "tokenizer.model").write_bytes(sentence_piece(request.param, add_dummy_prefix=False))
    return folder


def test_a_folder_with_a_sentence_piece_model_alone_is_a_tokenizer_everywhere(stripping: Path, tmp_path: Path):
    spm = pytest.importorskip("sentencepiece")
    library, own = spm.SentencePieceProcessor(model_file=str(stripping / "tokenizer.model")), open_tokenizer(stripping)
    texts = [text for text in NATURAL if "\n" not in text]
    assert [each.ids for each in own.encode(texts)] == library.encode(texts)
    assert own.eos_token == "</s>" and own.vocabulary_size == len(library)
    (tmp_path / "t.txt").write_text("\n".join(texts), encoding="utf-8")
    code, _, err = mws("encode", str(stripping), str(tmp_path / "t.txt"), "-o", str(tmp_path / "o"), "-q")
    assert code == 0, err
    code, out, err = mws("explain", "unlocks", "--model", str(stripping), "--quiet")
    assert code == 0 if "bpe" in str(own.spec.kind).lower() else "not BPE" in err
    code, out, err = mws("export", str(stripping), "--format", "tiktoken", "-o", str(tmp_path / "x"))
    assert code == 2 and "Traceback" not in err


def test_a_tokenizer_that_strips_the_space_is_cut_as_inside_a_sentence(stripping: Path):
    """Without a dummy prefix a word at the beginning has no mark; inside a sentence it has one."""
    opened = open_tokenizer(stripping)
    for word in ("unlocks", "undo", "дома"):
        text = f"locks {word}"
        encoded = opened.encode([text])[0]
        inside = {start - 6 for start, _ in encoded.spans if 6 < start < len(text)}
        cuts = {sum(map(len, pieces[:i])) for pieces in opened.cut([word]) for i in range(1, len(pieces))}
        assert cuts == inside, (word, encoded.tokens)
    lines = [" ".join(["и", *text.split()]) for text in NATURAL if "\n" not in text]
    assert score_text(stripping, lines).context_agreement > 0.95


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A trained tokenizer with its record and evidence, in a subfolder; the root holds a damaged one."""
    root = tmp_path_factory.mktemp("root")
    words = ["перечитать читатель писатель писал читал переписать"] * 40
    MwSTrainer(vocab_size=420, show_progress=False).train(words).save_pretrained(root / "inside")
    (root / "tokenizer.json").write_text("{")
    return root


@pytest.mark.parametrize("kind", [MwSTokenizer, MwSTokenizerFast])
def test_evidence_is_found_by_a_relative_name_a_subfolder_and_elsewhere(kind, trained: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(trained.parent)
    tokenizer = kind.from_pretrained(trained.name, subfolder="inside")
    monkeypatch.chdir(tmp_path)
    assert tokenizer.explain("писатель").spelt
    assert dict(open_tokenizer(tokenizer).kinds)["morph"] > 0
    if kind is MwSTokenizer:
        tokenizer.set_dropout(0.5, kind="morph")


def test_explaining_changes_no_fingerprint(trained: Path):
    hasher = pytest.importorskip("datasets.fingerprint").Hasher
    tokenizer = MwSTokenizerFast.from_pretrained(trained / "inside")
    before = hasher.hash(tokenizer)
    tokenizer.explain("писатель")
    assert hasher.hash(tokenizer) == before


def test_dropout_has_one_fingerprint_in_every_process(trained: Path):
    import subprocess
    import sys

    code = (
        "import sys; from mws_hf import MwSTokenizer; from datasets.fingerprint import Hasher\n"
        "t = MwSTokenizer.from_pretrained(sys.argv[1]); t.set_dropout(0.3, kind='morph'); print(Hasher.hash(t))"
    )
    pytest.importorskip("datasets")
    found = {
        subprocess.run(
            [sys.executable, "-c", code, str(trained / "inside")],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_a_foreign_vocabulary_is_known_by_its_name_and_a_users_file_is_not(tmp_path: Path) -> None:
    foreign = ("tekken.json", "o200k_base.tiktoken", "source.spm", "tokenizer.model.v3", "sentencepiece.bpe.model")
    for name in (*foreign, "words.json", "corpus.txt", "xgboost.model"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert {path.name for path in files(tmp_path, Of.FOREIGN)} == set(foreign)
    assert is_of("additional_chat_templates/tool_use.jinja", Of.SETTINGS) and not is_of("tool_use.jinja")


def test_each_name_stands_once_and_a_card_or_a_users_name_is_never_stale() -> None:
    assert len(set(patterns())) == len(LAYOUT)
    assert not {CARD_FILE, "vocabulary.json", "vocab.txt"} & set(STALE)
    assert not set(patterns(Of.MODEL, Of.WEIGHTS)) & set(STALE)
