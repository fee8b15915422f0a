"""Write phrases that commands, model cards and reports have in common."""

from __future__ import annotations

from collections.abc import Mapping

_REASONS = {"added": "added tokens", "named": "named in --keep", "part": "parts of other tokens"}
"""How the reasons of `mws_hf.surgery.trim.Reason` are written if the word alone is unclear."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun; `many` is the plural of a noun that does not only take an "s".

    >>> counted(1, "merge"), counted(2000, "merge"), counted(3, "entry", "entries")
    ('1 merge', '2,000 merges', '3 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(share: float, form: str = ".1f") -> str:
    """Write a share as a percentage; `form` is the format of the number.

    >>> percent(0.283), percent(-0.01, "+.2f")
    ('28.3 %', '-1.00 %')
    """
    return f"{100 * share:{form}} %"


def token_change(before: int, after: int, base: str | None = None) -> str:
    """Return a phrase that compares two numbers of tokens of the same text.

    Args:
        before: the number of tokens with which the other one is compared.
        after: the other number of tokens.
        base: the name of the tokenizer that needs `before` tokens; None to leave it out of the phrase.

    >>> token_change(200, 150), token_change(200, 207, "BPE"), token_change(200, 200, "BPE")
    ('25.0 % fewer tokens', '3.5 % more tokens than BPE', 'as many tokens as BPE')
    """
    if before in (after, 0):
        return "as many tokens" + (f" as {base}" if base else "")
    share = after / before - 1
    return f"{percent(abs(share))} {'more' if share > 0 else 'fewer'} tokens" + (f" than {base}" if base else "")


def code_points(text: str) -> str:
    r"""Write a text as its code points, for a message about characters that look the same.

    >>> code_points("и\u0306")
    'U+0438 U+0306'
    """
    return " ".join(f"U+{ord(character):04X}" for character in text)


def by_reason(numbers: Mapping[str, int]) -> str:
    """List numbers of tokens with the reasons for which `mws trim` kept or removed them.

    >>> by_reason({"bytes": 256, "part": 1100})
    '256 bytes, 1,100 parts of other tokens'
    """
    return ", ".join(f"{number:,} {_REASONS.get(reason, reason)}" for reason, number in numbers.items())
