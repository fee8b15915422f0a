"""Measure how an extension or a trimming changes the segmentation of texts, and summarize the result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from mws_hf.kernels import Longs
from mws_hf.scoring.running_text import WORD, score_text
from mws_hf.surgery.base import Base
from mws_hf.surgery.extension import Extension, merges_of, words_among
from mws_hf.surgery.trim import Trimming, count_uses
from mws_hf.text.pattern import compiled
from mws_hf.text.phrases import by_reason, percent, token_change
from mws_hf.tokenizer.spec import entry_of, parts_of, without_limits


@dataclass(frozen=True)
class TextChange:
    """Measures of one text before and after a change; measures of words are NaN if it has no words.

    Attributes:
        lines: lines measured.
        words: running words.
        tokens: tokens before and after.
        tokens_per_word: before and after; the space before a word belongs to it.
        bytes_per_token: before and after, over the whole text.
        words_changed: share of the running words whose tokens have changed, each after a space.
        lines_changed: number of lines whose tokens have changed.
    """

    lines: int
    words: int
    tokens: tuple[int, int]
    tokens_per_word: tuple[float, float]
    bytes_per_token: tuple[float, float]
    words_changed: float
    lines_changed: int


def measure_change(before: Tokenizer, after: Tokenizer, lines: Sequence[str]) -> TextChange:
    """Measure two tokenizers, without truncation and padding, on the same lines.

    Raises:
        MwSError: the lines have no token.
    """
    before, after = without_limits(before), without_limits(after)
    old, new = score_text(before, lines), score_text(after, lines)
    find = compiled(WORD).findall
    words = Counter(word for line in lines for word in find(line))
    # the normalizer Prepend puts a space even before a text that begins with one
    prepends = any(part["type"] == "Prepend" for part in parts_of(entry_of(before, "normalizer")))
    spaced = list(words) if prepends else [" " + word for word in words]
    changed = sum(
        count
        for count, other in zip(words.values(), _segmented_differently(before, after, spaced), strict=True)
        if other
    )
    return TextChange(
        lines=len(lines),
        words=words.total(),
        tokens=(old.tokens, new.tokens),
        tokens_per_word=(old.fertility, new.fertility),
        bytes_per_token=(old.bytes_per_token, new.bytes_per_token),
        words_changed=changed / words.total() if words else float("nan"),
        lines_changed=sum(_segmented_differently(before, after, lines)),
    )


def _segmented_differently(before: Tokenizer, after: Tokenizer, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether its tokens have changed."""
    encoded = [tokenizer.encode_batch(list(texts), add_special_tokens=False) for tokenizer in (before, after)]
    return [first.tokens != second.tokens for first, second in zip(*encoded, strict=True)]


def extension_figures(
    extension: Extension, texts: dict[str, TextChange], trimmed: Trimming | None = None
) -> dict[str, Any]:
    """Collect the figures of an extension as plain values, and of the trimming of the base before it, if any."""
    return {
        "trimmed": None if trimmed is None else {"dropped": trimmed.dropped, "uses_lost": trimmed.uses_lost},
        "new_tokens": len(extension.ids),
        "first_id": min(extension.ids.values(), default=None),
        "vocabulary": max(extension.tokenizer.get_vocab().values()) + 1,
        "added_characters": len(extension.learned.symbols),
        **{f"{name}_merges": number for name, number in extension.learned.found.items()},
        "word_types": extension.learned.n_types,
        "retired_tokens": extension.retired,
        "retired_words": words_among(extension.base, extension.retired),
        "dropped_merges": [list(pair) for pair in merges_of(extension.base, extension.retired)],
        "texts": {name: asdict(change) for name, change in texts.items()},
    }


