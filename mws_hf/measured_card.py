"""The model card of `mws card`: what `mws train` said of its run, kept word for word, and what was measured since.

A card is metadata, then sections in the order of `_sections`; each is a function from `Measured` to Markdown, and empty
where there is nothing to say. It measures nothing: `mws_hf.evaluate` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mws_hf import __version__
from mws_hf.evaluate.tables import GoldRow, markdown_table
from mws_hf.model_card import loaded_by

if TYPE_CHECKING:
    from mws_hf.evaluate.report import EvaluationReport
    from mws_hf.evaluate.running_text import TextScores

_TAGS = ("tokenizer", "morphology")
_SOURCE = re.compile(r"^\| trained on \| .*$", re.MULTILINE)
_WORDS = re.compile(r"\| word \| tokens \|\n\|---\|---:?\|\n((?:\|.*\|\n)+)\n?")
_PLAIN = """\
# {name}

```python
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
```

A tokenizer of {vocabulary:,} entries.
"""


@dataclass(frozen=True)
class Measured:
    """What a card is written from.

    Attributes:
        name: of the tokenizer, as it is loaded by.
        head: title, how to load it, facts of its training: from `kept_head` or `plain_head`.
        ours: whether it was learnt by mws_hf.
        report: of this tokenizer alone; its gold, text and bits may be absent.
        examples: (word, tokens) to show.
        restored: (lines that decode to what they were, lines tried).
        text: name of the running text measured on; "" for none.
        bits: name of the text that n-gram models were trained on; "" for none.
        languages: codes such as "ru".
        license: identifier such as "cc-by-4.0"; None is not said.
        beside: of this tokenizer, first, and of others to compare it with.
        groups: running-text measures by group (a language, code) and tokenizer, of a mixture.
        limits: sentences to add to those that every card says.
    """

    name: str
    head: str
    ours: bool
    report: EvaluationReport | None = None
    examples: Sequence[tuple[str, Sequence[str]]] = ()
    restored: tuple[int, int] = (0, 0)
    text: str = ""
    bits: str = ""
    languages: Sequence[str] = field(default=())
    license: str | None = None
    beside: EvaluationReport | None = None
    groups: Mapping[str, Mapping[str, TextScores]] = field(default_factory=dict)
    limits: Sequence[str] = ()


def kept_head(card: str, name: str, data: str | None = None) -> str:
    """What a generated card says before its first section, without its words, with `name` and, if given, `data` put in.

    `data` is what the tokenizer was trained on.
    """
    body = card.split("\n---\n", 1)[-1].split("\n## ", 1)[0].split("\n<!-- ", 1)[0]
    body = re.sub(r"\A# .*", lambda _: f"# {name}", _WORDS.sub("", body))
    body = loaded_by(body, name)
    body = body if data is None else _SOURCE.sub(lambda _: f"| trained on | {data} |", body)
    return body.strip("\n") + "\n"


def plain_head(name: str, vocabulary: int, data: str | None = None, settings: Mapping[str, Any] | None = None) -> str:
    """The head of a tokenizer without an earlier card, from what is known of its training."""
    parts = [_PLAIN.format(name=name, vocabulary=vocabulary)]
    if settings:
        written = [f"{key}={value}" for key, value in settings.items() if isinstance(value, str | int | float)]
        parts.append("Learnt by [mws-hf](https://pypi.org/project/mws-hf/) with `" + ", ".join(written) + "`.\n")
    parts += [f"Trained on {data}.\n"] if data else []
    return "\n".join(parts)


def words_of(card: str) -> list[str]:
    r"""The words that a generated card shows cut.

    >>> words_of("| word | tokens |\n|---|---|\n| cats | cat·s |\n")
    ['cats']
    """
    found = _WORDS.search(card)
    return [row.split(" | ")[0].removeprefix("| ") for row in found[1].splitlines()] if found else []


def measured_card(measured: Measured) -> str:
    """The card's text."""
    sections = [measured.head, *(section(measured) for section in _sections)]
    return f"---\n{metadata(measured)}\n---\n" + "\n".join(section for section in sections if section)


def metadata(measured: Measured) -> str:
    """The YAML at the head, which the Hub reads: language, license, library, tags, model-index with the results."""
    from huggingface_hub import ModelCardData

    data = ModelCardData(
        language=list(measured.languages) or None,
        license=measured.license,
        library_name="transformers",
        tags=[*_TAGS, *(["mws-hf"] if measured.ours else [])],
        model_name=measured.name,
        eval_results=_results(measured) or None,
    )
    return str(data.to_yaml()).strip()


