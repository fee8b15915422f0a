"""A first task: a small tagger from nothing over each tokenizer, Universal Dependencies, five seeds.

    python scripts/tagger.py --data ../shared/data --treebanks CLONES [--languages hun] [--sizes 8000] [--plan]

CLONES holds a git clone of each treebank that `TREEBANKS` names. A clone may lack the training part; the development
part stands for it then, every fifth sentence of it for development. A word is a space and its form, cut by the
tokenizer. Its vector is the mean over its tokens of an embedding of the token plus one of its place from the end, and
the embedding of its last token. Two layers of a recurrent network read the sentence in both directions and say part of
speech and features at once, as one label of those seen in training. All systems have equal weights. Tokenizers learn
from the text of `other_text.PAIRS`, which holds no treebank.
Rate and passes are chosen for each system over the same grid, by accuracy on the development part with seed 0; then
five seeds are scored on the test part: all words, and words whose form training never had.
Writes scripts/results/tagger.json and .md after every cell, and goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from compare_lm_intervals import student_quantile
from other_text import NAMES, PAIRS, SIZES, SYSTEMS
from systems import train_system
from tokenizers import Tokenizer
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from mws_hf.atomic import write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.evaluate.running_text import read_lines
from mws_hf.text.markdown import markdown_table

TREEBANKS = {
    "hun": "UD_Hungarian-Szeged", "fin": "UD_Finnish-TDT", "tur": "UD_Turkish-BOUN", "rus": "UD_Russian-GSD",
    "ces": "UD_Czech-CAC",
}  # fmt: skip
RATES = (5e-3, 1e-2, 2e-2)
PASSES = 24
"""Over the training part at most; the development part says after which pass to stop."""
SEEDS = (0, 1, 2, 3, 4)
WIDTH, PLACES, BATCH = 64, 8, 16
UNKNOWN = -100
"""The label that is none of training: never right, and no part of the loss."""

Sentence = list[tuple[str, str]]


def parts_of(clone: Path) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Sentences to train on, to choose by, and to score.

    Raises:
        MwSError: the clone has no development or no test part.
    """
    train, dev, test = (sentences(clone, part) for part in ("train", "dev", "test"))
    if not dev or not test:
        raise MwSError(
            f"{clone}: no dev or test part; clone https://github.com/UniversalDependencies/{clone.name} there"
        )
    if not train:
        train, dev = [each for n, each in enumerate(dev) if n % 5], dev[::5]
    return train, dev, test


