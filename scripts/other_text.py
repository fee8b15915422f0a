"""Judge tokenizers on text of another kind than they learnt from: n-gram bits per byte and tokens a word.

    python scripts/other_text.py --data ../shared/data --treebanks CLONES [--languages hun fin] [--sizes 8000] [--plan]

A tokenizer and its n-gram model (`mws_hf.evaluate.ngram_bits`, 4 MB) learn from one kind of text; both then read lines
of that kind that were held out, and lines of another kind (`PAIRS`). CLONES holds a git clone of each treebank of
Universal Dependencies that `PAIRS` names, such as UD_Hungarian-Szeged (a sentence is a line); without it pairs of two
text files are measured. Lines are the units of the intervals.
Writes scripts/results/other_text.json and .md after every pair, and goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngram_map import SLICES, first
from quality import HELD_OUT_LINES, split_lines
from systems import UNIGRAM, train_system

from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.evaluate.ngram_bits import NgramBits, ngram_bits
from mws_hf.evaluate.running_text import read_lines, score_text
from mws_hf.evaluate.significance import paired_bootstrap
from mws_hf.text.markdown import markdown_table

SYSTEMS = ("mws", "bpe-byte", UNIGRAM)
NAMES = {"bpe-byte": "byte-level BPE", UNIGRAM: "SentencePiece Unigram"}
SIZES = (8000, 32000)
OWN, OTHER = "own", "other"


@dataclass(frozen=True)
class Pair:
    """Two kinds of text of one language.

    Attributes:
        language: of both.
        learnt: text files that tokenizers and n-gram models learn from.
        kind: of these.
        judged: a text file, or a treebank of Universal Dependencies.
        other: kind of that.
    """

    language: str
    learnt: tuple[str, ...]
    kind: str
    judged: str
    other: str

    @property
    def treebank(self) -> bool:
        """Whether it is judged on a treebank."""
        return self.judged.startswith("UD_")


PAIRS = (
    Pair("hun", ("hun.eltec",), "novels", "UD_Hungarian-Szeged", "news"),
    Pair("fin", ("fin.fincore", "fin.msdocs"), "web, manuals", "fin.ud-tdt-ner", "news, Wikipedia, blogs"),
    Pair("rus", ("rus.novels", "rus.drama"), "novels, plays", "rus.ud-taiga-grameval", "social media, news, verse"),
    Pair("tur", ("tur.blog", "tur.msdocs-ht"), "blog, manuals", "tur.ud-boun", "news, essays"),
    Pair("eng", ("eng.eltec",), "novels", "UD_English-EWT", "blogs, mail, reviews"),
    Pair("ces", ("ces.eltec",), "novels", "UD_Czech-PUD", "news, Wikipedia"),
    Pair("rus", ("rus.novels", "rus.drama"), "novels, plays", "rus.rublimp", "Wikipedia, news, books"),
)


def lines_of(pair: Pair, data: Path, treebanks: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Training lines in an order that depends on their content alone, and lines to judge on by kind, none twice."""
    files = [str(data / "text" / f"{name}.txt.gz") for name in pair.learnt]
    training, own = split_lines([line for file in files for line in read_lines(file)])
    seen = set(training)
    sources = {
        OWN: own,
        OTHER: sentences(treebanks / pair.judged)
        if pair.treebank
        else list(read_lines(str(data / "text" / f"{pair.judged}.txt.gz"))),
    }
    judged = {}
    for kind, lines in sources.items():
        distinct = [line for line in dict.fromkeys(lines) if line not in seen]
        judged[kind] = sorted(distinct, key=_digest)[:HELD_OUT_LINES]
        seen.update(judged[kind])
    return sorted(training, key=_digest), judged


def _digest(line: str) -> bytes:
    return hashlib.sha256(line.encode()).digest()


