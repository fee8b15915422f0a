"""The gold of ParaMA (Xu et al. 2018; Morpho Challenge words): fetched at run time into a cache, as a file we read.

A line is ``word:m1-m2 alternative-m2``. A hyphen of the word itself looks like a boundary, so such words are left out.
Turkish is written with capitals for the letters that ASCII lacks.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from pathlib import Path

from mws_hf.atomic import write_text

SOURCE = "https://raw.githubusercontent.com/xuhongzhi/ParaMA/800861d9d65e0edb153d3d14afa4a9c33e8ed1d3/data/mit"
LANGUAGES = ("eng", "tur", "fin")
SECONDS = 30
TURKISH = str.maketrans("CGIOSU", "çğıöşü")


def gold_file(language: str, cache: Path, source: str = SOURCE) -> Path | None:
    """The gold of a language as ``LANGUAGE.parama.tsv`` in the cache; None, and a word on stderr, when unreachable.

    Args:
        language: one of `LANGUAGES`.
        cache: a folder; what is there already is not fetched again.
        source: address of the folder that holds ``gold.LANGUAGE.txt``.
    """
    raw, file = cache / f"gold.{language}.txt", cache / f"{language}.parama.tsv"
    if not raw.exists():
        address = f"{source}/{raw.name}"
        try:
            with urllib.request.urlopen(address, timeout=SECONDS) as answer:
                text = answer.read().decode("utf-8")
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            print(f"{address}: {error}; going on without this gold", file=sys.stderr)
            return None
        cache.mkdir(parents=True, exist_ok=True)
        write_text(raw, text)
    text = raw.read_text(encoding="utf-8")
    write_text(file, as_words(text.translate(TURKISH) if language == "tur" else text))
    return file


def as_words(text: str) -> str:
    r"""The same as lines of ``word<TAB>m1 m2, alternative``, without words that hold a hyphen.

    >>> as_words("rocks:rock-s rocks\ncross-talk:cross-talk\n")
    'rocks\trock s, rocks\n'
    """
    lines = []
    for line in text.splitlines():
        word, _, analyses = line.strip().partition(":")
        while ":" in analyses and analyses.split(" ")[0].replace("-", "") != word:  # a colon of the word, as in eu:n
            more, _, analyses = analyses.partition(":")
            word = f"{word}:{more}"
        if word and "-" not in word:
            lines.append(f"{word}\t{', '.join(each.replace('-', ' ') for each in analyses.split())}\n")
    return "".join(lines)
