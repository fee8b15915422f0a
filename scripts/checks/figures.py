"""Figures that README and docs/ quote, computed from scripts/results: `docs_tables.py` writes them in.

A page quotes a figure between two marks, `<!--=sets.bpe-->38 of 40<!--/-->`, and takes a table of `tables.py` by
`<!-- from figures:works -->`. So no two pages can differ, and none from the rows. Nothing is measured here.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lab.tables import where
from lm.plan import PRESETS
from lm.report import summary

RESULTS = Path(__file__).resolve().parents[1] / "results"
BPE, UNIGRAM, SHUFFLED = "bpe-byte", "sentencepiece-unigram-identity", "mws-shuffled"
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


def quality(language: str, gold: str, system: str, size: int = 8_000) -> dict[str, Any]:
    """Find the row of a system on a gold set."""
    wanted = (language, gold, system)
    rows = [row for row in results("quality") if (row["language"], row["gold"], row["system"]) == wanted]
    found: dict[str, Any] = next(row for row in rows if row["vocab_size"] in (size, None))
    return found


def best_rival(language: str, gold: str) -> tuple[float, str]:
    """Find the highest F1 of a rival at 8,000 entries, and its name."""
    rows = [row for row in results("quality") if (row["language"], row["gold"]) == (language, gold)]
    rivals = [row for row in rows if not row["system"].startswith("mws") and row["vocab_size"] in (8_000, None)]
    best = max(rivals, key=lambda row: row["f1"])
    names = {"sentencepiece-unigram": "SentencePiece Unigram", "unigram": "Unigram", "morfessor": "Morfessor"}
    system = best["system"].partition(":")[0]
    for suffix in ("-frequent", "-all", "-identity"):
        system = system.removesuffix(suffix)
    return float(best["f1"]), names.get(system, system)


def segmentation() -> Figures:
    """Yield what is said of boundaries elsewhere."""
    systems = {"mws": "mws", "bpe": "bpe-byte:text", "unigram": "sentencepiece-unigram:text"}
    for name, system in systems.items():
        row = quality("rus", "rus.tikhonov", system, 32_000)
        yield f"f1.{name}", f"{row['f1']:.3f}"
        yield f"length.{name}", f"{row['text_fertility']:.2f}"
    for each in ("eng", "fin"):
        yield f"precision.{each}", f"{quality(each, f'{each}.morphochallenge2010', 'mws-morphs')['precision']:.2f}"
    yield "f1.latin", f"{quality('lat', 'lat.sigmorphon2022', 'mws-morphs')['f1']:.3f}"
    yield "f1.latin.rival", f"{best_rival('lat', 'lat.sigmorphon2022')[0]:.3f}"
    classic = [row["n_tokens"] for row in results("quality") if row["system"] == "mws-classic"]
    yield "classic.entries", f"{max(classic):,}"
    yield "f1.ready", f"{cards()['mws-ru-32k']['MwS']['f1']['rus.tikhonov']:.3f}"
    longer = []
    for language, (_, gold) in {each[0]: each for each in GOLDS.values()}.items():
        if language not in ("rus-lexicon", "lat"):
            for size in (8_000, 32_000):
                ours, bpe = (quality(language, gold, each, size) for each in ("mws", "bpe-character:text"))
                longer.append(ours["text_fertility"] / bpe["text_fertility"])
    languages = [each for name, each in cards().items() if "morphs" not in name]
    longer += [each["MwS"]["tokens_per_word"] / each["BPE"]["tokens_per_word"] for each in languages]
    yield "longer", f"{100 * min(longer) - 100:.0f} to {100 * max(longer) - 100:.0f} %"


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


def public_figures() -> Figures:
    """Yield on how many of all public sets the default is ahead, and the scores by labels on roots never labelled."""
    leads = [lead for (_, system), found in public_leads().items() for lead in found if system == "mws"]
    for i, name in enumerate(("bpe", "unigram")):
        yield f"sets.{name}", f"{sum(lead[i] for lead in leads)} of {len(leads)}"
    tried = [lead[2] for lead in leads if len(lead) > 2]
    yield "sets.morfessor", f"{sum(tried)} of {len(tried)}"
    roots = results("blind_roots")
    for n in (0, 100, 1_000):
        f1, exact = (statistics.fmean(row[name] for row in roots if row["labels"] == n) for name in ("f1", "exact"))
        yield f"roots.{n}", f"{f1:.3f}"
    yield "roots.exact", f"{100 * exact:.0f} %"


@cache
def models(preset: str) -> list[dict[str, Any]]:
    """Give the lines of a comparison of small models; those of a closed one as they were written."""
    if preset in PRESETS:
        return summary(PRESETS[preset], results(f"lm_{preset}"))
    lines = [row for row in results(f"lm_{preset}") if row["main"]]  # beside other amounts of text
    for line in lines:
        scaled = {name: 100 * found["relative"] / found["value"] for name, found in line["differences"].items()}
        line["against"] = {
            name: [scaled[name] * found[each] for each in ("value", "low", "high")]
            for name, found in line["differences"].items()
        }
    return lines


def difference(preset: str, system: str, rival: str, *, matched: bool = False, size: int = 8_000) -> list[float]:
    """Find a difference of bits per byte and the ends of its interval, in per cent of the rival's bits."""
    found = where(models(preset), system=system, vocabulary=size, flop_matched=matched)
    return list(found[0]["against"][rival])


