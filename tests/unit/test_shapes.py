"""A value of a wrong type in a JSON file next to a tokenizer gives one message, whichever function reads the file.

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


FIT = {"given": 9, "used": 9, "in_text": 9, "f1": 0.8, "f1_without": 0.7, "granularity": 0.1, "ridge": 10.0}
TRIMMED = {"base": "x", "entries": [9, 8], "merges": [5, 4], "kept": {"byte": 8}, "dropped": {}, "texts": {}}


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
        (
            ("settings", "label_fit"),
            {**FIT, "f1_without": None},
            "settings.label_fit.f1_without is null, but must be a",
        ),
        (
            ("settings", "label_fit"),
            {"ru": {**FIT, "f1": None}},
            "settings.label_fit.ru.f1 is null, but must be a number",
        ),
        (("settings", "groups"), {"ru": {"weight": 1}}, "settings.groups.ru.types is missing"),
        (("settings", "rare_entries"), {"unused": 0.1}, "settings.rare_entries.under_5 is missing"),
        (("card",), {"extended": {"base": None}}, "card.extended.new_tokens is missing"),
        (("card",), {"trimmed": {**TRIMMED, "entries": [5]}}, "card.trimmed.entries[1] is missing"),
        (
            ("card",),
            {"trimmed": {**TRIMMED, "texts": {"a": {"tokens": [1, 2]}}}},
            "card.trimmed.texts.a.uses_lost is miss",
        ),
        (("card",), {"languages": "fi"}, "card.languages is 'fi', but must be null or a list"),
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


def test_metadata_with_nulls_and_keys_of_other_versions_give_a_card(trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "tok")
    put(folder, RECORD_FILE, ("settings", "label_fit"), {**FIT, "f1_of_a_later_version": 0.9})
    put(folder, RECORD_FILE, ("settings", "sample_words"), None)
    put(folder, RECORD_FILE, ("card",), {"license": None, "words": None, "of_a_later_version": {"x": 1}})
    card = MwSTokenizerFast.from_pretrained(folder).create_model_card()
    assert "boundary F1 0.800 (cross-validated), without labels 0.700" in card and "## Examples" not in card
    put(folder, RECORD_FILE, ("settings", "label_fit"), {"given": {**FIT, "used": 5}})  # this is the name of a group
    assert "| labeled words of given | 5 of 9 used" in MwSTokenizerFast.from_pretrained(folder).create_model_card()


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
        for use in (
            lambda d: open_tokenizer(d).record,
            lambda d: MwSTokenizerFast.from_pretrained(d).segment("читал"),
            lambda d: MwSTokenizerFast.from_pretrained(d).create_model_card(),
        ):
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
