"""Read a pretrained tokenizer to extend or trim it (`Base`), and save the changed tokenizer (`Rewritten`).

There are two kinds of tokenizers. A byte-level BPE (GPT-2, Llama 3, Qwen) writes each byte of UTF-8 as a printable
character. A BPE with byte fallback (Llama 2, Gemma) writes characters, and unknown ones as tokens such as ``<0xD0>``.

The bytes of an id are computed from the tokenizer.json. Decoding a single id is not enough, because a part of a
character decodes to a replacement character, and a word mark to nothing.

Saving a changed tokenizer also copies other files from the folder of its base, on disk or on the Hub, and writes
ids.json, which contains the new id of each old id.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from tokenizers import Tokenizer

from mws_hf.atomic import staged, write_json
from mws_hf.errors import MwSError
from mws_hf.kernels import Longs
from mws_hf.surgery.ids import ids_of_parts, renumbered_config
from mws_hf.text.symbols import BYTE_TOKENS, bytes_of, to_byte_level
from mws_hf.tokenizer.backend import HIGHEST_ID, check_added
from mws_hf.tokenizer.file import content_of, load_json, load_settings, read_spec, roles_in
from mws_hf.tokenizer.layout import (
    ADDED_FILE,
    CONFIG_FILE,
    IDS_FILE,
    MAP_FILE,
    TOKENIZER_FILE,
    FileKind,
    files,
    patterns,
)
from mws_hf.tokenizer.links import copy_inside
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.places import tokenizer_folder
from mws_hf.tokenizer.spec import Spec, parts_of

logger = logging.getLogger(__name__)
_BATCH = 1024

_NO_PREFIX: dict[str, dict[str, Any]] = {
    "Metaspace": {"prepend_scheme": "never", "add_prefix_space": False},
    "ByteLevel": {"add_prefix_space": False},
}

IdMap: TypeAlias = Mapping[int, int | None]
"""The new id of each old id, ascending; None if the token was removed."""


def read_ids(file: Path) -> dict[int, int | None]:
    """Read an ids.json, the new id of each old id.

    Raises:
        MwSError: the file is not a JSON object of ids, or two old ids have the same new id.
    """
    content = load_json(file)
    if not isinstance(content, dict):
        raise MwSError(f'{file}: not a JSON object such as {{"0": 0, "1": null}}; trim or extend the base again')
    ids: dict[int, int | None] = {}
    owners: dict[int, int] = {}
    for old, new in content.items():
        is_new_id = new is None or (type(new) is int and 0 <= new <= HIGHEST_ID)
        if not (old.isdecimal() and int(old[:20]) <= HIGHEST_ID and is_new_id):
            raise MwSError(f"{file}: {old!r}: {new!r} is not a pair of ids; trim or extend the base again")
        ids[int(old)] = new
        if new is not None and owners.setdefault(new, int(old)) != int(old):
            raise MwSError(f"{file}: ids {owners[new]} and {old} both become {new}; trim or extend the base again")
    return ids


def open_base(source: Any) -> Base:
    """Open a tokenizer that can be extended and trimmed.

    Tokens that are only in files next to the tokenizer.json, such as a pad token in tokenizer_config.json, get the ids
    that transformers gives them.

    Args:
        source: anything that `tokenizer.opened.open_tokenizer` takes, or a `Base`. Its model must be a BPE, byte-level
            or with byte fallback.

    Raises:
        MwSError: the tokenizer is missing, damaged or of an unsupported kind.
    """
    if isinstance(source, Base):
        return source
    opened = open_tokenizer(source)
    place = opened.place if opened.live is not None and isinstance(source, str | os.PathLike) else None
    if place is None:
        return Base.of(opened.backend, opened.name, named=getattr(opened.live, "all_special_tokens", ()))
    file = place / TOKENIZER_FILE if place.is_dir() else place
    spec = read_spec(file) if file.suffix == ".json" and file.is_file() else opened.spec.raw
    if spec["model"].get("dropout"):  # the opened tokenizer leaves it out, too
        spec = {**spec, "model": {**spec["model"], "dropout": None}}
    named = named_tokens(file.parent)
    if named.difference(opened.backend.get_vocab()):
        added = [*spec.get("added_tokens", []), *_counted_by_class(opened, file.parent)]
        spec = {**spec, "added_tokens": added}
        return Base.of(Spec(spec).open(), opened.name, spec, named)
    return Base.of(opened.backend, opened.name, spec, named)


def named_tokens(folder: Path) -> set[str]:
    """Return the tokens that the files next to a tokenizer.json contain."""
    found = set(load_settings(folder / ADDED_FILE))
    for name in (CONFIG_FILE, MAP_FILE):
        settings = load_settings(folder / name)
        decoder, extra = settings.get("added_tokens_decoder") or {}, settings.get("extra_special_tokens") or []
        listed = [*roles_in(settings).values(), *decoder.values()]
        listed += extra.values() if isinstance(extra, dict) else extra
        listed += settings.get("additional_special_tokens") or []
        found.update(token for token in map(content_of, listed) if isinstance(token, str))
    return found


def _counted_by_class(opened: Opened, folder: Path) -> list[dict[str, Any]]:
    """Return the added tokens that a tokenizer.json lacks, with the ids that the class of transformers gives them."""
    here = opened.backend.get_vocab()
    counted = open_tokenizer(folder, by_class=True).of_transformers.backend_tokenizer
    vocab = counted.get_vocab()
    if any(vocab.get(token) != number for token, number in here.items()):
        raise MwSError(
            f"{opened.name}: the class in {CONFIG_FILE} gives different ids from {TOKENIZER_FILE}; save it once with "
            "AutoTokenizer.from_pretrained(...).save_pretrained(...)"
        )
    return [
        {"id": number, **token.__getstate__()}
        for number, token in sorted(counted.get_added_tokens_decoder().items())
        if token.content not in here
    ]


class Rewritten:
    """A changed tokenizer: the base class of `Extension` and `Trimming`.

    Attributes:
        spec: the new tokenizer.json.
    """

    spec: dict[str, Any]

    @property
    def old_ids(self) -> IdMap:
        """The new id of each id of the tokenizer that was read."""
        raise NotImplementedError

    @property
    def records(self) -> Mapping[str, Any]:
        """The content of JSON files that are saved next to the tokenizer, by file name."""
        return {}

    def save(
        self,
        directory: str | os.PathLike[str],
        source: str | os.PathLike[str] | None = None,
        records: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write a tokenizer folder with ids.json, atomically.

        Args:
            directory: where to write.
            source: the tokenizer that was changed: a folder, a file or a name on the Hub. The settings next to its
                tokenizer.json are copied. With None nothing is copied.
            records: the content of more JSON files, by file name.

        Returns:
            Names of files that are not copied, because they have the old vocabulary in another format.

        Raises:
            MwSError: `source` has no tokenizer, or the folder cannot be written.
        """
        home = None if source is None else tokenizer_folder(source)
        with staged(Path(directory), patterns(FileKind.SETTINGS, FileKind.FOREIGN, FileKind.CHANGE)) as stage:
            for name, record in {**(records or {}), **self.records}.items():
                write_json(stage / name, record)
            write_json(stage / TOKENIZER_FILE, self.spec, indent=2, end="")
            write_json(stage / IDS_FILE, self.old_ids, indent=None)
            if home is None:
                return []
            config = home / CONFIG_FILE
            settings = load_settings(config)
            named = config.read_text(encoding="utf-8") if config.is_file() else ""
            modules = [Path(file.name) for file in home.glob("*.py") if file.stem in named]  # copied, never run
            for file in (*files(home, FileKind.SETTINGS), *modules):
                copy_inside(home, file, stage)
            if (changed := renumbered_config(settings, self.old_ids)) != settings:
                write_json(stage / CONFIG_FILE, changed, indent=2)
        return [str(name) for name in files(home, FileKind.FOREIGN)]

    def check_ids(self, expected: Mapping[str, int | None]) -> None:
        """Raise MwSError unless `tokenizers` gives each token its expected id.

        Args:
            expected: the id of each token of the new vocabulary.
        """
        found = self.tokenizer.get_vocab(with_added_tokens=True)
        if found != expected:
            token = min(found.items() ^ expected.items(), key=str)[0]
            raise MwSError(
                f"token {token!r} would get id {found.get(token)} instead of {expected.get(token)}; "
                "please report this as a bug of mws_hf"
            )

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The changed tokenizer, loaded from `spec`."""
        return Spec(self.spec).open()


@dataclass(frozen=True)
class Base:
    """A pretrained tokenizer as it was read; it is immutable.

    Attributes:
        spec: the tokenizer.json.
        byte_level: whether symbols are bytes in the alphabet of GPT-2; if not, they are characters, with byte fallback.
        mark: the character that stands for a space.
        vocab: the id of each token, including added tokens, as `tokenizers` numbers them.
        added: the added tokens, special or not, and entries that files next to the tokenizer.json list as such.
        merges: (left, right) in the order of their ranks.
        before: the new id of each id that it had before it was trimmed; None if it was not trimmed.
    """

    spec: Mapping[str, Any]
    byte_level: bool
    mark: str
    vocab: Mapping[str, int]
    added: frozenset[str]
    merges: list[tuple[str, str]]
    before: IdMap | None = None

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        name: str = "the tokenizer",
        spec: Mapping[str, Any] | None = None,
        named: Iterable[str] = (),
    ) -> Base:
        """Read a loaded tokenizer.

        Args:
            tokenizer: the tokenizer.
            name: its name in errors.
            spec: its tokenizer.json on disk, if there is one.
            named: tokens that are treated as added tokens in any case.

        Raises:
            MwSError: its model is not a BPE that can be extended, or ids in the file are not those of the tokenizer.
        """
        if (kind := type(tokenizer.model).__name__) != "BPE":
            raise MwSError(
                f"{name}: its model is {kind}, not BPE; only a byte-level or byte-fallback BPE can be extended"
            )
        spec = Spec.of(tokenizer).raw if spec is None else spec
        model = spec["model"]
        for part in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(part):
                raise MwSError(f"{name}: its BPE marks parts of words ({part}={model[part]!r}) and cannot be extended")
        vocab = tokenizer.get_vocab(with_added_tokens=True)
        parsed = Spec(spec)
        byte_level = parsed.byte_level
        if not byte_level and not (model.get("byte_fallback") and vocab.keys() >= set(BYTE_TOKENS)):
            raise MwSError(
                f"{name}: its BPE is neither byte-level nor has byte fallback; unknown characters would be lost"
            )
        for token in spec.get("added_tokens", []):
            if vocab[token["content"]] != token["id"]:
                raise MwSError(
                    f"{name}: added token {token['content']!r} has id {token['id']} in its file but gets "
                    f"{vocab[token['content']]}; save the tokenizer again with transformers"
                )
        if lacking := ids_of_parts(spec).difference(vocab.values()):
            problem = f"its post-processor or padding contains id {min(lacking)}, which is not a token"
            raise MwSError(f"{name}: {problem}; add the token, or correct the id")
        check_added(tokenizer, name)
        added = frozenset(token["content"] for token in spec.get("added_tokens", [])).union(vocab.keys() & set(named))
        _warn_of_odd_merges(parsed.merges, name)
        return cls(spec, byte_level, parsed.space, vocab, added, parsed.merges)

    @property
    def next_id(self) -> int:
        """The smallest id above all used ones."""
        return max(self.vocab.values()) + 1

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The id of each token that merges can use, sorted by id; added tokens and byte tokens are not among them."""
        left_out = self.added if self.byte_level else self.added.union(BYTE_TOKENS)
        kept = [(number, token) for token, number in self.vocab.items() if token not in left_out]
        return {token: number for number, token in sorted(kept)}

    def merges_among(self, tokens: Container[str]) -> list[Any]:
        """List the merges whose parts and result are among these tokens, by rank, in the form of the file."""
        pairs = zip(self.merges, self.spec["model"]["merges"], strict=True)
        return [written for (left, right), written in pairs if all(x in tokens for x in (left, right, left + right))]

    def spell(self, text: str) -> str:
        """Convert a text to the symbols that the model starts from."""
        return to_byte_level(text) if self.byte_level else text.replace(" ", self.mark)

    def read(self, spelled: str) -> str:
        """Convert symbols to text; parts of characters become U+FFFD."""
        return bytes_of(spelled).decode("utf-8", "replace") if self.byte_level else spelled.replace(self.mark, " ")

    def pipeline(self, more: Iterable[str] = (), *, with_prefix: bool = False) -> Tokenizer:
        """Build the base without added tokens, templates, truncation and padding.

        Args:
            more: characters that become symbols, with the next free ids.
            with_prefix: whether the tokenizer still puts a prefix before a text if the base does.
        """
        model, spec = self.spec["model"], dict(self.spec)
        vocab = {**model["vocab"], **{symbol: self.next_id + i for i, symbol in enumerate(more)}}
        spec["model"] = {**model, "dropout": None, "vocab": vocab}
        spec |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
        if not with_prefix:
            spec["normalizer"] = _without_prefix(spec.get("normalizer"), "normalizers")
            spec["pre_tokenizer"] = _without_prefix(spec.get("pre_tokenizer"), "pretokenizers")
        return Spec(spec).open()


