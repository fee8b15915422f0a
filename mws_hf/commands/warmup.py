"""`mws warmup`: compile all kernels into the cache; at the first training another process does so for merging.

numba compiles one kernel at a time in each process; the cache on disk belongs to all of them.
"""

from __future__ import annotations

import subprocess
import sys
import time

from mws_hf.commands.options import Quiet

_MERGING = "from mws_hf.commands.every_kernel import learn_merges; learn_merges()"


def warmup(quiet: Quiet = False) -> None:
    """Compile all kernels into the cache, once for each version of mws_hf and each kind of machine.

    For example, while an image is built:

        pip install mws_hf-*.whl && mws warmup --quiet
    """
    from mws_hf.commands.every_kernel import warm_up
    from mws_hf.kernels.jit import cache_directory

    began = time.perf_counter()
    compile_ahead()
    warm_up(show_progress=not quiet)
    print(f"{cache_directory()}: ready in {time.perf_counter() - began:.1f} s")


def compile_ahead() -> subprocess.Popen[bytes] | None:
    """Start compiling what learning needs last, if nothing was compiled on this machine yet and there are two cores.

    Nothing waits for the process: what it has not done in time, or could not do, is compiled where it is needed.
    """
    from mws_hf.kernels.cache import SHIPPED, say_compiling
    from mws_hf.kernels.jit import cache_directory
    from mws_hf.kernels.threads import thread_count

    if not sys.executable or thread_count() == 1 or SHIPPED.exists():
        return None
    try:
        cache_directory().mkdir(parents=True, mode=0o700)
    except OSError:  # there already, or it cannot be made
        return None
    say_compiling(now=True)
    nothing = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-P", "-c", _MERGING], stdin=nothing, stdout=nothing, stderr=nothing)
