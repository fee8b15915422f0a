"""Compute the boundary probabilities of each group of words, such as a language, and join them for the training.

The words of a language are compared only with each other. `posteriors.collect_evidence` gets a separate list of words
for every group, and within a group for every script; `max_types` and the calibration apply to each list. If several
groups have the same word, its probabilities are the mean over these groups. The share of a group in this mean is in
proportion to the relative frequency of the word there.

In the morph merges, the weight of a word is a sum over its groups: the share of the group in the word times the weight
of the group, divided by the number of words of the group (the sum of these shares). So, with equal weights, every
language has the same total weight, however many word forms it has.

Frequency merges follow the text, where an English word may occur ten times as often as a Finnish word. So the penalty
of a boundary inside a token is in proportion to the square root of the mean count of the words of a group. With an
equal penalty, languages with many word forms would get hardly any whole words. With a penalty in proportion to the mean
count, languages with much text would get hardly any.

The group named `code` contains identifiers. In its words a boundary before an uppercase letter is certain
(`posteriors.CODE`). In a word that other groups have, too, this applies in proportion to the share of `code` in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.groups import UNNAMED, group_shares
from mws_hf.kernels import Doubles
from mws_hf.kernels.threads import side_by_side
from mws_hf.learn.evidence.forms import collect_types
from mws_hf.learn.evidence.posteriors import CODE, Evidence, collect_evidence
from mws_hf.learn.script_lists import script_lists
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import CodePoints, concatenated, distinct

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import GoldWord

MAX_LISTS_AT_ONCE = 2
"""Maximum number of lists of words (of groups, or of scripts of a group) that are processed at the same time. Much of
the work on a list is done by a single thread, so two lists use the processor better. Each takes 100 to 200 MB."""


class GroupEvidence(NamedTuple):
    """The boundary probabilities of one group, and how much the group counts.

    Attributes:
        evidence: the boundary probabilities of its types.
        frequency: float64, shape (n_types,), the relative frequency of each type; their sum is 1.
        weight: the share of the group in the training; the sum over all groups is 1.
        text: the number of running words in its text.
    """

    evidence: Evidence
    frequency: Doubles
    weight: float
    text: float = 1.0


def find_evidence(counts: WordCounts | Mapping[str, WordCounts], settings: Settings | None = None) -> Evidence:
    """Compute boundary probabilities for the words of all groups.

    If there is only one group, all types have the same weight.

    Args:
        counts: words and how often each occurs, or such counts by the name of the group.
        settings: settings of the training, among them the weights of groups and the labels; by default the default
            settings. `max_types` applies to each list of words.

    Returns:
        The boundary probabilities of the distinct words of all groups, in lowercase.

    Raises:
        MwSError: a weight or labels name a group that does not exist, or there are several groups and the labels do not
            name any.

    >>> fin = WordCounts.from_mapping({" talossa": 3, " talosta": 1, " in": 1}, pattern="...")
    >>> eng = WordCounts.from_mapping({" in": 9, " house": 2, " houses": 1}, pattern="...")
    >>> found = find_evidence({"fin": fin, "eng": eng})
    >>> sorted(found.types)
    ['house', 'houses', 'in', 'talossa', 'talosta']
    """
    settings = settings or Settings()
    groups = WordCounts.from_groups(counts).groups
    shares = group_shares(groups, settings.weights)
    labels: Mapping[str, tuple[GoldWord, ...]] = {}
    if settings.labels:
        from mws_hf.corpus.labeled_words import labels_of_groups

        labels = labels_of_groups(groups, settings.labels)
    if len(groups) == 1:
        name, words = next(iter(groups.items()))
        return _group_evidence(name, words, settings, labels.get(name, ()))
    # The longest list comes first. Otherwise it might begin last, and all others would be finished long before it.
    by_length = sorted(groups, key=lambda name: -len(groups[name]))
    evidences = side_by_side(
        lambda name: _group_evidence(name, groups[name], settings, labels.get(name, ())),
        by_length,
        most=MAX_LISTS_AT_ONCE,
    )
    found = dict(zip(by_length, evidences, strict=True))
    parts = [
        GroupEvidence(found[name], _relative_frequencies(found[name]), shares[name], float(words.total))
        for name, words in groups.items()
    ]
    return join_groups(parts, settings)


def join_groups(groups: Sequence[GroupEvidence], settings: Settings) -> Evidence:
    """Join the boundary probabilities of groups into those of all types, with their weights and penalties.

    The formulas are in the docstring of this module.

    Args:
        groups: the boundary probabilities of each group.
        settings: settings of the training, which the result contains.
    """
    every = concatenated([part.evidence.code_points for part in groups])
    found = distinct(every)
    edges = np.cumsum([0, *(len(part.frequency) for part in groups)]).tolist()
    ids = [found.ids[a:b] for a, b in zip(edges, edges[1:], strict=False)]
    together = np.zeros(len(found.first))
    for part, rows in zip(groups, ids, strict=True):
        together[rows] += part.frequency  # `rows` has no number twice, because the types of a group are distinct
    types = every.take(found.first)
    probabilities, in_code = np.zeros(len(types.points)), np.zeros(len(types))
    weights, means = np.zeros(len(types)), np.zeros(len(types))
    label_shares: dict[str, Doubles] = {}
    for part, rows in zip(groups, ids, strict=True):
        share = part.frequency / together[rows]
        starts = part.evidence.starts
        sizes = np.diff(starts)
        positions = np.arange(len(part.evidence.probabilities)) + np.repeat(types.starts[rows] - starts[:-1], sizes)
        probabilities[positions] += part.evidence.probabilities * np.repeat(share, sizes)
        per_type = share * (part.weight / max(math.fsum(share), 1e-9))
        weights[rows] += per_type
        means[rows] += per_type * part.text
        if part.evidence.in_code is not None:
            in_code[rows] += share * part.evidence.in_code
        for name in part.evidence.label_shares:
            label_shares[name] = np.zeros(len(types))
            label_shares[name][rows] = share
    weights *= len(weights) / max(math.fsum(weights), 1e-9)
    penalties = np.sqrt(means * (len(means) / max(math.fsum(means), 1e-9)))
    code = any(part.evidence.in_code is not None for part in groups)
    labels = {name: fit for part in groups for name, fit in part.evidence.labels.items()}
    # Frequencies and not counts, because the texts of the groups differ in length.
    times = np.rint(together * 1e9).astype(np.int64)
    return Evidence(
        types, probabilities, settings, weights, labels, in_code if code else None, penalties, times, label_shares
    )


def _group_evidence(name: str, counts: WordCounts, settings: Settings, labels: tuple[GoldWord, ...]) -> Evidence:
    """Compute the boundary probabilities of one group, in each script separately; labels belong to the main script."""
    words = CodePoints.of_counts(counts)
    lists = script_lists(words)
    list_settings = [replace(settings, labels=() if i else labels) for i in range(len(lists))]
    parts = (words.take(rows) for rows in lists) if len(lists) > 1 else [words]
    listed = side_by_side(collect_types, parts, [counts.counts[rows] for rows in lists], most=MAX_LISTS_AT_ONCE)
    del words, lists, parts
    found = side_by_side(collect_evidence, listed, list_settings, most=MAX_LISTS_AT_ONCE)
    whole = found[0]
    if len(found) > 1:  # no type is in two lists, because each has one script
        types = concatenated([part.code_points for part in found])
        times = np.concatenate([part.times for part in found if part.times is not None])
        whole = Evidence(types, np.concatenate([part.probabilities for part in found]), times=times)
    label_group = name if isinstance(settings.labels, Mapping) else UNNAMED
    fit = next(iter(found[0].labels.values()), None)
    every = np.ones(len(whole.code_points))
    return replace(
        whole,
        settings=settings,
        labels={} if fit is None else {label_group: fit},
        in_code=every if name == CODE else None,
        label_shares={} if fit is None or fit.f1 is None else {label_group: every},
    )


def _relative_frequencies(evidence: Evidence) -> Doubles:
    """Compute the relative frequency of each type: float64, shape (n_types,), with the sum 1."""
    times = np.ones(len(evidence.code_points), np.int64) if evidence.times is None else evidence.times
    return times / max(1, int(times.sum()))