def _without_prefix(component: Mapping[str, Any] | None, sequence: str) -> Mapping[str, Any] | None:
    """Return a component without the part that adds a prefix to a text; None if no other part is left."""
    parts = [{**part, **_NO_PREFIX.get(part["type"], {})} for part in parts_of(component) if part["type"] != "Prepend"]
    return {"type": "Sequence", sequence: parts} if parts else None


def _warn_of_odd_merges(merges: list[tuple[str, str]], name: str) -> None:
    """Warn of repeated merges, and of merges with a part that only a later merge creates (cyclic or out of order)."""
    last = {left + right: rank for rank, (left, right) in enumerate(merges)}
    first = {left + right: rank for rank, (left, right) in reversed(list(enumerate(merges)))}
    repeated = len(merges) - len(set(merges))
    late = [pair for rank, pair in enumerate(merges) if any(part in last and first[part] > rank for part in pair)]
    if repeated:
        logger.warning("%s: %d merges occur twice; the later rank counts, as in tokenizers", name, repeated)
    if late:
        logger.warning(
            "%s: %d merges use a part that only a later merge makes, such as %r; they are kept as they are",
            name, len(late), late[0],
        )  # fmt: skip


def raw_bytes(backend: Tokenizer) -> list[bytes]:
    r"""List the bytes of each id in running text, from 0 to the largest; empty for special tokens and unused ids.

    `tokenizer.spec.Spec.bytes_of` returns the bytes of one token.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("#", "#")]
    >>> backend = build_backend(base_vocab(["<|pad|>"], ["#", "ж"], merges), merges, " ?.", None, ["<|pad|>"])
    >>> pieces = raw_bytes(backend)
    >>> pieces[0], pieces[1 + 0xD0], pieces[-3:]
    (b'', b'\xd0', [b'#', b'\xd0\xb6', b'##'])
    """
    spec = Spec.of(backend)
    special = {token["id"] for token in spec.added if token["special"]}

    def spelled(index: int) -> bytes:
        token = backend.id_to_token(index)
        return b"" if token is None or index in special else spec.bytes_of(token)

    return [spelled(index) for index in range(max(backend.get_vocab().values(), default=-1) + 1)]


def encode_texts(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[Longs]:
    """Yield the ids of each text, without those that a template adds; int64, shape (n_ids,).

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> backend = build_backend(base_vocab([], "abc", [("a", "b")]), [("a", "b")])
    >>> [[backend.id_to_token(index) for index in ids] for ids in encode_texts(backend, ["abc", "cab"])]
    [['ab', 'c'], ['c', 'ab']]
    """
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        for item in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
            yield np.array(item.ids, np.int64)


def count_ids(tokenizer: Tokenizer, texts: Iterable[str], size: int) -> Longs:
    """Count how often each id below `size` occurs in texts; int64 (size,)."""
    uses, parts = np.zeros(size, np.int64), encode_texts(tokenizer, texts)
    while batch := list(islice(parts, _BATCH)):
        uses += np.bincount(np.concatenate(batch), minlength=size)
    return uses
