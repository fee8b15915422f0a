"""Unigram language model tokenizer by the library's trainer (EM and pruning, Viterbi), with byte fallback added."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias

from tokenizers import Tokenizer, decoders, models, trainers

from mws_hf.research.baselines.feed import Task, tokenizer_like, train_on_counts
from mws_hf.text.special import BYTE_TOKENS

UNKNOWN_PIECE = "<unk>"
_STEP = 1e-4

Pieces: TypeAlias = list[tuple[str, float]]


def build_unigram(task: Task) -> Tokenizer:
    """Build Unigram (Kudo 2018) on the pre-tokens of the counts; a leading space belongs to its piece as a space.

    The library adds floats in an order that changes from run to run: pieces agree between runs but for near ties, and
    scores to about 1e-10. `settled` removes what of this can be removed.
    Entries: special tokens, ``<unk>``, 256 byte tokens, pieces (all characters among them).
    """
    reserved = list(dict.fromkeys((*task.special_tokens, UNKNOWN_PIECE)))
    # the trainer refuses sizes below the number of characters, and counts an <unk> of its own
    room = max(task.vocab_size - len(reserved) - len(BYTE_TOKENS), len(set().union(*task.counts.words)))
    learner = Tokenizer(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=room + 1,
        unk_token=UNKNOWN_PIECE,
        special_tokens=[],
        show_progress=task.show_progress,
    )
    train_on_counts(learner, trainer, dict(task.counts.items()))
    taken = {*reserved, *BYTE_TOKENS}
    vocab = json.loads(learner.to_str())["model"]["vocab"]
    model = _byte_fallback_model(reserved, settled([(piece, score) for piece, score in vocab if piece not in taken]))
    decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    special = [token for token in task.special_tokens if token != UNKNOWN_PIECE]
    return tokenizer_like(task.counts, model, decoder, special)


def settled(pieces: Pieces) -> Pieces:
    """Put pieces in one order: score descending, then code point, scores rounded to 1e-9.

    Characters the trainer would have pruned get the lowest score plus a multiple of 1e-4 each, in an order that differs
    from run to run; here they get these scores in code-point order.

    >>> settled([("ab", -1.0), ("a", -2.9999), ("b", -3.0), ("cd", -3.0)])
    [('ab', -1.0), ('b', -2.9999), ('a', -3.0), ('cd', -3.0)]
    """
    if not pieces:
        return []
    lowest = min(score for _, score in pieces)
    forced: dict[str, int] = {}
    for piece, score in pieces:
        step = (score - lowest) / _STEP
        if len(piece) == 1 and step < len(pieces) and abs(step - round(step)) < 1e-3:
            forced[piece] = round(step)
    steps = dict(zip(sorted(forced), sorted(forced.values()), strict=True))
    scores = {piece: round(lowest + _STEP * steps[piece] if piece in steps else score, 9) for piece, score in pieces}
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _byte_fallback_model(reserved: Sequence[str], pieces: Pieces) -> models.Unigram:
    """Make a model whose ids are: reserved tokens, byte tokens, pieces in the order given.

    Reserved and byte tokens score far below all pieces, so that Viterbi never prefers one that stands in text.
    """
    worst = min((score for _, score in pieces), default=0.0) - 100.0
    vocab = [*((token, worst) for token in (*reserved, *BYTE_TOKENS)), *pieces]
    return models.Unigram(vocab, unk_id=reserved.index(UNKNOWN_PIECE), byte_fallback=True)
