"""MwSTrainer: known answers, sizes, warnings, errors, determinism, saved metadata.

Modules: learn/setting_rules.py, learn/vocabulary.py, tokenizer/training_record.py, trainer.py.
"""

from __future__ import annotations

import inspect
import json
import logging
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pymorphy3
import pytest
from tokenizers import Tokenizer

from mws_hf import MwSError, MwSTokenizerFast, MwSTrainer, WordCounts
from mws_hf.check import check
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.word_list import count_mapping
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.learn.setting_rules import FLAG, Range
from mws_hf.learn.settings import SETTINGS, Settings
from mws_hf.learn.vocabulary import choose_alphabet, learn
from mws_hf.learn.words import CodePoints
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, WORD_PATTERN, with_digits
from mws_hf.text.symbols import EVERYDAY, NAMED_ALPHABETS
from mws_hf.tokenizer.merging import merge, ranked
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from mws_hf.tokenizer.training_record import read_record
from tests.in_process import mws
from tests.paths import DATA
from tests.short_text import TEXT
from tests.small_corpus import small_counts

FORMS = (DATA / "russian_forms.txt").read_text(encoding="utf-8").split()
KNOWN = json.loads((DATA / "known_answers_classic.json").read_text(encoding="utf-8"))


def quiet(**options: object) -> MwSTrainer:
    return MwSTrainer(show_progress=False, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def notebook_tokenizer() -> MwSTokenizerFast:
    analyzer = pymorphy3.MorphAnalyzer()
    lexemes = [analyzer.parse(lemma)[0].lexeme for lemma in KNOWN["lemmas"]]
    text = " ".join(dict.fromkeys(form.word.lower() for lexeme in lexemes for form in lexeme))
    first = KNOWN["first_pre_tokens"][0]
    forms = text.split(" ")
    forms.remove(first)
    trainer = quiet(criterion="classic", n_merges=116, special_tokens=["[EOS]"])
    return trainer.train_from_iterator([" ".join([first, *forms])])


def test_the_notebook_run_is_reproduced(notebook_tokenizer: MwSTokenizerFast):
    merges = json.loads(notebook_tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    assert len(merges) == 117
    assert merges[:80] == KNOWN["first_80_merges"]
    for word, pieces in KNOWN["segmentations"].items():
        assert notebook_tokenizer.tokenize(word if word.startswith(" ") else " " + word) == pieces
    assert notebook_tokenizer.tokenize("".join(KNOWN["first_pre_tokens"]))[:151] == KNOWN["segmentation_prefix"]


@pytest.mark.parametrize("criterion", ["classic", "contextual"])
def test_same_input_same_tokenizer_whatever_the_order(criterion: str):
    lines = TEXT.splitlines()
    tables = {
        quiet(criterion=criterion, vocab_size=420).train_from_iterator(order).backend_tokenizer.to_str()
        for order in (lines, lines[::-1])
    }
    assert len(tables) == 1


def test_layout_special_bytes_alphabet_merges():
    special = ["</s>", "<pad>", "<|user|>"]
    tokenizer = quiet(vocab_size=400, special_tokens=special).train_from_iterator([TEXT])
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3, 258]) == [*special, "Ā", "ÿ"]
    trainer = quiet(vocab_size=400, alphabet="characters", special_tokens=special)
    of_characters = trainer.train_from_iterator([TEXT])
    assert of_characters.convert_ids_to_tokens([0, 1, 2, 3, 258]) == [*special, "<0x00>", "<0xFF>"]
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("</s>", "<pad>")
    assert tokenizer.tokenize("слово<|user|>")[-1] == "<|user|>"


def test_running_out_of_merges_is_reported_with_the_numbers(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        tokenizer = quiet(criterion="classic", vocab_size=5000).train_from_iterator(["слово слова словом"])
    assert f"{len(tokenizer):,} tokens instead of 5,000" in caplog.text
    assert "fill" not in caplog.text  # each word occurs once, so no word is frequent
    with caplog.at_level(logging.WARNING):
        quiet(composition=0).train_from_iterator([TEXT, TEXT])
    assert "instead of 32,000" in caplog.text and "fill" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):  # a list of one word per line, in which only the line end is frequent
        quiet(composition=0).train_from_iterator(
            ["\n".join(f"{a}{b}{c}" for a in "абвгд" for b in "ежз" for c in "иклм")]
        )
    assert "instead of 32,000" in caplog.text and "fill" not in caplog.text


