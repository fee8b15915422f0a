"""EMMA-2: are the same morphemes given the same pieces across words? Spelling plays no part; boundaries are not scored.

A tokenizer that cuts one stem differently in each of its forms can place many boundaries well and still give a model no
shared token to learn from; this measure sees that, boundary F1 does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mws_hf.evaluate.boundaries import best_alternative, f1
from mws_hf.evaluate.gold import GoldWord


@dataclass(frozen=True)
class Emma2:
    """EMMA-2 precision (pieces that stand for one morpheme), recall (morphemes kept to one piece), harmonic mean."""

    precision: float
    recall: float
    f1: float


def emma2(gold: Sequence[GoldWord], predicted: Sequence[Sequence[str]]) -> Emma2:
    """EMMA-2 (Virpioja et al. 2011, TAL 52(2), section on EMMA): soft many-to-one assignment by co-occurrence.

    For recall each gold morph is assigned the predicted piece it occurs with most often (in a word, as often as both
    are there, so that equal segmentations score 1); a word's recall is the share of its gold morphs whose piece is
    there; recall is the mean over words. Precision is the same with roles exchanged.
    Ties go to the rarer candidate (the closer associate), then to the smaller string. Of several gold segmentations the
    one nearest in boundaries counts, as in the other scores (the authors pool them). A morph that occurs in one word
    only is always matched, so compare tokenizers on the same words.

    >>> gold = [GoldWord("cats", (("cat", "s"),)), GoldWord("dogs", (("dog", "s"),))]
    >>> emma2(gold, [("cat", "s"), ("dogs",)])
    Emma2(precision=1.0, recall=0.75, f1=0.8571428571428571)
    """
    true = [Counter(best_alternative(entry, pieces)) for entry, pieces in zip(gold, predicted, strict=True)]
    cut = [Counter(pieces) for pieces in predicted]
    precision, recall = _assigned_share(cut, true), _assigned_share(true, cut)
    return Emma2(precision, recall, f1(precision, recall))


def _assigned_share(rows: list[Counter[str]], others: list[Counter[str]]) -> float:
    together: dict[str, Counter[str]] = {}
    frequency: Counter[str] = Counter()
    for row, other in zip(rows, others, strict=True):
        frequency.update(other)
        for morph, count in row.items():
            shared = together.setdefault(morph, Counter())
            for candidate, candidate_count in other.items():
                shared[candidate] += min(count, candidate_count)
    assigned = {
        morph: min(shared, key=lambda candidate: (-shared[candidate], frequency[candidate], candidate))
        for morph, shared in together.items()
    }
    shares = [
        sum(min(count, other[assigned[morph]]) for morph, count in row.items()) / row.total()
        for row, other in zip(rows, others, strict=True)
    ]
    return sum(shares) / len(shares) if shares else 1.0