def model_figures() -> Figures:
    """Yield what small models gain, in per cent fewer bits."""
    for language in ("rus", "hun"):
        for name, rival in (("bpe", BPE), ("unigram", UNIGRAM)):
            yield f"bits.{language}.{name}", f"{-difference(f'{language}-works', 'mws', rival)[0]:.1f}"
            value, low, high = (f"{-each:.1f}" for each in difference(f"{language}-works", "mws", rival, size=32_000))
            yield f"bits.{language}.{name}.32k", value
            yield f"bits.{language}.{name}.32k.interval", f"{high} to {low}"
    for rival, name in ((BPE, "bpe"), (UNIGRAM, "unigram")):
        yield f"bits.rus.{name}.operations", f"{-difference('rus-works', 'mws', rival, matched=True)[0]:.1f}"
    for preset, matched in (("rus-phrases", False), ("hun-works", False), ("rus-phrases", True)):
        value, low, high = difference(preset, "mws-finer", "mws", matched=matched, size=16_000)
        name = f"finer.{preset[:3]}" + ".operations" * matched
        yield name, f"{value:+.2f} % ({low:+.2f} to {high:+.2f})"
    for language in ("hun", "rus"):
        yield f"lines.{language}.bpe", f"{-difference(language, 'mws', 'bpe-byte')[0]:.1f}"
    bits: dict[str, list[float]] = {}
    for row in results("dropout"):
        bits.setdefault(row["way"], []).append(row["bits per byte"])
    means = {way: statistics.mean(each) for way, each in bits.items()}
    without = means.pop("no dropout")
    losses = [100 * (mean / without - 1) for mean in means.values()]
    yield "dropout", f"{min(losses):.1f} to {max(losses):.1f} %"


def tagger_leads(language: str, rival: str) -> list[float]:
    """By how many points the default's taggers lead: of all words, and of words never seen."""
    rows = [row for row in results("tagger") if (row["language"], row["size"]) == (language, 8_000)]
    of = {row["system"]: map(statistics.mean, zip(*row["by_seed"], strict=True)) for row in rows}
    return [ours - theirs for ours, theirs in zip(of["mws"], of[rival], strict=True)]


def tagger_figures() -> Figures:
    """Yield by how many points the default's taggers lead byte-level BPE's."""
    yield from ((f"tagger.{each}.bpe", f"{tagger_leads(each, BPE)[0]:.1f}") for each in ("fin", "hun", "tur"))


def spread(values: list[float]) -> str:
    """Write the least and the most of percentages.

    >>> spread([1.26, 0.33])
    '0.3 to 1.3 % fewer'
    >>> spread([0.4, -0.49])
    '0.5 % more to 0.4 % fewer'
    """
    if min(values) < 0:
        return f"{-min(values):.1f} % more to {max(values):.1f} % fewer"
    return f"{min(values):.1f} to {max(values):.1f} % fewer"


def ablation_rows() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Give the default's rows of the n-gram map, each with that of shuffled evidence."""
    cells = {(row["language"], row["size"], row["slice"], row["system"]): row for row in results("ngram_map")}
    ours = {key: row for key, row in cells.items() if key[3] == "mws" and f"against_{SHUFFLED}" in row}
    return [(row, cells[*key[:3], SHUFFLED]) for key, row in ours.items()]


