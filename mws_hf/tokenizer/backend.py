"""Build the Rust tokenizer from a vocabulary and merges, and check these tables; nothing is learnt or saved here.

`add_prefix_space=True`, and words given one by one, ask for a space before each stretch of text. Most words of running
text stand after a space and were learnt with it; a word without one is cut as at the start of a document. The space is
put by the pre-tokenizer, as in GPT-2 and RoBERTa: once before the text and after each added token, unless a space
stands there; offsets stay those of the text given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mws_hf.errors import MwSError
from mws_hf.text.byte_alphabet import BYTE_CHARACTERS, Alphabet, byte_level_merges, check_added_tokens
from mws_hf.text.pattern import DEFAULT_PATTERN, check_backtracking, compiled, literal_pattern
from mws_hf.text.special import BYTE_TOKENS, check_special_tokens
from mws_hf.tokenizer.spec import Spec, parts_of, split_of
from mws_hf.tokenizer.stock import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

_SPACE_FIRST = pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="always", split=False)
_STATE = json.loads(_SPACE_FIRST.__getstate__())


def has_leading_space(splitter: pre_tokenizers.PreTokenizer | None) -> bool:
    """Return whether a pre-tokenizer puts a space first.

    >>> from tokenizers.pre_tokenizers import Digits
    >>> has_leading_space(Digits()), has_leading_space(with_leading_space(Digits()))
    (False, True)
    """
    state = json.loads(splitter.__getstate__()) if splitter is not None else {}
    return bool(state.get("type") == "Sequence" and state["pretokenizers"][:1] == [_STATE])


def with_leading_space(splitter: pre_tokenizers.PreTokenizer | None) -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer with a space put first.

    >>> from tokenizers.pre_tokenizers import Digits
    >>> with_leading_space(Digits()).pre_tokenize_str("ab1")
    [(' ab', (0, 2)), ('1', (2, 3))]
    """
    if splitter is not None and has_leading_space(splitter):
        return splitter
    return pre_tokenizers.Sequence([_SPACE_FIRST, *_parts(splitter)])


def without_leading_space(splitter: Any) -> Any:
    """Return the pre-tokenizer without the space that `with_leading_space` put first."""
    if not has_leading_space(splitter):
        return splitter
    rest = _parts(splitter)[1:]
    return pre_tokenizers.Sequence(rest) if len(rest) > 1 else next(iter(rest), None)


def _parts(splitter: pre_tokenizers.PreTokenizer | None) -> list[pre_tokenizers.PreTokenizer]:
    if splitter is None:
        return []
    if not isinstance(splitter, pre_tokenizers.Sequence):
        return [splitter]
    return [splitter[place] for place in range(len(json.loads(splitter.__getstate__())["pretokenizers"]))]


def settle_leading_space(backend: Tokenizer, wanted: bool | None) -> bool:
    """Make a backend put a space first, or not; None changes nothing. Return whether it puts one."""
    if wanted is not None and wanted != has_leading_space(backend.pre_tokenizer):
        change = with_leading_space if wanted else without_leading_space
        backend.pre_tokenizer = change(backend.pre_tokenizer)
    return has_leading_space(backend.pre_tokenizer)


PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def without_limits(backend: Tokenizer) -> Tokenizer:
    """Copy a tokenizer without truncation and padding; settings of the copy can change while others use the first one.

    The copy shares the model, so it costs microseconds and no memory.

    >>> backend = build_backend(base_vocab(), [])
    >>> copy = without_limits(backend)
    >>> copy.enable_truncation(2)
    >>> len(copy.encode("abc")), len(backend.encode("abc")), copy.get_vocab() == backend.get_vocab()
    (2, 3, True)
    """
    copy = Tokenizer(backend.model)
    share_parts(copy, backend)
    copy.add_tokens([token for _, token in sorted(backend.get_added_tokens_decoder().items())])
    return copy


