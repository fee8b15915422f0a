r"""The split patterns that cut text into pre-tokens; this module neither counts nor encodes them.

A pre-token holds literal characters, and a word inside a sentence carries its leading space: ``" читать"``.
Merges never cross the edge of a pre-token.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import Literal, get_args

import regex

from mws_hf.errors import MwSError, SettingError, quoted
from mws_hf.text.pattern_trial import ADVICE, failure_in_tokenizers, trial_runs

GPT4_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""GPT-4's pattern, verbatim: the classic default. JavaScript clients replace substrings of it literally."""

WORD_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}[\p{L}\p{M}]*(?:['’]\p{L}[\p{L}\p{M}]*)*"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""GPT-4's pattern with words kept whole around combining marks and inner apostrophes.

The three substrings that transformers.js <= 3 replaces literally are kept. Under GPT-4's own pattern a Devanagari vowel
sign starts a new pre-token, Ukrainian ``п'ять`` falls apart and Turkish ``Ankara'da`` becomes ``Ankara|'d|a``.
"""

LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Llama 3's pattern, verbatim from its tokenizer.json; it splits as GPT-4's (of which tiktoken once had this form).

llama.cpp knows it by the pre types ``llama-bpe`` and ``dbrx``.
"""

O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""GPT-4o's pattern, verbatim that of o200k_base in tiktoken's ``openai_public.py``; in llama.cpp pre type ``gpt-4o``.

The contextual default. Combining marks stay with their letters, a word is cut before a capital that follows a small
letter, and an English ending such as ``'s`` stays with its word.
"""

TEKKEN_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Mistral's pattern, verbatim that of ``tekken.json``: GPT-4o's without English contractions, and with single digits.

Every apostrophe word is split before its apostrophe and nowhere else: Turkish ``Ankara|'da``, English ``don|'t``. With
English contractions GPT-4o's pattern splits inside Turkish suffixes that begin like one: ``Ankara'd|a``.
"""

NAMED_PATTERNS = {
    "words": WORD_PATTERN,
    "gpt4": GPT4_PATTERN,
    "llama3": LLAMA3_PATTERN,
    "o200k": O200K_PATTERN,
    "tekken": TEKKEN_PATTERN,
}
"""The names that stand for patterns wherever one is asked for; what is saved always holds the pattern itself."""

NORMALIZATIONS = ("nfc", "nfd", "nfkc", "nfkd")
"""Unicode forms that text may be brought to before it is cut; None leaves it as it is."""

Digits = Literal["threes", "single", "right"]

DIGIT_PARTS: dict[Digits, str] = {
    "right": r"|\p{N}{1,2}(?=(?:\p{N}{3}){1,33}(?!\p{N}))|\p{N}{1,3}|",
    "threes": r"|\p{N}{1,3}|",
    "single": r"|\p{N}|",
}
"""How a pattern cuts numbers; every named one has exactly one of these parts.

``threes``: from the left, ``123|456|7``, as GPT-4 and Llama 3 do. ``single``: each digit for itself; with `llama3` this
is Qwen 2's pattern, and `tekken` has it by itself. ``right``: threes as thousands are written, ``1|234|567``, so that a
token's place in the number does not depend on the number's length. It looks ahead 101 digits at most, or long runs
would take quadratic time; what is longer begins with threes from the left. None of them needs more than what Oniguruma,
`regex` and JavaScript share.
"""

DEFAULT_PATTERN = O200K_PATTERN
"""The split pattern where none is asked for; the classic criterion keeps GPT-4's.

Almost every program that reads tokenizer.json knows it by heart (scripts/results/clients.md), and it costs no more than
noise in length and F1 (scripts/results/patterns.md), but for words with inner apostrophes, which `words` keeps whole.
"""


def literal_pattern(pattern: str) -> str:
    """Return the pattern that a name stands for; any other string is returned as it is.

    >>> literal_pattern("gpt4") == GPT4_PATTERN, literal_pattern("[a-z]+|.")
    (True, '[a-z]+|.')
    """
    return NAMED_PATTERNS.get(pattern, pattern)


def digits_of(pattern: str) -> Digits | None:
    """Return how a pattern, or the name of one, cuts numbers; None where it has none of the `DIGIT_PARTS`.

    >>> digits_of("gpt4"), digits_of("[a-z]+|.")
    ('threes', None)
    """
    literal = literal_pattern(pattern)
    return next((digits for digits, part in DIGIT_PARTS.items() if literal.count(part) == 1), None)


def named(pattern: str) -> tuple[str, Digits] | None:
    """Name a pattern and the way in which it cuts numbers; None where it is none of `NAMED_PATTERNS`.

    >>> named(with_digits("llama3", "single")), named("[a-z]+|.")
    (('llama3', 'single'), None)
    """
    digits = digits_of(pattern)
    known = {} if digits is None else {with_digits(name, digits): name for name in NAMED_PATTERNS}
    return (known[pattern], digits) if digits is not None and pattern in known else None


def pattern_name(pattern: str) -> str:
    """Return the name of a split pattern for a message, or the pattern itself, cut short, where it has none.

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
    """Return a pattern, or the one that a name stands for, with numbers cut in another way; None changes nothing.

    Raises:
        MwSError: `digits` is unknown, or the pattern does not say how numbers are cut as the named ones do.

    >>> [split("+1234567", with_digits("words", digits)) for digits in ("threes", "right")]
    [['+', '123', '456', '7'], ['+', '1', '234', '567']]
    >>> with_digits(with_digits("gpt4", "right"), "threes") == GPT4_PATTERN
    True
    """
    literal = literal_pattern(pattern)
    if digits is None:
        return literal
    if digits not in get_args(Digits):
        raise SettingError("digits", digits, f"is unknown; choose {', '.join(map(repr, get_args(Digits)))}")
    now = digits_of(literal)
    if now is None:
        raise SettingError(
            "digits",
            digits,
            f"needs a part for numbers to replace, which split pattern {pattern!r} has not; use one of "
            f"{', '.join(NAMED_PATTERNS)}, or write the pattern as you want it",
        )
    return literal.replace(DIGIT_PARTS[now], DIGIT_PARTS[digits])


@lru_cache(maxsize=16)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a split pattern, or a named one, with the `regex` module (possessive quantifiers, Unicode properties).

    Raises:
        MwSError: the pattern does not compile, can match the empty string, or is a word that is no name.

    >>> compiled("lama3")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: split pattern 'lama3' is none of words, gpt4, llama3, o200k, tekken; as a regular ...
    """
    if pattern not in NAMED_PATTERNS and regex.fullmatch(r"[\w -]+", pattern):
        raise MwSError(
            f"split pattern {pattern!r} is none of {', '.join(NAMED_PATTERNS)}; as a regular expression it would match "
            "that very text alone"
        )
    try:
        result = regex.compile(literal_pattern(pattern))
    except regex.error as error:
        raise MwSError(f"split pattern {pattern!r} does not compile: {error}") from error
    if result.match(""):
        raise MwSError(f"split pattern {pattern!r} matches the empty string; each alternative must consume text")
    check_backtracking(pattern)
    return result


_MATCH_SECONDS = 0.1


@lru_cache(maxsize=64)
def check_backtracking(pattern: str) -> None:
    """Refuse a pattern with which `regex` tries, one by one, more ways to match a run than there are atoms.

    Texts of `trial_runs` are tried, and none may take longer than a tenth of a second.

    Raises:
        MwSError: a match took too long.
    """
    if named(literal_pattern(pattern)):
        return
    try:
        found = regex.compile(pattern)
    except regex.error:  # whoever needs the pattern says so
        return
    for unit, text in trial_runs(pattern):
        try:
            deque(found.finditer(text, timeout=_MATCH_SECONDS), maxlen=0)
        except TimeoutError as error:
            raise MwSError(
                f"split pattern {quoted(pattern)} tries ever more ways to match a run of {unit!r}; {ADVICE}"
            ) from error


@lru_cache(maxsize=64)
def problem_in_tokenizers(pattern: str) -> str | None:
    """Return why `tokenizers` cannot split with a pattern, and what to change; None if it can.

    A pattern that `regex` runs easily can be too much for Oniguruma, the engine of `tokenizers`. Encoding then fails,
    often long after the training, at the first long run of letters. Named patterns are known to work. Any other one is
    tried once per process on the texts of `trial_runs`, which takes about 0.1 s.

    >>> problem_in_tokenizers("llama3"), problem_in_tokenizers("[a-z]+|.")
    (None, None)
    """
    literal = literal_pattern(pattern)
    failure = None if named(literal) else failure_in_tokenizers(literal)
    return failure and f"split pattern {quoted(literal)} cannot be used: {failure}"


def split(text: str, pattern: str = DEFAULT_PATTERN) -> list[str]:
    """Cut `text` into pre-tokens; text that the pattern does not match forms pre-tokens of its own, so nothing is lost.

    >>> split("Don't stop: п'ять слов.", GPT4_PATTERN)
    ['Don', "'t", ' stop', ':', ' п', "'ять", ' слов', '.']
    >>> split("Don't stop: п'ять слов.", "words")
    ["Don't", ' stop', ':', " п'ять", ' слов', '.']
    >>> split("Don't stop: п'ять слов.")
    ["Don't", ' stop', ':', ' п', "'ять", ' слов', '.']
    """
    pieces: list[str] = []
    end = 0
    for match in compiled(pattern).finditer(text):
        if match.start() > end:
            pieces.append(text[end : match.start()])
        pieces.append(match.group())
        end = match.end()
    if end < len(text):
        pieces.append(text[end:])
    return pieces
