"""Figures of README and docs/ are those of the results files: `scripts/docs_tables.py` writes them in from the rows."""

from __future__ import annotations

import re

from tests.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "scripts/results/README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_figure_quoted_and_every_table_asked_for_is_known(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from checks.figures import figures
    from checks.tables import TABLES
    from docs_tables import FIGURE

    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    quoted = {found[2] for text in texts for found in FIGURE.finditer(text)}
    asked = {name for text in texts for name in re.findall(r"<!-- from figures:(\w+) -->", text)}
    assert len(quoted) >= 60 and quoted <= set(figures())
    assert asked == set(TABLES)
    assert not re.search(r"^ *<!--=", "\n".join(texts), re.MULTILINE), "a line that begins so is HTML, not text"


def test_a_figure_changed_in_a_page_is_found_and_mended(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from docs_tables import FIGURE, filled

    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        spoilt = FIGURE.sub(lambda found: f"{found[1]}0.123456{found[3]}", text)
        assert filled(spoilt, page.parent) == text
