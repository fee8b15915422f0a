"""Train the pretrained tokenizers of `model_cards/`, compare each with BPE and Unigram, and write its card.

    python scripts/train_pretrained.py --data ../shared/data [--only mws-ru-16k ...] [--force] [--baselines BPE Unigram]

There is one tokenizer per language and size, three multilingual ones, and one from the pymorphy3 lexicon (morphs only).
A folder contains the files that `hf upload` uploads: a tokenizer and its card. Without `--force`, finished tokenizers
are skipped, so that you can resume an interrupted run. `pretrained_sources.py` lists the texts and their licenses.

Boundary F1 is measured if the language has reference segmentations. Everything else is measured on held-out text: 1,500
lines of a language, or 500 lines of each group of a multilingual tokenizer. n-gram models learn from 4 MB of the
training text. The baselines are byte-level BPE, and SentencePiece Unigram without normalization, which learns from the
100,000 most frequent pre-tokens. Unigram takes most of the time; `--baselines BPE` skips it.

The script also writes scripts/results/pretrained.json and .md, and mws_hf/tokenizer/ready_made.json, the index of
`mws pretrained`. Run `python scripts/docs_tables.py` afterwards. If only the wording of cards has changed, run
`python scripts/pretrained_card.py`, which trains nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from lab.data import digest_of, reaching, spaced
from lab.tables import tabulated
from pretrained_card import CARDS, write_cards, write_index
from pretrained_configs import BASELINES, CONFIGS, KEPT_BPE, LETTERS, Config
from pretrained_sources import texts_of

from mws_hf import MwSTrainer, WordCounts, __version__
from mws_hf.atomic import write_json, write_text
from mws_hf.cards.card import is_untouched
from mws_hf.compare.baselines import train as train_baseline
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import lexicon_counts, lexicon_words
from mws_hf.portable import Training
from mws_hf.scoring.evaluation import EvaluationReport, evaluate
from mws_hf.scoring.running_text import score_text
from mws_hf.text.symbols import EVERYDAY
from mws_hf.tokenizer.opened import Opened, open_tokenizer

MB = 1_000_000
HELD_OUT_LINES = {False: 1500, True: 500}  # lines per group; the key is whether the tokenizer is multilingual
NGRAM_BYTES = 4 * MB
LEXICON_EVERY = 500
RESULTS = Path("scripts/results/pretrained.json")


@dataclass(frozen=True)
class Corpus:
    """The text of a language group.

    Attributes:
        counts: word counts to train on.
        passages: training text for n-gram models, in an order that depends only on its content.
        held_out: held-out text.
        megabytes: size of the training text.
    """

    counts: WordCounts
    passages: tuple[str, ...]
    held_out: tuple[str, ...]
    megabytes: float


@cache
def corpus(group: str, data: Path, share_alike: bool, pattern: str) -> Corpus:
    """Read the text of a group and count its words; the result is cached for each split pattern."""
    if group == "lexicon":
        forms = lexicon_words("ru").to_pylist()
        return Corpus(lexicon_counts("ru"), (), tuple(f" {form}" for form in forms[::LEXICON_EVERY]), 0)
    training, held_out = texts_of(group, data, share_alike)
    ordered = sorted(training, key=digest_of)
    passages = tuple(text.rstrip("\n") for text in reaching(ordered, NGRAM_BYTES))
    total = sum(len(text.encode()) for text in training) / MB
    return Corpus(
        count_documents(training, pattern=pattern), passages, tuple(spaced(held_out, HELD_OUT_LINES[False])), total
    )


def held_out_of(config: Config, parts: Mapping[str, Corpus]) -> dict[str, list[str]]:
    """Return the held-out lines of each group."""
    most = HELD_OUT_LINES[len(parts) > 1]
    return {
        name: list(part.held_out) if config.of_lexicon else spaced(part.held_out, most) for name, part in parts.items()
    }


def passages_of(parts: Mapping[str, Corpus]) -> list[str]:
    """Return text for n-gram models, with equal parts from each group."""
    share = NGRAM_BYTES / len(parts)
    return [text for part in parts.values() for text in reaching(part.passages, share)]


def train(config: Config, parts: Mapping[str, Corpus], directory: Path) -> None:
    """Train a tokenizer and save it."""
    counts = WordCounts.from_groups({name: part.counts for name, part in parts.items()})
    given = counts if len(parts) > 1 else counts.union
    alphabet = (*EVERYDAY, *(LETTERS[each] for each in config.languages if each in LETTERS))
    options = {"pattern": config.pattern, "initial_alphabet": alphabet, "show_progress": False, **config.options}
    trainer = MwSTrainer(vocab_size=config.size, **options)
    trained = trainer.trained(given)
    replace(trained, training=Training(trained.training.settings)).save(directory)


def make(config: Config, output: Path, data: Path, baselines: Sequence[str]) -> dict[str, Any]:
    """Train a tokenizer and its baselines, measure them, write the card, and return a row of the results."""
    started = time.process_time()
    groups = {group: corpus(group, data, config.share_alike, config.pattern) for group in config.groups}
    directory = output / config.name
    train(config, groups, directory)
    seconds = time.process_time() - started
    counts = WordCounts.from_groups({name: part.counts for name, part in groups.items()}).union
    systems = {config.name: open_tokenizer(directory, by_class=True)}
    for title in baselines:
        name, most = BASELINES[title]
        learned_from = counts if most is None else most_frequent(counts, most)
        kept = output / KEPT_BPE[config.name] if title == "BPE" and config.name in KEPT_BPE else None
        systems[title] = open_tokenizer(train_baseline(name, learned_from, config.size, kept).source, by_class=True)
    held_out = held_out_of(config, groups)
    lines = [line for own in held_out.values() for line in own]
    gold = [data / "gold" / f"{name}.tsv" for name in config.gold]
    report = evaluate(systems, gold, lines, bits=passages_of(groups) or None, baselines=False)
    by_group = {
        group: {
            "MwS" if name == config.name else name: [round(scores.fertility, 3), round(scores.bytes_per_token, 3)]
            for name, scores in ((name, score_text(encoder, own)) for name, encoder in systems.items())
        }
        for group, own in (held_out.items() if len(groups) > 1 else ())
    }
    found = row(config, directory, report, seconds) | {
        "text_megabytes": {name: round(part.megabytes, 1) for name, part in groups.items() if part.megabytes},
        "sets": sets_of(report, config.name),
        "text": {"bytes": sum(len(line.encode()) for line in lines), **restored(systems[config.name], lines)},
        "by_group": by_group,
        "measured_by": __version__,
    }
    write_cards(config, found, output)
    return found


def sets_of(report: EvaluationReport, name: str) -> dict[str, dict[str, Any]]:
    """Collect the boundary scores of one tokenizer, except F1, by reference set."""
    words = {gold.name: len(gold.words) for gold in report.golds}
    return {
        each.gold: {
            "words": words[each.gold],
            "interval": [round(end, 3) for end in each.interval],
            "precision": round(each.scores.precision, 4),
            "recall": round(each.scores.recall, 4),
            "tokens_per_word": round(each.scores.tokens_per_word, 2),
        }
        for each in report.rows
        if each.tokenizer == name
    }


def most_frequent(counts: WordCounts, most: int) -> WordCounts:
    """Return the most frequent pre-tokens.

    Pre-tokens with equal counts are chosen at random with a fixed seed, so that the result is an even sample if all
    counts are equal, as in a lexicon.
    """
    shuffled = np.random.default_rng(0).permutation(len(counts))
    return counts.where(np.isin(np.arange(len(counts)), np.lexsort((shuffled, -counts.counts))[:most]))


def restored(encoder: Opened, lines: Sequence[str]) -> dict[str, int]:
    """Count the held-out lines, and those that decode to the original text."""
    decoded = encoder.decode([item.ids for item in encoder.encode(lines)])
    return {"lines": len(lines), "restored": sum(map(str.__eq__, lines, decoded))}


def row(config: Config, directory: Path, report: EvaluationReport, seconds: float) -> dict[str, Any]:
    """Collect the figures of a tokenizer and its baselines that are saved in scripts/results."""
    systems = {
        name: {
            "f1": {each.gold: round(each.scores.f1, 4) for each in report.rows if each.tokenizer == name},
            "tokens_per_word": round(scores.fertility, 4),
            "bytes_per_token": round(scores.bytes_per_token, 4),
            "entries": scores.vocabulary_size,
            **({"bits_per_byte": round(report.bits[name].value, 4)} if report.bits else {}),
            **(
                {"bits_more": [round(each, 2) for each in more.percent]}
                if (more := report.bits_differences.get(name))
                else {}
            ),
        }
        for name, scores in report.text.items()
    }
    ours = systems.pop(config.name)
    return {
        "name": config.name,
        "groups": list(config.groups),
        "entries": report.text[config.name].vocabulary_size,
        "license": config.license,
        "megabytes": round(sum(file.stat().st_size for file in directory.iterdir()) / MB, 2),
        "training_seconds": round(seconds, 1),
        "systems": {"MwS": ours, **systems},
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Write a Markdown table with one row per tokenizer; its cells have the figures of MwS, BPE and Unigram."""

    def three(each: dict[str, Any], form: str, key: str) -> str:
        values = [system.get(key) for system in each["systems"].values()]
        return " / ".join(format(value, form) for value in values) if None not in values else ""

    lines = (
        {
            "folder": f"`{each['name']}`",
            "license": each["license"],
            "MB": f"{each['megabytes']:.1f}",
            "boundary F1": " / ".join(
                f"{f1:.3f}" for system in each["systems"].values() for f1 in [*system["f1"].values()][:1]
            ),
            "tokens per word": three(each, ".2f", "tokens_per_word"),
            "bytes per token": three(each, ".2f", "bytes_per_token"),
            "n-gram bits per byte": three(each, ".3f", "bits_per_byte"),
        }
        for each in rows
    )
    about = (
        "# Pretrained tokenizers, compared with BPE and SentencePiece Unigram of the same text\n\n"
        "Figures are MwS / BPE / Unigram of the same text. If there are fewer figures, the last ones were not measured."
    )
    return f"{about}\n\n{tabulated(lines)}\n"