def share_parts(copy: Tokenizer, backend: Tokenizer, parts: Iterable[str] = PARTS) -> None:
    """Give a copy the parts of a tokenizer, and whether special tokens in text are text."""
    for part in parts:
        if getattr(backend, part) is not None:  # old versions refuse None
            setattr(copy, part, getattr(backend, part))
    copy.encode_special_tokens = backend.encode_special_tokens


NORMALIZERS = {"nfc": normalizers.NFC, "nfd": normalizers.NFD, "nfkc": normalizers.NFKC, "nfkd": normalizers.NFKD}


def base_vocab(
    special_tokens: Sequence[str] = (),
    alphabet: Iterable[str] = (),
    merges: Sequence[tuple[str, str]] = (),
    byte_symbols: Sequence[str] = BYTE_TOKENS,
) -> dict[str, int]:
    """Number the tokens: special tokens, 256 byte tokens, alphabet by code point, merge products in rank order.

    A byte-level vocabulary has `BYTE_CHARACTERS` for byte tokens and no alphabet besides. Special tokens that are
    empty, repeated or also ordinary tokens are refused, and so is an alphabet of more than single characters.

    >>> vocab = base_vocab(["<pad>"], "ba", [("a", "b")])
    >>> vocab["<pad>"], vocab["<0x00>"], vocab["<0xFF>"], vocab["a"], vocab["b"], vocab["ab"], len(vocab)
    (0, 1, 256, 257, 258, 259, 260)
    """
    characters = sorted(set(alphabet))
    products = [left + right for left, right in merges]
    taken = {*byte_symbols, *characters, *products}
    for token in check_special_tokens(special_tokens):
        if token in taken:
            raise MwSError(f"special token {token!r} is also an ordinary token; rename it, to '<|{token}|>' say")
    for character in characters:
        if len(character) != 1:
            raise MwSError(f"alphabet: {character!r} is not one character; give single characters")
    tokens = dict.fromkeys((*special_tokens, *byte_symbols, *characters, *products))
    return {token: number for number, token in enumerate(tokens)}


def tokenizer_tables(
    special_tokens: Sequence[str], alphabet: Iterable[str], merges: Sequence[tuple[str, str]], kind: Alphabet
) -> tuple[dict[str, int], Sequence[tuple[str, str]]]:
    """Make vocabulary and merges of a tokenizer, of characters or of bytes, from merges learnt in characters.

    >>> vocab, merges = tokenizer_tables(["<pad>"], "но", [("о", "н")], "bytes")
    >>> merges, [vocab["".join(pair)] for pair in merges], len(vocab)
    ([('Ð', '½'), ('Ð', '¾'), ('Ð¾', 'Ð½')], [257, 258, 259], 260)
    """
    if kind == "characters":
        return base_vocab(special_tokens, alphabet, merges), merges
    merges = byte_level_merges(alphabet, merges)
    return base_vocab(special_tokens, (), merges, BYTE_CHARACTERS), merges


def check_merges(merges: Sequence[tuple[str, str]], kind: Alphabet = "characters") -> None:
    """Refuse merges that make a token twice, or use a part that no earlier merge makes.

    Only then do the stock BPE, a replay of the merges in order and the notebook's loop cut every word alike.

    >>> check_merges([("ab", "a"), ("a", "b")])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: merge 0 ('ab', 'a'): part 'ab' is made only later, by merge 1 ('a', 'b'); put parts first
    """
    rank: dict[str, int] = {}

    def where() -> str:
        return f"merge {number} {tuple(pair) if isinstance(pair, list) else pair!r}"

    for number, pair in enumerate(merges):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and _is_text(pair[0]) and _is_text(pair[1])):
            raise MwSError(f"{where()}: not a pair of non-empty strings; write [left, right]")
        product = pair[0] + pair[1]
        if not product.isascii() and find_surrogate(product) is not None:
            raise MwSError(f"{where()}: holds a lone surrogate, which is not Unicode text; drop this merge")
        if product in rank:
            first = merges[rank[product]]
            what = "repeats" if tuple(first) == tuple(pair) else f"makes {product!r} like"
            raise MwSError(f"{where()}: {what} merge {rank[product]} {tuple(first)!r}; keep one merge for each token")
        if kind == "characters" and product in _BYTE_SET:
            raise MwSError(f"{where()}: makes the byte token {product!r}; drop this merge")
        for part in pair:
            if len(part) > 1 and part not in rank:
                raise MwSError(f"{where()}: {_why_missing(part, number, merges)}")
        rank[product] = number


