"""The cache of compiled kernels: damage, missing permissions or space never end a run, and each is reported once.

Modules: kernels/jit.py.
"""

import hashlib
import json
import os
import pickle
import shutil
import sys
import threading
from pathlib import Path

import pytest

import mws_hf
from mws_hf.kernels import jit
from tests import processes
from tests.examples import thorough

CHILD = """
import numpy as np
from mws_hf.kernels.interning import intern_pairs
print(intern_pairs(np.array([1, 2, 1], np.int32), np.array([1, 2, 1], np.int32)).ids.tolist())
"""


COMPILING = "compiling kernels for this machine (only once, about 15 s)\n"


def raw(cache, code=CHILD, **options):
    return processes.python(code, adding={"NUMBA_CACHE_DIR": str(cache)}, **options)


def run(cache, code=CHILD, **options):
    """Run a child process; the note about compiling, which it prints on a slow machine, is removed from its output."""
    done = raw(cache, code, **options)
    done.stderr = done.stderr.replace(COMPILING, "")
    return done


def files_of(cache):
    return sorted(file for file in Path(cache).rglob("*") if file.is_file())


def cut_short(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def changed_inside(file):
    content = bytearray(file.read_bytes())
    for at in range(len(content) // 3, len(content) // 3 * 2):
        content[at] ^= 0x5A
    file.write_bytes(content)


def folder_instead(file):
    file.unlink()
    file.mkdir()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    cache = tmp_path_factory.mktemp("kernels")
    done = run(cache)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 0]\n", "")
    assert files_of(cache)
    return cache


@pytest.mark.parametrize("damage", [cut_short, changed_inside, folder_instead])
def test_a_damaged_cache_is_reported_once_and_compiled_again(filled, tmp_path, damage):
    for file in files_of(filled):
        copy = tmp_path / file.relative_to(filled)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
        damage(copy)
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 0]\n"), done.stderr
    if damage is folder_instead:
        assert "cannot be read" in done.stderr
    else:
        assert done.stderr.count("\n") == 1
        assert "damaged" in done.stderr
        assert run(tmp_path).stderr == ""  # the damaged files were replaced


@pytest.mark.parametrize("place", ["file", "no_room"])
def test_a_cache_that_cannot_be_written_is_reported_once(tmp_path, place):
    cache, options = tmp_path / "cache", {}
    if place == "file":  # a file in the place of the folder
        cache.write_text("")
    else:  # the effect of a full disk: no file may grow beyond a kilobyte
        resource = pytest.importorskip("resource")
        options["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    done = run(cache, **options)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 0]\n"), done.stderr
    assert done.stderr.count("cannot be stored in") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_permissions(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    code = CHILD
    if os.getuid() == 0:  # the user nobody, because root has all permissions
        tmp_path.chmod(0o777)
        for above in tmp_path.parents[:3]:
            above.chmod(above.stat().st_mode | 0o011)
        # everything that compiling needs is loaded before, because nobody may not be able to read the environment
        ready = "import mws_hf.kernels.interning, numba, numpy as np, numpy.ma, os\n"
        ready += "numba.njit(lambda a: np.zeros(len(a), np.int32))(np.zeros(3, np.int32)); os.setuid(65534)"
        code = f"{ready}\n{CHILD}"
    cache.chmod(0o555)
    done = run(cache, code)
    cache.chmod(0o755)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 0]\n"), done.stderr
    assert "cannot be stored in" in done.stderr
    assert "Permission denied" in done.stderr


def on_a_terminal(cache, code):
    return processes.on_a_terminal([sys.executable, "-c", code], env={**os.environ, "NUMBA_CACHE_DIR": str(cache)})


def test_compiling_is_reported_once_on_a_terminal_and_only_if_it_happens(tmp_path):
    assert on_a_terminal(tmp_path, CHILD).count("compiling kernels") == 1
    assert on_a_terminal(tmp_path, CHILD) == ""


@thorough
def test_a_training_in_python_reports_compiling_without_a_terminal_too(tmp_path):
    code = "from mws_hf import MwSTrainer; MwSTrainer(n_merges=2).train(['дом дома домом'])"
    assert raw(tmp_path, code).stderr == COMPILING
    assert raw(tmp_path, code).stderr == ""


