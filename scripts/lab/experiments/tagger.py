"""Part-of-speech and feature tagging with a small tagger over each tokenizer, on Universal Dependencies, five seeds.

`--with treebanks=FOLDER` names a folder with a Git clone of each treebank in `TREEBANKS`. If a clone has no training
part, its development part is used for training, except every fifth sentence, which is used for development. Tokenizers
learn from text that contains no treebank.

A word is a space and its form, split by the tokenizer. Each token has an embedding, to which an embedding of its
position from the end of the word is added. The vector of a word is the mean of these sums, and the sum of its last
token. A bidirectional recurrent network with two layers reads the sentence. It predicts part of speech and features
together, as one of the labels in the training part. All systems have the same number of parameters.

Learning rate and number of passes are chosen for each system from the same grid, by accuracy on the development part
with seed 0. Then five seeds are scored on the test part, on all words and on words whose form is not in the training
part.
"""

from __future__ import annotations

import math
import statistics
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from lab.cells import Cell, Found, Page, Place, Row
from lab.data import Sentence, read, treebank
from lab.systems import NAMES, UNIGRAM, trained
from lab.tables import groups, half_interval, span, tabulated
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError

TREEBANKS = {
    "hun": ("UD_Hungarian-Szeged", ("hun.eltec",)),
    "fin": ("UD_Finnish-TDT", ("fin.fincore", "fin.msdocs")),
    "tur": ("UD_Turkish-BOUN", ("tur.blog", "tur.msdocs-ht")),
    "rus": ("UD_Russian-GSD", ("rus.novels", "rus.drama")),
    "ces": ("UD_Czech-CAC", ("ces.eltec",)),
}
"""The treebank of each language, and the text that its tokenizers learn from."""

SYSTEMS = ("mws", "bpe-byte", UNIGRAM)
AXES = {"size": (8000, 32000), "language": list(TREEBANKS), "system": SYSTEMS}
SHARED = 2
RATES, PASSES, SEEDS = (5e-3, 1e-2, 2e-2), 24, range(5)
WIDTH, PLACES, BATCH = 64, 8, 16
UNKNOWN = -100
"""The number of a label that is not in the training part; it is always wrong and excluded from the loss."""


