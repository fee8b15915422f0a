"""The one opener: whatever cuts text or words becomes an `Opened`. Code that comes with a tokenizer is never run.

The content decides: a folder or JSON is a tokenizer of `tokenizers`; else a file is a SentencePiece model, a Morfessor
model saved as text, or a table of segmentations. What is no tokenizer is refused here.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from tokenizers import Tokenizer

from mws_hf.errors import MwSError, SettingError, brief
from mws_hf.tokenizer.file import load_settings, open_file, read_spec, refuse_empty, roles_in
from mws_hf.tokenizer.layout import CONFIG_FILE, EVIDENCE_FILE, MODEL_FILE, TOKENIZER_FILE, Of, is_of
from mws_hf.tokenizer.spec import EMPTY_TEMPLATE, Spec, set_part, without_limits
from mws_hf.tokenizer.training_record import kinds_by_rank, kinds_in, read_record

if TYPE_CHECKING:
    from mws_hf.tokenizer import foreign

Isolated = Literal["space", "none"]
Span: TypeAlias = tuple[int, int]
_BATCH = 4096
_MORFESSOR = re.compile(rb"(#[^\n]*\n|\s)*\d+ [^\t\n]*(\n|$)")
_TIKTOKEN = re.compile(rb"[A-Za-z0-9+/]+=* 0\r?\n[A-Za-z0-9+/]+=* 1\r?\n")
_MARKS = ("▁", "Ġ", " ")
_BEFORE = "a "
"""What stands before a word where a tokenizer strips the space at the beginning of a text."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Encoded:
    """A text as tokens."""

    ids: list[int]
    tokens: list[str]  # as the vocabulary has them
    spans: list[Span] | None  # whole characters that each token touches; None where tokens cannot be laid on the text


