"""The tables of a byte-level tokenizer as other formats want them, and why some tokenizers have none."""

from __future__ import annotations

import json
from typing import NamedTuple

from tokenizers import AddedToken, Tokenizer

from mws_hf.backend import alphabet_of, is_byte_level, pattern_of, tables_of
from mws_hf.errors import MwSError
from mws_hf.leading_space import has_leading_space


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
    """The tables of a byte-level tokenizer that another format can carry.

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
    model = json.loads(backend.to_str())["model"]
    if model["dropout"] or model["ignore_merges"] or model["continuing_subword_prefix"] or model["end_of_word_suffix"]:
        raise MwSError("its BPE has dropout, ignore_merges or affixes, which would be lost; train one without")
    by_id = {number: token for token, number in backend.get_vocab(with_added_tokens=True).items()}
    if sorted(by_id) != list(range(len(by_id))):
        raise MwSError("its ids have holes, which this format cannot have; save it again with all ids in use")
    tokens = [by_id[number] for number in range(len(by_id))]
    return ByteTables(tokens, merges, dict(sorted(backend.get_added_tokens_decoder().items())), pattern_of(backend))