def _is_text(part: object) -> bool:
    return isinstance(part, str) and part != ""


def _why_missing(part: str, number: int, merges: Sequence[tuple[str, str]]) -> str:
    """Say why the part of merge `number` does not exist yet when that merge is reached."""
    for later in range(number, len(merges)):
        if "".join(merges[later]) == part:
            return f"part {part!r} is made only later, by merge {later} {tuple(merges[later])!r}; put parts first"
    return f"part {part!r} is made by no merge, so it never applies; drop it or add the merge that makes the part"


def find_surrogate(text: str) -> int | None:
    """Return the index of the first lone surrogate in a text; None where it can be encoded."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start
    return None


def check_ids(vocab: Mapping[str, int]) -> None:
    """Refuse ids that are no integers from 0, and ids that two tokens share; holes are allowed here."""
    owner: dict[int, str] = {}
    all_text = find_surrogate("".join(vocab)) is None
    for token, number in vocab.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise MwSError(f"vocabulary: token {token!r} has id {number!r}; ids are integers from 0")
        if number in owner:
            raise MwSError(f"vocabulary: {owner[number]!r} and {token!r} share id {number}; give each token its own id")
        if not all_text and find_surrogate(token) is not None:
            raise MwSError(f"vocabulary: token {token!r} holds a lone surrogate, which is not Unicode text; drop it")
        owner[number] = token


def check_vocab(vocab: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> None:
    """Refuse ids with holes, a missing byte token, and a merge whose parts or product have no id.

    A vocabulary without byte tokens but with all of `BYTE_CHARACTERS` is a byte-level one and needs none.
    """
    check_ids(vocab)
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
    """Return whether a vocabulary is of characters with byte tokens beside them, or of bytes alone.

    >>> alphabet_of(base_vocab()), alphabet_of(base_vocab(byte_symbols=BYTE_CHARACTERS))
    ('characters', 'bytes')
    """
    lacking = any(token not in vocab for token in BYTE_TOKENS)
    return "bytes" if lacking and all(token in vocab for token in BYTE_CHARACTERS) else "characters"


def build_backend(
    vocab: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    pattern: str = DEFAULT_PATTERN,
    normalization: str | None = None,
    special_tokens: Sequence[str] = (),
) -> Tokenizer:
    """Build the stock `tokenizers` BPE that every client can load: of characters with byte fallback, or byte-level.

    Args:
        vocab: token -> id, ids 0..n-1 without holes; it holds the 256 `BYTE_TOKENS`, or else the 256
            `BYTE_CHARACTERS`, and then the tokenizer is byte-level.
        merges: (left, right) in rank order; see `check_merges`.
        pattern: the split pattern or its name (`pattern.NAMED_PATTERNS`); it is stored in tokenizer.json.
        normalization: None keeps every text; "nfc", "nfd", "nfkc" or "nfkd" is applied before splitting.
        special_tokens: tokens that are recognized whole in text; new ones get the next free ids.

    Raises:
        MwSError: the table or the vocabulary is inconsistent, the pattern or the normalization is unknown.

    >>> merges = [("о", "н"), (" ", "он")]
    >>> tokenizer = build_backend(base_vocab((), " но", merges), merges)
    >>> tokenizer.encode("но он я").tokens
    ['н', 'о', ' он', ' ', '<0xD1>', '<0x8F>']
    >>> tokenizer.decode(tokenizer.encode("но он я").ids)
    'но он я'
    """
    kind, pattern = alphabet_of(vocab), literal_pattern(pattern)
    check_merges(merges, kind)
    check_vocab(vocab, merges)
    compiled(pattern)
    check_backtracking(pattern, "oniguruma")
    tokenizer = Tokenizer(bpe_model(vocab, merges))
    try:
        splitter = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    except Exception as error:  # the bindings raise nothing narrower
        raise MwSError(f"split pattern {pattern!r} does not compile in tokenizers: {error}") from error
    if kind == "bytes":
        check_added_tokens(special_tokens)
        in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([splitter, in_bytes])
        tokenizer.decoder = decoders.ByteLevel()
    else:
        tokenizer.pre_tokenizer = splitter
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    if normalization is not None:
        normalization = normalization.lower()
        if normalization not in NORMALIZERS:
            raise MwSError(f"normalization {normalization!r} is unknown; use None, {', '.join(map(repr, NORMALIZERS))}")
        tokenizer.normalizer = NORMALIZERS[normalization]()
    tokenizer.post_processor = empty_template()  # which transformers 5 would set
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special_tokens])
    return tokenizer


def empty_template() -> processors.PostProcessor:
    """Make the post-processor that adds no token to a text or to a pair of texts."""
    return processors.TemplateProcessing(single="$A:0", pair="$A:0 $B:1")


def processor_of(entry: Mapping[str, Any]) -> processors.PostProcessor:
    """Make the post-processor of an entry in tokenizer.json.

    >>> bert = processor_of({"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[CLS]", 0]})
    >>> bert.num_special_tokens_to_add(True)
    3
    """
    made = processors.Sequence([])
    made.__setstate__(json.dumps(entry).encode())
    return made


def bpe_model(vocab: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> models.BPE:
    """Make the BPE model alone; `build_backend` checks the tables first."""
    return models.BPE(
        vocab=dict(vocab),
        merges=[(left, right) for left, right in merges],
        unk_token=None,
        fuse_unk=False,
        byte_fallback=alphabet_of(vocab) == "characters",
        ignore_merges=False,
    )


def tables_of(tokenizer: Tokenizer) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return vocabulary and merges of a BPE tokenizer's model, without added tokens beyond the vocabulary."""
    spec = Spec.of(tokenizer)
    if spec.kind != "BPE":
        raise MwSError(f"the tokenizer's model is {spec.kind}, not BPE; MwS reads BPE tables only")
    return spec.model["vocab"], spec.merges


