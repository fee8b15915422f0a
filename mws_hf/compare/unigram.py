"""Baselines Unigram (Kudo 2018) by `tokenizers` and by SentencePiece, and BPE by SentencePiece.

Unigram by `tokenizers` gets byte fallback. Models of SentencePiece are converted to tokenizer.json.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tokenizers import Tokenizer, decoders, models, trainers

from mws_hf.compare.feed import Task, divided, rewritten, tokenizer_like, train_on_counts
from mws_hf.errors import MwSError, needed
from mws_hf.text.symbols import BYTE_TOKENS
from mws_hf.tokenizer.foreign import SPACE, tokenizer_of

UNKNOWN_PIECE = "<unk>"
_STEP = 1e-4
_THREADS = 2
"""The threads of a training. Their number is fixed, because sums depend on how sentences are divided among them."""

Pieces: TypeAlias = list[tuple[str, float]]


def build_unigram(task: Task) -> Tokenizer:
    """Build Unigram (Kudo 2018) on the pre-tokens of the counts; the space before a word is part of its first token.

    The library adds floats in an order that varies between runs, so scores agree only to about 1e-10, and tokens with
    nearly equal scores may differ. `stabilized` removes as much of this variation as possible.
    """
    reserved = list(dict.fromkeys((*task.special_tokens, UNKNOWN_PIECE)))
    # the trainer rejects sizes below the number of characters, and adds its own <unk>
    n_pieces = max(task.vocab_size - len(reserved) - len(BYTE_TOKENS), len(set().union(*task.counts.words)))
    learner = Tokenizer(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=n_pieces + 1,
        unk_token=UNKNOWN_PIECE,
        special_tokens=[],
        show_progress=False,
    )
    train_on_counts(learner, trainer, dict(task.counts.items()))
    taken = {*reserved, *BYTE_TOKENS}
    vocab = json.loads(learner.to_str())["model"]["vocab"]
    pieces = stabilized([(piece, score) for piece, score in vocab if piece not in taken])
    # so low a score that no text is segmented into reserved tokens
    worst = min((score for _, score in pieces), default=0.0) - 100.0
    entries = [*((token, worst) for token in (*reserved, *BYTE_TOKENS)), *pieces]
    model = models.Unigram(entries, unk_id=reserved.index(UNKNOWN_PIECE), byte_fallback=True)
    decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    special = [token for token in task.special_tokens if token != UNKNOWN_PIECE]
    return tokenizer_like(task.counts, model, decoder, special)


def stabilized(pieces: Pieces) -> Pieces:
    """Remove the variation between runs from tokens and their scores (log probabilities).

    Tokens are sorted by descending score, then by code point, and scores are rounded to 1e-9.

    Characters that the trainer would have pruned get the lowest score plus multiples of 1e-4, in an order that varies
    between runs. This function assigns the same scores in the order of code points.
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


def build_sentence_piece(kind: Literal["bpe", "unigram"], task: Task, **options: Any) -> Tokenizer:
    """Build BPE or Unigram by SentencePiece, with the options of `train_model`."""
    return tokenizer_of(train_model(kind, task, **options), dummy_prefix=True)  # the training words had the mark


def train_model(
    kind: Literal["bpe", "unigram"],
    task: Task,
    *,
    character_coverage: float = 0.9995,
    normalization: Literal["nfkc", "identity"] = "nfkc",
) -> bytes:
    """Train SentencePiece on word counts, and return the content of its model file.

    Args:
        kind: the model type.
        task: the training words, which get the word mark ``▁``, and special tokens, which become control symbols.
        character_coverage: the share of all occurrences of characters that is covered by characters with a token; other
            characters are spelled in bytes.
        normalization: normalization by SentencePiece. "identity" also keeps every space, so that decoding returns the
            text unchanged.

    Raises:
        MwSError: SentencePiece is not installed, or cannot train a vocabulary of this size.
    """
    spm = needed("sentencepiece")
    words = divided(rewritten(task.counts, with_word_marks))  # its Unigram trainer repeats each word, too
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "words.tsv"
        table.write_text("".join(f"{w}\t{c}\n" for w, c in words.items()), encoding="utf-8", newline="\n")
        try:
            spm.SentencePieceTrainer.train(
                input=str(table),
                input_format="tsv",
                model_writer=model,
                model_type=kind,
                vocab_size=task.vocab_size,
                hard_vocab_limit=False,
                normalization_rule_name=normalization,
                remove_extra_whitespaces=normalization != "identity",
                add_dummy_prefix=False,
                character_coverage=character_coverage,
                control_symbols=[token for token in task.special_tokens if token not in ("<unk>", "<s>", "</s>")],
                byte_fallback=True,
                num_threads=_THREADS,
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            raise MwSError(
                f"SentencePiece cannot train a vocabulary of {task.vocab_size} ({error}); choose another size"
            ) from error
    return model.getvalue()


def with_word_marks(pre_token: str) -> list[str]:
    """Put the word mark before a pre-token that starts with a space or a letter; white space only gives no word.

    >>> with_word_marks(" дом"), with_word_marks("дом"), with_word_marks("-то"), with_word_marks(" ")
    (['▁дом'], ['▁дом'], ['-то'], [])
    """
    word = pre_token.strip()
    if not word or word.split() != [word]:
        return []
    return [SPACE + word if pre_token[0].isspace() or word[0].isalpha() else word]
