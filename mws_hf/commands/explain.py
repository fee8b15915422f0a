"""`mws explain`: show why a word is split as it is, or why a pair was merged, with all numbers that decided it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.commands.options import add_lexicon, add_writing, parse_size
from mws_hf.commands.outputs import aligned, claim_file, note, show
from mws_hf.commands.parser import Parser
from mws_hf.commands.sources import Words
from mws_hf.errors import MwSError, needed, quoted
from mws_hf.text.capitals import MARKER
from mws_hf.text.pattern import DEFAULT_PATTERN, GPT4_PATTERN, pattern_name

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.learn.any_word import AnyWord
    from mws_hf.learn.settings import Settings
    from mws_hf.tokenizer.explain import Explanation
    from mws_hf.tokenizer.opened import Opened

HELP = """
Show the merges that lead to the tokens of a word, and the boundary probabilities under its letters. With --pair or
--merges, show the terms of the original MwS score (`mws train --criterion classic`).

For example:

    mws explain taloissammekin --model mws-fi-32k

    mws explain unpacking --model my-tokenizer --from 'corpus/*.txt.gz' --plot probabilities.png

    mws explain --pair чи т --lexicon ru

    mws explain --merges 20 --from counts.parquet
"""

_NO_EVIDENCE = (
    "no boundary probabilities are saved with the tokenizer (extended tokenizers have none, and neither have those "
    "trained with --criterion classic, with --composition 1 or by older versions); give its training words with --from "
    "or --lexicon"
)


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    parser.add_argument(
        "words", nargs="*", default=[], metavar="WORDS...", help="Words to explain, of at most 10,000 bytes each."
    )
    add = parser.add_argument
    model = "The tokenizer whose merges to show: a folder, a pretrained name, or a name on the Hub."
    add("--model", metavar="TOKENIZER", help=model)
    add("--pair", nargs=2, metavar=("LEFT", "RIGHT"), help="Show every term of the original MwS score of this pair.")
    merges = "Show every term of the score for the first merges of --criterion classic, up to this number."
    add("--merges", metavar="NUMBER", type=parse_size, help=merges)
    source = "Training words: text, globs, or counts of `mws count`; repeat the option for more."
    add("--from", dest="source", action="append", default=[], metavar="FILE", help=source)
    add_lexicon(parser)
    add("--plot", type=Path, metavar="FILE", help="Draw the boundary probabilities in percent (.png, .svg, .pdf).")
    add_writing(parser)


def run(given: Namespace) -> None:
    """Print the explanation, and draw a plot if --plot is given."""
    words, model, pair, merges, plot = given.words, given.model, given.pair, given.merges, given.plot
    if plot is not None:
        claim_file(plot, given.source, force=given.force)
    sources = Words(files=given.source, lexicon=given.lexicon)
    explained = {"words": bool(words), "--pair": pair is not None, "--merges": merges is not None}
    if len(several := [name for name, is_given in explained.items() if is_given]) > 1:
        raise MwSError(f"{' and '.join(several)} cannot be explained together; run the command once for each")
    classic = pair is not None or merges is not None
    if not classic:
        _check_word_arguments(words, model, plot, sources)
    elif plot is not None:
        raise MwSError("--plot draws the boundary probabilities of words; leave out --pair and --merges")
    from mws_hf.tokenizer.opened import open_tokenizer

    opened = None if model is None else open_tokenizer(model)
    if opened is not None:
        note(f"{model}: {_training_of(opened)}")
    if classic:
        rows = _classic_rows(sources, pair, merges, opened, not given.quiet)
        show(rows, _terms_table(rows), given)
        return
    counts = None if sources.is_empty else _training_words(sources, opened, DEFAULT_PATTERN, not given.quiet)
    _explain_words(given, opened, counts)


def _check_word_arguments(words: list[str], model: str | None, plot: Path | None, sources: Words) -> None:
    """Raise MwSError, before anything is loaded or counted, if words cannot be explained with these arguments."""
    if not words:
        raise MwSError("there is nothing to explain; give words, --pair LEFT RIGHT, or --merges NUMBER")
    if model is None and sources.is_empty:
        raise MwSError(
            "to explain a word, give --model TOKENIZER (its merges) or training words with --from or --lexicon (its "
            "boundary probabilities)"
        )
    if plot is not None:
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise MwSError(f"--plot {plot}: a plot can be .png, .svg or .pdf; give the file one of these endings")
        needed("matplotlib")
    if not sources.is_empty:
        _ = sources.source  # the property checks all sources


def _training_of(opened: Opened) -> str:
    """Name the settings of a training that differ from the defaults."""
    if not opened.record:
        return "its settings are unknown, so the defaults are used"
    settings = _settings(opened)
    shown = {name: f"{name}={quoted(value)}" for name, value in settings.changed().items()}
    if "pattern" in shown:
        shown["pattern"] = f"pattern={pattern_name(settings.split_pattern)}"
    if "labels" in shown:
        shown["labels"] = f"labels of {settings.size_of_labels}"
    return f"trained with {', '.join(shown.values()) or 'default settings'}"


def _settings(opened: Opened | None) -> Settings:
    """Return the settings of a tokenizer's training, or the default settings."""
    from mws_hf.learn.settings import Settings

    try:
        return Settings.from_record((opened.record if opened else None) or {})
    except TypeError as error:
        raise MwSError(f"the settings in the folder of the tokenizer are damaged ({error}); train it again") from error


