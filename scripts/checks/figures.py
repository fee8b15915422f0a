"""Figures that README and docs/ quote, computed from scripts/results: `docs_tables.py` writes them in.

A page quotes a figure between two marks, `<!--=sets.bpe-->38 of 40<!--/-->`, and takes a table of `tables.py` by
`<!-- from figures:works -->`. So no two pages can differ, and none from the rows. Nothing is measured here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from statistics import fmean, median
from typing import Any

from lab.cells import RESULTS, Row
from lab.systems import UNIGRAM
from lab.tables import where
from lm.plan import BPE, PRESETS
from lm.report import summary

SHUFFLED = "mws-shuffled"
GOLDS = {
    "Russian, Tikhonov's lemmas": ("rus", "rus.tikhonov"),
    "Russian, Wiktionary forms": ("rus", "rus.wiktionary-forms"),
    "Russian, forms of running text": ("rus", "rus.running-text-forms"),
    "Russian lemmas, learnt from a lexicon": ("rus-lexicon", "rus.tikhonov"),
    "Finnish, Morpho Challenge": ("fin", "fin.morphochallenge2010"),
    "Turkish, Morpho Challenge": ("tur", "tur.morphochallenge2010"),
    "Hungarian, SIGMORPHON": ("hun", "hun.sigmorphon2022"),
    "Czech, SIGMORPHON": ("ces", "ces.sigmorphon2022"),
    "English, Morpho Challenge": ("eng", "eng.morphochallenge2010"),
    "Latin, from a list of 8,000 words": ("lat", "lat.sigmorphon2022"),
}
Figures = Iterator[tuple[str, str]]


@cache
def results(name: str) -> Any:
    """Read a results file: the rows of an experiment, or one document."""
    if (RESULTS / f"{name}.jsonl").exists():
        return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found["rows"] if isinstance(found, dict) and "rows" in found else found


def columns(name: str, figure: str, *keys: str, **fixed: object) -> dict[Any, list[Any]]:
    """Give a figure of the rows with some values: all there are, by what they have of one key, or of several."""
    found: dict[Any, list[Any]] = {}
    for row in where(results(name), **fixed):
        if figure in row:
            key = tuple(row[each] for each in keys)
            found.setdefault(key if len(key) > 1 else key[0], []).append(row[figure])
    return found


def means(name: str, figure: str, *keys: str, **fixed: object) -> dict[Any, float]:
    """Give the mean of a figure by key, as `columns` does."""
    return {key: fmean(found) for key, found in columns(name, figure, *keys, **fixed).items()}


def ends(values: Iterable[float], form: str = ".1f", unit: str = " %") -> str:
    """Write the least and the most of some values.

    >>> ends([1.26, 0.33])
    '0.3 to 1.3 %'
    """
    least, *_, most = sorted(values)
    return f"{least:{form}} to {most:{form}}{unit}"


def fewer(values: list[float]) -> str:
    """Write the least and the most of percentages saved.

    >>> fewer([1.26, 0.33])
    '0.3 to 1.3 % fewer'
    >>> fewer([0.4, -0.49])
    '0.5 % more to 0.4 % fewer'
    """
    if min(values) < 0:
        return f"{-min(values):.1f} % more to {max(values):.1f} % fewer"
    return f"{ends(values)} fewer"


def quality(language: str, gold: str, system: str, size: int = 8_000) -> Row:
    """Find the row of a system on a gold set."""
    rows = where(results("quality"), language=language, gold=gold, system=system)
    return next(row for row in rows if row["vocab_size"] in (size, None))


def best_rival(language: str, gold: str) -> tuple[float, str]:
    """Find the highest F1 of a rival at 8,000 entries, and its name."""
    rows = where(results("quality"), language=language, gold=gold)
    rivals = [row for row in rows if not row["system"].startswith("mws") and row["vocab_size"] in (8_000, None)]
    best = max(rivals, key=lambda row: row["f1"])
    names = {"sentencepiece-unigram": "SentencePiece Unigram", "unigram": "Unigram", "morfessor": "Morfessor"}
    system = best["system"].partition(":")[0]
    for suffix in ("-frequent", "-all", "-identity"):
        system = system.removesuffix(suffix)
    return float(best["f1"]), names.get(system, system)


def boundary_figures() -> Figures:
    """Yield what is said of boundaries and of length."""
    for name, system in {"mws": "mws", "bpe": "bpe-byte:text", "unigram": "sentencepiece-unigram:text"}.items():
        row = quality("rus", "rus.tikhonov", system, 32_000)
        yield f"f1.{name}", f"{row['f1']:.3f}"
        yield f"length.{name}", f"{row['text_fertility']:.2f}"
    for each in ("eng", "fin"):
        yield f"precision.{each}", f"{quality(each, f'{each}.morphochallenge2010', 'mws-morphs')['precision']:.2f}"
    yield "f1.latin", f"{quality('lat', 'lat.sigmorphon2022', 'mws-morphs')['f1']:.3f}"
    yield "f1.latin.rival", f"{best_rival('lat', 'lat.sigmorphon2022')[0]:.3f}"
    yield "classic.entries", f"{max(columns('quality', 'n_tokens', 'system')['mws-classic']):,}"
    yield "f1.ready", f"{cards()['mws-ru-32k']['MwS']['f1']['rus.tikhonov']:.3f}"
    pairs = [
        [quality(language, gold, each, size)["text_fertility"] for each in ("mws", "bpe-character:text")]
        for language, gold in dict(GOLDS.values()).items()
        if language not in ("rus-lexicon", "lat")
        for size in (8_000, 32_000)
    ]
    pairs += [[each[x]["tokens_per_word"] for x in ("MwS", "BPE")] for n, each in cards().items() if "morphs" not in n]
    yield "longer", ends((100 * ours / bpe - 100 for ours, bpe in pairs), ".0f")


def public_leads() -> dict[tuple[str, str], list[tuple[bool, ...]]]:
    """Say by kind of set and system where it is ahead of byte-level BPE and of Unigram, and of Morfessor if it ran."""
    leads: dict[tuple[str, str], list[tuple[bool, ...]]] = {}
    for kind, kinds, field in (("whole", ("sigmorphon",), "f1"), ("one", ("morphscore", "lemma"), "single_recall")):
        sets: dict[tuple[str, str, int], dict[str, float]] = {}
        for row in results("blind"):
            if row["kind"] in kinds and field in row:
                sets.setdefault((row["kind"], row["language"], row["vocab_size"]), {})[row["system"]] = row[field]
        for system in ("mws", "mws-morphs"):
            rivals = (BPE, UNIGRAM, "morfessor")
            leads[kind, system] = [
                tuple(found[system] > found[rival] for rival in rivals if rival in found) for found in sets.values()
            ]
    return leads


def sets_ahead(leads: list[tuple[bool, ...]]) -> list[str]:
    """Write on how many sets a system is ahead of each rival, of those that the rival was tried on."""
    tried = [[lead[i] for lead in leads if i < len(lead)] for i in range(3)]
    return [f"{sum(each)} of {len(each)}" for each in tried]


def public_figures() -> Figures:
    """Yield on how many of all public sets the default is ahead, and the scores by labels on roots never labelled."""
    leads = [lead for (_, system), found in public_leads().items() for lead in found if system == "mws"]
    yield from zip(("sets.bpe", "sets.unigram", "sets.morfessor"), sets_ahead(leads), strict=True)
    f1, exact = (means("blind_roots", name, "labels") for name in ("f1", "exact"))
    yield from ((f"roots.{n}", f"{f1[n]:.3f}") for n in (0, 100, 1_000))
    yield "roots.exact", f"{100 * exact[1_000]:.0f} %"


@cache
def models(preset: str) -> list[Row]:
    """Give the lines of a comparison of small models; those of a closed one as they were written."""
    if preset in PRESETS:
        return summary(PRESETS[preset], results(f"lm_{preset}"))
    lines = where(results(f"lm_{preset}"), main=True)  # beside other amounts of text
    for line in lines:
        line["against"] = {
            name: [100 * found["relative"] / found["value"] * found[each] for each in ("value", "low", "high")]
            for name, found in line["differences"].items()
        }
    return lines


def difference(preset: str, system: str, rival: str, *, matched: bool = False, size: int = 8_000) -> list[float]:
    """Find a difference of bits per byte and the ends of its interval, in per cent of the rival's bits."""
    found = where(models(preset), system=system, vocabulary=size, flop_matched=matched)
    return list(found[0]["against"][rival])


