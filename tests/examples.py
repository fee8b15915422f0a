"""The number of examples of hypothesis: a part by default, all with MWS_TESTS=full (`scripts/project.py test-all`)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FULL = os.environ.get("MWS_TESTS") == "full"
LEAST = 20
"""Examples that every test tries, however few it asks for a fifth of."""
thorough = pytest.mark.skipif(not FULL, reason="takes long: scripts/project.py test-all runs it")
"""Marks a test of the thorough tier that stands beside quick ones."""


def with_more(quick: Iterable[Any], *more: Any) -> list[Any]:
    """List the values of a parametrized test; only the thorough tier takes those after the first argument."""
    return [*quick, *(pytest.param(value, marks=thorough) for value in more)]


def examples(number: int, suppress_health_check: Iterable[HealthCheck] = (), **more: Any) -> settings:
    """Return the settings of a test that tries this number of examples in the thorough tier.

    Args:
        number: number of examples in the thorough tier; otherwise a fifth of them is tried, but at least `LEAST`.
        suppress_health_check: further health checks to switch off.
        more: further settings of hypothesis.
    """
    tried = number if FULL else min(number, max(LEAST, number // 5))
    suppressed = [*settings().suppress_health_check, *suppress_health_check]
    return settings(max_examples=tried, suppress_health_check=suppressed, **more)


def some(points: Iterable[int]) -> list[int]:
    """List code points of common scripts, the last of each plane and one of 37 others; in the thorough tier all."""
    return [point for point in points if FULL or point < 0x3100 or point % 37 == 0 or point & 0xFFFE == 0xFFFE]
