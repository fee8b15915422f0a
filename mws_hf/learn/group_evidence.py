"""Compute boundary evidence of groups of words, such as languages: each from its own list, shared words averaged.

A language's words are judged among their like. Every group, and within a group every script, is a word list of its own
for `posteriors.collect_evidence`, with its own budget and calibration. A type of several groups belongs to each group
by a share, in proportion to its relative frequency there. Its posterior is the mean over the groups by these shares.

A type weighs in the merges the sum of its shares, each times a factor of the group: the weight of the group over its
number of types (their shares added up). So with equal weights every language weighs the same, however many forms it
has.

Compositions go by the text, where a type of English may occur ten times as often as a type of Finnish. The price of a
hidden boundary is in proportion to the square root of the mean count of the types of a group. Why the square root: an
equal price starves languages with many word forms of whole words; a price in proportion to the mean count starves
languages with much text.

The group named `code` holds identifiers. Its words are cut at their capitals for sure (`posteriors.CODE`); words
that other groups have too are so cut by their share in the group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.groups import UNNAMED, GroupedCounts, group_shares
from mws_hf.kernels import Doubles, Ints, Longs
from mws_hf.kernels.threads import side_by_side
from mws_hf.learn.evidence.forms import collect_types
from mws_hf.learn.evidence.posteriors import CODE, Evidence, collect_evidence
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import N_POINTS, CodePoints, concatenated, distinct, distinct_points
from mws_hf.text.pattern import compiled

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import GoldWord

MAX_LISTS_AT_ONCE = 2
"""Word lists (groups, or scripts of a group) that are worked on side by side. Much of the work is done by one thread;
each list takes 100 to 200 MB."""

FEWEST = 1_000
"""Distinct pre-tokens below which a script gets no list of its own."""

SCRIPTS = (
    *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Han", "Hangul", "Thai", "Armenian", "Georgian"),
    *("Bengali", "Gujarati", "Gurmukhi", "Kannada", "Malayalam", "Oriya", "Sinhala", "Tamil", "Telugu", "Tibetan"),
    *("Myanmar", "Khmer", "Lao", "Ethiopic", "Mongolian", "Thaana", "Syriac", "Tifinagh", "Nko", "Cherokee", "Gothic"),
    *("Coptic", "Yi", "Canadian_Aboriginal", "Javanese", "Balinese", "Sundanese", "Cham", "Tai_Le", "Ol_Chiki", "Vai"),
    *("Adlam", "Meetei_Mayek", "Tagalog", "Glagolitic", "Runic", "Ogham", "Deseret", "Osage", "Lisu", "Bopomofo"),
)
_MEMBERS = {"Han": r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]"}
_NO_SAY = 0


def script_lists(words: CodePoints, fewest: int = FEWEST) -> list[Longs]:
    """Sort words by script into lists of their numbers, ascending; the main script, which has most words, is first.

    Words of scripts with less than `fewest` words, mixed words and words without letters join the main script's list.

    >>> words = CodePoints.of([" дом", "2", " кот", " house", "мiр", " дома", " дому"])
    >>> [rows.tolist() for rows in script_lists(words, fewest=1)]
    [[0, 1, 2, 4, 5, 6], [3]]
    """
    own = _scripts_of(words)
    sizes = np.bincount(own, minlength=len(SCRIPTS) + 1)
    sizes[_NO_SAY] = 0
    main = int(np.argmax(sizes))
    large = [k for k in np.nonzero(sizes >= fewest)[0].tolist() if k != main]
    apart = np.isin(own, large)
    return [np.nonzero(~apart)[0], *(np.nonzero(own == k)[0] for k in large)]


def _scripts_of(words: CodePoints) -> npt.NDArray[np.int8]:
    """Find the script of each word: one more than its place in `SCRIPTS`; 0 for mixed words and without letters."""
    letters = _script_table(words.points)[words.points]
    starts = words.starts[:-1]
    if len(starts) == 0:
        return np.zeros(0, np.int8)
    highest = np.maximum.reduceat(letters, starts)
    letters[letters == _NO_SAY] = np.iinfo(np.int8).max
    lowest = np.minimum.reduceat(letters, starts)
    return np.where(highest == lowest, highest, np.int8(_NO_SAY))


def _script_table(points: Ints) -> npt.NDArray[np.int8]:
    """Find the script of the characters that occur in `points`: shape (N_POINTS,), as in `_scripts_of`."""
    table = np.zeros(N_POINTS, np.int8)
    is_letter = compiled(r"\p{L}").match
    left = [point for point in distinct_points(points) if is_letter(chr(point))]
    for number, script in enumerate(SCRIPTS, start=1):
        if not left:
            break
        match = compiled(_MEMBERS.get(script, rf"\p{{Script={script}}}")).match
        table[[point for point in left if match(chr(point))]] = number
        left = [point for point in left if table[point] == 0]
    return table


class GroupEvidence(NamedTuple):
    """Boundary evidence of one group, the relative frequencies of its types, its weight and the words in its text."""

    evidence: Evidence
    frequency: Doubles
    weight: float
    text: float = 1.0


def find_evidence(counts: WordCounts | Mapping[str, WordCounts], settings: Settings | None = None) -> Evidence:
    """Compute boundary evidence for the words of all groups; without named groups every type weighs the same.

    Args:
        counts: words and how often each occurs, by group where groups are named.
        settings: constants of the recipe, and weights of groups; each word list has the whole budget.

    Raises:
        MwSError: a weight or labels name a group that is not there, or labels name no group although there are several.

    >>> fin = WordCounts.from_mapping({" talossa": 3, " talosta": 1, " in": 1}, pattern="...")
    >>> eng = WordCounts.from_mapping({" in": 9, " house": 2, " houses": 1}, pattern="...")
    >>> found = find_evidence({"fin": fin, "eng": eng})
    >>> sorted(found.types)
    ['house', 'houses', 'in', 'talossa', 'talosta']
    """
    settings = settings or Settings()
    groups = GroupedCounts.of(counts)
    shares = group_shares(groups, settings.weights)
    labels: Mapping[str, tuple[GoldWord, ...]] = {}
    if settings.labels:
        from mws_hf.corpus.segmentations import labels_of_groups

        labels = labels_of_groups(groups, settings.labels)
    if len(groups) == 1:
        name, words = next(iter(groups.items()))
        return _group_evidence(name, words, settings, labels.get(name, ()))
    by_length = sorted(groups, key=lambda name: -len(groups[name]))  # the longest first, or it would be last and alone
    each = side_by_side(
        lambda name: _group_evidence(name, groups[name], settings, labels.get(name, ())),
        by_length,
        most=MAX_LISTS_AT_ONCE,
    )
    found = dict(zip(by_length, each, strict=True))
    parts = [
        GroupEvidence(found[name], _relative_frequencies(found[name]), shares[name], float(words.total))
        for name, words in groups.items()
    ]
    return join_groups(parts, settings)


def join_groups(groups: Sequence[GroupEvidence], settings: Settings) -> Evidence:
    """Join the evidence of groups: mean posteriors, weights and prices of types, as the module docstring says."""
    every = concatenated([part.evidence.code_points for part in groups])
    found = distinct(every)
    edges = np.cumsum([0, *(len(part.frequency) for part in groups)]).tolist()
    ids = [found.ids[a:b] for a, b in zip(edges, edges[1:], strict=False)]
    together = np.zeros(len(found.first))
    for part, own in zip(groups, ids, strict=True):
        together[own] += part.frequency  # a type is once in a group
    types = every.take(found.first)
    probabilities, in_code = np.zeros(len(types.points)), np.zeros(len(types))
    weights, means = np.zeros(len(types)), np.zeros(len(types))
    for part, own in zip(groups, ids, strict=True):
        share = part.frequency / together[own]
        starts = part.evidence.starts
        sizes = np.diff(starts)
        places = np.arange(len(part.evidence.probabilities)) + np.repeat(types.starts[own] - starts[:-1], sizes)
        probabilities[places] += part.evidence.probabilities * np.repeat(share, sizes)
        per_type = share * (part.weight / max(math.fsum(share), 1e-9))
        weights[own] += per_type
        means[own] += per_type * part.text
        if part.evidence.in_code is not None:
            in_code[own] += share * part.evidence.in_code
    weights *= len(weights) / max(math.fsum(weights), 1e-9)
    prices = np.sqrt(means * (len(means) / max(math.fsum(means), 1e-9)))
    code = any(part.evidence.in_code is not None for part in groups)
    labels = {name: fit for part in groups for name, fit in part.evidence.labels.items()}
    times = np.rint(together * 1e9).astype(np.int64)  # comparable, for the groups' texts are of any length
    return Evidence(types, probabilities, settings, weights, labels, in_code if code else None, prices, times)


def _group_evidence(name: str, counts: WordCounts, settings: Settings, labels: tuple[GoldWord, ...]) -> Evidence:
    """Compute the evidence of one group, script by script; labels are words of the main script."""
    words = CodePoints.of_counts(counts)
    lists = script_lists(words)
    own = [replace(settings, labels=() if i else labels) for i in range(len(lists))]
    parts = (words.take(rows) for rows in lists) if len(lists) > 1 else [words]
    listed = side_by_side(collect_types, parts, [counts.counts[rows] for rows in lists], most=MAX_LISTS_AT_ONCE)
    del words, lists, parts
    found = side_by_side(collect_evidence, listed, own, most=MAX_LISTS_AT_ONCE)
    whole = found[0]
    if len(found) > 1:  # lists that share no type
        types = concatenated([part.code_points for part in found])
        times = np.concatenate([part.times for part in found if part.times is not None])
        whole = Evidence(types, np.concatenate([part.probabilities for part in found]), times=times)
    whose = name if isinstance(settings.labels, Mapping) else UNNAMED
    fit = next(iter(found[0].labels.values()), None)
    in_code = np.ones(len(whole.code_points)) if name == CODE else None
    return replace(whole, settings=settings, labels={} if fit is None else {whose: fit}, in_code=in_code)


def _relative_frequencies(evidence: Evidence) -> Doubles:
    """Compute how often each type occurs among all types; adds up to 1."""
    times = np.ones(len(evidence.code_points), np.int64) if evidence.times is None else evidence.times
    return times / max(1, int(times.sum()))
