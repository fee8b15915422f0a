"""Read the files of other programs (SentencePiece and Morfessor models, segmentations), and align tokens with text.

A pickle is never read, because reading one can run code.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from mws_hf.errors import MwSError, first_line, library_failure, needed
from mws_hf.text.symbols import BYTE_OF, byte_of
from mws_hf.tokenizer.spec import Spec

SPACE, END = "▁", "</s>"
"""The word mark of SentencePiece, and the usual name of its token for the end of a text."""
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6  # types of pieces in sentencepiece_model.proto
_UNIGRAM, _BPE = 1, 2
_SPACE_AS_SUFFIX = 24  # the field treat_whitespace_as_suffix of TrainerSpec
PICKLES = (b"\x80", b"PK\x03\x04")
"""The first bytes of pickles: of a plain one, and of a zip file with pickles, as torch saves them."""
_HEAD_BYTES = 4096
_SHOWN_WORDS = 3
SegmentFunction: TypeAlias = Callable[[Sequence[str]], Iterable[Sequence[str]]]
"""A function that segments words into pieces that spell them."""


def first_bytes(file: Path) -> bytes:
    """Return the first 4,096 bytes of a file, unpacked if it is compressed.

    Raises:
        MwSError: the file cannot be read.
    """
    try:
        with file.open("rb") as stored:
            head = stored.read(_HEAD_BYTES)
    except OSError as error:
        raise MwSError(f"{file}: cannot be read ({first_line(error)}); check the file") from error
    if head.startswith(PICKLES):
        return head
    from mws_hf.corpus.octets import open_binary  # only now: a tokenizer.json is opened without it

    with open_binary(file) as stream:
        return stream.read(_HEAD_BYTES)


def segmentations(file: Path) -> SegmentFunction:
    """Read a table of segmentations, and return a function that segments the words of the table.

    If a line has several segmentations of a word, the first one is used.

    Args:
        file: the table, in a format of `mws_hf.corpus.segmentations`.

    Returns:
        A function that returns the segments of each given word. It raises MwSError for words that are not in the table.

    Raises:
        MwSError: the file is not a table of segmentations, or two lines segment one word differently.
    """
    from mws_hf.corpus.segmentations import read_gold

    try:
        found = read_gold(file)
    except MwSError as error:
        raise MwSError(
            f"{file}: neither a tokenizer, such as a folder that `mws train` wrote, nor a list of segmented words: "
            + str(error).removeprefix(f"{file}: ")
        ) from error
    pieces: dict[str, tuple[str, ...]] = {}
    for number, word, ways in found.rows:
        if pieces.setdefault(word, ways[0]) != ways[0]:
            raise MwSError(
                f"{file}:{number}: {word!r} is segmented differently in an earlier line; keep one of the two lines"
            )
    if found.problems:
        raise MwSError(f"{found.problems[0]} ({len(found.problems)} such lines); correct the file")

    def look_up(words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the segments of each word; raise MwSError if the table lacks a word."""
        if absent := [word for word in dict.fromkeys(words) if word not in pieces]:
            shown = ", ".join(absent[:_SHOWN_WORDS]) + (", ..." if len(absent) > _SHOWN_WORDS else "")
            raise MwSError(
                f"{file}: {len(absent):,} of {len(set(words)):,} words are missing ({shown}); add them, or remove them "
                "from the reference segmentations"
            )
        return [pieces[word] for word in words]

    return look_up


def morfessor_segments(model: Any, word: str, smoothing: float = 0) -> list[str]:
    """Segment a word as the program `morfessor-segment` does.

    Args:
        model: a `morfessor.BaselineModel`.
        word: the word.
        smoothing: the count that is added for each morph. The program adds 0, but the library adds 1 by default.

    Returns:
        The morphs, which spell the word.
    """
    return [str(piece) for piece in model.viterbi_segment(word, smoothing)[0]]


