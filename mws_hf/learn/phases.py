"""The two phases of learning: morphs by the evidence, then compositions by frequency. No evidence is computed here.

Morphs. A pair of tokens is worth the sum over its occurrences of 1 - (1 + lambda) * P(boundary between them): each
occurrence inside a morph earns 1, each across a boundary costs lambda, the crossing penalty.

The merges of the lowest ranks join letters with their combining marks, then the space with letters. They need no
evidence. By them no token begins with a mark, and a space is never a token before a letter.

It is guaranteed as long as there is room: where a word of the training text holds a letter with these marks, no text
is ever cut between them. The letter may stand anywhere in the word, in either case. Each such merge adds one mark to
the right, and no other merge begins with a mark, so nothing can come between. Not guaranteed are:

* letters with marks that no word has;
* marks on digits and other characters that are no letters (the split pattern itself cuts there);
* marks left out of the alphabet (they become bytes);
* all but the first 15 marks of a letter.

Compositions fill the vocabulary with frequent neighbours, whole stems and whole words. Frequency alone would glue
morphs back together across every boundary it meets. So each occurrence of a pair is worth the tokens of running text
that it saves, less a price for the boundary that it hides. The price is paid once a word type.

Compositions pay for all boundaries of the evidence, but in code only for certain ones. Between the capitals and
underscores of identifiers length is what counts, so frequency alone decides there, also whether ``.append`` or
``(self`` becomes one token. With the prices of a language, a training on several languages and code took 8.7 % fewer
bytes a token of Python than BPE; without them it takes 4.8 % fewer (scripts/log, 2026-11-22).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mws_hf.errors import MwSError
from mws_hf.kernels import Doubles, Ints, Longs
from mws_hf.kernels.threads import give_back
from mws_hf.learn.defaults import DEFAULT_CROSSING_PENALTY, DEFAULT_HIDDEN_BOUNDARY_PRICE
from mws_hf.learn.evidence.forms import (
    CharacterTable,
    Forms,
    find_words,
    split_graphemes,
    with_lower_case,
)
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.limits import UNLIMITED, LearnedMerges, MergeLimits
from mws_hf.learn.words import (
    BITS,
    CodePoints,
    SymbolCorpus,
    concatenated,
    find_among,
    in_alphabet,
    letters_weighed,
)
from mws_hf.learn.working_corpus import WorkingCorpus, Worth
from mws_hf.text.letter_case import DOTLESS, DOTTED, fold, uppercase

UNIT = 1 << 16
"""Worth of an occurrence that is surely inside a morph; posteriors are rounded to 1 / UNIT before any comparison."""

FORM_UNIT = 256
"""Weight of a type, shared out among its forms by their counts, each at least 1: entries go to the forms that text has
(equal shares cost lower-case English words .008 of F1, Russian ones .002)."""

MAX_GRAPHEME_LENGTH = 16
"""Characters of the longest letter with marks that is put together; real writing has four."""

SPACE_SHARE = 8
"""At most 1 / SPACE_SHARE of the merges join the space with a letter; only Han-like alphabets or tiny budgets need
more. The letters left out join the space where their words earn it."""


@dataclass(frozen=True)
class MarkedLetters:
    """How often each letter with combining marks stands in words, and in how many words it follows the leading space.

    "ä" counts where "ä" with one more mark stands, too.
    """

    counts: dict[str, int]
    initial: dict[str, int]


def find_marked_letters(words: CodePoints, counts: Longs) -> MarkedLetters:
    """Count letters with marks in distinct words; both cases of a letter count as one, and both are in the result."""
    table = CharacterTable.of(words.points)
    places = np.nonzero(table.mark[words.points])[0]
    marked = np.unique(np.searchsorted(words.starts, places, side="right") - 1)
    corpus = split_graphemes(words.take(marked)).corpus
    times = np.zeros(len(corpus.alphabet), np.int64)
    np.add.at(times, corpus.symbols, np.repeat(counts[marked], np.diff(corpus.starts)))
    letters = {i: g for i, g in enumerate(corpus.alphabet) if len(g) > 1 and table.letter[ord(g[0])]}
    groups: dict[str, int] = {}
    for i, grapheme in letters.items():
        for size in range(2, min(len(grapheme), MAX_GRAPHEME_LENGTH) + 1):
            key = fold(grapheme[0]) + grapheme[1:size]
            groups[key] = groups.get(key, 0) + int(times[i])
    both = {case + key[1:]: count for key, count in groups.items() for case in (key[0], key[0].upper())}
    heads = corpus.starts[:-1]
    firsts = corpus.symbols[heads[[corpus.alphabet[s] == " " for s in corpus.symbols[heads].tolist()]] + 1]
    initial = np.bincount(firsts, minlength=len(corpus.alphabet))
    return MarkedLetters(
        {grapheme: count for grapheme, count in both.items() if 1 < len(grapheme) <= MAX_GRAPHEME_LENGTH},
        {grapheme: int(initial[i]) for i, grapheme in letters.items() if initial[i]},
    )


def grapheme_merges(
    found: MarkedLetters, alphabet: Iterable[str], room: int, limits: MergeLimits = UNLIMITED
) -> list[tuple[str, str]]:
    """List at most `room` merges that put letters of the alphabet with marks together, mark by mark.

    The most frequent letter comes first; of equal ones the shorter, then the one with lower code points. A letter that
    begins with a string that the limits do not allow and goes on with more marks is left out as well.
    """
    known = set(alphabet)
    made: list[tuple[str, str]] = []
    for grapheme in sorted(found.counts, key=lambda g: (-found.counts[g], len(g), g)):
        if len(made) < room and limits.allow(grapheme) and known.issuperset((grapheme[:-1], grapheme[-1])):
            made.append((grapheme[:-1], grapheme[-1]))
            known.add(grapheme)
    return made


def space_merges(
    corpus: SymbolCorpus,
    n_merges: int,
    marked: MarkedLetters,
    graphemes: Sequence[tuple[str, str]],
    limits: MergeLimits = UNLIMITED,
) -> list[tuple[str, str]]:
    """List merges of the space with letters, by code point; of too many, the most frequent word-initial letters.

    `n_merges` are wanted in all; `graphemes` are the merges of letters with marks that come before.

    >>> corpus = SymbolCorpus.from_words([" ab", " b"], np.array([3, 1]), [" ", "a", "b"])
    >>> space_merges(corpus, 16, MarkedLetters({}, {}), [])
    [(' ', 'a'), (' ', 'b')]
    """
    room = n_merges // SPACE_SHARE
    if " " not in corpus.alphabet:
        return []
    points = np.array([ord(c) for c in corpus.alphabet], np.int32)
    seconds = corpus.starts[:-1][corpus.symbols[corpus.starts[:-1]] == corpus.alphabet.index(" ")] + 1
    frequency = np.bincount(corpus.symbols[seconds[seconds < len(corpus.symbols)]], minlength=len(points)).tolist()
    letters = {
        corpus.alphabet[i]: frequency[i] for i in np.nonzero(CharacterTable.of(points).letter[points])[0].tolist()
    }
    products = (left + right for left, right in graphemes)
    letters |= {product: marked.initial[product] for product in products if product in marked.initial}
    most = sorted(letters, key=lambda letter: (-letters[letter], letter))[:room]
    return [(" ", c) for c in sorted(most) if limits.allow(" " + c)]


def form_weights(forms: Forms, type_of: Ints, type_weights: Doubles | None = None) -> Longs:
    """Share each type's weight of `FORM_UNIT` out among its forms by their counts, at least 1 each.

    `type_of` is the number of each form's type in the evidence, negative (and the weight 0) where it has none;
    `type_weights` are factors of the types of the evidence.
    """
    total = np.bincount(forms.type_of, forms.counts)[forms.type_of]
    shares = np.rint(FORM_UNIT * forms.counts / total)
    if type_weights is not None:
        shares = np.rint(np.maximum(1, shares) * type_weights[np.maximum(type_of, 0)])
    return np.where(type_of < 0, 0, np.maximum(1, shares)).astype(np.int64)


def morph_worth(boundaries: Doubles, weights: Longs, crossing_penalty: float) -> Longs:
    """Work out what positions are worth to morphs: weight * (1 - (1 + penalty) * P(boundary)), in 1 / UNIT."""
    return np.rint(UNIT * (1 - (1 + crossing_penalty) * boundaries)).astype(np.int64) * weights


STAGES_OF_ONE_LANGUAGE, STAGES_OF_GROUPS = ((0.4, 3.0), (1.0, 0.875)), ((0.2, 3.0), (1.0, 1.0))
"""Schedule of the crossing penalty in one word list and in several: (share of the merges, factor of the penalty) pairs.

