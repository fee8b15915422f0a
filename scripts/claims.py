"""Hold figures of README and docs/ against the results files they come from: each must stand there as computed.

    python scripts/claims.py

A claim is a page, the words around a figure, and the figure as scripts/results has it now. Prints those that a page
does not say so, and then fails. It measures nothing. Figures made outside the project (held-out halves, the audit's
n-grams of SentencePiece) have no file here and are not held.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lab.cells import rows_of

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "scripts" / "results"
README, MEASURED, LIMITS, QUESTIONS = "README.md", "docs/measured.md", "docs/limits.md", "docs/questions.md"
PRETRAINED, READING = "docs/pretrained.md", "scripts/results/README.md"
BOUNDARIES, PUBLIC_SETS, MODELS, MORPHOLOGY, FORMS, SPEED = (
    f"docs/measured/{name}.md"
    for name in ("boundaries", "public-sets", "language-models", "morphology", "forms", "speed")
)
GOLDS = {
    "Russian, Tikhonov lemmas": ("rus", "rus.tikhonov"),
    "Russian, Wiktionary forms": ("rus", "rus.wiktionary-forms"),
    "Russian, forms of running text": ("rus", "rus.running-text-forms"),
    "Russian lemmas, from ": ("rus-lexicon", "rus.tikhonov"),
    "Finnish, Morpho Challenge": ("fin", "fin.morphochallenge2010"),
    "Turkish, Morpho Challenge": ("tur", "tur.morphochallenge2010"),
    "Hungarian, SIGMORPHON": ("hun", "hun.sigmorphon2022"),
    "Czech, SIGMORPHON": ("ces", "ces.sigmorphon2022"),
    "English, Morpho Challenge": ("eng", "eng.morphochallenge2010"),
    "Latin, ": ("lat", "lat.sigmorphon2022"),
}
MORFESSOR_ENGLISH = "0.623"
"""The best rival of English has no row in quality.json: Morfessor on all types (scripts/results/README.md)."""


LARGE_TEXT = "93.3 MB, 32,000 entries"
"""The text of trainers.json that README speaks of."""
LANGUAGES = {"ces": "Czech", "eng": "English", "fin": "Finnish", "hun": "Hungarian", "rus": "Russian", "tur": "Turkish"}


class Claim(NamedTuple):
    """A page, a pattern that finds the place of a figure, and what must stand there."""

    page: str
    place: str
    figures: tuple[str, ...]


@cache
def results(name: str) -> Any:
    """Read the rows of an experiment, or another results file."""
    if (RESULTS / f"{name}.jsonl").exists():
        return rows_of(name)
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def quality(language: str, gold: str, system: str, size: int = 8_000) -> dict[str, Any]:
    """Find the row of a system on a gold set."""
    wanted = (language, gold, system)
    rows = [row for row in results("quality") if (row["language"], row["gold"], row["system"]) == wanted]
    found: dict[str, Any] = next(row for row in rows if row["vocab_size"] in (size, None))
    return found


def card(name: str, system: str) -> dict[str, Any]:
    """Find the figures of a system in the card of a ready tokenizer."""
    found: dict[str, Any] = next(row for row in results("pretrained")["rows"] if row["name"] == name)["systems"][system]
    return found


def best_rival(language: str, gold: str, size: int = 8_000) -> float:
    """Find the highest F1 of a rival."""
    rows = [row for row in results("quality") if (row["language"], row["gold"]) == (language, gold)]
    rivals = [row for row in rows if not row["system"].startswith("mws") and row["vocab_size"] in (size, None)]
    return float(max(row["f1"] for row in rivals))


def boundaries() -> Iterator[Claim]:
    """Yield the tables of boundary F1, and what is said of single systems."""
    for title, (language, gold) in GOLDS.items():
        ours, default, classic = (quality(language, gold, each) for each in ("mws-morphs", "mws", "mws-classic"))
        rival = MORFESSOR_ENGLISH if language == "eng" else f"{best_rival(language, gold):.3f}"
        if language == "rus-lexicon":
            rival = f"{card('mws-ru-morphs-8k', 'Unigram')['f1'][gold]:.3f}"
        f1 = f"{ours['f1']:.3f}"
        interval = f"({ours['f1_low']:.3f}-{ours['f1_high']:.3f})"
        row = rf"^\| {title}.*$"
        yield Claim(BOUNDARIES, row, (f1, interval, f"| {default['f1']:.3f} | {classic['f1']:.3f} |", rival))
    russian = {each: quality("rus", "rus.tikhonov", each, 32_000) for each in ("mws", "bpe-byte:text")}
    f1 = [f"{row['f1']:.3f}" for row in russian.values()]
    lengths = [f"{row['text_fertility']:.2f}" for row in russian.values()]
    for page in (MEASURED, BOUNDARIES, QUESTIONS):
        yield Claim(page, r"At 32,000 entries.*$", (lengths[0], f"F1 {f1[0]}", lengths[1], f1[1]))
    unigram = quality("rus", "rus.tikhonov", "sentencepiece-unigram:text", 32_000)
    told = (f"{unigram['text_fertility']:.2f}", f"{unigram['f1']:.3f}")
    yield Claim(README, r"^\| Boundary F1.*$", (f"| {f1[0]} | {f1[1]} | {told[1]} |",))
    yield Claim(README, r"^\| Tokens a word.*$", (f"| {lengths[0]} | {lengths[1]} | {told[0]} |",))
    yield Claim(README, r"^\*\*Benefit.*$", (f"F1 is {f1[0]} in Russian, where byte-level BPE has {f1[1]}",))
    for page in (MEASURED, BOUNDARIES):
        yield Claim(page, r"SentencePiece Unigram \d.*$", (f"{told[0]} ({told[1]})",))
    yield Claim(QUESTIONS, r"SentencePiece Unigram takes.*$", (f"takes {told[0]}", f"({told[1]})"))
    precision = [
        f"{quality(each, f'{each}.morphochallenge2010', 'mws-morphs')['precision']:.2f}" for each in ("eng", "fin")
    ]
    yield Claim(README, r"Stems never seen.*$", (f"{precision[0]} in English",))
    yield Claim(LIMITS, r"Stems never seen.*$", (f"{precision[0]} in English", f"{precision[1]} in Finnish"))
    english = quality("eng", "eng.morphochallenge2010", "mws", 32_000)
    rival = best_rival("eng", "eng.morphochallenge2010", 32_000)
    length = f"{english['text_fertility']:.2f}"
    yield Claim(QUESTIONS, r"Boundaries are found better.*$", (f"{english['f1']:.3f}", f"{rival:.3f}", length))
    classic = [row["n_tokens"] for row in results("quality") if row["system"] == "mws-classic"]
    yield Claim(LIMITS, r"Its score runs out.*$", (f"{max(classic):,} entries",))


def models() -> Iterator[Claim]:
    """Yield the table of small language models: per cent fewer or more bits, with intervals."""
    rows = {
        "default against BPE": ("mws", "bpe"),
        "against byte-level BPE": ("mws", "bpe-byte"),
        "against Unigram of": ("mws", "unigram"),
        "morphs alone against BPE": ("mws-morphs", "bpe"),
    }
    for title, (system, rival) in rows.items():
        figures = []
        for language, digits in (("hun", 2), ("rus", 1)):
            for matched in (False, True):
                short = 1 if system == "mws-morphs" else digits
                figures.append(difference(language, system, rival, matched, short))
        yield Claim(MODELS, rf"^\| {title}.*fewer.*$", tuple(figures))
    fewer = {
        (language, rival): difference(language, "mws", rival, False, 1)
        for language in ("rus", "hun")
        for rival in ("bpe-byte", "unigram")
    }
    figures = [each.split(" ")[0] for each in fewer.values()]
    yield Claim(QUESTIONS, r"Small models need.*$", (f"{figures[0]} % fewer", f"{figures[2]} % in Hungarian"))


def works() -> Iterator[Claim]:
    """Yield what small models of whole works gain over the strongest rival and over shuffled evidence."""
    rivals = {
        "SentencePiece Unigram": "sentencepiece-unigram-identity",
        "shuffled evidence": "mws-shuffled",
        "byte-level BPE": "bpe-byte",
    }
    languages = {"Russian": "rus-works", "Hungarian": "hun-works"}
    told = {
        (language, name): difference(preset, "mws", rival, False, 1)
        for language, preset in languages.items()
        for name, rival in rivals.items()
    }
    for name, rival in rivals.items():
        cells = [*(told[language, name] for language in languages), difference("deu-works", "mws", rival, False, 1)]
        yield Claim(MODELS, rf"^\| beside {name} \| \d.*$", (f"| {' | '.join(cells)} |",))
    unigram = "% ahead of SentencePiece Unigram"
    for place, sentences, matched, size in (
        (r"^With training operations equal.*$", ("% ahead of it", f"{unigram} with all text"), True, 8_000),
        (
            r"^At 32,000 entries, three seeds.*$",
            ("% ahead of byte-level BPE", f"{unigram}, with an interval that holds 0"),
            False,
            32_000,
        ),
    ):
        for sentence, rival in zip(sentences, ("byte-level BPE", "SentencePiece Unigram"), strict=True):
            value, interval = difference("rus-works", "mws", rivals[rival], matched, 1, size).split(" fewer ")
            yield Claim(MODELS, place, (f"{value} {sentence} {interval}",))
    ablations = {
        "the default": "mws",
        "morphs by counts": "mws-counts",
        "price 0": "mws-price0",
        "no evidence": "mws-no-evidence",
        "shuffled evidence": "mws-shuffled",
    }
    for name, system in ablations.items():
        cells = [difference(preset, system, "bpe-byte", False, 1) for preset in languages.values()]
        yield Claim(MODELS, rf"^\| {name} \| \d\.\d (?:more|fewer).*$", (f"| {' | '.join(cells)} |",))
    russian, hungarian = (told[language, "SentencePiece Unigram"].partition(" ")[0] for language in languages)
    shuffled = [told[language, "shuffled evidence"].partition(" ")[0] for language in languages]
    byte_level = [told[language, "byte-level BPE"].partition(" ")[0] for language in languages]
    for place, ours, theirs in zip(
        (r"^\| Bits per byte.*$", r"^\| The same in Hungarian.*$"), byte_level, (russian, hungarian), strict=True
    ):
        yield Claim(README, place, (f"| {ours} % fewer | {theirs} % fewer |",))
    lost = f"{shuffled[0]} % (Russian) and {shuffled[1]} % (Hungarian) more bits"
    yield Claim(README, r"^\* \*\*Is it morphology.*$", (lost,))
    both = (
        f"{' to '.join(sorted(byte_level))} % fewer bits than byte-level BPE",
        f"{russian} % (Russian) and {hungarian} % (Hungarian) fewer than SentencePiece Unigram",
    )
    yield Claim(MEASURED, r"^\| Does a language model gain.*$", both)
    both = f"it is {russian} % on Russian works never seen and {hungarian} % on Hungarian ones"
    yield Claim(QUESTIONS, r"Against SentencePiece Unigram.*$", (both,))


def other_text() -> Iterator[Claim]:
    """Yield where the default stands on text of another kind."""
    for size, place in ((8_000, r"^\* With 8,000 entries.*$"), (32_000, r"^\* With 32,000 entries.*$")):
        rows = [row for row in results("other_text") if row["size"] == size and row["system"] == "mws"]
        shown = [row for row in rows if row["kind"] == "other"]
        ahead = sorted(-row["against"]["bpe-byte"][0] for row in shown)
        told = [f"{ahead[0]:.1f} to {ahead[-1]:.1f} % fewer bits than byte-level BPE"]
        for row in shown:
            value, low, _ = row["against"]["sentencepiece-unigram-identity"]
            if low > 0:
                told.append(f"{LANGUAGES[row['language']]} ({value:.1f} %)")
        yield Claim(MODELS, place, tuple(told))
        if size == 8_000:
            yield Claim(MEASURED, r"^On \[text of another kind.*$", tuple(told[1:]))


def in_print() -> Iterator[Claim]:
    """Yield bits per byte of the Hungarian comparison with papers, means over seeds, and the default's lead."""
    rows = {(row["system"], row["vocabulary"]): row for row in results("lm_hun-works")["rows"]
            if not row["flop_matched"] and row["main"]}  # fmt: skip
    names = {
        "the default": "mws",
        "byte-level BPE": "bpe-byte",
        "SentencePiece Unigram": "sentencepiece-unigram-identity",
        "MorphBPE, rebuilt": "morph-bpe-byte",
    }
    sizes = [size for size in (8_000, 16_000, 32_000) if ("mws", size) in rows]
    for name, system in names.items():
        found = [rows.get((system, size)) for size in sizes]
        cells = [f"{row['bits_per_byte']:.4f} ({row['seeds']})" if row else "not run" for row in found]
        yield Claim(MODELS, rf"^\| {name} \| 2\.\d{{4}} .*$", (f"| {' | '.join(cells)} |",))
    for size in sizes:
        told = [
            f"{difference('hun-works', 'mws', system, False, 1, size)} than {name}"
            for name, system in names.items()
            if system in rows["mws", size]["differences"] and rows[system, size]["seeds"] > 1
        ]
        if told and rows["mws", size]["seeds"] > 1:
            yield Claim(MODELS, rf"^\* {size:,} entries: .*$", tuple(told))
    gain = f"{difference('hun-works', 'mws', 'bpe-byte', False, 1, 32_000).partition(' ')[0]} %"
    yield Claim(README, r"^\* \*\*Models\*\*.*$", (f"gains {gain} on byte-level BPE",))
    yield Claim(MEASURED, r"^MeLLM 2026 finds.*$", (f"it needs {gain} fewer bits than byte-level BPE",))


