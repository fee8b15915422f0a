r"""Split text into pre-tokens with regular expressions (split patterns), and check these patterns.

A pre-token contains the characters of the text unchanged, so a word inside a sentence begins with its space:
``" читать"`` ("to read"). Merges never cross the boundary between two pre-tokens.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import Literal, get_args

import regex

from mws_hf.errors import MwSError, SettingError, first_line, quoted

GPT4_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""GPT-4's pattern, verbatim; the default of the classic criterion.

Do not change it in any way, because JavaScript libraries search for exact substrings of it.
"""

WORD_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""GPT-4's pattern, but words with combining marks and inner apostrophes stay whole.

The pattern has the three substrings that transformers.js <= 3 replaces literally. With GPT-4's own pattern, a
Devanagari vowel sign starts a new pre-token, Ukrainian ``п'ять`` is split at the apostrophe, and Turkish ``Ankara'da``
becomes ``Ankara|'d|a``.
"""

LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Llama 3's pattern, verbatim from its tokenizer.json; it splits text exactly as GPT-4's does.

llama.cpp calls it by the pre types ``llama-bpe`` and ``dbrx``.
"""

O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""GPT-4o's pattern, verbatim from o200k_base in tiktoken's ``openai_public.py``; llama.cpp's pre type ``gpt-4o``.

It is the default of the contextual criterion. Combining marks stay with their letters, a word is split before an
uppercase letter that follows a lowercase letter, and an English ending such as ``'s`` stays with its word.
"""

TEKKEN_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Mistral's pattern, verbatim from ``tekken.json``: GPT-4o's without English contractions and with single digits.

A word with an apostrophe is split only before the apostrophe: Turkish ``Ankara|'da``, English ``don|'t``. GPT-4o's
pattern, which has the English contractions, also splits Turkish suffixes that begin like one: ``Ankara'd|a``.
"""

NAMED_PATTERNS = {
    "words": WORD_PATTERN,
    "gpt4": GPT4_PATTERN,
    "llama3": LLAMA3_PATTERN,
    "o200k": O200K_PATTERN,
    "tekken": TEKKEN_PATTERN,
}
"""Patterns by name; you can give the name wherever a pattern is expected.

A saved tokenizer always contains the pattern itself.
"""

NORMALIZATIONS = ("nfc", "nfd", "nfkc", "nfkd")
"""Unicode normalization forms that can be applied to text before it is split; None applies none."""

Digits = Literal["threes", "single", "right"]
"""The ways in which a pattern can split numbers; `DIGIT_PARTS` describes them."""

DIGIT_PARTS: dict[Digits, str] = {
    "right": r"|\p{N}{1,2}(?=(?:\p{N}{3}){1,33}(?!\p{N}))|\p{N}{1,3}|",
    "threes": r"|\p{N}{1,3}|",
    "single": r"|\p{N}|",
}
"""The part of a pattern that splits numbers; each named pattern has exactly one of these parts.

* ``threes``: groups of three from the left, ``123|456|7``, as in GPT-4 and Llama 3.
* ``single``: single digits, as in `tekken`; together with `llama3` this is Qwen 2's pattern.
* ``right``: groups of three from the right, ``1|234|567``, as thousands are written, so that the position of a token
  in the number does not depend on the length of the number. The pattern looks ahead at most 101 digits, because
  otherwise long runs would take quadratic time; the beginning of a longer run is split in threes from the left.

All three use only syntax that Oniguruma, `regex` and JavaScript have in common.
"""

DEFAULT_PATTERN = O200K_PATTERN
"""The default split pattern; the classic criterion has GPT-4's instead.

Almost every program that reads tokenizer.json has this pattern built in (scripts/results/clients.md). Its effect on
length and F1 is within noise (scripts/results/patterns.md), except on words with inner apostrophes, which `words` keeps
whole.
"""


def literal_pattern(pattern: str) -> str:
    """Return the pattern that a name stands for; any other string is returned as it is.

    Raises:
        SettingError: the pattern is not a string.

    >>> literal_pattern("gpt4") == GPT4_PATTERN, literal_pattern("[a-z]+|.")
    (True, '[a-z]+|.')
    """
    if not isinstance(pattern, str):
        names = ", ".join(NAMED_PATTERNS)
        raise SettingError("pattern", pattern, f"is not a string; give a regular expression, or one of {names}")
    return NAMED_PATTERNS.get(pattern, pattern)


def digits_of(pattern: str) -> Digits | None:
    """Return how a pattern, or a named pattern, splits numbers; None if it contains none of the `DIGIT_PARTS`.

    >>> digits_of("gpt4"), digits_of("[a-z]+|.")
    ('threes', None)
    """
    literal = literal_pattern(pattern)
    return next((digits for digits, part in DIGIT_PARTS.items() if literal.count(part) == 1), None)


def named(pattern: str) -> tuple[str, Digits] | None:
    """Return the name of a pattern and the way in which it splits numbers; None if it is not one of `NAMED_PATTERNS`.

    >>> named(with_digits("llama3", "single")), named("[a-z]+|.")
    (('llama3', 'single'), None)
    """
    digits = digits_of(pattern)
    known = {} if digits is None else {with_digits(name, digits): name for name in NAMED_PATTERNS}
    return (known[pattern], digits) if digits is not None and pattern in known else None


def pattern_name(pattern: str) -> str:
    """Return the name of a split pattern for a message; a pattern without a name is quoted and shortened.

    >>> pattern_name(with_digits("llama3", "single")), pattern_name(literal_pattern("o200k")), pattern_name("[a-z]+|.")
    ('llama3, digits single', 'o200k', "'[a-z]+|.'")
    >>> pattern_name(literal_pattern("tekken")), pattern_name(with_digits("tekken", "threes"))
    ('tekken', 'tekken, digits threes')
    """
    known = named(pattern)
    if known is None:
        return quoted(pattern, 40)
    name, digits = known
    return name if NAMED_PATTERNS[name] == pattern else f"{name}, digits {digits}"


