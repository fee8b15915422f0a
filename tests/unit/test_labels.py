"""Labeled words: how they are read, what they change, and that no tokenizer is scored on its labels.

Modules: corpus/labeled_words.py, learn/evidence/labels.py, learn/setting_values.py.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest

from mws_hf import MwSError, MwSTokenizerFast, MwSTrainer, WordCounts
from mws_hf.corpus.labeled_words import read_labels
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.learn.evidence import labels
from mws_hf.learn.evidence.forms import split_graphemes
from mws_hf.learn.evidence.labels import label_targets
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.learn.settings import Settings, read_settings
from mws_hf.learn.words import CodePoints
from mws_hf.scoring import evaluate, read_gold
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.tokenizer.layout import RECORD_FILE
from tests.agglutinative import make_language
from tests.examples import thorough
from tests.in_process import mws

LANGUAGE = make_language()


def gold_lines(words: list[str]) -> str:
    return "".join(f"{word}\t{' '.join(LANGUAGE[word])}\n" for word in words)


@pytest.fixture(scope="module")
def counts() -> WordCounts:
    return WordCounts.from_mapping({" " + word: 1 for word in LANGUAGE}, pattern=DEFAULT_PATTERN)


def quiet(**options: object) -> MwSTrainer:
    return MwSTrainer(n_merges=400, composition=0, show_progress=False, **options)  # type: ignore[arg-type]


def test_alternatives_and_all_kinds_of_sources_mean_the_same(tmp_path: Path):
    file = tmp_path / "labels.tsv"
    file.write_text("cats\tcat s\nunlocks\tun lock s,unlock s\n", encoding="utf-8")
    expected = (GoldWord("cats", (("cat", "s"),)), GoldWord("unlocks", (("un", "lock", "s"), ("unlock", "s"))))
    assert read_labels(file) == read_labels(str(file)) == expected
    assert read_labels({"cats": ["cat", "s"], "unlocks": [["un", "lock", "s"], ["unlock", "s"]]}) == expected
    assert read_labels([("cats", "cat s"), ("unlocks", "un lock s, unlock s")]) == expected
    assert read_labels(expected) == expected
    file.write_text("lock\tunlocks\tV;3\tun|lock|s\n", encoding="utf-8")  # labels have the same formats as gold files
    assert [label.segmentations for label in read_labels(file)] == [(("un", "lock", "s"),)]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("cats\tcat s\ndogs\tdo gz\n", 2, "dogs"),
        ("cats\tcat s\ndogs\tdog s\ncats\tca ts\n", 3, "cats"),
        ("cats\tcat s\ndogs\tdog s,\n", 2, "dogs"),
        ("cats\tcat s\ndogs\n", 2, "no segmentation"),
        ("cats\tcat s\ndogs\tdog s\nDOGS\tDO GS\n", 3, r"'DOGS' is segmented differently in .*:2 as 'dogs'"),
        ("Işıklar\tIşık lar\nevler\tev ler\nışıklar\tışı klar\n", 3, "'ışıklar' .*:1 as 'Işıklar'"),
        ("izmirli\tizmir li\nİZMİRLİ\tİZMİ RLİ\n", 2, "'İZMİRLİ' .*:1 as 'izmirli'"),
    ],
)
def test_a_bad_label_is_rejected_by_line(tmp_path: Path, text: str, line: int, word: str):
    file = tmp_path / "labels.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(MwSError, match=rf"labels\.tsv:{line}: .*{word}"):
        MwSTrainer(labels=file)


@pytest.mark.parametrize(
    "labels",
    [
        {"cats": "cat"},
        {"cats": ["cat", ""]},
        [("cats", "cat s"), ("cats", "ca ts")],
        ["cats"],
        5,
        {"a": [1]},
        "",
        np.array(5),
    ],
)
def test_bad_labels_in_python_are_rejected(labels: object):
    with pytest.raises(MwSError, match="labels"):
        MwSTrainer(labels=labels)  # type: ignore[arg-type]


def test_pairs_by_group_are_rejected_with_the_form_that_is_read():
    pairs = [("word" * k, ("word", "word" * (k - 1))) for k in range(2, 99)]
    with pytest.raises(MwSError, match="of 'fin', or, if this is the name of a group, a dict of its words") as error:
        MwSTrainer(labels={"fin": pairs})
    assert len(str(error.value)) < 300


def test_a_trainer_reads_label_files_once_and_settings_read_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A copy with other values, and a trainer from metadata, work without the file; metadata cannot name a file."""
    file = tmp_path / "labels.tsv"
    file.write_text("cats\tcat s\n", encoding="utf-8")
    trainer = MwSTrainer(labels={"eng": file})
    assert read_settings(Settings, labels={"eng": file}).labels == trainer.labels
    with pytest.raises(MwSError, match="labels.tsv' is a file.*MwSTrainer"):
        Settings(labels=file)
    monkeypatch.chdir(tmp_path)
    record = trainer.record | {"labels": {"labels": "labels.tsv"}}
    with pytest.raises(MwSError, match="do not spell"):  # "labels" is read as a word, not as a group with a file
        MwSTrainer.from_record(record)
    file.unlink()
    assert replace(trainer, vocab_size=300).labels == MwSTrainer.from_record(trainer.record).labels == trainer.labels


