"""What the page of `mws demo` shows, as HTML, without Gradio: every token, safe, in the order in which it is read."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from mws_hf.corpus.counting import count_documents
from mws_hf.demo.app import EXAMPLES, LOCAL, STYLE, first_example, refusal
from mws_hf.demo.tokens import Opened, open_all, open_for_page, tokens_of
from mws_hf.demo.views import MOST_CHARACTERS, MOST_DRAWN, comparison_html, differences, direction, text_html
from mws_hf.demo.word_view import TrainingEvidence, evidence_html, word_html
from mws_hf.errors import MwSError
from mws_hf.extend.extension import extend
from mws_hf.tokenizer.backend import base_vocab, build_backend, tables_of
from mws_hf.trainer import MwSTrainer
from tests.examples import examples
from tests.processes import one_line
from tests.small_bases import llama3_like, russian
from tests.small_tokenizers import ADVERSARIAL, small_fast

HEBREW = "שלום עולם"
FINNISH, CODE = EXAMPLES[3], EXAMPLES[-1]


def byte_level(**options):
    """A byte-level tokenizer as GPT-2 and Llama 3 have it, which takes the spaces off the offsets of its tokens."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder, backend.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(initial_alphabet=alphabet, vocab_size=300, show_progress=False, **options)
    backend.train_from_iterator(["перечитать читатель читает"] * 20, trainer)
    return backend


def unigram():
    backend = Tokenizer(models.Unigram())
    backend.normalizer, backend.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=60, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    backend.train_from_iterator(["перечитать читатель читает"] * 20, trainer)
    return backend


def word_piece():
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=60, special_tokens=["[UNK]"], show_progress=False)
    backend.train_from_iterator(["перечитать читатель читает"] * 20, trainer)
    return backend


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """One tokenizer of each family, each from its directory."""
    folder = tmp_path_factory.mktemp("demo")
    makers = {"mws": lambda: small_fast().backend_tokenizer, "bytes": byte_level, "unigram": unigram, "wp": word_piece}
    for name, make in makers.items():
        (folder / name).mkdir()
        make().save(str(folder / name / "tokenizer.json"))
    return {each.name: each for each in open_all([str(folder / name) for name in makers])}


