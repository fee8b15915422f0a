"""Tables of the runs that `python scripts/lm compare` has finished; it trains nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lm.intervals import Interval, seed_noise, seeds_difference, text_variance
from lm.plan import MB, Preset, plan, tuned_rates
from lm.records import Finished, Records
from lm.scoring import SEEN, UNSEEN
from mws_hf.atomic import write_text
from mws_hf.evaluate.evaluation import json_text
from mws_hf.text.markdown import markdown_table

SAME = 0.005
"""Bits per byte within which BPE over characters and over bytes should be, for the set-up to be sound."""

MAIN = (
    "Bits per byte on held-out text, mean over seeds; {held_out} Differences in percent with a 95 % t interval over "
    "all seeds of both systems, and over works or documents. Where a system has one seed, the spread of the others "
    "stands for its own (that of documents alone, while no system has two). *Peak rate*: the one planned for all, else "
    "the best of the sweep on seed 0 as far as it has come. *Seen*, *unseen*: bits per byte over running words whose "
    "form training text held, or not."
)
PAIRS = " *Minimal pairs*: accuracy on RuBLiMP's paradigms of word formation and inflection (code: 50739cd)."
SPECULATION = (
    "Multi-token prediction, three tokens a step, at every place of the held-out text: a draft is accepted if the "
    "model itself, once it has read on to there, says the same. *Acceptance per byte*: that of the second token to "
    "the power 1 / bytes a token made, so that shorter tokens have no advantage; the smaller vocabularies are BPE "
    "with tokens as long as those of the default, and of morphs. *Greedy continuations* (32 of 40 tokens) run in "
    "circles in models so small, where everything is easy to draft:\n\n"
)


class Key(NamedTuple):
    """What runs of one row share; they differ in the seed alone."""

    system: str
    vocabulary: int
    train_bytes: int | None
    multi_token: bool
    flop_matched: bool


def write_report(name: str, preset: Preset, records: Records, results: Path) -> None:
    """Write lm_NAME.json and .md of everything finished so far."""
    groups = grouped(records, preset.rate)
    rows = [_row(key, groups, preset.references, records) for key in groups]
    rows.sort(key=lambda row: (row["multi_token"], row["train_bytes"], row["vocabulary"], row["bits_per_byte"]))
    wanted = plan(preset, records.tuning())
    state = {"done": len(records.runs), "due": sum(run not in records.runs for run in wanted)}
    rates = tuned_rates(preset, records.tuning())
    sweep = {system: {f"{rate:g}": bits for rate, bits in found.items()} for system, found in rates.items()}
    document = {"preset": name, "settings": preset.settings, "runs": state, "sweep": sweep, "rows": rows}
    write_text(results / f"lm_{name}.json", json_text(document))
    parts = [
        f"# Language models over tokenizers, preset {name}",
        f"**{state['done']} runs done, {state['due']} of the plan due.** {_about(preset, records)}",
        _main_table(rows, preset),
        _sanity(records, preset),
        _sweep_table(records),
        _curve_table(preset, rows),
        _speculation_table(rows),
    ]
    write_text(results / f"lm_{name}.md", "\n\n".join(part for part in parts if part) + "\n")


def grouped(records: Records, planned: float | None = None) -> dict[Key, list[Finished]]:
    """Runs by row, by seed, all at one learning rate.

    In the main table that is the rate that was planned for all, else the one that is best on the first seed. Elsewhere
    it is the rate the main table uses if there is a run at it, else the best that was tried.
    """
    found: dict[Key, list[Finished]] = {}
    for entry in records.runs.values():
        run = entry.run
        key = Key(run.system, run.vocabulary, run.train_bytes, run.multi_token, run.flop_matched)
        found.setdefault(key, []).append(entry)
    result = {}
    for key, entries in found.items():
        main = found.get(Key(key.system, key.vocabulary, None, False, False), [])
        rates = {entry.run.learning_rate for entry in entries}
        best = planned or (_best(main) if main else None)
        rate = best if best in rates else _best(entries)
        kept = [entry for entry in entries if entry.run.learning_rate == rate]
        result[key] = sorted(kept, key=lambda entry: entry.run.seed)
    return result


def _best(entries: list[Finished]) -> float | None:
    """The rate that is best on the first seed."""
    first = min(entry.run.seed for entry in entries)
    tried = [entry for entry in entries if entry.run.seed == first]
    return min(tried, key=lambda entry: (math.isnan(entry.tuning), entry.tuning)).run.learning_rate


def acceptance_per_byte(speculation: dict[str, Any]) -> float:
    """The rate of bytes guessed right that would give the second token's acceptance: it to the power 1 / bytes a token.

    >>> acceptance_per_byte({"acceptance": [0.25], "bytes": 200, "tokens": 100})
    0.5
    """
    length = speculation["bytes"] / max(1, speculation["tokens"])
    return float(speculation["acceptance"][0] ** (1 / length)) if length else math.nan


def difference(
    runs: list[Finished], base: list[Finished], records: Records, noise: tuple[float, int]
) -> Interval | None:
    """Compare two rows over all their seeds; None where a tokenizer loses text."""
    if not all(entry.evaluation["lossless"] for entry in (*runs, *base)):
        return None
    if records.covariance is None:
        nats = [np.mean([entry.nats for entry in side], axis=0) for side in (runs, base)]
        text = text_variance(nats[0] - nats[1], records.n_bytes)
    else:
        order = list(records.runs)
        weights = np.zeros(len(order))
        for side, sign in ((runs, 1), (base, -1)):
            for entry in side:
                weights[order.index(entry.run)] += sign / len(side)
        text = float(weights @ records.covariance @ weights)
    bits = [[float(entry.nats.sum() / records.n_bytes.sum() / math.log(2)) for entry in side] for side in (runs, base)]
    return seeds_difference(*bits, text, noise)


def _row(key: Key, groups: dict[Key, list[Finished]], references: tuple[str, ...], records: Records) -> dict[str, Any]:
    runs = groups[key]
    first, training = runs[0], runs[0].training
    values = [entry.bits for entry in runs]
    bases = {name: groups.get(key._replace(flop_matched=False, system=name)) for name in references}
    base = bases[references[0]]
    noise = seed_noise([[entry.bits for entry in each] for each in groups.values()])
    drafts = [found for entry in runs if (found := entry.evaluation.get("held_out_speculation"))]
    greedy = [found for entry in runs if (found := entry.evaluation.get("speculation"))]
    weights = training["non_embedding_parameters"] + training["embedding_parameters"]
    return {
        **key._asdict(),
        "main": key.train_bytes is None,
        "train_bytes": training["train_bytes"],
        "learning_rate": first.run.learning_rate,
        "seeds": len(runs),
        "by_seed": values,
        "bytes_per_token": training["bytes_per_token"],
        "tokens_per_weight": training["train_tokens"] / weights,
        "relative_flops": training["flops"] / base[0].training["flops"] if base else None,
        "bits_per_byte": float(np.mean(values)),
        "spread": max(values) - min(values) if len(values) > 1 else None,
        "differences": {
            name: found._asdict()
            for name, other in bases.items()
            if other and other is not runs and (found := difference(runs, other, records, noise)) is not None
        },
        "represented": first.evaluation["documents_represented"] / first.evaluation["documents"],
        "seen": _mean(entry.evaluation["groups"].get(SEEN, {}).get("bits_per_byte") for entry in runs),
        "unseen": _mean(entry.evaluation["groups"].get(UNSEEN, {}).get("bits_per_byte") for entry in runs),
        "pairs": _mean(entry.evaluation.get("pairs", {}).get("all", {}).get("value") for entry in runs),
        "second_token_acceptance": _mean(draft["acceptance"][0] for draft in drafts),
        "acceptance_per_byte": _mean(map(acceptance_per_byte, drafts)),
        "bytes_per_step": _mean(draft["bytes_per_step"] for draft in drafts),
        "drafted_bytes_per_step": _mean(draft["drafted_bytes_per_step"] for draft in drafts),
        "greedy_acceptance": _mean(draft["acceptance"][0] for draft in greedy),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return float(np.mean(known)) if known else None


def _about(preset: Preset, records: Records) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in preset.settings.items())
    sizes = next(iter(records.runs.values())).training if records.runs else {}
    revisions = sorted({entry.tokenizer["revision"] for entry in records.runs.values()})
    return (
        f"Settings: {settings}. Weights besides the embedding {sizes.get('non_embedding_parameters')}, of the tied "
        f"embedding {sizes.get('embedding_parameters')}. Revisions of the tokenizers: {', '.join(revisions)}. "
        "Written by `python scripts/lm compare`."
    )


def _main_table(rows: list[dict[str, Any]], preset: Preset) -> str:
    shown = [row for row in rows if not row["multi_token"] and row["main"]]
    if not shown:
        return "No run of the main table is done yet."
    with_pairs = any(row["pairs"] is not None for row in shown)
    header = ["tokenizer", "vocabulary", "peak rate", "seeds", "bytes/token", "tokens/weight", "FLOPs",
              "bits per byte", "spread", *(f"against {name}" for name in preset.references), "lossless", "seen",
              "unseen", *(["minimal pairs"] * with_pairs)]  # fmt: skip
    lines = [
        [
            *(row["system"] + ", FLOP-matched" * row["flop_matched"], str(row["vocabulary"])),
            *(f"{row['learning_rate']:g}", str(row["seeds"])),
            *(f"{row['bytes_per_token']:.2f}", f"{row['tokens_per_weight']:.1f}"),
            "" if row["relative_flops"] is None else f"x{row['relative_flops']:.2f}",
            *(_number(row["bits_per_byte"]), _number(row["spread"])),
            *(_interval(row["differences"].get(name)) for name in preset.references),
            *(f"{row['represented']:.1%}", _number(row["seen"]), _number(row["unseen"])),
            *(["" if row["pairs"] is None else f"{row['pairs']:.1%}"] * with_pairs),
        ]
        for row in shown
    ]
    return MAIN.format(held_out=_held_out(preset)) + PAIRS * with_pairs + "\n\n" + markdown_table(header, lines)


def _held_out(preset: Preset) -> str:
    if preset.closed:
        return "single lines of works are held out, and rates are chosen on the same lines."
    chosen = "rates are chosen on other works"
    if preset.rate is not None:
        chosen = "the rate is the best of the sweeps on single lines; the sweep below is on works kept for that"
    return f"whole works are held out, and {chosen} (lists: lm_*.works.json)."


def _sanity(records: Records, preset: Preset) -> str:
    """Whether two systems that hardly differ come out alike, at equal rates, with the most text both have had."""
    pairs = [
        (entry.training["train_bytes"], other.bits - entry.bits, run.learning_rate)
        for run, entry in records.runs.items()
        if run.system == "bpe" and (other := records.runs.get(replace(run, system="bpe-byte"))) is not None
    ]
    if not pairs:
        return ""
    most = max(round(size / MB) for size, _, _ in pairs)
    gaps = [(gap, rate) for size, gap, rate in pairs if round(size / MB) == most]
    shown = ", ".join(f"{gap:+.4f} (rate {rate:g})" for gap, rate in gaps)
    text = f"`bpe-byte` minus `bpe` at {most} MB: {shown} bits per byte"
    if not preset.alike:
        return f"{text}; no check of the set-up here, for the two cut this language differently (README.md here)."
    holds = all(abs(gap) <= SAME for gap, _ in gaps)
    return f"Sanity check, {text}; that they are within {SAME} {'holds' if holds else '**FAILS**'}."


def _sweep_table(records: Records) -> str:
    """Bits per byte by peak rate, wherever a system was trained at several, and of the main table in any case."""
    found: dict[tuple[int, str], dict[float, float]] = {}
    for run, entry in records.runs.items():
        if run.seed == 0 and not run.multi_token and not run.flop_matched and run.learning_rate:
            key = (round(entry.training["train_bytes"] / MB), run.system)
            found.setdefault(key, {})[run.learning_rate] = entry.tuning
    rates = sorted({rate for measured in found.values() for rate in measured})
    lines = [
        [system, f"{size} MB", *(_number(measured.get(rate)) for rate in rates)]
        for (size, system), measured in sorted(found.items(), key=lambda item: item[0])
    ]
    header = ["tokenizer", "text", *(f"{rate:g}" for rate in rates)]
    return "Bits per byte by peak learning rate, seed 0:\n\n" + markdown_table(header, lines) if lines else ""


def curve_rows(rows: list[dict[str, Any]], vocabulary: int) -> list[dict[str, Any]]:
    """Byte-matched rows over all amounts of text, without those at another rate than the main table's."""
    plain = [row for row in rows if not row["multi_token"] and not row["flop_matched"]]
    plain = [row for row in plain if row["vocabulary"] == vocabulary]
    main = {row["system"]: row["learning_rate"] for row in plain if row["main"]}
    return [row for row in plain if main.get(row["system"]) in (None, row["learning_rate"])]