def first_task() -> Iterator[Claim]:
    """Yield by how many points the default differs in the taggers, of all words and of words never seen."""
    rows = [row for row in results("tagger") if row["size"] == 8_000]
    means = {
        (row["language"], row["system"]): [statistics.mean(column) for column in zip(*row["by_seed"], strict=True)]
        for row in rows
    }
    gains: list[str] = []
    for language in sorted({row["language"] for row in rows}):
        ours = means[language, "mws"]
        (bpe, bpe_new), (unigram, unigram_new) = (
            [f"{mine - theirs:+.1f}" for mine, theirs in zip(ours, means[language, rival], strict=True)]
            for rival in ("bpe-byte", "sentencepiece-unigram-identity")
        )
        told = (f"{bpe} points beside byte-level BPE and {unigram} beside", f"never seen {bpe_new} and {unigram_new}")
        yield Claim(MODELS, rf"^\* {LANGUAGES[language]}: [+-].*$", told)
        gains.append(f"{bpe.removeprefix('+')} ({LANGUAGES[language]})")
    for page, place in (
        (README, r"^\* \*\*Models\*\*.*$"),
        (QUESTIONS, r"^A little, in languages.*$"),
        (MEASURED, r"^A first task speaks.*$"),
    ):
        yield Claim(page, place, tuple(gains))


