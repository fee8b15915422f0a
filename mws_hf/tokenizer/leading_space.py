"""A space before each stretch of text: what `add_prefix_space=True` and words given one by one ask for.

Most words of running text stand behind a space and were learnt with it; a word without one is cut as at the start of a
document. The space is put by the pre-tokenizer, as in GPT-2 and RoBERTa: once before the text and behind each added
token, unless a space stands there; offsets stay those of the text given.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from mws_hf.tokenizer.stock import Tokenizer, pre_tokenizers

_SPACE_FIRST = pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="always", split=False)
_STATE = json.loads(_SPACE_FIRST.__getstate__())


def has_leading_space(splitter: pre_tokenizers.PreTokenizer | None) -> bool:
    """Tell whether a pre-tokenizer puts a space first.

    >>> from tokenizers.pre_tokenizers import Digits
    >>> has_leading_space(Digits()), has_leading_space(with_leading_space(Digits()))
    (False, True)
    """
    state = json.loads(splitter.__getstate__()) if splitter is not None else {}
    return bool(state.get("type") == "Sequence" and state["pretokenizers"][:1] == [_STATE])


def with_leading_space(splitter: pre_tokenizers.PreTokenizer | None) -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer with a space put first.

    >>> from tokenizers.pre_tokenizers import Digits
    >>> with_leading_space(Digits()).pre_tokenize_str("ab1")
    [(' ab', (0, 2)), ('1', (2, 3))]
    """
    if splitter is not None and has_leading_space(splitter):
        return splitter
    return pre_tokenizers.Sequence([_SPACE_FIRST, *_parts(splitter)])


def without_leading_space(splitter: Any) -> Any:
    """Return the pre-tokenizer without the space that `with_leading_space` put first."""
    if not has_leading_space(splitter):
        return splitter
    rest = _parts(splitter)[1:]
    return pre_tokenizers.Sequence(rest) if len(rest) > 1 else next(iter(rest), None)


def _parts(splitter: pre_tokenizers.PreTokenizer | None) -> list[pre_tokenizers.PreTokenizer]:
    if splitter is None:
        return []
    if not isinstance(splitter, pre_tokenizers.Sequence):
        return [splitter]
    return [splitter[place] for place in range(len(json.loads(splitter.__getstate__())["pretokenizers"]))]


def settle_leading_space(backend: Tokenizer, wanted: bool | None) -> bool:
    """Make a backend put a space first, or not; None changes nothing. Return whether it puts one."""
    if wanted is not None and wanted != has_leading_space(backend.pre_tokenizer):
        change = with_leading_space if wanted else without_leading_space
        backend.pre_tokenizer = change(backend.pre_tokenizer)
    return has_leading_space(backend.pre_tokenizer)


@contextlib.contextmanager
def leading_space(backend: Tokenizer, wanted: bool) -> Iterator[None]:
    """Have a backend put a space first meanwhile, if that is wanted."""
    before = backend.pre_tokenizer
    if not wanted or has_leading_space(before):
        yield
        return
    backend.pre_tokenizer = with_leading_space(before)
    try:
        yield
    finally:
        backend.pre_tokenizer = before
