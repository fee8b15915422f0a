"""Which boundaries have a price for compositions to hide: those of the evidence, in code only the sure ones.

Between the capitals and underscores of identifiers length is what counts, so frequency decides there, also on whether
``.append`` or ``(self`` becomes one token. With the prices of a language a mixture with code had 8.7 % fewer bytes a
token of Python than BPE, so 4.8 % (scripts/LOG.md, 2026-11-22). Nothing is learnt here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mws_hf.kernels.arrays import Doubles, Ints
from mws_hf.learn.contextual import Evidence
from mws_hf.learn.evidence.forms import find_words
from mws_hf.learn.words import CodePoints


def priced_boundaries(evidence: Evidence, pretokens: CodePoints, type_of: Ints | None = None) -> Doubles:
    """`Evidence.boundaries`, priced; what a word has by its share in code only at capitals and behind underscores.

    >>> known = Evidence(CodePoints.of(["ab"]), np.array([.5, 0]), in_code=np.array([1.0]))
    >>> priced_boundaries(known, CodePoints.of(["ab", "aB", "_ab", ".ab"])).tolist()
    [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if evidence.in_code is None:
        return evidence.boundaries(pretokens, type_of, priced=True)
    type_of = evidence.types_of(pretokens) if type_of is None else type_of
    within = np.repeat(1 - evidence.in_code, np.diff(evidence.starts))
    weaker = replace(evidence, probabilities=evidence.probabilities * within)
    found = weaker.boundaries(pretokens, type_of, priced=True)
    places = find_words(pretokens)
    starts = places.text.starts[:-1]
    led = np.nonzero(places.is_word & (places.begins > starts) & ~places.spaced)[0]
    led = led[places.text.points[starts[led]] != ord("_")]
    found[starts[led]] *= np.where(type_of[led] >= 0, 1 - evidence.in_code[np.maximum(type_of[led], 0)], 1.0)
    return found
