"""Which programs read a tokenizer with the right ids, told from its alphabet and split pattern alone.

Every line was established by `scripts/check_clients.py` (`scripts/results/clients.md`; the ways to cut numbers:
`scripts/results/clients-digits.md`); nothing is run here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from mws_hf.byte_alphabet import Alphabet
from mws_hf.pattern import Digits, named

Verdict = Literal["right", "export", "refuses", "wrong", "unknown"]


class ClientFact(NamedTuple):
    """What a client makes of a tokenizer.

    Attributes:
        client: its name.
        verdict: reads the directory rightly, reads what `mws export` writes rightly, refuses it, gives other ids, or
            was never measured with such a pattern.
        remark: what is special about it, or what to do; may be empty.
    """

    client: str
    verdict: Verdict
    remark: str


_EXPORT = "or `mws export --format byte-level --pattern llama3`"
_TWIN = f"train with --byte-level --pattern llama3, {_EXPORT}"
_RETRAIN = f"has no such split pattern; train with --pattern llama3, {_EXPORT}"
_READ_WHOLE = "tokenizers, transformers, vLLM, SGLang, kitoken, fastokens, llguidance, xgrammar, OpenVINO"
_LLAMA_CPP = "llama.cpp (Ollama, LM Studio)"

_Shape = tuple[str, Digits]
_TWO: tuple[_Shape, ...] = (("llama3", "threes"), ("llama3", "single"))
_LLAMA_CPP_EXPORTS = {*_TWO, ("gpt4", "threes"), ("gpt4", "single")}
_GIGATOKEN_READS = {*_TWO, ("o200k", "threes")}
_TOKIE_READS = {*_LLAMA_CPP_EXPORTS, ("o200k", "threes")}
_ONNX_READS = {*_TWO, ("o200k", "threes"), ("o200k", "single")}


def client_facts(
    kind: Alphabet, pattern: str, *, keeps_bom: bool, in_rank_order: bool, normalized: bool = False
) -> list[ClientFact]:
    """What each client makes of a tokenizer.

    Args:
        kind: its alphabet.
        pattern: its split pattern.
        keeps_bom: whether U+FEFF is in the vocabulary as a character; of no account in a byte-level one.
        in_rank_order: whether ids grow with the ranks of the merges.
        normalized: whether text is normalized first, which no export keeps and which was measured with few clients.

    >>> from mws_hf.pattern import literal_pattern
    >>> facts = client_facts("bytes", literal_pattern("llama3"), keeps_bom=False, in_rank_order=True)
    >>> sorted({fact.verdict for fact in facts})
    ['export', 'right']
    """
    lost = "" if kind == "bytes" or keeps_bom else "but decoding loses U+FEFF, which is not in the vocabulary"
    facts = [ClientFact(_READ_WHOLE, "right", ""), ClientFact("transformers.js", "right", lost)]
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


def _by_pattern(shape: _Shape | None) -> list[ClientFact]:
    """The clients that know some split patterns only, and what they make of a byte-level tokenizer with this one."""
    told = "`mws export --format gguf`; its own converter does not know the vocabulary"
    cased = f"knows no case outside ASCII while it splits; train with --pattern llama3, {_EXPORT}"
    if shape is None:
        return [
            ClientFact(_LLAMA_CPP, "refuses", _RETRAIN),
            *(ClientFact(client, "unknown", "") for client in ("gigatoken", "tokie", "onnxruntime-extensions")),
        ]
    return [
        ClientFact(_LLAMA_CPP, "export", told)
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
