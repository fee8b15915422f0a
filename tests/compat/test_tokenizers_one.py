"""`tokenizers` 1.0, which has neither trainers nor regular expressions, reads our files with the same ids as 0.x.

It goes into an environment of its own: the package and transformers run on 0.x.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from mws_hf import MwSTrainer
from mws_hf.extend.extension import extend
from mws_hf.text.pattern import with_digits
from mws_hf.text.sample_texts import sample_texts
from tests.compat.test_versions import make_environment
from tests.paths import ROOT
from tests.small_corpus import running_text
from tests.small_tokenizers import ADVERSARIAL, small_fast

pytestmark = pytest.mark.slow

ONE = "tokenizers==1.0.0rc3"
TEXTS = 3000
TEXT = "\n".join(running_text() * 4)


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The python of an environment with 1.0 and numpy, without which it stops."""
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
    found = run(python, {"files": list(files.values()), "texts": wanted}, tmp_path)
    for name, tokenizer in made.items():
        ids = [each.ids for each in tokenizer.encode_batch(wanted, add_special_tokens=False)]
        assert found[files[name]]["ids"] == ids, name
        assert found[files[name]]["texts"] == tokenizer.decode_batch(ids, skip_special_tokens=False), name
