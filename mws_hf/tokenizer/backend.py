"""Build a BPE tokenizer of the library `tokenizers` from a vocabulary and merges, and check both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tokenizers import Tokenizer

from mws_hf.errors import MwSError, quoted
from mws_hf.text.capitals import check_letters
from mws_hf.text.pattern import DEFAULT_PATTERN, NORMALIZATIONS, compiled, literal_pattern
from mws_hf.text.symbols import (
    BYTE_CHARACTERS,
    BYTE_TOKENS,
    Alphabet,
    byte_level_merges,
    check_added_tokens,
    check_special_tokens,
)
from mws_hf.text.valid_text import SURROGATE, check_unicode
from mws_hf.tokenizer.spec import (
    EMPTY_TEMPLATE,
    Spec,
    bpe_model,
    decoder,
    entry_of,
    normalizer,
    parts_of,
    special_entries,
    split_of,
    splitter,
)

_BYTE_SET = frozenset(BYTE_TOKENS)


def base_vocab(
    special_tokens: Sequence[str] = (),
    alphabet: Iterable[str] = (),
    merges: Sequence[tuple[str, str]] = (),
    byte_symbols: Sequence[str] = BYTE_TOKENS,
) -> dict[str, int]:
    """Make a vocabulary: special tokens, 256 byte tokens, the alphabet by code point, then merged tokens by rank.

    Args:
        special_tokens: tokens that get the first ids.
        alphabet: single characters; none for a byte-level vocabulary.
        merges: (left, right) pairs in the order of their ranks.
        byte_symbols: the 256 byte tokens; `BYTE_CHARACTERS` for a byte-level vocabulary.

    Returns:
        The id of each token, from 0 without holes.

    Raises:
        MwSError: a special token is also an ordinary token, or `check_special_tokens` does not accept it; or the
            alphabet has a string that is not one character.

    >>> vocab = base_vocab(["<pad>"], "ba", [("a", "b")])
    >>> vocab["<pad>"], vocab["<0x00>"], vocab["<0xFF>"], vocab["a"], vocab["b"], vocab["ab"], len(vocab)
    (0, 1, 256, 257, 258, 259, 260)
    """
    characters = sorted(set(alphabet))
    products = [left + right for left, right in merges]
    taken = {*byte_symbols, *characters, *products}
    special = check_special_tokens(special_tokens)
    for token in special:
        if token in taken:
            raise MwSError(
                f"special token {token!r} is also an ordinary token; rename it, for example to '<|{token}|>'"
            )
    for character in characters:
        if len(character) != 1:
            raise MwSError(f"alphabet: {character!r} is not one character; give single characters")
    tokens = dict.fromkeys((*special, *byte_symbols, *characters, *products))
    return {token: number for number, token in enumerate(tokens)}


def tokenizer_tables(
    special_tokens: Sequence[str], alphabet: Iterable[str], merges: Sequence[tuple[str, str]], kind: Alphabet
) -> tuple[dict[str, int], Sequence[tuple[str, str]]]:
    """Make the vocabulary and merges of a tokenizer from merges that were learned in characters.

    Args:
        special_tokens: tokens that get the first ids.
        alphabet: the characters of the training text.
        merges: (left, right) pairs in the order of their ranks.
        kind: "characters", or "bytes" for a byte-level tokenizer. The merges of a byte-level tokenizer join bytes, and
            begin with merges that build each character from its bytes.

    Returns:
        The id of each token, and the merges in the order of their ranks.

    Raises:
        MwSError: a special token is not accepted (see `base_vocab`).

    >>> vocab, merges = tokenizer_tables(["<pad>"], "но", [("о", "н")], "bytes")
    >>> merges, [vocab["".join(pair)] for pair in merges], len(vocab)
    ([('Ð', '½'), ('Ð', '¾'), ('Ð¾', 'Ð½')], [257, 258, 259], 260)
    """
    if kind == "characters":
        return base_vocab(special_tokens, alphabet, merges), merges
    merges = byte_level_merges(alphabet, merges)
    return base_vocab(special_tokens, (), merges, BYTE_CHARACTERS), merges


def check_merges(merges: Sequence[tuple[str, str]], kind: Alphabet = "characters") -> None:
    """Raise MwSError if two merges make one token, or if a merge uses a part that no earlier merge makes.

    Without such merges, the BPE of `tokenizers`, a replay of the merges in order and the loop of the original notebook
    segment every word in the same way. Merges that are not pairs of strings, that contain a lone surrogate, or that
    make a byte token are errors, too.

    Args:
        merges: (left, right) pairs in the order of their ranks. A part of one character needs no merge.
        kind: the alphabet of the tokenizer.

    >>> check_merges([("ab", "a"), ("a", "b")])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: merge 0 ('ab', 'a'): part 'ab' is made only later, by merge 1 ('a', 'b'); put parts first
    """
    rank: dict[str, int] = {}

    def where() -> str:
        """Return the rank and the parts of the present merge, for a message."""
        return f"merge {number} {tuple(pair) if isinstance(pair, list) else pair!r}"

    for number, pair in enumerate(merges):
        parts = pair if isinstance(pair, tuple | list) and len(pair) == 2 else [None]
        if not all(isinstance(part, str) and part for part in parts):
            raise MwSError(f"{where()}: not a pair of non-empty strings; write [left, right]")
        product = pair[0] + pair[1]
        if SURROGATE.search(product):
            check_unicode(product, where())
        if product in rank:
            first = merges[rank[product]]
            what = "repeats" if tuple(first) == tuple(pair) else f"makes {product!r} like"
            raise MwSError(f"{where()}: {what} merge {rank[product]} {tuple(first)!r}; keep one merge for each token")
        if kind == "characters" and product in _BYTE_SET:
            raise MwSError(f"{where()}: makes the byte token {product!r}; remove this merge")
        for part in pair:
            if len(part) > 1 and part not in rank:
                raise MwSError(f"{where()}: {_why_missing(part, number, merges)}")
        rank[product] = number


def _why_missing(part: str, number: int, merges: Sequence[tuple[str, str]]) -> str:
    """Return the reason why a part of merge `number` does not exist when that merge is reached."""
    for later in range(number, len(merges)):
        if "".join(merges[later]) == part:
            return f"part {part!r} is made only later, by merge {later} {tuple(merges[later])!r}; put parts first"
    return f"no merge makes part {part!r}, so this merge never applies; remove it, or add the merge that makes the part"


HIGHEST_ID = (1 << 22) - 1
"""The highest id that is accepted.