def sentences(clone: Path) -> list[str]:
    """The texts of all sentences of a treebank, in the order of its files.

    Raises:
        MwSError: it is not there, or holds none.
    """
    if not clone.is_dir():
        raise MwSError(f"{clone}: no such treebank; clone https://github.com/UniversalDependencies/{clone.name} there")
    git = ["git", "-C", str(clone)]
    listed = subprocess.run([*git, "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True, check=True)
    found = []
    for name in sorted(each for each in listed.stdout.splitlines() if each.endswith(".conllu")):
        shown = subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, check=False)
        if shown.returncode:
            print(f"{clone.name}: {name} is not in this clone; left out", flush=True)
        found += texts_of(shown.stdout.decode("utf-8"))
    if not found:
        raise MwSError(f"{clone}: no sentence with a text; give a whole clone")
    return found


def texts_of(conllu: str) -> list[str]:
    r"""The `# text = ` lines of a CoNLL-U file.

    >>> texts_of("# sent_id = 1\n# text = Jó nap .\n1\tJó\n")
    ['Jó nap .']
    """
    begin = "# text = "
    return [line.removeprefix(begin) for line in conllu.split("\n") if line.startswith(begin)]


def measure(pair: Pair, size: int, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a pair at one size, a row a system and kind of text."""
    training, judged = lines_of(pair, arguments.data, arguments.treebanks)
    part = first(training, SLICES["4 MB"]) or training
    counts = count_documents(training)
    held_out = judged[OWN] + judged[OTHER]
    bits: dict[str, NgramBits] = {}
    rows = []
    for system in SYSTEMS:
        directory = arguments.work / f"{'+'.join(pair.learnt)}-{system}-{size}"
        if not (directory / "tokenizer.json").is_file():
            train_system(system, counts, size, directory)
        bits[system] = ngram_bits(directory, part, held_out)
        parts = {OWN: slice(0, len(judged[OWN])), OTHER: slice(len(judged[OWN]), len(held_out))}
        for kind, here in parts.items():
            found = bits[system]
            value = found.nats[here].sum() / found.n_bytes[here].sum() / 0.6931471805599453
            rows.append({
                "language": pair.language, "size": size, "learnt": list(pair.learnt), "judged": pair.judged,
                "kind": kind, "system": system, "bits_per_byte": float(value),
                "tokens_per_word": score_text(directory, judged[kind]).fertility,
                "lines": len(judged[kind]), "bytes": int(found.n_bytes[here].sum()),
                "lost": int((~found.restored[here]).sum()), "train_bytes": found.train_bytes, "order": found.order,
            })  # fmt: skip
            print(pair.language, size, system, kind, round(float(value), 4), flush=True)
    for row in rows:
        here = parts[row["kind"]]
        row["against"] = {
            rival: percent(bits[row["system"]], bits[rival], here) for rival in NAMES if rival != row["system"]
        }
    return rows


def percent(bits: NgramBits, base: NgramBits, here: slice) -> list[float]:
    """Difference in bits per byte on some of the lines, in per cent with the ends of the 95 % interval."""
    both = (bits.restored & base.restored)[here]
    found = paired_bootstrap([bits.nats[here]], [base.nats[here]], bits.n_bytes[here], represented=both, resamples=1000)
    scale = 100 * found.relative / found.value if found.value else 0.0
    return [scale * each for each in (found.value, found.low, found.high)]


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: the default against its rivals on text of its own kind and of the other."""
    kinds = {(pair.learnt, pair.judged): (pair.kind, pair.other) for pair in PAIRS}
    cells: dict[str, list[list[str]]] = {OWN: [], OTHER: []}
    for row in rows:
        if row["system"] != "mws":
            continue
        alike = [r for r in rows if all(r[key] == row[key] for key in ("language", "size", "judged", "kind"))]
        words = {each["system"]: f"{each['tokens_per_word']:.2f}" for each in alike}
        about = kinds[tuple(row["learnt"]), row["judged"]]
        shown = about[0] if row["kind"] == OWN else f"{about[0]} → {about[1]}"
        cells[row["kind"]].append([row["language"], f"{row['size']:,}", shown, str(row["lines"]),
                                   *(_cell(row["against"][rival]) for rival in NAMES),
                                   *(words.get(system, "") for system in SYSTEMS)])  # fmt: skip
    header = ["language", "entries", "text", "lines", *(f"beside {name}" for name in NAMES.values()),
              "tokens a word", *(f"of {name}" for name in NAMES.values())]  # fmt: skip
    return (
        "Difference of the default in n-gram bits per byte, in per cent with its 95 % interval over lines; below 0 is "
        "better, **bold** where 0 is outside. Tokenizers and n-gram models (4 MB at most) learn from the first kind of "
        "text. Written by scripts/other_text.py.\n\n## Judged on another kind of text\n\n"
        f"{markdown_table(header, cells[OTHER])}\n\n## Judged on lines of the same files\n\n"
        f"{markdown_table(header, cells[OWN])}\n"
    )


def _cell(values: list[float]) -> str:
    """A difference with its interval.

    >>> _cell([-0.5, -0.75, -0.25]), _cell([0.1, -0.1, 0.3])
    ('**-0.50** (-0.75 to -0.25)', '+0.10 (-0.10 to +0.30)')
    """
    value, low, high = values
    mark = "**" if low * high > 0 else ""
    return f"{mark}{value:+.2f}{mark} ({low:+.2f} to {high:+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--treebanks", type=Path, default=Path("treebanks"), help="folder of clones")
    parser.add_argument("--work", type=Path, default=Path("out/other_text"))
    languages = list(dict.fromkeys(pair.language for pair in PAIRS))
    parser.add_argument("--languages", nargs="+", default=languages, choices=languages)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--plan", action="store_true", help="print what is due, and measure nothing")
    parser.add_argument("--results", type=Path, default=Path("scripts/results/other_text.json"))
    arguments = parser.parse_args()
    rows = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else []
    for size in arguments.sizes:
        for pair in PAIRS:
            done = any((row["judged"], row["size"]) == (pair.judged, size) for row in rows)
            if pair.language not in arguments.languages or done:
                continue
            if arguments.plan:
                print(f"due: {pair.language} {size} {pair.judged}")
                continue
            if pair.treebank and not (arguments.treebanks / pair.judged).is_dir():
                print(f"{pair.judged}: not under {arguments.treebanks}; left out")
                continue
            rows += measure(pair, size, arguments)
            write_text(arguments.results, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
            write_text(arguments.results.with_suffix(".md"), table(rows))


if __name__ == "__main__":
    main()
