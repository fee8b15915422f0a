"""`mws explain`: why a word is cut as it is, or why a pair was merged, with every number that decided it."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mws_hf.atomic import check_output
from mws_hf.commands.figures import aligned
from mws_hf.commands.sources import (
    Column,
    Encoding,
    Errors,
    Field,
    Json,
    Lemmas,
    Lexicon,
    Quiet,
    Reading,
    Sources,
    WordList,
)
from mws_hf.errors import MwSError
from mws_hf.pattern import GPT4_PATTERN

if TYPE_CHECKING:
    from mws_hf.learn.contextual.learner import Evidence

From = Annotated[
    list[str] | None,
    typer.Option(
        "--from", metavar="FILE", help="Training words: text, globs, or counts of `mws count`; repeat [default: none]."
    ),
]


def explain(
    words: Annotated[list[str] | None, typer.Argument(help="Words to explain.", show_default=False)] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The tokenizer whose merges to show [default: none].")
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LEFT RIGHT", help="Show every term of a pair's coefficient [default: none]."),
    ] = None,
    merges: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Show every term of the first N merges of a classic run [default: none]."
        ),
    ] = None,
    source: From = None,
    lexicon: Lexicon = None,
    word_list: WordList = None,
    lemmas: Lemmas = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the evidence (.png, .svg, .pdf) [default: none].")
    ] = None,
    field: Field = None,
    column: Column = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show the merges that cut a word, the boundary evidence under its letters, or the terms of a classic merge.

    For example:

        mws explain переписывающаяся --model out/russian

        mws explain переписывающаяся --model out/russian --lexicon ru --plot evidence.png

        mws explain --pair чи т --lexicon ru

        mws explain --merges 20 --lemmas lemmas.txt
    """
    reading = Reading(field, column, encoding, errors)
    sources = Sources.from_options(source, lexicon, word_list, lemmas, reading=reading, quiet=quiet)
    if pair or merges is not None:
        if plot is not None:
            raise MwSError("--plot draws the evidence of words; --pair and --merges have none")
        rows = _classic_rows(sources, pair, merges)
        typer.echo(json.dumps(rows, ensure_ascii=False) if as_json else _table(rows))
        return
    if not words:
        raise MwSError("nothing to explain: give words, --pair LEFT RIGHT, or --merges N")
    if model is None and sources.is_empty:
        raise MwSError("give --model DIR for a word's merges, or training words (--from, --lexicon) for its evidence")
    if model is not None and not model.exists():
        raise MwSError(f"{model}: no such tokenizer directory; train one with `mws train ... --output {model}`")
    if plot is not None:
        _check_plot(plot, sources)
    if not sources.is_empty:
        sources.check(None, None)
    _explain_words(words, model, sources, plot, as_json)


def _explain_words(words: list[str], model: Path | None, sources: Sources, plot: Path | None, as_json: bool) -> None:
    from mws_hf.explain import evidence_lines, merge_trace, plot_evidence

    ranks = {} if model is None else _ranks(model)
    evidence = None if sources.is_empty else _evidence(sources)
    drawn: list[tuple[str, list[float], list[str]]] = []
    for word in words:
        steps = merge_trace(" " + word, ranks)
        tokens = [*steps[-1].tokens] if steps else [" ", *word]
        shown = [token for token in (tokens[0].removeprefix(" "), *tokens[1:]) if token]
        found = None if evidence is None else evidence.word(" " + word)
        result: dict[str, Any] = {"word": word}
        if model is not None:
            result |= {"tokens": tokens, "merges": [asdict(step) for step in steps]}
        if evidence is not None:
            result["boundaries"] = None if found is None else [round(value, 4) for value in found[1:]]
        if found is not None:
            drawn.append((word, found[1:], shown if model is not None else [word]))
        if as_json:
            typer.echo(json.dumps(result, ensure_ascii=False))
            continue
        for step in steps:
            typer.echo(f"{step.rank:>7}  {step.left!r} + {step.right!r}  ->  {'·'.join(step.tokens)}")
        if found is not None:
            typer.echo(evidence_lines(word, found[1:], drawn[-1][2]))
        elif evidence is not None:
            typer.echo(f"{word}: not among the training types, so there is no evidence of its own")
    if plot is not None:
        if not drawn:
            raise MwSError("nothing to plot: none of the words is among the training types (give --from or --lexicon)")
        plot_evidence(plot, [w for w, _, _ in drawn], [b for _, b, _ in drawn], [t for _, _, t in drawn])


