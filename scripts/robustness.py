"""Does the default recipe hold up: more text, noisy lists, random lists, its cost, languages nobody tuned on.

    python scripts/robustness.py --data ../shared/data                      # everything, an hour or so on two cores
    python scripts/robustness.py --only 'growth/*' 'noise/fin/*'            # a slice; results of others are kept
    python scripts/robustness.py --only 'cost/*'                            # on an idle machine

Writes scripts/results/robustness.json after each measurement, and robustness.md. What was measured before with the same
program, data and settings is not measured again. Training reads no gold.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmark.runner import machine
from robustness.measure import Recipe
from robustness.parts import Setting, key, plan, program
from robustness.report import page

from mws_hf.atomic import write_text
from mws_hf.errors import MwSError


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path("out/robustness"), help="scratch folder: texts, tokenizers")
    parser.add_argument("--results", type=Path, default=Path("scripts/results/robustness.json"))
    parser.add_argument("--only", nargs="+", default=["*"], metavar="GLOB", help="names, see --list")
    parser.add_argument("--list", action="store_true", help="print the names of all measurements and stop")
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--base-mb", type=float, default=10, help="Russian text is measured at 1, 3 and 9 times this")
    parser.add_argument("--text-mb", type=float, default=30, help="noise and seeds train on at most this much text")
    parser.add_argument("--seeds", type=int, default=3, help="random lists a language")
    parser.add_argument("--cost-types", type=int, default=400_000)
    parser.add_argument("--cost-vocab", type=int, default=32_000)
    return parser.parse_args(arguments)


def told(record: dict[str, Any]) -> str:
    """A result in a line."""
    if "cold" in record:
        return ", ".join(
            f"{k} {record[k]['process_seconds']:.0f} s {record[k]['peak_mb']:.0f} MB" for k in ("cold", "warm")
        )
    scores = [
        f"{r['gold']} {r['f1']:.3f}" + (f" ({r['delta']:+.3f})" if "delta" in r else "") for r in record.get("rows", [])
    ]
    if "not_restored" in record:
        scores += [f"{record['not_restored']} texts not restored, {record['marks_torn_off']} marks torn off"]
    return ", ".join(scores)


def write(options: argparse.Namespace, records: dict[str, dict[str, Any]], order: list[str]) -> None:
    """Write both files; records in the order of the plan."""
    settings = {name: getattr(options, name) for name in ("vocab_size", "base_mb", "text_mb")}
    ordered = [records[name] for name in order if name in records]
    whole = {"settings": settings, "machine": machine(), "records": ordered}
    write_text(options.results, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
    write_text(options.results.with_suffix(".md"), page(ordered, settings))


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    logging.getLogger("mws_hf.learn").setLevel(
        logging.ERROR
    )  # small lists cannot fill the vocabulary; entries are told
    setting = Setting(
        options.data,
        Recipe(options.vocab_size, options.work),
        options.base_mb,
        options.text_mb,
        options.seeds,
        options.cost_types,
        options.cost_vocab,
    )
    measurements = plan(setting)
    order = [each.name for each in measurements]
    if options.list:
        print("\n".join(order))
        return
    chosen = [each for each in measurements if any(fnmatch(each.name, glob) for glob in options.only)]
    if not chosen:
        raise MwSError(f"--only {' '.join(options.only)} names no measurement; see --list")
    old = json.loads(options.results.read_text(encoding="utf-8"))["records"] if options.results.exists() else []
    records = {record["name"]: record for record in old}
    sources = program()
    for number, each in enumerate(chosen, start=1):
        now = key(each, setting, sources)
        if records.get(each.name, {}).get("key") == now:
            continue
        started = time.perf_counter()
        record = each.run()
        records[each.name] = {"name": each.name, "key": now, **record}
        write(options, records, order)
        seconds = time.perf_counter() - started
        print(f"[{number}/{len(chosen)}] {each.name}: {told(record)}; {seconds:.0f} s", file=sys.stderr, flush=True)
    write(options, records, order)
    print(options.results.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    try:
        main()
    except MwSError as error:
        sys.exit(f"robustness: {error}")
