"""One tokenizer in many threads: no call changes the object it is called on, nor another call, nor what is saved."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, normalizers, pre_tokenizers, processors

from mws_hf.corpus.blocks import block_of
from mws_hf.encode.encoder import BlockEncoder
from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import build_backend, tokenizer_tables
from mws_hf.tokenizer.stock import without_limits
from tests.small_tokenizers import ADVERSARIAL, ALPHABET, MERGES, roles, small_fast, small_slow

WORDS = ["перечитать", "the", "abab", "<|user|>"]
TEXT = "перечитать the abab <|user|> читывает"
LONG = "the перечитать " * 8
CHAT = "{% for m in messages %}{{ m['content'] }}<|endoftext|>{% endfor %}"


def in_bulk(tokenizer: Any) -> Any:
    """Ids of a text by the bulk encoder, for tokenizers that it takes."""
    return (
        BlockEncoder(getattr(tokenizer, "backend_tokenizer", None) or tokenizer.to_backend())
        .encode(block_of([TEXT.encode()] * 3, str))
        .ids.tolist()
    )


def calls(tokenizer: Any, scratch: Path) -> dict[str, Callable[[], Any]]:
    """Every public way to encode, and ways to decode, look up, copy and save."""
    asked = {"padding": "max_length", "truncation": True, "max_length": 5}
    found: dict[str, Callable[[], Any]] = {
        "plain": lambda: tokenizer(TEXT)["input_ids"],
        "batch": lambda: tokenizer([TEXT, "the"] * 3)["input_ids"],
        "pair": lambda: tokenizer(TEXT, "the", return_token_type_ids=True).data,
        "words": lambda: tokenizer(WORDS, is_split_into_words=True)["input_ids"],
        "batch of words": lambda: tokenizer([WORDS] * 4, is_split_into_words=True, padding=True)["input_ids"],
        "cut": lambda: tokenizer(TEXT, **asked).data,
        "padded": lambda: tokenizer(["the", TEXT], padding=True, pad_to_multiple_of=8).data,
        "special as text": lambda: tokenizer(TEXT, split_special_tokens=True)["input_ids"],
        "tokens": lambda: tokenizer.tokenize(TEXT),
        "encode": lambda: tokenizer.encode(TEXT, truncation=True, max_length=3),
        "decoded": lambda: tokenizer.decode(tokenizer.encode("перечитать")),
        "chat": lambda: tokenizer.apply_chat_template(
            [{"role": "user", "content": TEXT}], tokenize=True, return_dict=False
        ),
        "segmented": lambda: tokenizer.segment("перечитать abab"),
        "explained": lambda: tokenizer.explain("перечитать"),
        "encoded in bulk": lambda: in_bulk(tokenizer),
        "special tokens": lambda: [tokenizer.num_special_tokens_to_add(pair) for pair in (False, True)],
        "vocabulary": lambda: sorted(tokenizer.get_vocab().items()),
        "copied": lambda: copy.deepcopy(tokenizer)(WORDS, is_split_into_words=True)["input_ids"],
        "pickled": lambda: pickle.loads(pickle.dumps(tokenizer))(TEXT)["input_ids"],
    }

    def saved() -> Any:
        folder = scratch / str(threading.get_ident())
        tokenizer.save_pretrained(folder)
        return json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))

    return found | {"saved": saved}


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
@pytest.mark.parametrize("make", [small_fast, small_slow])
def test_eight_threads_get_what_one_gets(make, alphabet, tmp_path):
    tokenizer = make(alphabet=alphabet, **roles())
    tokenizer.chat_template = CHAT
    jobs = calls(tokenizer, tmp_path)
    alone = {name: job() for name, job in jobs.items()}
    names = [name for _ in range(6) for name in jobs]

    def work(first: int) -> list[str]:
        order = names[first:] + names[:first]
        return [name for name in order if jobs[name]() != alone[name]]

    with ThreadPoolExecutor(8) as pool:
        wrong = [name for found in pool.map(work, range(8)) for name in found]
    assert wrong == []
    assert {name: job() for name, job in jobs.items()} == alone


def test_what_one_call_asked_for_stays_out_of_the_next_and_out_of_the_file(tmp_path):
    tokenizer = small_fast(**roles())
    before = tokenizer.backend_tokenizer.to_str()
    tokenizer(["the", TEXT], padding="max_length", truncation="only_first", max_length=4, stride=1)
    tokenizer(["the", TEXT], padding=True, pad_to_multiple_of=8)
    tokenizer(WORDS, is_split_into_words=True, split_special_tokens=True)
    assert tokenizer.backend_tokenizer.to_str() == before


CHANGES: dict[str, Callable[[Any], Any]] = {
    "tokens added": lambda own: own.add_tokens(["тать", "the a"]),
    "tokens added to the backend": lambda own: own.backend_tokenizer.add_tokens(["ь t"]),
    "an entry becomes special": lambda own: own.backend_tokenizer.add_special_tokens([AddedToken("чит")]),
    "normalizer": lambda own: setattr(own.backend_tokenizer, "normalizer", normalizers.Lowercase()),
    "pre-tokenizer": lambda own: setattr(own.backend_tokenizer, "pre_tokenizer", pre_tokenizers.Whitespace()),
    "post-processor": lambda own: setattr(
        own.backend_tokenizer, "post_processor", processors.BertProcessing(("<|pad|>", 1), ("<|user|>", 2))
    ),
    "special tokens as text": lambda own: setattr(own.backend_tokenizer, "encode_special_tokens", True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_copy_kept_for_later_calls_follows_the_tokenizer(name):
    text = "THE aперечитать the abab <|user|>"

    def asked(tokenizer: Any) -> list[Any]:
        return [tokenizer([text, "a"], padding=True).data, tokenizer(text.split(), is_split_into_words=True).data]

    used, fresh = small_fast(**roles()), small_fast(**roles())
    before = asked(used)
    for tokenizer in (used, fresh):
        CHANGES[name](tokenizer)
    assert asked(used) == asked(fresh)
    assert name.startswith("special") or asked(used) != before


def test_a_copy_shares_the_model_of_the_library():
    """The library's bindings hand the model out as it is, and not a copy; a change of that would cost memory."""
    backend = small_fast().backend_tokenizer
    without_limits(backend).model.dropout = 0.25
    assert backend.model.dropout == 0.25


