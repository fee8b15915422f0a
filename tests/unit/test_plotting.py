"""Labels and pictures of words in any script (`tokenizer/plotting.py`): no empty boxes, no warnings per letter."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("matplotlib")

from matplotlib.ft2font import FT2Font

from mws_hf.tokenizer.explain import SpelledWord
from mws_hf.tokenizer.plotting import labels_of, plot_evidence
from tests.in_process import mws

WORDS = ["ខ្ញុំ", "ମୁଁ", "食べる", "🙂a", "кот", "naïve"]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_any_script_is_drawn_without_warnings(tmp_path, word):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("default", DeprecationWarning)  # old versions of matplotlib call deprecated functions
        plot_evidence(tmp_path / "plot.png", [SpelledWord(word, [0.5] * len(word), [1])])
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("word", WORDS)
def test_labels_are_letters_that_the_font_has_or_code_points(word, caplog):
    from matplotlib.font_manager import FontProperties, findfont

    labels, font = labels_of(word)
    known = FT2Font(findfont(FontProperties(family=font))).get_charmap()
    for letter, label in zip(word, labels, strict=True):
        assert label == (letter if ord(letter) in known else f"U+{ord(letter):04X}")
    assert ("install a font" in caplog.text) == (labels != list(word))


def test_numbers_have_a_unit(tmp_path):
    (tmp_path / "words.txt").write_text("unlock unlocks unlocked lock locks locked " * 9, encoding="utf-8")
    done = mws("explain", "unlocked", "--from", tmp_path / "words.txt", "--plot", tmp_path / "plot.svg")
    assert done.stdout.splitlines()[-1].endswith(" %")
    assert (tmp_path / "plot.svg").is_file()