def test_a_vocabulary_below_bytes_and_special_tokens_is_rejected():
    with pytest.raises(MwSError, match="vocab_size=259 .*256 bytes and the special tokens take 260"):
        quiet(vocab_size=259, special_tokens=list("①②③④"))
    tokenizer = quiet(n_merges=2).train_from_iterator([TEXT])
    with pytest.raises(MwSError, match="vocab_size=0"):
        tokenizer.train_new_from_iterator([TEXT], 0)


@pytest.mark.parametrize("empty", [[], [""], iter(())])
def test_an_empty_corpus_is_an_error(empty: object):
    with pytest.raises(MwSError, match="word"):
        quiet(vocab_size=500).train_from_iterator(empty)  # type: ignore[arg-type]


def test_counts_of_another_pattern_are_rejected():
    counts = WordCounts.from_mapping({" слово": 1}, pattern=GPT4_PATTERN)
    with pytest.raises(MwSError, match="pattern"):
        quiet(vocab_size=500).train_from_counts(counts)


def test_limit_alphabet_sends_rare_characters_to_bytes():
    trainer = quiet(vocab_size=400, alphabet="characters", limit_alphabet=20, initial_alphabet="ъ")
    tokenizer = trainer.train_from_iterator([TEXT + " ☃"])
    assert "ъ" in tokenizer.get_vocab() and "☃" not in tokenizer.get_vocab()
    assert tokenizer.decode(tokenizer(" ☃")["input_ids"]) == " ☃"


def test_of_equally_frequent_characters_the_lowest_code_points_are_kept():
    assert choose_alphabet(CodePoints.of(["dbac", "d"]), np.array([1, 1]), "", 3) == ["a", "b", "d"]


@pytest.mark.parametrize("alphabet", ["characters", "bytes"])
def test_a_byte_order_mark_is_one_token_of_characters(alphabet):
    """Before, it was three byte tokens, which decoders in JavaScript drop; byte-level decoders keep it."""
    tokenizer = quiet(vocab_size=500, alphabet=alphabet, limit_alphabet=20).train([TEXT])
    assert ("\ufeff" in tokenizer.get_vocab()) == (alphabet == "characters")
    assert tokenizer.decode(tokenizer("\ufeffчит")["input_ids"]) == "\ufeffчит"
    assert len(tokenizer) <= 500


def test_composition_zero_learns_morphs_only_and_one_learns_none():
    for share in (0, 1):
        learned = quiet(vocab_size=500, composition=share).learn(count_documents([TEXT]))
        assert (learned.n_compositions == 0) == (share == 0)
        assert (learned.n_morphs == 0) == (share == 1)
        assert (learned.evidence is None) == (share == 1)


@pytest.mark.parametrize("settings", [{"composition": 0}, {"types": False}, {"composition": 1}, {"vocab_size": 260}])
def test_evidence_computed_before_changes_nothing(settings: dict[str, Any]):
    counts, asked = small_counts(), Settings(**{"vocab_size": 400, **settings})
    evidence = find_evidence(counts)
    given, alone = learn(counts, asked, evidence=evidence), learn(counts, asked)
    assert given == alone
    assert (given.evidence is None) == (alone.evidence is None)
    assert given.evidence in (None, evidence)


@pytest.mark.parametrize("settings", [{"criterion": "classic"}, {"max_types": 9}, {"labels": {"дома": "дом а"}}])
def test_evidence_of_other_settings_is_rejected(settings: dict[str, Any]):
    with pytest.raises(MwSError, match="evidence"):
        learn(small_counts(), Settings(**settings), evidence=find_evidence(small_counts()))


FREE: dict[str, Any] = {
    "capitals": "marker",
    "vocab_size": 300, "alphabet": {"contextual": "characters", "classic": "bytes"}, "special_tokens": ["<s>"],
    "initial_alphabet": "ж", "required": ["чита"], "keep_apart": ["'"], "weights": {"ru": 2.0}, "stop_threshold": 0.5,
    "labels": {"читала": "чит ал а"}, "pattern": "llama3", "digits": "right", "normalization": "nfc",
}  # fmt: skip
"""A value of each setting that is neither a number of a range nor a flag."""


