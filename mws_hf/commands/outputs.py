"""Check that outputs overwrite neither inputs nor finished outputs, write them, and print results."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.atomic import Inputs, check_not_overwriting, check_output, json_text, output_lock, staged
from mws_hf.errors import MwSError, printable
from mws_hf.text.markdown import plain
from mws_hf.tokenizer.layout import CARD_FILE, TOKENIZER_FILE, FileKind, matching, patterns

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def claim_folder(
    output: Path, *inputs: Inputs, force: bool, results: Collection[str] = (), resumed: Collection[str] = ()
) -> None:
    """Raise MwSError, before any work, if an output folder is an input, cannot be written, or has a finished output.

    An output is finished if the folder contains files of a tokenizer or a model (`tokenizer.layout`), or `results`. All
    other files in the folder are ignored, and they stay.

    Args:
        output: the folder; it need not exist.
        *inputs: the inputs of the command, as for `check_not_overwriting`.
        force: whether a finished output may be replaced.
        results: globs of files that only this command writes when it has finished.
        resumed: globs of files of an unfinished output that a repeated run continues; they only must not be inputs.
    """
    globs = (*patterns(*(kind for kind in FileKind if kind is not FileKind.CARD)), *results)
    written = (path for name in (*globs, *resumed, CARD_FILE) for path in output.glob(name))
    check_not_overwriting([output], *inputs)
    check_output(output, folder=True)
    check_not_overwriting(written, *inputs)
    if (finished := matching(output, globs)) and not force:
        more = f" and {len(finished) - 3} more" if len(finished) > 3 else ""
        names = ", ".join(map(str, finished[:3]))
        raise MwSError(f"{output}: contains {names}{more}; give --force to replace them, or choose another folder")


def claim_file(output: Path, *inputs: Inputs, force: bool) -> None:
    """Raise MwSError, before any work, if an output file is an input, cannot be written, or exists without `force`."""
    check_not_overwriting([output], *inputs)
    check_output(output, folder=False)
    if output.exists() and not force:
        raise MwSError(f"{output}: already exists; give --force to replace it, or choose another file")


@contextmanager
def replaced(output: Path, head: str = TOKENIZER_FILE) -> Iterator[Path]:
    """Yield an empty folder, whose files then replace those of a finished output, all of them or none.

    All older files of a tokenizer are removed, except a card that somebody edited.

    Args:
        output: the folder of the output.
        head: the file that is written last, because the output is complete only with it.
    """
    from mws_hf.cards.card import is_free, warn_of_edited_card

    free = is_free(output)
    kinds = (kind for kind in FileKind if kind not in (FileKind.CARD, FileKind.MODEL, FileKind.WEIGHTS))
    with output_lock(output), staged(output, (*patterns(*kinds), *([CARD_FILE] * free)), head) as stage:
        yield stage
        if not free and (stage / CARD_FILE).exists():
            (stage / CARD_FILE).unlink()
            warn_of_edited_card(output)


def show_faults(output: Path, left_behind: Sequence[str] = ()) -> None:
    """Print on standard error the errors that `mws check` finds in an output, and which files were not copied.

    Args:
        output: the folder of the output.
        left_behind: names of files that were not copied, because they contain only the old vocabulary.
    """
    from mws_hf.check import check

    for finding in check(output).findings:
        if finding.level == "error":
            print(printable(f"left to do: {finding.message}"), file=sys.stderr)
    if left_behind:
        note(f"these were not copied, because they contain only the old vocabulary: {', '.join(left_behind)}")


def save_card(
    stage: Path, name: str, backend: Tokenizer, data: str, settings: Mapping[str, Any] | None = None, **figures: Any
) -> None:
    """Write the model card of a tokenizer, and the facts in it (`CardFacts`) into the training metadata.

    Args:
        stage: the folder that `replaced` yields.
        name: name of the tokenizer.
        backend: the tokenizer.
        data: the names of its training data, in Markdown.
        settings: settings and figures of the training metadata; None if the command does not train.
        **figures: other fields of `CardFacts`, such as `extended`.
    """
    from mws_hf.cards.card import CardFacts, keep_card, trained_card

    facts = CardFacts(data=data, command=shlex.join(["mws", *sys.argv[1:]]), **figures)
    keep_card(stage, backend, trained_card(name, backend, facts, settings or {}))


def file_names(texts: Sequence[str | Path]) -> list[str]:
    r"""Return the names of files as Markdown for model cards, without their folders.

    Globs and equal names have the last folder before them.

    >>> file_names(["my/a.txt", "ru/*.gz", "one/x", "two/x"])
    ['a.txt', 'ru/\\*.gz', 'one/x', 'two/x']
    """
    paths = [Path(name) for name in texts]
    repeated = {name for name, times in Counter(path.name for path in paths).items() if times > 1}
    return [
        plain("/".join(path.parts[-2:]) if has_magic(path.name) or path.name in repeated else path.name)
        for path in paths
    ]


def name_of_base(base: str) -> str:
    """Return the name of a base for model cards: the name of its folder, or its name on the Hub."""
    return Path(base).resolve().name if os.path.exists(base) else base


def show(result: object, text: str, given: Namespace) -> None:
    """Print the result of a command as text, or as JSON with --json, after making it `printable`."""
    print(printable(json_text(result) if given.as_json else text, keep="\n\t"))


def show_written(result: object, text: str, given: Namespace) -> None:
    """Print the summary of the written files; with --quiet only if --json is also given."""
    if given.as_json or not given.quiet:
        show(result, text, given)


def note(text: str) -> None:
    """Print a remark on standard error as one `printable` line, unless --quiet is given."""
    if logging.getLogger("mws_hf").isEnabledFor(logging.WARNING):
        print(printable(text), file=sys.stderr)


def aligned(rows: Sequence[Sequence[object]]) -> str:
    """Return rows, the header first, as an aligned table; numbers are aligned right, with four significant digits.

    >>> print(aligned([["left", "pmi", "share"], ["чи", 2.12345, "5 %"], ["п", 13, "12 %"]]))
    left    pmi  share
    чи    2.123    5 %
    п        13   12 %
    """
    cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    numeric = [all(_is_figure(row[i]) for row in rows[1:]) for i in range(len(widths))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    )


def _is_figure(value: object) -> bool:
    if isinstance(value, str):
        return value == "" or value.lstrip("+-")[:1].isdigit()
    return isinstance(value, int | float)
