"""Short tables of README and docs/, computed from scripts/results: `docs_tables.py` writes them into the pages."""

from __future__ import annotations

from functools import partial
from typing import Any

from checks.figures import (
    BPE,
    GOLDS,
    SHUFFLED,
    UNIGRAM,
    ablation_rows,
    best_rival,
    cards,
    columns,
    difference,
    means,
    medians,
    models,
    public_leads,
    quality,
    results,
    sets_ahead,
    small_f1,
    tagger_leads,
)  # fmt: skip
from lab.tables import span, where

from mws_hf.evaluate.measures import GOLD, TEXT, Measure
from mws_hf.text.markdown import markdown_table

signed = partial(span, form=".1f", bold=False)
NAMES = {BPE: "byte-level BPE", UNIGRAM: "SentencePiece Unigram", SHUFFLED: "shuffled evidence"}
LANGUAGES = {
    "ces": "Czech", "deu": "German", "eng": "English", "fin": "Finnish", "hun": "Hungarian", "rus": "Russian",
    "tur": "Turkish", "ukr": "Ukrainian", "lat": "Latin",
}  # fmt: skip


def boundaries() -> str:
    """Tabulate boundary F1 at 8,000 entries."""
    rows = []
    for title, (language, gold) in GOLDS.items():
        ours, default, classic = (quality(language, gold, each) for each in ("mws-morphs", "mws", "mws-classic"))
        f1, name = best_rival(language, gold)
        rival = f"{name} {f1:.3f}"
        if language == "rus-lexicon":  # its rivals in quality.json are few; the card has the strongest
            rival = f"SentencePiece Unigram {cards()['mws-ru-morphs-8k']['Unigram']['f1'][gold]:.3f}"
        span = f"{ours['f1']:.3f} ({ours['f1_low']:.3f}-{ours['f1_high']:.3f})"
        rows.append([title, span, f"{default['f1']:.3f}", f"{classic['f1']:.3f}", rival])
    return markdown_table(["gold", "morphs only", "default", "classic", "best rival"], rows)


def public_sets() -> str:
    """Tabulate on how many public sets the default and morphs alone are ahead."""
    kinds = {"whole": "whole segmentations, by F1", "one": "one boundary a word, by recall"}
    rows = []
    for (kind, system), leads in public_leads().items():
        rows.append([kinds[kind], "default" if system == "mws" else "morphs only", *sets_ahead(leads)])
    return markdown_table(["sets", "", "byte-level BPE", "SentencePiece Unigram", "Morfessor"], rows)


def works() -> str:
    """Tabulate the default of 8,000 entries on whole works held out."""
    presets = ("rus-works", "hun-works", "deu-works")
    rows = [[name, *(signed(difference(each, "mws", rival)) for each in presets)] for rival, name in NAMES.items()]
    return markdown_table(["the default against", "Russian", "Hungarian", "German, the control"], rows)


def taken_away() -> str:
    """Tabulate the same learner with one thing taken away, beside byte-level BPE."""
    systems = {
        "the default": "mws", "morphs by counts": "mws-counts", "price 0": "mws-price0",
        "no evidence": "mws-no-evidence", "shuffled evidence": "mws-shuffled",
    }  # fmt: skip
    presets = ("rus-works", "hun-works")
    rows = [[name, *(signed(difference(each, system, BPE)) for each in presets)] for name, system in systems.items()]
    return markdown_table(["against byte-level BPE", "Russian", "Hungarian"], rows)


def in_print() -> str:
    """Tabulate Hungarian bits per byte by vocabulary, with seeds: the comparison with papers."""
    found = {(each["system"], each["vocabulary"]): each for each in where(models("hun-works"), flop_matched=False)}
    names = {"mws": "the default", BPE: NAMES[BPE], UNIGRAM: NAMES[UNIGRAM], "morph-bpe-byte": "MorphBPE, rebuilt"}
    rows = []
    for system, name in names.items():
        cells = [found.get((system, size)) for size in (8_000, 16_000, 32_000)]
        rows.append([name, *(f"{each['bits']:.4f} ({len(each['runs'])})" if each else "-" for each in cells)])
    return markdown_table(["bits per byte (seeds)", "8,000", "16,000", "32,000"], rows)


def superwords() -> str:
    """Tabulate superwords at the operations of the default, 16,000 entries."""
    rows = []
    for language, preset in (("Hungarian", "hun-works"), ("English", "eng-phrases"), ("Russian", "rus-phrases")):
        found = difference(preset, "mws-superwords", "mws", matched=True, size=16_000)
        rows.append([language, f"{signed(found, form='.2f')} %"])
    return markdown_table(["language", "bits with superwords"], rows)


def lines() -> str:
    """Tabulate the older runs, on held-out lines of the books learnt from."""
    rows = []
    for title, system, rival in (
        ("default against BPE over characters", "mws", "bpe"),
        ("default against byte-level BPE", "mws", "bpe-byte"),
        ("default against Unigram of `tokenizers`", "mws", "unigram"),
        ("morphs only against BPE over characters", "mws-morphs", "bpe"),
    ):
        cells = [signed(difference(each, system, rival, matched=m)) for each in ("hun", "rus") for m in (False, True)]
        rows.append([title, *cells])
    return markdown_table(["", "Hungarian", "equal operations", "Russian", "equal operations"], rows)


