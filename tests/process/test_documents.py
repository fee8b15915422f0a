"""The documents: links, tables and pictures exist, and their code prints what they show.

Blocks marked `python` and `bash` are run; `py` (it needs a cluster) and `text` are not.

Modules: distributed/spark.py.
"""

from __future__ import annotations

import ast
import gzip
import html.parser
import importlib.util
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
import tomllib
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest
from checks.figures import figures
from docs_tables import FIGURE, PLACE, filled
from lab.cells import rows_of
from lab.experiments.words import LANGUAGES, mws_cuts, our_cuts, table

import mws_hf
from mws_hf.commands.app import COMMANDS, parser_of
from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.word_list import lexicon_counts
from mws_hf.learn.settings import Settings
from mws_hf.learn.vocabulary import learn
from tests.examples import FULL, thorough
from tests.paths import ROOT
from tests.processes import python
from tests.small_corpus import morphs, running_text

PAGES = sorted((ROOT / "docs").rglob("*.md"))
FILLED = [ROOT / "README.md", ROOT / "scripts/results/README.md", *PAGES]
CARDS = ROOT / "model_cards"
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
    """Return a document without its code."""
    return _CODE.sub("", document.read_text(encoding="utf-8"))


def links(document: Path) -> list[str]:
    """Return the targets of the links in a document."""
    return [one or other for one, other in _LINK.findall(prose(document))]


