"""`mws demo`: a page on this machine where tokenizers can be tried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mws_hf.commands import options
from mws_hf.commands.explain import Explained, From
from mws_hf.commands.sources import Sources

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
    source: From = None,
    lexicon: options.Lexicon = None,
    word_list: options.WordList = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Where to serve [default: the first free from 7860].")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Serve others too: an address of this machine, 0.0.0.0 for every one [default: this machine alone].",
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Also open it in the browser.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Open a page where text is typed and its tokens are seen, side by side and in colours.

    It shows the tokens of any tokenizers with a tokenizer.json; of a word, the merges in order and, where training
    words are given, the evidence under each letter; and two tokenizers compared on a text. It works without a network,
    answers this machine alone unless --host asks for more, and takes no files. Ctrl-C ends it. Needs
    `pip install gradio`.

    Without a directory it shows a tokenizer of eight languages by this project beside BPE by frequency, learnt from the
    same text, as many entries each; see `mws pretrained`.

    For example:

        mws demo

        mws demo out/russian

        mws demo mws=out/russian bpe=out/bpe --from counts.parquet

        mws demo out/russian --lexicon ru --open
    """
    from mws_hf.tokenizer.hub import named_sources, tokenizer_place

    places = {name: tokenizer_place(place) for name, place in named_sources(directories or _SHOWN).items()}
    sources = Sources(source or (), lexicon, word_list or (), show_progress=not quiet)
    if not sources.is_empty:
        sources.check(None, None)
    from mws_hf.demo.app import load_gradio, page, serve, wait
    from mws_hf.demo.tokens import open_for_page

    load_gradio()  # before anything is counted
    tokenizers = [open_for_page(place, name) for name, place in places.items()]
    blocks = page(tokenizers, evidence_of([*places.values()], tokenizers, sources))
    typer.echo(serve(blocks, port, host, open_browser=open_browser))
    wait(blocks)


def evidence_of(places: list[Path], tokenizers: list[Opened], sources: Sources) -> TrainingEvidence | None:
    """Compute the evidence of the training words given, by the settings of the first tokenizer with a training record.

    Without training words it is the evidence that the first tokenizer keeps which has any, or None.
    """
    from mws_hf.demo.word_view import TrainingEvidence
    from mws_hf.tokenizer.backend import pattern_of
    from mws_hf.tokenizer.training_record import read_record

    named = [(place, opened) for place, opened in zip(places, tokenizers, strict=True) if place.is_dir()]
    models = {
        opened.name: Explained(opened.backend, read_record(place, opened.backend), place) for place, opened in named
    }
    if sources.is_empty:
        for name, model in models.items():
            if model.backend is not None and model.kept is not None:
                return TrainingEvidence(model.kept, pattern_of(model.backend), model.normalization, f"words of {name}")
        return None
    from mws_hf.learn.any_word import AnyWord

    known = next((model for model in models.values() if model.record is not None), Explained())
    counts = known.gather(sources)
    evidence = AnyWord(known.evidence(counts))
    return TrainingEvidence(evidence, counts.pattern, counts.normalization, sources.describe())
