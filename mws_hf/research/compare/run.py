"""The comparison itself: train what the cache lacks, cut the gold words, score, and write everything."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.segmentations import Gold, read_gold, read_golds
from mws_hf.corpus.word_list import as_word_counts
from mws_hf.errors import MwSError
from mws_hf.evaluate.boundaries import summarize, word_table
from mws_hf.evaluate.ngram_bits import ngram_bits
from mws_hf.evaluate.running_text import lines_of, score_text
from mws_hf.evaluate.significance import bootstrap_f1, difference, interval
from mws_hf.learn.described import Range, check_range
from mws_hf.learn.settings import CriterionSettings
from mws_hf.research import baselines
from mws_hf.research.compare.cache import TRAINING, ResultCache, counts_digest, text_record
from mws_hf.research.compare.plan import MWS_SYSTEMS, Job, SystemSpec, default_systems, parse_systems, plan
from mws_hf.research.compare.results import RESULTS_FILE, Comparison, CutExample, Row, TokenizerRow, write_tables
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.trainer import MwSTrainer

if TYPE_CHECKING:
    from mws_hf.learn.contextual import Evidence

logger = logging.getLogger(__name__)

REFERENCE = "mws"
_EXAMPLES = 6
_EXAMPLE_SIZE = 8000

Cuts = list[tuple[str, ...]]


def compare(
    counts: WordCounts | Mapping[str, int],
    gold_files: Sequence[str | os.PathLike[str]],
    sizes: Sequence[int],
    output: str | os.PathLike[str],
    *,
    systems: Sequence[SystemSpec] | None = None,
    text: str | os.PathLike[str] | Iterable[str] | None = None,
    bits: str | os.PathLike[str] | Iterable[str] | None = None,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    plots: bool = True,
    resamples: int = 1000,
    show_progress: bool = False,
) -> Comparison:
    """Train MwS and its rivals on the same words and score them on the same gold and text.

    Trained tokenizers are kept under `output`/cache, by content: a broken run resumes, a repeated one scores only. What
    earlier runs into `output` learnt from the same words stays in the tables, and so do their gold files: all systems
    are scored on all of them. Running text is what this run gives.

    Args:
        counts: running-text counts, in any form that `corpus.word_list.as_word_counts` takes; systems marked "types"
            see each form once.
        gold_files: files that `mws_hf.evaluate.read_gold` understands; used for scoring alone. None are needed where
            there is `text`: then length, and with `bits` bits per byte, are compared.
        sizes: vocabulary sizes.
        output: folder that gets results.json, results.csv, results.md, the plots, and the cache.
        systems: systems to compare; None: `DEFAULT_SYSTEMS` as far as their libraries are installed.
        text: held-out running text, a UTF-8 file (gzip allowed) or lines.
        bits: text to train n-gram models on, a file or lines; gives n-gram bits per byte of `text`, a line a document.
        special_tokens: special tokens of all tokenizers.
        plots: whether to draw plots (needs matplotlib; without it a warning says so).
        resamples: bootstrap resamples for the 95 % intervals.
        show_progress: progress on stderr.

    Raises:
        MwSError: there are no sizes, neither gold nor text, unreadable files, a library that an asked-for system needs
            is absent.
    """
    if not sizes or not (gold_files or text is not None):
        raise MwSError("nothing to compare; give at least one vocabulary size, and gold segmentations or a text")
    for size in sizes:
        check_range("vocab_size", size, Range(1, whole=True))
    if bits is not None and text is None:
        raise MwSError("bits per byte are those of a held-out text; give that too (--text)")
    golds, counts = read_golds(gold_files), as_word_counts(counts)
    texts = None if text is None else (lines_of(text), None if bits is None else lines_of(bits))
    folder = Path(output)
    corpus = {"types": len(counts), "running_words": counts.total, "pattern": counts.pattern}
    cache = ResultCache(folder / "cache", counts_digest(counts), tuple(special_tokens))
    files = {gold.name: os.path.relpath(file, folder) for gold, file in zip(golds, gold_files, strict=True)}
    earlier_jobs, earlier_files = _earlier(folder, corpus)
    golds = [*_still_there(folder, {name: earlier_files[name] for name in earlier_files if name not in files}), *golds]
    files = earlier_files | files
    jobs = plan(_installed(systems), sorted(set(sizes)))
    jobs = [*(job for job in earlier_jobs if job not in jobs and cache.read(job, TRAINING) is not None), *jobs]
    all_sizes = sorted({job.vocab_size for job in jobs if job.vocab_size} | set(sizes))
    training = TrainedSystem(counts, cache, fallback_size=max(all_sizes))
    with _ticking(jobs, show_progress) as bar:
        measured = [(job, *_measure(job, cache, golds, texts)) for job in _trained(bar, training)]
    tokenizers = [_tokenizer_row(job, cache, folder, scores) for job, _, scores in measured]
    cuts = [pieces for _, pieces, _ in measured]
    if not tokenizers:
        raise MwSError("no system could be trained; the warnings say why")
    comparison = Comparison(
        corpus=corpus,
        sizes=all_sizes,
        golds=[_about(gold, files[gold.name]) for gold in golds],
        tokenizers=tokenizers,
        rows=[
            row for gold in golds for row in _scored(gold, tokenizers, [each[gold.name] for each in cuts], resamples)
        ],
        examples=[_example(gold, tokenizers, [each[gold.name] for each in cuts], all_sizes) for gold in golds],
    )
    write_tables(comparison, folder)
    if plots:
        from mws_hf.research.compare.plots import write_plots

        write_plots(comparison, folder)
    return comparison


@dataclass
class TrainedSystem:
    """The settings of one run's trainings from one word list; systems without a size are given `fallback_size`."""

    counts: WordCounts
    cache: ResultCache
    fallback_size: int
    _evidence: Evidence | None = field(default=None, init=False, repr=False)
    _evidence_seconds: float = field(default=0.0, init=False, repr=False)

    def train(self, job: Job) -> None:
        """Train and save, unless the cache has the tokenizer; the seconds kept are those of a training alone."""
        if self.cache.read(job, TRAINING) is not None:
            return
        directory = self.cache.directory(job)
        n_tokens, seconds = self._train_mws(job, directory) if job.spec.is_mws else self._train_rival(job, directory)
        self.cache.write(job, TRAINING, {"seconds": round(seconds, 2), "n_tokens": n_tokens})

    def _train_mws(self, job: Job, directory: Path) -> tuple[int, float]:
        trainer = MwSTrainer(
            **MWS_SYSTEMS[job.spec.name],
            vocab_size=job.vocab_size,
            special_tokens=list(self.cache.special_tokens),
            pattern=self.counts.pattern,
            normalization=self.counts.normalization,
            types=job.spec.words == "types",
            show_progress=False,
        )
        evidence = self._evidence_for(trainer.settings)
        started = time.perf_counter()
        trained = trainer.trained(self.counts, evidence=evidence)
        trained.save(directory)
        seconds = time.perf_counter() - started
        used = trained.training.evidence.value is not None
        return trained.backend.get_vocab_size(), seconds + self._evidence_seconds if used else seconds

    def _evidence_for(self, settings: CriterionSettings) -> Evidence | None:
        """Find the evidence once for the whole run: it depends on neither vocabulary size nor composition."""
        if settings.evidence is None:
            return None
        if self._evidence is None:
            from mws_hf.learn.multilingual import find_evidence

            started = time.perf_counter()
            self._evidence = find_evidence(self.counts, settings.evidence)
            self._evidence_seconds = time.perf_counter() - started
        return self._evidence

    def _train_rival(self, job: Job, directory: Path) -> tuple[int, float]:
        started = time.perf_counter()
        trained = baselines.train(
            job.spec.name,
            self.counts.as_types() if job.spec.words == "types" else self.counts,
            job.vocab_size or self.fallback_size,
            directory,
            special_tokens=self.cache.special_tokens,
        )
        return trained.n_tokens, time.perf_counter() - started


