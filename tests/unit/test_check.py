"""`mws check` and `mws check --repair`: every fault is found and, where possible, repaired; ids never change.

Modules: check.py, surgery/checked_folder.py, commands/check.py.
"""

from __future__ import annotations

import base64
import json
import shutil
from string import printable

import pytest
import transformers
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from mws_hf import MwSTokenizer, MwSTokenizerFast, MwSTrainer
from mws_hf.check import check, repair
from mws_hf.errors import MwSError
from mws_hf.surgery.trim import trim
from mws_hf.text.pattern import LLAMA3_PATTERN, with_digits
from mws_hf.text.sample_texts import NATURAL
from mws_hf.text.symbols import bytes_of
from mws_hf.tokenizer.backend import base_vocab, build_backend
from mws_hf.tokenizer.opened import open_tokenizer, segment_words
from tests.in_process import mws
from tests.small_corpus import running_text
from tests.small_tokenizers import ADVERSARIAL, sentence_piece, small_fast

ALPHABETS = pytest.mark.parametrize("alphabet", ["characters", "bytes"])


def traps(directory) -> set[str]:
    return {finding.trap for finding in check(directory).findings if finding.level == "error"}


def ids_of(directory):
    return [Tokenizer.from_file(str(directory / "tokenizer.json")).encode(text).ids for text in ADVERSARIAL]


def change(file, **entries):
    content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    content |= entries
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not None}), encoding="utf-8")


def lose_config(folder):
    (folder / "tokenizer_config.json").unlink()


def bake_padding(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=1, pad_token="<|pad|>")
    tokenizer.save(str(folder / "tokenizer.json"))


def bake_truncation(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))


