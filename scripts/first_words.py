"""README's table of words: cut by byte-level BPE and by the ready tokenizer of the language, 32,000 entries each.

    python scripts/first_words.py                            # cut again by the tokenizers of model_cards/
    python scripts/first_words.py --data ../shared/data      # train BPE anew too, on the same text; two minutes

The words are the first three of each language in `pretrained_sources.py`, written there before any was cut. Writes
scripts/results/words.json and words.md; then run `python scripts/docs_tables.py`, which puts the table into README.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pretrained_index import CARDS
from pretrained_sources import WORDS, texts_of

from mws_hf.atomic import write_text
from mws_hf.compare import rivals
from mws_hf.corpus.counting import count_documents
from mws_hf.evaluate.segment import segment_words
from mws_hf.text.markdown import markdown_table
from mws_hf.tokenizer.opened import open_tokenizer

LANGUAGES = {"en": "English", "fi": "Finnish", "tr": "Turkish", "ru": "Russian"}
SHOWN = {language: tuple(WORDS[language].split()[:3]) for language in LANGUAGES}
SIZE = 32_000
RESULTS = Path(__file__).parent / "results" / "words.json"


def our_cuts(language: str, cards: Path = CARDS) -> list[str]:
    """Cut a language's words by its ready tokenizer."""
    encoder = open_tokenizer(cards / f"mws-{language}-32k", by_class=True)
    return ["·".join(pieces) for pieces in segment_words(encoder, list(SHOWN[language]))]


def bpe_cuts(language: str, data: Path) -> list[str]:
    """Cut a language's words by byte-level BPE of the size and the training text of its ready tokenizer."""
    training, _ = texts_of(language, data, share_alike=language == "tr")
    rival = rivals.train("bpe-byte", count_documents(training), SIZE)
    return ["·".join(rival.segment(word)) for word in SHOWN[language]]


def table(bpe: dict[str, list[str]], ours: dict[str, list[str]]) -> str:
    """Format the rows of README in Markdown."""
    rows = [
        [about if number == 0 else "", word, bpe[language][number], ours[language][number]]
        for language, about in LANGUAGES.items()
        for number, word in enumerate(SHOWN[language])
    ]
    return markdown_table(["", "word", "byte-level BPE", "MwS, default"], rows).replace("---:", "---")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder whose `text` BPE is trained on; without it its cuts stay")
    arguments = parser.parse_args()
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    bpe = {each: bpe_cuts(each, arguments.data) for each in LANGUAGES} if arguments.data else stored["bpe"]
    ours = {each: our_cuts(each) for each in LANGUAGES}
    found = {"entries": SIZE, "words": SHOWN, "bpe": bpe, "ours": ours}
    write_text(RESULTS, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    write_text(RESULTS.with_suffix(".md"), f"# Words\n\n{table(bpe, ours)}\n")
    print(table(bpe, ours))


if __name__ == "__main__":
    main()
