"""The parts of `tokenizers` 0.x that this package needs, for 1.0: build, read and change a tokenizer.json.

A tokenizer is its tokenizer.json here; 1.0 itself encodes and decodes with it. Parts (normalizers, pre-tokenizers, ...)
are their entries of the file, under the names and with the defaults of 0.x. Those that this package writes also run
here; any other says that it needs 0.x.
"""

from __future__ import annotations

import json
import tempfile
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tokenizers as one

from mws_hf.errors import MwSError
from mws_hf.text.byte_alphabet import to_byte_level
from mws_hf.text.pattern import split

State = dict[str, Any]


class Regex(str):
    """A regular expression, as `tokenizers.Regex` marks it."""


@dataclass
class AddedToken:
    """A token that is recognized whole in text, as tokenizer.json describes it."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False


@dataclass(frozen=True)
class Encoding:
    """A text as ids and token strings; 1.0 tells no offsets."""

    ids: list[int]
    tokens: list[str]


class Part:
    """A part of a tokenizer; its class is named as its type in tokenizer.json.

    Attributes:
        state: the part's entry in the file.
    """

    defaults: State = {}

    def __init__(self, **fields: Any) -> None:
        self.state = {"type": type(self).__name__, **self.defaults, **fields}

    def __getstate__(self) -> bytes:
        return json.dumps(self.state, ensure_ascii=False).encode()

    def __getattr__(self, name: str) -> Any:
        if name == "state" or name not in self.state:
            raise AttributeError(name)
        return self.state[name]

    def normalize_str(self, text: str) -> str:
        """Return the text in the Unicode normal form that the part is named after."""
        form = self.state["type"]
        if form not in ("NFC", "NFD", "NFKC", "NFKD"):
            raise needs_older(f"normalizer {form}")
        return unicodedata.normalize(form, text)

    def pre_tokenize_str(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """List the pre-tokens of a text; their places are not known here."""
        return [(piece, (0, 0)) for piece in _pieces([text], self.state)]


class Sequence(Part):
    """Parts one after another."""

    def __init__(self, parts: Iterable[Part]) -> None:
        super().__init__(**{self.defaults["of"]: [part.state for part in parts]})
        del self.state["of"]

    def __getitem__(self, place: int) -> Any:
        return part_of(self.state[self.defaults["of"]][place], _PLACES[self.defaults["of"]])


def _sequence(of: str) -> type[Sequence]:
    return type("Sequence", (Sequence,), {"defaults": {"of": of}})


class Split(Part):
    """A split by a regular expression, or by plain text."""

    def __init__(self, pattern: str, behavior: str, invert: bool = False) -> None:
        kind = "Regex" if isinstance(pattern, Regex) else "String"
        told = "".join(word.capitalize() for word in behavior.split("_"))
        super().__init__(pattern={kind: str(pattern)}, behavior=told, invert=invert)


def _class(kind: str, **defaults: Any) -> type[Part]:
    return type(kind, (Part,), {"defaults": defaults})


_BYTES = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_BPE: State = {
    **{"dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None},
    **{"fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": {}, "merges": []},
}
models = SimpleNamespace(BPE=_class("BPE", **_BPE), Unigram=_class("Unigram"))
normalizers = SimpleNamespace(
    Sequence=_sequence("normalizers"), **{form: _class(form) for form in ("NFC", "NFD", "NFKC", "NFKD")}
)
pre_tokenizers = SimpleNamespace(
    PreTokenizer=Part, Split=Split, Sequence=_sequence("pretokenizers"), ByteLevel=_class("ByteLevel", **_BYTES),
    Metaspace=_class("Metaspace", replacement="\u2581", prepend_scheme="always", split=True),
)  # fmt: skip
decoders = SimpleNamespace(
    Sequence=_sequence("decoders"), ByteLevel=_class("ByteLevel", **_BYTES), ByteFallback=_class("ByteFallback"),
    Fuse=_class("Fuse"),
)  # fmt: skip


def _template(single: str, pair: str) -> Part:
    """Make `processors.TemplateProcessing` of sequences alone: ``"$A:0 $B:1"``."""
    told = [
        [{"Sequence": {"id": each[1], "type_id": int(each[3])}} for each in text.split()] for text in (single, pair)
    ]
    return _class("TemplateProcessing")(single=told[0], pair=told[1], special_tokens={})


processors = SimpleNamespace(TemplateProcessing=_template, PostProcessor=Part)
_PLACES = {"normalizers": "normalizer", "pretokenizers": "pre_tokenizer", "decoders": "decoder"}
_KINDS = {"model": models, "normalizer": normalizers, "pre_tokenizer": pre_tokenizers, "decoder": decoders}


def part_of(state: State | None, place: str) -> Any:
    """Return the part that an entry of tokenizer.json describes; None for no entry."""
    if state is None:
        return None
    kind = state["type"]
    found = getattr(_KINDS.get(place), kind, None) or _class(kind)
    part = object.__new__(found)
    part.state = state
    return part


def _pieces(texts: list[str], state: Mapping[str, Any]) -> list[str]:
    """List pre-tokens of texts by one part; only parts that this package writes are known."""
    kind = state["type"]
    if kind == "Sequence":
        for each in state["pretokenizers"]:
            texts = _pieces(texts, each)
        return texts
    if kind == "Split" and state["behavior"] == "Isolated" and not state["invert"] and "Regex" in state["pattern"]:
        return [piece for text in texts for piece in split(text, state["pattern"]["Regex"])]
    if kind == "ByteLevel" and not state["use_regex"] and not state["add_prefix_space"]:
        return [to_byte_level(text) for text in texts]
    if kind == "Metaspace" and state["replacement"] == " " and not state["split"]:
        return [text if text.startswith(" ") else " " + text for text in texts]
    raise needs_older(f"pre-tokenizer {kind}")


def needs_older(what: str) -> MwSError:
    """Make the error for work that 1.0 cannot do."""
    return MwSError(f"{what}: tokenizers {one.__version__} has nothing of the kind; pip install 'tokenizers<1'")


def engine_of(text: str) -> Any:
    """Make 1.0's tokenizer of the text of a tokenizer.json; 1.0 reads files alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        path.write_text(text, encoding="utf-8", newline="\n")
        return one.Tokenizer.from_file(str(path))


