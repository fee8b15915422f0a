"""Boundary F1 from little text: MwS with 0, 20 and 300 labelled words beside its rivals, 0.1 to 10 MB, six languages.

    nice -n 10 python scripts/small_texts.py --data ../shared/data [--languages tur fin] [--megabytes 0.1 0.3]

A text is the first so many million bytes, whole lines, of the language's sources. All systems have 8,000 entries; MwS
learns morphs only. SentencePiece and Morfessor see every word once, as is best for them here, byte-level BPE running
text. Of each gold, the words with the smallest hashes of a sample are labels, and the words behind the first 300 are
scored, for every system the same; figures are means over samples. Rows tell where a language has less text than asked.
Writes scripts/results/small_texts.json system by system (a run goes on where the last one stopped) and small_texts.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labels import shuffled
from mixture import GOLD
from systems import UNIGRAM

from mws_hf import MwSTrainer, WordCounts
from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.segmentations import GoldWord, read_gold
from mws_hf.evaluate import score, segment_words
from mws_hf.research import baselines
from mws_hf.text.markdown import markdown_table

SOURCES = {
    "rus": ("rus.eltec", "rus.rublimp"),
    "fin": ("fin.fincore", "fin.ud-tdt-ner", "fin.msdocs"),
    "tur": ("tur.blog", "tur.ud-boun", "tur.msdocs-ht"),
    "hun": ("hun.eltec",),
    "ces": ("ces.eltec",),
    "eng": ("eng.eltec",),
}
MEGABYTES = (0.1, 0.3, 1.0, 3.0, 10.0)
LABELS = {"mws-morphs": 0, "mws-morphs, 20 labels": 20, "mws-morphs, 300 labels": 300}
RIVALS = {"bpe-byte": False, UNIGRAM: True, "morfessor": True}
"""Whether each learns from types."""

SYSTEMS = (*LABELS, *RIVALS)
POOL = 300
VOCAB_SIZE = 8_000


def text_of(data: Path, language: str, megabytes: float) -> list[str]:
    """Whole lines of a language's sources, in their order, up to so many million bytes."""
    left, lines = megabytes * 1e6, list[str]()
    for name in SOURCES[language]:
        with gzip.open(data / "text" / f"{name}.txt.gz", "rt", encoding="utf-8", newline="\n") as stream:
            for line in stream:
                left -= len(line.encode())
                if left < 0:
                    return lines
                lines.append(line)
    return lines


def measure(system: str, counts: WordCounts, gold: tuple[GoldWord, ...], samples: int) -> list[dict[str, Any]]:
    """F1 of a system on the words behind the pool of each sample; it is trained anew only where labels differ."""
    rows, trained = [], None
    for sample in range(samples):
        order = shuffled(gold, sample)
        if trained is None or LABELS.get(system):
            trained = _trained(system, counts, order[: LABELS.get(system, 0)])
        rest = order[POOL:]
        f1 = score(rest, segment_words(trained, [each.word for each in rest])).f1
        rows.append({"system": system, "sample": sample, "f1": f1, "words": len(rest)})
    return rows


def _trained(system: str, counts: WordCounts, labels: Sequence[GoldWord]) -> Any:
    if system in RIVALS:
        return baselines.train(system, counts.as_types() if RIVALS[system] else counts, VOCAB_SIZE).source
    trainer = MwSTrainer(vocab_size=VOCAB_SIZE, composition=0, labels=labels or None, show_progress=False)
    return trainer.backend(trainer.learn(counts))[0]


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a row a language and size, a column a system, the mean F1 of the samples."""
    lines = []
    for language, megabytes in sorted(
        {(row["language"], row["megabytes"]) for row in rows}, key=lambda each: (list(GOLD).index(each[0]), each[1])
    ):
        here = [row for row in rows if (row["language"], row["megabytes"]) == (language, megabytes)]
        cells = [language, f"{here[0]['bytes'] / 1e6:.1f}", f"{here[0]['words_in_text']:,}"]
        for system in SYSTEMS:
            found = [row["f1"] for row in here if row["system"] == system]
            cells.append(f"{statistics.fmean(found):.3f}" if found else "")
        lines.append(cells)
    return markdown_table(["gold", "MB", "distinct words", *SYSTEMS], lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--languages", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--megabytes", nargs="+", type=float, default=list(MEGABYTES))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--results", type=Path, default=Path("scripts/results/small_texts.json"))
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else []
    for megabytes in arguments.megabytes:
        for language in arguments.languages:
            done = {r["system"] for r in rows if (r["language"], r["megabytes"]) == (language, megabytes)}
            systems = [system for system in arguments.systems if system not in done]
            if not systems:
                continue
            lines = text_of(arguments.data, language, megabytes)
            counts = count_documents(lines)
            gold = read_gold(arguments.data / "gold" / f"{GOLD[language]}.tsv").words
            about = {
                "language": language,
                "megabytes": megabytes,
                "bytes": sum(len(line.encode()) for line in lines),
                "words_in_text": len(counts),
            }
            for system in systems:
                found = [{**about, **row} for row in measure(system, counts, gold, arguments.samples)]
                rows += found
                print(language, megabytes, system, *(f"{row['f1']:.3f}" for row in found), flush=True)
                write_text(arguments.results, json.dumps(rows, indent=0) + "\n")
                write_text(arguments.results.with_suffix(".md"), table(rows))


if __name__ == "__main__":
    main()
