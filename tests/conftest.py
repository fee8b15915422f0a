"""What pytest must not collect by itself; kernels are compiled before the first test."""

from __future__ import annotations

from mws_hf.commands.warmup import warm_up
from mws_hf.kernels.jit import cache_directory

collect_ignore = ["transformers_mixin_cases.py"]  # run by test_transformers_mixin.py in a process of its own
if not cache_directory().exists():
    warm_up(show_progress=False)  # the first run on a machine says more than tests expect
