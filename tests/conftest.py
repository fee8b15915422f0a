"""What pytest must not collect by itself, and what tests of both criteria set up alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mws_hf.kernels.interning import intern_pairs

collect_ignore = ["transformers_mixin_cases.py"]  # run by test_transformers_mixin.py in a process of its own
intern_pairs(np.zeros(1, np.int32), np.zeros(1, np.int32))  # the first run on a machine says more than tests expect


@pytest.fixture
def collide(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, all strings have the same hash in the engine."""

    def start() -> None:
        for name in ("segmentation", "tables"):
            monkeypatch.setattr(
                f"mws_hf.learn.engine.{name}.hashes_and_powers",
                lambda strings: np.tile(np.array([0, 1]), (len(strings), 1)),
            )

    return start
