"""Compare a folder of data with the index in scripts/README.md, or write the index again.

    python scripts/data_index.py DATA           # list files that are missing or differ
    python scripts/data_index.py DATA --write   # write the index, after a change of the data

The index lists each file that the experiments read, with its source, the license stated there, its SHA-256 and the
modules that read it. None of these files is in the repository.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path
from typing import NamedTuple

from mws_hf.atomic import write_text
from mws_hf.text.markdown import markdown_table

README = Path(__file__).resolve().parent / "README.md"
_SECTION = re.compile(r"(<!-- data_index\.py -->\n).*?(<!-- end -->)", re.DOTALL)
_ROW = re.compile(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|", re.MULTILINE)
_NONE, _ELTEC = "none stated", "public domain by age, markup CC BY 4.0"


class Source(NamedTuple):
    """The source of a file, the license stated there, and the modules of scripts/ that read the file."""

    source: str
    license: str
    read_by: str


def _text(source: str, license: str) -> Source:
    return Source(source, license, "`lab/data.py`, `pretrained_sources.py`")


def _eltec(repository: str) -> Source:
    return _text(f"COST-ELTeC/{repository}", _ELTEC)


def _gold(source: str, license: str = _NONE, read_by: str = "`lab/data.py` (`GOLDS`)") -> Source:
    return Source(source, license, read_by)


SOURCES = {
    "gold/rus.tikhonov.tsv": _gold(
        "AlexeySorokin/NeuralMorphemeSegmentation, through MartinXPN/word2morph", "none stated; MIT repository"
    ),
    "gold/rus.wiktionary-forms.tsv": _gold(
        "slowwavesleep/NeuralMorphemeSegmenter", "MIT repository, Wiktionary CC BY-SA"
    ),
    "gold/rus.running-text-forms.tsv": _gold(
        "lemmas of UD_Russian-Taiga and GramEval2020, segmented as in Tikhonov's dictionary", "CC BY-SA 4.0"
    ),
    "gold/fin.morphochallenge2010.tsv": _gold("Morpho Challenge 2010"),
    "gold/tur.morphochallenge2010.tsv": _gold("Morpho Challenge 2010"),
    "gold/eng.morphochallenge2010.tsv": _gold("Morpho Challenge 2010"),
    "gold/ces.sigmorphon2022.tsv": _gold("sigmorphon/2022SegmentationST"),
    "gold/hun.sigmorphon2022.tsv": _gold("sigmorphon/2022SegmentationST, aligned to the surface where unambiguous"),
    "gold/lat.sigmorphon2022.tsv": _gold("sigmorphon/2022SegmentationST", read_by="`lab/experiments/quality.py`"),
    "text/rus.novels.txt.gz": _text("JoannaBy/RussianNovels", "public domain by age"),
    "text/rus.drama.txt.gz": _text("dracor-org/rusdracor", "CC0"),
    "text/rus.eltec.txt.gz": _eltec("ELTeC-rus"),
    "text/rus.rublimp.txt.gz": _text("RussianNLP/RuBLiMP, sentences", "Apache-2.0"),
    "text/rus.ud-taiga-grameval.txt.gz": _text("UD_Russian-Taiga and GramEval2020", "CC BY-SA 4.0"),
    "text/eng.eltec.txt.gz": _eltec("ELTeC-eng"),
    "text/hun.eltec.txt.gz": _eltec("ELTeC-hun"),
    "text/ces.eltec.txt.gz": _eltec("ELTeC-cze"),
    "text/deu.eltec.txt.gz": _eltec("ELTeC-deu"),
    "text/ukr.eltec.txt.gz": _eltec("ELTeC-ukr"),
    "text/fin.fincore.txt.gz": _text("TurkuNLP/FinCORE", "CC BY 4.0"),
    "text/fin.msdocs.txt.gz": _text("MicrosoftDocs", "CC BY 4.0"),
    "text/fin.ud-tdt-ner.txt.gz": _text("UD_Finnish-TDT and the Turku NER corpus", "CC BY-SA 4.0"),
    "text/tur.msdocs-ht.txt.gz": _text("MicrosoftDocs, translated by people", "CC BY 4.0"),
    "text/tur.blog.txt.gz": _text("daronyondem/daron-turkce-blog", "CC BY-SA 4.0"),
    "text/tur.ud-boun.txt.gz": _text("UD_Turkish-BOUN", "CC BY-SA 4.0"),
    **{
        f"words/{language}.opensubtitles2018-50k.tsv.gz": Source(
            "hermitdave/FrequencyWords 2018, 50,000 most frequent forms",
            "CC BY-SA 4.0",
            "`lab/experiments/blind.py`, `robustness.py`",
        )
        for language in "bul ces deu eng est fin hun pol rus tur ukr".split()
    },
}


def index(data: Path) -> str:
    """Write the table of all files of a folder, with their digests."""
    rows = [
        [f"`{name}`", each.source, each.license, f"`{digest(data / name)}`", each.read_by]
        for name, each in SOURCES.items()
    ]
    return markdown_table(["file", "source", "stated license", "SHA-256", "read by"], rows, numbers=False)


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def differences(data: Path, page: str) -> list[str]:
    """List the files of the index that are missing in a folder, or whose bytes differ there."""
    found = []
    for name, wanted in _ROW.findall(page):
        if not (data / name).is_file():
            found.append(f"{name} is missing")
        elif digest(data / name) != wanted:
            found.append(f"{name} differs from the file in the index: its SHA-256 is {digest(data / name)}")
    return found


def main() -> None:
    """Compare a folder with the index, or write the index again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with the subfolders gold, text and words")
    parser.add_argument("--write", action="store_true", help="write the index in scripts/README.md from the folder")
    asked = parser.parse_args()
    page = README.read_text(encoding="utf-8")
    if asked.write:
        write_text(README, _SECTION.sub(lambda found: f"{found[1]}\n{index(asked.data)}\n\n{found[2]}", page))
        return
    found = differences(asked.data, page)
    print(*found, f"{len(_ROW.findall(page)) - len(found)} files are equal to those in the index", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
