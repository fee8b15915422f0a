"""Generated word lists in scripts that were never used for tuning, and word counts with added noise, for `robustness`.

A generated list combines real stems and endings, so that the morphs of each word are known. The forms come from no
corpus or dictionary, and a speaker would not use some of them. The reference segmentation is the combination itself.
A score on such a list therefore shows only that nothing breaks in a script. It does not show how well MwS segments the
language. The stems were chosen so that they do not change before their endings.

Noise only adds forms and removes none, and it is the same in each run. Its kinds are foreign words, typos, uppercase,
hyphens and numbers. The number of forms that each kind adds is `NOISE_SHARE` times the number of distinct words.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mws_hf import WordCounts
from mws_hf.text.pattern import split

TRAINING_SHARE = 0.6
"""The share of the forms that is used for training; all forms are scored."""

_KAT_STEMS = """კაც სახლ წიგნ ქალაქ ბავშვ ბიჭ ხელ გულ თავ ფეხ ძაღლ ცხენ თევზ ხიდ პურ მარილ ვარდ ყვავილ ჩიტ დათვ
სკამ ბალიშ კოვზ თეფშ ქუდ პერანგ ბაღ ვარსკვლავ თოვლ ყინულ ქარ პასუხ ჯარ ექიმ ბანკ თეატრ მუზეუმ
უნივერსიტეტ ტელეფონ ტელევიზორ"""
_KAT_CASES = "ი მა ს ის ით ად ში ზე თან ის+თვის ის+გან ის+კენ"

_HYE_SHORT = "բառ դաս սար ծառ քար երգ պար խաղ թերթ աչք ձեռք ոտք մատ մազ հաց վարդ արջ գայլ կով ամպ ծով գետ դաշտ շենք"
_HYE_LONG = """քաղաք սեղան աթոռ մատիտ պատուհան հեռախոս համալսարան դպրոց ընկեր հարևան ուսանող նկար նամակ խնձոր
անձրև անտառ ճանապարհ թանգարան թատրոն խանութ գրադարան հիվանդանոց"""
_HYE_CASES = "ը ի ի+ն ից ով ում ս"

_HIN_VERBS = """कर चल बोल देख सुन पढ़ लिख मिल खेल बैठ उठ हँस रख समझ सोच पूछ जान मान निकल पहुँच बदल पकड़ छोड़
तोड़ जोड़ दौड़ लौट बेच ख़रीद भेज खोल काट बाँट नाच गिर मर लड़ डर रोक फैल"""
_HIN_ENDINGS = "ना नी ने ता ते ती तीं कर कर+के ने+वाला ने+वाले ने+वाली ने+वालों ने+वालियाँ"
_HIN_VOWEL_SIGNS = "ा े ी ो ूँगा ेगा ेंगे"

_UKR_STEMS = """об'єкт суб'єкт комп'ютер під'їзд з'їзд об'єм кар'єр бар'єр прем'єр інтер'єр ар'єргард кур'єр
роз'їзд в'їзд від'їзд об'їзд п'єдестал м'яз в'яз ад'ютант черв'як магазин завод театр телефон
студент журнал фонтан паркан барабан килим документ момент сантиметр апарат вокзал директор
інститут апельсин пасажир"""
_UKR_CASES = "а у ом і и ів ам ами ах"

_FIN_STEMS = """kylä kynä päivä metsä syksy kesä ympyrä hylly pyörä päärynä näkymä elämä hedelmä ystävä pöllö
löyly sämpylä jäätelö hämärä mäyrä isä jyvä väylä köyhä löysä tyhjä syvä selvä kypsä pimeä
leveä nöyrä hyvä yö työ kynttilä näyttämö pähkinä tekijä"""
_FIN_ENDINGS = "n t ssä stä llä ltä lle ksi nä ttä ssä+mme stä+nne llä+ni lle+si"


class MadeUp(NamedTuple):
    """A generated word list.

    Attributes:
        what: the language and the property that the list tests.
        gold: the morphs of each word that is scored.
        training: the words to train on, sorted. They are a part of the words in `gold`, and words that are not scored.
    """

    what: str
    gold: dict[str, tuple[str, ...]]
    training: list[str]


def made_up_lists() -> dict[str, MadeUp]:
    """Generate all lists, by name."""
    hindi = _list("Hindi verbs, Devanagari with vowel signs", _compose(_HIN_VERBS, [_HIN_ENDINGS]))
    # the boundary before a vowel sign is inside a grapheme, where no token may begin, so these forms are not scored
    unscored = [stem + sign for stem in _HIN_VERBS.split() for sign in _HIN_VOWEL_SIGNS.split()]
    plural = [_HYE_CASES, "{0} " + " ".join("{0}+" + case for case in _HYE_CASES.split())]
    armenian = _compose(_HYE_SHORT, [each.format("եր") for each in plural])
    armenian |= _compose(_HYE_LONG, [each.format("ներ") for each in plural])
    georgian = _compose(_KAT_STEMS, [_KAT_CASES, " ".join("ებ+" + case for case in _KAT_CASES.split())])
    finnish = {
        unicodedata.normalize("NFD", word): tuple(unicodedata.normalize("NFD", morph) for morph in morphs)
        for word, morphs in _compose(_FIN_STEMS, [_FIN_ENDINGS]).items()
    }
    return {
        "kat": _list("Georgian nouns", georgian),
        "hye": _list("Armenian nouns", armenian),
        "hin": MadeUp(hindi.what, hindi.gold, sorted([*hindi.training, *unscored])),
        "ukr-apostrophe": _list("Ukrainian nouns, half with an apostrophe", _compose(_UKR_STEMS, [_UKR_CASES])),
        "fin-nfd": _list("Finnish with its dots as combining marks (NFD)", finnish),
    }


def _compose(stems: str, endings: list[str]) -> dict[str, tuple[str, ...]]:
    """Combine each stem with no ending and with each chain of endings, whose parts are joined by +."""
    chains = [tuple(chain.split("+")) for each in endings for chain in each.split()]
    return {"".join((stem, *chain)): (stem, *chain) for stem in stems.split() for chain in [(), *chains]}


def _list(what: str, gold: dict[str, tuple[str, ...]]) -> MadeUp:
    """Draw the training words of a list at random."""
    words = sorted(gold)
    return MadeUp(what, gold, sorted(random.Random(0).sample(words, round(TRAINING_SHARE * len(words)))))


NOISE_SHARE = 0.1
SEED = 2026
_MIN_LETTERS = 4  # of a word that gets a typo

Words = Sequence[tuple[str, int]]


def plain_words(counts: WordCounts) -> list[tuple[str, int]]:
    """List the pre-tokens that are a space and letters only, without that space, and their counts."""
    return [(word[1:], n) for word, n in counts.items() if word[0] == " " and word[1:].isalpha()]


def polluted(counts: WordCounts, donor: WordCounts, kinds: Sequence[str], share: float = NOISE_SHARE) -> WordCounts:
    """Add noise of each kind to the word counts of a text.

    Each kind adds as many forms as `share` times the number of distinct words that consist of letters only.

    >>> clean = WordCounts.from_mapping({" слово": 5, " дело": 2, " дом": 1}, pattern="o200k")
    >>> sorted(set(polluted(clean, clean, ["capitals"], 1.0).words) - set(clean.words))
    [' ДЕЛО', ' Дом', ' Слово']
    """
    words = plain_words(counts)
    extra: Counter[str] = Counter()
    for kind in kinds:
        draw = np.random.default_rng([SEED, list(KINDS).index(kind)])
        wanted = round(share * len(words))
        for form, n in KINDS[kind](words, plain_words(donor), wanted, draw):
            for piece in split(" " + form, counts.pattern):
                extra[piece] += n
    noise = WordCounts.from_mapping(extra, pattern=counts.pattern, normalization=counts.normalization)
    return counts.merge(noise)


def foreign(words: Words, donor: Words, wanted: int, draw: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Yield random words of the donor language that do not occur in `words`, with their counts in that language."""
    own = {word.lower() for word, _ in words}
    others = [(word, n) for word, n in donor if word.lower() not in own]
    for i in draw.permutation(len(others))[:wanted].tolist():
        yield others[i]


