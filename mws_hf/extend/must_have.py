"""Strings that an extension must hold as entries, by merges behind those learnt."""

from __future__ import annotations

from collections.abc import Iterable

from mws_hf.errors import MwSError
from mws_hf.extend.base import Base
from mws_hf.extend.learner import LearnedTokens
from mws_hf.extend.words import pre_tokens
from mws_hf.learn.must_have import merges_for


def check_strings(base: Base, texts: Iterable[str]) -> list[str]:
    """Return strings, as the base spells them, that its pattern leaves whole.

    Raises:
        MwSError: a string is empty, or the base cuts it before any merge.
    """
    pipeline, spelled = base.pipeline(), []
    for text in texts:
        pieces = pre_tokens(base, pipeline, text) if text else []
        if len(pieces) != 1:
            parts = "|".join(pieces)
            raise MwSError(
                f"{text!r} cannot become an entry: the tokenizer's pattern cuts it ({parts}); give its parts"
            )
        spelled.append(base.spell(pieces[0]))
    return spelled


def with_strings(base: Base, learned: LearnedTokens, strings: list[str], n_tokens: int) -> LearnedTokens:
    """Add merges that make strings entries, in place of the last tokens learnt where more than `n_tokens` would be.

    Args:
        base: the tokenizer extended.
        learned: tokens learnt for it.
        strings: the strings, checked by `check_strings`.
        n_tokens: number of new tokens wanted.

    Raises:
        MwSError: the strings alone need more.
    """
    room = n_tokens
    while room >= 0:
        part = learned.first(room)
        known = {*base.vocab, *part.symbols}
        symbols = [] if base.byte_level else sorted({c for string in strings for c in string if c not in known})
        merges = merges_for(strings, [*base.merges, *part.merges], known)
        more = len(part.tokens) + len(symbols) + len(merges) - n_tokens
        if more <= 0:
            found = {**part.found, "must_have": len(merges)}
            return LearnedTokens([*part.symbols, *symbols], [*part.merges, *merges], found, part.n_types)
        room -= more
    raise MwSError(f"{len(strings)} strings must be entries, which takes more than {n_tokens} new tokens; add more")