Some tables have a row for each id, so that a higher one would take all memory. The largest known vocabularies have a
quarter of a million tokens.
"""


def check_ids(tokens: Collection[tuple[str, Any]]) -> None:
    """Raise MwSError for an id that is not an integer from 0 to `HIGHEST_ID`, or that two tokens share.

    Ids without a token are allowed here.
    """
    owner: dict[int, str] = {}
    for token, number in tokens:
        if type(number) is not int or not 0 <= number <= HIGHEST_ID:
            raise MwSError(f"token {token!r} has id {quoted(number, 24)}; ids are integers from 0 to {HIGHEST_ID}")
        if (first := owner.setdefault(number, token)) != token:
            raise MwSError(f"tokens {first!r} and {token!r} share id {number}; give each token its own")
        if SURROGATE.search(token):
            check_unicode(token, f"token {token!r}")


def check_vocab(vocab: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> None:
    """Raise MwSError for ids with holes, a missing byte token, or a merge whose parts or result have no id.

    A byte-level vocabulary has all of `BYTE_CHARACTERS` instead of byte tokens. Ids that `check_ids` does not accept
    are errors, too.

    Args:
        vocab: the id of each token.
        merges: (left, right) pairs in the order of their ranks.
    """
    check_ids(vocab.items())
    numbers = set(vocab.values())
    hole = next((number for number in range(len(vocab)) if number not in numbers), None)
    if hole is not None:
        raise MwSError(f"vocabulary: no token has id {hole}; ids must run from 0 to {len(vocab) - 1} without holes")
    absent = [token for token in BYTE_TOKENS if token not in vocab]
    if absent and alphabet_of(vocab) == "characters":
        raise MwSError(f"vocabulary: byte token {absent[0]} is missing ({len(absent)} of 256); text would be lost")
    for number, (left, right) in enumerate(merges):
        for token in (left, right, left + right):
            if token not in vocab:
                raise MwSError(f"vocabulary: {token!r} of merge {number} {(left, right)!r} has no id; add it")


def alphabet_of(vocab: Mapping[str, int]) -> Alphabet:
    """Return "bytes" for a byte-level vocabulary, and "characters" for any other one.

    A vocabulary is byte-level if it has all of `BYTE_CHARACTERS` but not all of `BYTE_TOKENS`.

    >>> alphabet_of(base_vocab()), alphabet_of(base_vocab(byte_symbols=BYTE_CHARACTERS))
    ('characters', 'bytes')
    """
    lacking = any(token not in vocab for token in BYTE_TOKENS)
    return "bytes" if lacking and all(token in vocab for token in BYTE_CHARACTERS) else "characters"


def build_backend(
    vocab: Mapping[str, int],
    merges: Iterable[tuple[str, str]],
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    special_tokens: Sequence[str] = (),
    capitals: str = "",
) -> Tokenizer:
    """Build a BPE tokenizer of `tokenizers`: of characters with byte fallback, or byte-level.

    Args:
        vocab: the id of each token, from 0 without holes. It contains either the 256 `BYTE_TOKENS` or the 256
            `BYTE_CHARACTERS`; with the latter, the tokenizer is byte-level.
        merges: (left, right) pairs in the order of their ranks; see `check_merges`.
        pattern: the split pattern, or its name (`pattern.NAMED_PATTERNS`).
        normalization: "nfc", "nfd", "nfkc" or "nfkd" is applied before the text is split; None keeps text as it is.
        special_tokens: tokens that are found in text before it is split; new ones get the next free ids.
        capitals: uppercase letters that become a marker and a lowercase letter; see `text.capitals`.

    Returns:
        The tokenizer, which every program that reads tokenizer.json can load.

    Raises:
        MwSError: the vocabulary or the merges are inconsistent, the pattern or the normalization is unknown, or a
            letter cannot have a marker.

    >>> merges = [("о", "н"), (" ", "он")]
    >>> tokenizer = build_backend(base_vocab((), " но", merges), merges)
    >>> tokenizer.encode("но он я").tokens
    ['н', 'о', ' он', ' ', '<0xD1>', '<0x8F>']
    >>> tokenizer.decode(tokenizer.encode("но он я").ids)
    'но он я'
    """
    if not isinstance(vocab, Mapping):
        raise MwSError(f"vocabulary: a {type(vocab).__name__}, not a dict of token -> id; read a file with json.load")
    if isinstance(merges, str | bytes | Mapping) or not isinstance(merges, Iterable):
        raise MwSError(f"merges: a {type(merges).__name__}, not a list of pairs; read a file with json.load")
    merges = list(merges)  # a generator is read once
    in_bytes, pattern = alphabet_of(vocab) == "bytes", literal_pattern(pattern)
    check_merges(merges, "bytes" if in_bytes else "characters")
    check_vocab(vocab, merges)
    compiled(pattern)
    if normalization is not None and (normalization := normalization.lower()) not in NORMALIZATIONS:
        raise MwSError(f"normalization {normalization!r} is unknown; use None, {', '.join(map(repr, NORMALIZATIONS))}")
    check_letters(capitals)
    if in_bytes:
        check_added_tokens(special_tokens)
    spec = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special_entries(special_tokens, vocab),
        "normalizer": normalizer(normalization, capitals),
        "pre_tokenizer": splitter(pattern, in_bytes=in_bytes),
        "post_processor": EMPTY_TEMPLATE,
        "decoder": decoder(capitals, in_bytes=in_bytes),
        "model": bpe_model(vocab, merges, in_bytes=in_bytes),
    }
    try:
        return Spec(spec).open()
    except Exception as error:  # the bindings raise nothing narrower
        raise MwSError(f"split pattern {pattern!r} does not compile in tokenizers: {error}") from error


def tables_of(tokenizer: Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the vocabulary and merges of a BPE model, without added tokens that are not in its vocabulary.

    Raises:
        MwSError: the model is not a BPE.
    """
    spec = Spec.of(tokenizer)
    if spec.kind != "BPE":
        raise MwSError(f"the tokenizer's model is {spec.kind}, not BPE; choose a BPE tokenizer")
    return spec.model["vocab"], spec.merges


