"""Which programs read a tokenizer with the right ids, found from its alphabet and split pattern alone.

Every line was established by `scripts/checks/clients.py` (`scripts/results/clients.md`; the ways to cut numbers:
`scripts/results/clients-digits.md`); nothing is run here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from mws_hf.text.alphabets import Alphabet
from mws_hf.text.pattern import Digits, named, with_digits

Verdict = Literal["right", "export", "refuses", "wrong", "unknown"]


class ClientFact(NamedTuple):
    """A client's verdict on a tokenizer, with a condition or a remedy, which may be empty."""

    client: str
    verdict: Verdict
    remark: str


_EXPORT = "or `mws export --format byte-level --pattern llama3`"
_TWIN = f"train with --byte-level --pattern llama3, {_EXPORT}"
_RETRAIN = f"has no such split pattern; train with --pattern llama3, {_EXPORT}"
_READ_WHOLE = "tokenizers 0.x, transformers, vLLM, SGLang, kitoken, fastokens, llguidance, xgrammar, OpenVINO"
_LLAMA_CPP = "llama.cpp (Ollama, LM Studio)"
TOKENIZERS_ONE = "tokenizers 1.0"

_Shape = tuple[str, Digits]
_TWO: tuple[_Shape, ...] = (("llama3", "threes"), ("llama3", "single"))
_LLAMA_CPP_EXPORTS = {*_TWO, ("gpt4", "threes"), ("gpt4", "single")}
_GIGATOKEN_READS = {*_TWO, ("o200k", "threes")}
_TOKIE_READS = {*_LLAMA_CPP_EXPORTS, ("o200k", "threes")}
_ONNX_READS = {*_TWO, ("o200k", "threes"), ("o200k", "single")}
_ONE_READS = {
    *(with_digits(*shape) for shape in (*_TWO, ("o200k", "threes"))),
    *(with_digits("llama3", None).replace(r"|\p{N}{1,3}|", part) for part in (r"|\p{N}{1,2}|", r"|\p{N}+|")),
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
    with_digits("o200k", "single").replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", ""),  # Mistral's Tekken
}
"""Split patterns that `tokenizers` 1.0.0rc3 was seen to run; it knows them letter for letter, and has no engine."""


def client_facts(
    kind: Alphabet, pattern: str, *, keeps_bom: bool, in_rank_order: bool, normalized: bool = False
) -> list[ClientFact]:
    """List each client's verdict on a tokenizer, from its alphabet and split pattern.

    Args:
        kind: its alphabet.
        pattern: its split pattern.
        keeps_bom: whether U+FEFF is in the vocabulary as a character; of no account in a byte-level one.
        in_rank_order: whether ids grow with the ranks of the merges.
        normalized: whether text is normalized first, which no export keeps and which was measured with few clients.
    """
    lost = "" if kind == "bytes" or keeps_bom else "but decoding loses U+FEFF, which is not in the vocabulary"
    facts = [ClientFact(_READ_WHOLE, "right", ""), _by_one(pattern), ClientFact("transformers.js", "right", lost)]
    if kind == "characters":
        return [
            *facts,
            ClientFact(_LLAMA_CPP, "wrong", f"its converter says nothing; {_TWIN}"),
            ClientFact("tiktoken", "wrong", "train with --byte-level"),
            ClientFact("gigatoken", "refuses", _TWIN),
            ClientFact("tokie", "wrong", _TWIN),
            ClientFact("onnxruntime-extensions", "wrong", _TWIN),
        ]
    if normalized:
        dropped = "has no place for the normalizer; train without --normalization"
        others = ("gigatoken", "tokie", "onnxruntime-extensions")
        refusing = [ClientFact(client, "refuses", dropped) for client in ("tiktoken", _LLAMA_CPP)]
        return [*facts, *refusing, *(ClientFact(client, "unknown", "") for client in others)]
    facts.append(
        ClientFact("tiktoken", "export", "`mws export --format tiktoken`")
        if in_rank_order
        else ClientFact("tiktoken", "refuses", "takes ids for ranks, and here they are in another order")
    )
    return [*facts, *_by_pattern(named(pattern))]


def _by_one(pattern: str) -> ClientFact:
    """List the verdict of `tokenizers` 1.0 on a split pattern."""
    if runs_in_one(pattern):
        return ClientFact(TOKENIZERS_ONE, "right", "")
    remark = f"loads it, then stops at the first text; train with --pattern o200k, {_EXPORT}"
    return ClientFact(TOKENIZERS_ONE, "refuses", remark)


def runs_in_one(pattern: str) -> bool:
    """Return whether `tokenizers` 1.0 runs a split pattern (behavior "isolated").

    >>> runs_in_one(with_digits("o200k", None)), runs_in_one(with_digits("words", None))
    (True, False)
    """
    return pattern in _ONE_READS


def refusing(pattern: str) -> dict[Verdict, list[str]]:
    """List the clients that do not read a byte-level tokenizer with a split pattern, by what they do instead."""
    found: dict[Verdict, list[str]] = {}
    for fact in client_facts("bytes", pattern, keeps_bom=True, in_rank_order=True):
        if fact.verdict not in ("right", "export"):
            found.setdefault(fact.verdict, []).append(fact.client)
    return found


def _by_pattern(shape: _Shape | None) -> list[ClientFact]:
    """List the clients that know some split patterns only, with their verdicts on a byte-level tokenizer."""
    advice = "`mws export --format gguf`; its own converter does not know the vocabulary"
    cased = f"knows no case outside ASCII while it splits; train with --pattern llama3, {_EXPORT}"
    if shape is None:
        return [
            ClientFact(_LLAMA_CPP, "refuses", _RETRAIN),
            *(ClientFact(client, "unknown", "") for client in ("gigatoken", "tokie", "onnxruntime-extensions")),
        ]
    return [
        ClientFact(_LLAMA_CPP, "export", advice)
        if shape in _LLAMA_CPP_EXPORTS
        else ClientFact(_LLAMA_CPP, "refuses", cased if shape[0] == "o200k" else _RETRAIN),
        ClientFact("gigatoken", "right", "")
        if shape in _GIGATOKEN_READS
        else ClientFact("gigatoken", "refuses", _RETRAIN),
        ClientFact("tokie", "right", "")
        if shape in _TOKIE_READS
        else ClientFact("tokie", "wrong", f"in running text; train with --pattern llama3, {_EXPORT}"),
        ClientFact("onnxruntime-extensions", "right", "but a text ends at its first U+0000")
        if shape in _ONNX_READS
        else ClientFact("onnxruntime-extensions", "refuses", _RETRAIN),
    ]
