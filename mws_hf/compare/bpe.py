"""Baselines: characters, whole words, and BPE by frequency over bytes, over characters, and with end-of-word marks.

BPE with marks encodes only words, without spaces. A word is a run of letters (with their combining marks and inner
apostrophes), of digits, or of other characters. Its mark is a separate symbol, so that ``est`` and ``est</w>`` are two
tokens, and ``lower</w>`` may be split before its mark. `tokenizers` attaches `end_of_word_suffix` to the last letter,
which gives different merges from the published ones. Therefore `PairLearner` learns them, and in tokenizer.json a
normalizer inserts the marks.

Textbook implementations recount all pairs of neighbors after each merge and choose the most frequent pair. If several
pairs are equally frequent, they choose the one that occurs first in the words as segmented at that moment.
`PairLearner` makes the same merges, but recounts only the words that contain the merged pair. It does not use
`mws_hf.learn.working_corpus`, which breaks ties by token ids and would therefore make other merges.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add

import regex
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from mws_hf.compare.feed import UNKNOWN, Task, numbered, rewritten, tokenizer_like, train_on_counts
from mws_hf.text.symbols import BYTE_TOKENS
from mws_hf.tokenizer.backend import base_vocab, build_backend, tables_of

SUFFIX = "</w>"
LOW_LINE = "▁"
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|\p{N}+|[^\s\p{L}\p{M}\p{N}]+")
# the (empty) position after each _WORD; the last alternative excludes apostrophes inside words
_END = (
    r"(?<=[\p{L}\p{M}])(?!['’]?[\p{L}\p{M}])|(?<=\p{N})(?!\p{N})"
    r"|(?<=[^\s\p{L}\p{M}\p{N}])(?![^\s\p{L}\p{M}\p{N}]|(?<=[\p{L}\p{M}]['’])[\p{L}\p{M}])"
)
_TRAILING = r"\p{P}+(?=\s|$)"


Score = Callable[[int, int, int], float]
Key = tuple[float, int, int]


def frequency(pair: int, left: int, right: int) -> float:
    """Score a pair by its count, as plain BPE does; the counts of its left and right token are not used."""
    return pair


def likelihood(pair: int, left: int, right: int) -> float:
    """Score a pair by b / (u_l * u_r), as likelihood WordPiece does: the gain in the likelihood of a unigram model.

    The product is an exact integer below 2^53 and division is correctly rounded, so that equal ratios are equal floats.
    """
    return pair / (left * right)


class PairLearner:
    """Learn merges greedily, and update the counts of tokens and pairs after each merge.

    Each step merges the pair with the highest score; of pairs with equal scores, the one that occurs first in the words
    is merged. A pair whose joined token already exists is never merged.

    Internally, token n is the character chr(n), a pair is a string of two characters, and a word is a string of tokens,
    so that `str.replace` merges a pair.

    Args:
        words: the words, each as a sequence of initial tokens.
        weights: the count of each word.
        score: the score of a pair, from its count and the counts of its left and right token.
        join: returns the string of the token that joins two tokens.

    >>> PairLearner(["ab", "abc"], [2, 1], frequency, str.__add__).merges(5)
    [('a', 'b'), ('ab', 'c')]
    """

    def __init__(
        self, words: Iterable[Sequence[str]], weights: Iterable[int], score: Score, join: Callable[[str, str], str]
    ) -> None:
        self._score, self._join = score, join
        self._ids: dict[str, str] = {}
        self._words = ["".join(self._ids.setdefault(s, chr(len(self._ids))) for s in word) for word in words]
        self._weights = list(weights)
        self._tokens = list(self._ids)
        self._sizes = dict.fromkeys(self._ids.values(), 1)
        self._used: Counter[str] = Counter()
        self._pairs: Counter[str] = Counter()
        # indices of the words that contained a pair when its newer token was created, ascending; later merges can
        # only remove occurrences
        self._holders: defaultdict[str, deque[int]] = defaultdict(deque)
        self._pairs_with: defaultdict[str, set[str]] = defaultdict(set)
        for number, (word, weight) in enumerate(zip(self._words, self._weights, strict=True)):
            for symbol in word:
                self._used[symbol] += weight
            self._count_pairs(number, weight, word)
        # the heap has each pair under its current key or a smaller one; only the entry equal to `_queued` is valid
        self._queued: dict[str, Key] = {}
        self._heap: list[tuple[Key, str]] = []
        self._queue(self._pairs)

    def merges(self, limit: int) -> list[tuple[str, str]]:
        """Merge the best pair everywhere, from left to right, at most `limit` times; return the merges in order."""
        found: list[tuple[str, str]] = []
        while self._heap and len(found) < limit:
            key, pair = heapq.heappop(self._heap)
            if self._queued.get(pair) != key or self._pairs[pair] <= 0:
                continue
            left, right = (self._tokens[ord(symbol)] for symbol in pair)
            product = self._join(left, right)
            if product in self._ids:
                continue
            if self._key(pair) == key:
                self._merge(pair, product)
                found.append((left, right))
            else:
                self._queue([pair])
        return found

    def _key(self, pair: str) -> Key:
        """Return the key that orders pairs: score, then word and position (initial symbols) of the first occurrence."""
        holders, words = self._holders[pair], self._words
        while pair not in words[holders[0]]:
            holders.popleft()
        before = words[holders[0]].partition(pair)[0]
        score = self._score(self._pairs[pair], self._used[pair[0]], self._used[pair[1]])
        return -score, holders[0], sum(map(self._sizes.__getitem__, before))

    def _queue(self, pairs: Iterable[str]) -> None:
        for pair in pairs:
            self._queued[pair] = self._key(pair)
            heapq.heappush(self._heap, (self._queued[pair], pair))

    def _count_pairs(self, number: int, weight: int, word: str, part: str = "") -> None:
        """Count the pairs of a word, and index those that contain `part`, which are new in it (by default all)."""
        for pair in map(add, word, word[1:]):
            self._pairs[pair] += weight
            if part in pair:
                self._holders[pair].append(number)
                for symbol in pair:
                    self._pairs_with[symbol].add(pair)

    def _merge(self, pair: str, product: str) -> None:
        made = self._ids[product] = chr(len(self._tokens))
        self._tokens.append(product)
        self._sizes[made] = sum(map(self._sizes.__getitem__, pair))
        for number in self._holders.pop(pair):
            old, weight = self._words[number], self._weights[number]
            new = self._words[number] = old.replace(pair, made)
            if new == old:
                continue
            for symbol, sign in ((made, 1), (pair[0], -1), (pair[1], -1)):
                self._used[symbol] += sign * weight * (len(old) - len(new))
            for gone in map(add, old, old[1:]):
                self._pairs[gone] -= weight
            self._count_pairs(number, weight, new, made)
        # the parts became rarer, so that pairs with them may now have higher scores than in the heap
        for symbol in made if self._score is frequency else {made, *pair}:
            self._pairs_with[symbol] = {found for found in self._pairs_with[symbol] if self._pairs[found] > 0}
            self._queue(self._pairs_with[symbol])


def build_characters(task: Task) -> Tokenizer:
    """Build a tokenizer of characters, with byte fallback for unseen ones; the vocabulary size has no effect."""
    vocab = base_vocab(task.special_tokens, set().union(*task.counts.words))
    return build_backend(vocab, [], task.counts.pattern, task.counts.normalization, task.special_tokens)


def build_words(task: Task) -> Tokenizer:
    """Build a tokenizer of the most frequent pre-tokens, with ``[UNK]`` for all others."""
    first = dict.fromkeys((*task.special_tokens, UNKNOWN))
    vocab = numbered((*first, *task.counts.words[: max(0, task.vocab_size - len(first))]))
    model = models.WordLevel(vocab, unk_token=UNKNOWN)
    return tokenizer_like(task.counts, model, decoders.Fuse(), task.special_tokens)


def build_byte_bpe(task: Task) -> Tokenizer:
    """Build BPE over the 256 bytes (Radford et al. 2019, GPT-2) within the pre-tokens of the counts."""
    learner = Tokenizer(models.BPE())
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=task.vocab_size,
        special_tokens=list(task.special_tokens),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    train_on_counts(learner, trainer, dict(task.counts.items()), to_bytes)
    return tokenizer_like(task.counts, learner.model, decoders.ByteLevel(), task.special_tokens, to_bytes)


def build_character_bpe(task: Task) -> Tokenizer:
    """Build BPE over characters with byte fallback, which differs from MwS only in how merges are chosen."""
    learner = Tokenizer(models.BPE())
    counts, special = task.counts, task.special_tokens
    size_left = task.vocab_size - len(special) - len(BYTE_TOKENS)
    trainer = trainers.BpeTrainer(vocab_size=max(0, size_left), show_progress=False)
    train_on_counts(learner, trainer, dict(counts.items()))
    learned, merges = tables_of(learner)
    alphabet = [token for token in learned if len(token) == 1]
    merges = [pair for pair in merges if "".join(pair) not in BYTE_TOKENS]
    vocab = base_vocab(special, alphabet, merges)
    return build_backend(vocab, merges, counts.pattern, counts.normalization, special)


def learn_end_of_word(words: Mapping[str, int], n_merges: int, mark: str = SUFFIX) -> list[tuple[str, str]]:
    """Learn BPE merges by frequency (Sennrich et al. 2016) over words that end in a mark.

    Args:
        words: the words with their counts; of equally frequent pairs, the first one in these words is merged.
        n_merges: the number of merges; fewer are returned if no pair is left.
        mark: the symbol after the last character of each word.

    >>> learn_end_of_word({"lower": 2, "low": 5}, 3)
    [('l', 'o'), ('lo', 'w'), ('low', '</w>')]
    """
    learner = PairLearner([[*word, mark] for word in words], words.values(), frequency, str.__add__)
    return learner.merges(n_merges)


def build_end_of_word(task: Task) -> Tokenizer:
    """Build BPE with ``</w>`` after each word; spaces are lost.

    The vocabulary consists of special tokens, ``[UNK]``, characters, the mark and merges.
    """
    return _marked(rewritten(task.counts, _WORD.findall), [], SUFFIX, task)


def build_final_low_line(task: Task) -> Tokenizer:
    """Build BPE with ``▁`` after words, on lowercase text without trailing punctuation and repeated white space."""

    def plain_words(pre_token: str) -> Iterable[str]:
        return _WORD.findall(regex.sub(_TRAILING, "", pre_token.lower()))

    steps = [
        normalizers.Lowercase(),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Replace(Regex(_TRAILING), ""),
        normalizers.Strip(),
    ]
    return _marked(rewritten(task.counts, plain_words), steps, LOW_LINE, task)


def _marked(words: Mapping[str, int], steps: list[normalizers.Normalizer], mark: str, task: Task) -> Tokenizer:
    # the model receives single characters, so the first merges build a mark of several characters
    made = [(mark[:i], mark[i]) for i in range(1, len(mark))]
    base = numbered((*task.special_tokens, UNKNOWN, *sorted(set(mark).union(*words)), *map("".join, made)))
    size_left, normalization = task.vocab_size - len(base), task.counts.normalization
    learned = learn_end_of_word(words, size_left, mark)
    merges = [*made, *(pair for pair in learned if "".join(pair) not in base)]
    vocab = numbered((*base, *map("".join, merges)))
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token=UNKNOWN))
    first = [getattr(normalizers, normalization.upper())()] if normalization else []
    tokenizer.normalizer = normalizers.Sequence([*first, *steps, normalizers.Replace(Regex(_END), mark)])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(mark, behavior="merged_with_previous"), pre_tokenizers.WhitespaceSplit()]
    )
    tokenizer.decoder = decoders.BPEDecoder(suffix=mark)
    tokenizer.add_special_tokens([token for token in task.special_tokens if token != UNKNOWN])
    return tokenizer
