"""The pretrained tokenizers of `model_cards/`: trained, measured beside BPE and Unigram of the same text, described.

    python scripts/train_pretrained.py --data ../shared/data [--only mws-ru-16k ...] [--force] [--rivals BPE Unigram]

One a language and size, three mixtures, and one from the pymorphy3 lexicon (morphs only). A folder is what `hf upload`
uploads: a tokenizer and its card. What is finished is skipped without `--force`, so that a broken run goes on. Texts
and licences stand in `pretrained_sources.py`. Boundary F1 is measured where there is gold, everything else on held-out
text: 1,500 lines of a language, 500 of each group of a mixture. n-gram models learn from 4 MB of the training text.
BPE is byte-level, Unigram is SentencePiece's without normalization, from the 100,000 most frequent pre-tokens; it takes
most of the time, and `--rivals BPE` leaves it out for later.
Writes scripts/results/pretrained.json and .md too, and mws_hf/tokenizer/ready_made.json, the index of `mws pretrained`.
Then run `python scripts/docs_tables.py`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from lab.data import digest_of, reaching, spaced
from lab.systems import UNIGRAM
from lab.tables import tabulated
from pretrained_card import CARDS, results, sections, write_index
from pretrained_sources import GOLD, GOLD_SOURCES, NOVELS, WORDS, sources_of, texts_of

from mws_hf import MwSTrainer, WordCounts
from mws_hf.atomic import write_text
from mws_hf.cards.card import Card, CardFacts, is_untouched, keep_card, write_card
from mws_hf.compare.rivals import train as train_rival
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import lexicon_counts, lexicon_words
from mws_hf.portable import Training
from mws_hf.scoring.evaluation import EvaluationReport, evaluate
from mws_hf.scoring.running_text import score_text
from mws_hf.text.markdown import markdown_table
from mws_hf.text.symbols import EVERYDAY
from mws_hf.tokenizer.opened import Opened, open_tokenizer, segment_words

MB = 1_000_000
HELD_OUT_LINES = {False: 1500, True: 500}  # of a language; of each group of a mixture
NGRAM_BYTES = 4 * MB
LEXICON_EVERY = 500
UNIGRAM_TYPES = 100_000
RIVALS = {"BPE": ("bpe-byte", None), "Unigram": (UNIGRAM, UNIGRAM_TYPES)}
"""Names in the cards: system of `compare.rivals`, and how many of the most frequent pre-tokens it learns from."""
RESULTS = Path("scripts/results/pretrained.json")
KEPT_BPE = {"mws-eight-languages-64k": "bpe-eight-languages-64k"}
"""Tokenizers whose BPE is kept too, in a folder of this name: the page of `scripts/space` shows both."""


TURKISH = "tekken"
"""Mistral's split pattern: GPT-4o's without English contractions, and with single digits."""


@dataclass(frozen=True)
class Config:
    """A tokenizer to train: the groups of its words, the entries, and what it is allowed."""

    name: str
    groups: tuple[str, ...]
    size: int
    share_alike: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_lexicon(self) -> bool:
        """Whether words come from the pymorphy3 dictionary."""
        return self.groups == ("lexicon",)

    @property
    def languages(self) -> list[str]:
        """Codes for the Hub."""
        return ["ru"] if self.of_lexicon else list(self.groups)

    @property
    def pattern(self) -> str:
        """The split pattern: `TURKISH` keeps every Turkish suffix whole, which GPT-4o's default splits like English."""
        return TURKISH if "tr" in self.groups else "o200k"

    @property
    def license(self) -> str:
        """That of the vocabulary."""
        return "cc-by-sa-4.0" if self.share_alike else "cc-by-4.0"


LETTERS = {
    **{"ru": "russian", "uk": "ukrainian", "fi": "finnish", "tr": "turkish"},
    **{"hu": "hungarian", "cs": "czech", "de": "german", "en": "english"},
}
"""The named alphabet of each language, which its tokenizer knows beside `EVERYDAY`."""

