"""`mws evaluate`, `compare`, `report` and `segment`: how tokenizers cut words and text, scored, pictured, printed."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mws_hf.atomic import output_lock, write_text
from mws_hf.commands import options
from mws_hf.commands.options import Writing, argument, made, option, parse_size
from mws_hf.commands.outputs import aligned, claim_file, claim_folder, counted, tell
from mws_hf.commands.sources import Words
from mws_hf.errors import MissingTokenizerError, MwSError, printable

if TYPE_CHECKING:
    from mws_hf.report.entries import TrainingEvidence
    from mws_hf.tokenizer.opened import Opened

_logger = logging.getLogger(__name__)


def evaluate_command(
    directories: Sequence[str] = options.TOKENIZERS,
    gold: Sequence[Path] = options.GOLD,
    text: Path | None = options.TEXT,
    bits: Path | None = options.BITS,
    column: str | None = options.COLUMN,
    quiet: bool = options.QUIET,
    as_json: bool = options.JSON,
) -> None:
    """Score tokenizers against gold morpheme segmentations, and on running text.

    Works for any Hugging Face tokenizer, in a directory or on the Hub, for a tokenizer.json by itself, and for a
    SentencePiece model. A Morfessor model saved as text (pip install morfessor) and a file of segmentations,
    word<TAB>pieces, cut words alone: they are scored on gold, not on text.

    Gold formats, found from the content: word<TAB>m1 m2, SIGMORPHON 2022, Morpho Challenge,
    NeuralMorphemeSegmentation, MorphScore CSV, MorphyNet. Lines whose morphs do not spell the word are counted and
    shown, never used.

    `--bits TRAIN` trains an n-gram model on the tokens of TRAIN, for each tokenizer, and gives the bits per UTF-8 byte
    of `--text` under it. Neither the tokenizers nor TRAIN should have seen the text. This is a screening measure: it
    takes seconds and no seeds.

    For example:

        mws evaluate my-tokenizer --gold rus.tsv

        mws evaluate gpt2 mine=./my-tokenizer --text heldout.txt

        mws evaluate mws=./mws-8k bpe=./bpe-8k --gold rus.tsv --gold fin.tsv --text heldout.txt

        mws evaluate bpe=./bpe-8k mws=./mws-8k --text heldout.txt --bits train.txt.gz

        mws evaluate my-tokenizer --gold rus.tsv --json > scores.json

    A terminal shows five columns, `| cat` all. docs/score.md says what each one means.
    """
    from mws_hf.tokenizer.opened import open_tokenizer
    from mws_hf.tokenizer.places import named_sources

    sources = named_sources(directories)
    _check_measured(gold, [text], bits, needed="score on")
    named = {name: open_tokenizer(source, by_class=True) for name, source in sources.items()}
    from mws_hf.scoring.evaluation import evaluate as run_evaluation
    from mws_hf.scoring.evaluation import json_text

    report = run_evaluation(named, gold, text, bits=bits, column=column)
    for entry in [] if quiet else report.golds:
        if entry.problems:
            _logger.warning("%s: %d of %s left out", entry.name, len(entry.problems), counted(entry.lines, "line"))
        for problem in entry.problems[:5]:
            _logger.warning("left out: %s", problem)
    if as_json:
        result = json_text(report.to_dict(), indent=2)
    elif sys.stdout.isatty():
        short = ((table, table.short()) for table in report.tables())
        result = "\n".join(f"{t.title}: {t.about}\n{aligned([s.header, *s.rows])}\n" for t, s in short)
    else:
        result = report.to_markdown()
    print(printable(result, keep="\n\t"), end="")


def _check_measured(gold: Sequence[Path], texts: Iterable[Path | None], bits: Path | None, needed: str = "") -> None:
    """Refuse a missing gold file or text, and bits of no text, before anything is counted, trained or scored.

    `needed` says what at least one of them is for.
    """
    given = [path for path in texts if path is not None]
    if needed and not gold and not given:
        raise MwSError(f"nothing to {needed}: give gold segmentations (--gold FILE), text (--text FILE) or both")
    if bits is not None and not given:
        raise MwSError("--bits measures the bits of --text; give that too")
    for path in [*gold, *given, *filter(None, [bits])]:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no such file"
            raise MwSError(f"{path}: {what}; give a gold file to --gold and a file of running text to --text")


def _sizes(text: str) -> list[int]:
    return [parse_size(each) for each in text.split(",") if each.strip()]


def compare_command(
    output: Path = option("Folder for results, the picture and the tokenizers.", names="--output -o"),
    vocab_size: Sequence[list[int]] = option("Sizes: 8k,32k or repeated.", metavar="SIZES", read=_sizes),
    corpus: Sequence[str] = argument(f"{options.INPUTS}, or counts from `mws count`.", metavar="CORPUS..."),
    *,
    gold: Sequence[Path] = options.GOLD,
    text: Path | None = options.TEXT,
    bits: Path | None = options.BITS,
    systems: Sequence[str] = option(
        "Systems of the list above, comma-separated [default: most; morfessor up to 30,000 different words].", ()
    ),
    writing: Writing,
) -> None:
    """Compare MwS with BPE, WordPiece, Unigram, SentencePiece and Morfessor on the same words.

    With --gold where they cut, with --text how long text becomes, with --bits too its n-gram bits per byte. The table
    printed is of the largest size; results.md has all. Gold files are read for scoring alone. Each tokenizer has a
    folder in OUTPUT/tokenizers: what is there, of the same words, is not trained again. All systems and the picture
    need `pip install sentencepiece morfessor matplotlib`.

    Systems: mws is what `mws train` makes, mws-morphs the same with --composition 0, mws-classic with --criterion
    classic. Rivals: bpe (or bpe-byte: byte-level BPE), bpe-character, bpe-end-of-word, bpe-low-line, morph-bpe,
    wordpiece, wordpiece-likelihood, wordpiece-top-down, unigram, sentencepiece-bpe, sentencepiece-unigram,
    sentencepiece-unigram-identity, morfessor, morfessor-frequent, characters, words. NAME:text learns words by how
    often they occur, NAME:types each word once; a bare name is NAME:types for mws and morfessor, else NAME:text.

    For example:

        mws compare corpus.txt --gold rus.tsv --vocab-size 1k,2k,4k,8k --output out/rus

        mws compare 'corpus/*.gz' --gold a.tsv --gold b.tsv --vocab-size 8k,32k --text heldout.txt --output out/both

        mws compare corpus.txt --text heldout.txt --bits corpus.txt --vocab-size 32k --output out/length

        mws compare counts.parquet --gold rus.tsv --vocab-size 8000 --systems mws,bpe,unigram:types --output out/types
    """
    _check_measured(gold, [text], bits, needed="compare by")
    sizes = sorted({size for sizes in vocab_size for size in sizes})
    claim_folder(output, corpus, gold, text, bits, force=writing.force, own=("results.*", "picture.png"))
    from mws_hf.compare import compare as run_comparison
    from mws_hf.compare import parse_systems
    from mws_hf.compare.results import summary
    from mws_hf.scoring.running_text import lines_of

    specs = parse_systems(systems) if systems else None
    lines, of_bits = (None if file is None else lines_of(file) for file in (text, bits))
    with output_lock(output):
        words = made(Words, files=corpus)
        counts = words.count(words.splitter(), show_progress=not writing.quiet).union
        result = run_comparison(
            counts, gold, sizes, output, systems=specs, show_progress=not writing.quiet,
            text=lines, bits=of_bits,
        )  # fmt: skip
    record = {"output": str(output), "tokenizers": len(result.tokenizers), "rows": len(result.rows)}
    where = f"{output / 'results.md'}: {counted(len(result.systems), 'system')}, {counted(len(result.sizes), 'size')}"
    tell(record, f"{aligned(summary(result))}\n\n{where}", writing.as_json)


def report(
    directories: Sequence[str] = options.TOKENIZERS,
    output: Path = option("The page to write, such as report.html.", names="--output -o"),
    *,
    gold: Sequence[Path] = options.GOLD,
    text: Sequence[str] = option(
        "Running text, UTF-8, .gz allowed; repeat for more, such as one a language [default: samples].",
        (),
        metavar="[NAME=]FILE",
    ),
    bits: Path | None = options.BITS,
    parallel: bool = option("The texts are translations of each other, line by line.", False),
    writing: Writing,
) -> None:
    """Write a page that shows tokenizers side by side: one HTML file under 1 MB, which asks no network.

    It holds the measures of `mws evaluate`, the words and lines that differ most, and every vocabulary to search, with
    the use of each token and the evidence at its ends where a tokenizer keeps it. Without --text and --gold the sample
    texts of the package are measured: sentences in a dozen languages.

    For example:

        mws report mws=out/russian bpe=out/bpe -o report.html

        mws report mws=out/russian spm=bpe.model --text heldout.txt -o report.html

        mws report out/mixture gpt2 --text ru=ru.txt --text en=en.txt --gold rus.tsv --bits train.txt.gz -o report.html
    """
    from mws_hf.tokenizer.places import named_sources

    named = named_sources(directories)
    files = {name: Path(file) for name, file in named_sources(text).items()}
    _check_measured(gold, files.values(), bits)
    claim_file(output, gold, bits, [*files.values()], force=writing.force)
    from mws_hf.report.page import report_page
    from mws_hf.scoring.running_text import lines_of
    from mws_hf.text.sample_texts import NATURAL
    from mws_hf.tokenizer.opened import open_tokenizer

    systems = [open_tokenizer(place, by_class=True, name=name) for name, place in named.items()]
    lines: dict[str, list[str]] = {name: lines_of(file) for name, file in files.items()}
    if not gold and not lines:
        lines = {"samples of the package": list(NATURAL)}
    page = report_page(systems, gold, lines, bits, parallel, evidence_of(systems))
    write_text(output, page)
    result = {"file": str(output), "bytes": len(page.encode()), "tokenizers": list(named)}
    said = f"{output}: {len(page.encode()) / 1000:.0f} kB, {counted(len(systems), 'tokenizer')}"
    tell(result, said, writing.as_json)


def evidence_of(systems: list[Opened]) -> TrainingEvidence | None:
    """Read the evidence that the first tokenizer keeps which has any; None where none has."""
    from mws_hf.learn.training_evidence import read_evidence
    from mws_hf.report.entries import TrainingEvidence

    for opened in systems:
        if kept := read_evidence(opened):
            return TrainingEvidence(kept, opened.spec.pattern or "", f"words of {opened.name}")
    return None


def segment(
    tokenizer: str = options.TOKENIZER,
    words: Sequence[str] = argument("Words or text; read from stdin when none, or -, is given.", ()),
    separator: str = option("What to print between morphs.", "·"),
    as_json: bool = options.JSON,
) -> None:
    """Print words cut into morphs, `пере·пис·ыва·ющ·ая·ся`; each word is taken as one inside a sentence.

    For example:

        mws segment out/russian переписывающаяся подводник

        cat text.txt | mws segment out/russian --separator ' '
    """
    from mws_hf.text.symbols import SURROGATE
    from mws_hf.tokenizer.opened import open_tokenizer

    try:
        opened = open_tokenizer(tokenizer, by_class=True)
    except MissingTokenizerError as error:
        if words or Path(tokenizer).exists():
            raise
        raise MwSError(f"{error}; the first word names the tokenizer: mws segment DIR {tokenizer}") from error
    for line in words if [*words] not in ([], ["-"]) else _stdin_lines():
        if SURROGATE.search(line):
            raise MwSError(f"argument {line!r} is not valid text in this locale; give it in UTF-8, or on stdin")
        pieces = opened.cut(line.split())
        tell({"text": line, "words": pieces}, " ".join(separator.join(word) for word in pieces), as_json)


def _stdin_lines() -> Iterator[str]:
    """Read lines of standard input, which is UTF-8 whatever the locale."""
    if sys.stdin is None:
        raise MwSError("standard input is closed; give words, or send text to it")
    from mws_hf.corpus.octets import decoded_lines
    from mws_hf.corpus.place import about

    with about("-"):
        for line in decoded_lines(sys.stdin.buffer):
            yield line.rstrip("\r\n")
