"""Tokenizers on another kind of text than their training text: n-gram bits per byte and tokens per word.

A tokenizer and its n-gram model (`mws_hf.scoring.ngram_model`, 4 MB) learn from one kind of text. They are scored on
held-out lines of the same kind, and on lines of another kind (`PAIRS`). `--with treebanks=FOLDER` names a folder with a
Git clone of each treebank of Universal Dependencies that `PAIRS` lists, such as UD_Hungarian-Szeged. In a treebank, a
sentence is a line. Intervals are over lines.
"""

from __future__ import annotations

import math

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import HELD_OUT_LINES, MB, digest_of, first, read, split_lines, treebank
from lab.systems import NAMES, UNIGRAM, trained
from lab.tables import groups, percents, span, tabulated, where
from mws_hf.corpus.counting import count_documents
from mws_hf.scoring.ngram_model import NgramBits, ngram_bits
from mws_hf.scoring.running_text import score_text
from mws_hf.scoring.significance import paired_bootstrap

SYSTEMS = ("mws", "bpe-byte", UNIGRAM)
RUSSIAN = (("rus.novels", "rus.drama"), "novels, plays")
PAIRS = {
    "UD_Hungarian-Szeged": (("hun.eltec",), "novels", "news"),
    "fin.ud-tdt-ner": (("fin.fincore", "fin.msdocs"), "web, manuals", "news, Wikipedia, blogs"),
    "rus.ud-taiga-grameval": (*RUSSIAN, "social media, news, verse"),
    "tur.ud-boun": (("tur.blog", "tur.msdocs-ht"), "blog, manuals", "news, essays"),
    "UD_English-EWT": (("eng.eltec",), "novels", "blogs, mail, reviews"),
    "UD_Czech-PUD": (("ces.eltec",), "novels", "news, Wikipedia"),
    "rus.rublimp": (*RUSSIAN, "Wikipedia, news, books"),
}
"""For each scored text file or treebank: the training files, the kind of text in them, and the kind of the scored text.
"""

AXES = {"size": (8000, 32000), "judged": list(PAIRS), "system": SYSTEMS, "kind": ("own", "other")}
SHARED, TOGETHER = 2, True


def lines_of(place: Place, judged: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the training lines, and the distinct lines to score of each kind.

    The order of lines depends only on their content.
    """
    training, own = split_lines([line.rstrip("\n") for line in read(place.data, PAIRS[judged][0])])
    if judged.startswith("UD_"):
        clone = place.path("treebanks", "a folder with clones of treebanks") / judged
        other = [sentence.text for sentence in treebank(clone) if sentence.text]
    else:
        other = [line.rstrip("\n") for line in read(place.data, [judged])]
    seen, found = set(training), {}
    for kind, lines in {"own": own, "other": other}.items():
        distinct = [line for line in dict.fromkeys(lines) if line not in seen]
        found[kind] = sorted(distinct, key=digest_of)[:HELD_OUT_LINES]
        seen.update(found[kind])
    return sorted(training, key=digest_of), found


def measure(place: Place, cells: list[Cell]) -> Found:
    judged, size = cells[0]["judged"], cells[0]["size"]
    learnt = PAIRS[judged][0]
    training, shown = lines_of(place, judged)
    part, counts = first(training, 4 * MB), count_documents(training)
    held_out = shown["own"] + shown["other"]
    folder = place.work / "other_text" / "+".join(learnt)
    directories = {system: trained(system, counts, size, folder) for system in SYSTEMS}
    bits = {system: ngram_bits(directory, part, held_out) for system, directory in directories.items()}
    parts = {"own": slice(0, len(shown["own"])), "other": slice(len(shown["own"]), len(held_out))}
    for cell in cells:
        system, lines, here = cell["system"], shown[cell["kind"]], parts[cell["kind"]]
        found = bits[system]
        value = found.nats[here].sum() / found.n_bytes[here].sum() / math.log(2)
        against = {rival: percent(found, bits[rival], here) for rival in NAMES if rival != system}
        yield cell, {
            "language": judged[:3] if judged[:3] != "UD_" else learnt[0][:3], "learnt": learnt,
            "bits_per_byte": float(value), "tokens_per_word": score_text(directories[system], lines).fertility,
            "lines": len(lines), "bytes": int(found.n_bytes[here].sum()),
            "lost": int((~found.restored[here]).sum()), "train_bytes": found.train_bytes, "order": found.order,
            "against": against,
        }  # fmt: skip


def percent(bits: NgramBits, base: NgramBits, here: slice) -> list[float]:
    """Return the difference in bits per byte on some of the lines, in percent, and the ends of its 95 % interval."""
    both = (bits.restored & base.restored)[here]
    runs = [bits.nats[here]], [base.nats[here]]
    return percents(paired_bootstrap(*runs, bits.n_bytes[here], represented=both, resamples=1000))


def table(rows: list[Row]) -> Page:
    yield (
        "The figures are differences of MwS with default settings from the other tokenizers in n-gram bits per byte, "
        "in percent with a 95 % interval over lines. Negative values are better. A value is **bold** if its interval "
        "does not contain 0. Tokenizers and n-gram models (at most 4 MB) learn from the first kind of text."
    )
    for kind, title in {"other": "another kind of text", "own": "held-out lines of the same files"}.items():
        lines: list[dict[str, str]] = []
        for size, judged, here in groups(where(rows, kind=kind), "size", "judged"):
            by = {row["system"]: row for row in here}
            _, own, other = PAIRS[judged]
            line = {"language": by["mws"]["language"], "vocabulary size": f"{size:,}"}
            line |= {"text": own if kind == "own" else f"{own} → {other}", "lines": str(by["mws"]["lines"])}
            line |= {f"vs. {name}": span(by["mws"]["against"][rival]) for rival, name in NAMES.items()}
            lengths = {system: f"{by[system]['tokens_per_word']:.2f}" for system in SYSTEMS}
            line |= {"tokens per word": lengths["mws"], **{f"of {name}": lengths[each] for each, name in NAMES.items()}}
            if line not in lines:  # two pairs with the same training files have the same row here
                lines.append(line)
        yield f"## Scored on {title}"
        yield tabulated(lines)
