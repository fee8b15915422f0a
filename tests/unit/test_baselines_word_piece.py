"""WordPiece rivals: the published likelihood answer, top-down against a plain reading of its rules."""

from collections import Counter

import pytest
from tokenizers import pre_tokenizers

from mws_hf.compare.rivals import load, train
from mws_hf.compare.word_piece import (
    Substrings,
    bert_words,
    characters,
    learn_likelihood,
    learn_top_down,
)
from mws_hf.corpus.counts import WordCounts
from tests.small_corpus import small_counts

COURSE = [
    "This is the Hugging Face Course.",
    "This chapter is about tokenization.",
    "This section shows several tokenizer algorithms.",
    "Hopefully, you will be able to understand how they are trained and generate tokens.",
]
NEW_TOKENS = (
    "ab ##fu Fa Fac ##ct ##ful ##full ##fully Th ch ##hm cha chap chapt ##thm "
    "Hu Hug Hugg sh th is ##thms ##za ##zat ##ut"
).split()


def longest_match(word, vocab):
    """Greedy longest match from the left, in plain Python: the twin of what tokenizer.json does."""
    pieces = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        end = next((e for e in range(len(word), start, -1) if mark + word[start:e] in vocab), None)
        if end is None:
            return ["[UNK]"]
        pieces.append(mark + word[start:end])
        start = end
    return pieces


def course_words():
    bert = pre_tokenizers.BertPreTokenizer()
    return Counter(word for text in COURSE for word, _ in bert.pre_tokenize_str(text))


def test_published_likelihood_tokens_in_order():
    words = course_words()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    alphabet = {piece for word in words for piece in characters(word)}
    learnt = learn_likelihood(words, 70 - len(special) - len(alphabet))
    assert learnt == NEW_TOKENS
    vocab = {*special, *alphabet, *learnt}
    assert longest_match("Hugging", vocab) == ["Hugg", "##i", "##n", "##g"]
    assert longest_match("HOgging", vocab) == ["[UNK]"]


@pytest.mark.parametrize("name", ["wordpiece", "wordpiece-likelihood", "wordpiece-top-down"])
def test_tokenizer_is_greedy_longest_match(name, tmp_path):
    counts = small_counts()
    baseline = train(name, counts, 150, tmp_path / name)
    encode = load(tmp_path / name).source.encode
    vocab = _vocab(tmp_path / name)
    for word in [*bert_words(counts), "walkingest", "надtalk", "Ж"]:
        (encoded,) = encode([word])
        assert encoded.tokens == longest_match(word, vocab)
    assert baseline.segment("Ж") == ["Ж"]


def test_decoding_drops_reserved_tokens_but_not_unknown(tmp_path):
    from transformers import AutoTokenizer

    train("wordpiece-top-down", small_counts(), 200, tmp_path / "top")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "top")
    ids = tokenizer("walks Ж talked")["input_ids"]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    assert tokens[0] == "[START]" and tokens[-1] == "[END]" and "[UNK]" in tokens
    text = tokenizer.decode(ids, skip_special_tokens=True)
    assert text == "walks [UNK] talked"


def test_published_effective_count():
    substrings = Substrings({"human": 113, "humas": 3})
    assert substrings.counts()["huma"] == 116
    assert substrings.counts(threshold=113)["huma"] == 3
    assert substrings.counts(threshold=114)["huma"] == 116


def plain_top_down(words, threshold, iterations=4):
    """The rules of top-down WordPiece with dictionaries."""
    kept = {}
    for iteration in range(iterations):
        counts = Counter()
        for word, count in words.items():
            starts = range(len(word))
            if iteration:
                pieces = longest_match(word, {*kept, *_forms(words)})
                ends = [0]
                for piece in pieces:
                    ends.append(ends[-1] + len(piece.removeprefix("##")))
                starts = ends[:-1]
            for start in starts:
                for end in range(start + 1, len(word) + 1):
                    counts["##" * (start > 0) + word[start:end]] += count
        kept = {}
        for token in sorted(counts, key=lambda t: -len(t.removeprefix("##"))):
            if counts[token] >= threshold:
                kept[token] = counts[token]
                body, mark = token.removeprefix("##"), token[: len(token) - len(token.removeprefix("##"))]
                for end in range(1, len(body)):
                    if mark + body[:end] in counts:
                        counts[mark + body[:end]] -= counts[token]
    return {token for token in kept if len(token.removeprefix("##")) > 1}


def _forms(words):
    return {form for word in words for c in word for form in (c, "##" + c)}


@pytest.mark.parametrize("threshold", [2, 5, 17, 60])
def test_top_down_equals_the_plain_reading(threshold):
    words = bert_words(small_counts())
    substrings = Substrings(words)
    learnt = substrings.spell(substrings.learn(threshold))
    assert {t for t in learnt if len(t.removeprefix("##")) > 1} == plain_top_down(words, threshold)


@pytest.mark.parametrize("n_tokens", [30, 40, 60])
def test_threshold_is_the_smallest_that_fits(n_tokens):
    words = {"walk": 9, "walks": 7, "walking": 5, "walked": 4, "talks": 4, "talking": 3, "taked": 2, "king": 1}
    sizes = {t: len(plain_top_down(words, t)) + len(_forms(words)) for t in range(1, 40)}
    learnt = learn_top_down(words, n_tokens)
    smallest = min(t for t, size in sizes.items() if size <= n_tokens)
    assert {t for t in learnt if len(t.removeprefix("##")) > 1} == plain_top_down(words, smallest)
    assert len(learnt) == sizes[smallest]


def test_likelihood_counts_types_once():
    counts = WordCounts.from_mapping({" ab": 9, "ab": 1, " ac": 1}, pattern="x").as_types()
    assert bert_words(counts) == {"ab": 1, "ac": 1}


def _vocab(directory):
    from tokenizers import Tokenizer

    return set(Tokenizer.from_file(str(directory / "tokenizer.json")).get_vocab())
