"""What `test_versions.py` runs under other versions of transformers; it must not need pytest.

load JOB.json: load directories with AutoTokenizer, with no plug-in, and print what came out as JSON.
save FOLDER: with the plug-in on the path, save tokenizers there and check the classes against one another.
"""

import builtins
import importlib.util
import json
import os
import pickle
import sys


def no_prompt(*_):
    raise AssertionError("AutoTokenizer asked to run code")


def load(job):
    import transformers
    from transformers import AutoTokenizer

    assert importlib.util.find_spec("mws_hf") is None, "the plug-in must not be importable here"
    builtins.input = no_prompt
    result = {"version": transformers.__version__, "loaded": []}
    for directory in job["directories"]:
        for options in job["options"]:
            tokenizer = AutoTokenizer.from_pretrained(directory, **options)
            ids = tokenizer(job["texts"])["input_ids"]
            assert sorted(tokenizer("a").keys()) == ["attention_mask", "input_ids"]
            chat = None
            if tokenizer.chat_template:
                chat = tokenizer.apply_chat_template([{"role": "user", "content": "чит"}], tokenize=False)
            result["loaded"].append(
                {
                    "directory": directory,
                    "ids": ids,
                    "texts": [tokenizer.decode(each) for each in ids],
                    "special": sorted(tokenizer.all_special_tokens),
                    "eos": tokenizer.eos_token_id,
                    "pad": tokenizer.pad_token_id,
                    "length": len(tokenizer),
                    "chat": chat,
                }
            )
    return result


def save(folder):
    import transformers

    from tests.small_tokenizers import ADVERSARIAL, VARIANTS, small_fast, small_slow

    for name, options in VARIANTS.items():
        fast, slow = small_fast(**options), small_slow(**options)
        for tokenizer in (fast, slow):
            tokenizer.add_tokens(["<new>"])
            kind = "fast" if tokenizer.is_fast else "slow"
            place = os.path.join(folder, f"{name}-{kind}")
            tokenizer.save_pretrained(place)
            for again in (type(tokenizer).from_pretrained(place), pickle.loads(pickle.dumps(tokenizer))):
                for text in ADVERSARIAL:
                    assert again.encode(text) == fast.encode(text), (transformers.__version__, kind, text)
                    assert again.decode(again.encode(text)) == text
            words = ["перечит", "漢", "<|user|>", "the"]
            assert tokenizer(words, is_split_into_words=True) == fast(words, is_split_into_words=True)
            assert tokenizer(words[3:], is_split_into_words=True)["input_ids"] == fast.encode(" the")
            assert (
                tokenizer([words] * 2, is_split_into_words=True)["input_ids"][1]
                == fast(words, is_split_into_words=True)["input_ids"]
            )
            try:
                tokenizer("ab\ud800")
            except ValueError as error:
                assert "at character 2" in str(error)
            else:
                raise AssertionError("a lone surrogate passed")
    return {"version": transformers.__version__}


if __name__ == "__main__":
    if sys.argv[1] == "load":
        with open(sys.argv[2], encoding="utf-8") as job_file:
            answer = load(json.load(job_file))
    else:
        answer = save(sys.argv[2])
    json.dump(answer, sys.stdout)
