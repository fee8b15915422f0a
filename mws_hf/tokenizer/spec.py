r"""Read and write the parts of a tokenizer.json, and change the parts of a loaded tokenizer.

Only this module contains the form of these parts.

>>> from mws_hf.tokenizer.backend import base_vocab, build_backend
>>> merges = [("о", "н"), (" ", "он")]
>>> spec = Spec.of(build_backend(base_vocab((), " но", merges), merges, r"\s+|\S+"))
>>> spec.kind, spec.merges, spec.pattern, spec.byte_level, spec.space
('BPE', [('о', 'н'), (' ', 'он')], '\\s+|\\S+', False, ' ')
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tokenizers
from tokenizers import Tokenizer

from mws_hf.errors import MwSError, first_line
from mws_hf.text.capitals import (
    marked_letters,
    marking_rules,
    restoring_rules,
    with_capitals,
    with_space_first,
)
from mws_hf.text.pattern import NORMALIZATIONS
from mws_hf.text.symbols import BYTE_CHARACTERS, BYTE_OF, byte_of

PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
"""The parts of a tokenizer.json besides its model and added tokens, by their names there."""
_LISTS = ("normalizers", "pretokenizers", "processors", "decoders")
_IN_PYTHON = "has a part that is written in Python, which a tokenizer.json cannot contain"
SPACE_FIRST = {"type": "Metaspace", "replacement": " ", "prepend_scheme": "always", "split": False}
"""The pre-tokenizer that puts a space before a text and after each added token, unless there is one."""
_FIRST, _SECOND = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
EMPTY_TEMPLATE = {"type": "TemplateProcessing", "single": [_FIRST], "pair": [_FIRST, _SECOND], "special_tokens": {}}
"""The post-processor that adds no token to a text or to a pair of texts; transformers 5 would set it."""


def splitter(pattern: str, *, in_bytes: bool) -> dict[str, Any]:
    """Return a pre-tokenizer that splits by a pattern, and with `in_bytes` writes the parts in the byte alphabet.

    >>> split_of(splitter("a+", in_bytes=True))
    ('a+', True)
    """
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    spelled = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [split, spelled]} if in_bytes else split


def normalizer(form: str | None, capitals: str = "") -> dict[str, Any] | None:
    """Return a normalizer that writes text in a Unicode form, and then a marker for some uppercase letters.

    >>> normalizer(None), normalizer("nfc"), len(normalizer("nfc", "AB")["normalizers"])
    (None, {'type': 'NFC'}, 5)
    """
    parts = [] if form is None else [{"type": form.upper()}]
    if capitals:
        return {"type": "Sequence", "normalizers": [*parts, *marking_rules(capitals)]}
    return parts[0] if parts else None


def decoder(capitals: str = "", *, in_bytes: bool) -> dict[str, Any]:
    """Return the decoder of tokens in the byte alphabet, or of characters with byte fallback.

    It also undoes the marker for some uppercase letters.
    """
    parts: list[dict[str, Any]] = [{"type": "ByteFallback"}, {"type": "Fuse"}]
    if in_bytes:
        parts = [{"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]
    if capitals:
        parts += restoring_rules(capitals)
    return parts[0] if len(parts) == 1 else {"type": "Sequence", "decoders": parts}


def bpe_model(vocab: Mapping[str, int], merges: Iterable[tuple[str, str]], *, in_bytes: bool) -> dict[str, Any]:
    """Return the BPE model of a byte-level tokenizer, or of one of characters with byte fallback."""
    return {
        "type": "BPE",
        **dict.fromkeys(("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")),
        "fuse_unk": False,
        "byte_fallback": not in_bytes,
        "ignore_merges": False,
        "vocab": dict(sorted(vocab.items(), key=lambda item: item[1])),
        "merges": list(merges),
    }


def special_entries(tokens: Sequence[str], vocab: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return special tokens as ``added_tokens`` of a tokenizer.json, in the order of their ids.

    Special tokens that the vocabulary lacks get the ids after it.

    >>> [(entry["content"], entry["id"]) for entry in special_entries(["<s>", "<pad>"], {"<pad>": 0, "a": 1})]
    [('<pad>', 0), ('<s>', 2)]
    """
    fresh = [token for token in dict.fromkeys(tokens) if token not in vocab]
    ids = {**vocab, **{token: number for number, token in enumerate(fresh, start=len(vocab))}}
    flags = {**dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False), "special": True}
    return [{"id": ids[token], "content": token, **flags} for token in sorted(set(tokens), key=lambda each: ids[each])]


