"""`mws evaluate` and `mws segment`: how any tokenizers cut words and running text, scored and shown."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from mws_hf.atomic import write_text
from mws_hf.commands import options
from mws_hf.commands.options import Argument, Option
from mws_hf.commands.outputs import aligned, claim_file, counted, tell
from mws_hf.commands.sources import check_scored
from mws_hf.errors import MissingTokenizerError, MwSError

_logger = logging.getLogger(__name__)


def evaluate_command(
    directories: options.Tokenizers,
    gold: options.GoldFiles = None,
    text: options.Text = None,
    bits: options.BitsText = None,
    column: options.Column = None,
    isolated: Annotated[
        Literal["space", "none"], Option(metavar="space|none", help="Give gold words as after a space, or bare.")
    ] = "space",
    every: Annotated[
        bool | None,
        Option("--all/--short", help="All columns, or five [default: five on a terminal, else all]."),
    ] = None,
    as_json: options.Json = False,
    output: Annotated[Path | None, Option(metavar="FILE", help="The file to write [default: standard output].")] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Score tokenizers against gold morpheme segmentations, and on running text.

    Works for any Hugging Face tokenizer, in a directory or on the Hub, for a tokenizer.json by itself, and for a
    SentencePiece model. A Morfessor model saved as text (pip install morfessor) and a file
    of segmentations, word<TAB>pieces, cut words alone: they are scored on gold, not on text.

    Gold formats, found from the content: word<TAB>m1 m2, SIGMORPHON 2022, Morpho Challenge,
    NeuralMorphemeSegmentation, MorphScore CSV, MorphyNet. Lines whose morphs do not spell the word are counted and
    shown, never used.

    `--bits TRAIN` trains an n-gram model (interpolated modified Kneser-Ney) on the tokens of TRAIN, for each tokenizer,
    and gives the bits per UTF-8 byte of `--text` under it, with the difference to the first tokenizer and a 95 %
    bootstrap interval over lines. Each line is a document; its end is predicted and counted. The order (2 to 5) is
    chosen on a tenth of TRAIN. Neither the tokenizers nor TRAIN should have seen the text. This is a screening measure:
    it takes seconds and no seeds, but it does not rank Unigram as neural models do; its context is counted in tokens.

    For example:

        mws evaluate my-tokenizer --gold rus.tsv

        mws evaluate gpt2 mine=./my-tokenizer --text heldout.txt

        mws evaluate mws=./mws-8k bpe=./bpe-8k --gold rus.tsv --gold fin.tsv --text heldout.txt

        mws evaluate bpe=./bpe-8k mws=./mws-8k --text heldout.txt --bits train.txt.gz

        mws evaluate my-tokenizer --gold rus.tsv --json --output scores.json

    docs/score.md says what each column means.
    """
    from mws_hf.tokenizer.opened import open_tokenizer
    from mws_hf.tokenizer.places import named_sources

    sources = named_sources(directories)
    if not gold and text is None:
        raise MwSError("nothing to score on: give gold segmentations (--gold FILE), running text (--text FILE) or both")
    check_scored(gold, [text], bits)
    named = {name: open_tokenizer(source, by_class=True) for name, source in sources.items()}
    if output is not None:
        folders = [opened.folder for opened in named.values() if opened.folder is not None]
        tokenizers = [str(file) for folder in folders for file in folder.glob("*.json")]
        places = [each.place for each in named.values() if each.place]
        claim_file(output, gold, text, bits, places, tokenizers, force=force)
    from mws_hf.evaluate.evaluation import evaluate as run_evaluation
    from mws_hf.evaluate.evaluation import json_text

    report = run_evaluation(named, gold or [], text, bits=bits, column=column, isolated=isolated)
    if not quiet:
        for entry in report.golds:
            if entry.problems:
                _logger.warning("%s: %d of %s left out", entry.name, len(entry.problems), counted(entry.lines, "line"))
            for problem in entry.problems[:5]:
                _logger.warning("left out: %s", problem)
    if as_json:
        result = json_text(report.to_dict(), indent=2)
    elif every is False or (every is None and output is None and sys.stdout.isatty()):
        short = ((table, table.short()) for table in report.tables())
        result = "\n".join(f"{t.title}: {t.about}\n{aligned([s.header, *s.rows])}\n" for t, s in short)
    else:
        result = report.to_markdown()
    if output is None:
        print(result, end="")
    else:
        write_text(output, result)


def segment(
    tokenizer: options.Tokenizer,
    words: Annotated[
        list[str] | None,
        Argument(help="Words or text; read from stdin when none, or -, is given."),
    ] = None,
    separator: Annotated[str, Option(help="What to print between morphs.")] = "·",
    as_json: options.Json = False,
) -> None:
    """Print words cut into morphs, `пере·пис·ыва·ющ·ая·ся`; each word is taken as one inside a sentence.

    For example:

        mws segment out/russian переписывающаяся подводник

        cat text.txt | mws segment out/russian --separator ' '
    """
    from mws_hf.tokenizer.backend import find_surrogate
    from mws_hf.tokenizer.opened import open_tokenizer

    try:
        opened = open_tokenizer(tokenizer, by_class=True)
    except MissingTokenizerError as error:
        if words or Path(tokenizer).exists():
            raise
        raise MwSError(f"{error}; the first word names the tokenizer: mws segment DIR {tokenizer}") from error
    for line in _stdin_lines() if words in (None, [], ["-"]) else words:
        if find_surrogate(line) is not None:
            raise MwSError(f"argument {line!r} is not valid text in this locale; give it in UTF-8, or on stdin")
        pieces = opened.cut(line.split())
        tell({"text": line, "words": pieces}, " ".join(separator.join(word) for word in pieces), as_json)


def _stdin_lines() -> Iterator[str]:
    """Read lines of standard input, which is UTF-8 whatever the locale."""
    if sys.stdin is None:
        raise MwSError("standard input is closed; give words, or send text to it")
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise MwSError(
                f"-:{number}: byte {error.start} of the line is not UTF-8; convert it first, for example with: "
                "iconv -f cp1251 -t utf-8"
            ) from error
