"""`mws card` and `mws push`: a card from measured figures that the Hub can read, and a directory uploaded."""

from __future__ import annotations

import os
import socket

import pytest
from huggingface_hub import ModelCard
from transformers import AutoTokenizer

from mws_hf.cards.readme import is_untouched, marked, unmarked
from mws_hf.compare import rivals
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate import evaluate
from tests.fake_hub import running_hub
from tests.processes import mws, one_line, tree
from tests.short_text import TEXT
from tests.small_tokenizers import small_fast

GOLD = (
    "перечитать\tпере чит ать\nзачитали\tза чит али\nпописали\tпо пис али\nпрописать\tпро пис ать\n"
    "читательские\tчита тель ские\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tokenizer with the card of its training, gold, text to train on and text held out."""
    folder = tmp_path_factory.mktemp("card")
    lines = TEXT.splitlines()
    (folder / "corpus.txt").write_text(TEXT, encoding="utf-8")
    (folder / "train.txt").write_text("\n".join(lines[::2]), encoding="utf-8")
    (folder / "heldout.txt").write_text("\n".join(lines[1::2]), encoding="utf-8")
    (folder / "gold.tsv").write_text(GOLD, encoding="utf-8")
    done = mws("train", folder / "corpus.txt", "--vocab-size", 450, "--composition", 0, "-o", folder / "trained", "-q")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def trained(folder, tmp_path):
    """A copy of it to write into."""
    copy = tmp_path / "trained"
    copy.mkdir()
    for path, (content, _, _) in tree(folder / "trained").items():
        (copy / path).write_bytes(content)
    return copy


def measured(folder, directory, *more):
    options = ("--gold", folder / "gold.tsv", "--text", folder / "heldout.txt", "--bits", folder / "train.txt")
    return mws("card", directory, *options, *more)


def test_the_card_s_figures_are_those_of_evaluate_and_the_hub_reads_them(folder, trained):
    done = measured(folder, trained, "--language", "ru", "--license", "cc-by-4.0", "--name", "me/russian")
    assert done.returncode == 0 and done.stderr == "" and done.stdout.strip() == str(trained / "README.md")
    data = ModelCard.load(trained / "README.md").data
    assert (data.language, data.license, data.library_name) in [
        (["ru"], "cc-by-4.0", "transformers"),
        ("ru", "cc-by-4.0", "transformers"),
    ]
    assert "mws-hf" in data.tags and data.model_name == "me/russian"
    files = {"text": folder / "heldout.txt", "bits": folder / "train.txt"}
    report = evaluate({"t": str(trained)}, [folder / "gold.tsv"], **files, baselines=False)
    scores, text, bits = report.rows[0].scores, report.text["t"], report.bits["t"]
    expected = {"f1": scores.f1, "precision": scores.precision, "recall": scores.recall, "bits_per_byte": bits.value}
    expected |= {"tokens_per_word": text.fertility, "bytes_per_token": text.bytes_per_token}
    assert {each.metric_type: each.metric_value for each in data.eval_results} == {
        name: round(value, 4) for name, value in expected.items()
    }
    card = (trained / "README.md").read_text(encoding="utf-8")
    for figure in (f"{scores.f1:.3f} (", f"{text.fertility:.3f}", f"{text.bytes_per_token:.3f}", f"{bits.value:.4f}"):
        assert figure in card
    assert 'from_pretrained("me/russian")' in card and "## Limits" in card and "| 56 of 56 |" in card


def test_other_tokenizers_stand_beside_it_with_the_figures_of_evaluate(folder, trained, tmp_path):
    bpe = tmp_path / "bpe"
    rivals.train("bpe-character", count_documents(TEXT.splitlines()), 450, bpe)
    done = measured(folder, trained, "--beside", f"BPE={bpe}", "--name", "me/russian")
    assert done.returncode == 0, done.stderr
    files = {"text": folder / "heldout.txt", "bits": folder / "train.txt"}
    report = evaluate({"me/russian": trained, "BPE": bpe}, [folder / "gold.tsv"], **files, baselines=False)
    card = (trained / "README.md").read_text(encoding="utf-8")
    table = [line for line in card.split("## Beside others")[1].splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").split(" | ") for line in table]
    for row, name in zip(rows[1:], ("me/russian", "BPE"), strict=True):
        (scores,) = [each.scores for each in report.rows if each.tokenizer == name]
        text, bits = report.text[name], report.bits[name]
        figures = [f"{scores.f1:.3f}", f"{text.fertility:.3f}", f"{text.bytes_per_token:.3f}", f"{bits.value:.4f}"]
        assert row[:5] == [name, *figures]
    assert f"{100 * report.bits_differences['BPE'].relative:+.2f} % (" in rows[2][5]
    assert "| BPE |" not in card.split("## Beside others")[0]  # the other tables and the metadata are of this one
    assert len({each.metric_type for each in ModelCard.load(trained / "README.md").data.eval_results}) == 6
    for wrong, says in ((["--beside", f"me/russian={bpe}"], "another name"), (["--beside", "BPE=absent"], "absent")):
        refused = measured(folder, trained, "--name", "me/russian", *wrong)
        assert one_line(refused) and says in refused.stderr


def rows_of(card: str, header: str) -> dict[str, str]:
    """The rows of a card's table of two columns that begins with a header."""
    table = card.split(f"| {header} |", 1)[1].split("\n\n")[0].splitlines()[2:]
    return dict(row.strip("| ").split(" | ", 1) for row in table)


def test_the_facts_of_training_are_kept_and_examples_are_true(folder, trained):
    readme = trained / "README.md"
    trained_card = readme.read_text(encoding="utf-8")
    before = rows_of(trained_card, "fact")
    assert before["criterion"] == "contextual" and "command" in before
    assert measured(folder, trained, "--language", "ru", "--license", "mit", "--name", "me/x").returncode == 0
    first = readme.read_text(encoding="utf-8")
    again = measured(folder, trained)  # a generated card is renewed; what a person said of it stays
    assert again.returncode == 0 and again.stderr == ""
    assert readme.read_text(encoding="utf-8") == first and is_untouched(readme)
    assert rows_of(first, "fact") == before and "every Unicode string" in first and first.count("| word |") == 1
    assert measured(folder, trained, "--data", "novels,\n public domain").returncode == 0
    assert rows_of(readme.read_text(encoding="utf-8"), "fact") == {**before, "trained on": "novels, public domain"}
    examples = rows_of(first, "word")
    assert "перечитать" in examples
    for word, pieces in examples.items():
        assert mws("segment", trained, word).stdout.strip() == pieces


def test_without_a_card_the_record_of_training_tells(trained):
    before = rows_of((trained / "README.md").read_text(encoding="utf-8"), "fact")
    (trained / "README.md").unlink()
    assert mws("card", trained, "--data", "novels").returncode == 0
    card = (trained / "README.md").read_text(encoding="utf-8")
    assert "command" in before and rows_of(card, "fact") == {**before, "trained on": "novels"}
    assert "follow morphemes" in card and len(rows_of(card, "word")) > 4


def test_a_card_of_an_extended_and_of_a_trimmed_tokenizer_keeps_what_was_done_to_it(folder, trained, tmp_path):
    text = folder / "corpus.txt"
    done = mws("extend", trained, text, "--add", 20, "-o", tmp_path / "extended", "-q")
    assert done.returncode == 0, done.stderr
    done = mws("trim", trained, "--text", text, "--keep-size", 400, "-o", tmp_path / "trimmed")
    assert done.returncode == 0, done.stderr
    for name in ("extended", "trimmed"):
        readme = tmp_path / name / "README.md"
        before = readme.read_text(encoding="utf-8")
        readme.unlink()
        assert mws("card", tmp_path / name, "--text", folder / "heldout.txt", "--license", "mit").returncode == 0
        after = readme.read_text(encoding="utf-8")
        head = before.split("---\n", 2)[2].split("## ")[0]
        assert head in after and "| base | trained |" in head and "## Running text" in after and "license: mit" in after


def test_an_edited_card_is_never_overwritten(folder, trained):
    readme = trained / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8") + "\nMine.\n", encoding="utf-8")
    before = readme.read_bytes()
    done = measured(folder, trained)
    assert one_line(done) and "README.md: left as it is" in done.stderr and readme.read_bytes() == before
    printed = measured(folder, trained, "--print")
    assert printed.returncode == 0 and "Boundary F1" in printed.stdout and readme.read_bytes() == before


def test_any_tokenizer_has_a_card(tmp_path):
    small_fast().backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    for _ in range(2):
        done = mws("card", tmp_path, "--word", "читать", "--license", "mit")
        assert done.returncode == 0 and "--language" in done.stderr and "--license" not in done.stderr
        card = (tmp_path / "README.md").read_text(encoding="utf-8")
        assert "| читать | чит·ать |" in card and "Nothing was measured" in card
        assert "mws-hf" not in ModelCard.load(tmp_path / "README.md").data.tags and "follow morphemes" not in card


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--gold", "absent.tsv"], "absent.tsv"),
        (["--bits", __file__], "--text"),
        (["--beside", "BPE=x"], "--gold"),
        (["--language", "Russian"], "ISO 639"),
        (["--license", "CC BY"], "cc-by-4.0"),
    ],
)
def test_misuse_of_card_is_told_in_a_line(trained, arguments, says):
    done = mws("card", trained, *arguments)
    assert one_line(done) and says in done.stderr
    absent = mws("card", trained / "absent")
    assert one_line(absent) and "no such directory" in absent.stderr


