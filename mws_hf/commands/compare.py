"""`mws compare`: train MwS and other tokenizers on the same words, and score all of them."""

from __future__ import annotations

import os
import re
from argparse import ArgumentTypeError, Namespace

from mws_hf.atomic import output_lock
from mws_hf.commands.evaluate import check_measured
from mws_hf.commands.options import INPUTS_OR_COUNTS, add_output, add_scoring, add_text, add_writing, parse_size
from mws_hf.commands.outputs import aligned, claim_folder, show_written
from mws_hf.commands.parser import Parser
from mws_hf.commands.sources import Words
from mws_hf.errors import MwSError
from mws_hf.text.phrases import counted

HELP = """
Train MwS, BPE, WordPiece, Unigram, SentencePiece and Morfessor on the same words, and score all of them.

Give --gold to compare where they split words, --text to compare how many tokens a text has, and --bits to compare the
n-gram bits per byte of that text. Files of --gold are used for scoring only. The command prints the table of the
largest size; results.md has all tables. Each tokenizer gets a folder in OUTPUT/tokenizers. If you run the command
again, tokenizers that were trained on the same words are kept. Training all systems takes minutes even on small texts;
you can choose some with --systems. All systems and the picture need `pip install sentencepiece morfessor matplotlib`.

Systems: mws is the tokenizer of `mws train`, mws-morphs the same with --composition 0, and mws-classic the same with
--criterion classic. Baselines: bpe (or bpe-byte: byte-level BPE), bpe-character, bpe-end-of-word, bpe-low-line,
morph-bpe, wordpiece, wordpiece-likelihood, wordpiece-top-down, unigram, sentencepiece-bpe, sentencepiece-unigram,
sentencepiece-unigram-identity, morfessor, morfessor-frequent, characters, words. NAME:text learns words by how often
they occur, NAME:types learns each distinct word once. Without either, mws and morfessor learn types, and all others
text.

For example:

    mws compare corpus.txt --gold rus.tsv --vocab-size 1k,2k,4k,8k --output out/rus

    mws compare 'corpus/*.gz' --gold a.tsv --gold b.tsv --vocab-size 8k,32k --text heldout.txt --output out/both

    mws compare corpus.txt --text heldout.txt --bits corpus.txt --vocab-size 32k --output out/length

    mws compare counts.parquet --gold rus.tsv --vocab-size 8000 --systems mws,bpe,unigram:types --output out/types
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    add = parser.add_argument
    add("corpus", nargs="+", metavar="CORPUS...", help=f"{INPUTS_OR_COUNTS}.")
    add_output(parser, "The folder for results, the picture and the tokenizers.")
    size = "Vocabulary sizes, such as 8k,32k; repeat the option for more."
    add("--vocab-size", required=True, action="append", default=[], type=_sizes, metavar="SIZES", help=size)
    add_text(parser)
    add_scoring(parser)
    systems = (
        "Systems to compare, from the list above, separated by commas [default: most of them; morfessor only with up "
        "to 30,000 distinct words]."
    )
    add("--systems", action="append", default=[], metavar="NAMES", help=systems)
    add_writing(parser)


def _sizes(text: str) -> list[int]:
    """Parse sizes between commas; a number with a comma before each three digits (8,192) is an error."""
    first, _, rest = text.partition(",")
    if first.isdigit() and int(first) < 256 and re.fullmatch(r"\d{3}(,\d{3})*", rest):
        raise ArgumentTypeError(f"{text!r} would be several sizes; write {text.replace(',', '')} without commas")
    return [parse_size(size) for size in text.split(",") if size.strip()]


def _check_not_systems(missing: list[str]) -> None:
    """Raise MwSError if a missing file has the name of a system, as in ``--systems mws bpe`` without a comma."""
    if not missing:
        return
    from mws_hf.compare.systems import is_system  # here, because it imports all baselines

    if name := next(filter(is_system, missing), None):
        raise MwSError(f"{name}: is a system and not a file; write the systems with commas: --systems mws,{name}")


def run(given: Namespace) -> None:
    """Train and score the systems, and write the output folder."""
    gold, text, bits, output = given.gold, given.text, given.bits, given.output
    _check_not_systems([name for name in given.corpus if not os.path.exists(name)])
    check_measured(gold, [text], bits, needed="compare by")
    sizes = sorted({size for sizes in given.vocab_size for size in sizes})
    claim_folder(output, given.corpus, gold, text, bits, force=given.force, results=("results.*", "picture.png"))
    from mws_hf.compare import compare as run_comparison
    from mws_hf.compare import parse_systems
    from mws_hf.compare.results import summary
    from mws_hf.scoring.running_text import lines_of

    specs = parse_systems(given.systems) if given.systems else None
    lines, of_bits = (None if file is None else lines_of(file) for file in (text, bits))
    with output_lock(output):
        words = Words(files=given.corpus)
        counts = words.count(words.splitter(), show_progress=not given.quiet).union
        result = run_comparison(
            counts, gold, sizes, output, systems=specs, show_progress=not given.quiet,
            text=lines, bits=of_bits,
        )  # fmt: skip
    record = {"output": str(output), "tokenizers": len(result.tokenizers), "rows": len(result.rows)}
    where = f"{output / 'results.md'}: {counted(len(result.systems), 'system')}, {counted(len(result.sizes), 'size')}"
    show_written(record, f"{aligned(summary(result))}\n\n{where}", given)
