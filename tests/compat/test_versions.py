"""Saved directories load with the same ids in every supported version of transformers, each in its own environment.

`MWS_VENV_CACHE` names a folder where the environments are kept between runs.
"""

import json
import os
import random
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from mws_hf import MwSTrainer
from mws_hf.surgery.extension import extend
from mws_hf.text.pattern import with_digits
from mws_hf.text.sample_texts import sample_texts
from tests.paths import ROOT
from tests.small_corpus import running_text
from tests.small_tokenizers import ADVERSARIAL, VARIANTS, small_fast, small_slow
from tests.version_child import state

pytestmark = pytest.mark.slow

VERSIONS = {
    "4.51.3": "transformers==4.51.3",
    "4.57.6": "transformers==4.57.6",
    "5.0.0": "transformers==5.0.0",
    "5.10.4": "transformers==5.10.4",
    "newest": "transformers>=5.23,<6",
}
MODEL_TYPES = [None, "qwen2", "qwen3_5", "gpt2", "llama", "bert"]
CHAT = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"


def make_environment(folder: Path, *requirements: str) -> tuple[Path, str]:
    """Create a virtual environment with these packages; return its Python, and the error message of pip."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = folder / "done"
    if not done.exists() or "==" not in requirements[0]:
        if not python.exists():
            venv.create(folder)
        options = ["-q", "--disable-pip-version-check", "--no-compile", "--upgrade"]
        command = [sys.executable, "-m", "pip", "--python", str(python), "install", *options, *requirements]
        pip = subprocess.run(command, capture_output=True, text=True, check=False)
        if pip.returncode != 0:
            return python, pip.stderr[-2000:]
        done.touch()
    return python, ""


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    cache = os.environ.get("MWS_VENV_CACHE")
    folder = Path(cache) if cache else tmp_path_factory.mktemp("environments")
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda name: make_environment(folder / name, VERSIONS[name], "jinja2"), VERSIONS)
    return dict(zip(VERSIONS, made, strict=True))


def python_of(environments, version, tmp_path) -> Path:
    python, complaint = environments[version]
    if complaint:
        probe = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(tmp_path / "probe"), "jinja2"]
        if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
            pytest.skip("pip cannot reach a package registry, so no other version can be installed")
        pytest.fail(f"pip could not install {VERSIONS[version]}:\n{complaint}")
    return python


def run_child(python: Path, *arguments, plug_in: bool, home: Path) -> dict:
    """Run version_child.py outside of the repository, so that mws_hf can be imported only with `plug_in`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HF_"))}
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home / "hf"), "TRANSFORMERS_VERBOSITY": "error"}
    environment |= {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)} if plug_in else {"PYTHONIOENCODING": "utf-8"}
    command = [str(python), str(ROOT / "tests" / "version_child.py"), *map(str, arguments)]
    child = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=home, env=environment, check=False
    )
    assert child.returncode == 0, child.stderr[-4000:]
    return json.loads(child.stdout)


def save_all(folder: Path) -> dict[str, list]:
    """Save folders of both classes and alphabets, next to the config.json of every model type; return their texts."""
    expected = {}
    for make in (small_fast, small_slow):
        for name, options in VARIANTS.items():
            tokenizer = make(**options)
            tokenizer.chat_template = CHAT
            tokenizer.add_tokens(["<new>"])
            tokenizer.add_special_tokens({"mask_token": "<mask>"})
            for model_type in MODEL_TYPES:
                directory = folder / f"{make.__name__}-{name}-{model_type}"
                tokenizer.save_pretrained(directory)
                if model_type:
                    (directory / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
                expected[str(directory)] = tokenizer
    return expected


@pytest.mark.parametrize("version", VERSIONS)
def test_directories_load_without_the_plug_in(environments, version, tmp_path):
    python = python_of(environments, version, tmp_path)
    expected = save_all(tmp_path)
    texts = [*ADVERSARIAL, "чит<new><mask> <|user|>"]
    options = [{}, {"trust_remote_code": False}, {"trust_remote_code": True}]
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"directories": list(expected), "options": options, "texts": texts}), encoding="utf-8")
    answer = run_child(python, "load", job, plug_in=False, home=tmp_path)
    assert version in ("newest", answer["version"])
    assert len(answer["loaded"]) == len(expected) * len(options)
    for found in answer["loaded"]:
        tokenizer = expected[found["directory"]]
        assert found["ids"] == [tokenizer.encode(text) for text in texts]
        assert found["texts"] == texts
        assert found["special"] == ["<mask>", "<|endoftext|>", "<|pad|>", "<|user|>"]
        assert (found["eos"], found["pad"], found["length"]) == (0, 1, len(tokenizer))
        assert found["chat"] == "<|user|>чит"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_plug_in_itself_works(environments, version, tmp_path):
    python = python_of(environments, version, tmp_path)
    run_child(python, "save", tmp_path / "saved", plug_in=True, home=tmp_path)
    for directory in sorted((tmp_path / "saved").iterdir()):
        ours = small_fast(**VARIANTS[directory.name.split("-")[0]])
        ours.add_tokens(["<new>"])
        loaded = AutoTokenizer.from_pretrained(directory)
        for text in [*ADVERSARIAL, "чит<new>"]:
            assert loaded.encode(text) == ours.encode(text)
        assert set(loaded.all_special_tokens) == set(ours.all_special_tokens)


