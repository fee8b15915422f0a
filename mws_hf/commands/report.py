"""`mws report`: tokenizers side by side as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mws_hf.atomic import write_text
from mws_hf.commands import options
from mws_hf.commands.options import Option
from mws_hf.commands.outputs import claim_file, counted
from mws_hf.commands.sources import check_scored

if TYPE_CHECKING:
    from mws_hf.report.entries import TrainingEvidence
    from mws_hf.tokenizer.opened import Opened


def report(
    directories: options.Tokenizers,
    output: Annotated[Path, Option("--output", "-o", help="The page to write, such as report.html.")],
    gold: options.GoldFiles = None,
    text: Annotated[
        list[str] | None,
        Option(
            metavar="[NAME=]FILE",
            help="Running text, UTF-8, .gz allowed; repeat for more, such as one a language [default: samples].",
        ),
    ] = None,
    bits: options.BitsText = None,
    parallel: Annotated[
        bool, Option("--parallel", help="The texts are translations of each other, line by line.")
    ] = False,
    force: options.Force = False,
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
    from mws_hf.tokenizer.places import named_sources

    named = named_sources(directories)
    files = {name: Path(file) for name, file in named_sources(text or []).items()}
    check_scored(gold, files.values(), bits)
    claim_file(output, gold, bits, [*files.values()], force=force)
    from mws_hf.evaluate.running_text import lines_of
    from mws_hf.report.page import report_page
    from mws_hf.text.sample_texts import NATURAL
    from mws_hf.tokenizer.opened import open_tokenizer

    systems = [open_tokenizer(place, by_class=True, name=name) for name, place in named.items()]
    lines: dict[str, list[str]] = {name: lines_of(file) for name, file in files.items()}
    if not gold and not lines:
        lines = {"samples of the package": list(NATURAL)}
    page = report_page(systems, gold or [], lines, bits, parallel, evidence_of(systems))
    write_text(output, page)
    print(f"{output}: {len(page.encode()) / 1000:.0f} kB, {counted(len(systems), 'tokenizer')}")


def evidence_of(systems: list[Opened]) -> TrainingEvidence | None:
    """Read the evidence that the first tokenizer keeps which has any; None where none has."""
    from mws_hf.learn.any_word import read_evidence
    from mws_hf.report.entries import TrainingEvidence

    for opened in systems:
        if opened.evidence_folder is not None and (kept := read_evidence(opened.evidence_folder, opened.backend)):
            return TrainingEvidence(kept, opened.spec.pattern or "", f"words of {opened.name}")
    return None