def _earlier(folder: Path, corpus: Mapping[str, Any]) -> tuple[list[Job], dict[str, str]]:
    """Return the jobs and the gold files by name of the last table in the folder, if it is of the same corpus."""
    try:
        table = json.loads((folder / RESULTS_FILE).read_text(encoding="utf-8"))
        if table["corpus"] == corpus:
            rows = [(row["system"], row["vocab_size"]) for row in table["tokenizers"]]
            jobs = [Job(parse_systems([system])[0], size) for system, size in rows]
            return jobs, {gold["name"]: gold["file"] for gold in table["golds"] if "file" in gold}
    except (OSError, ValueError, KeyError, TypeError, MwSError):  # none, or of another version
        pass
    return [], {}


def _still_there(folder: Path, files: Mapping[str, str]) -> Iterator[Gold]:
    """Read gold files of an earlier run; a file that cannot be read any more is left out, with a warning."""
    for name, file in files.items():
        try:
            yield read_gold(folder / file)
        except MwSError as error:
            logger.warning("%s, gold of an earlier run, is left out: %s", name, error)


@contextmanager
def _ticking(jobs: Sequence[Job], show_progress: bool) -> Iterator[tqdm[Job]]:
    """Make a bar over jobs that counts the seconds of a long job too."""
    done = threading.Event()
    with tqdm(jobs, desc="compare", unit="tokenizer", disable=None if show_progress else True) as bar:

        def tick() -> None:
            while not done.wait(1):
                bar.refresh()

        ticker = threading.Thread(target=tick, daemon=True)
        if not bar.disable:
            ticker.start()
        try:
            yield bar
        finally:
            done.set()
            if ticker.is_alive():
                ticker.join()


