"""The cache of compiled kernels: damage, missing rights or space never end a run; what is compiled is said once."""

import os
import pty
import random
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import numpy as np
from mws_hf.kernels.interning import intern_pairs
print(intern_pairs(np.array([1, 2, 1], np.int32), np.array([1, 2, 1], np.int32)).ids.tolist())
"""


def run(cache, code=CHILD, **options):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, **options)


def files_of(cache):
    return sorted(file for file in Path(cache).rglob("*") if file.is_file())


def cut_short(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file):
    file.write_bytes(b"")


def noise(file):
    file.write_bytes(random.Random(file.name).randbytes(file.stat().st_size))


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


@pytest.mark.parametrize("damage", [cut_short, empty, noise, changed_inside, folder_instead])
def test_a_damaged_cache_is_said_once_and_compiled_anew(filled, tmp_path, damage):
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
        assert run(tmp_path).stderr == ""  # mended


@pytest.mark.parametrize("place", ["file", "no_room"])
def test_a_cache_that_cannot_be_written_is_said_once(tmp_path, place):
    cache, options = tmp_path / "cache", {}
    if place == "file":  # where the folder should be
        cache.write_text("")
    else:  # as on a full disk: no file may grow beyond a kilobyte
        resource = pytest.importorskip("resource")
        options["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    done = run(cache, **options)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 0]\n"), done.stderr
    assert done.stderr.count("cannot be kept in") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_rights_that_are_missing(tmp_path, mode):
    cache = tmp_path / "cache"
    cache.mkdir()
    code = CHILD
    if os.getuid() == 0:  # nobody, for root may do everything
        tmp_path.chmod(0o777)
        for above in tmp_path.parents[:3]:
            above.chmod(above.stat().st_mode | 0o011)
        # an environment that nobody may read is no matter here: what compiling loads is loaded before
        ready = "import mws_hf.kernels.interning, numba, numpy as np, numpy.ma, os\n"
        ready += "numba.njit(lambda a: np.zeros(len(a), np.int32))(np.zeros(3, np.int32)); os.setuid(65534)"
        code = f"{ready}\n{CHILD}"
    cache.chmod(mode)
    done = run(cache, code)
    cache.chmod(0o755)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 0]\n"), done.stderr
    assert "cannot be kept in" in done.stderr
    assert "Permission denied" in done.stderr


def on_a_terminal(cache, code):
    """What a child writes to standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, stdout=subprocess.DEVNULL,
        stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not more:
            break
        said += more
    os.close(ours)
    assert child.wait() == 0
    return said.decode()


def test_a_terminal_is_told_of_compiling_once_and_only_if_it_happens(tmp_path):
    assert on_a_terminal(tmp_path, CHILD).count("compiling kernels") == 1
    assert on_a_terminal(tmp_path, CHILD) == ""


def test_quiet_commands_do_not_speak_of_compiling(tmp_path):
    (tmp_path / "text.txt").write_text("дом дома " * 9)
    code = "from mws_hf.cli import main; import sys; sys.argv = ['mws', 'count', {!r}, '-o', {!r}{}]; main()"
    names = str(tmp_path / "text.txt"), str(tmp_path / "counts.parquet")
    assert "compiling" in on_a_terminal(tmp_path / "a", code.format(*names, ""))
    assert on_a_terminal(tmp_path / "b", code.format(*names, ", '--quiet'")) == ""


def test_a_numba_whose_inner_parts_are_others_caches_by_its_own_means(tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "from mws_hf.kernels.jit import njit\n@njit\ndef add(a, b):\n    return a + b\nprint(add(2, 3), add._cache)\n"
    )
    code = f"import numba.core.compiler as c, runpy; del c.CompileResult._rebuild; runpy.run_path({str(kernel)!r})"
    done = run(tmp_path / "cache", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("5 ")
    assert "mws_hf" not in done.stdout