def surroundings(endpoint, home, token="hf_" + "x" * 34):
    kept = {key: value for key, value in os.environ.items() if not key.upper().startswith(("HF_", "HTTP", "ALL_PROXY"))}
    own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1"}
    return {**kept, **own, "HF_HUB_DISABLE_TELEMETRY": "1", **({"HF_TOKEN": token} if token else {})}


def test_the_uploaded_card_loads_by_the_hub_s_name_and_the_one_on_disk_stays(trained, tmp_path):
    readme = trained / "README.md"
    before = readme.read_text(encoding="utf-8")
    own = trained.name
    assert f'from_pretrained("{own}")' in before
    with running_hub() as hub:
        around = surroundings(hub.address, tmp_path / "home")
        assert mws("push", trained, "user/russian", env=around).returncode == 0
        generated = hub.repositories["user/russian"]["README.md"].decode()
        edited = f'# Mine\n\nfrom_pretrained("{trained}"); the base is from_pretrained("gpt2")\n'
        assert readme.read_text(encoding="utf-8") == before
        readme.write_text(edited, encoding="utf-8")
        assert mws("push", trained, "user/russian", env=around).returncode == 0
        by_hand = hub.repositories["user/russian"]["README.md"].decode()
    expected = unmarked(before).replace(f'("{own}")', '("user/russian")').replace(f"# {own}\n", "# user/russian\n")
    expected = expected.replace(f"model_name: {own}\n", "model_name: user/russian\n")
    assert unmarked(generated) == expected and generated == marked(expected)
    assert by_hand == edited.replace(f'"{trained}"', '"user/russian"') and readme.read_text(encoding="utf-8") == edited


