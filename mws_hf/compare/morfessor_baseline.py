"""Baselines Morfessor 2.0 (Creutz & Lagus 2005; Virpioja et al. 2013), which only segments words, and MorphBPE.

Training Morfessor on 30,000 words takes one or two minutes. From a longer list it therefore learns only 30,000 words: a
`sample`, in which most words are rare, or the most frequent words, which often give better results (`build_frequent`).

MorphBPE (Asgari et al. 2025) without labels is BPE by frequency that never merges across the boundaries of Morfessor,
because the learner gets each segment as a separate word. The tokenizer itself is a standard tokenizer.json that does
not run Morfessor, so when it encodes, a merge applies wherever its pair occurs.
"""

from __future__ import annotations

import hashlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from pathlib import Path

from tokenizers import Tokenizer

from mws_hf.atomic import write_text
from mws_hf.compare.bpe import build_character_bpe
from mws_hf.compare.feed import Task
from mws_hf.compare.word_piece import bert_words
from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError, needed
from mws_hf.tokenizer.foreign import morfessor_segments

MAX_TYPES = 30_000
"""Maximum number of distinct words that Morfessor learns from."""
MAX_WORD_CHARACTERS = 100
"""Maximum length in characters of a word that Morfessor learns from; the time of its search is quadratic in it."""


class MorfessorModel:
    """A trained Morfessor model.

    Args:
        segmentations: the count and the segments of each training word.
    """

    def __init__(self, segmentations: Sequence[tuple[int, Sequence[str]]]) -> None:
        self._segmentations = [(count, list(pieces)) for count, pieces in segmentations]
        self._model = needed("morfessor").BaselineModel()
        self._model.load_segmentations([(count, "".join(pieces), pieces) for count, pieces in self._segmentations])

    def segment(self, word: str, smoothing: float = 0) -> list[str]:
        """Segment a word with the Viterbi algorithm; the word may contain characters that the training did not see."""
        return morfessor_segments(self._model, word, smoothing)

    def save(self, file: Path) -> None:
        """Write the model in the format of ``morfessor-train -S``, which `mws_hf.tokenizer.opened` opens."""
        lines = (f"{count} {' + '.join(pieces)}\n" for count, pieces in self._segmentations)
        write_text(file, "".join(lines))

    def __len__(self) -> int:
        """Return the number of distinct segments."""
        return len({piece for _, pieces in self._segmentations for piece in pieces})


def build_morfessor(task: Task, max_types: int = MAX_TYPES) -> MorfessorModel:
    """Train Morfessor Baseline with its default settings; the vocabulary size has no effect.

    Pre-tokens are split into words as for WordPiece. Words of more than `MAX_WORD_CHARACTERS` are left out. From a list
    of more than `max_types` words a `sample` is learned.
    """
    words = _words(task.counts)
    return _train_morfessor({word: words[word] for word in sample(words, max_types)})


def build_frequent(task: Task, max_types: int = MAX_TYPES) -> MorfessorModel:
    """Train Morfessor Baseline on the `max_types` most frequent words, each once; hashes decide between equal ones."""
    words = _words(task.counts)
    chosen = nsmallest(max_types, words, key=lambda word: (-words[word], _hash(word), word))
    return _train_morfessor(dict.fromkeys(chosen, 1))


def sample(words: Iterable[str], size: int) -> list[str]:
    """Choose the `size` words with the smallest BLAKE2b hashes, and keep their order; return a shorter list whole.

    The choice depends only on the words. Taking the first words would not work, because a sorted list begins with words
    in "a".
    """
    listed = list(words)
    if len(listed) <= size:
        return listed
    chosen = set(nsmallest(size, listed, key=lambda word: (_hash(word), word)))
    return [word for word in listed if word in chosen]


def _hash(word: str) -> bytes:
    return hashlib.blake2b(word.encode(), digest_size=8).digest()


def _words(counts: WordCounts) -> dict[str, int]:
    words = {
        word: count
        for word, count in bert_words(counts).items()
        if len(word) <= MAX_WORD_CHARACTERS and word.split() == [word]  # one word of 3,000 characters took two minutes
    }
    if not words:
        raise MwSError(
            f"Morfessor: there are no words of at most {MAX_WORD_CHARACTERS} characters to learn from; give more text"
        )
    return words


def _train_morfessor(words: Mapping[str, int]) -> MorfessorModel:
    library = needed("morfessor")
    logging.getLogger("morfessor").setLevel(logging.WARNING)
    library.utils.show_progress_bar = False
    model = library.BaselineModel()
    model.load_data([(count, word) for word, count in words.items()])
    state = random.getstate()
    random.seed(0)  # the library shuffles the words with the global generator
    try:
        model.train_batch()
    finally:
        random.setstate(state)
    return MorfessorModel([(int(count), list(map(str, pieces))) for count, _, pieces in model.get_segmentations()])


def build_morph_bpe(task: Task, max_types: int = MAX_TYPES) -> Tokenizer:
    """Build character-level BPE within the segments of Morfessor, trained on the `max_types` most frequent words."""
    model = build_frequent(task, max_types)
    # smoothing 1, as in the published results
    return build_character_bpe(replace(task, counts=count_segments(task.counts, lambda word: model.segment(word, 1))))


def count_segments(counts: WordCounts, segment: Callable[[str], Sequence[str]]) -> WordCounts:
    """Count the segments of words instead of the words, so that no pair across a boundary is learned.

    Pre-tokens that are not words of letters stay whole, and so do words that are too long for Morfessor. The space
    before a word belongs to its first segment.

    >>> words = WordCounts.from_mapping({" kutyák": 3, "kutya": 2, "ák": 1, " 12": 4}, pattern="")
    >>> sorted(count_segments(words, lambda word: [word[:4], word[4:]] if len(word) > 4 else [word]).items())
    [(' 12', 4), (' kuty', 3), ('a', 2), ('kuty', 2), ('ák', 4)]
    """
    pieces: Counter[str] = Counter()
    for pre_token, count in counts.items():
        word = pre_token.removeprefix(" ")
        first, *others = segment(word) if word.isalpha() and len(word) <= MAX_WORD_CHARACTERS else [word]
        pieces[pre_token[: len(pre_token) - len(word)] + first] += count
        for piece in others:
            pieces[piece] += count
    return WordCounts.from_mapping(pieces, pattern=counts.pattern, normalization=counts.normalization)
