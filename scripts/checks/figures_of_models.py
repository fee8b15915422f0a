"""Figures of language models, n-gram models and taggers, for `figures.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean, mode
from typing import Any

from checks.rows import (
    LANGUAGES,
    NAMES,
    SHUFFLED,
    Figures,
    columns,
    difference,
    ends,
    fewer,
    means,
    models,
    results,
)  # fmt: skip
from lab.cells import Row
from lab.systems import MORPH_BPE, UNIGRAM
from lab.tables import span, tabulated, where
from lm.ladder import ladder_table
from lm.plan import BPE, PRESETS
from lm.report import difference as difference_of_runs

from mws_hf.text.markdown import markdown_table

SHORT_NAMES = {"mws": "mws", "bpe": BPE, "unigram": UNIGRAM}
"""Systems by the name that they have in the names of figures."""
signed = partial(span, form=".1f", bold=False)


def language_models() -> Figures:
    """Bits per byte of small models, in percent of the baselines' bits, for MwS with default settings and ablations."""
    for name, baseline in (("bpe", BPE), ("unigram", UNIGRAM)):
        for language in ("rus", "hun"):
            yield f"bits.{language}.{name}", f"{-difference(f'{language}-works', 'mws', baseline)[0]:.1f}"
            value, low, high = (
                f"{-each:.1f}" for each in difference(f"{language}-works", "mws", baseline, size=32_000)
            )
            yield f"bits.{language}.{name}.32k", value
            yield f"bits.{language}.{name}.32k.interval", f"{high} to {low}"
        yield f"bits.rus.{name}.operations", f"{-difference('rus-works', 'mws', baseline, matched=True)[0]:.1f}"
    for preset, matched in (("rus-phrases", False), ("hun-works", False), ("rus-phrases", True)):
        value, low, high = difference(preset, "mws-finer", "mws", matched=matched, size=16_000)
        yield f"finer.{preset[:3]}" + ".operations" * matched, f"{value:+.2f} % ({low:+.2f} to {high:+.2f})"
    presets = {"Russian": "rus-works", "Hungarian": "hun-works", "German (control)": "deu-works"}
    lines = (
        {"MwS against": name} | {of: signed(difference(each, "mws", baseline)) for of, each in presets.items()}
        for baseline, name in NAMES.items()
    )
    yield "works", tabulated(lines)
    systems = {
        "MwS": "mws", "morphs by frequency": "mws-counts", "no penalty": "mws-price0",
        "no boundary probabilities": "mws-no-evidence", "shuffled probabilities": SHUFFLED,
    }  # fmt: skip
    lines = (
        {"against byte-level BPE": name}
        | {of: signed(difference(presets[of], system, BPE)) for of in ("Russian", "Hungarian")}
        for name, system in systems.items()
    )
    yield "taken_away", tabulated(lines)
    runs = {(each["system"], each["vocabulary"]): each for each in where(models("hun-works"), flop_matched=False)}
    names = {"mws": "MwS", BPE: NAMES[BPE], UNIGRAM: NAMES[UNIGRAM], MORPH_BPE: "MorphBPE, rebuilt"}
    lines = []
    for system, name in names.items():
        cells = {f"{size:,}": runs.get((system, size)) for size in (8_000, 16_000, 32_000)}
        said = {size: f"{x['bits']:.4f} ({len(x['runs'])})" if x else "-" for size, x in cells.items()}
        lines.append({"bits per byte (seeds)": name, **said})
    yield "in_print", tabulated(lines)


def neighboring_rates() -> Figures:
    """Bits per byte of small models at the learning rate next to the planned one, and on forms not seen in training.

    The figures at that rate, with one seed, and the one for MorphBPE are the percentages of bits that MwS saves.
    """
    for language in ("rus", "hun"):
        rows = where(results(f"lm_{language}-works"), vocabulary=8_000, flop_matched=False)
        rates = columns(f"lm_{language}-works", "learning_rate", "system", vocabulary=8_000)["mws"]
        (other,) = set(rates) - {mode(rates)}
        bits = {row["system"]: row["evaluation"]["bits_per_byte"] for row in where(rows, learning_rate=other)}
        for name, baseline in (("bpe", BPE), ("unigram", UNIGRAM)):
            if (language, name) != ("rus", "bpe"):  # no page quotes it
                yield f"rate.{language}.{name}", f"{100 * (1 - bits['mws'] / bits[baseline]):.1f}"
    ours, rebuilt = (
        where(models("hun-works"), system=system, vocabulary=32_000, flop_matched=matched)[0]["bits"]
        for system, matched in (("mws", True), (MORPH_BPE, False))
    )
    yield "bits.hun.morph", f"{100 * (1 - ours / rebuilt):.1f}"
    groups_of = columns("new_words", "groups", "system")
    for name, system in SHORT_NAMES.items():
        of = fmean(each["unseen form, seen lemma"]["bits_per_byte"] for each in groups_of[system])
        yield f"new.{name}", f"{of:.2f}"


