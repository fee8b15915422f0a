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
}  # fmt: skip
