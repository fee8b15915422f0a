"""Figures of README and docs/ are those of the results files; `scripts/claims.py` finds one that is not."""

from __future__ import annotations

import re

import pytest

from tests.paths import ROOT


@pytest.fixture(scope="module")
def claims_script():
    import sys

    sys.path.insert(0, str(ROOT / "scripts"))
    import claims

    yield claims
    sys.path.remove(str(ROOT / "scripts"))


def pages(script):
    """The texts of the pages with figures."""
    return {claim.page: (ROOT / claim.page).read_text(encoding="utf-8") for claim in script.claims()}


def test_every_figure_held_is_that_of_the_results_files(claims_script):
    texts = pages(claims_script)
    claims = claims_script.claims()
    assert sum(len(claim.figures) for claim in claims) >= 100
    assert not [fault for claim in claims for fault in claims_script.faults(claim, texts[claim.page])]


def test_a_figure_changed_in_a_page_is_found(claims_script):
    texts = pages(claims_script)
    for claim in claims_script.claims():
        places = [found[0] for found in re.finditer(claim.place, texts[claim.page], re.MULTILINE)]
        for figure in claim.figures:
            wrong = figure.translate(str.maketrans("0123456789", "1234567890"))
            text = "\n\n".join(place.replace(figure, wrong) for place in places)
            assert claims_script.faults(claim, text), (claim, figure)
