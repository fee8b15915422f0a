"""`tokenizers` 1.0, which has neither trainers nor regular expressions: the same ids as 0.x, and the package itself.

1.0 goes into an environment of its own, without transformers, of which no version runs on it yet.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from mws_hf import MwSTrainer
from mws_hf.commands.app import app
from mws_hf.extend.extension import extend
from mws_hf.text.pattern import with_digits
from mws_hf.text.sample_texts import sample_texts
from mws_hf.tokenizer.file import save_backend
from tests.paths import ROOT
from tests.small_corpus import running_text
from tests.small_tokenizers import ADVERSARIAL, small_fast

pytestmark = pytest.mark.slow

ONE = "tokenizers==1.0.0rc3"
TEXTS = 3000
TEXT = "\n".join(running_text() * 4)


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The python of an environment with 1.0 and what the package needs besides."""
    cache = os.environ.get("MWS_VENV_CACHE")
    folder = (Path(cache) if cache else tmp_path_factory.mktemp("one")) / "tokenizers-1.0"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if (folder / "done").exists():
        return python
    venv.create(folder)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    others = [each for each in project["dependencies"] if re.match(r"transformers|tokenizers", each) is None]
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile", ONE, *others]
    pip = subprocess.run(command, capture_output=True, text=True, check=False)
    if pip.returncode != 0:
        pytest.skip(f"pip could not install {ONE}: {pip.stderr[-300:]}")
    (folder / "done").touch()
    return python


def run(python: Path, what: str, job: dict, home: Path, *, plug_in: bool):
    (home / "job.json").write_text(json.dumps(job), encoding="utf-8")
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HF_"))}
    outside |= {"HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"} | ({"PYTHONPATH": str(ROOT)} if plug_in else {})
    command = [str(python), str(ROOT / "tests" / "one_child.py"), what, str(home / "job.json")]
    child = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=home, env=outside, check=False
    )
    assert child.returncode == 0, child.stderr[-4000:]
    return json.loads(child.stdout)


def texts() -> list[str]:
    """Running text, the built-in sample, strings that break readers, and characters of all planes beside others."""
    choose = random.Random(7)
    everything = [*range(0x20, 0xD800), *range(0xE000, 0x20000)]
    pool = [*"aAbБя 1'\n\t/.-\u0301’", " the", "'s", "'LL", "  "]
    made = ["".join(choose.choices(pool, k=9)) + chr(choose.choice(everything)) for _ in range(TEXTS)]
    known = [*running_text(), *sample_texts(), *ADVERSARIAL]
    return list(dict.fromkeys([*known, *(f"{a}{b}" for a, b in zip(made, made[1:], strict=False))]))[:TEXTS]


