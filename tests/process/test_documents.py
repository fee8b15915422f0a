"""The documents as they are read on GitHub and as a site: links lead somewhere, tables and pictures are there.

What their code does is test_docs.py's business.
"""

from __future__ import annotations

import html.parser
import os
import re
import subprocess
import sys
import tomllib
import unicodedata
from pathlib import Path

import pytest

from tests.paths import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [
    *(ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "scripts/results/README.md", ROOT / "scripts/space/README.md"),
    *PAGES,
    *sorted((ROOT / "model_cards").glob("*/README.md")),
]
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^(#+) +(.*?) *#*$", re.MULTILINE)
_named = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())


def prose(document: Path) -> str:
    """A document without its code."""
    return _CODE.sub("", document.read_text(encoding="utf-8"))


def links(document: Path) -> list[str]:
    """What it links to."""
    return [one or other for one, other in _LINK.findall(prose(document))]


def anchors(document: Path) -> set[str]:
    """The names of its headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for _, heading in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "").lower()
        kept = (each for each in plain if each in " -_" or unicodedata.category(each)[0] in "LNM")
        found.add("".join(kept).replace(" ", "-"))
    return found


@_named
def test_links_and_pictures_lead_to_files_and_headings_that_are_there(document):
    wrong = []
    for link in links(document):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (document.parent / place).resolve() if place else document
        if "model_cards" in target.parts and not (ROOT / "model_cards").is_dir():
            continue  # the source distribution has none
        if not target.exists() or not target.is_relative_to(ROOT):
            wrong.append(link)
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(f"{link}: no such heading")
    assert not wrong


@_named
def test_a_document_has_one_title_and_steps_down_one_heading_at_a_time(document):
    text = re.sub(r"\A---\n.*?^---$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    levels = [len(marks) for marks, _ in _HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.M))]
    if document.parent.name != "space":  # a Space shows the title of its metadata
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


@_named
def test_nothing_is_left_to_a_site_s_machinery(document):
    text = prose(document)
    assert "--8<--" not in text.replace("<!-- --8<-- [", "") and "{%" not in text
    assert not re.search(r"\\\(|\\\[|\$\$|\\frac|\\text\{", text), "raw TeX: GitHub or the site would show it as it is"


def sentences(text: str) -> list[str]:
    """The sentences of a document's own prose; a list item or a part behind a colon counts as one, tables do not."""
    text = re.sub(r"^<!-- from .*?^<!-- end -->|^```.*?^```$|^\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`", "code", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text))
    blocks = re.split(r"\n\s*\n|\n(?=[*#-] )|\n(?=\d+\. )", text)
    return [each for block in blocks for each in re.split(r"(?<=[.!?:;])[*)\"]*\s+", " ".join(block.split()))]


_plain = pytest.mark.parametrize(
    "document",
    [ROOT / "README.md", ROOT / "scripts/results/README.md", *PAGES],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)


@_plain
def test_sentences_are_short(document):
    found = sentences(document.read_text(encoding="utf-8"))
    assert not [sentence for sentence in found if len(sentence.split()) > 25]


@_plain
def test_figures_have_their_zero(document):
    text = re.sub(r"^<!-- from .*?^<!-- end -->", "", prose(document), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"[^\n]*(?<![\w./*…)])\.\d[^\n]*", text)


def test_the_tables_in_the_pages_are_those_of_scripts_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from docs_tables import PLACE, filled

    holding = [page for page in PAGES if PLACE.search(page.read_text(encoding="utf-8"))]
    assert len(holding) >= 6
    for page in [ROOT / "README.md", ROOT / "scripts/results/README.md", *PAGES]:
        text = page.read_text(encoding="utf-8")
        assert filled(text, page.parent) == text, f"{page.name}: run `python scripts/docs_tables.py`"
        assert text.count("<!-- from ") == len(PLACE.findall(text))