@dataclass(frozen=True)
class Opened:
    """A tokenizer, or a segmenter, which cuts words alone.

    Attributes:
        name: as messages and tables call it.
        place: the directory or file that it lies in; None where that is not known.
        live: the object of `tokenizers` or transformers, if there is one.
        cutting: the function of words, of a segmenter.
        ends: the token that ends a text, where no tokenizer_config.json tells.
    """

    name: str
    place: Path | None = None
    live: Any = None
    cutting: foreign.Cutting | None = None
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
        self._check_encodes()
        if hasattr(self.live, "to_backend"):
            return cast("Tokenizer", self.live.to_backend())
        raise MwSError(f"{self.name} has no Rust backend; save it and load the directory with PreTrainedTokenizerFast")

    @property
    def of_transformers(self) -> Any:
        """The object of transformers; of the stock class, read from its directory, where its own code was not run."""
        if not isinstance(self.live, Tokenizer):
            return self.live
        from transformers import PreTrainedTokenizerFast  # noqa: PLC0415  (seconds to import, and seldom needed)

        return PreTrainedTokenizerFast.from_pretrained(self.folder, local_files_only=True)

    @cached_property
    def spec(self) -> Spec:
        """The backend as a tokenizer.json."""
        return Spec.of(self.backend)

    @property
    def eos_token(self) -> str | None:
        """The token that ends a text, if it is known."""
        if not isinstance(self.live, Tokenizer):
            return getattr(self.live, "eos_token", None)
        config = None if self.folder is None else self.folder / CONFIG_FILE
        return self.ends if config is None else roles_in(load_settings(config)).get("eos_token", self.ends)

    @cached_property
    def _whole_record(self) -> dict[str, Any]:
        training = getattr(self.live, "training", None)
        if training is not None and hasattr(training, "settings"):
            return {"settings": training.settings}
        folder = self._folder_with_record
        return {} if folder is None else read_record(folder, self.backend)

    @cached_property
    def _folder_with_record(self) -> Path | None:
        if self.is_segmenter:
            return None
        if getattr(self.live, "home", None) is not None and self.folder is not None:
            from mws_hf.tokenizer.places import fetch_record

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
    def evidence_file(self) -> Path | None:
        """The evidence of its training, which `learn.training_evidence.read_evidence` reads; or None."""
        file = None if self._folder_with_record is None else self._folder_with_record / EVIDENCE_FILE
        return file if file is not None and file.is_file() else None

    @property
    def is_segmenter(self) -> bool:
        """Whether it cuts words alone."""
        return self.cutting is not None

    @property
    def _is_slow(self) -> bool:
        """Whether it is of a class that works in Python, and is asked itself."""
        return self.live is not None and not isinstance(getattr(self.live, "backend_tokenizer", self.live), Tokenizer)

    def _check_encodes(self) -> None:
        if self.cutting is not None:
            raise MwSError(
                f"{self.name}: cuts words alone and has no tokens of running text; give a tokenizer, or score it on "
                "gold"
            )

    @cached_property
    def _plain(self) -> Tokenizer:
        """The backend without limits and special tokens, whose offsets keep the space before a word."""
        try:
            plain = without_limits(self.backend)
            set_part(plain, "post_processor", EMPTY_TEMPLATE)
        except Exception:  # a component written in Python cannot be copied; use the caller's object as it is
            return self.backend
        return plain

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Cut texts into tokens, without special tokens, truncation or padding; MwSError of a segmenter."""
        self._check_encodes()
        if self._is_slow:
            return [_encode_slowly(self.live, text) for text in texts]
        starts = range(0, len(texts), _BATCH)
        batches = (self._plain.encode_batch(list(texts[i : i + _BATCH]), add_special_tokens=False) for i in starts)
        return [Encoded(item.ids, item.tokens, item.offsets) for batch in batches for item in batch]

    def decode(self, batch: list[list[int]]) -> list[str]:
        """Return the texts of lists of ids, special tokens and spaces as they are."""
        if self._is_slow:
            return [self.live.decode(item, clean_up_tokenization_spaces=False) for item in batch]
        return self.backend.decode_batch(batch, skip_special_tokens=False)

    @property
    def vocabulary_size(self) -> int:
        """The number of entries, added tokens included."""
        return len(self.live) if self._is_slow else self.backend.get_vocab_size()

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the token for what is not in the vocabulary."""
        if self._is_slow:
            return getattr(self.live, "unk_token_id", None)
        if self.spec.kind == "Unigram":
            return cast("int | None", self.spec.model["unk_id"])
        token = self.spec.model.get("unk_token")
        return self.backend.token_to_id(token) if token else None

    @cached_property
    def parts(self) -> dict[str, tuple[str, str]]:
        """The two tokens that each token's merge joins; empty where products are not their parts in a row."""
        if self._is_slow and not hasattr(self.live, "to_backend"):
            return {}
        if self.spec.kind != "BPE" or self.spec.model.get("continuing_subword_prefix"):
            return {}
        return {left + right: (left, right) for left, right in reversed(self.spec.merges)}

    @cached_property
    def before(self) -> str:
        """What is put before a word so that it is cut as inside a sentence: nothing, a space, or a word and a space.

        Nothing where the tokenizer itself puts a word mark before a text (SentencePiece's dummy prefix).
        """
        spaced, bare = (encoded.tokens for encoded in self.encode([" a", "a"]))
        if "".join(bare).startswith(_MARKS):
            return ""
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
            return [_spelled_out(word, pieces) for word, pieces in zip(words, self.cutting(words), strict=True)]
        encoded = self.words(words, isolated)
        if lost := sum(item.spans is None for item in encoded):
            _logger.warning("%d of %d words stay whole: no offsets, and the tokens do not spell them", lost, len(words))
        return [
            pieces_of(word, cuts_within(item.spans or [], 0, len(word)))
            for word, item in zip(words, encoded, strict=True)
        ]

    @cached_property
    def made_by(self) -> dict[str, tuple[int, str]]:
        """Token string -> rank and kind, such as "morph", of the first merge that makes it; "" for a kind not known."""
        kinds = enumerate(kinds_by_rank(self.kinds, len(self.spec.merges)))
        made = [(left + right, made) for (left, right), made in zip(self.spec.merges, kinds, strict=True)]
        return dict(reversed(made))


def open_tokenizer(source: Any, *, by_class: bool = False, name: str | None = None) -> Opened:
    """Open a tokenizer, or a segmenter, wherever it is.

    Args:
        source: a directory, a tokenizer.json, a SentencePiece model or a directory with nothing else, a Morfessor model
            saved as text (``morfessor-train -S``), a file in a format of `mws_hf.corpus.segmentations`, the name of a
            pretrained tokenizer, a Hub name; an object of `tokenizers` or transformers; or a function word -> pieces.
        by_class: cut as the class does that tokenizer_config.json names, which may cut otherwise than tokenizer.json
            alone; one with code of its own is never run.
        name: what messages and tables call it; by default the source as it was given.

    Raises:
        MwSError: there is no such tokenizer, or what is there is none.
    """
    if isinstance(source, Opened):
        return source
    if isinstance(source, (str, os.PathLike)):
        from mws_hf.tokenizer.places import tokenizer_place  # what is at work has its place

        place = tokenizer_place(source)
        called = name or os.fspath(source)
        return _of_directory(place, called, by_class) if place.is_dir() else _of_any_file(place, called)
    called = name or type(source).__name__
    if isinstance(source, Tokenizer):
        if not source.get_vocab_size():
            refuse_empty(f"a {called}")
        return Opened(called, live=source)
    if hasattr(source, "all_special_tokens") and len(source) <= len(source.all_special_tokens):
        refuse_empty(f"a {called}")
    if hasattr(source, "backend_tokenizer") or hasattr(source, "convert_tokens_to_ids"):
        home = getattr(source, "home", None) or getattr(source, "name_or_path", "")
        return Opened(called, Path(home) if home and Path(home).is_dir() else None, source)
    if callable(source):
        return Opened(called, cutting=lambda words: [source(word) for word in words])
    raise MwSError(f"a {called} is no tokenizer; give a directory, a tokenizer.json or an object")


