"""After `warm_up`, training and encoding compile nothing: no kernel sees types that it has not seen."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.short_text import TEXT

SCRIPT = """
import json, sys
from pathlib import Path
from mws_hf.commands.warmup import warm_up

def known():
    kernels = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("mws_hf"):
            for value in vars(module).values():
                if hasattr(value, "py_func") and hasattr(value, "signatures"):
                    kernels[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return {name: set(map(str, kernel.signatures)) for name, kernel in kernels.items()}

warm_up()
before = known()
from mws_hf import MwSTrainer, encode_corpus
corpus, folder = sys.argv[1], Path(sys.argv[2])
for criterion in ("contextual", "classic"):
    tokenizer = MwSTrainer(criterion=criterion, vocab_size=2000, composition="fill").train([corpus])
    encode_corpus(tokenizer, [corpus], folder / criterion)
    MwSTrainer(criterion=criterion, vocab_size=2000).train([folder / "words.txt"])
after = known()
print(json.dumps({name: len(found - before.get(name, set())) for name, found in after.items()}))
"""


@pytest.mark.slow
def test_nothing_is_left_to_compile(tmp_path: Path):
    (tmp_path / "corpus.txt").write_text(TEXT * 5, encoding="utf-8")
    chance = random.Random(1)
    words = ("".join(chance.choices("eaintrslou", k=chance.randint(3, 9))) for _ in range(400_000))
    (tmp_path / "words.txt").write_text(" ".join(words), encoding="utf-8")  # long lists have kernels of their own
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "corpus.txt"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    new = json.loads(done.stdout.splitlines()[-1])
    assert len(new) > 100 and not {name for name, count in new.items() if count}


AHEAD = "from mws_hf.commands.train import compile_ahead; first = compile_ahead(); print(first and first.wait())"


def test_the_process_beside_the_first_compiles_what_merging_needs(tmp_path: Path):
    """It leaves the kernels of merging as training asks for them, so that training compiles none of these again."""
    home = tmp_path / "kernels"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(home), "MWS_NUM_THREADS": "2"}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()

    def merging() -> list[str]:
        return sorted(file.name for file in home.rglob("*.kernel") if file.name.startswith(("advance-", "merge_pair-")))

    assert run("-c", AHEAD) == "0"
    assert [name.split("-")[0] for name in merging()] == ["advance", "merge_pair"]
    before = merging()
    (tmp_path / "corpus.txt").write_text(TEXT * 5, encoding="utf-8")
    run("-m", "mws_hf", "train", str(tmp_path / "corpus.txt"), "--vocab-size", "500", "-o", str(tmp_path / "out"))
    assert merging() == before
    assert run("-c", AHEAD) == "None", "only the first process of all has one beside it"


def test_one_core_has_no_process_beside_it(tmp_path: Path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "MWS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", AHEAD], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "None"
