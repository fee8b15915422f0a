"""SentencePiece BPE and Unigram (Kudo & Richardson 2018), trained by its library, rewritten as tokenizer.json.

Beside it the Unigram trainer of `tokenizers` (EM and pruning, Viterbi), with byte fallback added.
"""

from __future__ import annotations

import io
import json
import struct
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from mws_hf.errors import MwSError
from mws_hf.evaluate.formats import needed
from mws_hf.research.baselines.feed import Task, rewritten, tokenizer_like, train_on_counts
from mws_hf.text.special import BYTE_TOKENS

UNKNOWN_PIECE = "<unk>"
_STEP = 1e-4

Pieces: TypeAlias = list[tuple[str, float]]


def build_unigram(task: Task) -> Tokenizer:
    """Build Unigram (Kudo 2018) on the pre-tokens of the counts; a leading space belongs to its piece as a space.

    The library adds floats in an order that changes from run to run: pieces agree between runs but for near ties, and
    scores to about 1e-10. `settled` removes what of this can be removed.
    """
    reserved = list(dict.fromkeys((*task.special_tokens, UNKNOWN_PIECE)))
    # the trainer refuses sizes below the number of characters, and counts an <unk> of its own
    room = max(task.vocab_size - len(reserved) - len(BYTE_TOKENS), len(set().union(*task.counts.words)))
    learner = Tokenizer(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=room + 1,
        unk_token=UNKNOWN_PIECE,
        special_tokens=[],
        show_progress=False,
    )
    train_on_counts(learner, trainer, dict(task.counts.items()))
    taken = {*reserved, *BYTE_TOKENS}
    vocab = json.loads(learner.to_str())["model"]["vocab"]
    pieces = settled([(piece, score) for piece, score in vocab if piece not in taken])
    worst = min((score for _, score in pieces), default=0.0) - 100.0  # so that no text is cut into reserved tokens
    entries = [*((token, worst) for token in (*reserved, *BYTE_TOKENS)), *pieces]
    model = models.Unigram(entries, unk_id=reserved.index(UNKNOWN_PIECE), byte_fallback=True)
    decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    special = [token for token in task.special_tokens if token != UNKNOWN_PIECE]
    return tokenizer_like(task.counts, model, decoder, special)


