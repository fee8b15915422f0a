"""Switch on or off that a tokenizer puts a space before a text (`add_prefix_space`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import Tokenizer

from mws_hf.text.capitals import with_space_first
from mws_hf.tokenizer.spec import SPACE_FIRST, capitals_of, entry_of, has_leading_space, parts_of, set_part


def settle_leading_space(tokenizer: Tokenizer, wanted: bool | None) -> bool:
    """Switch on or off that a loaded tokenizer puts a space before the text; return whether it does so now.

    It is used for `add_prefix_space=True` and for words that are given one by one: most words were learned after a
    space, and a word without one is segmented as at the beginning of a document. As in GPT-2 and RoBERTa, the
    pre-tokenizer puts the space before the text and after each added token, unless there is one. Offsets are counted in
    the text without it.

    A tokenizer that itself puts a word mark before a text, as the tokenizer of Llama 2 does, is not changed.

    Args:
        tokenizer: the tokenizer, which is changed.
        wanted: whether it should put a space; None changes nothing.

    Returns:
        Whether it puts a space now. For a tokenizer that puts a word mark, this is `wanted`, or True if that is None.
    """
    normalizer, entry = (entry_of(tokenizer, place) for place in ("normalizer", "pre_tokenizer"))
    rules = list(parts_of(normalizer))
    if _puts_word_mark(rules, parts_of(entry)):
        return True if wanted is None else wanted
    if is_put_by_normalizer(tokenizer):
        return _settle_in_normalizer(tokenizer, rules, wanted)
    there = has_leading_space(entry)
    if wanted is not None and wanted != there:
        parts = [] if entry is None else entry.get("pretokenizers", [entry])
        parts = [SPACE_FIRST, *parts] if wanted else parts[1:]
        only = parts[0] if parts else None
        set_part(
            tokenizer, "pre_tokenizer", {"type": "Sequence", "pretokenizers": parts} if parts[1:] or wanted else only
        )
    return there if wanted is None else wanted


def is_put_by_normalizer(tokenizer: Tokenizer) -> bool:
    """Return whether the normalizer must put the space, because it writes a marker for capitals or replaces spaces."""
    if tokenizer.normalizer is None:
        return False
    return bool(capitals_of(tokenizer)) or not tokenizer.normalizer.normalize_str(" a").startswith(" ")


def _puts_word_mark(rules: list[Mapping[str, Any]], splitters: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a tokenizer puts a word mark before a text, as SentencePiece does.

    Args:
        rules: the parts of its normalizer.
        splitters: the parts of its pre-tokenizer.
    """
    if with_space_first(rules, True) != rules and any(rule["type"] == "Prepend" for rule in rules):
        return True
    schemes = [
        part.get("prepend_scheme", "always" if part.get("add_prefix_space") else "never")
        for part in splitters
        if part["type"] == "Metaspace" and part != SPACE_FIRST
    ]
    return any(scheme != "never" for scheme in schemes)


def _settle_in_normalizer(tokenizer: Tokenizer, rules: list[Mapping[str, Any]], wanted: bool | None) -> bool:
    """Do what `settle_leading_space` does in a normalizer that writes a marker for capitals or replaces spaces.

    `rules` are the parts of this normalizer.
    """
    there = with_space_first(rules, True) == rules
    if wanted is not None and wanted != there:
        set_part(tokenizer, "normalizer", {"type": "Sequence", "normalizers": with_space_first(rules, wanted)})
    return there if wanted is None else wanted
