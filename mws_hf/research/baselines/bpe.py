"""Characters, whole words, and BPE by frequency: over bytes, over characters, and with the ends of words marked.

BPE with marks knows words and no spaces. A word is a run of letters (with their combining marks and inner apostrophes),
of digits, or of other characters; its mark is a symbol of its own, so ``est`` and ``est</w>`` are two tokens and
``lower</w>`` may be cut before its mark. `tokenizers` itself glues `end_of_word_suffix` to the last letter, which gives
other merges than the published ones; so these are learnt by `PairLearner`, and in tokenizer.json a normalizer sets the
marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import regex
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from mws_hf.research.baselines.feed import UNKNOWN, Task, numbered, rewritten, tokenizer_like, train_on_counts
from mws_hf.research.baselines.pairs import PairLearner, frequency
from mws_hf.text.special import BYTE_TOKENS
from mws_hf.tokenizer.backend import base_vocab, build_backend, tables_of

SUFFIX = "</w>"
LOW_LINE = "▁"
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|\p{N}+|[^\s\p{L}\p{M}\p{N}]+")
# the empty places after each _WORD; the last part says that an inner apostrophe ends nothing
_END = (
    r"(?<=[\p{L}\p{M}])(?!['’]?[\p{L}\p{M}])|(?<=\p{N})(?!\p{N})"
    r"|(?<=[^\s\p{L}\p{M}\p{N}])(?![^\s\p{L}\p{M}\p{N}]|(?<=[\p{L}\p{M}]['’])[\p{L}\p{M}])"
)
_TRAILING = r"\p{P}+(?=\s|$)"


def build_characters(task: Task) -> Tokenizer:
    """Build a tokenizer with every character a token, unseen ones as bytes; the size asked for does not matter."""
    vocab = base_vocab(task.special_tokens, set().union(*task.counts.words))
    return build_backend(vocab, [], task.counts.pattern, task.counts.normalization, task.special_tokens)


def build_words(task: Task) -> Tokenizer:
    """Build a tokenizer of the first pre-tokens, the most frequent in canonical order, and ``[UNK]`` for all others."""
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
        show_progress=task.show_progress,
    )
    train_on_counts(learner, trainer, dict(task.counts.items()), to_bytes)
    return tokenizer_like(task.counts, learner.model, decoders.ByteLevel(), task.special_tokens, to_bytes)


def build_character_bpe(task: Task) -> Tokenizer:
    """Build BPE over characters with byte fallback: MwS in every point but the choice of merges."""
    learner = Tokenizer(models.BPE())
    counts, special = task.counts, task.special_tokens
    room = task.vocab_size - len(special) - len(BYTE_TOKENS)
    trainer = trainers.BpeTrainer(vocab_size=max(0, room), show_progress=task.show_progress)
    train_on_counts(learner, trainer, dict(counts.items()))
    learnt, merges = tables_of(learner)
    alphabet = [token for token in learnt if len(token) == 1]
    merges = [pair for pair in merges if "".join(pair) not in BYTE_TOKENS]
    vocab = base_vocab(special, alphabet, merges)
    return build_backend(vocab, merges, counts.pattern, counts.normalization, special)


def learn_end_of_word(
    words: Mapping[str, int], n_merges: int, mark: str = SUFFIX, *, show_progress: bool = False
) -> list[tuple[str, str]]:
    """Merge the most frequent pair `n_merges` times (Sennrich et al. 2016); ties: the earliest in the order of `words`.

    `mark` is the symbol after the last character of each word. Fewer merges come out when no pair is left.

    >>> learn_end_of_word({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 4)
    [('e', 's'), ('es', 't'), ('est', '</w>'), ('l', 'o')]
    """
    learner = PairLearner([[*word, mark] for word in words], words.values(), frequency, str.__add__)
    return list(learner.merges(n_merges, show_progress=show_progress))


def build_end_of_word(task: Task) -> Tokenizer:
    """Build BPE with ``</w>``; entries: special tokens, ``[UNK]``, characters, the mark, merges. Spaces are dropped."""
    return _marked(rewritten(task.counts, _WORD.findall), [], SUFFIX, task)


def build_final_low_line(task: Task) -> Tokenizer:
    """Build BPE with ``▁`` after words, on text lower-cased, its white space collapsed, trailing punctuation gone."""

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
    # text reaches the model character by character, so a mark of several characters is put together first
    made = [(mark[:i], mark[i]) for i in range(1, len(mark))]
    base = numbered((*task.special_tokens, UNKNOWN, *sorted(set(mark).union(*words)), *map("".join, made)))
    room, normalization = task.vocab_size - len(base), task.counts.normalization
    merges = learn_end_of_word(words, room, mark, show_progress=task.show_progress)
    merges = [*made, *(pair for pair in merges if "".join(pair) not in base)]
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
