"""All rival systems by name, and the two functions that train and load any of them."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tokenizers import Tokenizer

import mws_hf
import mws_hf.compare.bpe as bpe
import mws_hf.compare.morfessor_baseline as morfessor
import mws_hf.compare.sentence_piece as sentence_piece
import mws_hf.compare.word_piece as word_piece
from mws_hf.atomic import staged
from mws_hf.compare.feed import UNKNOWN, Task
from mws_hf.compare.morfessor_baseline import MorfessorModel
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.word_list import as_word_counts
from mws_hf.errors import MwSError
from mws_hf.learn.described import COUNT, check_range
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS, check_special_tokens, special_settings
from mws_hf.tokenizer.file import STOCK_MODULE, STOCK_SOURCE, load_json, portable_config
from mws_hf.tokenizer.opened import Opened, open_tokenizer

DESCRIPTION_FILE = "baseline.json"
MORFESSOR, SENTENCEPIECE = "morfessor", "sentencepiece"
Model: TypeAlias = Tokenizer | MorfessorModel


@dataclass(frozen=True)
class System:
    """A rival system."""

    description: str
    build: Callable[..., Model]  # of a `Task` and options
    reserved: tuple[str, ...] = ()  # special tokens it adds to the ones asked for
    sized: bool = True  # whether the vocabulary size has an effect
    needs: str | None = None  # a library beyond those of the package

    @property
    def installed(self) -> bool:
        """Whether the library it needs is there."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None


RIVALS: dict[str, System] = {
    "bpe-byte": System("byte-level BPE by frequency, GPT-2 style", bpe.build_byte_bpe),
    "bpe-character": System(
        "character-level BPE by frequency; pre-tokenizer and byte fallback as MwS", bpe.build_character_bpe
    ),
    "morph-bpe": System(
        "character-level BPE inside the segments of Morfessor (MorphBPE, no labels)",
        morfessor.build_morph_bpe,
        needs="morfessor",
    ),
    "bpe-end-of-word": System("BPE with </w> after each word, merges by frequency", bpe.build_end_of_word),
    "bpe-low-line": System(
        "the same with a final ▁, lower-cased, trailing punctuation stripped", bpe.build_final_low_line
    ),
    "wordpiece": System("WordPiece by the trainer of tokenizers (frequency)", word_piece.build_library),
    "wordpiece-likelihood": System("WordPiece, highest b/(u_l*u_r) first", word_piece.build_likelihood),
    "wordpiece-top-down": System(
        "WordPiece from long substrings down, as TensorFlow Text", word_piece.build_top_down, word_piece.RESERVED
    ),
    "unigram": System("Unigram by EM and pruning, with byte fallback", sentence_piece.build_unigram),
    "sentencepiece-bpe": System(
        "SentencePiece BPE: NFKC, word mark ▁", sentence_piece.build_sentence_piece_bpe, needs=SENTENCEPIECE
    ),
    "sentencepiece-unigram": System(
        "SentencePiece Unigram: NFKC, word mark ▁", sentence_piece.build_sentence_piece_unigram, needs=SENTENCEPIECE
    ),
    "sentencepiece-unigram-identity": System(
        "the same without normalization, every space kept: lossless",
        sentence_piece.build_lossless_unigram,
        needs="sentencepiece",
    ),
    "morfessor": System(
        "Morfessor 2.0 Baseline on 30,000 words at most, a sample",
        morfessor.build_morfessor,
        sized=False,
        needs="morfessor",
    ),
    "morfessor-frequent": System(
        "the same on the most frequent ones, each once", morfessor.build_frequent, sized=False, needs=MORFESSOR
    ),
    "characters": System("every character a token", bpe.build_characters, sized=False),
    "words": System("the most frequent words, all others unknown", bpe.build_words),
}


