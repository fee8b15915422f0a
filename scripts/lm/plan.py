"""Define the presets of language models: for each one a language, the settings of its models, and its list of runs.

Whole works are held out, and the neighboring learning rate is tried on other works. The criterion of each preset was
written down before its first run (docs/decisions.md; development log, 23 to 27 November 2026). If the three seeds of a
system differ by more than 0.005 bits per byte, two more are added to the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.cells import Cell
from lab.systems import MORPH_BPE, UNIGRAM

DEFAULT = "mws"
FINER = "mws-finer"
"""MwS with granularity 0.14 in place of 0.095; if it is FLOP-matched, to the default of the same seed."""
CAPITALS = "mws-capitals"
"""The default with ``capitals="marker"``."""
BPE = "bpe-byte"
RIVALS = (BPE, UNIGRAM, "mws-shuffled")
CORE = (*RIVALS, DEFAULT)
TAKEN_AWAY = ("mws-no-evidence", "mws-price0", "mws-counts")
MB = 1_000_000
SMALL_MODEL: dict[str, Any] = {
    "context_bytes": 640,
    "hidden_size": 48,
    "intermediate_size": 192,
    "layers": 4,
    "heads": 3,
    "batch_blocks": 8,
    "warmup": 0.1,
    "precision": "fp32",
    "save_every": 250,
    "log_every": 100,
}
"""532,000 parameters with 8,000 entries, 148,000 of them without the embedding. A run takes minutes on one core."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A comparison of tokenizers in language models that are otherwise equal.

    Attributes:
        language: ISO 639-3 code; the text is in the files LANGUAGE.*.txt.gz.
        settings: settings of every run, as in `RunConfig`.
        vocabulary: vocabulary size of the main table; models with a smaller vocabulary have as many rows of embedding.
        rate: peak learning rate that is planned for all systems.
        runs: cells of the experiment, as `runs` gives them.
        references: systems that all others are compared with; the first also sets the budget of FLOP-matched runs.
        own_rates: peak learning rate of each system that is reported at another rate than the planned one.
    """

    language: str
    settings: dict[str, Any]
    vocabulary: int
    rate: float
    runs: list[Cell]
    references: tuple[str, ...] = RIVALS
    own_rates: Mapping[str, float] = field(default_factory=dict)

    def rate_of(self, system: str) -> float:
        """Return the peak learning rate at which a system is reported."""
        return self.own_rates.get(system, self.rate)


def runs(
    systems: Sequence[str],
    sizes: Sequence[int],
    rate: float,
    seeds: Sequence[int] = (0, 1, 2),
    *,
    flop_matched: bool = False,
) -> list[Cell]:
    """List a run for each seed, vocabulary size and system.

    If `flop_matched` is set, a run stops after as many operations as the first reference with the same seed has used.

    >>> runs(["mws"], [8000], 8e-3, [1])
    [{'flop_matched': False, 'learning_rate': 0.008, 'vocabulary': 8000, 'seed': 1, 'system': 'mws'}]
    """
    same = {"flop_matched": flop_matched, "learning_rate": rate}
    return [same | {"vocabulary": v, "seed": s, "system": each} for s in seeds for v in sizes for each in systems]


def finer_runs(size: int, rate: float) -> list[Cell]:
    """List three seeds of MwS with finer granularity, at equal bytes and at the compute of the default."""
    return [*runs([FINER], [size], rate), *runs([FINER], [size], rate, flop_matched=True)]


def answers_in_print(rate: float, other: float) -> list[Cell]:
    """List runs of four systems at three vocabulary sizes, to compare with MeLLM 2026 and LREC 2026 in Hungarian.

    They are run at equal bytes and at the compute of byte-level BPE, and with one seed at the neighboring rate.
    """
    sizes, matched = (8000, 16000, 32000), (DEFAULT, MORPH_BPE, UNIGRAM)
    return [
        *runs((*matched, BPE), sizes, rate),
        *finer_runs(16000, rate),
        *runs(matched, sizes, rate, flop_matched=True),
        *runs((*matched, BPE), sizes[1:], other, [0]),
    ]


def works_preset(
    language: str,
    length: int,
    rate: float,
    other: float,
    more: Sequence[Cell],
    references: tuple[str, ...] = RIVALS,
) -> Preset:
    """Plan the strongest baselines and MwS at 8,000 and 32,000 entries, and the runs `more`.

    The planned rate was the best for byte-level BPE, for Unigram and for MwS in earlier sweeps on single lines (lm_rus,
    lm_hun). Each system is also tried once at the neighboring rate `other`. Precision is float32, which takes half the
    time of bfloat16 on a processor without units for bfloat16.
    """
    size = 8000
    wanted = [
        *runs(CORE, [size], rate),
        *runs(CORE, [size], other, [0]),
        *runs([DEFAULT], [size], rate, flop_matched=True),
        *runs((BPE, UNIGRAM, DEFAULT), [32000], rate),
        *more,
    ]
    settings = {"train_bytes": length, "held_out_bytes": MB, **SMALL_MODEL}
    return Preset(language=language, settings=settings, vocabulary=size, rate=rate, runs=wanted, references=references)


def phrases_preset(language: str, more: Sequence[Cell] = ()) -> Preset:
    """Plan MwS and byte-level BPE with 16,000 entries on half the text of `hun-works`, at the rate of `rus-works`.

    The preset also had superwords once. Their finished runs are kept; the code was removed after commit 50739cd.
    """
    return Preset(
        language=language,
        settings={"train_bytes": 6 * MB, "held_out_bytes": MB // 2, **SMALL_MODEL},
        vocabulary=16000,
        rate=8e-3,
        runs=[*runs([DEFAULT, BPE], [16000], 8e-3), *more],
        references=(DEFAULT, BPE),
    )


def capitals_preset(language: str, length: int) -> Preset:
    """Plan MwS with ``capitals="marker"``, and without."""
    return Preset(
        language=language,
        settings={"train_bytes": length, "held_out_bytes": MB, **SMALL_MODEL},
        vocabulary=8000,
        rate=8e-3,
        runs=runs([DEFAULT, CAPITALS], [8000], 8e-3),
        references=(DEFAULT,),
    )


LARGER_RATES = (3e-3, 6e-3, 1.5e-3)
"""Peak rates tried by every system of a larger model with seed 0; the first is planned for all seeds."""


def larger_preset(
    language: str,
    length: int,
    sizes: Sequence[int],
    seeds: Sequence[int],
    more: Sequence[int] = (),
    own_rates: Mapping[str, float] | None = None,
    **model: int,
) -> Preset:
    """Plan models of millions of parameters with the strongest baselines and with MwS, at default settings.

    Matrix products are in bfloat16 under autocast; parameters and optimizer are float32, as everything in the small
    models is. Every system trains at the first of `LARGER_RATES` with all seeds, and at the other two with the first
    seed. The rates are compared on the development books. A system that is better at another rate by more than 0.2 %
    trains there with the other seeds, too, and is reported there. Everything else trains at the rate of its system:
    further seeds, other vocabulary sizes, and at the smallest vocabulary MwS at equal compute and the control with
    shuffled boundary probabilities. What counts as a gain that holds was written down before the first run
    (development log, 27 November 2026).

    Args:
        language: files of this language are read.
        length: training text in bytes.
        sizes: vocabulary sizes; the first is that of the main table.
        seeds: seeds of the runs at the planned rate.
        more: further seeds of the three systems at the smallest vocabulary.
        own_rates: rate of each system that is better at another rate than the planned one.
        **model: settings of `RunConfig` that differ from those of the small models.
    """
    systems, rate, control = (BPE, UNIGRAM, DEFAULT), LARGER_RATES[0], "mws-shuffled"
    own = dict.fromkeys(systems, rate) | dict(own_rates or {})
    own[control] = own[DEFAULT]
    wanted = [
        *runs(systems, sizes[:1], rate, seeds),
        *(run for other in LARGER_RATES[1:] for run in runs(systems, sizes[:1], other, seeds[:1])),
        *(run for name in systems for run in runs([name], sizes[:1], own[name], [*seeds, *more])),
        *(run for name in systems for run in runs([name], sizes[1:], own[name], seeds)),
        *runs([DEFAULT], sizes[:1], own[DEFAULT], seeds, flop_matched=True),
        *runs([control], sizes[:1], own[control], seeds),
    ]
    larger = {"batch_blocks": 16, "precision": "bf16", **model}
    settings = {"train_bytes": length, "held_out_bytes": MB, **SMALL_MODEL, **larger}
    return Preset(language=language, settings=settings, vocabulary=sizes[0], rate=rate, runs=wanted, own_rates=own)


MODEL_5M = {"hidden_size": 192, "layers": 6, "heads": 6, "intermediate_size": 768}
"""5.1 million parameters with 8,000 entries, 3.5 million besides the embedding. Training on 17 MB takes 16 minutes on
one core that multiplies bfloat16 (AVX512-BF16), and 30 minutes in float32 on the same core. A core without
instructions for bfloat16 takes about 45 minutes (`lm.bfloat16`)."""
MODEL_16M = {"hidden_size": 256, "layers": 8, "heads": 8, "intermediate_size": 1024}
"""16.6 million parameters with 32,000 entries, 8.4 million besides the embedding."""

# Finnish and Turkish have too little text (10 and 7 MB) for five tokens per parameter; Hungarian has 30 MB.
PRESETS = {
    "rus-works": works_preset(
        "rus", 17 * MB, 8e-3, 1.6e-2, [*runs(TAKEN_AWAY, [8000], 8e-3), *runs([UNIGRAM], [8000], 8e-3, [3, 4])]
    ),
    "hun-works": works_preset(
        "hun", 12 * MB, 1.6e-2, 8e-3,
        [*runs(TAKEN_AWAY, [8000], 1.6e-2), *runs(CORE, [8000], 1.6e-2, [3, 4]), *answers_in_print(1.6e-2, 8e-3)],
        CORE,
    ),
    "deu-works": works_preset("deu", 11 * MB, 8e-3, 1.6e-2, runs(RIVALS, [8000], 8e-3, [3, 4])),
    "rus-phrases": phrases_preset("rus", finer_runs(16000, 8e-3)),
    "eng-phrases": phrases_preset("eng"),
    "rus-capitals": capitals_preset("rus", 17 * MB),
    "hun-capitals": capitals_preset("hun", 12 * MB),
    "rus-5m": larger_preset(
        "rus", 17 * MB, (8000, 32000), (0, 1, 2), (3, 4), {UNIGRAM: 1.5e-3, DEFAULT: 1.5e-3}, **MODEL_5M
    ),
    "rus-5m-60mb": larger_preset("rus", 60 * MB, (8000, 32000), (0, 1), **MODEL_5M),
    "rus-16m-60mb": larger_preset("rus", 60 * MB, (32000,), (0,), **MODEL_16M),
    "hun-5m": larger_preset("hun", 12 * MB, (8000, 32000), (0, 1, 2), (3, 4), **MODEL_5M),
}  # fmt: skip
