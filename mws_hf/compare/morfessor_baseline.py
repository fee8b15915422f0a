"""Morfessor 2.0 Baseline (Creutz & Lagus 2005; Virpioja et al. 2013): minimum description length; a segmenter only.

Its training takes one or two minutes for 30,000 words, so of a longer list it learns from 30,000: a `sample`, mostly of
rare words, or the most frequent ones, which often serve it better (`build_frequent`).

MorphBPE (Asgari et al. 2025) without labels is BPE by frequency that merges nothing across Morfessor's boundaries: the
learner sees the segments as if each were a word of its own. The stock tokenizer.json made of the merges knows no
Morfessor: there they apply wherever their pair stands.
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
from mws_hf.tokenizer.foreign import morfessor_cut

MAX_TYPES = 30_000
MAX_LENGTH = 100


class MorfessorModel:
    """A trained Morfessor model, made of count and pieces of each training word."""

    def __init__(self, segmentations: Sequence[tuple[int, Sequence[str]]]) -> None:
        self._segmentations = [(count, list(pieces)) for count, pieces in segmentations]
        self._model = needed("morfessor").BaselineModel()
        self._model.load_segmentations([(count, "".join(pieces), pieces) for count, pieces in self._segmentations])

    def segment(self, word: str, smoothing: float = 0) -> list[str]:
        """Cut a word in the cheapest way (Viterbi); a word with unseen characters is cut as well as it can be."""
        return morfessor_cut(self._model, word, smoothing)

    def save(self, file: Path) -> None:
        """Write the model as ``morfessor-train -S`` does, which `mws_hf.tokenizer.opened` opens."""
        lines = (f"{count} {' + '.join(pieces)}\n" for count, pieces in self._segmentations)
        write_text(file, "".join(lines))

    def __len__(self) -> int:
        return len({piece for _, pieces in self._segmentations for piece in pieces})


def build_morfessor(task: Task, max_types: int = MAX_TYPES) -> MorfessorModel:
    """Train Morfessor Baseline with its default settings; it finds its own lexicon size, whatever is asked for.

    Pre-tokens are cut into words as for WordPiece; words of more than `MAX_LENGTH` characters are left out, and of
    longer lists than `max_types` a `sample` is learnt from.
    """
    words = _words(task.counts)
    return _learnt({word: words[word] for word in sample(words, max_types)})


def build_frequent(task: Task, max_types: int = MAX_TYPES) -> MorfessorModel:
    """Train Morfessor Baseline on the `max_types` most frequent words, each once; of equal counts on a `sample`."""
    words = _words(task.counts)
    chosen = nsmallest(max_types, words, key=lambda word: (-words[word], _hash(word), word))
    return _learnt(dict.fromkeys(chosen, 1))


def sample(words: Iterable[str], size: int) -> list[str]:
    """Choose the `size` words with the smallest BLAKE2b hashes, in their old order; all when there are no more.

    The choice depends on the words alone; the first of a list without counts all begin with "a".
    """
    listed = list(words)
    if len(listed) <= size:
        return listed
    chosen = set(nsmallest(size, listed, key=lambda word: (_hash(word), word)))
    return [word for word in listed if word in chosen]


def _hash(word: str) -> bytes:
    return hashlib.blake2b(word.encode(), digest_size=8).digest()


def _words(counts: WordCounts) -> dict[str, int]:
    # its search is quadratic in the length of a word: 3,000 characters in one piece took two minutes
    cut = bert_words(counts)
    words = {word: count for word, count in cut.items() if len(word) <= MAX_LENGTH and word.split() == [word]}
    if not words:
        raise MwSError(f"Morfessor: no words of at most {MAX_LENGTH} characters to learn from; give more text")
    return words


def _learnt(words: Mapping[str, int]) -> MorfessorModel:
    library = needed("morfessor")
    logging.getLogger("morfessor").setLevel(logging.WARNING)
    library.utils.show_progress_bar = False
    model = library.BaselineModel()
    model.load_data([(count, word) for word, count in words.items()])
    state = random.getstate()
    random.seed(0)  # the library shuffles the words of each epoch with the global generator
    try:
        model.train_batch()
    finally:
        random.setstate(state)
    return MorfessorModel([(int(count), list(map(str, pieces))) for count, _, pieces in model.get_segmentations()])


def build_morph_bpe(task: Task, max_types: int = MAX_TYPES) -> Tokenizer:
    """Build character-level BPE inside the segments of Morfessor, learnt from the `max_types` most frequent words."""
    model = build_frequent(task, max_types)
    # the published rows were learnt from words cut as the library cuts
    return build_character_bpe(replace(task, counts=within_cuts(task.counts, lambda word: model.segment(word, 1))))


def within_cuts(counts: WordCounts, cut: Callable[[str], Sequence[str]]) -> WordCounts:
    """Count the pieces of words instead of words, so that a learner of merges sees no pair across a cut.

    Pre-tokens that are no word of letters stay in one piece, and so do words too long for Morfessor; a space before a
    word goes with its first piece.

    >>> words = WordCounts.from_mapping({" kutyák": 3, "kutya": 2, "ák": 1, " 12": 4}, pattern="")
    >>> sorted(within_cuts(words, lambda word: [word[:4], word[4:]] if len(word) > 4 else [word]).items())
    [(' 12', 4), (' kuty', 3), ('a', 2), ('kuty', 2), ('ák', 4)]
    """
    pieces: Counter[str] = Counter()
    for pre_token, count in counts.items():
        word = pre_token.removeprefix(" ")
        first, *others = cut(word) if word.isalpha() and len(word) <= MAX_LENGTH else [word]
        pieces[pre_token[: len(pre_token) - len(word)] + first] += count
        for piece in others:
            pieces[piece] += count
    return WordCounts.from_mapping(pieces, pattern=counts.pattern, normalization=counts.normalization)