def superwords() -> Iterator[Claim]:
    """Yield the table of superwords at the operations of the default, 16,000 entries."""
    for language, preset in (("Hungarian", "hun-works"), ("English", "eng-phrases"), ("Russian", "rus-phrases")):
        rows = {(row["system"], row["flop_matched"]): row for row in results(f"lm_{preset}")["rows"]
                if row["vocabulary"] == 16_000}  # fmt: skip
        default, phrases = rows["mws", False], rows["mws-superwords", True]
        value, low, high = in_per_cent(phrases["differences"]["mws"])
        cells = f"| {default['bits_per_byte']:.4f} | {phrases['bits_per_byte']:.4f} | "
        more = f"{value:+.2f} % ({low:+.2f} to {high:+.2f}) |"
        yield Claim(MODELS, rf"^\| {language}, \d+ MB.*$", (f"| {phrases['seeds']} {cells}{more}",))


def dropout() -> Iterator[Claim]:
    """Yield what dropout costs a small model: the least and the greatest mean loss of the three kinds."""
    bits: dict[str, list[float]] = {}
    for row in results("dropout"):
        bits.setdefault(row["way"], []).append(row["bits per byte"])
    means = {way: statistics.mean(each) for way, each in bits.items()}
    without = means.pop("no dropout")
    losses = sorted(100 * (mean / without - 1) for mean in means.values())
    yield Claim("docs/dropout.md", r"^lost .*$", (f"lost {losses[0]:.1f} to {losses[-1]:.1f} % of bits",))


