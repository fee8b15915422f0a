"""`mws compare`: train MwS and its rivals on one corpus over vocabulary sizes and score them all."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

from mws_hf.atomic import output_lock
from mws_hf.commands import options
from mws_hf.commands.options import Argument, Option
from mws_hf.commands.outputs import aligned, claim_folder, counted, tell
from mws_hf.commands.sources import Reading, Words, check_scored
from mws_hf.errors import MwSError


def compare_command(
    output: Annotated[Path, Option("--output", "-o", help="Folder for results, the picture and the tokenizers.")],
    vocab_size: Annotated[
        list[str],
        Option(metavar="SIZES", help="Sizes: 8k,32k or repeated; further bare numbers are sizes too."),
    ],
    corpus: Annotated[
        list[str] | None,
        Argument(metavar="CORPUS...", help=f"{options.INPUTS}, or counts from `mws count`."),
    ] = None,
    gold: options.GoldFiles = None,
    text: options.Text = None,
    bits: options.BitsText = None,
    systems: Annotated[
        list[str] | None,
        Option(
            help="Systems of the list above, comma-separated [default: most; morfessor up to 30,000 different words]."
        ),
    ] = None,
    lexicon: options.Lexicon = None,
    no_picture: Annotated[bool, Option("--no-picture", help="Tables only.")] = False,
    column: options.Column = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
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

        mws compare corpus.txt --gold rus.tsv --vocab-size 1000 2000 4000 8000 --output out/rus

        mws compare 'corpus/*.gz' --gold a.tsv --gold b.tsv --vocab-size 8k,32k --text heldout.txt --output out/both

        mws compare corpus.txt --text heldout.txt --bits corpus.txt --vocab-size 32k --output out/length

        mws compare --lexicon ru --gold rus.tsv --vocab-size 8000 --systems mws,bpe,unigram:types --output out/lexicon
    """
    gold = gold or []
    if not gold and text is None:
        raise MwSError("nothing to compare by: give gold segmentations (--gold FILE), text (--text FILE) or both")
    files, further = _sizes_apart(corpus or [])
    numbers = [each for words in (*vocab_size, *further) for each in words.split(",") if each.strip()]
    sizes = sorted({options.parse_size(each, "--vocab-size") for each in numbers})
    reading = Reading(column)
    others = [*filter(None, [text, bits])]
    sources = Words(files, lexicon, reading=reading, show_progress=not quiet, also=others)
    check_scored(gold, [text], bits)
    claim_folder(output, files, gold, text, bits, force=force, own=("results.*", "picture.png"))
    if gold and not no_picture and importlib.util.find_spec("matplotlib") is None:
        raise MwSError("the picture needs matplotlib: pip install matplotlib, or give --no-picture")
    sources.check(None, None)
    from mws_hf.compare import compare as run_comparison
    from mws_hf.compare import parse_systems
    from mws_hf.compare.results import summary
    from mws_hf.evaluate.running_text import read_lines

    specs = parse_systems(systems) if systems else None
    with output_lock(output):
        counts = sources.gather(None, None).union
        result = run_comparison(
            counts, gold, sizes, output, systems=specs, picture=not no_picture, show_progress=not quiet,
            text=None if text is None else read_lines(text, reading),
            bits=None if bits is None else read_lines(bits, reading),
        )  # fmt: skip
    record = {"output": str(output), "tokenizers": len(result.tokenizers), "rows": len(result.rows)}
    where = f"{output / 'results.md'}: {counted(len(result.systems), 'system')}, {counted(len(result.sizes), 'size')}"
    tell(record, f"{aligned(summary(result))}\n\n{where}", as_json)


def _sizes_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """Separate files from numbers, because ``--vocab-size 1000 2000`` leaves 2000 among the files.

    >>> _sizes_apart(["corpus.txt", "2000", "4k"])
    (['corpus.txt'], ['2000', '4k'])
    """
    numbers = [word for word in words if word.rstrip("kKmM").isdecimal() and not Path(word).exists()]
    return [word for word in words if word not in numbers], numbers
