"""The same text gives the same tokenizer.json on every kind of processor and any number of threads."""

import hashlib

import pytest

from tests.processes import python

TRAIN = """
import sys
from itertools import islice
import pymorphy3
from mws_hf import MwSTrainer, WordCounts
from mws_hf.text.pattern import WORD_PATTERN
forms, size, out = set(), int(sys.argv[1]), sys.argv[2]
dictionary = pymorphy3.MorphAnalyzer(lang="ru").dictionary
step = 1 + 3_000_000 // size
for word, *_ in islice(dictionary.iter_known_words(), 0, None, step):
    forms.add(" " + word)
counts = {form: 1 + i * 7919 % 100 for i, form in enumerate(sorted(forms))}
for criterion in ("contextual", "classic"):
    options = {"criterion": criterion, "pattern": WORD_PATTERN, "composition": 0.5, "show_progress": False}
    trainer = MwSTrainer(vocab_size=3000, **options)
    tokenizer = trainer.train_from_counts(WordCounts.from_mapping(counts, pattern=WORD_PATTERN))
    tokenizer.save_pretrained(f"{out}/{criterion}")
groups = {f"g{k}": dict(list(counts.items())[k:][:: k + 1]) for k in range(3)}
trainer = MwSTrainer(vocab_size=3000, pattern=WORD_PATTERN, show_progress=False, weights={"g1": 3})
groups = {name: WordCounts.from_mapping(each, pattern=WORD_PATTERN) for name, each in groups.items()}
trainer.train_from_counts(groups).save_pretrained(f"{out}/mixture")
"""


def enabled_features():
    """Return the processor features from which this numpy chooses on this machine; it rejects other names."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))


def digests(folder, size, **environment):
    folder.mkdir()
    python(TRAIN, size, folder, adding=environment, check=True)
    names = "contextual", "classic", "mixture"
    return [hashlib.sha256((folder / name / "tokenizer.json").read_bytes()).hexdigest() for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("size", [2_000, 20_000])
def test_processor_and_threads_change_nothing(tmp_path, size):
    usual = digests(tmp_path / "usual", size, MWS_NUM_THREADS="2")
    plain = {"NPY_DISABLE_CPU_FEATURES": enabled_features(), "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert digests(tmp_path / "plain", size, MWS_NUM_THREADS="1", **plain) == usual
    assert digests(tmp_path / "threads", size, MWS_NUM_THREADS="5") == usual
