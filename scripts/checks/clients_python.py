"""Encode and decode the texts of a JSON file with one Python library, and print how many results differ from the file.

    python clients_python.py CLIENT PLACE CASES

CLIENT is the name of a function in this file. PLACE is the folder of a tokenizer, or what `mws export`
wrote for the client. CASES is a JSON file: [{"text": ..., "ids": [...], "natural": true or false}, ...], where
`natural` marks running text.

The result is one line of JSON on standard output: {"wrong_ids": n, "natural": how many of these are running text,
"wrong_text": n, "first": the first text that differs or null}, or {"refused": reason}. The script does not need mws_hf.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
Reader = tuple[Callable[[str], Any] | None, Callable[[list[int]], Any]]
"""The functions with which a client encodes (None if it only decodes) and decodes."""


def tokenizers(place: Path) -> Reader:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
    return (
        lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        lambda ids: tokenizer.decode(ids, skip_special_tokens=False),
    )


def decode_stream(place: Path) -> Reader:
    from tokenizers import Tokenizer
    from tokenizers.decoders import DecodeStream

    tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))

    def decode(ids: list[int]) -> str:
        stream = DecodeStream(skip_special_tokens=False)
        return "".join(stream.step(tokenizer, number) or "" for number in ids)

    return None, decode


def transformers(place: Path) -> Reader:
    from transformers import AutoTokenizer

    return plain(AutoTokenizer.from_pretrained(place))


def plain(tokenizer: Any) -> Reader:
    """Return the functions of a tokenizer that has the interface of transformers."""
    return lambda text: tokenizer.encode(text, add_special_tokens=False), tokenizer.decode


def convert_tokens_to_string(place: Path) -> Reader:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(place)
    return None, lambda ids: tokenizer.convert_tokens_to_string(tokenizer.convert_ids_to_tokens(ids))


def kitoken(place: Path) -> Reader:
    from kitoken import Kitoken

    tokenizer = Kitoken.from_file(str(place / "tokenizer.json"))
    return lambda text: tokenizer.encode(text, True), lambda ids: tokenizer.decode(ids, True).decode()


def fastokens(place: Path) -> Reader:
    from fastokens import Tokenizer

    tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
    return lambda text: getattr(found := tokenizer.encode(text), "ids", found), tokenizer.decode


def gigatoken(place: Path) -> Reader:
    from gigatoken import Tokenizer

    tokenizer = Tokenizer(str(place / "tokenizer.json"))
    return tokenizer.encode, lambda ids: tokenizer.decode(ids).decode()


def tokie(place: Path) -> Reader:
    from tokie import Tokenizer

    tokenizer = Tokenizer.from_json(str(place / "tokenizer.json"))
    return lambda text: getattr(found := tokenizer.encode(text), "ids", found), tokenizer.decode


def llguidance(place: Path) -> Reader:
    from llguidance import LLTokenizer

    tokenizer = LLTokenizer(str(place / "tokenizer.json"))
    return lambda text: tokenizer.tokenize_str(text), lambda ids: tokenizer.decode_bytes(ids).decode()


def vllm(place: Path) -> Reader:
    from vllm.tokenizers import get_tokenizer

    return plain(get_tokenizer(str(place)))


def sglang(place: Path) -> Reader:
    from sglang.srt.utils.hf_transformers.tokenizer import get_tokenizer

    return plain(get_tokenizer(str(place)))


def xgrammar(place: Path) -> Reader:
    """Decode with the bytes that xgrammar assigns to each id when it constrains a model to a grammar."""
    from transformers import AutoTokenizer
    from xgrammar import TokenizerInfo

    known = TokenizerInfo.from_huggingface(AutoTokenizer.from_pretrained(place)).decoded_vocab
    return None, lambda ids: b"".join(known[number] for number in ids).decode()


def onnxruntime_extensions(place: Path) -> Reader:
    from onnxruntime_extensions.pp_api import Tokenizer

    tokenizer = Tokenizer(str(place))
    return lambda text: tokenizer.tokenize(text), lambda ids: tokenizer.detokenize(ids)[0]


def openvino(place: Path) -> Reader:
    import numpy
    import openvino
    from openvino_tokenizers import convert_tokenizer
    from transformers import AutoTokenizer

    models = convert_tokenizer(
        AutoTokenizer.from_pretrained(place),
        with_detokenizer=True,
        add_special_tokens=False,
        skip_special_tokens=False,
        clean_up_tokenization_spaces=False,
    )
    encoder, decoder = (openvino.compile_model(model, "CPU") for model in models)
    return (
        lambda text: encoder([text])["input_ids"][0].tolist(),
        lambda ids: decoder(numpy.array([ids], "int64"))["string_output"][0],
    )


def tiktoken(place: Path) -> Reader:
    sys.path.insert(0, str(place))
    from load_tiktoken import encoding

    return lambda text: encoding.encode(text, allowed_special="all"), encoding.decode


def llama_cpp(place: Path) -> Reader:
    from llama_cpp import Llama

    model = Llama(str(place), vocab_only=True, verbose=False)
    return (
        lambda text: model.tokenize(text.encode(), add_bos=False, special=True),
        lambda ids: model.detokenize(ids, special=True).decode("utf-8", "replace"),
    )


def differs(call: Callable[[Any], Any], given: Any, wanted: Any) -> bool:
    """Return whether a client raises an exception or returns something other than the expected result."""
    try:
        found = call(given)
        return (list(found) if isinstance(wanted, list) else found) != wanted
    except Exception:
        return True


def main() -> None:
    """Run the client on the cases, and print the result."""
    client, place, cases = sys.argv[1], Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text("utf-8"))
    try:
        encode, decode = globals()[client](place)
    except Exception as error:  # a client may raise any exception
        print(json.dumps({"refused": f"{type(error).__name__}: {error}"[:200]}))
        return
    result = {"wrong_ids": None if encode is None else 0, "natural": 0, "wrong_text": 0, "first": None}
    for case in cases:
        text, ids = case["text"], case["ids"]
        wrong = encode is not None and differs(encode, text, ids), differs(decode, ids, text)
        if wrong[0]:
            result["wrong_ids"] += 1
            result["natural"] += case["natural"]
        result["wrong_text"] += wrong[1]
        if any(wrong) and result["first"] is None:
            result["first"] = text
    print(json.dumps(result))


if __name__ == "__main__":
    main()
