"""The evidence of a training: of groups of words, such as languages; asked of any word; kept in a file.

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

`AnyWord` answers for any word where its boundaries lie. The types and their posteriors are kept. Words that are not
among them are judged by the context view alone. Its regression is fitted to the posteriors of the types, whichever
views gave them. It reads the contexts of the new word among the contexts of the types.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mws_hf.corpus.blocks import arrow_integers
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.groups import UNNAMED, group_shares
from mws_hf.errors import MwSError, brief
from mws_hf.kernels import Doubles, Ints, Longs
from mws_hf.kernels.arithmetic import sigmoid
from mws_hf.kernels.threads import ThreadPool, side_by_side
from mws_hf.learn.evidence.context_view import add_log_odds, fit_contexts
from mws_hf.learn.evidence.contexts import CONTEXT_LENGTHS, Contexts, collect_contexts, contexts_of_each, trie_view
from mws_hf.learn.evidence.forms import collect_types, find_words, inner_positions, split_graphemes
from mws_hf.learn.evidence.posteriors import CODE, Evidence, collect_evidence
from mws_hf.learn.settings import Settings
from mws_hf.learn.words import N_POINTS, CodePoints, SymbolCorpus, concatenated, distinct, distinct_points, utf8_sizes
from mws_hf.text.letter_case import fold
from mws_hf.text.pattern import compiled
from mws_hf.tokenizer.training_record import merges_digest

if TYPE_CHECKING:
    from mws_hf.corpus.segmentations import GoldWord
    from mws_hf.tokenizer.opened import Opened

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
    groups = WordCounts.from_groups(counts).groups
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


MAX_TYPES = 200_000
"""Types that are kept and compared with: more add size and time, and nothing to words that are not among them."""
_FIT_SAMPLE = 20_000
_FORMAT = "1"


class AnyWord:
    """Boundary evidence that answers for any word; the context view judges words that are not among the types."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._weights: tuple[Doubles, Doubles] | None = None
        self._guessed: dict[str, Evidence] = {}

    def knows(self, pretoken: str) -> bool:
        """Return whether a pre-token is a word among the training types."""
        return self.evidence.word(pretoken) is not None

    def word(self, pretoken: str) -> list[float] | None:
        """Return the probability of a boundary after each character of a pre-token; None if it is not a word."""
        return self.words([pretoken])[0]

    def words(self, pretokens: Sequence[str]) -> list[list[float] | None]:
        """Return for each pre-token the probability of a boundary after each of its characters; None if it is no word.

        The result for a word does not depend on the other pre-tokens. All words that are not among the training words
        are judged in one pass, so it is faster to give many at once.
        """
        found = [self.evidence.word(pretoken) for pretoken in pretokens]
        places = find_words(pretokens)
        unlisted = {
            row: fold(pretokens[row][begin:])
            for row, begin in enumerate((places.begins - places.text.starts[:-1]).tolist())
            if found[row] is None and places.is_word[row]
        }
        if new := [letters for letters in dict.fromkeys(unlisted.values()) if letters not in self._guessed]:
            in_code = None if self.evidence.in_code is None else np.ones(1)
            for letters, probabilities in zip(new, self._guess(new), strict=True):
                self._guessed[letters] = Evidence(CodePoints.of([letters]), probabilities, in_code=in_code)
        for row, letters in unlisted.items():
            found[row] = self._guessed[letters].word(pretokens[row])
        return found

    def _guess(self, words: Sequence[str]) -> list[Doubles]:
        """Compute the boundary probabilities of distinct words that are not among the types, by their contexts."""
        listed = _most_frequent(self.evidence)
        new = CodePoints.of(words)
        graphemes = split_graphemes(concatenated([listed.code_points, new]))
        corpus, n_listed, n = graphemes.corpus, len(listed.code_points), len(listed.probabilities)
        last = graphemes.last[n:]
        found = np.zeros(len(last))
        targets = listed.probabilities[graphemes.last[:n]].astype(np.float32)
        starts = corpus.starts[: n_listed + 1]
        if inner_positions(starts).any():
            with ThreadPool() as pool:
                contexts = pool.submit(_contexts_of, corpus, empty=True)
                if self._weights is None:
                    own = SymbolCorpus(corpus.alphabet, corpus.symbols[: starts[-1]], starts, corpus.weights[:n_listed])
                    self._weights = fit_contexts(own, _contexts_of(own), targets, _FIT_SAMPLE)
            each = contexts_of_each(corpus, contexts.result(), n_listed)
            found[last] = np.concatenate([_judged(own, *self._weights) for own in each])
        return [found[begin:end] for begin, end in pairwise(new.starts.tolist())]


