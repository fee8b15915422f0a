"""Stand-ins for public tokenizers, of public size and mixture, for `surgery.py`: nothing of mws_hf has a part in them.

English: byte-level, 64,000 entries, of English novels and Python code. Eight languages: byte fallback, 128,000 entries,
of much English and little Russian, as public mixtures are. Each 50th line of every language is held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from extend import code, lines_of, some
from extend_bases import END, byte_fallback, byte_level, save

MIXTURE = {"eng": 30, "deu": 20, "ces": 15, "hun": 12, "fin": 8, "ukr": 6, "tur": 5, "rus": 3}
"""Million characters of each language in the mixture of eight; fewer where the shared text has fewer."""

CODE = 10
"""Million characters of Python code beside the English of the byte-level stand-in."""


@cache
def lines(data: Path, language: str, megabytes: float) -> list[str]:
    """Lines of a language, evenly spread over all its text, of about so many million characters."""
    if language == "code":
        return list(some(code(), megabytes))
    everything = list(lines_of(data, language))
    step = max(1.0, sum(map(len, everything)) / (megabytes * 1e6))
    return [everything[int(i * step)] for i in range(int(len(everything) / step))]


def learnt(data: Path, language: str, megabytes: float) -> Iterator[str]:
    """What stand-ins and their surgery may learn of."""
    return (line for number, line in enumerate(lines(data, language, megabytes)) if number % 50)


def held_out(data: Path, language: str, megabytes: float, most: int = 4000) -> list[str]:
    """What lengths are measured on."""
    found = [line for number, line in enumerate(lines(data, language, megabytes)) if number % 50 == 0 and line.strip()]
    return found[:: max(1, len(found) // most)]


def bases(data: Path, work: Path) -> dict[str, Path]:
    """Train the stand-ins, once."""
    made = {"English, byte-level": work / "english", "eight languages, byte fallback": work / "eight"}
    for name, directory in made.items():
        if (directory / "tokenizer.json").is_file():
            continue
        if name.startswith("English"):
            texts = chain(learnt(data, "eng", MIXTURE["eng"]), learnt(data, "code", CODE))
            save(byte_level(texts, 64_000 - 3), directory, END)
        else:
            mixture = chain.from_iterable(learnt(data, language, size) for language, size in MIXTURE.items())
            save(byte_fallback(mixture, 128_000, 600), directory, "<eos>")
    return made


if __name__ == "__main__":
    import sys

    print(bases(Path(sys.argv[1]), Path(sys.argv[2])))
