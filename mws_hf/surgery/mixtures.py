"""Compute new embeddings as weighted means of old ones (mixtures).

Tokens are matched by their raw bytes, so that byte-level, metaspace and character-level tokenizers can replace each
other. If the tokenizer was extended or trimmed, each old token keeps its embedding bit for bit. All tensors that have a
row per token get the same mixtures.
"""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from tokenizers import Tokenizer

from mws_hf.errors import MwSError, SettingError
from mws_hf.learn.setting_rules import Range, check_range
from mws_hf.surgery.base import IdMap, raw_bytes
from mws_hf.surgery.model_tables import Table
from mws_hf.text.capitals import MARKER, restore_capitals
from mws_hf.text.symbols import ROLES
from mws_hf.tokenizer.layout import IDS_FILE
from mws_hf.tokenizer.spec import capitals_of, for_counted_words, without_limits

Mixture: TypeAlias = tuple[list[int], list[float]]
"""Old ids and their weights, which add up to 1. A single id means a copy; no ids mean the mean of all old rows."""

INITS = ("mean", "quiet")
_NEVER = [bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]
"""Bytes that never occur in UTF-8, so that a model has learned never to predict their tokens."""
_LARGEST_MULTIPLE = 256
"""The largest multiple to which the rows of new embeddings are rounded up if the caller names none."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TransplantReport:
    """The number of new embeddings by the way in which they were computed.

    Attributes:
        special: embeddings of special tokens, matched by role or by name.
        copied: embeddings of tokens with the same bytes in both vocabularies, and kept rows that no token uses.
        mixed: means of the embeddings of the old tokens that spell the new one.
        fallback: means of all old embeddings, for tokens that the old tokenizer cannot spell, such as a special token
            that it lacks.
        padding: rows after the vocabulary, which no token uses.
    """

    special: int
    copied: int
    mixed: int
    fallback: int
    padding: int = 0


class Spelling:
    """The bytes of each id of a tokenizer, and the ids that spell given bytes.

    Attributes:
        backend: the tokenizer without truncation and padding.
        pieces: bytes of each id below `rows`, from `raw_bytes`; `spell` uses only these ids.
        by_bytes: the first id with each of these byte strings.
    """

    def __init__(self, original: Tokenizer, rows: int | None = None) -> None:
        self.backend = without_limits(original)
        self._capitals, self._marked = capitals_of(self.backend), for_counted_words(self.backend)
        self.pieces = raw_bytes(self.backend)[:rows]
        # if several ids have the same bytes the first counts, so they are inserted in reverse order
        self.by_bytes = {piece: index for index, piece in reversed(list(enumerate(self.pieces))) if piece}
        self._drops_spaces = type(self.backend.model).__name__ == "WordPiece"

    def spell(self, piece: bytes) -> list[int]:
        """Return ids that spell bytes, without a word mark that the tokenizer itself adds; [] if no ids spell them.

        >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
        >>> merges = [("a", "b")]
        >>> spelling = Spelling(build_backend(base_vocab([], "abc", merges), merges))
        >>> [spelling.backend.id_to_token(index) for index in spelling.spell("abcж".encode())]
        ['ab', 'c', '<0xD0>', '<0xB6>']
        >>> spelling.spell("ж".encode()[:1]) == [0xD0]
        True
        """
        try:
            text = piece.decode()
        except UnicodeDecodeError:  # a part of a character, maybe with more
            return self._singly([bytes([byte]) for byte in piece])
        backend = self._marked if MARKER in text else self.backend  # a token with a marker for capitals has it already
        for attempt in (text, text.removeprefix(" ")):
            ids = backend.encode(attempt, add_special_tokens=False).ids
            if max(ids, default=0) >= len(self.pieces):
                continue
            spelled = b"".join(self.pieces[index] for index in ids)
            if self._capitals and MARKER not in text:
                spelled = restore_capitals(spelled.decode("utf-8", "replace"), self._capitals).encode()
            if spelled == piece or (self._drops_spaces and spelled == piece.removeprefix(b" ")):
                return ids
            if spelled == b" " + piece and self.pieces[ids[0]] == b" ":
                return ids[1:]
        return self._singly([character.encode() for character in text])

    def _singly(self, parts: list[bytes]) -> list[int]:
        """Return an id for each part; an empty list if a part has no id."""
        ids = [self.by_bytes.get(part, -1) for part in parts]
        return [] if -1 in ids else ids


def mix_rows(
    old_tokenizer: Any,
    new_tokenizer: Any,
    init: str,
    rows: int,
    pad_to_multiple: int | None,
    ids: IdMap | None = None,
) -> tuple[list[Mixture], TransplantReport]:
    """Compute, for each new row, the old rows whose weighted mean it is.

    Args:
        old_tokenizer: the tokenizer of the old embeddings.
        new_tokenizer: the tokenizer of the new embeddings.
        init: one of `INITS`; see `transplant`.
        rows: number of rows of the old embeddings.
        pad_to_multiple: see `transplant`.
        ids: the new id of each old id; None to match tokens by their strings.

    Returns:
        A mixture for each row of the new embeddings, and how many of them were computed in which way.

    Raises:
        MwSError: as in `transplant`, or `ids` does not fit the two tokenizers.
    """
    if init not in INITS:
        raise SettingError("init", init, f"is unknown; choose one of {', '.join(INITS)}")
    old, new = Spelling(backend_of(old_tokenizer), rows), backend_of(new_tokenizer)
    old_size, pieces = _size_with_rows(old.backend, rows), raw_bytes(new)
    n_rows = row_count(rows, old_size, len(pieces), pad_to_multiple)
    kept = {number: index for number, index in kept_rows(old.backend, new, ids).items() if index < rows}
    mixtures, report = _mean_mixtures(old, pieces, _special_matches(old_tokenizer, new_tokenizer, rows), kept)
    if init == "quiet":
        mixtures = quieted(mixtures, old)
    report = dataclasses.replace(report, padding=n_rows - len(pieces))
    for index in range(len(pieces), n_rows):
        spare = index if index >= old_size else old_size + index - len(pieces)
        mixtures.append(([spare], [1.0]) if spare < rows else ([], []))
    return mixtures, report


def _size_with_rows(old: Tokenizer, rows: int) -> int:
    """Return the largest id plus one, without added tokens for which the model has no row; warn of such tokens.

    An example is a pad token that is only in tokenizer_config.json. The model can never have read such a token.
    """
    added, vocab = old.get_added_tokens_decoder(), old.get_vocab()
    beyond = sorted((number, token) for token, number in vocab.items() if number >= rows)
    if not beyond or any(number not in added for number, _ in beyond):
        return max(vocab.values(), default=-1) + 1
    logger.warning(
        "the model has no embedding for %s, so it was never trained with it; the new model gets an embedding, "
        "initialized like that of a new token: train the model before you use it",
        ", ".join(repr(token) for _, token in beyond),
    )
    return rows


def kept_rows(old: Tokenizer, new: Tokenizer, ids: IdMap | None = None) -> dict[int, int]:
    """Return the old id of each new id whose token is the same.

    Tokens are matched by `ids` (ids.json). Without `ids`, they are matched by their strings if both tokenizers have the
    same decoder; if not, the result is empty. An id that has no token in either tokenizer is matched with itself.

    Raises:
        MwSError: `ids` belongs to a different base.
    """
    size, old_size = (max(backend.get_vocab().values(), default=-1) + 1 for backend in (new, old))
    if ids is not None:
        _check_map(old, new, ids, old_size)
        return {number: index for index, number in ids.items() if number is not None}
    decoders = [None if backend.decoder is None else backend.decoder.__getstate__() for backend in (old, new)]
    if decoders[0] != decoders[1]:  # equal strings may then be different bytes
        return {}
    found = {}
    for index in range(size):
        token = new.id_to_token(index)
        source = index if token is None and old.id_to_token(index) is None else old.token_to_id(token or "")
        if source is not None:
            found[index] = source
    return found


def _check_map(old: Tokenizer, new: Tokenizer, ids: IdMap, old_size: int) -> None:
    """Raise MwSError unless ids.json maps all ids of the old tokenizer to the same tokens of the new one."""
    remedy = f"{IDS_FILE} belongs to a different base; give its model, or remove {IDS_FILE} to match tokens by string"
    if len(ids) != old_size:
        raise MwSError(f"{IDS_FILE} maps {len(ids)} ids but the model's tokenizer has {old_size}: {remedy}")
    for index, number in ids.items():
        if number is not None and old.id_to_token(index) != new.id_to_token(number):
            tokens = f"{index} is {old.id_to_token(index)!r}, but {number} is {new.id_to_token(number)!r}"
            raise MwSError(f"{IDS_FILE} maps id {index} to {number}, but token {tokens}: {remedy}")


def row_count(rows: int, old_size: int, new_size: int, pad_to_multiple: int | None) -> int:
    """Compute the number of rows of the new embeddings.

    Without `pad_to_multiple`, rows are padded as in the base: there is no padding if the base has none. Otherwise the
    number of rows is a multiple of the largest power of two, at most 256, that divides the old number, and it is never
    smaller than the old number unless the vocabulary became smaller.

    Args:
        rows: number of rows of the old embeddings.
        old_size: largest old id plus one.
        new_size: largest new id plus one.
        pad_to_multiple: if it is given, `new_size` is rounded up to a multiple of this.

    Raises:
        MwSError: `rows` is smaller than `old_size`, or `pad_to_multiple` is not a whole number from 1 up.

    >>> row_count(262_208, 262_145, 278_145, None), row_count(151_936, 151_665, 151_700, None)  # Gemma 3, Qwen 2.5
    (278208, 151936)
    >>> row_count(500, 500, 480, None), row_count(512, 500, 450, None), row_count(500, 500, 450, 64)
    (480, 512, 512)
    """
    if rows < old_size:
        raise MwSError(
            f"the model has {rows} rows of embeddings, but its tokenizer has {old_size} ids; give the tokenizer that "
            "it was trained with, or resize its embeddings first"
        )
    check_range("pad_to_multiple", pad_to_multiple, Range(1, whole=True), optional=True)
    if pad_to_multiple is not None:
        return -(-new_size // pad_to_multiple) * pad_to_multiple
    if rows == old_size:
        return new_size
    if old_size <= new_size <= rows:
        return rows
    multiple = min(rows & -rows, _LARGEST_MULTIPLE)
    return -(-new_size // multiple) * multiple


def _special_matches(old_tokenizer: Any, new_tokenizer: Any, rows: int) -> dict[int, int]:
    """Return the old id of each new special token, matched by role, then by name.

    A role that the old tokenizer lacks is matched with its end token.
    """
    matches: dict[int, int] = {}
    end = getattr(old_tokenizer, "eos_token_id", None)
    for role in ROLES:
        index, old = (getattr(tokenizer, f"{role}_id", None) for tokenizer in (new_tokenizer, old_tokenizer))
        source = end if old is None or old >= rows else old
        if index is not None and source is not None:
            matches.setdefault(index, source)
    vocab = backend_of(old_tokenizer).get_vocab(with_added_tokens=True)
    for index, token in backend_of(new_tokenizer).get_added_tokens_decoder().items():
        if token.special and token.content in vocab:
            matches.setdefault(index, vocab[token.content])
    return {index: source for index, source in matches.items() if source < rows}


def _mean_mixtures(
    old: Spelling, new_pieces: list[bytes], special: dict[int, int], kept: dict[int, int]
) -> tuple[list[Mixture], TransplantReport]:
    """Compute the mixture of each new id by FVT: a copy, or the mean of the old tokens that spell the new one."""
    mixtures: list[Mixture] = []
    copied = mixed = 0
    for index, piece in enumerate(new_pieces):
        if index in kept:
            mixtures.append(([kept[index]], [1.0]))
            copied += index not in special
        elif index in special:
            mixtures.append(([special[index]], [1.0]))
        elif piece in old.by_bytes:
            mixtures.append(([old.by_bytes[piece]], [1.0]))
            copied += 1
        elif piece and (ids := old.spell(piece)):
            mixtures.append((ids, [1 / len(ids)] * len(ids)))
            mixed += 1
        else:
            mixtures.append(([], []))
    return mixtures, TransplantReport(len(special), copied, mixed, len(mixtures) - len(special) - copied - mixed)


def quieted(mixtures: list[Mixture], old: Spelling) -> list[Mixture]:
    """Mix half of the embeddings of bytes that no text has into each new embedding that is a mean.

    A model has learned never to predict these bytes. So before new tokens are trained, they take little probability
    from old ones, whether the head is tied or not. Embeddings that are copied from one old token are not changed.
    """
    never = [old.by_bytes[byte] for byte in _NEVER if byte in old.by_bytes]
    if not never:
        raise SettingError("init", "quiet", "needs tokens of single bytes, which the old one lacks; choose 'mean'")
    silence = [0.5 / len(never)] * len(never)
    return [
        (ids + never, [weight / 2 for weight in weights] + silence) if len(ids) > 1 else (ids, weights)
        for ids, weights in mixtures
    ]


def _means(matrix: torch.Tensor, mixtures: list[Mixture]) -> torch.Tensor:
    """Compute weighted means of rows in float32, shape (mixtures, width); only rows that occur are converted."""
    flat = torch.tensor([index for ids, _ in mixtures for index in ids], device=matrix.device, dtype=torch.long)
    weights = torch.tensor([weight for _, shares in mixtures for weight in shares], device=matrix.device)
    starts = torch.tensor([0, *(len(ids) for ids, _ in mixtures)], device=matrix.device).cumsum(0)[:-1]
    used, places = flat.unique(return_inverse=True)
    return torch.nn.functional.embedding_bag(
        places, matrix[used].float(), starts, mode="sum", per_sample_weights=weights.float()
    )


def new_table(old: torch.Tensor, table: Table, mixtures: list[Mixture]) -> torch.Tensor:
    """Compute the new rows of a tensor with a row per token; copied rows are equal bit for bit.

    If a table has fewer rows than ids, an id without a row uses the first row, as in Gemma.

    Args:
        old: the tensor.
        table: its description; the tokens are along `table.axis`.
        mixtures: a mixture for each new row.

    Returns:
        A tensor of the same dtype and shape, but with len(mixtures) rows along `table.axis`.
    """
    if table.rows <= max((index for ids, _ in mixtures for index in ids), default=0):
        mixtures = [([index if index < table.rows else 0 for index in ids], weights) for ids, weights in mixtures]
    entries = old.movedim(table.axis, 0)
    matrix = entries.reshape(len(entries), -1)
    rows = matrix.new_empty((len(mixtures), matrix.shape[1]))
    single = [index for index, (ids, _) in enumerate(mixtures) if len(ids) == 1]
    rows[single] = matrix[[mixtures[index][0][0] for index in single]]
    if mixed := [index for index, (ids, _) in enumerate(mixtures) if len(ids) > 1]:
        rows[mixed] = _means(matrix, [mixtures[index] for index in mixed]).to(matrix.dtype)
    if empty := [index for index, (ids, _) in enumerate(mixtures) if not ids]:
        rows[empty] = matrix.mean(0, dtype=torch.float32).to(matrix.dtype)
    return rows.view(len(rows), *entries.shape[1:]).movedim(0, table.axis).contiguous()


def backend_of(tokenizer: Any) -> Tokenizer:
    """Return the backend of a fast tokenizer; raise MwSError for a slow one."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not isinstance(backend, Tokenizer):
        name = type(tokenizer).__name__
        raise MwSError(f"{name} is not a fast tokenizer; load one with AutoTokenizer from a folder with tokenizer.json")
    return backend
