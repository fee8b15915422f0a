"""What pytest must not collect by itself, and what tests of both criteria set up alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mws_hf.commands.warmup import warm_up
from mws_hf.kernels.jit import cache_directory

collect_ignore = ["transformers_mixin_cases.py"]  # run by test_transformers_mixin.py in a process of its own
if not cache_directory().exists():
    warm_up(show_progress=False)  # the first run on a machine says more than tests expect


@pytest.fixture
def collide(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, all strings have the same hash in the engine."""

    def start() -> None:
        for name in ("working_corpus", "candidates"):
            monkeypatch.setattr(
                f"mws_hf.learn.{name}.hashes_and_powers",
                lambda strings: np.tile(np.array([0, 1]), (len(strings), 1)),
            )

    return start
