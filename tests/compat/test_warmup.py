"""After `warm_up`, training and encoding compile nothing, because every kernel was compiled for all types.

Modules: commands/warmup.py.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.processes import python
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
    (tmp_path / "words.txt").write_text(" ".join(words), encoding="utf-8")  # long lists have separate kernels
    done = python(SCRIPT, tmp_path / "corpus.txt", tmp_path, check=True)
    new = json.loads(done.stdout.splitlines()[-1])
    assert len(new) > 100 and not {name for name, count in new.items() if count}
