"""Plans and reports of the comparisons of small language models, on made-up figures; nothing is trained.

Modules: encode/plan.py.
"""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import math
import re

import pytest

pytest.importorskip("torch")

from lab.cells import Experiment, Place, keep, rows_of
from lm.compare import comparison, run_config
from lm.config import RunConfig
from lm.plan import PRESETS, runs
from lm.report import STYLES, difference, seed_noise, write_picture
from lm.texts import Texts

from mws_hf.errors import MwSError

UNIGRAM = "sentencepiece-unigram-identity"


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_configs_that_can_run(name):
    preset = PRESETS[name]
    config = RunConfig.from_dict({"tokenizer": "t", "text": "x", **preset.settings})
    assert config.warmup >= 0.05
    assert {run["system"] for run in preset.runs} <= set(STYLES)  # each system has a name and a color in the picture


def test_runs_of_equal_compute_come_after_their_reference(tmp_path):
    preset, place = PRESETS["hun-works"], Place(results=tmp_path)
    cells = Experiment("lm_hun-works", comparison("lm_hun-works", preset)).cells()
    text = Texts(("a",), ("b",), ("c",), [])
    for number, cell in enumerate(cells):
        done = [{**each, **figures(1.5, flops=each["vocabulary"])} for each in cells[:number]]
        if cell["flop_matched"]:
            assert run_config(cell, preset, text, place.work, done).flop_budget == cell["vocabulary"]
            with pytest.raises(MwSError, match="its budget is that of (mws|bpe-byte) with seed"):
                run_config(cell, preset, text, place.work, [])
    assert runs(["mws"], [32000], 1.6e-2, flop_matched=True)[0] in cells


def figures(bits, n_bytes=(1000, 2000, 4000), flops=1e12):
    """Return the row of a run, with the same loss in every document."""
    training = {
        **{"train_bytes": 16_000_000, "train_tokens": 3_000_000, "bytes_per_token": 5.3, "flops": flops},
        "cpu_seconds": 1800.0,
        **{"non_embedding_parameters": 148_000, "embedding_parameters": 384_000},
    }
    groups = {"seen form": {"bits_per_byte": bits}, "unseen form": {"bits_per_byte": bits}}
    evaluation = {"bits_per_byte": bits, "development": bits, "groups": groups}
    evaluation |= {"documents": len(n_bytes), "documents_represented": len(n_bytes)}
    nats = [bits * size * math.log(2) for size in n_bytes]
    return {"training": training, "evaluation": evaluation, "nats": nats, "n_bytes": n_bytes, "code": "abc"}


def test_differences_are_those_of_means_and_a_single_run_has_the_spread_of_the_others():
    first, second, single = ([figures(bits) for bits in each] for each in ((0.9, 1.1), (1.8, 2.2), (1.0,)))
    value, low, high = difference(first, second)
    assert value == pytest.approx(-50) and low < -70 and -20 < high  # by hand: (1 - 2) / 2
    assert seed_noise([[0.9, 1.1], [1.8, 2.2], [1.0]]) == (pytest.approx(0.05), 2)
    known, doubted = difference(single, second), difference(single, second, (4.0, 1))
    assert doubted[1] < known[1] < known[2] < doubted[2] and doubted[0] == known[0]


def test_the_page_names_missing_runs_and_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    experiment = Experiment.of("lm_hun-works")
    cells = [cell for rate in (8e-3, 1.6e-2) for cell in runs((UNIGRAM, "bpe-byte", "mws"), [8000], rate, [0])]
    bits = {UNIGRAM: 1.5, "bpe-byte": 1.5, "mws": 1.45}
    rows = [{**cell, **figures(bits[cell["system"]] + 0.02 * (cell["learning_rate"] < 1e-2))} for cell in cells]
    # this rate is not part of the sweep
    rows += [{**cell, **figures(1.4)} for cell in runs(["mws"], [32000], 1.6e-2, [0])]
    keep(experiment, rows, tmp_path)
    text = (tmp_path / "lm_hun-works.md").read_text(encoding="utf-8")
    due = len(experiment.due(rows_of("lm_hun-works", tmp_path), again=False))
    assert f"**7 runs are done, and {due} of the plan are due.**" in text and due == len(experiment.cells()) - 7
    # by hand: (1.45 - 1.5) / 1.5
    assert "| bpe-byte | 8000 | 0.016 | 1 |" in text and re.search(r"\| mws \| 8000 .* \| -3\.33 % \[", text)
    assert "| mws | 12 MB | 1.4700 | 1.4500 |" in text
    write_picture(tmp_path)
    assert (tmp_path / "lm.png").stat().st_size > 1000