def with_digits(pattern: str, digits: Digits | None) -> str:
    """Return a pattern, or a named pattern, with the given way of splitting numbers; None changes nothing.

    Raises:
        SettingError: `digits` is unknown, or the pattern does not contain exactly one of the `DIGIT_PARTS`.

    >>> [split("+1234567", with_digits("words", digits)) for digits in ("threes", "right")]
    [['+', '123', '456', '7'], ['+', '1', '234', '567']]
    >>> with_digits(with_digits("gpt4", "right"), "threes") == GPT4_PATTERN
    True
    """
    literal = literal_pattern(pattern)
    if digits is None:
        return literal
    if digits not in get_args(Digits):
        raise SettingError("digits", digits, f"is unknown; choose one of {', '.join(map(repr, get_args(Digits)))}")
    now = digits_of(literal)
    if now is None:
        raise SettingError(
            "digits",
            digits,
            f"replaces the part of a pattern that splits numbers, but split pattern {pattern!r} does not contain such "
            f"a part; use one of {', '.join(NAMED_PATTERNS)}, or write a pattern that splits numbers as you want",
        )
    return literal.replace(DIGIT_PARTS[now], DIGIT_PARTS[digits])


PATTERN_ERRORS = (regex.error, ValueError, RecursionError, OverflowError, MemoryError)
"""The errors that `regex` raises for a pattern that it cannot compile or try: wrong syntax, too many groups, a loop."""


@lru_cache(maxsize=16)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a split pattern, or a named one, with the `regex` module (possessive quantifiers, Unicode properties).

    Raises:
        MwSError: the pattern does not compile, can match the empty string, or is a word that is not a name.

    >>> compiled("lama3")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: split pattern 'lama3' is unknown; choose words, gpt4, llama3, o200k, tekken, ...
    """
    if pattern not in NAMED_PATTERNS and regex.fullmatch(r"[\w -]+", pattern):
        raise MwSError(
            f"split pattern {pattern!r} is unknown; choose {', '.join(NAMED_PATTERNS)}, or write a regular expression "
            "(this one would match only its own letters)"
        )
    try:
        result = regex.compile(literal_pattern(pattern))
        matches_nothing = result.match("")
    except PATTERN_ERRORS as error:
        raise MwSError(f"split pattern {quoted(pattern, 200)} does not compile: {first_line(error)}") from error
    if matches_nothing:
        raise MwSError(f"split pattern {pattern!r} matches the empty string; each alternative must match a character")
    check_backtracking(pattern)
    return result


_MATCH_SECONDS = 0.1


@lru_cache(maxsize=64)
def check_backtracking(pattern: str) -> None:
    """Check that `regex` can apply a pattern to difficult texts in little time.

    Named patterns are known to work. Any other pattern is tried on the texts of `trial_runs`.

    Raises:
        MwSError: a text takes longer than a tenth of a second, because the pattern can match a run of characters in too
            many ways.
    """
    if named(literal_pattern(pattern)):
        return
    try:
        found = regex.compile(pattern)
    except PATTERN_ERRORS:  # `compiled` reports it
        return
    from mws_hf.text.pattern_trial import ADVICE, trial_runs  # here and below, because named patterns need no trial

    for unit, text in trial_runs(pattern):
        try:
            deque(found.finditer(text, timeout=_MATCH_SECONDS), maxlen=0)
        except (TimeoutError, MemoryError) as error:
            raise MwSError(
                f"split pattern {quoted(pattern)} can match a run of {unit!r} in too many ways; {ADVICE}"
            ) from error


@lru_cache(maxsize=64)
def problem_in_tokenizers(pattern: str) -> str | None:
    """Return why `tokenizers` cannot split with a pattern, and what to change; None if it can.

    Oniguruma, the engine of `tokenizers`, cannot handle some patterns that `regex` can. Encoding then fails, often long
    after the training, at the first long run of letters. Named patterns are known to work. Any other pattern is tried
    once per process on the texts of `trial_runs`, which takes about 0.1 s.

    >>> problem_in_tokenizers("llama3"), problem_in_tokenizers("[a-z]+|.")
    (None, None)
    """
    literal = literal_pattern(pattern)
    if named(literal):
        return None
    from mws_hf.text.pattern_trial import failure_in_tokenizers

    failure = failure_in_tokenizers(literal)
    return failure and f"split pattern {quoted(literal)} cannot be used: {failure}"


def split(text: str, pattern: str = DEFAULT_PATTERN) -> list[str]:
    """Split a text into pre-tokens; joined together, they are the text again.

    Text between two matches of the pattern becomes a separate pre-token.

    Args:
        text: the text.
        pattern: the split pattern, or its name.

    Raises:
        MwSError: the pattern is not valid (see `compiled`).

    >>> split("Don't stop: п'ять слов.", GPT4_PATTERN)
    ['Don', "'t", ' stop', ':', ' п', "'ять", ' слов', '.']
    >>> split("Don't stop: п'ять слов.", "words")
    ["Don't", ' stop', ':', " п'ять", ' слов', '.']
    >>> split("Don't stop: п'ять слов.")
    ["Don't", ' stop', ':', ' п', "'ять", ' слов', '.']
    """
    pretokens: list[str] = []
    end = 0
    for match in compiled(pattern).finditer(text):
        if match.start() > end:
            pretokens.append(text[end : match.start()])
        pretokens.append(match.group())
        end = match.end()
    if end < len(text):
        pretokens.append(text[end:])
    return pretokens
