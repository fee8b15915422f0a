"""`mws evaluate`: score tokenizers on reference segmentations and on running text."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from mws_hf.commands.options import add_column, add_json, add_quiet, add_scoring, add_text, add_tokenizers
from mws_hf.commands.outputs import aligned, show
from mws_hf.commands.parser import Parser
from mws_hf.corpus.files import is_read_once, why_missing
from mws_hf.errors import MwSError

HELP = """
Score tokenizers on reference segmentations (--gold), on running text (--text), or on both.

You can give any Hugging Face tokenizer, in a folder or on the Hub, a tokenizer.json, or a SentencePiece model. A
Morfessor model saved as text (pip install morfessor) and a file of segmentations, word<TAB>tokens, split only words, so
they are scored on --gold and not on --text.

The format of a --gold file is recognized from its content: word<TAB>m1 m2, SIGMORPHON 2022, Morpho Challenge,
NeuralMorphemeSegmentation, MorphScore CSV, or MorphyNet. Lines whose morphs do not spell the word are counted and
reported, and not used.

`--bits TRAIN` trains an n-gram model on the tokens of TRAIN, for each tokenizer, and reports how many bits per UTF-8
byte it needs for the file of `--text`. Use files that the tokenizers were not trained on. This proxy measure takes
seconds and has no random seeds.

For example:

    mws evaluate my-tokenizer --gold rus.tsv

    mws evaluate openai-community/gpt2 mine=./my-tokenizer --text heldout.txt

    mws evaluate mws=./mws-8k bpe=./bpe-8k --gold rus.tsv --gold fin.tsv --text heldout.txt

    mws evaluate bpe=./bpe-8k mws=./mws-8k --text heldout.txt --bits train.txt.gz

    mws evaluate my-tokenizer --gold rus.tsv --json > scores.json

The tables have the five most important columns, and are written as Markdown if the output is not a terminal. `--json`
has all figures, such as EMMA-2. The page "Evaluate and compare tokenizers" of the documentation explains every column.
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add_tokenizers(parser)
    add_text(parser)
    add_scoring(parser)
    add_column(parser.input)
    add_quiet(parser.output)
    add_json(parser.output)


def run(given: Namespace) -> None:
    """Score the tokenizers and print the tables."""
    from mws_hf.tokenizer.opened import open_tokenizer
    from mws_hf.tokenizer.places import named_sources

    sources = named_sources(given.tokenizers)
    gold, text, bits = given.gold, given.text, given.bits
    check_measured(gold, [text], bits, needed="score on")
    named = {name: open_tokenizer(source, by_class=True) for name, source in sources.items()}
    from mws_hf.scoring.evaluation import evaluate as run_evaluation

    report = run_evaluation(named, gold, text, bits=bits, column=given.column)
    tables = [table.short() for table in report.tables()]
    if sys.stdout.isatty():
        printed = [f"{table.title}: {table.about}\n{aligned([table.header, *table.rows])}" for table in tables]
    else:
        printed = [table.to_markdown() for table in tables]
    show(report.to_dict(), "\n\n".join(printed), given)


def check_measured(gold: Sequence[Path], texts: Iterable[Path | None], bits: Path | None, needed: str = "") -> None:
    """Raise MwSError, before any work, if a file is missing, --bits is given without --text, or there is nothing to do.

    Args:
        gold: files of --gold.
        texts: files of --text; None for an option that was not given.
        bits: the file of --bits.
        needed: the verb of the message if --gold and --text are both missing, such as "score on"; "" if both may be.
    """
    given = [path for path in texts if path is not None]
    if needed and not gold and not given:
        raise MwSError(
            f"there is nothing to {needed}; give reference segmentations (--gold FILE), text (--text FILE) or both"
        )
    if bits is not None and not given:
        raise MwSError("--bits trains n-gram models that measure --text; give --text, too")
    for path in [*gold, *given, *filter(None, [bits])]:
        if is_read_once(os.fspath(path)):
            raise MwSError(f"{path}: can be read only once, but is read several times; save its text in a file")
        if os.path.isdir(path):
            raise MwSError(
                f"{path}: is a folder; --gold takes a file of reference segmentations, --text a file of text"
            )
        if not os.path.isfile(path):
            raise MwSError(f"{path}: {why_missing(path)}")
