"""Which programs read a tokenizer with the right ids, found from its alphabet and split pattern alone.

Every line was established by `scripts/checks/clients.py` (`scripts/results/clients.md`; the ways to cut numbers:
`scripts/results/clients-digits.md`); nothing is run here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from mws_hf.text.alphabets import Alphabet
from mws_hf.text.pattern import Digits, named, with_digits
from mws_hf.tokenizer.spec import Spec

Verdict = Literal["right", "export", "refuses", "wrong", "unknown"]
_Said: TypeAlias = tuple[Verdict, str]
_Patterns: TypeAlias = set[tuple[str, Digits]]


class ClientFact(NamedTuple):
    """A client's verdict on a tokenizer, with a condition or a remedy, which may be empty."""

    client: str
    verdict: Verdict
    remark: str


_EXPORT = "or `mws export --format byte-level --pattern llama3`"
_TWIN = f"train with --byte-level --pattern llama3, {_EXPORT}"
_READ_WHOLE = "tokenizers 0.x, transformers, vLLM, SGLang, kitoken, fastokens, llguidance, xgrammar, OpenVINO"
_LLAMA_CPP = "llama.cpp (Ollama, LM Studio)"
TOKENIZERS_ONE = "tokenizers 1.0"

_ONE_READS = {
    *(with_digits("llama3", digits) for digits in ("threes", "single")),
    *(with_digits("llama3", None).replace(r"|\p{N}{1,3}|", part) for part in (r"|\p{N}{1,2}|", r"|\p{N}+|")),
    with_digits("o200k", "threes"),
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
    with_digits("o200k", "single").replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", ""),  # Mistral's Tekken
}
"""Split patterns that `tokenizers` 1.0.0rc3 was seen to run; it knows them letter for letter, and has no engine."""


_TWO: _Patterns = {("llama3", "threes"), ("llama3", "single")}
_FOUR: _Patterns = {*_TWO, ("gpt4", "threes"), ("gpt4", "single")}
_O200K: _Patterns = {("o200k", "threes")}
_LACKS: _Said = ("refuses", f"has no split pattern that cuts alike; train with --pattern llama3, {_EXPORT}")
_OTHERWISE: _Said = ("wrong", f"in running text; train with --pattern llama3, {_EXPORT}")
_GGUF: _Said = ("export", "`mws export --format gguf`; its own converter does not know the vocabulary")
_TO_ZERO: _Said = ("right", "but a text ends at its first U+0000")
_BY_PATTERN: dict[str, tuple[_Patterns, _Said, _Said]] = {
    _LLAMA_CPP: (_FOUR, _GGUF, _LACKS),
    "gigatoken": (_TWO | _O200K, ("right", ""), _LACKS),
    "tokie": (_FOUR | _O200K, ("right", ""), _OTHERWISE),
    "onnxruntime-extensions": (_TWO | _O200K | {("o200k", "single")}, _TO_ZERO, _LACKS),
}
"""Of a client and byte-level tokenizers: the split patterns that it reads, what is said of these, and of all others."""

_OF_CHARACTERS = [
    ClientFact(_LLAMA_CPP, "wrong", f"its converter says nothing; {_TWIN}"),
    ClientFact("tiktoken", "wrong", "train with --byte-level"),
    ClientFact("gigatoken", "refuses", _TWIN),
    ClientFact("tokie", "wrong", _TWIN),
    ClientFact("onnxruntime-extensions", "wrong", _TWIN),
]


def client_facts(kind: Alphabet, pattern: str, spec: Spec, *, spaced: bool) -> list[ClientFact]:
    """List each client's verdict on a tokenizer of an alphabet and a split pattern, which may put a space first."""
    vocab = spec.model["vocab"]
    lost = kind == "characters" and "\ufeff" not in vocab
    facts = [
        ClientFact(_READ_WHOLE, "right", ""),
        ClientFact(TOKENIZERS_ONE, "refuses", "reads no Metaspace, which add_prefix_space is")
        if spaced
        else _by_one(pattern),
        ClientFact("transformers.js", "right", "but decoding loses U+FEFF, which is not in the vocabulary" * lost),
    ]
    if kind == "characters":
        return facts + _OF_CHARACTERS
    if spec.raw["normalizer"] is not None:  # no export keeps it, and it was measured with few clients
        dropped = "has no place for the normalizer; train without --normalization"
        unknown = [ClientFact(client, "unknown", "") for client in _BY_PATTERN if client != _LLAMA_CPP]
        return [*facts, *(ClientFact(client, "refuses", dropped) for client in ("tiktoken", _LLAMA_CPP)), *unknown]
    made = [vocab[left + right] for left, right in spec.merges]
    if made == sorted(made):
        facts.append(ClientFact("tiktoken", "export", "`mws export --format tiktoken`"))
    else:
        facts.append(ClientFact("tiktoken", "refuses", "takes ids for ranks, and here they are in another order"))
    return [*facts, *_by_pattern(pattern)]


def runs_in_one(pattern: str) -> bool:
    """Return whether `tokenizers` 1.0 runs a split pattern (behavior "isolated").

    >>> runs_in_one(with_digits("o200k", None)), runs_in_one(with_digits("words", None))
    (True, False)
    """
    return pattern in _ONE_READS


def _by_one(pattern: str) -> ClientFact:
    if runs_in_one(pattern):
        return ClientFact(TOKENIZERS_ONE, "right", "")
    remark = f"loads it, then stops at the first text; train with --pattern o200k, {_EXPORT}"
    return ClientFact(TOKENIZERS_ONE, "refuses", remark)


def _by_pattern(pattern: str) -> list[ClientFact]:
    """List the clients that know some split patterns only, with their verdicts on a byte-level tokenizer."""
    known = named(pattern)
    unmeasured = {client for client in _BY_PATTERN if known is None and client != _LLAMA_CPP}
    return [
        ClientFact(client, "unknown", "")
        if client in unmeasured
        else ClientFact(client, *(there if known in patterns else elsewhere))
        for client, (patterns, there, elsewhere) in _BY_PATTERN.items()
    ]


def refusing(pattern: str) -> dict[Verdict, list[str]]:
    """List the clients that do not read a byte-level tokenizer with a split pattern, by what they do instead."""
    found: dict[Verdict, list[str]] = {}
    for fact in (_by_one(pattern), *_by_pattern(pattern)):
        if fact.verdict not in ("right", "export"):
            found.setdefault(fact.verdict, []).append(fact.client)
    return found
