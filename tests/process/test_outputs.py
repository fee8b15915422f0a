"""Outputs of commands: inputs are never overwritten, only one run writes, and outputs are complete or absent.

Modules: atomic.py, commands/outputs.py.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig

from mws_hf.atomic import check_not_overwriting, check_output, output_lock, staged, write_text
from mws_hf.corpus.blocks import MAX_BYTES_WITHOUT_KERNELS
from mws_hf.errors import MwSError
from mws_hf.tokenizer.layout import RECORD_FILE
from mws_hf.tokenizer.notebook import export_notebook
from tests.examples import with_more
from tests.in_process import mws
from tests.processes import command, files_of, one_line, python, start, tree, wait_for
from tests.processes import mws as process
from tests.small_tokenizers import small_fast

TEXT = "перечитать прочитать читатель писатель переписать подводник\n" * 20
TRAIN = ("--criterion", "classic", "--pattern", "o200k", "--n-merges", 8)


@pytest.fixture
def home(tmp_path):
    """A tokenizer `tok`, the notebook's files `nb`, `text.txt`, `gold.tsv`, `words.tsv`, and links to the text."""
    small_fast().save_pretrained(tmp_path / "tok")
    export_notebook(small_fast(), tmp_path / "nb")
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "gold.tsv").write_text("читать\tчит ать\nписатель\tпис а тель\n", encoding="utf-8")
    (tmp_path / "words.tsv").write_text("читать\t3\n", encoding="utf-8")
    (tmp_path / "soft.txt").symlink_to(tmp_path / "text.txt")
    os.link(tmp_path / "text.txt", tmp_path / "hard.txt")
    (tmp_path / "folder").symlink_to(tmp_path / "tok")
    (tmp_path / "out").mkdir()
    for name in ("results.md", "corpus.json", "tokenizer.json"):
        os.link(tmp_path / "text.txt", tmp_path / "out" / name)
    return tmp_path


OVERWRITING = [
    "count text.txt -o text.txt",
    "count text.txt -o ./out/../text.txt",
    "count text.txt -o soft.txt",
    "count soft.txt -o text.txt",
    "count text.txt -o hard.txt",
    "count *.txt -o text.txt",
    "count gold.tsv text.txt -o text.txt",
    "count --word-list words.tsv -o words.tsv",
    "compare text.txt --gold gold.tsv --vocab-size 400 -o out",
    "compare gold.tsv --gold gold.tsv --text text.txt --vocab-size 400 -o out",
    "train text.txt -o out",
    "train --word-list text.txt -o out",
    "encode tok text.txt -o out",
    "encode tok text.txt -o tok",
    "encode tok text.txt -o folder",
    "export tok --format notebook -o tok",
    "export tok --format notebook -o folder",
    "explain читать --from text.txt --plot text.txt",
]


@pytest.mark.parametrize("line", OVERWRITING)
def test_no_command_overwrites_its_input(home, monkeypatch, line):
    monkeypatch.chdir(home)
    before = tree(home)
    done = mws(*line.split())
    assert one_line(done) and "would be overwritten" in done.stderr
    assert tree(home) == before


FINISHED = [
    f"train text.txt -o new {' '.join(map(str, TRAIN))}",
    "trim tok --text text.txt --min-count 1 -o new",
    "extend tok text.txt --add 2 -o new -q",
    "transplant model tok -o new",
    "export tok --format byte-level --pattern llama3 -o new",
    "export tok --format notebook -o new",
    "export bytes --format tiktoken -o new",
    "pretrained mws-ru-morphs-8k -o new",
    "compare text.txt --gold gold.tsv --vocab-size 400 --systems characters -o new -q",
]