def another(name: str, criterion: str) -> Any:
    """Return a value of a setting that is not its default."""
    default, takes = getattr(MwSTrainer(criterion=criterion), name), SETTINGS[name].takes
    if name in FREE:
        return FREE[name][criterion] if name == "alphabet" else FREE[name]
    if takes == FLAG:
        return not default
    assert isinstance(takes, Range), f"{name}: give a value in FREE"
    fits = (each for each in (1, 3, 0.2) if takes.least + takes.above <= each <= takes.most and each != default)
    return next(each for each in fits if isinstance(each, int) or not takes.whole)


def test_metadata_of_an_older_version_keep_the_required_strings():
    record = MwSTrainer(vocab_size=400, required=["мама", "раму"]).record
    record["tokens"] = record.pop("required")
    assert MwSTrainer.from_record(record) == MwSTrainer(vocab_size=400, required=["мама", "раму"])


@pytest.mark.parametrize("taker", [MwSTrainer, Settings])
def test_the_signature_shows_plain_types_and_defaults(taker: Any):
    """An editor shows names, types and defaults in a few lines; the docstring describes each setting."""
    parameters = inspect.signature(taker).parameters
    assert {*SETTINGS} <= {*parameters} and len(str(inspect.signature(taker))) < 1_200
    assert str(parameters["vocab_size"]) == "vocab_size: 'int | None' = None"
    assert all(f"{name}: {each.about}" in (MwSTrainer.__doc__ or "") for name, each in SETTINGS.items())


@pytest.mark.parametrize("criterion", ["contextual", "classic"])
def test_every_setting_is_recorded_or_gives_a_reason(criterion: str):
    for name in (each for each in SETTINGS if each != "criterion" and SETTINGS[each].criterion in ("", criterion)):
        value = another(name, criterion)
        trainer = MwSTrainer(**{"criterion": criterion, name: value})
        again = MwSTrainer.from_record(json.loads(json.dumps(trainer.record)))
        if why := SETTINGS[name].unrecorded:
            assert name not in trainer.record and why in (MwSTrainer.__doc__ or "")
            again = MwSTrainer.from_record(trainer.record, **{name: value})
        assert again == trainer and trainer.record != MwSTrainer(criterion=criterion).record or name == "show_progress"


def test_a_trainer_from_metadata_makes_the_same_tokenizer():
    trainer = quiet(n_merges=40, composition=0.3, granularity=0.2, special_tokens=["<s>"], initial_alphabet="ж")
    tokenizer = trainer.train_from_iterator([TEXT])
    again = MwSTrainer.from_record(tokenizer.training.settings, show_progress=False).train_from_iterator([TEXT])
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()


def test_the_share_of_split_positions_is_that_of_the_tokenizer():
    """Without compositions each form is split by the morph merges; lowercase words have no variant."""
    forms = sorted({form for form in FORMS if form.isalpha() and form.islower()})
    counts = WordCounts.from_mapping({" " + form: 1 for form in forms}, pattern=DEFAULT_PATTERN)
    trainer = quiet(vocab_size=500, composition=0)
    learned = trainer.learn(counts)
    cuts = sum(len(cut) - 1 for cut in segment_words(trainer.backend(learned), forms))
    assert learned.places_cut == pytest.approx(cuts / sum(len(form) - 1 for form in forms), abs=1e-9)
    assert learned.record["places_cut"] == round(learned.places_cut, 4)
    assert quiet(criterion="classic", n_merges=5, pattern=DEFAULT_PATTERN).learn(counts).places_cut is None


def test_finer_granularity_splits_more():
    """Each step splits at more positions, and evidence is above one half at about the requested share."""
    counts, tokens = WordCounts.from_mapping({" " + w: 1 for w in FORMS}, pattern=DEFAULT_PATTERN), []
    for granularity in (0.05, 0.1, 0.3):
        trainer = quiet(n_merges=1500, composition=0, granularity=granularity)
        learned = trainer.learn(counts)
        evidence = learned.evidence
        assert evidence is not None
        places = len(evidence.probabilities) - len(evidence.types)
        assert (evidence.probabilities > 0.5).sum() / places == pytest.approx(granularity, abs=0.001)
        backend = trainer.backend(learned)
        tokens.append(sum(len(each.ids) for each in backend.encode_batch(counts.words[::7])))
    assert tokens[0] < tokens[1] < tokens[2]


