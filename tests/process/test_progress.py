"""Progress on a terminal: every phase has a name and every input a percentage; without a terminal nothing is shown."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mws_hf.corpus.counting import count_files
from mws_hf.corpus.files import Reading
from mws_hf.corpus.kinds import Parquet
from mws_hf.corpus.sources import Source
from tests.in_process import mws
from tests.processes import command, on_a_terminal
from tests.short_text import TEXT


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    lines = TEXT.splitlines(keepends=True) * 50
    paths = {name: folder / name for name in ("a.txt", "a.txt.gz", "a.jsonl", "a.parquet")}
    paths["a.txt"].write_text("".join(lines), encoding="utf-8")
    with gzip.open(paths["a.txt.gz"], "wt", encoding="utf-8") as stream:
        stream.write("".join(lines))
    paths["a.jsonl"].write_text("".join(json.dumps({"text": line}) + "\n" for line in lines), encoding="utf-8")
    pq.write_table(pa.table({"text": lines}), paths["a.parquet"])
    return paths


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.parquet"])
def test_bytes_taken_add_up_to_the_file_and_come_in_steps(name: str, inputs: dict[str, Path]):
    taken: list[int] = []
    for block in Source.of(inputs[name]).blocks(size=1 << 15, advance=taken.append):
        assert block.size
    assert sum(taken) == Source.of(inputs[name]).size == inputs[name].stat().st_size
    # the compressed file has only a few kilobytes
    assert len([step for step in taken if step]) > 1 or name == "a.txt.gz"


def test_parquet_rows_share_out_the_file(inputs: dict[str, Path]):
    taken: list[int] = []
    batches = list(Parquet(inputs["a.parquet"], Reading()).columns(["text"], taken.append))
    assert len(taken) == len(batches) > 1 and min(taken) > 0
    assert sum(taken) == inputs["a.parquet"].stat().st_size


def test_the_phases_of_training_have_names(inputs: dict[str, Path], tmp_path: Path):
    shown = on_a_terminal(command("train", inputs["a.txt"], "--vocab-size", 500, "--output", tmp_path / "t"))
    order = [shown.index(phase) for phase in ("counting words", "morph merges", "frequency merges")]
    assert order == sorted(order)
    quiet = on_a_terminal(
        command("train", inputs["a.txt"], "--vocab-size", 500, "-o", tmp_path / "t", "--force", "--quiet")
    )
    assert "%" not in quiet
    for name in ("a.txt.gz", "a.jsonl", "a.parquet"):
        options = ("--output", tmp_path / name)
        shown = on_a_terminal(command("encode", tmp_path / "t", inputs[name], *options))
        assert "100%" in shown and "<00:00" in shown, (name, shown)


def test_progress_bars_of_the_second_training_with_labels_have_other_names(inputs: dict[str, Path], tmp_path: Path):
    words = ("читать чит ать", "читал чит ал", "писать пис ать", "писал пис ал", "читали чит али")
    lines = (word.replace(" ", "\t", 1) + "\n" for word in words)
    (tmp_path / "labels.tsv").write_text("".join(lines), encoding="utf-8")
    given = ("--labels", tmp_path / "labels.tsv", "--vocab-size", 500, "--output", tmp_path / "t")
    shown = on_a_terminal(command("train", inputs["a.txt"], *given))
    again = ", again with labels:"
    phases = ("morph merges:", "frequency merges:", f"morph merges{again}", f"frequency merges{again}")
    order = [shown.index(phase) for phase in phases]
    assert order == sorted(order)


def test_a_pair_shows_progress(inputs: dict[str, Path], tmp_path: Path):
    (tmp_path / "words.txt").write_text(" кот кота коту пёс дом дома дому", encoding="utf-8")
    counts = tmp_path / "counts.parquet"
    mws("count", tmp_path / "words.txt", "--pattern", "gpt4", "--output", counts)
    rows = json.loads(mws("explain", "--merges", 3, "--from", counts, "--json").stdout)
    parts = rows[0]["left"] + rows[0]["right"], "а"
    assert "morph merges" in on_a_terminal(command("explain", "--pair", *parts, "--from", counts))


def test_counting_parquet_shows_percent_before_its_end(inputs: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    count_files(inputs["a.parquet"], column="text", show_progress=True)
    assert capsys.readouterr().err == ""  # not a terminal
