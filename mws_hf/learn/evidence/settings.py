"""Hold the constants of the boundary evidence, each with its reason; one set for all languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from mws_hf.corpus.segmentations import GoldWord
from mws_hf.errors import MwSError
from mws_hf.learn.described import GRANULARITY, MOST_TYPES, check_settings, check_whole

DEFAULT_GRANULARITY = 0.095
"""From .09 to .11 English falls from .663 to .654 and Turkish rises from .664 to .676."""

MAX_ENTRY_LENGTH = 16
"""Most graphemes of a lexicon entry: `build_lattice` keeps a bit for each length in 16."""


@dataclass(frozen=True)
class EvidenceSettings:
    """Constants of the evidence; one set for all languages.

    The defaults were chosen on the gold sets of README's quality table, language by language as the notes below and
    scripts/LOG.md show, so that figures on those sets are mildly optimistic; other gold was never looked at.

    Attributes:
        max_types: evidence is given for this many most frequent word types; from 150,000 to 400,000 Hungarian gains
            .008, Russian lemmas .010 and Czech .047, Finnish nothing.
        em_types: the lexicon is learnt from this many most frequent ones; more takes time and spoils it with names,
            typing errors and loans (400,000: Russian lemmas lose .005 to .03), fewer miss stems (60,000: Finnish .01).
        max_word_length: longer words (in graphemes) are URLs, concatenations and noise rather than morphology.
        max_substring: longest lexicon entry in graphemes; stems longer than this are compounds or loans.
        max_prefix: longest entry that may serve as a prefix.
        max_suffix: longest entry that may serve as a suffix.
        min_substring_count: an entry seen once explains nothing but the word it came from.
        orders: context lengths; below 2 a context says next to nothing, above 5 it is nearly the whole prefix.
        price_ramp: rising prices of a lexicon entry, in units of its spelling cost; one jump to the end value prunes
            stems before suffixes are established (F1 .52 against .59). Ten steps from .02 on are no better than these
            five (mean of eight golds .664 against .666) and take a quarter more of the time.
        price_ends: end prices whose posteriors are averaged (each a member of `price_ramp`), since no single grain of
            the lexicon suits all languages.
        em_steps: expectation steps at each price; two let the counts settle after a pruning.
        mean_entry_length: mean of the geometric length prior in an entry's spelling cost, about a morph's length.
        single_stem: probability of a single grapheme as a stem: only where nothing else explains a word.
        unknown_stems: probability that a stem is spelled out instead of taken from the lexicon; without it a stem seen
            once is cut into pieces that happen to be known (F1 up to .05 less on lists of 8,000 to 25,000 types, .00
            to .01 on longer ones); .3 to .9 are alike.
        unknown_stem_length: mean of the Poisson prior on such a stem's graphemes; 5 and 7 are alike.
        fit_sample: positions on which the logistic is fitted; F1 from 40,000 on is the same within a tie.
        ridge: L2 penalty of the logistic, only there to keep collinear features apart.
        context_weight: share of the context view in the mixture of its log-odds with the lexicon's, which are the
            sharper and noisier of the two; .5 favours English, .875 Turkish, by .005 to .02.
        variation_weight: weight of the normalised variation (standard scores) beside them, in a full list.
        full_list: types from which on a list is full. In shorter ones the lexicon is poor and `variation_weight` grows
            in inverse proportion to their number: at 8,000 types this gains .05 to .12 on Latin, Czech and Russian and
            loses .02 to .05 on Finnish and Turkish.
        short_list: types below which it grows no more: in made-up paradigms of some hundred types every view is right,
            and twice this weight spoils them (Hindi .82 to .78, Finnish .87 to .79). The views of `short_lists` have
            the share of their weight there that the list has of this number: with all of it 300 to 2,000 lemmas of
            Latin and Russian lose .01 to .04, Finnish, Hungarian, Turkish and Czech gain as much.
        rerank_fully: types up to which the two views of `short_lists` have their full weight. From there it falls in a
            straight line; 20,000 / types is a tie, and has no end.
        rerank_below: types from which on they have none: of 44,000 to 55,000 types Russian and Finnish gain .011 to
            .019, Hungarian and Turkish lose .004 to .007; of 77,000 Finnish loses .005.
        paradigm_weight: full weight of the paradigm view beside a mixture of standard scores. It falls with the square,
            for from 44,000 types on that view alone loses .004 to .010 in English, Turkish and Russian. Of short lists
            .15 loses most of the gain on Latin and Czech, .5 that on English.
        affix_weight: the same of the affix view; .7 and 1.5 are ties.
        affix_steps: steps of its maximisation; 2 are a tie.
        max_unknown_stem: longest stem, in graphemes, that it spells out.
        sharpness: slope of the calibration, in log-odds of the evidence for each standard deviation of the mixture;
            3 to 5 are ties, at half of it unseen Finnish stems lose .02.
        granularity: share of the places inside words (between two letters of one) where the evidence for a boundary
            passes one half, .01 to .3: more cuts finer. Together with `sharpness` and the crossing
            penalty it sets how much is cut. None: as the labels ask, or `DEFAULT_GRANULARITY`.
        labels: words cut by hand, to which the evidence is fitted (`labels`), of one list of words.
        group_labels: the same by group, where groups are named.
    """

    max_types: Annotated[int, MOST_TYPES] = 400_000
    em_types: int = 150_000
    max_word_length: int = 29
    max_substring: int = 12
    max_prefix: int = 6
    max_suffix: int = 8
    min_substring_count: int = 2
    orders: tuple[int, ...] = (2, 3, 4, 5)
    price_ramp: tuple[float, ...] = (0.1, 0.3, 0.6, 1.0, 2.0)
    price_ends: tuple[float, ...] = (0.3, 1.0, 2.0)
    em_steps: int = 2
    mean_entry_length: float = 4.0
    single_stem: float = 1e-7
    unknown_stems: float = 0.5
    unknown_stem_length: float = 5.0
    fit_sample: int = 60_000
    ridge: float = 3.0
    context_weight: float = 0.75
    variation_weight: float = 0.5
    full_list: int = 70_000
    short_list: int = 8_000
    rerank_fully: int = 20_000
    rerank_below: int = 60_000
    paradigm_weight: float = 0.3
    affix_weight: float = 1.0
    affix_steps: int = 4
    max_unknown_stem: int = 15
    sharpness: float = 4.0
    granularity: Annotated[float | None, GRANULARITY] = None
    labels: tuple[GoldWord, ...] = ()
    group_labels: Mapping[str, tuple[GoldWord, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        if not 0 <= self.unknown_stems < 1:
            raise MwSError(f"unknown_stems={self.unknown_stems} is not in [0, 1); give the share of stems spelled out")
        if not 1 <= self.short_list <= self.full_list:
            raise MwSError(f"short_list={self.short_list} must lie between 1 and full_list={self.full_list}")
        if not 1 <= self.rerank_fully < self.rerank_below:
            raise MwSError(
                f"rerank_fully={self.rerank_fully} must lie between 1 and rerank_below={self.rerank_below}, excluded"
            )
        if self.max_unknown_stem < 2:
            raise MwSError(f"max_unknown_stem={self.max_unknown_stem}: must be at least 2, the shortest unknown stem")
        check_whole("em_types", self.em_types, 1)
        if not 1 <= self.max_substring <= MAX_ENTRY_LENGTH:
            raise MwSError(f"max_substring={self.max_substring} must lie between 1 and {MAX_ENTRY_LENGTH}")
        if not set(self.price_ends) <= set(self.price_ramp) or list(self.price_ramp) != sorted(self.price_ramp):
            raise MwSError(
                f"price_ramp {self.price_ramp} must rise and contain every one of price_ends {self.price_ends}"
            )