MONOLINGUAL = tuple(LETTERS)
"""The languages that get tokenizers of their own."""
IN_THE_MIXTURE = ("ru", "uk", "fi", "tr", "hu", "cs", "de", "en")
"""The groups of the tokenizer of eight languages. Another language above does not change it; their order does."""
CONFIGS = (
    *(
        Config(f"mws-{language}-{size}k", (language,), size * 1000, share_alike=language == "tr")
        for language in MONOLINGUAL
        for size in (16, 32)
    ),
    Config("mws-ru-en-code-64k", ("ru", "en", "code"), 64_000),
    Config("mws-ru-uk-64k", ("ru", "uk"), 64_000),
    Config("mws-eight-languages-64k", IN_THE_MIXTURE, 64_000),
    Config("mws-ru-morphs-8k", ("lexicon",), 8_000, share_alike=True, options={"composition": 0}),
)


@dataclass(frozen=True)
class Corpus:
    """Words of a group to train on, text for n-gram models in an order by content, text held out, megabytes."""

    counts: WordCounts
    passages: tuple[str, ...]
    held_out: tuple[str, ...]
    megabytes: float


@cache
def corpus(group: str, data: Path, share_alike: bool, pattern: str) -> Corpus:
    """Read and count a group once per run and split pattern."""
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
    """Held-out lines by group."""
    most = HELD_OUT_LINES[len(parts) > 1]
    return {
        name: list(part.held_out) if config.of_lexicon else spaced(part.held_out, most) for name, part in parts.items()
    }


def passages_of(parts: Mapping[str, Corpus]) -> list[str]:
    """Text for n-gram models, as much of each group."""
    share = NGRAM_BYTES / len(parts)
    return [text for part in parts.values() for text in reaching(part.passages, share)]


def train(config: Config, parts: Mapping[str, Corpus], directory: Path) -> dict[str, Any]:
    """Train and save; returns the settings and figures of the training, as the record keeps them."""
    counts = WordCounts.from_groups({name: part.counts for name, part in parts.items()})
    given = counts if len(parts) > 1 else counts.union
    alphabet = (*EVERYDAY, *(LETTERS[each] for each in config.languages if each in LETTERS))
    options = {"pattern": config.pattern, "initial_alphabet": alphabet, "show_progress": False, **config.options}
    trainer = MwSTrainer(vocab_size=config.size, **options)
    trained = trainer.trained(given)
    replace(trained, training=Training(trained.training.settings)).save(directory)
    return trained.training.settings


def facts_of(config: Config, parts: Mapping[str, Corpus], rivals: Sequence[str], words: Sequence[str]) -> CardFacts:
    """What the card says beside figures."""
    text = f"{sum(part.megabytes for part in parts.values()):.1f} MB of text, listed below"
    return CardFacts(
        name=config.name,
        data="the forms of pymorphy3's Russian dictionary, each once" if config.of_lexicon else text,
        command=f"python scripts/train_pretrained.py --only {config.name}",
        languages=tuple(config.languages),
        license=config.license,
        words=tuple(words),
        notes=(
            f"Without the Hub: `mws pretrained {config.name}` writes this folder.",
            origin(config, parts),
        ),
        limits=tuple(limits(config, rivals)),
    )


def origin(config: Config, parts: Mapping[str, Corpus]) -> str:
    """What it was learnt from, whose that is, and what follows for the licence of the vocabulary."""
    if config.of_lexicon:
        return (
            "Learnt from the word forms of the OpenCorpora dictionary as `pymorphy3-dicts-ru` has them (data CC BY-SA, "
            f"code MIT); the vocabulary is under {config.license} as well. For research: a word list has no "
            "frequencies, so that every token is a morph and texts become long."
        )
    rows = [
        [source.about, source.license, group] for group in parts for source in sources_of(group, config.share_alike)
    ]
    sizes = ", ".join(f"{name} {part.megabytes:.1f} MB" for name, part in parts.items())
    held_out = "one line in fifty was held out" + (", of code one module in ten" if "code" in parts else "")
    why = "one of the texts is share-alike" if config.share_alike else "no text is share-alike"
    return (
        f"Text ({sizes}; {held_out}):\n\n{markdown_table(['text', 'licence', 'group'], rows, numbers=False)}\n\n"
        f"All of it may be used and passed on with its makers named; {why}, and the vocabulary is under "
        f"{config.license}. The text itself is not in this folder. `stock_tokenizer.py` is Apache-2.0."
    )


