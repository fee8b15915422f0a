"""Which programs read a tokenizer with the right ids, told from its alphabet and split pattern alone.

Every line was established by `scripts/check_clients.py` (`scripts/results/clients.md`); nothing is run here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from mws_hf.byte_alphabet import Alphabet
from mws_hf.pattern import GPT4_PATTERN, LLAMA3_PATTERN, O200K_PATTERN

Verdict = Literal["right", "export", "refuses", "wrong"]


class ClientFact(NamedTuple):
    """What a client makes of a tokenizer.

    Attributes:
        client: its name.
        verdict: reads the directory rightly, reads what `mws export` writes rightly, refuses it, or gives other ids.
        remark: what is special about it, or what to do; may be empty.
    """

    client: str
    verdict: Verdict
    remark: str


_EXPORT = "or `mws export --format byte-level --pattern llama3`"
_TWIN = f"train with --byte-level --pattern llama3, {_EXPORT}"
_READ_WHOLE = "tokenizers, transformers, vLLM, SGLang, kitoken, fastokens, llguidance, OpenVINO"


def client_facts(kind: Alphabet, pattern: str, *, keeps_bom: bool, in_rank_order: bool) -> list[ClientFact]:
    """What each client makes of a tokenizer.

    Args:
        kind: its alphabet.
        pattern: its split pattern.
        keeps_bom: whether U+FEFF is in the vocabulary as a character; of no account in a byte-level one.
        in_rank_order: whether ids grow with the ranks of the merges.

    >>> facts = client_facts("bytes", LLAMA3_PATTERN, keeps_bom=False, in_rank_order=True)
    >>> sorted({fact.verdict for fact in facts})
    ['export', 'right']
    """
    lost = "" if kind == "bytes" or keeps_bom else "but decoding loses U+FEFF, which is not in the vocabulary"
    facts = [ClientFact(_READ_WHOLE, "right", ""), ClientFact("transformers.js", "right", lost)]
    if kind == "characters":
        return [
            *facts,
            ClientFact("llama.cpp (Ollama, LM Studio)", "wrong", f"its converter says nothing; {_TWIN}"),
            ClientFact("tiktoken", "wrong", "train with --byte-level"),
            ClientFact("gigatoken", "refuses", _TWIN),
            ClientFact("tokie", "wrong", _TWIN),
            ClientFact("onnxruntime-extensions", "wrong", _TWIN),
        ]
    llama, o200k, gpt4 = (pattern == known for known in (LLAMA3_PATTERN, O200K_PATTERN, GPT4_PATTERN))
    retrain = f"has no such split pattern; train with --pattern llama3, {_EXPORT}"
    marks = "but cuts some letters with combining marks otherwise" if o200k else ""
    told = "`mws export --format gguf`; its own converter does not know the vocabulary"
    return [
        *facts,
        ClientFact("llama.cpp (Ollama, LM Studio)", "export", told)
        if llama or gpt4
        else ClientFact("llama.cpp (Ollama, LM Studio)", "refuses", marks or retrain),
        ClientFact("tiktoken", "export", "`mws export --format tiktoken`")
        if in_rank_order
        else ClientFact("tiktoken", "refuses", "takes ids for ranks, and here they are in another order"),
        ClientFact("gigatoken", "right", "") if llama or o200k else ClientFact("gigatoken", "refuses", retrain),
        ClientFact("tokie", "right", "")
        if llama or o200k or gpt4
        else ClientFact("tokie", "wrong", f"in running text; train with --pattern llama3, {_EXPORT}"),
        ClientFact("onnxruntime-extensions", "right", "but a text ends at its first U+0000")
        if llama or o200k
        else ClientFact("onnxruntime-extensions", "refuses", retrain),
    ]