class Reader(HTMLParser):
    """Tags that were opened, in order, and the text; fails on tags that are not closed in order."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.words, self.titles, self._open = [], [], [], []
        self.feed(page)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.titles += [value for name, value in attributes if name == "title"]
        if tag != "wbr":
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def drawn(page: str) -> str:
    """The first box of tokens."""
    return re.search(r'<div class="mws-tokens"[^>]*>(.*?)</div>', page, re.DOTALL)[1]


SAFE_TAGS = {"div", "section", "h3", "p", "b", "i", "s", "em", "small", "span", "bdi", "details", "summary", "wbr"} | {
    *("table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li")
}


@given(st.one_of(st.sampled_from([*ADVERSARIAL, "<script>alert(1)</script>", '"><img src=x onerror=1>']), st.text()))
@examples(60)
def test_any_text_is_shown_as_text(text):
    toy, other = Opened("<b>", small_fast().backend_tokenizer), Opened('"x', BYTES)
    for page in (
        text_html([toy, other], text),
        word_html([toy, other], text, None),
        comparison_html(toy, other, text),
    ):
        assert set(Reader(page).tags) <= SAFE_TAGS


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Cn", "Co", "M", "Zl", "Zp")), min_size=1))
@examples(60)
def test_no_character_is_lost(text):
    letters = Opened("letters", build_backend(base_vocab((), text, []), []))
    assert "".join(Reader(drawn(text_html([letters], text))).words) == text


@given(st.one_of(st.sampled_from(ADVERSARIAL), st.text()))
@examples(60)
def test_characters_and_bytes_together_are_the_text(text):
    for backend in (small_fast().backend_tokenizer, BYTES):
        tokens = tokens_of(Opened("toy", backend), text)
        parts = [bytes.fromhex(each.shown) if each.in_bytes else each.shown.encode() for each in tokens]
        special = {token.content for token in backend.get_added_tokens_decoder().values()}
        assert b"".join(parts) == text.encode() or any(token in text for token in special)


def test_a_script_is_shown_and_not_run(opened):
    page = text_html(list(opened.values()), "<script>alert(1)</script>")
    assert "<script" not in page
    assert "".join(Reader(drawn(page)).words).replace(" ", "") == "<script>alert(1)</script>"


@pytest.mark.parametrize("name", ["mws", "bytes", "unigram", "wp"])
def test_tokens_are_readable_whatever_the_family(opened, name):
    tokens = tokens_of(opened[name], "читает перечитать")
    assert "".join(token.shown for token in tokens).replace(" ", "") == "читаетперечитать"
    assert not any(token.in_bytes for token in tokens)
    assert [token.number for token in tokens] == opened[name].backend.encode("читает перечитать").ids


@pytest.mark.parametrize("name", ["mws", "bytes"])
def test_a_split_character_is_shown_as_its_bytes(opened, name):
    tokens = [token for token in tokens_of(opened[name], "ч 漢") if token.in_bytes]
    assert [token.shown for token in tokens] == ["E6", "BC", "A2"]


def test_spaces_belong_to_byte_level_tokens(opened):
    assert [token.shown for token in tokens_of(opened["bytes"], "читает читает")][-1].startswith(" ч")


def test_ranks_are_those_of_the_merges(opened):
    merges = [left + right for left, right in tables_of(opened["mws"].backend)[1]]
    for token in tokens_of(opened["mws"], "перечитать the"):
        assert (merges[token.rank] if token.rank is not None else token.shown) == token.shown


def test_hovering_tells_id_merge_and_the_word_s_tokens_and_bytes(opened):
    titles = Reader(text_html([opened["mws"]], "читать")).titles
    assert titles[0] == f"id {opened['mws'].backend.token_to_id('чит')} · merge 1 · word of 2 tokens, 12 bytes"


def test_invisible_characters_are_named():
    text = "a\u202eb\x00c\u200bd\n"
    page = drawn(text_html([Opened("letters", build_backend(base_vocab((), text, []), []))], text))
    assert [word for word in Reader(page).words if word.startswith("U+")] == ["U+202E", "U+0000", "U+200B"]
    assert "\u202e" not in page


def test_each_script_runs_in_its_own_direction():
    page = drawn(text_html([LETTERS], f"abc {HEBREW} 12"))
    runs = re.findall(r'<bdi dir="(\w+)">', page)
    assert runs == ["rtl", "ltr"]  # the Hebrew words, and the number among them
    assert re.search(r'<div class="mws-tokens" dir="rtl">', text_html([LETTERS], f"{HEBREW} abc"))


def test_a_long_text_is_measured_whole_and_drawn_in_part(opened):
    text = "читать перечитать " * 6000
    page = text_html(list(opened.values()), text)
    reader = Reader(page)
    total = len(opened["mws"].backend.encode(text).ids)
    said = " ".join(reader.words)
    assert f"of {total:,} tokens are drawn; the figures are of all." in said
    assert page.count('class="mws-t ') <= 2 * MOST_DRAWN and len(page) < 1_000_000
    much = text_html([opened["mws"]], "а" * (MOST_CHARACTERS + 1))
    assert f"Only the first {MOST_CHARACTERS:,} of {MOST_CHARACTERS + 1:,} characters are used." in much


def test_figures_are_those_of_evaluate(opened):
    from mws_hf.evaluate import score_text

    text = "перечитать читает the the"
    scores = score_text(opened["mws"].backend, [text])
    words = Reader(text_html([opened["mws"]], text)).words
    assert {f"{scores.fertility:.2f}", f"{scores.bytes_per_token:.2f}", f"{scores.tokens}"} <= set(words)


class Known:
    """Evidence of one word, as `mws_hf.learn.contextual.Evidence` answers."""

    def word(self, pretoken):
        return [0.0, 0.25, 0.97, 0.0] if pretoken == " кот" else [0.0] * len(pretoken) if pretoken == " дом" else None

    def knows(self, pretoken):
        return pretoken == " кот"


KNOWN = TrainingEvidence(Known(), r"\s?\S+", None, "a list")


def test_a_word_shows_its_evidence_and_merges(opened):
    page = word_html([opened["mws"], opened["bytes"]], "кот", KNOWN)
    assert re.findall(r"height:(\d+)%", page) == ["25", "97"]
    assert "after: к 25 %, о 97 %" in html.unescape(page)
    listed = word_html([opened["mws"]], "читать", None)
    assert re.findall(r"merge (\d+)", listed) == ["0", "1", "2", "3", "14"]
    assert "none of the tokenizers keeps any" in listed and "not among a list" in word_html([LETTERS], "дом", KNOWN)


def test_merges_are_marked_as_morphs_and_compositions(tmp_path):
    trained = MwSTrainer(vocab_size=420, show_progress=False).train(["перечитать читатель писатель писал читал"] * 40)
    trained.save_pretrained(tmp_path / "trained")
    opened = open_for_page(tmp_path / "trained")
    record = json.loads((tmp_path / "trained" / "mws_training.json").read_text(encoding="utf-8"))["settings"]["merges"]
    assert record["morph"] > 0 and record["composition"] > 0
    kinds = opened.merge_kinds
    assert kinds.count("morph") == record["morph"] and kinds.count("composition") == record["composition"]
    assert kinds == sorted(kinds, key=["", "morph", "composition"].index)
    page = word_html([opened], "писатель", None)
    shown = re.findall(r'merge (\d+) <b class="mws-(\w+)">(\w+)</b>', page)
    assert shown and all(kinds[int(rank)] == kind == word for rank, kind, word in shown)
    titles = re.findall(r"merge (\d+), (\w+)", " ".join(Reader(text_html([opened], " писатель")).titles))
    assert titles and all(kinds[int(rank)] == kind for rank, kind in titles)


def test_what_an_extension_added_is_marked(tmp_path):
    base = llama3_like()
    counts = count_documents(russian())
    extension = extend(base, counts, 60)
    extension.save(tmp_path / "extended")
    opened = open_for_page(tmp_path / "extended")
    kinds = Counter(opened.merge_kinds)
    found = extension.learned.found
    assert kinds[""] == len(Opened("base", base).merge_kinds)
    assert (kinds["added morph"], kinds["added composition"]) == (found["morphs"], found["compositions"])
    assert found["morphs"] and found["compositions"]
    assert re.search(r'<b class="mws-morph">added morph</b>', word_html([opened], "перечитали", None))


def test_the_picture_names_the_bars_and_the_strips(opened):
    page = word_html([opened["mws"], opened["bytes"]], "кот", KNOWN)
    rows = re.search(r'<span class="mws-rows".*?<span class="mws-letter">', page, re.DOTALL)[0]
    assert "boundary, %" in rows and re.findall(r'<span class="mws-strip" title="(\w+)">', rows) == ["mws", "bytes"]


def test_merges_of_byte_level_tokenizers_are_readable(opened):
    words = "".join(Reader(word_html([opened["bytes"]], "читает", None)).words)
    assert "Ñ" not in words and "Ð" not in words and "Ġ" not in words
    assert words.rstrip().endswith("␣читает")


def test_a_model_without_merges_says_so(opened):
    assert "Unigram, not BPE" in html.unescape(word_html([opened["unigram"]], "читает", None))


def test_the_picture_breaks_strips_where_the_tokenizer_cuts():
    page = evidence_html("abcd", [0.1, 0.9, 0.2, 0.0], {"toy": [2]})
    strips = re.findall(r'class="mws-strip mws-c(\d)( mws-end)?"', page)
    assert strips == [("0", ""), ("0", " mws-end"), ("1", ""), ("1", "")]
    assert "ab·<wbr>cd" in page


def test_two_tokenizers_compared(opened):
    text = "читать the читать the кот"
    found = differences(opened["mws"], opened["wp"], text)
    assert all("".join(each.first) == each.word == "".join(each.second) for each in found)
    assert [each.count for each in found] == sorted((each.count for each in found), reverse=True)
    page = comparison_html(opened["mws"], opened["wp"], text)
    assert f"{sum(each.count for each in found)} of 5 in running text" in " ".join(Reader(page).words)
    assert "cut alike" in comparison_html(opened["mws"], Opened("same", opened["mws"].backend), text)


def test_two_tokenizers_of_one_name_are_refused(tmp_path):
    for name in ("a/t", "b/t"):
        (tmp_path / name).mkdir(parents=True)
        small_fast().backend_tokenizer.save(str(tmp_path / name / "tokenizer.json"))
    with pytest.raises(MwSError, match="two tokenizers are called 't'; write NAME=DIR"):
        open_all([str(tmp_path / "a/t"), str(tmp_path / "b/t")])
    assert [each.name for each in open_all([str(tmp_path / "a/t"), f"u={tmp_path / 'b/t'}"])] == ["t", "u"]
    with pytest.raises(MwSError, match="no such directory"):
        open_for_page(tmp_path / "absent")


def test_it_begins_in_the_language_that_the_tokenizer_knows():
    finnish, code = (
        Opened(name, MwSTrainer(vocab_size=700, show_progress=False).train(texts * 30).backend_tokenizer)
        for name, texts in (("fi", [FINNISH.text]), ("code", [CODE.text]))
    )
    assert first_example([finnish, code]) == FINNISH and first_example([code]) == CODE
    assert len({example.language for example in EXAMPLES}) == len(EXAMPLES) >= 8
    assert any(direction(example.text) == "rtl" for example in EXAMPLES)


LOCAL_SCOPE = {"method": "GET", "path": "/", "headers": [(b"host", b"127.0.0.1:7860")]}
POST = {"method": "POST", "path": "/gradio_api/queue/join"}
JSON = [(b"host", b"localhost:7860"), (b"content-type", b"application/json"), (b"content-length", b"20")]


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        ({}, None),
        ({"headers": [(b"host", b"[::1]:7860")]}, None),
        ({"headers": []}, 403),
        ({"headers": [(b"host", b"evil.example")]}, 403),
        ({"headers": [(b"host", b"127.0.0.1.evil.example:7860")]}, 403),
        ({"headers": [(b"host", b"localhost:7860"), (b"origin", b"http://localhost:7860")]}, None),
        ({"headers": [(b"host", b"localhost:7860"), (b"origin", b"http://localhost:9999")]}, 403),
        ({"headers": [(b"host", b"localhost:7860"), (b"origin", b"null")]}, 403),
        ({**POST, "headers": JSON}, None),
        ({**POST, "headers": JSON[:2]}, 413),
        ({**POST, "headers": [*JSON[:2], (b"content-length", b"9000000")]}, 413),
        ({**POST, "headers": [JSON[0], (b"content-type", b"text/plain"), JSON[2]]}, 403),
        ({"method": "POST", "path": "/gradio_api/upload", "headers": JSON}, 403),
        ({"method": "PUT", "headers": JSON}, 403),
    ],
)
def test_the_server_answers_its_own_page_alone(scope, status):
    refused = refusal({**LOCAL_SCOPE, **scope}, LOCAL)
    assert (refused and refused[0]) == status


def test_a_page_for_everybody_still_answers_no_other_page():
    anywhere = [(b"host", b"me-demo.hf.space"), (b"origin", b"https://me-demo.hf.space")]
    assert refusal({**LOCAL_SCOPE, "headers": anywhere}, None) is None
    assert refusal({**LOCAL_SCOPE, "headers": [anywhere[0], (b"origin", b"https://evil.example")]}, None)


def test_without_gradio_the_command_says_what_to_install(tmp_path):
    small_fast().backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    script = "import sys; sys.modules['gradio'] = None; from mws_hf.commands.entry import main; main()"
    done = subprocess.run([sys.executable, "-c", script, "demo", str(tmp_path)], capture_output=True, encoding="utf-8")
    assert one_line(done) and "pip install gradio" in done.stderr


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [".mws {", ".dark .mws {"])
def test_text_is_legible_on_every_colour_of_both_themes(theme):
    style = STYLE.read_text(encoding="utf-8")
    rules = style[style.index(theme) :].split("}")[0]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", rules))
    for ink, papers, least in (("ink", ("c0", "c1", "c2", "c3", "c4", "c5", "paper"), 7), ("soft", ("paper",), 4.5)):
        for paper in papers:
            light, dark = sorted((luminance(colours[ink]), luminance(colours[paper])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= least, (theme, ink, paper)


LETTERS = Opened("letters", build_backend(base_vocab((), "abcd " + HEBREW + "אבגדה0123456789,", []), []))
BYTES = byte_level()