def main() -> None:
    """Train the tokenizers that are not finished, and write their cards, the results and the index."""
    configs = {config.name: config for config in CONFIGS}
    names = list(configs)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="folder with the subfolders text and gold"
    )
    parser.add_argument("--only", nargs="+", default=names, choices=names, metavar="NAME", help="train only these")
    baselines = "train only these baselines; without a name, none"
    parser.add_argument(
        "--baselines", nargs="*", default=list(BASELINES), choices=BASELINES, metavar="NAME", help=baselines
    )
    parser.add_argument("--force", action="store_true", help="also train finished tokenizers again; edited cards stay")
    parser.add_argument("--output", type=Path, default=Path("model_cards"), help="folder of the tokenizers")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the measured figures")
    arguments = parser.parse_args()
    known = json.loads(arguments.results.read_text(encoding="utf-8"))["rows"] if arguments.results.exists() else []
    rows = {each["name"]: each for each in known}
    for config in (configs[name] for name in arguments.only):
        measured = set(rows.get(config.name, {"systems": {}})["systems"])
        finished = measured >= {"MwS", *arguments.baselines} and is_untouched(
            arguments.output / config.name / "README.md"
        )
        if finished and not arguments.force:
            continue
        started = time.process_time()
        rows[config.name] = make(config, arguments.output, arguments.data, arguments.baselines)
        print(config.name, f"{time.process_time() - started:.0f} s of processor time", flush=True)
        ordered = [rows[name] for name in names if name in rows]
        write_json(arguments.results, {"rows": ordered})
        write_text(arguments.results.with_suffix(".md"), table(ordered))
    if arguments.output.resolve() == CARDS:
        write_index(results=arguments.results)


if __name__ == "__main__":
    main()
