"""Open whatever cuts words: our tokenizers, those of other programs, and files of finished segmentations.

The content decides: a folder or JSON is a tokenizer of `tokenizers`; else a file is a SentencePiece model, a Morfessor
model saved as text, or a table of segmentations. Pickles are refused, for reading one runs code.
"""

from __future__ import annotations

import gzip
import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mws_hf.corpus.segmentations import read_gold
from mws_hf.errors import MwSError, first_line
from mws_hf.evaluate.encoder import Encoded, Encoder, Span, load_encoder
from mws_hf.tokenizer.hub import tokenizer_place

_GZIP, _PICKLES = b"\x1f\x8b", (b"\x80", b"PK\x03\x04")
_HEAD = 4096
_MORFESSOR = re.compile(rb"(#[^\n]*\n|\s)*\d+ [^\t\n]*(\n|$)")
_SHOWN = 3


@dataclass(frozen=True)
class Segmentations:
    """Words that another program has cut: word -> pieces, which spell it."""

    file: Path
    pieces: Mapping[str, tuple[str, ...]]

    def __call__(self, word: str) -> tuple[str, ...]:
        """Return the pieces of a word; raises MwSError for a word that the file lacks."""
        self.check([word])
        return self.pieces[word]

    def check(self, words: Sequence[str]) -> None:
        """Raise MwSError, with their number and the first ones, if the file lacks some of the words."""
        if absent := [word for word in dict.fromkeys(words) if word not in self.pieces]:
            shown = ", ".join(absent[:_SHOWN]) + (", ..." if len(absent) > _SHOWN else "")
            raise MwSError(
                f"{self.file}: no segmentation of {len(absent):,} of {len(set(words)):,} words ({shown}); add them, or "
                "leave them out of what is scored"
            )


def open_source(source: Any) -> Encoder | Callable[[str], Sequence[str]]:
    """Open a tokenizer as an encoder, or a segmenter, which has no tokens of running text, as a function.

    It is what `load_encoder` opens; a SentencePiece model; a Morfessor model saved as text (``morfessor-train -S``); a
    file in a format of `mws_hf.corpus.segmentations`, such as ``word<TAB>m1 m2``; or a function word -> pieces.
    """
    if not isinstance(source, str | os.PathLike):
        # a tokenizer object is callable too
        segments = callable(source) and not isinstance(source, Encoder) and not hasattr(source, "convert_tokens_to_ids")
        return source if segments else load_encoder(source)
    place = tokenizer_place(source)
    if place.is_dir() or place.suffix == ".json":
        return load_encoder(place)
    head = _head(place)
    if head.startswith(_PICKLES):
        raise MwSError(
            f"{place}: a pickle, and reading one can run code; save a Morfessor model as text: morfessor -l {place} -S "
            "FILE"
        )
    if head.lstrip().startswith(b"{"):
        return load_encoder(place)
    if _MORFESSOR.match(head):
        return _morfessor(place)
    if place.suffix in (".model", ".spm") or (head.startswith(b"\n") and b"\0" in head):
        return _sentence_piece(place)
    return _segmentations(place)


def open_encoder(source: Any) -> Encoder:
    """Open what `open_source` opens, if it is a tokenizer; raises MwSError for a segmenter, which has no tokens."""
    opened = open_source(source)
    if isinstance(opened, Encoder):
        return opened
    raise MwSError(
        f"{source}: cuts words alone and has no tokens of running text; give a tokenizer, or score it on gold"
    )


def _head(file: Path) -> bytes:
    """Read the first bytes of a file, unpacked where it is compressed by gzip."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
        if head.startswith(_GZIP):
            with gzip.open(file) as unpacked:
                head = unpacked.read(_HEAD)
    except (OSError, EOFError) as error:
        raise MwSError(f"{file}: cannot be read ({first_line(error)}); check the file") from error
    return head


def _segmentations(file: Path) -> Segmentations:
    """Read finished segmentations; of a word with alternatives the first counts."""
    found = read_gold(file)
    pieces: dict[str, tuple[str, ...]] = {}
    for number, word, ways in found.rows:
        if pieces.setdefault(word, ways[0]) != ways[0]:
            raise MwSError(f"{file}:{number}: {word!r} is cut in another way above; keep one of the two lines")
    if found.problems:
        raise MwSError(f"{found.problems[0]} ({len(found.problems)} such lines); mend the file")
    return Segmentations(file, pieces)


def _morfessor(file: Path) -> Callable[[str], list[str]]:
    library = needed("morfessor")
    model = library.BaselineModel()
    try:
        model.load_segmentations(library.MorfessorIO(encoding="utf-8").read_segmentation_file(str(file)))
        model.viterbi_segment("a")
    except Exception as error:  # its reader raises whatever a damaged line leads to
        raise MwSError(f"{file}: not a Morfessor model that can be read ({first_line(error)})") from error
    return lambda word: [str(piece) for piece in model.viterbi_segment(word)[0]]


def _sentence_piece(file: Path) -> Encoder:
    try:
        processor = needed("sentencepiece").SentencePieceProcessor(model_file=str(file))
    except (RuntimeError, OSError) as error:
        raise MwSError(f"{file}: not a SentencePiece model that can be read ({first_line(error)})") from error

    def encode(texts: Sequence[str]) -> list[Encoded]:
        encoded: list[Encoded] = []
        for text in texts:
            ids, tokens = processor.encode(text), processor.encode(text, out_type=str)
            normalized, offsets = processor.normalize(text, with_offsets=True)
            spans = spans_in(normalized, offsets, tokens, list(map(processor.is_byte, ids)))
            encoded.append(Encoded(ids, tokens, spans))
        return encoded

    adds_space = processor.normalize("a").startswith("▁")
    pieces = [processor.id_to_piece(number) for number in range(len(processor))]
    return Encoder(encode, len(pieces), processor.unk_id(), adds_space, processor.decode, pieces)


def spans_in(
    normalized: str, offsets: Sequence[int], tokens: Sequence[str], are_bytes: Sequence[bool]
) -> list[Span] | None:
    """Lay tokens, whose strings or bytes spell the normal form of a text, on the text itself; None where they do not.

    `offsets` are, for each character of the normal form and for its end, the place in the text.

    >>> spans_in("▁да", [0, 0, 1, 2], ["▁", "<0xD0>", "<0xB4>", "а"], [False, True, True, False])
    [(0, 0), (0, 1), (0, 1), (1, 2)]
    """
    characters = [index for index, character in enumerate(normalized) for _ in character.encode()]
    sizes = [1 if byte else len(token.encode()) for token, byte in zip(tokens, are_bytes, strict=True)]
    if sum(sizes) != len(characters):
        return None
    spans, place = [], 0
    for size in sizes:
        first, last = characters[place], characters[place + size - 1]
        spans.append((offsets[first], offsets[last + 1]))
        place += size
    return spans


def needed(name: str) -> Any:
    """Import a library that is no dependency; raises MwSError, with the pip command, where it is absent."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MwSError(f"{name} is not installed; pip install {name}") from error
