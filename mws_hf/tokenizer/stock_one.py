"""`tokenizers` 1.0 under the names of 0.x: it encodes, decodes and reads a file; all else is told from tokenizer.json.

Of the parts that the library no longer shows, those that this package writes run here too; any other needs 0.x.
"""

from __future__ import annotations

import json
import tempfile
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tokenizers as one

from mws_hf.errors import MwSError
from mws_hf.text.byte_alphabet import to_byte_level
from mws_hf.text.pattern import split


class Absent(MwSError, AttributeError):
    """The error for what 0.x has and 1.0 has not."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: tokenizers {one.__version__} has nothing of the kind; pip install 'tokenizers<1'")


class Encoding:
    """A text as ids and token strings; 1.0 tells no more of it."""

    def __init__(self, ids: list[int], tokens: list[str]) -> None:
        self.ids, self.tokens = ids, tokens

    def __getattr__(self, name: str) -> Any:
        raise Absent(f"{name} of a text")


class Part:
    """A model, normalizer, ... as tokenizer.json has it; its class is named as its type there."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self._entry = entry

    def __getstate__(self) -> bytes:
        return json.dumps(self._entry).encode()

    def __getattr__(self, name: str) -> Any:
        if name == "_entry" or name not in self._entry:
            raise Absent(name)
        return self._entry[name]

    def normalize_str(self, text: str) -> str:
        """Return the text in the Unicode normal form that the part is named after."""
        form = self._entry["type"]
        if form not in ("NFC", "NFD", "NFKC", "NFKD"):
            raise Absent(f"normalizer {form}")
        return unicodedata.normalize(form, text)

    def pre_tokenize_str(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """List the pre-tokens of a text; their places are not known here."""
        return [(piece, (0, 0)) for piece in _pieces([text], self._entry)]


def _pieces(texts: list[str], entry: Mapping[str, Any]) -> list[str]:
    """List pre-tokens of texts by one part; only parts that this package writes are known."""
    kind = entry["type"]
    if kind == "Sequence":
        for each in entry["pretokenizers"]:
            texts = _pieces(texts, each)
        return texts
    if kind == "Split" and entry["behavior"] == "Isolated" and not entry["invert"] and "Regex" in entry["pattern"]:
        return [piece for text in texts for piece in split(text, entry["pattern"]["Regex"])]
    if kind == "ByteLevel" and not entry["use_regex"] and not entry["add_prefix_space"]:
        return [to_byte_level(text) for text in texts]
    if kind == "Metaspace" and entry["replacement"] == " " and not entry["split"]:
        return [text if text.startswith(" ") else " " + text for text in texts]
    raise Absent(f"pre-tokenizer {kind}")


class Tokenizer:
    """A tokenizer.json and 1.0's tokenizer of it; neither changes.

    Attributes:
        encode_special_tokens: whether special tokens in text are text.
    """

    def __init__(self, text: str) -> None:
        self._spec, self.encode_special_tokens = json.loads(text), False
        with tempfile.TemporaryDirectory() as folder:  # 1.0 reads files alone
            path = Path(folder, "tokenizer.json")
            path.write_text(text, encoding="utf-8", newline="\n")
            self._engine: Any = one.Tokenizer.from_file(str(path))

    def __getattr__(self, name: str) -> Any:
        if name in ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder"):
            entry = self._spec.get(name)
            return None if entry is None else type(entry.get("type", "BPE"), (Part,), {})(entry)
        if name in ("truncation", "padding"):
            return self._spec.get(name)
        raise Absent(name)

    @classmethod
    def from_str(cls, text: str) -> Tokenizer:
        """Read the text of a tokenizer.json; errors are those of 1.0."""
        return cls(text)

    @classmethod
    def from_file(cls, path: str) -> Tokenizer:
        """Read a tokenizer.json."""
        return cls(Path(path).read_text(encoding="utf-8"))

    def to_str(self, pretty: bool = False) -> str:
        """Return the text of the tokenizer.json."""
        form: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
        return json.dumps(self._spec, ensure_ascii=False, **form)

    def save(self, path: str, pretty: bool = True) -> None:
        """Write the tokenizer.json."""
        Path(path).write_text(self.to_str(pretty), encoding="utf-8", newline="\n")

    def without_limits(self) -> Tokenizer:
        """Return the tokenizer without truncation and padding."""
        return Tokenizer(json.dumps({**self._spec, "truncation": None, "padding": None}))

    def encode(self, text: str, add_special_tokens: bool = True) -> Encoding:
        """Cut a text into tokens; `encode_batch` does the same with several texts."""
        return self.encode_batch([text], add_special_tokens)[0]

    def encode_batch(self, texts: Iterable[str], add_special_tokens: bool = True) -> list[Encoding]:
        """Cut texts into tokens; MwSError where 1.0 cannot run the tokenizer's split pattern."""
        options = {"add_special_tokens": add_special_tokens, "encode_special_tokens": self.encode_special_tokens}
        try:
            found = self._engine.encode_batch(list(texts), **options)
        except ValueError as error:
            if "system-regex" not in str(error):
                raise
            raise MwSError(
                f"tokenizers {one.__version__} cannot run this tokenizer's split pattern; pip install 'tokenizers<1', "
                "train with --pattern o200k, or export one to it (mws export DIR --format byte-level --pattern o200k)"
            ) from error
        return [Encoding(list(each.ids), self._engine.decode_tokens(each.ids)) for each in found]

    encode_batch_fast = encode_batch

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids."""
        return str(self._engine.decode(list(ids), skip_special_tokens))

    def decode_batch(self, batch: Iterable[Iterable[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the texts of lists of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in batch]

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the vocabulary: token -> id."""
        vocab = self._spec["model"]["vocab"]
        found = dict(vocab) if isinstance(vocab, dict) else {piece: index for index, (piece, _) in enumerate(vocab)}
        added = {token["content"]: token["id"] for token in self._spec["added_tokens"]} if with_added_tokens else {}
        return found | added

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Count the tokens."""
        return len(self.get_vocab(with_added_tokens))

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token."""
        return self.get_vocab().get(token)

    def get_added_tokens_decoder(self) -> dict[int, SimpleNamespace]:
        """Return the added tokens, with their entries in tokenizer.json as attributes: id -> token."""
        return {token["id"]: SimpleNamespace(**token) for token in self._spec["added_tokens"]}
