"""What `lm compare` does next, what it keeps, and what it tells: on made-up figures, nothing is trained."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import math
import re
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from lab.data import NOT_FOR_MODELS
from lm.config import RunConfig
from lm.picture import STYLES, write_picture
from lm.plan import PRESETS, Run, due_rate, plan
from lm.records import Records
from lm.report import write_report

from mws_hf.errors import MwSError
from tests.paths import ROOT

UNIGRAM = "sentencepiece-unigram-identity"
LOSS = {"bpe-byte": 1.5, "mws": 1.45, "mws-price0": 1.47, UNIGRAM: 1.46, "mws-shuffled": 1.48}
OPTIMUM = {"bpe-byte": 8e-3, "mws": 1e-3, "mws-price0": 4e-3, UNIGRAM: 2e-3, "mws-shuffled": 8e-3}


def bits_of(run):
    """Made-up bits per byte: best at the system's own rate, worse by .02 for each factor of two."""
    return LOSS[run.system] + 0.02 * abs(math.log2(run.learning_rate / OPTIMUM[run.system])) + 0.001 * run.seed


def finish(preset, done, steps=None, bits=bits_of):
    """Do what is due, in order, until nothing is or `steps` runs are done."""
    order = []
    while steps is None or len(order) < steps:
        due = next((run for run in plan(preset, done) if run.learning_rate and run not in done), None)
        if due is None:
            break
        done[due] = bits(due)
        order.append(due)
    return order


def test_the_sweep_climbs_until_the_best_rate_has_worse_neighbours():
    measured = {}
    while (rate := due_rate(measured)) is not None:
        measured[rate] = abs(math.log2(rate / 8e-3))
    assert sorted(measured) == [4e-3, 8e-3, 16e-3]
    assert due_rate({1.6e-2: float("nan"), 8e-3: float("nan"), 1e-3: 1.4}) == 2e-3  # what diverged is the worst


def test_everything_that_is_asked_for_gets_done_and_seeds_wait_for_the_rate():
    preset, done = PRESETS["gpu"](), {}
    assert {run.seed for run in plan(preset, done) if run.learning_rate is None} == {0, 1, 2}
    order = finish(preset, done, bits=lambda run: bits_of(run) + (0.01 * run.seed if run.system == "mws" else 0))
    names = [run.name for run in order]
    assert len(names) == len(set(names)) == len(plan(preset, done)) and all(r.learning_rate for r in plan(preset, done))
    assert names[:2] == ["mws-16000-lr0.002-s0", "bpe-byte-16000-lr0.002-s0"]  # all systems at one rate first
    seeds = {}
    for system, rate in OPTIMUM.items():
        main = Run(system=system, seed=0, vocabulary=16000, learning_rate=rate)
        assert replace(main, learning_rate=rate / 2) in done and replace(main, learning_rate=2 * rate) in done
        seeds[system] = {run.seed for run in done if replace(run, seed=0) == main}
    assert seeds.pop("mws") == {0, 1, 2, 3, 4} and all(each == {0, 1, 2} for each in seeds.values())


def test_runs_of_equal_operations_come_after_their_reference():
    order = finish(PRESETS["hun-works"](), {}, bits=lambda run: 1.5)
    for run in order:
        if run.flop_matched:
            base = replace(run, system="mws" if run.system == "mws-finer" else "bpe-byte", flop_matched=False)
            assert order.index(base) < order.index(run)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_configs_that_can_run(name):
    preset = PRESETS[name]()
    config = RunConfig.from_dict({"tokenizer": "t", "text": "x", **preset.settings})
    assert config.warmup >= 0.05 and "rus.rublimp.txt.gz" in NOT_FOR_MODELS
    assert {run.system for run in plan(preset, {})} <= set(STYLES)  # each has a name and a colour in the picture


def line(bits, n_bytes=(1000, 2000, 4000)):
    """What `pretrain` and `evaluate` leave, with the same loss everywhere."""
    training = {
        **{"train_bytes": 16_000_000, "train_tokens": 3_000_000, "bytes_per_token": 5.3, "flops": 1e12},
        **{"non_embedding_parameters": 148_000, "embedding_parameters": 384_000},
        "curve": [{"step": 1, "bytes": 10, "loss": 9.0}],
    }
    evaluation = {
        "bits_per_byte": bits,
        "groups": {"seen form": {"bits_per_byte": bits}, "unseen form": {"bits_per_byte": None}},
        "lossless": True,
        "documents": len(n_bytes),
        "documents_represented": len(n_bytes),
        "nats": [bits * size * math.log(2) for size in n_bytes],
        "n_bytes": list(n_bytes),
        "represented": [True] * len(n_bytes),
    }
    return training, evaluation, {"revision": "abc"}


