"""The one opener: whatever cuts text or words becomes an `Opened`. Code that comes with a tokenizer is never run.

The content decides: a folder or JSON is a tokenizer of `tokenizers`; else a file is a SentencePiece model, a Morfessor
model saved as text, or a table of segmentations. What is no tokenizer is refused here.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, cast

from tokenizers import Tokenizer

from mws_hf.errors import MwSError, SettingError, brief
from mws_hf.text.alphabets import BYTE_OF, bytes_of
from mws_hf.text.special import byte_of
from mws_hf.tokenizer import foreign
from mws_hf.tokenizer.file import load_settings, open_file, read_spec, refuse_empty, token_of
from mws_hf.tokenizer.hub import fetch_record, tokenizer_place
from mws_hf.tokenizer.layout import CONFIG_FILE, EVIDENCE_FILE, TOKENIZER_FILE
from mws_hf.tokenizer.spans import Encoded, Span, align, cuts_within, pieces_of, token_bytes
from mws_hf.tokenizer.spec import EMPTY_TEMPLATE, Spec, set_part, without_limits
from mws_hf.tokenizer.training_record import kinds_by_rank, kinds_in, whole_record

Isolated = Literal["space", "none"]
_BATCH = 4096
_MORFESSOR = re.compile(rb"(#[^\n]*\n|\s)*\d+ [^\t\n]*(\n|$)")
_TIKTOKEN = re.compile(rb"[A-Za-z0-9+/]+=* 0\r?\n[A-Za-z0-9+/]+=* 1\r?\n")
_MARKS = ("▁", "Ġ", " ")
_BEFORE = "a "
"""What stands before a word where a tokenizer strips the space at the beginning of a text."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Opened:
    """A tokenizer, or a segmenter, which cuts words alone.

    Attributes:
        name: as messages and tables call it.
        place: the directory or file that it lies in; None where that is not known.
        live: the object of `tokenizers` or transformers, if there is one.
        make_backend: makes the backend of a tokenizer that is written in another form.
        encoding: the function of texts, where the backend is not asked.
        cutting: the function of a word, of a segmenter.
        size, unknown, decoding, merged: as the properties tell, where the backend is not asked.
        ends: the token that ends a text, where no tokenizer_config.json tells.
    """

    name: str
    place: Path | None = None
    live: Any = None
    make_backend: Callable[[], Tokenizer] | None = None
    encoding: Callable[[Sequence[str]], list[Encoded]] | None = None
    cutting: Callable[[str], Sequence[str]] | None = None
    size: int = 0
    unknown: int | None = None
    decoding: Callable[[list[list[int]]], list[str]] | None = None
    merged: Callable[[], Iterable[tuple[str, str]]] | None = None
    ends: str | None = None

    @property
    def folder(self) -> Path | None:
        """The directory that it lies in."""
        return self.place.parent if self.place is not None and self.place.is_file() else self.place

    @cached_property
    def backend(self) -> Tokenizer:
        """The tokenizer of `tokenizers`, not to be changed; MwSError where there is none."""
        backend = getattr(self.live, "backend_tokenizer", self.live)
        if isinstance(backend, Tokenizer):
            return backend
        if self.make_backend is not None:
            return self.make_backend()
        self._check_encodes()
        raise MwSError(f"{self.name} has no Rust backend; save it and load the directory with PreTrainedTokenizerFast")

    @cached_property
    def spec(self) -> Spec:
        """The backend as a tokenizer.json."""
        return Spec.of(self.backend)

    @property
    def eos_token(self) -> str | None:
        """The token that ends a text, if it is known."""
        if self.live is None or isinstance(self.live, Tokenizer):
            config = None if self.folder is None else self.folder / CONFIG_FILE
            return (None if config is None else token_of(load_settings(config), "eos_token", config)) or self.ends
        return cast("str | None", self.live.eos_token)

    @cached_property
    def _whole_record(self) -> dict[str, Any]:
        training = getattr(self.live, "training", None)
        if training is not None and hasattr(training, "settings"):
            return {"settings": training.settings}
        folder = self._folder_with_record
        return {} if folder is None else whole_record(folder, self.backend)

    @cached_property
    def _folder_with_record(self) -> Path | None:
        if self.is_segmenter:
            return None
        if getattr(self.live, "home", None) is not None and self.folder is not None:
            fetch_record(self.folder)  # transformers fetched the files of its class alone
        return self.folder

    @property
    def record(self) -> dict[str, Any] | None:
        """The settings of its training; None where no record of these merges tells them."""
        settings = self._whole_record.get("settings")
        return settings if isinstance(settings, dict) else None

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds of its last merges, in order, and how many there are of each."""
        return kinds_in(self._whole_record)

    @property
    def evidence_folder(self) -> Path | None:
        """The directory that keeps the evidence of its training, which `mws_hf.learn.any_word` reads; or None."""
        folder = self._folder_with_record
        return folder if folder is not None and (folder / EVIDENCE_FILE).is_file() else None

    @property
    def is_segmenter(self) -> bool:
        """Whether it cuts words alone."""
        return self.cutting is not None

    def _check_encodes(self) -> None:
        if self.cutting is not None:
            raise MwSError(
                f"{self.name}: cuts words alone and has no tokens of running text; give a tokenizer, or score it on "
                "gold"
            )

    @cached_property
    def _encode(self) -> Callable[[Sequence[str]], list[Encoded]]:
        return self.encoding or partial(_encode_by, _plain(self.backend))

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Cut texts into tokens, without special tokens, truncation or padding; MwSError of a segmenter."""
        self._check_encodes()
        return self._encode(texts)

    def decode(self, batch: list[list[int]]) -> list[str] | None:
        """Return the texts of lists of ids, special tokens and spaces as they are; None where it cannot decode."""
        if self.encoding is not None:
            return None if self.decoding is None else self.decoding(batch)
        return self.backend.decode_batch(batch, skip_special_tokens=False)

    @cached_property
    def vocabulary_size(self) -> int:
        """The number of entries, added tokens included."""
        return self.size if self.encoding is not None else self.backend.get_vocab_size()

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the token for what is not in the vocabulary."""
        if self.encoding is not None:
            return self.unknown
        if self.spec.kind == "Unigram":
            return cast("int | None", self.spec.model["unk_id"])
        token = self.spec.model.get("unk_token")
        return self.backend.token_to_id(token) if token else None

    @cached_property
    def parts(self) -> dict[str, tuple[str, str]] | None:
        """The two tokens that each token's merge joins; None where products are not their parts in a row."""
        if self.encoding is not None:
            merges = None if self.merged is None else self.merged()
        else:
            prefixed = self.spec.model.get("continuing_subword_prefix")
            merges = self.spec.merges if self.spec.kind == "BPE" and not prefixed else None
        return None if merges is None else {left + right: (left, right) for left, right in reversed(list(merges))}

    @cached_property
    def adds_space(self) -> bool:
        """Whether the tokenizer itself puts a word mark before a text (SentencePiece's dummy prefix)."""
        if self.encoding is not None:
            return "".join(self.encode(["a"])[0].tokens)[:1] in _MARKS
        normalizer, splitter = self.backend.normalizer, self.backend.pre_tokenizer
        text = "a" if normalizer is None else normalizer.normalize_str("a")  # one of several is false in old versions
        pieces = [(text, (0, 1))] if splitter is None else splitter.pre_tokenize_str(text)
        return bool(pieces) and pieces[0][0][:1] in _MARKS

    @cached_property
    def before(self) -> str:
        """What is put before a word so that it is cut as inside a sentence: nothing, a space, or a word and a space."""
        if self.adds_space:
            return ""
        spaced, bare = (encoded.tokens for encoded in self.encode([" a", "a"]))
        return _BEFORE if spaced == bare else " "

    def words(self, words: Sequence[str], isolated: Isolated = "space") -> list[Encoded]:
        """Return the tokens of words as each stands inside a sentence, or bare ("none"); spans are counted in the word.

        A space that belongs to the first token of a word is at place -1; tokens that hold nothing of the word are left
        out.
        """
        lead = self.before if isolated == "space" else ""
        found = self.encode([lead + word for word in words])
        return [_within(each, len(lead)) for each in found] if lead else found

    def cut(self, words: Sequence[str], isolated: Isolated = "space") -> list[tuple[str, ...]]:
        """Cut each word as it is cut inside a sentence ("space"), or bare ("none"); the pieces spell the word.

        A segmenter always sees the bare word. A cut inside a character is no cut, and a word whose tokens cannot be
        laid on it stays whole, with a warning.

        Raises:
            MwSError: unknown `isolated`, a word that a file of segmentations lacks, or pieces that do not spell the
                word.
        """
        if isolated not in ("space", "none"):
            raise SettingError("isolated", isolated, "is unknown; choose 'space' or 'none'")
        if self.cutting is not None:
            if isinstance(self.cutting, foreign.CutTable):
                self.cutting.check(words)
            return [_spelled_out(word, self.cutting(word)) for word in words]
        encoded = self.words(words, isolated)
        if lost := sum(item.spans is None for item in encoded):
            _logger.warning("%d of %d words stay whole: no offsets, and the tokens do not spell them", lost, len(words))
        return [
            pieces_of(word, cuts_within(item.spans or [], 0, len(word)))
            for word, item in zip(words, encoded, strict=True)
        ]

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Token string -> rank of the first merge that makes it; empty for a model without merges."""
        ranks: dict[str, int] = {}
        for rank, (left, right) in enumerate(self.spec.merges):
            ranks.setdefault(left + right, rank)
        return ranks

    @cached_property
    def merge_kinds(self) -> list[str]:
        """The kind of each merge by rank, such as "morph"; "" where it is not known."""
        return kinds_by_rank(self.kinds, len(self.spec.merges))

    def readable(self, token: str) -> str:
        """Spell a string of the vocabulary in text; bytes that are no text are written in hexadecimal."""
        if (byte := byte_of(token)) is not None:
            return f"{byte:02X}"
        if not self.spec.byte_level or not all(character in BYTE_OF for character in token):
            return token.replace("▁", " ")
        data = bytes_of(token)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.hex(" ").upper().replace(" ", "\u202f")  # spaces that do not break


def open_tokenizer(source: Any, *, by_class: bool = False, name: str | None = None) -> Opened:
    """Open a tokenizer, or a segmenter, wherever it is.

    Args:
        source: a directory, a tokenizer.json, a SentencePiece model or a directory with nothing else, a Morfessor model
            saved as text (``morfessor-train -S``), a file in a format of `mws_hf.corpus.segmentations`, the name of a
            pretrained tokenizer, a Hub name; an object of `tokenizers` or transformers; or a function word -> pieces.
        by_class: cut as the program does that the tokenizer comes from: the class that tokenizer_config.json names,
            which may cut otherwise than tokenizer.json alone (one with code of its own is never run), or the library of
            SentencePiece.
        name: what messages and tables call it; by default the source as it was given.

    Raises:
        MwSError: there is no such tokenizer, or what is there is none.
    """
    if isinstance(source, Opened):
        return source
    if isinstance(source, (str, os.PathLike)):
        place = tokenizer_place(source)
        called = name or os.fspath(source)
        return _of_directory(place, called, by_class) if place.is_dir() else _of_any_file(place, called, by_class)
    called = name or type(source).__name__
    if isinstance(source, Tokenizer):
        if not source.get_vocab_size():
            refuse_empty(f"a {called}")
        return Opened(called, live=source)
    if hasattr(source, "all_special_tokens") and len(source) <= len(source.all_special_tokens):
        refuse_empty(f"a {called}")
    if isinstance(getattr(source, "backend_tokenizer", None), Tokenizer):
        return Opened(called, home_of(source), source)
    if hasattr(source, "tokenize") and hasattr(source, "convert_tokens_to_ids"):
        return _of_slow(source, called)
    if callable(source):
        return Opened(called, cutting=source)
    raise MwSError(f"a {called} is no tokenizer; give a directory, a tokenizer.json or an object")


def home_of(tokenizer: Any) -> Path | None:
    """Return the directory that an object of transformers was read from; None where that is not known."""
    home = getattr(tokenizer, "home", None) or getattr(tokenizer, "name_or_path", "")
    return Path(home) if home and Path(home).is_dir() else None


def _of_directory(place: Path, name: str, by_class: bool) -> Opened:
    file, config = place / TOKENIZER_FILE, place / CONFIG_FILE
    if file.is_file():
        if not by_class or not config.is_file() or "auto_map" in load_settings(config):
            return Opened(name, place, open_file(file)[0])
        read_spec(file)  # whatever class reads it
    elif not config.is_file() and not (place / "config.json").is_file():
        found = [path for path in sorted(place.glob("*.model")) if path.name != "tiktoken.model"]
        if len(found) == 1:
            return _of_any_file(found[0], name, by_class)
        refuse_empty(name, place)
    from transformers import AutoTokenizer  # noqa: PLC0415  (seconds to import, and seldom needed)

    try:
        tokenizer = AutoTokenizer.from_pretrained(os.fspath(place), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # it raises whatever its parts raise
        reason = f"{name}: AutoTokenizer cannot open it ({brief(error)})"
        if file.is_file():
            open_file(file)  # which may say more
            raise MwSError(f"{reason}; mend tokenizer_config.json, or give {file} to take that alone") from error
        alone = next((f", or give {path} to take that alone" for path in sorted(place.glob("*.model"))), "")
        raise MwSError(f"{reason}; it needs a tokenizer.json{alone}") from error
    _check_vocabulary(tokenizer, place, name)
    return (
        _of_slow(tokenizer, name, place) if not getattr(tokenizer, "is_fast", False) else Opened(name, place, tokenizer)
    )


def _check_vocabulary(tokenizer: Any, place: Path, name: str) -> None:
    """Refuse what transformers makes of a place that lacks the files of a vocabulary: special tokens alone."""
    files = getattr(type(tokenizer), "vocab_files_names", {}).values()
    absent = files and not any((place / file).is_file() for file in files)
    if absent or set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        refuse_empty(name, place)


def _of_any_file(place: Path, name: str, by_class: bool) -> Opened:
    head = foreign.first_bytes(place)
    if head.startswith(foreign.PICKLES):
        raise MwSError(
            f"{place}: a pickle, and reading one can run code; save a Morfessor model as text: morfessor -l {place} -S "
            "FILE"
        )
    if place.name in ("tekken.json", "vocab.txt") or place.suffix == ".tiktoken" or _TIKTOKEN.match(head):
        refuse_empty(str(place), place)
    if place.suffix == ".json" or head.lstrip().startswith(b"{"):
        return Opened(name, place, open_file(place)[0])
    if _MORFESSOR.match(head):
        return Opened(name, place, cutting=foreign.morfessor(place))
    if place.suffix in (".model", ".spm") or (head.startswith(b"\n") and b"\0" in head):
        if by_class:
            return _of_sentence_piece(place, name)
        backend = foreign.sentence_piece(place)
        return Opened(name, place, backend, ends=foreign.END if backend.token_to_id(foreign.END) is not None else None)
    return Opened(name, place, cutting=foreign.segmentations(place))


def _plain(original: Tokenizer) -> Tokenizer:
    """Copy a tokenizer without limits and special tokens, whose offsets keep the space before a word."""
    try:
        backend = without_limits(original)
        set_part(backend, "post_processor", EMPTY_TEMPLATE)
    except Exception:  # a component written in Python cannot be copied; use the caller's object as it is
        return original
    return backend


def _encode_by(backend: Tokenizer, texts: Sequence[str]) -> list[Encoded]:
    encoded: list[Encoded] = []
    for start in range(0, len(texts), _BATCH):
        batch = backend.encode_batch(list(texts[start : start + _BATCH]), add_special_tokens=False)
        encoded += [Encoded(item.ids, item.tokens, item.offsets) for item in batch]
    return encoded


def _of_slow(tokenizer: Any, name: str, place: Path | None = None) -> Opened:
    byte_of_character: dict[str, int] = getattr(tokenizer, "byte_decoder", None) or {}
    unknown = getattr(tokenizer, "unk_token", None)

    def encode(texts: Sequence[str]) -> list[Encoded]:
        encoded: list[Encoded] = []
        for text in texts:
            tokens = tokenizer.tokenize(text)
            pieces = [None if token == unknown else token_bytes(token, byte_of_character) for token in tokens]
            encoded.append(Encoded(tokenizer.convert_tokens_to_ids(tokens), tokens, align(text, pieces)))
        return encoded

    def decode(batch: list[list[int]]) -> list[str]:
        return [tokenizer.decode(item, clean_up_tokenization_spaces=False) for item in batch]

    return Opened(
        name,
        place or home_of(tokenizer),
        tokenizer,
        make_backend=getattr(tokenizer, "to_backend", None),
        encoding=encode,
        size=len(tokenizer),
        unknown=getattr(tokenizer, "unk_token_id", None),
        decoding=decode,
        merged=(lambda: tokenizer.bpe_ranks) if hasattr(tokenizer, "bpe_ranks") else None,
    )


def _of_sentence_piece(file: Path, name: str) -> Opened:
    processor, encode = foreign.sentence_piece_library(file)
    return Opened(
        name,
        file,
        make_backend=lambda: foreign.sentence_piece(file),
        encoding=encode,
        size=len(processor),
        unknown=processor.unk_id(),
        decoding=processor.decode,
    )


def _within(encoded: Encoded, lead: int) -> Encoded:
    """Count the spans of a text from so many characters on, and leave out the tokens before."""
    if encoded.spans is None:
        return encoded
    placed: list[tuple[int, str, Span]] = [
        (number, token, (max(-1, start - lead), end - lead))
        for number, token, (start, end) in zip(encoded.ids, encoded.tokens, encoded.spans, strict=True)
        if end > lead
    ]
    return Encoded([each[0] for each in placed], [each[1] for each in placed], [each[2] for each in placed])


def _spelled_out(word: str, pieces: Iterable[str]) -> tuple[str, ...]:
    cut = tuple(piece for piece in pieces if piece)
    if "".join(cut) != word:
        raise MwSError(f"the segmenter turned {word!r} into {list(cut)}; its pieces must spell the word, without marks")
    return cut
