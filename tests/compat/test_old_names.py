"""Import paths that older releases documented: each still gives the very object that stands elsewhere now."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("mws_hf.baselines", "mws_hf.research.baselines", "train"),
        ("mws_hf.compare", "mws_hf.research.compare", "compare"),
        ("mws_hf.compare.run", "mws_hf.research.compare.run", "compare"),
        ("mws_hf.lm", "mws_hf.research.lm", "pretrain"),
        ("mws_hf.lm.training", "mws_hf.research.lm.training", "pretrain"),
        ("mws_hf.lm.scoring", "mws_hf.research.lm.scoring", "bits_per_byte"),
        ("mws_hf.lm.embeddings", "mws_hf.extend.embeddings", "transplant"),
        ("mws_hf.lm.checkpoint", "mws_hf.extend.checkpoint", "transplant_directory"),
    ],
)
def test_an_old_path_gives_the_same_object(old, new, name):
    assert getattr(importlib.import_module(old), name) is getattr(importlib.import_module(new), name)


def test_a_module_that_never_was_is_refused_under_its_own_name():
    with pytest.raises(ModuleNotFoundError, match=r"mws_hf\.lm\.nothing"):
        importlib.import_module("mws_hf.lm.nothing")


def test_the_old_name_can_be_run_first():
    done = subprocess.run([sys.executable, "-m", "mws_hf.lm", "--help"], capture_output=True, text=True, check=True)
    assert "python -m mws_hf.lm" in done.stdout and "pretrain" in done.stdout
