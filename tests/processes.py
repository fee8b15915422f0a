"""The command line in separate processes, for tests that kill it, limit its resources or run it twice at once."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

import pytest

STARTED = [sys.executable, "-c", "from mws_hf.commands.entry import main; main()"]


def command(*arguments):
    return [*STARTED, *map(str, arguments)]


def mws(*arguments, **options):
    return subprocess.run(command(*arguments), capture_output=True, text=True, encoding="utf-8", timeout=120, **options)


def python(code, *arguments, adding=None, **options):
    """Code in a Python process of its own, to whose environment these variables are added."""
    options = {"env": {**os.environ, **(adding or {})}, **options}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, **options)


def start(*arguments, **options):
    """A command that reads from a pipe, so that the test says how far it gets."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(*arguments), **pipes, **options)


def wait_for(condition, process, seconds=60):
    """Until something is there, or the process ends, which is a failure."""
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.01)


def one_line(done):
    """An error as a user shall see it: one line, exit code 2, no traceback."""
    return done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def tree(directory):
    """All files of a folder, with their content, and inode and time, which show whether they were written again."""
    return {
        str(path.relative_to(directory)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def files_of(size):
    """For `preexec_fn`: a disk on which no file grows beyond `size` bytes, which is how a full one behaves."""
    resource = pytest.importorskip("resource")
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def on_a_terminal(command, stream="stderr", **options):
    """What a process writes to one of its streams when that is a terminal of 120 columns."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    running = subprocess.Popen(list(map(str, command)), **streams, **options)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux's way to say that the other end is closed
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert running.wait(timeout=120) == 0, shown
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")
