"""Sections of a model card that tell of figures: examples, gold, running text, other tokenizers, groups, limits.

Each is a function from the `Card` to Markdown, and empty where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mws_hf import __version__
from mws_hf.text.markdown import markdown_table

if TYPE_CHECKING:
    from mws_hf.cards.card import Card


def sections(card: Card) -> list[str]:
    """Write all sections that have something to say, in the order of `_SECTIONS`."""
    return [text for section in _SECTIONS if (text := section(card))]


def _examples(card: Card) -> str:
    """Show words and the tokens that they are cut into."""
    rows = [[word, "·".join(tokens)] for word, tokens in card.examples]
    return f"## Examples\n\n{markdown_table(['word', 'tokens'], rows, numbers=False)}" if rows else ""


def _boundaries(card: Card) -> str:
    """Tell the scores against gold."""
    report = card.report
    if report is None or not report.rows:
        return ""
    from mws_hf.evaluate.tables import GOLD_COLUMNS  # only now, for most cards tell of no gold

    alike = ("precision", "recall", "exact", "tokens/word")
    header = ["gold", "F1 (95 %)", *("words exact" if title == "exact" else title for title in alike)]
    rows = [
        [row.gold, f"{GOLD_COLUMNS['F1'](row)} ({GOLD_COLUMNS['95 %'](row)})", *(GOLD_COLUMNS[t](row) for t in alike)]
        for row in report.rows
    ]
    words = ", ".join(f"{gold.name}: {len(gold.words):,} words" for gold in report.golds)
    partial = [gold.name for gold in report.golds if gold.partial]
    warning = f" {', '.join(partial)} marks only one or two boundaries of a word: read the recall." if partial else ""
    about = f"Morpheme boundaries found in words after a space, micro-averaged ({words}).{warning}"
    return f"## Cuts against gold\n\n{about}\n\n{markdown_table(header, rows)}"


def _length(card: Card) -> str:
    """Tell the measures of running text."""
    report = card.report
    if report is None or not report.text:
        return ""
    (scores,) = report.text.values()
    figures = {
        "tokens per word": f"{scores.fertility:.3f}" if scores.words else "-",
        "bytes per token": f"{scores.bytes_per_token:.3f}",
        "words in one token": f"{scores.whole_words:.1%}" if scores.words else "-",
        "tokens that are single bytes or parts of characters": f"{scores.byte_tokens:.2%}",
        "lines that decode to what they were": f"{card.restored[0]:,} of {card.restored[1]:,}",
    }
    for entry in report.bits.values():
        figures[f"n-gram bits per byte, trained on {card.bits}"] = f"{entry.value:.4f}"
    about = f"{card.text}: {scores.bytes:,} bytes"
    return f"## Running text\n\n{about}\n\n{markdown_table(['measure', 'value'], [*map(list, figures.items())])}"


def _beside(card: Card) -> str:
    """Compare all tokenizers, a row each."""
    report = card.beside
    if report is None:
        return ""
    names = dict.fromkeys([*(row.tokenizer for row in report.rows), *report.text])
    f1 = {(row.tokenizer, row.gold): f"{row.scores.f1:.3f}" for row in report.rows}
    golds = [gold.name for gold in report.golds]
    header = ["tokenizer", *(f"F1, {gold}" for gold in golds)]
    rows = [[name, *(f1[name, gold] for gold in golds)] for name in names]
    if report.text:
        header += ["tokens per word", "bytes per token"]
        for row in rows:
            scores = report.text[row[0]]
            row += [f"{scores.fertility:.3f}" if scores.words else "-", f"{scores.bytes_per_token:.3f}"]
    if report.bits:
        header += ["n-gram bits per byte", f"more than {next(iter(names))} (95 %)"]
        for row in rows:
            row += [f"{report.bits[row[0]].value:.4f}", report.more_bits(row[0])]
    about = "The same measures, on the same words and text, of other tokenizers."
    for name, entry in report.bits.items():
        if lost := int((~entry.restored).sum()):
            about += f" {name} does not give {lost} of {len(entry.nats)} lines back; bits are compared over the others."
    return f"## Beside others\n\n{about}\n\n{markdown_table(header, rows)}"


def _groups(card: Card) -> str:
    """Tell the length of each group's text: a row for each group, a column for each tokenizer."""
    if not card.groups:
        return ""
    names = list(next(iter(card.groups.values())))
    header = ["group", *(f"{name}, {unit}" for unit in ("tokens per word", "bytes per token") for name in names)]
    rows = [
        [
            group,
            *(f"{scores[name].fertility:.3f}" for name in names),
            *(f"{scores[name].bytes_per_token:.3f}" for name in names),
        ]
        for group, scores in card.groups.items()
    ]
    return f"## Length by group, on held-out text\n\n{markdown_table(header, rows)}"


def _limits(card: Card) -> str:
    """Tell what the figures do not say."""
    said = ["Text of other languages, subjects and spellings than it was learnt from takes more tokens."]
    report = card.report
    if report is not None and report.rows:
        said.append(
            "Boundary scores tell how tokens agree with one annotation of morphemes, not how well a model will do."
        )
    if report is not None and report.bits:
        said.append(
            "n-gram bits per byte are a screening measure: compare them on the same texts only; they do not rank "
            "Unigram as neural models do."
        )
    if card.restored[0] < card.restored[1]:
        said.append("Not every text decodes to what it was: see the table.")
    if card.report is None and not card.facts.extended and not card.facts.trimmed:
        said.append("Nothing was measured for this card: `mws card` measures boundaries, length and bits per byte.")
    said += card.facts.limits
    said.append(f"Figures and examples are by mws_hf {__version__}.")
    return "## Limits\n\n" + "\n".join(f"* {line}" for line in said)


_SECTIONS: tuple[Callable[[Card], str], ...] = (*(_examples, _boundaries, _length, _beside, _groups, _limits),)