def test_records_come_back_and_refuse_other_settings_or_documents(tmp_path):
    preset, file = PRESETS["hun-works"](), tmp_path / "runs.jsonl"
    records = Records.open(file, preset.settings)
    run = Run(system="bpe", seed=0, vocabulary=8000, learning_rate=2e-3)
    records.add(run, *line(1.5), [0, 1, 2])
    records.add(replace(run, learning_rate=4e-3), *line(1.4), [0, 1, 2])
    again = Records.open(file, preset.settings)
    assert again.tuning() == {run: 1.5, replace(run, learning_rate=4e-3): 1.4}
    assert again.runs[run].nats == pytest.approx([1039.7, 2079.4, 4158.9]) and again.n_bytes.tolist() == [
        1000,
        2000,
        4000,
    ]
    assert again.reference("bpe", Run(system="mws", seed=0, vocabulary=8000, learning_rate=1e-3)).bits == 1.4
    with pytest.raises(MwSError, match="its runs had another layers; give --results"):
        Records.open(file, preset.settings | {"layers": 5})
    with pytest.raises(MwSError, match="held-out works differ"):
        again.add(replace(run, seed=1), *line(1.5, n_bytes=(1, 2, 3)), [0, 1, 2])
    file.write_text("not json\n", encoding="utf-8")
    with pytest.raises(MwSError, match="not a file of finished runs"):
        Records.open(file, preset.settings)


def test_rows_hold_totals_by_work(tmp_path):
    preset, file = PRESETS["hun-works"](), tmp_path / "runs.jsonl"
    run = Run(system="mws", seed=0, vocabulary=8000, learning_rate=8e-3)
    records = Records.open(file, preset.settings)
    records.add(run, *line(2.0, n_bytes=(300, 200, 500)), [0, 0, 1])
    again = Records.open(file, preset.settings)
    assert again.n_bytes.tolist() == [500, 500] and again.runs[run].nats == pytest.approx([693.1, 693.1])


def test_every_table_of_the_results_is_written_from_its_rows(tmp_path):
    """A file of rows per preset; those of single lines, `rus` and `hun`, are closed."""
    results = ROOT / "scripts" / "results"
    files = [results / f"lm_{name}.runs.jsonl" for name in PRESETS]
    files = [file for file in files if file.exists()]
    assert len(files) >= 5
    for file in files:
        name = file.name.removeprefix("lm_").removesuffix(".runs.jsonl")
        preset = PRESETS[name]()
        write_report(name, preset, Records.open(file, preset.settings), tmp_path)
        written, kept = (folder / f"lm_{name}.md" for folder in (tmp_path, results))
        assert written.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")


def test_the_report_says_what_is_missing(tmp_path):
    pytest.importorskip("matplotlib")
    preset = PRESETS["hun-works"]()
    records = Records.open(tmp_path / "runs.jsonl", preset.settings)
    for system, bits in ((UNIGRAM, 1.5), ("bpe-byte", 1.5), ("mws", 1.45)):
        for rate, worse in ((8e-3, 0.02), (1.6e-2, 0.0)):
            run = Run(system=system, seed=0, vocabulary=8000, learning_rate=rate)
            records.add(run, *line(bits + worse), [0, 1, 1])
    write_report("hun-works", preset, records, tmp_path)
    text = (tmp_path / "lm_hun-works.md").read_text(encoding="utf-8")
    due = sum(run not in records.runs for run in plan(preset, records.tuning()))
    assert f"**6 runs done, {due} of the plan due.**" in text and due
    # by hand: (1.45 - 1.5) / 1.5
    assert "| bpe-byte | 8000 | 0.016 | 1 |" in text and re.search(r"\| mws \| 8000 .* \| -3\.33 % \[", text)
    write_picture(tmp_path)
    assert (tmp_path / "lm.png").stat().st_size > 1000