def needs_of(line, home):
    """Return the paths that a line of a test needs in addition to those in `home`."""
    if "bytes" in line:
        small_fast("llama3", alphabet="bytes").save_pretrained(home / "bytes")
    if "gguf" in line:
        pytest.importorskip("gguf")
    if "transplant" in line:
        pytest.importorskip("torch")
        size = {"vocab_size": len(small_fast()), "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
        config = LlamaConfig(**size, num_attention_heads=1, num_key_value_heads=1)
        AutoModelForCausalLM.from_config(config).save_pretrained(home / "model")
        small_fast().save_pretrained(home / "model")


@pytest.mark.parametrize("line", FINISHED)
def test_a_finished_folder_is_rejected_and_replaced_as_a_whole_with_force(home, line):
    needs_of(line, home)
    new = home / "new"
    new.mkdir()
    (new / "notes.txt").write_text("mine", encoding="utf-8")  # this file has nothing to do with tokenizers
    assert mws(*line.split(), cwd=home).returncode == 0
    written = sorted(os.listdir(new))
    for name in ("README.md", "tekken.json", "vocab.json", "spiece.model"):
        (new / name).write_text("mine", encoding="utf-8")
    before = tree(new)
    done = mws(*line.split(), cwd=home)
    assert one_line(done) and "new: contains " in done.stderr and "--force" in done.stderr
    assert tree(new) == before
    own = {"README.md"} | ({"tekken.json", "vocab.json", "spiece.model"} if "compare" in line else set())
    for _ in range(2):  # a script can run the command twice
        assert mws(*line.split(), "--force", cwd=home).returncode == 0
        assert sorted(os.listdir(new)) == sorted({*written} | own)
        assert all((new / name).read_text(encoding="utf-8") == "mine" for name in ("README.md", "notes.txt"))


@pytest.mark.parametrize(
    "line",
    [
        "count text.txt -o new.parquet",
        "report tok -o new.html",
        "explain читать --from text.txt --plot new.svg -q",
        "export bytes --format gguf -o new.gguf",
    ],
)
def test_an_existing_file_is_rejected_and_replaced_with_force(home, line):
    needs_of(line, home)
    name = next(word for word in line.split() if word.startswith("new."))
    (home / name).write_text("old", encoding="utf-8")
    done = mws(*line.split(), cwd=home)
    assert one_line(done) and f"{name}: already exists; give --force to replace it" in done.stderr
    assert (home / name).read_text(encoding="utf-8") == "old"
    for _ in range(2):
        assert mws(*line.split(), "--force", cwd=home).returncode == 0
    assert (home / name).read_bytes()[:3] != b"old"


@pytest.mark.parametrize("beside", ["config.json", "added_tokens.json", "o200k.tiktoken", RECORD_FILE])
def test_encode_does_not_write_into_the_folder_of_a_tokenizer_or_model(home, beside):
    (home / "new").mkdir()
    (home / "new" / beside).write_text("{}", encoding="utf-8")
    done = mws("encode", home / "tok", home / "text.txt", "-o", home / "new", "-q")
    assert one_line(done) and beside in done.stderr and "--force" in done.stderr
    assert mws("encode", home / "tok", home / "text.txt", "-o", home / "new", "-q", "--force").returncode == 0
    assert (home / "new" / beside).read_text(encoding="utf-8") == "{}"
    assert mws("encode", home / "tok", home / "text.txt", "-o", home / "new", "-q", "--force").returncode == 0


def test_an_input_that_is_a_link_to_nothing_is_named(home):
    """The link is a name, a match of a glob, or part of a loop; an existing output is compared with all inputs."""
    (home / "old.parquet").write_text("old", encoding="utf-8")
    (home / "gone.txt").symlink_to("nowhere")
    (home / "loop.log").symlink_to("loop.log")
    for name in ("gone.txt", "loop.log", "*.log"):
        done = mws("count", name, "-o", "old.parquet", "--force", cwd=home)
        named = "loop.log" if name == "*.log" else name
        assert one_line(done) and done.stderr.startswith(f"error: {named}: is a broken link"), done.stderr


def test_other_outputs_are_not_examined(home, monkeypatch):
    monkeypatch.chdir(home)
    check_not_overwriting(["new.txt", "gold.tsv", "out"], "text.txt", ["-", "absent", "[", "*.none"], None)
    assert mws("count", "text.txt", "-o", "counts.parquet").returncode == 0


@pytest.mark.parametrize(
    "line",
    [
        "train text.txt -o new",
        "compare text.txt --gold gold.tsv --vocab-size 400 --systems mws -o new",
        "encode tok text.txt -o new",
        "export tok --format notebook -o new",
    ],
)
def test_every_command_that_writes_a_directory_needs_its_lock(home, monkeypatch, line):
    monkeypatch.setattr("mws_hf.atomic.LOCK_TIMEOUT_SECONDS", 0.1)
    monkeypatch.chdir(home)
    held = start("encode", home / "tok", "-", "-o", home / "new")
    wait_for((home / ".new.lock").exists, held)
    time.sleep(0.3)  # from the file to the lock on it
    done = mws(*line.split())
    held.communicate()
    assert one_line(done) and "another run is writing there" in done.stderr
    assert not (home / "new").exists() and not (home / ".new.lock").exists()


def test_the_lock_of_a_killed_process_blocks_nobody(home, monkeypatch):
    monkeypatch.setattr("mws_hf.atomic.LOCK_TIMEOUT_SECONDS", 0.1)
    killed = start("train", "-", "-o", home / "new", *TRAIN)
    wait_for((home / ".new.lock").exists, killed)
    time.sleep(0.3)  # from the file to the lock on it
    with pytest.raises(MwSError, match="another run"):
        small_fast().save_pretrained(home / "new")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (home / ".new.lock").exists()
    small_fast().save_pretrained(home / "new")
    assert not (home / ".new.lock").exists()
    assert sorted(os.listdir(home / "new")) == sorted(os.listdir(home / "tok"))


def test_a_lock_leaves_no_folders_and_no_file(tmp_path):
    with pytest.raises(KeyError), output_lock(tmp_path / "a" / "b" / "out"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    with output_lock(tmp_path / "a" / "out"):
        (tmp_path / "a" / "other").touch()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["other"]


SAVING = """
import fcntl, sys
def refuse(*_):
    raise OSError(int(sys.argv[2]), "no locks here")
if sys.argv[2] != "0":
    fcntl.flock = refuse
from tests.small_tokenizers import small_fast
tokenizer = small_fast()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(5):
    tokenizer.save_pretrained(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks of Windows are others")
@pytest.mark.parametrize("number", with_more([0, errno.ENOLCK], errno.ENOTSUP))
def test_ranks_that_save_at_once_wait_for_each_other_with_and_without_the_systems_locks(tmp_path, number):
    command = [sys.executable, "-c", SAVING, str(tmp_path / "saved"), str(number)]
    pipe = subprocess.PIPE
    ranks = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(3)]
    assert [rank.stdout.readline() for rank in ranks] == ["ready\n"] * 3
    for rank in ranks:
        rank.stdin.write("\n")
        rank.stdin.flush()
    ends = [rank.communicate()[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0, 0], ends
    small_fast().save_pretrained(tmp_path / "alone")
    assert sorted(os.listdir(tmp_path / "saved")) == sorted(os.listdir(tmp_path / "alone"))
    assert sorted(os.listdir(tmp_path)) == ["alone", "saved"]


@pytest.mark.parametrize("name", ["ж" * 122, "n" * 255, "n" * 248])
def test_a_name_that_the_file_system_takes_is_written_and_a_longer_one_is_rejected_before(tmp_path, name):
    check_output(tmp_path / name, folder=True)
    small_fast().save_pretrained(tmp_path / name)
    check_output(tmp_path / name[1:], folder=False)
    write_text(tmp_path / name[1:], "text")
    assert sorted(os.listdir(tmp_path)) == sorted([name, name[1:]])
    for folder in (True, False):
        with pytest.raises(MwSError, match="too long"):
            check_output(tmp_path / ("n" * 256), folder=folder)


def test_an_output_that_is_a_link_stays_one_and_a_device_is_rejected(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "old.txt").write_text("old", encoding="utf-8")
    for link, target in (("there", "data/old.txt"), ("new", "data/new.txt"), ("again", "there")):
        (tmp_path / link).symlink_to(tmp_path / target)
        check_output(tmp_path / link, folder=False)
        write_text(tmp_path / link, link)
        assert (tmp_path / link).is_symlink() and (tmp_path / target).read_text(encoding="utf-8") == link
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path, said in ((tmp_path / "circle", "is a broken link"), ("/dev/null", "is a device")):
        with pytest.raises(MwSError, match=said):
            check_output(path, folder=False)


@pytest.mark.parametrize(
    "line", ["train text.txt", "encode tok text.txt", "pretrained mws-fi-32k", "count text.txt", "report tok"]
)
def test_an_output_of_too_long_a_name_is_an_error_in_one_line(home, line):
    done = mws(*line.split(), "-o", "n" * 256, cwd=home)
    assert one_line(done) and "too long" in done.stderr


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_name_that_no_file_can_have_is_rejected_before_any_work(home, name):
    for folder in (True, False):
        with pytest.raises(MwSError, match="no file can have this name"):
            check_output(home / name, folder=folder)
    for write in (small_fast().save_pretrained, lambda path: write_text(path, "text")):
        with pytest.raises(MwSError, match="no file can have this name"):
            write(str(home / name))
    if "\0" in name:  # other such names are rejected as arguments
        for line in (["train", "text.txt"], ["count", "text.txt"], ["report", "tok"], ["encode", "tok", "text.txt"]):
            done = mws(*line, "-o", name, cwd=home)
            assert one_line(done) and "no file can have this name" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may write anywhere")
def test_a_directory_whose_parent_is_not_writable(tmp_path):
    (tmp_path / "volume").mkdir()
    tmp_path.chmod(0o555)
    try:
        small_fast().save_pretrained(tmp_path / "volume")
        with pytest.raises(MwSError, match="cannot be written"):
            small_fast().save_pretrained(tmp_path / "absent")
    finally:
        tmp_path.chmod(0o755)
    assert not any(name.endswith(".lock") for name in os.listdir(tmp_path / "volume"))


def test_files_get_the_mode_that_the_umask_gives(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "a")
        with staged(tmp_path / "d") as stage:
            write_text(stage / "b", "b")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "d/b")] == [0o640, 0o640]


@pytest.mark.parametrize(
    "line",
    [
        f"train text.txt -o new {' '.join(map(str, TRAIN))}",
        "export tok --format notebook -o new",
        "count text.txt -o new",
        "extend tok text.txt --add 2 -o new",
        "trim tok --text text.txt --min-count 5 -o new",
        "pretrained mws-fi-32k -o new",
    ],
)
def test_a_full_disk_is_reported_in_one_line_and_leaves_nothing(home, line):
    if "notebook" in line and transformers.__version__ < "5":
        pytest.skip("transformers 4 warns of our class in another file")
    before = sorted(os.listdir(home))
    arguments = line.split()
    if arguments[0] in ("train", "count", "extend", "trim"):  # compile all kernels while there is space on the disk
        assert mws(*arguments, cwd=home).returncode == 0
        new = home / "new"
        shutil.rmtree(new) if new.is_dir() else new.unlink()
    done = process(*arguments, cwd=home, preexec_fn=files_of(300))
    assert one_line(done) and "cannot be written" in done.stderr and "File too large" in done.stderr, done.stderr
    assert done.stderr.startswith("error: new") and ".tmp" not in done.stderr
    assert sorted(os.listdir(home)) == before


# Interrupted

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
ENDS = {"SIGINT": (130, "interrupted"), "SIGTERM": (143, "terminated"), "SIGHUP": (129, "terminal closed")}


def usual_signals():
    """Restore the default action of signals that shells and `nohup` make background jobs ignore, as a `preexec_fn`."""
    for name in ENDS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


@POSIX
def test_counts_on_disk_of_a_killed_run_are_removed_by_a_later_one_and_those_of_a_running_one_stay(tmp_path):
    """The words have only letters, so that each is one pre-token, and 80,000 of them take more than 1 MB."""
    scratch, letters = tmp_path / "scratch", str.maketrans("0123456789", "ghijklmnop")
    words = "".join(f"{number:x}\n" for number in range(10**6, 10**6 + 80_000)).translate(letters)
    scratch.mkdir()
    (tmp_path / "text.txt").write_text(words, encoding="utf-8")
    options = {"env": {**os.environ, "TMPDIR": str(scratch)}}
    runs, folders = [], list[Path]()
    for number, name in enumerate(("one.parquet", "two.parquet"), start=1):
        run = start("count", "-", "-o", tmp_path / name, "--memory-cap", "1M", **options)
        run.stdin.write(words.encode() * 4)
        run.stdin.flush()
        wait_for(lambda number=number: len([*scratch.iterdir()]) == number, run)
        folders += [each for each in scratch.iterdir() if each not in folders]
        runs.append(run)
    killed, running = runs
    killed.kill()
    killed.wait()
    for folder in folders:
        os.utime(folder, (0, 0))
    arguments = ("count", tmp_path / "text.txt", "-o", tmp_path / "other.parquet", "--memory-cap", "1M")
    assert process(*arguments, **options).returncode == 0
    assert [*scratch.iterdir()] == folders[1:]
    running.communicate(timeout=60)
    assert running.returncode == 0 and not [*scratch.iterdir()]


@POSIX
@pytest.mark.parametrize("name", ENDS)
def test_a_training_that_a_signal_ends_leaves_nothing(name, tmp_path):
    for _ in range(3):  # before, Python sometimes aborted if a thread still waited for standard input
        training = start("train", "-", "-o", tmp_path / "out", preexec_fn=usual_signals)
        # returns when nearly all of it was read and the command waits for more
        training.stdin.write(TEXT.encode() * 2000)
        training.stdin.flush()
        training.send_signal(getattr(signal, name))
        _, errors = training.communicate(timeout=120)
        assert (training.returncode, errors.decode().strip()) == ENDS[name]
        assert list(tmp_path.iterdir()) == []


INTERRUPTED = """
import os, signal, sys
module = sys.argv.pop(1)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module: os.kill(os.getpid(), signal.{signal})
sys.meta_path.insert(0, Interrupt())
from mws_hf.commands.entry import main
main()
"""


@POSIX
@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("module", ["mws_hf.commands.encode", "numba", "pyarrow", "tokenizers"])
def test_a_signal_while_libraries_are_loaded_is_one_line(module, name, home):
    much = TEXT * (1 + 2 * MAX_BYTES_WITHOUT_KERNELS // len(TEXT))  # so that numba is loaded
    (home / "much.txt").write_text(much, encoding="utf-8")
    arguments = [module, "encode", "tok", "much.txt", "--output", "ids"]
    done = python(INTERRUPTED.format(signal=name), *arguments, cwd=home, preexec_fn=usual_signals)
    code, said = ENDS[name]
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.strip().startswith(said) and done.stderr.strip().count("\n") == 0
    assert not (home / "ids").exists()


IN_A_KERNEL = """
import os, signal, sys
from mws_hf.commands.entry import main

def watch(frame, event, _):
    if event == "call" and frame.f_code.co_name == "_numba_unpickle":  # a kernel's results become arrays
        sys.setprofile(None)
        os.kill(os.getpid(), signal.{signal})

sys.setprofile(watch)
main()
"""


@POSIX
@pytest.mark.parametrize("name", ENDS)
def test_a_signal_while_a_kernel_ends_is_one_line(name, home):
    pytest.importorskip("pymorphy3_dicts_uk")
    arguments = ["count", "--lexicon", "uk", "--output", "counts.parquet"]
    done = python(IN_A_KERNEL.format(signal=name), *arguments, cwd=home, preexec_fn=usual_signals)
    code, said = ENDS[name]
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"\n{said}\n")
    assert not (home / "counts.parquet").exists()


# Results on standard output


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_result_without_space_on_the_disk_is_reported_in_one_line(home, unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("segment", home / "tok", "читал"), stdout=full, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert one_line(done) and "the result cannot be written: No space left" in done.stderr


def test_a_result_over_a_limit_of_size_is_one_line(home):
    with open(home / "out.txt", "wb") as output:
        done = subprocess.run(
            command("segment", home / "tok", "-"), input="one two\n" * 2000, stdout=output, stderr=subprocess.PIPE,
            text=True, preexec_fn=files_of(4096),
        )  # fmt: skip
    assert one_line(done) and "the result cannot be written: File too large" in done.stderr


SHOWN = {
    "segment tok читал": "чит",
    "evaluate ж=tok --gold gold.tsv": "ж",
    "explain читал --model tok": "чит",
    "count нет.txt -o c": "нет.txt",
    "train --help": "mws train",
}


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("line", SHOWN)
def test_redirected_output_is_utf8_whatever_the_locale(encoding, line, home):
    done = process(*line.split(), cwd=home, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert done.returncode == (2 if "нет" in line else 0) and "Traceback" not in done.stderr
    assert SHOWN[line] in done.stdout + done.stderr
