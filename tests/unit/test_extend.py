"""Extending a pretrained tokenizer: old ids stay, new tokens help, tokens are required or kept apart as requested.

Modules: commands/extend.py, surgery/change_report.py, surgery/extension.py, surgery/new_tokens.py.
"""

from __future__ import annotations

import json
import logging
import re
from functools import cache
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from mws_hf import MwSError
from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.counts import WordCounts
from mws_hf.surgery.base import Base, open_base
from mws_hf.surgery.change_report import extension_figures, measure_change
from mws_hf.surgery.extension import Extension, append_tokens, extend, words_among
from mws_hf.surgery.new_tokens import (
    ExtensionSettings,
    LearnedTokens,
    Learner,
    Protection,
    collect_base_forms,
    missing_characters,
    protect,
    segment_with_base,
)
from mws_hf.text.pattern import LLAMA3_PATTERN
from mws_hf.text.symbols import BYTE_CHARACTERS, BYTE_TOKENS, bytes_of
from mws_hf.tokenizer.backend import base_vocab, build_backend
from mws_hf.tokenizer.merging import merges_for
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from tests.examples import examples
from tests.in_process import mws
from tests.reference.engine import tokens_of
from tests.small_bases import (
    BASES,
    ENDINGS,
    ENGLISH,
    PREFIXES,
    SPECIAL,
    STEMS,
    gemma_like,
    gpt2_like,
    llama2_like,
    llama3_like,
    russian,
    save,
    turkish,
)

KINDS = list(BASES)


@cache
def counts():
    return count_documents(russian() + turkish(), workers=1)


@cache
def extended(kind: str, **options):
    return extend(BASES[kind](), counts(), 60, **options)


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("kind", KINDS)
def test_english_and_code_are_untouched_and_russian_is_shorter(kind):
    base, larger = BASES[kind](), extended(kind).tokenizer
    assert all(ids(base, text) == ids(larger, text) for text in ENGLISH)
    change = measure_change(base, larger, russian())
    assert change.tokens[1] < 0.6 * change.tokens[0] and change.words_changed > 0.9
    assert change.bytes_per_token[1] > 1.5 * change.bytes_per_token[0]


@pytest.mark.parametrize("words", [{" жук": 9}, {" кот": 9, " дом": 8}])
def test_a_word_is_measured_after_one_space_where_the_normalizer_puts_one(words):
    """Llama 2 has a token of two spaces, which would hide the token of a space and a word."""
    spec = json.loads(llama2_like().to_str())
    spec["model"]["vocab"]["▁▁"] = max(spec["model"]["vocab"].values()) + 1
    spec["model"]["merges"] = [["▁", "▁"], *spec["model"]["merges"]]
    letters = sorted(set("".join(words)) - {" "})
    spec["model"]["vocab"] |= {letter: 5000 + number for number, letter in enumerate(letters)}
    base = Tokenizer.from_str(json.dumps(spec))
    larger = append_tokens(Base.of(base), LearnedTokens([], [("▁", word[1]) for word in words], {}, 0), {}).tokenizer
    assert measure_change(base, larger, ["".join(words).strip()]).words_changed == 1


def test_a_change_is_measured_without_truncation_and_padding():
    """A tokenizer.json may contain those of an earlier call."""
    base, larger = BASES[KINDS[0]](), extended(KINDS[0]).tokenizer
    whole = measure_change(base, larger, [*ENGLISH, *russian()])
    base, larger = Tokenizer.from_str(base.to_str()), Tokenizer.from_str(larger.to_str())
    base.enable_truncation(3)
    larger.enable_padding(length=50)
    assert measure_change(base, larger, [*ENGLISH, *russian()]) == whole
    assert whole.lines_changed == len(russian())


@pytest.mark.parametrize("kind", KINDS)
def test_old_ids_and_ranks_stay(kind):
    old, new = (json.loads(each.to_str())["model"] for each in (BASES[kind](), extended(kind).tokenizer))
    assert old["vocab"].items() <= new["vocab"].items() and len(new["vocab"]) > len(old["vocab"])
    assert new["merges"][: len(old["merges"])] == old["merges"] and len(new["merges"]) > len(old["merges"])


