"""Why a word is cut as it is: the merges that fired, the evidence under its letters. It learns and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mws_hf.atomic import atomic_path
from mws_hf.errors import MwSError
from mws_hf.tokenization_mws import merge_word


@dataclass(frozen=True)
class Step:
    """One merge while a pre-token is encoded.

    Attributes:
        rank: the merge's rank, 0 first.
        left: left part.
        right: right part.
        tokens: the whole pre-token after this merge.
    """

    rank: int
    left: str
    right: str
    tokens: tuple[str, ...]


def merge_trace(pretoken: str, ranks: Mapping[tuple[str, str], int]) -> list[Step]:
    """The merges that fire on a pre-token, in the order in which they do.

    >>> for step in merge_trace("читать", {("ч", "и"): 0, ("т", "ь"): 2, ("чи", "т"): 1}):
    ...     print(step.rank, step.left, step.right, "·".join(step.tokens))
    0 ч и чи·т·а·т·ь
    1 чи т чит·а·т·ь
    2 т ь чит·а·ть
    """
    steps: list[Step] = []
    tokens = list(pretoken)
    while found := [(ranks[pair], pair) for pair in zip(tokens, tokens[1:], strict=False) if pair in ranks]:
        rank, (left, right) = min(found)
        tokens = merge_word(tokens, {(left, right): rank})
        steps.append(Step(rank, left, right, tuple(tokens)))
    return steps


def evidence_lines(letters: str, boundaries: Sequence[float], tokens: Sequence[str]) -> str:
    """Two aligned lines: the tokens with their cuts, and the boundary probability in percent under each junction.

    Args:
        letters: the word.
        boundaries: probability of a boundary after each letter.
        tokens: how the word is cut; joined they are `letters`.

    >>> print(evidence_lines("читал", [0.01, 0.2, 0.93, 0.4, 0.0], ["чит", "ал"]))
    ч   и   т | а   л
      1  20  93  40
    """
    cuts = set()
    place = 0
    for token in tokens:
        place += len(token)
        cuts.add(place)
    first, second = [], []
    for i, letter in enumerate(letters):
        last = i + 1 == len(letters)
        first.append(letter if last else letter + (" | " if i + 1 in cuts else "   "))
        second.append("" if last else f"{round(100 * boundaries[i]):>{3 if i == 0 else 4}}")
    return "".join(first) + "\n" + "".join(second)


def plot_evidence(
    path: Path, words: Sequence[str], boundaries: Sequence[Sequence[float]], cuts: Sequence[Sequence[str]]
) -> None:
    """Draw the evidence of words, one panel a word: bars at junctions, a line where the tokenizer cuts.

    Raises:
        MwSError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MwSError("plotting needs matplotlib: pip install 'mws-hf[plot]'") from None
    figure = Figure(figsize=(8, 1.6 * len(words) + 0.4), layout="constrained")
    panels = figure.subplots(len(words), 1, squeeze=False)[:, 0]
    for panel, word, values, tokens in zip(panels, words, boundaries, cuts, strict=True):
        panel.bar([i + 0.5 for i in range(len(word) - 1)], values[: len(word) - 1], width=0.5, color="#4a7ebb")
        place = 0
        for token in tokens[:-1]:
            place += len(token)
            panel.axvline(place - 0.5, color="#c0392b", linewidth=1.5)
        panel.set_xticks(range(len(word)), list(word))
        panel.set(ylim=(0, 1), xlim=(-0.5, len(word) - 0.5), ylabel="P(boundary)")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=150)