def frequencies(words: dict[str, int], merges: list[tuple[str, str]], types: bool) -> list[int]:
    """Replay merges, and return how often each pair occurs in the words when it is merged."""
    cut = {word: list(word) for word in words}
    found = []
    for left, right in merges:
        total = 0
        for word, pieces in cut.items():
            total += sum(pair == (left, right) for pair in pairwise(pieces)) * (1 if types else words[word])
            cut[word] = merge(pieces, ranked([(left, right)]))
        found.append(total)
    return found


@pytest.mark.parametrize(("criterion", "types", "least"), [
    ("classic", True, 12), ("classic", False, 12), ("contextual", True, 12), ("contextual", False, 40),
])  # fmt: skip
def test_min_frequency_is_the_least_frequency_of_a_pair(criterion: str, types: bool, least: int):
    def learn_from(minimum: int) -> tuple[list[tuple[str, str]], list[int]]:
        trainer = quiet(criterion=criterion, n_merges=100, composition=0, types=types, min_frequency=minimum)
        counts = small_counts(str(trainer.pattern))
        merges = trainer.learn(counts).merges
        seeds = sum(left == " " and len(right) == 1 for left, right in merges) if criterion == "contextual" else 0
        return merges, frequencies(dict(counts.items()), merges, types)[seeds:]

    merges, found = learn_from(0)
    assert min(found) < least <= min(learn_from(least)[1])
    assert learn_from(min(found))[0] == merges  # a minimum that all merges reach changes nothing


def test_min_frequency_applies_to_compositions_by_counts():
    found = []
    for minimum in (0, 40):
        trainer = quiet(n_merges=300, min_frequency=minimum)
        report = trainer.learn(small_counts())
        assert report.n_compositions > 3
        found.append(frequencies(dict(small_counts().items()), report.merges, types=False)[report.n_morphs :])
    assert min(found[0]) < 40 <= min(found[1]), found


def test_longest_token_and_special_names_are_kept_out():
    tokenizer = quiet(vocab_size=600, max_token_length=3).train_from_iterator([TEXT])
    joined = [tokenizer.decode(i) for t, i in tokenizer.get_vocab().items() if t not in tokenizer.all_special_tokens]
    assert max(map(len, joined)) == 3


def test_retraining_learns_mws_and_keeps_the_settings():
    first = quiet(vocab_size=400, special_tokens=["</s>", "<pad>"]).train_from_iterator(["одно два три четыре"])
    first.chat_template = "{{ messages[0]['content'] }}"
    first.padding_side, first.truncation_side, first.model_max_length = "left", "left", 77
    first.model_input_names = ["input_ids"]
    second = first.train_new_from_iterator([TEXT], 500, composition=0)
    direct = quiet(vocab_size=500, special_tokens=["</s>", "<pad>"], composition=0).train_from_iterator([TEXT])
    assert second.get_vocab() == direct.get_vocab()
    assert second.training.settings == direct.training.settings, "the record too, with what was measured"
    assert second.chat_template == first.chat_template
    assert (second.padding_side, second.truncation_side, second.model_max_length) == ("left", "left", 77)
    assert second.model_input_names == first.model_input_names
    assert (second.eos_token, second.pad_token) == ("</s>", "<pad>")


@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
def test_a_loaded_tokenizer_is_retrained_with_one_token_per_id(alphabet, tmp_path):
    special = ["</s>", "<pad>", "<user>"]
    first = quiet(vocab_size=400, special_tokens=special, alphabet=alphabet).train_from_iterator(["одно два три"])
    first.add_tokens(["<tag>"])
    first.save_pretrained(tmp_path / "first")
    loaded = MwSTokenizerFast.from_pretrained(tmp_path / "first", extra_special_tokens={"image_token": "<image>"})
    loaded.sep_token = "<sep>"
    renamed = {"</s>": "<eos>", "<user>": "<human>", "<image>": "<picture>"}
    for names in ({}, renamed):
        new = loaded.train_new_from_iterator([TEXT], 500, special_tokens_map=names)
        assert sorted(new.get_vocab().values()) == list(range(len(new)))
        expected = [names.get(token, token) for token in (*special, "<image>", "<sep>")]
        added = {token: number for number, token in enumerate(expected)} | {"<tag>": len(new) - 1}
        assert new.get_added_vocab() == added
        assert (new.eos_token, new.image_token, new.sep_token) == (expected[0], expected[3], "<sep>")
        new.save_pretrained(tmp_path / "new")
        assert MwSTokenizerFast.from_pretrained(tmp_path / "new").get_vocab() == new.get_vocab()
        text = "одно</s><eos>два<tag><human><user>три<picture>"
        assert new.decode(new.encode(text)) == text


