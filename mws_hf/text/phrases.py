"""Write phrases that commands, model cards and reports have in common."""

from __future__ import annotations


def token_change(before: int, after: int) -> str:
    """Describe by how many percent a number of tokens changes.

    >>> token_change(200, 150), token_change(200, 207)
    ('25.0 % fewer tokens', '3.5 % more tokens')
    """
    share = after / before - 1
    return f"{100 * abs(share):.1f} % {'more' if share > 0 else 'fewer'} tokens"
