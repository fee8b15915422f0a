"""All rival systems by name, and the two functions that train and load any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mws_hf.baselines.bpe import build_byte_bpe, build_character_bpe
from mws_hf.baselines.end_of_word import build_end_of_word, build_final_low_line
from mws_hf.baselines.model import Baseline, Model, as_baseline, read_description, save
from mws_hf.baselines.morfessor_baseline import MorfessorModel, build_frequent, build_morfessor
from mws_hf.baselines.sentence_piece import build_sentence_piece_bpe, build_sentence_piece_unigram
from mws_hf.baselines.top_down import RESERVED, build_top_down
from mws_hf.baselines.trivial import build_characters, build_words
from mws_hf.baselines.unigram import build_unigram
from mws_hf.baselines.word_piece import build_library, build_likelihood
from mws_hf.errors import MwSError
from mws_hf.evaluate.encoder import load_encoder
from mws_hf.special import DEFAULT_SPECIAL_TOKENS, check_special_tokens
from mws_hf.words.counts import WordCounts


@dataclass(frozen=True)
class System:
    """A rival system.

    Attributes:
        description: one line.
        build: counts, vocabulary size and keyword options -> a trained model.
        reserved: special tokens it adds to those asked for.
        sized: False when the vocabulary size has no effect.
    """

    description: str
    build: Callable[..., Model]
    reserved: tuple[str, ...] = ()
    sized: bool = True


BASELINES: dict[str, System] = {
    "bpe-byte": System("byte-level BPE by frequency, GPT-2 style", build_byte_bpe),
    "bpe": System("character-level BPE by frequency; pre-tokenizer and byte fallback as MwS", build_character_bpe),
    "bpe-end-of-word": System("BPE with </w> after each word, merges by frequency", build_end_of_word),
    "bpe-low-line": System("the same with a final ▁, lower-cased, trailing punctuation stripped", build_final_low_line),
    "wordpiece": System("WordPiece by the trainer of tokenizers (frequency)", build_library),
    "wordpiece-likelihood": System("WordPiece, highest b/(u_l*u_r) first", build_likelihood),
    "wordpiece-top-down": System("WordPiece from long substrings down, as TensorFlow Text", build_top_down, RESERVED),
    "unigram": System("Unigram by EM and pruning, with byte fallback", build_unigram),
    "sentencepiece-bpe": System("SentencePiece BPE: NFKC, word mark ▁", build_sentence_piece_bpe),
    "sentencepiece-unigram": System("SentencePiece Unigram: NFKC, word mark ▁", build_sentence_piece_unigram),
    "morfessor": System("Morfessor 2.0 Baseline on 30,000 words at most, a sample", build_morfessor, sized=False),
    "morfessor-frequent": System("the same on the most frequent ones, each once", build_frequent, sized=False),
    "characters": System("every character a token", build_characters, sized=False),
    "words": System("the most frequent words, all others unknown", build_words),
}


def train(
    name: str,
    counts: WordCounts,
    vocab_size: int,
    output_dir: str | os.PathLike[str] | None = None,
    *,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    show_progress: bool = False,
    **options: Any,
) -> Baseline:
    """Train a rival on word counts.

    Args:
        name: a key of `BASELINES`.
        counts: running-text counts, or `counts.as_types()` for each form once.
        vocab_size: entries of the vocabulary, special tokens, bytes and characters included; never exceeded unless the
            fixed part alone does.
        output_dir: where to save; None: not saved.
        special_tokens: get the first ids.
        show_progress: progress on stderr.
        **options: those of the system's builder, such as `iterations`, `max_types`, `character_coverage`.

    Returns:
        A segmenter; with `output_dir` also a directory that `load` reads, and `AutoTokenizer` where tokenizer.json can
        hold the system (all but Morfessor).

    Raises:
        MwSError: unknown name, no words, a library that is not installed, or a directory that cannot be written.

    >>> counts = WordCounts.from_mapping({" walks": 4, " walked": 3, " talks": 2}, pattern=" ?[a-z]+")
    >>> train("bpe", counts, 275).segment("walks")
    ['walks']
    """
    system = find(name)
    if len(counts) == 0:
        raise MwSError(f"{name}: no words to learn from; give counts with at least one word")
    tokens = check_special_tokens(special_tokens)
    model = system.build(counts, vocab_size, special_tokens=tokens, show_progress=show_progress, **options)
    if output_dir is None:
        return as_baseline(name, model, None)
    about = {"vocab_size": vocab_size, "words": len(counts), "options": options}
    directory = save(name, model, output_dir, dict.fromkeys((*tokens, *system.reserved)), about)
    return as_baseline(name, model, directory)


def load(directory: str | os.PathLike[str]) -> Baseline:
    """Read a directory that `train` wrote.

    Raises:
        MwSError: it was not, or a file is damaged.
    """
    path = Path(directory)
    name = str(read_description(path)["system"])
    find(name)
    if name.startswith("morfessor"):
        return as_baseline(name, MorfessorModel.load(path), path)
    encoder = load_encoder(path)
    return Baseline(name, encoder, encoder.vocabulary_size, path)


def find(name: str) -> System:
    """The system of a name.

    Raises:
        MwSError: there is none; the message lists all.
    """
    if name not in BASELINES:
        raise MwSError(f"unknown system {name!r}; choose one of {', '.join(BASELINES)}")
    return BASELINES[name]
