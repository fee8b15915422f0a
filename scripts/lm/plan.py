"""What `python scripts/lm compare` trains: runs, presets, and which run is due next given those that are finished.

A preset lists runs in order of priority. The peak learning rate of a system is found on seed 0: rates are doubled or
halved until the best one has a worse neighbour on both sides; runs that need it wait for it. Systems whose three seeds
spread by more than `SPREAD` bits per byte get two more, byte- and FLOP-matched alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lab.systems import MORPH_BPE, UNIGRAM

DEFAULT = "mws"
FINER = "mws-finer"
"""Cuts 0.14 of the places; its operations are those of the default of its seed (diary, 26 November 2026)."""
RIVALS = ("bpe-byte", UNIGRAM, "mws-shuffled")
"""What all others are compared with where whole works are held out; chosen before the first run (`works_preset`)."""
FIRST_RATES = (8e-3, 1.6e-2)
HIGHEST_RATE, LOWEST_RATE = 3.2e-2, 2.5e-4
SPREAD = 0.005
MB = 1_000_000
SMALL_MODEL: dict[str, Any] = {
    "context_bytes": 640,
    "hidden_size": 48,
    "intermediate_size": 192,
    "layers": 4,
    "heads": 3,
    "batch_blocks": 8,
    "warmup": 0.1,
    "precision": "bf16",
    "save_every": 250,
    "log_every": 100,
}
"""532,000 weights with 8,000 entries, 148,000 of them besides the embedding: minutes a run on one core."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One model to train.

    Attributes:
        system: name of the tokenizer.
        seed: of weights and order of documents.
        vocabulary: of the tokenizer.
        learning_rate: the peak; None: the system's best, once it is known.
        train_bytes: raw bytes of text; None, as in all presets: the preset's.
        multi_token: whether it predicts several tokens; no preset does.
        flop_matched: whether it stops at the operations of the reference of its seed.
    """

    system: str
    seed: int
    vocabulary: int
    learning_rate: float | None = None
    train_bytes: int | None = None
    multi_token: bool = False
    flop_matched: bool = False

    @property
    def name(self) -> str:
        """Directory of the run.

        >>> Run(system="bpe", seed=1, vocabulary=8000, learning_rate=2e-3, train_bytes=4_000_000).name
        'bpe-8000-4mb-lr0.002-s1'
        """
        marks = ("-mtp" if self.multi_token else "") + ("-flops" if self.flop_matched else "")
        text = "" if self.train_bytes is None else f"-{self.train_bytes / MB:g}mb"
        rate = "tuned" if self.learning_rate is None else f"lr{self.learning_rate:g}"
        return f"{self.system}{marks}-{self.vocabulary}{text}-{rate}-s{self.seed}"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Sizes of a comparison and what it trains; whole works are held out, rates are chosen on other works.

    Attributes:
        language: files of this language are read: LANGUAGE.*.txt.gz.
        settings: of every run, as in `RunConfig`.
        vocabulary: of the main table.
        tuned: systems of the main table; with `rate`, at that rate and without a sweep.
        rate: one peak rate for all; None: each system's best.
        first_rates: peak rates that every sweep begins with.
        seeds: of the main table.
        more: further runs, after the main table.
        references: what all others are compared with; the first also sets the budget of FLOP-matched runs.
    """

    language: str
    settings: dict[str, Any]
    vocabulary: int
    tuned: tuple[str, ...]
    rate: float | None = None
    first_rates: tuple[float, ...] = FIRST_RATES
    seeds: tuple[int, ...] = (0, 1, 2)
    more: list[Run] = field(default_factory=list)
    references: tuple[str, ...] = RIVALS


def runs(systems: Sequence[str], sizes: Sequence[int], seeds: Sequence[int] = (0, 1, 2), **same: Any) -> list[Run]:
    """A run of each system, size and seed, seed by seed."""
    return [Run(system=each, seed=s, vocabulary=size, **same) for s in seeds for size in sizes for each in systems]


def finer_runs(size: int) -> list[Run]:
    """Three seeds of finer cuts, at equal bytes and then at the operations of the default."""
    return [*runs([FINER], [size]), *runs([FINER], [size], flop_matched=True)]


