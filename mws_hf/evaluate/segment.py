"""Cut words as a tokenizer does, by character spans, whatever its family; nothing is scored here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mws_hf.tokenizer.opened import Isolated, open_tokenizer


def segment_words(source: Any, words: Sequence[str], *, isolated: Isolated = "space") -> list[tuple[str, ...]]:
    """Cut each word the way a tokenizer or segmenter (what `open_tokenizer` opens) does; see `Opened.cut`."""
    return open_tokenizer(source, by_class=True).cut(words, isolated)
