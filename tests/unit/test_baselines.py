"""The baselines of the comparison: each is trained, and segments as its own library does.

Modules: compare/bpe.py, compare/feed.py, compare/morfessor_baseline.py, compare/baselines.py, compare/unigram.py,
compare/word_piece.py.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
from collections import Counter
from itertools import product

import pytest
import regex
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from mws_hf import MwSTrainer
from mws_hf.compare.baselines import BASELINE_SYSTEMS, saved, train
from mws_hf.compare.bpe import (
    _END,
    _WORD,
    PairLearner,
    build_byte_bpe,
    build_character_bpe,
    frequency,
    learn_end_of_word,
    likelihood,
)
from mws_hf.compare.feed import Task, repeated, train_on_counts
from mws_hf.compare.morfessor_baseline import build_morph_bpe
from mws_hf.compare.unigram import build_unigram, stabilized
from mws_hf.compare.word_piece import Substrings, bert_words, characters, learn_likelihood, learn_top_down
from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.text.pattern import DEFAULT_PATTERN, split
from mws_hf.tokenizer.backend import tables_of
from mws_hf.tokenizer.foreign import tokenizer_of
from mws_hf.tokenizer.opened import open_tokenizer
from tests.examples import examples
from tests.small_corpus import morphs, running_text, small_counts

WORDS = ["".join(parts) for parts in morphs()] + ["walkost", "unbereging", "Ж", "漢字"]
NEEDS = {
    "morfessor": "morfessor",
    "morfessor-frequent": "morfessor",
    "morph-bpe": "morfessor",
    "sentencepiece-bpe": "sentencepiece",
    "sentencepiece-unigram": "sentencepiece",
    "sentencepiece-unigram-identity": "sentencepiece",
}


def counted(lines):
    """The pre-tokens of a text."""
    return WordCounts.from_mapping(Counter(p for line in lines for p in split(line)), pattern=DEFAULT_PATTERN)


def cut(baseline, word):
    """Return the pieces of a word."""
    return list(baseline.source.segment_words([word])[0])


AWKWARD = [
    "a\x00b c\u2028d \ue000\ue001 </w> <0x41> ##x [UNK] <unk> ▁▁ x▁y 漢字 👨‍👩‍👧 te\u0301",
    "\ufeff\uffff नमस्ते ﬁ İ\x1f",
    "a" * 3000,
]
LEARNED = {
    "types": (small_counts().as_types(), WORDS),
    "text": (small_counts(), WORDS),
    "awkward": (counted(AWKWARD), ["a", "x▁y", "नमस्ते", "İstanbul", "<0x41>", "</w>", "b" * 200, "\x00"]),
}


@pytest.mark.parametrize("learned", LEARNED)
@pytest.mark.parametrize("name", BASELINE_SYSTEMS)
def test_train_save_load(name, learned, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    counts, words = LEARNED[learned]
    trained = train(name, counts, 500, tmp_path / "out")
    pieces = trained.source.segment_words(words)
    assert ["".join(p) for p in pieces] == words
    assert open_tokenizer(saved(tmp_path / "out")).segment_words(words) == pieces
    assert trained.n_tokens <= 500 or learned == "awkward"  # here there are more than 500 characters
    assert not list((tmp_path / "out").glob("*.pkl"))


@pytest.mark.parametrize("name", [name for name in BASELINE_SYSTEMS if not name.startswith("morfessor")])
def test_opens_in_transformers(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    from transformers import AutoTokenizer

    trained = train(name, small_counts(), 450, tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "Walks talked, 2024 unberegами"
    (encoded,) = trained.source.encode([text])
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == encoded.ids
    assert len(tokenizer) == trained.n_tokens
    assert tokenizer.eos_token == "<|endoftext|>"
    assert tokenizer.eos_token_id is not None
    saved = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert saved["tokenizer_class"] == "PreTrainedTokenizerFast"


@pytest.mark.parametrize("name", [name for name in BASELINE_SYSTEMS if name != "unigram"])
def test_training_twice_writes_the_same_files(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    for run in "ab":
        train(name, small_counts(), 430, tmp_path / run)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


@pytest.mark.parametrize("name", BASELINE_SYSTEMS)
def test_counts_of_only_white_space_are_learned_or_rejected(name):
    pytest.importorskip(NEEDS.get(name, "tokenizers"))
    counts = WordCounts.from_mapping({" ": 3, "\n": 1}, pattern=DEFAULT_PATTERN)
    try:
        assert "".join(cut(train(name, counts, 500), "ab")) == "ab"
    except MwSError:
        pass


@pytest.mark.parametrize("name", ["bpe-character", "bpe-byte", "unigram", "wordpiece-top-down"])
def test_a_size_below_the_characters_keeps_them(name):
    trained = train(name, small_counts(), 10)
    assert trained.source.encode(["walk"])[0].tokens.count("[UNK]") == 0
    assert "".join(cut(trained, "walk")) == "walk"


def test_characters_and_words():
    assert cut(train("characters", small_counts(), 0), "walk") == list("walk")
    assert cut(train("words", small_counts(), 300), "neverseen") == ["neverseen"]


def test_user_errors(tmp_path, monkeypatch):
    with pytest.raises(MwSError, match="choose one of bpe-byte"):
        train("bpee", small_counts(), 300)
    with pytest.raises(MwSError, match="no words"):
        train("bpe-character", small_counts().at_least(10**9), 300)
    for module, name in NEEDS.items():
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MwSError, match="pip install"):
            train(module, small_counts(), 450)


@pytest.mark.parametrize("name", ["morfessor", "morfessor-frequent"])
def test_morfessor_samples_a_list_without_counts_evenly(name, tmp_path):
    pytest.importorskip("morfessor")
    words = [" " + first + "".join(rest) for first in "abcd" for rest in product("xyz", repeat=4)]
    train(name, WordCounts.from_mapping(dict.fromkeys(words, 1), pattern=DEFAULT_PATTERN), 0, tmp_path, max_types=81)
    table = (tmp_path / "morfessor.txt").read_text(encoding="utf-8").splitlines()
    initials = Counter(line.split(" ")[1][0] for line in table)
    assert initials.total() == 81 and min(initials[letter] for letter in "abcd") >= 10


def test_morfessor_on_the_most_frequent_words(tmp_path):
    pytest.importorskip("morfessor")
    counts = WordCounts.from_mapping({" rare": 1, " often": 9, " most": 12}, pattern=DEFAULT_PATTERN)
    train("morfessor-frequent", counts, 0, tmp_path, max_types=2)
    table = (tmp_path / "morfessor.txt").read_text(encoding="utf-8").splitlines()
    assert {(line.split(" ")[0], "".join(line.split(" ")[1:]).replace("+", "")) for line in table} == {
        ("1", "often"),
        ("1", "most"),
    }


def test_morph_bpe_merges_inside_the_segments_of_morfessor():
    pytest.importorskip("morfessor")
    endings = ("ing", "ed", "s", "er")
    stems = ("walk", "talk", "jump", "play", "work", "kick", "cook", "clean", "paint", "start")
    words = {
        f" {stem}{end}": 5 for stem in stems for end in ("", *endings)
    }  # also stems without an ending; otherwise no stem would become a segment
    counts = WordCounts.from_mapping(words, pattern=DEFAULT_PATTERN)
    model = train("morfessor-frequent", counts, 0).source
    segments = {piece for word in words for piece in model.segment_words([word.strip()])[0]}
    assert segments & set(endings)
    tokenizer = build_morph_bpe(Task(counts, 2000))
    tokens = {token.strip() for token in tokenizer.get_vocab() if not token.startswith("<")}
    assert all(any(token in segment for segment in segments) for token in tokens)
    assert tokenizer.encode(" walking").tokens == [" walk", "ing"]


PUBLISHED = {"low": 5, "lower": 2, "newest": 6, "widest": 3}  # Sennrich et al. 2016


def test_published_end_of_word_merges():
    assert learn_end_of_word(PUBLISHED, 10)[:5] == [
        ("e", "s"), ("es", "t"), ("est", "</w>"), ("l", "o"), ("lo", "w")
    ]  # fmt: skip


def test_end_of_word_tokenizer_replays_its_merges():
    counts = WordCounts.from_mapping({f" {w}": c for w, c in PUBLISHED.items()}, pattern=DEFAULT_PATTERN)
    baseline = train("bpe-end-of-word", counts, 10_000, special_tokens=())
    tokenizer = baseline.source.encode
    (encoded,) = tokenizer(["lowest newest low"])
    assert encoded.tokens == ["low", "est</w>", "newest</w>", "low</w>"]
    assert cut(baseline, "lowest") == ["low", "est"]


@examples(300)
@given(st.text("ab'’1 ,.й\u0306\n", max_size=12))
def test_marks_stand_after_every_word(text):
    marked = normalizers.Replace(Regex(_END), "|").normalize_str(text)
    assert marked == regex.sub(_WORD.pattern, lambda match: match.group() + "|", text)


def test_low_line_normalizes_first():
    baseline = train("bpe-low-line", small_counts(), 600)
    (encoded,) = baseline.source.encode(["Walks,   TALKS!!  walks"])
    joined = "".join(encoded.tokens)
    assert joined == "walks▁talks▁walks▁"


def test_counted_words_reach_the_library_exactly():
    words = {" a": 70_000, "bc": 3, "x" * 30_000: 2}
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=0, show_progress=False)
    train_on_counts(tokenizer, trainer, words)
    assert json.loads(trainer.__getstate__())["BpeTrainer"]["words"] == words
    assert Counter("".join(repeated(words, "|")).split("|")[:-1]) == words


@pytest.mark.parametrize("byte_level", [True, False])
def test_training_on_counts_is_training_on_text(byte_level):
    lines = running_text()
    counts = counted(lines)
    reference = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    reference.pre_tokenizer = pre_tokenizers.Sequence([cut, to_bytes]) if byte_level else cut
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    reference.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    build = build_byte_bpe if byte_level else build_character_bpe
    ours = build(Task(counts, 300 if byte_level else 300 + 256))
    assert tables_of(ours)[1] == tables_of(reference)[1]


def recount(words, weights, score, n_merges):
    """Learn merges as in textbooks: recount all pairs, choose the first best one, merge it from left to right."""
    cut = [list(word) for word in words]
    known = {symbol for word in cut for symbol in word}
    merges = []
    while len(merges) < n_merges:
        used, pairs = Counter(), Counter()
        for symbols, weight in zip(cut, weights, strict=True):
            for symbol in symbols:
                used[symbol] += weight
            for pair in zip(symbols, symbols[1:], strict=False):
                pairs[pair] += weight
        fresh = {p: score(c, used[p[0]], used[p[1]]) for p, c in pairs.items() if "".join(p) not in known}
        if not fresh:
            break
        best = max(fresh, key=fresh.__getitem__)
        merges.append(best)
        known.add("".join(best))
        for number, symbols in enumerate(cut):
            merged, i = [], 0
            while i < len(symbols):
                both = tuple(symbols[i : i + 2]) == best
                merged.append("".join(best) if both else symbols[i])
                i += 2 if both else 1
            cut[number] = merged
    return merges


@pytest.mark.parametrize("score", [frequency, likelihood])
@examples(150)
@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=8), st.integers(1, 5)), min_size=1, max_size=12))
def test_equals_the_recount(score, counted):
    words, weights = [w for w, _ in counted], [c for _, c in counted]
    learner = PairLearner([list(w) for w in words], weights, score, str.__add__)
    assert learner.merges(30) == recount(words, weights, score, 30)


def made_up(seed: int) -> list[str]:
    """Return text with many ties: few letters, short words, capitals, digits, symbols, marks, astral characters."""
    choose = random.Random(seed)
    words = ["".join(choose.choices("абвab1😀A.\u0306", k=choose.randrange(1, 7))) for _ in range(60)]
    return [" ".join(choose.choices(words, k=8)) for _ in range(30)]


@pytest.mark.parametrize("lines", [running_text(), made_up(1), made_up(2)], ids=["small language", "ties", "more ties"])
def test_merges_and_ties_are_those_of_the_library(lines):
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), behavior="isolated")
    theirs.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=250, show_progress=False))
    wanted = tables_of(theirs)[1]
    trainer = MwSTrainer(composition=1, n_merges=len(wanted), show_progress=False)
    ours = trainer.train(lines).backend_tokenizer
    learned = tables_of(ours)[1][-len(wanted) :]
    spelled = [
        tuple(ours.decoder.decode([part]) for part in pair) for pair in learned
    ]  # decoded, because the parts are whole characters in the byte alphabet
    assert len(wanted) > 60
    assert spelled == wanted
    for line in lines:
        cut = Counter(theirs.encode(line).tokens)
        assert Counter(ours.decode([each]) for each in ours.encode(line).ids) == cut


def test_unigram_has_the_library_pieces_and_loses_nothing():
    lines = running_text()
    counts = counted(lines)
    reference = Tokenizer(models.Unigram())
    reference.pre_tokenizer = pre_tokenizers.Split(Regex(DEFAULT_PATTERN), behavior="isolated")
    reference.train_from_iterator(
        lines, trainers.UnigramTrainer(vocab_size=100, unk_token="<unk>", special_tokens=[], show_progress=False)
    )
    ours = build_unigram(Task(counts, 99 + 2 + 256, ["<|endoftext|>"]))
    fixed = {"<|endoftext|>", "<unk>"} | {f"<0x{i:02X}>" for i in range(256)}
    assert set(ours.get_vocab()) - fixed == set(reference.get_vocab()) - {"<unk>"}
    text = "Walks 漢 😀\n\n talks,  <0x41>"
    assert ours.decode(ours.encode(text).ids) == text


def test_settled_does_not_depend_on_the_trainers_order():
    first = [("ab", -1.0), ("c", -3.0), ("x", -2.9999), ("a", -2.9998), ("de", -3.0)]
    second = [("ab", -1.0 + 1e-12), ("a", -3.0), ("c", -2.9998), ("x", -2.9999), ("de", -3.0)]
    assert stabilized(first) == stabilized(second)


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def sentence_piece(request):
    spm = pytest.importorskip("sentencepiece")
    from mws_hf.compare.unigram import train_model

    model = train_model(request.param, Task(small_counts(), 420, ["<eot>"]))
    return spm.SentencePieceProcessor(model_proto=model), tokenizer_of(model, dummy_prefix=True)


@examples(200, print_blob=False, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["walk", "ing", "над", "берег", "ами", " ", ",", "ﬁ", "漢", "п'ят", "İ", "２"])))
def test_a_converted_sentence_piece_model_splits_the_same(sentence_piece, parts):
    processor, tokenizer = sentence_piece
    text = re.sub(" +", " ", "".join(parts)).strip()
    # its normalizer adds no dummy prefix, because the training words had the mark, so the mark is added here
    if text:
        assert tokenizer.encode(text).tokens == processor.encode("▁" + text, out_type=str)


def test_sentence_piece_reserves_tokens(sentence_piece):
    processor, tokenizer = sentence_piece
    assert processor.is_control(processor.piece_to_id("<eot>"))
    assert tokenizer.encode("walks<eot>").tokens[-1] == "<eot>"
    assert tokenizer.decode(tokenizer.encode("walks talked").ids) == "walks talked"


def test_symbols_that_its_user_defined_stay_whole():
    spm = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(running_text()), model_writer=model, vocab_size=60, hard_vocab_limit=False,
        user_defined_symbols=["[SEP]"], minloglevel=2,
    )  # fmt: skip
    processor = spm.SentencePieceProcessor(model_proto=model.getvalue())
    encoded = tokenizer_of(model.getvalue()).encode("walk[SEP]walks")
    assert encoded.ids == processor.encode("walk[SEP]walks") and "[SEP]" in encoded.tokens


@examples(100)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁")))
def test_unigram_without_normalization_loses_nothing(lossless, text):
    (encoded,) = lossless.encode([text])
    assert lossless.decode([encoded.ids]) == [text]


@pytest.fixture(scope="module")
def lossless():
    pytest.importorskip("sentencepiece")
    return train("sentencepiece-unigram-identity", small_counts(), 450).source


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
    """Segment a word by greedy longest match from the left, in plain Python, as tokenizer.json does."""
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
    learned = learn_likelihood(words, 70 - len(special) - len(alphabet))
    assert learned == NEW_TOKENS
    vocab = {*special, *alphabet, *learned}
    assert longest_match("Hugging", vocab) == ["Hugg", "##i", "##n", "##g"]
    assert longest_match("HOgging", vocab) == ["[UNK]"]


@pytest.mark.parametrize("name", ["wordpiece", "wordpiece-likelihood", "wordpiece-top-down"])
def test_tokenizer_is_greedy_longest_match(name, tmp_path):
    counts = small_counts()
    baseline = train(name, counts, 150, tmp_path / name)
    encode = open_tokenizer(saved(tmp_path / name)).encode
    vocab = Tokenizer.from_file(str(tmp_path / name / "tokenizer.json")).get_vocab()
    for word in [*bert_words(counts), "walkingest", "надtalk", "Ж"]:
        (encoded,) = encode([word])
        assert encoded.tokens == longest_match(word, vocab)
    assert cut(baseline, "Ж") == ["Ж"]


def test_decoding_drops_reserved_tokens_but_not_unknown(tmp_path):
    from transformers import AutoTokenizer

    train("wordpiece-top-down", small_counts(), 200, tmp_path / "top")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "top")
    ids = tokenizer("walks Ж talked")["input_ids"]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    assert tokens[0] == "[START]" and tokens[-1] == "[END]" and "[UNK]" in tokens
    text = tokenizer.decode(ids, skip_special_tokens=True)
    assert text == "walks [UNK] talked"


def plain_top_down(words, threshold, iterations=4):
    """Choose tokens by the rules of top-down WordPiece, with dictionaries."""
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
    learned = substrings.spell(substrings.learn(threshold))
    assert {t for t in learned if len(t.removeprefix("##")) > 1} == plain_top_down(words, threshold)


@pytest.mark.parametrize("n_tokens", [30, 40, 60])
def test_threshold_is_the_smallest_that_fits(n_tokens):
    words = {"walk": 9, "walks": 7, "walking": 5, "walked": 4, "talks": 4, "talking": 3, "taked": 2, "king": 1}
    sizes = {t: len(plain_top_down(words, t)) + len(_forms(words)) for t in range(1, 40)}
    learned = learn_top_down(words, n_tokens)
    smallest = min(t for t, size in sizes.items() if size <= n_tokens)
    assert {t for t in learned if len(t.removeprefix("##")) > 1} == plain_top_down(words, smallest)
    assert len(learned) == sizes[smallest]


def test_likelihood_counts_types_once():
    counts = WordCounts.from_mapping({" ab": 9, "ab": 1, " ac": 1}, pattern="x").as_types()
    assert bert_words(counts) == {"ab": 1, "ac": 1}
