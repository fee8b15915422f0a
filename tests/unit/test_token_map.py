"""The map between two tokenizers: pieces spell their token, offsets are bytes, cuts of a text meet where they must."""

from __future__ import annotations

import json
from itertools import accumulate, product

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from mws_hf import MwSError
from mws_hf.corpus.counting import count_documents
from mws_hf.extend.extension import extend
from mws_hf.extend.spelling import raw_bytes
from mws_hf.extend.token_map import TokenMap, map_tokens
from mws_hf.extend.trim import trim
from tests.in_process import mws
from tests.small_bases import BASES, ENGLISH, SPECIAL, gemma_like, llama3_like, russian, save

PAIRS = [pair for pair in product(("llama3", "gpt2", "gemma", "metaspace"), repeat=2) if pair[0] != pair[1]]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pieces_spell_their_token_byte_for_byte(pair):
    tokenizers = [BASES[kind]() for kind in pair]
    found = map_tokens(*tokenizers)
    old, new = map(raw_bytes, tokenizers)
    for side, these, others in ((found.new_in_old, new, old), (found.old_in_new, old, new)):
        assert len(side) == len(these)
        for token, spelled in enumerate(these):
            pieces = side.pieces(token)
            if spelled:
                assert b"".join(others[piece] for piece in pieces) == spelled
            offsets = side.offsets[side.starts[token] : side.starts[token + 1]].tolist()
            ends = list(accumulate(len(others[piece]) for piece in pieces))
            assert offsets == [list(each) for each in zip([0, *ends], ends, strict=False)]
        assert side.lengths.tolist() == list(map(len, these))


def test_shared_tokens_are_the_same_bytes_and_all_such():
    old, new = llama3_like(), gemma_like()
    here, there = map_tokens(old, new).shared
    first, second = raw_bytes(old), raw_bytes(new)
    assert [first[index] for index in there] == [second[index] for index in here]
    assert {first[index] for index in there} >= set(first) & set(second) - {b""}


def test_an_extension_and_a_trimming_share_what_is_kept_special_tokens_too():
    base = llama3_like()
    larger = extend(base, count_documents(russian(), workers=1), 40)
    new, old = map_tokens(base, larger.tokenizer).shared
    assert new.tolist() == old.tolist() == list(range(base.get_vocab_size()))
    smaller = trim(base, ENGLISH[:2], keep_size=330)
    new, old = map_tokens(base, smaller.tokenizer).shared
    assert dict(zip(old.tolist(), new.tolist(), strict=True)) == {o: n for o, n in smaller.ids.items() if n is not None}
    assert smaller.tokenizer.token_to_id(SPECIAL[0]) in new


def test_cuts_of_a_text_meet_at_the_same_bytes():
    old, new = llama3_like(), gemma_like()
    found, text = map_tokens(old, new), ENGLISH[0] + " читать 😀"
    cuts = [tokenizer.encode(text, add_special_tokens=False).ids for tokenizer in (old, new)]
    both = found.common_ends(*cuts)
    spelled = [
        [b"".join(map(raw_bytes(tokenizer).__getitem__, cut[: end + 1])) for end in ends]
        for tokenizer, cut, ends in zip((old, new), cuts, both, strict=True)
    ]
    assert spelled[0] == spelled[1] and spelled[0][-1] == text.encode() and len(spelled[0]) > 10


def test_any_model_has_a_map_unigram_too():
    unigram = Tokenizer(models.Unigram())
    unigram.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.UnigramTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False)
    unigram.train_from_iterator(ENGLISH, trainer)
    from tokenizers import decoders

    unigram.decoder = decoders.ByteLevel()
    found = map_tokens(llama3_like(), unigram)
    spelled = raw_bytes(unigram)
    assert all(found.new_in_old.pieces(token) for token, piece in enumerate(spelled) if piece)


def test_the_command_writes_what_is_loaded_again(tmp_path):
    for name, tokenizer in (("old", llama3_like()), ("new", gemma_like())):
        save(tokenizer, tmp_path / name)
    file = tmp_path / "map.safetensors"
    done = mws("map", tmp_path / "old", tmp_path / "new", "-o", file, "--json")
    assert done.returncode == 0, done.stderr
    told, again, made = json.loads(done.stdout), TokenMap.load(file), map_tokens(llama3_like(), gemma_like())
    for side in ("new_in_old", "old_in_new"):
        for part in ("starts", "ids", "offsets"):
            assert np.array_equal(getattr(getattr(again, side), part), getattr(getattr(made, side), part))
    assert told["shared"] == len(made.shared[0]) and told["new_tokens"] == len(made.new_in_old)
    assert "shared tokens" in mws("map", tmp_path / "old", tmp_path / "new", "-o", file).stdout


def test_the_command_refuses_in_one_line(tmp_path):
    save(llama3_like(), tmp_path / "old")
    before = (tmp_path / "old" / "tokenizer.json").read_bytes()
    for arguments, message in (
        ([tmp_path / "old", tmp_path / "none", "-o", tmp_path / "x"], "none"),
        ([tmp_path / "old", tmp_path / "old", "-o", tmp_path / "old"], "old"),
        ([tmp_path / "old", tmp_path / "old" / "tokenizer.json", "-o", tmp_path / "old" / "tokenizer.json"], "over"),
    ):
        done = mws("map", *arguments)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and message in done.stderr, done.stderr
    assert not (tmp_path / "x").exists() and (tmp_path / "old" / "tokenizer.json").read_bytes() == before
    (tmp_path / "x").write_text("no map", encoding="utf-8")
    with pytest.raises(MwSError, match="not a map"):
        TokenMap.load(tmp_path / "x")
