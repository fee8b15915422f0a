"""Train the tokenizer of one job and open it again for evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from mws_hf import baselines
from mws_hf.compare.cache import Cache
from mws_hf.compare.plan import MWS_SYSTEMS, Job
from mws_hf.evaluate.encoder import Encoder, load_encoder
from mws_hf.learn.trainer import MwSTrainer
from mws_hf.words.counts import WordCounts


def train_job(job: Job, counts: WordCounts, cache: Cache, *, fallback_size: int) -> None:
    """Train and save, unless the cache has it.

    Args:
        job: what to train.
        counts: running-text counts.
        cache: where it goes.
        fallback_size: vocabulary size given to systems on which it has no effect.
    """
    if cache.read(job, "training") is not None:
        return
    directory = cache.directory(job)
    started = time.perf_counter()
    if job.spec.is_mws:
        trainer = MwSTrainer(
            **MWS_SYSTEMS[job.spec.name],
            vocab_size=job.vocab_size,
            special_tokens=list(cache.special_tokens),
            pattern=counts.pattern,
            normalization=counts.normalization,
            types=job.spec.words == "types",
            show_progress=False,
        )
        tokenizer = trainer.train_from_counts(counts)
        tokenizer.save_pretrained(str(directory))
        n_tokens = len(tokenizer)
    else:
        words = counts.as_types() if job.spec.words == "types" else counts
        trained = baselines.train(
            job.spec.name,
            words,
            job.vocab_size or fallback_size,
            directory,
            special_tokens=cache.special_tokens,
        )
        n_tokens = trained.n_tokens
    cache.write(job, "training", {"seconds": round(time.perf_counter() - started, 2), "n_tokens": n_tokens})


def open_job(job: Job, directory: Path) -> Encoder | Callable[[str], list[str]]:
    """What `mws_hf.evaluate.segment_words` takes."""
    return load_encoder(directory) if job.spec.is_mws else baselines.load(directory).source
