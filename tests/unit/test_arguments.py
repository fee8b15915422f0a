"""Every argument is checked before any work begins, and no mistake is ignored.

Modules: cards/training_figures.py, text/pattern_trial.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tokenizers import AddedToken, Tokenizer

from mws_hf import MwSError, MwSTrainer, WordCounts, encode_corpus
from mws_hf.cards.card import CardFacts, trained_card
from mws_hf.compare import baselines, compare
from mws_hf.corpus.counting import count_documents, count_files, merge_files
from mws_hf.corpus.word_list import count_mapping, lexicon_counts
from mws_hf.surgery.extension import extend
from mws_hf.text.pattern import LLAMA3_PATTERN, compiled
from tests.in_process import mws
from tests.processes import one_line
from tests.short_text import TEXT

NAN = float("nan")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("vocab_size", 1000.5),
        ("vocab_size", NAN),
        ("vocab_size", True),
        ("vocab_size", "1000"),
        ("n_merges", 2.0),
        ("min_count", 1.5),
        ("min_count", "2"),
        ("min_frequency", NAN),
        ("max_token_length", 0),
        ("limit_alphabet", -1),
        ("granularity", 0.0),
        ("granularity", 1),
        ("granularity", NAN),
        ("granularity", "0.1"),
        ("granularity", 0.9),
        ("granularity", 0.31),
        ("granularity", 0.001),
        ("granularity", True),
        ("hidden_boundary_price", -0.5),
        ("hidden_boundary_price", NAN),
        ("composition", True),
        ("composition", "half"),
        ("composition", NAN),
        ("composition", [0.5]),
        ("initial_alphabet", ["ab"]),
        ("initial_alphabet", [1]),
        ("initial_alphabet", ["\ud800"]),
        ("initial_alphabet", 5),
        ("initial_alphabet", b"ab"),
        ("types", "False"),
        ("show_progress", "no"),
        ("special_tokens", {"eos_token": "</s>"}),
        ("special_tokens", "</s>"),
        ("special_tokens", frozenset(["</s>", "<s>"])),
        ("special_tokens", [AddedToken("<sep>", single_word=True)]),
        ("special_tokens", [AddedToken("<sep>", rstrip=True)]),
        ("required", {"дом", "кот"}),
        ("special_tokens", [{"content": "</s>"}]),
        ("special_tokens", [None]),
        ("special_tokens", [5]),
        ("special_tokens", ["<s>", True]),
        ("special_tokens", ["  "]),
        ("special_tokens", ["<\ud800>"]),
        ("normalization", "nfz"),
        ("pattern", "("),
        ("pattern", "(a|a)*b|."),
    ],
)
def test_a_trainer_rejects_a_bad_argument_at_once_and_names_it(argument: str, value: Any):
    with pytest.raises(MwSError) as caught:
        MwSTrainer(**{argument: value})
    assert argument.split("_")[0] in str(caught.value)


@pytest.mark.parametrize("value", ["3", 0, 1.5, None])
def test_a_bad_minimum_of_counts_is_named_before_any_file_is_read(value: Any, tmp_path: Path):
    with pytest.raises(MwSError, match="min_count=.* must be a whole number of at least 1"):
        merge_files([tmp_path / "absent"], tmp_path / "out", min_count=value)
    pytest.importorskip("pyspark")
    from mws_hf.distributed import spark

    with pytest.raises(MwSError, match="min_count=.* must be a whole number of at least 1"):
        spark.count(str(tmp_path / "absent"), min_count=value)


@pytest.mark.parametrize("name", ["required", "keep_apart"])
def test_a_lone_surrogate_in_a_list_is_not_text(name: str):
    with pytest.raises(MwSError, match=f"{name}: element 1: .*lone surrogate .* is not Unicode text"):
        MwSTrainer(**{name: ["ab", "\udc00"]})


@pytest.mark.parametrize(
    ("name", "nearest"), [("size", "vocab_size"), ("specialtokens", "special_tokens"), ("tokens", "required")]
)
def test_a_wrong_name_is_rejected_with_the_nearest(name: str, nearest: str):
    with pytest.raises(MwSError, match=f"no setting '{name}'.*'{nearest}'"):
        MwSTrainer(**{name: 3})
    tokenizer = MwSTrainer(n_merges=2, show_progress=False).train_from_iterator([TEXT])
    with pytest.raises(MwSError, match=f"train_new_from_iterator has no setting '{name}'.*'{nearest}'"):
        tokenizer.train_new_from_iterator([TEXT], 300, **{name: 3})
    with pytest.raises(MwSError, match=f"extend has no setting '{name}'"):
        extend(tokenizer, {"дом": 3}, 5, **{name: 3})
    with pytest.raises(MwSError, match="by name"):
        MwSTrainer(8000)


@pytest.mark.parametrize("length", ["5", -1, 1.5, True, NAN])
def test_a_number_of_texts_is_a_whole_number(length: Any):
    trainer, message = MwSTrainer(n_merges=2, show_progress=False), "length=.* must be a whole number of at least 0"
    tokenizer = trainer.train_from_iterator([TEXT], length=np.int64(1))
    calls = (
        lambda: trainer.train([TEXT], length=length),
        lambda: trainer.train_from_iterator([TEXT], length),
        lambda: tokenizer.train_new_from_iterator([TEXT], 300, length),
    )
    for call in calls:
        with pytest.raises(MwSError, match=message):
            call()


def test_a_size_with_a_letter_is_an_error_everywhere_in_python(tmp_path: Path):
    tokenizer = MwSTrainer(n_merges=2, show_progress=False).train_from_iterator([TEXT])
    doors = [
        lambda: MwSTrainer(vocab_size="1k"),
        lambda: MwSTrainer(n_merges="1k"),
        lambda: tokenizer.train_new_from_iterator([TEXT], "1k"),
        lambda: baselines.train("unigram", {"дом": 3}, "1k"),
        lambda: compare({"дом": 3}, [], ["1k"], tmp_path, text=["дом"]),
    ]
    for door in doors:
        with pytest.raises(MwSError, match="'1k' is not a whole number"):
            door()


@pytest.mark.parametrize(
    ("criterion", "argument", "value"),
    [
        ("classic", "max_merge_len", 4.5),
        ("classic", "max_merge_len", 1 << 20),
        ("classic", "len_norm_factor", NAN),
        ("classic", "len_norm_factor", 2.5),  # more than log_base
        ("classic", "log_base", 1.0),
        ("classic", "log_base", "2"),
        ("classic", "log_base", True),
        ("classic", "max_len_delta", -1),
        ("classic", "max_len_delta", "2"),
        ("classic", "stop_threshold", NAN),
        ("classic", "stop_threshold", "high"),
        ("classic", "stop_threshold", True),
        ("classic", "max_merge_len", 10**309),  # more than a float can have
        ("contextual", "hidden_boundary_price", 10**309),
        ("contextual", "max_types", 0),
        ("contextual", "max_types", 10.5),
        ("contextual", "hidden_boundary_price", 1e17),
        ("contextual", "crossing_penalty", 1e17),
        ("contextual", "crossing_penalty", 1e308),
        ("contextual", "crossing_penalty", 0.0),
        ("contextual", "crossing_penalty", -1.0),
        ("contextual", "crossing_penalty", NAN),
        ("contextual", "crossing_penalty", float("inf")),
        ("published", "criterion", "published"),
    ],
)
def test_settings_of_a_criterion_reject_a_bad_value_and_name_it(criterion: str, argument: str, value: Any):
    with pytest.raises(MwSError, match=argument):
        MwSTrainer(**{"criterion": criterion, argument: value})


@pytest.mark.parametrize(
    ("argument", "limits"), [("crossing_penalty", "greater than 0 and at most"), ("hidden_boundary_price", "from 0 to")]
)
def test_the_largest_penalty_can_be_trained_with_and_a_larger_one_names_it(argument: str, limits: str):
    assert MwSTrainer(n_merges=20, show_progress=False, **{argument: 1000}).train_from_iterator([TEXT]).segment("a")
    with pytest.raises(MwSError, match=f"{argument}=1000.5 must be a number {limits} 1000"):
        MwSTrainer(**{argument: 1000.5})


@pytest.mark.parametrize(
    ("criterion", "arguments"),
    [("classic", {"hidden_boundary_price": 2, "granularity": 0.2, "max_types": 9}), ("contextual", {"log_base": 3.0})],
)
def test_an_argument_of_the_other_criterion_is_an_error_that_names_it(criterion: str, arguments: dict[str, Any]):
    tokenizer = MwSTrainer(n_merges=2, show_progress=False).train_from_iterator([TEXT])
    for argument, value in arguments.items():
        with pytest.raises(MwSError, match=argument):
            MwSTrainer(**{argument: value}, criterion=criterion)
        with pytest.raises(MwSError, match=argument):
            tokenizer.train_new_from_iterator([TEXT], 300, **{argument: value}, criterion=criterion)


@pytest.mark.parametrize("argument", ["pattern", "normalization", "special_tokens"])
def test_retraining_keeps_the_properties_of_the_tokenizer(argument: str):
    tokenizer = MwSTrainer(n_merges=2, show_progress=False).train_from_iterator([TEXT])
    with pytest.raises(MwSError, match=argument):
        tokenizer.train_new_from_iterator([TEXT], 300, **{argument: "nfc"})


def test_a_trainer_cannot_be_changed():
    trainer = MwSTrainer()
    with pytest.raises(AttributeError):
        trainer.pattern = "a"  # type: ignore[misc]


@pytest.mark.parametrize(("alphabet", "special"), [("characters", "ч"), ("bytes", "~")])
def test_a_special_token_that_is_a_character_or_byte_is_rejected_before_learning(alphabet: str, special: str):
    trainer = MwSTrainer(vocab_size=400, alphabet=alphabet, special_tokens=[special], show_progress=False)
    with pytest.raises(MwSError, match=f"'{special}'.*also an ordinary token"):
        trainer.learn(count_documents([TEXT]))


@pytest.mark.parametrize("given", ["NFC", "Nfc", "nfc"])
def test_normalization_is_known_in_any_case(given: str):
    text = "и\u0306од и\u0306одный"
    trainer = MwSTrainer(vocab_size=300, normalization=given, show_progress=False)
    tokenizer = trainer.train_from_counts(count_documents([text], normalization=given))
    assert tokenizer.backend_tokenizer.normalizer.normalize_str("и\u0306") == "й"
    assert tokenizer.backend_tokenizer.to_str() == (
        MwSTrainer(vocab_size=300, normalization="nfc", show_progress=False)
        .train_from_iterator([text])
        .backend_tokenizer.to_str()
    )


@pytest.mark.parametrize("workers", ["2", 1.5, True, 0, -1])
def test_threads_are_a_number_of_at_least_one(workers: Any, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    tokenizer = MwSTrainer(n_merges=5, show_progress=False).train_from_iterator([TEXT])
    for use in (
        lambda: count_files(tmp_path / "text.txt", workers=workers),
        lambda: count_documents([TEXT], workers=workers),
        lambda: MwSTrainer(n_merges=2, show_progress=False).train([TEXT], workers=workers),
        lambda: encode_corpus(tokenizer, tmp_path / "text.txt", tmp_path / "ids", workers=workers),
    ):
        with pytest.raises(MwSError, match="workers="):
            use()
    assert not (tmp_path / "ids").exists()
    for memory_cap in ("1G", 0, True, 1.5):
        with pytest.raises(MwSError, match=f"memory_cap={memory_cap!r} must be a whole number of at least 1"):
            count_files(tmp_path / "text.txt", memory_cap=memory_cap)
    for shard_size in ("64M", 0, 1e6):
        with pytest.raises(MwSError, match=f"shard_size={shard_size!r} must be a whole number of at least 1"):
            encode_corpus(tokenizer, tmp_path / "text.txt", tmp_path / "ids", shard_size=shard_size)


MIXTURE = WordCounts.from_groups({name: count_documents([name]) for name in ("one", "two")})
WRONG_ARGUMENTS = {
    "a special token that is no list": (count_documents, ["</s>"], {"special_tokens": "</s>"}, "tokens: .*list"),
    "an empty special token": (count_documents, ["a"], {"special_tokens": ["</s>", ""]}, "special_tokens: the empty"),
    "special tokens of another type": (count_documents, ["a"], {"special_tokens": ["</s>", 3]}, "element 1 is int"),
    "no pattern": (count_documents, ["a"], {"pattern": None}, "pattern=None is not a string"),
    "a list of patterns": (count_documents, ["a"], {"pattern": ["gpt4"]}, r"pattern=\['gpt4'\] is not a string"),
    "no files of counts": (merge_files, [], {"output": "sum.parquet"}, "no files of counts"),
    "words that are no dict": (count_mapping, ["a"], {}, "list is not counts of words"),
    "counts that are no dict": (WordCounts.from_mapping, ["a"], {"pattern": "gpt4"}, "list is not a dict"),
    "words that are no array": (WordCounts.from_arrays, ["a"], {"counts": [1], "pattern": "gpt4"}, "array of 1 string"),
    "a word without a count": (
        WordCounts.from_arrays, pa.array(["a", "b"]), {"counts": [1], "pattern": "gpt4"}, "array of 1 string"
    ),
    "counts that are no integers": (
        WordCounts.from_arrays, pa.array(["a"]), {"counts": [1.9], "pattern": "gpt4"}, "an integer below 2.63"
    ),
    "a weight of zero": (MIXTURE.weighted, {"one": 0}, {}, "weight of group 'one' is 0;"),
    "a weight that is text": (MIXTURE.repeated, {"two": "3"}, {}, "weight of group 'two' is '3';"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_a_wrong_argument_of_counting_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    use, given, options, message = WRONG_ARGUMENTS[name]
    with pytest.raises(MwSError, match=message):
        use(given, **options)
    assert not list(tmp_path.iterdir())


def test_a_dropout_that_is_not_a_number_is_rejected(tmp_path):
    tokenizer = MwSTrainer(n_merges=5, show_progress=False).train_from_iterator([TEXT])
    with pytest.raises(MwSError, match="dropout='0.1' is not a probability"):
        encode_corpus(tokenizer, iter([TEXT]), tmp_path / "ids", dropout="0.1")


def test_a_library_that_is_installed_but_broken_is_named_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "pymorphy3_dicts_uk.py").write_text("import no_such_dependency", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "pymorphy3_dicts_uk", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MwSError, match="pymorphy3_dicts_uk, which is installed but cannot be imported .*no_such_dep"):
        lexicon_counts("uk")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["train", "CORPUS", "--output", "CORPUS/below"], "CORPUS"),
        (["train", "CORPUS", "--output", "/proc/nowhere"], "/proc"),
        (["train", "CORPUS", "--hidden-boundary-price", "nan", "--output", "OUT"], "--hidden-boundary-price nan"),
        (
            ["train", "CORPUS", "--criterion", "classic", "--hidden-boundary-price", ".3", "--output", "OUT"],
            "--hidden-boundary-price 0.3 belongs to",
        ),
        (["train", "absent.txt", "--lexicon", "ru", "--output", "OUT"], "absent.txt"),
        (["train", "CORPUS", "--lexicon", "xx", "--output", "OUT"], "'xx'"),
        (["train", "CORPUS", "--errors", "ignor", "--output", "OUT"], "ignor"),
        (["train", "absent.txt", "--output", "OUT"], "absent.txt"),
        (["train", "--output", "OUT"], "no training words"),
        (["train", "EMPTY", "--output", "OUT"], "word"),
        (["train", "CORPUS", "--criterion", "magic", "--output", "OUT"], "magic"),
        (["train", "CORPUS", "--special-token", "<s>", "--special-token", "<s>", "--output", "OUT"], "<s>"),
        (["train", "CORPUS", "--output", "CORPUS"], "CORPUS"),
        (["segment", "absent", "слово"], "absent"),
        (["count", "CORPUS", "--pattern", "(", "--output", "OUT"], "pattern"),
        (["count", "CORPUS", "--output", "FOLDER"], "is a folder"),
        (["count", "CORPUS", "--output", "CORPUS/below"], "CORPUS"),
        (["encode", "absent", "CORPUS", "--output", "OUT"], "absent"),
        (["encode", "absent", "CORPUS", "--output", "CORPUS"], "would be overwritten"),
        (["train", "--lexicon", "ru", "--output", "CORPUS"], "is a file"),
        (["evaluate", "absent", "--text", "CORPUS"], "absent"),
        (["evaluate", "FOLDER"], "--gold"),
        (["explain", "слово", "--from", "CORPUS", "--plot", "x.xyz"], ".png, .svg or .pdf"),
        (["explain", "слово", "--model", "FOLDER", "--plot", "x.png"], "has no tokenizer.json"),
        (["explain", "слово", "--model", "absent"], "absent"),
    ],
)
def test_commands_reject_arguments_before_any_work(arguments: list[str], says: str, tmp_path: Path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(TEXT, encoding="utf-8")
    (tmp_path / "empty.txt").touch()
    before = sorted(tmp_path.iterdir())
    names = {"CORPUS": corpus, "OUT": tmp_path / "out", "FOLDER": tmp_path, "EMPTY": tmp_path / "empty.txt"}
    names = {name: str(path) for name, path in names.items()}
    done = mws(*[a.replace("CORPUS", names["CORPUS"]) if "CORPUS" in a else names.get(a, a) for a in arguments])
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert says.replace("CORPUS", names["CORPUS"]) in done.stderr and "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_plot_without_matplotlib_is_rejected_before_counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "t.txt").write_text(TEXT, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = mws("explain", "читал", "--from", tmp_path / "t.txt", "--plot", tmp_path / "x.png")
    assert one_line(done) and "pip install matplotlib" in done.stderr


@pytest.mark.parametrize(
    "special",
    [["<|endoftext|>", "<|pad|>"], [], ["<s>", "</s>", "<unk>"], ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "<|user|>"]],
)
def test_files_saved_without_transformers_equal_those_of_transformers(special: list[str], tmp_path: Path):
    trainer = MwSTrainer(n_merges=30, special_tokens=special, show_progress=False)
    counts = count_documents([TEXT])
    trainer.trained(counts).save(tmp_path / "ours")
    trainer.train_from_counts(counts).save_pretrained(tmp_path / "theirs")
    ours, theirs = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("ours", "theirs"))
    assert b"# theirs" in theirs.pop("README.md")
    theirs.pop("special_tokens_map.json", None)  # only transformers 4 writes this file
    assert ours == theirs


def test_a_wrong_keyword_is_rejected_in_the_name_of_the_method_that_was_called():
    trainer = MwSTrainer(show_progress=False)
    with pytest.raises(
        MwSError, match=r"MwSTrainer\.train has no option text_field; its options are column, group_column, encoding"
    ):
        trainer.train(["читать читал"], text_field="text")
    with pytest.raises(MwSError, match=r"train_from_iterator has no option vocab_size; its options are column, length"):
        trainer.train_from_iterator(iter(["читать читал"]), vocab_size=300)


LETTERS = str.maketrans("0123456789", "абвгдежзик")
READING = "читать читали читал писать писали писал\n" * 40


@pytest.fixture
def counted(tmp_path):
    text, counts = tmp_path / "text.txt", tmp_path / "llama3.parquet"
    text.write_text(READING, encoding="utf-8")
    assert mws("count", text, "--pattern", "llama3", "--output", counts).returncode == 0
    return counts


def test_saved_counts_and_another_pattern_or_normalization_are_rejected(counted, tmp_path):
    out = tmp_path / "out"
    for command in ("train", "count"):
        for options in (["--pattern", "words"], ["--normalization", "nfc"]):
            refused = mws(command, counted, *options, "--output", out)
            assert one_line(refused) and str(counted) in refused.stderr and options[0] in refused.stderr
            assert not out.exists()
    assert "llama3" in mws("train", counted, "--pattern", "gpt4", "--output", out).stderr
    assert mws("train", counted, "--pattern", "llama3", "--vocab-size", 300, "--output", out).returncode == 0
    state = Tokenizer.from_file(str(out / "tokenizer.json")).pre_tokenizer.__getstate__().decode()
    assert LLAMA3_PATTERN.split("|")[0].replace("\\", "\\\\") in state


@pytest.mark.parametrize("name", ["lama3", "Llama3", "gpt-4", "word"])
def test_a_misspelled_pattern_name_is_not_a_pattern(name, tmp_path):
    with pytest.raises(MwSError, match="is unknown; choose words, gpt4, llama3, o200k"):
        MwSTrainer(pattern=name)
    assert compiled("[a-z]+|.") and compiled(r"\w+|\W+") and compiled(".")


TOO_MUCH = [
    (r"(?:\d+,?)+;|\s|\S", "run of '1'"),
    (r"(?:\p{Han}+\p{M}*)+x|\s|\S", "run of '中'"),
    (r"(?:\p{Georgian}+\p{M}?)+x|\s|\S", "run of 'Ⴀ'"),
    (r"(?:[ɐ-ʯ]{1,2})+;|\s|\S", "run of 'ɐ'"),
    (r"(?P<word>a+)|.", "compile"),
]
"""Patterns that `regex` runs and `tokenizers` does not, and what is said of them."""


@pytest.mark.parametrize(("pattern", "said"), TOO_MUCH)
def test_a_pattern_too_much_for_tokenizers_is_rejected_before_training(pattern, said, tmp_path, capfd):
    with pytest.raises(MwSError, match=f"tokenizers .*{said}.*write"):
        MwSTrainer(pattern=pattern)
    (tmp_path / "text.txt").write_text(READING, encoding="utf-8")
    refused = mws("train", tmp_path / "text.txt", "--pattern", pattern, "--output", tmp_path / "out")
    assert one_line(refused) and said in refused.stderr and not (tmp_path / "out").exists()
    assert "panicked" not in "".join(capfd.readouterr())
    assert MwSTrainer(pattern=r"\d+(?:,\d+)*|\s|\S").pattern  # the pattern that the message proposes


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are no text")
def test_arguments_that_are_not_text_are_rejected_unless_they_name_files(tmp_path):
    name = os.fsdecode(b"kirj\xe4.txt")
    (tmp_path / "text.txt").write_text(READING, encoding="utf-8")
    for arguments in (
        ("train", tmp_path / "text.txt", "--output", tmp_path / name),
        ("count", tmp_path / "text.txt", "--output", tmp_path / name),
        ("explain", name, "--model", tmp_path),
    ):
        refused = mws(*arguments)
        assert one_line(refused) and "not valid text" in refused.stderr
    (tmp_path / name).write_text(READING, encoding="utf-8")
    done = mws("train", tmp_path / name, "--vocab-size", 300, "--output", tmp_path / "out")
    assert done.returncode == 0 and "kirj\\udce4" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_a_card_does_not_mention_morphemes_if_none_were_learned_and_keeps_its_tables():
    trainer = MwSTrainer(vocab_size=300, composition=1, show_progress=False)
    trained = trainer.trained(count_documents([READING]))
    facts = CardFacts(data="a | b", command="mws train 'a|b'")
    card = trained_card("x", trained.backend, facts, trained.training.settings).to_markdown()
    assert "join frequent neighbors" in card and "follow morpheme" not in card
    assert "| trained on | a \\| b |" in card and "'a\\|b'" in card


def test_the_granularity_that_is_reported_is_the_one_that_was_used():
    labels = {
        "читать": "чит а ть",
        "писать": "пис а ть",
        "читали": "чит а л и",
        "писали": "пис а л и",
        "писал": "пис а л",
    }
    labels |= {"читал": "чит а л"}
    trainer = MwSTrainer(vocab_size=320, granularity=0.15, labels=labels, show_progress=False)
    fit = trainer.learn(count_documents([READING])).label_fits[""]
    assert fit.granularity == 0.15 and "granularity 0.150" in fit.describe()


def test_an_empty_output_does_not_write_into_the_current_folder(tmp_path):
    (tmp_path / "text.txt").write_text(READING, encoding="utf-8")
    for output in (["-o", ""], ["--output="]):
        refused = mws("train", "text.txt", *output, cwd=tmp_path)
        assert one_line(refused) and "--output is empty" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_an_empty_argument_is_an_error_that_names_the_option(tmp_path):
    for option in (["--gold", ""], ["--gold="], ["--text", ""]):
        refused = mws("evaluate", "mws-en-32k", *option)
        assert one_line(refused) and f"{option[0].removesuffix('=')} is empty" in refused.stderr
    for arguments in (["count", "", "-o", "counts.parquet"], ["segment", "", "word"], ["check", ""]):
        refused = mws(*arguments, cwd=tmp_path)
        assert one_line(refused) and "an argument is empty" in refused.stderr
    assert mws("segment", "mws-en-32k", "", "--", "--gold=").returncode == 0  # a word may be empty


def test_morphs_only_are_proposed_for_a_list_of_words_that_all_occur_once(tmp_path):
    words = tmp_path / "words.tsv"
    words.write_text("".join(f"слово{i:04}ами".translate(LETTERS) + "\t1\n" for i in range(2000)), encoding="utf-8")
    for options, told in ([], True), (["--composition", "0"], False):
        done = mws("train", "--word-list", words, *options, "--vocab-size", 500, "-o", tmp_path / "out", "--force")
        assert done.returncode == 0 and ("--composition 0" in done.stderr) == told


def test_a_corpus_that_gives_fewer_tokens_than_asked_for_is_reported(tmp_path, caplog):
    base = MwSTrainer(vocab_size=300, show_progress=False).train_from_iterator([READING])
    assert len(extend(base, {" читательница": 9}, 500).ids) < 500
    assert "of 500 tokens" in caplog.text


def test_a_folder_given_as_a_file_and_missing_labels_are_reported_as_such(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(READING, encoding="utf-8")
    refused = mws("evaluate", tmp_path, "--text", tmp_path)
    assert one_line(refused) and f"{tmp_path}: is a folder" in refused.stderr
    refused = mws("train", text, "--labels", tmp_path / "none.tsv", "--output", tmp_path / "out")
    assert one_line(refused) and "none.tsv: no such file" in refused.stderr and "Errno" not in refused.stderr


@pytest.mark.parametrize("name", ["required", "keep_apart", "weights", "pattern"])
@pytest.mark.parametrize("value", [5, 0.5, object(), [["a"]]])
def test_a_setting_of_another_type_is_named(name, value):
    with pytest.raises(MwSError, match=name):
        MwSTrainer(**{name: value})
