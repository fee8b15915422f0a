"""Stand-ins for public tokenizers, trained with `tokenizers` alone: nothing of mws_hf has a part in them.

`byte_level` is built as Llama 3's and Qwen's (their pattern, byte alphabet, special tokens after the vocabulary and
not in it), `byte_fallback` as Gemma's (spaces become a mark, no further pre-tokenizer, bytes fallen back to). `BASES`
have public sizes and mixtures: an English one of novels and Python code, and one of eight languages, of much English
and little Russian. Each 50th line of every language is held out.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from lab.data import lines_of, spread

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
END = "<|end_of_text|>"


def byte_level(texts: Iterable[str], size: int) -> Tokenizer:
    """A byte-level BPE like Llama 3's."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    split = pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated")
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, whole])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t in ("<|begin_of_text|>", END, "<|eot_id|>")])
    return tokenizer


def byte_fallback(texts: Iterable[str], size: int, characters: int = 200) -> Tokenizer:
    """A BPE with byte fallback like Gemma's; `characters` of the texts are symbols, the commonest."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    learner = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    learner.normalizer = normalizers.Replace(" ", "▁")
    learner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special + BYTES, limit_alphabet=characters, show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    spec = json.loads(learner.to_str())
    # as Gemma's: it never finds a space
    spec["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"String": " "},
        "behavior": "MergedWithPrevious",
        "invert": False,
    }
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["content"] in special]
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    spec["decoder"] = {"type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    return Tokenizer.from_str(json.dumps(spec, ensure_ascii=False))


def save(tokenizer: Tokenizer, directory: Path, end: str) -> None:
    """Write a directory that transformers opens."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end, "model_max_length": 8192}
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


MIXTURE = {"eng": 30, "deu": 20, "ces": 15, "hun": 12, "fin": 8, "ukr": 6, "tur": 5, "rus": 3}
"""Million characters of each language in the mixture of eight; fewer where the shared text has fewer."""

CODE = 10
"""Million characters of Python code beside the English of the byte-level stand-in."""

SIZES = {**MIXTURE, "code": CODE}
BASES = {"English, byte-level": ("eng",), "eight languages, byte fallback": ("eng", "deu", "fin", "rus")}
"""The languages that surgery keeps of each."""


def some(texts: Iterable[str], megabytes: float) -> Iterator[str]:
    """Texts until so many million characters are given."""
    given = 0
    for text in texts:
        given += len(text)
        if given > megabytes * 1e6:
            return
        yield text


def code() -> Iterator[str]:
    """Python files of this interpreter, in one order for all."""
    files = sorted((Path(sys.prefix) / "lib").glob("python*/site-packages/t*/**/*.py"))
    random.Random(0).shuffle(files)
    return (file.read_text(encoding="utf-8", errors="ignore") for file in files)


@cache
def lines(data: Path, language: str, megabytes: float) -> list[str]:
    """Lines of a language, evenly spread over all its text, of about so many million characters."""
    return list(some(code(), megabytes)) if language == "code" else spread(lines_of(data, language), megabytes * 1e6)


def learnt(data: Path, language: str, megabytes: float) -> Iterator[str]:
    """What stand-ins and their surgery may learn of."""
    return (line for number, line in enumerate(lines(data, language, megabytes)) if number % 50)


def held_out(data: Path, language: str, megabytes: float, most: int = 4000) -> list[str]:
    """What lengths are measured on."""
    found = [line for number, line in enumerate(lines(data, language, megabytes)) if number % 50 == 0 and line.strip()]
    return found[:: max(1, len(found) // most)]


def base(data: Path, work: Path, name: str) -> Path:
    """The directory of one of `BASES`, trained unless it is there."""
    directory = work / name.replace(", ", "-").replace(" ", "-")
    if not (directory / "tokenizer.json").is_file():
        if name.startswith("English"):
            texts = chain(learnt(data, "eng", MIXTURE["eng"]), learnt(data, "code", CODE))
            save(byte_level(texts, 64_000 - 3), directory, END)
        else:
            mixture = chain.from_iterable(learnt(data, language, size) for language, size in MIXTURE.items())
            save(byte_fallback(mixture, 128_000, 600), directory, "<eos>")
    return directory
