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
    """Run code in a separate Python process, with these variables added to its environment."""
    options = {"env": {**os.environ, **(adding or {})}, **options}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, **options)


def start(*arguments, **options):
    """Start a command that reads from a pipe, so that the test controls how far it gets."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(*arguments), **pipes, **options)


def wait_for(condition, process, seconds=60):
    """Wait until a condition is true; fail if the process ends before."""
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.01)


def one_line(done):
    """Return whether an error is what a user should see: one line, exit code 2, no traceback."""
    return done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def tree(directory):
    """Return the content of all files of a folder, and inode and time, which show whether they were written again."""
    return {
        str(path.relative_to(directory)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def files_of(size):
    """Return a `preexec_fn` that limits files to `size` bytes, which has the effect of a full disk."""
    resource = pytest.importorskip("resource")
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def on_a_terminal(command, stream="stderr", **options):
    """Return what a process writes to one of its streams if the stream is a terminal of 120 columns."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    running = subprocess.Popen(list(map(str, command)), **streams, **options)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux raises this if the other end is closed
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert running.wait(timeout=120) == 0, shown
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")
