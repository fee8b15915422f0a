"""All baselines by name, and the function that trains one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tokenizers import Tokenizer

import mws_hf.compare.bpe as bpe
import mws_hf.compare.morfessor_baseline as morfessor
import mws_hf.compare.unigram as unigram
import mws_hf.compare.word_piece as word_piece
from mws_hf.atomic import staged
from mws_hf.compare.feed import UNKNOWN, Task
from mws_hf.compare.morfessor_baseline import MorfessorModel
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.word_list import as_word_counts
from mws_hf.errors import MwSError, is_installed
from mws_hf.learn.setting_rules import COUNT, check_range
from mws_hf.text.symbols import DEFAULT_SPECIAL_TOKENS, check_special_tokens, special_settings
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.tokenizer.saving import save_backend

MORFESSOR_FILE = "morfessor.txt"
MORFESSOR, SENTENCEPIECE = "morfessor", "sentencepiece"
Model: TypeAlias = Tokenizer | MorfessorModel


@dataclass(frozen=True)
class Baseline:
    """How to train one baseline.

    Attributes:
        build: the function that trains it, given a `Task` and options.
        needs: the name of a library that it needs in addition to the dependencies of the package; None if none.
        sized: whether the vocabulary size has an effect.
        reserved: special tokens that it adds to the given ones.
    """

    build: Callable[..., Model]
    needs: str | None = None
    sized: bool = True
    reserved: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Whether the library that it needs is installed."""
        return self.needs is None or is_installed(self.needs)


BASELINE_SYSTEMS: dict[str, Baseline] = {
    # BPE by frequency: over bytes, as in GPT-2; over characters, with the pre-tokenizer and byte fallback of MwS;
    # within the segments of Morfessor (MorphBPE, without labels); with </w> after each word; with a final ▁, on
    # lowercase text without trailing punctuation
    "bpe-byte": Baseline(bpe.build_byte_bpe),
    "bpe-character": Baseline(bpe.build_character_bpe),
    "morph-bpe": Baseline(morfessor.build_morph_bpe, MORFESSOR),
    "bpe-end-of-word": Baseline(bpe.build_end_of_word),
    "bpe-low-line": Baseline(bpe.build_final_low_line),
    # WordPiece: by the trainer of `tokenizers` (frequency); by the highest b/(u_l*u_r); from long substrings to short
    # ones, as in TensorFlow Text
    "wordpiece": Baseline(word_piece.build_library),
    "wordpiece-likelihood": Baseline(word_piece.build_likelihood),
    "wordpiece-top-down": Baseline(word_piece.build_top_down, reserved=word_piece.RESERVED),
    # Unigram by EM and pruning, with byte fallback; SentencePiece with NFKC; without normalization, with all spaces
    "unigram": Baseline(unigram.build_unigram),
    "sentencepiece-bpe": Baseline(partial(unigram.build_sentence_piece, "bpe"), SENTENCEPIECE),
    "sentencepiece-unigram": Baseline(partial(unigram.build_sentence_piece, "unigram"), SENTENCEPIECE),
    "sentencepiece-unigram-identity": Baseline(
        partial(unigram.build_sentence_piece, "unigram", normalization="identity", character_coverage=1.0),
        SENTENCEPIECE,
    ),
    # Morfessor 2.0 Baseline on at most 30,000 words: a sample; the most frequent ones, each once
    "morfessor": Baseline(morfessor.build_morfessor, MORFESSOR, sized=False),
    "morfessor-frequent": Baseline(morfessor.build_frequent, MORFESSOR, sized=False),
    # the two extremes: characters; the most frequent words, all others unknown
    "characters": Baseline(bpe.build_characters, sized=False),
    "words": Baseline(bpe.build_words),
}


class TrainedBaseline(NamedTuple):
    """A trained baseline, opened for evaluation.

    Attributes:
        source: the tokenizer, or a function that segments words if the model cannot be written as tokenizer.json.
        n_tokens: size of its vocabulary.
    """

    source: Opened
    n_tokens: int


def check_capitals(counts: WordCounts) -> None:
    """Raise MwSError if the counts contain markers for capitals, because no baseline inserts them when it encodes."""
    if counts.splitter.marks_capitals:
        raise MwSError(
            "the counts have a marker for capitals, which only MwS tokenizers write; count the text again without "
            "--capitals (Python: capitals=None) to train baselines"
        )


def train(
    name: str,
    counts: WordCounts | Mapping[str, int],
    vocab_size: int,
    output_dir: str | os.PathLike[str] | None = None,
    *,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    **options: Any,
) -> TrainedBaseline:
    """Train a baseline on word counts, in any form that `corpus.word_list.as_word_counts` takes.

    Args:
        name: a key of `BASELINE_SYSTEMS`.
        counts: counts of running text, or `counts.as_types()` for each word once.
        vocab_size: size of the vocabulary, including special tokens, bytes and characters; it is exceeded only if these
            need more.
        output_dir: folder to save the tokenizer in, for `AutoTokenizer`; a Morfessor model is saved as a text file in
            it (see `saved`). With None nothing is saved.
        special_tokens: tokens that get the first ids.
        **options: options of the function that builds the baseline, such as `max_types` or `character_coverage`.

    Returns:
        The trained baseline and its vocabulary size.

    Raises:
        MwSError: the name is unknown, the vocabulary size is not a number from 0 on, there are no words, a library is
            not installed, the folder cannot be written, or the counts contain markers for capitals.

    >>> trained = train("bpe-character", {" кот": 3, " кота": 2}, 270)
    >>> trained.n_tokens, trained.source.segment_words(["кота"])
    (267, [('кота',)])
    """
    if name not in BASELINE_SYSTEMS:
        raise MwSError(f"unknown system {name!r}; choose one of {', '.join(BASELINE_SYSTEMS)}")
    system = BASELINE_SYSTEMS[name]
    check_range("vocab_size", vocab_size, COUNT)
    counts = as_word_counts(counts).union
    if len(counts) == 0:
        raise MwSError(f"{name}: there are no words to learn from; give counts with at least one word")
    check_capitals(counts)
    tokens = check_special_tokens(special_tokens)
    model = system.build(Task(counts, vocab_size, tokens), **options)
    if output_dir is not None:
        with staged(Path(output_dir)) as stage:
            if isinstance(model, Tokenizer):
                reserved = dict.fromkeys((*tokens, *system.reserved))  # decoding skips tokens with a role
                save_backend(stage, model, special_settings([token for token in reserved if token != UNKNOWN]))
            else:
                model.save(stage / MORFESSOR_FILE)
    if isinstance(model, Tokenizer):
        return TrainedBaseline(open_tokenizer(model), model.get_vocab_size())
    return TrainedBaseline(open_tokenizer(model.segment), len(model))


def saved(directory: Path) -> Path:
    """Return the path to open after `train` wrote a folder: the folder itself, or the Morfessor model in it."""
    file = directory / MORFESSOR_FILE
    return file if file.is_file() else directory
