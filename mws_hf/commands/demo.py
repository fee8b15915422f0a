"""`mws demo`: a page on this machine where tokenizers can be tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mws_hf.commands.explain import Explained

if TYPE_CHECKING:
    from mws_hf.demo.tokens import Opened
    from mws_hf.demo.word_view import TrainingEvidence


_SHOWN = ("MwS=mws-eight-languages-64k", "BPE=bpe-eight-languages-64k")


def demo(
    directories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DIR...",
            help="Tokenizer directories or Hub names; NAME=DIR names one [default: MwS and BPE of eight languages].",
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Where to serve [default: the first free from 7860].")
    ] = None,
) -> None:
    """Open a page where text is typed and its tokens are seen, side by side and in colours.

    It shows the tokens of any tokenizers with a tokenizer.json; of a word, the merges in order and the evidence under
    each letter, where a tokenizer keeps it, as those of `mws train` do; and two tokenizers compared on a text. It works
    without a network, answers this machine alone, and takes no files. Ctrl-C ends it. Needs `pip install gradio`.

    Without a directory it shows a tokenizer of eight languages by this project beside BPE by frequency, learnt from the
    same text, as many entries each; see `mws pretrained`.

    For example:

        mws demo

        mws demo out/russian

        mws demo mws=out/russian bpe=out/bpe
    """
    from mws_hf.tokenizer.hub import named_sources, tokenizer_place

    places = {name: tokenizer_place(place) for name, place in named_sources(directories or _SHOWN).items()}
    from mws_hf.demo.app import load_gradio, page, serve, wait
    from mws_hf.demo.tokens import open_for_page

    load_gradio()
    tokenizers = [open_for_page(place, name) for name, place in places.items()]
    blocks = page(tokenizers, evidence_of([*places.values()], tokenizers))
    typer.echo(serve(blocks, port))
    wait(blocks)


def evidence_of(places: list[Path], tokenizers: list[Opened]) -> TrainingEvidence | None:
    """Read the evidence that the first tokenizer keeps which has any; None where none has."""
    from mws_hf.demo.word_view import TrainingEvidence
    from mws_hf.tokenizer.backend import pattern_of
    from mws_hf.tokenizer.training_record import read_record

    for place, opened in zip(places, tokenizers, strict=True):
        model = Explained(opened.backend, read_record(place, opened.backend), place) if place.is_dir() else Explained()
        if model.kept is not None:
            return TrainingEvidence(
                model.kept, pattern_of(opened.backend), model.normalization, f"words of {opened.name}"
            )
    return None
