"""`mws report`: write an HTML page that shows tokenizers side by side."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from mws_hf.atomic import write_text
from mws_hf.commands.evaluate import check_measured
from mws_hf.commands.options import add_output, add_scoring, add_tokenizers, add_writing
from mws_hf.commands.outputs import claim_file, show_written
from mws_hf.commands.parser import Parser
from mws_hf.text.phrases import counted

if TYPE_CHECKING:
    from mws_hf.report.entries import TrainingEvidence
    from mws_hf.tokenizer.opened import Opened

HELP = """
Write a page that shows tokenizers side by side. It is one HTML file of less than 1 MB, which needs no network.

The page has the measures of `mws evaluate`, the words and lines that are split most differently, and every vocabulary
with a search field. For each token it shows how often the text uses it, and if a tokenizer was saved with boundary
probabilities, also those at the ends of the token and inside it. If you give neither --text nor --gold, the sample
texts of the package are measured: sentences in a dozen languages.

For example:

    mws report mine=my-tokenizer openai-community/gpt2 --output report.html

    mws report mws=out/russian spm=bpe.model --text heldout.txt --output report.html

    mws report out/mixture bpe=out/bpe --text ru=ru.txt --text en=en.txt --bits train.txt.gz --output report.html
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add_tokenizers(parser)
    add_output(parser, "The page to write, such as report.html.")
    text = (
        "Running text in UTF-8, plain or .gz; repeat the option for more, such as one per language [default: samples "
        "of the package]."
    )
    parser.add_argument("--text", action="append", default=[], metavar="[NAME=]FILE", help=text)
    add_scoring(parser)
    parallel = "The texts are translations of each other, line by line."
    parser.add_argument("--parallel", action="store_true", help=parallel)
    add_writing(parser)


def run(given: Namespace) -> None:
    """Measure the tokenizers and write the page."""
    from mws_hf.tokenizer.places import named_sources

    gold, bits, output = given.gold, given.bits, given.output
    named = named_sources(given.tokenizers)
    files = {name: Path(file) for name, file in named_sources(given.text, "texts").items()}
    check_measured(gold, files.values(), bits)
    claim_file(output, gold, bits, [*files.values()], force=given.force)
    from mws_hf.report.page import report_page
    from mws_hf.scoring.running_text import lines_of
    from mws_hf.text.sample_texts import NATURAL
    from mws_hf.tokenizer.opened import open_tokenizer

    systems = [open_tokenizer(place, by_class=True, name=name) for name, place in named.items()]
    lines: dict[str, list[str]] = {name: lines_of(file) for name, file in files.items()}
    if not gold and not lines:
        lines = {"samples of the package": list(NATURAL)}
    page = report_page(systems, gold, lines, bits, given.parallel, evidence_of(systems))
    write_text(output, page)
    result = {"file": str(output), "bytes": len(page.encode()), "tokenizers": list(named)}
    summary = f"{output}: {len(page.encode()) / 1000:.0f} kB, {counted(len(systems), 'tokenizer')}"
    show_written(result, summary, given)


def evidence_of(systems: list[Opened]) -> TrainingEvidence | None:
    """Return the saved boundary probabilities of the first tokenizer that has some; None if no tokenizer has any."""
    from mws_hf.learn.evidence_file import read_evidence
    from mws_hf.report.entries import TrainingEvidence

    for opened in systems:
        if kept := read_evidence(opened):
            return TrainingEvidence(kept, opened.spec.pattern or "", f"training words of {opened.name}")
    return None
