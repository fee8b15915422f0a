"""Plain frequency BPE, `--composition 1 --hidden-boundary-price 0`, is `BpeTrainer` of `tokenizers` merge for merge."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from mws_hf import MwSTrainer
from mws_hf.text.pattern import DEFAULT_PATTERN
from mws_hf.tokenizer.backend import tables_of
from tests.small_corpus import running_text


def made_up(seed: int) -> list[str]:
    """Text with many ties: few letters, short words, capitals, digits, symbols, marks, astral characters."""
    choose = random.Random(seed)
    words = ["".join(choose.choices("абвab1😀A.\u0306", k=choose.randrange(1, 7))) for _ in range(60)]
    return [" ".join(choose.choices(words, k=8)) for _ in range(30)]


@pytest.mark.parametrize("lines", [running_text(), made_up(1), made_up(2)], ids=["small language", "ties", "more ties"])
def test_merges_and_ties_are_those_of_the_library(lines):
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), behavior="isolated")
    theirs.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=250, show_progress=False))
    wanted = tables_of(theirs)[1]
    trainer = MwSTrainer(composition=1, hidden_boundary_price=0, n_merges=len(wanted), show_progress=False)
    ours = trainer.train(lines).backend_tokenizer
    learnt = tables_of(ours)[1][-len(wanted) :]
    spelled = [
        tuple(ours.decoder.decode([part]) for part in pair) for pair in learnt
    ]  # in bytes; whole characters each, so that they can be read
    assert len(wanted) > 60
    assert spelled == wanted
    for line in lines:
        cut = Counter(theirs.encode(line).tokens)
        assert Counter(ours.decode([each]) for each in ours.encode(line).ids) == cut
