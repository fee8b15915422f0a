"""The first command on a machine: another process compiles the kernels of merging while this one counts words.

numba compiles one kernel at a time in each process; the cache on disk belongs to all of them.
"""

from __future__ import annotations

import subprocess
import sys

from mws_hf.kernels.cache import SHIPPED, say_compiling
from mws_hf.kernels.jit import cache_directory
from mws_hf.kernels.threads import thread_count

_MERGING = "from mws_hf.commands.every_kernel import learn_merges; learn_merges()"


def compile_ahead() -> subprocess.Popen[bytes] | None:
    """Start compiling what learning needs last, if nothing was compiled on this machine yet and there are two cores.

    Returns:
        The process, which ends by itself; None if there is none. Nothing waits for it, and nothing depends on it: what
        it has not done in time, or could not do, is compiled where it is needed.
    """
    if not sys.executable or thread_count() == 1 or SHIPPED.exists():
        return None
    try:
        cache_directory().mkdir(parents=True, mode=0o700)
    except OSError:  # there already, or it cannot be made
        return None
    say_compiling(first=True)
    nothing = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-P", "-c", _MERGING], stdin=nothing, stdout=nothing, stderr=nothing)