def _contexts_of(corpus: SymbolCorpus, *, empty: bool = False) -> Contexts:
    tries = side_by_side(lambda backwards: trie_view(corpus, backwards, empty=empty), (False, True))
    return collect_contexts(corpus, CONTEXT_LENGTHS, tries, empty=empty)


def _judged(contexts: Contexts, linear: Doubles, square: Doubles) -> Doubles:
    """Compute the probability of a boundary after each symbol of a word from its contexts; 0 after the last one."""
    size = len(contexts.views[0].ids)
    log_odds = np.zeros(size)
    add_log_odds(contexts, 0, np.array([0, size]), linear, square, log_odds)
    found = sigmoid(log_odds)
    found[-1] = 0.0
    return found


def _most_frequent(evidence: Evidence) -> Evidence:
    """Keep the evidence of at most `MAX_TYPES` types, the most frequent ones where their counts are known."""
    if len(evidence.code_points) <= MAX_TYPES:
        return evidence
    times = evidence.times
    rows = np.arange(MAX_TYPES) if times is None else np.sort(np.argsort(-times, kind="stable")[:MAX_TYPES])
    sizes = np.diff(evidence.starts)
    kept = np.zeros(len(sizes), bool)
    kept[rows] = True
    return replace(
        evidence,
        code_points=evidence.code_points.take(rows),
        probabilities=evidence.probabilities[np.repeat(kept, sizes)],
        in_code=None if evidence.in_code is None else evidence.in_code[rows],
        times=None if times is None else times[rows],
        weights=None,
        prices=None,
    )


def _table(evidence: Evidence) -> pa.Table:
    """Lay evidence out as rows, one a type by its letters, with a byte in per cent for each place inside it.

    The `MAX_TYPES` most frequent types are kept.
    """
    kept = _most_frequent(evidence)
    points, starts = kept.code_points.points, kept.starts
    n_bytes = np.concatenate([[0], np.cumsum(utf8_sizes(points))])
    text = points.tobytes().decode("utf-32-le").encode()
    types = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(n_bytes[starts]), pa.py_buffer(text))
    order = pc.sort_indices(types)  # neighbours share letters, which packs well
    percent = np.rint(kept.probabilities[inner_positions(starts)] * 100).astype(np.uint8)
    rows = pa.Array.from_buffers(
        pa.large_binary(), len(types), [None, pa.py_buffer(starts - np.arange(len(starts))), pa.py_buffer(percent)]
    )
    columns: dict[str, Any] = {
        "type": types.take(order).cast(pa.string()),
        "percent": rows.take(order).cast(pa.binary()),
    }
    if kept.in_code is not None:
        columns["in_code"] = arrow_integers(np.rint(kept.in_code * 100).astype(np.uint8)).take(order)
    return pa.table(columns)


def evidence_bytes(evidence: Evidence, merges: str) -> bytes:
    """Write evidence as a Parquet file.

    `merges` is the `merges_digest` of the tokenizer that was learnt from the evidence; the file serves no other.
    """
    out = io.BytesIO()
    encodings = {"type": "DELTA_BYTE_ARRAY", "percent": "DELTA_LENGTH_BYTE_ARRAY"}
    table = _table(evidence).replace_schema_metadata({"mws_hf.evidence": _FORMAT, "mws_hf.merges": merges})
    pq.write_table(table, out, compression="zstd", use_dictionary=False, column_encoding=encodings)
    return out.getvalue()


def read_evidence(opened: Opened) -> AnyWord | None:
    """Read the evidence beside a tokenizer; None where there is none, or where it belongs to other merges."""
    path = opened.evidence_file
    if path is None:
        return None
    try:
        table = pq.read_table(path)
        metadata = table.schema.metadata or {}
        if metadata.get(b"mws_hf.merges", b"").decode() != merges_digest(opened.backend):
            return None
        types = CodePoints.of(table["type"].to_pylist())
        percent = np.frombuffer(b"".join(table["percent"].to_pylist()), np.uint8)
        probabilities = np.zeros(len(types.points))
        probabilities[inner_positions(types.starts)] = percent / 100
        in_code = table["in_code"].to_numpy() / 100 if "in_code" in table.column_names else None
        if percent.max(initial=0) > 100:
            raise ValueError("more than 100 per cent")
    except Exception as error:  # pyarrow's own, by kind of damage
        raise MwSError(f"{path}: damaged ({brief(error)}); train again, or delete it") from error
    return AnyWord(Evidence(types, probabilities, in_code=in_code))
