"""The picture of a comparison: every system named once, in its colour, beside its last point."""

import pytest
from lab.cells import rows_of

pytest.importorskip("matplotlib")

from matplotlib.text import Text

from mws_hf.compare.picture import figure_of, save

ROWS = rows_of("quality")
PICTURES = [("rus", "rus.tikhonov"), ("fin", "fin.morphochallenge2010"), ("tur", "tur.morphochallenge2010")]


def rows_on(language, gold):
    return [row for row in ROWS if (row["language"], row["gold"]) == (language, gold)]


@pytest.mark.parametrize(("language", "gold"), PICTURES)
@pytest.mark.parametrize("length", ["text_fertility", "tokens_per_word"])
def test_every_system_is_named_once_beside_its_point_in_the_colour_of_its_line(language, gold, length, tmp_path):
    rows = [
        {n: v for n, v in row.items() if length == "text_fertility" or n != "text_fertility"}
        for row in rows_on(language, gold)
    ]
    figure = figure_of({"gold": rows})
    save(figure, tmp_path / "picture.png")
    (axes,) = figure.axes
    names = axes.texts
    assert sorted(text.get_text() for text in names) == sorted({row["system"] for row in rows if row.get(length)})
    assert {text.get_color() for text in names} == {line.get_color() for line in axes.lines}
    boxes = sorted(
        (Text.get_window_extent(text, figure.canvas.get_renderer()) for text in names), key=lambda box: box.y0
    )
    for below, above in zip(boxes, boxes[1:], strict=False):
        assert above.y0 >= below.y1 - 3 and figure.bbox.y0 <= below.y0 and above.y1 <= figure.bbox.y1


def test_sizes_of_a_system_are_joined_by_a_line():
    rows = rows_on(*PICTURES[1])
    lines = [line for line in figure_of({"gold": rows}).axes[0].lines if len(line.get_xdata()) > 1]
    wanted = {
        tuple(sorted((row["text_fertility"], row["f1"]) for row in rows if row["system"] == system))
        for system in {row["system"] for row in rows if row.get("text_fertility")}
    }
    assert {tuple(sorted(map(tuple, line.get_xydata().tolist()))) for line in lines} == {
        w for w in wanted if len(w) > 1
    }


def test_the_same_results_give_the_same_bytes(tmp_path):
    panels = {gold: rows_on(language, gold) for language, gold in PICTURES}
    first, second = (save(figure_of(panels), tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first == second