def byte_ends(kind: str, tokenizer: Tokenizer, text: str) -> set[int]:
    """Return where the tokens of a text end, in bytes; a token of byte fallback counts as one byte."""
    ends = [0]
    for token in tokenizer.encode(text, add_special_tokens=False).tokens:
        one_byte = re.fullmatch(r"<0x[0-9A-F]{2}>", token)
        spelled = len(token) if kind in ("llama3", "gpt2") else len(token.replace("\u2581", " ").encode())
        ends.append(ends[-1] + (1 if one_byte else spelled))
    return set(ends)


@pytest.mark.parametrize("kind", KINDS)
def test_other_text_only_becomes_coarser(kind):
    """In random mixtures of twelve scripts, code and digits, no token ends where none ended before."""
    random = Random(0)
    words = "والبيت किताबों 東京 テスト 한국어 naïve Straße evlerimizden 123 4567 foo_bar don't 🦔 x={}".split()
    words += "переписывающаяся читал подводник the walked".split() + russian()[0].split()[:20] + ["\u0301", "\t"]
    base, larger, coarser = BASES[kind](), extended(kind).tokenizer, 0
    for _ in range(300):
        text = " ".join(random.choices(words, k=random.randint(1, 6)))
        text = text if random.random() < 0.7 else "".join(random.sample(text, len(text)))
        before, after = byte_ends(kind, base, text), byte_ends(kind, larger, text)
        assert after <= before and max(after) == max(before), text
        coarser += after < before
    assert coarser > 50


def test_the_base_is_only_read(folder):
    before = {file: file.read_bytes() for file in (folder / "base").rglob("*") if file.is_file()}
    done = mws("extend", folder / "base", folder / "ru.txt", "--add", 20, "-o", folder / "only-read")
    assert done.returncode == 0, done.stderr
    assert before == {file: file.read_bytes() for file in (folder / "base").rglob("*") if file.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_new_tokens_are_whole_characters_of_one_word(kind):
    larger = extended(kind)
    byte_level = kind in ("llama3", "gpt2")
    texts = [larger.base.read(token) for token in larger.ids]
    parts = {left + right for left, right in larger.learned.merges[: larger.learned.found["characters"]]}
    for token, text in zip(larger.ids, texts, strict=True):
        if byte_level and token in parts:  # an intermediate token of a character of three or more bytes
            assert len(bytes_of(token)) <= 4
        else:
            assert "\ufffd" not in text and text.lstrip(" ").isalpha() and " " not in text[1:]
    assert not set(larger.ids) & {*BYTE_TOKENS}


@pytest.mark.parametrize("kind", KINDS)
def test_standard_bpe_applies_the_merges_as_they_were_learned(kind):
    """`tokenizers` splits the words of the corpus into the same tokens as at the end of learning."""
    base, options = Base.of(BASES[kind]()), ExtensionSettings()
    forms = collect_base_forms(base, counts())
    symbols = [] if base.byte_level else missing_characters(base, forms, 100, options)
    cut = segment_with_base(base, forms.words, forms.counts, symbols)
    learner = Learner(cut, forms.counts[cut.chosen], options, False, Protection())
    learner.characters(20), learner.spaces(10), learner.compositions(None, len(forms.counts), 60)
    larger = append_tokens(base, LearnedTokens(symbols, learner.merges, {}, 0), {})
    pipeline = Base.of(larger.tokenizer).pipeline()
    for number, word in enumerate(cut.words.strings()):
        assert pipeline.encode(word).tokens == tokens_of(cut.segmentation, number)
    assert len(cut.words) > 0.9 * len(forms.counts) and len(learner.merges) > 60
    assert len(learner.merges) > 40


def test_the_same_words_give_the_same_tokens_in_any_order():
    backwards = WordCounts.from_mapping(dict(reversed(list(counts().items()))), pattern=counts().pattern)
    assert extend(llama3_like(), backwards, 60).spec == extended("llama3").spec


def test_morphs_are_found_where_frequency_joins_them():
    """Both have the same number of tokens, and each word consists of a prefix, a stem and an ending."""
    found = {}
    gold = {"".join(parts): parts for parts in product(PREFIXES, STEMS, ENDINGS)}
    for name, options in (
        ("morphs", {"composition": 0}),
        ("frequency", {"composition": 1, "hidden_boundary_price": 0}),
    ):
        cuts = segment_words(extend(llama3_like(), counts(), 150, **options).tokenizer, list(gold))
        right = wrong = 0
        for word, pieces, parts in zip(gold, cuts, gold.values(), strict=True):
            made, wanted = (
                {len("".join(each[:i])) for i in range(len(each))} - {0, len(word)} for each in (pieces, parts)
            )
            right, wrong = right + len(made & wanted), wrong + len(made ^ wanted)
        found[name] = 2 * right / (2 * right + wrong)
    assert found["morphs"] > found["frequency"] + 0.02, found


def test_a_floor_keeps_rare_tokens_out():
    few = extended("gemma", min_saving=60)
    assert 0 < len(few.ids) < 60
    text = "\n".join(russian() + turkish())
    assert all(text.lower().count(few.base.read(token).strip().lower()) >= 1 for token in few.ids)
    assert len(few.ids) < len(extended("gemma").ids)


def test_characters_the_base_falls_back_on_become_symbols():
    larger = extended("gemma")
    assert larger.learned.symbols and all(len(symbol) == 1 for symbol in larger.learned.symbols)
    assert not any(token in BYTE_TOKENS for token in larger.tokenizer.encode("читать").tokens)
    assert gemma_like().encode("читать").tokens[0] in BYTE_TOKENS


@pytest.mark.parametrize("kind", ["llama3", "gemma"])
def test_replace_retires_nothing_that_the_texts_given_use(kind):
    """The matrix in test_trim.py tests sizes, merges and decoded texts."""
    base, kept = BASES[kind](), ENGLISH[:1] + russian()
    larger = extend(base, counts(), 40, replace=iter(kept))
    given = {text: ids(base, text) for text in kept}
    assert not {number for used in given.values() for number in used} & set(larger.retired.values())
    assert set(larger.ids.values()) == set(larger.retired.values())
    for text in kept:
        cut = ids(larger.tokenizer, text)
        assert cut == given[text] or set(cut) & set(larger.ids.values())
    assert ids(larger.tokenizer, ENGLISH[0]) == given[ENGLISH[0]]


def test_replace_retires_no_part_of_a_new_token():
    """This holds even if no text uses the part: one part of these words is the last token that could be retired."""
    words = {"walkers": 9, "thewalking": 8, "andtalking": 7, "talkersand": 5, "therein": 8}
    larger = extend(BASES["gemma"](), words, 20, composition=1, hidden_boundary_price=0, replace=["1"])
    new = larger.tokenizer.get_vocab(with_added_tokens=True)
    assert larger.retired and {part for pair in larger.learned.merges for part in pair} <= set(new)


def test_ids_with_holes_and_tokens_behind_them_stay(tmp_path):
    """Qwen has added tokens far after the vocabulary; `tokenizers` would renumber them when the vocabulary grows."""
    base = Tokenizer.from_str(llama3_like().to_str())
    base.add_tokens(["<tool>"])
    larger = extend(base, counts(), 10)
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(larger.spec), encoding="utf-8")
    again = Tokenizer.from_file(str(file))
    for token in (*SPECIAL, "<tool>"):
        assert again.token_to_id(token) == base.token_to_id(token)
        assert again.encode(f"a{token}b", add_special_tokens=False).ids[1] == base.token_to_id(token)
    assert min(larger.ids.values()) == base.token_to_id("<tool>") + 1