def artifacts() -> dict[str, Tokenizer]:
    """One of each kind that 1.0 can run; the pretrained ones with a pattern that it runs."""
    options: dict[str, dict] = {
        "default": {}, "llama3": {"pattern": "llama3"}, "single": {"pattern": "llama3", "digits": "single"},
        "morphs": {"composition": 0}, "frequency": {"composition": 1, "hidden_boundary_price": 0},
        "characters": {"alphabet": "characters"}, "nfc": {"normalization": "nfc"},
        "classic": {"criterion": "classic", "pattern": "llama3"},
        "classic-bytes": {"criterion": "classic", "pattern": "o200k", "alphabet": "bytes"},
    }  # fmt: skip
    made = {
        name: MwSTrainer(**{"vocab_size": 500, "show_progress": False, **each}).train([TEXT]).backend_tokenizer
        for name, each in options.items()
    }
    mixture = MwSTrainer(vocab_size=500, show_progress=False).train({"a": [TEXT], "code": ["call getUserName(x)"]})
    added = small_fast("o200k", alphabet="bytes")
    added.add_tokens(["<new>"])
    made |= {"mixture": mixture.backend_tokenizer, "added": added.backend_tokenizer}
    made["extended"] = extend(made["llama3"], {"talossa": 9, "talosta": 8, "walkingly": 7}, 5).tokenizer
    for card in sorted((ROOT / "model_cards").glob("*-16k/tokenizer.json"))[:2]:
        spec = json.loads(card.read_text(encoding="utf-8"))
        spec["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = with_digits("o200k", None)
        made[card.parent.name] = Tokenizer.from_str(json.dumps(spec))
    return made


def test_every_artifact_gives_the_same_ids_and_text(python, tmp_path):
    wanted, made, files = texts(), artifacts(), {}
    assert len(wanted) == TEXTS
    for number, (name, tokenizer) in enumerate(made.items()):
        files[name] = str(tmp_path / f"{number}.json")
        tokenizer.save(files[name])
    found = run(python, "ids", {"files": list(files.values()), "texts": wanted}, tmp_path, plug_in=False)
    for name, tokenizer in made.items():
        ids = [each.ids for each in tokenizer.encode_batch(wanted, add_special_tokens=False)]
        assert found[files[name]]["ids"] == ids, name
        assert found[files[name]]["texts"] == tokenizer.decode_batch(ids, skip_special_tokens=False), name


@pytest.fixture(scope="module")
def trained(python, tmp_path_factory):
    """Directories trained under 1.0, and the commands' results there."""
    home = tmp_path_factory.mktemp("commands")
    (home / "a.txt").write_text(TEXT, encoding="utf-8")
    (home / "gold.tsv").write_text("walking\twalk ing\ntalked\ttalk ed\n", encoding="utf-8")
    small_fast("words", alphabet="bytes").save_pretrained(home / "given-words")
    commands = {
        "train": "train a.txt --vocab-size 450 -o mws -q",
        "frequency": "train a.txt --vocab-size 450 --composition 1 --hidden-boundary-price 0 -o bpe -q",
        "classic": "train a.txt --vocab-size 450 --criterion classic --pattern llama3 -o classic -q",
        "words": "train a.txt --vocab-size 450 --pattern words -o words -q",
        "segment": "segment mws walking",
        "gpt4": "train a.txt --vocab-size 450 --criterion classic -o gpt4 -q",
        "segment words": "segment given-words walking",
        "encode": "encode mws a.txt -o ids -q",
        "evaluate": "evaluate mws --gold gold.tsv --text a.txt --json",
        "explain": "explain walking --model mws",
        "check": "check mws --json",
        "check words": "check given-words --json",
        "extend": "extend mws a.txt --add 10 -o more -q",
        "byte-level": "export mws --format byte-level --pattern llama3 -o llama3",
        "compare": "compare a.txt --gold gold.tsv --vocab-size 400 -o table -q --no-picture",
    }
    job = {"commands": [each.split(" ") for each in commands.values()]}
    return home, dict(zip(commands, run(python, "commands", job, home, plug_in=True), strict=True))


@pytest.mark.parametrize(
    "name", ["train", "frequency", "classic", "segment", "encode", "evaluate", "explain", "check", "extend"]
)
def test_commands_work(trained, name):
    assert trained[1][name]["code"] == 0, trained[1][name]


def test_what_is_trained_there_is_what_is_trained_here(trained, tmp_path):
    """The same bytes, for both criteria, exported and not."""
    from typer.testing import CliRunner

    home, _ = trained
    for name, options in {
        "mws": [], "bpe": ["--composition", "1", "--hidden-boundary-price", "0"],
        "classic": ["--criterion", "classic", "--pattern", "llama3"],
    }.items():  # fmt: skip
        out = str(tmp_path / name)
        given = ["train", str(home / "a.txt"), "--vocab-size", "450", *options, "-o", out, "-q"]
        assert CliRunner().invoke(app, given).exit_code == 0
        for file in ("tokenizer.json", "tokenizer_config.json"):
            assert (home / name / file).read_bytes() == (tmp_path / name / file).read_bytes(), (name, file)
    assert (home / "llama3" / "tokenizer.json").is_file()


def test_scores_and_cuts_are_those_of_here(trained):
    from typer.testing import CliRunner

    home, there = trained
    for name, given in {
        "segment": ["segment", str(home / "mws"), "walking"],
        "explain": ["explain", "walking", "--model", str(home / "mws")],
    }.items():
        assert CliRunner().invoke(app, given).stdout == there[name]["stdout"], name
    gold, text = str(home / "gold.tsv"), str(home / "a.txt")
    here = CliRunner().invoke(app, ["evaluate", str(home / "mws"), "--gold", gold, "--text", text, "--json"]).stdout
    strip = re.compile(re.escape(str(home)) + "/")
    assert json.loads(strip.sub("", here)) == json.loads(there["evaluate"]["stdout"])


def test_what_it_cannot_do_is_said(trained):
    home, there = trained
    for name in ("words", "gpt4"):
        assert there[name]["code"] != 0 and "--pattern o200k or llama3" in there[name]["stderr"]
        assert "MwSError" in there[name]["stderr"] and not (home / name / "tokenizer.json").exists()
    assert there["segment words"]["code"] != 0 and "--pattern o200k" in there["segment words"]["stderr"]
    assert {"client": "tokenizers 1.0", "verdict": "right", "remark": ""} in json.loads(there["check"]["stdout"])[
        "clients"
    ]
    assert there["compare"]["code"] != 0 and "tokenizers<1" in there["compare"]["stderr"]


def test_a_directory_saved_here_is_read_there_and_back(trained, python, tmp_path):
    """`save_backend` of what 1.0 trained and of what this version trained give the same ids."""
    home, _ = trained
    again = Tokenizer.from_file(str(home / "mws" / "tokenizer.json"))
    save_backend(tmp_path / "again", again, {"eos_token": "<|endoftext|>"})
    assert (tmp_path / "again" / "tokenizer.json").read_bytes() == (home / "mws" / "tokenizer.json").read_bytes()
