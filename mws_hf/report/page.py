"""Evaluate tokenizers, and write the report as one HTML file of limited size that needs no network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

import mws_hf
from mws_hf.corpus.segmentations import Gold
from mws_hf.errors import MwSError, printable
from mws_hf.report.differences import comparisons, most_different_lines, parity
from mws_hf.report.entries import TrainingEvidence, WordProbabilities, entries_of, known_words, packed_within
from mws_hf.report.html import packaged, templates
from mws_hf.report.pictures import COLORS, Point, bars, scatter
from mws_hf.scoring.evaluation import EvaluationReport, evaluate
from mws_hf.scoring.measures import BITS, GOLD, TEXT, number_cell
from mws_hf.scoring.running_text import TextScores, score_text
from mws_hf.text.phrases import counted, token_change
from mws_hf.tokenizer.opened import Opened

MAX_PAGE_BYTES = 1_000_000
_MAX_VOCABULARY_BYTES = 800_000
"""Maximum size in bytes of the packed vocabularies of all tokenizers together."""
_MAX_WORDS, _MAX_LINES, _MAX_LINE_CHARACTERS = 60, 12, 400
_TEXT_MEASURES = ("vocabulary_size", "fertility", "bytes_per_token", "whole_words", "vocabulary_used", "byte_tokens")


class Cell(NamedTuple):
    """A cell of a row: a figure of a tokenizer, the line below it, and whether it is the best figure of the row."""

    figure: str
    below: str = ""
    is_best: bool = False


class MeasureRow(NamedTuple):
    """A row of the first table: the title of a measure, its explanation, and the cells of all tokenizers."""

    title: str
    about: str
    cells: Sequence[Cell]


def marked(figures: Sequence[str], below: Sequence[str], better: str) -> list[Cell]:
    """Return the cells of a measure, with the best ones marked, unless all figures are equal as they are formatted.

    Args:
        figures: the formatted figures; a dash for a tokenizer that was not measured.
        below: the lines below them.
        better: "up" if higher is better, "down" if lower is; with "" no cell is marked.

    >>> [cell.is_best for cell in marked(["0.50", "-", "0.70", "0.70"], [""] * 4, "up")]
    [False, False, True, True]
    """
    values = [None if figure in ("", "-") else float(figure.replace(",", "").replace("%", "")) for figure in figures]
    known = {value for value in values if value is not None}
    best = (max(known) if better == "up" else min(known)) if better and len(known) > 1 else None
    return [
        Cell(figure, line, value is not None and value == best)
        for figure, line, value in zip(figures, below, values, strict=True)
    ]


def text_rows(keys: Iterable[str], scores: Sequence[TextScores | None]) -> list[MeasureRow]:
    """Return a row for each measure of running text; a tokenizer whose scores are None gets a dash."""
    return [
        MeasureRow(measure.name, measure.about, marked(figures, [""] * len(figures), measure.better))
        for measure in (TEXT[key] for key in keys)
        for figures in [[measure.cell(each) if each else "-" for each in scores]]
    ]


def outcome(report: EvaluationReport, names: Sequence[str]) -> list[str]:
    """Compare the first tokenizer with each of the others, in one sentence per gold file: F1, and length of all texts.

    A sentence says so if the 95 % intervals of F1 overlap. Without gold, it is only about the length.
    """
    first, *others = names
    found = []
    for other in others:
        before, after = (report.text[name].tokens if name in report.text else 0 for name in (other, first))
        length = f" for {token_change(before, after)}" if before and after else ""
        rows = [{row.tokenizer: row for row in report.rows if row.gold == gold.name} for gold in report.golds]
        for gold, by_name in zip(report.golds, rows, strict=True):
            one, two = by_name[first], by_name[other]
            gain = one.scores.f1 - two.scores.f1
            of = f" on {gold.name}" if len(report.golds) > 1 else ""
            how = f"{gain:+.3f} F1 over {other}" if gain >= 0 else f"{-gain:.3f} F1 below {other}"
            overlap = one.interval[0] <= two.interval[1] and two.interval[0] <= one.interval[1]
            remark = " (their 95 % intervals overlap)" if overlap else ""
            found.append(f"{first}: {how}{of}{remark}{length}.")
        if not rows and length:
            found.append(f"{first} needs {token_change(before, after, other)}.")
    return found


def report_page(
    systems: Sequence[Opened],
    golds: Sequence[Path],
    texts: Mapping[str, Sequence[str]],
    bits: Path | None = None,
    parallel: bool = False,
    evidence: TrainingEvidence | None = None,
) -> str:
    """Evaluate tokenizers and return the HTML of the report, which compares the first one with each of the others.

    Tokenizers that can only split words come after those that encode text.

    Args:
        systems: the tokenizers; those that split only words are scored only on gold.
        golds: files of reference segmentations.
        texts: the lines of each text, by name.
        bits: text to train n-gram models on, which measure the bits per byte of all texts together.
        parallel: whether the texts are translations of each other, line by line.
        evidence: boundary probabilities of a training, which the table of tokens shows. They are averaged over those
            words of the texts that are also training words; without text, over such gold words.

    Returns:
        The page, of less than `MAX_PAGE_BYTES` bytes in UTF-8.

    Raises:
        MwSError: there is no tokenizer, a file cannot be read, a text is empty, parallel texts are fewer than two or
            have different numbers of lines, or the page would be larger than `MAX_PAGE_BYTES`.
    """
    if not systems:
        raise MwSError("there is no tokenizer to report on; give at least one")
    _check_texts(texts, parallel)
    lines = [line for text in texts.values() for line in text]
    tokenizers = [opened for opened in systems if not opened.is_segmenter]
    shown = [opened.name for opened in tokenizers]
    names = shown + [opened.name for opened in systems if opened.is_segmenter]
    report = evaluate({opened.name: opened for opened in systems}, golds, lines or None, bits=bits, baselines=False)
    by_text = texts.items() if len(texts) > 1 else ()
    scores = {name: {each.name: score_text(each, text) for each in tokenizers} for name, text in by_text}
    measured = lines or [entry.word for gold in report.golds for entry in gold.words]
    words = known_words(measured, evidence) if evidence else {}
    gold = {entry.word: entry.segmentations for each in report.golds for entry in each.words}
    text = "\n".join(lines or gold)
    return _filled_page(
        version=mws_hf.__version__,
        names=names,
        shown=shown,
        colors=[COLORS[at % len(COLORS)] for at in range(len(names))],
        measures=measure_rows(report, names, parity(scores, parallel), parallel),
        sources=_measured_on(report, texts, bits),
        pictures=pictures(report, scores),
        by_text={
            name: [
                (TEXT["fertility"].cell(each), TEXT["bytes_per_token"].cell(each), f"{each.tokens:,}")
                for each in row.values()
            ]
            for name, row in scores.items()
        },
        outcome=outcome(report, names),
        compared=[
            each._replace(words=each.words[:_MAX_WORDS])
            for each in (comparisons(tokenizers, text, gold) if len(tokenizers) > 1 else ())
        ],
        lines=most_different_lines(tokenizers, lines, _MAX_LINES, _MAX_LINE_CHARACTERS) if len(tokenizers) > 1 else [],
        vocabularies=_vocabularies(tokenizers, lines, report.golds, words),
        has_gold=bool(report.golds),
        has_text=bool(lines),
        evidence=evidence.source if evidence and words else "",
    )


def _check_texts(texts: Mapping[str, Sequence[str]], parallel: bool) -> None:
    """Raise MwSError if a text is empty, or if texts that are said to be parallel cannot be."""
    for name, text in texts.items():
        if not any(text):
            raise MwSError(f"{name}: this text is empty; give a file with at least one line of text, or leave it out")
    if not parallel:
        return
    if len(texts) < 2:
        raise MwSError("parallel texts are compared with each other; give at least two texts (--text)")
    if len({len(text) for text in texts.values()}) > 1:
        sizes = ", ".join(f"{name} {len(text):,}" for name, text in texts.items())
        raise MwSError(
            "parallel texts must have the same number of lines, not counting empty ones, but there are: "
            f"{sizes} lines; align them"
        )


def _vocabularies(
    tokenizers: Sequence[Opened], lines: Sequence[str], golds: Sequence[Gold], words: WordProbabilities
) -> list[dict[str, Any]]:
    """Return the packed table of tokens of each tokenizer; all tables get an equal share of the allowed bytes."""
    share = _MAX_VOCABULARY_BYTES // max(1, len(tokenizers))
    found = []
    for opened in tokenizers:
        entries = entries_of(opened, lines, golds, words)
        packed, kept = packed_within(entries, share)
        found.append({"name": opened.name, "data": packed, "kept": kept, "all": len(entries)})
    return found


def measure_rows(
    report: EvaluationReport, names: Sequence[str], ratios: Mapping[str, float], parallel: bool
) -> list[MeasureRow]:
    """Return the rows of the first table, without measures that have no figures.

    Args:
        report: the evaluation.
        names: the tokenizers in the order of the cells.
        ratios: the result of `parity`.
        parallel: whether `parity` compared numbers of tokens.
    """
    found = []
    for gold in report.golds:
        rows = {row.tokenizer: row for row in report.rows if row.gold == gold.name}
        figures = [GOLD["f1"].cell(rows[n].scores) for n in names]
        below = [f"{rows[n].interval[0]:.3f} to {rows[n].interval[1]:.3f}" for n in names]
        about = f"{GOLD['f1'].about}, on {counted(len(gold.words), 'word')}, with its 95 % interval; higher is better"
        found.append(MeasureRow(f"{GOLD['f1'].name}, {gold.name}", about, marked(figures, below, "up")))
    found += text_rows(_TEXT_MEASURES, [report.text.get(name) for name in names]) if report.text else []
    if report.bits:
        bits = report.bits
        figures = [number_cell(bits[n].value, BITS.form) if n in bits else "-" for n in names]
        below = [report.more_bits(n) if n in bits else "" for n in names]
        about = f"{BITS.about}; fewer is better; below: difference from the first tokenizer with its 95 % interval"
        found.append(MeasureRow(BITS.name, about, marked(figures, below, "down")))
    if ratios:
        by = "tokens" if parallel else "tokens per word"
        about = f"the most {by} of a text, divided by the fewest; 1 means that all texts need equally many"
        figures = [f"{ratios[n]:.2f}" if n in ratios else "-" for n in names]
        found.append(MeasureRow("parity", about, marked(figures, [""] * len(names), "down")))
    return found


def pictures(report: EvaluationReport, scores: Mapping[str, Mapping[str, TextScores]]) -> list[tuple[str, Markup]]:
    """Draw the pictures and their titles: boundary F1 by length for each reference file, and length by text."""
    found = []
    for gold in report.golds if report.text else ():
        points = [
            Point(row.tokenizer, report.text[row.tokenizer].fertility, row.scores.f1, *row.interval)
            for row in report.rows
            if row.gold == gold.name
            and row.tokenizer in report.text
            and not math.isnan(report.text[row.tokenizer].fertility)
        ]
        if points:
            svg = scatter(points, "tokens per word of the text (fewer is shorter)", "boundary F1")
            found.append((f"Boundary F1 on {gold.name} by length of the text; upper left is best", svg))
    if scores:
        lengths = {text: {name: each.bytes_per_token for name, each in row.items()} for text, row in scores.items()}
        found.append(("Bytes per token, by text; a longer bar means fewer tokens", bars(lengths, "bytes per token")))
    return found


def _measured_on(report: EvaluationReport, texts: Mapping[str, Sequence[str]], bits: Path | None) -> list[str]:
    """Return sentences about the reference segmentations and texts on which the tokenizers were measured."""
    sentences = [
        f"Gold {gold.name}: {'; '.join([counted(len(gold.words), 'word'), *gold.remarks])}." for gold in report.golds
    ]
    sentences += [f"Text {name}: {counted(len(lines), 'line')}." for name, lines in texts.items()]
    return sentences + ([f"n-gram models were trained on {bits.name}."] if bits else [])


def _filled_page(**values: Any) -> str:
    style, script = (Markup(packaged(name)) for name in ("page.css", "page.js"))
    page = printable(templates().get_template("page.html").render(style=style, script=script, **values), keep="\n\t")
    if len(page.encode()) >= MAX_PAGE_BYTES:
        raise MwSError(f"the page would have {len(page.encode()):,} bytes; give fewer tokenizers or texts")
    return page