The first 40 % (20 %) of the merges pay three times the penalty, because the commonest pairs occur in many words and are
wrong in many. Mean F1 of six languages +.008 (8,000 entries) and +.010 (32,000).
"""

MORPH_LIMITS = MergeLimits(min_occurrences=2)
"""A pair that stands in a single place says nothing of other words."""


def penalty_schedule(evidence: Evidence, n_merges: int, crossing_penalty: float) -> list[tuple[int, float]]:
    """Work out the turns of learning morphs: the most merges of each, and its crossing penalty."""
    shares = STAGES_OF_ONE_LANGUAGE if evidence.weights is None else STAGES_OF_GROUPS
    return [(round(share * n_merges), factor * crossing_penalty) for share, factor in shares]


def fitting_weights(words: CodePoints, weights: Longs, schedule: Iterable[tuple[int, float]]) -> Longs:
    """Return weights of words whose worth, summed over all letters, fits into 64 bits; else their low bits go."""
    most = letters_weighed(words.starts, weights) * math.ceil(UNIT * (1 + max(penalty for _, penalty in schedule)))
    return weights >> max(0, most.bit_length() - BITS)


def learn_contextual(
    forms: Forms, alphabet: Sequence[str], n_merges: int, evidence: Evidence, *,
    crossing_penalty: float = DEFAULT_CROSSING_PENALTY, types: bool = True, limits: MergeLimits = MORPH_LIMITS,
) -> tuple[LearnedMerges, WorkingCorpus]:  # fmt: skip
    """Learn morph merges from words that have evidence; returns them, and the words cut by them.

    First come the seed merges: letters with their combining marks, also those seen once and in words without evidence,
    up to half of the merges; then the space with each letter, so that a space is never a token before a letter. Then
    come pairs by their worth until none is positive, at first at a higher crossing penalty.

    With `types`, every lower-cased type weighs the same, shared out among its forms and their lower-case variants;
    without, forms weigh their counts. Seed merges keep to the greatest length and the forbidden strings alone.
    Lower-case variants count as occurrences, but not in a pair's frequency.
    """
    n_forms = len(forms.counts)
    marked = find_marked_letters(forms.words, forms.counts)
    forms = with_lower_case(forms) if types else forms
    frequencies = (np.arange(len(forms.counts)) < n_forms).astype(np.int64) if types else forms.counts
    type_of = evidence.find(forms.types)[forms.type_of]
    kept = np.nonzero(type_of >= 0)[0]
    weights = form_weights(forms, type_of, evidence.weights)[kept] if types else forms.counts[kept]
    type_of, frequencies = type_of[kept], frequencies[kept]
    words = forms.words.take(kept)
    del forms, kept
    give_back()
    schedule = penalty_schedule(evidence, n_merges, crossing_penalty)
    weights = fitting_weights(words, weights, schedule)
    numbered = SymbolCorpus.from_words(words, np.arange(len(words)), alphabet)  # may cut words at other characters
    corpus = replace(numbered, weights=frequencies[numbered.weights])
    weights = weights[numbered.weights]
    boundaries = evidence.boundaries(words, type_of)
    if len(corpus.symbols) < len(boundaries):
        boundaries = boundaries[in_alphabet(words, alphabet)]
    del words, type_of, numbered, frequencies
    give_back()
    graphemes = grapheme_merges(marked, alphabet, n_merges // 2, limits)
    seeds = graphemes + space_merges(corpus, n_merges, marked, graphemes, limits)
    working = WorkingCorpus(corpus)
    working.apply(seeds)
    give_back()

    values = partial(working.lay_out, boundaries, weights)
    learnt = learn_morphs(working, values, schedule, n_merges - len(seeds), limits)
    unit = float(UNIT * FORM_UNIT if types else UNIT)
    scores = [score / unit for score in learnt.scores]
    return LearnedMerges(seeds, [0.0] * len(seeds)).then(replace(learnt, scores=scores)), working


def learn_morphs(
    working: WorkingCorpus, values: Callable[[Worth], Longs], schedule: Iterable[tuple[int, float]], n_merges: int,
    limits: MergeLimits,
) -> LearnedMerges:  # fmt: skip
    """Merge pairs by their worth to morphs, under one crossing penalty after another, until `n_merges` are found.

    `values` lays worth out by cell (`WorkingCorpus.lay_out`); each turn has the most merges to learn in it, and the
    penalty.
    """
    turns = [(most, partial(values, partial(morph_worth, crossing_penalty=penalty))) for most, penalty in schedule]
    return working.learn_in_turns(turns, n_merges, limits, title="morph merges")


SCALE = 256
"""Units in which one occurrence is counted."""

DISCOUNTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Factors of the price, one after another: where no composition is worth its price, the price falls, until the
vocabulary is filled."""

