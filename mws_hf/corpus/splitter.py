"""Split text into pre-tokens with a pattern, a normalization and special tokens (`Splitter`)."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from mws_hf.corpus.arrow_arrays import arrow_strings, flat_utf8
from mws_hf.corpus.blocks import LINE_STREAM, MARKED_STREAM, STREAM, Block, arrow_block, without_tokens
from mws_hf.errors import MwSError
from mws_hf.text.capitals import steps_of, with_capitals, write_marker
from mws_hf.text.pattern import DEFAULT_PATTERN, NORMALIZATIONS, compiled, literal_pattern, pattern_name, split
from mws_hf.text.scanner_classes import classes_of, scanner_kind
from mws_hf.text.symbols import DEFAULT_SPECIAL_TOKENS
from mws_hf.text.valid_text import each_text

if TYPE_CHECKING:
    from mws_hf.corpus.token_table import TokenTable


def check_normalization(normalization: str | None) -> str | None:
    """Return `normalization` in lowercase, after checking it.

    It is valid if it is None, one of `NORMALIZATIONS`, "capitals", or both such as "nfc+capitals".

    Raises:
        MwSError: it is not valid.
    """
    if normalization is None:
        return None
    known = str(normalization).lower()
    form, marks = steps_of(known)
    if form not in (None, *NORMALIZATIONS) or known != (with_capitals(form) if marks else form):
        raise MwSError(f"unknown normalization {normalization!r}; choose one of {', '.join(NORMALIZATIONS)}, or none")
    return known


def fingerprint(pattern: str, normalization: str | None, groups: Sequence[str] = ()) -> str:
    """Return the hexadecimal SHA-256 of a split pattern, a normalization and names of groups."""
    return hashlib.sha256("\0".join([pattern, normalization or "", *groups]).encode()).hexdigest()


@dataclass(frozen=True)
class Splitter:
    """A splitter of text into pre-tokens, which normalizes the text, and splits it by a pattern.

    A function that counts blocks (`counter`) first removes special tokens.

    Attributes:
        pattern: the split pattern; a name is replaced by the pattern of this name.
        normalization: Unicode normalization before splitting: None, "nfc", "nfd", "nfkc" or "nfkd". "capitals",
            "nfc+capitals" and so on also write a marker instead of uppercase letters; see `text.capitals`.
        special_tokens: tokens at which texts are split, so that no part of one is counted. They are not saved with
            counts.

    Raises:
        MwSError: the pattern is not a string, the normalization is unknown, or the special tokens are not a list of
            strings that are not empty.

    >>> splitter = Splitter("gpt4", "NFC")
    >>> splitter.split("кот и пёс"), str(splitter)
    (['кот', ' и', ' пёс'], 'pattern gpt4 and normalization nfc')
    """

    pattern: str = DEFAULT_PATTERN
    normalization: str | None = None
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", literal_pattern(self.pattern))
        object.__setattr__(self, "normalization", check_normalization(self.normalization))
        object.__setattr__(self, "special_tokens", tuple(each_text(self.special_tokens, "special_tokens")))
        if "" in self.special_tokens:
            raise MwSError("special_tokens: the empty string is not a token; leave it out")

    def __str__(self) -> str:
        form, marks = steps_of(self.normalization)
        pattern, normalization = f"pattern {pattern_name(self.pattern)}", f"normalization {form}" if form else ""
        if marks:
            return f"{pattern}, {normalization or 'no normalization'} and a marker for capitals"
        return f"{pattern} and {normalization or 'no normalization'}"

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of pattern and normalization in hexadecimal."""
        return fingerprint(self.pattern, self.normalization)

    def agrees(self, other: Splitter) -> bool:
        """Return whether counts that were made with the two splitters can be added up."""
        return (self.pattern, self.normalization) == (other.pattern, other.normalization)

    @cached_property
    def normalize(self) -> Callable[[str], str]:
        """The function that normalizes a text, and writes the marker for capitals if that is part of it."""
        to_form = self.to_unicode_form
        return (lambda text: write_marker(to_form(text))) if self.marks_capitals else to_form

    @cached_property
    def to_unicode_form(self) -> Callable[[str], str]:
        """The function that converts a text to the Unicode form; the first step of `normalize`."""
        named, _ = steps_of(self.normalization)
        if named is None:
            return lambda text: text
        form = cast(Literal["NFC", "NFD", "NFKC", "NFKD"], named.upper())
        return lambda text: unicodedata.normalize(form, text)

    def split(self, text: str) -> list[str]:
        """Normalize a text, and split it into pre-tokens; special tokens in it are split like other text."""
        return split(self.normalize(text), self.pattern)

    @cached_property
    def is_scanned(self) -> bool:
        """Whether the compiled scanner supports the pattern; others take ten times as long, and run in one thread."""
        return scanner_kind(self.pattern) is not None

    @property
    def marks_capitals(self) -> bool:
        """Whether a marker is written instead of uppercase letters."""
        return steps_of(self.normalization)[1]

    @property
    def division(self) -> bytes | None:
        """The positions at which a text file can be divided (see `blocks.text_blocks`); None if lines are documents."""
        if not self.is_scanned:
            return None
        if any(" " in token for token in self.special_tokens):
            return LINE_STREAM
        return MARKED_STREAM if self.marks_capitals else STREAM

    def counter(self) -> Callable[[TokenTable, Block], None]:
        """Return a function that adds the pre-tokens of a block to a table; special tokens are not counted.

        Raises:
            MwSError: the pattern is not a valid regular expression.
        """
        tokens, kind = [token.encode() for token in self.special_tokens], scanner_kind(self.pattern)
        if kind is None:
            compiled(self.pattern)
        else:
            classes_of(kind)  # computes the table once, before several threads need it

        def add(table: TokenTable, block: Block) -> None:
            block.check()
            block = without_tokens(block, tokens)
            if kind is None:
                totals: Counter[str] = Counter()
                for text in block.documents():
                    totals.update(self.split(text))
                words = arrow_strings(list(totals))
                table.count_words(*flat_utf8(words), np.fromiter(totals.values(), np.int64, len(totals)))
                return
            if self.normalization is not None:
                block = arrow_block(arrow_strings([self.normalize(text) for text in block.documents()]), block.where)
            table.count_texts(block.data, block.offsets, kind)

        return add