def model_figures() -> Figures:
    """Yield what small models gain, in per cent fewer bits, what dropout costs them, and the leads of taggers."""
    yield from ((f"tagger.{each}.bpe", f"{tagger_leads(each, BPE)[0]:.1f}") for each in ("fin", "hun", "tur"))
    for name, rival in (("bpe", BPE), ("unigram", UNIGRAM)):
        for language in ("rus", "hun"):
            yield f"bits.{language}.{name}", f"{-difference(f'{language}-works', 'mws', rival)[0]:.1f}"
            value, low, high = (f"{-each:.1f}" for each in difference(f"{language}-works", "mws", rival, size=32_000))
            yield f"bits.{language}.{name}.32k", value
            yield f"bits.{language}.{name}.32k.interval", f"{high} to {low}"
        yield f"bits.rus.{name}.operations", f"{-difference('rus-works', 'mws', rival, matched=True)[0]:.1f}"
    for preset, matched in (("rus-phrases", False), ("hun-works", False), ("rus-phrases", True)):
        value, low, high = difference(preset, "mws-finer", "mws", matched=matched, size=16_000)
        name = f"finer.{preset[:3]}" + ".operations" * matched
        yield name, f"{value:+.2f} % ({low:+.2f} to {high:+.2f})"
    for language in ("hun", "rus"):
        yield f"lines.{language}.bpe", f"{-difference(language, 'mws', BPE)[0]:.1f}"
    bits = means("dropout", "bits per byte", "way")
    without = bits.pop("no dropout")
    yield "dropout", ends(100 * (mean / without - 1) for mean in bits.values())


