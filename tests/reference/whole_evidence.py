"""Boundary probabilities in plain Python: the steps of `mws_hf.learn.evidence`, with the functions of `evidence.py`.

It goes through all ways to write each word, so words must be few and short.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mws_hf.learn.evidence import affix_view, contexts, lexicon, posteriors, reranking
from mws_hf.learn.evidence import context_view as regression
from tests.reference import evidence as reference

PREFIX, STEM, SUFFIX = range(3)
Weights = dict[str, list[float]]


def boundary_probabilities(words: Sequence[str], granularity: float) -> dict[str, list[float]]:
    """Return the probability of a boundary after each letter of every word, except after the last one."""
    cuts = list(lexicon_posteriors(words))
    targets = np.mean(cuts, axis=0)
    lexicon = np.mean([np.log(p / (1 - p)) for p in np.clip(cuts, 1e-3, 1 - 1e-3)], axis=0)
    mixed = (1 - posteriors.CONTEXT_WEIGHT) * lexicon + posteriors.CONTEXT_WEIGHT * context_view(words, targets)
    size = min(max(len(words), reranking.SHORT_LIST), posteriors.FULL_LIST)
    mixed += posteriors.VARIATION_WEIGHT * posteriors.FULL_LIST / size * variation(words)
    mixed = reranked(words, mixed, granularity)
    threshold = np.sort(mixed)[round((1 - granularity) * (len(mixed) - 1))]
    j = iter((1 / (1 + np.exp(-posteriors.SHARPNESS / mixed.std() * (mixed - threshold)))).tolist())
    return {word: [next(j) for _ in word[1:]] for word in words}


def reranked(words: Sequence[str], mixed: np.ndarray, granularity: float) -> np.ndarray:
    """Return the values of the mixture in the joint order of the mixture, paradigms and affixes."""
    size = reranking.RERANK_BELOW - reranking.RERANK_FULLY
    weight = min(1.0, len(words) / reranking.SHORT_LIST, max(0.0, (reranking.RERANK_BELOW - len(words)) / size))
    if not weight:
        return mixed
    worth = reference.paradigm_scores(words, 2, 8, 150)
    paradigms = np.log1p([x for row in worth for x in row[:-1]])
    order = standard(mixed) + weight**2 * reranking.PARADIGM_WEIGHT * standard(paradigms)
    threshold = np.sort(mixed)[round((1 - granularity) * (len(mixed) - 1))]
    order += weight * reranking.AFFIX_WEIGHT * standard(affixes(words, handed_out(mixed, order) > threshold))
    return handed_out(mixed, order)


def standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / max(x.std(), 1e-9)


def handed_out(mixed: np.ndarray, order: np.ndarray) -> np.ndarray:
    found = np.empty(len(mixed))
    found[np.lexsort((mixed, order))] = np.sort(mixed)
    return found


def affixes(words: Sequence[str], cut: np.ndarray) -> np.ndarray:
    """Return the log-odds of a second EM without pruning, which starts from the parts of segmented words."""
    counted = reference.substring_counts(words, lexicon.LONGEST_ENTRY, lexicon.MIN_ENTRY_COUNT)
    counts = {entry: [0.0] * 3 for entry in counted}
    stems, places = set(), iter(cut.tolist())
    for word in words:
        ends = [i + 1 for i in range(len(word)) if i + 1 == len(word) or next(places)]
        pieces = [word[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        for piece, kind in zip(pieces, reference.pieces_by_class(pieces), strict=True):
            if piece in counts:
                counts[piece][kind] += 1
            if kind == STEM and len(piece) > 1:
                stems.add(piece)
    weights = {}
    for entry, row in counts.items():
        prefix, stem, suffix = (n + 0.1 * (sum(row) > 0) for n in row)
        n = len(entry)
        weights[entry] = [prefix * (n <= lexicon.LONGEST_PREFIX), stem, suffix * (n <= lexicon.LONGEST_SUFFIX)]
    p = with_single_stems(shares(weights))
    spell = reference.letter_model(stems, Counter("".join(words)), 80)

    def spelled(stem):
        return lexicon.UNKNOWN_STEMS * spell(stem) if 1 < len(stem) <= affix_view.LONGEST_UNKNOWN_STEM else 0.0

    moves = [[0.2, 0.8, 0.0], [0.0, 0.175, 0.525], [0.0, 0.1, 0.4]], [0.0, 0.3, 0.5], [0.3, 0.7, 0.0]
    for step in range(affix_view.AFFIX_STEPS + 1):
        uses, moved, cuts = reference.expected_counts(words, p, *moves, 1 - lexicon.UNKNOWN_STEMS, spelled)
        if step == affix_view.AFFIX_STEPS:
            found = np.clip([x for row in cuts for x in row[:-1]], 1e-4, 1 - 1e-4)
            return np.log(found / (1 - found))
        p = new_weights({entry: [uses.get((entry, c), 0.0) for c in range(3)] for entry in p})
        moves = new_moves(moved)


def lexicon_posteriors(words: Sequence[str]) -> Iterator[list[float]]:
    """Run EM with rising costs of an entry; return the boundary probabilities inside words at each averaged cost."""
    counted = reference.substring_counts(words, lexicon.LONGEST_ENTRY, lexicon.MIN_ENTRY_COUNT)
    text = "".join(words)
    letters = {c: (text.count(c) + 1) / (len(text) + len(set(text))) for c in sorted(set(text))}
    poisson = [lexicon.UNKNOWN_STEM_LENGTH**n / math.factorial(n) for n in range(lexicon.LONGEST_ENTRY + 1)]
    poisson[0] = poisson[1] = 0.0
    unknown = [lexicon.UNKNOWN_STEMS * x / sum(poisson) for x in poisson]
    p = first_weights(words, counted)
    moves = [[0.2, 0.8, 0.0], [0.0, 0.175, 0.525], [0.0, 0.1, 0.4]], [0.0, 0.3, 0.5], [0.3, 0.7, 0.0]

    def expect(p, moves):
        step, stop, start = moves
        spelled = reference.letters_alone(letters, unknown)
        uses, moved, cuts = reference.expected_counts(words, p, step, stop, start, 1 - sum(unknown), spelled)
        counts = {entry: [uses.get((entry, c), 0.0) for c in range(3)] for entry in p}
        return counts, moved, [x for row in cuts for x in row[:-1]]

    for price in lexicon.COST_FACTORS:
        for _ in range(lexicon.EM_STEPS):
            counts, moved, _ = expect(p, moves)
            p, moves = new_weights(counts), new_moves(moved)
        p = pruned(p, counts, price, letters)
        if price in lexicon.AVERAGED_COST_FACTORS:
            aside = p, moves
            for _ in range(lexicon.EM_STEPS - 1):
                counts, moved, _ = expect(*aside)
                aside = new_weights(counts), new_moves(moved)
            yield expect(*aside)[2]


def first_weights(words: Sequence[str], counted: Mapping[str, int]) -> Weights:
    weights = {}
    for entry, count in counted.items():
        opens = sum(word.startswith(entry) and word != entry for word in words) + 1e-3
        closes = sum(word.endswith(entry) and word != entry for word in words) + 1e-3
        stem = count / (1 + math.exp(3 - len(entry)))
        n = len(entry)
        weights[entry] = [opens * (n <= lexicon.LONGEST_PREFIX), stem, closes * (n <= lexicon.LONGEST_SUFFIX)]
    return shares(weights)


def shares(weights: Weights) -> Weights:
    totals = [math.fsum(row[c] for row in weights.values()) for c in range(3)]
    return {entry: [x / total for x, total in zip(row, totals, strict=True)] for entry, row in weights.items()}


def digamma(x: float) -> float:
    h = 1e-4
    return (math.lgamma(x + 20 + h) - math.lgamma(x + 20 - h)) / (2 * h) - math.fsum(1 / (x + k) for k in range(20))


def new_weights(counts: Weights) -> Weights:
    """Take the mean-field M-step, exp(digamma(count)); single letters are never removed."""
    raw = {entry: [math.exp(digamma(x)) if x >= 1e-6 else 0.0 for x in row] for entry, row in counts.items()}
    p = shares({entry: [max(x, 0.1) for x in row] if len(entry) == 1 else row for entry, row in raw.items()})
    return with_single_stems(p)


def with_single_stems(p: Weights) -> Weights:
    return {
        entry: [row[PREFIX], lexicon.SINGLE_STEM, row[SUFFIX]] if len(entry) == 1 else row for entry, row in p.items()
    }


def new_moves(moved: Sequence[Sequence[float]]) -> tuple[list[list[float]], list[float], list[float]]:
    leave = [math.fsum(moved[c]) + moved[3][c] + 1e-9 for c in range(3)]
    step = [[x / leave[c] for x in moved[c]] for c in range(3)]
    return step, [moved[3][c] / leave[c] for c in range(3)], [x / math.fsum(moved[4]) for x in moved[4]]


def pruned(p: Weights, counts: Weights, price: float, letters: Mapping[str, float]) -> Weights:
    """Remove the entries whose gain over their best split is less than `price` times the cost of spelling them."""
    totals = [math.fsum(row[c] for row in counts.values()) for c in range(3)]
    mean = {entry: math.fsum(x * t for x, t in zip(row, totals, strict=True)) / sum(totals) for entry, row in p.items()}
    logp = {entry: math.log(x) if x > 0 else -math.inf for entry, x in mean.items()}
    stop = 1 / lexicon.MEAN_ENTRY_LENGTH
    kept = {}
    for entry, row in p.items():
        cost = -math.fsum(math.log(letters[c] * (1 - stop)) for c in entry) - math.log(stop / (1 - stop))
        gain = sum(counts[entry]) * (logp[entry] - reference.best_split(entry, logp)) if mean[entry] > 0 else -math.inf
        if len(entry) == 1 or gain >= price * cost:
            kept[entry] = row
    return with_single_stems(shares(kept))


def context_view(words: Sequence[str], targets: np.ndarray) -> np.ndarray:
    """Return the log-odds of a ridge regression from branching statistics to the probabilities of the lexicon."""
    views = []
    for order in (None, *contexts.CONTEXT_LENGTHS):
        forward, backward = (reference.branching(words, order, backwards=b) for b in (False, True))
        views.append([numbers(f, i) for f in forward for i in range(len(f) - 1)])
        views.append([numbers(b[::-1], len(b) - 2 - i) for b in backward for i in range(len(b) - 1)])
    raw = np.concatenate([np.array(view) for view in views], axis=1)
    flags = [
        [i == 0, i == 1, i == 2, *(len(w) - 2 - i == k for k in range(3)), w[: i + 1] in words, w[i + 1 :] in words, 1]
        for w in words
        for i in range(len(w) - 1)
    ]
    standard = (raw - raw.mean(0)) / (raw.std(0) + 1e-6)
    rows = np.concatenate([standard, standard**2, np.array(flags, float)], axis=1)
    weights = np.zeros(rows.shape[1])
    for _ in range(30):  # Newton
        q = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows * (q * (1 - q))[:, None]).T @ rows + regression.RIDGE * np.eye(len(weights))
        weights += np.linalg.solve(curvature, rows.T @ (targets - q) - regression.RIDGE * weights)
    return rows @ weights


def numbers(row: Sequence[Sequence[float]], i: int) -> list[float]:
    """Return the entropy at a position, its rise from the previous one, the next rise, support and variety."""
    here, before = row[i][0], row[i - 1][0] if i else 0.0
    return [here, here - before, row[i + 1][0] - here, *row[i][1:]]


def variation(words: Sequence[str]) -> np.ndarray:
    """Add up the standardized rises of the entropy of whole prefixes in both directions, by distance from the edge."""
    scores = np.zeros(sum(len(word) - 1 for word in words))
    for backwards in (False, True):
        rises, distances = [], []
        for row in reference.branching(words, None, backwards=backwards):
            seen = [entropy for entropy, *_ in (row[::-1] if backwards else row)]
            found = [(x - (seen[i - 1] if i else 0.0), i) for i, x in enumerate(seen[:-1])]
            for rise, distance in found[::-1] if backwards else found:
                rises.append(rise)
                distances.append(distance)
        groups = {d: [r for r, other in zip(rises, distances, strict=True) if other == d] for d in set(distances)}
        scores += [(r - np.mean(groups[d])) / (np.std(groups[d]) + 1e-3) for r, d in zip(rises, distances, strict=True)]
    return scores
