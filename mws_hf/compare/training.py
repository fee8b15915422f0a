"""Train the tokenizers of a run's jobs, what they have in common only once, and open them again for evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mws_hf import baselines
from mws_hf.compare.cache import TRAINING, Cache
from mws_hf.compare.plan import MWS_SYSTEMS, Job
from mws_hf.corpus.counts import WordCounts
from mws_hf.evaluate.encoder import Encoder, load_encoder
from mws_hf.trainer import MwSTrainer

if TYPE_CHECKING:
    from mws_hf.learn.contextual import Evidence
    from mws_hf.learn.evidence.settings import EvidenceSettings


@dataclass
class KnownEvidence:
    """Contextual evidence of one word list, kept: it depends neither on the vocabulary size nor on the composition.

    Attributes:
        found: the evidence, once there is some.
        seconds: what it took.
    """

    found: Evidence | None = None
    seconds: float = 0.0


@dataclass(kw_only=True)
class _SharingTrainer(MwSTrainer):
    """MwSTrainer that keeps its contextual evidence in `known`, or takes it from there; its merges are the same.

    All trainers that share a `known` must be given the same counts. Tests hold their tokenizers to those of MwSTrainer.
    """

    known: KnownEvidence
    saved_seconds: float = field(default=0.0, init=False)

    def _collect(self, counts: WordCounts, settings: EvidenceSettings) -> Evidence:
        if self.known.found is not None and self.known.found.settings == settings:
            self.saved_seconds = self.known.seconds
            return self.known.found
        started = time.perf_counter()
        self.known.found = super()._collect(counts, settings)
        self.known.seconds = time.perf_counter() - started
        return self.known.found


@dataclass
class Training:
    """The training of one run, from one word list.

    Args:
        counts: running-text counts; systems marked "types" see each form once.
        cache: where trained tokenizers go.
        fallback_size: vocabulary size given to systems on which it has no effect.
    """

    counts: WordCounts
    cache: Cache
    fallback_size: int
    _known: KnownEvidence = field(default_factory=KnownEvidence, init=False, repr=False)

    def train(self, job: Job) -> None:
        """Train and save, unless the cache has it; the seconds kept are those it takes when trained alone.

        Raises:
            MwSError: the system refuses this word list or size.
        """
        if self.cache.read(job, TRAINING) is not None:
            return
        directory = self.cache.directory(job)
        started = time.perf_counter()
        n_tokens, saved = self._train_mws(job, directory) if job.spec.is_mws else self._train_rival(job, directory)
        seconds = round(time.perf_counter() - started + saved, 2)
        self.cache.write(job, TRAINING, {"seconds": seconds, "n_tokens": n_tokens})

    def _train_mws(self, job: Job, directory: Path) -> tuple[int, float]:
        """Entries of the vocabulary, and seconds that were saved by evidence that was known."""
        trainer = _SharingTrainer(
            **MWS_SYSTEMS[job.spec.name],
            vocab_size=job.vocab_size,
            special_tokens=list(self.cache.special_tokens),
            pattern=self.counts.pattern,
            normalization=self.counts.normalization,
            types=job.spec.words == "types",
            show_progress=False,
            known=self._known,
        )
        tokenizer = trainer.train_from_counts(self.counts)
        tokenizer.save_pretrained(str(directory))
        return len(tokenizer), trainer.saved_seconds

    def _train_rival(self, job: Job, directory: Path) -> tuple[int, float]:
        trained = baselines.train(
            job.spec.name,
            self.counts.as_types() if job.spec.words == "types" else self.counts,
            job.vocab_size or self.fallback_size,
            directory,
            special_tokens=self.cache.special_tokens,
        )
        return trained.n_tokens, 0.0


def open_job(job: Job, directory: Path) -> Encoder | Callable[[str], list[str]]:
    """What `mws_hf.evaluate.segment_words` takes."""
    return load_encoder(directory) if job.spec.is_mws else baselines.load(directory).source
