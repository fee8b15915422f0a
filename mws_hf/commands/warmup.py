"""`mws warmup`: compile all kernels into the cache, so that no later command waits for it."""

from __future__ import annotations

import time

import typer

from mws_hf.commands.options import Quiet


def warmup(quiet: Quiet = False) -> None:
    """Compile all kernels into the cache, once for each version of mws_hf and each kind of machine.

    For example, while an image is built:

        pip install mws_hf-*.whl && mws warmup --quiet
    """
    from mws_hf.commands.every_kernel import warm_up
    from mws_hf.commands.first_run import compile_ahead
    from mws_hf.kernels.jit import cache_directory

    began = time.perf_counter()
    compile_ahead()
    warm_up(show_progress=not quiet)
    typer.echo(f"{cache_directory()}: ready in {time.perf_counter() - began:.1f} s")