def answers_in_print(size: int, other_rate: float) -> list[Run]:
    """List what MeLLM 2026 and LREC 2026 ask for in Hungarian; what answers soonest comes first.

    Four systems at three sizes, at equal bytes, at equal operations (those of byte-level BPE), and once at the
    neighbouring rate. What counts was said before the first run (diary, 25 November 2026).
    """
    systems = (DEFAULT, RIVALS[0], MORPH_BPE, UNIGRAM)
    matched = (DEFAULT, MORPH_BPE, UNIGRAM)
    return [
        *runs(systems, (size, 32000, 16000)),
        *finer_runs(16000),
        *runs(matched, (32000, 16000, size), flop_matched=True),
        *runs(systems, (32000, 16000), [0], learning_rate=other_rate),
    ]


def works_preset(
    language: str, length: int, rate: float, ablations: Sequence[str], *, in_print: bool = False
) -> Preset:
    """The second plan: whole works held out, the strongest rivals, MwS with something taken away (`ablations`).

    What counts was said before the first run (decisions.md, 23 November 2026). The peak rate is the best of byte-level
    BPE, Unigram and the default alike in the sweeps on single lines (lm_rus, lm_hun); each system is tried once at the
    neighbouring rate, on works kept for that. float32 takes half the time on a processor without bfloat16 units.
    """
    size, core = 8000, (*RIVALS, DEFAULT)
    other = next(each for each in FIRST_RATES if each != rate)
    return Preset(
        language=language,
        settings={"train_bytes": length, "held_out_bytes": MB, **SMALL_MODEL, "precision": "fp32"},
        vocabulary=size,
        tuned=core,
        rate=rate,
        more=[
            *runs(core, [size], [0], learning_rate=other),
            *runs(ablations, [size]),
            *(answers_in_print(size, other) if in_print else ()),
            *runs([DEFAULT], [size], flop_matched=True),
            *runs((RIVALS[0], UNIGRAM, DEFAULT), [32000]),
        ],
        references=core if in_print else RIVALS,
    )


def larger_preset() -> Preset:
    """Does the gain shrink? Russian with three times the weights (1.65 million) and three times the text; two seeds.

    Twice the text would leave fewer tokens a weight than `rus-works` has, and Hungarian has too little of it. Wider
    models like lower rates, so all have 4e-3, the neighbour of the rate of `rus-works`; seed 0 is tried at that too.
    """
    systems, size = (DEFAULT, RIVALS[0], UNIGRAM), 8000
    settings = SMALL_MODEL | {"precision": "fp32", "hidden_size": 96, "intermediate_size": 384, "layers": 6, "heads": 6}
    return Preset(
        language="rus",
        settings={"train_bytes": 52 * MB, "held_out_bytes": MB, **settings},
        vocabulary=size,
        tuned=systems,
        rate=4e-3,
        seeds=(0, 1),
        more=runs(systems, [size], [0], learning_rate=8e-3),
        references=(RIVALS[0], UNIGRAM),
    )