def extension_summary(found: dict[str, Any]) -> str:
    """Summarize the figures: a line about the tokens, and a line for each text, without measures that it lacks."""
    rows = [
        f"{found['new_tokens']:,} new tokens ({found['added_characters']:,} characters; merges: "
        f"{found['characters_merges']:,} inside characters, {found['spaces_merges']:,} of a space and a letter, "
        f"{found['morphs_merges']:,} inside morphs, {found['compositions_merges']:,} frequency merges"
        f"{', {:,} for --required'.format(found['required_merges']) if 'required_merges' in found else ''}); "
        f"{found['vocabulary']:,} ids"
    ]
    if found["trimmed"]:
        dropped = by_reason(found["trimmed"]["dropped"])
        lost = percent(found["trimmed"]["uses_lost"], ".2f")
        rows.append(f"removed first: {dropped} tokens, which make up {lost} of all uses")
    if found["retired_tokens"]:
        rows.append(
            f"{len(found['retired_tokens']):,} unused tokens and {len(found['dropped_merges']):,} merges removed; "
            f"{len(found['retired_words']):,} of these tokens are whole words (retired.json lists the tokens)"
        )
    for name, text in found["texts"].items():
        (words_before, words_after), (bytes_before, bytes_after) = text["tokens_per_word"], text["bytes_per_token"]
        length = f"{bytes_before:.2f} -> {bytes_after:.2f} bytes per token, {token_change(*text['tokens'])}"
        changed = f"{text['lines_changed']:,} of {text['lines']:,} lines segmented differently"
        if text["words"]:
            length = f"{words_before:.3f} -> {words_after:.3f} tokens per word, {length}"
            changed = f"{percent(text['words_changed'])} of words and {changed}"
        rows.append(f"{name}: {length}, {changed}")
    return "\n".join(rows)


@dataclass(frozen=True)
class TextUse:
    """How often a tokenizer uses each token in a text.

    Attributes:
        n_bytes: UTF-8 bytes of the text.
        uses: int64, shape (largest id + 1,): occurrences of each token.
    """

    n_bytes: int
    uses: Longs

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte under a unigram model of the tokens; NaN for an empty text."""
        if not self.n_bytes:
            return math.nan
        seen = self.uses[self.uses > 0]
        return float(seen.sum() * math.log2(seen.sum()) - (seen * np.log2(seen)).sum()) / self.n_bytes


def measure_use(base: Base, texts: Iterable[str]) -> TextUse:
    """Encode texts, and count their bytes and how often each token is used."""
    n_bytes = 0

    def with_sizes() -> Iterator[str]:
        nonlocal n_bytes
        for text in texts:
            n_bytes += len(text.encode())
            yield text

    uses = count_uses(base, with_sizes())
    return TextUse(n_bytes, uses)


def trim_figures(trimming: Trimming, before: Mapping[str, TextUse], after: Mapping[str, TextUse]) -> dict[str, Any]:
    """Collect the figures of a trimming as plain values.

    Args:
        trimming: the trimming.
        before: the uses of tokens by the base, by name of the text.
        after: the uses by the trimmed tokenizer in the same texts.
    """
    texts = {
        name: {
            "bytes": use.n_bytes,
            "tokens": [int(use.uses.sum()), int(after[name].uses.sum())],
            "uses_lost": trimming.share_lost(use.uses),
            "unigram_bits_per_byte": [use.bits_per_byte, after[name].bits_per_byte],
        }
        for name, use in before.items()
    }
    return {
        "entries": [len(trimming.base.vocab), sum(trimming.kept.values())],
        "merges": [len(trimming.base.merges), len(trimming.spec["model"]["merges"])],
        "kept": trimming.kept,
        "dropped": trimming.dropped,
        "uses_lost": trimming.uses_lost,
        "texts": texts,
    }


def trim_summary(found: Mapping[str, Any]) -> str:
    """Summarize the figures: a line about the vocabulary, and a line for each text."""
    kept, dropped = by_reason(found["kept"]), by_reason(found["dropped"])
    (before, after), (merges_before, merges_after) = found["entries"], found["merges"]
    rows = [
        f"vocabulary: {before:,} -> {after:,} tokens, {merges_before:,} -> {merges_after:,} merges; kept: {kept}; "
        f"removed: {dropped or 'none'}"
    ]
    for name, text in found["texts"].items():
        (first, second), (bits_before, bits_after) = text["tokens"], text["unigram_bits_per_byte"]
        if not first:
            rows.append(f"{name}: has no text")
            continue
        more, lost = percent(second / first - 1, "+.2f"), percent(text["uses_lost"], ".2f")
        rows.append(
            f"{name}: {first:,} -> {second:,} tokens ({more}), {lost} of uses lost, unigram model "
            f"{bits_before:.4f} -> {bits_after:.4f} bits per byte"
        )
    return "\n".join(rows)
