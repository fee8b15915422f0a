"""Import and export of the notebook's files.

Modules: tokenizer/notebook.py.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from mws_hf.errors import MwSError
from mws_hf.text.pattern import GPT4_PATTERN, split
from mws_hf.tokenization_mws_fast import MwSTokenizerFast, import_notebook
from mws_hf.tokenizer.backend import pattern_of
from mws_hf.tokenizer.notebook import export_notebook
from tests.examples import examples
from tests.small_tokenizers import ADVERSARIAL, small_fast, small_slow

ALPHABET = sorted(" !.абвеийлнопрстучшьюя")
MERGES = [["ч", "и"], ["чи", "т"], [" ", "п"], [" п", "е"], ["а", "т"], ["ат", "ь"], ["т", "ь"], ["л", "а"]]


def notebook_files(directory, merges=MERGES, vocab=None, **document):
    """Write files as the notebook does: ids of the sorted alphabet, the merges, [EOS] last; JSON in ASCII."""
    tokens = [*ALPHABET, *(left + right for left, right in MERGES), "[EOS]"]
    vocab = {token: number for number, token in enumerate(tokens)} if vocab is None else vocab
    directory.mkdir(exist_ok=True)
    (directory / "vocabulary.json").write_text(json.dumps(vocab), encoding="utf-8")
    (directory / "merges.json").write_text(json.dumps({"merges": merges, **document}), encoding="utf-8")
    return vocab


def notebook_encode(text, vocab, merges):
    """Encode as the notebook does: merge all occurrences of the pair with the lowest rank in a pre-token at once."""
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    ids = []
    for word in split(text, GPT4_PATTERN):
        symbols = list(word)
        while True:
            pairs = [pair for pair in zip(symbols, symbols[1:], strict=False) if pair in ranks]
            if not pairs:
                break
            best, merged = min(pairs, key=ranks.get), []
            for symbol in symbols:
                if merged and (merged[-1], symbol) == best:
                    merged[-1] += symbol
                else:
                    merged.append(symbol)
            symbols = merged
        ids += [vocab[symbol] for symbol in symbols]
    return ids


def test_every_id_is_kept_and_bytes_follow(tmp_path):
    vocab = notebook_files(tmp_path / "nb")
    tokenizer = import_notebook(tmp_path / "nb")
    assert {token: tokenizer.get_vocab()[token] for token in vocab} == vocab
    assert tokenizer.convert_ids_to_tokens(range(len(vocab), len(tokenizer))) == [f"<0x{b:02X}>" for b in range(256)]
    assert (tokenizer.eos_token, tokenizer.eos_token_id) == ("[EOS]", vocab["[EOS]"])
    assert tokenizer.decode(tokenizer.encode("чита 漢 é[EOS]")) == "чита 漢 é[EOS]"
    assert pattern_of(tokenizer.backend_tokenizer) == GPT4_PATTERN
    assert tokenizer.tokenize("[EOS]", split_special_tokens=True)[0] != "[EOS]"


@given(st.text("".join(ALPHABET), max_size=60))
@examples(300)
def test_ids_equal_the_notebooks_encoder(text):
    assert IMPORTED.encode(text) == notebook_encode(text, VOCAB, MERGES)


def test_two_paths_export_and_import_again(tmp_path):
    notebook_files(tmp_path / "nb")
    first = import_notebook((tmp_path / "nb" / "vocabulary.json", tmp_path / "nb" / "merges.json"))
    export_notebook(first, tmp_path / "out")
    again = import_notebook(tmp_path / "out")
    assert again.get_vocab() == first.get_vocab()
    assert again.all_special_tokens == first.all_special_tokens


@pytest.mark.parametrize("make", [small_fast, small_slow])
def test_our_tokenizers_survive_export_and_import(tmp_path, make):
    tokenizer = make()
    tokenizer.add_tokens(["<new>"], special_tokens=True)
    export_notebook(tokenizer, tmp_path)
    again = import_notebook(tmp_path, pattern=pattern_of(small_fast().backend_tokenizer))
    assert again.get_vocab() == tokenizer.get_vocab()
    text = "перечитать<new> 漢<|user|>"
    assert again.encode(text) == tokenizer.encode(text)


def test_the_split_pattern_is_exported_and_imported(tmp_path):
    tokenizer = small_fast()
    export_notebook(tokenizer, tmp_path)
    again = import_notebook(tmp_path)
    assert pattern_of(again.backend_tokenizer) == pattern_of(tokenizer.backend_tokenizer)
    assert [again.encode(text) for text in ADVERSARIAL] == [tokenizer.encode(text) for text in ADVERSARIAL]
    export_notebook(small_fast(GPT4_PATTERN), tmp_path)
    assert set(json.loads((tmp_path / "merges.json").read_text(encoding="utf-8"))) == {"merges"}  # as the notebook does
    (tmp_path / "merges.json").write_text(json.dumps({"merges": [], "pattern": 3}), encoding="utf-8")
    with pytest.raises(MwSError, match=r"merges\.json: the pattern is 3"):
        import_notebook(tmp_path)


def byte_level():
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), vocab_size=300)
    backend.train_from_iterator(["перечитывающаяся читатель"] * 20, trainer)
    return backend


def changed(**parts):
    backend = Tokenizer.from_str(small_fast().backend_tokenizer.to_str())
    for name, part in parts.items():
        setattr(backend, name, part)
    return backend


def with_word():
    backend = changed()
    backend.add_tokens(["hello"])
    return backend


BOS = processors.TemplateProcessing("<|user|> $A", special_tokens=[("<|user|>", 2)])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (byte_level, "are for tokenizers of characters, and this tokenizer is byte-level"),
        (lambda: Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]")), "WordPiece"),
        (lambda: changed(normalizer=normalizers.NFC()), "normalizer .NFC. would be lost"),
        (lambda: changed(post_processor=BOS), "different ids"),
        (lambda: changed(decoder=decoders.Fuse()), "different decoded text"),
        (with_word, "no merge makes 'hello'"),
    ],
)
def test_tokenizers_that_the_two_files_cannot_represent_are_rejected_with_the_reason(tmp_path, make, says):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=make())
    with pytest.raises(MwSError, match=says):
        export_notebook(tokenizer, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_missing_parts_and_holes_are_filled_after_the_old_ids(tmp_path):
    vocab = {"a": 0, "b": 1, "ab": 4, "[EOS]": 6}
    notebook_files(tmp_path, merges=[["a", "b"], ["ab", "ц"]], vocab=vocab)
    found = import_notebook(tmp_path).get_vocab()
    assert {token: found[token] for token in vocab} == vocab
    assert {found["<|unused0|>"], found["<|unused1|>"], found["<|unused2|>"]} == {2, 3, 5}
    assert (found["ц"], found["abц"], found["<0x00>"]) == (7, 8, 9)


@pytest.mark.parametrize(
    ("merges", "words"),
    [
        ([*MERGES, MERGES[0]], r"merges\.json: merge 8 .* repeats merge 0"),
        ([["чи", "т"], ["ч", "и"]], r"merges\.json: merge 0 .* made only later, by merge 1"),
        ([["чи", "та"]], r"merges\.json: merge 0 .* no merge makes part 'чи'"),
        (["ч и"], r"merges\.json: merge 0 .*pair"),
        ("чи", r"merges\.json: does not contain a list"),
    ],
)
def test_bad_merges_give_one_clear_error(tmp_path, merges, words):
    notebook_files(tmp_path, merges=merges)
    with pytest.raises(MwSError, match=words):
        import_notebook(tmp_path)


def test_repeated_merges_can_be_repaired(tmp_path):
    notebook_files(tmp_path, merges=[["а", "т"], *MERGES])
    assert import_notebook(tmp_path, repair=True).encode("читать") == IMPORTED.encode("читать")


@pytest.mark.parametrize(
    ("vocab", "words"),
    [
        ({"a": 0, "b": 0}, r"vocabulary\.json: .*share id 0"),
        ({"a": "0"}, r"vocabulary\.json: .*integers from 0"),
        ({"a": -1}, r"vocabulary\.json: .*integers from 0"),
        ({"a": 10**6 + 1}, r"too many holes"),
        ({"a": 10**9}, r"integers from 0 to"),
        ({"a\ud800": 0}, r"vocabulary\.json: .*surrogate"),
        (["a", "b"], r"vocabulary\.json: not a JSON object"),
        ({}, r"vocabulary\.json: not a JSON object"),
        ({"a": 0, "чит": 1}, r"vocabulary\.json: no merge makes 'чит'.*special_tokens"),
    ],
)
def test_bad_vocabularies_give_one_clear_error(tmp_path, vocab, words):
    notebook_files(tmp_path, merges=[], vocab=vocab)
    with pytest.raises(MwSError, match=words):
        import_notebook(tmp_path)


@pytest.mark.parametrize(
    ("special", "words"),
    [
        (["[PAD]"], "not in the vocabulary"),
        (["чит"], "ordinary token"),
        (["[EOS]", "[EOS]"], "twice"),
        (["ч"], "ordinary"),
    ],
)
def test_conflicting_special_tokens(tmp_path, special, words):
    notebook_files(tmp_path)
    with pytest.raises(MwSError, match=words):
        import_notebook(tmp_path, special_tokens=special)


@pytest.mark.parametrize("name", ["vocabulary.json", "merges.json"])
def test_truncated_missing_and_foreign_files(tmp_path, name):
    notebook_files(tmp_path)
    path = tmp_path / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MwSError, match=rf"{name}:1: not valid JSON .*truncated"):
        import_notebook(tmp_path)
    path.write_bytes(b'{"\xff": 0}')
    with pytest.raises(MwSError, match=rf"{name}: byte 2 is not UTF-8"):
        import_notebook(tmp_path)
    path.write_text("[" * 100_000)
    with pytest.raises(MwSError, match=rf"{name}: .*nested too deep"):
        import_notebook(tmp_path)
    path.unlink()
    with pytest.raises(MwSError, match=rf"{name}: cannot be read"):
        import_notebook(tmp_path)


def test_missing_directory_and_unwritable_target(tmp_path):
    with pytest.raises(MwSError, match="no such folder"):
        import_notebook(tmp_path / "absent")
    for source in (("a", "b", "c"), (1, 2), "a\0b", 300 * "n"):
        with pytest.raises(MwSError, match="no such folder; give one with vocabulary.json and merges.json"):
            import_notebook(source)
    (tmp_path / "file").touch()
    with pytest.raises(MwSError, match="cannot be written"):
        export_notebook(IMPORTED, tmp_path / "file" / "below")


@pytest.fixture(scope="module", autouse=True)
def imported(tmp_path_factory):
    global IMPORTED, VOCAB
    directory = tmp_path_factory.mktemp("notebook")
    VOCAB = notebook_files(directory)
    IMPORTED = import_notebook(directory)


IMPORTED: MwSTokenizerFast
VOCAB: dict[str, int]