def _curve_table(preset: Preset, rows: list[dict[str, Any]]) -> str:
    plain = curve_rows(rows, preset.vocabulary)
    sizes = sorted({round(row["train_bytes"] / MB) for row in plain})
    if all(row["main"] for row in plain):
        return ""
    base = preset.references[0]
    cells = {
        (row["system"], round(row["train_bytes"] / MB)): (
            f"{row['bits_per_byte']:.4f} {_interval(row['differences'].get(base))}".strip()
        )
        for row in plain
    }
    lines = [
        [system, *(cells.get((system, size), "") for size in sizes)]
        for system in preset.tuned
        if any((system, size) in cells for size in sizes)
    ]
    return (
        f"Bits per byte by training text, and the difference to {base}; one seed besides the main table, at its "
        "rate:\n\n" + markdown_table(["tokenizer", *(f"{size} MB" for size in sizes)], lines)
    )


def _speculation_table(rows: list[dict[str, Any]]) -> str:
    header = ["tokenizer", "vocabulary", "seeds", "bytes/token", "bits per byte", "second token accepted",
              "acceptance per byte", "bytes/step", "of them drafted", "accepted in greedy continuations"]  # fmt: skip
    lines = [
        [row["system"], str(row["vocabulary"]), str(row["seeds"]), f"{row['bytes_per_token']:.2f}",
         _number(row["bits_per_byte"]), f"{row['second_token_acceptance']:.3f}", f"{row['acceptance_per_byte']:.3f}",
         f"{row['bytes_per_step']:.2f}", f"{row['drafted_bytes_per_step']:.2f}", f"{row['greedy_acceptance']:.3f}"]
        for row in rows
        if row["second_token_acceptance"] is not None
    ]  # fmt: skip
    return SPECULATION + markdown_table(header, lines) if lines else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(difference: dict[str, float] | None) -> str:
    """A difference in percent of the reference, with its interval."""
    if difference is None:
        return ""
    scale = 100 * difference["relative"] / difference["value"] if difference["value"] else 0.0
    low, high = difference["low"] * scale, difference["high"] * scale
    return f"{100 * difference['relative']:+.2f} % [{low:+.2f}, {high:+.2f}]"
