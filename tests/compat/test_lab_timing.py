"""The benchmark of the lab: a tiny run from text to the page of results, and the arithmetic behind its tables."""

from __future__ import annotations

import gzip
from itertools import product

import pytest
from lab.cells import Experiment, Place, measure, rows_of
from lab.experiments import benchmark
from lab.files import cut, mixed, redrawn

from mws_hf.errors import MwSError


@pytest.fixture
def place(tmp_path):
    (tmp_path / "text").mkdir()
    text = "".join(f"слово{i % 700} и другое{i % 31}\n" for i in range(3000))
    (tmp_path / "text" / "rus.made.txt.gz").write_bytes(gzip.compress(text.encode()))
    return Place(tmp_path, tmp_path / "work", tmp_path / "results")


@pytest.mark.slow
def test_a_tiny_run_measures_writes_its_page_and_goes_on(place):
    experiment = Experiment.of("benchmark")
    only = {"text": ["Russian"], "task": ["count/mws", "count/tokenizers"], "repeat": ["0"]}
    due = experiment.due([], only, again=False)
    assert [(cell["task"], cell["cache"]) for cell in due] == [
        ("count/mws", "warm"), ("count/mws", "cold"), ("count/tokenizers", "warm"),
    ]  # fmt: skip
    rows = list(measure(experiment, place, due))
    assert all(row["process_seconds"] > row["seconds"] > 0 and row["peak_mb"] > 10 for row in rows)
    cold = next(row for row in rows if row["cache"] == "cold")
    assert cold["seconds"] > rows[0]["seconds"] and cold["digest"] == rows[0]["digest"]
    page = (place.results / "benchmark.md").read_text(encoding="utf-8")
    assert "| counting alone° | tokenizers |" in page and "| count/mws |" in page and "* **" not in page
    assert experiment.due(rows_of("benchmark", place.results), only, again=False) == []


def test_text_is_mixed_cut_at_a_line_and_redrawn_with_types_that_go_on_growing(place):
    text = mixed(place.data, "rus.*.txt.gz", place.work)
    assert cut(text, 1) == text and cut(text, 0.01).read_bytes().endswith(b"\n")
    sizes = [redrawn(text, megabytes) for megabytes in (3, 6)]
    assert all(each.read_bytes().startswith(text.read_bytes()) for each in sizes)
    types = [len(set(each.read_text(encoding="utf-8").split())) for each in (text, *sizes)]
    assert types[0] < types[1] < types[2] and sizes[1].stat().st_size >= 6_000_000
    text.write_text("no line end here", encoding="utf-8")
    with pytest.raises(MwSError, match="no line end in its first 5e-06 MB"):
        cut(text, 5e-6)


def row(task, repeat, seconds, **more):
    times = {"seconds": seconds, "process_seconds": seconds, "cpu_seconds": seconds, "peak_mb": 1.0}
    about = {"text": "Russian", "task": task, "cache": "warm", "repeat": repeat, "mb": 9.0, "code": "x"}
    return {**about, **times, **more}


def test_ratios_pair_repeats_and_contradictions_are_found():
    target = benchmark.TARGETS[0]
    times = {target.ours: (1.0, 2.0, 4.0), target.rival: (10.0, 12.0, 10.0)}
    rows = [row(task, i, times[task][i]) for task, i in product(times, range(3))]
    assert "**5x** (2.5–10)" in benchmark.targets(rows) and "| at least |" in benchmark.targets(rows)
    assert benchmark.contradictions(rows) == ""
    rows = [row("a", 0, 1.0, digest="x"), row("a", 1, 1.0, digest="y"), row("b", 0, 1.0, tokens=5, code="y")]
    rows.append(row("c", 0, 1.0, tokens=6))
    found = benchmark.contradictions(rows)
    assert "**a**: outputs differ" in found and "numbers of tokens differ" in found and "different code" in found
