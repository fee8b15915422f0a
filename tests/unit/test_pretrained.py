"""The folders of model_cards/: they load, lose no text and are small, and the figures of their cards can be repeated.

Modules: commands/pretrained.py.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pretrained_card
import pretrained_sources
import pytest
import train_pretrained as script
from huggingface_hub import EvalResult, ModelCard
from transformers import AutoTokenizer

import mws_hf
from mws_hf.cards.card import is_untouched
from mws_hf.check import check
from mws_hf.corpus.word_list import lexicon_words
from mws_hf.errors import MwSError
from mws_hf.scoring import evaluate
from mws_hf.tokenizer import places
from mws_hf.tokenizer.layout import RECORD_FILE
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from tests.examples import FULL
from tests.in_process import mws
from tests.paths import ROOT
from tests.small_corpus import morphs, running_text
from tests.small_tokenizers import ADVERSARIAL

CARDS = ROOT / "model_cards"
DATA = ROOT.parent / "shared" / "data"
FOLDERS = sorted(file.parent for file in CARDS.glob("mws-*/tokenizer.json"))
FILES = {"README.md", RECORD_FILE, "stock_tokenizer.py", "tokenizer.json", "tokenizer_config.json"}
MB = 1_000_000
DICTIONARY_FORMS = 3_064_812  # from pymorphy3-dicts-ru 2.4.417150.4580142, with which the card was measured

pytestmark = pytest.mark.skipif(not CARDS.is_dir(), reason="model_cards/ is not in the source distribution")
every_folder = pytest.mark.parametrize("folder", FOLDERS[:: 1 if FULL else 5], ids=lambda folder: folder.name)


def rows_of(card: str, header: str) -> dict[str, str]:
    """Return the rows of the table with two columns in a card that begins with a header."""
    table = card.split(f"| {header} |", 1)[1].split("\n\n")[0].splitlines()[2:]
    return dict(row.strip("| ").split(" | ", 1) for row in table)


def metrics(folder: Path) -> dict[tuple[str, str], float]:
    """Return the figures of a card as the Hub reads them, by dataset and kind."""
    results = ModelCard.load(folder / "README.md").data.eval_results
    assert results and all(isinstance(each, EvalResult) for each in results)
    return {(each.dataset_name, each.metric_type): each.metric_value for each in results}


def test_every_tokenizer_of_the_script_is_there_with_its_row_of_results():
    rows = json.loads((ROOT / "scripts/results/pretrained.json").read_text(encoding="utf-8"))["rows"]
    assert [config.name for config in script.CONFIGS] == [row["name"] for row in rows]
    assert {config.name for config in script.CONFIGS} == {folder.name for folder in FOLDERS}
    assert {path.name for path in CARDS.iterdir()} == {folder.name for folder in FOLDERS} | {*script.KEPT_BPE.values()}
    assert (ROOT / "scripts/results/pretrained.md").read_text(encoding="utf-8") == script.table(rows)


def test_the_pretrained_tokenizers_are_small():
    sizes = {folder.name: sum(file.stat().st_size for file in folder.iterdir()) for folder in FOLDERS}
    mixtures = {config.name for config in script.CONFIGS if len(config.groups) > 1}
    assert {name: size for name, size in sizes.items() if size > (10 if name in mixtures else 6) * MB} == {}
    assert sum(sizes.values()) < 80 * MB


@every_folder
def test_it_loads_with_auto_tokenizer_loses_nothing_and_check_finds_nothing(folder):
    assert {file.name for file in folder.iterdir()} == FILES
    tokenizer = AutoTokenizer.from_pretrained(folder)
    size = int(re.search(r"-(\d+)k$", folder.name)[1]) * 1000
    assert len(tokenizer) == size
    for text in [*ADVERSARIAL, (ROOT / "README.md").read_text(encoding="utf-8")]:
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    report = check(folder)
    assert report.ok and not [finding for finding in report.findings if finding.level == "error"]


@every_folder
def test_the_hub_reads_its_card_and_the_card_agrees_with_the_results(folder):
    card = ModelCard.load(folder / "README.md")
    (config,) = [each for each in script.CONFIGS if each.name == folder.name]
    languages = [card.data.language] if isinstance(card.data.language, str) else card.data.language
    assert languages == config.languages
    assert card.data.license in ("cc-by-4.0", "cc-by-sa-4.0") and card.data.library_name == "transformers"
    assert "tokenizer" in card.data.tags and card.data.model_name == folder.name
    rows = json.loads((ROOT / "scripts/results/pretrained.json").read_text(encoding="utf-8"))["rows"]
    (row,) = [row for row in rows if row["name"] == folder.name]
    ours, found = row["systems"]["MwS"], metrics(folder)
    for gold, value in ours["f1"].items():
        assert found[gold, "f1"] == value
    (text,) = {dataset for dataset, kind in found if kind == "tokens_per_word"}
    for kind in ("tokens_per_word", "bytes_per_token", "bits_per_byte"):
        assert found.get((text, kind)) == ours.get(kind)
    for part in ("## Examples", "## Limits", f'from_pretrained("{folder.name}")', "The vocabulary is "):
        assert part in card.content
    for rival in set(row["systems"]) - {"MwS"}:
        assert "## Comparison" in card.content and f"| {pretrained_card.TITLES[rival]} |" in card.content
    assert is_untouched(folder / "README.md")


@every_folder
def test_its_card_begins_with_its_use_a_comparison_and_code_that_runs(folder, capsys):
    content = ModelCard.load(folder / "README.md").content
    head, code = content.split(f"# {folder.name}\n\n")[1].split("```")[0].strip(), content.split("```python\n")[1]
    use, comparison = head.split("\n\n")
    code = code.split("```")[0]
    assert use.startswith("Use this tokenizer for ")
    rows = json.loads((ROOT / "scripts/results/pretrained.json").read_text(encoding="utf-8"))["rows"]
    (row,) = [row for row in rows if row["name"] == folder.name]
    ours, bpe = row["systems"]["MwS"], row["systems"]["BPE"]
    assert ("mean F1" in comparison) == (len(row["groups"]) > 1 and len(ours["f1"]) > 1)
    assert f"{100 * (bpe['bytes_per_token'] / ours['bytes_per_token'] - 1):.0f} % more tokens" in comparison
    if ours["f1"] and "mean F1" not in comparison:
        first = next(iter(ours["f1"]))
        assert f"F1 {ours['f1'][first]:.2f} instead of {bpe['f1'][first]:.2f}" in comparison
    exec(code, {})
    assert capsys.readouterr().out.strip() == code.split("# ")[1].strip()


@every_folder
def test_share_alike_text_makes_a_share_alike_vocabulary(folder):
    (config,) = [each for each in script.CONFIGS if each.name == folder.name]
    if config.of_lexicon:
        assert config.share_alike
        return
    sources = [each for group in config.groups for each in pretrained_sources.sources_of(group, config.share_alike)]
    license_ = ModelCard.load(folder / "README.md").data.license
    assert any(each.share_alike for each in sources) == license_.startswith("cc-by-sa")
    assert not [each.file for each in sources if "rublimp" in each.file]


@every_folder
def test_its_examples_are_split_as_the_card_shows(folder):
    shown = rows_of((folder / "README.md").read_text(encoding="utf-8"), "word")
    assert len(shown) >= 6
    cuts = segment_words(open_tokenizer(folder, by_class=True), list(shown))
    assert ["·".join(tokens) for tokens in cuts] == list(shown.values())


def test_two_figures_of_the_morphs_are_measured_again_on_the_dictionary():
    folder = CARDS / "mws-ru-morphs-8k"
    forms = lexicon_words("ru").to_pylist()
    if len(forms) != DICTIONARY_FORMS:
        version = importlib.metadata.version("pymorphy3-dicts-ru")
        pytest.skip(f"pymorphy3-dicts-ru {version} has {len(forms):,} forms; the card was measured on another")
    lines = [f" {form}" for form in forms[:: script.LEXICON_EVERY]]
    text = evaluate({"t": folder}, text=lines, baselines=False).text["t"]
    found = metrics(folder)
    assert round(text.fertility, 4) == found["forms of the dictionary", "tokens_per_word"]
    assert round(text.bytes_per_token, 4) == found["forms of the dictionary", "bytes_per_token"]


@pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")
def test_two_figures_of_the_finnish_tokenizer_are_measured_again_on_gold_and_held_out_text():
    folder = CARDS / "mws-fi-16k"
    (config,) = [each for each in script.CONFIGS if each.name == folder.name]
    _, lines = script.texts_of("fi", DATA, config.share_alike)
    gold = DATA / "gold" / "fin.morphochallenge2010.tsv"
    report = evaluate({"t": folder}, [gold], lines[: script.HELD_OUT_LINES[False]], baselines=False, resamples=10)
    found = metrics(folder)
    assert round(report.rows[0].scores.f1, 4) == found["fin.morphochallenge2010", "f1"]
    assert round(report.text["t"].fertility, 4) == found["held-out text", "tokens_per_word"]


def test_the_bpe_of_the_demo_has_as_many_tokens_and_loses_nothing():
    for ours, name in script.KEPT_BPE.items():
        bpe = AutoTokenizer.from_pretrained(CARDS / name)
        assert len(bpe) == len(AutoTokenizer.from_pretrained(CARDS / ours))
        for text in ADVERSARIAL:
            assert bpe.decode(bpe(text)["input_ids"]) == text
        assert is_untouched(CARDS / name / "README.md") and ours in (CARDS / name / "README.md").read_text("utf-8")


def test_the_script_makes_a_folder_from_text_and_does_not_make_it_twice(tmp_path):
    for name in ("text", "gold"):
        (tmp_path / "data" / name).mkdir(parents=True)
    lines = "\n".join(running_text() * 2) + "\n"
    for name in ("fin.fincore", "fin.msdocs"):
        with gzip.open(tmp_path / "data" / "text" / f"{name}.txt.gz", "wt", encoding="utf-8") as stream:
            stream.write(lines)
    gold = ["".join(parts) + "\t" + " ".join(parts) for parts in morphs() if "'" not in "".join(parts)]
    (tmp_path / "data" / "gold" / "fin.morphochallenge2010.tsv").write_text("\n".join(gold) + "\n", encoding="utf-8")
    command = [sys.executable, ROOT / "scripts" / "train_pretrained.py", "--only", "mws-fi-16k", "--baselines", "BPE"]
    command += ["--data", tmp_path / "data", "--output", tmp_path / "out", "--results", tmp_path / "r.json"]

    def run(*more):
        done = subprocess.run([*command, *more], capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder = tmp_path / "out" / "mws-fi-16k"
    assert "mws-fi-16k" in run()
    first = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert set(first) == FILES and "| byte-level BPE |" in first["README.md"].decode()
    assert "| `mws-fi-16k` |" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert run() == ""  # the tokenizer is finished
    assert "mws-fi-16k" in run("--force")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == first


NAME = "mws-ru-morphs-8k"
WORD = " перечитывающая"


def test_the_index_is_that_of_the_folders():
    rows = json.loads((ROOT / "scripts/results/pretrained.json").read_text(encoding="utf-8"))["rows"]
    written = json.loads(places.PRETRAINED_INDEX.read_text(encoding="utf-8"))["tokenizers"]
    assert written == pretrained_card.index(CARDS, rows), "run `python scripts/pretrained_card.py`"
    assert {row["name"] for row in written} == {path.name for path in CARDS.iterdir()}
    for row in rows:
        (entry,) = [each for each in written if each["name"] == row["name"]]
        assert entry["tokens_per_word"] == row["systems"]["MwS"]["tokens_per_word"]
        assert entry["f1"] == next(iter(row["systems"]["MwS"]["f1"].values()), None)


@pytest.fixture
def own(monkeypatch, tmp_path):
    """Return the folder of one tokenizer in a copy that the test may change."""
    monkeypatch.setattr(places, "PRETRAINED_FOLDER", tmp_path)
    return shutil.copytree(CARDS / NAME, tmp_path / NAME)


def test_missing_tokenizers_are_reported(own):
    (own / "tokenizer.json").unlink()
    with pytest.raises(MwSError, match=f"{NAME}/tokenizer.json: is missing; install"):
        mws_hf.pretrained(NAME)
    with pytest.raises(MwSError, match="has that name.*choose one of mws-ru-16k.*mws-ru-32k"):
        mws_hf.pretrained("mws-ru-33k")


def test_the_command_lists_writes_and_every_command_knows_the_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = json.loads(mws("pretrained", "--json").stdout)
    assert [row["name"] for row in rows] == list(places.pretrained_rows())
    table = mws("pretrained").stdout
    assert "mws-fi-16k" in table and {len(decimals) for decimals in re.findall(r"\.(\d+) ", table)} == {3}
    written = mws("pretrained", NAME)
    assert written.returncode == 0 and written.stdout.startswith(f"{NAME}: {NAME}, 8,000 tokens")
    assert (tmp_path / NAME / "README.md").read_bytes() == (CARDS / NAME / "README.md").read_bytes()
    assert mws("pretrained", NAME, "-o", "other").returncode == 0 and (tmp_path / "other" / "tokenizer.json").is_file()
    shutil.rmtree(tmp_path / NAME)
    cut = mws("segment", NAME, WORD.strip()).stdout.strip()
    assert cut == mws("segment", "other", WORD.strip()).stdout.strip() and "·" in cut
