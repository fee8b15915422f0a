"""Spell the tokens of two tokenizers in each other, for distillation between any models, not of BPE alone."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from mws_hf.atomic import atomic_path
from mws_hf.errors import MwSError
from mws_hf.extend.id_map import kept_rows
from mws_hf.extend.spelling import Spelling
from mws_hf.kernels.arrays import Ints, Longs
from mws_hf.tokenizer.stock import Tokenizer

_SIDES = ("new_in_old", "old_in_new")


@dataclass(frozen=True)
class Spellings:
    """The pieces that each token of one tokenizer falls into in the other, as sparse rows.

    Attributes:
        starts: int64 (tokens + 1,), start of each token's pieces in `ids` and `offsets`, and the end.
        ids: int32 (pieces,), ids in the other tokenizer.
        offsets: int32 (pieces, 2), first byte of each piece within the token, and the byte behind its last.
    """

    starts: Longs
    ids: Ints
    offsets: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def pieces(self, token: int) -> list[int]:
        """List the ids that spell a token; empty for special tokens that the other lacks, and where none spell it."""
        return [int(each) for each in self.ids[self.starts[token] : self.starts[token + 1]]]

    @property
    def without_pieces(self) -> int:
        """The number of tokens without pieces."""
        return int((np.diff(self.starts) == 0).sum())

    @cached_property
    def lengths(self) -> Longs:
        """int64 (tokens,): bytes of each token; 0 for special tokens and for tokens without pieces."""
        full = np.nonzero(np.diff(self.starts))[0]
        lengths = np.zeros(len(self), np.int64)
        lengths[full] = self.offsets[self.starts[full + 1] - 1, 1]
        return lengths


@dataclass(frozen=True)
class TokenMap:
    """Two tokenizers' tokens in terms of each other.

    Attributes:
        new_in_old: each token of the new tokenizer in pieces of the old one.
        old_in_new: the reverse.
    """

    new_in_old: Spellings
    old_in_new: Spellings

    @cached_property
    def shared(self) -> tuple[Longs, Longs]:
        """Tokens in both, as new ids and old ids: each is one piece in the other, and that the token itself."""
        new = np.nonzero(np.diff(self.new_in_old.starts) == 1)[0]
        old = self.new_in_old.ids[self.new_in_old.starts[new]].astype(np.int64)
        back = np.diff(self.old_in_new.starts)[old] == 1
        new, old = new[back], old[back]
        same = self.old_in_new.ids[self.old_in_new.starts[old]] == new
        return new[same], old[same]

    def common_ends(self, old_ids: Any, new_ids: Any) -> tuple[Longs, Longs]:
        """Find where two cuts of the same text end a token at the same byte.

        Args:
            old_ids: the text as the old tokenizer cuts it, without special tokens.
            new_ids: the same text as the new one cuts it.

        Returns:
            Indices of the tokens of each cut that end there, int64: the k-th of one with the k-th of the other.
        """
        old_ends = np.cumsum(self.old_in_new.lengths[np.asarray(old_ids, np.int64)])
        new_ends = np.cumsum(self.new_in_old.lengths[np.asarray(new_ids, np.int64)])
        _, old, new = np.intersect1d(old_ends, new_ends, return_indices=True)
        return old, new

    def save(self, path: str | os.PathLike[str], **facts: str) -> None:
        """Write a .safetensors file, atomically; `facts` go into its metadata."""
        arrays = {
            f"{side}.{part.name}": np.ascontiguousarray(getattr(getattr(self, side), part.name))
            for side in _SIDES
            for part in fields(Spellings)
        }
        with atomic_path(path) as temporary:
            save_file(arrays, temporary, {"format": "mws-hf token map 1", **facts})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TokenMap:
        """Read a file that `save` wrote.

        Raises:
            MwSError: there is no such file, or it holds no map.
        """
        try:
            with safe_open(path, framework="numpy") as file:
                sides = [
                    Spellings(**{part.name: file.get_tensor(f"{side}.{part.name}") for part in fields(Spellings)})
                    for side in _SIDES
                ]
        except (OSError, SafetensorError) as error:
            raise MwSError(f"{path}: not a map that `mws map` wrote ({error}); write it again") from error
        return cls(*sides)


def map_tokens(old: Tokenizer, new: Tokenizer) -> TokenMap:
    """Spell every token of each of two tokenizers in the other.

    A token with the same bytes in both is one piece; special tokens meet by name. Where a token's bytes are not text,
    such as half a character, its pieces are single bytes.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> def made(merges):
    ...     return build_backend(base_vocab(["<|end|>"], "abc", merges), merges, special_tokens=["<|end|>"])
    >>> old, new = made([("a", "b")]), made([("b", "c"), ("a", "bc")])
    >>> found = map_tokens(old, new)
    >>> token = new.token_to_id("abc")
    >>> [old.id_to_token(piece) for piece in found.new_in_old.pieces(token)]
    ['ab', 'c']
    >>> found.new_in_old.offsets[found.new_in_old.starts[token] :].tolist()
    [[0, 2], [2, 3]]
    >>> common = found.common_ends(old.encode("abcab").ids, new.encode("abcab").ids)
    >>> [each.tolist() for each in common]  # "abc" ends with the second and the first token, and so the text
    [[1, 2], [0, 2]]
    """
    spellings = Spelling(old), Spelling(new)
    kept = kept_rows(spellings[0].backend, spellings[1].backend)
    back = {index: number for number, index in kept.items()}
    return TokenMap(_spelt(spellings[1], spellings[0], kept), _spelt(spellings[0], spellings[1], back))


def _spelt(these: Spelling, others: Spelling, same: dict[int, int]) -> Spellings:
    """Spell the tokens of one tokenizer in pieces of another; tokens of `same` are known to be a token there."""
    names = {token.content: index for index, token in others.backend.get_added_tokens_decoder().items()}
    ids: list[int] = []
    ends: list[int] = []
    counts = []
    for index, piece in enumerate(these.pieces):
        token = these.backend.id_to_token(index)
        if index in same:
            found = [same[index]] if token is not None else []
        elif piece in others.by_bytes:
            found = [others.by_bytes[piece]]
        elif piece:
            found = others.spell(piece)
        else:
            found = [names[token]] if token in names else []
        ids += found
        ends += accumulate(len(others.pieces[each]) for each in found)
        counts.append(len(found))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    behind = np.array(ends, np.int32)
    first = np.concatenate([[0], behind[:-1]]).astype(np.int32)
    first[starts[:-1][np.array(counts, np.int64) > 0]] = 0
    return Spellings(starts, np.array(ids, np.int32), np.stack([first, behind], axis=1))


def vocabulary_digest(tokenizer: Tokenizer) -> str:
    """Hash a vocabulary, to tell whether a map belongs to a tokenizer."""
    entries = sorted(tokenizer.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
    return hashlib.sha256(repr(entries).encode(errors="surrogatepass")).hexdigest()
