"""Time and memory of training in a process of its own: `python -m robustness.cost COUNTS VOCAB_SIZE COMPOSITION`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from mws_hf import WordCounts
from mws_hf.corpus.word_list import lexicon_counts
from mws_hf.errors import MwSError

SCRIPTS = Path(__file__).resolve().parent.parent


def word_list(counts: WordCounts, n_types: int, target: Path) -> None:
    """Save counts of exactly that many lower-case words: the most frequent of `counts`, then of pymorphy3's lexicon.

    Raises:
        MwSError: there are not that many.
    """
    found: dict[str, int] = {}
    lacking = n_types
    for source in (lambda: counts, lambda: _shuffled(lexicon_counts("ru"))):
        more = ((w, n) for w, n in source().items() if w[0] == " " and w[1:].isalpha() and w[1:].islower())
        for word, n in more:
            if lacking and word not in found:
                found[word] = n
                lacking -= 1
        if not lacking:
            break
    if lacking:
        raise MwSError(f"only {len(found):,} word types to measure with; ask for fewer with --cost-types")
    WordCounts.from_mapping(found, pattern=counts.pattern).save(target)


def _shuffled(counts: WordCounts) -> WordCounts:
    """The words in a fixed random order, since a lexicon's own order is that of the alphabet."""
    order = np.random.default_rng(0).permutation(len(counts))
    return WordCounts(counts.strings.take(order), counts.counts[order], counts.pattern, counts.normalization)


def cost(counts: Path, vocab_size: int, composition: float | None) -> dict[str, Any]:
    """Two processes one after the other: the first compiles all kernels (cold), the second finds them (warm).

    Returns:
        Of each, "cold" and "warm": `seconds` of evidence and merges (and of compiling, when cold), `cpu_seconds` of the
        same, `process_seconds` from start to end with imports and reading the counts, `peak_mb` of the process.

    Raises:
        MwSError: a process failed.
    """
    command = [sys.executable, "-m", "robustness.cost", str(counts), str(vocab_size), json.dumps(composition)]
    result: dict[str, Any] = {"cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 2)}
    with tempfile.TemporaryDirectory(prefix="mws-robustness-") as empty:
        paths = os.pathsep.join([str(SCRIPTS), str(SCRIPTS.parent)])
        environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": empty}
        for kind in ("cold", "warm"):
            started = time.perf_counter()
            done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
            if done.returncode:
                raise MwSError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
            facts = json.loads(done.stdout.splitlines()[-1])
            result[kind] = {**facts, "process_seconds": time.perf_counter() - started}
    return result


def main(counts: str, vocab_size: str, composition: str) -> None:
    """Learn once and print what it took, as JSON."""
    from benchmark.child import cpu_seconds, peak_mb

    from mws_hf import MwSTrainer

    words = WordCounts.load(counts)
    trainer = MwSTrainer(vocab_size=int(vocab_size), composition=json.loads(composition), show_progress=False)
    cpu, started = cpu_seconds(), time.perf_counter()
    learnt = trainer.learn(words)
    facts = {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds() - cpu, "peak_mb": peak_mb()}
    print(json.dumps({**facts, "types": learnt.n_types, "merges": len(learnt.merges), "morphs": learnt.n_morphs}))


if __name__ == "__main__":
    main(*sys.argv[1:])