def reading() -> Iterator[Claim]:
    """Yield the tables of scripts/results/README.md on small language models, of equal text and of equal operations."""
    rows = {
        r"^\| BPE over characters \| \d.*$": ("mws", "bpe", False),
        r"^\| BPE over bytes \| \d.*$": ("mws", "bpe-byte", False),
        r"^\| Unigram of `tokenizers` \| \d.*fewer.*$": ("mws", "unigram", False),
        r"^\| default against BPE \|.*$": ("mws", "bpe", True),
        r"^\| default against BPE over bytes \|.*$": ("mws", "bpe-byte", True),
        r"^\| default against Unigram with all.*$": ("mws", "unigram", True),
        r"^\| morphs against BPE \|.*$": ("mws-morphs", "bpe", True),
    }
    for place, (system, rival, matched) in rows.items():
        digits = {"hun": 1 if system == "mws-morphs" else 2, "rus": 2 if matched else 1}
        told = [difference(language, system, rival, matched, digits[language]) for language in ("hun", "rus")]
        yield Claim(READING, place, tuple(re.sub(r"^(\S+) ", r"\1 % ", each) for each in told))


def texts() -> Iterator[Claim]:
    """Yield what more text gives, and how much longer than BPE the default is."""
    growth = [row for row in results("robustness")["records"] if row["name"].startswith("growth/rus/")]
    f1 = [f"{row['f1']:.3f}" for record in growth for row in record["rows"] if row["gold"] == "rus.tikhonov"]
    yield Claim(BOUNDARIES, r"\*\*More text helps\*\*.*$", (", ".join(f1),))
    longer = []
    for language, (_, gold) in {each[0]: each for each in GOLDS.values()}.items():
        if language not in ("rus-lexicon", "lat"):
            for size in (8_000, 32_000):
                ours, bpe = (quality(language, gold, each, size) for each in ("mws", "bpe-character:text"))
                longer.append(ours["text_fertility"] / bpe["text_fertility"])
    cards = {row["name"]: row["systems"] for row in results("pretrained")["rows"] if "morphs" not in row["name"]}
    longer += [each["MwS"]["tokens_per_word"] / each["BPE"]["tokens_per_word"] for each in cards.values()]
    told = f"{100 * min(longer) - 100:.0f} to {100 * max(longer) - 100:.0f} % longer"
    for page in (README, MEASURED, BOUNDARIES, PRETRAINED, LIMITS, "docs/vocabulary-size.md"):
        yield Claim(page, r"^.*\d % longer.*$", (told,))


