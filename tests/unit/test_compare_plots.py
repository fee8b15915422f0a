"""The pictures of a comparison: every system named once, in its colour, beside the picture."""

import pytest
from lab.cells import rows_of

pytest.importorskip("matplotlib")

from mws_hf.research.compare.plots import fertility_figure, save, size_figure

ROWS = rows_of("quality")
PICTURES = [("rus", "rus.tikhonov"), ("fin", "fin.morphochallenge2010"), ("tur", "tur.morphochallenge2010")]


@pytest.mark.parametrize(("language", "gold"), PICTURES)
@pytest.mark.parametrize("draw", [fertility_figure, size_figure])
def test_every_system_is_named_once_beside_the_picture_in_the_colour_of_its_line(language, gold, draw, tmp_path):
    rows = [row for row in ROWS if (row["language"], row["gold"]) == (language, gold)]
    drawn = {row["system"] for row in rows if draw is size_figure or row.get("text_fertility")}
    figure = draw(rows, "gold")
    save(figure, tmp_path / "picture.png")
    (axes,), (legend,) = figure.axes, figure.legends
    assert "better" in legend.get_title().get_text()
    names = legend.get_texts()
    assert sorted(text.get_text() for text in names) == sorted(drawn)
    box, frame = (part.get_window_extent(figure.canvas.get_renderer()) for part in (legend, axes))
    assert frame.x1 <= box.x0 and box.x1 <= figure.bbox.x1 and figure.bbox.y0 <= box.y0
    colours = {text.get_color() for text in names}
    assert colours == {line.get_color() for line in axes.lines}
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