def _training_words(sources: Words, opened: Opened | None, default_pattern: str, show_progress: bool) -> WordCounts:
    """Count the words with the pattern and normalization of the tokenizer; keep those that its training learns from.

    Without a tokenizer, the pattern is that of the saved counts among the sources, or if there are none the default.
    """
    from mws_hf.learn.vocabulary import words_learned_from
    from mws_hf.tokenizer.backend import pattern_of

    pattern = None if opened is None else pattern_of(opened.backend)
    normalization = None if opened is None else opened.spec.normalization
    settings = _settings(opened)
    if opened is None and sources.source.saved_splitter is None:
        pattern = default_pattern
    splitter = sources.splitter(pattern, normalization, special_tokens=settings.special_tokens)
    counts = sources.count(splitter, show_progress=show_progress)
    return words_learned_from(counts, settings)


def _evidence(opened: Opened | None, counts: WordCounts | None) -> AnyWord | None:
    """Compute boundary probabilities from training words; without such words, read those saved with the tokenizer."""
    from mws_hf.learn.any_word import AnyWord
    from mws_hf.learn.evidence_file import read_evidence
    from mws_hf.learn.group_evidence import find_evidence
    from mws_hf.learn.settings import Settings

    if counts is None:
        return None if opened is None else read_evidence(opened)
    settings = _settings(opened)
    weights = {name: weight for name, weight in settings.weights.items() if name in counts.parts}
    if settings.is_classic:  # the classic criterion has no settings of evidence, so the defaults are used
        settings = Settings()
    return AnyWord(find_evidence(counts, replace(settings, weights=weights)))


def _explain_words(given: Namespace, opened: Opened | None, counts: WordCounts | None) -> None:
    """Print the explanation of each word, and notes on words without boundary probabilities; draw the plot."""
    from mws_hf.tokenizer.explain import UNSEEN

    evidence = _evidence(opened, counts)
    if opened is not None and evidence is None:
        message = f"{opened.name}: {_NO_EVIDENCE}"
        if given.plot is not None:
            raise MwSError(message)
        note(message)
    drawn = []
    for word, explained in zip(given.words, _explained(given.words, opened, counts, evidence), strict=True):
        drawn += explained.spelled_words
        if given.as_json:
            row = {"word": word, **explained.to_dict(merges=opened is not None, evidence=evidence is not None)}
            show(row | ({"settings": opened.record} if opened else {}), "", given)
            continue
        show(None, explained.text(), given)
        for part, values, seen in zip(explained.parts, explained.boundaries, explained.seen, strict=True):
            if part.text == MARKER:
                note(f"{word}: a marker and the lowercase letter stand for its uppercase letter")
            elif evidence and values is None and (part.text.strip() or not word.strip()):  # not the space of a number
                note(f"{part.text.strip() or quoted(word)}: not a word, so it has no boundary probabilities")
            elif seen is False:
                note(f"{part.text.strip()}: {UNSEEN}")
    if given.plot is not None:
        if not drawn:
            raise MwSError("there is nothing to plot, because no argument is a word")
        from mws_hf.tokenizer.plotting import plot_evidence

        plot_evidence(given.plot, drawn)


