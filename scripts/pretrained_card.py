"""Write the cards of the pretrained tokenizers, and the index of `mws pretrained` (ready_made.json).

    python scripts/pretrained_card.py

The command writes both from scripts/results/pretrained.json and the folders of model_cards/. It trains and measures
nothing. `train_pretrained.py` writes the card of each tokenizer that it trains in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from huggingface_hub import EvalResult
from lab.tables import tabulated
from pretrained_configs import BASELINES, CONFIGS, KEPT_BPE, LETTERS, Config
from pretrained_sources import GOLD_SOURCES, NOVELS, WORDS, sources_of

from mws_hf.atomic import write_json
from mws_hf.cards.card import Card, CardFacts, keep_card, write_card
from mws_hf.text.markdown import markdown_table
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from mws_hf.tokenizer.places import PRETRAINED_INDEX

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "model_cards"
RESULTS = ROOT / "scripts" / "results" / "pretrained.json"
MWS_PREFIX, BPE_PREFIX = "mws-", "bpe-"
TITLES = {"BPE": "byte-level BPE", "Unigram": "SentencePiece Unigram"}
LANGUAGES = {language: name.capitalize() for language, name in LETTERS.items()} | {"code": "source code"}


def write_cards(config: Config, row: Mapping[str, Any], output: Path) -> None:
    """Write the card of a tokenizer, and of its saved BPE baseline if there is one, from its row of the results."""
    directory = output / config.name
    opened = open_tokenizer(directory, by_class=True)
    words = " ".join(WORDS[language] for language in config.languages).split()
    words = words[:: max(1, len(words) // 12)]
    card = Card(
        name=config.name,
        facts=facts_of(config, row, words),
        settings=opened.record or {},
        vocabulary=opened.vocabulary_size,
        examples=list(zip(words, segment_words(opened, words), strict=True)),
        measured=sections(config, row),
        results=results(config, row),
        is_pretrained=True,
    )
    keep_card(directory, open_tokenizer(directory).backend, card)
    if config.name in KEPT_BPE and (output / KEPT_BPE[config.name]).is_dir():
        write_card(output / KEPT_BPE[config.name], bpe_card(config, row, output).to_markdown())


def facts_of(config: Config, row: Mapping[str, Any], words: Sequence[str]) -> CardFacts:
    """Collect the facts for the parts of a card outside of its tables."""
    text = f"{sum(row['text_megabytes'].values()):.1f} MB of text, listed below"
    return CardFacts(
        name=config.name,
        data="the word forms of pymorphy3's Russian dictionary, each once" if config.of_lexicon else text,
        command=f"python scripts/train_pretrained.py --only {config.name}",
        languages=tuple(config.languages),
        license=config.license,
        words=tuple(words),
        use=use(config),
        comparison=comparison(config, row),
        notes=(origin(config, row),),
        limits=tuple(limits(config, row)),
    )


def use(config: Config) -> str:
    """Write for whom the tokenizer is suited, and when to use another one."""
    if config.of_lexicon:
        return (
            "Use this tokenizer for research on Russian morphology: every token is a morph. It was trained on a word "
            "list without frequencies, so text takes many tokens. For a language model, take `mws-ru-32k` instead."
        )
    listed = listing([LANGUAGES[each] for each in config.groups])
    if len(config.groups) > 1:
        said = f"Use this tokenizer for one model that handles {listed}."
    else:
        size, other = ("fewer", "16k") if config.name.endswith("32k") else ("more", "32k")
        said = (
            f"Use this tokenizer for a language model or a tagger of {listed} text. If your model has {size} than "
            f"about 10 million parameters, take `{config.name[:-3]}{other}` instead."
        )
    if any(each in NOVELS for each in config.groups):
        said += " If your text is modern, train a tokenizer on it instead, so that it takes fewer tokens."
    return said


def listing(names: Sequence[str]) -> str:
    """Join names as a sentence lists them, such as "Russian, Finnish and English"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def comparison(config: Config, row: Mapping[str, Any]) -> str:
    """Write a comparison of the tokenizer with byte-level BPE of the same text and size."""
    ours, bpe = row["systems"]["MwS"], row["systems"].get("BPE")
    if bpe is None:
        return ""
    of_same = "byte-level BPE trained on the same text with the same vocabulary size"
    more = f"{100 * (bpe['bytes_per_token'] / ours['bytes_per_token'] - 1):.0f} % more tokens"
    if not ours["f1"]:
        said = (
            f"Compared with {of_same}, text takes {more}. Boundary F1 was not measured, because we have no reference "
            f"segmentations of {LANGUAGES[config.groups[0]]}."
        )
    elif len(config.groups) == 1 or len(ours["f1"]) == 1:
        first = next(iter(ours["f1"]))
        said = (
            f"It splits words at morpheme boundaries more often than {of_same} (F1 {ours['f1'][first]:.2f} instead of "
            f"{bpe['f1'][first]:.2f} on `{first}`), and text takes {more}."
        )
    else:
        better, total = sum(ours["f1"][gold] > bpe["f1"][gold] for gold in ours["f1"]), len(ours["f1"])
        share = "both" if better == total == 2 else f"all {total}" if better == total else f"{better} of {total}"
        said = (
            f"It splits words at morpheme boundaries more often than {of_same} in {share} languages "
            f"with reference segmentations (mean F1 {fmean(ours['f1'].values()):.2f} instead of "
            f"{fmean(bpe['f1'].values()):.2f}), and text takes {more}."
        )
    if "bits_more" in bpe:
        value, low, high = bpe["bits_more"]
        said += (
            f" An n-gram model needs {value:.1f} % more bits per byte over the tokens of BPE than over these "
            f"(95 % CI {low:.1f} to {high:.1f})."
        )
    return said


