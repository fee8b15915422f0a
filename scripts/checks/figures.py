"""Compute the figures and tables that README and docs/ quote from the rows in scripts/results.

A page quotes a figure between two marks, such as `<!--=sets.bpe-->38 of 40<!--/-->`, and a table between the comments
`<!-- from figures:works -->` and `<!-- end -->`. `docs_tables.py` fills them in, so that all pages agree with each
other and with the rows. This module measures nothing: each function yields the names and the texts of figures about one
subject. `figures_of_models.py` and `figures_of_speed.py` contain more of these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import fmean
from typing import Any

from checks.figures_of_models import (
    capitals,
    dropout,
    forms,
    language_models,
    larger_models,
    larger_models_in_hungarian,
    larger_models_on_more_text,
    neighboring_rates,
    ngram_models,
    older_models,
    tagger,
)  # fmt: skip
from checks.figures_of_speed import clusters, large_texts, memory, speed
from checks.rows import (
    GOLDS,
    LANGUAGES,
    NAMES,
    Figures,
    best_baseline,
    cards,
    columns,
    ends,
    means,
    quality,
    results,
)  # fmt: skip
from lab.cells import Row
from lab.data import GOLD as DEVELOPMENT_GOLD
from lab.systems import UNIGRAM
from lab.tables import groups, tabulated, where
from lm.plan import BPE

from mws_hf.scoring.measures import GOLD, TEXT


def boundaries() -> Figures:
    """Boundary F1 and tokens per word; the table is for vocabulary size 8,000."""
    for name, system in {"mws": "mws", "bpe": "bpe-byte:text", "unigram": "sentencepiece-unigram:text"}.items():
        row = quality("rus", "rus.tikhonov", system, 32_000)
        yield f"f1.{name}", f"{row['f1']:.3f}"
        yield f"length.{name}", f"{row['text_fertility']:.2f}"
    for each in ("eng", "fin"):
        yield f"precision.{each}", f"{quality(each, f'{each}.morphochallenge2010', 'mws-morphs')['precision']:.2f}"
    yield "f1.latin", f"{quality('lat', 'lat.sigmorphon2022', 'mws-morphs')['f1']:.3f}"
    yield "f1.latin.baseline", f"{best_baseline('lat', 'lat.sigmorphon2022')[0]:.3f}"
    yield "classic.least", f"{min(columns('quality', 'n_tokens', 'system')['mws-classic']):,}"
    yield "classic.entries", f"{max(columns('quality', 'n_tokens', 'system')['mws-classic']):,}"
    yield "f1.ready", f"{cards()['mws-ru-32k']['MwS']['f1']['rus.tikhonov']:.3f}"
    measured = [
        [quality(language, gold, each, size) for each in ("mws", "bpe-character:text")]
        for language, gold in dict(GOLDS.values()).items()
        if language not in ("rus-lexicon", "lat")
        for size in (8_000, 32_000)
    ]
    pretrained = [[each["MwS"], each["BPE"]] for name, each in cards().items() if "morphs" not in name]
    longer = [bpe["text_bytes_per_token"] / ours["text_bytes_per_token"] for ours, bpe in measured]
    longer += [bpe["bytes_per_token"] / ours["bytes_per_token"] for ours, bpe in pretrained]
    yield "longer", ends((100 * each - 100 for each in longer), ".0f")
    longer = [ours["text_fertility"] / bpe["text_fertility"] for ours, bpe in measured]
    longer += [ours["tokens_per_word"] / bpe["tokens_per_word"] for ours, bpe in pretrained]
    yield "longer.words", ends((100 * each - 100 for each in longer), ".0f")
    lines = []
    for title, (language, gold) in GOLDS.items():
        ours, default, classic = (quality(language, gold, each) for each in ("mws-morphs", "mws", "mws-classic"))
        f1, baseline = best_baseline(language, gold)
        if language == "rus-lexicon":  # quality.jsonl has few baselines for it; the strongest one is on the model card
            f1, baseline = cards()["mws-ru-morphs-8k"]["Unigram"]["f1"][gold], NAMES[UNIGRAM]
        lines.append({
            "reference set": title,
            "morphs only": f"{ours['f1']:.3f} ({ours['f1_low']:.3f}-{ours['f1_high']:.3f})",
            "default settings": f"{default['f1']:.3f}",
            "original MwS": f"{classic['f1']:.3f}",
            "best baseline": f"{baseline} {f1:.3f}",
        })  # fmt: skip
    yield "boundaries", tabulated(lines)


def sizes() -> Figures:
    """Tokens per word and boundary scores by vocabulary size, and the sizes at which morphs only stop growing."""
    lines = []
    for language, gold in DEVELOPMENT_GOLD.items():
        small, large = (quality(language, gold, "mws", size) for size in (8_000, 32_000))
        lines.append({
            "language": LANGUAGES[language],
            "tokens per word, 8,000": f"{small['text_fertility']:.2f}",
            "32,000": f"{large['text_fertility']:.2f}",
            "recall, 8,000": f"{small['recall']:.2f}",
            "recall, 32,000": f"{large['recall']:.2f}",
            "F1, 8,000": f"{small['f1']:.2f}",
            "F1, 32,000": f"{large['f1']:.2f}",
        })  # fmt: skip
    yield "sizes", tabulated(lines)
    for language in ("tur", "eng"):
        row = quality(language, f"{language}.morphochallenge2010", "mws-morphs", 32_000)
        yield f"morphs.{language}", f"{row['n_tokens']:,}"


def public_sets() -> Figures:
    """On how many public sets MwS is better than each baseline, and F1 on words whose roots are in no label.

    The single figures count the 29 sets at vocabulary size 8,000. The table also has the 11 sets that were measured at
    32,000.
    """

    def ahead(leads: list[tuple[bool, ...]]) -> list[str]:
        tried = [[lead[i] for lead in leads if i < len(lead)] for i in range(3)]
        return [f"{sum(each)} of {len(each)}" if each else "-" for each in tried]

    of_default, lines = [], []
    for title, kinds, field in (
        ("whole segmentations, by F1", ("sigmorphon",), "f1"),
        ("one boundary per word, by recall", ("morphscore", "lemma"), "single_recall"),
    ):
        rows = [row for row in results("blind") if row["kind"] in kinds and field in row]
        for size in (8_000, 32_000):
            alike = groups(where(rows, vocab_size=size), "kind", "language")
            sets = [{row["system"]: row[field] for row in own} for *_, own in alike]
            for system, name in (("mws", "default settings"), ("mws-morphs", "morphs only")):
                baselines = (BPE, UNIGRAM, "morfessor")
                leads = [
                    tuple(found[system] > found[baseline] for baseline in baselines if baseline in found)
                    for found in sets
                ]
                cells = zip((NAMES[BPE], NAMES[UNIGRAM], "Morfessor"), ahead(leads), strict=True)
                lines.append({"sets": title, "vocabulary size": f"{size:,}", "MwS": name, **dict(cells)})
                of_default += leads if (system, size) == ("mws", 8_000) else []
    yield from zip(("sets.bpe", "sets.unigram", "sets.morfessor"), ahead(of_default), strict=True)
    yield "public_sets", tabulated(lines)
    f1, exact = (means("blind_roots", name, "labels") for name in ("f1", "exact"))
    yield from ((f"roots.{n}", f"{f1[n]:.3f}") for n in (0, 100, 1_000))
    yield "roots.exact", f"{100 * exact[1_000]:.0f} %"


def granularity() -> Figures:
    """F1, tokens per word and n-gram bits by granularity in Turkish, with morphs only and with default settings."""
    lines = []
    for grain, rows in groups(results("granularity"), "granularity"):
        lines.append({"granularity": f"{grain:g}"})
        for share, title in ((0, "morphs only"), (0.5, "default")):
            (row,) = where(rows, share=share)
            lines[-1] |= {
                f"F1, {title}": f"{row['f1']:.3f}",
                f"tokens per word, {title}": f"{row['tokens_per_word']:.2f}",
                f"n-gram bits per byte, {title}": f"{row['bits']:.4f}",
            }
    yield "granularity", tabulated(lines)


def robustness() -> Figures:
    """The largest loss of F1 that noise in a word list causes."""
    noise = {
        (row["language"], row["variant"]): {each["gold"]: each["f1"] for each in row["rows"]}
        for row in where(results("robustness"), part="noise")
    }
    lost = [
        f1 - noise[language, "all"][gold]
        for (language, variant), of in noise.items()
        if variant == "clean"
        for gold, f1 in of.items()
    ]
    yield "noise", f"{max(lost):.3f}"


def uses() -> Figures:
    """How MwS treats uppercase, and how many of its tokens are rarely used, compared with byte-level BPE."""
    of = {(row["language"], row["size"], row["system"]): row for row in results("entries")}
    languages = list(dict.fromkeys(language for language, _, _ in of))
    for language, size in (("eng", 32_000), ("fin", 8_000)):
        yield f"upper.split.{language}", f"{100 - 100 * of[language, size, 'mws']['capitalized_alike']:.0f} %"

    def longer(language: str, size: int) -> float:
        ours, bpe = (of[language, size, system]["tokens_in_capitals"] for system in ("mws", BPE))
        return 100 * (ours / bpe - 1)

    yield "upper.longer", f"{max(longer(each, 8_000) for each in languages):.1f} %"
    yield "upper.shorter", ends((-longer(each, 32_000) for each in languages), ".0f")
    differing = (100 - 100 * row["without_space_alike"] for (_, _, system), row in of.items() if system == "mws")
    yield "bare.split", ends(differing, ".0f")
    for name, which in (("bare.f1", "mws"), ("bare.f1.bpe", BPE)):
        yield name, f"{max(row['f1'] - row['f1_without_space'] for key, row in of.items() if key[2] == which):.2f}"
    for system, name in (("mws", "mws"), (BPE, "bpe")):
        rare = {each: 100 * of[each, 32_000, system]["under_5"] for each in languages}
        yield f"rare.{name}.tur", f"{rare.pop('tur'):.0f} %"
        yield f"rare.{name}", ends(rare.values(), ".0f")


def mixtures() -> Figures:
    """One tokenizer for eight languages, compared with monolingual ones, BPE, and a trainer that balances languages."""
    f1, tokens = (means("mixture", name, "system", "vocab_size", "language") for name in ("f1", "tokens_per_word"))
    languages = [language for system, _, language in tokens if system == "own"]
    lines = []
    for x in languages:
        line = {"": LANGUAGES[x]}
        for size in (128_000, 64_000):
            line[f"tokens, {size:,}"] = f"{100 * (tokens['mws', size, x] / tokens['own', 32_000, x] - 1):+.0f} %"
        for size in (128_000, 64_000):
            own = f1.get(("own", 32_000, x))
            line[f"F1, {size:,}"] = f"{f1['mws', size, x] - own:+.2f}" if own else ""
        lines.append(line)
    yield "mixtures", tabulated(lines)
    lost = [own - f1["mws", 128_000, x] for (system, _, x), own in f1.items() if system == "own"]
    yield "mixture.lost", f"{max(lost):.2f}"
    longer = {
        (system, size): [100 * (tokens[system, size, x] / tokens["bpe", size, x] - 1) for x in languages]
        for system, size in (("mws", 128_000), ("mws", 64_000), ("parity-bpe", 64_000))
    }
    yield "mixture.128k.bpe", f"{max(longer['mws', 128_000]):.1f} %"
    yield "mixture.64k.bpe", f"{max(longer['mws', 64_000]):.1f} %"
    yield "parity.shorter", f"{-min(longer['parity-bpe', 64_000]):.0f} %"
    yield "parity.longer", f"{max(longer['parity-bpe', 64_000]):.0f} %"
    for system in ("parity-bpe", "mws"):
        yield f"mixture.{system}.f1", ends((x for key, x in f1.items() if key[:2] == (system, 64_000)), ".3f", "")


def f1_and_length(rows: Sequence[Row], n_labels: int) -> str:
    """Format how a number of labels changes F1 and tokens per word, as means over the samples of one language.

    >>> rows = [{"labels": n, "f1": f1, "tokens_per_word": length} for n, f1, length in ((0, 0.5, 2), (9, 0.6, 2.2))]
    >>> f1_and_length(rows, 9)
    '+0.100, +10.0 %'
    """
    before, after = (
        [fmean(row[name] for row in where(rows, labels=n)) for name in ("f1", "tokens_per_word")] for n in (0, n_labels)
    )
    return f"{after[0] - before[0]:+.3f}, {100 * (after[1] / before[1] - 1):+.1f} %"


def labels() -> Figures:
    """F1 without labels and the gain from labels at vocabulary size 32,000, and the same for small texts."""
    mean = means("labels", "f1", "language", "labels", vocab_size=32_000)
    lines = []
    for each in dict.fromkeys(language for language, _ in mean):
        gains = {f"{n:,}": f"{mean[each, n] - mean[each, 0]:+.3f}" for n in (20, 100, 300, 1_000) if (each, n) in mean}
        lines.append({"F1": LANGUAGES[each], "no labels": f"{mean[each, 0]:.3f}", **gains})
    yield "labels", tabulated(lines)
    rows = results("labels_default")
    for size in (8_000, 32_000):
        lines = []
        for each, here in groups(where(rows, vocab_size=size, granularity="re-estimated"), "language"):
            f1 = fmean(row["f1"] for row in where(here, labels=0))
            gains = {f"{n:,}": f1_and_length(here, n) for n in (20, 100, 300, 1_000) if where(here, labels=n)}
            lines.append({"F1, tokens": LANGUAGES[each], "no labels": f"{f1:.3f}", **gains})
        yield f"labels_default_{size}", tabulated(lines)
    kept = {row["sample"] for row in where(rows, granularity="kept")}
    lines = []
    for each, here in groups([row for row in rows if row["sample"] in kept], "language"):
        lines.append({"F1, tokens": LANGUAGES[each]})
        for size in (8_000, 32_000):
            for granularity, title in (("re-estimated", "chosen by labels"), ("kept", "default")):
                own = where(here, vocab_size=size, granularity=granularity)
                lines[-1][f"{size:,}, {title}"] = f1_and_length(own, 300)
    yield "labels_kept", tabulated(lines)
    f1, ours = means("small_texts", "f1", "language", "megabytes", "system"), "mws-morphs"
    languages = list(dict.fromkeys(language for language, _, _ in f1))
    for size in (0.1, 10.0):
        yield f"small.rus.{size:g}", f"{f1['rus', size, ours]:.3f}"
        for n in (20, 300):
            gains = [f1[each, size, f"{ours}, {n} labels"] - f1[each, size, ours] for each in languages]
            yield f"small.{n}.{size:g}", ends((max(0.0, each) for each in gains), ".2f", "")
    yield "small.more", ends((f1[each, 1.0, ours] - f1[each, 0.1, ours] for each in languages), ".2f", "")
    lines = []
    for language in languages:
        lines.append({"F1: no labels / 300 / best baseline": LANGUAGES[language]})
        for size in (0.1, 1.0, 10.0):
            here = {system: value for (each, mb, system), value in f1.items() if (each, mb) == (language, size)}
            baseline = max(value for system, value in here.items() if not system.startswith("mws"))
            lines[-1][f"{size:g} MB"] = f"{here[ours]:.2f} / {here[f'{ours}, 300 labels']:.2f} / {baseline:.2f}"
    yield "small_table", tabulated(lines)


def clients() -> Figures:
    """The programs that refuse a kind of tokenizer, or read it differently from `tokenizers`."""
    found = results("clients")

    def cell(row: dict[str, Any]) -> str:
        if "refused" in row:
            return "refuses"
        wrong = "-" if row["wrong_ids"] is None else row["wrong_ids"]
        return f"{wrong} / {row['wrong_text']}" if row["wrong_ids"] or row["wrong_text"] else "same"

    lines = [{kind.replace("-", ", "): cell(of[name]) for kind, of in found.items()} for name in found["bytes-o200k"]]
    named = zip(found["bytes-o200k"], lines, strict=True)
    yield "clients", tabulated({"client": name} | line for name, line in named if set(line.values()) != {"same"})


def surgery() -> Figures:
    """Extended and trimmed vocabularies, and how they change the bits per byte of a decoder before further training."""
    of = {(row["base"], row["language"], row["system"]): row for row in results("extend")}
    lines = []
    for base, language in dict.fromkeys(key[:2] for key in of):
        before, ours, frequency = (of[base, language, x] for x in ("base", "ours", "frequency, as long as ours"))
        lines.append({
            "base": f"{base}, {LANGUAGES[language]}",
            "tokens per word before": f"{before['tokens/word']:.2f}",
            "after": f"{ours['tokens/word']:.2f}",
            "F1": f"{ours['F1']:.3f}",
            "F1 by frequency": f"{frequency['F1']:.3f}",
            "old texts with the same ids": ours["English and code texts with the same ids"],
        })  # fmt: skip
    yield "appended", tabulated(lines)
    names = {
        "English, byte-level": "stand-in: English",
        "eight languages, byte fallback": "stand-in: eight languages, some Russian",
    }
    lines = []
    for base, rows in groups(results("surgery"), "base"):
        english, russian = ({row["language"]: row for row in rows}[language] for language in ("eng", "rus"))
        lines.append({
            "base": names.get(base, base),
            "vocabulary size": f"{english['entries']:,}",
            "English tokens, trimmed": english["trimmed"],
            "Russian tokens, extended": russian["and 16,000 Russian tokens"],
            "by frequency only": russian["by frequency"],
        })  # fmt: skip
    yield "trimmed", tabulated(lines)

    def more(text: str, **of: str) -> list[str]:
        """List the differences in brackets in the cells of a column."""
        return [row[text].split("(")[1].removesuffix(")") for row in where(results("surgery_decoder"), **of)]

    bits = more("bits per byte, English", weights="5.2 M")[1:]
    titles = ("trimmed", "and extended, `mean`", "and extended, `quiet`")
    cells = zip(titles, bits[:3], bits[3:], strict=True)
    lines = ({"English bits": name, "to 60 %": few, "to 80 %": most} for name, few, most in cells)
    yield "decoder", tabulated(lines)
    quoted = [*more("English tokens", weights="5.2 M", tokenizer="trimmed"), bits[0], *bits[4:]]
    for name, text in zip(("60", "80", "60.bits", "80.mean", "80.quiet"), quoted, strict=True):
        yield f"trim.{name}", text.removeprefix("+").replace("%", " %")
    steps = {name: [run["1,000"] for run in runs] for name, runs in columns("first_rows", "steps", "init").items()}
    for name in ("mean", "quiet"):
        yield f"rows.{name}", f"{fmean(run['Finnish'] for run in steps[name]):.3f}"
    for row, name in zip(results("protect"), ("none", "sample", "all"), strict=True):
        changed, texts = row["English and code: texts cut otherwise"].split(" of ")
        yield f"protect.{name}", changed
        if name != "none":
            yield f"protect.{name}.lines", row["protected"].removesuffix(" lines")
    yield "protect.texts", texts
    finnish = [fmean(run["Finnish"] for run in runs) for runs in steps.values()]
    yield "rows.range", f"{max(finnish) - min(finnish):.2f}"
    yield "rows.forgotten", f"{fmean(fmean(run['English'] for run in steps[x]) for x in ('mean', 'quiet')):.1f}"


def ready() -> Figures:
    """The pretrained tokenizers of size 32,000 and the multilingual ones, compared with BPE and Unigram."""

    def gain(language: str) -> float:
        """Return by how many percent MwS needs fewer n-gram bits than Unigram."""
        of = cards()[f"mws-{language}-32k"]
        return 100 * float(1 - of["MwS"]["bits_per_byte"] / of["Unigram"]["bits_per_byte"])

    yield "ready.level", f"{max(abs(gain(each)) for each in ('ru', 'tr', 'cs', 'de', 'en')):.1f} %"
    yield "ready.ahead", ends(gain(each) for each in ("fi", "uk", "hu"))
    lines = []
    for row in (row for row in results("pretrained") if row["entries"] >= 32_000):
        of = [row["systems"][name] for name in ("MwS", "BPE", "Unigram")]
        f1 = [next(iter(each["f1"].values())) for each in of if each["f1"]]
        lines.append({
            "MwS / BPE / Unigram": f"`{row['name']}`",
            "boundary F1": " / ".join(f"{each:.3f}" for each in f1),
            "tokens per word": " / ".join(f"{each['tokens_per_word']:.2f}" for each in of),
            "n-gram bits per byte": " / ".join(f"{each['bits_per_byte']:.3f}" for each in of),
        })  # fmt: skip
    yield "ready_table", tabulated(lines)


def ready_texts() -> Figures:
    """Megabytes of text that pretrained tokenizers of small languages learned from."""
    for row in results("pretrained"):
        if row["name"] in ("mws-fi-16k", "mws-tr-16k"):
            (megabytes,) = row["text_megabytes"].values()
            yield f"ready.{row['name'][4:6]}", f"{megabytes:.0f}"


def measures() -> Figures:
    """The measures of `mws evaluate`, on boundaries and on running text."""
    better = {"up": "higher", "down": "lower", "": "-"}
    for name, of in (("gold_measures", GOLD), ("text_measures", TEXT)):
        lines = ({"column": x.short, "meaning": x.about, "better": better[x.better]} for x in of.values())
        yield name, tabulated(lines, numbers=False)


@cache
def figures() -> dict[str, str]:
    """Return the text of every figure and table by its name."""
    kinds = (
        boundaries, sizes, granularity, public_sets, robustness, language_models, neighboring_rates, larger_models,
        larger_models_in_hungarian, larger_models_on_more_text,
        capitals, older_models, dropout, clusters, tagger, ngram_models, forms, speed, memory, large_texts, uses,
        mixtures, labels, clients,
        surgery, ready, ready_texts, measures,
    )  # fmt: skip
    return {name: text for kind in kinds for name, text in kind()}
