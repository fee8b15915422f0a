"""Trainers of BPE side by side: the same text file to a file on disk, each in a process of its own, in turn.

    python scripts/trainers.py corpus.txt --python VENV/bin/python [--vocab-size 32000] [--rounds 3]

VENV has rustbpe, ffbpe, gigatoken, sentencepiece and tokenizers 0.x by pip; what it lacks is named. Times are medians
of rounds, whole processes. Ours is `mws train`, contextual and with `--composition 1 --hidden-boundary-price 0`; its
kernels are compiled before. Writes scripts/results/trainers.json, an entry a text and size, and trainers.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from race import in_turn, keep

from mws_hf.text.pattern import DEFAULT_PATTERN

RESULTS = Path(__file__).parent / "results" / "trainers.json"
HEAD = "import sys, json; text, out, size, pattern = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]\n"
THEIRS = {
    "tokenizers BpeTrainer, bytes": """
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
t = Tokenizer(models.BPE())
cut = pre_tokenizers.Split(Regex(pattern), "isolated")
t.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(False, use_regex=False)])
alphabet = pre_tokenizers.ByteLevel.alphabet()
t.train([text], trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
t.save(out)""",
    "rustbpe": """
import rustbpe, pickle
t = rustbpe.Tokenizer()
with open(text, encoding="utf-8") as lines:
    t.train_from_iterator(lines, size, pattern=pattern)
pickle.dump(t.get_mergeable_ranks(), open(out, "wb"))""",
    "ffbpe (its own pattern)": """
import ffbpe
with open(text, encoding="utf-8") as lines:
    ffbpe.train_bpe(lines, vocab_size=size).save_files(out + ".json", out + ".txt")""",
    "gigatoken train_bpe (GPT-2's pattern)": """
import gigatoken, pickle
pickle.dump(gigatoken.train_bpe(gigatoken.TextFileSource([text]), size, []), open(out, "wb"))""",
    "SentencePiece BPE (its own rules)": """
import sentencepiece
sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=out, vocab_size=size, model_type="bpe",
    character_coverage=1.0, max_sentence_length=1 << 20, minloglevel=2)""",
    "SentencePiece Unigram (its own rules)": """
import sentencepiece
sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=out, vocab_size=size, model_type="unigram",
    character_coverage=1.0, max_sentence_length=1 << 20, minloglevel=2)""",
}
OURS = {"mws train, contextual": [], "mws train, frequency": ["--composition", "1", "--hidden-boundary-price", "0"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--python", type=Path, required=True, help="that has the rivals")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    size, text = str(given.vocab_size), str(given.text.resolve())
    ours = [sys.executable, "-m", "mws_hf", "train"]
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            name: [*ours, text, "--vocab-size", size, "-q", "-o", f"{folder}/o", *more] for name, more in OURS.items()
        }
        commands |= {
            name: [str(given.python), "-c", HEAD + code, text, f"{folder}/theirs", size, DEFAULT_PATTERN]
            for name, code in THEIRS.items()
        }
        found = in_turn(commands, given.rounds)
    entry = f"{given.text.stat().st_size / 1e6:.1f} MB, {given.vocab_size:,} entries"
    columns = ("trainer", "seconds", "times `mws train`")
    keep(RESULTS, "Trainers", entry, {"rounds": given.rounds, "seconds": found}, columns)


if __name__ == "__main__":
    main()
