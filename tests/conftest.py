"""What pytest must not collect; kernels are compiled before the first test; no test fails because a machine is busy."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from mws_hf.commands.warmup import warm_up
from mws_hf.kernels.jit import cache_directory

# torch reads it when it is imported, here and in child processes. The models of tests are so small that with two
# threads on a busy machine each operation waits for the other thread: training took 47 s instead of 3
os.environ.setdefault("MKL_NUM_THREADS", "1")
# hypothesis would fail a test whose examples take longer than 200 ms or are generated slowly
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
collect_ignore = ["transformers_mixin_cases.py"]  # run by test_transformers_mixin.py in a process of its own
if not cache_directory().exists():
    warm_up(show_progress=False)  # the first run on a machine prints a note that tests do not expect