def _pre_tokenizer(tokenizer: Tokenizer) -> Any:
    """Return the pre-tokenizer as tokenizer.json has it; None for one that is written in Python."""
    try:
        return entry_of(tokenizer, "pre_tokenizer")
    except MwSError:
        return None


def pattern_of(tokenizer: Tokenizer) -> str:
    """Return the split pattern of a tokenizer.

    Raises:
        MwSError: its pre-tokenizer is not one split by a regular expression (see `spec.split_of`).
    """
    state = _pre_tokenizer(tokenizer)
    pattern, _ = split_of(state)
    if pattern is None:
        kinds = " and ".join(str(part.get("type")) for part in parts_of(state))
        raise MwSError(
            f"the pre-tokenizer ({kinds or None}) is not one split by a pattern; use a tokenizer that `mws train` "
            "wrote, without add_prefix_space"
        )
    return pattern


def is_byte_level(tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer of any kind works on bytes, as GPT-2's does."""
    return any(part.get("type") == "ByteLevel" for part in parts_of(_pre_tokenizer(tokenizer)))


def check_added(tokenizer: Tokenizer, name: str = "") -> None:
    """Raise MwSError if a byte-level tokenizer would decode an added token to a different text.

    Commands that encode, extend or trim call it first, and `mws check` reports it.

    Args:
        tokenizer: the tokenizer.
        name: its name at the beginning of the message, if any.

    >>> tokenizer = build_backend(base_vocab(byte_symbols=BYTE_CHARACTERS), [])
    >>> tokenizer.add_tokens(["né"])
    1
    >>> check_added(tokenizer, "base")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: base: added token 'né' would decode to 'n<0xE9>' in a byte-level tokenizer; use ASCII only
    """
    if is_byte_level(tokenizer):
        try:
            check_added_tokens([token.content for token in tokenizer.get_added_tokens_decoder().values()])
        except MwSError as error:
            raise MwSError(f"{name}: {error}" if name else str(error)) from error
