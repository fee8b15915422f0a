"""`mws report`: one small page without a network, with the figures of `mws evaluate` and of the tokenizers.

Modules: commands/report.py, text/phrases.py, report/differences.py, report/entries.py, report/html.py, report/page.py,
report/pictures.py.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mws_hf.compare import baselines
from mws_hf.corpus.counting import count_documents
from mws_hf.report.differences import comparisons
from mws_hf.report.entries import Entry, entries_of, packed, packed_within
from mws_hf.report.html import visible
from mws_hf.report.page import MAX_PAGE_BYTES
from mws_hf.report.pictures import Point, _ticks, bars, scatter
from mws_hf.scoring import evaluate, read_gold
from mws_hf.tokenization_mws_fast import MwSTokenizerFast
from mws_hf.tokenizer.backend import base_vocab, build_backend
from mws_hf.tokenizer.layout import RECORD_FILE
from mws_hf.tokenizer.opened import Opened, open_tokenizer
from mws_hf.trainer import MwSTrainer
from tests.examples import examples
from tests.in_process import mws
from tests.processes import one_line
from tests.short_text import TEXT

GOLD = (
    "перечитать\tпере чит ать\nзачитали\tза чит али\nпописали\tпо пис али\nпрописать\tпро пис ать\n"
    "читательские\tчита тель ские\n"
)

HOSTILE = '<script>alert(1)</script>"&'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tokenizers, two texts, gold, and their report."""
    folder = tmp_path_factory.mktemp("report")
    lines = TEXT.splitlines()
    (folder / "one.txt").write_text("\n".join(lines[1::4]) + f"\n{HOSTILE} перечитали\n", encoding="utf-8")
    (folder / "two.txt").write_text("\n".join(lines[3::4]) + "\n", encoding="utf-8")
    (folder / "train.txt").write_text("\n".join(lines[::2]) + "\n", encoding="utf-8")
    (folder / "gold.tsv").write_text(GOLD, encoding="utf-8")
    MwSTrainer(vocab_size=450, show_progress=False).train(lines).save_pretrained(folder / "mws")
    baselines.train("bpe-character", count_documents(lines), 450, folder / "bpe")
    done = report(folder, "--bits", folder / "train.txt")
    assert done.returncode == 0, done.stderr
    return folder


def report(folder, *more):
    texts = ("--text", f"first={folder / 'one.txt'}", "--text", f"second {HOSTILE}={folder / 'two.txt'}")
    names = (f"ours={folder / 'mws'}", f"bpe={folder / 'bpe'}")
    arguments = ["report", *names, *texts, "--gold", folder / "gold.tsv", *more, "-o", folder / "report.html"]
    return mws(*arguments)