def mixture() -> Iterator[Claim]:
    """Yield what eight languages in one tokenizer lose, and what a trainer that balances languages makes of them."""
    rows = {(row["system"], row["vocab_size"], row["language"]): row for row in results("mixture")}
    own = {language: row for (system, _, language), row in rows.items() if system == "own"}
    lost = max(row["f1"] - rows["mws", 128_000, each]["f1"] for each, row in own.items() if "f1" in row)
    for page in (README, LIMITS):
        yield Claim(page, r"Eight languages in one tokenizer.*$", (f"up to {lost:.2f} of F1",))

    def more(system: str, size: int, base: str, base_size: int) -> dict[str, int]:
        """Tokens a word beside another system, in whole per cent, by language."""
        words = {
            each: [rows[key]["tokens_per_word"] for key in ((system, size, each), (base, base_size, each))]
            for each in own
        }
        return {each: round(100 * (ours / others - 1)) for each, (ours, others) in words.items()}

    large, small = (more("mws", size, "own", 32_000) for size in (128_000, 64_000))
    told = (f"{-large['rus']} % fewer tokens", f"to {large['ukr']} % more", f"{large['fin']} and {large['tur']} % more")
    told = (*told, f"up to {lost:.2f} of boundary F1", f"need {small['fin']} and {small['tur']} % more")
    yield Claim("docs/languages.md", r"A language needs.*$", told)
    ours, parity = (more(system, 64_000, "bpe", 64_000).values() for system in ("mws", "parity-bpe"))
    lengths = f"{-min(parity)} % shorter", f"{max(parity)} % longer", f"{min(ours)} to {max(ours)} % longer everywhere"
    f1 = {
        name: sorted(row["f1"] for key, row in rows.items() if key[:2] == (name, 64_000) and "f1" in row)
        for name in ("parity-bpe", "mws")
    }
    spans = [f"from {found[0]:.3f} to {found[-1]:.3f}" for found in f1.values()]
    yield Claim("docs/languages.md", r"^\*\*Beside `ParityBpeTrainer`\*\*.*$", (*lengths, *spans))


def in_per_cent(found: dict[str, float]) -> tuple[float, ...]:
    """Give a difference of bits and the ends of its interval as per cent of the rival's bits."""
    scale = 100 * found["relative"] / found["value"]
    return tuple(scale * found[each] for each in ("value", "low", "high"))


def difference(language: str, system: str, rival: str, matched: bool, digits: int, size: int = 8_000) -> str:
    """Tell a difference of bits per byte in words: "1.66 fewer (1.44 to 1.89)"."""
    rows = results(f"lm_{language}")["rows"]
    wanted = (system, size, True, matched)
    row = next(
        row for row in rows if tuple(row[key] for key in ("system", "vocabulary", "main", "flop_matched")) == wanted
    )
    value, low, high = in_per_cent(row["differences"][rival])
    if value > 0:
        low_word = f"{-low:.{digits}f} fewer" if low < 0 else f"{low:.{digits}f}"
        high_word = f"{high:.{digits}f} more" if low < 0 else f"{high:.{digits}f}"
        return f"{value:.{digits}f} more ({low_word} to {high_word})"
    return f"{-value:.{digits}f} fewer ({-high:.{digits}f} to {-low:.{digits}f})"


def speed() -> Iterator[Claim]:
    """Yield ratios of whole processes, medians over medians."""
    pairs = (
        ("training, contextual", "train/mws-contextual", "`tokenizers` BPE", "train/tokenizers-bpe", 2),
        ("training, classic + compositions", "train/mws-classic", "`tokenizers` BPE", "train/tokenizers-bpe", 1),
        ("training, classic + compositions", "train/mws-classic", "SentencePiece BPE", "train/sentencepiece-bpe", 1),
        ("bulk encoding, file to disk", "encode/mws-disk", "`encode_batch`", "encode/encode_batch", 0),
    )
    for work, ours, name, rival, digits in pairs:
        seconds = median("benchmark", ours), median("benchmark", rival)
        told = f"| {seconds[0]:.1f} s | {name} {seconds[1]:.1f} s | {seconds[1] / seconds[0]:.{digits}f}x ("
        yield Claim(SPEED, rf"^\| {re.escape(work)} \|.*{re.escape(name)}.*$", (told,))
    large = median("benchmark-1gb", "train/tokenizers-bpe") / median("benchmark-1gb", "train/mws-contextual")
    small = median("benchmark", "train/tokenizers-bpe") / median("benchmark", "train/mws-contextual")
    encoding = median("benchmark", "encode/encode_batch") / median("benchmark", "encode/mws-disk")
    told = (f"{small:.1f} times as fast", f"{large:.1f} times on 1 GB", f"encoding to disk {encoding:.0f} times")
    yield Claim(MEASURED, r"^\| Is it fast.*$", told)
    gigabyte = f"{median('benchmark-1gb', 'train/mws-contextual'):.0f} seconds"
    yield Claim(QUESTIONS, r"^From 0.1 MB on.*$", (f"1 GB takes {gigabyte}",))
    seconds = {name: statistics.median(times) for name, times in results("trainers")[LARGE_TEXT]["seconds"].items()}
    names = ("mws train, contextual", "tokenizers BpeTrainer, bytes", "SentencePiece Unigram (its own rules)")
    yield Claim(README, r"^\| Seconds to train.*$", (f"| {' | '.join(f'{seconds[each]:.1f}' for each in names)} |",))
    yield Claim(SPEED, r"\*\*1 GB\*\*.*$", (f"({large:.1f}x)",))