def tagger_leads(language: str, rival: str) -> list[float]:
    """By how many points the default's taggers lead: of all words, and of words never seen."""
    runs = columns("tagger", "by_seed", "system", language=language, size=8_000)
    ours, theirs = ([fmean(each) for each in zip(*runs[system][0], strict=True)] for system in ("mws", rival))
    return [one - other for one, other in zip(ours, theirs, strict=True)]


def ablation_rows() -> list[tuple[Row, Row]]:
    """Give the default's rows of the n-gram map, each with that of shuffled evidence."""
    cells = {(row["language"], row["size"], row["slice"], row["system"]): row for row in results("ngram_map")}
    ours = {key: row for key, row in cells.items() if key[3] == "mws" and f"against_{SHUFFLED}" in row}
    return [(row, cells[*key[:3], SHUFFLED]) for key, row in ours.items()]


def ngram_figures() -> Figures:
    """Yield ranges of what n-gram models gain with 32,000 entries, and in English."""
    large = [row for row, _ in ablation_rows() if row["size"] == 32_000]
    for rival, short in ((BPE, "bpe"), (UNIGRAM, "unigram"), (SHUFFLED, "shuffled")):
        yield f"ngrams.32k.{short}", fewer([-row[f"against_{rival}"][0] for row in large])
    base = f"against_{BPE}"
    small = [(ours[base][0], theirs[base][0]) for ours, theirs in ablation_rows() if ours["size"] == 8_000]
    yield "ngrams.kept", ends((100 * theirs / ours for ours, theirs in small), ".0f")
    english = where(results("ngram_map"), language="eng", slice="4 MB", system="mws")
    of = {row["size"]: row for row in english}
    yield "english.bpe", fewer([-of[size][base][0] for size in (8_000, 32_000)])
    short, long = (of[size][f"against_{UNIGRAM}"][0] for size in (8_000, 32_000))
    yield "english.unigram", f"{-short:.1f} % fewer to {long:.1f} % more"


