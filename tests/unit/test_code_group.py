"""A group of code: an uppercase letter always ends a part, languages are split as before, indentation and numbers."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, pre_tokenizers

from mws_hf import MwSError, MwSTrainer, WordCounts
from mws_hf.corpus.counting import count_documents
from mws_hf.learn.group_evidence import find_evidence
from mws_hf.learn.phases import penalized_boundaries
from mws_hf.learn.words import CodePoints
from mws_hf.text.pattern import DIGIT_PARTS, NAMED_PATTERNS, split, with_digits
from tests.in_process import mws
from tests.scanner import scan
from tests.unit.test_groups import ENGLISH

VERBS = ("get", "set", "find", "load", "parse", "read", "write", "make")
NOUNS = ("User", "Name", "File", "Table", "Index", "HTTPServer", "URL", "Token", "Page")
NAMES = [verb + a + b for verb in VERBS for a in NOUNS for b in ("", *NOUNS)]
CODE = "\n".join(
    f"{' ' * depth}{name}(x2, {name.lower()}, MAX_{name.upper()}_3)\n"
    f"{chr(9) * (depth // 4)}return _{name}\n{' ' * depth}}}"
    for name, depth in zip(NAMES, (0, 2, 4, 8, 12, 16) * len(NAMES), strict=False)
)


def quiet(**options: object) -> MwSTrainer:
    return MwSTrainer(show_progress=False, **{"vocab_size": 1500, **options})  # type: ignore[arg-type]


def parts(name: str) -> list[str]:
    """Return the parts of an identifier, found by comparing each letter with its neighbors."""
    cuts = [0]
    for i in range(1, len(name)):
        small_before, small_behind = name[i - 1].islower(), i + 1 < len(name) and name[i + 1].islower()
        if name[i].isupper() and (small_before or (name[i - 1].isupper() and small_behind)):
            cuts.append(i)
    return [name[a:b] for a, b in pairwise([*cuts, len(name)])]


def ends(pieces: list[str]) -> set[int]:
    return set(np.cumsum([len(piece) for piece in pieces]).tolist())


def counted(pattern: str) -> dict[str, WordCounts]:
    eng = ENGLISH + "\nMcWalker McTalker reWalked"
    return {name: count_documents([text], pattern=pattern) for name, text in (("code", CODE), ("eng", eng))}


@pytest.fixture(scope="module")
def groups():
    """Return counts of whole identifiers; the default pattern would split most of them."""
    return counted("words")


@pytest.fixture(scope="module", params=["words", "o200k"])
def morphs(request):
    return quiet(composition=0, pattern=request.param).train_from_counts(counted(request.param))


class TestIdentifiers:
    def test_parts_of_identifiers(self):
        assert parts("getHTTPServerURL") == ["get", "HTTP", "Server", "URL"]

    def test_no_morph_crosses_the_edge_of_a_part(self, morphs):
        for name in NAMES:
            assert ends(parts(name)) <= ends(morphs.tokenize(name)), name
            assert {end + 1 for end in ends(parts(name))} <= ends(morphs.tokenize(" " + name)), name

    def test_the_same_words_under_another_name_are_a_language(self, groups):
        """The ends of parts above come from the name of the group; under another name, nothing is added."""
        named, other = (find_evidence({name: groups["code"], "eng": groups["eng"]}) for name in ("code", "cobol"))
        assert other.in_code is None
        name = " getUserName"
        expected = np.array(other.word(name))
        expected[[3, 7]] = 1
        np.testing.assert_array_equal(named.word(name), expected)
        assert max(np.array(other.word(name))[[3, 7]]) < 1
        np.testing.assert_array_equal(named.probabilities, other.probabilities)
        assert named.word(" getusername") == other.word(" getusername")
        assert named.word(" GETUSERNAME") == other.word(" GETUSERNAME")

    def test_a_language_beside_code_keeps_its_segmentation(self, groups):
        mixed, alone = find_evidence(groups), find_evidence(groups["eng"])
        for word in (" McWalker", " reWalked", " walking", "unSigned"):
            assert mixed.word(word) == alone.word(word), word

    def test_a_word_of_both_groups_is_split_by_its_share_in_code(self):
        code = count_documents(["fileName other other other " + CODE], pattern="words")
        eng = count_documents(["fileName " + ENGLISH], pattern="words")
        found = find_evidence({"code": code, "eng": eng})
        times = {name: counts.total for name, counts in (("code", code), ("eng", eng))}
        share = float(found.in_code[found.types.index("filename")])
        assert 0 < share < 1, times
        value = found.word("fileName")[3]
        below = found.word("filename")[3]
        assert value == pytest.approx(below + share * (1 - below))

    def test_many_are_one_by_one(self, groups):
        found = find_evidence(groups)
        many = [" getUserName", "_loadURL", "McWalker", "12", "(x", " walking"]
        expected = [
            p for each in many for p in (found.word(each) or [1.0, 0.0] if each == "(x" else found.word(each) or [0, 0])
        ]
        assert found.boundaries(many).tolist() == expected

    def test_capitals_count_in_identifiers_too_long_for_evidence(self, groups):
        found = find_evidence(groups)
        name = "getAVeryLongAndQuiteUnheardOfIdentifier"
        assert found.word(name) is None
        assert {i + 1 for i, p in enumerate(found.boundaries([name])) if p == 1} == ends(parts(name)) - {len(name)}

    def test_compositions_are_penalized_for_certain_edges_in_code_and_for_all_in_a_language(self, groups):
        found = find_evidence(groups)
        penalties = dict(zip(found.types, found.penalties, strict=True))

        def price(word: str) -> list[float]:
            return penalized_boundaries(found, CodePoints.of([word])).tolist()

        p = penalties["getusername"]
        assert price(" getUserName") == pytest.approx([0, 0, 0, p, 0, 0, 0, p, 0, 0, 0, 0])
        assert price("_getUserName") == pytest.approx([p, 0, 0, p, 0, 0, 0, p, 0, 0, 0, 0])
        assert price(".getUserName") == pytest.approx([0, 0, 0, p, 0, 0, 0, p, 0, 0, 0, 0])
        for word in (" walking", ".walking", "_reWalked", " McWalker"):
            kept = [penalties[word.lower().strip(" ._")] * p for p in found.word(word)]
            assert price(word) == pytest.approx(kept), word

    def test_only_code(self, groups):
        tokenizer = quiet(composition=0, pattern="words").train_from_counts({"code": groups["code"]})
        assert all(ends(parts(name)) <= ends(tokenizer.tokenize(name)) for name in NAMES)

    @pytest.mark.parametrize("pattern", NAMED_PATTERNS)
    def test_underscores_and_digits_end_a_word_in_every_pattern(self, pattern):
        for name in ("get_user_name", "_private__x", "x2y", "utf8Name", "MAX_VALUE_3", "__init__", "a1b22_c333"):
            pieces = split(name, pattern)
            assert not any(a.isalnum() and b == "_" for piece in pieces for a, b in pairwise(piece)), pieces
            assert not any(a.isalpha() != b.isalpha() and "_" not in a + b for p in pieces for a, b in pairwise(p))


class TestIndentation:
    @pytest.mark.parametrize("pattern", NAMED_PATTERNS)
    def test_every_depth_is_one_token_beside_the_space_of_the_word(self, groups, pattern):
        tokenizer = quiet(pattern=pattern, vocab_size=2500).train({"code": [CODE], "eng": [ENGLISH]})
        for depth in (2, 4, 8, 12, 16):
            tokens = tokenizer.backend_tokenizer.encode("\n" + " " * depth + "return").tokens
            text = tokenizer.convert_tokens_to_string
            assert [text([token]) for token in tokens][:2] == ["\n", " " * (depth - 1)], (pattern, depth, tokens)


def grouped(digits: str, way: str) -> list[str]:
    """Split digits by arithmetic, as the pattern does."""
    if way == "single":
        return list(digits)
    first = len(digits) % 3 if way == "right" and len(digits) <= 101 else 0
    return [p for p in [digits[:first], *(digits[i : i + 3] for i in range(first, len(digits), 3))] if p]


@pytest.mark.parametrize("way", DIGIT_PARTS)
class TestDigits:
    @pytest.mark.parametrize("name", NAMED_PATTERNS)
    def test_numbers_of_any_length(self, name, way):
        pattern = with_digits(name, way)
        rust = pre_tokenizers.Split(Regex(pattern), "isolated")
        choose = random.Random(4)
        for length in (*range(1, 15), *range(96, 106), 200, 301):
            number = "".join(choose.choices("0123456789٣", k=length))
            found = split(f"a.{number}.", pattern)[2:-1]
            if length <= 101 or way != "right":
                assert found == grouped(number, way)
            assert "".join(found) == number and max(map(len, found)) <= 3
            for text in (f"a.{number}.", f"x{number}y", f" {number}\n", number):
                assert split(text, pattern) == scan(text, pattern) == [p for p, _ in rust.pre_tokenize_str(text)]

    def test_the_trainer_splits_numbers_as_asked(self, way):
        tokenizer = quiet(digits=way).train(["in 1234567 and 1234567 or 12 of 1234 words", "1234567"])
        tokens = [tokenizer.convert_tokens_to_string([t]) for t in tokenizer.tokenize("x=1234567")]
        assert "".join(tokens) == "x=1234567"
        edges = ends(tokens[2:])
        assert ends(grouped("1234567", way)) <= edges
        assert quiet(digits=way).pattern == quiet(pattern="o200k", digits=way).pattern == with_digits("o200k", way)


class TestChoice:
    def test_counts_made_with_a_choice_are_trained_with_it(self, tmp_path):
        (tmp_path / "a.txt").write_text("value 1234567 values 7654321\n" * 3, encoding="utf-8")
        counted = mws("count", tmp_path / "a.txt", "--digits", "single", "-o", tmp_path / "c.parquet", "--quiet")
        assert counted.returncode == 0, counted.stderr
        for source, extra in (
            ("a.txt", ["--digits", "single"]),
            ("c.parquet", []),
            ("c.parquet", ["--digits", "single"]),
        ):
            made = ["-o", tmp_path / "out", "--quiet", "--force"]
            done = mws("train", tmp_path / source, "--vocab-size", "400", *extra, *made)
            assert done.returncode == 0, done.stderr
            backend = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
            assert backend.encode("1234567").tokens == list("1234567")
        other = mws("train", tmp_path / "c.parquet", "--digits", "right", "-o", tmp_path / "other", "--quiet")
        assert other.returncode == 2 and "pattern" in other.stderr and "Traceback" not in other.stderr

    @pytest.mark.parametrize("arguments", [{"digits": "left"}, {"digits": "right", "pattern": r"\w+|\W"}])
    def test_bad_choices_are_named(self, arguments):
        with pytest.raises(MwSError, match="digits='(left|right)'"):
            MwSTrainer(**arguments)
        flags = [part for name, value in arguments.items() for part in (f"--{name}", value)]
        done = mws("train", __file__, *flags, "-o", "out")
        assert done.returncode == 2 and "digits" in done.stderr

    @pytest.mark.parametrize("way", DIGIT_PARTS)
    def test_check_reports_the_export_and_tiktoken_reads_it(self, way, tmp_path):
        """The export compares ids with tiktoken before it writes; llama.cpp cannot split numbers from the right."""
        tokenizer = quiet(pattern="llama3", digits=way, alphabet="bytes").train(["in 1234567 and 12 of 1234 words"])
        tokenizer.save_pretrained(tmp_path / "made")
        told = json.loads(mws("check", tmp_path / "made", "--json").stdout)
        assert told["pattern"] == ("llama3" if way == "threes" else f"llama3, digits {way}")
        verdicts = {fact["client"].split()[0]: fact["verdict"] for fact in told["clients"]}
        assert verdicts["tiktoken"] == "export"
        assert verdicts["llama.cpp"] == ("refuses" if way == "right" else "export")
        pytest.importorskip("tiktoken")
        done = mws("export", tmp_path / "made", "--format", "tiktoken", "-o", tmp_path / "tiktoken")
        assert done.returncode == 0, done.stderr
        if way == "right":
            refused = mws("export", tmp_path / "made", "--format", "gguf", "-o", tmp_path / "made.gguf")
            assert refused.returncode == 2 and "Traceback" not in refused.stderr
