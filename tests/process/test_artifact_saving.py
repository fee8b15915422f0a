"""Saving is complete or changes nothing, whatever interrupts it; loading names damaged files.

Modules: __main__.py, portable.py, tokenizer/file.py, tokenizer/saving.py.
"""

import contextlib
import json
import os

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from mws_hf.atomic import staged, write_text
from mws_hf.errors import MwSError
from mws_hf.tokenization_mws import MwSTokenizer
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.saving import STOCK_SOURCE, portable_config
from mws_hf.trainer import MwSTrainer
from tests.processes import python
from tests.small_tokenizers import small_fast, small_slow

BOTH = pytest.mark.parametrize("make", [small_fast, small_slow], ids=["fast", "slow"])


@BOTH
def test_the_written_files(tmp_path, make):
    files = make().save_pretrained(tmp_path / "new" / "tokenizer")
    names = sorted(os.listdir(tmp_path / "new" / "tokenizer"))
    assert sorted(os.path.basename(file) for file in files) == names
    assert {"tokenizer.json", "tokenizer_config.json", "stock_tokenizer.py"} <= set(names)
    assert os.listdir(tmp_path / "new") == ["tokenizer"]
    config = json.loads((tmp_path / "new" / "tokenizer" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert config["auto_map"] == {"AutoTokenizer": ["stock_tokenizer.PreTrainedTokenizerFast"] * 2}
    assert config["additional_special_tokens"] == ["<|user|>"]
    assert config["clean_up_tokenization_spaces"] is False
    assert "extra_special_tokens" not in config
    assert str(tmp_path) not in json.dumps(config)


@BOTH
def test_special_tokens_with_names_and_named_templates_are_written_where_all_versions_read_them(tmp_path, make):
    tokenizer = make(extra_special_tokens={"boi": "<boi>", "audio_token": "<audio>"}, additional_special_tokens=None)
    tokenizer.chat_template = {"default": "a", "rag": "b"}
    tokenizer.save_pretrained(tmp_path / "one")
    config = json.loads((tmp_path / "one" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["extra_special_tokens"] == {"boi": "<boi>", "audio_token": "<audio>"}
    assert config["chat_template"] == [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]
    assert not {"boi", "audio_token", "model_specific_special_tokens"} & config.keys()
    again = type(tokenizer).from_pretrained(tmp_path / "one")
    assert (again.audio_token, again.chat_template["rag"]) == ("<audio>", "b")
    assert {"<boi>", "<audio>"} <= {*again.all_special_tokens}
    again.audio_token = None
    again.chat_template = "c"
    again.save_pretrained(tmp_path / "one")
    config = json.loads((tmp_path / "one" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["extra_special_tokens"] == {"boi": "<boi>"}
    assert type(tokenizer).from_pretrained(tmp_path / "one").chat_template == "c"


@BOTH
@pytest.mark.parametrize("name", ["a/b", "../up", "/rag", "a\\b"])
def test_a_template_name_that_is_not_a_file_name_is_rejected(tmp_path, make, name):
    tokenizer = make(chat_template={"default": "a", name: "b"})
    with pytest.raises(MwSError, match="rename it without"):
        tokenizer.save_pretrained(tmp_path / "one")
    assert not (tmp_path / "one").exists()


def test_a_users_own_registered_class_is_left_alone():
    config = portable_config({"auto_map": {"AutoTokenizer": [None, "mine.Tokenizer"]}})
    assert config["auto_map"] == {"AutoTokenizer": [None, "mine.Tokenizer"]}


@pytest.mark.parametrize("model_type", ["qwen2", "qwen3_5", "siglip2", "gpt2", "llama", "bert"])
@pytest.mark.parametrize("trust", [None, False, True])
def test_a_models_config_beside_it_changes_no_id(tmp_path, monkeypatch, model_type, trust):
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a prompt"))
    directory = tmp_path / "saved"
    small_fast().save_pretrained(directory)
    (directory / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    for _ in range(2):  # first as we save it, then as the class that AutoTokenizer returns saves it again
        loaded = AutoTokenizer.from_pretrained(directory, trust_remote_code=trust)
        assert loaded.encode("перечитать 漢<|user|>") == small_fast().encode("перечитать 漢<|user|>")
        loaded.save_pretrained(directory)


def test_the_module_in_the_folder_is_the_standard_class():
    scope = {}
    exec(compile(STOCK_SOURCE, "stock_tokenizer.py", "exec"), {"__name__": "stock_tokenizer"}, scope)
    assert issubclass(scope["PreTrainedTokenizerFast"], PreTrainedTokenizerFast)
    mine = vars(scope["PreTrainedTokenizerFast"])
    assert all(name.startswith("__") and not callable(value) for name, value in mine.items())


@BOTH
def test_saving_again_changes_only_what_differs(tmp_path, make):
    make().save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    before = {name: os.stat(tmp_path / name).st_ino for name in os.listdir(tmp_path)}
    changed = make()
    changed.add_tokens(["<new>"])
    changed.save_pretrained(tmp_path)
    after = {name: os.stat(tmp_path / name).st_ino for name in os.listdir(tmp_path)}
    assert {name for name in before if before[name] != after[name]} == {"tokenizer.json"}
    assert sorted(os.listdir(tmp_path)) == sorted(before)
    assert AutoTokenizer.from_pretrained(tmp_path).tokenize("чит<new>") == ["чит", "<new>"]


STALE = {
    "added_tokens.json": {"gel": 1000},
    "special_tokens_map.json": {"eos_token": "gel", "additional_special_tokens": ["gel"]},
    "chat_template.jinja": "old",
    "additional_chat_templates/tool_use.jinja": "old",
    "tekken.json": {"vocab": []},
}
OTHERS = (
    "vocab.txt",
    "merges.txt",
    "config.json",
    "model.safetensors",
    "README.md",
    "notes/added_tokens.json",
    "my.jinja",
)


@BOTH
@pytest.mark.parametrize("name", STALE)
def test_saving_over_an_older_tokenizer_leaves_nothing_that_contradicts(tmp_path, make, name):
    (tmp_path / "new").mkdir()
    for other in OTHERS:
        (tmp_path / "new" / other).parent.mkdir(exist_ok=True)
        (tmp_path / "new" / other).write_text("{}", encoding="utf-8")
    stale = tmp_path / "new" / name
    stale.parent.mkdir(exist_ok=True)
    stale.write_text(STALE[name] if isinstance(STALE[name], str) else json.dumps(STALE[name]), encoding="utf-8")
    make().save_pretrained(tmp_path / "new")
    make().save_pretrained(tmp_path / "clean")
    assert all((tmp_path / "new" / other).read_text(encoding="utf-8") == "{}" for other in OTHERS)
    for file in (tmp_path / "clean").iterdir():
        assert file.read_bytes() == (tmp_path / "new" / file.name).read_bytes()
    (tmp_path / "new" / "config.json").unlink()
    for kind in (AutoTokenizer, PreTrainedTokenizerFast, MwSTokenizer, MwSTokenizerFast):
        loaded, clean = (kind.from_pretrained(tmp_path / where) for where in ("new", "clean"))
        assert loaded.encode("gel перечитать<|user|>") == clean.encode("gel перечитать<|user|>")
        assert loaded.special_tokens_map == clean.special_tokens_map
        assert loaded.chat_template is None
    assert stale.exists() == (tmp_path / "clean" / name).exists()


@pytest.mark.parametrize("name", ["vocabulary.json", "merges.json", "tokenizer.model", "vocab.json"])
def test_saving_into_the_current_folder_removes_no_file_of_the_user(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text('["mine"]', encoding="utf-8")
    for _ in range(2):
        small_fast().save_pretrained(".")
    assert (tmp_path / name).read_text(encoding="utf-8") == '["mine"]'
    assert AutoTokenizer.from_pretrained(".").encode("gel") == small_fast().encode("gel")


def test_a_chat_template_comes_and_goes_with_the_tokenizer(tmp_path):
    with_template = small_fast()
    with_template.chat_template = {"default": "first", "tool_use": "second"}
    with_template.save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path).chat_template == with_template.chat_template
    with_template.chat_template = "third"
    with_template.save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path).chat_template == "third"
    small_fast().save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path).chat_template is None


@BOTH
def test_a_prefix_of_names_is_rejected(tmp_path, make):
    with pytest.raises(MwSError, match="a separate folder"):
        make().save_pretrained(tmp_path, filename_prefix="b")
    assert not os.listdir(tmp_path)


@BOTH
def test_an_error_while_saving_changes_nothing(tmp_path, make):
    make().save_pretrained(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    broken = make()
    broken.init_kwargs["broken"] = object()  # JSON cannot contain this value, so transformers stops halfway
    with pytest.raises(TypeError):
        broken.save_pretrained(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before
    with pytest.raises(TypeError):
        broken.save_pretrained(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


@BOTH
def test_unwritable_targets(tmp_path, make):
    (tmp_path / "file").touch()
    with pytest.raises(MwSError, match="is a file"):
        make().save_pretrained(tmp_path / "file")
    with pytest.raises(MwSError, match="cannot be written"):
        make().save_pretrained(tmp_path / "file" / "below")


KILLED_AT = """
import os, signal, sys
from tests.processes import python
from tests.small_tokenizers import small_fast
place, left, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
def count_down(event, given):
    global left
    files = given[:2] if event == "os.rename" else given[:1] if event == "os.remove" else ()
    if any(os.path.dirname(str(file)) == place for file in files):  # moved in, moved aside or removed
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count_down)
if arguments:
    from mws_hf.commands.entry import main
    sys.argv[1:] = arguments
    main()
new = small_fast(model_max_length=5)
new.add_tokens(["<new>"])
new.save_pretrained(place)
"""
ORDER = ["old", "none", "new"]


def killed_at(place, steps, *arguments):
    """Kill a save or command after this many replacements; return the tokenizer that is left, and if it was killed."""
    done = python(KILLED_AT, place, steps, *arguments)
    if not (place / "tokenizer.json").exists():
        return "none", bool(done.returncode)
    loaded = AutoTokenizer.from_pretrained(place)
    assert loaded.decode(loaded.encode("перечитать")) == "перечитать"
    return "new" if "<new>" in loaded.get_vocab() else "old", bool(done.returncode)


@pytest.mark.slow
def test_killed_between_any_two_replacements_a_save_leaves_the_old_tokenizer_or_none(tmp_path):
    """The folder has three files to change and one to remove; the last run is not killed."""
    found, killed = [], True
    while killed and len(found) < 15:
        saved = tmp_path / f"saved{len(found)}"
        small_fast(chat_template="old").save_pretrained(saved)
        kind, killed = killed_at(saved, len(found))
        found.append(kind)
        if kind != "none":
            loaded = AutoTokenizer.from_pretrained(saved)
            assert (loaded.model_max_length == 5) == (loaded.chat_template is None) == (kind == "new")
    assert found[0] == "old" and found[-1] == "new" and "none" in found and found == sorted(found, key=ORDER.index)


@pytest.mark.slow
def test_killed_in_its_save_a_training_leaves_none(tmp_path):
    (tmp_path / "text.txt").write_text("перечитать прочитать читатель\n" * 20, encoding="utf-8")
    small_fast().save_pretrained(tmp_path / "t")
    training = ("train", tmp_path / "text.txt", "-o", tmp_path / "t", "--force", "--n-merges", 8)
    assert killed_at(tmp_path / "t", 3, *training, "--special-token", "<new>") == ("none", True)


def written(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


KILLED_IN_REPLACING = """
import os, sys
from pathlib import Path
from mws_hf.atomic import staged
home, left = Path(sys.argv[1]), int(sys.argv[2])
def count_down(event, given):
    global left
    left -= event == "os.rename"
    if left < 0:
        os._exit(9)
with staged(home) as stage:
    for name in ("a.json", "tokenizer.json", "z.json"):
        (stage / name).write_text("new", encoding="utf-8")
    sys.addaudithook(count_down)
"""


def test_killed_between_any_two_replacements_all_files_are_of_one_kind_or_the_tokenizer_is_absent(tmp_path):
    whole = []
    for steps in range(8):
        home = written(tmp_path / str(steps), **dict.fromkeys(("a__json", "tokenizer__json", "z__json"), "old"))
        python(KILLED_IN_REPLACING, home, steps)
        found = {file.name: file.read_text(encoding="utf-8") for file in home.glob("*.json")}
        if "tokenizer.json" in found:
            assert len(found) == 3 and len(set(found.values())) == 1
            whole.append(found["tokenizer.json"])
    assert whole[0] == "old" and whole[-1] == "new" and len(whole) < 8


def test_interrupted_between_any_two_replacements_all_files_are_old_or_all_are_new(tmp_path, monkeypatch):
    names = ("a.json", "tokenizer.json", "z.json")
    replace, ends = os.replace, []
    for steps in range(8):
        home = written(tmp_path / str(steps), **dict.fromkeys(("a__json", "tokenizer__json", "z__json"), "old"))
        left = steps

        def counted(source, target):
            nonlocal left
            left -= 1
            if left == -1:
                raise KeyboardInterrupt
            replace(source, target)

        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt), staged(home) as stage:
            for name in names:
                (stage / name).write_text("new", encoding="utf-8")
            patch.setattr(os, "replace", counted)
        found = content(home)
        assert sorted(found) == sorted(names) and len(set(found.values())) == 1
        ends.append(found["tokenizer.json"])
    assert ends == ["old"] * 6 + ["new"] * 2


@pytest.mark.parametrize("name", ["added_tokens.json", "chat_template.jinja", "special_tokens_map.json"])
def test_a_folder_in_the_way_of_a_save_stays_and_nothing_changes(tmp_path, name):
    small_fast().save_pretrained(tmp_path / "t")
    written(tmp_path / "t" / name, mine="my file")
    before = content(tmp_path / "t")
    other = small_fast()
    other.add_tokens(["<new>"])
    other.chat_template = "{{ messages }}"
    with pytest.raises(MwSError, match=f"{name}: is a folder where a file belongs"):
        other.save_pretrained(tmp_path / "t")
    assert content(tmp_path / "t") == before


def test_a_linked_folder_and_a_linked_file_inside_an_output_are_replaced_and_not_followed(tmp_path):
    outside = written(tmp_path / "mine", default__jinja="my template", other__jinja="another", a__json="my json")
    before = content(outside)
    home = written(tmp_path / "t", tokenizer__json="old")
    (home / "additional_chat_templates").symlink_to(outside)
    (home / "a.json").symlink_to(outside / "a.json")
    with staged(home, ["additional_chat_templates/*.jinja"]) as stage:
        written(stage, tokenizer__json="new", a__json="new")
        written(stage / "additional_chat_templates", default__jinja="new")
    assert content(outside) == before
    assert not (home / "additional_chat_templates").is_symlink() and not (home / "a.json").is_symlink()
    assert set(content(home).values()) == {"new"} and len(content(home)) == 3
    (home / "additional_chat_templates" / "default.jinja").unlink()
    (home / "additional_chat_templates").rmdir()
    (home / "additional_chat_templates").symlink_to(outside)
    with staged(home, ["additional_chat_templates/*.jinja"]) as stage:
        written(stage, tokenizer__json="newer")
    assert content(outside) == before and not os.path.lexists(home / "additional_chat_templates")


def test_leftovers_of_killed_saves_are_removed_later(tmp_path):
    small_fast().save_pretrained(tmp_path)
    old, young = (tmp_path / f".{tmp_path.name}.1-{tag}.tmp" for tag in ("aaaaaaaa", "bbbbbbbb"))
    locks = [tmp_path / f".{leftover.name}.lock" for leftover in (old, young)]
    for leftover, lock in zip((old, young), locks, strict=True):
        leftover.mkdir()
        lock.touch()
    os.utime(old, (0, 0))
    small_fast().save_pretrained(tmp_path)
    assert [path.exists() for path in (old, young, *locks)] == [False, True, False, True]


@pytest.fixture
def on_disk(monkeypatch):
    """List system calls: for each renamed file, whether it was flushed to the disk before, and each flushed folder."""
    said, written = [], set()
    fsync, moves = os.fsync, {"replace": os.replace, "rename": os.rename}

    def synced(descriptor):
        fsync(descriptor)
        status = os.fstat(descriptor)
        written.add((status.st_ino, status.st_mtime_ns, status.st_size))
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            said.append(("folder", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))))

    def moved(name):
        def move(source, target, **options):
            files = [source] if os.path.isfile(source) else [f for f in source.rglob("*") if f.is_file()]
            # an old file that is moved aside need not be flushed
            for file in () if "-old.tmp" in str(target) else files:
                status = os.stat(file)
                whole = (status.st_ino, status.st_mtime_ns, status.st_size) in written
                said.append(("on disk" if whole else "NOT ON DISK", os.path.basename(target)))
            moves[name](source, target, **options)

        return move

    monkeypatch.setattr("os.fsync", synced)
    for name in moves:
        monkeypatch.setattr(f"os.{name}", moved(name))
    return said


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks Linux which file a descriptor is")
def test_a_new_file_is_on_the_disk_before_it_replaces_the_old_one(tmp_path, on_disk):
    home = tmp_path / "home"
    home.mkdir()
    write_text(home / "file", "text")
    assert on_disk == [("on disk", "file"), ("folder", "home")]
    on_disk.clear()
    small_fast().save_pretrained(home / "new")
    assert {kind for kind, _ in on_disk} == {"on disk", "folder"}
    assert on_disk[-1] == ("folder", "home")
    assert len([kind for kind, _ in on_disk if kind == "on disk"]) == len(os.listdir(home / "new"))
    on_disk.clear()
    changed = small_fast()
    changed.add_tokens(["<new>"])
    changed.save_pretrained(home / "new")
    assert on_disk == [("on disk", "tokenizer.json"), ("folder", "new")]


def test_a_copy_of_a_loaded_tokenizer_keeps_the_files_of_its_training(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("перечитать прочитать читатель читали писатель писали\n" * 20, encoding="utf-8")
    labels = {"перечитать": "пере чита ть", "читатель": "чита тель", "писали": "писа ли", "читали": "чита ли"}
    labels |= {"прочитать": "про чита ть"}
    trained = MwSTrainer(vocab_size=420, labels=labels, show_progress=False).train(text)
    trained.save_pretrained(tmp_path / "first")
    names = ("mws_training.json", "mws_evidence.pq", "README.md", "tokenizer.json")
    for cls, source, copy in ((MwSTokenizerFast, "first", "second"), (MwSTokenizer, "second", "third")):
        cls.from_pretrained(tmp_path / source).save_pretrained(tmp_path / copy)
        for name in names:
            assert (tmp_path / copy / name).read_bytes() == (tmp_path / "first" / name).read_bytes(), (copy, name)
    other = MwSTokenizerFast.from_pretrained(tmp_path / "third").train_new_from_iterator(["другой текст"] * 9, 400)
    other.save_pretrained(tmp_path / "other")
    assert (tmp_path / "other" / names[0]).read_bytes() != (tmp_path / "first" / names[0]).read_bytes()