POST = {
    "roberta": lambda: processors.RobertaProcessing(("<|pad|>", 1), ("<|endoftext|>", 0)),
    "bert": lambda: processors.BertProcessing(("<|pad|>", 1), ("<|endoftext|>", 0)),
    "types": lambda: processors.TemplateProcessing(
        single="$A:1 <|pad|>:2", pair="<|user|>:3 $A:1 <|pad|>:1 $B:2", special_tokens=[("<|pad|>", 1), ("<|user|>", 2)]
    ),
    "second first": lambda: processors.TemplateProcessing(
        single="$A", pair="$B:1 <|pad|> $A", special_tokens=[("<|pad|>", 1)]
    ),
    "in a sequence": lambda: processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<|user|> $A", pair="<|user|> $A <|user|>:1 $B:1", special_tokens=[("<|user|>", 2)]
            ),
        ]
    ),
    "byte level": lambda: processors.ByteLevel(trim_offsets=False),
    "nothing": lambda: None,
}  # fmt: skip
ASKED = [
    {},
    {"add_special_tokens": False},
    {"truncation": "only_first", "max_length": 20},
    {"padding": "max_length", "max_length": 40},
]


@pytest.mark.parametrize("name", POST)
def test_the_slow_class_follows_the_post_processor_of_the_file(name, tmp_path):
    special = ["<|endoftext|>", "<|pad|>", "<|user|>"]
    backend = build_backend(*tokenizer_tables(special, ALPHABET, MERGES, "bytes"), special_tokens=special)
    backend.post_processor = POST[name]()
    fast = MwSTokenizerFast(tokenizer_object=backend, **roles())
    if name == "nothing":
        fast.backend_tokenizer.post_processor = None
    fast.save_pretrained(tmp_path / "first")
    slow = MwSTokenizer.from_pretrained(tmp_path / "first")
    slow.save_pretrained(tmp_path / "second")
    again = MwSTokenizerFast.from_pretrained(tmp_path / "second")
    texts = ["", "перечитать the", *ADVERSARIAL[2:6]]
    for options in ASKED:
        pairs = [(LONG, text) for text in ("the", "читывает abab")]
        for first, second in [(text, None) for text in texts if text or "padding" not in options] + pairs:
            asked = {**options, "return_token_type_ids": True, "return_special_tokens_mask": True}
            expected = dict(fast(first, second, **asked))
            assert dict(slow(first, second, **asked)) == expected, (options, first, second)
            assert dict(again(first, second, **asked)) == expected
    for pair in (False, True):
        assert slow.num_special_tokens_to_add(pair) == fast.num_special_tokens_to_add(pair)


@pytest.mark.parametrize("asked", [{"add_eos_token": True}, {"add_bos_token": True, "bos_token": "<|user|>"}])
def test_a_template_asked_for_at_loading_is_the_same_in_both_classes_and_is_saved(asked, tmp_path):
    small_fast(**roles()).save_pretrained(tmp_path / "first")
    fast, slow = (kind.from_pretrained(tmp_path / "first", **asked) for kind in (MwSTokenizerFast, MwSTokenizer))
    assert slow("the перечитать")["input_ids"] == fast("the перечитать")["input_ids"]
    slow.save_pretrained(tmp_path / "second")
    assert MwSTokenizerFast.from_pretrained(tmp_path / "second")("the")["input_ids"] == fast("the")["input_ids"]