def _trained(bar: tqdm[Job], training: TrainedSystem) -> Iterator[Job]:
    """Yield each job once it is trained; a job that cannot be is left out, with a warning."""
    for job in bar:
        bar.set_postfix_str(f"{job.title}, training")
        try:
            training.train(job)
        except MwSError as error:  # one rival may refuse a size that suits the others
            logger.warning("%s is left out: %s", job.title, error)
            continue
        bar.set_postfix_str(f"{job.title}, scoring")
        yield job


def _installed(systems: Sequence[SystemSpec] | None) -> list[SystemSpec]:
    if systems is None:
        return default_systems()
    for spec in systems:
        if not spec.installed:
            raise MwSError(f"{spec.label} needs a library that is not installed; pip install sentencepiece morfessor")
    return list(systems)


def _measure(
    job: Job, cache: ResultCache, golds: Sequence[Gold], texts: tuple[list[str], list[str] | None] | None
) -> tuple[dict[str, Cuts], dict[str, float | None] | None]:
    directory = cache.directory(job)
    source = open_tokenizer(directory, by_class=True) if job.spec.is_mws else baselines.load(directory).source
    cuts = {gold.name: source.cut([entry.word for entry in gold.words]) for gold in golds}
    if texts is None or source.is_segmenter:
        return cuts, None
    lines, train = texts
    what = text_record(lines, train or ())
    if (scores := cache.read(job, what)) is None:
        found = asdict(score_text(source, lines))
        if train is not None:
            bits = ngram_bits(source, train, [line for line in lines if line])
            found |= {"bits_per_byte": bits.value, "restored_lines": float(bits.restored.mean())}
        cache.write(job, what, found)
        scores = cache.read(job, what)
    return cuts, scores


def _tokenizer_row(job: Job, cache: ResultCache, folder: Path, text: dict[str, float | None] | None) -> TokenizerRow:
    training = cache.read(job, TRAINING) or {}
    directory = cache.directory(job).relative_to(folder).as_posix()
    return TokenizerRow(
        job.spec.label, job.vocab_size, int(training["n_tokens"]), float(training["seconds"]), directory, text
    )


def _about(gold: Gold, file: str) -> dict[str, Any]:
    left_out = len(gold.problems)
    return {"name": gold.name, "file": file, "words": len(gold.words), "lines": gold.lines, "left_out": left_out}


def _scored(gold: Gold, tokenizers: Sequence[TokenizerRow], cuts: Sequence[Cuts], resamples: int) -> list[Row]:
    tables = [word_table(gold.words, pieces) for pieces in cuts]
    resampled = bootstrap_f1(tables, resamples)
    rows = []
    for index, (tokenizer, table) in enumerate(zip(tokenizers, tables, strict=True)):
        low, high = interval(resampled[index])
        row = Row(tokenizer, gold.name, summarize(table), low, high)
        reference = _reference(tokenizer, tokenizers)
        if reference is not None:
            ahead = difference(tables[reference], table, resampled[reference], resampled[index])
            row = replace(row, mws_ahead=ahead)
        rows.append(row)
    return rows


def _reference(tokenizer: TokenizerRow, tokenizers: Sequence[TokenizerRow]) -> int | None:
    """Return the index of MwS at the same size, or at the nearest to the tokens of a system that has no size."""
    if tokenizer.system == REFERENCE:
        return None
    ours = [i for i, other in enumerate(tokenizers) if other.system == REFERENCE]
    if tokenizer.vocab_size is None:
        return min(ours, key=lambda i: abs((tokenizers[i].vocab_size or 0) - tokenizer.n_tokens), default=None)
    return next((i for i in ours if tokenizers[i].vocab_size == tokenizer.vocab_size), None)


def _example(gold: Gold, tokenizers: Sequence[TokenizerRow], cuts: Sequence[Cuts], sizes: Sequence[int]) -> CutExample:
    """Choose a few words of several morphs, spread over the sorted list, at the size nearest 8,000."""
    size = min(sizes, key=lambda each: (abs(each - _EXAMPLE_SIZE), each))
    several = [i for i, entry in enumerate(gold.words) if len(entry.segmentations[0]) >= 3]
    order = sorted(several or range(len(gold.words)), key=lambda i: gold.words[i].word)
    step = max(1, len(order) // _EXAMPLES)
    chosen = order[step // 2 :: step][:_EXAMPLES]
    return CutExample(
        gold=gold.name,
        vocab_size=size,
        morphs=[list(gold.words[i].segmentations[0]) for i in chosen],
        cuts={
            tokenizer.system: [list(pieces[i]) for i in chosen]
            for tokenizer, pieces in zip(tokenizers, cuts, strict=True)
            if tokenizer.vocab_size in (size, None)
        },
    )
