"""Former packages and modules: imports from them work and warn.

Modules: compare/rivals.py, evaluate.py, extend.py, former_package.py, learn/training_evidence.py.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.examples import with_more

IMPORTS = {
    "from mws_hf.evaluate import score, read_gold": "assert score is mws_hf.scoring.score",
    "import mws_hf.evaluate": "assert mws_hf.evaluate.score_text is mws_hf.scoring.score_text",
    "from mws_hf.evaluate.ngram_bits import ngram_bits": "assert ngram_bits is mws_hf.scoring.ngram_bits",
    "from mws_hf.evaluate.boundaries import summarize": "assert summarize is mws_hf.scoring.boundaries.summarize",
    "from mws_hf.extend.extension import extend": "assert extend is mws_hf.extend",
    "import mws_hf.extend.trim as trimming": "assert trimming.trim is mws_hf.trim",
}


@pytest.mark.parametrize("line", with_more([*IMPORTS][::5], *[*IMPORTS][1:5]))
def test_a_former_import_warns_once_and_the_name_remains_a_function(line):
    code = f"{line}\nimport mws_hf, mws_hf.scoring, mws_hf.scoring.boundaries\n{IMPORTS[line]}\n"
    code += "import types\nassert type(mws_hf.evaluate) is type(mws_hf.extend) is types.FunctionType\n"
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("DeprecationWarning") == 1
    assert "import names and modules from mws_hf.s" in done.stderr


def test_a_former_import_needs_no_library_that_its_successor_does_not_need():
    code = "import sys\nsys.modules['torch'] = None\nfrom mws_hf.extend.trim import trim\n"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_name_of_the_former_module_of_evidence_leads_to_its_present_module():
    with pytest.warns(DeprecationWarning, match=r"import find_evidence from mws_hf\.learn\.group_evidence"):
        from mws_hf.learn.training_evidence import find_evidence
    from mws_hf.learn import group_evidence

    assert find_evidence is group_evidence.find_evidence


def test_the_functions_themselves_give_no_warning():
    code = "from mws_hf import evaluate, extend\nimport mws_hf\nassert mws_hf.evaluate is evaluate"
    subprocess.run([sys.executable, "-W", "error::DeprecationWarning:mws_hf", "-c", code], check=True)


def test_the_former_module_of_baselines_warns_and_has_the_same_objects():
    code = (
        "from mws_hf.compare.rivals import RIVALS, Rival, System, saved, train\nfrom mws_hf.compare import baselines\n"
    )
    code += "assert (RIVALS, System, Rival) == "
    code += "(baselines.BASELINE_SYSTEMS, baselines.Baseline, baselines.TrainedBaseline)\n"
    code += "assert (saved, train) == (baselines.saved, baselines.train)\n"
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("DeprecationWarning: mws_hf.compare.rivals is called mws_hf.compare.baselines") == 1
