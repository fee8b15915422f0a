"""Tokens removed from a vocabulary, by count or by name: every other text keeps its tokens.

Modules: commands/trim.py, surgery/trim.py.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, processors
from transformers import AutoTokenizer

from mws_hf import MwSError
from mws_hf.corpus.counting import count_documents
from mws_hf.surgery.base import Base, open_base, read_ids
from mws_hf.surgery.change_report import measure_use
from mws_hf.surgery.extension import extend
from mws_hf.surgery.trim import count_uses, last_merges, trim
from tests.examples import examples
from tests.in_process import mws
from tests.small_bases import BASES, ENGLISH, SPECIAL, every_split, llama3_like, russian, save, turkish
from tests.small_tokenizers import ADVERSARIAL

CODE = [ENGLISH[1], ENGLISH[3]]


@cache
def base_of(kind: str) -> Base:
    return Base.of(every_split() if kind == "tiktoken" else BASES[kind]())


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


def test_the_parts_of_a_token_are_those_from_which_standard_bpe_makes_it():
    """Without the other merges of the same tokens, every text is split as before."""
    base = base_of("tiktoken")
    parts = last_merges(base)
    ranked = sorted(parts.values(), key=base.merges.index)
    alone = models.BPE(dict(base.spec["model"]["vocab"]), ranked)
    assert len(parts) < len(base.merges)
    for token in parts:
        assert [piece.value for piece in alone.tokenize(token)] == [token]
    for text in ("Ġwalking", "reworking", "unworkable", "selfreturn"):
        whole = models.BPE(dict(base.spec["model"]["vocab"]), base.merges)
        assert [p.value for p in alone.tokenize(text)] == [p.value for p in whole.tokenize(text)]


@pytest.mark.parametrize("kind", ["llama3", "gemma"])
def test_a_size_is_met_and_what_is_used_most_stays(kind):
    base = base_of(kind)
    smaller = trim(base, CODE, keep_size=330)
    assert len(smaller.tokenizer.get_vocab()) == 330 == sum(smaller.kept.values())
    cut_off = trim(base, np.zeros(base.next_id, np.int64), keep_size=330)
    mine, by_rank = (sum(len(ids(each.tokenizer, text)) for text in CODE) for each in (smaller, cut_off))
    assert sum(len(ids(smaller.tokenizer, text)) for text in CODE) == mine < 0.97 * by_rank
    for size in (len(base.vocab), 10_000):
        with pytest.raises(MwSError, match=f"keep_size={size} would drop nothing, .* has {len(base.vocab)} tokens"):
            trim(base, ENGLISH, keep_size=size)


def test_a_trimming_that_removes_nothing_is_reported(caplog):
    base = base_of("gemma")
    everything = trim(base, np.full(base.next_id, 3, np.int64), min_count=3)
    assert everything.spec == base.spec and everything.dropped == {} and everything.uses_lost == 0
    assert "no token was removed, because each is used at least 3 times, or must stay" in caplog.text
    caplog.clear()
    named = trim(base, ENGLISH[:1], min_count=1000, keep=[*base.vocab])
    assert named.spec == base.spec and "the new tokenizer equals the old one" in caplog.text


def test_uses_of_a_removed_token_count_for_its_parts():
    """No text uses "Ġwalk" itself, but it stays, because the longer tokens that contain it are used less and go."""
    texts = [" walking walked walkers walker"] * 10
    base = base_of("llama3")
    assert count_uses(base, texts)[base.vocab["Ġwalk"]] == 0
    vocab = trim(base, texts, min_count=25).tokenizer.get_vocab()
    assert "Ġwalk" in vocab and "Ġwalked" not in vocab


def test_tokens_by_name_stay_with_their_parts():
    base = base_of("llama3")
    name = next(token for token in sorted(base.tokens, key=len) if len(token) > 5)
    smaller = trim(base, ["a"], min_count=1, keep=[base.read(name)])
    assert smaller.kept["named"] == 1 and smaller.kept["part"] >= 1
    assert smaller.tokenizer.model.tokenize(name)[0].value == name
    with pytest.raises(MwSError, match="not a token of the tokenizer"):
        trim(base, ["a"], min_count=1, keep=["no such entry"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either keep_size"),
        ({"keep_size": 300, "min_count": 2}, "give either keep_size"),
        ({"keep_size": 100}, "tokens must stay"),
        ({"keep_size": 2.5}, "whole number"),
        ({"min_count": 0}, "too small"),
        ({"min_count": 1, "texts": np.ones(3, np.int64)}, r"the uses have shape \(3,\), but the highest id is"),
        ({"min_count": 1, "texts": "english.txt"}, r"texts: the str 'english.txt' is not a list of str"),
        ({"min_count": 1, "texts": Path("english.txt")}, "texts: PosixPath is not a list of str"),
        ({"min_count": 1, "texts": ["a", b"b"]}, "texts: element 1 is bytes; expected str; decode it first"),
        ({"min_count": 1, "keep": "walk"}, "keep: the str 'walk' is not a list of str"),
    ],
)
def test_impossible_requests_are_rejected(options, message):
    with pytest.raises(MwSError, match=message):
        trim(base_of("llama3"), **{"texts": ENGLISH} | options)


def test_an_array_of_texts_is_not_taken_for_uses():
    assert (
        trim(base_of("llama3"), np.array(ENGLISH), min_count=1).kept
        == trim(base_of("llama3"), ENGLISH, min_count=1).kept
    )


@pytest.mark.parametrize("kind", ["BertProcessing", "RobertaProcessing"])
def test_special_tokens_keep_their_place_where_a_processor_names_them(kind):
    spec = json.loads(llama3_like().to_str())
    begin, end = ([token, llama3_like().token_to_id(token)] for token in SPECIAL[:2])
    more = {"trim_offsets": False, "add_prefix_space": False} if kind == "RobertaProcessing" else {}
    spec["post_processor"] = {"type": kind, "sep": end, "cls": begin, **more}
    small = trim(Base.of(Tokenizer.from_str(json.dumps(spec))), CODE, min_count=1).tokenizer
    assert small.token_to_id(end[0]) < end[1]
    assert small.encode("a").ids[0] == small.token_to_id(begin[0])
    assert small.encode("a").ids[-1] == small.token_to_id(end[0])


@pytest.mark.parametrize("part", ["template", "padding"])
def test_a_special_token_that_is_not_an_added_token_stays(part):
    """Tokenizers that were created from vocab.json and merges.txt contain such tokens."""
    spec = json.loads(llama3_like().to_str())
    number = len(spec["model"]["vocab"])
    spec["model"]["vocab"] |= {"<s>": number, "unused": number + 1}
    spec["added_tokens"] = []
    base = Tokenizer.from_str(json.dumps(spec))
    base.post_processor = processors.ByteLevel()
    if part == "template":
        base.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", number)])
    else:
        base.enable_padding(pad_id=number, pad_token="<s>", length=80)
    small = trim(base, CODE, min_count=1).tokenizer
    assert small.token_to_id("unused") is None and small.token_to_id("<s>") < number
    assert small.token_to_id("<s>") == small.encode("a").ids[0 if part == "template" else -1]


def test_an_id_of_padding_that_is_not_a_token_is_named():
    base = Tokenizer.from_str(llama3_like().to_str())
    base.enable_padding(pad_id=5000, pad_token="<pad>")
    with pytest.raises(MwSError, match="padding contains id 5000, which is not a token"):
        trim(base, CODE, min_count=1)


def test_the_bits_of_a_text_are_those_of_its_tokens():
    use = measure_use(base_of("llama3"), ["aaab"])
    pieces = base_of("llama3").pipeline().encode("aaab").ids
    counts = np.bincount(pieces)[np.unique(pieces)]
    assert use.n_bytes == 4 and use.bits_per_byte == pytest.approx(-(counts * np.log2(counts / counts.sum())).sum() / 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("trim")
    save(llama3_like(), place / "base", eos_token=SPECIAL[1])
    (place / "code.txt").write_text("\n".join(CODE * 5), encoding="utf-8")
    (place / "ru.txt").write_text("\n".join(russian() * 6), encoding="utf-8")
    (place / "keep.txt").write_text("talk\n walk\nself\n", encoding="utf-8")
    return place


def test_the_command_writes_ids_report_and_card(folder):
    given = ("--text", folder / "code.txt", "--min-count", 3, "--keep", folder / "keep.txt")
    arguments = ["trim", folder / "base", *given]
    done = mws(*arguments, "--json", "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    before, after = told["entries"]
    assert sum(told["kept"].values()) == after < before == after + sum(told["dropped"].values())
    assert after == len(open_base(folder / "out").vocab)
    text = told["texts"][str(folder / "code.txt")]
    assert text["bytes"] == (folder / "code.txt").stat().st_size and text["tokens"][1] >= text["tokens"][0]
    assert json.loads((folder / "out" / "trim.json").read_text("utf-8"))["texts"] == told["texts"]
    card = (folder / "out" / "README.md").read_text(encoding="utf-8")
    assert f"| tokens | {after:,} of {before:,} |" in card
    people = mws(*arguments, "-o", folder / "out2")
    assert f"{before:,} -> {after:,} tokens" in people.stdout and "of uses lost" in people.stdout
    kept = re.search(r"; kept: (.*); removed: ", people.stdout)[1]
    assert "parts of other tokens" in kept and f"| kept | {kept} |" in card
    assert (folder / "out" / "tokenizer.json").read_bytes() == (folder / "out2" / "tokenizer.json").read_bytes()


def test_one_of_several_texts_may_be_empty(folder):
    (folder / "part-1.txt").write_bytes(b"")
    (folder / "part-2.txt").write_text("\n".join(CODE * 5), encoding="utf-8")
    done = mws("trim", folder / "base", "--text", folder / "part-*.txt", "--min-count", 3, "-o", folder / "parts")
    assert done.returncode == 0 and f"{folder / 'part-1.txt'}: has no text" in done.stdout, done.stderr
    assert "nan" not in done.stdout + (folder / "parts" / "README.md").read_text(encoding="utf-8")
    done = mws("trim", folder / "base", "--text", folder / "part-1.txt", "--min-count", 3, "-o", folder / "none")
    assert done.returncode == 2 and "the texts have no token" in done.stderr


def test_a_text_that_is_given_twice_counts_twice(folder):
    sizes = []
    for number, names in enumerate(
        [["once.txt"], ["once.txt", "once.txt"], ["once.txt", "copy.txt"], ["on*", "once*"]]
    ):
        texts = [part for name in names for part in ("--text", folder / name)]
        for name in ("once.txt", "copy.txt"):
            (folder / name).write_text(CODE[0], encoding="utf-8")
        done = mws("trim", folder / "base", *texts, "--min-count", 2, "-o", folder / f"twice-{number}", "--json")
        assert done.returncode == 0, done.stderr
        sizes.append(json.loads(done.stdout)["entries"][1])
    assert sizes[0] < sizes[1] == sizes[2] == sizes[3]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [(["trim", "base", "--text"], "--keep-size"), (["extend", "base", "--add", 9], "--trim-to")],
)
def test_a_size_that_removes_nothing_is_an_error_with_the_option(arguments, option, folder):
    command, base, *more = arguments
    done = mws(command, folder / base, *more, folder / "code.txt", option, "9k", "-o", folder / "same")
    assert done.returncode == 2 and f"{option} 9000 would drop nothing" in done.stderr
    assert not (folder / "same").exists()


def test_trim_and_extend_are_one_command_with_one_map(folder):
    add = ["--add", 40, "--quiet", "--json"]
    arguments = ["extend", folder / "base", folder / "ru.txt", "--also", folder / "code.txt", "--trim-to", 320, *add]
    done = mws(*arguments, "-o", folder / "both")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["vocabulary"] == 360 and sum(told["trimmed"]["dropped"].values()) == len(base_of("llama3").vocab) - 320
    base, both = (Tokenizer.from_file(str(folder / name / "tokenizer.json")) for name in ("base", "both"))
    found = json.loads((folder / "both" / "ids.json").read_text("utf-8"))
    assert len(found) == base.get_vocab_size() and sum(new is not None for new in found.values()) == 320
    assert all(base.id_to_token(int(o)) == both.id_to_token(n) for o, n in found.items() if n is not None)
    for text in (*CODE, *russian(), *turkish(), *ADVERSARIAL):
        assert both.decode(ids(both, text)) == base.decode(ids(base, text))
    held_out = told["texts"]["held-out text"]["tokens"]
    assert held_out[1] < 0.7 * held_out[0]


def test_the_command_rejects_in_one_line_and_leaves_existing_files(folder):
    (folder / "there").mkdir()
    (folder / "there" / "notes.json").write_text("{}", encoding="utf-8")
    (folder / "blank.txt").write_text("", encoding="utf-8")
    (folder / "unknown.txt").write_text("self\n\nnosuchentry\n", encoding="utf-8")
    text, output = ["--text", folder / "code.txt"], ["-o", folder / "there"]
    larger = ["extend", folder / "base", folder / "ru.txt", "--add", 9, "--trim-to", 9]
    for arguments, message in (
        (["trim", folder / "base", *text, *output], "--keep-size"),
        (["trim", folder / "base", *text, "--keep-size", 300, "--min-count", 2, *output], "--keep-size"),
        (["trim", folder / "nothing", *text, "--min-count", 2, *output], "nothing"),
        (["trim", folder / "base", *text, "--keep-size", 100, *output], "must stay"),
        (["trim", folder / "base", "--text", folder / "none.txt", "--min-count", 2, *output], "none.txt"),
        (["trim", folder / "base", "--text", folder / "blank.txt", "--min-count", 2, *output], "have no token"),
        (["trim", folder / "base", "--text", "-", "--min-count", 2, *output], "twice"),
        (
            ["trim", folder / "base", *text, "--min-count", 2, "--keep", folder / "unknown.txt", *output],
            "unknown.txt:3",
        ),
        (["trim", folder / "base", *text, "--min-count", 2, "-o", folder / "base"], "overwritten"),
        ([*larger, "-q", *output], "must stay"),
        ([*larger, "--replace", *output], "--trim-to"),
    ):
        done = mws(*arguments)
        *warned, said = done.stderr.splitlines()
        assert done.returncode == 2 and said.startswith("error: ") and message in said, done.stderr
        assert all(line.startswith("WARNING: ") for line in warned)
        assert [file.name for file in (folder / "there").iterdir()] == ["notes.json"]
        assert (folder / "there" / "notes.json").read_text(encoding="utf-8") == "{}"


OPERATIONS = ("extend", "replace", "trim", "both")
MATRIX = [(kind, operation) for kind in (*BASES, "tiktoken") for operation in OPERATIONS]
MASK = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "special": True}
_ANY = st.text(
    st.sampled_from("walkteding 'чтиаерепо ışğ\n1漢😀é\ufeff") | st.characters(exclude_categories=["Cs"]), max_size=30
)


def changed(base, operation):
    """The changed tokenizer, and a function that saves it, after a source if one is given."""
    counts = count_documents(russian() + turkish(), workers=1)
    if operation == "trim":
        smaller = trim(base, CODE, min_count=1)
        return smaller, smaller.ids, smaller.save
    if operation == "both":
        smaller = trim(base, CODE, keep_size=340)
        larger = extend(smaller.trimmed_base, counts, 30)
        return larger, larger.old_ids, larger.save
    larger = extend(base, counts, 60, replace=CODE if operation == "replace" else None)
    return larger, larger.old_ids, larger.save


@cache
def case(kind, operation):
    """The base, the changed tokenizer, and the new id of each old one."""
    base = Base.of(every_split() if kind == "tiktoken" else BASES[kind]())
    made, ids, _ = changed(base, operation)
    return Tokenizer.from_str(json.dumps(base.spec)), made.tokenizer, dict(ids)


@pytest.mark.parametrize(("kind", "operation"), MATRIX)
@examples(60)
@given(text=_ANY | st.sampled_from([*ADVERSARIAL, *ENGLISH, *russian()]) | st.text("def walk(self)[]:\n", max_size=30))
def test_text_of_kept_tokens_is_split_as_before_and_every_text_comes_back(kind, operation, text):
    base, after, map_of = case(kind, operation)
    given_ids, found = ids(base, text), ids(after, text)
    kept = [map_of[number] for number in given_ids]
    if None not in kept and set(found) <= set(map_of.values()):
        assert found == kept
    elif operation == "extend":
        assert len(found) < len(given_ids)
    assert after.decode(found, skip_special_tokens=False) == base.decode(given_ids, skip_special_tokens=False)


@pytest.mark.parametrize(("kind", "operation"), MATRIX)
def test_ids_follow_the_map_without_holes_and_the_rest_is_as_it_was(kind, operation):
    base, after, map_of = case(kind, operation)
    kept = [(old, new) for old, new in map_of.items() if new is not None]
    assert list(map_of) == list(range(base.get_vocab_size())) and kept == sorted(kept, key=lambda pair: pair[1])
    assert all(base.id_to_token(old) == after.id_to_token(new) for old, new in kept)
    assert sorted(after.get_vocab().values()) == list(range(after.get_vocab_size()))
    more = {"trim": 0, "both": 30}.get(operation, 60)
    assert after.get_vocab_size() == len(kept) + more
    old, new = (json.loads(tokenizer.to_str()) for tokenizer in (base, after))
    merges, made = old["model"].pop("merges"), new["model"].pop("merges")
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    places = [ranks[tuple(pair)] for pair in made if tuple(pair) in ranks]
    assert places == sorted(places) and [tuple(pair) in ranks for pair in made[: len(places)]] == [True] * len(places)
    for part in (old, new):
        del part["model"]["vocab"], part["post_processor"]
        part["added_tokens"] = [{**token, "id": None} for token in part["added_tokens"]]
    assert old == new


@pytest.mark.parametrize(("kind", "operation"), [*MATRIX[:4], *(pair for pair in MATRIX[4:] if pair[1] == "both")])
def test_transformers_reads_what_is_saved_and_files_follow(kind, operation, tmp_path):
    base = every_split() if kind == "tiktoken" else BASES[kind]()
    added = {number: token.content for number, token in base.get_added_tokens_decoder().items()}
    decoder = {str(number): {"content": content, "special": True} for number, content in added.items()}
    source = save(base, tmp_path / "base", eos_token=min(added.values()), added_tokens_decoder=decoder)
    for name in ("chat_template.jinja", "merges.txt"):
        (source / name).write_text("{{ messages }}", encoding="utf-8")
    _, ids, write = changed(source, operation)
    assert write(tmp_path / "new", source) == ["merges.txt"] and read_ids(tmp_path / "new" / "ids.json") == ids
    assert (tmp_path / "new" / "chat_template.jinja").read_bytes() == (source / "chat_template.jinja").read_bytes()
    old, new = (AutoTokenizer.from_pretrained(place) for place in (source, tmp_path / "new"))
    assert new.eos_token_id == ids[old.eos_token_id] and set(new.all_special_tokens) == set(old.all_special_tokens)
    config = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["added_tokens_decoder"] == {str(ids[int(number)]): token for number, token in decoder.items()}
    damaged = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    damaged["added_tokens_decoder"] = {"²": {"content": "<x>"}, **decoder}  # a key that is not an id
    (source / "tokenizer_config.json").write_text(json.dumps(damaged), encoding="utf-8")
    write(tmp_path / "again", source)
    again = json.loads((tmp_path / "again" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert again["added_tokens_decoder"] == config["added_tokens_decoder"]
    for text in (*CODE, *russian()):
        around = [ids[number] for number in old("")["input_ids"]]  # the tokens that the template adds
        assert new(text)["input_ids"][: len(around)] == around
        assert new.decode(new(text)["input_ids"], skip_special_tokens=True) == text


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(
            {"pad_token": "<pad>", "additional_special_tokens": None, "extra_special_tokens": None},
            marks=pytest.mark.skipif(transformers.__version__ < "5", reason="transformers 4 cannot load this null"),
        ),
        {"additional_special_tokens": ["<a>", "<b>"], "mask_token": MASK},
        {"pad_token": " talking"},  # only the config makes this token special
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_tokens_that_only_the_config_names_get_the_ids_of_the_class(operation, settings, tmp_path):
    base = save(llama3_like(), tmp_path / "base", eos_token=SPECIAL[1], **settings)
    _, ids, write = changed(base, operation)
    write(tmp_path / "new", base)
    old, new = (AutoTokenizer.from_pretrained(place) for place in (base, tmp_path / "new"))
    assert len(ids) == len(old) and set(old.all_special_tokens) == set(new.all_special_tokens)
    assert {ids[number] for number in old.all_special_ids} == set(new.all_special_ids)
    assert len(new) == max(Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json")).get_vocab().values()) + 1
