"""`mws count`: count pre-tokens once, save the counts, merge them with others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mws_hf.commands import options
from mws_hf.commands.options import Option
from mws_hf.commands.outputs import claim_file, counted, tell
from mws_hf.commands.sources import Reading, Words
from mws_hf.text.pattern import DEFAULT_PATTERN, with_digits

if TYPE_CHECKING:
    from mws_hf.corpus.summing import Merged


def count_command(
    output: Annotated[Path, Option("--output", "-o", help="The counts file to write (Parquet).")],
    files: options.GroupedFiles = None,
    lexicon: options.Lexicon = None,
    word_list: options.WordList = None,
    lemmas: options.Lemmas = None,
    pattern: options.Pattern = None,
    digits: options.Digits = None,
    normalization: options.Normalization = None,
    column: options.Column = None,
    group_column: options.GroupColumn = None,
    encoding: options.Encoding = "utf-8",
    errors: options.Errors = "strict",
    workers: options.Workers = None,
    memory_cap: Annotated[
        str, Option(metavar="BYTES", help="Spill to disk above this many bytes, such as 500M or 2G.")
    ] = "2G",
    min_count: Annotated[int, Option(min=1, help="Leave out rarer words, once everything is added up.")] = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Count pre-tokens of text, or merge counts made before; train from the result with `mws train COUNTS`.

    For example:

        mws count 'corpus/*.txt.gz' --output counts.parquet

        mws count monday.parquet tuesday.parquet --output both.parquet

        mws count 'parts/*.parquet' --min-count 5 --memory-cap 1G --output whole.parquet

        mws count 'corpus/*.txt.gz' --pattern gpt4 --output for-the-classic-criterion.parquet

        mws count ru='ru/*.gz' en='en/*.gz' --output mixture.parquet

        mws train both.parquet --vocab-size 32000 --output out/mine
    """
    claim_file(output, [options.group_of(name)[1] for name in files or []], word_list, lemmas, force=force)
    cap = options.parse_bytes(memory_cap, "--memory-cap")
    reading = Reading(column, encoding, errors)
    words = Words(files or (), lexicon, word_list or (), lemmas, reading, workers, cap, not quiet, group_column)
    if digits:
        pattern = with_digits(pattern or DEFAULT_PATTERN, digits)  # type: ignore[arg-type]  # checked there
    merged = _merged(words, output, pattern, normalization, cap, min_count)
    sizes = {name: {"types": types, "tokens": tokens} for name, (types, tokens) in merged.groups.items()}
    result = {"file": str(output), "types": merged.types, "tokens": merged.tokens}
    lines = [
        f"{output}{', ' if name else ''}{name}: {counted(types, 'distinct pre-token')}, {tokens:,} in all"
        for name, (types, tokens) in merged.groups.items()
    ]
    tell(result | ({} if "" in sizes else {"groups": sizes}), "\n".join(lines), as_json)


def _merged(
    words: Words, output: Path, pattern: str | None, normalization: str | None, memory_cap: int, min_count: int
) -> Merged:
    """Write the counts of all sources; those of counts alone are never in memory as a whole."""
    from mws_hf.corpus.files import expand_paths
    from mws_hf.corpus.summing import Merged, merge_files

    saved = words.saved_alone if pattern is None and normalization is None else []
    if saved:
        return merge_files(saved, output, memory_cap=memory_cap, min_count=min_count)
    counts = words.gather(pattern, normalization).at_least(min_count)
    counts.save(output, words.source.marks(expand_paths(words.word_lists) if words.word_lists else []))
    return Merged(len(counts.union), counts.total, {name: (len(part), part.total) for name, part in counts.items()})
