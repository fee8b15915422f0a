"""Tables of the runs that `compare_lm.py` has finished; it trains nothing."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from compare_lm_intervals import seed_noise, seeds_difference
from compare_lm_plan import MB, Preset, plan, tuned_rates
from compare_lm_records import Finished, Records
from lm.scoring import SEEN, UNSEEN

from mws_hf.atomic import write_text
from mws_hf.evaluate.report import json_text
from mws_hf.evaluate.significance import PairedDifference
from mws_hf.text.markdown import markdown_table

SAME = 0.005
"""Bits per byte within which BPE over characters and over bytes should be, for the set-up to be sound."""


class Key(NamedTuple):
    """What runs of one row share; they differ in the seed alone."""

    system: str
    vocabulary: int
    train_bytes: int | None
    multi_token: bool
    flop_matched: bool


def write_report(name: str, preset: Preset, records: Records, results: Path) -> None:
    """Write lm_NAME.json, .csv and .md of everything finished so far."""
    groups = grouped(records, preset.rate)
    compared = Comparison(preset.references, groups, records.n_bytes, works_of(results / f"lm_{name}.works.json"))
    rows = [_row(key, runs, compared) for key, runs in groups.items()]
    rows.sort(key=lambda row: (row["multi_token"], row["train_bytes"], row["vocabulary"], row["bits_per_byte"]))
    wanted = plan(preset, records.tuning())
    state = {"done": sum(run in records.runs for run in wanted), "wanted": len(wanted)}
    sweep = {system: {f"{rate:g}": bits for rate, bits in rates.items()} for system, rates in _sweep(preset, records)}
    document = {"preset": name, "settings": preset.settings, "runs": state, "sweep": sweep, "rows": rows}
    write_text(results / f"lm_{name}.json", json_text(document))
    write_text(results / f"lm_{name}.csv", _csv(rows, preset.references))
    write_text(results / f"lm_{name}.md", _markdown(name, preset, records, rows, state))


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


def _sweep(preset: Preset, records: Records) -> Iterable[tuple[str, dict[float, float]]]:
    return tuned_rates(preset, records.tuning()).items()


class Comparison(NamedTuple):
    """What differences are computed from: references, all rows, raw bytes of the documents, and the work of each."""

    references: tuple[str, ...]
    groups: dict[Key, list[Finished]]
    n_bytes: np.ndarray
    works: list[int] | None

    def difference(self, runs: list[Finished], base: list[Finished]) -> PairedDifference | None:
        """Over all seeds of both; None where the two represent no document in common."""
        both = runs[0].represented & base[0].represented
        several = [[entry.bits for entry in each] for each in self.groups.values()]
        noise = seed_noise(several)
        if not both.any():
            return None
        nats = [[entry.nats for entry in side] for side in (runs, base)]
        known = noise if noise[1] else (0.0, 1)
        return seeds_difference(*nats, self.n_bytes, represented=both, works=self.works, noise=known)


def works_of(file: Path) -> list[int] | None:
    """The number of the work of each held-out document; None where single lines are held out."""
    if not file.is_file():
        return None
    sizes = [size for _, size in json.loads(file.read_text(encoding="utf-8"))["held_out"]]
    return [number for number, size in enumerate(sizes) for _ in range(size)]


def _row(key: Key, runs: list[Finished], compared: Comparison) -> dict[str, Any]:
    first = runs[0]
    values = [entry.bits for entry in runs]
    weights = first.training["non_embedding_parameters"] + first.training["embedding_parameters"]
    same = key._replace(flop_matched=False)
    bases = {name: compared.groups.get(same._replace(system=name)) for name in compared.references}
    base = bases[compared.references[0]]
    drafts = [found for entry in runs if (found := entry.evaluation.get("held_out_speculation"))]
    greedy = [found for entry in runs if (found := entry.evaluation.get("speculation"))]
    return {
        **key._asdict(),
        "main": key.train_bytes is None,
        "train_bytes": first.training["train_bytes"],
        "learning_rate": first.run.learning_rate,
        "seeds": len(runs),
        "by_seed": values,
        "bytes_per_token": first.training["bytes_per_token"],
        "tokens_per_weight": first.training["train_tokens"] / weights,
        "relative_flops": first.training["flops"] / base[0].training["flops"] if base else None,
        "bits_per_byte": float(np.mean(values)),
        "spread": max(values) - min(values) if len(values) > 1 else None,
        "differences": {
            name: asdict(found)
            for name, other in bases.items()
            if other is not None and other is not runs and (found := compared.difference(runs, other)) is not None
        },
        "represented": float(first.represented.mean()),
        "seen": _of_group(runs, SEEN),
        "unseen": _of_group(runs, UNSEEN),
        "pairs": _mean(entry.evaluation.get("pairs", {}).get("all", {}).get("value") for entry in runs),
        "second_token_acceptance": _mean(draft["acceptance"][0] for draft in drafts),
        "acceptance_per_byte": _mean(map(acceptance_per_byte, drafts)),
        "bytes_per_step": _mean(draft["bytes_per_step"] for draft in drafts),
        "drafted_bytes_per_step": _mean(draft["drafted_bytes_per_step"] for draft in drafts),
        "greedy_acceptance": _mean(draft["acceptance"][0] for draft in greedy),
    }


def _of_group(runs: list[Finished], name: str) -> float | None:
    return _mean(entry.evaluation["groups"].get(name, {}).get("bits_per_byte") for entry in runs)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return float(np.mean(known)) if known else None


def _label(row: dict[str, Any]) -> str:
    marks = (" + multi-token" if row["multi_token"] else "") + (", FLOP-matched" if row["flop_matched"] else "")
    return row["system"] + marks


def _csv(rows: list[dict[str, Any]], references: tuple[str, ...]) -> str:
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    names = [name for name in (rows[0] if rows else {}) if name not in ("differences", "by_seed")]
    compared = [(name, part) for name in references for part in ("value", "low", "high")]
    writer.writerow([*names, *(f"{part} against {name}" for name, part in compared)])
    for row in rows:
        figures = [row["differences"].get(name, {}).get(part) for name, part in compared]
        writer.writerow([*(row[name] for name in names), *figures])
    return output.getvalue()


def _markdown(name: str, preset: Preset, records: Records, rows: list[dict[str, Any]], state: dict[str, int]) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in preset.settings.items())
    sizes = next(iter(records.runs.values())).training if records.runs else {}
    revisions = sorted({entry.tokenizer["revision"] for entry in records.runs.values()})
    parts = [
        f"# Language models over tokenizers, preset {name}",
        f"**{state['done']} of {state['wanted']} runs done.** Settings: {settings}. Weights besides the embedding "
        f"{sizes.get('non_embedding_parameters')}, of the tied embedding {sizes.get('embedding_parameters')}. "
        f"Revisions of the tokenizers: {', '.join(revisions)}. Written by scripts/compare_lm.py.",
        _main_table(rows, preset),
        _sanity(records, preset),
        _sweep_table(records),
        _curve_table(preset, rows),
        _speculation_table(rows),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _main_table(rows: list[dict[str, Any]], preset: Preset) -> str:
    shown = [row for row in rows if not row["multi_token"] and row["main"]]
    if not shown:
        return "No run of the main table is done yet."
    before = ("tokenizer", "vocabulary", "peak rate", "seeds", "bytes/token", "tokens/weight", "FLOPs")
    against = (f"against {name}" for name in preset.references)
    header = [*before, "bits per byte", "spread", *against, "lossless", "seen", "unseen", "minimal pairs"]
    text = (
        f"Bits per byte on held-out text, mean over seeds; {_held_out(preset)} Differences in percent with a 95 % t "
        "interval over all seeds of both systems, and over works or documents. Where a system has one seed, the spread "
        "of the others stands for its own (that of documents alone, while no system has two). *Peak rate*: the one "
        "planned for all, else the best of the sweep on seed 0 as far as it has come. *Seen*, *unseen*: bits per byte "
        "over running words whose form training text held, or not. "
        "*Minimal pairs*: accuracy on RuBLiMP's paradigms of word formation and inflection (more: lm_*.runs.jsonl)."
    )
    return text + "\n\n" + markdown_table(header, [_main_cells(row, preset.references) for row in shown])


def _held_out(preset: Preset) -> str:
    if not preset.works:
        return "single lines of works are held out, and rates are chosen on the same lines."
    chosen = "rates are chosen on other works"
    if preset.rate is not None:
        chosen = "the rate is the best of the sweeps on single lines; the sweep below is on works kept for that"
    return f"whole works are held out, and {chosen} (lists: lm_*.works.json)."


def _main_cells(row: dict[str, Any], references: tuple[str, ...]) -> list[str]:
    return [
        _label(row),
        str(row["vocabulary"]),
        f"{row['learning_rate']:g}",
        str(row["seeds"]),
        f"{row['bytes_per_token']:.2f}",
        f"{row['tokens_per_weight']:.1f}",
        "" if row["relative_flops"] is None else f"x{row['relative_flops']:.2f}",
        _number(row["bits_per_byte"]),
        _number(row["spread"]),
        *(_interval(row["differences"].get(name)) for name in references),
        f"{row['represented']:.1%}",
        _number(row["seen"]),
        _number(row["unseen"]),
        "" if row["pairs"] is None else f"{row['pairs']:.1%}",
    ]


def _sanity(records: Records, preset: Preset) -> str:
    """Whether two systems that hardly differ come out alike, at equal rates, with the most text both have had."""
    pairs = [
        (entry.training["train_bytes"], other.bits - entry.bits, run.learning_rate)
        for run, entry in records.runs.items()
        if run.system == "bpe" and (other := records.runs.get(replace(run, system="bpe-byte"))) is not None
    ]
    if not pairs:
        return "" if preset.works else "Sanity check: not yet (it needs `bpe` and `bpe-byte`)."
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
    found: dict[tuple[str, int], dict[float, float]] = {}
    for run, entry in records.runs.items():
        if run.seed == 0 and not run.multi_token and not run.flop_matched and run.learning_rate:
            key = (run.system, round(entry.training["train_bytes"] / MB))
            found.setdefault(key, {})[run.learning_rate] = entry.tuning
    rates = sorted({rate for measured in found.values() for rate in measured})
    lines = [
        [system, f"{size} MB", *(_number(measured.get(rate)) for rate in rates)]
        for (system, size), measured in sorted(found.items(), key=lambda item: item[0][::-1])
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
    cells = {(row["system"], round(row["train_bytes"] / MB)): row for row in plain}
    lines = [
        [system, *(_curve_cell(cells.get((system, size)), preset) for size in sizes)]
        for system in preset.tuned
        if any((system, size) in cells for size in sizes)
    ]
    header = ["tokenizer", *(f"{size} MB" for size in sizes)]
    return (
        f"Bits per byte by training text, and the difference to {preset.references[0]}; one seed besides the main "
        "table, at its rate:\n\n" + markdown_table(header, lines)
    )


def _curve_cell(row: dict[str, Any] | None, preset: Preset) -> str:
    if row is None:
        return ""
    return f"{row['bits_per_byte']:.4f} {_interval(row['differences'].get(preset.references[0]))}".strip()


def _speculation_table(rows: list[dict[str, Any]]) -> str:
    drafted = [row for row in rows if row["second_token_acceptance"] is not None]
    if not drafted:
        return ""
    header = ["tokenizer", "vocabulary", "seeds", "bytes/token", "bits per byte", "second token accepted",
              "acceptance per byte", "bytes/step", "of them drafted", "accepted in greedy continuations"]  # fmt: skip
    lines = [
        [row["system"], str(row["vocabulary"]), str(row["seeds"]), f"{row['bytes_per_token']:.2f}",
         _number(row["bits_per_byte"]), f"{row['second_token_acceptance']:.3f}", f"{row['acceptance_per_byte']:.3f}",
         f"{row['bytes_per_step']:.2f}", f"{row['drafted_bytes_per_step']:.2f}", f"{row['greedy_acceptance']:.3f}"]
        for row in drafted
    ]  # fmt: skip
    return (
        "Multi-token prediction, three tokens a step, at every place of the held-out text: a draft is accepted if the "
        "model itself, once it has read on to there, says the same. *Acceptance per byte*: that of the second token to "
        "the power 1 / bytes a token made, so that shorter tokens have no advantage; the smaller vocabularies are BPE "
        "with tokens as long as those of the default, and of morphs. *Greedy continuations* (32 of 40 tokens) run in "
        "circles in models so small, where everything is easy to draft:\n\n" + markdown_table(header, lines)
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(difference: dict[str, float] | None) -> str:
    """A difference in percent of the reference, with its interval."""
    if difference is None:
        return ""
    scale = 100 * difference["relative"] / difference["value"] if difference["value"] else 0.0
    low, high = difference["low"] * scale, difference["high"] * scale
    return f"{100 * difference['relative']:+.2f} % [{low:+.2f}, {high:+.2f}]"
