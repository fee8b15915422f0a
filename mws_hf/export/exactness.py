"""The parts of every export: the tables of a byte-level tokenizer, and the check of a reader's ids and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mws_hf.errors import MwSError
from mws_hf.tokenizer.backend import alphabet_of, is_byte_level, pattern_of, tables_of
from mws_hf.tokenizer.leading_space import has_leading_space
from mws_hf.tokenizer.spec import Spec
from mws_hf.tokenizer.stock import AddedToken, Tokenizer


class ByteTables(NamedTuple):
    """A byte-level BPE.

    Attributes:
        tokens: by id; ordinary ones in the byte alphabet, added ones as they stand in text.
        merges: (left, right) in rank order, in the byte alphabet.
        added: id -> added token.
        pattern: the split pattern.
    """

    tokens: list[str]
    merges: list[tuple[str, str]]
    added: dict[int, AddedToken]
    pattern: str


def byte_tables(backend: Tokenizer) -> ByteTables:
    """Read the tables of a byte-level tokenizer that another format can carry.

    Raises:
        MwSError: the tokenizer is of characters, normalizes, puts a space first, adds tokens around a text, or its ids
            have holes.
    """
    vocab, merges = tables_of(backend)
    if alphabet_of(vocab) != "bytes" or not is_byte_level(backend):
        raise MwSError(
            "this format knows byte-level tokenizers only, and this one is of characters; train with "
            "--byte-level (for llama.cpp `mws export DIR --format byte-level --pattern llama3` will do)"
        )
    if backend.normalizer is not None:
        raise MwSError(f"its normalizer ({type(backend.normalizer).__name__}) would be lost; train without")
    if has_leading_space(backend.pre_tokenizer):
        raise MwSError("its add_prefix_space would be lost; save it with add_prefix_space=False first")
    if not Spec.of(backend).plain:
        raise MwSError("its BPE has dropout, ignore_merges or affixes, which would be lost; train one without")
    by_id = {number: token for token, number in backend.get_vocab(with_added_tokens=True).items()}
    if sorted(by_id) != list(range(len(by_id))):
        raise MwSError("its ids have holes, which this format cannot have; save it again with all ids in use")
    tokens = [by_id[number] for number in range(len(by_id))]
    return ByteTables(tokens, merges, dict(sorted(backend.get_added_tokens_decoder().items())), pattern_of(backend))


class IdComparison(NamedTuple):
    """The differences between a reader and `tokenizers`.

    Attributes:
        texts: number of texts compared.
        ids: the texts that the reader cuts otherwise.
        decoded: the texts whose ids the reader decodes to another text than `tokenizers` does.
    """

    texts: int
    ids: list[str]
    decoded: list[str]


def compare_ids(
    backend: Tokenizer,
    texts: Iterable[str],
    encode: Callable[[str], Sequence[int]],
    decode: Callable[[list[int]], str] | None = None,
) -> IdComparison:
    """Compare a reader with `tokenizers`, text by text; special tokens in a text count as such, none are added.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> backend = build_backend(base_vocab((), "ab"), [])
    >>> compare_ids(backend, ["ab", "ba"], lambda text: [256, 257])
    IdComparison(texts=2, ids=['ba'], decoded=[])
    """
    wrong_ids, wrong_text, number = [], [], 0
    for text in texts:
        number += 1
        ids = backend.encode(text, add_special_tokens=False).ids
        if list(encode(text)) != ids:
            wrong_ids.append(text)
        if decode is not None and decode(ids) != backend.decode(ids, skip_special_tokens=False):
            wrong_text.append(text)
    return IdComparison(number, wrong_ids, wrong_text)


def refuse_differences(found: IdComparison, what: str, remedy: str) -> None:
    """Stop an export that would not be exact.

    Raises:
        MwSError: ids or a decoded text differ; the first text is shown.
    """
    if found.ids or found.decoded:
        kind, first = ("ids", found.ids[0]) if found.ids else ("decoded text", found.decoded[0])
        number = len(found.ids or found.decoded)
        shown = repr(first if len(first) < 60 else first[:57] + "...")
        raise MwSError(
            f"{what} would give other {kind} on {number:,} of {found.texts:,} texts, {shown} for one; {remedy}"
        )