@pytest.mark.parametrize("alphabet", ["bytes", "characters"])
def test_retraining_keeps_added_tokens_that_text_contains(alphabet):
    first = quiet(vocab_size=300, alphabet=alphabet).train_from_iterator(["ab ba"])
    first.add_tokens(["a", "ba", "<tag>"])
    new = first.train_new_from_iterator(["ab abba baba"] * 9, 320)
    for tokenizer in (first, new):
        assert [token.strip(" Ġ") for token in tokenizer.tokenize("ab ba<tag>")] == ["a", "b", "", "ba", "<tag>"]
    assert {"a", "ba", "<tag>"} <= new.get_added_vocab().keys()
    assert sorted(new.get_vocab().values()) == list(range(len(new)))


# the largest weighted sum of letters that is accepted, for compositions without a penalty
LARGEST = (2**62 - 1) // 256


@pytest.mark.parametrize("settings", [{"hidden_boundary_price": 0}, {"criterion": "classic"}])
def test_counts_up_to_the_bound_are_weighed_and_beyond_it_rejected(settings):
    words = [" ab", " abc", " bcd", " abcd", " cdab"]
    base = np.array([7, 5, 3, 2, 1])
    letters = int((base * [len(word) for word in words]).sum())

    def merges(counts):
        return learn(
            WordCounts.from_arrays(pa.array(words, pa.large_string()), counts, pattern=WORD_PATTERN),
            Settings(n_merges=9, composition=1, special_tokens=[], **settings),
        ).merges

    factor = LARGEST // letters
    assert merges(base * factor) == merges(base) and len(merges(base)) > 3
    with pytest.raises(MwSError, match="more than fits into 64 bits; divide all counts by 2 "):
        merges(base * (factor + 1))
    for huge in (10**17, 2**61):
        with pytest.raises(MwSError, match="divide all counts by"):
            merges(np.array([huge, 1, 1, 1, 1]))


def test_running_text_of_any_size_gives_the_same_morphs():
    """A boundary costs 16 to 48 times 65,536 per occurrence; before, this limited text to three trillion letters."""
    counts = count_mapping(
        {
            f"{stem}{end}": k + 3
            for k, stem in enumerate(["walk", "talk", "balk", "jump", "bump"])
            for end in ("", "s", "ed", "ing")
        }
    )
    settings = Settings(n_merges=40, composition=0, special_tokens=[], types=False)
    factor = LARGEST // 8 // int(sum(len(word) * count for word, count in counts.items()))
    factor = 1 << (factor.bit_length() - 1)
    times = WordCounts.from_arrays(counts.strings, counts.counts * factor, pattern=counts.pattern)
    found = learn(times, settings)
    assert found.merges == learn(counts, settings).merges and len(found.merges) > 10


WALKED = "the old man walked home and talked to the old woman who walked and talked\n" * 3


def tokens_of(folder, text):
    return Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).tokens


@pytest.mark.parametrize("character", "…€•«»→ß№")
def test_everyday_characters_are_tokens_on_request(tmp_path, character):
    trainer = MwSTrainer(vocab_size=900, initial_alphabet=[*EVERYDAY], show_progress=False)
    assert len(trainer.train_from_counts({"walked": 3, "walk": 2}).tokenize(character)) == 1


def test_the_trainer_takes_names_and_characters(tmp_path):
    trainer = MwSTrainer(vocab_size=900, initial_alphabet=["currency", "hungarian", "漢"], show_progress=False)
    trainer.train_from_counts({"walked": 3, "walk": 2}).save_pretrained(tmp_path)
    assert [len(tokens_of(tmp_path, c)) for c in ("€", "Ű", "漢", "→")] == [1, 1, 1, 3]


def test_a_string_is_its_characters_and_a_name_as_a_string_is_rejected():
    assert MwSTrainer(initial_alphabet="ru").initial_alphabet == ["r", "u"]
    assert MwSTrainer(initial_alphabet=["arrows", "r"]).initial_alphabet == ["r", *sorted(NAMED_ALPHABETS["arrows"])]
    with pytest.raises(MwSError, match=r"\['russian'\]"):
        MwSTrainer(initial_alphabet="russian")