def gain(name: str, found: Sequence[float]) -> Figures:
    """Yield the percentage of bits that is saved, and its interval, from a difference and the ends of its interval."""
    value, low, high = (-each for each in found)
    yield f"{name}.mean", f"{value:.1f}"
    yield f"{name}.interval", f"{high:.1f} to {low:.1f}"


def larger_models() -> Figures:
    """Bits per byte of larger models, in percent of the baselines' bits, and how they depend on the learning rate.

    Each system is compared at the learning rate that is best for it, and all systems at the planned rate.
    """
    yield "ladder", ladder_table("rus")
    planned = PRESETS["rus-5m"].rate
    (at_32k,) = where(models("rus-5m"), vocabulary=32_000, system="mws", flop_matched=False)
    here = where(models("rus-5m"), vocabulary=8_000)
    lines = {line["system"]: line for line in where(here, flop_matched=False)}
    (matched,) = where(here, system="mws", flop_matched=True)
    rows = where(results("lm_rus-5m"), vocabulary=8_000, flop_matched=False)
    runs = {system: where(rows, system=system, learning_rate=planned) for system in lines}
    ours = lines["mws"]
    for name, baseline in (("bpe", BPE), ("unigram", UNIGRAM)):
        yield from gain(f"ladder.{name}", ours["against"][baseline])
        yield from gain(f"ladder.{name}.32k", at_32k["against"][baseline])
        yield from gain(f"ladder.{name}.planned", difference_of_runs(runs["mws"], runs[baseline]))
    yield from gain("ladder.unigram.best", difference_of_runs(ours["runs"], runs[UNIGRAM]))
    yield from gain("ladder.shuffled", ours["against"][SHUFFLED])
    yield from gain("ladder.compute", matched["against"][BPE])
    yield from gain("ladder.compute.unigram", matched["against"][UNIGRAM])
    yield from changes_by_rate("ladder.rate", "rus-5m")
    best = fmean(row["evaluation"]["bits_per_byte"] for row in runs[UNIGRAM])
    yield "ladder.rate.unigram.seeds", f"{100 * (1 - best / lines[UNIGRAM]['bits']):.1f}"


def changes_by_rate(name: str, preset: str) -> Figures:
    """Yield by how many percent the bits on the development books change at half and twice the planned rate.

    A rate at which a system was not trained is left out.
    """
    rows = where(results(f"lm_{preset}"), vocabulary=PRESETS[preset].vocabulary, seed=0, flop_matched=False)
    bits = {(row["system"], row["learning_rate"]): row["evaluation"]["development"] for row in rows}
    planned = PRESETS[preset].rate
    for short, system in SHORT_NAMES.items():
        for factor, word in ((0.5, "half"), (2, "twice")):
            if (system, factor * planned) in bits:
                change = bits[system, factor * planned] / bits[system, planned] - 1
                yield f"{name}.{short}.{word}", f"{100 * change:+.1f}"


def larger_models_on_more_text() -> Figures:
    """What larger language models gain in Russian from MwS if they read 60 MB, and the effect of the learning rate."""
    (ours,) = where(models("rus-5m-60mb"), vocabulary=8_000, system="mws", flop_matched=False)
    for name, baseline in (("bpe", BPE), ("unigram", UNIGRAM)):
        yield from gain(f"ladder.60mb.{name}", ours["against"][baseline])
    yield from changes_by_rate("ladder.60mb.rate", "rus-5m-60mb")