def ngram_figures() -> Figures:
    """Yield ranges of what n-gram models gain with 32,000 entries, and in English."""
    large = [row for row, _ in ablation_rows() if row["size"] == 32_000]
    for rival, short in ((BPE, "bpe"), (UNIGRAM, "unigram"), (SHUFFLED, "shuffled")):
        yield f"ngrams.32k.{short}", spread([-row[f"against_{rival}"][0] for row in large])
    base = f"against_{BPE}"
    kept = [100 * theirs[base][0] / ours[base][0] for ours, theirs in ablation_rows() if ours["size"] == 8_000]
    yield "ngrams.kept", f"{min(kept):.0f} to {max(kept):.0f} %"
    rows = [row for row in results("ngram_map") if (row["language"], row["slice"]) == ("eng", "4 MB")]
    english = {row["size"]: row for row in rows if row["system"] == "mws"}
    gains = {rival: [-english[size][f"against_{rival}"][0] for size in (8_000, 32_000)] for rival in (BPE, UNIGRAM)}
    yield "english.bpe", spread(gains[BPE])
    yield "english.unigram", f"{gains[UNIGRAM][0]:.1f} % fewer to {-gains[UNIGRAM][1]:.1f} % more"


def form_figures() -> Figures:
    """Yield in how many tables the default leads, is level and is behind by the 95 % interval, and entries saved."""
    rows = [row for row in results("paradigms") if row["vocab_size"] == 8_000]
    of = {(row["source"], row["system"]): row for row in rows}
    sources = list(dict.fromkeys(row["source"] for row in rows))
    for rival, name in ((BPE, "bpe"), (UNIGRAM, "unigram")):
        for measure in ("same_stem", "shared"):
            leads = [of[each, rival][f"lead_{measure}"] for each in sources]
            ahead, behind = (sum(sign * lead > half for lead, half in leads) for sign in (1, -1))
            yield (
                f"forms.{name}.{measure}",
                f"ahead in {ahead}, level in {len(leads) - ahead - behind}, behind in {behind}",
            )
    fewer = [100 * (1 - of[x, "mws"]["entries_a_form"] / of[x, BPE]["entries_a_form"]) for x in sources]
    yield "forms.entries", f"{round(min(fewer))} to {round(max(fewer))} %"


def median(task: str, text: str = "Russian") -> float:
    """Find the median seconds of a whole warm process."""
    rows = [row for row in results("benchmark") if (row["text"], row["task"], row["cache"]) == (text, task, "warm")]
    return statistics.median(row["process_seconds"] for row in rows)


def medians(name: str) -> dict[str, dict[str, float]]:
    """Give the median seconds of each program, by text."""
    times: dict[str, dict[str, list[float]]] = {}
    for row in results(name):
        text = row.get("text") or f"{row['megabytes']} MB"
        times.setdefault(text, {}).setdefault(row["program"], []).append(row["seconds"])
    return {text: {program: statistics.median(each) for program, each in of.items()} for text, of in times.items()}


def speed() -> Figures:
    """Yield seconds and ratios of whole processes, medians over medians."""
    large, small = medians("trainers").values()
    ours = "mws train, contextual"
    names = {"bytes": "tokenizers BpeTrainer, bytes", "unigram": "SentencePiece Unigram (its own rules)"}
    yield "train.mws", f"{large[ours]:.1f}"
    yield from ((f"train.{short}", f"{large[name]:.1f}") for short, name in names.items())
    yield "train.bytes.times", f"{large[names['bytes']] / large[ours]:.1f}"
    yield "train.small.unigram", f"{small[ours] / small[names['unigram']]:.1f}"
    seconds = {
        "bench.mws": median("train/mws-contextual"),
        "bench.characters": median("train/tokenizers-bpe"),
        "bench.classic": median("train/mws-classic"),
        "bench.sentencepiece": median("train/sentencepiece-bpe"),
        "bench.encode": median("encode/mws-disk"),
        "bench.encode_batch": median("encode/encode_batch"),
        "gb.mws": median("train/mws-contextual", "Russian, words drawn anew"),
        "gb.characters": median("train/tokenizers-bpe", "Russian, words drawn anew"),
    }
    yield from ((name, f"{value:.1f}") for name, value in seconds.items())
    yield "bench.times", f"{seconds['bench.characters'] / seconds['bench.mws']:.1f}"
    yield "gb.times", f"{seconds['gb.characters'] / seconds['gb.mws']:.1f}"
    yield "encode.times", f"{seconds['bench.encode_batch'] / seconds['bench.encode']:.0f}"


