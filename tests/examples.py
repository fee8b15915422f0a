"""How many examples hypothesis tries: a fifth by default, all with MWS_TESTS=full (`scripts/project.py test-all`)."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

FULL = os.environ.get("MWS_TESTS") == "full"
LEAST = 20
"""Examples that every test tries, however few it asks for a fifth of."""


def examples(number: int, **more: Any) -> settings:
    """Settings of a test that tries so many examples in the thorough tier.

    Args:
        number: of examples there; elsewhere a fifth, but no fewer than `LEAST` of them.
        more: further settings, such as `suppress_health_check`.
    """
    return settings(max_examples=number if FULL else min(number, max(LEAST, number // 5)), deadline=None, **more)