def anchors(document: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub and the site create them."""
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
            continue  # the source distribution does not contain them
        if not target.exists() or not target.is_relative_to(ROOT):
            wrong.append(link)
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(f"{link}: no such heading")
    assert not wrong


@_named
def test_a_document_has_one_title_and_steps_down_one_heading_at_a_time(document):
    text = re.sub(r"\A---\n.*?^---$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    levels = [len(marks) for marks, _ in _HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.M))]
    if document.parent.name != "space":  # a Space shows the title in its metadata
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


@_named
def test_pages_contain_neither_template_syntax_nor_tex(document):
    text = prose(document)
    assert "--8<--" not in text.replace("<!-- --8<-- [", "") and "{%" not in text
    assert not re.search(r"\\\(|\\\[|\$\$|\\frac|\\text\{", text), "raw TeX: GitHub or the site would show it as it is"


def sentences(text: str) -> list[str]:
    """Return the sentences of a document; list items and parts after a colon count as sentences, tables do not."""
    text = re.sub(r"^<!-- from .*?^<!-- end -->|^```.*?^```$|^\|.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`", "code", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text))
    blocks = re.split(r"\n\s*\n|\n(?=[*#-] )|\n(?=\d+\. )", text)
    return [each for block in blocks for each in re.split(r"(?<=[.!?:;])[*)\"]*\s+", " ".join(block.split()))]


_plain = pytest.mark.parametrize("document", FILLED, ids=lambda path: path.relative_to(ROOT).as_posix())


@_plain
def test_sentences_are_short(document):
    found = sentences(document.read_text(encoding="utf-8"))
    assert not [sentence for sentence in found if len(sentence.split()) > 30]


@_plain
def test_figures_have_a_leading_zero(document):
    text = re.sub(r"^<!-- from .*?^<!-- end -->", "", prose(document), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"[^\n]*(?<![\w./*…)])\.\d[^\n]*", text)


def test_the_tables_in_the_pages_are_those_of_scripts_results():
    holding = [page for page in PAGES if PLACE.search(page.read_text(encoding="utf-8"))]
    assert len(holding) >= 6
    for page in FILLED:
        text = page.read_text(encoding="utf-8")
        assert filled(text, page.parent) == text, f"{page.name}: run `python scripts/docs_tables.py`"
        assert text.count("<!-- from ") == len(PLACE.findall(text))


def test_a_table_goes_below_its_heading_with_links_that_lead_on_from_the_page(tmp_path):
    (tmp_path / "results").mkdir()
    table = "# Title\n\n## Part\n\n[other](other.md), [far](https://x.y), ![f](f.png)\n\nThis page is written by `a`.\n"
    (tmp_path / "results" / "a.md").write_text(table, encoding="utf-8")
    page = "# Page\n\n## Measured\n\n<!-- from results/a.md -->\nold\n<!-- end -->\n\nAfter\n"
    new = filled(page, tmp_path / "docs", tmp_path)
    body = "### Part\n\n[other](../results/other.md), [far](https://x.y), ![f](../results/f.png)"
    assert new == f"# Page\n\n## Measured\n\n<!-- from results/a.md -->\n\n{body}\n\n<!-- end -->\n\nAfter\n"
    assert filled(new, tmp_path / "docs", tmp_path) == new


@pytest.mark.parametrize("folder", ["README.md", "CHANGELOG.md", "docs", "mws_hf", "scripts", "model_cards"])
def test_no_file_names_a_folder_of_a_machine(folder):
    path = re.compile(rb"(?<![\w.~/<>-])/(?:work|root|home|tmp)/\w+")
    kept = (".md", ".json", ".jsonl", ".py", ".csv", ".tsv", ".txt", ".ipynb", ".svg", ".yml", ".toml")
    files = [ROOT / folder] if (ROOT / folder).is_file() else (ROOT / folder).rglob("*")
    found = {
        file.relative_to(ROOT).as_posix(): path.findall(file.read_bytes()) for file in files if file.suffix in kept
    }
    assert not {name: folders for name, folders in found.items() if folders}


def test_the_addresses_of_the_repository_are_the_same_everywhere():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"repo_url: {urls['Repository']} " in site and f"link: {urls['Issues']}\n" in site
    assert f'repository-code: "{urls["Repository"]}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert urls["Issues"].startswith(urls["Repository"])


def test_the_reference_names_existing_objects():
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    unlisted = {"GroupedCounts", "__version__"}  # the first one is a former name
    public = {f"mws_hf.{name}" for name in set(mws_hf.__all__) - unlisted}
    assert public - {"mws_hf.MwSError"} <= {*names}
    for name in names:
        module, _, last = name.rpartition(".")
        assert name == "mws_hf.distributed.spark" or hasattr(importlib.import_module(module), last), name


class _Read(html.parser.HTMLParser):
    """The titles of a page, the addresses of everything that it loads from other servers, and its pictures."""

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


SHOWN_CODE = [page for page in PAGES if re.search(r"^```(python|bash)$", page.read_text(encoding="utf-8"), re.M)]
BLOCK = re.compile(r"^```(python|bash|text|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SECONDS = re.compile(r"in [\d.]+ s;|\| [\d.]+ \|$")
SMALL = {"32_000": "400", "32000": "400", "64000": "600", "max_steps=20": "max_steps=2"}


def write_sources(folder):
    """Write the files that the pages mention."""
    text = "\n".join(running_text() * 3)
    held_out = [" ".join(reversed(line.split())) for line in running_text()]
    (folder / "corpus.txt").write_text(text, encoding="utf-8")
    (folder / "heldout.txt").write_text("\n".join(held_out), encoding="utf-8")
    (folder / "corpus").mkdir()
    with gzip.open(folder / "corpus" / "part.txt.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)
    rows = [json.dumps({"text": line}, ensure_ascii=False) for line in text.splitlines()]
    (folder / "records.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    gold = ["".join(parts) + "\t" + " ".join(parts) for parts in morphs() if "'" not in "".join(parts)]
    (folder / "gold.tsv").write_text("\n".join(gold) + "\n", encoding="utf-8")
    (folder / "labels.tsv").write_text("\n".join(gold[::3]) + "\n", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the blocks are bash")
@pytest.mark.skipif(not FULL, reason="before a release; `project.py try-wheel` runs the quick start on every push")
@pytest.mark.parametrize("page", SHOWN_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    for module in ("torch", "datasets"):
        pytest.importorskip(module)
    write_sources(tmp_path)
    if page.name == "pretrained.md" and not (ROOT / "model_cards").is_dir():
        pytest.skip("the source distribution has no tokenizers")
    python: list[str] = []
    printed = ""
    for language, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        code = shown
        for large, small in SMALL.items():
            code = code.replace(large, small)
        if language == "python":
            python.append(code)
        if language in ("text", "console"):
            check_output(shown, printed)
        if language != "bash":
            printed = ""
            continue
        # the commands may read files that the Python blocks saved
        run_block(tmp_path, [sys.executable, "-c", "\n".join(python)])
        printed = run_block(tmp_path, ["bash", "-euo", "pipefail", "-c", code]) * (code == shown)
    run_block(tmp_path, [sys.executable, "-c", "\n".join(python)])


def check_output(shown, printed):
    """Check that each line of a block after commands is a line that they printed, except for numbers of seconds."""
    if not printed or shown.startswith(("mws ", "spm_train ")) or sys.version_info[:2] != (3, 11):
        return  # the output of commands that are not run, or of another version of Python
    lines = {SECONDS.sub("", line) for line in printed.splitlines()}
    assert not [line for line in shown.splitlines() if line and SECONDS.sub("", line) not in lines]


def run_block(folder, command):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, f"{command[-1]}\n{done.stderr}"
    return done.stdout + done.stderr


UNRUN = [
    line
    for page in PAGES
    for block in re.findall(r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("mws ")
]


@pytest.mark.parametrize("line", UNRUN)
def test_commands_that_need_a_network_or_minutes_are_commands(line):
    """They are not run, but their options exist and accept these values."""
    _, name, *arguments = shlex.split(line, comments=True)
    parser_of(name).parse_intermixed_args(arguments)


def test_such_commands_are_found():
    assert {"extend", "trim", "transplant"} <= {line.split()[1] for line in UNRUN}


IMPORTS = sorted(
    {
        (page.relative_to(ROOT).as_posix(), node.module, alias.name)
        for page in [ROOT / "README.md", *PAGES]
        for code in re.findall(r"^ *```(?:py|python)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.DOTALL | re.M)
        for node in ast.walk(ast.parse(textwrap.dedent(code)))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "mws_hf"
        for alias in node.names
    }
)


@pytest.mark.parametrize(("page", "module", "name"), IMPORTS)
def test_every_block_imports_names_that_are_there(page, module, name):
    found = importlib.import_module(module)
    if name == "BlockDataset":
        pytest.importorskip("torch")
    assert hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}"), f"{page}: {module}.{name}"


README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_LINE = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
SHOWN = re.findall(r"^print\(.*\)  # (.*)$", "\n".join(BLOCKS), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(not CARDS.is_dir(), reason="the source distribution has no tokenizers")
def test_its_python_prints_what_it_shows(tmp_path):
    assert len(BLOCKS) >= 3 and len(SHOWN) >= 3
    done = python("\n".join(BLOCKS), cwd=tmp_path, adding={"PYTHONUTF8": "1"})
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    # the training text is part of Python, and the page shows the output of Python 3.11
    if sys.version_info[:2] != (3, 11):
        assert len(printed) == len(SHOWN) and printed[0] == SHOWN[0] and printed[-1] == SHOWN[-1]
    else:
        assert printed == SHOWN


@pytest.mark.skipif(not CARDS.is_dir(), reason="the source distribution has no tokenizers")
def test_its_words_are_split_as_the_pretrained_tokenizers_split_them():
    rows = rows_of("words")
    assert [row["ours"] for row in rows] == [cut for language in LANGUAGES for cut in our_cuts(language).values()]
    assert next(table(rows)) in README, "run `python scripts/lab run words --again` and `scripts/docs_tables.py`"


def test_the_commands_it_names_exist_and_the_reference_names_all():
    assert set(re.findall(r"`mws ([a-z]+)", README)) <= set(COMMANDS)
    assert set(re.findall(r"`mws ([a-z]+)", COMMAND_LINE)) == set(COMMANDS)


def test_it_names_exactly_two_commands_of_set_up():
    assert re.findall(r"^python3 (\S+ \w+)", README, re.MULTILINE) == [
        "scripts/project.py demo",
        "scripts/project.py test",
    ]


def test_it_shows_a_picture_and_code_early():
    assert len(README[: README.index("\n```python")].split()) <= 120
    assert re.search(r"^!\[", "\n".join(README.splitlines()[:8]), re.MULTILINE)


@pytest.mark.slow
@thorough
def test_the_segmentations_of_the_lexicon_are_those_of_the_demo():
    page = (ROOT / "docs" / "granularity.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| (\w+) \| [\w·]+ \| [\w·]+ \| ([\w·]+) \| [\w·]+ \|$", page, re.MULTILINE))
    cuts = mws_cuts(lexicon_counts("ru"))
    assert len(shown) == 3 and all(cuts[word] == cut for word, cut in shown.items())


def test_every_quoted_figure_and_requested_table_is_known():
    texts = [page.read_text(encoding="utf-8") for page in FILLED]
    quoted = {found[2] for text in texts for found in FIGURE.finditer(text)}
    asked = {name for text in texts for name in re.findall(r"<!-- from figures:(\w+) -->", text)}
    assert len(quoted) >= 60 and len(asked) >= 20
    assert quoted | asked == set(figures()), "a figure that no page has, or one that none computes"
    assert not re.search(r"^ *<!--=", "\n".join(texts), re.MULTILINE), "a line that begins so is HTML, not text"


def test_a_changed_figure_in_a_page_is_found_and_repaired():
    for page in FILLED:
        text = page.read_text(encoding="utf-8")
        spoilt = FIGURE.sub(lambda found: f"{found[1]}0.123456{found[3]}", text)
        assert filled(spoilt, page.parent) == text


ENGLISH = (
    "walk talk jump open paint play look work clean count start turn land plant test wait call help".split(),
    ["", "s", "ed", "ing", "er", "ers"],
)
FINNISH = (
    "talo auto katu kala sana kirja koira valo loma luku".split(),
    ["", "ssa", "sta", "lla", "ksi", "ni", "ssani", "n"],
)


@pytest.fixture(scope="module")
def defined():
    """Return the names that the code of the page defines."""
    text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(block.splitlines()) <= 120
    names: dict = {}
    exec(block, names)  # noqa: S102
    return names


@pytest.fixture(params=[ENGLISH, FINNISH], ids=["English", "Finnish"])
def words(request):
    stems, endings = request.param
    return [" " + stem + ending for stem in stems for ending in endings]


def counted(words):
    return WordCounts.from_mapping(dict.fromkeys(words, 1), pattern="o200k")


def test_the_classic_learner_of_the_page_finds_the_package_s_merges(defined, words):
    learned = learn(counted(words), Settings(criterion="classic", n_merges=60, special_tokens=[]))
    assert len(learned.merges) >= 40
    assert defined["classic"](words, 60) == learned.merges


def test_the_morph_learner_of_the_page_finds_the_package_s_merges(defined, words):
    learned = learn(counted(words), Settings(n_merges=160, special_tokens=[], composition=0.0))
    assert len(learned.merges) > 40
    chances = {word: learned.evidence.word(word) for word in words}
    assert defined["morphs"](chances, 160) == learned.merges


@pytest.mark.parametrize("capitals", [None, "marker"])
def test_the_tokens_that_the_space_shows_spell_the_text(capitals, monkeypatch):
    monkeypatch.setitem(sys.modules, "gradio", ModuleType("gradio"))  # only the page of the Space needs it
    tokens_of = runpy.run_path(str(ROOT / "scripts" / "space" / "app.py"))["tokens_of"]
    texts = ["Hello lowly world", "Elle lit 🦔🦔, Hélène!"] * 20
    tokenizer = mws_hf.MwSTrainer(vocab_size=300, capitals=capitals, show_progress=False).train_from_iterator(texts)
    for text in [*texts[:2], "", "Hello WORLD 漢🦔  ", "<|endoftext|>Lowly"]:
        assert "".join(part for part, _ in tokens_of(tokenizer, text)) == text