def test_the_model_beside_a_tokenizer_is_not_passed_over_in_silence(trained, tmp_path):
    for name in ("config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json"):
        (trained / name).write_text("{}", encoding="utf-8")
    with running_hub() as hub:
        done = mws("push", trained, "user/russian", env=surroundings(hub.address, tmp_path / "home"))
        assert not {name for name in hub.repositories["user/russian"] if "model" in name or name == "config.json"}
    assert done.returncode == 0 and "only the tokenizer was uploaded" in done.stderr and "config.json" in done.stderr
    assert f"`hf upload user/russian {trained} . --exclude README.md`" in done.stderr


def test_push_uploads_tokenizer_and_card_and_nothing_else(trained, tmp_path):
    (trained / ".env").write_text("SECRET=1", encoding="utf-8")
    (trained / "corpus.txt").write_text("text", encoding="utf-8")
    with running_hub() as hub:
        around = surroundings(hub.address, tmp_path / "home")
        done = mws("push", trained, "user/russian", "--private", env=around)
        assert done.returncode == 0 and done.stderr == "" and done.stdout.strip() == f"{hub.address}/user/russian"
        assert hub.private == {"user/russian"} and hub.messages == ["Upload tokenizer"]
        again = mws("push", trained, "user/russian", "--private", env=around)
        assert again.returncode == 0, again.stderr
        hub.repositories["user/open"] = {}
        refused = mws("push", trained, "user/open", "--private", env=around)
        assert one_line(refused) and "public" in refused.stderr and hub.repositories["user/open"] == {}
        (trained / "README.md").unlink()
        bare = mws("push", trained, "user/open", env=around)
        assert bare.returncode == 0 and "mws card" in bare.stderr
    files = {
        "tokenizer.json",
        "tokenizer_config.json",
        "stock_tokenizer.py",
        "mws_training.json",
        "mws_evidence.pq",
    }
    assert set(hub.repositories["user/open"]) == files
    assert set(hub.repositories["user/russian"]) == files | {"README.md"}
    (tmp_path / "loaded").mkdir()
    for name, content in hub.repositories["user/russian"].items():
        (tmp_path / "loaded" / name).write_bytes(content)
    loaded = AutoTokenizer.from_pretrained(tmp_path / "loaded")
    assert loaded.decode(loaded("Перечитали 😀")["input_ids"]) == "Перечитали 😀"


@pytest.mark.parametrize(
    ("name", "token", "says"),
    [
        ("user/russian", None, "hf auth login"),
        ("user/russian", "hf_wrong" + "x" * 29, "wrong or expired"),
        ("user/russian", "hf_read" + "x" * 30, "may not write to user/russian"),
        ("another/russian", "hf_" + "x" * 34, "may not write to another/russian"),
        ("russian", "hf_" + "x" * 34, "user/repo"),
        ("user/rus sian", "hf_" + "x" * 34, "user/repo"),
    ],
)
def test_what_the_hub_refuses_is_told_in_a_line(trained, tmp_path, name, token, says):
    with running_hub() as hub:
        done = mws("push", trained, name, env=surroundings(hub.address, tmp_path / "home", token))
    assert one_line(done) and says in done.stderr, done.stderr
    assert not hub.repositories.get(name)


def test_no_network_and_no_tokenizer_are_told_in_a_line(trained, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    around = surroundings(f"http://127.0.0.1:{port}", tmp_path / "home")
    done = mws("push", trained, "user/russian", env=around)
    assert one_line(done) and "does not answer" in done.stderr
    offline = mws("push", trained, "user/russian", env={**around, "HF_HUB_OFFLINE": "1"})
    assert one_line(offline) and "HF_HUB_OFFLINE" in offline.stderr
    (tmp_path / "empty").mkdir()
    for directory in ("empty", "absent"):
        assert one_line(mws("push", tmp_path / directory, "user/russian", env=around))
