"""Minimal pairs of inflection and word formation: fetch RuBLiMP's and TurBLiMP's, judge tokenizers by n-gram models.

    python scripts/minimal_pairs.py fetch --cache out/pairs          # from GitHub, or --from a folder with both clones
    python scripts/minimal_pairs.py ngrams --data DATA --cache out/pairs --output out/map --language rus

The pairs are downloaded, never part of this project; each file is checked against the digest git has for it. Every
tokenizer learns from all training lines of the language, the n-gram model from the first 16 MB (`ngram_map.py`).
RuBLiMP's own sentences, which are among the Russian text, are in neither. Writes scripts/results/minimal_pairs.json
and .md. Language models are judged by `python -m lm judge RUN FILES`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from lm.minimal_pairs import accuracies, accuracy_difference, ngram_judge, read_pairs, to_dict, won
from ngram_map import NOT_FOR_MODELS, SLICES, first, parts_of, trained
from systems import UNIGRAM

from mws_hf.atomic import atomic_path, write_text
from mws_hf.corpus.counting import count_documents
from mws_hf.errors import MwSError
from mws_hf.text.markdown import markdown_table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "scripts" / "results" / "minimal_pairs.json"
SYSTEMS = ("bpe", "bpe-byte", "mws", "mws-morphs", UNIGRAM, "unigram")

SOURCES: dict[str, tuple[str, dict[str, str]]] = {
    "rus": (
        "RussianNLP/RuBLiMP/9f0d8dfa993b2c0f0acf12660258540376779543",
        {
            "datasets/add_new_suffix.csv": "31c5a50b20d30b1a3a99b840afa9dcd7c87d9278",
            "datasets/add_verb_prefix.csv": "5583a25692d3aac1fe83226d27949e983649ffd0",
            "datasets/change_verb_prefixes_order.csv": "cb335b5365f6d516636330fa032761fe49788d22",
            "datasets/change_declension_ending.csv": "941f920dcb09156ed0f01f9143011ba7ea067016",
            "datasets/change_declension_ending_has_dep.csv": "55b72cc1dbb46d7afbd5bd808332a8ef5eb1c73d",
            "datasets/change_verb_conjugation.csv": "86c10cee86d6729d145703f0cd2cb4965f2ddc2c",
        },
    ),
    "tur": (
        "ezgibasar/TurBLiMP/297de13fb7a0ce524fe32e8b175c6b5255d66960",
        {
            "data/base/augmented_irregular_forms.csv": "851918c92d522a0707a6dc52f9ba0e0849d1c2d8",
            "data/base/augmented_nominalization.csv": "6b0b401b90fd28025e5fbdc437555bc4012481ed",
            "data/base/augmented_suspended_affixation.csv": "686bacc30c7f7b0f0988b695040753e5f4150fd6",
        },
    ),
}
"""By language: repository and commit, and git's digest of each file: the paradigms of word formation and inflection."""


def fetch(language: str, cache: Path, base: str) -> list[Path]:
    """The files of a language, downloaded unless they are there.

    Args:
        language: a key of `SOURCES`.
        cache: folder to keep them in.
        base: address that OWNER/NAME/COMMIT/PATH is added to; of a folder, file:///folder.

    Raises:
        MwSError: a file cannot be had, or is another than expected.
    """
    commit, files = SOURCES[language]
    paths = []
    for path, digest in files.items():
        file = cache / language / Path(path).name
        if not file.is_file():
            address = f"{base.rstrip('/')}/{commit}/{path}"
            try:
                with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  (the caller's own address)
                    content = answer.read()
            except OSError as error:
                raise MwSError(f"{address}: cannot be fetched ({error}); check the network, or give --from") from error
            found = git_digest(content)
            if found != digest:
                raise MwSError(f"{address}: another file than expected (digest {found}, not {digest})")
            file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(file) as temporary:
                temporary.write_bytes(content)
        paths.append(file)
    return paths


def git_digest(content: bytes) -> str:
    """What git names a file's content by.

    >>> git_digest(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def measure(language: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Accuracies of each system, and their differences to BPE's on the same pairs, in percentage points."""
    pairs = read_pairs(fetch(language, arguments.cache, arguments.source))
    lines, _ = parts_of(arguments.data, language)
    text = [line.rstrip("\n") for line in first(lines, SLICES["16 MB"]) or lines]  # no pair ends with a line break
    counts, points, found = None, {}, {}
    for system in arguments.systems:
        folder = arguments.output / language
        if counts is None and not (folder / f"{system}-{arguments.size}" / "tokenizer.json").is_file():
            counts = count_documents(lines)
        margins = ngram_judge(trained(counts, system, arguments.size, folder), text, pairs)
        points[system] = won(margins)
        found[system] = {"accuracy": to_dict(accuracies(pairs, margins))}
        found[system]["against_bpe"] = accuracy_difference(pairs, points[system], points["bpe"])
        print(f"{language} {system} {points[system].mean():.3f}", file=sys.stderr, flush=True)
    return {"size": arguments.size, "train_bytes": sum(len(line.encode()) for line in text), "systems": found}


def markdown(found: dict[str, Any]) -> str:
    """A table a language."""
    parts = [
        "Minimal pairs under n-gram models (modified Kneser-Ney over each tokenizer's tokens): share of pairs whose "
        "right sentence is the more probable, in per cent; the last column is the difference to BPE on the same pairs, "
        "in points. 95 % intervals; pairs that show the same change are not independent and go together. No neural "
        "model: the context is at most four tokens. Written by scripts/minimal_pairs.py; Russian without "
        f"{', '.join(NOT_FOR_MODELS)}."
    ]
    for language, entry in found.items():
        shared = next(iter(entry["systems"].values()))["accuracy"]
        names = list(shared)
        header = ["system", *(f"{name}, {shared[name]['changes']} changes" for name in names), "against bpe"]
        rows = []
        for system, values in entry["systems"].items():
            cells = [values["accuracy"][name] for name in names]
            shown = [f"{100 * c['value']:.1f} ({100 * c['low']:.1f} to {100 * c['high']:.1f})" for c in cells]
            rows.append(
                [system, *shown, "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * x for x in values["against_bpe"]))]
            )
        size = f"{entry['size']:,} entries, {entry['train_bytes'] / 1e6:.0f} MB"
        parts.append(f"## {language}, {size}\n\n" + markdown_table(header, rows))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fetch", "ngrams"))
    parser.add_argument("--cache", type=Path, default=Path("out/pairs"))
    parser.add_argument("--from", dest="source", default="https://raw.githubusercontent.com", help="or file:///FOLDER")
    parser.add_argument("--language", nargs="*", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--output", type=Path, default=Path("out/map"), help="tokenizers, as those of ngram_map.py")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=SYSTEMS, help="BPE must be first")
    parser.add_argument("--size", type=int, default=8000)
    arguments = parser.parse_args()
    for language in arguments.language:
        if arguments.what == "fetch":
            print(*fetch(language, arguments.cache, arguments.source), sep="\n")
            continue
        found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
        found[language] = measure(language, arguments)
        write_text(RESULTS, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        write_text(RESULTS.with_suffix(".md"), markdown(found))


if __name__ == "__main__":
    try:
        main()
    except MwSError as error:
        sys.exit(f"error: {error}")