def test_the_file_keeps_the_form_it_had(tmp_path):
    """Merges may be strings, as before tokenizers 0.20; only lines for new tokens are added to the file."""
    source = save(llama2_like(), tmp_path / "base")
    spec = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    spec["model"]["merges"] = [" ".join(pair) for pair in spec["model"]["merges"]]
    (source / "tokenizer.json").write_text(json.dumps(spec, ensure_ascii=False, indent=2), encoding="utf-8")
    larger = extend(source, counts(), 5)
    larger.save(tmp_path / "new", source)
    old, new = ((tmp_path / name / "tokenizer.json").read_text(encoding="utf-8") for name in ("base", "new"))
    head = old.index('"vocab"')
    assert new[:head] == old[:head]
    assert [line.rstrip(",") for line in old.splitlines()] == [
        line.rstrip(",") for line in new.splitlines() if not _is_new(line.strip().rstrip(","), larger)
    ]


def _is_new(line: str, larger: Extension) -> bool:
    entries = {f"{json.dumps(token, ensure_ascii=False)}: {number}" for token, number in larger.ids.items()}
    merges = {json.dumps(" ".join(pair), ensure_ascii=False) for pair in larger.learned.merges}
    return line in entries | merges


def _word_piece() -> Tokenizer:
    return Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))


