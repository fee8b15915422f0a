"""Make a byte-level tokenizer from one of characters, or one that splits otherwise from a byte-level one.

All ids are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from mws_hf.errors import MwSError
from mws_hf.text.byte_alphabet import BYTE_CHARACTERS, byte_level_merges, check_added_tokens, to_byte_level
from mws_hf.text.pattern import literal_pattern
from mws_hf.text.special import BYTE_TOKENS
from mws_hf.tokenizer.backend import alphabet_of, check_ids, pattern_of, tables_of
from mws_hf.tokenizer.stock import Regex, Tokenizer, decoders, models, pre_tokenizers


def to_byte_level_backend(backend: Tokenizer, pattern: str | None = None) -> Tokenizer:
    """Tell the merges of a tokenizer of characters in the byte alphabet; of a byte-level one change the pattern alone.

    A model trained with the old ids goes on with the new tokenizer: tokens keep their ids, the byte tokens become the
    bytes (an ASCII character and its byte token were two, and the latter is left unused), and beginnings of characters
    that have no id yet get new ones at the end. Ids differ only where characters outside the vocabulary occur, and
    where another pattern, or its name, is given.

    Raises:
        MwSError: the tokenizer is byte-level already and no pattern is given, it puts a space before the text or splits
            by more than a pattern, or an added token would not survive.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("о", "н"), (" ", "он")]
    >>> old = build_backend(base_vocab((), " но", merges), merges)
    >>> new = to_byte_level_backend(old)
    >>> new.encode("но он я").ids == old.encode("но он я").ids
    True
    """
    vocab, merges = tables_of(backend)
    in_characters = alphabet_of(vocab) == "characters"
    if pattern is None and not in_characters:
        raise MwSError("it is byte-level already; export it as gguf or tiktoken, give it another --pattern, or use it")
    there = pattern_of(backend)
    wanted = there if pattern is None else literal_pattern(pattern)
    new = _in_bytes(backend, vocab, merges) if in_characters else Tokenizer.from_str(backend.to_str())
    splitter = pre_tokenizers.Split(Regex(wanted), behavior="isolated")
    spelled = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    new.pre_tokenizer = pre_tokenizers.Sequence([splitter, spelled])
    return new


def _in_bytes(backend: Tokenizer, vocab: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
    """Return the same tokenizer in bytes, without a pre-tokenizer."""
    added = {token.content: number for number, token in backend.get_added_tokens_decoder().items()}
    check_added_tokens(list(added))
    characters = [token for token in vocab if len(token) == 1 and token not in added]
    in_bytes = byte_level_merges(characters, merges)
    recoded = _recoded(vocab, added, in_bytes)
    check_ids(recoded)
    spec = json.loads(backend.to_str())
    new = Tokenizer(models.BPE(vocab=recoded, merges=in_bytes, fuse_unk=False, byte_fallback=False))
    new.normalizer = backend.normalizer
    new.decoder = decoders.ByteLevel()
    told = json.loads(new.to_str())
    told |= {key: spec[key] for key in ("added_tokens", "post_processor")}
    return Tokenizer.from_str(json.dumps(told, ensure_ascii=False))


def _recoded(vocab: dict[str, int], added: dict[str, int], merges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Give the old ids their names in the byte alphabet, and new ids to further products of the merges."""
    byte_ids = {token: vocab[token] for token in BYTE_TOKENS}
    recoded = dict(added)  # else new ids would be theirs
    for token, number in vocab.items():
        if token not in byte_ids and token not in added:
            recoded[to_byte_level(token)] = number
    for token, character in zip(BYTE_TOKENS, BYTE_CHARACTERS, strict=True):
        recoded[token if character in recoded else character] = byte_ids[token]
    following = max(recoded.values()) + 1
    for left, right in merges:
        if left + right not in recoded:
            recoded[left + right] = following
            following += 1
    return recoded