NAMED = {"video_token": "<video>", "boi_token": "<boi>"}
TEMPLATES = {"default": CHAT, "rag": "{% for m in messages %}<|user|>rag {{ m['content'] }}{% endfor %}"}


def named_directories(folder: Path) -> dict[str, dict]:
    """Folders with and without named special tokens, and the result that is expected of each."""
    made = {
        "names": small_fast(extra_special_tokens=NAMED, additional_special_tokens=None),
        "slow-names": small_slow(alphabet="bytes", extra_special_tokens=NAMED, additional_special_tokens=None),
        "trained": MwSTrainer(vocab_size=500, show_progress=False).train([TEXT]),
    }
    for tokenizer in made.values():
        tokenizer.add_special_tokens({"additional_special_tokens": ["<|user|>"]})
        tokenizer.add_tokens(["<new>"])
    made["templates"] = small_fast("o200k", alphabet="bytes")
    made["templates"].chat_template = TEMPLATES
    for name, tokenizer in made.items():
        tokenizer.save_pretrained(folder / name)
    return {str(folder / name): state(tokenizer, RESAVED) for name, tokenizer in made.items()}


RESAVED = [*ADVERSARIAL, "чит<new><video> <|user|><boi>чит <new>"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_tokenizer_that_is_loaded_and_saved_again_is_the_same(environments, version, tmp_path):
    python = python_of(environments, version, tmp_path)
    expected = named_directories(tmp_path)
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"directories": list(expected), "texts": RESAVED}), encoding="utf-8")
    answer = run_child(python, "resave", job, plug_in=True, home=tmp_path)
    assert len(answer["saved"]) == 3 * len(expected)
    for found in answer["saved"]:
        first, *saved = map(Path, found["places"])
        for place, seen in zip(found["places"], found["states"], strict=True):
            assert seen == expected[str(first)], (found["class"], place)
            assert state(AutoTokenizer.from_pretrained(place), RESAVED) == expected[str(first)]
        files = [contents(place) for place in (first, *saved)]
        assert files[1] == files[2]
        assert found["class"] == "auto" or files[0] == files[1]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


ONE = os.environ.get("MWS_TOKENIZERS_ONE", "tokenizers==1.0.0rc3")
MANY = 3000
TEXT = "\n".join(running_text() * 4)


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The Python of an environment with tokenizers 1.0, and numpy, which it needs."""
    cache = os.environ.get("MWS_VENV_CACHE")
    folder = Path(cache) if cache else tmp_path_factory.mktemp("one")
    python, complaint = make_environment(folder / "tokenizers-1.0", ONE, "numpy", "--no-deps")
    if complaint:
        pytest.skip(f"pip could not install {ONE}: {complaint[-300:]}")
    return python


CHILD = """
import json, sys
from tokenizers import Tokenizer

job, found = json.load(open(sys.argv[1], encoding="utf-8")), {}
for file in job["files"]:
    tokenizer = Tokenizer.from_file(file)
    encoded = [each.ids for each in tokenizer.encode_batch(job["texts"], add_special_tokens=False)]
    found[file] = {"ids": encoded, "texts": [tokenizer.decode(each, False) for each in encoded]}
json.dump(found, sys.stdout)
"""


def run(python: Path, job: dict, home: Path):
    (home / "job.json").write_text(json.dumps(job), encoding="utf-8")
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HF_"))}
    child = subprocess.run(
        [str(python), "-c", CHILD, str(home / "job.json")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=outside | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert child.returncode == 0, child.stderr[-4000:]
    return json.loads(child.stdout)


def texts() -> list[str]:
    """Return running text, sample texts, strings that programs read wrongly, and characters of all planes in pairs."""
    choose = random.Random(7)
    everything = [*range(0x20, 0xD800), *range(0xE000, 0x20000)]
    pool = [*"aAbБя 1'\n\t/.-\u0301’", " the", "'s", "'LL", "  "]
    made = ["".join(choose.choices(pool, k=9)) + chr(choose.choice(everything)) for _ in range(MANY)]
    known = [*running_text(), *sample_texts(), *ADVERSARIAL]
    return list(dict.fromkeys([*known, *(f"{a}{b}" for a, b in zip(made, made[1:], strict=False))]))[:MANY]


def artifacts() -> dict[str, Tokenizer]:
    """One tokenizer of each kind that 1.0 can run, and the pretrained tokenizers whose pattern it can run."""
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
    assert len(wanted) == MANY
    for number, (name, tokenizer) in enumerate(made.items()):
        files[name] = str(tmp_path / f"{number}.json")
        tokenizer.save(files[name])
    found = run(python, {"files": list(files.values()), "texts": wanted}, tmp_path)
    for name, tokenizer in made.items():
        ids = [each.ids for each in tokenizer.encode_batch(wanted, add_special_tokens=False)]
        assert found[files[name]]["ids"] == ids, name
        assert found[files[name]]["texts"] == tokenizer.decode_batch(ids, skip_special_tokens=False), name