SHARE = 500
"""Occurrences in small letters for which a word counts once in capitals."""


def with_capitals(words: CodePoints, counts: Longs) -> tuple[CodePoints, Longs]:
    """Give each word that occurs `SHARE` times and more in small letters an upper-case variant; new words come last.

    Running text has few words in capitals, so a vocabulary learnt from it cuts a headline into many tokens. One
    occurrence in capitals for every `SHARE` in small letters mends this for 30 to 300 entries (scripts/log,
    2026-11-23). Words with one capital at the head get no variant: they would make text 1.9 % longer. A word whose
    upper-case variant is longer, such as one with "ß", gets none either. The variant of Turkish words has İ for i
    (`uppercase_variants`).

    >>> words, counts = with_capitals(CodePoints.of([" ab", " AB", " Cd", " cd"]), np.array([1000, 3, 900, 500]))
    >>> words.strings(), counts.tolist()
    ([' ab', ' AB', ' Cd', ' cd', ' CD'], [1000, 5, 900, 500, 1])
    """
    often = np.nonzero(counts >= SHARE)[0]
    variants: dict[str, int] = {}
    listed = words.take(often).strings()
    for word, variant, count in zip(
        listed, uppercase_variants(listed, words, counts), counts[often].tolist(), strict=True
    ):
        if word == word.lower() and variant != word and len(variant) == len(word):
            variants[variant] = variants.get(variant, 0) + count // SHARE
    if not variants:
        return words, counts
    added, times = CodePoints.of(list(variants)), np.fromiter(variants.values(), np.int64, len(variants))
    found = find_among(added, words)
    known = found >= 0
    counts = counts.astype(np.int64)  # a copy
    counts[found[known]] += times[known]
    return concatenated([words, added.take(np.nonzero(~known)[0])]), np.concatenate([counts, times[~known]])


