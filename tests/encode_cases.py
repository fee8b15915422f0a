"""Tokenizers and texts that the tests of `mws_hf.encode` share."""

from __future__ import annotations

import json
import random

from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from mws_hf.text.pattern import GPT4_PATTERN, O200K_PATTERN, WORD_PATTERN
from mws_hf.text.symbols import BYTE_CHARACTERS, byte_level_merges, character_merges, to_byte_level

PATTERNS = (GPT4_PATTERN, WORD_PATTERN)
SCANNED = (*PATTERNS, O200K_PATTERN)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ALPHABET = "абвгд abcdef'’.,1\n\u0301éк\u0939\u093f漢😀"
EOS = "<|endoftext|>"


def make_backend(merges, alphabet=ALPHABET, pattern=WORD_PATTERN, byte_fallback=True, **kwargs):
    tokens = [EOS, *BYTES, *dict.fromkeys(alphabet)]
    tokens += [left + right for left, right in merges]
    vocab = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=list(merges), byte_fallback=byte_fallback, **kwargs))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    backend.add_special_tokens([AddedToken(EOS, normalized=False, special=True)])
    return backend


def make_byte_level(merges, pattern=WORD_PATTERN):
    """Build a tokenizer from merges of bytes, which need not build characters first."""
    vocab = {token: index for index, token in enumerate([EOS, *BYTE_CHARACTERS])}
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    backend = Tokenizer(models.BPE(vocab=vocab, merges=list(merges)))
    split, in_bytes = pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, in_bytes])
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(EOS, normalized=False, special=True)])
    return backend


def byte_level_backends(pattern):
    """Yield tokenizers whose merges first build characters, then shuffled ones, then those with merges of any bytes."""
    built = byte_level_merges(ALPHABET, random_merges(5, 200))
    yield make_byte_level(built, pattern)
    yield make_byte_level(random.Random(1).sample(built, len(built)), pattern)
    yield make_byte_level(random_merges(2, 300, to_byte_level("абвгд abc漢😀")), pattern)
    yield make_byte_level([*character_merges("абв😀"), *random_merges(3, 200, to_byte_level("абвгд a漢😀"))], pattern)


def random_merges(seed, count=60, alphabet=ALPHABET, shuffled=False):
    """Draw merges of random tokens; ranks may be shuffled, and a string may have several derivations."""
    chooser = random.Random(seed)
    tokens, merges = list(dict.fromkeys(alphabet)), {}
    for _ in range(count):
        left, right = chooser.choice(tokens), chooser.choice(tokens)
        if len(left + right) <= 8:
            merges[left, right] = None
            tokens.append(left + right)
    ordered = list(merges)
    if shuffled:
        chooser.shuffle(ordered)
    return ordered


texts = st.text(
    alphabet=st.one_of(
        st.sampled_from(ALPHABET), st.characters(codec="utf-8"), st.sampled_from(" \r\n\t'’sSlLvVeE\u017f")
    ),
    max_size=60,
)

TRICKY = [
    "",
    " ",
    "\n",
    "\r\n\r\n",
    "a" * 3000,
    "аб" * 700 + " " + "вг" * 300,
    "don't п'ять Ankara’da l'été 's 'LL x's",
    "\x00\x00a\x00",
    "e\u0301e\u0301",
    "हिन्दी",
    "漢字かな交じり文",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1fa\U0001f1e6",
    "\ufeffbom",
    "a\u2028b\u00a0c",
    "01234567",
    "<0x41> <0xD0>",
    "  \t \n  x",
    "\U0010ffff\ufffe",
    "абв,абв.абв;",
    "…—«аб»",
    "ab\u0301'\u0301c",
]


def rust_ids(backend, documents):
    return [encoding.ids for encoding in backend.encode_batch(list(documents), add_special_tokens=False)]


def save_directory(backend, path, eos=EOS):
    path.mkdir(parents=True, exist_ok=True)
    backend.save(str(path / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos}
    (path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return path
