"""The program of `test_hub.py`, which sets HF_ENDPOINT before huggingface_hub is imported: push, then load by name."""

import sys

from tokenizers import Tokenizer
from transformers import AutoTokenizer

from mws_hf.errors import MwSError
from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.trainer import MwSTrainer
from tests.small_tokenizers import small_fast, small_slow

TEXT = "перечитать 漢<|user|>"


def expect_error(kind, name, error, words):
    try:
        kind.from_pretrained(name)
    except error as found:
        assert words in str(found), found
    else:
        raise AssertionError(f"{name} loaded")


def main(folder):
    tokenizer = small_fast()
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    tokenizer.push_to_hub("user/pushed", commit_message="first")
    tokenizer.save_pretrained(f"{folder}/saved", push_to_hub=True, repo_id="user/saved")
    small_slow().push_to_hub("user/slow")
    for name in ("user/pushed", "user/saved", "user/slow", f"{folder}/saved"):
        for kind in (AutoTokenizer, MwSTokenizerFast, MwSTokenizer):
            loaded = kind.from_pretrained(name)
            assert loaded.encode(TEXT) == tokenizer.encode(TEXT), (name, kind)
            assert loaded.eos_token == "<|endoftext|>"
            assert (loaded.chat_template is None) is (name == "user/slow")
    assert Tokenizer.from_pretrained("user/pushed").encode(TEXT).ids == tokenizer.encode(TEXT)
    trained = MwSTrainer(n_merges=5, show_progress=False).train_from_iterator([TEXT, TEXT])
    trained.push_to_hub("user/trained")
    trained.push_to_hub("user/trained")
    trained.push_to_hub("user/trained", create_pr=True)
    trained.push_to_hub("user/trained", revision="dev")
    for name in ("user/by-hand", "user/unknown"):
        trained.push_to_hub(name)
        trained.push_to_hub(name, revision="dev")
    trained.save_pretrained(f"{folder}/trained")
    MwSTokenizerFast.from_pretrained(f"{folder}/trained").push_to_hub("user/loaded")
    again = MwSTokenizerFast.from_pretrained("user/pushed")
    again.push_to_hub("user/again")
    assert AutoTokenizer.from_pretrained("user/again", trust_remote_code=True).encode(TEXT) == tokenizer.encode(TEXT)
    expect_error(MwSTokenizerFast, "user/absent", OSError, "user/absent")
    expect_error(MwSTokenizerFast, "user/empty", (MwSError, OSError), "user/empty")


if __name__ == "__main__":
    main(sys.argv[1])
