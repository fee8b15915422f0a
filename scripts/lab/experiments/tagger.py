"""A first task: a small tagger from nothing over each tokenizer, Universal Dependencies, five seeds.

`--with treebanks=FOLDER` holds a git clone of each treebank that `TREEBANKS` names. A clone may lack the training part;
the development part stands for it then, every fifth sentence of it for development. A word is a space and its form, cut
by the tokenizer. Its vector is the mean over its tokens of an embedding of the token plus one of its place from the
end, and the embedding of its last token. Two layers of a recurrent network read the sentence in both directions and say
part of speech and features at once, as one label of those seen in training. All systems have equal weights. Tokenizers
learn from text that holds no treebank. Rate and passes are chosen for each system over the same grid, by accuracy on
the development part with seed 0; then five seeds are scored on the test part: all words, and words whose form training
never had.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import product

from tokenizers import Tokenizer

from lab.cells import Cell, Place, Row
from lab.data import read, treebank
from lab.systems import NAMES, UNIGRAM, trained
from lab.tables import groups, half, span
from lab.tagging import Encoded, Sentence, taught, words_of
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.text.markdown import markdown_table

TREEBANKS = {
    "hun": ("UD_Hungarian-Szeged", ("hun.eltec",)),
    "fin": ("UD_Finnish-TDT", ("fin.fincore", "fin.msdocs")),
    "tur": ("UD_Turkish-BOUN", ("tur.blog", "tur.msdocs-ht")),
    "rus": ("UD_Russian-GSD", ("rus.novels", "rus.drama")),
    "ces": ("UD_Czech-CAC", ("ces.eltec",)),
}
"""Treebanks, and the text that tokenizers learn from."""

SYSTEMS = ("mws", "bpe-byte", UNIGRAM)
AXES = {"size": (8000, 32000), "language": list(TREEBANKS), "system": SYSTEMS}
SHARED = 2
RATES, PASSES, SEEDS = (5e-3, 1e-2, 2e-2), 24, range(5)


def parts_of(place: Place, language: str) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Sentences to train on, to choose by, and to score.

    Raises:
        MwSError: the clone has no development or no test part.
    """
    clone = place.path("treebanks", "a folder of clones of treebanks") / TREEBANKS[language][0]
    train, dev, test = (
        [found for conllu in treebank(clone, part) for found in words_of(conllu)] for part in ("train", "dev", "test")
    )
    if not dev or not test:
        raise MwSError(f"{clone}: no dev or test part; clone the whole treebank there")
    return (train, dev, test) if train else ([each for n, each in enumerate(dev) if n % 5], dev[::5], test)


def measure(place: Place, cells: list[Cell]) -> Iterator[tuple[Cell, Row]]:
    """Choose rate and passes of each system, then score its five seeds."""
    language = cells[0]["language"]
    train, dev, test = parts_of(place, language)
    name, learnt = TREEBANKS[language]
    labels = {label: n for n, label in enumerate(sorted({label for sentence in train for _, label in sentence}))}
    forms = {form for sentence in train for form, _ in sentence}
    counts = count_documents(line.rstrip("\n") for line in read(place.data, learnt))
    for cell in cells:
        directory = trained(cell["system"], counts, cell["size"], place.work / "other_text" / "+".join(learnt))
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        parts = [Encoded.of(part, tokenizer, labels, forms) for part in (train, dev, test)]
        shape = (tokenizer.get_vocab_size(), len(labels))
        grid = {rate: taught(parts[0], parts[1], shape, rate, PASSES, SEEDS[0], each=True) for rate in RATES}
        rate, passes = max(product(RATES, range(PASSES)), key=lambda at: grid[at[0]][at[1]][0])
        yield cell, {
            "treebank": name, "rate": rate, "passes": passes + 1, "development": grid[rate][passes][0],
            "by_seed": [taught(parts[0], parts[2], shape, rate, passes + 1, seed)[0] for seed in SEEDS],
            "labels": len(labels), "train_words": sum(map(len, train)), "words": sum(map(len, test)),
            "unseen": sum(int(each.sum()) for each in parts[2].unseen),
        }  # fmt: skip


def table(rows: list[Row]) -> str:
    """Accuracy, and the default's difference from each rival with its interval over seeds (Welch)."""
    lines = []
    for (_, language), here in groups(rows, "size", "language").items():
        by = {row["system"]: row for row in here}
        if len(by) < len(SYSTEMS):
            continue
        for column, kind in enumerate(("all", "never seen")):
            seeds = {name: [run[column] for run in row["by_seed"]] for name, row in by.items()}
            means = {name: statistics.mean(each) for name, each in seeds.items()}
            row, differences = by[SYSTEMS[0]], []
            for name in NAMES:
                gap, doubt = means[SYSTEMS[0]] - means[name], half(seeds[SYSTEMS[0]], seeds[name])
                differences.append(span([gap, gap - doubt, gap + doubt]))
            words = row["unseen"] if column else row["words"]
            about = [language, f"{row['size']:,}", f"{row['train_words']:,}", kind, f"{words:,}"]
            lines.append([*about, *(f"{means[name]:.2f}" for name in SYSTEMS), *differences])
    header = ["language", "entries", "learnt from words", "judged on words", "how many", "default", *NAMES.values(),
              *(f"beside {name}" for name in NAMES.values())]  # fmt: skip
    return (
        "Accuracy of part of speech and features together, per cent, test parts, mean of five seeds; differences of "
        "the default in points with a 95 % t interval over seeds, above 0 is better, **bold** where 0 is outside."
        f"\n\n{markdown_table(header, lines)}"
    )