def median(name: str, task: str) -> float:
    """Find the median seconds of a whole warm process on the largest text."""
    rows = [row for row in results(name)["records"] if row["task"] == task and row["cache"] == "warm"]
    size = max(row["mb"] for row in rows)
    return statistics.median(row["process_seconds"] for row in rows if row["mb"] == size)


def ready() -> Iterator[Claim]:
    """Yield what is said of the table of ready tokenizers: n-gram bits beside Unigram at 32,000 entries, and length."""
    systems = {row["name"]: row["systems"] for row in results("pretrained")["rows"] if row["entries"] == 32_000}
    gains = {
        name: 100 * (1 - each["MwS"]["bits_per_byte"] / each["Unigram"]["bits_per_byte"])
        for name, each in systems.items()
    }
    ahead = sorted(gains[f"mws-{each}-32k"] for each in ("fi", "uk", "hu"))
    level = max(abs(gains[f"mws-{each}-32k"]) for each in ("ru", "tr", "cs", "de", "en"))
    yield Claim(PRETRAINED, r"^Read the last column[\s\S]*?\n\n", (f"within {level:.1f} %",))
    yield Claim(PRETRAINED, r"In Finnish, Ukrainian and Hungarian.*$", (f"{ahead[0]:.1f} to {ahead[-1]:.1f} % fewer",))


def small_texts() -> Iterator[Claim]:
    """Yield what little text and labels bring, least and most of six languages."""
    cells: dict[tuple[str, float, str], list[float]] = {}
    for row in results("small_texts"):
        cells.setdefault((row["language"], row["megabytes"], row["system"]), []).append(row["f1"])
    f1 = {key: statistics.fmean(found) for key, found in cells.items()}
    languages = {language for language, _, _ in f1}
    more = sorted(f1[each, 1.0, "mws-morphs"] - f1[each, 0.1, "mws-morphs"] for each in languages)
    gains = {
        (labels, size): sorted(
            f1[each, size, f"mws-morphs, {labels} labels"] - f1[each, size, "mws-morphs"] for each in languages
        )
        for labels in (20, 300)
        for size in (0.1, 10.0)
    }
    spans = {key: f"{found[0]:.2f} to {found[-1]:.2f}" for key, found in gains.items()}
    page = "docs/small-languages.md"
    yield Claim(page, r"From 0.1 to 1 MB.*$", (f"{more[0]:.2f} to {more[-1]:.2f}",))
    russian = f"{f1['rus', 0.1, 'mws-morphs']:.3f} with 0.1 MB and {f1['rus', 10.0, 'mws-morphs']:.3f} with 10 MB"
    yield Claim(QUESTIONS, r"^From 0.1 MB on.*$", (russian,))
    yield Claim(page, r"300 labelled words.*add.*$", (f"{spans[300, 0.1]} at 0.1 MB", f"{spans[300, 10.0]} at 10 MB"))
    mean = statistics.fmean(gains[20, 10.0])
    yield Claim(page, r"20 labelled words.*add.*$", (f"{spans[20, 0.1]} at 0.1 MB", f"{mean:.2f} on average at 10 MB"))


def english() -> Iterator[Claim]:
    """Yield what n-gram models gain in English, by vocabulary size."""
    rows = [row for row in results("ngram_map") if (row["language"], row["slice"]) == ("eng", "4 MB")]
    ours = {row["size"]: row for row in rows if row["system"] == "mws"}
    bpe, unigram = (
        [-ours[size][f"against_{rival}"][0] for size in (8_000, 32_000)]
        for rival in ("bpe-byte", "sentencepiece-unigram-identity")
    )
    yield Claim(MEASURED, r"^\| And in English.*$", (f"{spread(bpe)} n-gram bits",))
    told = f"{spread(bpe)} n-gram bits than byte-level BPE", f"{unigram[0]:.1f} % fewer to {-unigram[1]:.1f} % more"
    for page in (LIMITS, QUESTIONS):
        yield Claim(page, r"(?i)expect next to nothing.*$", told)
    yield Claim(README, r"^\| N-gram.*English.*$", (f"| {bpe[1]:.1f} % fewer | {-unigram[1]:.1f} % more |",))


