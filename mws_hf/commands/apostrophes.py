"""Write the notice of `mws train` about words that the split pattern splits at an apostrophe.

Split patterns made for English treat `'s 't 'd 'm 'll 're 've` after a word as contractions. A Turkish suffix that
begins with such a letter is then split inside: ``Ankara'da`` ("in Ankara") becomes ``Ankara'd|a``, and no merge can
repair it. Other words, such as Ukrainian ``п'ять`` ("five"), are split before or after their apostrophe, which only
makes them take more tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mws_hf.text.pattern import TEKKEN_PATTERN, WORD_PATTERN, named, split
from mws_hf.text.phrases import percent

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.kernels import Mask

REPORTED_SHARE = 0.002
"""Words that are split at an apostrophe are reported if they are more than this share of the running words."""
_PRONOUNS = "I he she it we they you who that this there here what where how why when everyone someone".split()
_ENGLISH = rf"(?i)^.?(?:{'|'.join(_PRONOUNS)})'d$"
_CONTRACTED = r"[^nN]'[tT]$|\p{L}'[dD]$"
"""Pre-tokens that end like an English contraction, except n't, for patterns that keep contractions with their word."""
_ENGLISH_REST = r"(?i)^['’](?:[sdmt]|ll|ve|re)$"
_N_EXAMPLES = 3


def apostrophe_notice(counts: WordCounts) -> str:
    """Return one line about the words that the split pattern splits at an apostrophe; "" if they are few.

    Args:
        counts: the training words, with their split pattern.
    """
    with_apostrophe = counts.where(_matching(counts, "['’]"))  # usually few, so that all further searches are fast
    n_words = _count_words(counts, with_apostrophe)
    return _split_suffixes(with_apostrophe, n_words) or _split_words(with_apostrophe, n_words)


def _split_suffixes(counts: WordCounts, n_words: int) -> str:
    """Report words that are split after an apostrophe and a letter, such as ``Ankara'd|a``; "" if they are few.

    Counts do not show which pre-tokens followed each other, so ``Ankara'd`` might also be English, which has ``'d``
    after pronouns, ``'t`` after n, and in older texts ``'d`` after any verb (``banish'd``). Such endings are therefore
    reported only if there are at least half as many words that are split before an apostrophe, such as
    ``Ankara|'nın``. If the pattern makes a contraction a separate pre-token, it is enough that ``'d`` and ``'t`` are
    frequent.
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
        f"{percent(share)} of the words are split one letter after their apostrophe, such as "
        f"{', '.join(f'{each}|…' for each in _examples(counts, found))}, because {_name(counts.pattern)} treats the "
        "apostrophe and this letter as an English contraction; --pattern tekken splits before the apostrophe instead"
    )


def _split_words(counts: WordCounts, n_words: int) -> str:
    """Report words that are split at an inner apostrophe, except English contractions; "" if they are few.

    They are found by the pre-token after the split: a pre-token begins with an apostrophe and a letter only after a
    letter or a digit, or at the start of a line. With the pattern ``tekken`` nothing is reported, because users choose
    it to split there.
    """
    if counts.pattern == TEKKEN_PATTERN:
        return ""
    rests = _matching(counts, r"^['’]\p{L}") & ~_matching(counts, _ENGLISH_REST)
    share = counts.counts[rests].sum() / max(1, n_words)
    if share <= REPORTED_SHARE:
        return ""
    from mws_hf.tokenizer.client_facts import failing_programs

    costs = failing_programs(WORD_PATTERN)
    return (
        f"{percent(share)} of the words are split at an inner apostrophe by {_name(counts.pattern)} "
        f"(…{', …'.join(_examples(counts, rests))}); --pattern words keeps them whole, but "
        f"{', '.join(costs['refuses'])} cannot read it and {', '.join(costs['wrong'])} splits it differently"
    )


def _splits_inside(pattern: str) -> bool:
    """Return whether a pattern takes the first letter of a suffix for a contraction, and splits after it."""
    return split(" Ankara'da", pattern)[-1] == "a"


def _matching(counts: WordCounts, expression: str) -> Mask:
    """Return which pre-tokens match a regular expression (RE2) anywhere; bool, shape (n_words,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from mws_hf.corpus.arrow_arrays import integers

    return integers(pc.cast(pc.match_substring_regex(counts.strings, expression), pa.uint8())).astype(bool)


def _count_words(counts: WordCounts, with_apostrophe: WordCounts) -> int:
    """Return the number of running words: pre-tokens that begin with letters, but not those after an apostrophe.

    Args:
        counts: all pre-tokens.
        with_apostrophe: those of them that contain an apostrophe.
    """
    begins, rests = _matching(counts, r"^[^\r\n\p{L}\p{N}]?\p{L}"), _matching(with_apostrophe, r"^['’]\p{L}")
    return int(counts.counts[begins].sum() - with_apostrophe.counts[rests].sum())


def _examples(counts: WordCounts, found: Mask) -> Iterable[str]:
    """Return the most frequent pre-tokens of a mask, without their leading space."""
    import numpy as np

    numbers = np.argsort(np.where(found, -counts.counts, 0), kind="stable")[:_N_EXAMPLES].tolist()
    return [counts.strings[number].as_py().strip() for number in numbers if found[number]]


def _name(pattern: str) -> str:
    """Return the name of a split pattern for a message."""
    known = named(pattern)
    return "this split pattern" if known is None else f"split pattern {known[0]}"