def _unigram() -> Tokenizer:
    return Tokenizer(models.Unigram([("a", -1.0), ("b", -2.0)], unk_id=0))


def _plain_bpe() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(ENGLISH, trainers.BpeTrainer(vocab_size=80, special_tokens=["<unk>"]))
    return tokenizer


def _end_of_word() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    return tokenizer


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_word_piece, "WordPiece"),
        (_unigram, "Unigram"),
        (_plain_bpe, "neither byte-level nor has byte fallback"),
        (_end_of_word, "</w>"),
    ],
)
def test_tokenizers_that_cannot_be_extended_are_named(make, message, tmp_path):
    with pytest.raises(MwSError, match=message):
        extend(make(), counts(), 5)
    source = save(make(), tmp_path / "base")
    with pytest.raises(MwSError, match=str(source)):
        open_base(source)


def test_broken_files_are_named(tmp_path):
    source = save(llama3_like(), tmp_path / "base")
    file = source / "tokenizer.json"
    spec = json.loads(file.read_text(encoding="utf-8"))
    spec["added_tokens"][1]["id"] += 7
    file.write_text(json.dumps(spec), encoding="utf-8")
    with pytest.raises(MwSError, match="has id .* but gets"):
        open_base(source)
    file.unlink()
    with pytest.raises(MwSError, match="needs a tokenizer.json"):
        open_base(source)