def surgery() -> Iterator[Claim]:
    """Yield what surgery costs a small decoder, and what kinds of first rows bring."""
    page, found = "docs/extend.md", results("surgery")
    bits: dict[tuple[str, str, str], list[float]] = {}
    for run in found["first_rows"]:
        for step, by_language in run["steps"].items():
            for language, value in by_language.items():
                bits.setdefault((run["init"], language, step), []).append(value)
    means = {key: statistics.fmean(values) for key, values in bits.items()}
    mean, focus, quiet = (f"{means[each, 'Finnish', '1,000']:.3f}" for each in ("mean", "focus", "quiet"))
    yield Claim(page, r"^\* After 1,000 steps.*$", (f"{mean} and {focus} bits per byte, and {quiet} with",))
    english = [row["bits per byte, English"] for row in found["decoder"] if row["weights"] == "5.2 M"]
    deep, _, _, slight, plain, hushed = (each.split("(")[1][:-2] for each in english[1:])  # "1.845 (+0.70%)"
    more = [row["English tokens"].split("(")[1][1:-2] for row in found["decoder"] if row["tokenizer"] == "trimmed"]
    yield Claim(page, r"English rose by.*$", (f"{plain[1:]} % with `mean` and by {hushed[1:]} % with `quiet`",))
    yield Claim(page, r"To 60 % of 8,000.*$", (f"{more[0]} % more tokens and {deep[1:]} % more bits",))
    yield Claim(page, r"^  0.01 % more tokens.*$", (f"{more[1]} % more tokens", f"({slight} %)"))
    for row in [*found["public"], *found["length"]]:
        name = {"English, byte-level": "stand-in: English", "eight languages, byte fallback": "stand-in: eight"}
        line = rf"^\| {name.get(row['base'], row['base'])}.*\|.*\|.*$"
        if row["language"] == "eng":
            yield Claim(page, line, (f"{row['entries']:,} | {row['trimmed']} |",))
        if row["language"] == "rus":
            yield Claim(page, line, (f"{row['and 16,000 Russian tokens']} |",))
    yield Claim(page, r"^The last base.*$", (found["length"][-1]["by frequency"],))
    cut = [row["English and code: texts cut otherwise"].split(" of ") for row in found["protect"]]
    lines = [row["protected"].split()[0] for row in found["protect"]]
    told = f"of {cut[0][1]} held-out texts {cut[0][0]} are cut otherwise without a sample, {cut[1][0]} with {lines[1]}"
    share = 100 * int(cut[2][0]) / int(cut[2][1].replace(",", ""))
    yield Claim(page, r"^  of .* held-out texts.*$", (told, f"{cut[2][0]} with {lines[2]} ({share:.2f} %)"))
    forgotten = statistics.fmean(means[each, "English", "1,000"] for each in ("mean", "quiet", "weighted", "focus"))
    yield Claim(page, r"forget English.*$", (f"{forgotten:.1f} bits per byte after 1,000 steps",))


def ablation() -> Iterator[Claim]:
    """Yield what n-gram models gain over the rivals and over shuffled evidence, least and most, by vocabulary size."""
    rivals = {
        "bpe-byte": "byte-level BPE",
        "sentencepiece-unigram-identity": "SentencePiece Unigram",
        "mws-shuffled": "with shuffled evidence",
    }
    cells = {(row["language"], row["size"], row["slice"], row["system"]): row for row in results("ngram_map")}
    ours = {key[:3]: row for key, row in cells.items() if key[3] == "mws" and "against_mws-shuffled" in row}
    gains = {
        (size, each): spread([-row[f"against_{each}"][0] for key, row in ours.items() if key[1] == size])
        for size in (8_000, 32_000)
        for each in rivals
    }
    for rival, name in rivals.items():
        yield Claim(MORPHOLOGY, rf"^\* .*needs.*than {name}.*$", (gains[8_000, rival],))
    yield Claim(MORPHOLOGY, r"^\* \*\*At 32,000 entries\*\*.*$", tuple(gains[32_000, each] for each in rivals))
    yield Claim(LIMITS, r"^\* .*shuffled.*$", (gains[8_000, "mws-shuffled"],))
    unigram = [gains[size, "sentencepiece-unigram-identity"] for size in (8_000, 32_000)]
    yield Claim(README, r"^\* At 32,000 entries n-gram.*$", (f"{unigram[1]} bits",))
    base = "against_bpe-byte"
    kept = [100 * cells[*key, "mws-shuffled"][base][0] / row[base][0] for key, row in ours.items() if key[1] == 8_000]
    yield Claim(MORPHOLOGY, r"^\* Shuffled evidence keeps.*$", (f"{min(kept):.0f} to {max(kept):.0f} %",))
    yield Claim(MEASURED, r"^\| Is it morphology.*$", (f"at least {100 - round(max(kept))} %",))


