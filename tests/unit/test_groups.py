"""Multilingual tokenizers: words by group in any form and order give the same merges.

Modules: corpus/groups.py, corpus/grouped_counts.py, learn/group_evidence.py, learn/script_lists.py.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import mws_hf
from mws_hf import MwSError, MwSTrainer, WordCounts
from mws_hf.commands.report import evidence_of
from mws_hf.compare.baselines import train
from mws_hf.corpus.counting import count_documents, count_files, count_source
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.learn.settings import Settings
from mws_hf.learn.vocabulary import LearnedVocabulary
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.tokenizer.layout import RECORD_FILE
from mws_hf.tokenizer.opened import open_tokenizer
from tests.examples import examples, thorough
from tests.in_process import mws
from tests.short_text import TEXT

FINNISH = "\n".join(
    " ".join(stem + ending for stem in ("talo", "kala", "katu", "sana", "vesi", "muna", "poika"))
    for ending in ("", "ssa", "sta", "n", "t", "lla", "lta", "ksi", "na", "ni", "si", "ssani", "stani", "llani")
)
ENGLISH = "\n".join(
    " ".join(start + stem + ending for stem in ("walk", "talk", "play", "help", "sign", "turn"))
    for start, ending in product(("", "un", "re"), ("", "s", "ed", "ing", "er", "ers", "able"))
)
TEXTS = {"eng": ENGLISH, "fin": FINNISH, "rus": TEXT}


def quiet(**options: object) -> MwSTrainer:
    return MwSTrainer(show_progress=False, **{"vocab_size": 560, **options})  # type: ignore[arg-type]


def counted(*names: str) -> dict[str, WordCounts]:
    return {name: count_documents([TEXTS[name]]) for name in names or TEXTS}


def spelled(tokenizer: object) -> str:
    return tokenizer.backend_tokenizer.to_str()  # type: ignore[attr-defined, no-any-return]


@pytest.fixture(scope="module")
def mixture() -> str:
    return spelled(quiet().train_from_counts(counted()))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, list[str]]:
    """Write two files per group."""
    names = {}
    for name, text in TEXTS.items():
        lines = text.splitlines(keepends=True)
        names[name] = [str(tmp_path / f"{name}.{k}.txt") for k in range(2)]
        for k, path in enumerate(names[name]):
            Path(path).write_text("".join(lines[k::2]), encoding="utf-8")
    return names


@cache
def _usual():
    """Return the counts of the groups in their usual order, and the merges that are learned from them."""
    expected = {name: count_documents(TEXTS[name].splitlines(keepends=True)) for name in TEXTS}
    return expected, quiet().learn(expected)


@examples(8)
@given(st.permutations(list(TEXTS)), st.booleans(), st.integers(1, 3))
def test_order_of_groups_and_files_and_threads_change_nothing(order, turned, workers):
    parts = {name: TEXTS[name].splitlines(keepends=True) for name in order}
    source = {name: iter(lines[::-1] if turned else lines) for name, lines in parts.items()}
    counts = count_source(source, workers=workers)
    expected, usual = _usual()
    assert counts.groups == expected
    learned = quiet().learn(counts)
    assert (learned.alphabet, learned.merges) == (usual.alphabet, usual.merges)


def test_groups_computed_in_parallel_give_the_same_evidence(monkeypatch):
    monkeypatch.setenv("MWS_NUM_THREADS", "3")
    found = find_evidence(counted())
    monkeypatch.setenv("MWS_NUM_THREADS", "1")
    alone = find_evidence(counted())
    assert found.types == alone.types
    for name in ("probabilities", "weights", "penalties"):
        assert getattr(found, name).tolist() == getattr(alone, name).tolist()


def test_evidence_has_the_counts_of_its_types_and_at_least_one_for_labeled_ones():
    counts = WordCounts.from_mapping({" talo": 4, "Talo": 2, " talossa": 1, " katu": 5}, pattern=DEFAULT_PATTERN)
    labels = tuple(GoldWord(word, ((word,),)) for word in ("katu", "metsä", "kivi", "puu", "järvi"))
    found = find_evidence(counts, Settings(max_types=1, labels=labels))
    assert found.times is not None
    unseen = dict.fromkeys(("metsä", "kivi", "puu", "järvi"), 1)
    assert dict(zip(found.types, found.times.tolist(), strict=True)) == {"talo": 6, "katu": 5, **unseen}


def test_files_texts_counts_and_commands_give_the_same_mixture(files, mixture, tmp_path):
    turned = {name: names[::-1] for name, names in reversed(files.items())}
    assert spelled(quiet().train(turned)) == mixture
    assert spelled(quiet().train({name: [TEXTS[name]] for name in TEXTS})) == mixture
    arguments = [f"{name}={path}" for name, paths in turned.items() for path in paths]
    for command in (
        ["count", *arguments, "-o", tmp_path / "counts.parquet", "-q"],
        ["train", tmp_path / "counts.parquet", "-o", tmp_path / "a", "--vocab-size", 560, "-q"],
        ["train", *arguments, "-o", tmp_path / "b", "--vocab-size", 560, "-q"],
    ):
        done = mws(*command)
        assert done.returncode == 0, done.stderr
    made = [(tmp_path / name / "tokenizer.json").read_text(encoding="utf-8") for name in "ab"]
    assert made[0] == made[1]
    assert json.loads(made[0])["model"] == json.loads(mixture)["model"]
    assert spelled(quiet().train_from_counts(tmp_path / "counts.parquet")) == mixture


def test_saved_groups_come_back_and_add_up(tmp_path):
    both = WordCounts.from_groups(counted("fin", "eng"))
    both.save(tmp_path / "both.parquet")
    WordCounts.from_groups(counted("rus")).save(tmp_path / "one.parquet")
    found = WordCounts.load(tmp_path / "both.parquet")
    assert found == both and found.groups == counted("fin", "eng")
    assert pq.read_schema(tmp_path / "both.parquet").names == ["word", "count", "group"]
    assert found.merge(WordCounts.load(tmp_path / "one.parquet"), both).groups == {
        name: counts if name == "rus" else counts.merge(counts) for name, counts in counted().items()
    }
    counted("fin")["fin"].save(tmp_path / "old.parquet")
    assert pq.read_schema(tmp_path / "old.parquet").names == ["word", "count"]
    assert WordCounts.load(tmp_path / "old.parquet") == counted("fin")["fin"]
    with pytest.raises(MwSError, match="some to none"):
        found.merge(WordCounts.load(tmp_path / "old.parquet"))


def test_the_former_class_of_counts_by_group_still_makes_them_and_says_what_to_use(tmp_path):
    with pytest.warns(DeprecationWarning, match=r"WordCounts\.from_groups"):
        both = mws_hf.GroupedCounts(counted("fin", "eng"))
    assert both == WordCounts.from_groups(counted("eng", "fin"))
    both.save(tmp_path / "both.parquet")
    with pytest.warns(DeprecationWarning, match=r"WordCounts\.load"):
        assert mws_hf.GroupedCounts.load(tmp_path / "both.parquet") == both
    with pytest.warns(DeprecationWarning):
        assert mws_hf.GroupedCounts.of(both) is both


def test_a_group_of_counts_that_name_groups_themselves_is_all_of_them():
    both = WordCounts.from_groups(counted("fin", "eng"))
    whole = WordCounts.from_groups({"latin": both, **counted("rus")})
    assert whole.groups["latin"] == both.union
    assert whole.total == both.total + counted("rus")["rus"].total
    assert list(whole.items()) == [*both.union.items(), *counted("rus")["rus"].items()]
    assert whole.at_least(2).total == sum(count for count in whole.union.counts.tolist() if count > 1)


def test_counts_are_equal_only_if_each_group_is():
    def grouped(**groups):
        return WordCounts.from_groups({n: WordCounts.from_mapping(of, pattern="gpt4") for n, of in groups.items()})

    counts = grouped(a={"x": 3, "y": 2}, b={"z": 1})
    assert counts == grouped(b={"z": 1}, a={"y": 2, "x": 3})
    assert counts != grouped(a={"x": 3}, b={"y": 2, "z": 1})


def test_a_baseline_of_groups_equals_one_of_all_words():
    parts = counted("fin", "eng") | {"twice": counted("fin")["fin"]}
    both = WordCounts.from_groups(parts)
    expected = train("bpe-byte", both.union, 400).source.backend.to_str()
    for counts in (parts, both):
        assert train("bpe-byte", counts, 400).source.backend.to_str() == expected


def test_a_file_whose_groups_were_altered_is_rejected(tmp_path):
    WordCounts.from_groups(counted("fin", "eng")).save(tmp_path / "both.parquet")
    table = pq.read_table(tmp_path / "both.parquet")
    other = pa.array(["fra" if name == "fin" else name for name in table["group"].to_pylist()])
    # "eng", the first group, has no name
    nobody_s = pa.array([None if name == "eng" else name for name in table["group"].to_pylist()])
    for column in (other, nobody_s, table["group"].take(pa.array(np.arange(len(table))[::-1]))):
        pq.write_table(
            table.set_column(2, "group", column).replace_schema_metadata(table.schema.metadata), tmp_path / "x"
        )
        with pytest.raises(MwSError, match="count again"):
            WordCounts.load(tmp_path / "x")


ROWS = [("fin", "talo ja talot"), ("eng", "a house"), ("fin", None), ("eng", "houses, a"), (None, None), ("fin", "\n")]


def write_tables(folder: Path) -> list[Path]:
    table = pa.table({"lang": [row[0] for row in ROWS], "n": [1] * len(ROWS), "text": [row[1] for row in ROWS]})
    pq.write_table(table, folder / "a.parquet")
    with pa.OSFile(str(folder / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    lines = [f"{lang},{json.dumps(text)}" for lang, text in ROWS if text is not None]
    (folder / "a.csv").write_text("\n".join(["lang,text", *lines]).replace("\\n", "\n") + "\n", encoding="utf-8")
    return [folder / "a.parquet", folder / "a.arrow", folder / "a.csv"]


def by_hand() -> dict[str, WordCounts]:
    return {
        name: count_documents([text for lang, text in ROWS if lang == name and text is not None])
        for name in ("eng", "fin")
    }


@pytest.mark.parametrize("cap", [1, 2 << 30])
def test_a_column_of_groups_in_files(tmp_path, cap):
    for path in write_tables(tmp_path):
        assert count_source(path, column="text", group_column="lang", memory_cap=cap).groups == by_hand()


def test_a_column_of_groups_spilled_to_disk_adds_up(tmp_path):
    rows = [(name, f"{name}{k} {k % 977}") for k in range(30_000) for name in ("a", "b")]
    pq.write_table(pa.table({"g": [r[0] for r in rows], "t": [r[1] for r in rows]}), tmp_path / "a.parquet")
    expected = {name: count_documents(text for g, text in rows if g == name) for name in "ab"}
    for workers in (1, 2):
        assert (
            count_source(tmp_path / "a.parquet", column="t", group_column="g", workers=workers, memory_cap=1).groups
            == expected
        )


def test_a_column_of_groups_in_python_objects():
    datasets, pandas = pytest.importorskip("datasets"), pytest.importorskip("pandas")
    records = [{"lang": lang, "text": text} for lang, text in ROWS]
    whole = datasets.Dataset.from_list(records)
    for source in (
        records,
        iter(records),
        whole,
        whole.to_iterable_dataset(),
        datasets.DatasetDict({"a": whole}),
        pandas.DataFrame(records),
        pa.Table.from_pylist(records),
    ):
        assert count_source(source, column="text", group_column="lang").groups == by_hand()


def test_a_column_of_groups_may_be_class_labels():
    datasets = pytest.importorskip("datasets")
    names = ["eng", *sorted({lang for lang, _ in ROWS if lang} - {"eng"})]
    features = datasets.Features({"lang": datasets.ClassLabel(names=names), "text": datasets.Value("string")})
    whole = datasets.Dataset.from_dict({"lang": [name for name, _ in ROWS], "text": [t for _, t in ROWS]}, features)
    assert isinstance(whole[0]["lang"], int)
    for source in (whole, whole.to_iterable_dataset(), {"a": whole}, whole.with_format("numpy")):
        assert count_source(source, column="text", group_column="lang").groups == by_hand()
    with pytest.raises(MwSError, match="column 'lang' contains int, not text"):
        count_source(whole, column="lang")
    unnamed = whole.cast_column("lang", datasets.Value("int64"))
    with pytest.raises(MwSError, match="column 'lang' contains int, not text"):
        count_source(unnamed, column="text", group_column="lang")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "a", "lang": None}], "row 1: its group is missing"),
        ([{"text": "a", "lang": "fin"}, {"text": 3, "lang": "fin"}], "row 2: column 'text' contains int, not text"),
        ([{"text": None, "lang": ""}, {"text": "a", "lang": "f|n"}], r"row 2: 'f\|n' cannot name a group"),
        ([{"text": "a"}], "no column 'lang'"),
        (iter(["a"]), "not a record"),
        ([{"text": "a", "lang": f"g{k}"} for k in range(300)], "more than 256 groups"),
    ],
)
def test_errors_in_a_column_of_groups_are_reported(rows, message):
    with pytest.raises(MwSError, match=message.replace("|", r"\|")):
        count_source(rows, column="text", group_column="lang")


def test_a_column_of_groups_needs_tables(tmp_path):
    (tmp_path / "a.txt").write_text("talo", encoding="utf-8")
    with pytest.raises(MwSError, match="GROUP=FILE|group=FILE"):
        count_source(tmp_path / "a.txt", column="text", group_column="lang")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ({"a|b": ["talo ja"]}, {}, "cannot name a group"),
        ({"": ["talo ja"], "eng": ["a house"]}, {}, "cannot name a group"),
        ({}, {}, "no groups"),
        ({"fin": {"x": ["talo ja"]}}, {}, "contains groups, which is not possible"),
        ({"fin": ["talo ja"], "eng": iter([])}, {}, "no training words of group 'eng'"),
        ({"fin": ["talo ja"], "eng": ["a house"]}, {"weights": {"deu": 2}}, "groups: eng, fin"),
        (["talo ja"], {"weights": {"fin": 2}}, "the text has none"),
        ({"talo": 3}, {}, "train_from_counts"),
    ],
)
def test_bad_groups_are_named(source, options, message):
    with pytest.raises(MwSError, match=message):
        quiet(**options).train(source)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "2", True, 1e9])
def test_bad_weights_are_rejected_before_any_work(weight):
    with pytest.raises(MwSError, match="weight"):
        MwSTrainer(weights={"fin": weight})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fin=missing.txt"], "missing.txt"),
        (["a b=x.txt"], "give ./a b=x.txt"),
        (["fin="], "there is no file after the ="),
        (["fin=a.txt", "b.txt"], "b.txt: belongs to no group"),
        (["fin=a.txt", "--weight", "deu=2"], "groups: fin"),
        (["fin=a.txt", "--weight", "fin"], "write it like ru=2"),
        (["fin=a.txt", "--weight", "fin=0"], "the weight of group 'fin' is 0.0"),
    ],
)
def test_the_command_names_what_is_wrong_with_groups(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("talo ja talot", encoding="utf-8")
    done = mws("train", *arguments, "-o", "out")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and message in done.stderr
    assert not Path("out").exists()


def test_one_named_group_is_learned_as_if_it_had_no_name(mixture):
    alone = counted("rus")["rus"]
    assert spelled(quiet().train_from_counts({"rus": alone})) == spelled(quiet().train_from_counts(alone)) != mixture


def test_a_heavier_group_gets_its_own_merges_sooner():
    def pieces(**options: object) -> tuple[int, int]:
        tokenizer = quiet(vocab_size=None, n_merges=45, composition=0, **options).train_from_counts(
            counted("fin", "eng")
        )
        return tuple(len(tokenizer.tokenize(" " + TEXTS[name].replace("\n", " "))) for name in ("fin", "eng"))

    usual, finnish, english = pieces(), pieces(weights={"fin": 50}), pieces(weights={"eng": 50})
    assert finnish[0] < usual[0] < english[0] and english[1] < usual[1] < finnish[1]


def test_compositions_depend_on_the_size_of_a_text_and_morphs_do_not():
    """With ten times the English text, morphs are the same, and English gets more compositions, as with BPE."""
    counts = counted("fin", "eng")
    totals = {name: each.total for name, each in counts.items()}
    fin, eng = times(counts["fin"], totals["eng"]), times(counts["eng"], totals["fin"])
    usual = quiet(n_merges=140, vocab_size=None).learn({"fin": fin, "eng": eng})
    more, fewer = (quiet(n_merges=140, vocab_size=None).learn({"fin": a, "eng": b})
                   for a, b in ((fin, times(eng, 10)), (times(fin, 10), eng)))  # fmt: skip
    assert usual.merges[: usual.n_morphs] == more.merges[: usual.n_morphs] == fewer.merges[: usual.n_morphs]
    weighted = quiet(n_merges=140, vocab_size=None, weights={"eng": 10}).learn({"fin": fin, "eng": eng})

    def length(learned: LearnedVocabulary) -> int:
        backend = quiet().backend(learned)
        return len(backend.encode(" " + ENGLISH.replace("\n", " ")).ids)

    assert length(more) < length(usual) < length(fewer)
    assert length(weighted) < length(usual)


def test_a_mixture_gives_a_larger_share_to_compositions():
    shares = {}
    for names in (("fin",), ("fin", "eng")):
        learned = quiet(n_merges=60, vocab_size=None).learn(counted(*names))
        shares[len(names)] = learned.n_morphs, learned.n_compositions
    assert shares == {1: (30, 30), 2: (24, 36)}
    learned = quiet(n_merges=60, vocab_size=None, composition=0.5).learn(counted("fin", "eng"))
    assert (learned.n_morphs, learned.n_compositions) == (30, 30)


def test_a_weight_repeats_the_text_of_its_group():
    groups = counted("fin", "eng")
    for weights, expected in (
        ({"fin": 3}, groups["fin"].merge(groups["fin"], groups["fin"], groups["eng"])),
        ({"fin": 0.5}, groups["fin"].merge(groups["eng"], groups["eng"])),
        ({}, groups["fin"].merge(groups["eng"])),
    ):
        assert WordCounts.from_groups(groups).repeated(weights) == expected


def times(counts: WordCounts, factor: int) -> WordCounts:
    return WordCounts.from_mapping({word: factor * n for word, n in counts.items()}, pattern=counts.pattern)


@thorough
def test_words_of_several_scripts_get_evidence_among_words_of_their_script():
    """The probabilities of 1,296 Latin and 2,916 Cyrillic words are those of each list alone, also within a group."""
    latin = {a + b + c for a, b, c in product(_SYLLABLES, _SYLLABLES, ("", "ssa", "lla", "ta"))}
    cyrillic = {a + b + c for a, b, c in product(_STEMS, _STEMS, ("", "ами", "ов", "ой"))}
    lists = [{" " + word: 5 for word in sorted(words)} for words in (latin, cyrillic)]
    lists[1] |= {" 12": 3, ",": 9, " cмесь": 2}  # the first letter of the last word is Latin
    alone = [find_evidence(WordCounts.from_mapping(each, pattern=DEFAULT_PATTERN)) for each in lists]
    for counts in (
        WordCounts.from_mapping(lists[0] | lists[1], pattern=DEFAULT_PATTERN),
        {"mixed": WordCounts.from_mapping(lists[0] | lists[1], pattern=DEFAULT_PATTERN)},
    ):
        together = find_evidence(counts)
        for own, words in zip(alone, lists, strict=True):
            for word in words:
                assert own.word(word) == together.word(word)


_SYLLABLES = tuple(a + b for a, b in product("ptkmsr", "aeo"))
_STEMS = tuple(a + b + c for a, b, c in product("птк", "аео", "мнл"))


def test_a_shared_word_gets_the_mean_by_its_frequency_in_each_group():
    counts = counted("fin", "eng")
    shared = {"fin": (" talking", 1), "eng": (" talking", 3)}
    groups = {
        name: counts[name].merge(WordCounts.from_mapping({word: times}, pattern=DEFAULT_PATTERN))
        for name, (word, times) in shared.items()
    }
    own = {name: find_evidence(each) for name, each in groups.items()}
    totals = {name: sum(c for w, c in each.items() if own[name].word(w) is not None) for name, each in groups.items()}
    times = {name: dict(each.items())[" talking"] / totals[name] for name, each in groups.items()}
    expected = sum(np.array(own[name].word(" talking")) * times[name] for name in own) / sum(times.values())
    np.testing.assert_allclose(find_evidence(groups).word(" talking"), expected, rtol=1e-12)


def test_a_penalty_lies_between_that_of_the_whole_text_and_that_of_its_group():
    """It is in proportion to the square root of the mean count of a type of the group."""
    groups = {"fin": counted("fin")["fin"], "eng": times(counted("eng")["eng"], 9)}
    own = {name: set(find_evidence(counts).types) for name, counts in groups.items()}
    assert not own["fin"] & own["eng"]
    found = find_evidence(groups, Settings(weights={"eng": 2}))
    penalties = dict(zip(found.types, found.penalties, strict=True))
    english, finnish = (penalties[next(iter(own[name]))] for name in ("eng", "fin"))
    means = {name: counts.total / len(own[name]) for name, counts in groups.items()}
    assert english / finnish == pytest.approx(np.sqrt(2 * means["eng"] / means["fin"]))
    assert np.square(found.penalties).mean() == pytest.approx(1)


def test_every_group_has_a_budget_of_its_own():
    counts = counted("fin", "eng")
    small = Settings(max_types=30)
    assert len(find_evidence(counts, small).types) == 60
    assert len(find_evidence(WordCounts.from_groups(counts).union, small).types) == 30


def test_training_metadata_and_card_describe_every_group(files, tmp_path):
    done = mws("train", *(f"{n}={p}" for n, ps in files.items() for p in ps), "-o", tmp_path / "t", "--vocab-size", 560,
               "--weight", "fin=2", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "t" / RECORD_FILE).read_text(encoding="utf-8"))["settings"]
    groups = record["groups"]
    assert groups == json.loads(done.stdout)["groups"] and list(groups) == ["eng", "fin", "rus"]
    assert record["weights"] == {"fin": 2.0} and [g["weight"] for g in groups.values()] == [1, 2, 1]
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "t")
    used = {}
    for name in TEXTS:
        parts = [Path(path).read_text(encoding="utf-8") for path in files[name]]
        text, ids = "\n".join(parts), sum(tokenizer(parts)["input_ids"], [])
        used[name] = set(ids)
        assert groups[name]["words"] == len(text.split())
        assert groups[name]["types"] == len(count_files(files[name]))
        assert groups[name]["bytes_per_token"] == pytest.approx(
            sum(len(part.encode()) for part in parts) / len(ids), abs=1e-4
        )
        in_words = len(ids) - [tokenizer.decode(number) for number in ids].count("\n")
        assert groups[name]["tokens_per_word"] == pytest.approx(in_words / len(text.split()), abs=1e-4)
    own = used["fin"] - used["eng"] - used["rus"]
    assert groups["fin"]["own_vocabulary"] == pytest.approx(len(own) / len(tokenizer), abs=1e-4)
    card = (tmp_path / "t" / "README.md").read_text(encoding="utf-8")
    fin = groups["fin"]
    assert f"| fin | 2 | {fin['types']:,} | {fin['tokens_per_word']:.2f} | {fin['bytes_per_token']:.2f} |" in card
    trainer = quiet(weights={"fin": 2})
    trainer.train(files).save_pretrained(tmp_path / "u")
    assert json.loads((tmp_path / "u" / RECORD_FILE).read_text(encoding="utf-8"))["settings"] == record


def test_the_page_shows_the_evidence_that_a_weighted_mixture_keeps(tmp_path: Path):
    quiet(weights={"fin": 2}).train_from_counts(counted("eng", "fin")).save_pretrained(tmp_path / "model")
    known = evidence_of([open_tokenizer(tmp_path / "model")])
    assert known.values(" talossa") and max(filter(None, known.values(" talossa"))) > 0


def test_weighted_groups_do_not_overflow():
    one = WordCounts.from_mapping({" a": 2**60}, pattern=DEFAULT_PATTERN)
    two = WordCounts.from_mapping({" b": 1}, pattern=DEFAULT_PATTERN)
    with pytest.raises(MwSError, match="more than a 64-bit integer"):
        WordCounts.from_groups({"a": one, "b": two}).weighted({"b": 1000})