def morfessor(file: Path) -> SegmentFunction:
    """Read a Morfessor model that was saved as text, and return a function that segments words with it.

    Raises:
        MwSError: the file is not such a model, or the library `morfessor` is not installed.
    """
    library = needed("morfessor")
    model = library.BaselineModel()
    try:
        model.load_segmentations(library.MorfessorIO(encoding="utf-8").read_segmentation_file(str(file)))
        morfessor_segments(model, "a")
    except Exception as error:  # its reader raises whatever a damaged line leads to
        raise MwSError(f"{file}: not a Morfessor model that can be read ({first_line(error)})") from error
    return lambda words: [morfessor_segments(model, word) for word in words]


class _Piece(NamedTuple):
    text: str
    score: float
    type: int


def sentence_piece(file: Path) -> Tokenizer:
    """Read a SentencePiece model as a tokenizer with the same ids, without the library `sentencepiece`.

    Raises:
        MwSError: the file is not such a model, or `tokenizer_of` cannot convert it.
    """
    try:
        return tokenizer_of(file.read_bytes())
    except BaseException as error:  # the bindings raise nothing narrower, and panics are no Exception
        if library_failure(error) is None and not isinstance(error, Exception):
            raise
        raise MwSError(f"{file}: not a SentencePiece model that can be read ({first_line(error)})") from error


def tokenizer_of(model: bytes, *, dummy_prefix: bool | None = None) -> Tokenizer:
    """Convert a SentencePiece model into a tokenizer of `tokenizers` with the same ids.

    Four things differ, as in the converters of transformers:

    * Text that is spelled like a control symbol, such as ``<s>``, becomes that symbol.
    * A space before a control or user-defined symbol is lost.
    * With a unigram model, text that is spelled like a byte token, such as ``<0xD0>``, becomes that token.
    * If the normalization replaces a character, such as ``½``, combining marks after it are lost. A carriage return and
      a line feed are replaced as one character.

    Text is split into words before it is encoded, unless a token of the model continues after a space, such as ``▁▁``.

    Args:
        model: the content of the file.
        dummy_prefix: whether the mark ``▁`` is put before a text; None for the setting of the model.

    Returns:
        The tokenizer.

    Raises:
        ValueError: it is not a model of subwords, or its word marks follow the words.
    """
    fields = list(_fields(model))
    pieces = [_piece(message) for number, message in fields if number == 1]
    unknown = next((i for i, piece in enumerate(pieces) if piece.type == _UNKNOWN), None)
    if unknown is None:
        raise ValueError("it has no tokens, or no unknown token")
    trainer, normalizer = (dict(_fields(dict(fields).get(number, b""))) for number in (2, 3))  # specs in ModelProto
    if trainer.get(_SPACE_AS_SUFFIX):
        raise ValueError("its word marks follow the words (treat_whitespace_as_suffix), which cannot be converted")
    byte_fallback = any(piece.type == _BYTE for piece in pieces)
    form = trainer.get(3, _UNIGRAM)
    if form == _UNIGRAM:
        kind: Any = models.Unigram([piece[:2] for piece in pieces], unk_id=unknown, byte_fallback=byte_fallback)
    elif form == _BPE:
        ordinary = {piece.text: i for i, piece in enumerate(pieces) if piece.type == _NORMAL}
        kind = models.BPE(
            vocab={piece.text: i for i, piece in enumerate(pieces)},
            merges=merges_of(ordinary),
            unk_token=pieces[unknown].text,
            fuse_unk=True,
            byte_fallback=byte_fallback,
        )
    else:
        raise ValueError("its tokens are whole words or characters, and tokenizer.json has no model for these")
    tokenizer = Tokenizer(kind)
    prefixed = bool(normalizer.get(3, 1)) if dummy_prefix is None else dummy_prefix  # add_dummy_prefix
    squeezes = bool(normalizer.get(4, 1))  # remove_extra_whitespaces
    steps: list[normalizers.Normalizer] = [normalizers.Precompiled(normalizer[2])] if normalizer.get(2) else []
    if squeezes:
        ends = r" +\z" if prefixed else r"\A +| +\z"  # not `normalizers.Strip`, which also removes line ends
        steps += [normalizers.Replace(Regex(ends), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    elif prefixed:
        steps += [normalizers.Prepend(SPACE)]  # also if the text begins with a space
    tokenizer.normalizer = normalizers.Sequence(steps)
    scheme = "first" if squeezes and prefixed else "never"
    between_words = any(SPACE in piece.text[1:] for piece in pieces if piece.type == _NORMAL)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=SPACE, prepend_scheme=scheme, split=not between_words
    )
    first = [decoders.Strip(" ", 1, 0)] if prefixed else []
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *first]
    )
    tokenizer.add_special_tokens([piece.text for piece in pieces if piece.type == _CONTROL])
    fixed = [piece.text for piece in pieces if piece.type == _USER_DEFINED]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in fixed])
    return tokenizer