def typos(words: Words, donor: Words, wanted: int, draw: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Yield random longer words with one letter replaced, removed, or swapped with the next one, each with count 1."""
    letters = sorted({c for word, _ in words for c in word.lower()})
    long = [word for word, _ in words if len(word) >= _MIN_LETTERS]
    for word in _drawn(long, wanted, draw):
        at = int(draw.integers(0, len(word) - 1))
        middle = (draw.choice(letters) + word[at + 1], word[at + 1], word[at + 1] + word[at])[draw.integers(3)]
        yield word[:at] + str(middle) + word[at + 2 :], 1


def capitals(words: Words, donor: Words, wanted: int, draw: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Yield random words, alternately capitalized and in uppercase, with a tenth of the original count."""
    counts = dict(words)
    for i, word in enumerate(_drawn(list(counts), wanted, draw)):
        yield word.upper() if i % 2 else word.capitalize(), max(1, counts[word] // 10)


def hyphens(words: Words, donor: Words, wanted: int, draw: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Yield compounds of two random words joined by a hyphen, each with count 1."""
    names = [word for word, _ in words]
    for left, right in zip(_drawn(names, wanted, draw), _drawn(names, wanted, draw), strict=True):
        yield f"{left}-{right}", 1


def numbers(words: Words, donor: Words, wanted: int, draw: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Yield numbers, and random words with digits at their end, at their beginning or inside, each with count 1."""
    names = [word for word, _ in words]
    for i, word in enumerate(_drawn(names, wanted, draw)):
        digits, half = str(draw.integers(1, 10_000)), len(word) // 2
        yield (digits, word + digits, digits + word, word[:half] + digits + word[half:])[i % 4], 1


def _drawn(words: Sequence[str], wanted: int, draw: np.random.Generator) -> list[str]:
    """Draw the wanted number of words at random without replacement, or all words if there are fewer."""
    return [words[i] for i in draw.permutation(len(words))[:wanted].tolist()]


KINDS: dict[str, Callable[[Words, Words, int, np.random.Generator], Iterator[tuple[str, int]]]] = {
    "foreign": foreign,
    "typos": typos,
    "capitals": capitals,
    "hyphens": hyphens,
    "numbers": numbers,
}