def _results(measured: Measured) -> list[Any]:
    """Every figure of the tables as a `huggingface_hub.EvalResult`."""
    from huggingface_hub import EvalResult

    report = measured.report
    if report is None:
        return []
    found: list[tuple[str, str, str, str, str, float]] = []
    for row in report.rows:
        task = ("token-classification", "Morpheme segmentation", row.gold)
        for kind, title in (("f1", "F1"), ("precision", "precision"), ("recall", "recall")):
            found.append((*task, kind, f"Boundary {title}", getattr(row.scores, kind)))
    for text in report.text.values():
        task = ("text-generation", "Tokenization", measured.text)
        found.append((*task, "bytes_per_token", "Bytes per token", text.bytes_per_token))
        if text.words:
            found.append((*task, "tokens_per_word", "Tokens per word", text.fertility))
    for entry in report.bits.values():
        task = ("text-generation", "n-gram language model of the tokens", measured.text)
        found.append((*task, "bits_per_byte", "Bits per byte", entry.value))
    return [
        EvalResult(
            task_type=task,
            task_name=task_title,
            dataset_type=dataset,
            dataset_name=dataset,
            metric_type=kind,
            metric_name=title,
            metric_value=round(value, 4),
        )
        for task, task_title, dataset, kind, title, value in found
    ]


def _examples(measured: Measured) -> str:
    rows = "".join(f"| {word} | {'·'.join(tokens)} |\n" for word, tokens in measured.examples)
    return f"## Examples\n\n| word | tokens |\n|---|---|\n{rows}" if rows else ""


_GOLD: dict[str, Callable[[GoldRow], str]] = {
    "gold": lambda row: row.gold,
    "F1 (95 %)": lambda row: f"{row.scores.f1:.3f} ({row.interval[0]:.3f}-{row.interval[1]:.3f})",
    "precision": lambda row: f"{row.scores.precision:.3f}",
    "recall": lambda row: f"{row.scores.recall:.3f}",
    "words exact": lambda row: f"{row.scores.exact:.1%}",
    "tokens/word": lambda row: f"{row.scores.tokens_per_word:.2f}",
}


def _boundaries(measured: Measured) -> str:
    """Scores against gold."""
    report = measured.report
    if report is None or not report.rows:
        return ""
    rows = [[cell(row) for cell in _GOLD.values()] for row in report.rows]
    words = ", ".join(f"{gold.name}: {len(gold.words):,} words" for gold in report.golds)
    partial = [gold.name for gold in report.golds if gold.partial]
    warning = f" {', '.join(partial)} marks only one or two boundaries of a word: read the recall." if partial else ""
    about = f"Morpheme boundaries found in words after a space, micro-averaged ({words}).{warning}"
    return f"## Cuts against gold\n\n{about}\n\n{markdown_table(list(_GOLD), rows)}\n"


def _length(measured: Measured) -> str:
    """Measures of running text."""
    report = measured.report
    if report is None or not report.text:
        return ""
    (scores,) = report.text.values()
    figures = {
        "tokens per word": f"{scores.fertility:.3f}" if scores.words else "-",
        "bytes per token": f"{scores.bytes_per_token:.3f}",
        "words in one token": f"{scores.whole_words:.1%}" if scores.words else "-",
        "tokens that are single bytes or parts of characters": f"{scores.byte_tokens:.2%}",
        "lines that decode to what they were": f"{measured.restored[0]:,} of {measured.restored[1]:,}",
    }
    for entry in report.bits.values():
        figures[f"n-gram bits per byte, trained on {measured.bits}"] = f"{entry.value:.4f}"
    about = f"{measured.text}: {scores.bytes:,} bytes"
    return f"## Running text\n\n{about}\n\n{markdown_table(['measure', 'value'], [*map(list, figures.items())])}\n"


def _beside(measured: Measured) -> str:
    """All tokenizers of the comparison, a row each."""
    report = measured.beside
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
    return f"## Beside others\n\n{about}\n\n{markdown_table(header, rows)}\n"


def _groups(measured: Measured) -> str:
    """Length of each group's text, a row a group, a column a tokenizer."""
    if not measured.groups:
        return ""
    names = list(next(iter(measured.groups.values())))
    header = ["group", *(f"{name}, {unit}" for unit in ("tokens per word", "bytes per token") for name in names)]
    rows = [
        [
            group,
            *(f"{scores[name].fertility:.3f}" for name in names),
            *(f"{scores[name].bytes_per_token:.3f}" for name in names),
        ]
        for group, scores in measured.groups.items()
    ]
    return f"## Length by group, on held-out text\n\n{markdown_table(header, rows)}\n"


def _limits(measured: Measured) -> str:
    """What the figures do not say."""
    said = ["Text of other languages, subjects and spellings than it was learnt from takes more tokens."]
    report = measured.report
    if report is not None and report.rows:
        said.append(
            "Boundary scores tell how tokens agree with one annotation of morphemes, not how well a model will do."
        )
    if report is not None and report.bits:
        said.append(
            "n-gram bits per byte are a screening measure: compare them on the same texts only; they do not rank "
            "Unigram as neural models do."
        )
    if measured.restored[0] < measured.restored[1]:
        said.append("Not every text decodes to what it was: see the table.")
    if measured.report is None:
        said.append("Nothing was measured for this card.")
    said += measured.limits
    said.append(f"Figures and examples are by mws_hf {__version__}.")
    return "## Limits\n\n" + "".join(f"* {line}\n" for line in said)


_sections: tuple[Callable[[Measured], str], ...] = (*(_examples, _boundaries, _length, _beside, _groups, _limits),)
