"""Values of other types in the JSON files beside a tokenizer give one message, whichever function reads them.

Modules: tokenizer/shapes.py.
"""

from __future__ import annotations

import copy
import json
import math
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mws_hf import MwSError, MwSTokenizer, MwSTokenizerFast, MwSTrainer
from mws_hf.tokenizer.layout import RECORD_FILE
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.shapes import Each, With, check_shape
from tests.in_process import mws
from tests.processes import one_line

OTHER_VALUES = [True, 5, -1, 10**30, 1.5, math.nan, "x", [], ["x"], [1], {}, {"x": 1}, [{}]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes") / "tok"
    text = ["перечитать читатель писатель писал читал переписать"] * 20
    tokenizer = MwSTrainer(vocab_size=400, show_progress=False).train(text)
    tokenizer.save_pretrained(folder)
    (folder / "special_tokens_map.json").write_text('{"eos_token": {"content": "<|endoftext|>", "lstrip": false}}')
    (folder / "added_tokens.json").write_text('{"<|pad|>": 1}')
    return folder


def put(folder: Path, file: str, keys: tuple[Any, ...], value: object) -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    (folder / file).write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "keys", "value", "message"),
    [
        (
            "tokenizer_config.json",
            ("pad_token",),
            [1],
            "pad_token is a list, but must be a string or null or an object",
        ),
        ("tokenizer_config.json", ("pad_token",), {"text": "x"}, "pad_token.content is missing"),
        ("tokenizer_config.json", ("tokenizer_class",), {"x": 1}, "tokenizer_class is an object"),
        ("tokenizer_config.json", ("chat_template",), [{"name": "a"}], "chat_template[0].template is missing"),
        ("tokenizer_config.json", ("auto_map", "AutoTokenizer", 1), 7, "auto_map.AutoTokenizer[1] is 7"),
        ("special_tokens_map.json", ("eos_token", "lstrip"), 3, "eos_token.lstrip is 3, but must be true or false"),
        ("added_tokens.json", ("<|pad|>",), "one", "<|pad|> is 'one', but must be a whole number"),
    ],
)
def test_settings_of_other_types_are_named_by_every_reader(file, keys, value, message, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "tok")
    put(folder, file, keys, value)
    for kind in (MwSTokenizerFast, MwSTokenizer):
        with pytest.raises(MwSError) as caught:
            kind.from_pretrained(folder)
        assert message in str(caught.value) and str(folder / file) in str(caught.value)
    checked = mws("check", folder)
    assert "special" in file or (checked.returncode == 1 and message in checked.stdout), checked


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("settings", "rare_entries", "unused"), "often", "settings.rare_entries.unused is 'often'"),
        (("settings", "weights"), 3, "settings.weights is 3, but must be null or an object"),
        (("settings", "label_fit"), {"given": 3}, "settings.label_fit.used is missing"),
        (("settings", "word_types"), 10**40, "settings.word_types is 1"),
        (("settings",), ["x"], "settings is a list"),
    ],
)
def test_metadata_of_other_types_are_named_by_every_reader(keys, value, message, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "tok")
    put(folder, RECORD_FILE, keys, value)
    with pytest.raises(MwSError) as caught:
        MwSTokenizerFast.from_pretrained(folder).create_model_card()
    assert message in str(caught.value) and RECORD_FILE in str(caught.value)
    done = mws("explain", "читал", "--model", folder)
    assert one_line(done) and message in done.stderr, done
    assert MwSTokenizerFast.from_pretrained(folder).tokenize("читал"), "text is encoded without the record"


def places_of(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if keys:
        yield keys
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places_of(each, (*keys, key))


@pytest.mark.parametrize("file", [RECORD_FILE, "tokenizer_config.json", "special_tokens_map.json"])
def test_any_value_gives_a_result_or_an_mws_error(file, trained, tmp_path):
    content = json.loads((trained / file).read_text(encoding="utf-8"))
    draws = [(keys, value) for keys in places_of(content) for value in OTHER_VALUES]
    for number, (keys, value) in enumerate(random.Random(5).sample(draws, 20)):
        folder = shutil.copytree(trained, tmp_path / str(number))
        put(folder, file, keys, copy.deepcopy(value))
        for use in (lambda d: open_tokenizer(d).record, lambda d: MwSTokenizerFast.from_pretrained(d).segment("читал")):
            try:
                use(folder)
            except MwSError:
                pass
            except Exception as error:
                raise AssertionError(f"{file}: {keys} = {value!r}") from error


def test_a_shape_accepts_only_its_values():
    shape = {"a": (None, Each(list, int)), "b": With(("c",), {"c": str})}
    for good in ({}, {"a": None}, {"a": [1, 2], "more": "anything"}, {"b": {"c": "text", "d": 1}}):
        check_shape(good, shape, "file")
    for bad in ([], {"a": [True]}, {"a": [1.0]}, {"b": {}}, {"b": {"c": None}}, {"a": {"0": 1}}):
        with pytest.raises(MwSError, match="file: .* but must be"):
            check_shape(bad, shape, "file")
    for number in (1, 1.5):
        check_shape(number, float, "file")
    with pytest.raises(MwSError, match="nan, but must be a number"):
        check_shape(math.nan, float, "file")
