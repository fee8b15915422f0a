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

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from lab.cells import Cell, Place, Row
from lab.data import read, treebank
from lab.systems import NAMES, UNIGRAM, trained
from lab.tables import groups, half, span
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
WIDTH, PLACES, BATCH = 64, 8, 16
UNKNOWN = -100
"""The label that is none of training: never right, and no part of the loss."""

Sentence = list[tuple[str, str]]
"""Forms and labels."""


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


def words_of(conllu: str) -> list[Sentence]:
    r"""Forms and labels of the sentences of a CoNLL-U file; ranges and empty words are left out.

    >>> words_of("# text = Jó\n1\tJó\tjó\tADJ\t_\tCase=Nom\n\n2-3\tvám\t_\t_\t_\t_\n")
    [[('Jó', 'ADJ|Case=Nom')]]
    """
    found = []
    for block in conllu.split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
        if words := [(row[1], f"{row[3]}|{row[5]}") for row in rows if row[0].isdigit()]:
            found.append(words)
    return found


@dataclass(frozen=True)
class Encoded:
    """A part of a treebank as tensors, a sentence each.

    Attributes:
        tokens: int64 (words, `PLACES`), ids plus one of the last tokens of each word; 0: none.
        labels: int64 (words,).
        unseen: bool (words,), whether training never had the form.
    """

    tokens: list[torch.Tensor]
    labels: list[torch.Tensor]
    unseen: list[torch.Tensor]

    @classmethod
    def of(cls, part: list[Sentence], tokenizer: Tokenizer, labels: dict[str, int], forms: set[str]) -> Encoded:
        """Cut the words of a part; sentences of like length stand together, so that batches take half the steps."""
        tokens, numbers, unseen = [], [], []
        for sentence in sorted(part, key=len):
            cut = tokenizer.encode_batch([f" {form}" for form, _ in sentence], add_special_tokens=False)
            rows = np.zeros((len(sentence), PLACES), np.int64)
            for row, each in zip(rows, cut, strict=True):
                ids = each.ids[-PLACES:]  # the end of a word says most of its features
                row[PLACES - len(ids) :] = np.array(ids) + 1
            tokens.append(torch.from_numpy(rows))
            numbers.append(torch.tensor([labels.get(label, UNKNOWN) for _, label in sentence]))
            unseen.append(torch.tensor([form not in forms for form, _ in sentence]))
        return cls(tokens, numbers, unseen)


class Tagger(nn.Module):
    """Words from their tokens, two layers over the sentence, one label a word."""

    def __init__(self, entries: int, labels: int) -> None:
        super().__init__()
        self.token = nn.Embedding(entries + 1, WIDTH, padding_idx=0)
        self.place = nn.Embedding(PLACES, WIDTH)
        self.drop = nn.Dropout(0.3)
        self.layers = nn.LSTM(2 * WIDTH, WIDTH, num_layers=2, bidirectional=True, batch_first=True, dropout=0.3)
        self.label = nn.Linear(2 * WIDTH, labels)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores (sentences, words, labels) of ids (sentences, words, `PLACES`)."""
        there = (tokens > 0).unsqueeze(-1)
        vectors = torch.tanh(self.token(tokens) + self.place.weight) * there
        words = torch.cat([vectors.sum(2) / there.sum(2).clamp(min=1), vectors[:, :, -1]], -1)
        lengths = there.any(3).any(2).sum(1)
        packed = pack_padded_sequence(self.drop(words), lengths, batch_first=True, enforce_sorted=False)
        return self.label(self.drop(pad_packed_sequence(self.layers(packed)[0], batch_first=True)[0]))


def taught(
    train: Encoded, judged: Encoded, shape: tuple[int, int], rate: float, passes: int, seed: int, *, each: bool = False
) -> list[tuple[float, float]]:
    """Train one tagger; accuracy on all words and on words never seen after the last pass, or after each."""
    torch.manual_seed(seed)
    model = Tagger(*shape)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    found = []
    for done in range(1, passes + 1):
        model.train()
        for number in torch.randperm(math.ceil(len(train.tokens) / BATCH)).tolist():
            scores, wanted = scored(model, train, number * BATCH)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=UNKNOWN)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if each or done == passes:
            found.append(accuracy(model, judged))
    return found


def scored(model: Tagger, part: Encoded, start: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and labels of the sentences of a batch, padded alike."""
    batch = slice(start, start + BATCH)
    scores = model(pad_sequence(part.tokens[batch], batch_first=True))
    return scores, pad_sequence(part.labels[batch], batch_first=True, padding_value=UNKNOWN)


def accuracy(model: Tagger, part: Encoded) -> tuple[float, float]:
    """Per cent of labels that are right: all words, words never seen."""
    model.eval()
    right = []
    with torch.inference_mode():
        for start in range(0, len(part.tokens), BATCH):
            scores, wanted = scored(model, part, start)
            labels = part.labels[start : start + BATCH]
            right += [row[: len(each)] for each, row in zip(labels, scores.argmax(-1) == wanted, strict=True)]
    every, unseen = torch.cat(right).double(), torch.cat(part.unseen)
    return 100 * float(every.mean()), 100 * float(every[unseen].mean())
