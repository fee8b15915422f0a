"""The constants of the contextual criterion, each with its reason; one set for all languages. No code."""

from __future__ import annotations

from dataclasses import dataclass

from mws_hf.errors import MwSError


@dataclass(frozen=True)
class EvidenceSettings:
    """Constants of the evidence and of the merge score; the defaults were chosen without looking at single languages.

    Attributes:
        max_types: evidence is given for this many most frequent word types; from 150,000 to 400,000 Hungarian gains
            .008, Russian lemmas .010 and Czech .047, Finnish nothing.
        em_types: the lexicon is learnt from this many most frequent ones; rarer types (names, typing errors, loans)
            spoil it, and long lists let it memorise chains of suffixes as one (from 60,000 to 150,000 Russian lemmas
            lose .03, Finnish gains .02).
        max_word_length: longer words (in graphemes) are URLs, concatenations and noise rather than morphology.
        max_substring: longest lexicon entry in graphemes; stems longer than this are compounds or loans.
        max_prefix: longest entry that may serve as a prefix.
        max_suffix: longest entry that may serve as a suffix.
        min_substring_count: an entry seen once explains nothing but the word it came from.
        orders: context lengths; below 2 a context says next to nothing, above 5 it is nearly the whole prefix.
        price_ramp: rising prices of a lexicon entry, in units of its spelling cost; one jump to the end value prunes
            stems before suffixes are established (F1 .52 against .59).
        price_ends: end prices whose posteriors are averaged (each a member of `price_ramp`), since no single grain of
            the lexicon suits all languages.
        em_steps: expectation steps at each price; two let the counts settle after a pruning.
        mean_entry_length: mean of the geometric length prior in an entry's spelling cost, about a morph's length.
        flattening: power of the lexicon's probabilities; below 1 frequent entries crowd out rare ones less.
        single_stem: probability of a single grapheme as a stem: only where nothing else explains a word.
        fit_sample: junctions on which the logistic is fitted; F1 from 40,000 on is the same within a tie.
        ridge: L2 penalty of the logistic, only there to keep collinear features apart.
        context_weight: share of the context view in the mixture of its log-odds with the lexicon's, which are the
            sharper and noisier of the two.
        variation_weight: weight of the normalised variation (standard scores) beside them; .25 to .5 are ties.
        cut_rate: share of junctions with evidence above one half. Together with `crossing_penalty` it sets how much is
            cut: .09 to .12 with 8 and .15 with 4 are alike on the mean, not on single languages.
        crossing_penalty: lambda of the merge score, the price of merging across a boundary against the reward of
            merging within a morph.
    """

    max_types: int = 400_000
    em_types: int = 100_000
    max_word_length: int = 29
    max_substring: int = 12
    max_prefix: int = 6
    max_suffix: int = 8
    min_substring_count: int = 2
    orders: tuple[int, ...] = (2, 3, 4, 5)
    price_ramp: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
    price_ends: tuple[float, ...] = (0.3, 1.0, 2.0)
    em_steps: int = 2
    mean_entry_length: float = 4.0
    flattening: float = 0.8
    single_stem: float = 1e-7
    fit_sample: int = 60_000
    ridge: float = 3.0
    context_weight: float = 7 / 8
    variation_weight: float = 0.35
    cut_rate: float = 0.1
    crossing_penalty: float = 8.0

    def __post_init__(self) -> None:
        if not 0 < self.cut_rate < 1:
            raise MwSError(f"cut_rate={self.cut_rate} is not between 0 and 1; give the share of junctions to cut")
        if self.crossing_penalty <= 0:
            raise MwSError(f"crossing_penalty={self.crossing_penalty} must be positive; 4 to 8 work for all languages")
        for name in ("max_types", "em_types"):
            if getattr(self, name) < 1:
                raise MwSError(f"{name}={getattr(self, name)}; at least one word type is needed")
        if not set(self.price_ends) <= set(self.price_ramp) or list(self.price_ramp) != sorted(self.price_ramp):
            raise MwSError(
                f"price_ramp {self.price_ramp} must rise and contain every one of price_ends {self.price_ends}"
            )
