"""What `mws train` reports about words with an apostrophe that the split pattern splits: Turkish suffixes, others.

Split patterns made for English treat `'s 't 'd 'm 'll 're 've` after a word as contractions. A Turkish suffix that
begins with such a letter is then split inside: ``Ankara'da`` becomes ``Ankara'd|a``, and no merge can repair it. Other
words, such as Ukrainian ``п'ять``, are split before or after their apostrophe, which only makes them longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mws_hf.text.pattern import TEKKEN_PATTERN, WORD_PATTERN, named, split

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.kernels import Mask

REPORTED_SHARE = 0.002
"""The share of running words from which split apostrophe words are reported."""
_PRONOUNS = "I he she it we they you who that this there here what where how why when everyone someone".split()
_ENGLISH = rf"(?i)^.?(?:{'|'.join(_PRONOUNS)})'d$"
_CONTRACTED = r"[^nN]'[tT]$|\p{L}'[dD]$"
"""Pre-tokens that end as English contractions do, except those in n't, where contractions stay with their word."""
_ENGLISH_REST = r"(?i)^['’](?:[sdmt]|ll|ve|re)$"
_N_EXAMPLES = 3


def apostrophe_notice(counts: WordCounts) -> str:
    """Return one line about apostrophe words that the pattern of the counts splits, or "" if there are few of them."""
    some = counts.where(_matching(counts, "['’]"))  # the others are looked at once, to be counted
    n_words = _words(counts, some)
    return _split_suffixes(some, n_words) or _split_words(some, n_words)


def _split_suffixes(counts: WordCounts, n_words: int) -> str:
    """Report words whose suffix is split after a letter that looks like an English contraction, such as ``Ankara'd|a``.

    Counts do not say which pre-tokens followed each other. English has ``'d`` after pronouns and ``'t`` after n, and
    older English has it after any verb (``banish'd``). Both endings are therefore taken for the beginning of a suffix
    only if other words that are split before an apostrophe, such as ``Ankara|'nın``, are at least half as many. Where
    the pattern makes contractions pre-tokens of their own, it is enough that such words are frequent.
    """
    if not _splits_inside(counts.pattern):
        return ""
    rests = counts.counts[_matching(counts, r"^'\p{L}") & ~_matching(counts, _ENGLISH_REST)].sum()
    if "'d" in split(" Ankara'da", counts.pattern):
        found, at_least = _matching(counts, r"(?i)^'[dt]$"), REPORTED_SHARE * n_words
    else:
        found = _matching(counts, _CONTRACTED) & ~_matching(counts, _ENGLISH)
        at_least = counts.counts[found].sum() / 2
    share = counts.counts[found].sum() / max(1, n_words)
    if share <= REPORTED_SHARE or rests < at_least:
        return ""
    return (
        f"{100 * share:.1f} % of the words are split after their apostrophe and a letter, because "
        f"{_name(counts.pattern)} takes both for an English contraction ({', '.join(_examples(counts, found))}, then "
        "the rest of the word); --pattern tekken splits them before the apostrophe only"
    )


def _split_words(counts: WordCounts, n_words: int) -> str:
    """Report words that are split at an inner apostrophe; English contractions are not among them.

    A pre-token begins with an apostrophe and a letter only after a letter or digit, or at the start of a line. Nothing
    is reported of the pattern ``tekken``, which is chosen because it splits just there.
    """
    if counts.pattern == TEKKEN_PATTERN:
        return ""
    rests = _matching(counts, r"^['’]\p{L}") & ~_matching(counts, _ENGLISH_REST)
    share = counts.counts[rests].sum() / max(1, n_words)
    if share <= REPORTED_SHARE:
        return ""
    from mws_hf.tokenizer.client_facts import refusing

    costs = refusing(WORD_PATTERN)
    return (
        f"{100 * share:.1f} % of the words are split at an inner apostrophe by {_name(counts.pattern)} "
        f"(…{', …'.join(_examples(counts, rests))}); --pattern words keeps them whole, but "
        f"{', '.join(costs['refuses'])} cannot read it and {', '.join(costs['wrong'])} splits it differently"
    )


def _splits_inside(pattern: str) -> bool:
    """Return whether a pattern splits a suffix after a letter that looks like an English contraction."""
    return split(" Ankara'da", pattern)[-1] == "a"


def _matching(counts: WordCounts, expression: str) -> Mask:
    """Return which pre-tokens match an expression of RE2: bool, shape (n_words,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from mws_hf.corpus.blocks import integers

    return integers(pc.cast(pc.match_substring_regex(counts.strings, expression), pa.uint8())).astype(bool)


def _words(counts: WordCounts, some: WordCounts) -> int:
    """Return the number of running words: pre-tokens with a letter that are no rest after an apostrophe.

    Args:
        counts: all pre-tokens.
        some: those of them with an apostrophe.
    """
    begins, rests = _matching(counts, r"^[^\r\n\p{L}\p{N}]?\p{L}"), _matching(some, r"^['’]\p{L}")
    return int(counts.counts[begins].sum() - some.counts[rests].sum())


def _examples(counts: WordCounts, found: Mask) -> Iterable[str]:
    """Return the most frequent of the pre-tokens found, without their leading space."""
    import numpy as np

    numbers = np.argsort(np.where(found, -counts.counts, 0), kind="stable")[:_N_EXAMPLES].tolist()
    return [counts.strings[number].as_py().strip() for number in numbers if found[number]]


def _name(pattern: str) -> str:
    """Return the name of a split pattern for a message."""
    known = named(pattern)
    return "this split pattern" if known is None else f"split pattern {known[0]}"
