"""N-gram bits per byte, compared with exact fractions and KenLM, and properties of a probability.

Modules: scoring/ngram_model.py.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from mws_hf.errors import MwSError
from mws_hf.scoring import bits_differences, evaluate, ngram_bits
from mws_hf.scoring.ngram_model import score_orders, stream_of
from tests.examples import examples
from tests.in_process import mws
from tests.processes import one_line
from tests.small_tokenizers import small_fast, small_slow


class Reference:
    """The model by its definition (Heafield et al. 2013, section 3), over tuples and exact fractions."""

    def __init__(self, documents, vocabulary, order):
        self.order, self.start, self.end = order, vocabulary + 1, vocabulary
        self.base = Fraction(1, vocabulary + 1)
        occurrences, before = Counter(), defaultdict(set)
        for document in documents:
            padded = (self.start, *document, self.end)
            for last in range(1, len(padded)):
                for first in range(max(0, last - order + 1), last + 1):
                    occurrences[padded[first : last + 1]] += 1
        for gram in occurrences:
            before[gram[1:]].add(gram[0])
        self.adjusted = {
            gram: count if len(gram) == order or gram[0] == self.start else len(before[gram])
            for gram, count in occurrences.items()
        }
        self.extensions = defaultdict(list)
        for gram in self.adjusted:
            self.extensions[gram[:-1]].append(gram)
        self.discounts = [self.discounts_at(length) for length in range(1, order + 1)]

    def discounts_at(self, length):
        t = Counter(count for gram, count in self.adjusted.items() if len(gram) == length)
        if t[1] and t[2] and t[3]:
            found = [k - Fraction((k + 1) * t[1] * t[k + 1], (t[1] + 2 * t[2]) * t[k]) for k in (1, 2, 3)]
            if all(0 < discount <= k for k, discount in enumerate(found, start=1)):
                return found
        return [Fraction(1, 2), Fraction(1), Fraction(3, 2)]

    def kept_back(self, gram):
        return self.discounts[len(gram) - 1][min(self.adjusted[gram], 3) - 1]

    def probability(self, context, word):
        lower = self.probability(context[1:], word) if context else self.base
        grams = self.extensions.get(context)
        if not grams:
            return lower
        total = sum(self.adjusted[gram] for gram in grams)
        gram = (*context, word)
        own = self.adjusted[gram] - self.kept_back(gram) if gram in self.adjusted else Fraction(0)
        return (own + sum(map(self.kept_back, grams)) * lower) / total

    def probabilities(self, document):
        """Return the probability of each id of a document and of its end."""
        padded = (self.start, *document, self.end)
        return [self.probability(padded[max(0, at - self.order + 1) : at], padded[at]) for at in range(1, len(padded))]


def probabilities(train, text, vocabulary, order):
    scored = score_orders(stream_of(train, vocabulary), stream_of(text, vocabulary), vocabulary, [order])[order]
    return np.exp(-scored.nats), scored.discounts


def characters(alphabet):
    """Build a tokenizer of single characters that restores any text of the alphabet."""
    tokenizer = Tokenizer(models.BPE({character: index for index, character in enumerate(alphabet)}, []))
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def sentences(number, seed=0):
    """Return sentences in which the ending of each word depends on the word before, so that context helps."""
    generator = random.Random(seed)
    stems, endings = ("чит", "пер", "the", "the", "выва", "ab"), ("ать", "ая", "ей", "")
    made = []
    for _ in range(number):
        ending, words = 0, []
        for _ in range(generator.randint(2, 7)):
            stem = generator.randrange(len(stems))
            words.append(stems[stem] + endings[ending])
            ending = (stem + ending) % len(endings)
        made.append(" ".join(words))
    return made


# Train on the documents "ab" and "a" with bigrams. No level has n-grams with the counts 1, 2 and 3, so D = 1/2, 1, 3/2.
# Unigrams by the ids before them: a 1 (the boundary), b 1 (a), end 2 (b and a); 4 in all, and 1/2 + 1/2 + 1 kept back;
#   p(a) = p(b) = (1 - 1/2)/4 + 2/4 * 1/3 = 7/24, p(end) = (2 - 1)/4 + 2/4 * 1/3 = 10/24.
# Bigrams: boundary a 2; a b 1; a end 1; b end 1;
#   p(a | boundary) = (2 - 1)/2 + 1/2 * 7/24 = 31/48, p(b | a) = (1 - 1/2)/2 + 1/2 * 7/24 = 19/48,
#   p(end | b) = (1 - 1/2)/1 + 1/2 * 10/24 = 34/48.
BY_HAND = [Fraction(31, 48), Fraction(19, 48), Fraction(34, 48)]


def test_a_hand_calculation():
    found, discounts = probabilities([[0, 1], [0]], [[0, 1]], 2, 2)
    assert found == pytest.approx([float(p) for p in BY_HAND], rel=1e-14)
    assert discounts == ((0.5, 1.0, 1.5), (0.5, 1.0, 1.5))
    assert Reference([[0, 1], [0]], 2, 2).probabilities([0, 1]) == BY_HAND


def test_bits_are_over_the_bytes_of_the_raw_text_and_count_the_end():
    # the ids are those above, because the tokenizer drops characters that it does not have
    bits = ngram_bits(characters("жa"), ["жa?", "ж"], ["жa"], orders=[2])
    assert bits.value == pytest.approx(-sum(math.log2(p) for p in BY_HAND) / 3)
    assert (bits.tokens, bits.train_tokens, bits.n_bytes.tolist()) == (2, 3, [3])


@examples(150)
@given(
    st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=30),
    st.lists(st.lists(st.integers(0, 4), max_size=7), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_equal_to_the_definition_in_exact_fractions(train, text, order):
    reference = Reference(train, 5, order)
    found, discounts = probabilities(train, text, 5, order)
    assert found == pytest.approx([float(p) for document in text for p in reference.probabilities(document)], rel=1e-12)
    assert np.array(discounts) == pytest.approx(np.array(reference.discounts, dtype=float))


def test_real_discounts_are_equal_too():
    """The text is long enough for separate discounts at every level, which the strategy above seldom reaches."""
    generator = random.Random(3)
    train = [[min(int(generator.expovariate(0.3)), 27) for _ in range(generator.randint(0, 12))] for _ in range(400)]
    reference = Reference(train, 30, 3)
    found, discounts = probabilities(train, train[:20], 30, 3)
    assert (0.5, 1.0, 1.5) not in discounts
    assert np.array(discounts) == pytest.approx(np.array(reference.discounts, dtype=float))
    assert found == pytest.approx([float(p) for document in train[:20] for p in reference.probabilities(document)])


def made_up(documents, state=1):
    made = []
    for _ in range(documents):
        made.append([])
        last = 0
        while True:
            state = (1103515245 * state + 12345) % 2**31
            last = (last * 3 + min((state >> 8) % 11, (state >> 16) % 11, (state >> 12) % 11)) % 19
            if last == 18:
                break
            made[-1].append(last)
    return made


@pytest.mark.parametrize(
    ("order", "log10"),
    [
        (2, [-2.6062, -3.36632, -8.51889, -7.19852, -9.31565]),
        (3, [-2.79862, -3.52515, -7.26569, -6.62393, -9.47855]),
        (4, [-2.79862, -3.5206, -7.29283, -6.62393, -8.80531]),
    ],
)
def test_equal_to_kenlm(order, log10):
    """The values are from `lmplz -o N --discount_fallback` of KenLM 0.3.0 (PyPI's sdist), with ids as words.

    The id 18 is its `<unk>`. Its unigrams use the fallback, and the other levels have their own discounts.
    """
    train, text = made_up(400), [[], [0], [4, 4, 1], [18, 3], [7, 2, 9, 16, 10, 11, 5]]
    assert {token for document in train for token in document} == set(range(18))
    found, discounts = probabilities(train, text, 19, order)
    assert discounts[0] == (0.5, 1.0, 1.5) and (0.5, 1.0, 1.5) not in discounts[1:]
    ends = np.cumsum([len(document) + 1 for document in text])
    sums = [part.sum() for part in np.split(np.log10(found), ends[:-1])]
    assert sums == pytest.approx(log10, abs=2e-5)


def test_documents_are_units():
    text = sentences(40, seed=1)
    train = [line for line in sentences(300) if line not in text]
    tokenizer = small_fast()
    together = ngram_bits(tokenizer, train, text)
    assert together.to_dict()["restored"] == len(text)
    alone = ngram_bits(tokenizer, train, text[7:8])
    assert alone.nats[0] == pytest.approx(together.nats[7], rel=1e-12)
    assert ngram_bits(tokenizer, train, text[::-1]).nats == pytest.approx(together.nats[::-1], rel=1e-12)


def test_the_order_is_chosen_on_training_text_only():
    text = sentences(50, seed=1)
    train = [line for line in sentences(400) if line not in text]
    noise = ["".join(random.Random(seed).choices("aebth ", k=30)) for seed in range(50)]
    on_language, on_noise = (ngram_bits(small_fast(), train, held_out) for held_out in (text, noise))
    assert on_language.order == on_noise.order > 2 and on_language.aside == on_noise.aside
    assert on_language.order == min(on_language.aside, key=on_language.aside.get)
    independent = ["".join(random.Random(seed).choices("aebth", k=30)) for seed in range(100, 400)]
    assert ngram_bits(small_fast(), independent, noise).order == 2


def test_training_lines_that_are_held_out_are_left_out():
    train, text = sentences(200), sentences(20, seed=1)
    kept = [line for line in train if line not in text]
    clean, leaking = (ngram_bits(small_fast(), lines, text) for lines in (kept, [*text, *kept, *text]))
    assert leaking.repeated == 40 and leaking.value == clean.value and leaking.train_tokens == clean.train_tokens


def unigram_tokenizer():
    pieces = [("▁", -3.0), *((character, -4.0) for character in sorted({*"".join(sentences(50)), *"!,"} - {" "}))]
    tokenizer = Tokenizer(models.Unigram([*pieces, ("▁чит", -3.0), ("ать", -3.0), ("<unk>", -20.0)], len(pieces) + 2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def word_piece_tokenizer():
    letters = sorted(set("".join(sentences(50))) - {" "})
    vocabulary = ["[UNK]", *letters, *("##" + letter for letter in letters), "чит", "##ать"]
    tokenizer = Tokenizer(models.WordPiece({token: index for index, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def test_any_tokenizer_and_a_note_where_text_is_lost():
    train = [line + "!" for line in sentences(200)]
    text = [line + "  ," for line in sentences(20, seed=1)]  # WordPiece loses the double space
    tokenizers = {"bpe": small_fast(), "unigram": unigram_tokenizer(), "wordpiece": word_piece_tokenizer()}
    report = evaluate(tokenizers, text=text, bits=train, resamples=50)
    restored = {name: entry.to_dict()["restored"] for name, entry in report.bits.items()}
    assert restored == {"bpe": 20, "unigram": 20, "wordpiece": 0}
    assert report.bits_differences["bpe"] is None and report.bits_differences["wordpiece"] is None
    found = report.bits_differences["unigram"]
    assert found.value == pytest.approx(report.bits["unigram"].value - report.bits["bpe"].value)
    assert found.low <= found.value <= found.high and found.documents == 20
    shown = report.to_markdown()
    assert "wordpiece does not decode 20 of 20 lines" in shown and "unigram does not" not in shown
    assert "| n-gram bits/byte | minus bpe (95 %) |" in shown and "proxy measure" in shown
    row = next(line for line in shown.splitlines() if line.startswith("| unigram |"))
    assert f"| {report.bits['unigram'].value:.4f} | {found.value:+.4f} (" in row


def test_slow_tokenizers_are_measured_like_fast_ones():
    fast, slow = (ngram_bits(make(), sentences(50), ["пер 漢 the", "ab  ab"]) for make in (small_fast, small_slow))
    assert (slow.value, slow.restored.tolist()) == (fast.value, [True, True])


def test_differences_need_the_same_documents():
    train = sentences(50)
    first, second = (ngram_bits(small_fast(), train, sentences(10, seed)) for seed in (1, 2))
    with pytest.raises(MwSError, match="different documents"):
        bits_differences({"a": first, "b": second})


def test_differences_are_over_the_documents_that_both_give_back():
    found = ngram_bits(small_fast(), sentences(50), sentences(10))
    first, second = (np.arange(10) % k == 0 for k in (2, 3))
    better = replace(found, nats=found.nats / np.where(second, 2, 4), restored=second)
    difference = bits_differences({"a": replace(found, restored=first), "b": better})["b"]
    assert difference is not None and difference.documents == 2  # documents 0 and 6
    assert difference.relative == pytest.approx(-0.5)
    nothing = replace(found, restored=~first)
    assert bits_differences({"a": replace(found, restored=first), "b": nothing})["b"] is None


def test_a_difference_of_zero_has_an_interval_in_percent():
    found = ngram_bits(small_fast(), sentences(50), sentences(10))
    moved = replace(found, nats=np.roll(found.nats, 1))  # the same sum, differently distributed over documents
    difference = bits_differences({"a": found, "b": moved})["b"]
    assert difference is not None and difference.value == pytest.approx(0, abs=1e-12)
    middle, low, high = replace(difference, value=0.0, relative=0.0).percent
    assert middle == 0 and low == pytest.approx(100 * difference.low / found.value) and low < 0 < high


@pytest.mark.parametrize(("train", "text"), [(["the"], ["ab"]), (["ab", "ab", "the"], ["ab"]), (["a", "b"], []),
                                             (["a", "b"], [""])])  # fmt: skip
def test_too_little_text_is_rejected(train, text):
    with pytest.raises(MwSError, match="at least two training lines that are not in that text"):
        ngram_bits(small_fast(), train, text)


def test_the_command_prints_json(tmp_path):
    for name, lines in (("train", sentences(300)), ("text", sentences(300, seed=1))):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, backend in (("mine", small_fast().backend_tokenizer), ("letters", unigram_tokenizer())):
        backend.save(str(tmp_path / f"{name}.json"))
    done = mws(
        "evaluate", "mine.json", "letters.json", "--text", "text.txt", "--bits", "train.txt", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    mine, letters = json.loads(done.stdout)["bits"].values()
    assert mine["difference"] is None and letters["difference"]["documents"] == letters["documents"] == 300
    assert mine["order"] in (2, 3, 4, 5) and list(mine["bits_per_byte_aside"]) == ["2", "3", "4", "5"]
    assert letters["difference"]["value"] == pytest.approx(letters["bits_per_byte"] - mine["bits_per_byte"])
    refused = mws("evaluate", "mine.json", "--bits", "train.txt", cwd=tmp_path)
    assert one_line(refused) and "--text" in refused.stderr
