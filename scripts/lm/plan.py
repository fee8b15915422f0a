"""What is compared: the presets, each a language, the settings of its models, and the runs that are wanted of it.

Whole works are held out, other works serve to try the neighbouring peak rate on. What counts was said before the first
run of each (decisions.md; diary, 23 to 26 November 2026). Three seeds that spread by more than .005 bits per byte get
two more; they are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.cells import Cell
from lab.systems import MORPH_BPE, UNIGRAM

DEFAULT = "mws"
FINER = "mws-finer"
"""Cuts 0.14 of the places; its operations are those of the default of its seed."""
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
"""532,000 weights with 8,000 entries, 148,000 of them besides the embedding: minutes a run on one core."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A comparison.

    Attributes:
        language: files of this language are read: LANGUAGE.*.txt.gz.
        settings: of every run, as in `RunConfig`.
        vocabulary: of the main table; smaller ones have as many rows of embedding.
        rate: the peak rate planned for all.
        runs: the cells of the experiment, as `runs` gives them.
        references: what all others are compared with; the first also sets the budget of FLOP-matched runs.
    """

    language: str
    settings: dict[str, Any]
    vocabulary: int
    rate: float
    runs: list[Cell]
    references: tuple[str, ...] = RIVALS


def runs(
    systems: Sequence[str],
    sizes: Sequence[int],
    rate: float,
    seeds: Sequence[int] = (0, 1, 2),
    *,
    flop_matched: bool = False,
) -> list[Cell]:
    """A run of each system, size and seed; if `flop_matched`, it stops at the operations of the reference of its seed.

    >>> runs(["mws"], [8000], 8e-3, [1])
    [{'flop_matched': False, 'learning_rate': 0.008, 'vocabulary': 8000, 'seed': 1, 'system': 'mws'}]
    """
    same = {"flop_matched": flop_matched, "learning_rate": rate}
    return [same | {"vocabulary": v, "seed": s, "system": each} for s in seeds for v in sizes for each in systems]


def finer_runs(size: int, rate: float) -> list[Cell]:
    """Three seeds of finer cuts, at equal bytes and at the operations of the default."""
    return [*runs([FINER], [size], rate), *runs([FINER], [size], rate, flop_matched=True)]


def answers_in_print(rate: float, other: float) -> list[Cell]:
    """What MeLLM 2026 and LREC 2026 ask for in Hungarian: four systems at three sizes, once at the neighbouring rate.

    At equal bytes, and at equal operations, those of byte-level BPE.
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
    """The strongest rivals at 8,000 and 32,000 entries, and `more`.

    The peak rate is the best of byte-level BPE, Unigram and the default alike in the sweeps on single lines (lm_rus,
    lm_hun); each system is tried once at the `other`, its neighbour. float32 takes half the time of bfloat16 on a
    processor without units for that.
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
    """The default of 16,000 entries and byte-level BPE on half the text of `hun-works`.

    Superwords stood here (finished runs are kept, the code left with 50739cd). Rate 8e-3, as in Russian and German.
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
    """The default with a marker in place of uppercase, and without."""
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
    lower: Sequence[str] = (),
    **model: int,
) -> Preset:
    """The strongest baselines and MwS with default settings in models of millions of parameters.

    Matrix products are in bfloat16 under autocast; parameters and optimizer are float32, as all of the small models is.
    Every system trains at the first of `LARGER_RATES` with all seeds, and at the other two with the first seed. The
    rates are compared on the development books. At the smallest vocabulary there are also MwS at equal compute and
    the control with shuffled boundary probabilities. What counts as a gain that holds was written down before the
    first run (development log, 27 November 2026).

    Args:
        language: files of this language are read.
        length: training text in bytes.
        sizes: vocabulary sizes; the first is that of the main table.
        seeds: seeds of the runs at the planned rate.
        more: further seeds of the three systems at the smallest vocabulary.
        lower: systems that were better at the last rate, by more than 0.2 % on the development books.
        **model: settings of `RunConfig` that differ from those of the small models.
    """
    systems, rate = (BPE, UNIGRAM, DEFAULT), LARGER_RATES[0]
    wanted = [
        *runs(systems, sizes[:1], rate, [*seeds, *more]),
        *(run for other in LARGER_RATES[1:] for run in runs(systems, sizes[:1], other, seeds[:1])),
        *runs(lower, sizes[:1], LARGER_RATES[2], seeds[1:]),
        *runs([DEFAULT], sizes[:1], rate, seeds, flop_matched=True),
        *runs(["mws-shuffled"], sizes[:1], rate, seeds),
        *runs(systems, sizes[1:], rate, seeds),
    ]
    larger = {"batch_blocks": 16, "precision": "bf16", **model}
    settings = {"train_bytes": length, "held_out_bytes": MB, **SMALL_MODEL, **larger}
    return Preset(language=language, settings=settings, vocabulary=sizes[0], rate=rate, runs=wanted)


MODEL_5M = {"hidden_size": 192, "layers": 6, "heads": 6, "intermediate_size": 768}
"""5.1 million parameters with 8,000 entries, 3.5 million besides the embedding. Training on 17 MB takes 16 minutes on
one core that multiplies bfloat16 (AVX512-BF16), and 30 minutes in float32 on the same core."""
MODEL_16M = {"hidden_size": 256, "layers": 8, "heads": 8, "intermediate_size": 1024}
"""16.6 million parameters with 32,000 entries, 8.4 million besides the embedding."""

# Finnish and Turkish have too little text for five tokens a weight: 10 and 7 MB; Hungarian has 30
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
    "rus-5m": larger_preset("rus", 17 * MB, (8000, 32000), (0, 1, 2), (3, 4), (UNIGRAM, DEFAULT), **MODEL_5M),
    "rus-5m-60mb": larger_preset("rus", 60 * MB, (8000, 32000), (0, 1), **MODEL_5M),
    "rus-16m-60mb": larger_preset("rus", 60 * MB, (32000,), (0,), **MODEL_16M),
    "hun-5m": larger_preset("hun", 12 * MB, (8000, 32000), (0, 1, 2), **MODEL_5M),
}  # fmt: skip
