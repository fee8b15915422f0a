"""What is compared: names, sizes, jobs."""

import pytest

from mws_hf.compare import DEFAULT_SYSTEMS, parse_systems
from mws_hf.compare.rivals import RIVALS
from mws_hf.compare.run import MWS_SYSTEMS, default_systems, plan
from mws_hf.errors import MwSError


def test_systems():
    with pytest.raises(MwSError, match="choose from mws"):
        parse_systems(["bpee"])
    with pytest.raises(MwSError, match="types"):
        parse_systems(["bpe:words"])


def test_defaults_cover_every_criterion_of_both_sides():
    names = {spec.name for spec in parse_systems(DEFAULT_SYSTEMS)}
    assert set(MWS_SYSTEMS) <= names
    variants = {"bpe-low-line", "morfessor-frequent", "morph-bpe", "sentencepiece-unigram-identity"}
    assert set(RIVALS) - names == variants


def test_missing_libraries_leave_the_defaults_with_a_warning(monkeypatch, caplog):
    real = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "morfessor" else real(name))
    assert "morfessor" not in {spec.name for spec in default_systems(100)}
    assert "morfessor" in caplog.text and "pip install" in caplog.text
    assert {spec.installed for spec in parse_systems(["morfessor,morfessor-frequent,morph-bpe"])} == {False}


def test_morfessor_is_named_where_the_words_are_many(caplog):
    assert "morfessor" not in {spec.name for spec in default_systems(30_001)}
    assert "morfessor is left out" in caplog.text and "30,000" in caplog.text


def test_plan_trains_unsized_systems_once():
    titles = [spec.title for spec in plan(parse_systems(["mws,morfessor"]), [500, 600])]
    assert titles == ["mws-500", "mws-600", "morfessor.types"]
