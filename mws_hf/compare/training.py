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
from mws_hf.learn.settings import ContextualSettings, CriterionSettings
from mws_hf.trainer import MwSTrainer

if TYPE_CHECKING:
    from mws_hf.learn.contextual import Evidence


@dataclass
class Training:
    """The training of one run from one word list; systems without a size are given `fallback_size`."""

    counts: WordCounts
    cache: Cache
    fallback_size: int
    _evidence: Evidence | None = field(default=None, init=False, repr=False)
    _evidence_seconds: float = field(default=0.0, init=False, repr=False)

    def train(self, job: Job) -> None:
        """Train and save, unless the cache has it; the seconds kept are those it takes when trained alone.

        Raises:
            MwSError: the system refuses this word list or size.
        """
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
        learned = trainer.learn(self.counts, evidence=evidence)
        tokenizer = trainer.tokenizer(learned)
        tokenizer.save_pretrained(str(directory))
        seconds = time.perf_counter() - started
        return len(tokenizer), seconds if learned.evidence is None else seconds + self._evidence_seconds

    def _evidence_for(self, settings: CriterionSettings) -> Evidence | None:
        """Found once for the whole run: it depends neither on the vocabulary size nor on the composition."""
        if not isinstance(settings, ContextualSettings):
            return None
        if self._evidence is None:
            from mws_hf.learn.mixtures import find_group_evidence

            started = time.perf_counter()
            self._evidence = find_group_evidence(self.counts, settings.evidence)
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


def open_job(job: Job, directory: Path) -> Encoder | Callable[[str], list[str]]:
    """What `mws_hf.evaluate.segment_words` takes."""
    return load_encoder(directory) if job.spec.is_mws else baselines.load(directory).source
