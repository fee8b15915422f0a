"""Extending without a change to given texts: no new merge fires in them, of whatever kind the base is."""

from __future__ import annotations

import json
from functools import cache

import pytest
from tokenizers import Tokenizer

from mws_hf.corpus.counting import count_documents
from mws_hf.corpus.counts import WordCounts
from mws_hf.extend.base import open_base
from mws_hf.extend.extension import extend
from mws_hf.extend.new_tokens import protect
from mws_hf.text.pattern import LLAMA3_PATTERN
from tests.in_process import mws
from tests.small_bases import BASES, ENGLISH, SPECIAL, llama3_like, russian, save, turkish

KINDS = list(BASES)


@cache
def extended(kind: str, protected: tuple[str, ...] = ()):
    return extend(BASES[kind](), count_documents(russian() + turkish(), workers=1), 60, protected=protected)


def changed(kind: str, texts: list[str], protected: tuple[str, ...] = ()) -> int:
    before, after = BASES[kind](), extended(kind, protected).tokenizer
    return sum(before.encode(text).ids != after.encode(text).ids for text in texts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sample", [turkish(), russian()[:3], ["evlerde çitler", "дома столами  дома", "çit"]])
def test_a_protected_text_keeps_its_cut_though_the_corpus_is_full_of_it(kind, sample):
    assert changed(kind, sample) == len(sample)
    assert changed(kind, sample, tuple(sample)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_protected_becomes_shorter_still(kind):
    before, after = BASES[kind](), extended(kind, tuple(ENGLISH + turkish()[:2])).tokenizer
    lengths = [sum(len(tokenizer.encode(text).ids) for text in russian()) for tokenizer in (before, after)]
    assert lengths[1] < 0.7 * lengths[0]


def test_a_whole_word_of_the_sample_does_not_become_a_token_by_another_way():
    """Llama 3 takes a whole word from its vocabulary without merging: then no merge need fire."""
    words = {" домик": 50, " домики": 30, "домик": 9, " том": 40, " омик": 90, " дом": 2}
    sample = (" дом",)
    assert " дом" in [open_base(llama3_like()).read(word) for word in protect(open_base(llama3_like()), sample).words]
    counts = WordCounts.from_mapping(words, pattern=LLAMA3_PATTERN)
    larger = extend(llama3_like(), counts, 20, protected=sample, min_saving=1)
    assert larger.tokenizer.encode(" дом").ids == llama3_like().encode(" дом").ids


def test_the_command_protects_and_tells_how_other_such_text_fares(tmp_path):
    base = save(llama3_like(), tmp_path / "base", eos_token=SPECIAL[1])
    (tmp_path / "tr.txt").write_text("\n".join(turkish() * 20), encoding="utf-8")
    (tmp_path / "old.txt").write_text("\n".join(ENGLISH + turkish()[:1] * 49), encoding="utf-8")
    arguments = ["extend", base, tmp_path / "tr.txt", "--add", 40, "-q", "--json"]
    done = mws(*arguments, "--protect", tmp_path / "old.txt", "-o", tmp_path / "kept")
    assert done.returncode == 0, done.stderr
    unseen = json.loads(done.stdout)["texts"]["protected, held out"]
    assert unseen["lines"] >= 1 and unseen["lines_changed"] == 0
    assert mws(*arguments, "-o", tmp_path / "free").returncode == 0
    before, kept, free = (Tokenizer.from_file(str(tmp_path / n / "tokenizer.json")) for n in ("base", "kept", "free"))
    line = turkish()[0]
    assert kept.encode(line).ids == before.encode(line).ids != free.encode(line).ids
    missing = mws(*arguments, "--protect", tmp_path / "none.txt", "-o", tmp_path / "x")
    assert missing.returncode == 2 and "none.txt" in missing.stderr and not (tmp_path / "x").exists()
    over = mws(*arguments, "--protect", tmp_path / "kept" / "tokenizer.json", "-o", tmp_path / "kept")
    assert over.returncode == 2 and "written over" in over.stderr
