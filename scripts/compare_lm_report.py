"""Tables, curves and figures of the runs that `compare_lm.py` has finished; it trains nothing."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mws_hf.atomic import atomic_path, write_text
from mws_hf.evaluate.significance import PairedDifference, paired_bootstrap
from mws_hf.lm.scoring import KNOWN_LEMMA, NEW_LEMMA, SEEN


@dataclass(frozen=True)
class Finished:
    """A run that has been trained and evaluated."""

    run: Any
    training: dict[str, Any]
    evaluation: dict[str, Any]
    tokenizer: dict[str, Any]

    @property
    def key(self) -> tuple[str, int, bool, bool]:
        """Runs that differ in nothing but the seed share it."""
        return self.run.system, self.run.vocabulary, self.run.multi_token, self.run.flop_matched

    def array(self, name: str, kind: type) -> np.ndarray:
        """Values by document."""
        return np.array(self.evaluation[name], kind)


def write_report(name: str, preset: Any, work: Path, results: Path, references: Sequence[str]) -> None:
    """Write lm_NAME.json, .csv, .md and .png of everything finished so far, compared with each of `references`."""
    finished = [entry for run in preset.runs if (entry := _read(work, run)) is not None]
    groups: dict[tuple[str, int, bool, bool], list[Finished]] = {}
    for entry in finished:
        groups.setdefault(entry.key, []).append(entry)
    rows = [_row(key, runs, groups, references) for key, runs in groups.items()]
    rows.sort(key=lambda row: (row["vocabulary"], row["multi_token"], row["bits_per_byte"] or math.inf))
    document = {
        "preset": name,
        "settings": preset.settings,
        "rows": rows,
        "runs": [_plain(entry) for entry in finished],
    }
    write_text(results / f"lm_{name}.json", json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    write_text(results / f"lm_{name}.csv", _csv(rows))
    write_text(results / f"lm_{name}.md", _markdown(name, preset, rows, finished, references))
    _plot(results / f"lm_{name}.png", groups.values())


def _read(work: Path, run: Any) -> Finished | None:
    directory = work / "runs" / run.name
    if not (directory / "evaluation.json").is_file():
        return None
    about = work / "tokenizers" / f"{run.system}-{run.vocabulary}" / "about.json"
    files = (directory / "training.json", directory / "evaluation.json", about)
    return Finished(run, *(json.loads(file.read_text(encoding="utf-8")) for file in files))


def _row(
    key: Any, runs: list[Finished], groups: dict[Any, list[Finished]], references: Sequence[str]
) -> dict[str, Any]:
    system, vocabulary, multi_token, flop_matched = key
    first = runs[0]
    values = [entry.evaluation["bits_per_byte"] for entry in runs]
    usable = None not in values
    bases = {name: groups.get((name, vocabulary, multi_token, False)) for name in references}
    compared = {name: base for name, base in bases.items() if base is not None and base is not runs and usable}
    differences = {name: _difference(runs, base) for name, base in compared.items()}
    first_base = bases[references[0]]
    base_flops = first_base[0].training["flops"] if first_base else math.nan
    return {
        "system": system,
        "vocabulary": vocabulary,
        "multi_token": multi_token,
        "flop_matched": flop_matched,
        "seeds": len(runs),
        "bytes_per_token": first.training["bytes_per_token"],
        "relative_flops": first.training["flops"] / base_flops,
        "train_bytes": first.training["train_bytes"],
        "bits_per_byte": float(np.mean(values)) if usable else None,
        "sd": float(np.std(values, ddof=1)) if usable and len(values) > 1 else None,
        "differences": {name: asdict(value) for name, value in differences.items() if value is not None},
        "represented": first.evaluation["documents_represented"] / first.evaluation["documents"],
        "groups": {name: _mean_group(runs, name) for name in (SEEN, KNOWN_LEMMA, NEW_LEMMA)},
        "speculation": first.evaluation.get("speculation"),
    }


def _difference(runs: list[Finished], base: list[Finished]) -> PairedDifference | None:
    both = runs[0].array("represented", bool) & base[0].array("represented", bool)
    if not both.any():
        return None
    nats = [[entry.array("nats", float) for entry in side] for side in (runs, base)]
    return paired_bootstrap(nats[0], nats[1], runs[0].array("n_bytes", int), represented=both)


def _mean_group(runs: list[Finished], name: str) -> float | None:
    scores = [entry.evaluation["groups"].get(name, {}).get("bits_per_byte") for entry in runs]
    known = [score for score in scores if score is not None and not math.isnan(score)]
    return float(np.mean(known)) if known else None


def _plain(entry: Finished) -> dict[str, Any]:
    """A run for JSON, without its values by document."""
    by_document = ("nats", "n_bytes", "represented")
    evaluation = {key: value for key, value in entry.evaluation.items() if key not in by_document}
    return {**asdict(entry.run), "training": entry.training, "evaluation": evaluation, "tokenizer": entry.tokenizer}


def _label(row: dict[str, Any]) -> str:
    marks = (" + multi-token" if row["multi_token"] else "") + (", FLOP-matched" if row["flop_matched"] else "")
    return row["system"] + marks


def _csv(rows: list[dict[str, Any]]) -> str:
    names = ("system", "vocabulary", "multi_token", "flop_matched", "seeds", "bytes_per_token", "relative_flops",
             "train_bytes", "bits_per_byte", "sd", "represented")  # fmt: skip
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    references = sorted({name for row in rows for name in row["differences"]})
    parts = ("value", "low", "high")
    compared = [f"{part} against {name}" for name in references for part in parts]
    writer.writerow([*names, *compared, SEEN, KNOWN_LEMMA, NEW_LEMMA])
    for row in rows:
        figures = [row["differences"].get(name, {}).get(part) for name in references for part in parts]
        writer.writerow([*(row[name] for name in names), *figures, *row["groups"].values()])
    return output.getvalue()


def _markdown(
    name: str, preset: Any, rows: list[dict[str, Any]], finished: list[Finished], references: Sequence[str]
) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in preset.settings.items())
    revisions = sorted({entry.tokenizer["revision"] for entry in finished})
    sizes = finished[0].training if finished else {}
    lines = [
        f"# Language models over tokenizers, preset {name}",
        "",
        f"Settings: {settings}. Non-embedding parameters {sizes.get('non_embedding_parameters')}, embedding (tied) "
        f"{sizes.get('embedding_parameters')}. Package revisions of the tokenizers: {', '.join(revisions)}.",
        "",
        "Bits per byte on held-out text, mean over seeds; differences in percent with the 95 % interval of the paired "
        "bootstrap over documents (and seeds, where there are several). FLOPs of next-token training, relative to "
        f"{references[0]}. The last columns: bits per byte over running words by novelty to the training text.",
        "",
        "| tokenizer | vocabulary | seeds | bytes/token | FLOPs | bits per byte | s.d. | "
        f"{' | '.join('against ' + name for name in references)} | lossless | "
        "seen forms | new form, seen lemma | new lemma |",
        "|" + "---|" * (11 + len(references)),
        *(_markdown_row(row, references) for row in rows),
        *_speculation_lines(rows),
    ]
    return "\n".join(lines) + "\n"


def _markdown_row(row: dict[str, Any], references: Sequence[str]) -> str:
    cells = [
        _label(row),
        str(row["vocabulary"]),
        str(row["seeds"]),
        f"{row['bytes_per_token']:.2f}",
        f"x{row['relative_flops']:.2f}",
        _number(row["bits_per_byte"]),
        _number(row["sd"]),
        *(_interval(row["differences"].get(name)) for name in references),
        f"{row['represented']:.1%}",
        *(_number(value) for value in row["groups"].values()),
    ]
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(difference: dict[str, float] | None) -> str:
    """A difference in percent of the reference, with its interval."""
    if difference is None:
        return ""
    scale = 100 * difference["relative"] / difference["value"] if difference["value"] else 0.0
    low, high = difference["low"] * scale, difference["high"] * scale
    return f"{100 * difference['relative']:+.2f} % [{low:+.2f}, {high:+.2f}]"


def _speculation_lines(rows: list[dict[str, Any]]) -> list[str]:
    drafted = [row for row in rows if row["speculation"]]
    if not drafted:
        return []
    lines = ["", "Self-speculative decoding (greedy, equal to plain greedy):", ""]
    lines += ["| tokenizer | acceptance by head | tokens/step | bytes/step |", "|---|---|---|---|"]
    for row in drafted:
        figures = row["speculation"]
        rates = ", ".join(f"{rate:.3f}" for rate in figures["acceptance"])
        lines.append(
            f"| {_label(row)} | {rates} | {figures['tokens_per_step']:.2f} | {figures['bytes_per_step']:.2f} |"
        )
    return lines


def _plot(path: Path, groups: Iterable[list[Finished]]) -> None:
    """Learning curves, and bits per byte against bytes per token."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (curves, scatter) = pyplot.subplots(1, 2, figsize=(13, 5))
    for runs in groups:
        first = runs[0]
        training = first.training
        label = _label(asdict(first.run))
        points = training["curve"]
        bits = [point["loss"] / math.log(2) / training["bytes_per_token"] for point in points]
        if not first.run.multi_token:
            curves.plot([point["bytes"] / 1e6 for point in points], bits, label=label, linewidth=1)
        values = [entry.evaluation["bits_per_byte"] for entry in runs]
        if None not in values:
            scatter.scatter([training["bytes_per_token"]] * len(values), values, s=14)
            scatter.annotate(label, (training["bytes_per_token"], float(np.mean(values))), fontsize=7)
    curves.set(xlabel="MB of text read (seed 0)", ylabel="training loss, bits per byte", ylim=(None, 3.0))
    curves.legend(fontsize=7)
    scatter.set(xlabel="bytes per token", ylabel="held-out bits per byte, each seed")
    figure.tight_layout()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    pyplot.close(figure)