def gold_of(config: Config) -> list[str]:
    """The gold sets it is measured on: all of a language, the first of each language of a mixture."""
    most = 1 if len(config.groups) > 1 or config.of_lexicon else None
    return [name for each in config.languages for name in GOLD.get(each, ())[:most]]


def limits(config: Config, rivals: Sequence[str]) -> list[str]:
    """What to know before using it."""
    said = []
    if gold := gold_of(config):
        named = [f"`{name}` is {GOLD_SOURCES[name.split('.')[1]]}" for name in gold]
        said.append(f"Gold: {'; '.join(named)}. Half of each set or a sample, read to score alone.")
        said.append("F1 tells how tokens agree with one annotation of morphemes, not how well a model will do.")
    if old := [language for language in config.languages if language in NOVELS and not config.of_lexicon]:
        said.append(
            f"Text in {', '.join(old)} is literature of before 1950: names, technology and slang of today take more "
            "tokens than those of its books."
        )
    if "fi" in config.groups or "tr" in config.groups:
        said.append("Finnish and Turkish are a few megabytes, much of it documentation of software.")
    if "code" in config.groups:
        said.append("Code is Python and some C: other programming languages take more tokens.")
    if config.of_lexicon:
        said.append("Running text is measured on forms of the dictionary it was learnt from, behind a space, one each.")
    for name in rivals:
        most = RIVALS[name][1]
        which = f"the {most:,} most frequent of the same words at most" if most else "the same words"
        said.append(
            f"{name} (`{RIVALS[name][0]}` of `mws compare`) has as many entries and learnt from {which}, by frequency."
        )
    said.append("The constants of the method were chosen on these gold sets: their F1 is mildly optimistic.")
    return said