def test_a_table_goes_below_its_heading_with_links_that_lead_on_from_the_page(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from docs_tables import filled

    (tmp_path / "results").mkdir()
    table = "# Title\n\n## Part\n\n[other](other.md), [far](https://x.y), ![f](f.png)\n"
    (tmp_path / "results" / "a.md").write_text(table, encoding="utf-8")
    page = "# Page\n\n## Measured\n\n<!-- from results/a.md -->\nold\n<!-- end -->\n\nAfter\n"
    new = filled(page, tmp_path / "docs", tmp_path)
    body = "### Part\n\n[other](../results/other.md), [far](https://x.y), ![f](../results/f.png)"
    assert new == f"# Page\n\n## Measured\n\n<!-- from results/a.md -->\n\n{body}\n\n<!-- end -->\n\nAfter\n"
    assert filled(new, tmp_path / "docs", tmp_path) == new


def test_a_page_and_all_pages_can_be_finished():
    words = {page.relative_to(ROOT).as_posix(): len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert not {page: count for page, count in words.items() if count > 1_500}
    assert sum(words.values()) <= 18_000
    assert words["docs/measured/language-models.md"] <= 1_200 and words["docs/start-here.md"] <= 700


def test_the_glossary_has_at_most_twelve_words():
    assert len(re.findall(r'<a id="', (ROOT / "docs/glossary.md").read_text(encoding="utf-8"))) <= 12


@_plain
def test_words_mean_what_they_mean_in_english(document):
    text = re.sub(r"^<!-- from .*?^<!-- end -->", "", prose(document), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"\b(?:told|facts|handed)\b|\bheld(?! out|-out)\b|\bapart\b|\bbehind a space\b", text)


@pytest.mark.parametrize("folder", ["README.md", "CHANGELOG.md", "docs", "mws_hf", "scripts", "model_cards"])
def test_no_file_names_a_folder_of_a_machine(folder):
    path = re.compile(rb"(?<![\w.~/<>-])/(?:work|root|home|tmp)/\w+")
    kept = (".md", ".json", ".jsonl", ".py", ".csv", ".tsv", ".txt", ".ipynb", ".svg", ".yml", ".toml")
    files = [ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*")
    found = {
        file.relative_to(ROOT).as_posix(): path.findall(file.read_bytes()) for file in files if file.suffix in kept
    }
    assert not {name: folders for name, folders in found.items() if folders}


def test_the_package_names_its_addresses():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert urls and all(url.startswith("https://") for url in urls.values())


def test_the_reference_names_what_is_there():
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    missing = []
    for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE):
        module, _, last = name.rpartition(".")
        if (ROOT / (name.replace(".", "/") + ".py")).is_file():
            continue
        file = ROOT / (module.replace(".", "/") + ".py")
        if not (file.is_file() and re.search(rf"^(?:def|class) {last}\b", file.read_text(encoding="utf-8"), re.M)):
            missing.append(name)
    assert not missing


class _Read(html.parser.HTMLParser):
    """Titles, what is loaded from elsewhere, and pictures of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.titles, self.pictures, self.outside = 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.titles += tag == "h1"
        if tag == "img":
            self.pictures.append(found["src"])
        loads = found.get("src") if tag != "link" else found.get("href") if found.get("rel") != "canonical" else None
        if loads and re.match(r"(https?:)?//", loads):
            self.outside.append(loads)


@pytest.mark.slow
def test_the_site_has_one_title_a_page_its_pictures_and_no_other_server(tmp_path):
    for module in ("mkdocs", "mkdocstrings", "material"):
        pytest.importorskip(module)
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    pages = list(site.rglob("index.html"))
    assert len(pages) == len(PAGES)
    pictures = 0
    for page in pages:
        read = _Read(page.read_text(encoding="utf-8"))
        assert read.titles == 1, page
        assert not read.outside, page
        for picture in read.pictures:
            assert (page.parent / picture).is_file(), (page, picture)
        pictures += len(read.pictures)
    assert pictures >= 5
    commands = (site / "reference" / "command-line" / "index.html").read_text(encoding="utf-8")
    assert "mws train" in commands and "--vocab-size" in commands
