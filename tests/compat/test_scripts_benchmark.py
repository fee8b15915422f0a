"""scripts/benchmark.py: a tiny run from made-up text to the page of results, and the arithmetic behind its tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

SCRIPTS = ROOT / "scripts"


def run(*arguments):
    command = [sys.executable, str(SCRIPTS / "benchmark.py"), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS.parent)}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=280)


@pytest.fixture
def summary(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmark import summary

    return summary


def record(task, size, seconds, repeat=0, **more):
    return {
        "task": task,
        "size": size,
        "mb": 10.0 * size,
        "repeat": repeat,
        "cache": "warm",
        "seconds": seconds,
        **more,
    }


@pytest.mark.slow
def test_a_tiny_run_validates_measures_reports_and_resumes(tmp_path):
    output = tmp_path / "results" / "benchmark.json"
    arguments = ["--generate", 0.1, "--work", tmp_path / "work", "--output", output, "--quick", "--vocab-size", 500]
    arguments += ["--tasks", "count/regex", "encode/encode_batch"]
    first = run(*arguments)
    assert first.returncode == 0, first.stderr
    results = json.loads(output.read_text(encoding="utf-8"))
    assert len(results["facts"]["validated"]) == 4
    assert {(r["task"], r["size"]) for r in results["records"]} == {
        (task, size) for task in ("count/regex", "encode/encode_batch") for size in (1, 3)
    }
    assert all(r["seconds"] > 0 and r["peak_mb"] > 10 and r["cache"] == "warm" for r in results["records"])
    assert "| encode/encode_batch |" in output.with_suffix(".md").read_text(encoding="utf-8")
    assert output.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    resumed = run(*arguments, "--resume")
    assert resumed.returncode == 0 and resumed.stderr == ""  # nothing was left to measure
    assert json.loads(output.read_text(encoding="utf-8")) == results
    other = run(*arguments, "--resume", "--vocab-size", 600)
    assert other.returncode == 1 and "measured with another vocab_size" in other.stderr


def test_unknown_tasks_and_too_little_text_are_refused(tmp_path):
    unknown = run("--generate", 0.1, "--tasks", "train/nothing")
    assert unknown.returncode == 2 and "names none of: train/mws-classic" in unknown.stderr
    text = tmp_path / "short.txt"
    text.write_text("мало\n", encoding="utf-8")
    short = run(text, "--base-mb", 1, "--work", tmp_path / "work", "--output", tmp_path / "r.json")
    assert short.returncode == 1 and "give more text" in short.stderr


def test_ratios_pair_repeats_and_growth_takes_the_second_run(summary):
    target = summary.TARGETS["language"][0]
    rows = [record(target.ours, 9, 0.5, i, process_seconds=s) for i, s in enumerate((1.0, 2.0, 4.0))]
    rows += [record(target.rival, 9, 7.0, i, process_seconds=s) for i, s in enumerate((10.0, 12.0, 10.0))]
    found = summary.ratio(rows, target, 9)
    assert (found.value, found.low, found.high) == (5.0, 2.5, 10.0)
    assert summary.verdict(target, found.value) == "at least"
    rows = [record("t", 1, 5.0, again_seconds=1.0), record("t", 9, 13.0, again_seconds=9.0)]
    assert summary.growth(rows, "t") == 1.0


def test_redrawn_text_begins_with_the_text_and_its_types_go_on_growing(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmark.corpus import redrawn_text

    text = tmp_path / "text.txt"
    text.write_text("".join(f"слово{i % 700} и другое{i % 31}\n" for i in range(3000)), encoding="utf-8")
    sizes = [redrawn_text(text, megabytes) for megabytes in (3, 6)]
    assert all(each.read_bytes().startswith(text.read_bytes()) for each in sizes)
    types = [len(set(each.read_text(encoding="utf-8").split())) for each in (text, *sizes)]
    assert types[0] < types[1] < types[2]
    assert sizes[1].stat().st_size >= 6_000_000


def test_contradictions_are_found(summary):
    rows = [record("a", 1, 1.0, i, digest=d) for i, d in enumerate("xy")]
    rows += [record("b", 1, 1.0, tokens=5), record("c", 1, 1.0, tokens=6)]
    rows += [record("d", 9, 1.0, first=[["a", "b"]]), record("e", 9, 1.0, first=[["a", "c"]])]
    found = summary.contradictions(rows)
    assert [line.split(":")[0] for line in found] == ["a at 1x", "learn", "encode at 1x"]
    assert summary.contradictions(rows[:1]) == []
    edited = [record("a", 1, 1.0, i, code=c) for i, c in enumerate("xy")]
    assert "sources changed" in summary.contradictions(edited)[0]