def dropout_table() -> str:
    """Tabulate what dropout costs a small model, by the merges that fail."""
    of = [means("dropout", text, "way") for text in ("bits per byte", "with typing errors")]
    rows = [[way, *(f"{100 * (bits[way] / bits['no dropout'] - 1):+.1f} %" for bits in of)] for way in of[0]][1:]
    return markdown_table(["merges that fail", "bits per byte", "with typing errors"], rows)


def tagger() -> str:
    """Tabulate by how many points the default's taggers lead, of all words and of words never seen."""
    rows = []
    for each in ("fin", "hun", "tur"):
        columns = zip(tagger_leads(each, BPE), tagger_leads(each, UNIGRAM), strict=True)
        rows.append([LANGUAGES[each], *(f"+{lead:.1f}" for column in columns for lead in column)])
    return markdown_table(["points", "BPE", "Unigram", "BPE, new words", "Unigram, new words"], rows)


def other_text() -> str:
    """Tabulate n-gram bits on text of another kind than was learnt from."""
    of = columns("other_text", "against", "language", "size", kind="other", system="mws")
    rows = []
    for each in dict.fromkeys(language for language, _ in of):
        found = [(of.get((each, size), []), rival) for size in (8_000, 32_000) for rival in (BPE, UNIGRAM)]
        cells = [", ".join(f"{against[rival][0]:+.1f}" for against in texts) or "-" for texts, rival in found]
        rows.append([LANGUAGES[each], *cells])
    return markdown_table(["", "BPE, 8,000", "Unigram, 8,000", "BPE, 32,000", "Unigram, 32,000"], rows)


def ablations() -> str:
    """Tabulate n-gram bits of the default, 8,000 entries, on the largest text of at most 10 MB of each language."""
    small = [ours for ours, _ in ablation_rows() if ours["size"] == 8_000]
    rows = [
        [LANGUAGES[ours["language"]], *(signed(ours[f"against_{rival}"], form=".2f") for rival in NAMES)]
        for ours in small
        if ours["language"] != "ces" or ours["slice"] == "4 MB"
    ]
    return markdown_table(["8,000 entries", *NAMES.values()], rows)


def forms() -> str:
    """Tabulate how many forms begin with the same stem, and what two forms share, 8,000 entries."""
    of = {(row["source"], row["system"]): row for row in where(results("paradigms"), vocab_size=8_000)}
    names = {**LANGUAGES, "rus-pymorphy3": "Russian, pymorphy3"}
    rows = []
    for source in dict.fromkeys(source for source, _ in of):
        cells = [of[source, system] for system in ("mws", BPE, UNIGRAM)]
        rows.append([names[source], *(f"{cell['same_stem']:.2f} / {cell['shared']:.2f}" for cell in cells)])
    return markdown_table(["same stem / shared", "default", NAMES[BPE], NAMES[UNIGRAM]], rows)


def seconds(name: str) -> str:
    """Tabulate the seconds of trainers, or of encoders, on much and on little text."""
    found = medians(name)
    rows = [[program, *(f"{text[program]:.1f}" for text in found.values())] for program in next(iter(found.values()))]
    return markdown_table(["seconds", *(title.replace(" entries", "") for title in found)], rows)


def mixtures() -> str:
    """Tabulate eight languages in one tokenizer against each language's own of 32,000 entries."""
    rows = {(row["system"], row["vocab_size"], row["language"]): row for row in results("mixture")}
    table = []
    for language in [each for system, _, each in rows if system == "own"]:
        own, *both = rows["own", 32_000, language], *(rows["mws", size, language] for size in (128_000, 64_000))
        tokens = [f"{100 * (one['tokens_per_word'] / own['tokens_per_word'] - 1):+.0f} %" for one in both]
        f1 = [f"{one['f1'] - own['f1']:+.2f}" if "f1" in own else "" for one in both]
        table.append([LANGUAGES[language], *tokens, *f1])
    return markdown_table(["", "tokens, 128,000", "tokens, 64,000", "F1, 128,000", "F1, 64,000"], table)


def labels() -> str:
    """Tabulate F1 without labels and what labels add, 32,000 entries."""
    mean = means("labels", "f1", "language", "labels", vocab_size=32_000)
    rows = []
    for each in dict.fromkeys(language for language, _ in mean):
        gains = [f"{mean[each, n] - mean[each, 0]:+.3f}" if (each, n) in mean else "" for n in (20, 100, 300, 1_000)]
        rows.append([LANGUAGES[each], f"{mean[each, 0]:.3f}", *gains])
    return markdown_table(["F1", "no labels", "20", "100", "300", "1,000"], rows)


