"""Small pretrained tokenizers of the public kinds, trained on English with only `tokenizers`, and words to add."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ENGLISH = [
    "The walkers walked and talked while others were running, jumping and singing loudly in the rain.",
    "def walk(self, other):\n    return [self.talk(each) for each in other if each is not None]\n",
    "She doesn't know what's happening; 'they're talking', he said, 1234 times.",
    "Nothing unusual was reported: walking, talking, working and reworking the unworkable.",
] * 3
SPECIAL = ("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>")
PREFIXES, ENDINGS = ("", "по", "за", "пере", "вы"), ("ать", "ал", "ала", "али", "ник", "ника", "ники", "ами", "")
STEMS = ("чит", "пис", "рис", "вод", "лес", "дом", "стол", "рук", "слов", "дел", "игр", "свет")


def russian() -> list[str]:
    """Lines of made-up Russian with stems and endings."""
    words = ["".join(parts) for parts in product(PREFIXES, STEMS, ENDINGS)]
    return [" ".join(words[i::17]).capitalize() + ", «да»." for i in range(17)]


def turkish() -> list[str]:
    """Lines of made-up Turkish, whose letters the bases know but for some."""
    words = [
        "".join(parts)
        for parts in product(("ev", "göz", "kitap", "işçi", "ağaç"), ("", "ler", "im", "de"), ("", "iniz", "den"))
    ]
    return [" ".join(words[i::7]) for i in range(7)]


@cache
def llama3_like() -> Tokenizer:
    """Byte-level, special tokens behind the vocabulary and not in it, whole words taken from it; a template."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    split = pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated")
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, whole])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(ENGLISH, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    begin = (SPECIAL[0], tokenizer.token_to_id(SPECIAL[0]))
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{SPECIAL[0]} $A", special_tokens=[begin])
    return tokenizer


@cache
def gpt2_like() -> Tokenizer:
    """Byte-level with GPT-2's own splitting."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    tokenizer.train_from_iterator(ENGLISH, trainer)
    return tokenizer


def _fallback(special: list[str]) -> dict:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=tokens, show_progress=False)
    tokenizer.train_from_iterator(ENGLISH, trainer)
    spec = json.loads(tokenizer.to_str())
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["content"] in special]
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    spec["decoder"] = {"type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    return spec


@cache
def llama2_like() -> Tokenizer:
    """Byte fallback; the mark comes from the normalizer, before every text; no pre-tokenizer; merges as strings."""
    spec = _fallback(["<unk>", "<s>", "</s>"])
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    spec["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace]}
    spec["pre_tokenizer"] = None
    spec["decoder"]["decoders"].append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    spec["model"]["merges"] = [" ".join(pair) for pair in spec["model"]["merges"]]
    return Tokenizer.from_str(json.dumps(spec))


@cache
def gemma_like() -> Tokenizer:
    """Byte fallback; spaces become marks, and a pre-tokenizer that then finds none."""
    spec = _fallback(["<pad>", "<eos>", "<bos>", "<unk>"])
    spec["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    spec["pre_tokenizer"] = {
        "type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False,
    }  # fmt: skip
    return Tokenizer.from_str(json.dumps(spec))


@cache
def metaspace_like() -> Tokenizer:
    """Byte fallback; the mark comes from the pre-tokenizer."""
    spec = _fallback(["<unk>", "<s>", "</s>"])
    spec["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    spec["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
    ]}  # fmt: skip
    return Tokenizer.from_str(json.dumps(spec))


BASES = {
    "llama3": llama3_like, "gpt2": gpt2_like, "llama2": llama2_like, "gemma": gemma_like, "metaspace": metaspace_like,
}  # fmt: skip


def save(tokenizer: Tokenizer, directory: Path, **config: object) -> Path:
    """A directory that transformers opens."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": "{{ messages }}", **config}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return directory


def every_split() -> Tokenizer:
    """Llama 3 as it is converted from tiktoken: a merge for every way to split a token into two tokens."""
    spec = json.loads(llama3_like().to_str())
    ids = spec["model"]["vocab"]
    merges = [
        (left, right)
        for token in sorted(ids, key=ids.get)
        for cut in range(1, len(token))
        if (left := token[:cut]) in ids and (right := token[cut:]) in ids
    ]
    spec["model"]["merges"] = merges
    assert len(merges) > len(set(map("".join, merges)))
    return Tokenizer.from_str(json.dumps(spec))
