"""Read the shared data in the same way for all experiments: texts, reference segmentations, and treebanks."""

from __future__ import annotations

import gzip
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mws_hf import WordCounts
from mws_hf.atomic import atomic_path, write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.files import expand_paths
from mws_hf.corpus.octets import open_binary
from mws_hf.corpus.segmentations import GoldWord, read_gold
from mws_hf.errors import MwSError

GOLDS = {
    "rus": ("rus.tikhonov", "rus.wiktionary-forms", "rus.running-text-forms"),
    "fin": ("fin.morphochallenge2010",),
    "tur": ("tur.morphochallenge2010",),
    "hun": ("hun.sigmorphon2022",),
    "ces": ("ces.sigmorphon2022",),
    "eng": ("eng.morphochallenge2010",),
}
"""The development sets of reference segmentations for each language with running text."""

GOLD = {language: names[0] for language, names in GOLDS.items()}
LANGUAGES = (*GOLD, "ukr", "deu")
NOT_FOR_MODELS = ("rus.rublimp.txt.gz", "rus.eltec.txt.gz")
"""Files that no model or tokenizer is trained on.

The first has the sentences of the benchmark RuBLiMP. Some novels of the second are also in rus.novels: 16 MB of
training text contained 6.6 % of the eight-word sequences in its held-out lines, compared with 0.05 % for other files.
"""
HELD_OUT_EVERY, HELD_OUT_LINES = 50, 4000
MB, PIECE, TEXT = 1 << 20, 1 << 16, "# text = "


def order_of(text: str) -> bytes:
    """Return a digest of a text, which sorts texts in an arbitrary but fixed order."""
    return hashlib.blake2b(text.encode()).digest()


