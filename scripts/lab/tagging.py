"""A small tagger from nothing over a tokenizer: words from their tokens, two recurrent layers, one label a word."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

WIDTH, PLACES, BATCH = 64, 8, 16
UNKNOWN = -100
"""The label that is none of training: never right, and no part of the loss."""

Sentence = list[tuple[str, str]]
"""Forms and labels."""


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
