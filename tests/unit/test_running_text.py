"""Measures on running text: by hand on tiny tokenizers, and against slow code that follows the definitions.

Modules: scoring/running_text.py, scoring/score_tables.py.
"""

from __future__ import annotations

import math
from collections import Counter

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from mws_hf.compare.baselines import train
from mws_hf.errors import MwSError
from mws_hf.scoring.running_text import WORD, read_lines, renyi_efficiency, residues, score_text
from mws_hf.scoring.score_tables import text_table
from mws_hf.text.symbols import BYTE_CHARACTERS
from mws_hf.tokenizer.backend import base_vocab, build_backend
from mws_hf.tokenizer.explain import trace
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from mws_hf.tokenizer.segmenting import boundaries_within
from tests.examples import examples
from tests.small_corpus import small_counts


def toy(merges, letters=" abcd.", split=True):
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    vocabulary = [*byte_tokens, *letters, *(a + b for a, b in merges)]
    model = models.BPE({token: index for index, token in enumerate(vocabulary)}, merges, byte_fallback=True)
    tokenizer = Tokenizer(model)
    if split:
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r" ?\p{L}+|."), "isolated")
    return tokenizer


def test_by_hand():
    # The text has 8 tokens, 10 bytes, 9 characters and 3 words, two of which are whole.
    tokenizer = toy([("a", "b"), (" ", "a"), (" a", "b")])
    scores = score_text(tokenizer, ["ab abc. é"])
    pieces = tokenizer.encode("ab abc. é").tokens
    assert pieces == ["ab", " ", "ab", "c", ".", " ", "<0xC3>", "<0xA9>"]
    assert (scores.words, scores.tokens, scores.bytes) == (3, len(pieces), 10)
    assert scores.bytes_per_token == 10 / len(pieces)
    assert scores.characters_per_token == 9 / len(pieces)
    assert scores.fertility == (len(pieces) - 1) / 3  # all tokens except the full stop
    assert scores.whole_words == 2 / 3
    assert scores.byte_tokens == 2 / len(pieces)
    assert scores.unknown_tokens == 0
    assert scores.vocabulary_used == len(set(pieces)) / (256 + 6 + 3)
    assert scores.words == 3
    # no merge contains "ab"; " " and "c" follow "ab", and "ab" and a byte follow " "
    assert scores.residues == 0
    assert scores.next_efficiency == pytest.approx(4 / 7)
    scores = score_text(tokenizer, ["a ab"])
    assert tokenizer.encode("a ab").tokens == ["a", " ", "ab"] and scores.next_efficiency == 0