def test_labels_that_mark_one_boundary_of_many_are_rejected(tmp_path: Path):
    file = tmp_path / "score.csv"
    file.write_text("wordform,preceding_part,stem,following_part\nunlocks,un,lock,s\n", encoding="utf-8")
    with pytest.raises(MwSError, match="marks only one or two boundaries"):
        read_labels(file)


def test_labels_move_the_evidence_towards_them(counts: WordCounts):
    """Labels of whole words reduce the number of boundaries, and labels of single letters increase it."""
    words = sorted(LANGUAGE)[::48]
    plain = quiet().learn(counts).evidence
    whole = quiet(labels={word: [word] for word in words}).learn(counts).evidence
    letters = quiet(labels={word: list(word) for word in words}).learn(counts).evidence
    assert plain is not None and whole is not None and letters is not None
    share = [float((evidence.probabilities > 0.5).mean()) for evidence in (whole, plain, letters)]
    assert share[0] < 0.7 * share[1] < share[1] < 0.7 * share[2]


@thorough
def test_true_labels_help_on_words_not_labeled(counts: WordCounts):
    words = sorted(LANGUAGE)
    labeled, others = words[::7], [word for i, word in enumerate(words) if i % 7]
    trained = quiet(labels={word: [LANGUAGE[word]] for word in labeled}).learn(counts)
    plain = quiet().learn(counts).evidence
    assert trained.label_fits.get("") is not None and trained.evidence is not None and plain is not None
    assert trained.label_fits.get("").used == trained.label_fits.get("").in_text == len(labeled)

    def likelihood(evidence) -> float:
        total = 0.0
        for word in others:
            cuts = np.cumsum([len(morph) for morph in LANGUAGE[word]])[:-1] - 1
            p = np.clip(evidence.word(" " + word)[1:-1], 1e-3, 1 - 1e-3)
            total += np.log(np.where(np.isin(np.arange(len(p)), cuts), p, 1 - p)).sum()
        return total

    assert likelihood(trained.evidence) > likelihood(plain)
    assert trained.label_fits.get("").f1 > trained.label_fits.get("").f1_without


def test_neither_order_nor_threads_change_the_result(counts: WordCounts, monkeypatch: pytest.MonkeyPatch):
    pairs = [(word, LANGUAGE[word]) for word in sorted(LANGUAGE)[::60]]
    first = quiet(labels=pairs).learn(counts)
    monkeypatch.setenv("MWS_NUM_THREADS", "1")
    assert quiet(labels=pairs[::-1]).learn(counts) == first


def test_words_that_the_text_lacks_are_used_and_counted(counts: WordCounts):
    unseen = {f"zz{word}": ["zz", *LANGUAGE[word]] for word in sorted(LANGUAGE)[:9]}
    fit = quiet(labels={**unseen, "7up": "7 up", "Ы": "Ы"}).learn(counts).label_fits.get("")
    assert fit is not None and (fit.given, fit.used, fit.in_text) == (11, 9, 0)


def test_a_granularity_asked_for_is_kept(counts: WordCounts):
    """It applies to the fit to the labels, before tokens adjust the probabilities (tests/unit/test_token_rates.py)."""
    labels = {word: list(word) for word in sorted(LANGUAGE)[::60]}
    evidence = find_evidence(counts, quiet(labels=labels, granularity=0.1))
    places = len(evidence.probabilities) - len(evidence.code_points)
    assert (evidence.probabilities > 0.5).sum() / places == pytest.approx(0.1, abs=0.002)