def form_figures() -> Figures:
    """Yield in how many tables the default leads, is level and is behind by the 95 % interval, and entries saved."""
    for rival, name in ((BPE, "bpe"), (UNIGRAM, "unigram")):
        for measure in ("same_stem", "shared"):
            leads = columns("paradigms", f"lead_{measure}", "system", vocab_size=8_000)[rival]
            ahead, behind = (sum(sign * lead > half for lead, half in leads) for sign in (1, -1))
            level = len(leads) - ahead - behind
            yield f"forms.{name}.{measure}", f"ahead in {ahead}, level in {level}, behind in {behind}"
    entries = columns("paradigms", "entries_a_form", "system", vocab_size=8_000)
    pairs = zip(entries["mws"], entries[BPE], strict=True)
    yield "forms.entries", ends((round(100 * (1 - ours / theirs)) for ours, theirs in pairs), "")


def medians(name: str) -> dict[str, dict[str, float]]:
    """Give the median seconds of each program, by text."""
    times: dict[str, dict[str, list[float]]] = {}
    for row in results(name):
        text = row.get("text") or f"{row['megabytes']} MB"
        times.setdefault(text, {}).setdefault(row["program"], []).append(row["seconds"])
    return {text: {program: median(each) for program, each in of.items()} for text, of in times.items()}


def speed() -> Figures:
    """Yield seconds and ratios of whole processes, medians over medians."""
    large, small = medians("trainers").values()
    ours = "mws train, contextual"
    names = {"bytes": "tokenizers BpeTrainer, bytes", "unigram": "SentencePiece Unigram (its own rules)"}
    yield "train.mws", f"{large[ours]:.1f}"
    yield from ((f"train.{short}", f"{large[name]:.1f}") for short, name in names.items())
    yield "train.bytes.times", f"{large[names['bytes']] / large[ours]:.1f}"
    yield "train.small.unigram", f"{small[ours] / small[names['unigram']]:.1f}"
    warm = columns("benchmark", "process_seconds", "text", "task", cache="warm")
    tasks = {
        "bench.mws": ("Russian", "train/mws-contextual"),
        "bench.characters": ("Russian", "train/tokenizers-bpe"),
        "bench.classic": ("Russian", "train/mws-classic"),
        "bench.sentencepiece": ("Russian", "train/sentencepiece-bpe"),
        "bench.encode": ("Russian", "encode/mws-disk"),
        "bench.encode_batch": ("Russian", "encode/encode_batch"),
        "gb.mws": ("Russian, words drawn anew", "train/mws-contextual"),
        "gb.characters": ("Russian, words drawn anew", "train/tokenizers-bpe"),
    }
    seconds = {name: median(warm[task]) for name, task in tasks.items()}
    yield from ((name, f"{value:.1f}") for name, value in seconds.items())
    for text in ("bench", "gb"):
        yield f"{text}.times", f"{seconds[f'{text}.characters'] / seconds[f'{text}.mws']:.1f}"
    yield "encode.times", f"{seconds['bench.encode_batch'] / seconds['bench.encode']:.0f}"