def settled(pieces: Pieces) -> Pieces:
    """Put pieces in one order: score descending, then code point, scores rounded to 1e-9.

    Characters the trainer would have pruned get the lowest score plus a multiple of 1e-4 each, in an order that differs
    from run to run; here they get these scores in code-point order.
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


SPACE = "▁"
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6  # types of pieces in sentencepiece_model.proto
_THREADS = 2  # fixed: Unigram's sums depend on how sentences are shared out


class _Piece(NamedTuple):
    text: str
    score: float
    type: int


def _build(kind: Literal["bpe", "unigram"], task: Task, **options: Any) -> Tokenizer:
    return tokenizer_of(train_model(kind, task, **options))


build_sentence_piece_bpe, build_sentence_piece_unigram = partial(_build, "bpe"), partial(_build, "unigram")
build_lossless_unigram = partial(_build, "unigram", normalization="identity", character_coverage=1.0)


def train_model(
    kind: Literal["bpe", "unigram"],
    task: Task,
    *,
    character_coverage: float = 0.9995,
    user_defined_symbols: Sequence[str] = (),
    normalization: Literal["nfkc", "identity"] = "nfkc",
) -> bytes:
    """Train on word<TAB>count lines with the word mark ``▁``; return the library's model file.

    Special tokens become control symbols. `character_coverage` is the share of character occurrences that get a token;
    the others fall back to bytes. `user_defined_symbols` are always one token.
    The normalization "identity" also keeps every space: decoding then gives the text back.
    """
    spm = needed("sentencepiece")
    words = rewritten(task.counts, with_word_marks)
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
                user_defined_symbols=list(user_defined_symbols),
                byte_fallback=True,
                num_threads=_THREADS,
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            raise MwSError(f"SentencePiece cannot train a vocabulary of {task.vocab_size}: {error}") from error
    return model.getvalue()


def with_word_marks(pre_token: str) -> list[str]:
    """Put the word mark before a pre-token that starts with a space or a letter; white space alone is no word.

    >>> with_word_marks(" дом"), with_word_marks("дом"), with_word_marks("-то"), with_word_marks(" ")
    (['▁дом'], ['▁дом'], ['-то'], [])
    """
    word = pre_token.strip()
    if not word or word.split() != [word]:
        return []
    return [SPACE + word if pre_token[0].isspace() or word[0].isalpha() else word]


def tokenizer_of(model: bytes) -> Tokenizer:
    """Rewrite a SentencePiece model as a tokenizer with the same ids.

    A text gets the mark ``▁`` in front, as SentencePiece does by default (the training words carried it already). One
    thing differs: a space before a control or user-defined symbol is lost, as in transformers' own converters.
    """
    fields = list(_fields(model))
    trainer, normalizer = (dict(_fields(dict(fields)[number])) for number in (2, 3))  # specs in ModelProto
    pieces = [_piece(message) for number, message in fields if number == 1]
    unknown = next(i for i, piece in enumerate(pieces) if piece.type == _UNKNOWN)
    byte_fallback = any(piece.type == _BYTE for piece in pieces)
    if trainer.get(3, 1) == 1:  # model_type: unigram
        kind: Any = models.Unigram([piece[:2] for piece in pieces], unk_id=unknown, byte_fallback=byte_fallback)
    else:
        ordinary = {piece.text: i for i, piece in enumerate(pieces) if piece.type == _NORMAL}
        kind = models.BPE(
            vocab={piece.text: i for i, piece in enumerate(pieces)},
            merges=merges_of(ordinary),
            unk_token=pieces[unknown].text,
            fuse_unk=True,
            byte_fallback=byte_fallback,
        )
    tokenizer = Tokenizer(kind)
    squeezes = bool(normalizer.get(4, 1))  # remove_extra_whitespaces
    steps: list[normalizers.Normalizer] = [normalizers.Precompiled(normalizer[2])] if normalizer.get(2) else []
    if squeezes:
        steps += [normalizers.Strip(left=False), normalizers.Replace(Regex(" {2,}"), " ")]
    else:
        steps += [normalizers.Prepend(SPACE)]  # also before a space, which a text may begin with
    tokenizer.normalizer = normalizers.Sequence(steps)
    scheme = "first" if squeezes else "never"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme=scheme)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([piece.text for piece in pieces if piece.type == _CONTROL])
    fixed = [piece.text for piece in pieces if piece.type == _USER_DEFINED]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in fixed])
    return tokenizer


def merges_of(pieces: dict[str, int]) -> list[tuple[str, str]]:
    """List the merges a BPE vocabulary implies: all ways to make each piece of two others, the better piece first.

    SentencePiece joins the two neighbours whose product is the best piece, whatever they are.

    >>> merges_of({"ab": 0, "abc": 1, "a": 2, "b": 3, "c": 4, "bc": 5})
    [('a', 'b'), ('ab', 'c'), ('a', 'bc'), ('b', 'c')]
    """
    merges: list[tuple[str, str]] = []
    for piece in sorted(pieces, key=pieces.__getitem__):
        ways = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        known = [pair for pair in ways if pair[0] in pieces and pair[1] in pieces]
        merges += sorted(known, key=lambda pair: (pieces[pair[0]], pieces[pair[1]]))
    return merges


def _piece(message: bytes) -> _Piece:
    fields = dict(_fields(message))
    return _Piece(fields[1].decode("utf-8"), struct.unpack("<f", fields.get(2, bytes(4)))[0], fields.get(3, _NORMAL))


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Read fields of a protocol-buffer message as (number, integer or bytes), so that no protobuf library is needed."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        size, at = ({1: 8, 5: 4}[kind], at) if kind in (1, 5) else _varint(message, at)
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    end = next(i for i in range(at, len(message)) if message[i] < 128) + 1
    return sum((byte & 127) << 7 * i for i, byte in enumerate(message[at:end])), end
