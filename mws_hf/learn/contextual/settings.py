"""The constants of the contextual criterion, each with its reason; one set for all languages. No code."""

from __future__ import annotations

from dataclasses import dataclass

from mws_hf.errors import MwSError


@dataclass(frozen=True)
class EvidenceSettings:
    """Constants of the evidence and of the merge score; the defaults were chosen without looking at single languages.

    Attributes:
        max_types: evidence comes from this many most frequent word types; past it more types cost time, not errors.
        max_word_length: longer words (in graphemes) are URLs, concatenations and noise rather than morphology.
        max_substring: longest lexicon entry in graphemes; stems longer than this are compounds or loans.
        min_substring_count: an entry seen once explains nothing but the word it came from.
        orders: context lengths; below 2 a context says next to nothing, above 5 it is nearly the whole prefix.
        rounds: how often the two views teach each other; a fourth round no longer moves F1 by more than a tie.
        price_ramp: rising prices of a lexicon entry, in units of its spelling cost; one jump to the end value prunes
            stems before suffixes are established (F1 .52 against .59).
        price_ends: end prices whose posteriors are averaged (each a member of `price_ramp`), since no single grain of
            the lexicon suits all languages.
        em_steps: expectation steps at each price; two let the counts settle after a pruning.
        mean_entry_length: mean of the geometric length prior in an entry's spelling cost, about a morph's length.
        fit_sample: junctions on which the logistic is fitted; F1 from 40,000 on is the same within a tie.
        ridge: L2 penalty of the logistic, only there to keep collinear features apart.
        context_weight: share of the context view in the mixture of log-odds; the lexicon view is the sharper and
            noisier of the two.
        cut_rate: share of junctions with evidence above one half; morphs of five to seven characters.
        crossing_penalty: lambda of the merge score, the price of merging across a boundary against the reward of
            merging within a morph; 3 to 5 are ties.
    """

    max_types: int = 150_000
    max_word_length: int = 29
    max_substring: int = 12
    min_substring_count: int = 2
    orders: tuple[int, ...] = (2, 3, 4, 5)
    rounds: int = 3
    price_ramp: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
    price_ends: tuple[float, ...] = (0.3, 1.0, 2.0)
    em_steps: int = 2
    mean_entry_length: float = 4.0
    fit_sample: int = 60_000
    ridge: float = 3.0
    context_weight: float = 7 / 8
    cut_rate: float = 0.15
    crossing_penalty: float = 4.0

    def __post_init__(self) -> None:
        if not 0 < self.cut_rate < 1:
            raise MwSError(f"cut_rate={self.cut_rate} is not between 0 and 1; give the share of junctions to cut")
        if self.crossing_penalty <= 0:
            raise MwSError(f"crossing_penalty={self.crossing_penalty} must be positive; 3 to 5 work for all languages")
        if self.max_types < 1:
            raise MwSError(f"max_types={self.max_types}; at least one word type is needed")
        if not set(self.price_ends) <= set(self.price_ramp) or list(self.price_ramp) != sorted(self.price_ramp):
            raise MwSError(
                f"price_ramp {self.price_ramp} must rise and contain every one of price_ends {self.price_ends}"
            )