def sentences(clone: Path, part: str) -> list[Sentence]:
    """Forms and labels of a part of a treebank; none where its file is not in the clone."""
    git = ["git", "-C", str(clone)]
    listed = subprocess.run([*git, "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True, check=False)
    names = [each for each in listed.stdout.splitlines() if each.endswith(f"-ud-{part}.conllu")]
    shown = [subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, check=False) for name in names]
    if any(each.returncode for each in shown):
        return []
    return [found for each in shown for found in words_of(each.stdout.decode("utf-8"))]


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


def trained(
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


def measure(language: str, size: int, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a treebank at one size, a row a system."""
    train, dev, test = parts_of(arguments.treebanks / TREEBANKS[language])
    labels = {label: n for n, label in enumerate(sorted({label for sentence in train for _, label in sentence}))}
    forms = {form for sentence in train for form, _ in sentence}
    learnt = next(pair.learnt for pair in PAIRS if pair.language == language)
    rows = []
    for system in SYSTEMS:
        directory = arguments.work / f"{'+'.join(learnt)}-{system}-{size}"
        if not (directory / "tokenizer.json").is_file():
            files = [str(arguments.data / "text" / f"{name}.txt.gz") for name in learnt]
            train_system(
                system, count_documents([line for file in files for line in read_lines(file)]), size, directory
            )
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        parts = [Encoded.of(part, tokenizer, labels, forms) for part in (train, dev, test)]
        shape = (tokenizer.get_vocab_size(), len(labels))
        grid = {rate: trained(parts[0], parts[1], shape, rate, PASSES, SEEDS[0], each=True) for rate in RATES}
        rate, passes = max(product(RATES, range(PASSES)), key=lambda at: grid[at[0]][at[1]][0])
        runs = [trained(parts[0], parts[2], shape, rate, passes + 1, seed)[0] for seed in SEEDS]
        rows.append(
            {
                "language": language,
                "size": size,
                "treebank": TREEBANKS[language],
                "system": system,
                "rate": rate,
                "passes": passes + 1,
                "development": grid[rate][passes][0],
                "by_seed": runs,
                "labels": len(labels),
                "train_words": sum(map(len, train)),
                "words": sum(map(len, test)),
                "unseen": sum(int(each.sum()) for each in parts[2].unseen),
            }
        )
        print(
            language, size, system, f"rate {rate:g}, {passes + 1} passes, {np.mean(runs, axis=0).round(2)}", flush=True
        )
    return rows


def welch(first: list[float], second: list[float]) -> tuple[float, float]:
    """Difference of two means, and half its 95 % interval.

    >>> [round(each, 2) for each in welch([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])]
    [0.0, 2.27]
    """
    parts = [statistics.variance(each) / len(each) for each in (first, second)]
    doubt = sum(part**2 / (len(each) - 1) for part, each in zip(parts, (first, second), strict=True))
    half = student_quantile(0.975, sum(parts) ** 2 / doubt) * math.sqrt(sum(parts)) if doubt else 0.0
    return statistics.mean(first) - statistics.mean(second), half


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: accuracy, and the default's difference from each rival."""
    cells = []
    for row in rows:
        if row["system"] != SYSTEMS[0]:
            continue
        alike = {each["system"]: each for each in rows if all(each[k] == row[k] for k in ("language", "size"))}
        for column, kind in enumerate(("all", "never seen")):
            values = {name: [run[column] for run in each["by_seed"]] for name, each in alike.items()}
            found = [welch(values[SYSTEMS[0]], values[name]) for name in NAMES]
            differences = [
                f"{'**' if abs(value) > half else ''}{value:+.2f}{'**' if abs(value) > half else ''} "
                f"({value - half:+.2f} to {value + half:+.2f})"
                for value, half in found
            ]
            words = f"{row['words']:,}" if not column else f"{row['unseen']:,}"
            means = [f"{statistics.mean(values[name]):.2f}" for name in SYSTEMS]
            cells.append(
                [row["language"], f"{row['size']:,}", f"{row['train_words']:,}", kind, words, *means, *differences]
            )
    header = ["language", "entries", "learnt from words", "judged on words", "how many", "default", *NAMES.values(),
              *(f"beside {name}" for name in NAMES.values())]  # fmt: skip
    return (
        "Accuracy of part of speech and features together, per cent, test parts, mean of five seeds; differences of "
        "the default in points with a 95 % t interval over seeds, above 0 is better, **bold** where 0 is outside. "
        f"Written by scripts/tagger.py.\n\n{markdown_table(header, cells)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--treebanks", type=Path, default=Path("treebanks"), help="folder of clones")
    parser.add_argument("--work", type=Path, default=Path("out/other_text"), help="tokenizers, as of other_text.py")
    parser.add_argument("--languages", nargs="+", default=list(TREEBANKS), choices=TREEBANKS)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plan", action="store_true", help="print what is due, and measure nothing")
    parser.add_argument("--results", type=Path, default=Path("scripts/results/tagger.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else []
    for size, language in product(arguments.sizes, arguments.languages):
        if any((row["language"], row["size"]) == (language, size) for row in rows):
            continue
        if arguments.plan:
            print(f"due: {language} {size}")
            continue
        rows += measure(language, size, arguments)
        write_text(arguments.results, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        write_text(arguments.results.with_suffix(".md"), table(rows))


if __name__ == "__main__":
    main()
