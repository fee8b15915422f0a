"""The list of the files of a directory: every file that is written has its place in it."""

from __future__ import annotations

from pathlib import Path

from mws_hf.tokenizer.layout import CARD_FILE, LAYOUT, STALE, Of, files, is_of, patterns


def test_a_foreign_vocabulary_is_known_by_its_name_and_a_users_file_is_not(tmp_path: Path) -> None:
    foreign = ("tekken.json", "o200k_base.tiktoken", "source.spm", "tokenizer.model.v3", "sentencepiece.bpe.model")
    for name in (*foreign, "words.json", "corpus.txt", "xgboost.model"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert {path.name for path in files(tmp_path, Of.FOREIGN)} == set(foreign)
    assert is_of("additional_chat_templates/tool_use.jinja", Of.SETTINGS) and not is_of("tool_use.jinja")


def test_each_name_stands_once_and_a_card_or_a_users_name_is_never_stale() -> None:
    assert len(set(patterns())) == len(LAYOUT)
    assert not {CARD_FILE, "vocabulary.json", "vocab.txt"} & set(STALE)
    assert not set(patterns(Of.MODEL)) & set(STALE)
