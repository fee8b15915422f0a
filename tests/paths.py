"""Where the project, its package and the data of the tests lie."""

from __future__ import annotations

from tests.paths import ROOT

DATA = ROOT / "tests" / "data"
