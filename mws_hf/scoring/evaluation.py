"""Evaluate several tokenizers on gold files and running text, and report the results as objects, JSON or Markdown."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mws_hf.corpus.files import Reading
from mws_hf.corpus.groups import UNNAMED
from mws_hf.corpus.segmentations import Gold, GoldFiles, read_golds
from mws_hf.corpus.sources import Source
from mws_hf.errors import MwSError
from mws_hf.scoring.boundaries import summarize, word_table
from mws_hf.scoring.consistency import consistency, emma2
from mws_hf.scoring.ngram_model import NgramBits, bits_differences, ngram_bits
from mws_hf.scoring.running_text import TextScores, lines_of, score_text
from mws_hf.scoring.score_tables import RUNNING_TEXT, GoldRow, Table, gold_table, text_table
from mws_hf.scoring.significance import PairedDifference, bootstrap_f1, check_resamples, difference, interval
from mws_hf.text.phrases import counted
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.places import named_sources
from mws_hf.tokenizer.segmenting import Isolated
from mws_hf.tokenizer.training_record import labeled_words

logger = logging.getLogger(__name__)

BASELINES: dict[str, Callable[[str], tuple[str, ...]]] = {
    "(every character)": tuple,
    "(no split)": lambda word: (word,),
}


@dataclass(frozen=True, repr=False)
class EvaluationReport:
    """All results of `evaluate`.

    Attributes:
        isolated: whether gold words were encoded after a space ("space") or not ("none").
        golds: the gold files, with the lines that were left out.
        rows: scores on gold: for each file the tokenizers in the given order, then the baselines.
        text: measures on running text by tokenizer; empty without text.
        bits: n-gram bits per byte by tokenizer; empty without `bits`.
        bits_differences: differences of `bits` from the first tokenizer; None for the first tokenizer, and if there is
            no document that both decode to the original text.
    """

    isolated: str
    golds: tuple[Gold, ...]
    rows: tuple[GoldRow, ...]
    text: dict[str, TextScores] = field(default_factory=dict)
    bits: dict[str, NgramBits] = field(default_factory=dict)
    bits_differences: dict[str, PairedDifference | None] = field(default_factory=dict)

    def more_bits(self, tokenizer: str) -> str:
        """Format how many percent more bits per byte a tokenizer needs than the first one, with its 95 % interval.

        The result is "" for the first tokenizer, and if there is no document that both restore.
        """
        found = self.bits_differences[tokenizer]
        if found is None:
            return ""
        return "{:+.2f} % ({:+.2f} to {:+.2f})".format(*found.percent)

    def __repr__(self) -> str:
        """Name the tokenizers, gold files and texts; the figures are in `figures`, the tables in `to_markdown`."""
        tokenizers = ", ".join(dict.fromkeys([*self.text, *(row.tokenizer for row in self.rows)]))
        golds = [f"gold {gold.name} ({counted(len(gold.words), 'word')})" for gold in self.golds]
        texts = [f"text ({counted(scores.words, 'word')})" for scores in [*self.text.values()][:1]]
        return f"EvaluationReport({tokenizers}; {', '.join(golds + texts)})"

    def _repr_markdown_(self) -> str:
        """Return the tables that a notebook shows."""
        return self.to_markdown()

    @property
    def figures(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The figures as nested dicts: by tokenizer, then by gold file or "running text", then by measure.

        The names of measures are those of `to_dict`, such as ``f1``, ``fertility`` and ``bits_per_byte``. For example,
        `report.figures["mine"]["running text"]["fertility"]`.
        """
        whole = self.to_dict()
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for row in whole["rows"]:
            found.setdefault(row["tokenizer"], {})[row["gold"]] = {
                name: value for name, value in row.items() if name not in ("tokenizer", "gold")
            }
        for part in ("text", "bits"):
            for tokenizer, measured in whole[part].items():
                found.setdefault(tokenizer, {}).setdefault(RUNNING_TEXT, {}).update(measured)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain values for JSON."""
        golds = {
            gold.name: {
                "format": gold.format,
                "words": len(gold.words),
                "lines": gold.lines,
                "partial": gold.partial,
                "left_out": len(gold.problems),
                "labelled": gold.labeled,
                "problems": list(gold.problems[:20]),
            }
            for gold in self.golds
        }
        rows = [
            {
                "tokenizer": row.tokenizer,
                "gold": row.gold,
                **asdict(row.scores),
                "f1_low": row.interval[0],
                "f1_high": row.interval[1],
                **{f"emma2_{name}": value for name, value in asdict(row.emma2).items()},
                **{f"consistency_{name}": value for name, value in asdict(row.consistency).items()},
                "behind_best": asdict(row.behind_best) if row.behind_best else None,
            }
            for row in self.rows
        ]
        text = {name: asdict(scores) for name, scores in self.text.items()}
        bits = {
            name: {**entry.to_dict(), "difference": asdict(found) if (found := self.bits_differences[name]) else None}
            for name, entry in self.bits.items()
        }
        return {"isolated": self.isolated, "golds": golds, "rows": rows, "text": text, "bits": bits}

    def to_markdown(self) -> str:
        """Return all tables as Markdown: one for each gold file, and one for running text."""
        return "\n\n".join(table.to_markdown() for table in self.tables()) + "\n"

    def tables(self) -> list[Table]:
        """Return the tables of `to_markdown` as objects."""
        found = [gold_table(gold, [row for row in self.rows if row.gold == gold.name]) for gold in self.golds]
        return found + ([text_table(self.text, self.bits, self.bits_differences)] if self.text else [])


def evaluate(
    tokenizers: Any,
    gold: GoldFiles = (),
    text: str | os.PathLike[str] | Iterable[str] | None = None,
    *,
    bits: str | os.PathLike[str] | Iterable[str] | None = None,
    column: str | None = None,
    isolated: Isolated = "space",
    baselines: bool = True,
    resamples: int = 1000,
    gold_files: GoldFiles | None = None,
) -> EvaluationReport:
    """Score tokenizers on reference segmentations (gold) and on running text.

    Args:
        tokenizers: one tokenizer, a list of them, or a dict from names to tokenizers. A tokenizer is anything that
            `segment_words` takes: a folder, a file, a name on the Hub, a tokenizer object, or a function from a word to
            its tokens. In a list, a path is named by its last part, and an object by where it was loaded from or by its
            class.
        gold: a file in a format that `read_gold` understands, its result, or a list of these.
        text: held-out text: a file of any kind that can be counted, or a list of lines. Functions, and other models
            that split only words, are not measured on it.
        bits: text to train n-gram models on, a file or lines; adds the n-gram bits per byte of the lines of `text`.
        column: the field or column of these files that contains the text; with None it is ``text`` if there is one.
        isolated: how gold words are encoded: "space" as after a space inside a sentence, "none" as at the start of a
            text.
        baselines: whether to add rows for splitting after every character, and for no splits.
        resamples: number of bootstrap resamples for the 95 % intervals.
        gold_files: the former name of `gold`; it emits a DeprecationWarning.

    Returns:
        The report, whose `figures` are the scores by name and whose `to_markdown` has the tables.

    Raises:
        MwSError: there is nothing to score; `bits` is given without `text` or has too few lines; a file cannot be read;
            two tokenizers or two gold files have the same name, or one of them has the name of a row or table of the
            report, such as "(no split)"; or most lines of a gold file cannot be used.

    >>> from mws_hf.corpus.segmentations import GoldWord
    >>> toy = Gold("toy", "words", (GoldWord("unlocks", (("un", "lock", "s"),)),), problems=(), lines=1, partial=False)
    >>> report = evaluate({"after vowels": lambda word: ["u", "nlo", "cks"], "letters": list}, toy, baselines=False)
    >>> [(name, figures["toy"]["recall"]) for name, figures in report.figures.items()]
    [('after vowels', 0.0), ('letters', 1.0)]
    """
    if gold_files is not None:
        warnings.warn("evaluate(gold_files=...) is now evaluate(gold=...)", DeprecationWarning, stacklevel=2)
        gold = gold_files
    check_resamples(resamples)
    named, golds = named_tokenizers(tokenizers), tuple(read_golds(gold))
    how = Reading(column)
    files = [str(path) for path in (text, bits) if isinstance(path, str | os.PathLike)]
    Source(files={UNNAMED: files}, how=how).check()
    if bits is not None and text is None:
        raise MwSError("n-gram models are trained on one text and measured on another; give that one, too (--text)")
    if not named or not (golds or text is not None):
        raise MwSError(
            "there is nothing to evaluate; give at least one tokenizer, and reference segmentations or a text"
        )
    taken = {*BASELINES} & {*named} if baselines else set()
    if text is not None:
        taken |= {RUNNING_TEXT} & {reference.name for reference in golds}
    if taken:
        raise MwSError(f"{min(taken)!r} is the name of a part of the report; choose another name")
    sources = {name: open_tokenizer(source, by_class=True) for name, source in named.items()}
    labeled = frozenset[str]().union(*(labeled_words(source.record) for source in sources.values()))
    golds = tuple(reference.without(labeled) for reference in golds)
    rows = [row for reference in golds for row in _gold_rows(sources, reference, isolated, baselines, resamples)]
    encoders = {name: source for name, source in sources.items() if not source.is_segmenter}
    if not (golds or encoders):
        raise MwSError(
            "nothing can be measured on text, because everything that was given only splits words; give reference "
            "segmentations, too (--gold FILE)"
        )
    if text is not None and (segmenters := [name for name in sources if name not in encoders]):
        logger.warning("not measured on text, because they split only words: %s", ", ".join(segmenters))
    measured: dict[str, NgramBits] = {}
    lines = [] if text is None else lines_of(text, how)
    text_scores = {name: score_text(encoder, lines) for name, encoder in encoders.items() if text is not None}
    if bits is not None:
        train, held_out = lines_of(bits, how), [line for line in lines if line]
        measured = {name: ngram_bits(encoder, train, held_out) for name, encoder in encoders.items()}
    differences = bits_differences(measured, resamples=resamples)
    return EvaluationReport(isolated, golds, tuple(rows), text_scores, measured, differences)


def named_tokenizers(given: Any) -> dict[str, Any]:
    """Name the tokenizers that `evaluate` gets; its description says how.

    Raises:
        MwSError: two paths have the same last part.

    >>> named_tokenizers("out/one"), [*named_tokenizers(["out/one", list, list])]
    ({'one': 'out/one'}, ['one', 'list', 'list 2'])
    """
    if isinstance(given, Mapping):
        return {str(name): source for name, source in given.items()}
    if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Iterable):
        given = [given]
    several = list(given)
    paths = (each for each in several if isinstance(each, str | os.PathLike))
    advice = "pass a dict from names of your choice to the tokenizers"
    found: dict[str, Any] = {**named_sources(paths, advice=advice)}
    ordered: dict[str, Any] = {}
    for source in several:
        if isinstance(source, str | os.PathLike):
            name = next(iter(named_sources([source])))
            ordered[name] = found[name]
            continue
        name = first = _name_of(source)
        number = 1
        while name in found:
            number += 1
            name = f"{first} {number}"
        found[name] = ordered[name] = source
    return ordered


def _name_of(source: Any) -> str:
    """Name an object by the last part of the path it was loaded from, or by its own name (a function) or its class."""
    place = getattr(source, "name_or_path", "") or getattr(source, "name", "")
    return Path(str(place)).name or str(getattr(source, "__name__", type(source).__name__))


def _gold_rows(
    sources: Mapping[str, Opened], gold: Gold, isolated: Isolated, baselines: bool, resamples: int
) -> list[GoldRow]:
    """Score each tokenizer, and if asked for each of `BASELINES`, on one gold file."""
    words = [entry.word for entry in gold.words]
    predicted = {name: source.segment_words(words, isolated) for name, source in sources.items()}
    if baselines:
        predicted.update((name, [function(word) for word in words]) for name, function in BASELINES.items())
    tables = {name: word_table(gold.words, pieces) for name, pieces in predicted.items()}
    resampled = dict(zip(tables, bootstrap_f1(list(tables.values()), resamples), strict=True))
    scores = {name: summarize(table) for name, table in tables.items()}
    best = max(sources, key=lambda name: scores[name].f1)
    behind = {
        name: difference(tables[best], tables[name], resampled[best], resampled[name])
        for name in sources
        if name != best
    }
    return [
        GoldRow(
            tokenizer=name,
            gold=gold.name,
            scores=scores[name],
            interval=interval(resampled[name]),
            emma2=emma2(gold.words, predicted[name]),
            consistency=consistency(gold.words, predicted[name]),
            behind_best=behind.get(name),
        )
        for name in tables
    ]
