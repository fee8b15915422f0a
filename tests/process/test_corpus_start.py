"""What counting and learning load: neither pandas nor SciPy, which take longer than the counting, nor transformers."""

import importlib.util
import subprocess
import sys

import pytest

from mws_hf.corpus.counting import count_files

COUNT = """
import sys
from mws_hf import MwSTrainer, WordCounts
from mws_hf.corpus.counting import count_documents, count_files
for _ in range(2):
    counts = count_files(sys.argv[1])
counts.code_points()
WordCounts.load(sys.argv[1] + ".parquet")
count_documents(["кот и кот"], normalization="nfc")
count_documents(["кот и кот"], pattern=".")
print(len(counts), [name for name in ("pandas", "scipy.linalg") if name in sys.modules])
"""

LEARN = """
import sys
import numpy as np
from mws_hf import MwSTrainer
from mws_hf.kernels.interning import intern_hashed
from mws_hf.corpus.counting import count_files
left = np.arange(5000, dtype=np.int32)
intern_hashed(left, left, np.empty_like(left))  # what is done where many pairs are possible
report = MwSTrainer(n_merges=20, show_progress=False).learn(count_files(sys.argv[1]))
large = "pandas", "scipy.linalg", "numpy.f2py", "transformers"
print(report.n_morphs > 0, [name for name in large if name in sys.modules])
"""


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="nothing to import")
def test_counting_imports_no_large_library(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("кот и кот, и\n" * 3, encoding="utf-8")
    count_files(text).save(f"{text}.parquet")
    commands = [sys.executable, "-c", COUNT, str(text)]
    subprocess.run(commands, check=True, capture_output=True)  # compiles where nothing is in the cache yet
    result = subprocess.run(commands, check=True, capture_output=True, text=True)
    assert result.stdout == "5 []\n"


def test_learning_imports_no_large_library(tmp_path):
    text = tmp_path / "text.txt"
    words = [stem + ending for stem in ("ev", "kitap", "masa") for ending in ("", "lar", "da", "larda")]
    text.write_text(" ".join(words), encoding="utf-8")
    commands = [sys.executable, "-c", LEARN, str(text)]
    subprocess.run(commands, check=True, capture_output=True)  # compiles where nothing is in the cache yet
    result = subprocess.run(commands, check=True, capture_output=True, text=True)
    assert result.stdout == "True []\n"
