"""Values of the command line that name a group of words: GROUP=FILE, GROUP=NUMBER. Files are not opened here."""

from __future__ import annotations

import os
from pathlib import Path

from mws_hf.errors import MwSError


def group_of(name: str) -> tuple[str, str]:
    """Group and file of an argument GROUP=FILE; no group, "", where there is no = before the first slash.

    Raises:
        MwSError: what stands before the = can be no name of a group, or nothing stands after it.

    >>> group_of("ru=ru/*.gz"), group_of("./a=b.txt"), group_of("a.txt")
    (('ru', 'ru/*.gz'), ('', './a=b.txt'), ('', 'a.txt'))
    """
    from mws_hf.corpus.groups import check_group_name

    group, equals, file = str(name).partition("=")
    if not equals or os.sep in group or "/" in group:
        return "", name
    advice = f"; for a file of this name give ./{name}"
    if not file:
        raise MwSError(f"{name}: no file stands after the ={advice}")
    try:
        return check_group_name(group), file
    except MwSError as error:
        raise MwSError(f"{name}: {error}{advice}") from error


def parse_weights(texts: list[str] | None) -> dict[str, float]:
    """Read the values of --weight: group=number each.

    Raises:
        MwSError: no such thing, a group twice.

    >>> parse_weights(["ru=2", "en=.5"])
    {'ru': 2.0, 'en': 0.5}
    """
    weights: dict[str, float] = {}
    for text in texts or []:
        group, _, number = text.partition("=")
        try:
            weight = float(number)
        except ValueError:
            raise MwSError(f"--weight {text!r}: give a group and a number, such as ru=2") from None
        if group in weights:
            raise MwSError(f"--weight {text!r}: group {group!r} has a weight already")
        weights[group] = weight
    return weights


def parse_labels(texts: list[str] | None) -> Path | dict[str, Path] | None:
    """Read the values of --labels: one file, or GROUP=FILE each.

    Raises:
        MwSError: several files without a group, a group twice.

    >>> parse_labels(["fin=a.tsv", "eng=b.tsv"]) == {"fin": Path("a.tsv"), "eng": Path("b.tsv")}
    True
    >>> parse_labels(["a.tsv", "eng=b.tsv"])
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: --labels a.tsv: stands beside others; give one file, or a group for each (GROUP=FILE)
    """
    found: dict[str, Path] = {}
    for text in texts or []:
        group, file = group_of(text)
        if not group and len(texts or []) > 1:
            raise MwSError(f"--labels {text}: stands beside others; give one file, or a group for each (GROUP=FILE)")
        if group in found:
            raise MwSError(f"--labels {text}: group {group!r} has labels already")
        found[group] = Path(file)
    return found.get("", found or None)
