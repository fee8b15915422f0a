"""List which programs read a tokenizer with the right ids, by its alphabet and split pattern.

Each line of the tables was measured with `scripts/checks/clients.py` (`scripts/results/clients.md`; splits of numbers:
`scripts/results/clients-digits.md`; the pattern `tekken`: `scripts/results/clients-tekken.md`; a marker for capitals:
`scripts/results/clients-capitals.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.text.pattern import Digits, literal_pattern, named, with_digits
from mws_hf.text.symbols import Alphabet
from mws_hf.tokenizer.export import PRE_TYPES, byte_tables, ranks_of, tokens_around
from mws_hf.tokenizer.spec import capitals_of

Verdict = Literal["right", "export", "refuses", "wrong", "unknown"]
_Statement: TypeAlias = tuple[Verdict, str]
_Patterns: TypeAlias = set[tuple[str, Digits]]


class ClientFact(NamedTuple):
    """Whether a program reads a tokenizer with the right ids.

    Attributes:
        client: the name of the program, or of several.
        verdict: "right"; "export" (after an export); "refuses" (with an error); "wrong" (different ids, without an
            error); "unknown" (not measured).
        remark: a condition or a remedy; may be empty.
    """

    client: str
    verdict: Verdict
    remark: str


_EXPORT = "or `mws export --format byte-level --pattern llama3`"
_TRAIN_BYTE_LEVEL = f"train with --alphabet bytes --pattern llama3, {_EXPORT}"
_READ_WHOLE = "tokenizers 0.x, transformers, vLLM, SGLang, kitoken, fastokens, llguidance, xgrammar, OpenVINO"
_LLAMA_CPP = "llama.cpp (Ollama, LM Studio)"
TOKENIZERS_ONE = "tokenizers 1.0"
"""The next version of the library `tokenizers`, as verdicts name it."""

PATTERNS_OF_TOKENIZERS_ONE = {
    *(with_digits("llama3", digits) for digits in ("threes", "single")),
    *(with_digits("llama3", None).replace(r"|\p{N}{1,3}|", part) for part in (r"|\p{N}{1,2}|", r"|\p{N}+|")),
    with_digits("o200k", "threes"),
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
    literal_pattern("tekken"),
}
"""Split patterns that `tokenizers` 1.0.0rc3 ran in tests. It has no engine for regular expressions: it recognizes these
patterns by their exact text."""

_LLAMA_CPP_PATTERNS: _Patterns = {known for pattern in PRE_TYPES if (known := named(pattern))}
_LLAMA3_PATTERNS: _Patterns = {(name, digits) for name, digits in _LLAMA_CPP_PATTERNS if name == "llama3"}
_O200K_THREES: _Patterns = {("o200k", "threes")}
_O200K_SINGLE: _Patterns = {("o200k", "single")}
_TEKKEN_SINGLE: _Patterns = {("tekken", "single")}
_LACKS_PATTERN: _Statement = (
    "refuses",
    f"it has no split pattern that divides text in the same way; train with --pattern llama3, {_EXPORT}",
)
_SPLITS_DIFFERENTLY: _Statement = (
    "wrong",
    f"it splits running text differently; train with --pattern llama3, {_EXPORT}",
)
_NEEDS_GGUF: _Statement = ("export", "`mws export --format gguf`; its own converter does not know the vocabulary")
_ENDS_AT_NUL: _Statement = ("right", "but it ends a text at its first U+0000")
_BY_PATTERN: dict[str, tuple[_Patterns, _Statement, _Statement]] = {
    _LLAMA_CPP: (_LLAMA_CPP_PATTERNS, _NEEDS_GGUF, _LACKS_PATTERN),
    "gigatoken": (_LLAMA3_PATTERNS | _O200K_THREES | _TEKKEN_SINGLE, ("right", ""), _LACKS_PATTERN),
    "tokie": (_LLAMA_CPP_PATTERNS | _O200K_THREES, ("right", ""), _SPLITS_DIFFERENTLY),
    "onnxruntime-extensions": (
        _LLAMA3_PATTERNS | _O200K_THREES | _O200K_SINGLE | _TEKKEN_SINGLE,
        _ENDS_AT_NUL,
        _LACKS_PATTERN,
    ),
}
"""For each program that reads byte-level tokenizers with some split patterns only: these patterns, the verdict on them,
and the verdict on all other patterns."""

_OF_CHARACTERS = [
    ClientFact(_LLAMA_CPP, "wrong", f"its converter gives no error; {_TRAIN_BYTE_LEVEL}"),
    ClientFact("tiktoken", "wrong", "train with --alphabet bytes"),
    ClientFact("gigatoken", "refuses", _TRAIN_BYTE_LEVEL),
    ClientFact("tokie", "wrong", _TRAIN_BYTE_LEVEL),
    ClientFact("onnxruntime-extensions", "wrong", _TRAIN_BYTE_LEVEL),
]


_KEEPS_MARKER = "ids are right, but decoded text keeps the marker for capitals"
_WITH_CAPITALS = [
    ClientFact("tokenizers 0.x, transformers, vLLM, kitoken, fastokens", "right", ""),
    ClientFact(TOKENIZERS_ONE, "wrong", f"its {_KEEPS_MARKER}"),
    ClientFact("transformers.js", "right", ""),
    ClientFact("llguidance, xgrammar", "wrong", f"their {_KEEPS_MARKER}"),
    ClientFact("SGLang", "unknown", ""),
    ClientFact("OpenVINO", "refuses", "it does not know the rules of the decoder; train without --capitals"),
    ClientFact("gigatoken", "refuses", "it does not know the rules of the normalizer; train without --capitals"),
    ClientFact("tokie", "wrong", "it ignores the marker for capitals; train without --capitals"),
    ClientFact("onnxruntime-extensions", "wrong", "it ignores the marker for capitals; train without --capitals"),
]


def client_facts(kind: Alphabet, pattern: str, backend: Tokenizer, *, spaced: bool) -> list[ClientFact]:
    """List the verdict of each program on a tokenizer.

    Args:
        kind: the alphabet of the tokenizer.
        pattern: its split pattern.
        backend: the tokenizer.
        spaced: whether it puts a space before the text (`add_prefix_space`).

    Returns:
        One verdict per program, or per group of programs with the same verdict.
    """
    tiktoken = ClientFact("tiktoken", "export", "`mws export --format tiktoken`")
    tiktoken = _if_exported(tiktoken, lambda: ranks_of(byte_tables(backend)))
    if capitals_of(backend):
        llama_cpp = _if_exported(ClientFact(_LLAMA_CPP, *_NEEDS_GGUF), lambda: byte_tables(backend))
        return [*_WITH_CAPITALS, tiktoken, llama_cpp]
    lost = kind == "characters" and backend.token_to_id("\ufeff") is None
    facts = [
        ClientFact(_READ_WHOLE, "right", ""),
        ClientFact(TOKENIZERS_ONE, "refuses", "it does not read the Metaspace pre-tokenizer of add_prefix_space")
        if spaced
        else _by_one(pattern),
        ClientFact("transformers.js", "right", "decoding loses U+FEFF, which is not in the vocabulary" * lost),
    ]
    if kind == "characters":
        return facts + _OF_CHARACTERS
    llama_cpp, *others = _by_pattern(pattern)
    if backend.normalizer is not None:  # few programs were measured with one
        others = [ClientFact(fact.client, "unknown", "") for fact in others]
    llama_cpp = _if_exported(llama_cpp, lambda: (byte_tables(backend), tokens_around(backend)))
    return [*facts, tiktoken, llama_cpp, *others]


def _if_exported(fact: ClientFact, export: Callable[[], object]) -> ClientFact:
    """Return the fact, or one with the reason if the export that it names cannot write the tokenizer."""
    try:
        export()
    except MwSError as error:
        return ClientFact(fact.client, "refuses", str(error))
    return fact


def _by_one(pattern: str) -> ClientFact:
    """Return the verdict of `tokenizers` 1.0 on a split pattern."""
    if pattern in PATTERNS_OF_TOKENIZERS_ONE:
        return ClientFact(TOKENIZERS_ONE, "right", "")
    remark = f"it loads the file, but stops at the first text; train with --pattern o200k --digits threes, {_EXPORT}"
    return ClientFact(TOKENIZERS_ONE, "refuses", remark)


def _by_pattern(pattern: str) -> list[ClientFact]:
    """List the verdicts of programs that read byte-level tokenizers with some split patterns only."""
    known, found = named(pattern), []
    tested = known is not None and (known[0] != "tekken" or known in _TEKKEN_SINGLE)
    for client, (patterns, there, elsewhere) in _BY_PATTERN.items():
        certain = tested or client == _LLAMA_CPP
        found.append(ClientFact(client, *((there if known in patterns else elsewhere) if certain else ("unknown", ""))))
    return found


def failing_programs(pattern: str) -> dict[Verdict, list[str]]:
    """List the programs that do not read a byte-level tokenizer with a split pattern, or were not measured with it.

    Args:
        pattern: the split pattern.

    Returns:
        The names of the programs by verdict: "refuses", "wrong" or "unknown".

    >>> failing_programs(literal_pattern("llama3"))
    {}
    """
    found: dict[Verdict, list[str]] = {}
    for fact in (_by_one(pattern), *_by_pattern(pattern)):
        if fact.verdict not in ("right", "export"):
            found.setdefault(fact.verdict, []).append(fact.client)
    return found
