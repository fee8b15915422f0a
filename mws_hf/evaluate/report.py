"""The whole evaluation: tokenizers x gold files (x running text) as one report, as a dictionary or Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.evaluate.boundaries import WordTable, summarize, word_table
from mws_hf.evaluate.consistency import emma2
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.evaluate.gold import Gold, read_gold
from mws_hf.evaluate.ngram_bits import NgramBits, bits_differences, ngram_bits
from mws_hf.evaluate.paired import PairedDifference
from mws_hf.evaluate.running_text import TextScores, read_lines, score_text
from mws_hf.evaluate.segment import Isolated, every_character, is_plain_function, no_cut, segment_words
from mws_hf.evaluate.significance import Difference, bootstrap_f1, difference, interval
from mws_hf.evaluate.tables import GoldRow, gold_markdown, text_markdown

BASELINES = {"(every character)": every_character, "(no cut)": no_cut}


@dataclass(frozen=True)
class EvaluationReport:
    """Everything `evaluate` measured.

    Attributes:
        isolated: how gold words were given to the tokenizers.
        golds: the gold files read, with the lines left out of each.
        rows: gold by gold, tokenizers in the order given, then the baselines.
        text: running-text measures by tokenizer; empty without text.
        bits: n-gram bits per byte by tokenizer; empty unless asked for.
        bits_differences: of `bits` to the first tokenizer; None for the first itself, and where nothing is comparable.
    """

    isolated: str
    golds: tuple[Gold, ...]
    rows: tuple[GoldRow, ...]
    text: dict[str, TextScores] = field(default_factory=dict)
    bits: dict[str, NgramBits] = field(default_factory=dict)
    bits_differences: dict[str, PairedDifference | None] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        golds = {
            gold.name: {
                "format": gold.format,
                "words": len(gold.words),
                "lines": gold.lines,
                "partial": gold.partial,
                "left_out": len(gold.problems),
                "problems": list(gold.problems[:20]),
            }
            for gold in self.golds
        }
        rows = [
            {
                "tokenizer": row.tokenizer,
                "gold": row.gold,
                **row.scores.to_dict(),
                "f1_low": row.interval[0],
                "f1_high": row.interval[1],
                **{f"emma2_{name}": value for name, value in asdict(row.emma2).items()},
                "behind_best": asdict(row.behind_best) if row.behind_best else None,
            }
            for row in self.rows
        ]
        text = {name: scores.to_dict() for name, scores in self.text.items()}
        bits = {
            name: {**entry.to_dict(), "difference": asdict(found) if (found := self.bits_differences[name]) else None}
            for name, entry in self.bits.items()
        }
        return {"isolated": self.isolated, "golds": golds, "rows": rows, "text": text, "bits": bits}

    def to_markdown(self) -> str:
        """Tables for people: one a gold file, one for the text."""
        parts = [gold_markdown(gold, [row for row in self.rows if row.gold == gold.name]) for gold in self.golds]
        if self.text:
            parts.append(text_markdown(self.text, self.bits, self.bits_differences))
        return "\n\n".join(parts) + "\n"


def evaluate(
    tokenizers: Mapping[str, Any] | Sequence[str | os.PathLike[str]],
    gold_files: Sequence[str | os.PathLike[str]] = (),
    text: str | os.PathLike[str] | Iterable[str] | None = None,
    *,
    bits: str | os.PathLike[str] | Iterable[str] | None = None,
    isolated: Isolated = "space",
    baselines: bool = True,
    resamples: int = 1000,
) -> EvaluationReport:
    """Score tokenizers on gold segmentations and running text.

    Args:
        tokenizers: name -> anything `segment_words` takes (directory, tokenizer object, function ``word -> pieces``),
            or a list of directories, named by their last part.
        gold_files: files `read_gold` understands.
        text: a UTF-8 file (gzip allowed) or lines; plain functions are left out of it.
        bits: text to train n-gram models on, a file or lines; gives n-gram bits per byte of `text`, a line a document.
        isolated: "space" (as after a space inside a sentence) or "none".
        baselines: add the rows that cut everywhere and nowhere.
        resamples: bootstrap resamples for the 95 % intervals.

    Raises:
        MwSError: nothing to score, `bits` without `text` or too few lines for it, unreadable files, two tokenizers
            or two gold files of one name.
    """
    named = tokenizers if isinstance(tokenizers, Mapping) else _named(tokenizers)
    if bits is not None and text is None:
        raise MwSError("bits per byte need text to train on and other text to measure; give the latter too (--text)")
    if not named or not (gold_files or text is not None):
        raise MwSError("nothing to evaluate; give at least one tokenizer, and a gold file or a text")
    golds = tuple(read_gold(path) for path in gold_files)
    if len({gold.name for gold in golds}) < len(golds):
        raise MwSError(f"two gold files share a name: {[gold.name for gold in golds]}; rename one")
    sources = {name: source if is_plain_function(source) else load_encoder(source) for name, source in named.items()}
    rows = [row for gold in golds for row in _gold_rows(sources, gold, isolated, baselines, resamples)]
    encoders = {name: source for name, source in sources.items() if not is_plain_function(source)}
    text_scores: dict[str, TextScores] = {}
    measured: dict[str, NgramBits] = {}
    if text is not None:
        lines = _lines(text)
        text_scores = {name: score_text(encoder, lines) for name, encoder in encoders.items()}
        if bits is not None:
            train, held_out = _lines(bits), [line for line in lines if line]
            measured = {name: ngram_bits(encoder, train, held_out) for name, encoder in encoders.items()}
    differences = bits_differences(measured, resamples=resamples)
    return EvaluationReport(isolated, golds, tuple(rows), text_scores, measured, differences)


def _lines(text: str | os.PathLike[str] | Iterable[str]) -> list[str]:
    return list(read_lines(text) if isinstance(text, str | os.PathLike) else text)


def _named(directories: Sequence[str | os.PathLike[str]]) -> dict[str, Path]:
    paths = [Path(directory) for directory in directories]
    named = {path.resolve().name: path for path in paths}
    if len(named) < len(paths):
        raise MwSError(f"two tokenizers share a name: {[str(path) for path in paths]}; write NAME=DIR")
    return named


def _gold_rows(
    sources: Mapping[str, Any], gold: Gold, isolated: Isolated, baselines: bool, resamples: int
) -> list[GoldRow]:
    words = [entry.word for entry in gold.words]
    cuts = {name: segment_words(source, words, isolated=isolated) for name, source in sources.items()}
    if baselines:
        cuts.update((name, [function(word) for word in words]) for name, function in BASELINES.items())
    tables = {name: word_table(gold.words, pieces) for name, pieces in cuts.items()}
    resampled = dict(zip(tables, bootstrap_f1(list(tables.values()), resamples), strict=True))
    scores = {name: summarize(table) for name, table in tables.items()}
    best = max(sources, key=lambda name: scores[name].f1)

    def behind(name: str, table: WordTable) -> Difference | None:
        if name == best or name not in sources:
            return None
        return difference(tables[best], table, resampled[best], resampled[name])

    return [
        GoldRow(
            tokenizer=name,
            gold=gold.name,
            scores=scores[name],
            interval=interval(resampled[name]),
            emma2=emma2(gold.words, cuts[name]),
            behind_best=behind(name, table),
        )
        for name, table in tables.items()
    ]