def bake_dropout(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.model.dropout = 0.25
    tokenizer.save(str(folder / "tokenizer.json"))


def file_of_a_named_template(folder):
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "rag.jinja").write_text("rag {{ messages }}", encoding="utf-8")
    (folder / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")


SPOILED = {
    "no-config": lose_config,
    "baked-padding": bake_padding,
    "baked-truncation": bake_truncation,
    "baked-dropout": bake_dropout,
    "auto-map-file": lambda folder: (folder / "stock_tokenizer.py").unlink(),
    "version-class": lambda folder: change(folder / "tokenizer_config.json", tokenizer_class="TokenizersBackend"),
    "version-list": lambda folder: change(folder / "tokenizer_config.json", extra_special_tokens=["<|user|>"]),
    "version-names": lambda folder: change(folder / "tokenizer_config.json", video_token="<|user|>"),
    "version-map": lambda folder: change(
        folder / "tokenizer_config.json", extra_special_tokens={"video_token": "<|endoftext|>"}
    ),
    "version-templates": file_of_a_named_template,
    "prefix-space": lambda folder: change(folder / "tokenizer_config.json", add_prefix_space=True),
    "stale-added-tokens": lambda folder: change(folder / "added_tokens.json", чит=3),
    "replaced": lambda folder: (
        change(folder / "tokenizer_config.json", auto_map=None),
        change(folder / "config.json", model_type="qwen2"),
    ),
}


@ALPHABETS
def test_a_saved_directory_has_no_faults(alphabet, tmp_path):
    small_fast("llama3", alphabet=alphabet).save_pretrained(tmp_path)
    result = mws("check", tmp_path)
    assert result.returncode == 0, result.stdout
    assert len(result.stdout.splitlines()) < 24
    found = json.loads(mws("check", tmp_path, "--json").stdout)
    assert (found["ok"], found["alphabet"], found["pattern"]) == (True, alphabet, "llama3")
    assert found["transformers"] == "4.51 to 5.x" and not found["findings"]
    wrong = {each["client"] for each in found["clients"] if each["verdict"] == "wrong"}
    assert bool(wrong) == (alphabet == "characters")
    assert repair(tmp_path) == [] and mws("check", tmp_path, "--repair").stdout.startswith("nothing to repair\n")


@pytest.mark.parametrize(
    ("pattern", "digits", "verdicts"),
    [
        ("llama3", "single", ("right", "right", "right")),
        ("gpt4", "single", ("refuses", "right", "refuses")),
        ("o200k", "threes", ("right", "right", "right")),
        ("o200k", "single", ("refuses", "wrong", "right")),
        ("llama3", "right", ("refuses", "wrong", "refuses")),
        ("words", "threes", ("refuses", "wrong", "refuses")),
        ("tekken", "single", ("right", "wrong", "right")),
        ("tekken", "threes", ("unknown", "unknown", "unknown")),
        (r"\w+|\W", None, ("unknown", "unknown", "unknown")),
    ],
)
def test_the_measured_effects_of_a_pattern_are_reported(pattern, digits, verdicts, tmp_path):
    """The expected verdicts are those of scripts/results/clients-digits.md and clients-tekken.md."""
    small_fast(with_digits(pattern, digits), alphabet="bytes").save_pretrained(tmp_path)
    told = {each["client"]: each["verdict"] for each in json.loads(mws("check", tmp_path, "--json").stdout)["clients"]}
    assert tuple(told[name] for name in ("gigatoken", "tokie", "onnxruntime-extensions")) == verdicts


@ALPHABETS
@pytest.mark.parametrize("trap", SPOILED)
def test_each_fault_is_found_and_repaired_and_ids_stay(trap, alphabet, tmp_path):
    if trap == "replaced" and transformers.__version__ < "5":
        pytest.skip("transformers 4 replaces no class")
    tokenizer = small_fast(alphabet=alphabet)
    tokenizer.save_pretrained(tmp_path)
    SPOILED[trap](tmp_path)
    assert trap in traps(tmp_path)
    assert mws("check", tmp_path).returncode == 1
    assert mws("check", tmp_path, "--repair").returncode == 0
    assert traps(tmp_path) == set()
    assert ids_of(tmp_path) == [tokenizer.encode(text) for text in ADVERSARIAL]
    (tmp_path / "config.json").write_text('{"model_type": "qwen2"}', encoding="utf-8")
    for options in ({}, {"trust_remote_code": True}):
        loaded = AutoTokenizer.from_pretrained(tmp_path, **options)
        assert [loaded.encode(text) for text in ADVERSARIAL] == ids_of(tmp_path)
        assert (loaded.eos_token, loaded.pad_token) == ("<|endoftext|>", "<|pad|>")


@pytest.mark.parametrize(
    ("trap", "versions"), [("version-names", "5.x"), ("version-list", "5.x"), ("version-templates", "4.52 to 5.x")]
)
def test_only_versions_that_load_everything_are_promised(trap, versions, tmp_path):
    small_fast().save_pretrained(tmp_path)
    SPOILED[trap](tmp_path)
    assert check(tmp_path).facts["transformers"] == versions
    repair(tmp_path)
    assert check(tmp_path).facts["transformers"] == "4.51 to 5.x"


@pytest.mark.parametrize("own", [False, True])
def test_names_and_templates_of_the_standard_class_are_repaired_for_all_versions(own, tmp_path):
    names = {"audio_token": "<audio>", "eoi_token": "<eoi>"}
    tokenizer = small_fast(extra_special_tokens=names, additional_special_tokens=None)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|user|>"]})
    tokenizer.chat_template = {"default": "{{ messages }}", "tool_use": "tool {{ messages }}"}
    tokenizer.save_pretrained(tmp_path / "own")
    stock = AutoTokenizer.from_pretrained(tmp_path / "own")
    if own:
        tokenizer.save_pretrained(tmp_path / "copy", save_jinja_files=True)
    else:
        stock.save_pretrained(tmp_path / "copy")
    # transformers 4.51 writes all templates into tokenizer_config.json
    written = [*(tmp_path / "copy").rglob("*.jinja")]
    assert ("version-templates" in traps(tmp_path / "copy")) == bool(written)
    assert written or transformers.__version__ < "5"
    repair(tmp_path / "copy")
    assert traps(tmp_path / "copy") == traps(tmp_path / "own") == set()
    config = json.loads((tmp_path / "copy" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert (config["extra_special_tokens"], config["additional_special_tokens"]) == (names, ["<|user|>"])
    loaded = AutoTokenizer.from_pretrained(tmp_path / "copy")
    assert loaded.chat_template == tokenizer.chat_template
    assert (loaded.audio_token, loaded.eoi_token_id) == ("<audio>", tokenizer.eoi_token_id)
    assert not [*(tmp_path / "copy").rglob("*.jinja")]


def test_missing_training_metadata_are_reported_where_merges_were_learned(tmp_path):
    MwSTrainer(vocab_size=500, show_progress=False).train(["\n".join(running_text())]).save_pretrained(tmp_path / "own")
    AutoTokenizer.from_pretrained(tmp_path / "own").save_pretrained(tmp_path / "stock")
    MwSTokenizerFast.from_pretrained(tmp_path / "own").save_pretrained(tmp_path / "again")
    small_fast().save_pretrained(tmp_path / "by hand")  # nothing was trained
    trim(str(tmp_path / "own"), ["talossa"], keep_size=400).save(tmp_path / "trimmed", tmp_path / "own")  # other merges
    found = {folder.name: {each.trap for each in check(folder).findings} for folder in tmp_path.iterdir()}
    assert [name for name, traps_found in found.items() if "no-record" in traps_found] == ["stock"]
    assert check(tmp_path / "stock").findings[-1].level == "warning"
    shutil.copy(tmp_path / "own" / "mws_training.json", tmp_path / "stock")
    assert "no-record" not in {each.trap for each in check(tmp_path / "stock").findings}


@ALPHABETS
def test_a_copy_by_the_standard_class_is_repaired(alphabet, tmp_path):
    """The copy is loaded by the standard class, called with truncation and saved, as training libraries do."""
    tokenizer = small_fast(alphabet=alphabet, add_prefix_space=True)
    tokenizer.save_pretrained(tmp_path / "first")
    stock = PreTrainedTokenizerFast.from_pretrained(tmp_path / "first")
    stock("чит the чит", truncation=True, max_length=2)
    stock.save_pretrained(tmp_path / "copy")
    assert {"auto-map-file", "baked-truncation"} <= traps(tmp_path / "copy")
    with pytest.raises(OSError, match="stock_tokenizer.py"):
        AutoTokenizer.from_pretrained(tmp_path / "copy", trust_remote_code=True)
    assert any("stock_tokenizer.py" in line for line in repair(tmp_path / "copy"))
    assert traps(tmp_path / "copy") == set()
    again = AutoTokenizer.from_pretrained(tmp_path / "copy", trust_remote_code=True)
    for text in ADVERSARIAL:
        assert again.encode(text) == tokenizer.encode(text)


def test_lost_text_is_detected(tmp_path):
    tokenizer = small_fast()
    tokenizer.save_pretrained(tmp_path)
    damaged = tokenizer.backend_tokenizer
    damaged.decoder = decoders.Fuse()
    damaged.save(str(tmp_path / "tokenizer.json"))
    assert "lossy" in traps(tmp_path)


def test_a_pattern_too_much_for_tokenizers_is_a_finding(tmp_path, capfd):
    """An earlier version, which did not try patterns in `tokenizers`, saved it; encoding a sample text would panic."""
    small_fast().save_pretrained(tmp_path)
    split = {"type": "Split", "pattern": {"Regex": r"(?:\p{L}+'?)+;|\s|\S"}, "behavior": "Isolated", "invert": False}
    change(tmp_path / "tokenizer.json", pre_tokenizer=split)
    change(tmp_path / "tokenizer_config.json", auto_map=None)
    # `check` would compare the class of this model type by encoding
    change(tmp_path / "config.json", model_type="qwen2")
    assert "pattern" in traps(tmp_path)
    told = mws("check", tmp_path)
    assert told.returncode == 1 and "tokenizers fails at a run of 'a'" in told.stdout and not told.stderr
    assert "panicked" not in "".join(capfd.readouterr())


def test_an_intended_change_of_text_is_not_a_loss(tmp_path):
    small_fast(normalization="nfc", add_prefix_space=True).save_pretrained(tmp_path)
    report = check(tmp_path)
    assert report.ok and report.facts["normalizer"] == "NFC" and report.facts["add_prefix_space"]
    small_fast("llama3", "nfc", alphabet="bytes").save_pretrained(tmp_path)
    told = mws("check", tmp_path).stdout
    assert "decodes to its normalized form" in told
    assert all(
        f"  {name}: cannot use it (its normalizer" in told for name in ("tiktoken", "llama.cpp (Ollama, LM Studio)")
    )


@pytest.mark.parametrize("letters", ["AB", ""])
def test_every_step_of_a_normalizer_is_listed_and_expected_in_decoded_text(letters, tmp_path):
    """A step that was added by hand before the marker for capitals is not a fault, either."""
    vocab = base_vocab((), printable)
    backend = build_backend(vocab, [], normalization="nfc", special_tokens=["<|end|>"], capitals=letters)
    MwSTokenizerFast(tokenizer_object=backend, eos_token="<|end|>").save_pretrained(tmp_path)
    normalizer = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["normalizer"]
    form, *others = normalizer.get("normalizers", [normalizer])
    hyphen = {"type": "Replace", "pattern": {"String": "-"}, "content": "+"}
    change(tmp_path / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [form, hyphen, *others]})
    report = check(tmp_path)
    assert report.ok and report.facts["normalizer"] == "NFC, Replace", report.findings
    assert "decodes to its normalized form" in mws("check", tmp_path).stdout


def test_a_model_with_fewer_embeddings_and_one_of_mistral_are_named(tmp_path):
    tokenizer = small_fast()
    tokenizer.save_pretrained(tmp_path)
    change(tmp_path / "config.json", model_type="llama", vocab_size=len(tokenizer))
    assert not traps(tmp_path)
    change(tmp_path / "config.json", vocab_size=len(tokenizer) - 1)
    assert traps(tmp_path) == {"vocab-size"}
    change(tmp_path / "config.json", vocab_size=None, text_config={"vocab_size": len(tokenizer) - 1})
    assert traps(tmp_path) == {"vocab-size"}


def test_a_hole_in_the_ids_counts_and_padded_rows_are_fine(tmp_path):
    """The number of rows is compared with the highest id, not with the number of tokens; padding rows are reported."""
    tokenizer = small_fast(alphabet="bytes")
    tokenizer.save_pretrained(tmp_path)
    spec = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    last = max(spec["model"]["vocab"], key=spec["model"]["vocab"].__getitem__)
    spec["model"]["vocab"][last] += 50
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    rows = spec["model"]["vocab"][last] + 1
    change(tmp_path / "config.json", model_type="llama", vocab_size=rows - 1)
    assert traps(tmp_path) == {"vocab-size"}
    change(tmp_path / "config.json", vocab_size=rows)
    assert traps(tmp_path) == set() and "embedding_rows" not in check(tmp_path).facts
    change(tmp_path / "config.json", vocab_size=rows + 64)
    told = mws("check", tmp_path)
    assert told.returncode == 0, told.stdout
    assert f"{rows + 64:,}; the last 64 have no token, because they are padding (which is fine)" in told.stdout


@pytest.mark.parametrize("nested", [False, True])
def test_a_pattern_saved_as_a_string_is_reported(nested, tmp_path):
    """A training script passed the pattern as a str, and not as a `tokenizers.Regex`."""
    small_fast("llama3", alphabet="bytes").save_pretrained(tmp_path)
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    parts = [pre_tokenizers.Split(LLAMA3_PATTERN, "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    whole = pre_tokenizers.Sequence(parts)
    backend.pre_tokenizer = pre_tokenizers.Sequence([whole]) if nested else whole
    backend.save(str(tmp_path / "tokenizer.json"))
    assert traps(tmp_path) == {"string-pattern"}
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(" ", "merged_with_next"), parts[1]])
    backend.save(str(tmp_path / "tokenizer.json"))
    assert traps(tmp_path) == set()


def test_patterns_that_tokenizers_1_cannot_run_are_reported_for_all_tokenizers(tmp_path):
    for pattern, verdict in (("o200k", "right"), ("words", "refuses"), ("gpt4", "refuses")):
        small_fast(pattern, alphabet="bytes").save_pretrained(tmp_path)
        told = {fact.client: fact.verdict for fact in check(tmp_path).clients}
        assert told["tokenizers 1.0"] == verdict
    small_fast("o200k", alphabet="bytes", add_prefix_space=True).save_pretrained(tmp_path / "spaced")
    told = {fact.client.split(" (")[0]: fact for fact in check(tmp_path / "spaced").clients}
    for client in ("tokenizers 1.0", "tiktoken", "llama.cpp"):  # the exports for the last two reject it, too
        assert told[client].verdict == "refuses" and "add_prefix_space" in told[client].remark
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"), pre_tokenizers.ByteLevel(False)]
    )
    backend.save(str(tmp_path / "tokenizer.json"))
    found = check(tmp_path)
    assert [finding.trap for finding in found.findings] == ["tokenizers-1.0"] and found.ok


def test_other_tokenizers_are_checked_and_never_repaired(tmp_path):
    small_fast().save_pretrained(tmp_path)
    change(tmp_path / "tokenizer_config.json", tokenizer_class="LlamaTokenizer")
    assert [finding.trap for finding in check(tmp_path).findings] == ["foreign-class"]
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(MwSError, match="tokenizer_class is LlamaTokenizer"):
        repair(tmp_path)
    assert before == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


def test_misuse(tmp_path):
    for repairing in ([], ["--repair"]):
        assert "has no tokenizer.json" in mws("check", tmp_path, *repairing).stderr
    small_fast().save_pretrained(tmp_path / "t")
    shutil.copy(tmp_path / "t" / "tokenizer_config.json", tmp_path / "t" / "tokenizer.json")
    damaged = mws("check", tmp_path / "t")
    assert damaged.returncode == 1 and "not a tokenizer.json" in damaged.stdout


def _as_other_programs_have_it(tokenizer, shift):
    """Return a vocabulary in the forms of other programs, by file name; with `shift`, two tokens swap their ids."""
    vocab = tokenizer.get_vocab(with_added_tokens=False)
    tokens = sorted(vocab, key=vocab.get)
    merges = [" ".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
    if shift:
        tokens[60], tokens[61] = tokens[61], tokens[60]
        merges.pop()
    data = [base64.b64encode(bytes_of(token)).decode() for token in tokens]
    sizes = {"default_vocab_size": len(data) + 2, "default_num_special_tokens": 2}
    listed = [{"rank": rank - 2, "token_bytes": each} for rank, each in enumerate(data)]
    return {
        "vocab.json": json.dumps({token: number for number, token in enumerate(tokens)}),
        "merges.txt": "\n".join(["#version: 0.2", *merges]),
        "own.tiktoken": "".join(f"{each} {rank}\n" for rank, each in enumerate(data)),
        "tekken_v3.json": json.dumps({"config": sizes, "vocab": listed}),
    }


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "own.tiktoken", "tekken_v3.json"])
def test_another_vocabulary_in_the_folder_is_an_error_and_an_equal_one_is_not(name, tmp_path):
    tokenizer = small_fast("llama3", alphabet="bytes")
    tokenizer.save_pretrained(tmp_path)
    for shift, found in ((False, set()), (True, {"foreign-vocabulary"})):
        text = _as_other_programs_have_it(tokenizer.backend_tokenizer, shift)[name]
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert traps(tmp_path) == found
    (tmp_path / name).unlink()
    (tmp_path / "spiece.model").write_bytes(b"no model of any kind")
    assert [(each.level, each.trap) for each in check(tmp_path).findings] == [("warning", "foreign-vocabulary")]