def _explained(
    words: list[str], opened: Opened | None, counts: WordCounts | None, evidence: AnyWord | None
) -> list[Explanation]:
    """Explain each word; without a tokenizer, its pre-tokens are shown whole, with the probabilities of `counts`."""
    from mws_hf.corpus.splitter import Splitter
    from mws_hf.tokenizer.explain import Explanation, Traced

    if opened is not None:
        return opened.explain(words, evidence)
    splitter = Splitter() if counts is None else counts.splitter
    return Explanation.of_words(
        [[Traced(part, (part,), (), (part,)) for part in splitter.split(f" {word}")] for word in words], evidence
    )


def _classic_rows(
    sources: Words, pair: tuple[str, str] | None, merges: int | None, opened: Opened | None, show_progress: bool
) -> list[dict[str, Any]]:
    """Return the terms of the classic coefficient of a pair, or of the first merges, in one row per merge."""
    from mws_hf.learn.classic_coefficient import PUBLISHED
    from mws_hf.learn.classic_explained import explain_merges, explain_pair
    from mws_hf.learn.words import CodePoints, SymbolCorpus

    settings = PUBLISHED if opened is None or opened.record is None else _settings(opened)
    if not settings.is_classic:
        raise MwSError(
            "the tokenizer was trained with the contextual criterion; --pair and --merges explain the classic one"
        )
    counts = _training_words(sources, opened, GPT4_PATTERN, show_progress).union
    corpus = SymbolCorpus.from_words(CodePoints.of_counts(counts), None if settings.types else counts.counts)
    if pair is not None:
        return [explain_pair(corpus, *pair, settings, show_progress=show_progress)]
    return explain_merges(corpus, merges or 0, settings, show_progress=show_progress)


_LEGEND = {
    "u_l, u_r": "tokens equal to the left and to the right part",
    "b": "occurrences of the pair",
    "left_size, right_size": "characters of the parts, without leading space",
    "n_tokens, n_pairs, n_characters": "all tokens, all pairs of neighbors, all characters",
    "p_l, p_r, p_b": "u_l / n_tokens, (u_r / n_tokens) to the power 3/4, b / n_pairs",
    "pmi": "log(p_b / (p_l * p_r)); all logarithms have the base log_base, a setting",
    "t_score": "(b - u_l * p_r) / sqrt(b)",
    "association": "mean of pmi and log(max(1, t_score + 1))",
    "penalty, length": "length penalty, and what it contributes",
    "gain": "entropy of the parts minus entropy of the pair",
    "total": "association + length + gain",
    "candidate": "whether the lengths allow the merge",
    "coefficient": "the score by which pairs are compared: total, rounded to 1e-9, or 0 if total is negative or "
    "candidate is no",
}


def _terms_table(rows: list[dict[str, Any]]) -> str:
    """Return rows as an aligned table with a legend; a single row becomes a column, which fits any terminal."""
    if not rows:
        return "no merges"
    table: list[Any] = [list(rows[0]), *([_for_people(value) for value in row.values()] for row in rows)]
    if len(rows) == 1:
        table = [["term", "value"], *zip(*table, strict=True)]
    return f"{aligned(table)}\n\n{aligned(list(_LEGEND.items()))}"


def _for_people(value: object) -> object:
    if isinstance(value, str):
        return repr(value)  # with quotes, because a part of a pair may begin with a space
    return {True: "yes", False: "no", None: "-"}[value] if isinstance(value, bool | None) else value
