"""scripts/small_texts.py: texts of so many bytes, gold that no label is scored on, one table."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import small_texts

from mws_hf import WordCounts
from mws_hf.corpus.segmentations import GoldWord
from mws_hf.text.pattern import DEFAULT_PATTERN


def test_a_text_is_whole_lines_of_its_sources_in_order(tmp_path: Path):
    (tmp_path / "text").mkdir()
    for name, lines in {"rus.eltec": ["дом\n", "дома\n"], "rus.rublimp": ["кот\n", "a" * 90 + "\n"]}.items():
        (tmp_path / "text" / f"{name}.txt.gz").write_bytes(gzip.compress("".join(lines).encode()))
    assert small_texts.text_of(tmp_path, "rus", 12e-6) == ["дом\n"]  # 7 bytes, then 9
    assert small_texts.text_of(tmp_path, "rus", 50e-6) == ["дом\n", "дома\n", "кот\n"]


def test_systems_are_scored_on_the_same_words_and_never_on_labels():
    stems = [a + b + c for a in "kptmsr" for b in ("al", "is", "or", "un", "e") for c in "ktlmns"]
    gold = tuple(GoldWord(stem + end, ((stem, end),)) for stem in stems for end in ("lla", "ista"))
    counts = WordCounts.from_mapping({" " + word.word: 2 for word in gold}, pattern=DEFAULT_PATTERN)
    rows = []
    for system in ("mws", "mws, 20 labels", "bpe-byte"):
        found = small_texts.measure(system, counts, gold, 1)
        assert [(row["system"], row["sample"], row["words"]) for row in found] == [(system, 0, len(gold) - 300)]
        rows += [{"language": "fin", "megabytes": 0.1, "bytes": 99_000, "words_in_text": 360, **row} for row in found]
    assert rows[1]["f1"] > rows[2]["f1"]
    lines = small_texts.table(json.loads(json.dumps(rows))).splitlines()
    assert lines[2].startswith("| fin | 0.1 | 360 | ")
    assert lines[2].endswith("|  |  |")  # systems not measured yet