TURKIC_SHARE = 0.1
"""How often a text writes ı for each i from which on its i is taken for the i of Turkish, whose uppercase is İ.

Turkish and Azerbaijani write ı about 0.5 times as often as i; other texts have it only in names.
"""


def uppercase_variants(listed: list[str], words: CodePoints, counts: Longs) -> list[str]:
    """Return the uppercase of each listed word, with İ for i where the text writes it so.

    The text decides for each word: the form that occurs more often among all words is taken. Where neither occurs, i
    becomes İ if the text as a whole writes ı and i as Turkish does (`TURKIC_SHARE`).

    >>> words = CodePoints.of([" bir", " kapı", " BİR"])
    >>> uppercase_variants([" bir", " iki", " kapı"], words, np.array([9, 5, 1]))
    [' BİR', ' İKİ', ' KAPI']
    >>> uppercase_variants([" in", " bir"], CodePoints.of([" in", " BİR"]), np.array([100, 1]))
    [' IN', ' BİR']
    """
    plain = [uppercase(word) for word in listed]
    if not (words.points == ord(DOTTED)).any() and not (words.points == ord(DOTLESS)).any():
        return plain
    dotted = [uppercase(word.replace("i", DOTTED)) for word in listed]
    times = np.append(counts, 0)  # -1 stands for a word that does not occur
    of_plain, of_dotted = (times[find_among(CodePoints.of(each), words)] for each in (plain, dotted))
    is_turkic = _times_of(DOTLESS, words, counts) > TURKIC_SHARE * _times_of("i", words, counts)
    takes_dotted = np.where(of_plain == of_dotted, is_turkic, of_dotted > of_plain).tolist()
    return [
        with_dot if taken else without for without, with_dot, taken in zip(plain, dotted, takes_dotted, strict=True)
    ]


def _times_of(character: str, words: CodePoints, counts: Longs) -> int:
    """Count a character in running text."""
    places = np.nonzero(words.points == ord(character))[0]
    return int(counts[np.searchsorted(words.starts, places, side="right") - 1].sum())