def test_languages_have_both_cases():
    for name in ("russian", "turkish", "german", "finnish"):
        letters = set(NAMED_ALPHABETS[name])
        assert {c.upper() for c in letters if len(c.upper()) == 1} <= letters


def test_the_share_of_rarely_used_tokens_is_reported(tmp_path):
    (tmp_path / "text.txt").write_text(WALKED, encoding="utf-8")
    out = tmp_path / "out"
    done = mws("train", tmp_path / "text.txt", "--vocab-size", 900, "-o", out, "--quiet", "--json")
    told = json.loads(done.stdout)["rare_entries"]
    model = json.loads((out / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    ids = [i for line in WALKED.splitlines(keepends=True) for i in tokenizer.encode(line, add_special_tokens=False).ids]
    made = [model["vocab"]["".join(pair)] for pair in model["merges"]]
    assert told == {
        "unused": round(sum(ids.count(i) == 0 for i in made) / len(made), 4),
        "under_5": round(sum(ids.count(i) < 5 for i in made) / len(made), 4),
    }
    words = f"{told['under_5']:.1%} fewer than 5 times, {told['unused']:.1%} never".replace("%", " %")
    assert check(out).facts["hardly_used"] == f"{words} in the training text"
    assert f"| merges that its training text rarely uses | {words} |" in (out / "README.md").read_text(encoding="utf-8")


READERS = ["readers read reading 12 21 players play playing it's 1212 assess pass"] * 30
TRAINED_WANTED = (" reading", "XQZ", " naïve")


def of_readers(**options):
    return MwSTrainer(vocab_size=400, show_progress=False, **options).train(READERS)


@pytest.mark.parametrize("options", [{}, {"criterion": "classic"}, {"alphabet": "characters"}])
def test_required_strings_are_tokens_and_the_size_stays(options):
    plain, asked = of_readers(**options), of_readers(required=TRAINED_WANTED, **options)
    for string in TRAINED_WANTED:
        assert len(asked.encode(string, add_special_tokens=False)) == 1
        assert len(plain.encode(string, add_special_tokens=False)) > 1 or string == " reading"
    assert len(asked) <= max(len(plain), 400)
    assert asked.decode(asked.encode(READERS[0])) == READERS[0]


def test_a_vocabulary_that_is_full_makes_room(tmp_path):
    small = MwSTrainer(vocab_size=280, show_progress=False)
    plain, asked = (
        small.train(READERS),
        MwSTrainer(vocab_size=280, required=["XQZ"], show_progress=False).train(READERS),
    )
    assert len(plain) == len(asked) == 280 and asked.tokenize("XQZ") == ["XQZ"]
    asked.save_pretrained(tmp_path)
    assert read_record(tmp_path, asked.backend_tokenizer)["settings"]["required"] == ["XQZ"]
    assert open_tokenizer(tmp_path).kinds[-1] == ("required", 2)


def test_characters_and_pairs_are_kept_apart():
    tokenizer = of_readers(keep_apart=["'", "12", "ss"])
    tokens = [tokenizer.decode([index]) for index in range(len(tokenizer))]
    assert not [token for token in tokens if "'" in token and len(token) > 1]
    assert not [token for token in tokens if "12" in token or "ss" in token]
    assert any("21" in token for token in tokens)
    assert tokenizer.decode(tokenizer.encode(READERS[0])) == READERS[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"required": ["two words"]}, r"the pattern splits it \(two\| words\)"),
        ({"required": ["it'll"], "keep_apart": ["'"]}, "keep_apart separates characters"),
        ({"required": ["é"], "normalization": "nfd"}, "normalization changes it to"),
        ({"keep_apart": ["s", "é"], "normalization": "nfd"}, r"'é' cannot be kept apart.* \(U\+0065 U\+0301\)"),
        ({"keep_apart": ["e\u0301"], "normalization": "nfc", "capitals": "marker"}, r"\(U\+00E9\); leave it out"),
        ({"required": "XQZ"}, "give a list"),
        ({"keep_apart": ["abc"]}, "cannot be kept apart"),
        (
            {"required": ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"], "vocab_size": 290},
            "ask for a larger vocabulary",
        ),
    ],
)
def test_impossible_trainings_are_rejected(options, message):
    with pytest.raises(MwSError, match=message):
        MwSTrainer(**{"vocab_size": 400, "show_progress": False} | options).train(READERS)