def read(data: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of text files, including their line ends."""
    for name in names:
        with gzip.open(data / "text" / f"{name}.txt.gz", "rt", encoding="utf-8", newline="\n") as stream:
            yield from stream


def files_of(data: Path, language: str) -> list[str]:
    """List the names of a language's text files in sorted order."""
    return sorted(file.name.removesuffix(".txt.gz") for file in (data / "text").glob(f"{language}.*.txt.gz"))


def lines_of(data: Path, language: str, without: Sequence[str] = ()) -> list[str]:
    """List all lines of a language's text files, except of the files in `without`; files are sorted by name."""
    return list(read(data, [name for name in files_of(data, language) if f"{name}.txt.gz" not in without]))


def split_lines(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split lines into training lines and held-out lines; one line in `HELD_OUT_EVERY` is held out.

    >>> training, held_out = split_lines([str(number) for number in range(100)])
    >>> len(training), held_out
    (98, ['0', '50'])
    """
    return [line for i, line in enumerate(lines) if i % HELD_OUT_EVERY], list(lines[::HELD_OUT_EVERY])


def parts_of(data: Path, language: str) -> tuple[list[str], list[str]]:
    """Return a language's training lines for models and its held-out lines.

    The order of the training lines depends only on their content.
    """
    training, held_out = split_lines([line for line in lines_of(data, language, NOT_FOR_MODELS) if line.strip()])
    return sorted(training, key=digest_of), spaced(held_out, HELD_OUT_LINES)


def spaced(lines: Sequence[str], most: int) -> list[str]:
    """Take at most `most` evenly spaced lines.

    >>> spaced("abcdefg", 3)
    ['a', 'c', 'e']
    """
    return list(lines[:: max(1, len(lines) // most)][:most])


def digest_of(line: str) -> bytes:
    """Return a digest of a line, which sorts lines in an order that depends only on their content."""
    return hashlib.sha256(line.encode()).digest()


def first(lines: list[str], n_bytes: float) -> list[str]:
    """Return the first lines that have `n_bytes` bytes, or all lines if these have fewer than twice as many bytes."""
    return reaching(lines, n_bytes) if sum(map(n_bytes_of, lines)) >= 2 * n_bytes else lines


def reaching(lines: Iterable[str], n_bytes: float) -> list[str]:
    """Return the first lines that together have at least `n_bytes` bytes, or all lines if they have fewer.

    >>> reaching(["ab", "cd", "e"], 3)
    ['ab', 'cd']
    """
    found = []
    for line in lines:
        if n_bytes <= 0:
            break
        found.append(line)
        n_bytes -= n_bytes_of(line)
    return found


def n_bytes_of(line: str) -> int:
    """Count the UTF-8 bytes of a line."""
    return len(line.encode())


def head(lines: Iterable[str], most: float, size: Callable[[str], int] = n_bytes_of) -> list[str]:
    """Return the first lines that together have at most `most` bytes, or `most` of another unit that `size` counts.

    >>> head(["ab", "cd", "e"], 4), head(["да", "нет"], 4), head(["да", "нет"], 4, len)
    (['ab', 'cd'], ['да'], ['да'])
    """
    found = []
    for line in lines:
        most -= size(line)
        if most < 0:
            break
        found.append(line)
    return found


def spread(lines: Sequence[str], characters: float) -> list[str]:
    """Take evenly spaced lines that together have about the given number of characters."""
    step = max(1.0, sum(map(len, lines)) / characters)
    return [lines[int(i * step)] for i in range(int(len(lines) / step))]


def counts_of(data: Path, language: str) -> WordCounts:
    """Count the words of all text of a language."""
    return count_documents(read(data, files_of(data, language)))


def gold_of(data: Path, language: str) -> tuple[GoldWord, ...]:
    """Read the words of a language's development set of reference segmentations."""
    return read_gold(data / "gold" / f"{GOLD[language]}.tsv").words


def shuffled(words: Iterable[GoldWord], sample: int) -> list[GoldWord]:
    """Return words in a random but fixed order, which differs for each number `sample`."""
    return sorted(words, key=lambda each: order_of(f"{sample} {each.word}"))


class Sentence(NamedTuple):
    """A sentence of a treebank: its text, and the CoNLL-U columns of its words without ranges and empty words."""

    text: str
    words: list[list[str]]


def treebank(clone: Path, *parts: str) -> list[Sentence]:
    """Read the sentences of a cloned treebank: all, or only the given parts ("train", "dev", "test")."""
    if not any(clone.glob("*-ud-*.conllu")):
        raise MwSError(
            f"{clone} contains no treebank; clone https://github.com/UniversalDependencies/{clone.name} into it"
        )
    files = [file for part in parts or ("*",) for file in sorted(clone.glob(f"*-ud-{part}.conllu"))]
    return [sentence for file in files for sentence in sentences(file.read_text(encoding="utf-8"))]


def sentences(conllu: str) -> Iterator[Sentence]:
    r"""Yield the sentences of a CoNLL-U file.

    >>> list(sentences("# text = Jó\n1\tJó\tjó\tADJ\n\n2-3\tvám\t_\t_\n"))
    [Sentence(text='Jó', words=[['1', 'Jó', 'jó', 'ADJ']]), Sentence(text='', words=[])]
    """
    for block in conllu.strip("\n").split("\n\n"):
        lines = block.split("\n")
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        text = [line.removeprefix(TEXT) for line in lines if line.startswith(TEXT)]
        yield Sentence("".join(text), [row for row in rows if row[0].isdigit()])


def mixed(data: Path, sources: str, work: Path) -> Path:
    """Write all text files that match a glob into one plain file, in blocks of 64 KiB in a random but fixed order.

    Because the blocks are shuffled, the beginning of the file has the same mix of styles as the whole file. Texts of
    different sizes that are taken from its beginning therefore differ only in their size.
    """
    names = expand_paths([str(data / "text" / sources)])
    stamp = "".join(f"{name} {Path(name).stat().st_size} {Path(name).stat().st_mtime_ns}\n" for name in names)
    target = work / f"text-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}.txt"
    if not target.exists():
        pieces = []
        for name in names:
            with open_binary(name) as stream:
                while piece := stream.read(PIECE):
                    whole = piece + stream.readline()
                    pieces.append(whole if whole.endswith(b"\n") else whole + b"\n")
        random.Random(0).shuffle(pieces)
        with atomic_path(target) as temporary:
            temporary.write_bytes(b"".join(pieces))
    return target


def cut(text: Path, megabytes: float) -> Path:
    """Copy the complete lines in the first `megabytes` of a text file; return the file itself if it is shorter."""
    size = round(megabytes * 1e6)
    if text.stat().st_size <= size:
        return text
    target = text.with_name(f"{text.stem}-{megabytes:g}MB.txt")
    if not target.exists():
        with text.open(encoding="utf-8", newline="\n") as lines:
            kept = head(lines, size)
        if not kept:
            raise MwSError(f"{text} has no line end in its first {megabytes:g} MB; use a text with shorter lines")
        write_text(target, "".join(kept))
    return target