def larger_models_in_hungarian() -> Figures:
    """What larger language models gain in Hungarian, also at equal compute, and the effects of the learning rate."""
    yield "ladder_hun", ladder_table("hun")
    rows = where(results("lm_hun-5m"), vocabulary=8_000, learning_rate=PRESETS["hun-5m"].rate, flop_matched=False)
    runs = {system: where(rows, system=system) for system in SHORT_NAMES.values()}
    three = {system: [row for row in of if row["seed"] < 3] for system, of in runs.items()}
    for name, baseline in (("bpe", BPE), ("unigram", UNIGRAM)):
        yield from gain(f"ladder.hun.{name}.three", difference_of_runs(three["mws"], three[baseline]))
        yield from gain(f"ladder.hun.{name}", difference_of_runs(runs["mws"], runs[baseline]))
    bits = {system: [row["evaluation"]["bits_per_byte"] for row in found] for system, found in three.items()}
    for name, system in SHORT_NAMES.items():
        yield f"ladder.hun.{name}.seeds", f"{min(bits[system]):.3f} to {max(bits[system]):.3f}"
    (matched,) = where(models("hun-5m"), vocabulary=8_000, system="mws", flop_matched=True)
    yield from gain("ladder.hun.shuffled", difference_of_runs(runs["mws"], where(rows, system=SHUFFLED)))
    yield from gain("ladder.hun.compute", matched["against"][BPE])
    yield from gain("ladder.hun.compute.unigram", matched["against"][UNIGRAM])
    yield from changes_by_rate("ladder.hun.rate", "hun-5m")
    (at_32k,) = where(models("hun-5m"), vocabulary=32_000, system="mws", flop_matched=False)
    for name, baseline in (("bpe", BPE), ("unigram", UNIGRAM)):
        yield from gain(f"ladder.hun.{name}.32k", at_32k["against"][baseline])


def capitals() -> Figures:
    """How a marker for capitals changes tokens and bits of n-gram models in four languages, and of small models."""
    found = {(x["language"], x["size"], x["text"]): x for x in results("capital_marker")}
    names = {"rus": "Russian", "fin": "Finnish", "eng": "English", "deu": "German"}
    lines = []
    for language, name in names.items():
        lines.append({"language": name})
        for size in (8_000, 32_000):
            before, after = (found[language, size, text] for text in ("as it is", "before the space"))
            for what, key in (("bits", "bits"), ("tokens", "tokens")):
                lines[-1][f"{what}, {size:,}"] = f"{100 * (after[key] / before[key] - 1):+.1f} %"
    yield "capitals", tabulated(lines)
    value, low, high = difference("rus-capitals", "mws-capitals", "mws")
    yield "capitals.lm", f"{value:+.2f} % ({low:+.2f} to {high:+.2f})"


def older_models() -> Figures:
    """Figures of finished experiments: superwords at equal compute (16,000 tokens), and models of single lines.

    The models of single lines were measured on held-out lines of the books that they were trained on.
    """
    phrases = {"Hungarian": "hun-works", "English": "eng-phrases", "Russian": "rus-phrases"}
    same: dict[str, Any] = {"matched": True, "size": 16_000}
    found = {language: difference(each, "mws-superwords", "mws", **same) for language, each in phrases.items()}
    said = {language: f"{signed(each, form='.2f')} %" for language, each in found.items()}
    yield "superwords", tabulated({"language": x, "bits per byte with superwords": text} for x, text in said.items())
    for language in ("hun", "rus"):
        yield f"lines.{language}.bpe", f"{-difference(language, 'mws', BPE)[0]:.1f}"
    pairs = {
        "MwS against BPE over characters": ("mws", "bpe"),
        "MwS against byte-level BPE": ("mws", BPE),
        "MwS against Unigram of `tokenizers`": ("mws", "unigram"),
        "morphs only against BPE over characters": ("mws-morphs", "bpe"),
    }
    rows = []
    for title, (system, baseline) in pairs.items():
        cells = [difference(each, system, baseline, matched=m) for each in ("hun", "rus") for m in (False, True)]
        rows.append([title, *map(signed, cells)])
    yield "lines", markdown_table(["", "Hungarian", "equal compute", "Russian", "equal compute"], rows)


def dropout() -> Figures:
    """By how many percent dropout increases the bits per byte of a small model, by the merges that fail."""
    of = {text: means("dropout", text, "way") for text in ("bits per byte", "with typing errors")}
    lost = {text: {way: 100 * (x / bits["no dropout"] - 1) for way, x in bits.items()} for text, bits in of.items()}
    ways = [way for way in of["bits per byte"] if way != "no dropout"]
    yield "dropout", ends(lost["bits per byte"][way] for way in ways)
    lines = (
        {"merges that fail": way} | {text: f"{losses[way]:+.1f} %" for text, losses in lost.items()} for way in ways
    )
    yield "dropout_table", tabulated(lines)


def tagger() -> Figures:
    """By how many percentage points taggers with MwS are better than those with the baselines.

    The accuracy is that of all words, and of words that are not in the training text.
    """
    lines = []
    for language in ("fin", "hun", "tur"):
        runs = columns("tagger", "by_seed", "system", language=language, size=8_000)
        points = {name: [fmean(each) for each in zip(*runs[name][0], strict=True)] for name in ("mws", BPE, UNIGRAM)}
        line = {"points": LANGUAGES[language]}
        for of, more in enumerate(("", ", new words")):
            for baseline, short in ((BPE, "BPE"), (UNIGRAM, "Unigram")):
                line[short + more] = f"+{points['mws'][of] - points[baseline][of]:.1f}"
        yield f"tagger.{language}.bpe", line["BPE"].removeprefix("+")
        lines.append(line)
    yield "tagger", tabulated(lines)


