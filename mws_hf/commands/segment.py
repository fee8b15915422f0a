"""`mws segment`: show the morphs a tokenizer cuts words into."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from mws_hf.commands.options import Json
from mws_hf.commands.sources import no_tokenizer
from mws_hf.errors import MwSError


def segment(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A tokenizer directory (any Hugging Face one).")],
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words or text; read from stdin when none is given.", show_default=False),
    ] = None,
    separator: Annotated[str, typer.Option(help="What to print between morphs.")] = "·",
    as_json: Json = False,
) -> None:
    """Print words cut into morphs, `пере·пис·ыва·ющ·ая·ся`; each word is taken as one inside a sentence.

    For example:

        mws segment out/russian переписывающаяся подводник

        cat text.txt | mws segment out/russian --separator ' '
    """
    from mws_hf.backend import find_surrogate
    from mws_hf.evaluate.encoder import load_encoder
    from mws_hf.evaluate.segment import segment_words

    if not directory.exists():
        raise no_tokenizer(directory)
    encoder = load_encoder(str(directory))
    for line in words or _stdin_lines():
        if find_surrogate(line) is not None:
            raise MwSError(f"argument {line!r} is not valid text in this locale; give it in UTF-8, or on stdin")
        pieces = segment_words(encoder, line.split())
        if as_json:
            typer.echo(json.dumps({"text": line, "words": pieces}, ensure_ascii=False))
        else:
            typer.echo(" ".join(separator.join(word) for word in pieces))


def _stdin_lines() -> Iterator[str]:
    """Lines of standard input, which is UTF-8 whatever the locale.

    Raises:
        MwSError: a line is not.
    """
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise MwSError(
                f"-:{number}: byte {error.start} of the line is not UTF-8; convert it first, for example with: "
                "iconv -f cp1251 -t utf-8"
            ) from error