def _property(name: str) -> property:
    def get(self: Tokenizer) -> Any:
        return part_of(self.spec[name], name)

    def put(self: Tokenizer, part: Part | None) -> None:
        self._change(name, None if part is None else part.state)

    return property(get, put)


class Tokenizer:
    """A tokenizer.json and 1.0's tokenizer of it, made when it is first needed.

    Attributes:
        spec: the whole file.
        encode_special_tokens: whether special tokens in text are text.
    """

    def __init__(self, model: Part) -> None:
        parts = ("truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder")
        self.spec: State = {"version": "1.0", **dict.fromkeys(parts), "model": model.state}
        self.spec["added_tokens"] = []
        self.encode_special_tokens = False
        self._engine: Any = None

    normalizer, pre_tokenizer, decoder = _property("normalizer"), _property("pre_tokenizer"), _property("decoder")
    post_processor, model = _property("post_processor"), _property("model")

    def _change(self, name: str, value: Any) -> None:
        self.spec, self._engine = {**self.spec, name: value}, None

    @classmethod
    def from_str(cls, text: str) -> Tokenizer:
        """Read the text of a tokenizer.json; errors are those of 1.0."""
        new = object.__new__(cls)
        new.spec, new.encode_special_tokens = json.loads(text), False
        new._engine = engine_of(text)
        return new

    @classmethod
    def from_file(cls, path: str) -> Tokenizer:
        """Read a tokenizer.json."""
        with open(path, encoding="utf-8") as file:
            return cls.from_str(file.read())

    def to_str(self, pretty: bool = False) -> str:
        """Return the text of the tokenizer.json."""
        form: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
        return json.dumps(self.spec, ensure_ascii=False, **form)

    def save(self, path: str, pretty: bool = True) -> None:
        """Write the tokenizer.json."""
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.to_str(pretty))

    @property
    def engine(self) -> Any:
        """1.0's own tokenizer."""
        if self._engine is None:
            self._engine = engine_of(self.to_str())
        return self._engine

    def encode(self, text: str, add_special_tokens: bool = True) -> Encoding:
        """Cut a text into tokens; `encode_batch` does the same with several texts."""
        return self.encode_batch([text], add_special_tokens)[0]

    def encode_batch(self, texts: Iterable[str], add_special_tokens: bool = True) -> list[Encoding]:
        """Cut texts into tokens.

        Raises:
            MwSError: 1.0 cannot run the tokenizer's split pattern.
        """
        options = {"add_special_tokens": add_special_tokens, "encode_special_tokens": self.encode_special_tokens}
        try:
            found = self.engine.encode_batch(list(texts), **options)
        except ValueError as error:
            if "system-regex" not in str(error):
                raise
            raise MwSError(
                f"tokenizers {one.__version__} cannot run this tokenizer's split pattern; pip install 'tokenizers<1', "
                "train with --pattern o200k, or export one to it (mws export DIR --format byte-level --pattern o200k)"
            ) from error
        return [Encoding(list(each.ids), self.engine.decode_tokens(each.ids)) for each in found]

    encode_batch_fast = encode_batch

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids."""
        return str(self.engine.decode(list(ids), skip_special_tokens))

    def decode_batch(self, batch: Iterable[Iterable[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the texts of lists of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in batch]

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the vocabulary: token -> id."""
        vocab = self.spec["model"]["vocab"]
        found = dict(vocab) if isinstance(vocab, dict) else {piece: index for index, (piece, _) in enumerate(vocab)}
        added = {token["content"]: token["id"] for token in self.spec["added_tokens"]} if with_added_tokens else {}
        return found | added

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Count the tokens."""
        return len(self.get_vocab(with_added_tokens))

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token."""
        return self.get_vocab().get(token)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the added tokens: id -> token."""
        return {
            token["id"]: AddedToken(**{name: value for name, value in token.items() if name != "id"})
            for token in self.spec["added_tokens"]
        }

    def add_special_tokens(self, tokens: list[AddedToken]) -> int:
        """Add tokens, as special ones, under the ids that they have in the vocabulary, or else under the next ones."""
        return self.add_tokens([replace(token, special=True) for token in tokens])

    def add_tokens(self, tokens: list[AddedToken]) -> int:
        """Add tokens under the ids that they have in the vocabulary, or else under the next ones."""
        entries, vocab = list(self.spec["added_tokens"]), self.get_vocab()
        for token in tokens:
            number = vocab.setdefault(token.content, len(vocab))
            entries.append({"id": number, **vars(token)})
        self._change("added_tokens", sorted(entries, key=lambda entry: entry["id"]))
        return len(tokens)

    @property
    def truncation(self) -> Any:
        """A past call's truncation, as the file has it."""
        return self.spec["truncation"]

    @property
    def padding(self) -> Any:
        """A past call's padding, as the file has it."""
        return self.spec["padding"]

    def no_truncation(self) -> None:
        """Forget the truncation."""
        self._change("truncation", None)

    def no_padding(self) -> None:
        """Forget the padding."""
        self._change("padding", None)
