"""WordPiece, by the published likelihood score and by the library's trainer (frequency); top-down: `top_down`.

All three share the format: ``##`` before a piece inside a word, greedy longest match, the whole word ``[UNK]`` when
stuck. White space and punctuation divide pre-tokens further, as in BERT. Spaces are not tokens, so
decoding joins words by one space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from mws_hf.baselines.feed import UNKNOWN, numbered, rewritten, tokenizer_like, train_on_counts
from mws_hf.baselines.pairs import PairLearner, likelihood
from mws_hf.corpus.counts import WordCounts

PREFIX = "##"
_BERT = pre_tokenizers.BertPreTokenizer()


def build_likelihood(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """Merge the pair with the highest b / (u_l * u_r); entries: special tokens, ``[UNK]``, characters, merges."""
    words = bert_words(counts)
    reserved = list(dict.fromkeys((*special_tokens, UNKNOWN)))
    alphabet = sorted({piece for word in words for piece in characters(word)})
    learnt = learn_likelihood(words, vocab_size - len(reserved) - len(alphabet), show_progress=show_progress)
    return word_piece_tokenizer([*reserved, *alphabet, *learnt], counts, special_tokens)


def build_library(
    counts: WordCounts, vocab_size: int, *, special_tokens: Sequence[str] = (), show_progress: bool = False
) -> Tokenizer:
    """WordPiece by the trainer of `tokenizers`, BPE by frequency with ``##``."""
    reserved = list(dict.fromkeys((*special_tokens, UNKNOWN)))
    words = bert_words(counts)
    learner = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    # the trainer numbers inner characters in the order of a hash map, and numbers decide ties; named first, they stay
    inner = sorted({PREFIX + character for word in words for character in word[1:]})
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=[*reserved, *inner],
        continuing_subword_prefix=PREFIX,
        show_progress=show_progress,
    )
    train_on_counts(learner, trainer, words)
    vocab = learner.get_vocab()
    return word_piece_tokenizer(sorted(vocab, key=vocab.__getitem__), counts, special_tokens)


def learn_likelihood(words: Mapping[str, int], n_tokens: int, *, show_progress: bool = False) -> list[str]:
    """The new tokens of likelihood WordPiece in the order they are merged; ties: the earliest in the order of `words`.

    >>> learn_likelihood({"hug": 10, "pug": 5, "hugs": 5}, 3)
    ['hu', 'pu', 'hug']
    """
    learner = PairLearner([characters(word) for word in words], words.values(), likelihood, join)
    return [join(*pair) for pair in learner.merges(n_tokens, show_progress=show_progress)]


def characters(word: str) -> list[str]:
    """The initial pieces of a word.

    >>> characters("hug")
    ['h', '##u', '##g']
    """
    return [word[:1], *(PREFIX + character for character in word[1:])]


def join(left: str, right: str) -> str:
    """The piece that two adjacent pieces make.

    >>> join("##u", "##gs"), join("h", "##u")
    ('##ugs', 'hu')
    """
    return left + right.removeprefix(PREFIX)


def longest_match(word: str, vocab: Iterable[str]) -> list[str]:
    """Greedy longest match from the left, the readable twin of what tokenizer.json does.

    >>> longest_match("undeniable", {"un", "##deni", "##able", "##ndeni", "##iable"})
    ['un', '##deni', '##able']
    >>> longest_match("undo", {"un", "##d"})
    ['[UNK]']
    """
    known = vocab if isinstance(vocab, set | frozenset | dict) else set(vocab)
    pieces: list[str] = []
    start = 0
    while start < len(word):
        mark = PREFIX if start else ""
        end = next((e for e in range(len(word), start, -1) if mark + word[start:e] in known), None)
        if end is None:
            return [UNKNOWN]
        pieces.append(mark + word[start:end])
        start = end
    return pieces


def detokenize(tokens: Iterable[str], reserved: Iterable[str] = ()) -> str:
    """Text of tokens: reserved ones other than ``[UNK]`` are dropped, pieces joined to words, words joined by a space.

    Decoding with a saved directory and ``skip_special_tokens=True`` gives the same.

    >>> detokenize(["[START]", "un", "##do", "[UNK]", "it", "[END]"], ["[UNK]", "[START]", "[END]"])
    'undo [UNK] it'
    """
    dropped = set(reserved) - {UNKNOWN}
    words: list[str] = []
    for token in tokens:
        if token in dropped:
            continue
        if token.startswith(PREFIX) and words:
            words[-1] += token.removeprefix(PREFIX)
        else:
            words.append(token)
    return " ".join(words)


def bert_words(counts: WordCounts) -> dict[str, int]:
    """Counts of the words that BERT's pre-tokenizer (white space, punctuation) makes of the pre-tokens."""
    return rewritten(counts, lambda pre_token: [word for word, _ in _BERT.pre_tokenize_str(pre_token)])


def word_piece_tokenizer(tokens: Sequence[str], counts: WordCounts, special_tokens: Sequence[str]) -> Tokenizer:
    """The tokenizer of a piece list; ids are the places in it."""
    model = models.WordPiece(vocab=numbered(tokens), unk_token=UNKNOWN)
    return tokenizer_like(counts, model, decoders.WordPiece(prefix=PREFIX, cleanup=False), special_tokens, _BERT)