def test_the_command(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(READERS))
    (tmp_path / "tokens").write_text(" reading\nXQZ\n")
    (tmp_path / "apart").write_text("'\nss\n")
    lists = ("--required", tmp_path / "tokens", "--keep-apart", tmp_path / "apart")
    done = mws("train", tmp_path / "text.txt", "--vocab-size", 400, "-o", tmp_path / "t", *lists, "--json")
    assert done.returncode == 0, done.stderr
    vocabulary = json.loads((tmp_path / "t" / "tokenizer.json").read_text())["model"]["vocab"]
    assert {"Ġreading", "XQZ"} <= set(vocabulary) and not [token for token in vocabulary if "ss" in token]
    (tmp_path / "apart").write_text("'\nabc\n")
    done = mws("train", tmp_path / "text.txt", "-o", tmp_path / "u", *lists)
    assert done.returncode == 2 and f"{tmp_path / 'apart'}:2" in done.stderr


def test_a_trainer_shows_the_settings_that_differ_from_the_defaults():
    for settings in ({}, {"vocab_size": 500, "composition": 0}, {"criterion": "classic", "n_merges": 9}):
        trainer = MwSTrainer(**settings)
        assert eval(repr(trainer)) == trainer and all(f"{name}=" in repr(trainer) for name in settings)
        assert repr(trainer).count("=") == len(settings)
    assert repr(MwSTrainer(labels={"кот" * n: ["кот"] * n for n in range(2, 100)})) == "MwSTrainer(labels=<98 words>)"
    groups = {"ru": {"коты": "кот ы"}, "en": {"cats": "cat s", "dogs": "dog s"}}
    assert repr(MwSTrainer(labels=groups)) == "MwSTrainer(labels=<3 words>)"


def test_a_trainer_shows_the_name_of_a_split_pattern():
    for settings, shown in (
        ({"pattern": "tekken"}, "pattern='tekken'"),
        ({"pattern": "llama3", "digits": "single"}, "pattern='llama3', digits='single'"),
        ({"digits": "right"}, "pattern='o200k', digits='right'"),
        ({"pattern": with_digits("llama3", "single")}, "pattern='llama3', digits='single'"),
        ({"pattern": "[a-z]+|."}, "pattern='[a-z]+|.'"),
    ):
        trainer = MwSTrainer(**settings)
        assert repr(trainer) == f"MwSTrainer({shown})"
        assert eval(repr(trainer)).split_pattern == trainer.split_pattern


@pytest.mark.parametrize("options", [{"granularity": 0.12}, {"hidden_boundary_price": 0.3, "granularity": 0.1}])
def test_settings_of_morphs_without_morph_merges_are_a_warning(options, caplog):
    quiet(n_merges=10, composition=1).train_from_iterator([TEXT])
    assert "composition leaves" not in caplog.text
    quiet(n_merges=10, composition=1, **options).train_from_iterator([TEXT])
    assert "composition leaves no morph merges" in caplog.text and all(name in caplog.text for name in options)


def test_a_setting_of_frequency_merges_without_such_merges_is_a_warning(caplog):
    quiet(n_merges=10, composition=0, granularity=0.12).train_from_iterator([TEXT])
    assert "composition leaves" not in caplog.text
    quiet(n_merges=10, composition=0, hidden_boundary_price=0.3).train_from_iterator([TEXT])
    assert "composition leaves no frequency merges, so hidden_boundary_price will not be used" in caplog.text


@pytest.mark.parametrize(
    ("options", "named", "absent"),
    [
        ((), ["merges inside morphs, ", "frequency merges (morphs joined to"], ["original MwS score"]),
        (("--composition", 0), ["merges inside morphs and 2"], ["frequency merge"]),
        (("--composition", 1), [" frequency merges and 2"], ["inside morphs", "morphs joined"]),
        (("--criterion", "classic"), [" merges by the original MwS score and "], ["inside morphs", "frequency merge"]),
    ],
)
def test_the_summary_names_only_the_kinds_of_merges_that_were_learned(tmp_path, options, named, absent):
    (tmp_path / "text.txt").write_text("\n".join(READERS), encoding="utf-8")
    done = mws("train", tmp_path / "text.txt", "--n-merges", 40, *options, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert all(each in done.stdout for each in named) and not any(each in done.stdout for each in absent), done.stdout