def test_labels_are_normalized_as_the_text_is():
    words = {f"go\u0308z{end}": f"go\u0308z {end}" for end in ("e", "ler", "lerde", "den", "ü")}
    for form in ("nfc", "nfd"):
        labels = Settings(normalization=form, labels=words).labels
        assert [label.word for label in labels] == [normalize(form.upper(), word) for word in words]
        assert labels[1].segmentations == ((normalize(form.upper(), "göz"), "ler"),)
        assert Settings(normalization=form, labels={"tur": words}).labels == {"tur": labels}
    assert [label.word for label in Settings(labels=words).labels] == list(words)
    with pytest.raises(MwSError, match="after normalization to nfc: .* 'gözler' is segmented differently"):
        Settings(normalization="nfc", labels=words | {"gözler": "gö zler"})
    with pytest.raises(MwSError, match="begins with a combining character"):  # o and its mark are one character
        Settings(normalization="nfc", labels={"go\u0308z": ["go", "\u0308z"]})


def test_marks_belong_to_their_letters():
    """Labels mark positions between graphemes, alternatives count in part, and letter case is ignored."""
    words = CodePoints.of(["та\u0301л", "ко\u0301р", "вид", "мун", "суп"])
    labels = read_labels(
        {"Та\u0301л": "Та\u0301 л, Та\u0301л", "ко\u0301р": "к о\u0301р", "вид": "вид", "мун": "м у н", "суп": "су п"}
    )
    found = label_targets(words, labels, split_graphemes(words).last)
    expected = [0, 0.5, np.nan, 1, 0, np.nan, 0, 0, np.nan, 1, 1, np.nan, 0, 1, np.nan]
    assert found is not None
    np.testing.assert_equal(found, expected)


def test_the_metadata_contain_the_labels_and_evaluation_leaves_them_out(tmp_path: Path, counts: WordCounts):
    words = sorted(LANGUAGE)
    labeled = {word: [LANGUAGE[word]] for word in words[:40]}
    trainer = quiet(labels=labeled)
    tokenizer = trainer.train_from_counts(counts)
    tokenizer.save_pretrained(tmp_path / "model")
    record = json.loads((tmp_path / "model" / RECORD_FILE).read_text(encoding="utf-8"))["settings"]
    assert MwSTrainer.from_record(record, show_progress=False) == trainer
    assert record["label_fit"]["used"] == 40 and 0 < record["label_fit"]["f1"] <= 1
    file = tmp_path / "gold.tsv"
    file.write_text(gold_lines(words[20:80]), encoding="utf-8")
    report = evaluate([tmp_path / "model"], [file], resamples=10)
    assert (report.golds[0].labeled, len(report.golds[0].words)) == (20, 40)
    assert "20 words left out, because a tokenizer was trained on their labels" in report.to_markdown()
    file.write_text(gold_lines(words[:20]), encoding="utf-8")
    with pytest.raises(MwSError, match="every word was a label"):
        evaluate([tmp_path / "model"], [file], resamples=10)
    assert len(read_gold(file).words) == 20
    MwSTokenizerFast.from_pretrained(tmp_path / "model").save_pretrained(tmp_path / "again")


def test_the_command_prints_and_saves_the_result_of_the_labels(tmp_path: Path, counts: WordCounts):
    words = sorted(LANGUAGE)
    counts.save(tmp_path / "counts.parquet")
    (tmp_path / "labels.tsv").write_text(gold_lines(words[:40]), encoding="utf-8")
    given = ["train", str(tmp_path / "counts.parquet"), "--force", "-o", str(tmp_path / "model"), "--n-merges", "300"]
    done = mws(*given, "--labels", str(tmp_path / "labels.tsv"), "--json")
    assert done.returncode == 0, done.stderr
    assert "labels: 40 of 40 used, 40 of them in the text; boundary F1" in done.stderr
    assert json.loads(done.stdout)["labels"]["used"] == 40
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "from raw text and 40 labeled words" in card and "(cross-validated)" in card
    (tmp_path / "labels.tsv").write_text("cats\tcat\n", encoding="utf-8")
    done = mws(*given, "--labels", str(tmp_path / "labels.tsv"))
    assert done.returncode == 2 and "labels.tsv:1: the morphs" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def mixture(counts: WordCounts) -> dict[str, WordCounts]:
    """Two languages: the words of the second one are those of the first one backwards."""
    other = WordCounts.from_mapping({" " + word[::-1]: 1 for word in LANGUAGE}, pattern=DEFAULT_PATTERN)
    return {"one": counts, "two": other}