def ngram_models() -> Figures:
    """Bits per byte of n-gram models in percent of the baselines' bits, on held-out text and on other kinds of text."""
    cells = {(row["language"], row["size"], row["slice"], row["system"]): row for row in results("ngram_map")}
    ours = [row for key, row in cells.items() if key[3] == "mws" and f"against_{SHUFFLED}" in row]
    large, small = ([row for row in ours if row["size"] == size] for size in (32_000, 8_000))
    for baseline, short in ((BPE, "bpe"), (UNIGRAM, "unigram"), (SHUFFLED, "shuffled")):
        yield f"ngrams.32k.{short}", fewer([-row[f"against_{baseline}"][0] for row in large])
    base = f"against_{BPE}"
    pairs = [(row[base][0], cells[row["language"], 8_000, row["slice"], SHUFFLED][base][0]) for row in small]
    yield "ngrams.kept", ends((100 * shuffled / gain for gain, shuffled in pairs), ".0f")

    def against_bpe(row: Row, system: str) -> float:
        return float(cells[row["language"], row["size"], row["slice"], system][base][0])

    kept = (100 * against_bpe(row, "mws-no-evidence") / row[base][0] for row in small)
    yield "ngrams.no_evidence", f"{max(kept):.0f} %"
    yield "ngrams.counts", f"{max(against_bpe(row, 'mws-counts') - row[base][0] for row in large):.1f}"
    english = [cells["eng", size, "4 MB", "mws"] for size in (8_000, 32_000)]
    yield "english.bpe", fewer([-row[base][0] for row in english])
    few, many = (row[f"against_{UNIGRAM}"][0] for row in english)
    yield "english.unigram", f"{-few:.1f} % fewer to {many:.1f} % more"
    lines = (
        {"vocabulary size 8,000": LANGUAGES[row["language"]]}
        | {name: signed(row[f"against_{baseline}"], form=".2f") for baseline, name in NAMES.items()}
        for row in small
        if row["language"] != "ces" or row["slice"] == "4 MB"
    )
    yield "ablations", tabulated(lines)
    against = columns("other_text", "against", "language", "size", kind="other", system="mws")
    lines = []
    for language in dict.fromkeys(language for language, _ in against):
        lines.append({"": LANGUAGES[language]})
        for size in (8_000, 32_000):
            for baseline, short in ((BPE, "BPE"), (UNIGRAM, "Unigram")):
                texts = [f"{each[baseline][0]:+.1f}" for each in against.get((language, size), [])]
                lines[-1][f"{short}, {size:,}"] = ", ".join(texts) or "-"
    yield "other_text", tabulated(lines)


def forms() -> Figures:
    """In how many inflection tables MwS is significantly better or worse, and how many tokens forms take."""
    of = {(row["source"], row["system"]): row for row in where(results("paradigms"), vocab_size=8_000)}
    sources = list(dict.fromkeys(source for source, _ in of))
    for baseline, name in ((BPE, "bpe"), (UNIGRAM, "unigram"), (SHUFFLED, "shuffled")):
        for measure in ("same_stem", "shared"):
            leads = [of[each, baseline][f"lead_{measure}"] for each in sources]
            ahead, behind = (sum(sign * lead > half for lead, half in leads) for sign in (1, -1))
            yield f"forms.{name}.{measure}", f"significantly better in {ahead} and worse in {behind}"
    entries = [[of[each, system]["entries_a_form"] for system in ("mws", BPE)] for each in sources]
    yield "forms.entries", ends((round(100 * (1 - ours / theirs)) for ours, theirs in entries), "")
    for name in ("mws", "bpe"):
        yield f"forms.length.{name}", f"{of['rus', SHORT_NAMES[name]]['tokens_a_form']:.2f}"
    systems = {"mws": "MwS", BPE: NAMES[BPE], UNIGRAM: NAMES[UNIGRAM]}
    lines = []
    for each in sources:
        found = {name: of[each, system] for system, name in systems.items()}
        said = {name: f"{row['same_stem']:.2f} / {row['shared']:.2f}" for name, row in found.items()}
        lines.append({"same stem / shared": LANGUAGES[each], **said})
    yield "forms", tabulated(lines)
