"""Segmentation by any tokenizer: models are built here with the trainers of the library, and compared with the text.

Modules: tokenizer/foreign.py.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from mws_hf.errors import MwSError
from mws_hf.tokenizer.foreign import align, token_bytes
from mws_hf.tokenizer.merging import merge, ranked
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from mws_hf.tokenizer.segmenting import boundaries_within
from tests.examples import examples

TEXT = ["читать читаю читал перечитать unlocked locks locking unlock книга книги книгой"] * 3
FAMILIES = ("byte_level", "word_piece", "metaspace_unigram", "llama_like", "literal_bytes", "end_of_word")


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=["[UNK]", "[CLS]"], show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=12)
    return tokenizer


def metaspace_unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=["<unk>"], unk_token="<unk>", initial_alphabet=list("▁abcfi"), show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def llama_like():
    """Build a BPE with a dummy prefix in its normalizer, in which a space before a word would become "▁▁"."""
    letters = ["▁", *"lockuned"]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    merges = [("▁", "▁"), ("l", "o"), ("lo", "c"), ("loc", "k"), ("▁", "lock"), ("u", "n"), ("▁", "un"), ("e", "d")]
    vocabulary = [*byte_tokens, *letters, *(a + b for a, b in merges)]
    model = models.BPE({token: index for index, token in enumerate(vocabulary)}, merges, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return tokenizer


def literal_bytes():
    """Build a tokenizer of characters as this package does: spaces inside tokens, and byte fallback."""
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    merges = [(" ", "u"), (" u", "n"), ("l", "o"), ("c", "k"), ("lo", "ck"), ("e", "d")]
    vocabulary = [*byte_tokens, *" uncklode", *(a + b for a, b in merges)]
    model = models.BPE({token: index for index, token in enumerate(vocabulary)}, merges, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r" ?\p{L}+|\s+"), "isolated")
    return tokenizer


def end_of_word():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=70, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


@pytest.fixture(scope="module")
def built():
    return {name: globals()[name]() for name in FAMILIES}


WORDS = ["читать", "перечитаю", "unlocked", "locking", "книгой", "жук", "éa", "ﬁb", "😀a", "नमस्ते", "ß"]


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_spell_the_word_with_and_without_isolation(built, family):
    for isolated in ("space", "none"):
        assert ["".join(pieces) for pieces in segment_words(built[family], WORDS, isolated=isolated)] == WORDS


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_of_whole_characters_give_their_own_split_points(built, family):
    """Words of the training text need neither byte nor unknown tokens, so their pieces are tokens without marks."""
    tokenizer, word = built[family], "unlocked"
    encoder = open_tokenizer(tokenizer, by_class=True)
    item = encoder.encode([" " + word if encoder.before else word])[0]
    stripped = [token.removeprefix("##").removesuffix("</w>").strip("▁Ġ ") for token in item.tokens]
    assert segment_words(tokenizer, [word])[0] == tuple(piece for piece in stripped if piece)


def test_byte_level_tokens_inside_characters_are_not_boundaries():
    alphabet = {character: index for index, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(alphabet, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert segment_words(tokenizer, ["жук", "😀a"]) == [("ж", "у", "к"), ("😀", "a")]
    # A token of the second byte of п (D0 BF) and the first byte of р (D1 80) joins both letters.
    second_first = "¿" + "Ñ"
    tokenizer.model = models.BPE(alphabet | {second_first: 256}, [("¿", "Ñ")])
    assert segment_words(tokenizer, ["про"]) == [("пр", "о")]


def test_dummy_prefix_gets_no_second_space(built):
    assert open_tokenizer(built["llama_like"], by_class=True).before == ""
    assert segment_words(built["llama_like"], ["lock", "unlocked", "lockж"]) == [
        ("lock",),
        ("un", "lock", "ed"),
        ("lock", "ж"),
    ]
    assert open_tokenizer(built["metaspace_unigram"], by_class=True).before == ""
    assert open_tokenizer(built["byte_level"], by_class=True).before == " "


def test_literal_space_and_byte_fallback(built):
    assert segment_words(built["literal_bytes"], ["unlocked", "lockжed"]) == [("un", "lock", "ed"), ("lock", "ж", "ed")]
    assert segment_words(built["literal_bytes"], ["un"], isolated="none") == [("u", "n")]


def test_normalizers_that_change_length_keep_offsets_of_the_original(built):
    pieces = segment_words(built["metaspace_unigram"], ["ﬁb"])[0]  # NFKC makes three characters of two
    assert "".join(pieces) == "ﬁb" and pieces[0].startswith("ﬁ")
    assert segment_words(built["word_piece"], ["LOCKS", "qqq"]) == [
        tuple(piece.upper() for piece in segment_words(built["word_piece"], ["locks"])[0]),
        ("qqq",),  # [UNK] has no boundary inside
    ]


def test_truncation_padding_and_special_tokens_of_the_file_are_off(built, tmp_path):
    built["word_piece"].save(str(tmp_path / "tokenizer.json"))
    item = open_tokenizer(tmp_path, by_class=True).encode(["unlocked locks locking unlock"])[0]
    assert item.spans[-1][1] == 29 and "[CLS]" not in item.tokens
    assert open_tokenizer(tmp_path, by_class=True).unknown_id == 0
    assert built["word_piece"].truncation is not None  # the object of the caller is not changed


@pytest.mark.parametrize("family", FAMILIES)
def test_directories_and_objects_agree(built, family, tmp_path):
    expected = segment_words(built[family], WORDS)
    fast = PreTrainedTokenizerFast(tokenizer_object=built[family])
    assert segment_words(fast, WORDS) == expected
    fast.save_pretrained(tmp_path / "saved")
    assert segment_words(tmp_path / "saved", WORDS) == expected
    built[family].save(str(tmp_path / "tokenizer.json"))
    assert segment_words(str(tmp_path), WORDS) == segment_words(tmp_path / "tokenizer.json", WORDS) == expected


def test_remote_code_is_never_run(built, tmp_path):
    built["byte_level"].save(str(tmp_path / "tokenizer.json"))
    config = {"auto_map": {"AutoTokenizer": [None, "evil.Evil"]}, "tokenizer_class": "Evil"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    assert segment_words(tmp_path, WORDS) == segment_words(built["byte_level"], WORDS)


class SlowStandIn:
    """A slow tokenizer with three methods, which returns the token strings of a fast one without offsets."""

    def __init__(self, tokenizer, unknown=None):
        self.tokenizer, self.unk_token = tokenizer, unknown
        if isinstance(tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel):
            characters = sorted(pre_tokenizers.ByteLevel.alphabet(), key=ord)
            printable = [chr(code) for code in [*range(33, 127), *range(161, 173), *range(174, 256)]]
            rest = [byte for byte in range(256) if chr(byte) not in printable]
            self.byte_decoder = {character: ord(character) for character in printable}
            self.byte_decoder |= dict(zip([c for c in characters if c not in printable], rest, strict=True))

    def __len__(self):
        return self.tokenizer.get_vocab_size()

    def tokenize(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).tokens

    def convert_tokens_to_ids(self, tokens):
        return [self.tokenizer.token_to_id(token) for token in tokens]


@pytest.mark.parametrize("family", FAMILIES)
def test_token_strings_give_the_same_split_points_as_offsets(built, family):
    tokenizer = Tokenizer.from_str(built[family].to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    unknown = {"word_piece": "[UNK]", "metaspace_unigram": "<unk>", "end_of_word": "<unk>"}.get(family)
    # Stripped accents, ligatures and runs of unknown tokens need offsets.
    words = [word for word in WORDS if word.isascii() or word[0] in "чпк" or not unknown]
    assert segment_words(SlowStandIn(tokenizer, unknown), words) == segment_words(tokenizer, words)


def test_words_that_cannot_be_laid_out_stay_whole_with_a_warning(built, caplog):
    slow = SlowStandIn(built["llama_like"])
    slow.tokenize = lambda text: ["other", "letters"]
    assert segment_words(slow, ["lock"]) == [("lock",)]
    assert "1 of 1 words are not split" in caplog.text


def test_alignment_of_strings():
    assert align("Ab c", [b"a", b"b", b"c"]) == [(0, 1), (1, 2), (3, 4)]
    assert align("xxab", [None, b"ab", None]) == [(0, 2), (2, 4), (0, 0)]
    assert align("ab", [b" a", b"b"]) == [(0, 1), (1, 2)]
    assert align("abc", [b"a", b"b"]) is None
    assert token_bytes("ed</w>") == b"ed" and token_bytes("st@@") == b"st"


def test_split_points_by_hand():
    assert boundaries_within([(0, 2), (2, 2), (2, 5)], 0, 5) == [2]
    assert boundaries_within([(0, 2), (3, 5)], 0, 5) == [3]
    assert boundaries_within([(0, 1), (1, 4), (4, 6)], 1, 6) == [3]


def test_plain_functions():
    assert segment_words(lambda word: list(word), ["ab"]) == [("a", "b")]
    with pytest.raises(MwSError, match="must spell the word"):
        segment_words(lambda word: ["▁" + word], ["ab"])


@examples(60)
@given(st.lists(st.tuples(st.sampled_from("ab c"), st.sampled_from("ab c")), unique=True), st.text("ab c", max_size=9))
def test_merging_equals_the_library(pairs, word):
    merges = [(a, b) for a, b in pairs]
    strings = list(dict.fromkeys([*"ab c", *(a + b for a, b in merges)]))
    library = Tokenizer(models.BPE({token: index for index, token in enumerate(strings)}, merges))
    assert merge(word, ranked(merges)) == library.encode(word).tokens


def test_isolation_is_one_of_two():
    with pytest.raises(MwSError, match="choose 'space' or 'none'"):
        segment_words(list, ["a"], isolated="both")