def _ranks(model: Path) -> dict[tuple[str, str], int]:
    from mws_hf.backend import tables_of
    from mws_hf.tokenization_mws_fast import MwSTokenizerFast

    merges = tables_of(MwSTokenizerFast.from_pretrained(str(model.resolve())).backend_tokenizer)[1]
    return {pair: rank for rank, pair in enumerate(merges)}


def _evidence(sources: Sources) -> Evidence:
    from mws_hf.learn.contextual.forms import collect_forms
    from mws_hf.learn.contextual.learner import collect_evidence

    counts = sources.gather(None, None)
    return collect_evidence(collect_forms(counts.words, counts.counts))


def _classic_rows(sources: Sources, pair: tuple[str, str] | None, merges: int | None) -> list[dict[str, Any]]:
    from mws_hf.learn.classic_explain import explain_merges, explain_pair
    from mws_hf.learn.symbols import SymbolCorpus

    corpus = SymbolCorpus.from_words(sources.gather(None, None, GPT4_PATTERN).words)
    if pair is not None:
        return [explain_pair(corpus, *pair, show_progress=sources.show_progress).to_dict()]
    return [row.to_dict() for row in explain_merges(corpus, merges or 0, show_progress=sources.show_progress)]


def _check_plot(plot: Path, sources: Sources) -> None:
    """Refuse, before anything is counted, a plot that cannot be drawn.

    Raises:
        MwSError: it has another ending, nothing to draw, no matplotlib or no place to be written.
    """
    if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise MwSError(f"--plot {plot}: a plot is written as .png, .svg or .pdf; give the file one of these endings")
    if sources.is_empty:
        raise MwSError("--plot draws the evidence of training words: give them with --from or --lexicon")
    if importlib.util.find_spec("matplotlib") is None:
        raise MwSError("plotting needs matplotlib: pip install 'mws-hf[plot]'")
    check_output(plot, folder=False)


_LEGEND = {
    "u_l, u_r": "tokens equal to the left and to the right part",
    "b": "places where the pair stands",
    "left_size, right_size": "characters of the parts, without leading space",
    "n_tokens, n_pairs, n_characters": "all tokens, all pairs of neighbours, all characters",
    "p_l, p_r, p_b": "shares of u_l and u_r (to the power 3/4) in n_tokens, of b in n_pairs",
    "pmi": "log(p_b / (p_l * p_r))",
    "t_score": "(b - u_l * p_r) / sqrt(b)",
    "association": "mean of pmi and log(max(1, t_score + 1))",
    "penalty, length": "length penalty, and what it contributes",
    "gain": "entropy of the parts minus entropy of the pair",
    "total": "association + length + gain",
    "candidate": "whether the lengths allow the merge",
    "coefficient": "what is compared: total, rounded to 1e-9; 0 when negative or no candidate",
}


def _table(rows: list[dict[str, Any]]) -> str:
    """Rows as an aligned text table with a legend; a single one as a column, which fits any terminal."""
    if not rows:
        return "no merges"
    if len(rows) == 1:
        return "\n".join([aligned([["term", "value"], *_written(rows[0]).items()]), "", _legend()])
    return "\n".join([aligned([list(rows[0]), *(list(_written(row).values()) for row in rows)]), "", _legend()])


def _legend() -> str:
    width = max(map(len, _LEGEND))
    return "\n".join(f"{name.ljust(width)}  {meaning}" for name, meaning in _LEGEND.items())


def _written(row: dict[str, Any]) -> dict[str, Any]:
    """A row as people read it: the parts in quotes, for one may begin with a space."""
    plain = {True: "yes", False: "no", None: "-"}
    return {
        name: repr(value) if isinstance(value, str) else plain[value] if isinstance(value, bool | None) else value
        for name, value in row.items()
    }