def phrases_preset(language: str) -> Preset:
    """The default of 16,000 entries and byte-level BPE on half the text of `hun-works`; in Russian finer cuts too.

    Superwords stood here (finished runs are kept, the code left with 50739cd). Rate 8e-3, as in Russian and German.
    """
    size = 16000
    return Preset(
        language=language,
        settings={"train_bytes": 6 * MB, "held_out_bytes": MB // 2, **SMALL_MODEL, "precision": "fp32"},
        vocabulary=size,
        tuned=(DEFAULT,),
        rate=8e-3,
        seeds=(),
        more=[*runs([DEFAULT], [size]), *runs([RIVALS[0]], [size]), *(finer_runs(size) if language == "rus" else ())],
        references=(DEFAULT, RIVALS[0]),
    )


def gpu_preset() -> Preset:
    """About 9M parameters on four passes over 78 MB of Russian: some five tokens a weight, a minute or two a run.

    Rates are chosen on works held out for that, then each system gets three seeds, the most important system first.
    """
    model = {"context_bytes": 2048, "hidden_size": 256, "layers": 6, "heads": 8, "batch_blocks": 64}
    text = {"train_bytes": None, "held_out_bytes": 2 * MB, "passes": 4, "warmup": 0.05}
    return Preset(
        language="rus",
        settings={**text, **model, "precision": "bf16", "save_every": 500},
        vocabulary=16_000,
        tuned=(DEFAULT, *RIVALS, "mws-price0"),
        first_rates=(2e-3, 4e-3),
    )


# Finnish and Turkish have too little text for five tokens a weight: 10 and 7 MB; Hungarian has 30
PRESETS = {
    "rus-works": lambda: works_preset("rus", 17 * MB, 8e-3, ("mws-no-evidence", "mws-price0", "mws-counts")),
    "hun-works": lambda: works_preset(
        "hun", 12 * MB, 1.6e-2, ("mws-no-evidence", "mws-price0", "mws-counts"), in_print=True
    ),
    "deu-works": lambda: works_preset("deu", 11 * MB, 8e-3, ()),
    "rus-larger-works": larger_preset,
    "rus-phrases": lambda: phrases_preset("rus"),
    "eng-phrases": lambda: phrases_preset("eng"),
    "gpu": gpu_preset,
}


def due_rate(measured: Mapping[float, float], first: Sequence[float] = FIRST_RATES) -> float | None:
    """The rate to measure next; None when the best has a worse neighbour on both sides, or lies at a limit.

    Args:
        measured: bits per byte by peak rate; not a number where training diverged.
        first: rates to begin with.

    >>> due_rate({8e-3: 1.5})
    0.016
    >>> due_rate({8e-3: 1.5, 1.6e-2: 1.6}), due_rate({4e-3: 1.6, 8e-3: 1.5, 1.6e-2: 1.6})
    (0.004, None)
    """
    for rate in first:
        if rate not in measured:
            return rate
    best = best_rate(measured)
    near = (2 * best, best / 2)
    missing = (rate for rate in near if rate not in measured and LOWEST_RATE <= rate <= HIGHEST_RATE)
    return next(missing, None)


def best_rate(measured: Mapping[float, float]) -> float:
    """The rate of the fewest bits per byte, the lowest of equals; what is not a number comes last.

    >>> best_rate({1e-3: 1.5, 2e-3: float("nan")})
    0.001
    """
    return min(measured, key=lambda rate: (measured[rate] != measured[rate], measured[rate], rate))


def plan(preset: Preset, done: Mapping[Run, float]) -> list[Run]:
    """Every run that is wanted, in order of priority; those that wait for a rate have `learning_rate` None.

    Args:
        preset: what to compare.
        done: bits per byte of the runs that are finished.
    """
    rates = tuned_rates(preset, done)
    wanted: list[Run] = []
    settled: dict[str, float | None] = dict.fromkeys(preset.tuned, preset.rate)
    if preset.rate is None:
        wanted += [_plain(preset, system, 0, rate) for rate in preset.first_rates for system in preset.tuned]
        for system, measured in rates.items():
            following = due_rate(measured, preset.first_rates)
            settled[system] = None if following else best_rate(measured)
            wanted += [_plain(preset, system, 0, rate) for rate in (*measured, following) if rate]
    main = [_plain(preset, system, seed, settled[system]) for seed in preset.seeds for system in preset.tuned]
    more = [
        run if run.learning_rate else replace(run, learning_rate=settled.get(run.system, preset.rate))
        for run in preset.more
    ]
    wanted += main + _further_seeds(main, done)
    further = _further_seeds([run for run in more if run.flop_matched], done)
    base = preset.references[0]
    wanted += [_plain(preset, base, run.seed, settled[base]) for run in further]  # their budget
    wanted += further + more
    return list(dict.fromkeys(wanted))


def _further_seeds(runs: Sequence[Run], done: Mapping[Run, float]) -> list[Run]:
    """Two more seeds of the runs that differ in nothing else, are all finished, and spread by more than `SPREAD`."""
    found: list[Run] = []
    for first in dict.fromkeys(replace(run, seed=0) for run in runs):
        bits = [done.get(run) for run in runs if replace(run, seed=0) == first]
        finished = [each for each in bits if each is not None]
        if len(finished) == len(bits) and not max(finished) - min(finished) <= SPREAD:
            found += [replace(first, seed=seed) for seed in (3, 4)]
    return found


def tuned_rates(preset: Preset, done: Mapping[Run, float]) -> dict[str, dict[float, float]]:
    """Bits per byte by ascending peak rate, of each system of the main table, seed 0."""
    found: dict[str, dict[float, float]] = {system: {} for system in preset.tuned}
    for run in sorted(done, key=lambda run: run.learning_rate or 0):
        if run.learning_rate and run.system in found and run == _plain(preset, run.system, 0, run.learning_rate):
            found[run.system][run.learning_rate] = done[run]
    return found


def _plain(preset: Preset, system: str, seed: int, rate: float | None) -> Run:
    """A byte-matched run of the main table."""
    return Run(system=system, seed=seed, vocabulary=preset.vocabulary, learning_rate=rate)
