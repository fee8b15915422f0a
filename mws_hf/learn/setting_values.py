"""Check the values of settings that can be given in several forms, and bring them into one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mws_hf.errors import SettingError
from mws_hf.learn.setting_rules import python_value
from mws_hf.text.capitals import steps_of
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, with_digits
from mws_hf.text.symbols import (
    DEFAULT_ALPHABET,
    characters_of,
    check_alphabet_kind,
    check_order,
    check_required,
    check_special_tokens,
)
from mws_hf.text.valid_text import each_text

if TYPE_CHECKING:
    from mws_hf.learn.settings import Settings


def in_one_form(settings: Settings) -> dict[str, Any]:
    """Convert the values of settings into the form that the learner reads; no file is read.

    Lists of required words and of `keep_apart` become tuples, the name of a pattern the pattern, and labels become
    `GoldWord`s. An alphabet or a pattern that was not given is the default of the criterion.

    Returns:
        The new value of each setting that may change, by name.

    Raises:
        MwSError: a value has a wrong form, or an unknown name.
    """
    from mws_hf.corpus.groups import check_weights
    from mws_hf.corpus.splitter import check_normalization  # it needs numpy

    alphabet, pattern = ("characters", GPT4_PATTERN) if settings.is_classic else (DEFAULT_ALPHABET, DEFAULT_PATTERN)
    if settings.capitals not in (None, "marker"):
        raise SettingError("capitals", settings.capitals, "is unknown; choose 'marker' or None")
    form, marks = steps_of(check_normalization(settings.normalization))  # saved counts name both steps
    labels = settings.labels
    if not _is_empty(labels):
        from mws_hf.corpus.labeled_words import normalized_labels, read_all_labels

        labels = normalized_labels(read_all_labels(labels, files=False), form)
    required = _strings("required", settings.required)
    for text in required:
        check_required(text)
    return {
        "required": required,
        "keep_apart": _strings("keep_apart", settings.keep_apart),
        "alphabet": alphabet if settings.alphabet is None else check_alphabet_kind(settings.alphabet),
        "weights": check_weights(settings.weights),
        "special_tokens": check_special_tokens(settings.special_tokens),
        "initial_alphabet": characters_of(settings.initial_alphabet),
        "labels": labels,
        "pattern": with_digits(pattern if settings.pattern is None else settings.pattern, settings.digits),
        "normalization": form,
        "capitals": "marker" if marks else settings.capitals,
    }


def read_label_files(labels: Any) -> Any:
    """Read labels from files or from values in memory, and return them as `GoldWord`s; return () if there are none."""
    labels = python_value(labels)
    if labels is None or _is_empty(labels):
        return ()
    from mws_hf.corpus.labeled_words import read_all_labels

    return read_all_labels(labels)


def _is_empty(labels: Any) -> bool:
    """Return whether no labels were given; an empty file name or an empty dict counts as given."""
    return isinstance(labels, tuple) and not labels


def _strings(name: str, given: Any) -> tuple[str, ...]:
    """Return the value of a setting that is a list of strings as a tuple; raise MwSError for any other value."""
    check_order(name, given)
    return tuple(each_text(given, name))
