"""BPE over words that end in a mark: ``</w>`` as published, or ``▁`` after lower-casing; spaces are not tokens.

A word is a run of letters (with their combining marks and inner apostrophes), of digits, or of other characters. The
mark is a symbol of its own, so ``est`` and ``est</w>`` are two tokens and ``lower</w>`` may be cut before its mark.
`tokenizers` itself glues `end_of_word_suffix` to the last letter, which gives other merges than the published ones; so
the merges are learnt here, and in tokenizer.json a normalizer sets the marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import regex
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from mws_hf.backend import NORMALIZERS
from mws_hf.baselines.feed import rewritten
from mws_hf.baselines.model import UNKNOWN
from mws_hf.baselines.pairs import PairLearner, frequency
from mws_hf.words.counts import WordCounts

SUFFIX = "</w>"
LOW_LINE = "▁"
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|\p{N}+|[^\s\p{L}\p{M}\p{N}]+")
# the empty places after each _WORD; the last part says that an inner apostrophe ends nothing
_END = (
    r"(?<=[\p{L}\p{M}])(?!['’]?[\p{L}\p{M}])|(?<=\p{N})(?!\p{N})"
    r"|(?<=[^\s\p{L}\p{M}\p{N}])(?![^\s\p{L}\p{M}\p{N}]|(?<=[\p{L}\p{M}]['’])[\p{L}\p{M}])"
)
_TRAILING = r"\p{P}+(?=\s|$)"


def learn_end_of_word(
    words: Mapping[str, int], n_merges: int, mark: str = SUFFIX, *, show_progress: bool = False
) -> list[tuple[str, str]]:
    """Merge the most frequent pair `n_merges` times (Sennrich et al. 2016); ties: the earliest in the order of `words`.

    Args:
        words: word -> count, without marks.
        n_merges: how many merges; fewer when no pair is left.
        mark: the symbol after the last character of each word.
        show_progress: a progress bar.

    >>> learn_end_of_word({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 4)
    [('e', 's'), ('es', 't'), ('est', '</w>'), ('l', 'o')]
    """
    learner = PairLearner([[*word, mark] for word in words], words.values(), frequency, str.__add__)
    return list(learner.merges(n_merges, show_progress=show_progress))


def build_end_of_word(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """BPE with ``</w>``.

    Args:
        counts: pre-tokens; they are cut into words, spaces are dropped.
        vocab_size: entries: special tokens, ``[UNK]``, characters, the mark, merges.
        special_tokens: get the first ids.
        show_progress: a progress bar.
    """
    words = rewritten(counts, _WORD.findall)
    return _build(words, counts.normalization, [], SUFFIX, vocab_size, special_tokens, show_progress)


def build_final_low_line(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """BPE with ``▁`` after each word of text that is lower-cased, its white space collapsed, trailing punctuation gone.

    Args:
        counts: pre-tokens; each is treated as text is.
        vocab_size: entries: special tokens, ``[UNK]``, characters, the mark, merges.
        special_tokens: get the first ids.
        show_progress: a progress bar.
    """

    def plain_words(pre_token: str) -> Iterable[str]:
        return _WORD.findall(regex.sub(_TRAILING, "", pre_token.lower()))

    steps = [
        normalizers.Lowercase(),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Replace(Regex(_TRAILING), ""),
        normalizers.Strip(),
    ]
    words = rewritten(counts, plain_words)
    return _build(words, counts.normalization, steps, LOW_LINE, vocab_size, special_tokens, show_progress)


def _build(
    words: Mapping[str, int],
    normalization: str | None,
    steps: list[normalizers.Normalizer],
    mark: str,
    vocab_size: int,
    special_tokens: Sequence[str],
    show_progress: bool,
) -> Tokenizer:
    # text reaches the model character by character, so a mark of several characters is put together first
    made = [(mark[:i], mark[i]) for i in range(1, len(mark))]
    alphabet = sorted(set(mark).union(*words))
    base = list(dict.fromkeys((*special_tokens, UNKNOWN, *alphabet, *map("".join, made))))
    taken = set(base)
    merges = learn_end_of_word(words, vocab_size - len(base), mark, show_progress=show_progress)
    merges = [*made, *(pair for pair in merges if "".join(pair) not in taken)]
    tokens = dict.fromkeys((*base, *map("".join, merges)))
    tokenizer = Tokenizer(
        models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges, unk_token=UNKNOWN)
    )
    first = [NORMALIZERS[normalization]()] if normalization else []
    tokenizer.normalizer = normalizers.Sequence([*first, *steps, normalizers.Replace(Regex(_END), mark)])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(mark, behavior="merged_with_previous"), pre_tokenizers.WhitespaceSplit()]
    )
    tokenizer.decoder = decoders.BPEDecoder(suffix=mark)
    tokenizer.add_special_tokens([token for token in special_tokens if token != UNKNOWN])
    return tokenizer
