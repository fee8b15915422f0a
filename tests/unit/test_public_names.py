"""The public names of `mws_hf/__init__.py` and `mws_hf/scoring/__init__.py`: listed, importable, typed."""

import subprocess
import sys

import pytest

from tests.processes import python

WITHOUT_TORCH = """
import importlib.machinery, inspect
find = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = lambda name, path=None, target=None: (
    None if name.partition(".")[0] == "torch" else find(name, path, target))
import mws_hf
from mws_hf import *
print(hasattr(mws_hf, "BlockDataset"), "BlockDataset" in dict(inspect.getmembers(mws_hf)), MwSTrainer.__name__)
try:
    mws_hf.BlockDataset
except AttributeError as error:
    print(error)
"""

TYPED = """
import mws_hf
from mws_hf import MwSTrainer, count_files, pretrained
from mws_hf.scoring import read_gold

pretrained("mws-fi-32k").segment("taloissammekin")[0].upper()
MwSTrainer(vocab_size=8_000).train("corpus.txt").save_pretrained("out")
read_gold("gold.tsv").words[0].word.upper()
"""

MISTAKES = {
    'MwSTrainer(vocab_size="many")': "arg-type",
    "pretrained(32)": "arg-type",
    "mws_hf.no_such_name": "attr-defined",
    "count_files(['a']).no_such_name": "attr-defined",
    "read_gold('gold.tsv').no_such_name": "attr-defined",
}


def test_the_public_names_are_all_that_dir_shows():
    pytest.importorskip("torch", reason="one of the names needs it")
    import mws_hf
    import mws_hf.atomic  # without __dir__, a loaded module would be listed

    assert sorted(dir(mws_hf)) == sorted(mws_hf.__all__)
    assert all(hasattr(mws_hf, name) for name in dir(mws_hf))


def test_a_name_that_needs_a_missing_library_is_not_public():
    done = python(WITHOUT_TORCH)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "False False MwSTrainer",
        "mws_hf.BlockDataset needs torch, which is not installed: pip install torch",
    ]


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names(tmp_path):
    pytest.importorskip("mypy")
    file = tmp_path / "user.py"
    file.write_text(TYPED + "\n".join(MISTAKES) + "\n", encoding="utf-8")
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--show-error-codes", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(file)], capture_output=True, text=True, timeout=300
    )
    found = {int(line.split(":")[1]): line for line in done.stdout.splitlines()}
    first = TYPED.count("\n") + 1
    assert sorted(found) == list(range(first, first + len(MISTAKES))), done.stdout
    for line, code in enumerate(MISTAKES.values(), start=first):
        assert f"[{code}]" in found[line]
