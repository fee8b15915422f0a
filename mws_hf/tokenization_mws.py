"""Provide the tokenizer in readable Python (`MwSTokenizer`); it is slow, and tests compare the fast class with it.

All steps from a pre-token to its ids are in Python. Only normalizing and splitting is left to the library `tokenizers`,
because the Python library `regex` has newer Unicode tables and would split 17,480 rare letters differently.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizer

from mws_hf.errors import MissingTokenizerError, MwSError
from mws_hf.portable import DEFAULTS, PortableMixin, home_of
from mws_hf.text.capitals import restore_capitals
from mws_hf.text.symbols import BYTE_OF, Alphabet, built_first, byte_of, bytes_of, to_byte_level
from mws_hf.text.valid_text import check_texts
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import alphabet_of, base_vocab, build_backend, check_merges, check_vocab, tables_of
from mws_hf.tokenizer.file import raise_no_vocabulary
from mws_hf.tokenizer.leading_space import is_put_by_normalizer, settle_leading_space
from mws_hf.tokenizer.merging import (
    Dropout,
    Dropped,
    merge,
    merge_dropped,
    ranked,
    starting_symbols,
    symbols_of,
    text_key,
    word_key,
)
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.post_processor import template_of
from mws_hf.tokenizer.spec import capitals_of, without_limits


def join_tokens(tokens: Iterable[str | None], kind: Alphabet = "characters") -> str:
    """Join tokens to text; invalid UTF-8 becomes U+FFFD, as in `tokenizers`.

    A run of byte tokens that is not UTF-8 gives one U+FFFD per byte. In a byte-level tokenizer, an incomplete character
    gives one U+FFFD for all its bytes, and every other invalid byte gives one, as in Python's own decoder.

    Args:
        tokens: the tokens; None is ignored.
        kind: "bytes" for the tokens of a byte-level tokenizer, "characters" for those with byte fallback.

    Returns:
        The text.

    >>> join_tokens(["он", " ", "<0xE6>", "<0xBC>", "<0xA2>", "<0xE6>"]), join_tokens(["<0xE6>", "<0xBC>", "я"])
    ('он ����', '��я')
    >>> join_tokens(["ĠÐ¾Ð½", "æ¼"], "bytes")
    ' он�'
    """
    if kind == "bytes":
        return b"".join([bytes_of(token) for token in tokens if token is not None]).decode("utf-8", "replace")
    pieces: list[str] = []
    run = bytearray()
    for token in (*tokens, ""):
        if token is None:
            continue
        byte = byte_of(token)
        if byte is not None:
            run.append(byte)
            continue
        if run:
            pieces.append(_decode_run(bytes(run)))
            run.clear()
        pieces.append(token)
    return "".join(pieces)


def _decode_run(run: bytes) -> str:
    """Decode the bytes of adjacent byte tokens; if they are not UTF-8 together, return one U+FFFD for each byte."""
    try:
        return run.decode("utf-8")
    except UnicodeDecodeError:
        return "\N{REPLACEMENT CHARACTER}" * len(run)


def _unknown_part(backend: Tokenizer, kind: Alphabet) -> str | None:
    """Return the name of a part of a tokenizer that has no counterpart in Python; None if all parts have one.

    For example, the pre-tokenizer of Llama 2 writes a word mark, and the Python version does not.
    """
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if getattr(backend.model, name, None):
            return name
    plain, pre_tokenizer = without_limits(backend), backend.pre_tokenizer
    for text in ("a", " a", "a b", "ab. 12\n c"):
        normal = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
        pieces = [(normal, (0, 0))] if pre_tokenizer is None else pre_tokenizer.pre_tokenize_str(normal)
        spelled = [normal[start:end] for _, (start, end) in pieces]
        if [piece for piece, _ in pieces] != ([*map(to_byte_level, spelled)] if kind == "bytes" else spelled):
            return "pre_tokenizer"
        ids = plain.encode(text, add_special_tokens=False).ids
        tokens = map(plain.id_to_token, ids)  # those of the encoding include white space that `lstrip` takes away
        if join_tokens(tokens, kind) != plain.decode(ids, skip_special_tokens=False):
            return "decoder"
    return None


class _DropoutTables(NamedTuple):
    """The settings of `MwSTokenizer.set_dropout` in the form that merging needs.

    Attributes:
        how: the settings.
        may_fail: whether the merge of each rank may be left out.
        whole: the characters that a byte-level BPE builds first, from which merging starts.
    """

    how: Dropout
    may_fail: list[bool]
    whole: dict[str, None]


class MwSTokenizer(PortableMixin, PreTrainedTokenizer):
    """A `PreTrainedTokenizer` in readable Python that gives the same ids as `MwSTokenizerFast`.

    transformers' slow classes find added tokens in their own way, so that ids may differ in three cases:

    * A token has ``single_word=True``.
    * A token has ``normalized=True``, and the text spells it only after normalization.
    * A token with ``normalized=False`` is part of a special token that ``split_special_tokens=True`` splits.

    The post-processor in the file decides about special tokens, masks and type ids, for pairs of texts, too. Truncation
    keeps the same tokens, except that ``longest_first`` may keep one token more of the other text in a pair. Overflow
    is returned in the form of transformers' slow classes.

    The class has no offsets, word ids or `train_new_from_iterator`, and it is about ten times slower than the fast
    class. Its time grows with the square of the length of a pre-token: 20,000 letters without a space take 5 s of CPU
    time, and 0.02 s with the fast class. Lists of words (`is_split_into_words=True`) and `add_prefix_space` work as in
    the fast class.

    Args:
        tokenizer_file: the path of a tokenizer.json; without it, give `tokenizer_object`, or `vocab`, `merges`,
            `pattern`, `normalization` and `capitals` as for `build_backend`.
        **kwargs: arguments of `transformers.PreTrainedTokenizer`; all others are as in `MwSTokenizerFast`.

    Raises:
        MwSError: the vocabulary and merges are inconsistent, the post-processor does more than put special tokens
            around texts, or the pre-tokenizer or decoder has a step for which there is no Python version, such as one
            that writes a word mark.

    >>> merges = [("о", "н"), (" ", "он")]
    >>> tokenizer = MwSTokenizer(vocab=base_vocab((), " но", merges), merges=merges)
    >>> tokenizer.tokenize("но он я")
    ['н', 'о', ' он', ' ', '<0xD1>', '<0x8F>']
    """

    def __init__(self, tokenizer_file: str | None = None, **kwargs: Any) -> None:
        tables: dict[str, Any] = {
            key: kwargs.pop(key) for key in ("vocab", "merges", "pattern", "normalization", "capitals") if key in kwargs
        }
        given: Tokenizer | None = kwargs.pop("tokenizer_object", None)
        if given is not None:
            backend = without_limits(given)
        elif tokenizer_file is not None:
            if not os.path.exists(tokenizer_file):  # or else the name would be looked up on the Hub
                raise MissingTokenizerError(f"{tokenizer_file}: no such file; give the path of a tokenizer.json")
            backend = open_tokenizer(tokenizer_file).backend
        else:
            if "vocab" not in tables:
                raise_no_vocabulary(kwargs.get("name_or_path"))
            backend = build_backend(
                tables.pop("vocab", None) or base_vocab(), tables.pop("merges", None) or (), **tables
            )
        if kwargs.get("add_bos_token") or kwargs.get("add_eos_token"):  # their meaning differs by version
            asked = ("bos_token", "eos_token", "add_bos_token", "add_eos_token")
            named = {key: kwargs[key] for key in asked if key in kwargs}
            backend = MwSTokenizerFast(tokenizer_object=backend, **named).backend_tokenizer
        self._vocab, merges = tables_of(backend)
        self._kind = alphabet_of(self._vocab)
        self.is_byte_level = self._kind == "bytes"
        self.byte_decoder = BYTE_OF if self.is_byte_level else {}  # slow byte-level classes use this name
        check_merges(merges, self._kind)
        check_vocab(self._vocab, merges)
        self._merges = merges
        self._ranks = ranked(merges)
        self._tokens = {number: token for token, number in self._vocab.items()}
        spaced = settle_leading_space(backend, kwargs.get("add_prefix_space"))
        settle_leading_space(backend, False)
        if part := _unknown_part(backend, self._kind):
            raise MwSError(
                f"{tokenizer_file or 'the tokenizer'}: MwSTokenizer has no Python version of its {part}; load the "
                "tokenizer with MwSTokenizerFast"
            )
        self._backend, self._template = backend, template_of(backend)
        self._takes_whole_words = getattr(backend.model, "ignore_merges", False)
        self._capitals, self._is_spaced_first = capitals_of(backend), is_put_by_normalizer(backend)
        self._words_given = False  # whether the texts of a call are words of one text
        self.home = home_of(tokenizer_file)
        self._dropout: _DropoutTables | None = None
        self.cache: dict[str, list[str]] = {}  # datasets ignores an attribute of exactly this name when it hashes
        kwargs.pop("backend", None)  # the standard class saves "tokenizers" there
        for unused in ("special_tokens_pattern", "token_type_ids_pattern"):  # the post-processor decides about both
            kwargs.pop(unused, None)
        added = {**backend.get_added_tokens_decoder(), **kwargs.pop("added_tokens_decoder", {})}
        super().__init__(tokenizer_file=tokenizer_file, added_tokens_decoder=added, **DEFAULTS | kwargs)
        self.add_prefix_space = spaced

    @property
    def vocab_size(self) -> int:
        """The number of tokens in the vocabulary, without added tokens that are not in it."""
        return len(self._vocab)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token, including the added tokens."""
        return {**self._vocab, **self.added_tokens_encoder}

    def tokenize(self, text: str, **kwargs: Any) -> list[str]:
        """Split a text into tokens.

        Args:
            text: the text.
            **kwargs: options of `PreTrainedTokenizer.tokenize`, such as `split_special_tokens`.

        Returns:
            The tokens as the vocabulary writes them.

        Raises:
            MwSError: the text contains a lone surrogate.
        """
        check_texts(text)
        if kwargs.pop("split_special_tokens", self.split_special_tokens):
            return self._tokenize_special(text, **kwargs)
        tokens: list[str] = super().tokenize(text, split_special_tokens=False, **kwargs)
        return tokens

    def _tokenize_special(self, text: str, **kwargs: Any) -> list[str]:
        """Split a text, including its special tokens, into tokens of the BPE; other added tokens stay whole.

        transformers would also split the added tokens that are not special.
        """
        added = {token.content: number for number, token in self.added_tokens_decoder.items() if not token.special}
        worker: Any = self._with(tokens_trie=type(self.tokens_trie)(added), _added_tokens_encoder=added)
        tokens = super(MwSTokenizer, worker).tokenize(text, split_special_tokens=False, **kwargs)
        special = set(self.all_special_tokens)  # transformers 5 returns one that is all of the text between two others
        return [part for token in tokens for part in (self._tokenize(token) if token in special else [token])]

    def _decode(self, token_ids: int | list[int], skip_special_tokens: bool = False, **kwargs: Any) -> str:
        """Decode ids; with `skip_special_tokens`, all special tokens are left out, not only those with a role."""
        kwargs.setdefault("spaces_between_special_tokens", False)  # transformers 4 would put them at all added tokens
        if skip_special_tokens:
            special = {number for number, token in self.added_tokens_decoder.items() if token.special}
            token_ids = [
                number for number in ([token_ids] if isinstance(token_ids, int) else token_ids) if number not in special
            ]
        text: str = super()._decode(token_ids, skip_special_tokens=skip_special_tokens, **kwargs)
        return text

    def _encode_plus(self, *args: Any, **kwargs: Any) -> Any:
        return super(MwSTokenizer, self._for_call(kwargs))._encode_plus(*args, **kwargs)

    def _batch_encode_plus(self, *args: Any, **kwargs: Any) -> Any:
        return super(MwSTokenizer, self._for_call(kwargs))._batch_encode_plus(*args, **kwargs)

    def _for_call(self, options: dict[str, Any]) -> MwSTokenizer:
        """Return a copy of the tokenizer for a call with these options, or the tokenizer itself.

        Words that are given one by one are split as after a space. `split_special_tokens` becomes an attribute of the
        copy, because transformers 4 ignores the option in batches.
        """
        changed: dict[str, Any] = {"_words_given": True} if options.get("is_split_into_words") else {}
        if (split := options.get("split_special_tokens")) is not None:
            changed["split_special_tokens"] = split
        worker: MwSTokenizer = self._with(**changed) if changed else self
        return worker

    def prepare_for_model(
        self, ids: list[int], pair_ids: list[int] | None = None, add_special_tokens: bool = True, **kwargs: Any
    ) -> Any:
        """Truncate, add special tokens and pad as transformers does, but with the special tokens of the post-processor.

        Args:
            ids: the ids of the text.
            pair_ids: the ids of the second text of a pair.
            add_special_tokens: whether to add special tokens.
            **kwargs: the other arguments of transformers.

        Returns:
            A `BatchEncoding`, as in transformers.
        """
        worker: MwSTokenizer = self if add_special_tokens else self._with(_template=self._template.bare)
        return super(MwSTokenizer, worker).prepare_for_model(ids, pair_ids, add_special_tokens=True, **kwargs)

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the ids of one or two texts, with the special tokens that the post-processor adds."""
        return [number for number, _, _ in self._placed(token_ids_0, token_ids_1)]

    def create_token_type_ids_from_sequences(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the type id of each token that `build_inputs_with_special_tokens` returns."""
        return [type_id for _, _, type_id in self._placed(token_ids_0, token_ids_1)]

    def get_special_tokens_mask(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Return 1 for each token that `build_inputs_with_special_tokens` adds, and 0 for the tokens of the texts.

        Args:
            token_ids_0: the ids of the text.
            token_ids_1: the ids of the second text of a pair.
            already_has_special_tokens: whether `token_ids_0` contains the special tokens; then they are found by their
                ids.
        """
        if already_has_special_tokens:
            mask: list[int] = super().get_special_tokens_mask(token_ids_0, token_ids_1, already_has_special_tokens=True)
            return mask
        return [special for _, special, _ in self._placed(token_ids_0, token_ids_1)]

    def _placed(self, first: list[int], second: list[int] | None) -> list[tuple[int, int, int]]:
        """Return the id of each token, whether it is special (1 or 0), and its type id."""
        return self._template.applied([first] if second is None else [first, second])

    def set_dropout(self, share: float, *, seed: int = 0, kind: Dropped = "all") -> None:
        """Switch BPE-dropout on or off for all following calls; the ids are the same as in `encode_corpus`.

        Args:
            share: the probability that the merge of a pair is left out at a step, from 0 to 1; 0 switches dropout off.
            seed: a number that decides, together with the text, which merges are left out; use a new one for each
                epoch.
            kind: which merges may be left out, as in `mws_hf.tokenizer.merging.Dropout`; "morph" and "composition" need
                training metadata.

        Raises:
            MwSError: a value is out of range, or the kinds of the merges are not known.

        >>> tokenizer = MwSTokenizer(vocab=base_vocab((), "но", [("о", "н")]), merges=[("о", "н")])
        >>> tokenizer.set_dropout(1.0)
        >>> tokenizer.tokenize("он")
        ['о', 'н']
        """
        how = Dropout(share, seed, kind)
        whole, building = built_first(self._merges) if self.is_byte_level else ([], 0)
        kinds = [] if kind == "all" else open_tokenizer(self).kinds
        may_fail = how.may_fail(len(self._merges), building, kinds)
        first = dict.fromkeys(sorted(whole))  # sorted, so that all processes have the same fingerprint
        self._dropout = _DropoutTables(how, may_fail, first) if share > 0 else None

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        """Split a text without added tokens into tokens."""
        text = self._spaced(text) if self._is_spaced_first else text  # such as before a marker of the first word
        if (normalizer := self._backend.normalizer) is not None:
            text = normalizer.normalize_str(text)
        text = text if self._is_spaced_first else self._spaced(text)
        words = [text[start:end] for _, (start, end) in self._backend.pre_tokenizer.pre_tokenize_str(text)]
        if self._dropout is not None:
            return self._split_with_dropout(words, self._dropout)
        return [token for word in words for token in self._split_word(word)]

    def _spaced(self, text: str) -> str:
        """Put a space before a text if the settings require it and the text does not begin with one."""
        wanted = self.add_prefix_space or self._words_given
        return " " + text if wanted and text and not text.startswith(" ") else text

    def _split_word(self, word: str) -> list[str]:
        """Split one pre-token into characters, or their bytes, and merge these by rank."""
        tokens = self.cache.get(word)
        if tokens is None:
            tokens = self._whole_token(word) or merge(symbols_of(word, self._vocab, self._kind), self._ranks)
            if len(self.cache) < 100_000:
                self.cache[word] = tokens
        return tokens

    def _whole_token(self, word: str) -> list[str]:
        """Return the token of a whole pre-token, if tokenizer.json has `ignore_merges` and there is such a token."""
        if not self._takes_whole_words:
            return []
        whole = to_byte_level(word) if self.is_byte_level else word
        return [whole] if whole in self._vocab else []

    def _split_with_dropout(self, words: list[str], dropout: _DropoutTables) -> list[str]:
        """Split the pre-tokens of a text into tokens with BPE-dropout."""
        how, may_fail, whole = dropout
        key, offset, tokens = text_key(how.seed, "".join(words).encode()), 0, list[str]()
        for word in words:
            symbols = symbols_of(word, self._vocab, self._kind)
            if self.is_byte_level:
                symbols = starting_symbols(word, whole, symbols)
            tokens += merge_dropped(symbols, self._ranks, may_fail, how.threshold, word_key(key, offset))
            offset += len(word.encode())
        return tokens

    def _convert_token_to_id(self, token: str) -> int | None:
        number = self._vocab.get(token)
        return self.unk_token_id if number is None else number

    def _convert_id_to_token(self, index: int) -> str | None:
        return self._tokens.get(index)

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Join tokens to text as `join_tokens` does, and replace any markers for capitals with uppercase letters."""
        text = join_tokens(tokens, self._kind)
        return restore_capitals(text, self._capitals) if self._capitals else text

    def to_backend(self) -> Tokenizer:
        """Return a `tokenizers.Tokenizer` with the same ids; it shares the model, so do not change the model."""
        backend = without_limits(self._backend)
        settle_leading_space(backend, self.add_prefix_space)
        added = (copy.deepcopy(token) for token in self.added_tokens_decoder.values())
        for special, tokens in groupby(added, lambda token: token.special):  # by id, so that new ones keep their ids
            (backend.add_special_tokens if special else backend.add_tokens)(list(tokens))
        return backend

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write nothing, because `save_pretrained` writes a tokenizer.json with the vocabulary."""
        return ()
