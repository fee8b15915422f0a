"""The tokenizer tests of the installed version of transformers, from its source archive, for both classes."""

import os
import re
import subprocess
import sys

import pytest
import transformers

from tests.paths import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.skipif(
    int(transformers.__version__.split(".")[0]) < 5, reason="the mixins of transformers 4 need its fixtures"
)
def test_both_classes_pass_the_tester_mixins(tmp_path):
    pytest.importorskip("parameterized", reason="the mixins need the parameterized package")
    script = [sys.executable, str(ROOT / "tests" / "fetch_tester_mixin.py")]
    fetched = subprocess.run(script, capture_output=True, text=True, check=False)
    if fetched.returncode == 3:
        pytest.skip(f"the source archive of transformers cannot be fetched: {fetched.stderr[-300:]}")
    assert fetched.returncode == 0, fetched.stderr
    environment = os.environ | {
        "MWS_TESTER_MIXIN": fetched.stdout.strip(),
        "RUN_SLOW": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path),
    }
    cases = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rfE", "tests/transformers_mixin_cases.py"]
    child = subprocess.run(cases, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert child.returncode == 0, child.stdout[-8000:] + child.stderr[-2000:]
    passed = re.search(r"(\d+) passed", child.stdout)
    assert passed is not None and int(passed.group(1)) > 150, child.stdout[-2000:]
