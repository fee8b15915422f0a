"""Training, counting and encoding beside today's choices, in one run: validated first, medians, memory, growth.

    python scripts/benchmark.py 'corpus/*.txt.gz' --output scripts/results/benchmark.json
    python scripts/benchmark.py '../shared/data/text/*.txt.gz' --mixture --output scripts/results/benchmark-mixture.json
    python scripts/benchmark.py 'corpus/*.txt.gz' --redraw 1000 --output scripts/results/benchmark-1gb.json
    python scripts/benchmark.py --generate 90          # no corpus at hand: made-up text
    python scripts/benchmark.py --generate 3 --quick   # a minute or two, to see that it works

Each measurement is a process of its own. Results are written after each; --resume goes on where a run stopped. Beside
the JSON file come a Markdown page with the table of targets and a plot. Exits with 1 when a check fails or results
contradict each other.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmark.child import MEASURED
from benchmark.corpus import MB, cut, generated_text, mixed_text, redrawn_text
from benchmark.job import Job
from benchmark.report import write_report
from benchmark.runner import Results, code, commit, run_job
from benchmark.summary import contradictions

from mws_hf.errors import MwSError

VALIDATED_MB = 10


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="*", help="text files or globs, .gz too")
    parser.add_argument("--generate", type=float, metavar="MB", help="make up a text of this size instead")
    parser.add_argument("--redraw", type=float, metavar="MB", help="go on to this size with words drawn anew by Zipf")
    parser.add_argument(
        "--mixture", action="store_true", help="text of several languages: all of it, 64,000 entries, other targets"
    )
    parser.add_argument("--output", type=Path, default=Path("scripts/results/benchmark.json"))
    parser.add_argument("--work", type=Path, default=Path("out/benchmark"), help="scratch folder, one run at a time")
    parser.add_argument(
        "--sizes", type=float, nargs="+", help="multiples of the base; default: 1 3 9, or 1 with --mixture or --redraw"
    )
    parser.add_argument("--base-mb", type=float, help="default: 10 or less; with --mixture or --redraw all of the text")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", default=["*"], help=f"names or globs of: {', '.join(MEASURED)}")
    parser.add_argument("--vocab-size", type=int, help="default: 32,000; of a mixture 64,000")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds that one measurement may take")
    parser.add_argument("--resume", action="store_true", help="keep what the output file holds; tasks may differ")
    parser.add_argument("--quick", action="store_true", help="small vocabularies and lists, two sizes, one repeat")
    options = parser.parse_args(arguments)
    options.whole = bool(options.mixture or options.redraw)
    options.vocab_size = options.vocab_size or (64_000 if options.mixture else 32_000)
    options.sizes = options.sizes or ([1] if options.whole else [1, 3, 9])
    if bool(options.corpus) == bool(options.generate):
        parser.error("give either text files or --generate MB")
    if options.quick:
        options.sizes, options.repeats, options.vocab_size = [1, 3], 1, min(4000, options.vocab_size)
    options.sizes = sorted(options.sizes)
    options.names = [name for name in MEASURED if any(fnmatch(name, glob) for glob in options.tasks)]
    if not options.names:
        parser.error(f"--tasks {' '.join(options.tasks)} names none of: {', '.join(MEASURED)}")
    return options


def texts(options: argparse.Namespace) -> tuple[dict[float, Path], str]:
    """The text at each size, and what it is."""
    if options.corpus:
        whole, what = mixed_text(options.corpus, options.work), " ".join(options.corpus)
    else:
        whole, what = generated_text(options.generate, options.work), f"made up, {options.generate:g} MB"
    if options.redraw:
        whole, what = redrawn_text(whole, options.redraw), f"{what}; redrawn to {options.redraw:g} MB"
    largest = math.floor(whole.stat().st_size / MB / options.sizes[-1] * 100) / 100
    base = options.base_mb or (largest if options.whole else min(10.0, largest))
    return {size: cut(whole, base * size) for size in options.sizes}, f"{what}; base {base:.3g} MB"


def job_of(options: argparse.Namespace, task: str, text: Path) -> Job:
    """The job of a task on a text."""
    small: dict[str, int] = {"learn_types": 10_000, "learn_merges": 2000, "small_types": 1500} if options.quick else {}
    return Job(
        task=task,
        text=str(text.resolve()),
        output=str((options.work / f"run-{os.getpid()}").resolve()),
        shared=str((options.work / "shared").resolve()),
        vocab_size=options.vocab_size,
        **small,
    )


def started(options: argparse.Namespace, results: Results, corpus: dict[float, Path]) -> None:
    """Validate on the smallest text (10 MB of it), make what measurements start from, have our kernels compiled.

    Raises:
        MwSError: something differs that must not, or fails.
    """
    (options.work / "shared").mkdir(parents=True, exist_ok=True)
    smallest, largest = corpus[options.sizes[0]], corpus[options.sizes[-1]]
    if smallest.stat().st_size > VALIDATED_MB * MB:
        smallest = cut(smallest, VALIDATED_MB)
    for task, text in (("validate", smallest), ("set-up", largest)):
        say(f"{task}: {text.name}")
        outcome = run_job(job_of(options, task, text), 4 * options.timeout)
        if "seconds" not in outcome:
            raise MwSError(f"{task}: {outcome.get('difference') or outcome.get('error')}; nothing was measured")
        results.facts[task] = outcome
    results.facts["validated"] = results.facts["validate"]["checked"]
    results.write()
    for task in (name for name in options.names if MEASURED[name].ours):
        say(f"warm-up: {task}")
        run_job(job_of(options, task, smallest), options.timeout)


def plan(options: argparse.Namespace) -> Iterator[tuple[str, float, int, str]]:
    """Task, size, repeat and cache of every measurement; odd repeats go through the tasks backwards."""
    last = options.sizes[-1]
    for size in options.sizes:
        names = [name for name in options.names if MEASURED[name].every_size or size == last]
        for repeat in range(options.repeats):
            for name in names if repeat % 2 == 0 else reversed(names):
                yield name, size, repeat, "warm"
    for name in options.names:
        if MEASURED[name].ours:
            yield name, last, 0, "cold"


def missing(options: argparse.Namespace, results: Results) -> list[tuple[str, float, int, str]]:
    """What of the plan has not been measured yet, without tasks that cannot be."""
    skipped = {record["task"] for record in results.records if "skipped" in record}
    return [
        (task, size, repeat, cache)
        for task, size, repeat, cache in plan(options)
        if task not in skipped and not results.has(task=task, size=size, repeat=repeat, cache=cache)
    ]


def measured(options: argparse.Namespace, results: Results, corpus: dict[float, Path]) -> None:
    """Carry out what is missing of the plan; a task that failed, was too slow or cannot be measured is left out."""
    hopeless: set[str] = set()
    for task, size, repeat, kind in missing(options, results):
        if task in hopeless:
            continue
        text = corpus[size]
        job, alone = job_of(options, task, text), MEASURED[task].alone
        command = None if alone is None else alone(job)
        outcome = run_job(job, options.timeout, alone=command, cold=kind == "cold")
        key = {"task": task, "size": size, "mb": text.stat().st_size / MB, "repeat": repeat, "cache": kind}
        results.add({**key, "commit": commit(), "code": code(), **outcome})
        say(f"{task} {key['mb']:.1f} MB, repeat {repeat}, {kind}: {_told(outcome)}")
        if "seconds" not in outcome or "error" in outcome:
            hopeless.add(task)


def _told(outcome: dict[str, Any]) -> str:
    if "seconds" in outcome:
        return f"{outcome['seconds']:.3f} s, {outcome['peak_mb']:.0f} MB"
    return str(outcome.get("error") or outcome.get("skipped"))


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    corpus, what = texts(options)
    settings = {
        "corpus": re.sub(r"\S*/", "", what),  # names alone: a path is the machine's
        "bytes": [path.stat().st_size for path in corpus.values()],
        "sizes": options.sizes,
        "vocab_size": options.vocab_size,
        "quick": options.quick,
        "targets": "mixture" if options.mixture else "language",
    }
    results = Results.open(options.output, settings, options.resume)
    if missing(options, results):
        started(options, results, corpus)
        measured(options, results, corpus)
    write_report(results, options.output.parent, options.output.stem)
    problems = contradictions(results.records) + [
        f"{r['task']}: {r['error']}" for r in results.records if "error" in r and MEASURED[r["task"]].ours
    ]
    for problem in problems:
        say(f"problem: {problem}")
    print(options.output.with_suffix(".md").read_text(encoding="utf-8"))
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MwSError as error:
        sys.exit(f"benchmark: {error}")