def priced_boundaries(evidence: Evidence, pretokens: CodePoints, type_of: Ints | None = None) -> Doubles:
    """Return the boundary posteriors of pre-tokens, multiplied by the price of their type.

    A word that belongs to the group of code has by this share boundaries only at capitals and after underscores.
    `type_of`, from ``evidence.types_of(pretokens)``, saves time where it is known.
    """
    type_of = evidence.types_of(pretokens) if type_of is None else type_of
    paid = evidence
    if evidence.in_code is not None:
        within = np.repeat(1 - evidence.in_code, np.diff(evidence.starts))
        paid = replace(evidence, probabilities=evidence.probabilities * within)
    found = paid.boundaries(pretokens, type_of)
    if evidence.prices is not None:
        price = np.where(type_of >= 0, evidence.prices[np.maximum(type_of, 0)], 1.0)
        found *= np.repeat(price, np.diff(pretokens.starts))
    if evidence.in_code is None:
        return found
    places = find_words(pretokens)
    starts = places.text.starts[:-1]
    led = np.nonzero(places.is_word & (places.begins > starts) & ~places.spaced)[0]
    led = led[places.text.points[starts[led]] != ord("_")]
    found[starts[led]] *= np.where(type_of[led] >= 0, 1 - evidence.in_code[np.maximum(type_of[led], 0)], 1.0)
    return found


def composition_worth(boundaries: Doubles, counts: Longs, price: float) -> Longs:
    """Work out what positions are worth to compositions: count - price * P(boundary); worth and price in 1 / SCALE."""
    return SCALE * counts - np.rint(price * boundaries).astype(np.int64)


def check_fits(starts: Longs, counts: Longs, scale: int, price: float = 0.0) -> None:
    """Check that 64 bits hold the worth of all positions of the running text, each at the price of a certain boundary.

    `scale` are the units of an occurrence; `price` is in units of the mean count of a word.
    """
    letters = letters_weighed(starts, counts)
    mean = float(counts.sum(dtype=np.float64)) / max(1, len(counts))
    needed = scale * (letters + math.ceil(price * mean * float(starts[-1] - starts[0])))
    if needed >> BITS:
        factor = (needed >> BITS) + 1
        raise MwSError(
            f"the words add up to {letters} letters of text, more than can be weighed; divide all counts by {factor} "
            "or more (the merges may differ a little: capitals count from so many occurrences on)"
        )


def learn_compositions(
    words: Sequence[str] | CodePoints, counts: Longs, alphabet: Sequence[str], morphs: Sequence[tuple[str, str]],
    n_merges: int, *, boundaries: Callable[[], Doubles] | None = None,
    hidden_boundary_price: float = DEFAULT_HIDDEN_BOUNDARY_PRICE, limits: MergeLimits = UNLIMITED,
) -> LearnedMerges:  # fmt: skip
    """Merge frequent neighbours on top of the morph merges.

    The value of a pair is the sum over its occurrences of ``count(word) - price * mean_count * P(boundary)``. A pair
    that saves less than one occurrence is never merged.

    `boundaries` gives the probability of a boundary after each character of all words. It is called for each factor of
    the price, so that the array need not be kept. None: no boundaries.
    """
    words = CodePoints.of(words)
    price = 0.0 if boundaries is None else hidden_boundary_price
    check_fits(words.starts, np.asarray(counts, np.int64), SCALE, price)
    corpus = SymbolCorpus.from_words(words, counts, alphabet)
    kept = in_alphabet(words, alphabet) if price else None
    del words
    working = WorkingCorpus(corpus)
    working.apply(morphs)
    give_back()  # what the first phase and the words took

    def values(worth: Worth) -> Longs:
        if boundaries is None or kept is None:
            return working.lay_out(np.broadcast_to(0.0, len(corpus.symbols)), corpus.weights, worth)
        found = boundaries()
        if len(found) != len(kept):
            raise MwSError(f"{len(found)} boundary probabilities for {len(kept)} characters; give one each")
        of_symbols = found if len(corpus.symbols) == len(kept) else found[kept]
        return working.lay_out(of_symbols, corpus.weights, worth)

    mean = float(corpus.weights.sum()) / max(1, len(corpus))
    return compose(working, values, price * mean, n_merges, limits)


def compose(
    working: WorkingCorpus, values: Callable[[Worth], Longs], price: float, n_merges: int, limits: MergeLimits
) -> LearnedMerges:
    """Merge pairs by their worth to compositions, at one price after another, until `n_merges` are found.

    `values` lays worth out by cell (`WorkingCorpus.lay_out`); `price` is that of a certain boundary at first, in
    occurrences. When no pair has a positive value, it falls to the next of `DISCOUNTS`. A pair that saves less than one
    occurrence is never merged.
    """

    def at_price(discount: float) -> Longs:
        return values(partial(composition_worth, price=price * discount * SCALE))

    turns = [(n_merges, partial(at_price, discount)) for discount in (DISCOUNTS if price else (0.0,))]
    return working.learn_in_turns(turns, n_merges, replace(limits, min_value=SCALE), title="compositions")
