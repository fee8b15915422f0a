"""The command line as a user meets it: results on stdout, errors in one line with exit code 2."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

import mws_hf
from mws_hf import MwSTrainer, import_notebook
from mws_hf.corpus.counting import count_files
from mws_hf.text.pattern import GPT4_PATTERN, NAMED_PATTERNS
from mws_hf.text.symbols import readable
from mws_hf.tokenizer.layout import RECORD_FILE
from tests.in_process import mws
from tests.short_text import TEXT


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(corpus: Path) -> Path:
    directory = corpus.parent / "tokenizer"
    done = mws("train", corpus, "--vocab-size", 500, "--composition", 0, "--output", directory)
    assert done.returncode == 0, done.stderr
    return directory


def test_train_writes_a_directory_that_autotokenizer_loads(trained: Path):
    tokenizer = AutoTokenizer.from_pretrained(trained)
    text = "Перечитали 😀 漢字 \r\n конец"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_train_json_goes_to_stdout_and_nothing_else(corpus: Path, tmp_path: Path):
    classic = ("--criterion", "classic", "--pattern", "o200k", "--n-merges", 20)
    done = mws("train", corpus, *classic, "--output", tmp_path / "t", "--json")
    result = json.loads(done.stdout)
    assert result["morph_merges"] == 22 and result["composition_merges"] == 0
    assert result["vocab_size_asked"] is None and result["bytes_per_token"] > 1
    assert done.stderr == ""


def test_segment_shows_morphs_from_arguments_and_stdin(trained: Path):
    by_argument = mws("segment", trained, "перечитали")
    by_stdin = mws("segment", trained, stdin="перечитали\n")
    assert by_argument.stdout == by_stdin.stdout
    assert by_argument.stdout.strip().replace("·", "") == "перечитали"
    assert "·" in by_argument.stdout


def test_version():
    done = mws("--version")
    assert (done.returncode, done.stdout) == (0, f"mws_hf {mws_hf.__version__}\n")


def test_the_model_card_is_one_the_hub_understands(trained: Path):
    from huggingface_hub import ModelCard

    card = ModelCard.load(trained / "README.md")
    assert card.data.library_name == "transformers" and "mws-hf" in card.data.tags
    assert "--vocab-size 500" in card.text and "·" in card.text


def test_explain_shows_the_merges_and_the_evidence(trained: Path, corpus: Path):
    done = mws("explain", "перечитали", "--model", trained, "--from", corpus, "--json")
    result = json.loads(done.stdout)
    assert "".join(result["tokens"]) == " перечитали"
    assert result["merges"][-1]["tokens"] == result["tokens"]
    assert len(result["boundaries"]) == len("перечитали") and all(0 <= p <= 1 for p in result["boundaries"])


def test_the_tokens_of_a_byte_level_tokenizer_are_shown_as_text(trained: Path, corpus: Path, tmp_path: Path):
    out, counts = tmp_path / "bytes", tmp_path / "counts.parquet"
    assert mws("count", corpus, "--pattern", "llama3", "--output", counts).returncode == 0
    options = ("--vocab-size", 500, "--composition", 0, "--alphabet", "bytes", "--output", out)
    done = mws("train", counts, *options)
    assert done.returncode == 0, done.stderr
    settings = json.loads((out / RECORD_FILE).read_text(encoding="utf-8"))["settings"]
    assert (settings["alphabet"], settings["pattern"]) == ("bytes", NAMED_PATTERNS["llama3"])
    assert f'"Regex": {json.dumps(NAMED_PATTERNS["llama3"])}' in (out / "tokenizer.json").read_text(encoding="utf-8")
    assert "a byte-level BPE tokenizer" in (card := (out / "README.md").read_text(encoding="utf-8"))
    assert re.search(r"^\| characters built from bytes \| \d+ \|$", card, re.MULTILINE)
    examples = re.findall(r"^\| (\w+) \| ([^|]*) \|$", card.split("| word | tokens |")[1], re.MULTILINE)
    assert examples and all(tokens.replace("·", "").strip() == word for word, tokens in examples)
    segmented = mws("segment", out, "перечитали漢").stdout
    assert segmented.strip().replace("·", "") == "перечитали漢" and "·" in segmented
    result = json.loads(mws("explain", "перечитали漢", "--model", out, "--from", counts, "--json", "--quiet").stdout)
    assert "".join(result["tokens"]) == " перечитали<0xE6><0xBC><0xA2>"
    assert all(len((step["left"] + step["right"]).strip()) > 1 or step["left"] == " " for step in result["merges"])
    shown = mws("explain", "перечитали", "--model", out, "--from", counts).stdout
    assert "'ал' + 'и'" in shown and "Ð" not in shown
    refused = mws("export", out, "--format", "notebook", "--output", tmp_path / "notebook")
    assert refused.returncode == 2 and "byte-level" in refused.stderr
    encoded = json.loads(mws("encode", out, corpus, "--output", tmp_path / "ids", "--json").stdout)
    ours = AutoTokenizer.from_pretrained(out)
    assert encoded["tokens"] == sum(len(ours.encode(line)) + 1 for line in TEXT.splitlines(keepends=True))


@pytest.mark.parametrize("normalization", [None, "nfd"])
def test_explain_replays_the_merges_behind_the_tokenizers_own_pipeline(normalization: str | None, tmp_path: Path):
    text = TEXT.replace("чит", "чйт")
    trainer = MwSTrainer(vocab_size=450, normalization=normalization, show_progress=False, limit_alphabet=22)
    tokenizer = trainer.train_from_iterator([text])
    tokenizer.save_pretrained(tmp_path / "m")
    words = ["перечйтали-написал", "don't", "漢字написал", "й", "пере-чйтали!", "2024год"]
    for line in mws("explain", *words, "--model", tmp_path / "m", "--json", "--quiet").stdout.splitlines():
        result = json.loads(line)
        assert result["tokens"] == [readable(token) for token in tokenizer.tokenize(" " + result["word"])]
        expected = unicodedata.normalize("NFD", result["word"]) if normalization else result["word"]
        assert "".join(result["pretokens"]) == " " + expected


@pytest.mark.parametrize("setting", [{"max_types": 30}, {"keep_apart": ["т", "ы"]}])
def test_explain_shows_the_evidence_of_the_models_own_settings(setting: dict[str, Any], corpus: Path, tmp_path: Path):
    trainer = MwSTrainer(vocab_size=400, show_progress=False, **setting)
    trained = trainer.trained(count_files(corpus))
    trained.save(tmp_path / "m")
    evidence = trained.training.evidence
    assert evidence is not None
    word = evidence.types[0]
    arguments = ("explain", word, "--model", tmp_path / "m", "--from", corpus)
    done = mws(*arguments, "--json")
    result, own = json.loads(done.stdout), evidence.word(" " + word)
    assert own is not None
    assert result["boundaries"] == [round(value, 4) for value in own[1:]]
    assert result["settings"] | setting == result["settings"] and "vocab_size=400" in done.stderr
    (tmp_path / "m" / RECORD_FILE).unlink()
    older = mws(*arguments, "--json")
    assert "settings are unknown, so the defaults are used" in older.stderr
    assert json.loads(older.stdout)["settings"] is None
    assert json.loads(older.stdout)["boundaries"] != result["boundaries"]


def test_explain_does_not_take_another_models_settings(corpus: Path, tmp_path: Path):
    for size in (350, 400):
        MwSTrainer(vocab_size=size, show_progress=False).train(str(corpus)).save_pretrained(tmp_path / str(size))
    (tmp_path / "400" / RECORD_FILE).write_bytes((tmp_path / "350" / RECORD_FILE).read_bytes())
    assert "settings are unknown" in mws("explain", "читал", "--model", tmp_path / "400").stderr
    assert "vocab_size=350" in mws("explain", "читал", "--model", tmp_path / "350").stderr


def test_explain_gives_the_classic_terms_of_the_models_own_settings(corpus: Path, tmp_path: Path):
    trainer = MwSTrainer(criterion="classic", len_norm_factor=0.0, vocab_size=400, show_progress=False)
    counts = count_files(corpus, pattern=GPT4_PATTERN)
    trainer.trained(counts).save(tmp_path / "m")
    merges = trainer.learn(counts).merges[:10]
    rows = json.loads(mws("explain", "--merges", 10, "--model", tmp_path / "m", "--from", corpus, "--json").stdout)
    assert [(row["left"], row["right"]) for row in rows] == merges


def test_explain_gives_every_term_of_classic_merges(corpus: Path):
    rows = json.loads(mws("explain", "--merges", 3, "--from", corpus, "--json").stdout)
    assert len(rows) == 3 and {"pmi", "t_score", "penalty", "gain", "total"} <= set(rows[0])
    pair = json.loads(mws("explain", "--pair", rows[0]["left"], rows[0]["right"], "--from", corpus, "--json").stdout)
    assert pair[0]["total"] == rows[0]["total"]


def test_import_and_export_keep_every_id(corpus: Path, tmp_path: Path):
    options = ("--alphabet", "characters", "--vocab-size", 500, "--composition", 0)
    assert mws("train", corpus, *options, "--output", (trained := tmp_path / "characters")).returncode == 0
    assert mws("export", trained, "--format", "notebook", "--output", tmp_path / "notebook").returncode == 0
    import_notebook(tmp_path / "notebook").save_pretrained(tmp_path / "back")
    before, after = (AutoTokenizer.from_pretrained(d).get_vocab() for d in (trained, tmp_path / "back"))
    assert {token: after[token] for token in before} == before