def mixture() -> Figures:
    """Yield what eight languages in one tokenizer lose, and what a trainer that balances languages makes of them."""
    f1, tokens = (means("mixture", name, "system", "vocab_size", "language") for name in ("f1", "tokens_per_word"))
    lost = [own - f1["mws", 128_000, x] for (system, _, x), own in f1.items() if system == "own"]
    yield "mixture.lost", f"{max(lost):.2f}"

    def longer(system: str, size: int) -> list[float]:
        """Tokens a word beside BPE of the same size, in per cent, of each language."""
        here = {x: mean for (name, entries, x), mean in tokens.items() if (name, entries) == (system, size)}
        return [100 * (mean / tokens["bpe", size, x] - 1) for x, mean in here.items()]

    yield "mixture.128k.bpe", f"{max(longer('mws', 128_000)):.1f} %"
    yield "mixture.64k.bpe", f"{max(longer('mws', 64_000)):.1f} %"
    yield "parity.shorter", f"{-min(longer('parity-bpe', 64_000)):.0f} %"
    yield "parity.longer", f"{max(longer('parity-bpe', 64_000)):.0f} %"
    for system in ("parity-bpe", "mws"):
        found = [mean for key, mean in f1.items() if key[:2] == (system, 64_000)]
        yield f"mixture.{system}.f1", ends(found, ".3f", "")


def small_f1() -> dict[tuple[str, float, str], float]:
    """Give mean F1 by language, megabytes and system."""
    return means("small_texts", "f1", "language", "megabytes", "system")


def small_texts() -> Figures:
    """Yield what little text and labels bring, least and most of six languages."""
    f1 = small_f1()
    ours, languages = "mws-morphs", {language for language, _, _ in f1}
    for size in (0.1, 10.0):
        yield f"small.rus.{size:g}", f"{f1['rus', size, ours]:.3f}"
        for labels in (20, 300):
            gains = [f1[each, size, f"{ours}, {labels} labels"] - f1[each, size, ours] for each in languages]
            yield f"small.{labels}.{size:g}", ends((max(0.0, each) for each in gains), ".2f", "")
    yield "small.more", ends((f1[each, 1.0, ours] - f1[each, 0.1, ours] for each in languages), ".2f", "")


def surgery() -> Figures:
    """Yield what kinds of first rows bring, and what a decoder loses by surgery."""
    steps = columns("first_rows", "steps", "init")
    bits = {init: [run["1,000"] for run in runs] for init, runs in steps.items()}
    for init in ("mean", "quiet"):
        yield f"rows.{init}", f"{fmean(run['Finnish'] for run in bits[init]):.3f}"
    forgotten = [fmean(run["English"] for run in bits[init]) for init in ("mean", "quiet")]
    yield "rows.forgotten", f"{fmean(forgotten):.1f}"
    more = columns("surgery_decoder", "English tokens", "tokenizer")["trimmed"]
    english = columns("surgery_decoder", "bits per byte, English", "weights")["5.2 M"]
    names = ("trim.60", "trim.80", "trim.60.bits", "trim.80.mean", "trim.80.quiet")
    for name, cell in zip(names, (*more[:2], english[1], *english[5:]), strict=True):
        yield name, f"{cell.split('(')[1][1:-2]} %"


def cards() -> dict[str, dict[str, Any]]:
    """Give the measured systems of each ready tokenizer."""
    return {row["name"]: row["systems"] for row in results("pretrained")}


def ready() -> Figures:
    """Yield how the ready tokenizers of 32,000 entries stand beside Unigram in n-gram bits."""

    def gain(language: str) -> float:
        """Per cent fewer bits."""
        of = cards()[f"mws-{language}-32k"]
        return 100 * float(1 - of["MwS"]["bits_per_byte"] / of["Unigram"]["bits_per_byte"])

    yield "ready.level", f"{max(abs(gain(each)) for each in ('ru', 'tr', 'cs', 'de', 'en')):.1f} %"
    yield "ready.ahead", ends(gain(each) for each in ("fi", "uk", "hu"))


def figures() -> dict[str, str]:
    """Give every figure by its name."""
    kinds = (
        boundary_figures, public_figures, model_figures, ngram_figures, form_figures, speed, mixture, small_texts,
        surgery, ready,
    )  # fmt: skip
    return {name: text for kind in kinds for name, text in kind()}