@thorough
def test_labels_of_a_group_affect_only_that_group(mixture: dict[str, WordCounts]):
    words = sorted(LANGUAGE)[::12]
    whole = {"one": {word: [word] for word in words}}
    plain, learned = quiet().learn(mixture), quiet(labels=whole).learn(mixture)
    assert plain.evidence is not None and learned.evidence is not None
    assert list(learned.label_fits) == ["one"] and learned.label_fits.get("") is None
    assert learned.label_fits["one"].used == len(words)

    def cuts(evidence, name: str) -> float:
        own = set(mixture[name].words) - set(mixture["two" if name == "one" else "one"].words)
        return sum(sum(p > 0.5 for p in evidence.word(word)) for word in own)

    assert cuts(learned.evidence, "one") < 0.7 * cuts(plain.evidence, "one")
    assert cuts(learned.evidence, "two") == pytest.approx(cuts(plain.evidence, "two"), rel=0.02)


def test_labels_of_a_group_are_only_those_of_its_list(counts: WordCounts):
    """Labels of the only group, with or without its name, give the same as labels of a text without groups."""
    labels = {word: [LANGUAGE[word]] for word in sorted(LANGUAGE)[::100]}
    expected = quiet(labels=labels).learn(counts)
    assert quiet(labels=labels).learn({"one": counts}) == expected
    by_name = quiet(labels={"one": labels}).learn({"one": counts})
    assert by_name == expected and by_name.label_fits == {"one": expected.label_fits.get("")}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            {"cats": "cat s"},
            r"the labels have no group, but the text has 2 \(one, two\); give the group .* such as one=FILE",
        ),
        (
            {"fin": {"cats": "cat s"}},
            r"labels are given for group 'fin', but the text has no such group \(groups: one, two\)",
        ),
        ({"one": {"cats": "cat"}}, "group 'one': labels, entry 1: the morphs 'cat' do not spell 'cats'"),
        ({"o=e": {"cats": "cat s"}}, "'o=e' cannot name a group"),
        ({"one": Path("absent.tsv")}, "group 'one': .*absent.tsv"),
    ],
)
def test_labels_of_an_unknown_group_are_rejected(mixture: dict[str, WordCounts], labels: object, message: str):
    with pytest.raises(MwSError, match=message):
        quiet(labels=labels).learn(mixture)
    with pytest.raises(MwSError, match=r"group 'one', but the text has no such group \(groups: the text has none\)"):
        quiet(labels={"one": {"cats": "cat s"}}).learn(mixture["one"])


def test_an_array_of_words_is_not_labels():
    with pytest.raises(MwSError, match="labels, entry 1: .* is not a pair of a word and its morphs"):
        MwSTrainer(labels=np.array(["unlocks", "relocks"]))


@pytest.mark.parametrize("labels", [{"unlocks": None}, [("unlocks", float("nan"))], [("unlocks", 3)]])
def test_a_word_without_a_segmentation_is_not_a_pair(labels: object):
    with pytest.raises(MwSError, match=r"labels, entry 1: .*unlocks.* is not a pair of a word and its morphs; give"):
        MwSTrainer(labels=labels)