def make(config: Config, output: Path, data: Path, rivals: Sequence[str]) -> dict[str, Any]:
    """Train it and its rivals, measure, write the card; returns a row of the results."""
    started = time.process_time()
    groups = {group: corpus(group, data, config.share_alike, config.pattern) for group in config.groups}
    directory = output / config.name
    settings = train(config, groups, directory)
    seconds = time.process_time() - started
    counts = WordCounts.from_groups({name: part.counts for name, part in groups.items()}).union
    systems = {config.name: open_tokenizer(directory, by_class=True)}
    for title in rivals:
        name, most = RIVALS[title]
        learnt_from = counts if most is None else most_frequent(counts, most)
        kept = output / KEPT_BPE[config.name] if title == "BPE" and config.name in KEPT_BPE else None
        systems[title] = open_tokenizer(train_rival(name, learnt_from, config.size, kept).source, by_class=True)
    held_out = held_out_of(config, groups)
    lines = [line for own in held_out.values() for line in own]
    gold = [data / "gold" / f"{name}.tsv" for name in gold_of(config)]
    report = evaluate(systems, gold, lines, bits=passages_of(groups) or None, baselines=False)
    by_group = {
        group: {name: score_text(encoder, own) for name, encoder in systems.items()}
        for group, own in (held_out.items() if len(groups) > 1 else ())
    }
    words = " ".join(WORDS[language] for language in config.languages).split()
    words = words[:: max(1, len(words) // 12)]
    about = "forms of the dictionary" if config.of_lexicon else "held-out text"
    card = Card(
        name=config.name,
        facts=facts_of(config, groups, rivals, words),
        settings=settings,
        vocabulary=systems[config.name].vocabulary_size,
        examples=list(zip(words, segment_words(systems[config.name], words), strict=True)),
        measured=sections(report, by_group, about, "4 MB of its training text", restored(systems[config.name], lines)),
        results=results(report, config.name, about),
    )
    keep_card(directory, open_tokenizer(directory).backend, card)
    if config.name in KEPT_BPE and "BPE" in rivals:
        write_card(output / KEPT_BPE[config.name], bpe_card(config, origin(config, groups)).to_markdown())
    return row(config, directory, report, seconds)


def bpe_card(config: Config, learnt_from: str) -> Card:
    """The card of the frequency BPE that is kept beside a tokenizer of ours; its figures stand in that one's card."""
    about = (
        f"Byte-pair encoding by frequency, to compare with `{config.name}`: as many entries, from the same words. "
        f"Its figures stand beside those of that tokenizer, in the card of `{config.name}`."
    )
    notes = (about, learnt_from)
    facts = CardFacts(languages=tuple(config.languages), license=config.license, notes=notes)
    return Card(KEPT_BPE[config.name], facts, {}, config.size)


def most_frequent(counts: WordCounts, most: int) -> WordCounts:
    """The most frequent pre-tokens; among equals a fixed shuffle decides, so that a lexicon gives an even sample."""
    shuffled = np.random.default_rng(0).permutation(len(counts))
    return counts.where(np.isin(np.arange(len(counts)), np.lexsort((shuffled, -counts.counts))[:most]))


def restored(encoder: Opened, lines: Sequence[str]) -> tuple[int, int]:
    """How many held-out lines decode to what they were, and how many there are."""
    assert encoder.decode is not None
    decoded = encoder.decode([item.ids for item in encoder.encode(lines)])
    return sum(line == again for line, again in zip(lines, decoded, strict=True)), len(lines)


def row(config: Config, directory: Path, report: EvaluationReport, seconds: float) -> dict[str, Any]:
    """What scripts/results keeps of a tokenizer: plain figures by system."""
    systems = {
        name: {
            "f1": {each.gold: round(each.scores.f1, 4) for each in report.rows if each.tokenizer == name},
            "tokens_per_word": round(scores.fertility, 4),
            "bytes_per_token": round(scores.bytes_per_token, 4),
            **({"bits_per_byte": round(report.bits[name].value, 4)} if report.bits else {}),
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
    """Markdown: a row a tokenizer; BPE's and Unigram's figures behind ours."""

    def three(each: dict[str, Any], form: str, key: str) -> str:
        values = [system.get(key) for system in each["systems"].values()]
        return " / ".join(format(value, form) for value in values) if None not in values else ""

    lines = (
        {
            "folder": f"`{each['name']}`",
            "licence": each["license"],
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
    about = "Figures are MwS / BPE / Unigram of the same text; where fewer stand, the last ones are not measured yet."
    return f"{about}\n\n{tabulated(lines)}\n"


def main() -> None:
    configs = {config.name: config for config in CONFIGS}
    names = list(configs)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", nargs="+", default=names, choices=names, metavar="NAME")
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=RIVALS, metavar="NAME")
    parser.add_argument("--force", action="store_true", help="train again what is finished; an edited card stays")
    parser.add_argument("--output", type=Path, default=Path("model_cards"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    known = json.loads(arguments.results.read_text(encoding="utf-8"))["rows"] if arguments.results.exists() else []
    rows = {each["name"]: each for each in known}
    for config in (configs[name] for name in arguments.only):
        measured = set(rows.get(config.name, {"systems": {}})["systems"])
        finished = measured >= {"MwS", *arguments.rivals} and is_untouched(arguments.output / config.name / "README.md")
        if finished and not arguments.force:
            continue
        started = time.process_time()
        rows[config.name] = make(config, arguments.output, arguments.data, arguments.rivals)
        print(config.name, f"{time.process_time() - started:.0f} s of processor time", flush=True)
        ordered = [rows[name] for name in names if name in rows]
        write_text(arguments.results, json.dumps({"rows": ordered}, ensure_ascii=False, indent=1) + "\n")
        write_text(arguments.results.with_suffix(".md"), table(ordered))
    if arguments.output.resolve() == CARDS:
        write_index(results=arguments.results)


if __name__ == "__main__":
    main()