def test_odd_merges_are_reported_and_kept(caplog, tmp_path):
    spec = json.loads(llama3_like().to_str())
    merges = spec["model"]["merges"]
    late = next(i for i, pair in enumerate(merges) if len(pair[0]) > 1)
    merges[0], merges[late] = merges[late], merges[0]
    merges.append(merges[1])
    source = tmp_path / "tokenizer.json"
    source.write_text(json.dumps(spec), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        larger = extend(source, counts(), 10)
    assert "1 merges occur twice" in caplog.text and "only a later merge makes" in caplog.text
    base = Tokenizer.from_file(str(source))
    for text in ENGLISH:
        assert ids(base, text) == ids(larger.tokenizer, text)


def test_settings_out_of_range_and_no_words_are_named():
    for options, message in (({"composition": 1.5}, "composition"), ({"min_saving": -1}, "min_saving")):
        with pytest.raises(MwSError, match=message):
            extend(llama3_like(), counts(), 5, **options)
    with pytest.raises(MwSError, match="no words to learn from"):
        extend(llama3_like(), {"123": 4, "...": 2}, 5)
    with pytest.raises(MwSError, match="n_tokens=None is not a whole number"):
        extend(llama3_like(), counts(), None)


def test_counts_with_a_marker_for_capitals_are_for_tokenizers_that_write_it():
    marked = count_documents(["Wir sehen die Städte und die Häuser in der Stadt"] * 9, normalization="nfc+capitals")
    with pytest.raises(MwSError, match="the counts have a marker for capitals, which the tokenizer does not write"):
        extend(llama3_like(), marked, 5)
    vocab = base_vocab(byte_symbols=BYTE_CHARACTERS)
    assert len(extend(build_backend(vocab, [], capitals="WSH"), marked, 5).ids) == 5


def test_words_that_cannot_be_spelled_are_ignored():
    larger = extend(gemma_like(), {" 漢字": 1}, 1)
    assert len(larger.ids) <= 1
    assert larger.tokenizer.decode(ids(larger.tokenizer, "漢字 a")) == "漢字 a"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("extend")
    save(llama3_like(), place / "base", eos_token=SPECIAL[1])
    (place / "ru.txt").write_text("\n".join(russian() * 6), encoding="utf-8")
    (place / "en.txt").write_text("\n".join(ENGLISH), encoding="utf-8")
    (place / "tokens.txt").write_text(" Überraschung\nHallo\n", encoding="utf-8")
    (place / "apart.txt").write_text("т\nал\n", encoding="utf-8")
    return place


def test_the_command_writes_a_directory_and_reports(folder):
    arguments = ["extend", folder / "base", folder / "ru.txt", "--add", 50, "--also", folder / "en.txt"]
    done = mws(*arguments, "--quiet", "--json", "-o", folder / "out")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    told = json.loads(done.stdout)
    assert told["new_tokens"] == 50 and told["vocabulary"] == open_base(folder / "out").next_id
    held_out, english = told["texts"]["held-out text"], told["texts"][str(folder / "en.txt")]
    assert held_out["lines"] == 2 and held_out["tokens"][1] < held_out["tokens"][0]
    assert english["tokens"][0] == english["tokens"][1] and english["words_changed"] == 0
    card = (folder / "out" / "README.md").read_text(encoding="utf-8")
    change = "| held-out text | {:.3f} | {:.3f} |".format(*held_out["tokens_per_word"])
    assert "| base | base |" in card and "50 tokens added" in card and change in card
    assert "On held-out text, it needs " in card and f"On {folder / 'en.txt'}, it needs as many tokens as base." in card
    people = mws(*arguments, "-o", folder / "out2")
    assert "fewer tokens" in people.stdout and "50 new tokens" in people.stdout
    assert (folder / "out" / "tokenizer.json").read_bytes() == (folder / "out2" / "tokenizer.json").read_bytes()


def test_measures_of_words_are_left_out_for_a_text_without_words(folder):
    (folder / "digits.txt").write_text("12 + 34 = 46\n!? ...\n", encoding="utf-8")
    arguments = ["extend", folder / "base", folder / "ru.txt", "--add", 20, "--also", folder / "digits.txt"]
    done = mws(*arguments, "-o", folder / "symbols")
    assert done.returncode == 0, done.stderr
    (line,) = (row for row in done.stdout.splitlines() if row.startswith(str(folder / "digits.txt")))
    assert "bytes per token" in line and "0 of 2 lines" in line and "word" not in line
    card = (folder / "symbols" / "README.md").read_text(encoding="utf-8")
    assert f"| {folder / 'digits.txt'} | - | - |" in card and "nan" not in done.stdout + card


def test_the_command_takes_saved_counts_and_replaces(folder):
    assert mws("count", folder / "ru.txt", "-o", folder / "ru.parquet", "--quiet").returncode == 0
    done = mws("extend", folder / "base", folder / "ru.parquet", "--add", 20, "-o", folder / "counted")
    assert done.returncode == 0 and "20 new tokens" in done.stdout, done.stderr
    refused = mws("extend", folder / "base", folder / "ru.parquet", "--add", 20, "--replace", "-o", folder / "no")
    assert refused.returncode == 2 and "--replace" in refused.stderr and not (folder / "no").exists()
    done = mws("extend", folder / "base", folder / "ru.txt", "--add", 20, "--replace", "--quiet", "-o", folder / "same")
    assert done.returncode == 0, done.stderr
    retired = json.loads((folder / "same" / "retired.json").read_text(encoding="utf-8"))
    assert len(retired["retired_tokens"]) == 20 and retired["dropped_merges"]
    assert open_base(folder / "same").next_id == open_base(folder / "base").next_id


def test_the_command_rejects_in_one_line(folder):
    save(_word_piece(), folder / "wordpiece")
    for base in ("wordpiece", "nothing-here", "ru.txt"):
        done = mws("extend", folder / base, folder / "ru.txt", "--add", 20, "-o", folder / "x")
        assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
        assert not (folder / "x").exists()
    done = mws("extend", folder / "base", folder / "ru.txt", "--add", 20, "-o", folder / "base")
    assert done.returncode == 2 and "overwritten" in done.stderr


def changed(kind: str, texts: list[str], protected: tuple[str, ...] = ()) -> int:
    before, after = BASES[kind](), extended(kind, protected=protected).tokenizer
    return sum(before.encode(text).ids != after.encode(text).ids for text in texts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sample", [turkish(), russian()[:3], ["evlerde çitler", "дома столами  дома", "çit"]])
def test_a_protected_text_keeps_its_segmentation_although_the_corpus_is_full_of_it(kind, sample):
    assert changed(kind, sample) == len(sample)
    assert changed(kind, sample, tuple(sample)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_unprotected_text_becomes_shorter(kind):
    before, after = BASES[kind](), extended(kind, protected=tuple(ENGLISH + turkish()[:2])).tokenizer
    lengths = [sum(len(tokenizer.encode(text).ids) for text in russian()) for tokenizer in (before, after)]
    assert lengths[1] < 0.7 * lengths[0]


def test_a_whole_word_of_the_sample_does_not_become_a_token_by_another_way():
    """Llama 3 takes a whole word from its vocabulary without merging, so no merge is needed."""
    words = {" домик": 50, " домики": 30, "домик": 9, " том": 40, " омик": 90, " дом": 2}
    sample = (" дом",)
    assert " дом" in [open_base(llama3_like()).read(word) for word in protect(open_base(llama3_like()), sample).words]
    counts = WordCounts.from_mapping(words, pattern=LLAMA3_PATTERN)
    larger = extend(llama3_like(), counts, 20, protected=sample, min_saving=1)
    assert larger.tokenizer.encode(" дом").ids == llama3_like().encode(" дом").ids


def test_the_command_protects_text_and_reports_how_similar_text_changes(tmp_path):
    base = save(llama3_like(), tmp_path / "base", eos_token=SPECIAL[1])
    (tmp_path / "tr.txt").write_text("\n".join(turkish() * 20), encoding="utf-8")
    (tmp_path / "old.txt").write_text("\n".join(ENGLISH + turkish()[:1] * 49), encoding="utf-8")
    arguments = ["extend", base, tmp_path / "tr.txt", "--add", 40, "-q", "--json"]
    done = mws(*arguments, "--protect", tmp_path / "old.txt", "-o", tmp_path / "kept")
    assert done.returncode == 0, done.stderr
    unseen = json.loads(done.stdout)["texts"]["held-out protected text"]
    assert unseen["lines"] >= 1 and unseen["lines_changed"] == 0
    assert mws(*arguments, "-o", tmp_path / "free").returncode == 0
    before, kept, free = (Tokenizer.from_file(str(tmp_path / n / "tokenizer.json")) for n in ("base", "kept", "free"))
    line = turkish()[0]
    assert kept.encode(line).ids == before.encode(line).ids != free.encode(line).ids
    missing = mws(*arguments, "--protect", tmp_path / "none.txt", "-o", tmp_path / "x")
    assert missing.returncode == 2 and "none.txt" in missing.stderr and not (tmp_path / "x").exists()
    over = mws(*arguments, "--protect", tmp_path / "kept" / "tokenizer.json", "-o", tmp_path / "kept")
    assert over.returncode == 2 and "overwritten" in over.stderr


def test_replaced_whole_words_are_reported(caplog):
    """Before, English words that the given texts do not use were replaced silently."""
    words = {word: 20 for line in russian() for word in line.split()}
    with caplog.at_level(logging.WARNING):
        extension = extend(gpt2_like(), words, 20, replace=russian())
    retired = words_among(extension.base, extension.retired)
    assert retired and f"{len(retired)} of 20 replaced tokens are whole words" in caplog.text
    assert repr(retired[-1]) in caplog.text and extension_figures(extension, {})["retired_words"] == retired


WANTED = ["Hallo", " Überraschung", "читатель", " 漢字", " talked", "漢"]


@pytest.mark.parametrize("kind", KINDS)
def test_required_strings_become_tokens_and_words_of_one_token(kind):
    larger = extend(BASES[kind](), counts(), 60, required=WANTED)
    assert len(larger.ids) == 60 and larger.learned.found["required"] > 10
    pipeline = type(larger.base).of(larger.tokenizer).pipeline()
    for text in WANTED:
        assert pipeline.encode(text).tokens == [larger.base.spell(text)]
        assert larger.tokenizer.decode(larger.tokenizer.encode(text + "!").ids).endswith(text.strip() + "!")


@pytest.mark.parametrize("make", [gpt2_like, llama2_like])
def test_a_required_string_that_is_a_token_already_is_not_replaced(make):
    base = open_base(make())
    words = words_among(base, extend(base, counts(), 60, replace=russian()).retired)[:5]
    assert words
    larger = extend(base, counts(), 60, replace=russian(), required=words)
    assert larger.retired and not {base.spell(word) for word in words} & larger.retired.keys()
    pipeline = Base.of(larger.tokenizer).pipeline()
    assert [pipeline.encode(word).tokens for word in words] == [[base.spell(word)] for word in words]


def test_no_required_merge_makes_a_token_a_second_time():
    # abac is segmented as a·ba·c, and (a, ba) would make aba, which is a token already
    merges = [("b", "a"), ("a", "b"), ("ab", "a")]
    assert merges_for(["abac"], merges, "abc") == [("ba", "c"), ("a", "bac")]


@examples(200)
@given(
    st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=6, unique=True),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=4, unique=True),
)
def test_standard_bpe_makes_each_string_one_token(strings, merges):
    try:
        made = [*merges, *merges_for(strings, merges, "abc")]
    except MwSError:
        return
    entries = dict.fromkeys([*"abc", *(a + b for a, b in made)])
    assert len(entries) == 3 + len(made)  # each token is made by one merge
    model = models.BPE({token: number for number, token in enumerate(entries)}, made)
    for string in strings:
        assert [token.value for token in model.tokenize(string)] == [string]


@pytest.mark.parametrize("kind", KINDS)
def test_no_new_merge_joins_what_is_kept_apart(kind):
    larger = extend(BASES[kind](), counts(), 60, keep_apart=["т", "ал", "ev"])
    texts = [larger.base.read(left + right) for left, right in larger.learned.merges]
    whole = [text for text in texts if "\ufffd" not in text]
    assert len(whole) > 20
    assert not [text for text in whole if "т" in text.strip() and len(text) > 1]
    assert not [text for text in whole if "ал" in text or "ev" in text]
    free = extend(BASES[kind](), counts(), 60)
    read = [free.base.read(left + right) for left, right in free.learned.merges]
    assert any("т" in text and len(text) > 2 for text in read) and any("ал" in text for text in read)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"required": ["two words"]}, "pattern of the tokenizer splits it"),
        ({"required": [""]}, "cannot become a token"),
        ({"required": ["".join(map(chr, range(0x4E00, 0x4E5A)))]}, "the required strings need more than 60 new tokens"),
        ({"keep_apart": ["abc"]}, "cannot be kept apart"),
        ({"required": "ab"}, "required: the str 'ab' is not a list of str"),
        ({"required": [" ab", 7]}, "required: element 1 is int; expected str"),
        ({"protected": "Keep this text."}, "protected: the str 'Keep this text.' is not a list of str"),
        ({"protected": [["nested"]]}, "protected: element 0 is list"),
        ({"replace": "english.txt"}, "replace: the str 'english.txt' is not a list of str"),
        ({"replace": {"a": 1}}, "replace: dict is not a list of str"),
    ],
)
def test_impossible_requests_are_rejected(options, message):
    with pytest.raises(MwSError, match=message):
        extend(llama3_like(), counts(), 60, **options)


