"""Reference segmentations, word lists and segmentations of other programs: formats, errors, published scores.

Modules: corpus/segmentations.py, corpus/word_list.py.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import pickle
import shutil
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc
import pymorphy3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.corpus import word_list as lexicon
from mws_hf.corpus.segmentations import FORMATS, GoldWord, detect_format, read_gold
from mws_hf.corpus.word_list import lexicon_counts, lexicon_words
from mws_hf.errors import MwSError
from mws_hf.scoring import evaluate, score_text, segment_words
from mws_hf.text.pattern import GPT4_PATTERN, compiled
from mws_hf.text.sample_texts import NATURAL
from mws_hf.tokenizer.opened import open_tokenizer
from mws_hf.tokenizer.training_record import labeled_words
from tests.examples import thorough
from tests.in_process import mws
from tests.small_tokenizers import sentence_piece, small_fast


def read(tmp_path, text, name="gold.tsv", format=None):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_gold(path, format)


CASES = {
    "words": ("книга\tкниг а\nun\tun\n", {"книга": [("книг", "а")], "un": [("un",)]}),
    "sigmorphon2022": (
        "screwdriver\tscrew @@drive @@r\t011\nplayed\tplay @@ed\t100\nvietnaminál\tVietnam @@i @@nál\t110\n",
        {
            "screwdriver": [("screw", "drive", "r")],
            "played": [("play", "ed")],
            "vietnaminál": [("vietnam", "i", "nál")],
        },
    ),
    "morphochallenge": (
        "adoptioilta\tadoptio:adoptio_N i:+PL lta:+ABL, adoptio:adoptio_N ilta:ilta_N\n"
        "alumni's\talumni:alumnus_N ~:+PL 's:+GEN\na-rajan\ta:a -:~ raja:raja_N n:+GEN\nhyy:n\thyy\\::~ n:+GEN\n",
        {
            "adoptioilta": [("adoptio", "i", "lta"), ("adoptio", "ilta")],
            "alumni's": [("alumni", "'s")],
            "a-rajan": [("a", "-", "raja", "n")],
            "hyy:n": [("hyy:", "n")],
        },
    ),
    "neural": (
        "упасти\tу:PREF/пас:ROOT/ти:SUFF\nадмирал\tадмирал:ROOT\n",
        {"упасти": [("у", "пас", "ти")], "адмирал": [("адмирал",)]},
    ),
    "morphynet": (
        "нэр\tнэрийн\tN|GEN;SG\tнэр|ийн\nholmi\tholmikat\tN|PL|ACC\tholmi | k | at\n",
        {"нэрийн": [("нэр", "ийн")], "holmikat": [("holmi", "k", "at")]},
    ),
    "morphscore": (
        ",full_word,pt1,rest\n0,lighted,light,ed\n1,yendirt,yendirt,\n",
        {"lighted": [("light", "ed")], "yendirt": [("yendirt",)]},
    ),
}


@pytest.mark.parametrize("format", CASES)
def test_format_is_recognized_and_read(tmp_path, format):
    text, expected = CASES[format]
    gold = read(tmp_path, text)
    assert gold.format == format
    assert {entry.word: list(entry.segmentations) for entry in gold.words} == expected
    assert gold.problems == ()
    assert read(tmp_path, text, format=format) == gold


def test_morphstype_of_2025_has_preceding_stem_following(tmp_path):
    header = "index,stem,preceding_part,following_part,lemma,wordform,upos\n"
    gold = read(tmp_path, header + '0,читал,про,и,x,прочитали,V\n1,"a,b",,c,x,"a,bc",N\n', "russian_data.csv")
    assert [entry.segmentations[0] for entry in gold.words] == [("про", "читал", "и"), ("a,b", "c")]
    assert gold.name == "russian_data"
    assert gold.partial


def test_derivational_morphynet_is_partial_and_knows_prefixes(tmp_path):
    gold = read(
        tmp_path, "slow\tslowly\tJ\tR\tly\tsuffix\nbe\tunbe\tV\tV\tun\tprefix\nilsken\tilskna\tJ\tV\tna\tsuffix\n"
    )
    assert [entry.segmentations[0] for entry in gold.words] == [("slow", "ly"), ("un", "be")]
    assert len(gold.problems) == 1 and ":3: " in gold.problems[0]
    assert gold.partial


def test_neural_without_tags_is_recognized():
    assert detect_format(["accompanied\tac/compani/ed", "cat\tcat"]) == "neural"


def test_lines_that_do_not_spell_the_word_are_reported_with_their_line(tmp_path):
    text = "# a comment\nfelezned\tfél @@ez @@ned\t100\n\nmakrókban\tmakró @@k @@ban\t100\nno tab here\nab\ta \t\n"
    gold = read(tmp_path, text)
    assert [entry.word for entry in gold.words] == ["makrókban"]
    assert gold.lines == 4
    assert [problem.split(":")[1] for problem in gold.problems] == ["2", "5", "6"]
    assert "'fél ez ned' do not spell 'felezned'" in gold.problems[0]


@pytest.mark.parametrize(
    ("good", "bad", "line", "refused"),
    [
        (100, 99, "wrong\tx y\n", False),
        (99, 101, "wrong\tx y\n", True),
        (2, 198, "no tab\n", True),
        (20, 178, "wrong\twr @@x\n", False),  # canonical morphs
        (20, 182, "wrong\twr @@x\n", True),
    ],
)
def test_a_file_of_which_most_lines_cannot_be_used_is_an_error(tmp_path, good, bad, line, refused):
    mark = "@@" if "@@" in line else ""
    text = "".join(f"cat{'s' * k}\tcat {mark}{'s' * k}\n" for k in range(1, good + 1)) + line * bad
    if refused:
        with pytest.raises(
            MwSError, match=rf"only {good} of {good + bad} lines are segmented words in the format .*gold.tsv:"
        ):
            read(tmp_path, text)
        assert mws("evaluate", "mws-ru-morphs-8k", "--gold", tmp_path / "gold.tsv")[0] == 2
    else:
        assert len(read(tmp_path, text).problems) == bad


def test_a_word_with_a_space_is_left_out_with_the_reason(tmp_path):
    (tmp_path / "a.tsv").write_text("cats\tcat s\ndogs\tdog s\nNew Yorks\tNew York s\n", encoding="utf-8")
    (problem,) = read_gold(tmp_path / "a.tsv").problems
    assert "'New Yorks' contains a space" in problem


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("cafe\u0301s\tcafé s", "different Unicode forms of a character; normalize both to NFC"),
        ("of\ufb01cer\toffic er", "different Unicode forms of a character; normalize both to NFKC"),
        ("cafés\tcafe \u0301s", "begins with a combining character, which belongs to the letter before it"),
        ("sinyaller\tsin yal ler".replace("i", "\u0131\u0307", 1), "do not spell"),
        ("straße\tstrass e", "do not spell"),
        ("walked\twalk-ed", "not separated by spaces"),
        ("taloissammekin\ttalo|i|ssa|mme|kin", "not separated by spaces"),
    ],
)
def test_a_line_that_does_not_spell_its_word_says_how_to_correct_it(tmp_path, line, problem):
    gold = read(tmp_path, f"cats\tcat s\n{line}\n")
    assert len(gold.words) == 1 and problem in gold.problems[0]


def test_quotation_marks_of_a_spreadsheet_belong_to_no_word(tmp_path):
    exported = read(tmp_path, '"walkers"\t"walk er s"\nunlocks\t"un lock s, unlock s"\nsay\tsay\n')
    assert exported.problems == () and exported.words == (
        GoldWord("walkers", (("walk", "er", "s"),)),
        GoldWord("unlocks", (("un", "lock", "s"), ("unlock", "s"))),
        GoldWord("say", (("say",),)),
    )
    tagged = read(tmp_path, '"упасти"\t"у:PREF/пас:ROOT/ти:SUFF"\n')
    assert tagged.format == "neural" and tagged.words[0].segmentations == (("у", "пас", "ти"),)


def test_only_letter_case_may_differ_and_that_of_the_word_is_kept(tmp_path):
    assert read(tmp_path, "Straße\tstraß e\n").words == (GoldWord("Straße", (("Straß", "e"),)),)


def test_a_word_on_several_lines_keeps_all_distinct_segmentations(tmp_path):
    gold = read(tmp_path, "ab\ta b\nc\tc\nab\tab\nab\ta b\n")
    assert gold.words == (GoldWord("ab", (("a", "b"), ("ab",))), GoldWord("c", (("c",),)))
    assert gold.lines == 4


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("ab\tx y\n", None, "no line is a segmented word"),
        ("# only a comment\n\n", None, "contains no segmented words"),
        ("", None, "contains no segmented words; write one per line"),
        ("ab\ta b\n", "conllu", "choose one of"),
        ("ab\ta b\n", "morphscore", "is not a header of MorphScore"),
    ],
)
def test_user_errors_name_a_remedy(tmp_path, text, format, message):
    with pytest.raises(MwSError, match=message):
        read(tmp_path, text, format=format)


def test_a_csv_line_beyond_all_bounds_is_left_out(tmp_path):
    file = tmp_path / "long.csv"
    lines = ["wordform,preceding_part,stem,following_part", "cats,,cat,s", "x" * 200_000 + ",a,b,c"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    gold = read_gold(file)
    assert [entry.word for entry in gold.words] == ["cats"] and len(gold.problems) == 1


def test_unreadable_files(tmp_path):
    with pytest.raises(MwSError, match="no such file"):
        read_gold(tmp_path / "absent.tsv")
    (tmp_path / "latin1.tsv").write_bytes("tyttö\ttyttö\n".encode("latin-1"))
    with pytest.raises(MwSError, match="iconv"):
        read_gold(tmp_path / "latin1.tsv")


@given(st.lists(st.lists(st.text("abcžщ", min_size=1, max_size=3), min_size=1, max_size=4), min_size=1, max_size=8))
def test_segmentations_written_in_the_words_format_are_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("gold") / "g.tsv"
    path.write_text("".join(f"{''.join(row)}\t{' '.join(row)}\n" for row in rows), encoding="utf-8")
    gold = read_gold(path)
    assert gold.problems == () and gold.format == "words"
    assert {(e.word, s) for e in gold.words for s in e.segmentations} == {("".join(row), tuple(row)) for row in rows}


def test_format_names_are_the_documented_ones():
    assert set(CASES) == set(FORMATS)


@pytest.fixture(scope="module")
def russian():
    return lexicon_words("ru")


def test_all_russian_forms(russian):
    assert len(russian) > 3_000_000
    assert pc.all(pc.less(russian[:-1], russian[1:])).as_py()
    dictionary = pymorphy3.MorphAnalyzer().dictionary
    for prefix in ("чит", "кое", "ё", "1", "абрикос"):
        expected = {record[0] for record in dictionary.iter_known_words(prefix)}
        assert set(russian.filter(pc.starts_with(russian, prefix)).to_pylist()) == expected


def test_ukrainian():
    if importlib.util.find_spec("pymorphy3_dicts_uk") is None:
        pytest.skip("pymorphy3-dicts-uk is not installed")
    words = lexicon_words("uk")
    assert pc.all(pc.is_in(pa.array(["п'ять", "ґрунт", "читати"]), words)).as_py() and len(words) > 3_000_000


@thorough
def test_counts_contain_each_pre_token_once(russian):
    counts = lexicon_counts("ru", pattern=GPT4_PATTERN)
    assert set(counts.counts.tolist()) == {1}
    running_text = " " + " ".join(russian.to_pylist())  # in these words, a space always starts a pre-token
    assert counts.words == sorted(set(compiled(GPT4_PATTERN).findall(running_text)))


def test_missing_dictionaries(monkeypatch):
    with pytest.raises(MwSError, match="choose one of ru, uk"):
        lexicon_words("tlh")
    monkeypatch.setitem(lexicon.LEXICONS, "uk", "pymorphy3_dicts_absent")
    with pytest.raises(MwSError, match="pip install pymorphy3-dicts-absent"):
        lexicon_words("uk")


GOLD = "unlocks\tun lock s\nlocks\tlock s\nundo\tun do\n"


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request, tmp_path_factory):
    """A small SentencePiece model."""
    file = tmp_path_factory.mktemp("spm") / f"{request.param}.model"
    file.write_bytes(sentence_piece(request.param))
    return file


@pytest.fixture
def segmenter(tmp_path):
    morfessor = pytest.importorskip("morfessor")
    trained = morfessor.BaselineModel()
    trained.load_data([(5, "unlocks"), (4, "locks"), (4, "unties"), (3, "ties"), (2, "undo"), (9, "do")])
    trained.train_batch()
    file = tmp_path / "morfessor.txt"
    morfessor.MorfessorIO(encoding="utf-8").write_segmentation_file(str(file), trained.get_segmentations())
    return file, trained


@given(st.text(max_size=20))
def test_spans_of_sentence_piece_cover_the_text_in_order(model, text):
    spans = open_tokenizer(model).encode([text])[0].spans
    assert spans is not None
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


def test_a_morfessor_model_saved_as_text_splits_as_its_program_does(segmenter):
    file, trained = segmenter
    words = ["unlocks", "unlock", "ties", "redo"]
    assert segment_words(file, words) == [tuple(trained.viterbi_segment(word, 0)[0]) for word in words]


def test_a_file_of_segmentations_is_scored_by_its_tokens(tmp_path):
    gold, ours = tmp_path / "gold.tsv", tmp_path / "ours.tsv.gz"
    gold.write_text(GOLD)
    ours.write_bytes(gzip.compress(b"unlocks\tunlock s\nlocks\tlock s\nundo\tundo\n"))
    scores = evaluate([ours], [gold], baselines=False).rows[0].scores
    assert (scores.precision, scores.recall) == (1.0, 0.5)


def test_words_that_a_file_of_segmentations_lacks_are_counted_and_named(tmp_path):
    gold, ours = tmp_path / "gold.tsv", tmp_path / "ours.tsv"
    gold.write_text(GOLD)
    ours.write_text("unlocks\tunlock s\n")
    with pytest.raises(MwSError, match=r"ours.tsv: 2 of 3 words are missing \(locks, undo\)"):
        evaluate([ours], [gold])
    ours.write_text("undo\tun do\nundo\tund o\n")
    with pytest.raises(MwSError, match=r"ours.tsv:2: 'undo' is segmented differently in an earlier line"):
        segment_words(ours, ["undo"])
    ours.write_text("undo\tun do\nlocks\tlock z\n")
    with pytest.raises(MwSError, match=r"ours.tsv:2"):
        segment_words(ours, ["undo"])


class _Trap:
    def __reduce__(self):
        return (exec, ("raise SystemExit('a pickle was run')",))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pickle_is_rejected_and_not_run(tmp_path, pack):
    (tmp_path / "model.bin").write_bytes(pack(pickle.dumps(_Trap())))
    with pytest.raises(MwSError, match="save the Morfessor model as text"):
        open_tokenizer(tmp_path / "model.bin")


def test_damaged_files_are_rejected_with_their_name(tmp_path, model):
    half = model.read_bytes()
    for name, content in {"a.model": half[: len(half) // 2], "b.model": b"\xff\xfe\0", "c.tsv": b"\xff\xfe"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MwSError, match=name):
            open_tokenizer(tmp_path / name)


def test_a_tokenizer_json_by_itself_is_the_tokenizer(tmp_path):
    small_fast().save_pretrained(tmp_path / "whole")
    for name in ("alone.json", "alone"):
        shutil.copy(tmp_path / "whole" / "tokenizer.json", tmp_path / name)
        assert segment_words(tmp_path / name, ["читали"]) == segment_words(tmp_path / "whole", ["читали"])


def test_evaluate_and_segment_take_them_all_beside_each_other(tmp_path, model, segmenter):
    gold, text, ours = tmp_path / "gold.tsv", tmp_path / "text.txt", tmp_path / "ours.tsv"
    gold.write_text(GOLD)
    ours.write_text(GOLD)
    text.write_text("\n".join(NATURAL), encoding="utf-8")
    code, out, err = mws(
        "evaluate", str(model), str(segmenter[0]), f"mine={ours}", "--gold", str(gold), "--text", str(text), "--json"
    )
    assert code == 0 and "because they split only words: morfessor.txt, mine" in err
    found = json.loads(out)
    assert list(found["text"]) == [model.name]
    assert found["text"][model.name]["tokens"] == score_text(model, NATURAL).tokens
    assert {row["tokenizer"] for row in found["rows"]} >= {model.name, "morfessor.txt", "mine"}
    assert mws("segment", str(ours), "unlocks", "undo")[1] == "un·lock·s\nun·do\n"
    code, _, err = mws("evaluate", str(ours), "--text", str(text))
    assert code == 2 and "--gold FILE" in err


def test_a_report_needs_neither_text_nor_gold_and_shows_them_all(tmp_path, model):
    small_fast().save_pretrained(tmp_path / "ours")
    page = tmp_path / "report.html"
    assert mws("report", str(tmp_path / "ours"), str(model), "-o", str(page))[0] == 0
    shown = page.read_text(encoding="utf-8")
    assert (
        "samples of the package" in shown
        and model.name in shown
        and f">{score_text(model, NATURAL).fertility:.3f}<" in shown
    )
    gold = tmp_path / "gold.tsv"
    gold.write_text(GOLD)
    assert mws("report", str(tmp_path / "ours"), f"cut={gold}", "--gold", str(gold), "-o", str(page), "--force")[0] == 0
    assert "<td>1.000<small>" in page.read_text(encoding="utf-8")


def test_gold_may_differ_from_its_morphs_in_turkish_and_greek_letter_case(tmp_path):
    (tmp_path / "gold.tsv").write_text("İstanbul\tistanbul\nIŞIKLAR\tışık lar\nΛΌΓΟΣ\tλόγο ς\n", encoding="utf-8")
    words = read_gold(tmp_path / "gold.tsv").words
    assert [entry.segmentations for entry in words] == [(("İstanbul",),), (("IŞIK", "LAR"),), (("ΛΌΓΟ", "Σ"),)]


def test_a_label_is_left_out_of_gold_in_the_other_unicode_form(tmp_path):
    forms = [unicodedata.normalize(form, "Gözler") for form in ("NFC", "NFD")]
    for label, word in (forms, forms[::-1]):
        (tmp_path / "gold.tsv").write_text(f"{word.upper()}\t{word}\nevler\tev ler\n", encoding="utf-8")
        kept = read_gold(tmp_path / "gold.tsv").without(labeled_words({"labels": {label: [[label]]}}))
        assert [entry.word for entry in kept.words] == ["evler"]