class Page(HTMLParser):
    """The tables of a page, cell by cell, and the address of everything that a browser would fetch."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.fetched, self.scripts, self._cell = [], [], 0, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href", "srcset", "action")]
        self.scripts += tag == "script"
        if tag == "tr":
            self.rows.append([])
        self._cell = tag in ("td", "th") or (self._cell and tag in ("small", "bdi", "i"))
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "small":
            self.rows[-1][-1] += "|"

    def handle_endtag(self, tag):
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data):
        if self._cell:
            self.rows[-1][-1] += data


def test_it_is_one_small_page_that_fetches_nothing_and_runs_nothing_of_a_text(folder):
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert len(text.encode()) < MAX_PAGE_BYTES and page.fetched == []
    assert page.scripts == 3  # two vocabularies and the script of the page
    assert "default-src 'none'" in text and "@import" not in text and "url(" not in text
    assert not re.search(r"https?://", text)
    assert "<script>alert" not in text and "&lt;script&gt;" in text


def test_its_figures_are_those_of_evaluate(folder):
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    lines = [*_lines(folder / "one.txt"), *_lines(folder / "two.txt")]
    named = {"ours": folder / "mws", "bpe": folder / "bpe"}
    found = evaluate(named, [folder / "gold.tsv"], lines, bits=folder / "train.txt", baselines=False)
    rows = {row[0].split("|")[0]: row[1:] for row in page.rows}
    expected = [f"{r.scores.f1:.3f}|{r.interval[0]:.3f} to {r.interval[1]:.3f}" for r in found.rows]
    assert rows["F1, gold"] == expected
    assert rows["tokens per word"] == [f"{found.text[name].fertility:.3f}" for name in named]
    assert [cell.split("|")[0] for cell in rows["n-gram bits per byte"]] == [
        f"{b.value:.4f}" for b in found.bits.values()
    ]
    assert rows["tokens used"] == [f"{found.text[name].vocabulary_used:.1%}".replace("%", " %") for name in named]
    by_text = {name: evaluate(named, text=folder / f"{name}.txt", baselines=False).text for name in ("one", "two")}
    shown = {"first": by_text["one"], f"second {HOSTILE}": by_text["two"]}
    for name, scores in shown.items():
        cells = [(f"{s.fertility:.3f}", f"{s.bytes_per_token:.3f}", f"{s.tokens:,}") for s in scores.values()]
        assert rows[name] == [cell for group in cells for cell in group]


def test_every_token_is_listed_with_its_uses_and_its_merge(folder):
    text = (folder / "report.html").read_text(encoding="utf-8")
    (data, _) = re.findall(r'class="vocabulary"[^>]*>([^<]*)<', text)
    entries = unpacked(data)
    backend = Tokenizer.from_file(str(folder / "mws" / "tokenizer.json"))
    assert sorted(entries) == sorted(backend.get_vocab().values())
    lines = [*_lines(folder / "one.txt"), *_lines(folder / "two.txt")]
    uses = Counter(number for encoded in backend.encode_batch(lines) for number in encoded.ids)
    assert {number: entry["uses"] for number, entry in entries.items() if entry["uses"]} == uses
    merges = json.loads(backend.to_str())["model"]["merges"]
    for entry in (each for each in entries.values() if each["rank"] is not None):
        left, right = merges[entry["rank"]]
        assert backend.get_vocab()[left + right] in entries
    kinds = Counter(entry["kind"] for entry in entries.values())
    record = json.loads((folder / "mws" / RECORD_FILE).read_text(encoding="utf-8"))["settings"]["merges"]
    assert kinds["morph"] == record["morph"] and kinds["composition"] == record["composition"]
    assert 0 < sum(entry["right"] for entry in entries.values()) <= sum(entry["edges"] for entry in entries.values())


def test_every_token_has_the_evidence_at_its_ends_and_inside(folder):
    """The expected values come from single words of the text that are training words of the first tokenizer.

    They are the same for the second tokenizer, which has no evidence of its own.
    """
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "words of ours" in text and "evidence at ends" in text
    judge = MwSTokenizerFast.from_pretrained(folder / "mws")
    lines = [*_lines(folder / "one.txt"), *_lines(folder / "two.txt")]
    words = Counter(word for line in lines for word in re.findall(r"[^\W\d_]+", line))
    for data, place in zip(re.findall(r'class="vocabulary"[^>]*>([^<]*)<', text), ("mws", "bpe"), strict=True):
        backend = Tokenizer.from_file(str(folder / place / "tokenizer.json"))
        ends, inside = {}, {}
        for word, times in words.items():
            told = judge.explain(word)
            if not all(told.seen):
                continue
            (values,) = told.boundaries  # the value of the space, then those of the letters
            encoded = backend.encode(f" {word}")
            for number, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
                for at in (start, end):
                    if 1 < at <= len(word):
                        ends.setdefault(number, []).extend([values[at - 1]] * times)
                if places := range(max(start, 1) + 1, end):
                    inside.setdefault(number, []).extend([max(values[at - 1] for at in places)] * times)
        entries = unpacked(data)
        for column, expected in (("ends", ends), ("inside", inside)):
            found = {number: entry[column] for number, entry in entries.items() if entry[column] is not None}
            assert found.keys() == expected.keys() and len(found) > 50
            for number, value in found.items():
                assert value == pytest.approx(100 * np.mean(expected[number]), abs=0.51)


def test_without_evidence_no_page_mentions_it(folder, tmp_path):
    arguments = ["report", folder / "bpe", "--text", folder / "one.txt", "-o", tmp_path / "r.html"]
    assert mws(*arguments).returncode == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "hasEvidence = false" in text and "evidence at ends" not in text


def test_without_text_no_uses_of_tokens_are_shown(folder, tmp_path):
    """Otherwise all figures would be 0 and every token would be unused, although no text was measured."""
    for option, uses in (("--gold", False), ("--text", True)):
        file = folder / ("gold.tsv" if option == "--gold" else "one.txt")
        done = mws("report", folder / "bpe", option, file, "--force", "-o", tmp_path / "r.html")
        assert done.returncode == 0, done.stderr
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert (">uses</th>" in page) == uses == ("hasText = true" in page) == ('value="unused"' in page)
        assert ('value="against"' in page) != uses


def test_parity_is_by_words_or_for_translations_by_tokens(folder, tmp_path):
    lines = ["перечитали записали", "читатель писал"]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("\n".join(f"{line} {line}" for line in lines) + "\n", encoding="utf-8")
    (tmp_path / "c.txt").write_text("три\nстроки\nздесь\n", encoding="utf-8")

    def cell(second, *more):
        texts = ("--text", tmp_path / "a.txt", "--text", tmp_path / second, *more)
        arguments = ["report", folder / "mws", *texts, "--force", "-o", tmp_path / "r.html"]
        done = mws(*arguments)
        assert done.returncode == 0, done.stderr
        rows = Page((tmp_path / "r.html").read_text(encoding="utf-8")).rows
        return next(float(row[1]) for row in rows if row[0].startswith("parity"))

    assert cell("b.txt") == pytest.approx(1, abs=0.1) and cell("b.txt", "--parallel") == pytest.approx(2, abs=0.2)
    texts = ("--text", tmp_path / "a.txt", "--text", tmp_path / "c.txt")
    refused = mws("report", folder / "mws", *texts, "--parallel", "-o", tmp_path / "r.html", "--force")
    assert one_line(refused) and "a.txt 2, c.txt 3 lines" in refused.stderr


def _lines(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line]


def unpacked(data):
    """Unpack a vocabulary as the script of the page does, by id."""
    columns = json.loads(zlib.decompress(base64.b64decode(data)))
    found, number = {}, 0
    for step, *row in zip(*columns.values(), strict=True):
        number += step
        entry = dict(zip(list(columns)[1:], row, strict=True))
        found[number] = {**entry, "rank": None if entry["rank"] is None else entry["rank"] + number}
    return found


@given(
    st.dictionaries(
        st.integers(0, 10**6), st.tuples(st.text(), st.integers(0, 10**9), st.none() | st.integers(0, 10**6))
    )
)
@examples(50)
def test_packing_loses_nothing(rows):
    entries = [Entry(number, shown, uses, rank, "", 0, 0) for number, (shown, uses, rank) in rows.items()]
    found = unpacked(packed(entries))
    assert {n: (e["shown"], e["uses"], e["rank"]) for n, e in found.items()} == rows


def test_a_vocabulary_that_is_too_large_keeps_its_most_used_tokens():
    entries = [Entry(n, os.urandom(6).hex(), 10_000 - n, n, "", 0, 0) for n in range(10_000)]
    text, kept = packed_within(entries, 50_000)
    assert len(text) <= 50_000 and 1000 < kept < 10_000
    assert sorted(unpacked(text)) == list(range(kept))


@given(st.lists(st.tuples(st.floats(0.5, 20), st.floats(0, 1)), min_size=1, max_size=8))
@examples(50)
def test_points_lie_inside_the_picture(places):
    svg = scatter([Point(HOSTILE, x, y, max(0, y - 0.02), min(1, y + 0.02)) for x, y in places], "x", "y")
    Page(svg)
    assert "<script" not in svg
    for x, y in re.findall(r'cx="([\d.-]+)" cy="([\d.-]+)"', svg):
        assert 50 <= float(x) <= 545 and 10 <= float(y) <= 280
    for value, _ in places:
        assert _ticks(value, value)[0] <= value <= _ticks(value, value)[-1]


def test_bars_are_as_long_as_their_values():
    widths = [
        float(width) for width in re.findall(r'width="([\d.]+)" height="15"', bars({"a": {"x": 1.0, "y": 4.0}}, "t"))
    ]
    assert widths[1] == pytest.approx(4 * widths[0], abs=0.5)


def marked_cells(text):
    """Return the figures that are marked as the best, by the title of their row."""
    rows = re.findall(r'<tr><th scope="row">(.*?)<small>.*?</th>(.*?)</tr>', text)
    return {
        title: [cell.partition("<")[0] for cell in cells.split("<td>") if 'class="star"' in cell]
        for title, cells in rows
    }


def test_the_best_figure_of_each_row_is_marked_and_none_where_all_are_equal(folder, tmp_path):
    lines = [*_lines(folder / "one.txt"), *_lines(folder / "two.txt")]
    named = {"ours": folder / "mws", "bpe": folder / "bpe"}
    found = evaluate(named, [folder / "gold.tsv"], lines, bits=folder / "train.txt", baselines=False)
    marks = marked_cells((folder / "report.html").read_text(encoding="utf-8"))
    for title, figures, best in (
        ("F1, gold", [f"{row.scores.f1:.3f}" for row in found.rows], max),
        ("tokens per word", [f"{each.fertility:.3f}" for each in found.text.values()], min),
        ("bytes per token", [f"{each.bytes_per_token:.3f}" for each in found.text.values()], max),
        ("n-gram bits per byte", [f"{each.value:.4f}" for each in found.bits.values()], min),
    ):
        assert marks[title] == ([best(figures, key=float)] if len(set(figures)) > 1 else []), title
    assert marks["vocabulary size"] == [] and sum(map(len, marks.values())) > 1
    twins = [f"a={folder / 'mws'}", f"b={folder / 'mws'}"]
    assert mws("report", *twins, "--text", folder / "one.txt", "-o", tmp_path / "twins.html").returncode == 0
    page = (tmp_path / "twins.html").read_text(encoding="utf-8")
    assert not any(marked_cells(page).values())
    assert "a needs as many tokens as b." in page and "Both tokenizers split every word in the same way" in page


def test_the_result_is_summarized_in_a_sentence(folder):
    lines = [*_lines(folder / "one.txt"), *_lines(folder / "two.txt")]
    named = {"ours": folder / "mws", "bpe": folder / "bpe"}
    found = evaluate(named, [folder / "gold.tsv"], lines, baselines=False)
    one, two = found.rows
    gain, more = one.scores.f1 - two.scores.f1, 100 * (found.text["ours"].tokens / found.text["bpe"].tokens - 1)
    (said,) = re.findall(r'<p class="outcome">(.*?)</p>', (folder / "report.html").read_text(encoding="utf-8"))
    assert said.startswith(f"ours: {gain:+.3f} F1 over bpe" if gain >= 0 else f"ours: {-gain:.3f} F1 below bpe")
    assert said.endswith(f"for {abs(more):.1f} % {'more' if more >= 0 else 'fewer'} tokens.")


def test_the_two_tokenizers_that_differ_most_come_first(folder):
    systems = [open_tokenizer(folder / "mws", name=name) for name in ("ours", "twin")]
    letters = Opened("letters", live=build_backend(base_vocab((), "".join(GOLD), []), []))
    found = comparisons([*systems, letters], "перечитать читали", {})
    assert [(each.first, each.second) for each in found][0] in {("ours", "letters"), ("twin", "letters")}
    assert found[0].share == 1 and {each.share for each in found if each.second == "twin"} == {0}
    assert all("ours" in each[:2] for each in found[1:])


def test_right_and_wrong_boundaries_have_shapes_of_their_own(folder, tmp_path):
    assert mws("report", f"ours={folder / 'mws'}", f"bpe={folder / 'bpe'}", "--gold", folder / "gold.tsv",
               "-o", tmp_path / "r.html").returncode == 0  # fmt: skip
    shapes = set(re.findall(r'<b class="(hit|miss)?">(.)</b>', (tmp_path / "r.html").read_text(encoding="utf-8")))
    assert {("hit", "·"), ("miss", "×")} <= shapes and ("miss", "·") not in shapes


def test_both_axes_of_a_picture_have_titles():
    svg = scatter([Point("a", 1, 0.5, 0.4, 0.6)], "tokens per word", "boundary F1")
    assert ">tokens per word</text>" in svg and ">boundary F1</text>" in svg
    assert ">bytes per token</text>" in bars({"text": {"a": 1.0}}, "bytes per token")


def test_misuse_is_reported_in_a_line(folder, tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "blank.txt").write_bytes(b"\n\n")
    for arguments, says in (
        (["--text", tmp_path / "absent.txt"], "absent.txt"),
        (["--bits", folder / "one.txt", "--gold", folder / "gold.tsv"], "--text"),
        (["--text", tmp_path / "empty.txt"], "empty.txt: this text is empty"),
        (["--text", f"b={tmp_path / 'blank.txt'}", "--text", folder / "one.txt"], "b: this text is empty"),
        (["--text", folder / "one.txt", "--parallel"], "give at least two texts"),
    ):
        done = mws("report", folder / "mws", *arguments, "-o", tmp_path / "r.html")
        assert one_line(done) and says in done.stderr, done.stderr
    over = mws("report", folder / "mws", "--text", folder / "one.txt", "-o", folder / "one.txt")
    assert one_line(over) and "overwritten" in over.stderr
    assert not (tmp_path / "r.html").exists()


CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.mark.slow
@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver")
@pytest.mark.parametrize("width", [1200, 360])
def test_the_table_of_tokens_can_be_searched(folder, tmp_path, width):
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.support.ui import Select, WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get((folder / "report.html").as_uri())

        def wait(text):
            WebDriverWait(driver, 60).until(lambda _: driver.find_element("id", "found").text.startswith(text))

        wait("450 tokens")
        driver.find_element("id", "query").send_keys("чит")
        vocabulary = unpacked(
            re.findall(r'class="vocabulary"[^>]*>([^<]*)<', (folder / "report.html").read_text("utf-8"))[0]
        )
        holding = [entry for entry in vocabulary.values() if "чит" in entry["shown"].lower()]
        wait(f"{len(holding)} tokens")
        shown = [row.text for row in driver.find_elements("css selector", "#tokens td:first-child")]
        assert sorted(shown) == sorted(entry["shown"].replace(" ", "␣") for entry in holding)
        Select(driver.find_element("id", "filter")).select_by_value("unused")
        wait(f"{sum(entry['uses'] == 0 for entry in holding)} tokens")
        Select(driver.find_element("id", "filter")).select_by_value("hides")
        wait(f"{sum((entry['inside'] or 0) > 50 for entry in holding)} tokens")
        driver.find_element("id", "query").clear()
        Select(driver.find_element("id", "filter")).select_by_value("added")
        wait(f"{sum(entry['kind'] == 'added token' for entry in vocabulary.values())} tokens")
        Select(driver.find_element("id", "filter")).select_by_value("morph")
        wait(f"{sum(entry['kind'].endswith('morph') for entry in vocabulary.values())} tokens")
        assert driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert not driver.get_log("browser")
        kept = Path(os.environ.get("MWS_SCREENSHOTS") or tmp_path)
        driver.save_screenshot(str(kept / f"report-{width}.png"))
    finally:
        driver.quit()


def test_the_kinds_of_an_extended_tokenizer_are_told_apart_from_added_tokens(folder, tmp_path):
    done = mws("extend", folder / "mws", folder / "one.txt", "--add", 20, "-o", tmp_path / "larger", "-q")
    assert done.returncode == 0, done.stderr
    opened = open_tokenizer(tmp_path / "larger", by_class=True)
    special = {token.content for token in opened.backend.get_added_tokens_decoder().values()}
    entries = entries_of(opened, [], [], {})
    assert {entry.shown for entry in entries if entry.kind == "added token"} == special
    new = [entry for entry in entries if entry.id >= 450]
    assert new and all(entry.rank is not None for entry in new)
    assert {entry.kind for entry in new} <= {"added", "added morph", "added composition"}


@given(
    st.one_of(
        st.sampled_from(["<script>alert(1)</script>", '"><img src=x onerror=1>', "a\u202eb\x00c\u200bd\n"]), st.text()
    )
)
@examples(60)
def test_any_text_is_shown_as_text_and_invisible_characters_are_named(text):
    shown = Page(f"<table><tr><td>{visible(text)}</td></tr></table>")
    assert not shown.scripts and not shown.fetched
    assert not set("\u202e\u200b\x00") & set(str(visible(text)))
    assert all(f"U+{ord(each):04X}" in shown.rows[0][0] for each in text if each in "\u202e\u200b\x00")


def test_split_points_of_gold_words_are_marked_as_hits_and_misses(folder):
    gold = {entry.word: entry.segmentations for entry in read_gold(folder / "gold.tsv").words}
    first = open_tokenizer(folder / "mws", by_class=True)
    second = Opened("letters", live=build_backend(base_vocab((), "".join(gold), []), []))
    (compared,) = comparisons([first, second], "\n".join(gold), gold)
    found = compared.words
    assert found and all(each.gold == gold[each.word] for each in found)
    for pieces in [each.first for each in found] + [each.second for each in found]:
        word = "".join(piece.text for piece in pieces)
        ends = np.cumsum([len(piece.text) for piece in pieces])[:-1]
        true = set(np.cumsum([len(part) for part in gold[word][0]])[:-1])
        assert [piece.after == "hit" for piece in pieces[:-1]] == [end in true for end in ends]


@pytest.mark.parametrize("alternatives", ["un lock s, unlock s", "unlock s, un lock s"])
def test_a_split_that_any_reference_segmentation_has_is_no_miss(alternatives, tmp_path):
    (tmp_path / "gold.tsv").write_text(f"unlocks\t{alternatives}\n", encoding="utf-8")
    parts = [("u", "n"), (" ", "un"), ("l", "o"), ("lo", "c"), ("loc", "k")]
    for name, merges in (("parts", parts), ("word", [*parts, ("lock", "s"), (" un", "locks")])):
        (tmp_path / name).mkdir()
        build_backend(base_vocab((), " unlocks", merges), merges).save(str(tmp_path / name / "tokenizer.json"))
    done = mws(
        "report", tmp_path / "parts", tmp_path / "word", "--gold", tmp_path / "gold.tsv", "-o", tmp_path / "r.html"
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert text.count('<b class="hit">·</b>') == 3 and '<b class="miss">×</b><wbr>' not in text
    shown = alternatives.replace(", ", "; ").replace(" ", "·").replace(";·", ", ")
    assert f"un·lock·s | unlocks | {shown} | 1" in re.sub(r"<[^>]+>", "", text.replace("</td><td", "</td> | <td"))