def merges_of(pieces: dict[str, int]) -> list[tuple[str, str]]:
    """List the merges that a BPE vocabulary implies: all ways to join two tokens to a third one, the best token first.

    SentencePiece joins the two neighbors whose product is the best token, whichever merge makes it.

    Args:
        pieces: the ids of the ordinary tokens; the smallest id is the best token.

    >>> merges_of({"ab": 0, "abc": 1, "a": 2, "b": 3, "c": 4, "bc": 5})
    [('a', 'b'), ('ab', 'c'), ('a', 'bc'), ('b', 'c')]
    """
    merges: list[tuple[str, str]] = []
    for piece in sorted(pieces, key=pieces.__getitem__):
        ways = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        known = [pair for pair in ways if pair[0] in pieces and pair[1] in pieces]
        merges += sorted(known, key=lambda pair: (pieces[pair[0]], pieces[pair[1]]))
    return merges


def _piece(message: bytes) -> _Piece:
    """Read a message `SentencePiece`: the text, the score and the type of a token."""
    fields = dict(_fields(message))
    return _Piece(fields[1].decode("utf-8"), struct.unpack("<f", fields.get(2, bytes(4)))[0], fields.get(3, _NORMAL))


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Read fields of a protocol-buffer message as (number, integer or bytes), so that no protobuf library is needed."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        size, at = ({1: 8, 5: 4}[kind], at) if kind in (1, 5) else _varint(message, at)
        yield key >> 3, message[at : at + size]
        at += size
    if at > len(message):
        raise ValueError("it ends too early")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Read an integer of variable length at a position; return it and the position after it."""
    end = next(i for i in range(at, len(message)) if message[i] < 128) + 1
    return sum((byte & 127) << 7 * i for i, byte in enumerate(message[at:end])), end


def has_other_tokens(file: Path, backend: Tokenizer) -> bool | None:
    """Return whether a vocabulary in another program's format differs from a tokenizer's; None if it is unreadable.

    Tokens are compared by their bytes. Ids are compared, too, except for SentencePiece, whose ids some classes shift.

    Args:
        file: the vocabulary; its name decides about the format.
        backend: the tokenizer.
    """
    spec, added = Spec.of(backend), backend.get_added_tokens_decoder()
    letters = BYTE_OF if spec.byte_level else None
    try:
        if file.name == "merges.txt":
            lines = file.read_text(encoding="utf-8").split("\n")
            merges = [line for line in lines if line and not line.startswith("#version")]
            return merges != [" ".join(pair) for pair in spec.merges]
        entries, by_id = _entries(file, letters)
    except Exception:  # a file of another program can have any content
        return None
    vocab = sorted(backend.get_vocab().items(), key=itemgetter(1))
    everything = {token_bytes(token, letters): number for token, number in vocab}
    own = {token_bytes(token, letters) for token, number in vocab if number not in added}
    if own - entries.keys() or entries.keys() - everything.keys():
        return True
    return by_id and any(everything[entry] != number for entry, number in entries.items() if entry in own)


def _entries(file: Path, letters: dict[str, int] | None) -> tuple[dict[bytes, int], bool]:
    """Return the ids of a vocabulary by the bytes of each token, and whether the tokenizer must have the same ids."""
    data = file.read_bytes()
    if file.suffix == ".json":
        content = json.loads(data)
        if "tekken" in file.name:
            special = int(content["config"]["default_num_special_tokens"])
            listed = content["vocab"][: int(content["config"]["default_vocab_size"]) - special]
            return {base64.b64decode(each["token_bytes"]): each["rank"] + special for each in listed}, True
        by_id = sorted(content.items(), key=itemgetter(1))
        return {token_bytes(token, letters): int(number) for token, number in by_id}, True
    if file.suffix == ".txt":
        return {token_bytes(token): number for number, token in enumerate(data.decode().split("\n")) if token}, True
    try:
        pairs = [line.split() for line in data.splitlines() if line]
        return {base64.b64decode(token, validate=True): int(rank) for token, rank in pairs}, True
    except ValueError:  # not a rank file of tiktoken
        pieces = [_piece(message) for number, message in _fields(data) if number == 1]
        return {token_bytes(piece.text): number for number, piece in enumerate(pieces)}, False


def token_bytes(token: str, byte_of_character: dict[str, int] | None = None) -> bytes:
    """Return the bytes of a token string in any form: ``<0xD0>``, ``##ing``, ``▁word``, ``word</w>``, byte-level.

    Args:
        token: the token.
        byte_of_character: the byte of each character, if the vocabulary is byte-level.

    >>> token_bytes("▁word"), token_bytes("<0x41>"), token_bytes("##ing")
    (b' word', b'A', b'ing')
    """
    if (byte := byte_of(token)) is not None:
        return bytes([byte])
    if byte_of_character and all(character in byte_of_character for character in token):
        return bytes(byte_of_character[character] for character in token)
    return token.removeprefix("##").removesuffix("</w>").removesuffix("@@").replace("▁", " ").encode()


def align(text: str, pieces: Sequence[bytes | None]) -> list[tuple[int, int]] | None:
    """Align the bytes of tokens with a text, from left to right.

    White space that tokens leave out is skipped, and lowercased tokens are recognized.

    Args:
        text: the text.
        pieces: the bytes of each token. None is the unknown token, which takes the text up to the next token; of
            several unknown tokens in a row the last one takes all of it.

    Returns:
        Start and end of each token in characters, (0, 0) for a token that takes nothing; None if the tokens do not
        spell the text.

    >>> align("no way", [b"no", b" w", b"ay"]), align("no way", [b"yes"])
    ([(0, 2), (2, 4), (4, 6)], None)
    """
    candidates = [text, text.lower()] if len(text.lower()) == len(text) else [text]
    for candidate in candidates:
        if (byte_spans := _align_bytes(candidate.encode(), pieces)) is not None:
            characters = [index for index, character in enumerate(candidate) for _ in character.encode()]
            return [(characters[s], characters[e - 1] + 1) if e > s else (0, 0) for s, e in byte_spans]
    return None


def _align_bytes(data: bytes, pieces: Sequence[bytes | None]) -> list[tuple[int, int]] | None:
    """Do what `align` does, with spans that are counted in bytes."""
    spans: list[tuple[int, int]] = []
    place, unknown = 0, False
    for piece in pieces:
        if piece is None:
            spans.append((place, place))
            unknown = True
            continue
        if piece.startswith(b" ") and not data.startswith(b" ", place) and not unknown:
            piece = piece.lstrip(b" ")
        start = data.find(piece, place)
        if start < 0 or (not unknown and data[place:start].strip()):
            return None
        if unknown:
            spans[-1] = (place, start)
        unknown, place = False, start + len(piece)
        spans.append((start, place))
    if unknown:
        spans[-1] = (spans[-1][0], len(data))
    elif data[place:].strip():
        return None
    return spans