def test_byte_level_tokens_inside_a_character_count_as_byte_tokens():
    alphabet = {character: index for index, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(alphabet, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    scores = score_text(tokenizer, ["ж a"])
    assert (scores.tokens, scores.byte_tokens) == (4, 0.5)
    assert scores.whole_words == 1


@pytest.mark.parametrize("system", ["bpe-end-of-word", "bpe-low-line"])
def test_a_mark_after_a_word_is_not_a_part_of_a_character(system):
    """A normalizer appends the mark, which has the span of the letter before it."""
    trained = train(system, small_counts(), 60)
    (encoded,) = trained.source.encode(["walk"])
    assert encoded.tokens[-1] in ("</w>", "▁") and encoded.spans[-1][0] < encoded.spans[-2][1]
    assert score_text(trained.source, ["walk talk"]).byte_tokens == 0


def test_a_marker_for_capitals_is_not_a_part_of_a_character():
    merges = [(".", "Ď"), ("Ġ", "b")]
    vocab = base_vocab((), (), merges, byte_symbols=BYTE_CHARACTERS)
    text = "A b. B é"  # é is two tokens, and Ď and a, and .Ď and Ġb, have spans that overlap
    tokenizer = build_backend(vocab, merges, capitals="AB")
    assert tokenizer.encode(text).tokens == ["Ď", "a", "Ġb", ".Ď", "Ġb", "Ġ", "Ã", "©"]
    assert score_text(tokenizer, [text]).byte_tokens == 2 / 8
    of_characters = build_backend(base_vocab((), " .ab\x0e", []), [], capitals="AB")
    assert score_text(of_characters, ["A b. B"]).byte_tokens == 0


def test_tokens_that_are_merged_into_longer_ones_are_residues():
    tokenizer = toy([("a", "b"), ("ab", "c"), ("c", "d"), ("abc", "d")])
    scores = score_text(tokenizer, ["abc"] * 10 + ["abcd", "d"])
    assert tokenizer.encode("abcd").tokens == ["abcd"]
    assert residues({"abc": 10, "abcd": 1, "d": 1}, open_tokenizer(tokenizer, by_class=True).parts) == {"ab": 0.0}
    assert scores.residues == 1 / 4  # "cd" is never made, and "abc" is a token of the text in ten of its eleven uses


def test_a_measure_without_a_figure_is_a_dash():
    unigram = Tokenizer(models.Unigram([("a", 0.0), ("b", -1.0)], unk_id=0))
    scores = score_text(unigram, ["ab"])
    assert math.isnan(scores.residues)
    table = text_table({"unigram": scores}, {}, {})
    assert dict(zip(table.header, table.rows[0], strict=True))["residues"] == "-"


@given(st.lists(st.text("abcd. ", max_size=12), min_size=1, max_size=6))
def test_intermediate_uses_are_the_merges_that_use_a_token(lines):
    tokenizer = toy([("a", "b"), ("ab", "c"), ("c", "d"), ("abc", "d"), (" ", "a"), ("ab", "ab")])
    final, inner = Counter(), Counter()
    for line in lines:
        for traced in trace(tokenizer, line) if line else []:
            final.update(traced.tokens)
            inner.update(part for step in traced.steps for part in (step.left, step.right))
    made = open_tokenizer(tokenizer, by_class=True).parts
    shares = {t: final[t] / (final[t] + inner[t]) for t in made if final[t] + inner[t]}
    assert residues(final, made) == {t: share for t, share in shares.items() if share < 0.1}


def test_unknown_tokens_and_agreement_with_context():
    vocabulary = {"[UNK]": 0, "ab": 1, "##c": 2, "a": 3}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    scores = score_text(tokenizer, ["abc zzz ab", "a"])
    assert scores.unknown_tokens == 1 / 5
    assert scores.context_agreement == 1
    # Without a pre-tokenizer, the split points of a word depend on its neighbors: "ab" is joined only before a space.
    joined = toy([("b", " "), ("a", "b ")], split=False)
    # "ab " in the text is whole, " ab" by itself is split
    assert score_text(joined, ["ab ab"]).context_agreement == 0.5


def test_a_token_over_two_words_counts_once():
    superword = toy([("a", " "), ("a ", "b")], split=False)
    scores = score_text(superword, ["a b"])
    assert (scores.tokens, scores.words, scores.fertility, scores.whole_words) == (1, 2, 0.5, 1)


class Slow:
    """A slow tokenizer, whose tokens are aligned with a text by their strings; only those of "good" occur in it."""

    unk_token = None

    def __len__(self):
        return 10

    def tokenize(self, text):
        return [text] if text == "good" else ["x"] * (len(text) - 1)

    def convert_tokens_to_ids(self, tokens):
        return [0] * len(tokens)


def test_a_line_that_cannot_be_laid_out_counts_for_lengths_only():
    scores = score_text(Slow(), ["good", "bad"])
    assert (scores.words, scores.tokens, scores.bytes, scores.unaligned_lines) == (1, 3, 7, 1)
    assert (scores.fertility, scores.whole_words) == (1, 1)
    scores = score_text(Slow(), ["ab ab"])
    assert (scores.tokens, scores.words, scores.unaligned_lines) == (4, 0, 1)
    assert math.isnan(scores.fertility) and math.isnan(scores.whole_words) and math.isnan(scores.context_agreement)


def slow_reference(tokenizer, lines):
    """Compute fertility, whole words and agreement from their definitions, word by word."""
    words = tokens = whole = same = 0
    for line, item in zip(lines, open_tokenizer(tokenizer, by_class=True).encode(lines), strict=True):
        touched = set()
        for match in regex.finditer(WORD, line):
            start, end = match.span()
            space = start > 0 and line[start - 1].isspace()
            for index, (first, last) in enumerate(item.spans):
                if max(first, start) < min(last, end) or (space and (first, last) == (start - 1, start)):
                    touched.add(index)
            cuts = boundaries_within(item.spans, start, end)
            alone = segment_words(tokenizer, [match.group()])[0]
            words, whole = words + 1, whole + (not cuts)
            same += [len("".join(alone[: i + 1])) for i in range(len(alone) - 1)] == cuts
        tokens += len(touched)
    return words, tokens, whole, same


@examples(80)
@given(
    st.lists(st.text("ab cé.\n", min_size=1, max_size=12).filter(lambda t: "\n" not in t), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from("ab c."), st.sampled_from("ab c.")), unique=True, max_size=6),
    st.booleans(),
)
def test_vectorized_counts_equal_the_definitions(lines, merges, split):
    tokenizer = toy(merges, split=split)
    scores = score_text(tokenizer, lines)
    words, tokens, whole, same = slow_reference(tokenizer, lines)
    assert scores.words == words
    if words:
        expected = (tokens / words, whole / words, same / words)
        assert (scores.fertility, scores.whole_words, scores.context_agreement) == pytest.approx(expected)
    else:
        assert math.isnan(scores.fertility)


def test_renyi_ends_of_the_scale():
    assert renyi_efficiency([5, 5, 5, 5]) == pytest.approx(1)
    assert renyi_efficiency([5, 5], vocabulary_size=4) == pytest.approx(0.5)
    assert renyi_efficiency([9]) == 1
    assert renyi_efficiency([97, 1, 1, 1]) < 0.1


def test_reading_text(tmp_path):
    (tmp_path / "a.txt").write_text("один\r\n\nдва\u2028три\n", encoding="utf-8")
    assert list(read_lines(tmp_path / "a.txt")) == ["один", "два\u2028три"]
    with pytest.raises(MwSError, match="no token"):
        score_text(toy([]), [])
