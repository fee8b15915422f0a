"""Describe the measures of a tokenizer: name, meaning, which direction is better, and number format.

The tables of commands, model cards and reports show some of these measures.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Measure(NamedTuple):
    """The description of a measure.

    Attributes:
        key: the attribute of `TextScores` or `BoundaryScores` that has its figure.
        name: its name in sentences and in tables for readers.
        short: its title as a column of a table in a terminal.
        about: its meaning in one line.
        better: "up", "down", or "" if neither direction is better by itself.
        form: the format of its figures, as in `format`.
    """

    key: str
    name: str
    short: str
    about: str
    better: str = ""
    form: str = ".3f"

    def cell(self, scores: Any) -> str:
        """Format the figure of this measure; `scores` is an object or a dict that has it.

        >>> TEXT["whole_words"].cell({"whole_words": 0.4567}), TEXT["fertility"].cell({"fertility": math.nan})
        ('45.7 %', '-')
        """
        value = scores.get(self.key) if isinstance(scores, dict) else getattr(scores, self.key)
        return "" if value is None else number_cell(value, self.form)


def number_cell(value: float, form: str = ".3f") -> str:
    """Format a figure; NaN means that there was nothing to measure, and becomes a dash."""
    return "-" if math.isnan(value) else format(value, form).replace("%", " %")


def _by_key(*measures: Measure) -> dict[str, Measure]:
    return {measure.key: measure for measure in measures}


GOLD = _by_key(
    Measure("f1", "F1", "F1", "boundary F1 over all words together", "up"),
    Measure("precision", "precision", "precision", "share of the split points that are boundaries", "up"),
    Measure("recall", "recall", "recall", "share of the boundaries that are split points", "up"),
    Measure("macro_f1", "macro F1", "macro F1", "F1 of precision and recall averaged over words", "up"),
    Measure("morph_f1", "morph F1", "morph F1", "F1 of whole morphs", "up"),
    Measure("exact", "words exact", "exact", "words segmented as in the gold", "up", ".1%"),
    Measure("morphscore", "MorphScore", "MorphScore", "recall of the one boundary that the gold marks", "up"),
    Measure(
        "over_segmented", "words split too often", "over", "words with more tokens than gold morphs", "down", ".1%"
    ),
    Measure(
        "under_segmented", "words split too rarely", "under", "words with fewer tokens than gold morphs", "down", ".1%"
    ),
    Measure("tokens_per_word", "tokens per gold word", "tokens/word", "tokens per gold word", "", ".2f"),
)
TEXT = _by_key(
    Measure("fertility", "tokens per word", "tokens/word", "how long text becomes; fewer is shorter", "down"),
    Measure("bytes_per_token", "bytes per token", "bytes/token", "how much text a token stands for", "up"),
    Measure("characters_per_token", "characters per token", "characters/token", "code points of a token", "up"),
    Measure("vocabulary_size", "vocabulary size", "vocabulary", "number of tokens in the vocabulary", "", ","),
    Measure("vocabulary_used", "tokens used", "used", "share of the vocabulary that occurs in the text", "up", ".1%"),
    Measure("renyi_efficiency", "Rényi efficiency", "Rényi 2.5", "evenness of token frequencies, of order 2.5"),
    Measure("next_efficiency", "next token", "next token", "evenness of the token after a token"),
    Measure("residues", "residues", "residues", "tokens that are nearly always merged into longer ones", "down", ".1%"),
    Measure("whole_words", "words whole", "words whole", "running words that are not split", "", ".1%"),
    Measure("byte_tokens", "parts of characters", "byte tokens", "tokens that are part of a character", "down", ".2%"),
    Measure("unknown_tokens", "unknown tokens", "unknown", "share of the tokens that are unknown", "down", ".2%"),
    Measure(
        "context_agreement",
        "same in context",
        "same in context",
        "words segmented in text as in isolation",
        "up",
        ".1%",
    ),
)
BITS = Measure(
    "bits_per_byte",
    "n-gram bits per byte",
    "n-gram bits/byte",
    "bits that an n-gram model of the tokens needs",
    "down",
    ".4f",
)
