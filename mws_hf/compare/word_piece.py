"""Baselines WordPiece: by the published likelihood score, by the trainer of `tokenizers` (frequency), and top-down.

All three encode in the same way: a token inside a word begins with ``##``, the longest match is taken greedily, and a
word that cannot be spelled becomes ``[UNK]``. As in BERT, pre-tokens are split further at white space and punctuation,
and decoding joins words with one space.

Top-down training (as in TensorFlow Text) chooses long substrings first and subtracts their counts from those of their
prefixes. The substrings of all words are in one trie, stored as arrays per level, so that many thresholds can be tried
quickly and the best one is found by bisection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from mws_hf.compare.bpe import PairLearner, likelihood
from mws_hf.compare.feed import UNKNOWN, Task, numbered, rewritten, tokenizer_like, train_on_counts
from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.kernels import Longs, Mask

PREFIX = "##"
RESERVED = ("[PAD]", UNKNOWN, "[START]", "[END]")
MAX_TOKEN_CHARACTERS = 50
"""Maximum length of a token in characters, in top-down training."""
_PASSES = 4
"""Counting passes; from the second on, only substrings that start where a token of the last vocabulary starts count."""
_BERT = pre_tokenizers.BertPreTokenizer()


def build_likelihood(task: Task) -> Tokenizer:
    """Build WordPiece by merging the pair with the highest b / (u_l * u_r).

    Its entries are special tokens, ``[UNK]``, characters, and merges.
    """
    words = bert_words(task.counts)
    first = [*dict.fromkeys((*task.special_tokens, UNKNOWN)), *sorted({p for word in words for p in characters(word)})]
    learned = learn_likelihood(words, task.vocab_size - len(first))
    return word_piece_tokenizer([*first, *learned], task.counts, task.special_tokens)


def build_library(task: Task) -> Tokenizer:
    """Build WordPiece by the trainer of `tokenizers`, which is BPE by frequency with ``##``."""
    reserved = list(dict.fromkeys((*task.special_tokens, UNKNOWN)))
    words = bert_words(task.counts)
    learner = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    # ids break ties, and the trainer would number inner characters in the order of a hash map, which varies
    inner = sorted({PREFIX + character for word in words for character in word[1:]})
    trainer = trainers.WordPieceTrainer(
        vocab_size=task.vocab_size,
        special_tokens=[*reserved, *inner],
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    train_on_counts(learner, trainer, words)
    vocab = learner.get_vocab()
    return word_piece_tokenizer(sorted(vocab, key=vocab.__getitem__), task.counts, task.special_tokens)


def learn_likelihood(words: Mapping[str, int], n_tokens: int) -> list[str]:
    """List the new tokens of likelihood WordPiece in the order of their merges; the order of `words` breaks ties."""
    learner = PairLearner([characters(word) for word in words], words.values(), likelihood, join_pieces)
    return [join_pieces(*pair) for pair in learner.merges(n_tokens)]


def characters(word: str) -> list[str]:
    """Split a word into its initial tokens, such as ``h``, ``##u``, ``##g``."""
    return [word[:1], *(PREFIX + character for character in word[1:])]


def join_pieces(left: str, right: str) -> str:
    """Join two neighboring tokens."""
    return left + right.removeprefix(PREFIX)


def bert_words(counts: WordCounts) -> dict[str, int]:
    """Split pre-tokens with the pre-tokenizer of BERT (white space, punctuation), and count the words."""
    return rewritten(counts, lambda pre_token: [word for word, _ in _BERT.pre_tokenize_str(pre_token)])


def word_piece_tokenizer(tokens: Sequence[str], counts: WordCounts, special_tokens: Sequence[str]) -> Tokenizer:
    """Build a WordPiece tokenizer from a list of tokens, whose indices become the ids."""
    model = models.WordPiece(vocab=numbered(tokens), unk_token=UNKNOWN)
    return tokenizer_like(counts, model, decoders.WordPiece(prefix=PREFIX, cleanup=False), special_tokens, _BERT)


class _Substrings(NamedTuple):
    """All substrings of one length; each distinct one is a node of the trie, numbered from 0.

    Attributes:
        places: index of the first character of each occurrence, in the joined text of all words.
        nodes: node of each occurrence.
        parent: for each node, the node of its prefix that is one character shorter, in the level above.
        example: for each node, one of its `places`.
    """

    places: Longs
    nodes: Longs
    parent: Longs
    example: Longs


class Substrings:
    """A trie of the frequent substrings of weighted words.

    A substring at the beginning of a word and the same substring inside a word are different nodes.

    Args:
        words: the words with their counts.
        floor: only substrings that occur at least this often are extended by one more character.

    Attributes:
        starts: int64, shape (n_words,): index of the first character of each word in the joined text of all words.
        end: int64, shape (n_characters,): index after the last character of the word of each character.
        weight: int64, shape (n_characters,): count of the word of each character.
        levels: the substrings by length, those of one character first.
    """

    def __init__(self, words: Mapping[str, int], floor: int = 1) -> None:
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        self._text = "".join(words)
        points = np.frombuffer(self._text.encode("utf-32-le"), np.uint32).astype(np.int64)
        ends = np.cumsum(lengths)
        self.starts = ends - lengths
        self.end = np.repeat(ends, lengths)
        self.weight = np.repeat(np.fromiter(words.values(), np.int64, len(words)), lengths)
        self.levels: list[_Substrings] = []
        inner = np.ones(len(points), np.int64)
        inner[self.starts] = 0
        places, above = np.arange(len(points)), inner
        for length in range(1, MAX_TOKEN_CHARACTERS + 1):
            key = (above << 21) | points[places + length - 1]
            distinct, example, nodes = np.unique(key, return_index=True, return_inverse=True)
            level = _Substrings(places, nodes, distinct >> 21, places[example])
            self.levels.append(level)
            often = self._count(level)[nodes] >= floor
            extended = often & (places + length < self.end[places])
            places, above = places[extended], nodes[extended]
            if not len(places):
                break

    def _count(self, level: _Substrings, active: Mask | None = None) -> Longs:
        weight = self.weight[level.places]
        if active is not None:
            weight = weight * active[level.places]
        # sums of integers below 2^53 are exact in the float64 that bincount adds in
        return np.bincount(level.nodes, weight, len(level.parent)).astype(np.int64)

    def learn(self, threshold: int) -> list[tuple[Mask, Longs]]:
        """Choose the nodes that become tokens at one threshold; characters always do.

        The effective count of a node is its count minus the effective counts of the longer tokens that begin with it. A
        node becomes a token if its effective count reaches the threshold.

        Returns:
            For each length from 1 on, a mask of the chosen nodes and the effective counts of all nodes; both have shape
            (n_nodes of this length,).
        """
        active = None
        for _ in range(_PASSES):
            effective = self._effective([self._count(level, active) for level in self.levels], threshold)
            kept = [count >= threshold for count in effective]
            kept[0][:] = True
            active = self._split_points(kept)
        return list(zip(kept, effective, strict=True))

    def spell(self, learned: Sequence[tuple[Mask, Longs]]) -> list[str]:
        """List the strings of chosen tokens, by descending effective count, then by code point."""
        counted = [
            (-int(counts[node]), self._spell(length, node))
            for length, (kept, counts) in enumerate(learned, 1)
            for node in np.flatnonzero(kept).tolist()
        ]
        return [token for _, token in sorted(counted)]

    def missing_characters(self) -> list[str]:
        """List the forms of characters (initial or inner) that do not occur; with them, any word can be spelled."""
        present = {self._spell(1, node) for node in range(len(self.levels[0].parent))}
        return [form for c in sorted(set(self._text)) for form in (c, PREFIX + c) if form not in present]

    def _effective(self, counts: list[Longs], threshold: int) -> list[Longs]:
        effective = [np.empty(0, np.int64)] * len(counts)
        taken = np.zeros(len(counts[-1]), np.int64)
        for index in range(len(counts) - 1, -1, -1):
            effective[index] = counts[index] - taken
            if index:
                given = taken + np.where(effective[index] >= threshold, effective[index], 0)
                taken = np.zeros(len(counts[index - 1]), np.int64)
                np.add.at(taken, self.levels[index].parent, given)
        return effective

    def _split_points(self, kept: list[Mask]) -> Mask:
        """Mark where tokens start if all words are segmented by greedy longest match with the kept nodes."""
        longest = np.ones(len(self.end), np.int64)
        for length, (level, keep) in enumerate(zip(self.levels, kept, strict=True), 1):
            longest[level.places[keep[level.nodes]]] = length
        reached = np.zeros(len(self.end), bool)
        at = self.starts[self.starts < len(self.end)]
        while len(at):
            reached[at] = True
            following = at + longest[at]
            at = following[following < self.end[at]]
        return reached

    def _spell(self, length: int, node: int) -> str:
        place = int(self.levels[length - 1].example[node])
        inner = place > 0 and self.end[place - 1] == self.end[place]
        return (PREFIX if inner else "") + self._text[place : place + length]


def learn_top_down(words: Mapping[str, int], n_tokens: int) -> list[str]:
    """Choose tokens at the smallest threshold that gives at most `n_tokens` of them.

    There may be fewer, because the number of tokens falls in steps as the threshold rises. If there are more than
    `n_tokens` characters, only the characters are returned.

    Raises:
        MwSError: there are no words.

    >>> tokens = learn_top_down({"walked": 3, "walks": 2, "talked": 2}, 18)
    >>> len(tokens), [token for token in tokens if len(token.removeprefix("##")) > 1]
    (18, ['##alk', 'walked'])
    """
    if not words:
        raise MwSError("WordPiece top-down: there are no words to learn from; give counts with at least one word")
    ranked = sorted((count for word, count in words.items() if len(word) <= MAX_TOKEN_CHARACTERS), reverse=True)
    # every word whose count reaches the threshold is kept as a token, so that lower thresholds give too many
    low = ranked[n_tokens] + 1 if 0 <= n_tokens < len(ranked) else 1
    substrings = Substrings(words, low)
    missing = substrings.missing_characters()
    high = max(low, sum(words.values()) + 1)
    best = substrings.learn(high)
    while low < high:
        middle = (low + high) // 2
        learned = substrings.learn(middle)
        if sum(int(kept.sum()) for kept, _ in learned) + len(missing) <= n_tokens:
            high, best = middle, learned
        else:
            low = middle + 1
    return [*substrings.spell(best), *missing]


def build_top_down(task: Task) -> Tokenizer:
    """Build WordPiece top-down; when special tokens are added, a text gets ``[START]`` and ``[END]`` around it."""
    reserved = list(dict.fromkeys((*task.special_tokens, *RESERVED)))
    wanted = task.vocab_size - len(reserved)
    learned = learn_top_down(bert_words(task.counts), wanted)
    tokenizer = word_piece_tokenizer([*reserved, *learned], task.counts, reserved)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[START] $A [END]",
        pair="[START] $A [END] $B:1 [END]:1",
        special_tokens=[(token, reserved.index(token)) for token in ("[START]", "[END]")],
    )
    return tokenizer