@pytest.mark.slow
@pytest.mark.parametrize("by_stock_class", [False, True])
def test_beside_a_model_of_every_type_ids_are_equal_or_check_says_what_happens(by_stock_class, tmp_path):
    """`transformers` maps model types to classes, some with rules about files; a standard class saves no auto_map."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto import tokenization_auto as mapped

    tokenizer = small_fast()
    tokenizer.save_pretrained(tmp_path)
    if by_stock_class:
        config = json.loads((tmp_path / "tokenizer_config.json").read_text())
        del config["auto_map"]
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    texts = [*NATURAL[:6], "e\u0301 и\u0306", "  a  b"]
    expected = [each.ids for each in tokenizer.backend_tokenizer.encode_batch(texts)]
    wrong = getattr(mapped, "MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS", ())
    classes = mapped.TOKENIZER_MAPPING_NAMES
    types, unread, differing = sorted({*classes, *CONFIG_MAPPING, *wrong}), [], []
    # one type per class
    for kind in {kind if kind in wrong else str(classes.get(kind)): kind for kind in types}.values():
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
        try:
            loaded = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True, trust_remote_code=False)
        except Exception:  # the class needs a library that is not installed, or fields that are missing
            unread.append(kind)
            continue
        if [loaded(text)["input_ids"] for text in texts] != expected:
            differing.append(kind)
            assert ("error", "replaced") in {(each.level, each.trap) for each in check(tmp_path).findings}, kind
    assert len(unread) < 10 and (by_stock_class or not differing)


@pytest.mark.parametrize(("name", "message"), [("absent", "no such folder"), ("a.json", "not a tokenizer.json")])
def test_a_file_is_not_reported_as_an_empty_folder(name, message, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    for look in (check, repair):
        with pytest.raises(MwSError, match=f"{name}: {message}"):
            look(tmp_path / name)


def test_files_that_other_commands_open_are_checked_too(tmp_path):
    """These are a SentencePiece model without a tokenizer.json, as a folder or file, and a tokenizer.json renamed."""
    (tmp_path / "sp").mkdir()
    (tmp_path / "sp/spiece.model").write_bytes(sentence_piece("bpe"))
    small_fast().save_pretrained(tmp_path / "tok")
    shutil.copy(tmp_path / "tok/tokenizer.json", tmp_path / "other.json")
    for place in ("sp", "sp/spiece.model", "other.json"):
        assert mws("segment", tmp_path / place, "перечитать").returncode == 0
        found = json.loads(mws("check", tmp_path / place, "--json").stdout)
        assert found["tokens"] > 10 and "no-tokenizer-json" in {finding["trap"] for finding in found["findings"]}
    assert mws("check", tmp_path / "tok/tokenizer.json").returncode == 0
    (tmp_path / "cuts.tsv").write_text("перечитать\tпере чит ать\n", encoding="utf-8")
    done = mws("check", tmp_path / "cuts.tsv")
    assert done.returncode == 1 and "only segments words" in done.stdout, done


def test_a_saved_dropout_is_left_out_by_every_command_that_segments(tmp_path, caplog):
    saved = tmp_path / "saved"
    small_fast().save_pretrained(saved)
    words = ["перечитать", "читать", "прочитать"] * 20
    whole = segment_words(str(saved), words)
    bake_dropout(saved)
    for by_class in (False, True):
        caplog.clear()
        opened = open_tokenizer(str(saved), by_class=by_class)
        assert opened.segment_words(words) == whole and "BPE-dropout of 0.25" in caplog.text
    config = json.loads((saved / "tokenizer_config.json").read_text(encoding="utf-8"))
    del config["auto_map"]  # without it, the class that tokenizer_class names is used
    (saved / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert open_tokenizer(str(saved), by_class=True).segment_words(words) == whole


def test_a_saved_dropout_is_left_out_by_both_classes_and_by_what_is_trimmed(tmp_path):
    saved, text = tmp_path / "saved", "перечитать прочитать "
    small_fast().save_pretrained(saved)
    whole = MwSTokenizerFast.from_pretrained(saved)(text)["input_ids"]
    bake_dropout(saved)
    tokenizers = [of.from_pretrained(saved) for of in (MwSTokenizerFast, MwSTokenizer)]
    assert all(tokenizer(text)["input_ids"] == whole for tokenizer in tokenizers for _ in range(20))
    words = tmp_path / "words.txt"
    words.write_text(text, encoding="utf-8")
    size = Tokenizer.from_file(str(saved / "tokenizer.json")).get_vocab_size() - 1
    assert mws("trim", saved, "--text", words, "--keep-size", size, "-o", tmp_path / "less").returncode == 0
    assert "baked-dropout" not in traps(tmp_path / "less")