def test_kernels_need_no_home_folder_and_report_what_prevents_caching(tmp_path):
    code = "import mws_hf.kernels.jit as jit, pathlib\ndef home(): raise RuntimeError\npathlib.Path.home = home\n"
    bare = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")}
    done = processes.python(code + "print(jit.cache_directory())", env=bare)
    assert "mws_hf-" in done.stdout, done.stderr
    assert "MwSError: NUMBA_DISABLE_JIT is set" in processes.python(CHILD, adding={"NUMBA_DISABLE_JIT": "1"}).stderr


@thorough
def test_quiet_commands_do_not_report_compiling(tmp_path):
    (tmp_path / "text.txt").write_text("дом дома " * 9)
    code = "from mws_hf.commands.entry import main; import sys; sys.argv = ['mws', 'count', {!r}, '-o', {!r}{}]; main()"
    names = str(tmp_path / "text.txt"), str(tmp_path / "counts.parquet")
    # the first run reports it even if its output is not a terminal
    piped = raw(tmp_path / "a", code.format(*names, ""))
    assert piped.stderr.count(COMPILING) == 1
    assert on_a_terminal(tmp_path / "b", code.format(*names, ", '--quiet'")) == ""


def test_a_numba_with_other_internals_uses_its_own_cache_where_nobody_else_writes(tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "from mws_hf.kernels.jit import njit\n@njit\ndef add(a, b):\n    return a + b\nprint(add(2, 3))\n"
    )
    code = f"import numba.core.compiler as c, runpy; del c.CompileResult._rebuild; runpy.run_path({str(kernel)!r})"
    for mode in (0o755, 0o777):
        cache = tmp_path / oct(mode)
        cache.mkdir()
        cache.chmod(mode)
        done = run(cache, code)
        assert done.stdout == "5\n", done.stderr
        assert {file.suffix for file in files_of(cache)} == ({".nbc", ".nbi"} if mode == 0o755 else set())


class Planted:
    """An object that runs a command when it is unpickled."""

    def __init__(self, proof):
        self.proof = proof

    def __reduce__(self):
        return os.mkdir, (str(self.proof),)


def plant(cache, proof):
    """Replace every file of the cache by one with other code and a correct digest."""
    content = pickle.dumps(Planted(proof))
    for file in files_of(cache):
        file.write_bytes(hashlib.sha256(content).digest() + content)


def folder_of(cache):
    (folder,) = cache.iterdir()
    return folder


def folder_is_open(cache):
    folder_of(cache).chmod(0o777)


def group_may_write(cache):
    folder_of(cache).chmod(0o770)


def folder_of_nobody(cache):
    os.chown(folder_of(cache), 65534, 65534)


def folder_is_a_link(cache):
    folder = folder_of(cache)
    folder.rename(cache.parent / "elsewhere")
    folder.symlink_to(cache.parent / "elsewhere")


def files_are_open(cache):
    for file in files_of(cache):
        file.chmod(0o666)


def files_of_nobody(cache):
    for file in files_of(cache):
        os.chown(file, 65534, 65534)


OPENED = [folder_is_open, group_may_write, folder_is_a_link, files_are_open, folder_of_nobody, files_of_nobody]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are those of POSIX")
@pytest.mark.parametrize("opened", OPENED)
def test_no_code_runs_that_others_could_have_written(filled, tmp_path, opened):
    if "nobody" in opened.__name__ and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    cache, proof = tmp_path / "cache", tmp_path / "others' code ran"
    shutil.copytree(filled, cache)
    plant(cache, proof)
    opened(cache)
    done = run(cache)
    assert not proof.exists()
    assert (done.returncode, done.stdout) == (0, "[0, 1, 0]\n"), done.stderr
    assert done.stderr.count("is not used") == done.stderr.count("\n") == 1
    assert "a folder that only you can write" in done.stderr