def has_leading_space(pre_tokenizer: Mapping[str, Any] | None) -> bool:
    """Return whether a pre-tokenizer first puts a space before the text."""
    return pre_tokenizer is not None and pre_tokenizer.get("pretokenizers", [])[:1] == [SPACE_FIRST]


def parts_of(component: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a sequence, and of sequences in it; any other normalizer, decoder, etc. is its only part.

    >>> [part["type"] for part in parts_of({"type": "Sequence", "decoders": [{"type": "Fuse"}, None]})]
    ['Fuse']
    """
    waiting = [component]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Mapping):
            continue
        inner = next((part[name] for name in _LISTS if isinstance(part.get(name), list)), None)
        if inner is None:
            yield part
        else:
            waiting += reversed(inner)


def split_of(pre_tokenizer: Any) -> tuple[str | None, bool]:
    """Return the split pattern of a pre-tokenizer, and whether it writes text in the byte alphabet after the split.

    The pattern is None if the pre-tokenizer does anything besides one split by a regular expression that isolates its
    matches.

    >>> split_of({"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False})
    ('a+', False)
    >>> split_of({"type": "Metaspace"})
    (None, False)
    """
    first, *others = [*parts_of(pre_tokenizer)] or [{}]
    isolates = first.get("type") == "Split" and first.get("behavior") == "Isolated" and not first.get("invert")
    in_bytes = [part.get("type") for part in others] == ["ByteLevel"]
    more = any(part.get("use_regex") or part.get("add_prefix_space") for part in others)
    if not isolates or more or len(others) > in_bytes:
        return None, in_bytes
    return first.get("pattern", {}).get("Regex"), in_bytes


@dataclass(frozen=True)
class Spec:
    """A tokenizer.json as a value that is not changed.

    Attributes:
        raw: the parsed JSON.
    """

    raw: Mapping[str, Any]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Spec:
        """Return the tokenizer.json that a loaded tokenizer would write.

        Raises:
            MwSError: a part of the tokenizer is written in Python.
        """
        try:
            return cls(json.loads(tokenizer.to_str()))
        except Exception as error:  # the library raises nothing narrower
            raise MwSError(f"the tokenizer {_IN_PYTHON} ({first_line(error)}); replace that part") from error

    def open(self) -> Tokenizer:
        """Load the tokenizer; errors are raised by the library `tokenizers`."""
        return Tokenizer.from_str(json.dumps(self.raw))

    @property
    def model(self) -> Mapping[str, Any]:
        """The entry of the model, with its vocabulary."""
        return self.raw["model"]

    @property
    def kind(self) -> str:
        """The name of the model: "BPE", "Unigram", "WordPiece" or "WordLevel"."""
        return str(self.model.get("type"))

    @cached_property
    def merges(self) -> list[tuple[str, str]]:
        """The merges (left, right) in the order of their ranks; [] for models other than BPE.

        Both forms are read: pairs, and strings with a space between the parts.
        """
        pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in self.model.get("merges") or [])
        return [(left, right) for left, right in pairs]

    @property
    def plain(self) -> bool:
        """Whether it is a BPE that only merges by rank, without dropout, affixes or ``ignore_merges``."""
        odd = ("dropout", "ignore_merges", "continuing_subword_prefix", "end_of_word_suffix")
        return self.kind == "BPE" and not any(self.model.get(name) for name in odd)

    @property
    def added(self) -> list[Mapping[str, Any]]:
        """The added tokens as tokenizer.json has them, each with "content", "id" and "special"."""
        return self.raw.get("added_tokens") or []

    @property
    def highest_id(self) -> int:
        """The largest id of a token; 0 if there are no tokens."""
        vocab = self.model["vocab"]
        ids = vocab.values() if isinstance(vocab, dict) else range(len(vocab))  # Unigram has a list of tokens
        return max([*ids, *(token["id"] for token in self.added)], default=0)

    @cached_property
    def split(self) -> tuple[str | None, bool]:
        """The split pattern, or None, and whether text is in the byte alphabet after it; see `split_of`."""
        return split_of(self.raw.get("pre_tokenizer"))

    @property
    def pattern(self) -> str | None:
        """The split pattern; None if the pre-tokenizer does anything else."""
        return self.split[0]

    @property
    def normalization(self) -> str | None:
        """The changes of text before it is split, as `WordCounts.normalization` names them.

        The value is a Unicode form, such as "nfc", or "capitals", or both ("nfc+capitals"). It is None if the
        normalizer has neither. Other steps of the normalizer have no name there.
        """
        kinds = [str(part.get("type")).lower() for part in parts_of(self.raw.get("normalizer"))]
        form = kinds[0] if kinds and kinds[0] in NORMALIZATIONS else None
        return with_capitals(form) if self.capitals else form

    @property
    def has_leading_space(self) -> bool:
        """Whether it puts a space before a text."""
        parts = list(parts_of(self.raw.get("normalizer")))
        return with_space_first(parts, True) == parts or has_leading_space(self.raw["pre_tokenizer"])

    @cached_property
    def capitals(self) -> str:
        """The uppercase letters for which it writes a marker; "" if it writes none."""
        return marked_letters(parts_of(self.raw.get("normalizer")))

    @property
    def lossy_steps(self) -> list[Mapping[str, Any]]:
        """The steps of the normalizer that the decoder does not undo: all except a space at the start and the marker.

        >>> [step["type"] for step in Spec({"normalizer": normalizer("nfc", "AB")}).lossy_steps]
        ['NFC']
        """
        steps = with_space_first(parts_of(self.raw.get("normalizer")), False)
        return steps[: len(steps) - len(marking_rules(self.capitals))] if self.capitals else steps

    def decoded(self, text: str, backend: Tokenizer) -> str:
        """Return a text as it is after encoding and decoding, if the tokenizer loses nothing after normalization.

        Args:
            text: the text.
            backend: this tokenizer.
        """
        step = backend.normalizer
        if self.capitals:
            step = _part_of("normalizer", {"type": "Sequence", "normalizers": self.lossy_steps})
        return text if step is None else str(step.normalize_str(text))

    @property
    def byte_level(self) -> bool:
        """Whether its tokens are written in GPT-2's byte alphabet."""
        places = ("decoder", "pre_tokenizer", "normalizer")
        return any(part.get("type") == "ByteLevel" for place in places for part in parts_of(self.raw.get(place)))

    @property
    def space(self) -> str:
        """The character that tokens have for a space: the space itself, or a mark such as ``▁``."""
        if self.byte_level:
            return BYTE_CHARACTERS[0x20]
        for part in (*parts_of(self.raw.get("normalizer")), *parts_of(self.raw.get("pre_tokenizer"))):
            if part["type"] == "Metaspace":
                return str(part["replacement"])
            if part["type"] == "Replace" and part["pattern"].get("String") == " ":
                return str(part["content"])
        return " "

    @cached_property
    def _decoders(self) -> dict[str, Mapping[str, Any]]:
        return {str(part.get("type")): part for part in parts_of(self.raw.get("decoder"))}

    def bytes_of(self, token: str) -> bytes:
        r"""Return the bytes of text that an ordinary token is decoded to.

        A word mark becomes a space, and a token that continues a word loses its ``##``. The tokens of a WordPiece
        tokenizer do not contain the spaces between words, so their bytes do not add up to the text.

        >>> Spec({"model": {"byte_fallback": True}}).bytes_of("<0xD0>")
        b'\xd0'
        """
        if "ByteLevel" in self._decoders and all(character in BYTE_OF for character in token):
            return bytes(BYTE_OF[character] for character in token)
        falls_back = "ByteFallback" in self._decoders or self.model.get("byte_fallback")
        if falls_back and (byte := byte_of(token)) is not None:
            return bytes([byte])
        if (metaspace := self._decoders.get("Metaspace")) is not None:
            token = token.replace(metaspace["replacement"], " ")
        if (replace := self._decoders.get("Replace")) is not None and "String" in replace["pattern"]:
            token = token.replace(replace["pattern"]["String"], replace["content"])
        if (word_piece := self._decoders.get("WordPiece")) is not None:
            token = token.removeprefix(word_piece["prefix"])
        if (end_of_word := self._decoders.get("BPEDecoder")) is not None:
            token = token.removesuffix(end_of_word["suffix"])
        return token.encode()


def entry_of(tokenizer: Tokenizer, place: str) -> dict[str, Any] | None:
    """Return one of the `PARTS` of a loaded tokenizer as tokenizer.json has it; None if it has no such part.

    Raises:
        MwSError: the part is written in Python.
    """
    part = getattr(tokenizer, place)
    try:
        return None if part is None else json.loads(part.__getstate__())
    except Exception as error:  # the library raises nothing narrower
        raise MwSError(f"the {place} {_IN_PYTHON} ({first_line(error)}); replace that part") from error


def set_part(tokenizer: Tokenizer, place: str, entry: Mapping[str, Any] | None) -> None:
    """Replace one of the `PARTS` of a loaded tokenizer by an entry in the form of tokenizer.json.

    >>> tokenizer = Tokenizer.from_str('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
    >>> set_part(tokenizer, "normalizer", {"type": "NFC"})
    >>> entry_of(tokenizer, "normalizer")
    {'type': 'NFC'}
    """
    setattr(tokenizer, place, None if entry is None else _part_of(place, entry))


def _part_of(place: str, entry: Mapping[str, Any]) -> Any:
    """Load one of the `PARTS` from an entry in the form of tokenizer.json, as an object of `tokenizers`."""
    part = getattr(tokenizers, "processors" if place == "post_processor" else f"{place}s").Sequence([])
    part.__setstate__(json.dumps(entry).encode())
    return part


def capitals_of(tokenizer: Tokenizer) -> str:
    """Return `Spec.capitals` of a loaded tokenizer, without reading its vocabulary."""
    return "" if tokenizer.normalizer is None else marked_letters(parts_of(entry_of(tokenizer, "normalizer")))


def without_limits(tokenizer: Tokenizer) -> Tokenizer:
    """Copy a tokenizer without its truncation and padding.

    Settings of the copy can be changed while other threads use the original. The copy shares the model, so that it
    takes microseconds and no memory.

    >>> tokenizer = Tokenizer.from_str('{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}')
    >>> copy = without_limits(tokenizer)
    >>> copy.enable_truncation(2)
    >>> len(copy.encode("aaa")), len(tokenizer.encode("aaa")), copy.get_vocab() == tokenizer.get_vocab()
    (2, 3, True)
    """
    copy = Tokenizer(tokenizer.model)
    share_parts(copy, tokenizer)
    copy.add_tokens([token for _, token in sorted(tokenizer.get_added_tokens_decoder().items())])
    return copy


def for_counted_words(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer that encodes the words of counts, in which markers for capitals are written already."""
    if not capitals_of(tokenizer):
        return tokenizer
    copy = without_limits(tokenizer)
    copy.normalizer = None
    return copy


def share_parts(copy: Tokenizer, tokenizer: Tokenizer, parts: Iterable[str] = PARTS) -> None:
    """Give a copy some parts of a tokenizer, and its setting whether special tokens in text are split."""
    for part in parts:
        if getattr(tokenizer, part) is not None:  # old versions do not accept None
            setattr(copy, part, getattr(tokenizer, part))
    copy.encode_special_tokens = tokenizer.encode_special_tokens
