"""Gold readers: each public format by lines copied in form from the real files; bad lines counted with their place."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf.corpus.segmentations import FORMATS, GoldWord, detect_format, read_gold
from mws_hf.errors import MwSError


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
def test_format_is_recognised_and_read(tmp_path, format):
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


def test_neural_without_tags_is_recognised():
    assert detect_format(["accompanied\tac/compani/ed", "cat\tcat"]) == "neural"


def test_lines_that_do_not_spell_the_word_are_reported_with_their_line(tmp_path):
    text = "# a comment\nfelezned\tfél @@ez @@ned\t100\n\nmakrókban\tmakró @@k @@ban\t100\nno tab here\nab\ta \t\n"
    gold = read(tmp_path, text)
    assert [entry.word for entry in gold.words] == ["makrókban"]
    assert gold.lines == 4
    assert [problem.split(":")[1] for problem in gold.problems] == ["2", "5", "6"]
    assert "'fél ez ned' do not spell 'felezned'" in gold.problems[0]


def test_letter_case_alone_may_differ_and_the_word_wins(tmp_path):
    assert read(tmp_path, "Straße\tstraß e\n").words == (GoldWord("Straße", (("Straß", "e"),)),)


def test_a_word_on_several_lines_keeps_all_distinct_segmentations(tmp_path):
    gold = read(tmp_path, "ab\ta b\nc\tc\nab\tab\nab\ta b\n")
    assert gold.words == (GoldWord("ab", (("a", "b"), ("ab",))), GoldWord("c", (("c",),)))
    assert gold.lines == 4


def test_gzip_bom_and_windows_line_ends(tmp_path):
    path = tmp_path / "toy.tsv.gz"
    path.write_bytes(gzip.compress("\ufeffab\ta b\r\ncd\tc d\r\n".encode()))
    gold = read_gold(path)
    assert gold.name == "toy"
    assert [entry.word for entry in gold.words] == ["ab", "cd"]


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("ab\tx y\n", None, "no usable line"),
        ("", None, "the file is empty"),
        ("ab\ta b\n", "conllu", "choose one of"),
        ("ab\ta b\n", "morphscore", "no MorphScore header"),
    ],
)
def test_user_errors_say_what_to_do(tmp_path, text, format, message):
    with pytest.raises(MwSError, match=message):
        read(tmp_path, text, format=format)


def test_a_csv_line_beyond_all_bounds_is_left_out(tmp_path):
    file = tmp_path / "long.csv"
    lines = ["wordform,preceding_part,stem,following_part", "cats,,cat,s", "x" * 200_000 + ",a,b,c"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    gold = read_gold(file)
    assert [entry.word for entry in gold.words] == ["cats"] and len(gold.problems) == 1


def test_unreadable_files(tmp_path):
    with pytest.raises(MwSError, match="cannot be read"):
        read_gold(tmp_path / "absent.tsv")
    (tmp_path / "latin1.tsv").write_bytes("tyttö\ttyttö\n".encode("latin-1"))
    with pytest.raises(MwSError, match="iconv"):
        read_gold(tmp_path / "latin1.tsv")


@given(st.lists(st.lists(st.text("abcžщ", min_size=1, max_size=3), min_size=1, max_size=4), min_size=1, max_size=8))
def test_what_is_written_in_our_format_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("gold") / "g.tsv"
    path.write_text("".join(f"{''.join(row)}\t{' '.join(row)}\n" for row in rows), encoding="utf-8")
    gold = read_gold(path)
    assert gold.problems == () and gold.format == "words"
    assert {(e.word, s) for e in gold.words for s in e.segmentations} == {("".join(row), tuple(row)) for row in rows}


def test_format_names_are_the_documented_ones():
    assert set(CASES) == set(FORMATS)