def public_sets() -> Iterator[Claim]:
    """Yield on how many of the public sets, run once, the default and morphs alone are ahead of both rivals."""
    rivals = ("bpe-byte", "sentencepiece-unigram-identity")
    leads: dict[str, list[bool]] = {rival: [] for rival in rivals}
    for kinds, field, place in (
        (("sigmorphon",), "f1", r"^\* \*\*Whole segmentations\*\*.*$"),
        (("morphscore", "lemma"), "single_recall", r"^\* \*\*One boundary a word\*\*.*$"),
    ):
        sets: dict[tuple[str, str, int], dict[str, float]] = {}
        for row in results("blind"):
            if row["kind"] in kinds and "left_out" not in row:
                sets.setdefault((row["kind"], row["language"], row["vocab_size"]), {})[row["system"]] = row[field]
        told = []
        for system in ("mws", "mws-morphs"):
            for rival in rivals:
                ahead = sum(found[system] > found[rival] for found in sets.values())
                told.append(f"{ahead} of {len(sets)}")
        yield Claim(PUBLIC_SETS, place, tuple(told))
        for rival in rivals:
            leads[rival] += [found["mws"] > found[rival] for found in sets.values()]
        ahead = [found["mws"] > found["morfessor"] for found in sets.values() if "morfessor" in found]
        kind = "whole segmentations" if field == "f1" else "sets of one boundary"
        yield Claim(PUBLIC_SETS, r"^\* \*\*Morfessor\*\*.*$", (f"{sum(ahead)} of {len(ahead)} {kind}",))
    sets = f"of {len(leads[rivals[0]])} | | {sum(leads[rivals[0]])} | {sum(leads[rivals[1]])} |"
    yield Claim(README, r"^\| Public sets.*$", (sets,))
    byte_level, unigram = (f"{sum(found)} of {len(found)}" for found in leads.values())
    told = (f"byte-level BPE on {byte_level}, of SentencePiece Unigram on {unigram}",)
    yield Claim(MEASURED, r"^\| And on sets.*$", told)
    roots = results("blind_roots")
    means = {
        (n, name): statistics.fmean(row[name] for row in roots if row["labels"] == n)
        for n in (0, 100, 1_000)
        for name in ("f1", "exact")
    }
    told = [*(f"{means[n, 'f1']:.3f}" for n in (0, 100, 1_000)), f"{100 * means[1_000, 'exact']:.0f} %"]
    yield Claim(PUBLIC_SETS, r"^\* \*\*Russian by roots\*\*.*$", tuple(told))


def paradigms() -> Iterator[Claim]:
    """Yield how much more often forms of a word begin with the same stem, and how few entries they take."""
    rows = [row for row in results("paradigms") if row["vocab_size"] == 8_000]
    of = {(row["source"], row["system"]): row for row in rows}
    sources = list(dict.fromkeys(row["source"] for row in rows))
    for rival, name in (("bpe-byte", "byte-level BPE"), ("sentencepiece-unigram-identity", "SentencePiece Unigram")):
        stems, shares = ([of[each, rival][f"lead_{x}"] for each in sources] for x in ("same_stem", "shared"))
        told = (won(stems), won(shares))
        yield Claim(FORMS, rf"^\* \*\*Against {name}\*\*.*$", told)
    fewer = [100 * (1 - of[x, "mws"]["entries_a_form"] / of[x, "bpe-byte"]["entries_a_form"]) for x in sources]
    yield Claim(FORMS, r"^\* \*\*Entries\*\*.*$", (f"{round(min(fewer))} to {round(max(fewer))} % fewer",))


def won(leads: list[list[float]]) -> str:
    """Tell in how many tables the default leads, is level, and is behind, by the 95 % interval.

    >>> won([[0.2, 0.1], [0.05, 0.1], [0.3, 0.1]])
    'ahead in 2, level in 1, behind in 0'
    """
    ahead = sum(lead > half for lead, half in leads)
    behind = sum(-lead > half for lead, half in leads)
    return f"ahead in {ahead}, level in {len(leads) - ahead - behind}, behind in {behind}"


def spread(values: list[float]) -> str:
    """Tell the least and the most of percentages.

    >>> spread([1.26, 0.33])
    '0.3 to 1.3 % fewer'
    >>> spread([0.4, -0.49])
    '0.5 % more to 0.4 % fewer'
    """
    if min(values) < 0:
        return f"{-min(values):.1f} % more to {max(values):.1f} % fewer"
    return f"{min(values):.1f} to {max(values):.1f} % fewer"


def claims() -> list[Claim]:
    """List every claim."""
    texts_and_models = (
        boundaries,
        models,
        works,
        other_text,
        in_print,
        first_task,
        superwords,
        dropout,
        reading,
        texts,
        speed,
        ready,
        english,
        small_texts,
        surgery,
    )
    kinds = (*texts_and_models, mixture, ablation, public_sets, paradigms)
    return [claim for kind in kinds for claim in kind()]


def faults(claim: Claim, text: str) -> list[str]:
    """Say what a page does not say.

    >>> faults(Claim("a.md", r"^F1 is.*$", ("0.73",)), "F1 is 0.74 here")
    ["a.md: 0.73 is not in 'F1 is 0.74 here'"]
    """
    places = [found[0] for found in re.finditer(claim.place, text, re.MULTILINE)]
    if not places:
        return [f"{claim.page}: nothing like {claim.place!r}"]
    missing = [figure for figure in claim.figures if not any(figure in place for place in places)]
    return [f"{claim.page}: {figure} is not in {places[0]!r}" for figure in missing]


def main() -> None:
    found = [each for claim in claims() for each in faults(claim, (ROOT / claim.page).read_text(encoding="utf-8"))]
    print("\n".join(found) or f"{sum(len(claim.figures) for claim in claims())} figures are those of the results files")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
