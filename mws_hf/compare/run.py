"""Compare systems: train those that are missing, segment the gold words, score them and write the tables."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import mws_hf
import mws_hf.compare.baselines as baselines
from mws_hf.atomic import check_output, write_json
from mws_hf.compare.results import Comparison, Row, flat_row, write_tables
from mws_hf.compare.systems import MWS_SYSTEMS, REFERENCE, SystemSpec, default_systems, plan
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.segmentations import Gold, GoldFiles, read_golds
from mws_hf.corpus.word_list import as_word_counts
from mws_hf.errors import MwSError, SettingError, is_installed, needed, quoted
from mws_hf.learn.setting_rules import Range, check_range
from mws_hf.scoring.boundaries import summarize, word_table
from mws_hf.scoring.ngram_model import ngram_bits, training_documents
from mws_hf.scoring.running_text import lines_of, score_text
from mws_hf.scoring.significance import bootstrap_f1, check_resamples, difference, interval
from mws_hf.text.symbols import DEFAULT_SPECIAL_TOKENS, check_special_tokens
from mws_hf.tokenizer.file import load_json
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.trainer import MwSTrainer

logger = logging.getLogger(__name__)

Segmentations = list[tuple[str, ...]]

COMPARISON_FILE = "comparison.json"
"""The file in the folder of each system with a digest of its training words, its vocabulary size and training time."""


def compare(
    counts: WordCounts | Mapping[str, int],
    gold_files: GoldFiles,
    sizes: Sequence[int],
    output: str | os.PathLike[str],
    *,
    systems: Sequence[SystemSpec] | None = None,
    text: str | os.PathLike[str] | Iterable[str] | None = None,
    bits: str | os.PathLike[str] | Iterable[str] | None = None,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    picture: bool = True,
    resamples: int = 1000,
    show_progress: bool = False,
) -> Comparison:
    """Train MwS and baselines on the same words, and score them on the same gold and text.

    Each trained tokenizer gets a folder under `output`/tokenizers. If that folder already has a tokenizer that the same
    version of mws_hf trained on the same words with the same special tokens, it is not trained again, so you can resume
    an interrupted run. The tables contain only the systems of this run. A system that rejects a vocabulary size is left
    out at this size, with a warning.

    Args:
        counts: counts of running text, in any form that `corpus.word_list.as_word_counts` takes; systems with "types"
            get each word once.
        gold_files: reference segmentations to score on: a file that `mws_hf.scoring.read_gold` understands, its result,
            or a list of these; it may be empty if `text` is given.
        sizes: vocabulary sizes.
        output: folder that gets results.json, results.md, picture.png and the tokenizers; a picture of an earlier run
            is removed.
        systems: systems to compare, as from `parse_systems`; None compares those of `DEFAULT_SYSTEMS` whose libraries
            are installed.
        text: held-out running text, a file of any kind that can be counted or a list of lines.
        bits: text to train n-gram models on, a file or a list of lines; adds the n-gram bits per byte of `text`.
        special_tokens: special tokens of all tokenizers.
        picture: whether to draw the picture; without matplotlib there is a warning, and without gold there is none.
        resamples: number of bootstrap resamples for the 95 % intervals.
        show_progress: whether to print a line on standard error for each tokenizer.

    Returns:
        All figures of the run, as in results.json.

    Raises:
        MwSError: there are no sizes, no systems, or neither gold nor text; `bits` is given without `text`; a file
            cannot be read; the counts contain markers for capitals, which baselines do not write; a library of a given
            system is not installed; no system could be trained; or a tokenizer of an earlier run is damaged.

    >>> import tempfile
    >>> from mws_hf.compare.systems import parse_systems
    >>> counts, systems = {" кот": 3, " кота": 2}, parse_systems(["characters", "bpe-character"])
    >>> result = compare(counts, [], [270], tempfile.mkdtemp(), systems=systems, text=["кот видит кота"])
    >>> [(row["system"], round(row["text"]["fertility"], 2)) for row in result.tokenizers]
    [('characters', 6.0), ('bpe-character:text', 4.33)]
    """
    check_resamples(resamples)
    check_special_tokens(special_tokens)
    check_output(output, folder=True)
    golds = read_golds(gold_files)
    _check_input(golds, sizes, systems, text, bits)
    if picture and golds and not is_installed("matplotlib"):
        logger.warning("picture.png is not drawn, because matplotlib is not installed: pip install matplotlib")
        picture = False
    counts, sizes = as_word_counts(counts).union, sorted(set(sizes))
    texts = None if text is None else _read_texts(text, bits)
    systems = default_systems(len(counts)) if systems is None else systems
    for spec in systems:
        if spec.baseline and spec.baseline.needs:
            needed(spec.baseline.needs, spec.label)
    if any(spec.baseline for spec in systems):
        baselines.check_capitals(counts)
    training = TrainedSystems(counts, Path(output), special_tokens)
    found = list(_measured(training, plan(systems, sizes), golds, texts, show_progress))
    if not found:
        raise MwSError("no system could be trained; see the warnings above for the reasons")
    comparison = Comparison(
        corpus={"types": len(counts), "running_words": counts.total, "pattern": counts.pattern},
        sizes=sizes,
        golds=[
            {
                "name": gold.name,
                "words": len(gold.words),
                "lines": gold.lines,
                "left_out": len(gold.problems),
                "remarks": gold.remarks,
            }
            for gold in golds
        ],
        tokenizers=[tokenizer for tokenizer, _ in found],
        rows=[row for gold in golds for row in _scored(gold, found, resamples)],
    )
    write_tables(comparison, Path(output))
    drawn = Path(output) / "picture.png"
    if picture and golds:
        from mws_hf.compare.picture import figure_of, save

        save(figure_of({gold.name: comparison.rows_of(gold.name) for gold in golds}), drawn)
    elif drawn.is_file():
        drawn.unlink()  # it shows the results of an earlier run
    return comparison


def _check_input(
    golds: Sequence[Gold], sizes: Sequence[int], systems: Sequence[SystemSpec] | None, text: Any, bits: Any
) -> None:
    """Raise MwSError if there is nothing to compare, sizes or systems have a wrong type, or a text is missing."""
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise SettingError("sizes", sizes, "is not a list of vocabulary sizes; give one, such as [8000, 32000]")
    if not sizes or not (golds or text is not None):
        raise MwSError(
            "there is nothing to compare; give at least one vocabulary size, and reference segmentations or a text"
        )
    if systems is not None and not systems:
        raise MwSError("there are no systems to compare; give at least one, or leave --systems out to compare most")
    if wrong := [each for each in systems or () if not isinstance(each, SystemSpec)]:
        raise MwSError(f"systems: {quoted(wrong[0])} is not a SystemSpec; give parse_systems(['mws', 'bpe'])")
    for size in sizes:
        check_range("vocab_size", size, Range(1, whole=True))
    if bits is not None and text is None:
        raise MwSError("bits per byte are measured on a held-out text; give one, too (--text)")


def _read_texts(
    text: str | os.PathLike[str] | Iterable[str], bits: str | os.PathLike[str] | Iterable[str] | None
) -> tuple[list[str], list[str] | None]:
    """Read the held-out lines and, if given, those for n-gram models; raise MwSError if they cannot be measured."""
    lines, train = lines_of(text), None if bits is None else lines_of(bits)
    if not any(lines):
        raise MwSError("the held-out text is empty; give a file with at least one line of text")
    if train is not None:
        training_documents(train, [line for line in lines if line])
    return lines, train


@dataclass
class TrainedSystems:
    """The systems that are trained on one list of words, each in its own folder.

    Attributes:
        counts: the training words.
        output: the folder whose subfolder "tokenizers" has the folders of the systems.
        special_tokens: special tokens of all systems.
    """

    counts: WordCounts
    output: Path
    special_tokens: Sequence[str]

    def directory(self, spec: SystemSpec) -> Path:
        """Return the folder of a tokenizer."""
        return self.output / "tokenizers" / spec.title

    def train(self, spec: SystemSpec) -> dict[str, Any]:
        """Train and save a system, unless it was already trained on these words; return its `COMPARISON_FILE`."""
        file = self.directory(spec) / COMPARISON_FILE
        record = _read_record(file)
        if self._training_input.items() <= record.items():
            return record
        file.unlink(missing_ok=True)
        started = time.perf_counter()
        n_tokens = (self._train_baseline if spec.baseline else self._train_mws)(spec)
        record = {**self._training_input, "n_tokens": n_tokens, "seconds": round(time.perf_counter() - started, 2)}
        write_json(file, record, indent=None)
        return record

    @cached_property
    def _training_input(self) -> dict[str, Any]:
        tokens = check_special_tokens(self.special_tokens)
        digest = hashlib.sha256(self.counts.fingerprint.encode())
        data, offsets = self.counts.utf8()
        for part in (data[offsets[0] : offsets[-1]], offsets - offsets[0], self.counts.counts):
            digest.update(part.tobytes())
        return {"words": digest.hexdigest()[:16], "special_tokens": tokens, "mws_hf": mws_hf.__version__}

    def _train_mws(self, spec: SystemSpec) -> int:
        trainer = MwSTrainer(
            **MWS_SYSTEMS[spec.name],
            vocab_size=spec.vocab_size,
            special_tokens=list(self.special_tokens),
            pattern=self.counts.pattern,
            normalization=self.counts.normalization,
            types=spec.words == "types",
            show_progress=False,
        )
        trained = trainer.trained(self.counts)
        trained.save(self.directory(spec))
        return trained.backend.get_vocab_size()

    def _train_baseline(self, spec: SystemSpec) -> int:
        counts = self.counts.as_types() if spec.words == "types" else self.counts
        trained = baselines.train(
            spec.name, counts, spec.vocab_size or 0, self.directory(spec), special_tokens=self.special_tokens
        )
        return trained.n_tokens


def _read_record(file: Path) -> dict[str, Any]:
    """Read a `COMPARISON_FILE`; return {} if there is none or it is damaged, so that the system is trained again."""
    try:
        record = load_json(file) if file.is_file() else {}
    except MwSError:
        return {}
    return record if isinstance(record, dict) and {"n_tokens", "seconds"} <= record.keys() else {}


def _measured(
    training: TrainedSystems,
    specs: Sequence[SystemSpec],
    golds: Sequence[Gold],
    texts: tuple[list[str], list[str] | None] | None,
    show_progress: bool,
) -> Iterator[tuple[dict[str, Any], dict[str, Segmentations]]]:
    """Train each system; yield its figures and the segmentation of the words of each gold file."""
    for number, spec in enumerate(specs, 1):
        if show_progress:
            sys.stderr.write(f"tokenizer {number} of {len(specs)}: {spec.title}\n")
        try:
            record = training.train(spec)
        except MwSError as error:  # a baseline may reject a size that others accept
            logger.warning("%s is left out: %s", spec.title, error)
            continue
        directory = training.directory(spec)
        opened = open_tokenizer(baselines.saved(directory), by_class=True)
        text = None if texts is None or opened.is_segmenter else _text_scores(opened, *texts)
        tokenizer = {
            "system": spec.label,
            "vocab_size": spec.vocab_size,
            "n_tokens": record["n_tokens"],
            "seconds": record["seconds"],
            "directory": directory.relative_to(training.output).as_posix(),
            "text": text,
            "bits_comparable": (text or {}).get("restored_lines") in (None, 1),
        }
        yield tokenizer, {gold.name: opened.segment_words([entry.word for entry in gold.words]) for gold in golds}


def _text_scores(opened: Opened, lines: list[str], train: list[str] | None) -> dict[str, float | None]:
    found: dict[str, Any] = asdict(score_text(opened, lines))
    if train is not None:
        bits = ngram_bits(opened, train, [line for line in lines if line])
        found |= {"bits_per_byte": bits.value, "restored_lines": float(bits.restored.mean())}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def _scored(gold: Gold, found: Sequence[tuple[dict[str, Any], dict[str, Segmentations]]], resamples: int) -> list[Row]:
    tables = [word_table(gold.words, segmentations[gold.name]) for _, segmentations in found]
    resampled = bootstrap_f1(tables, resamples)
    tokenizers = [tokenizer for tokenizer, _ in found]
    rows = []
    for tokenizer, table, drawn in zip(tokenizers, tables, resampled, strict=True):
        low, high = interval(drawn)
        scores = {"gold": gold.name, **asdict(summarize(table)), "f1_low": low, "f1_high": high}
        reference = _reference(tokenizer, tokenizers)
        if reference is not None:
            ahead = asdict(difference(tables[reference], table, resampled[reference], drawn))
            ahead["vocab_size"] = tokenizers[reference]["vocab_size"]
            scores |= {f"mws_ahead_{name}": value for name, value in ahead.items()}
        rows.append(flat_row(tokenizer, scores))
    return rows


def _reference(tokenizer: Mapping[str, Any], tokenizers: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the index of MwS with default settings at the same vocabulary size; None for MwS itself or without it.

    A system without a size is compared with MwS at the size nearest to its own number of tokens.
    """
    if tokenizer["system"] == REFERENCE:
        return None
    ours = {other["vocab_size"]: index for index, other in enumerate(tokenizers) if other["system"] == REFERENCE}
    if tokenizer["vocab_size"] is None and ours:
        return ours[min(ours, key=lambda size: abs(size - tokenizer["n_tokens"]))]
    return ours.get(tokenizer["vocab_size"])