@dataclass(frozen=True)
class Rival:
    """A trained rival: its name in `RIVALS`, entries of its vocabulary, and the folder it was saved in, if it was.

    `source` is a segmenter where there is no tokenizer.json.
    """

    name: str
    source: Opened
    n_tokens: int
    directory: Path | None = None

    def segment(self, word: str) -> list[str]:
        """Cut a word as it stands inside a sentence; the pieces spell it. Marks such as ``##`` are not part of them."""
        return self.segment_all([word])[0]

    def segment_all(self, words: Sequence[str]) -> list[list[str]]:
        """Cut many words in one call, which is much faster than a call of `segment` for each."""
        return [list(pieces) for pieces in self.source.cut(words)]


def train(
    name: str,
    counts: WordCounts | Mapping[str, int],
    vocab_size: int,
    output_dir: str | os.PathLike[str] | None = None,
    *,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    **options: Any,
) -> Rival:
    """Train a rival on word counts, in any form that `corpus.word_list.as_word_counts` takes.

    Args:
        name: a key of `RIVALS`.
        counts: running-text counts, or `counts.as_types()` for each form once.
        vocab_size: entries of the vocabulary, special tokens, bytes and characters included; never exceeded unless the
            fixed part alone does.
        output_dir: folder to save in, for `load`, and for `AutoTokenizer` where tokenizer.json can hold the system (all
            but Morfessor); None: not saved.
        special_tokens: tokens that get the first ids.
        **options: options of the system's builder, such as `max_types`, `character_coverage`.

    Raises:
        MwSError: an unknown name, no words, a library that is not installed, or a directory that cannot be written.
    """
    system = _system(name)
    check_range("vocab_size", vocab_size, COUNT)
    counts = as_word_counts(counts)
    if len(counts) == 0:
        raise MwSError(f"{name}: no words to learn from; give counts with at least one word")
    tokens = check_special_tokens(special_tokens)
    model = system.build(Task(counts, vocab_size, tokens), **options)
    directory = None if output_dir is None else Path(output_dir)
    if directory is not None:
        about = {"system": name, "mws_hf": mws_hf.__version__, "vocab_size": vocab_size}
        about |= {"words": len(counts), "options": options}
        _save(model, directory, dict.fromkeys((*tokens, *system.reserved)), about)
    if isinstance(model, Tokenizer):
        return Rival(name, open_tokenizer(model), model.get_vocab_size(), directory)
    return Rival(name, open_tokenizer(model.segment), len(model), directory)


def load(directory: str | os.PathLike[str]) -> Rival:
    """Read a directory that `train` wrote; raises MwSError for any other, or a damaged file."""
    path = Path(directory)
    file = path / DESCRIPTION_FILE
    if not file.is_file():
        raise MwSError(f"{path}: holds no {DESCRIPTION_FILE}; give a directory that rivals.train wrote")
    description = load_json(file)
    if not isinstance(description, dict) or "system" not in description:
        raise MwSError(f"{file}: names no system; train it again")
    name = str(description["system"])
    _system(name)
    if name.startswith("morfessor"):
        model = MorfessorModel.load(path)
        return Rival(name, open_tokenizer(model.segment), len(model), path)
    opened = open_tokenizer(path, by_class=True)
    return Rival(name, opened, opened.vocabulary_size, path)


def _system(name: str) -> System:
    if name not in RIVALS:
        raise MwSError(f"unknown system {name!r}; choose one of {', '.join(RIVALS)}")
    return RIVALS[name]


def _save(model: Model, directory: Path, special_tokens: Iterable[str], about: dict[str, Any]) -> None:
    """Write a directory, all of it or nothing: tokenizer.json for `AutoTokenizer`, or the model's own text files."""
    with staged(directory) as stage:
        if isinstance(model, Tokenizer):
            model.save(str(stage / "tokenizer.json"))
            _write_json(stage / "tokenizer_config.json", _config(special_tokens))
            (stage / f"{STOCK_MODULE}.py").write_text(STOCK_SOURCE, encoding="utf-8")
        else:
            model.save(stage)
        _write_json(stage / DESCRIPTION_FILE, about)


def _config(special_tokens: Iterable[str]) -> dict[str, Any]:
    # the unknown token gets no role: transformers would drop it from decoded text
    tokens = [token for token in special_tokens if token != UNKNOWN]
    return portable_config({"model_max_length": 10**30, **special_settings(tokens)})


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