def parts_of(place: Place, language: str) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Return the sentences for training, for development and for scoring."""
    clone = place.path("treebanks", "a folder with clones of treebanks") / TREEBANKS[language][0]
    train, dev, test = ([each for each in treebank(clone, part) if each.words] for part in ("train", "dev", "test"))
    if not dev or not test:
        raise MwSError(f"{clone} has no dev or test part; clone the whole treebank into it")
    return (train, dev, test) if train else ([each for n, each in enumerate(dev) if n % 5], dev[::5], test)


def measure(place: Place, cells: list[Cell]) -> Found:
    language = cells[0]["language"]
    train, dev, test = parts_of(place, language)
    name, sources = TREEBANKS[language]
    labels = {label: n for n, label in enumerate(sorted({label_of(word) for each in train for word in each.words}))}
    forms = {word[FORM] for each in train for word in each.words}
    counts = count_documents(line.rstrip("\n") for line in read(place.data, sources))
    for cell in cells:
        directory = trained(cell["system"], counts, cell["size"], place.work / "other_text" / "+".join(sources))
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        parts = [encoded(part, tokenizer, labels, forms) for part in (train, dev, test)]
        shape = (tokenizer.get_vocab_size(), len(labels))
        grid = {rate: train_and_score(parts[0], parts[1], shape, rate, PASSES, SEEDS[0]) for rate in RATES}
        rate, passes = max(product(RATES, range(PASSES)), key=lambda at: grid[at[0]][at[1]][0])
        yield cell, {
            "treebank": name, "rate": rate, "passes": passes + 1, "development": grid[rate][passes][0],
            "by_seed": [train_and_score(parts[0], parts[2], shape, rate, passes + 1, seed)[-1] for seed in SEEDS],
            "labels": len(labels), "train_words": sum(len(each.words) for each in train),
            "words": sum(len(each.words) for each in test), "unseen": sum(int(each.unseen.sum()) for each in parts[2]),
        }  # fmt: skip


def table(rows: list[Row]) -> Page:
    lines = []
    for size, language, here in groups(rows, "size", "language"):
        by = {row["system"]: row for row in here}
        for column, (kind, number) in enumerate((("all", "words"), ("unseen", "unseen")) if len(by) == 3 else ()):
            seeds = {name: [run[column] for run in row["by_seed"]] for name, row in by.items()}
            means = {name: statistics.mean(each) for name, each in seeds.items()}
            row, ours = by[SYSTEMS[0]], means[SYSTEMS[0]]
            line = {"language": language, "vocabulary size": f"{size:,}", "training words": f"{row['train_words']:,}"}
            line |= {"scored words": kind, "number": f"{row[number]:,}", "default": f"{ours:.2f}"}
            line |= {name: f"{means[rival]:.2f}" for rival, name in NAMES.items()}
            for rival, name in NAMES.items():
                gap, doubt = ours - means[rival], half_interval(seeds[SYSTEMS[0]], seeds[rival])
                line[f"vs. {name}"] = span([gap, gap - doubt, gap + doubt])
            lines.append(line)
    yield (
        "The figures are the accuracy of part of speech and features together on the test parts, in percent, as the "
        "mean of five seeds. The last columns have the differences of MwS with default settings in points, with a "
        "95 % t interval over seeds. Positive values are better, and a value is **bold** if its interval does not "
        "contain 0."
    )
    yield tabulated(lines)


FORM = 1
"""The CoNLL-U column of the form."""


def label_of(word: list[str]) -> str:
    """Return the label of a word, which is its part of speech and its features."""
    return f"{word[3]}|{word[5]}"


class Encoded(NamedTuple):
    """An encoded sentence.

    Attributes:
        tokens: int64, shape (n_words, `PLACES`): id + 1 of each word's last tokens, and 0 for missing tokens.
        labels: int64, shape (n_words,).
        unseen: bool, shape (n_words,): whether the form is not in the training part.
    """

    tokens: torch.Tensor
    labels: torch.Tensor
    unseen: torch.Tensor


def encoded(part: list[Sentence], tokenizer: Tokenizer, labels: dict[str, int], forms: set[str]) -> list[Encoded]:
    """Encode the sentences of a part, sorted by length, because batches of equal lengths take half the time steps."""
    found = []
    for sentence in sorted(part, key=lambda each: len(each.words)):
        own = [word[FORM] for word in sentence.words]
        rows = np.zeros((len(own), PLACES), np.int64)
        cuts = tokenizer.encode_batch([f" {form}" for form in own], add_special_tokens=False)
        for row, cut in zip(rows, cuts, strict=True):
            ids = cut.ids[-PLACES:]  # the end of a word determines most of its features
            row[PLACES - len(ids) :] = np.array(ids) + 1
        numbers = torch.tensor([labels.get(label_of(word), UNKNOWN) for word in sentence.words])
        found.append(Encoded(torch.from_numpy(rows), numbers, torch.tensor([form not in forms for form in own])))
    return found


class Tagger(nn.Module):
    """A tagger that combines the tokens of each word, reads the sentence with two layers, and predicts word labels."""

    def __init__(self, entries: int, labels: int) -> None:
        super().__init__()
        self.token = nn.Embedding(entries + 1, WIDTH, padding_idx=0)
        self.place = nn.Embedding(PLACES, WIDTH)
        self.drop = nn.Dropout(0.3)
        self.layers = nn.LSTM(2 * WIDTH, WIDTH, num_layers=2, bidirectional=True, batch_first=True, dropout=0.3)
        self.label = nn.Linear(2 * WIDTH, labels)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute scores (sentences, words, labels) from ids (sentences, words, `PLACES`)."""
        there = (tokens > 0).unsqueeze(-1)
        vectors = torch.tanh(self.token(tokens) + self.place.weight) * there
        words = torch.cat([vectors.sum(2) / there.sum(2).clamp(min=1), vectors[:, :, -1]], -1)
        lengths = there.any(3).any(2).sum(1)
        packed = pack_padded_sequence(self.drop(words), lengths, batch_first=True, enforce_sorted=False)
        return self.label(self.drop(pad_packed_sequence(self.layers(packed)[0], batch_first=True)[0]))


def train_and_score(
    train: list[Encoded], judged: list[Encoded], shape: tuple[int, int], rate: float, passes: int, seed: int
) -> list[tuple[float, float]]:
    """Train one tagger; return its accuracy on all words and on unseen words after each pass."""
    torch.manual_seed(seed)
    model = Tagger(*shape)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    found = []
    for _ in range(passes):
        model.train()
        for number in torch.randperm(math.ceil(len(train) / BATCH)).tolist():
            scores, wanted = scored(model, train[number * BATCH :][:BATCH])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=UNKNOWN)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        found.append(accuracy(model, judged))
    return found


def scored(model: Tagger, batch: list[Encoded]) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the scores of a batch of sentences; return them and the labels with the same padding."""
    scores = model(pad_sequence([each.tokens for each in batch], batch_first=True))
    return scores, pad_sequence([each.labels for each in batch], batch_first=True, padding_value=UNKNOWN)


def accuracy(model: Tagger, part: list[Encoded]) -> tuple[float, float]:
    """Return the percentage of correct labels on all words and on unseen words."""
    model.eval()
    right = []
    with torch.inference_mode():
        for start in range(0, len(part), BATCH):
            batch = part[start : start + BATCH]
            scores, wanted = scored(model, batch)
            right += [row[: len(each.labels)] for each, row in zip(batch, scores.argmax(-1) == wanted, strict=True)]
    every, unseen = torch.cat(right).double(), torch.cat([each.unseen for each in part])
    return 100 * float(every.mean()), 100 * float(every[unseen].mean())