def small_table() -> str:
    """Tabulate boundary F1 of 0.1 MB, 1 MB and the most text, beside the best rival."""
    f1 = small_f1()
    rows = []
    for language in dict.fromkeys(each for each, _, _ in f1):
        line = [LANGUAGES[language]]
        for size in (0.1, 1.0, 10.0):
            here = {system: value for (each, mb, system), value in f1.items() if (each, mb) == (language, size)}
            rival = max(value for system, value in here.items() if not system.startswith("mws"))
            line.append(f"{here['mws-morphs']:.2f} / {here['mws-morphs, 300 labels']:.2f} / {rival:.2f}")
        rows.append(line)
    return markdown_table(["F1: no labels / 300 / best rival", "0.1 MB", "1 MB", "10 MB"], rows)


def clients() -> str:
    """Tabulate the programs that differ or refuse for one kind of tokenizer."""
    found = results("clients")

    def cell(row: dict[str, Any]) -> str:
        if "refused" in row:
            return "refuses"
        wrong = "-" if row["wrong_ids"] is None else row["wrong_ids"]
        return f"{wrong} / {row['wrong_text']}" if row["wrong_ids"] or row["wrong_text"] else "same"

    rows = []
    for client in found["bytes-o200k"]:
        cells = [cell(kind[client]) for kind in found.values()]
        if set(cells) != {"same"}:
            rows.append([client, *cells])
    return markdown_table(["client", *(kind.replace("-", ", ") for kind in found)], rows)


def appended() -> str:
    """Tabulate 8,000 tokens appended to an English base, beside as many characters by frequency alone."""
    of = {(row["base"], row["language"], row["system"]): row for row in results("extend")}
    rows = []
    for base, language in dict.fromkeys(key[:2] for key in of):
        before, ours, frequency = (of[base, language, x] for x in ("base", "ours", "frequency, as long as ours"))
        cells = [f"{before['tokens/word']:.2f}", f"{ours['tokens/word']:.2f}", f"{ours['F1']:.3f}"]
        same = ours["English and code texts with the same ids"]
        rows.append([f"{base}, {LANGUAGES[language]}", *cells, f"{frequency['F1']:.3f}", same])
    heads = ["base", "tokens a word before", "after", "F1", "F1 by frequency", "old texts with the same ids"]
    return markdown_table(heads, rows)


def trimmed() -> str:
    """Tabulate bases trimmed to 60 % of their entries, then extended with 16,000 Russian tokens."""
    names = {
        "English, byte-level": "stand-in: English",
        "eight languages, byte fallback": "stand-in: eight languages, some Russian",
    }
    of = {(row["base"], row["language"]): row for row in results("surgery")}
    rows = []
    for base in dict.fromkeys(name for name, _ in of):
        english, russian = of[base, "eng"], of[base, "rus"]
        cells = [english["trimmed"], russian["and 16,000 Russian tokens"], russian["by frequency"]]
        rows.append([names.get(base, base), f"{english['entries']:,}", *cells])
    heads = ["base", "entries", "English tokens, trimmed", "Russian tokens, extended", "by frequency alone"]
    return markdown_table(heads, rows)


def decoder() -> str:
    """Tabulate English bits of the larger decoder after surgery, before any training."""
    rows = [row for row in results("surgery_decoder") if row["weights"] == "5.2 M"][1:]
    bits = [row["bits per byte, English"].split("(")[1][:-1] for row in rows]
    names = ("trimmed", "and extended, `mean`", "and extended, `quiet`")
    return markdown_table(["English bits", "to 60 %", "to 80 %"], zip(names, bits[:3], bits[3:], strict=True))


def ready_table() -> str:
    """Tabulate the ready tokenizers of 32,000 entries and the mixtures beside BPE and Unigram."""
    rows = []
    for row in results("pretrained"):
        if row["entries"] >= 32_000:
            of = [row["systems"][name] for name in ("MwS", "BPE", "Unigram")]
            f1 = " / ".join(f"{next(iter(each['f1'].values())):.3f}" for each in of) if of[0].get("f1") else ""
            lengths = " / ".join(f"{each['tokens_per_word']:.2f}" for each in of)
            bits = " / ".join(f"{each['bits_per_byte']:.3f}" for each in of)
            rows.append([f"`{row['name']}`", f1, lengths, bits])
    return markdown_table(["MwS / BPE / Unigram", "boundary F1", "tokens a word", "n-gram bits a byte"], rows)


def measures(of: dict[str, Measure]) -> str:
    """Tabulate the measures of boundaries, or of running text."""
    names = {"up": "higher", "down": "lower", "": "-"}
    rows = [[each.short, each.about, names[each.better]] for each in of.values()]
    return markdown_table(["column", "meaning", "better"], rows, numbers=False)


TABLES = {
    each.__name__: each
    for each in (
        boundaries, public_sets, works, taken_away, in_print, superwords, lines, tagger, other_text, ablations, forms,
        mixtures, labels, small_table, clients, ready_table, dropout_table, appended, trimmed, decoder,
    )
} | {
    "training": partial(seconds, "trainers"),
    "encoding": partial(seconds, "encoders"),
    "gold_measures": partial(measures, GOLD),
    "text_measures": partial(measures, TEXT),
}  # fmt: skip
