"""Each notebook of docs/ runs from top to bottom, prints the outputs that it contains, and opens in Colab."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.processes import python

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
_BETWEEN = "<<< end of a cell >>>"


def code_cells(notebook: Path) -> list[dict]:
    """Return the code cells of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code" and not "".join(cell["source"]).startswith("%")]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_one_that_colab_opens(notebook):
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4 and document["metadata"]["kernelspec"]["language"] == "python"
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    first = next(cell for cell in document["cells"] if cell["cell_type"] == "code")
    assert "".join(first["source"]).startswith("%pip install")


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "model_cards").is_dir(), reason="the source distribution has no tokenizers")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_prints_the_outputs_that_it_contains(notebook, tmp_path):
    cells = code_cells(notebook)
    code = "".join("".join(cell["source"]) + f"\nprint({_BETWEEN!r})\n" for cell in cells)
    done = python(code, cwd=tmp_path, adding={"PYTHONUTF8": "1"})
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(_BETWEEN + "\n")[:-1]
    shown = ["".join(line for output in cell["outputs"] for line in output["text"]) for cell in cells]
    assert len(printed) == len(shown) >= 4
    if sys.version_info[:2] == (3, 11):  # the training text is part of Python, and the outputs are those of Python 3.11
        assert printed == shown