def test_files_and_commands_accept_labels_by_group(tmp_path: Path, mixture: dict[str, WordCounts]):
    """The metadata and the output have the labels by group, and evaluation leaves their words out."""
    words = sorted(LANGUAGE)
    turned = sorted(word[::-1] for word in words[:30])
    for name, counts in mixture.items():
        counts.save(tmp_path / f"{name}.parquet")
        (tmp_path / f"{name}.tsv").write_text(
            gold_lines(words[:40]) if name == "one" else "".join(f"{w}\t{w}\n" for w in turned),
            encoding="utf-8",
        )
    given = ["train", *(f"{name}={tmp_path / name}.parquet" for name in mixture), "-o", str(tmp_path / "model"),
             "--force", "--n-merges", "400", "--composition", "0"]  # fmt: skip
    labels = [part for name in mixture for part in ("--labels", f"{name}={tmp_path / name}.tsv")]
    done = mws(*given, *labels)
    assert done.returncode == 0, done.stderr
    assert "labels of one: 40 of 40 used" in done.stderr and "labels of two: 30 of 30 used" in done.stderr
    assert "because a boundary is probable there (each group has a granularity of its own" in done.stdout
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "from raw text and 70 labeled words" in card and "| labeled words of two | 30 of 30 used" in card
    record = json.loads((tmp_path / "model" / RECORD_FILE).read_text(encoding="utf-8"))["settings"]
    assert {name: fit["used"] for name, fit in record["label_fit"].items()} == {"one": 40, "two": 30}
    trainer = quiet(labels={name: str(tmp_path / f"{name}.tsv") for name in mixture}, vocab_size=None)
    assert MwSTrainer.from_record(record).labels == trainer.labels == replace(trainer).labels
    assert spelled(trainer.train_from_counts(mixture)) == spelled(MwSTokenizerFast.from_pretrained(tmp_path / "model"))
    (tmp_path / "gold.tsv").write_text(gold_lines(words[20:80]), encoding="utf-8")
    report = evaluate([tmp_path / "model"], [tmp_path / "gold.tsv"], resamples=10)
    assert (report.golds[0].labeled, len(report.golds[0].words)) == (20, 40)
    for more, message in (
        (["--labels", str(tmp_path / "one.tsv")], "the labels have no group, but the text has 2"),
        (["--labels", f"fin={tmp_path}/one.tsv"], "labels are given for group 'fin', but the text has no such group"),
        (labels[:2] * 2, "is the second one for group"),
        (["--labels", "a.tsv", "--labels", "b.tsv"], "has no group, but the option is given several times"),
    ):
        done = mws(*given, *more)
        assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def spelled(tokenizer: MwSTokenizerFast) -> str:
    return json.dumps(json.loads(tokenizer.backend_tokenizer.to_str())["model"])


def test_too_few_labels_are_reported_once(tmp_path):
    (tmp_path / "text.txt").write_text("walks walked talks talked walking talking\n" * 9)
    (tmp_path / "labels.tsv").write_text("walks\twalk s\ntalks\ttalk s\n")
    done = mws("train", "text.txt", "--labels", "labels.tsv", "--vocab-size", 300, "--output", "t", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("labels not used: 2 given, but 5 different words of two or more letters are needed") == 1
    assert "2 of 2 used" not in done.stdout + done.stderr
    assert re.search(r"at \d+\.\d % because a boundary is probable there \(--granularity\)", done.stdout)
    plain = mws("train", "text.txt", "--vocab-size", 300, "--output", "plain", cwd=tmp_path)
    files = [(tmp_path / name / "tokenizer.json").read_bytes() for name in ("t", "plain")]
    assert plain.returncode == 0 and files[0] == files[1]


def test_labels_that_are_too_few_change_nothing(counts: WordCounts):
    """Five labels are not enough if some of them cannot be used, or are the same word in two letter cases."""
    absent = {f"{word}zzz": [*LANGUAGE[word], "zzz"] for word in sorted(LANGUAGE)[:4]}
    unusable = {"x": "x", "7up": "7 up", "no-one": "no - one", "ab" * 15: " ".join(["ab"] * 15)}
    again = {word.capitalize(): [parts[0].capitalize(), *parts[1:]] for word, parts in absent.items()}
    plain = quiet().learn(counts)
    for given in (absent, {**absent, **unusable}, {**absent, **again}):
        learned = quiet(labels=given).learn(counts)
        assert learned.merges == plain.merges
        fit = learned.label_fits[""]
        assert (fit.given, fit.used, fit.f1) == (len(given), 0, None)


def test_many_labels_are_fitted_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(labels, "MAX_LABELS", 6)
    pairs = [
        (f"{stem}{end}", f"{stem} {end}") for stem in ("walk", "talk", "balk", "jump") for end in ("s", "ed", "ing")
    ]
    counts = WordCounts.from_mapping({" " + word: 3 for word, _ in pairs}, pattern=DEFAULT_PATTERN)
    trainer = MwSTrainer(n_merges=20, labels=pairs, show_progress=False, composition=0)
    fit = trainer.learn(counts).label_fits.get("")
    assert (fit.given, fit.used) == (12, 6)
