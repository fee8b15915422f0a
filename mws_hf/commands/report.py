"""`mws report`: tokenizers side by side as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mws_hf.atomic import check_output, write_text
from mws_hf.commands.demo import evidence_of
from mws_hf.commands.evaluate import BitsText, Directories, GoldFiles
from mws_hf.commands.outputs import counted, refuse_overwriting
from mws_hf.commands.sources import check_present
from mws_hf.errors import MwSError


def report(
    directories: Directories,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write, such as report.html.")],
    gold: GoldFiles = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="[NAME=]FILE",
            help="Running text, UTF-8, .gz allowed; repeat for more, such as one a language [default: samples].",
        ),
    ] = None,
    bits: BitsText = None,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="The texts are translations of each other, line by line.")
    ] = False,
) -> None:
    """Write a page that shows tokenizers side by side: one HTML file under 1 MB, which asks no network.

    It holds the measures of `mws evaluate`, pictures, how evenly texts in several languages are treated, the words and
    lines that differ most, and every vocabulary to search: each token with its use in the text, the merge that made it,
    and, with --gold, how often it ends at a boundary. Where one of the tokenizers keeps its boundary evidence, as those
    of `mws train` do, each token of all of them has the evidence at its ends and inside it. Without --text and --gold
    the sample texts of the package are measured: sentences in a dozen languages.

    For example:

        mws report mws=out/russian bpe=out/bpe -o report.html

        mws report mws=out/russian spm=bpe.model --text heldout.txt -o report.html

        mws report out/mixture gpt2 --text ru=ru.txt --text en=en.txt --gold rus.tsv --bits train.txt.gz -o report.html
    """
    from mws_hf.tokenizer.hub import named_sources, tokenizer_place

    places = {name: tokenizer_place(place) for name, place in named_sources(directories).items()}
    files = {name: Path(file) for name, file in named_sources(text or []).items()}
    if bits is not None and not files:
        raise MwSError("--bits measures the bits of --text; give that too")
    check_present([*(gold or []), *files.values(), *([bits] if bits else [])])
    refuse_overwriting([output], gold, bits, [str(file) for file in files.values()])
    check_output(output, folder=False)
    from mws_hf.evaluate.running_text import lines_of
    from mws_hf.report.page import open_for_report, report_page
    from mws_hf.text.sample_texts import NATURAL

    opened, sources = open_for_report(places)
    lines: dict[str, list[str]] = {name: lines_of(file) for name, file in files.items()}
    if not gold and not lines:
        lines = {"samples of the package": list(NATURAL)}
    evidence = evidence_of([places[each.name] for each in opened], opened)
    page = report_page(opened, sources, gold or [], lines, bits, parallel, evidence)
    write_text(output, page)
    typer.echo(f"{output}: {len(page.encode()) / 1000:.0f} kB, {counted(len(places), 'tokenizer')}")
