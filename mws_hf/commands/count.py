"""`mws count`: count the words of text, or add up saved counts."""

from __future__ import annotations

from argparse import Namespace

from mws_hf.commands.options import (
    add_output,
    add_setting,
    add_writing,
    parse_bytes,
    parse_size,
)
from mws_hf.commands.outputs import claim_file, show_written
from mws_hf.commands.parser import Parser
from mws_hf.commands.sources import Words
from mws_hf.text.capitals import with_capitals
from mws_hf.text.pattern import DEFAULT_PATTERN, with_digits
from mws_hf.text.phrases import counted

HELP = """
Count the words of text, or add up counts that were saved before. `mws train COUNTS` then trains without reading the
text again.

For example:

    mws count 'corpus/*.txt.gz' --output counts.parquet

    mws count monday.parquet tuesday.parquet --output both.parquet

    mws count 'parts/*.parquet' --min-count 5 --memory-cap 1G --output whole.parquet

    mws count 'corpus/*.txt.gz' --pattern gpt4 --output for-the-classic-criterion.parquet

    mws count ru='ru/*.gz' en='en/*.gz' --output mixture.parquet

    mws train both.parquet --vocab-size 32000 --output my-tokenizer
"""


def add_options(parser: Parser) -> None:
    """Add the arguments and options of the command."""
    Words.add_options(parser)
    add_output(parser, "The file of counts to write (Parquet).")
    add_setting(parser, "pattern", shown="o200k, or the pattern of saved counts")
    for name in ("digits", "normalization", "capitals"):
        add_setting(parser, name)
    add = parser.add_argument
    add(
        "--memory-cap",
        default=2 << 30,
        metavar="BYTES",
        type=parse_bytes,
        help="Move counts to disk when they take more memory than this [default: 2G]; the counts that are written at "
        "the end must always fit into memory.",
    )
    add(
        "--min-count",
        default=1,
        metavar="NUMBER",
        type=parse_size,
        help="Leave out words that occur less often than this in all files together.",
    )
    add_writing(parser)


def run(given: Namespace) -> None:
    """Count text, or add up saved counts, and write the file."""
    words, output, pattern, min_count = Words.of(given), given.output, given.pattern, given.min_count
    claim_file(output, words.paths, force=given.force)
    if given.digits:
        pattern = with_digits(pattern or DEFAULT_PATTERN, given.digits)
    normalization = with_capitals(given.normalization) if given.capitals else given.normalization
    saved = words.source.only_saved if pattern is None and normalization is None else []
    if saved:
        from mws_hf.corpus.counting import merge_files

        counts = merge_files(saved, output, memory_cap=given.memory_cap, min_count=min_count)
    else:
        splitter = words.splitter(pattern, normalization)
        counts = words.count(splitter, memory_cap=given.memory_cap, show_progress=not given.quiet)
        counts = counts.at_least(min_count)
        counts.save(output, words.source.marks())
    sizes = {name: {"types": len(part), "tokens": part.total} for name, part in counts.groups.items()}
    result = {"file": str(output), "types": len(counts.union), "tokens": counts.total}
    lines = [
        f"{output}{', ' if name else ''}{name}: {counted(len(part), 'distinct pre-token')}, {part.total:,} in all"
        for name, part in counts.groups.items()
    ]
    show_written(result | ({"groups": sizes} if counts.is_grouped else {}), "\n".join(lines), given)