def test_the_cache_is_only_for_its_user(filled, tmp_path):
    """This holds for any umask, and even if others may write to the parent folder."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    done = run(tmp_path / "open", preexec_fn=lambda: os.umask(0))
    assert (done.returncode, done.stderr) == (0, "")
    assert folder_of(tmp_path / "open").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in files_of(tmp_path / "open")} == {0o600}


def test_a_file_serves_no_other_kernel(filled, tmp_path):
    """A file that was renamed, by others in a parent folder or by a restored backup, is compiled again."""
    other = tmp_path / "cache" / folder_of(filled).name
    shutil.copytree(folder_of(filled), other)
    code = "from mws_hf.kernels.jit import njit\n@njit\ndef {}(a):\n    return a {} 1\nprint({}(5))\n"
    run(tmp_path / "cache", code.format("less", "-", "less"))
    (less,) = other.glob("less-*.kernel")
    run(tmp_path / "cache", code.format("more", "+", "more"))
    (more,) = other.glob("more-*.kernel")
    more.write_bytes(less.read_bytes())
    assert run(tmp_path / "cache", code.format("more", "+", "more")).stdout == "6\n"


def test_machine_code_of_a_wheel_is_used_only_on_processors_that_can_run_it(tmp_path):
    copy = tmp_path / "mws_hf"
    shutil.copytree(Path(mws_hf.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shipped = copy / "kernels" / "machine_code"
    place = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    run(shipped, place + CHILD)
    assert [file.parent.parent for file in files_of(shipped)][:1] == [shipped]
    ours = "from numba.core.registry import cpu_target\nprint(*cpu_target.target_context.codegen().magic_tuple())"
    triple, name, features = run(tmp_path, ours).stdout.split()
    for number, (needed, serves) in enumerate([(features, True), (f"{features},+other", False), ("+sse2", False)]):
        (shipped / "processor.json").write_text(json.dumps([triple, name, needed]))
        cache = tmp_path / str(number)
        done = run(cache, place + CHILD)
        assert (done.returncode, done.stdout) == (0, "[0, 1, 0]\n"), done.stderr
        assert (not files_of(cache)) is serves


@pytest.mark.parametrize(
    "kernel",
    [
        "def f(x):\n    return x - {}",
        "def g(x):\n    return x - {}\n@njit\ndef f(x):\n    return g(x)",
        "def f(x):\n    return x - LIST[0] - SEVERAL[1]",
    ],
    ids=["its own", "of one it calls", "a global one"],
)
def test_a_constant_that_changed_is_compiled_again(tmp_path, kernel):
    head = "import numpy as np\nfrom mws_hf.kernels.jit import njit\nLIST, SEVERAL = np.array([{}]), (0, 0)\n@njit\n"
    for constant in (1, 2):
        code = head.format(constant) + kernel.format(constant) + "\nprint(f(10))\n"
        (tmp_path / "kernel.py").write_text(code)
        done = run(tmp_path / "cache", f"import runpy; runpy.run_path({str(tmp_path / 'kernel.py')!r})")
        assert done.stdout == f"{10 - constant}\n", done.stderr


def test_every_file_with_a_kernel_names_the_cache(tmp_path, monkeypatch):
    copy = tmp_path / "mws_hf"
    shutil.copytree(Path(mws_hf.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "files", lambda package: copy)

    def name_after(file=None):
        if file is not None:
            file.parent.mkdir(exist_ok=True)
            file.write_text((file.read_text() if file.exists() else "from mws_hf.kernels.jit import njit") + "\n")
        return jit.cache_directory.__wrapped__().name

    names = [name_after()]
    with_kernels = [file for file in sorted(copy.rglob("*.py")) if "@njit" in file.read_text()]
    assert copy / "encode" / "kernel.py" in with_kernels
    for file in [*with_kernels, copy / "packages" / "new.py"]:
        names.append(name_after(file))
        assert names[-1] not in names[:-1], file
    assert name_after(copy / "errors.py") == names[-1]


@jit.njit
def increased(x):
    """Add one."""
    return x + 1


def test_kernels_are_compiled_by_one_thread_at_a_time():
    """Before, numba's registries sometimes broke (KeyError) if two threads compiled a kernel at its first call."""
    increased(1)
    thread = threading.Thread(target=increased, args=(1.5,))
    with jit._NUMBA_LOCK:
        thread.start()
        thread.join(2)
        assert thread.is_alive()
    thread.join(60)
    assert not thread.is_alive()
