"""`mws segment`: print words split into the tokens of a tokenizer."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator

from mws_hf.commands.options import add_json, add_tokenizer
from mws_hf.commands.outputs import show
from mws_hf.commands.parser import Parser
from mws_hf.errors import MissingTokenizerError, MwSError

HELP = """
Print words split into the tokens of a tokenizer. Each word is split as it would be inside a sentence.

For example:

    mws segment mws-fi-32k taloissammekin
    talo·issa·mme·kin

    cat text.txt | mws segment my-tokenizer --separator ' '
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add_tokenizer(parser)
    words = "Words or text. Without them, or with -, standard input is read."
    parser.add_argument("words", nargs="*", default=[], metavar="WORDS...", help=words)
    parser.add_argument("--separator", default="·", help="What to print between tokens.")
    add_json(parser.output)


def run(given: Namespace) -> None:
    """Print the tokens of each argument, or of each line of standard input."""
    from mws_hf.text.valid_text import SURROGATE
    from mws_hf.tokenizer.opened import open_tokenizer

    tokenizer, words = given.tokenizer, given.words
    try:
        opened = open_tokenizer(tokenizer, by_class=True)
    except MissingTokenizerError as error:
        if words or os.path.exists(tokenizer):
            raise
        raise MwSError(f"{error}; the first argument is the tokenizer: mws segment TOKENIZER {tokenizer}") from error
    for line in words if [*words] not in ([], ["-"]) else _stdin_lines():
        if SURROGATE.search(line):
            raise MwSError(f"argument {line!r} is not valid text in this locale; give it in UTF-8, or on stdin")
        segmented = opened.segment_words(line.split())
        show({"text": line, "words": segmented}, " ".join(map(given.separator.join, segmented)), given)


def _stdin_lines() -> Iterator[str]:
    """Read lines of standard input, which is UTF-8 whatever the locale."""
    if sys.stdin is None:
        raise MwSError("standard input is closed; give words as arguments, or text on standard input")
    from mws_hf.corpus.octets import decoded_lines
    from mws_hf.corpus.place import about

    with about("-"):
        for line in decoded_lines(sys.stdin.buffer):
            yield line.rstrip("\r\n")