@pytest.mark.parametrize("entry", ["й", "ё"])
def test_an_entry_of_keep_apart_that_the_base_normalizes_away_is_rejected(entry):
    base = llama3_like()
    base.normalizer = normalizers.NFD()
    with pytest.raises(MwSError, match=rf"'{entry}' cannot be kept apart.* U\+030"):
        extend(base, counts(), 60, keep_apart=["т", entry])
    base.normalizer = normalizers.NFC()
    assert len(extend(base, counts(), 60, keep_apart=["т", entry]).learned.tokens) == 60


def test_the_numbers_of_a_summary_add_up_to_the_new_tokens(folder):
    done = mws("extend", folder / "base", folder / "ru.txt", "--add", 50, "--required", folder / "tokens.txt", "-o",
               folder / "sum")  # fmt: skip
    assert " for --required); " in done.stdout
    new, *parts = map(int, re.findall(r"\b(\d+)\b", done.stdout.partition("sum: ")[2].partition(" ids")[0])[:-1])
    assert new == 50 == sum(parts)
    record = json.loads((folder / "sum" / "mws_training.json").read_text(encoding="utf-8"))
    letters, required = record["added"]["added"], record["added"]["added required"]
    assert sum(record["added"].values()) == sum(parts) and letters == parts[1] + parts[2] and required == parts[-1]
    kinds = dict(open_tokenizer(folder / "sum").made_by.values())
    assert [kinds[rank] for rank in sorted(kinds)[-required:]] == ["added required"] * required


def test_extend_reads_both_files_and_names_the_line_of_a_wrong_entry(folder):
    arguments = ["extend", folder / "base", folder / "ru.txt", "--add", 50, "-q", "--json"]
    lists = ["--required", folder / "tokens.txt", "--keep-apart", folder / "apart.txt"]
    done = mws(*arguments, *lists, "-o", folder / "lists")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["new_tokens"] == 50
    made = Tokenizer.from_file(str(folder / "lists" / "tokenizer.json"))
    assert len(made.encode(" Überraschung", add_special_tokens=False).ids) == 1
    (folder / "bad.txt").write_text("Hallo\n\ntwo words\n", encoding="utf-8")
    for option, message in (("--required", "bad.txt:3"), ("--keep-apart", "bad.txt:1")):
        done = mws(*arguments, option, folder / "bad.txt", "-o", folder / "x")
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert not (folder / "x").exists()
