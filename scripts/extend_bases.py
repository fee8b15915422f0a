"""Stand-ins for public tokenizers, trained with `tokenizers` alone: nothing of mws_hf has a part in them.

`byte_level` is built as Llama 3's and Qwen's (their pattern, byte alphabet, special tokens behind the vocabulary and
not in it), `byte_fallback` as Gemma's (spaces become a mark, no further pre-tokenizer, bytes fallen back to).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

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
