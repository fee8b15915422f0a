"""Learning tasks that start from saved word counts: the classic engine against the full rescan, and Morfessor."""

from __future__ import annotations

import hashlib
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmark.job import Job, Run, Task

CLASSIC_COUNTS, CONTEXTUAL_COUNTS = "classic.parquet", "contextual.parquet"
_RESCANS = 2  # merges of the full rescan that are timed; each takes seconds


def _classic_corpus(job: Job) -> Any:
    from mws_hf import WordCounts
    from mws_hf.learn.words import SymbolCorpus

    return SymbolCorpus.from_words(WordCounts.load(Path(job.shared) / CLASSIC_COUNTS).words[: job.learn_types])


def classic_engine(job: Job) -> Run:
    """Counts on disk to merges in memory."""
    from mws_hf.learn.classic.learner import learn_classic

    def run() -> dict[str, Any]:
        corpus = _classic_corpus(job)
        merges = learn_classic(corpus, job.learn_merges).merges
        return {
            "types": len(corpus),
            "merges": len(merges),
            "first": merges[:_RESCANS],
            "digest": hashlib.sha256(repr(merges).encode()).hexdigest()[:16],
        }

    return run


def classic_rescan(job: Job) -> Run:
    """The reference, which recounts everything at each merge: timed for a few merges and extrapolated.

    A rescan costs other at the end, when words are few long tokens, than at the beginning. Both are timed, and the
    cheaper one is taken for every merge, so that the ratio is a lower bound.
    """
    from mws_hf.learn.classic.coefficient import ClassicSettings
    from mws_hf.learn.classic.learner import learn_classic
    from mws_hf.learn.classic.reference import coefficients, learn_classic_reference, replace
    from mws_hf.learn.engine.segmentation import Segmentation

    corpus = _classic_corpus(job)
    merges = learn_classic(corpus, job.learn_merges).merges
    segmentation = Segmentation(corpus)
    segmentation.apply(merges)
    words = [(segmentation.pieces(w), int(corpus.weights[w])) for w in range(len(corpus))]

    def run() -> dict[str, Any]:
        began = time.perf_counter()
        first = learn_classic_reference(corpus, _RESCANS).merges
        at_first = (time.perf_counter() - began) / max(1, len(first))
        began = time.perf_counter()
        coefficients(words, ClassicSettings())
        for tokens, _ in words:
            replace(tokens, merges[-1])
        at_last = time.perf_counter() - began
        return {
            "types": len(corpus),
            "merges": len(merges),
            "first": first,
            "seconds_a_merge": [round(at_first, 4), round(at_last, 4)],
            "extrapolated": True,
            "seconds": len(merges) * min(at_first, at_last),
        }

    return run


def small_list(job: Job, system: str) -> Run:
    """The most frequent words: ours (contextual) or Morfessor Baseline, counts in memory to a trained model."""
    import mws_hf.learn.compositions
    import mws_hf.learn.contextual
    import mws_hf.tokenization_mws_fast  # noqa: F401
    from mws_hf import MwSTrainer, WordCounts

    counts = WordCounts.load(Path(job.shared) / CONTEXTUAL_COUNTS)
    items = [(word, count) for word, count in counts.items() if word.strip().isalpha()][: job.small_types]
    counts = WordCounts.from_mapping(dict(items), pattern=counts.pattern)
    if system == "mws":
        trainer = MwSTrainer(vocab_size=8000, show_progress=False)
        return lambda: {"entries": len(trainer.train_from_counts(counts)), "types": len(counts)}
    from mws_hf.research.baselines.feed import Task
    from mws_hf.research.baselines.morfessor_baseline import build_morfessor

    return lambda: {"entries": len(build_morfessor(Task(counts, 0), len(counts))), "types": len(counts)}


TASKS = {
    "learn/mws-classic": Task(classic_engine, ours=True, every_size=False),
    "learn/full-rescan": Task(classic_rescan, every_size=False),
    "small/mws-contextual": Task(partial(small_list, system="mws"), ours=True, every_size=False),
    "small/morfessor": Task(partial(small_list, system="morfessor"), every_size=False),
}
