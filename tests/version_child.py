"""The program that `test_versions.py` runs with other versions of transformers; it must not need pytest.

load JOB.json: load directories with AutoTokenizer, with no plug-in, and print what came out as JSON.
save FOLDER: with the plug-in on the path, save tokenizers there and check the classes against one another.
resave JOB.json: load directories with several classes, save what was loaded, twice, and print where it lies.
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


def resave(job):
    import transformers

    import mws_hf

    classes = {"auto": transformers.AutoTokenizer, "fast": mws_hf.MwSTokenizerFast, "slow": mws_hf.MwSTokenizer}
    result = {"version": transformers.__version__, "saved": []}
    for directory in job["directories"]:
        for name, tokenizer_class in classes.items():
            places = [directory]
            for number in (1, 2):
                places.append(f"{directory}-{name}-{number}")
                tokenizer_class.from_pretrained(places[-2]).save_pretrained(places[-1])
            loaded = [tokenizer_class.from_pretrained(place) for place in places]
            states = [state(tokenizer, job["texts"]) for tokenizer in loaded]
            result["saved"].append({"class": name, "places": places, "states": states})
    return result


def state(tokenizer, texts):
    """What a user sees of a tokenizer: ids, texts, special tokens by name, and the chat templates."""
    ids = tokenizer(texts)["input_ids"]
    names = ["eos_token", "pad_token", "video_token", "video_token_id", "boi_token"]
    return {
        "ids": ids,
        "texts": [tokenizer.decode(each) for each in ids],
        "special": sorted(tokenizer.all_special_tokens),
        "names": {name: getattr(tokenizer, name, None) for name in names},
        "templates": tokenizer.chat_template,
        "length": len(tokenizer),
    }


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
            for text in ["чит<new>чит <new> the<new><|user|> <|user|><new>", "<|user|>", "<new>"]:
                assert tokenizer.decode(tokenizer.encode(text)) == text, (transformers.__version__, kind, text)
                wanted = fast.encode(text, split_special_tokens=True)
                assert (
                    0 < wanted.count(fast.convert_tokens_to_ids("<new>")) == text.count("<new>") or text == "<|user|>"
                )
                assert fast.convert_tokens_to_ids("<|user|>") not in wanted
                assert tokenizer.encode(text, split_special_tokens=True) == wanted
                assert tokenizer([text] * 2, split_special_tokens=True)["input_ids"] == [wanted] * 2
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
    elif sys.argv[1] == "resave":
        with open(sys.argv[2], encoding="utf-8") as job_file:
            answer = resave(json.load(job_file))
    else:
        answer = save(sys.argv[2])
    json.dump(answer, sys.stdout)