def segment_words(source: Any, words: Sequence[str], *, isolated: Isolated = "space") -> list[tuple[str, ...]]:
    """Segment each word with any tokenizer or segmenter that `open_tokenizer` opens; see `Opened.cut`."""
    return open_tokenizer(source, by_class=True).cut(words, isolated)


def _of_directory(place: Path, name: str, by_class: bool) -> Opened:
    file, config = place / TOKENIZER_FILE, place / CONFIG_FILE
    if file.is_file():
        if not by_class or not config.is_file() or "auto_map" in load_settings(config):
            return Opened(name, place, open_file(file))
        read_spec(file)  # whatever class reads it
    elif not config.is_file() and not (place / MODEL_FILE).is_file():
        found = [path for path in sorted(place.glob("*.model")) if path.name != "tiktoken.model"]
        if len(found) == 1:
            return _of_any_file(found[0], name)
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
    needed = getattr(type(tokenizer), "vocab_files_names", {}).values()
    absent = needed and not any((place / each).is_file() for each in needed)
    if absent or set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        refuse_empty(name, place)  # transformers makes special tokens alone of a place without a vocabulary
    return Opened(name, place, tokenizer)


def _of_any_file(place: Path, name: str) -> Opened:
    from mws_hf.tokenizer import foreign

    head = foreign.first_bytes(place)
    if head.startswith(foreign.PICKLES):
        raise MwSError(
            f"{place}: a pickle, and reading one can run code; save a Morfessor model as text: morfessor -l {place} -S "
            "FILE"
        )
    named_sp = place.suffix in (".model", ".spm")
    if _TIKTOKEN.match(head) or (is_of(place.name, Of.FOREIGN) and not named_sp):
        refuse_empty(str(place), place)
    if place.suffix == ".json" or head.lstrip().startswith(b"{"):
        return Opened(name, place, open_file(place))
    if _MORFESSOR.match(head):
        return Opened(name, place, cutting=foreign.morfessor(place))
    if named_sp or (head.startswith(b"\n") and b"\0" in head):
        backend = foreign.sentence_piece(place)
        return Opened(name, place, backend, ends=foreign.END if backend.token_to_id(foreign.END) is not None else None)
    return Opened(name, place, cutting=foreign.segmentations(place))


def _encode_slowly(tokenizer: Any, text: str) -> Encoded:
    """Encode a text by a class that works in Python; the token strings are laid on the text."""
    from mws_hf.tokenizer import foreign

    byte_of_character: dict[str, int] = getattr(tokenizer, "byte_decoder", None) or {}
    unknown, tokens = getattr(tokenizer, "unk_token", None), tokenizer.tokenize(text)
    pieces = [None if token == unknown else foreign.token_bytes(token, byte_of_character) for token in tokens]
    return Encoded(tokenizer.convert_tokens_to_ids(tokens), tokens, foreign.align(text, pieces))


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


def cuts_within(spans: Iterable[Span], start: int, end: int) -> list[int]:
    """List token boundaries strictly inside the characters start..end, counted from `start`, ascending."""
    return sorted(place - start for place in token_cuts(spans) if start < place < end)


def token_cuts(spans: Iterable[Span]) -> set[int]:
    """Find the positions where a token starts and none runs across: none lies inside a character."""
    starts: set[int] = set()
    crossed: set[int] = set()
    for first, last in spans:
        if first < last:
            starts.add(first)
            if last - first > 1:
                crossed.update(range(first + 1, last))
    return starts - crossed


def pieces_of(word: str, cuts: Sequence[int]) -> tuple[str, ...]:
    """Slice a word at ascending positions."""
    edges = [0, *cuts, len(word)]
    return tuple(word[a:b] for a, b in zip(edges, edges[1:], strict=False))


def _spelled_out(word: str, pieces: Iterable[str]) -> tuple[str, ...]:
    cut = tuple(piece for piece in pieces if piece)
    if "".join(cut) != word:
        raise MwSError(f"the segmenter turned {word!r} into {list(cut)}; its pieces must spell the word, without marks")
    return cut
