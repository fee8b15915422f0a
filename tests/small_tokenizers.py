"""Small tokenizers from hand-made merges, and strings that break careless tokenizers."""

import io

from mws_hf.text.pattern import GPT4_PATTERN, LLAMA3_PATTERN, O200K_PATTERN, WORD_PATTERN
from mws_hf.text.sample_texts import NATURAL
from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import build_backend, tokenizer_tables

PATTERNS = {"gpt4": GPT4_PATTERN, "word": WORD_PATTERN}
VARIANTS = {
    "gpt4": {"pattern": GPT4_PATTERN},
    "word": {"pattern": WORD_PATTERN},
    "bytes": {"pattern": WORD_PATTERN, "alphabet": "bytes"},
    "bytes+llama3": {"pattern": LLAMA3_PATTERN, "alphabet": "bytes"},
    "bytes+o200k": {"pattern": O200K_PATTERN, "alphabet": "bytes"},
}
"""Arguments of `small_fast` and `small_slow`."""

SPECIAL = ["<|endoftext|>", "<|pad|>", "<|user|>"]


def roles() -> dict:
    return {"eos_token": "<|endoftext|>", "pad_token": "<|pad|>", "additional_special_tokens": ["<|user|>"]}


MERGES = [
    *[("ч", "и"), ("чи", "т"), ("а", "т"), ("ат", "ь"), ("п", "е"), ("пе", "р"), (" ", "пер"), (" пер", "е")],
    *[("ы", "в"), ("ыв", "а"), ("ю", "щ"), ("а", "я"), ("с", "я"), ("е", "й"), (" ", "чит"), ("и", "\u0306")],
    *[("t", "h"), ("th", "e"), (" ", "the"), ("a", "b"), ("ab", "ab"), ("1", "2"), ("12", "3"), ("!", "!")],
    *[(" ", " "), ("  ", "  "), ("\n", "\n"), ("п", "'"), ("п'", "ять"[0]), ("0", "x"), ("<", "|"), ("😀", "😀")],
]
ALPHABET = sorted(
    {c for pair in MERGES for c in "".join(pair)} | set("абвгдеёжзийклмнопрстуфхцчшщъыьэюяABCxyz.,'\r\ufeff")
)

ADVERSARIAL = [
    "",
    " ",
    "Перечитывающаяся, перечитать! the the ababab abab",
    "п'ять п’ять Ankara'da don't I'LL DON'T 'ſ",
    "👨‍👩‍👧‍👦 🇺🇦🇷🇺 😀😀😀 👍🏽 \U0001f3f4\U000e0067\U000e0062",
    "Z̸̡̢͉a̷l̴g̶o̵ и\u0306 й е\u0301",
    "".join(map(chr, range(32))) + "\x7f" + "".join(map(chr, range(0x80, 0xA0))),
    "a\r\nb\r\r\n\n \n\n\tc \r \n",
    "a\u00a0b\u202fc\u2009d\u2028e\u2029f\u3000g\u0085h\u200bi",
    " " * 5000,
    "\n" * 300 + "!" * 300 + " " * 7 + "x",
    "\x00\x00null\x00",
    "\ufeffBOM\ufeff",
    "\uffff\ufffe\ufdd0\U0001ffff\U0010ffff",
    "\ue000\uf8ff\U000f0000",
    "\ufffd\ufffd",
    "\u202eright\u202c \u2066x\u2069",
    "\u1112\u1161\u11ab 한 漢字 𠀀𪛟 かな",
    "<0x41><0xD0><0x90> <0xFF>",
    "<|endoftext|><|user|>text<|pad|> <|endoftex t|> <|",
    "१२३ क्षत्रिय हिन्दी عَرَبِيّ ไทย",
    "12345678901234 1٢٣४5 ①②③ Ⅷ",
    "1\U00010d401 \U00010d41a\U00010d4a 1\U00010d4023 !\U00016ea0!! ࢏a \u0c5c",
    "ſ ﬁ ß ẞ İ ı K Å",
    "ababababababababab" * 20,
]


def sentence_piece(kind: str, **options) -> bytes:
    """A small SentencePiece model, "unigram" or "bpe", with its own normal form and byte fallback."""
    import pytest  # version_child.py has none

    made = io.BytesIO()
    pytest.importorskip("sentencepiece").SentencePieceTrainer.train(
        sentence_iterator=iter([*NATURAL, "unlock unlocks locks undo"] * 20),
        model_writer=made,
        model_type=kind,
        vocab_size=600,
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return made.getvalue()


def small_fast(
    pattern: str = WORD_PATTERN, normalization: str | None = None, alphabet: str = "characters", **options
) -> MwSTokenizerFast:
    vocab, merges = tokenizer_tables(SPECIAL, ALPHABET, MERGES, alphabet)
    backend = build_backend(vocab, merges, pattern, normalization, special_tokens=SPECIAL)
    return MwSTokenizerFast(tokenizer_object=backend, **{**roles(), **options})


def small_slow(
    pattern: str = WORD_PATTERN, normalization: str | None = None, alphabet: str = "characters", **options
) -> MwSTokenizer:
    vocab, merges = tokenizer_tables(SPECIAL, ALPHABET, MERGES, alphabet)
    return MwSTokenizer(
        vocab=vocab, merges=merges, pattern=pattern, normalization=normalization, **{**roles(), **options}
    )