def mixture() -> Figures:
    """Yield what eight languages in one tokenizer lose, and what a trainer that balances languages makes of them."""
    rows = {(row["system"], row["vocab_size"], row["language"]): row for row in results("mixture")}
    own = {language: row for (system, _, language), row in rows.items() if system == "own"}
    yield (
        "mixture.lost",
        f"{max(row['f1'] - rows['mws', 128_000, x]['f1'] for x, row in own.items() if 'f1' in row):.2f}",
    )

    def longer(system: str, size: int, digits: int = 0) -> list[float]:
        """Tokens a word beside BPE of the same size, in per cent, of each language."""
        pairs = [(rows[system, size, x]["tokens_per_word"], rows["bpe", size, x]["tokens_per_word"]) for x in own]
        return [round(100 * (ours / bpe - 1), digits) for ours, bpe in pairs]

    for size, name in ((128_000, "128k"), (64_000, "64k")):
        yield f"mixture.{name}.bpe", f"{max(longer('mws', size, 1))} %"
    parity = longer("parity-bpe", 64_000)
    yield "parity.shorter", f"{-min(parity):.0f} %"
    yield "parity.longer", f"{max(parity):.0f} %"
    for system in ("parity-bpe", "mws"):
        f1 = [row["f1"] for key, row in rows.items() if key[:2] == (system, 64_000) and "f1" in row]
        yield f"mixture.{system}.f1", f"{min(f1):.3f} to {max(f1):.3f}"


def small_f1() -> dict[tuple[str, float, str], float]:
    """Give mean F1 by language, megabytes and system."""
    cells: dict[tuple[str, float, str], list[float]] = {}
    for row in results("small_texts"):
        cells.setdefault((row["language"], row["megabytes"], row["system"]), []).append(row["f1"])
    return {key: statistics.fmean(found) for key, found in cells.items()}


def small_texts() -> Figures:
    """Yield what little text and labels bring, least and most of six languages."""
    f1 = small_f1()
    ours, languages = "mws-morphs", {language for language, _, _ in f1}
    for size in (0.1, 10.0):
        yield f"small.rus.{size:g}", f"{f1['rus', size, ours]:.3f}"
    more = [f1[each, 1.0, ours] - f1[each, 0.1, ours] for each in languages]
    yield "small.more", f"{min(more):.2f} to {max(more):.2f}"
    for labels in (20, 300):
        for size in (0.1, 10.0):
            gains = [f1[each, size, f"{ours}, {labels} labels"] - f1[each, size, ours] for each in languages]
            yield f"small.{labels}.{size:g}", f"{max(0.0, min(gains)):.2f} to {max(gains):.2f}"


def surgery() -> Figures:
    """Yield what kinds of first rows bring."""
    bits: dict[tuple[str, str], list[float]] = {}
    for run in results("first_rows"):
        for language, value in run["steps"]["1,000"].items():
            bits.setdefault((run["init"], language), []).append(value)
    for init in ("mean", "quiet"):
        yield f"rows.{init}", f"{statistics.fmean(bits[init, 'Finnish']):.3f}"
    yield "rows.forgotten", f"{statistics.fmean(statistics.fmean(bits[x, 'English']) for x in ('mean', 'quiet')):.1f}"
    decoder = results("surgery_decoder")
    more = [row["English tokens"].split("(")[1][1:-2] for row in decoder if row["tokenizer"] == "trimmed"]
    yield "trim.60", f"{more[0]} %"
    yield "trim.80", f"{more[1]} %"
    english = [row["bits per byte, English"] for row in decoder if row["weights"] == "5.2 M"]
    for name, cell in zip(("trim.60.bits", "trim.80.mean", "trim.80.quiet"), (english[1], *english[5:]), strict=True):
        yield name, f"{cell.split('(')[1][1:-2]} %"


def cards() -> dict[str, dict[str, Any]]:
    """Give the measured systems of each ready tokenizer."""
    return {row["name"]: row["systems"] for row in results("pretrained")}


def ready() -> Figures:
    """Yield how the ready tokenizers of 32,000 entries stand beside Unigram in n-gram bits."""
    gains = {
        name: 100 * (1 - each["MwS"]["bits_per_byte"] / each["Unigram"]["bits_per_byte"])
        for name, each in cards().items()
        if name.endswith("-32k")
    }
    yield "ready.level", f"{max(abs(gains[f'mws-{each}-32k']) for each in ('ru', 'tr', 'cs', 'de', 'en')):.1f} %"
    ahead = [gains[f"mws-{each}-32k"] for each in ("fi", "uk", "hu")]
    yield "ready.ahead", f"{min(ahead):.1f} to {max(ahead):.1f} %"


def figures() -> dict[str, str]:
    """Give every figure by its name."""
    kinds = (
        segmentation, public_figures, model_figures, tagger_figures, ngram_figures, form_figures, speed, mixture,
        small_texts, surgery, ready,
    )  # fmt: skip
    return {name: text for kind in kinds for name, text in kind()}