def sections(config: Config, row: Mapping[str, Any]) -> str:
    """Write the tables of one tokenizer and its baselines."""
    titles = {"MwS": config.name, **TITLES}
    text, kind = row["text"], text_kind(config)
    about = (
        f"Lengths and bits are measured on {kind} ({text['bytes']:,} bytes). {text['restored']:,} of {text['lines']:,} "
        "lines decode to the original text."
    )
    lines = []
    for system, figures in row["systems"].items():
        lines.append({"tokenizer": titles[system]})
        lines[-1] |= {f"F1, {gold}": f"{value:.3f}" for gold, value in figures["f1"].items()}
        lines[-1] |= {
            "tokens per word": f"{figures['tokens_per_word']:.3f}",
            "bytes per token": f"{figures['bytes_per_token']:.3f}",
        }
        if "bits_per_byte" in figures:
            lines[-1]["n-gram bits per byte"] = f"{figures['bits_per_byte']:.4f}"
        if "bits_more" in figures:
            value, low, high = figures["bits_more"]
            lines[-1][f"extra bits vs. {config.name} (95 % CI)"] = f"{value:+.2f} % ({low:+.2f} to {high:+.2f})"
    if any("bits_per_byte" in each for each in row["systems"].values()):
        about += (
            " The n-gram models learn from 4 MB of the training text. Their bits are a proxy measure, which does not "
            "rank Unigram as neural models do."
        )
    parts = ["## Comparison", about, tabulated(lines)]
    if row["sets"]:
        parts.append("Morpheme boundaries of this tokenizer, micro-averaged over the words of each set:")
        parts.append(
            tabulated(
                {
                    "reference segmentations": gold,
                    "words": f"{each['words']:,}",
                    "F1 (95 % CI)": "{:.3f} ({:.3f} to {:.3f})".format(
                        row["systems"]["MwS"]["f1"][gold], *each["interval"]
                    ),
                    "precision": f"{each['precision']:.3f}",
                    "recall": f"{each['recall']:.3f}",
                    "tokens per word": f"{each['tokens_per_word']:.2f}",
                }
                for gold, each in row["sets"].items()
            )
        )
    if row["by_group"]:
        parts.append("Lengths by group, on held-out text:")
        parts.append(
            tabulated(
                {"group": group}
                | {f"{titles[name]}, tokens per word": f"{words:.3f}" for name, (words, _) in systems.items()}
                | {f"{titles[name]}, bytes per token": f"{size:.3f}" for name, (_, size) in systems.items()}
                for group, systems in row["by_group"].items()
            )
        )
    return "\n\n".join(parts)


def text_kind(config: Config) -> str:
    """Name the running text that a tokenizer is measured on."""
    return "forms of the dictionary" if config.of_lexicon else "held-out text"


def results(config: Config, row: Mapping[str, Any]) -> list[EvalResult]:
    """Collect all figures of one tokenizer for the metadata of its card."""

    def result(task: str, task_name: str, dataset: str, kind: str, title: str, value: float) -> EvalResult:
        return EvalResult(task, dataset, dataset, kind, value, task_name=task_name, metric_name=title)

    ours, found = row["systems"]["MwS"], []
    for gold, f1 in ours["f1"].items():
        task = ("token-classification", "Morpheme segmentation", gold)
        found.append(result(*task, "f1", "Boundary F1", f1))
        for kind in ("precision", "recall"):
            found.append(result(*task, kind, f"Boundary {kind}", row["sets"][gold][kind]))
    text = text_kind(config)
    task = ("text-generation", "Tokenization", text)
    for kind, title in (("bytes_per_token", "Bytes per token"), ("tokens_per_word", "Tokens per word")):
        if ours[kind]:
            found.append(result(*task, kind, title, ours[kind]))
    if "bits_per_byte" in ours:
        task = ("text-generation", "n-gram language model of the tokens", text)
        found.append(result(*task, "bits_per_byte", "Bits per byte", ours["bits_per_byte"]))
    return found


