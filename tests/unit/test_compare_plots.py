"""The pictures of a comparison: every system named once, in its colour, and no name over another or over a mark."""

import itertools
import json

import pytest

from tests.paths import ROOT

pytest.importorskip("matplotlib")

from mws_hf.research.compare.plots import fertility_figure, save, size_figure

ROWS = json.loads((ROOT / "scripts" / "results" / "quality.json").read_text(encoding="utf-8"))["rows"]
PICTURES = [("rus", "rus.tikhonov"), ("fin", "fin.morphochallenge2010"), ("tur", "tur.morphochallenge2010")]


def overlap(a, b):
    return min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1


@pytest.mark.parametrize(("language", "gold"), PICTURES)
@pytest.mark.parametrize("draw", [fertility_figure, size_figure])
def test_every_system_is_named_once_beside_its_line_and_names_do_not_overlap(language, gold, draw, tmp_path):
    rows = [row for row in ROWS if (row["language"], row["gold"]) == (language, gold)]
    drawn = {row["system"] for row in rows if draw is size_figure or row.get("text_fertility")}
    figure = draw(rows, "gold")
    save(figure, tmp_path / "picture.png")
    axes = figure.axes[0]
    renderer = figure.canvas.get_renderer()
    texts = [text for text in axes.texts if text.get_text()]
    (note,) = (text for text in texts if "better" in text.get_text())
    names = [text for text in texts if text is not note]
    assert sorted(text.get_text() for text in names) == sorted(drawn)
    boxes = [text.get_window_extent(renderer) for text in texts]
    assert not [pair for pair in itertools.combinations(boxes, 2) if overlap(*pair)]
    frame = axes.get_window_extent(renderer)
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1 for box in boxes)
    solid = [line for line in axes.lines if line.get_linestyle() != ":"]
    points = axes.transData.transform([point for line in solid for point in line.get_xydata()])
    assert not [at for at in points for box in boxes if box.x0 < at[0] < box.x1 and box.y0 < at[1] < box.y1]
    colours = {text.get_color() for text in names}
    assert colours <= {line.get_color() for line in axes.lines}
    assert len(colours) == len(names)


def test_sizes_of_a_system_are_joined_by_a_line():
    rows = [row for row in ROWS if (row["language"], row["gold"]) == PICTURES[1]]
    lines = [line for line in fertility_figure(rows, "gold").axes[0].lines if len(line.get_xdata()) > 1]
    wanted = {
        tuple(sorted((row["text_fertility"], row["f1"]) for row in rows if row["system"] == system))
        for system in {row["system"] for row in rows if row.get("text_fertility")}
    }
    assert {tuple(sorted(map(tuple, line.get_xydata().tolist()))) for line in lines} == wanted


def test_the_same_results_give_the_same_bytes(tmp_path):
    rows = [row for row in ROWS if (row["language"], row["gold"]) == PICTURES[2]]
    first, second = (save(fertility_figure(rows, "gold"), tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first == second