def _pre_tokenizer(tokenizer: Tokenizer) -> Any:
    """Return the pre-tokenizer's entry of tokenizer.json without the rest; None for one written in Python."""
    try:
        return json.loads(tokenizer.pre_tokenizer.__getstate__()) if tokenizer.pre_tokenizer is not None else None
    except Exception:  # the bindings raise nothing narrower
        return None


def pattern_of(tokenizer: Tokenizer) -> str:
    """Return the split pattern stored in a tokenizer; MwSError where it does more than one split."""
    state = _pre_tokenizer(tokenizer)
    pattern, _ = split_of(state)
    if pattern is None:
        kinds = " and ".join(str(part.get("type")) for part in parts_of(state))
        raise MwSError(f"the pre-tokenizer is {kinds or None}, not a split by a pattern; use build_backend")
    return pattern


def is_byte_level(tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer, any tokenizer, works on bytes as GPT-2's does."""
    return any(part.get("type") == "ByteLevel" for part in parts_of(_pre_tokenizer(tokenizer)))


def check_added(tokenizer: Tokenizer, name: str = "") -> None:
    """Refuse added tokens that come out of a byte-level tokenizer otherwise than they went in.

    Encoding, extending and trimming refuse a tokenizer that fails, and `mws check` reports it.

    >>> tokenizer = build_backend(base_vocab(byte_symbols=BYTE_CHARACTERS), [])
    >>> tokenizer.add_tokens(["né"])
    1
    >>> check_added(tokenizer, "base")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: base: added token 'né' would decode to 'n<0xE9>' in a byte-level tokenizer; keep to ASCII
    """
    if is_byte_level(tokenizer):
        try:
            check_added_tokens([token.content for token in tokenizer.get_added_tokens_decoder().values()])
        except MwSError as error:
            raise MwSError(f"{name}: {error}" if name else str(error)) from error


_BYTE_SET = frozenset(BYTE_TOKENS)