def origin(config: Config, row: Mapping[str, Any]) -> str:
    """Describe the training text and its licenses, and derive the license of the vocabulary from them."""
    if config.of_lexicon:
        return (
            "The training data are the word forms of the OpenCorpora dictionary in `pymorphy3-dicts-ru` (data CC "
            f"BY-SA, code MIT). The vocabulary is under {config.license}, too."
        )
    rows = [
        [source.about, source.license, group]
        for group in config.groups
        for source in sources_of(group, config.share_alike)
    ]
    sizes = ", ".join(f"{name} {size:.1f} MB" for name, size in row["text_megabytes"].items())
    held_out = "one line in fifty was held out" + (
        ", and one module in ten of the code" if "code" in config.groups else ""
    )
    why = "one of the texts is share-alike" if config.share_alike else "no text is share-alike"
    return (
        f"Training text ({sizes}; {held_out}):\n\n"
        f"{markdown_table(['text', 'license', 'group'], rows, numbers=False)}\n\n"
        f"You may use and redistribute all of it if you name its authors. The vocabulary is under {config.license}, "
        f"because {why}. This folder does not contain the text. `stock_tokenizer.py` is under Apache-2.0."
    )


def limits(config: Config, row: Mapping[str, Any]) -> list[str]:
    """List the limitations of a tokenizer and of its figures."""
    said = []
    if config.gold:
        named = [f"`{name}` contains {GOLD_SOURCES[name.split('.')[1]]}" for name in config.gold]
        said.append(
            f"Reference segmentations: {'; '.join(named)}. Figures are measured on one half of each set, or on a "
            "sample of it."
        )
        said.append(
            "F1 shows how well tokens agree with one annotation of morphemes. It does not show how well a model will "
            "perform."
        )
    if old := [LANGUAGES[each] for each in config.languages if each in NOVELS and not config.of_lexicon]:
        said.append(
            f"The text in {listing(old)} is literature from before 1950. Modern names, technical terms and "
            "slang therefore take more tokens."
        )
    if few := [LANGUAGES[each] for each in ("fi", "tr") if each in config.groups]:
        said.append(f"There are only a few megabytes of {listing(few)} text, and much of it is software documentation.")
    if "code" in config.groups:
        said.append("The code is Python and some C. Other programming languages take more tokens.")
    if config.of_lexicon:
        said.append("Lengths are measured on forms of the training dictionary, with a space before each.")
    for name in row["systems"]:
        if name in BASELINES:
            system, most = BASELINES[name]
            size = row["systems"][name].get("entries", config.size)
            which = f"the same words (at most the {most:,} most frequent ones)" if most else "the same words"
            title = f"{TITLES[name][0].upper()}{TITLES[name][1:]}"
            said.append(
                f"{title} (`{system}` of `mws compare`) has {size:,} tokens. It was trained on {which}, with their "
                "counts."
            )
    if config.gold:
        said.append("The constants of the method were chosen on these sets, so their F1 is mildly optimistic.")
    said.append(f"Figures were measured by mws_hf {row['measured_by']}.")
    return said


def bpe_card(config: Config, row: Mapping[str, Any], output: Path) -> Card:
    """Create the card of the BPE baseline that is saved with one of our tokenizers."""
    facts = CardFacts(
        languages=tuple(config.languages),
        license=config.license,
        use=(
            f"Use this tokenizer only to compare it with `{config.name}`: it is plain byte-pair encoding of the same "
            "words, with the same vocabulary size."
        ),
        comparison=f"The card of `{config.name}` contains the figures of both.",
        notes=(origin(config, row),),
    )
    name = KEPT_BPE[config.name]
    opened, words = open_tokenizer(output / name, by_class=True), WORDS[config.languages[0]].split()[:1]
    examples = list(zip(words, segment_words(opened, words), strict=True))
    return Card(name, facts, {}, config.size, examples, is_pretrained=True)


def index(cards: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Create the entry of each existing folder, in the order of the results; a saved BPE follows its MwS tokenizer."""
    found = []
    for row in rows:
        for name, system in ((row["name"], "MwS"), (row["name"].replace(MWS_PREFIX, BPE_PREFIX, 1), "BPE")):
            if (cards / name / "tokenizer.json").is_file() and system in row["systems"]:
                found.append(_entry(cards / name, system, row))
    return found


def _entry(folder: Path, system: str, row: dict[str, Any]) -> dict[str, Any]:
    figures = row["systems"][system]
    gold = next(iter(figures["f1"]), None)
    return {
        "name": folder.name,
        "system": system,
        "languages": ["ru"] if row["groups"] == ["lexicon"] else row["groups"],
        "entries": row["entries"],
        "license": row["license"],
        "megabytes": round(sum(path.stat().st_size for path in folder.iterdir()) / 1e6, 2),
        "gold": gold,
        "f1": figures["f1"].get(gold),
        "tokens_per_word": figures["tokens_per_word"],
        "bytes_per_token": figures["bytes_per_token"],
    }


def write_index(cards: Path = CARDS, results: Path = RESULTS, output: Path = PRETRAINED_INDEX) -> None:
    """Write the index of all existing folders."""
    write_json(output, {"tokenizers": index(cards, _rows(results))})


def _rows(results: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(results.read_text(encoding="utf-8"))["rows"]
    return rows


if __name__ == "__main__":
    by_name = {config.name: config for config in CONFIGS}
    for each in _rows(RESULTS):
        write_cards(by_name[each["name"]], each, CARDS)
    write_index()
