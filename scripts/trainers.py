"""Trainers of BPE side by side: the same text file to a file on disk, each in a process of its own, in turn.

    python scripts/trainers.py corpus.txt --python VENV/bin/python [--vocab-size 32000] [--rounds 3]

VENV has rustbpe, ffbpe, gigatoken, sentencepiece and tokenizers 0.x by pip; what it lacks is named. Times are medians
of rounds, whole processes. Ours is `mws train`, contextual and with `--composition 1 --hidden-boundary-price 0`; its
kernels are compiled before. Writes scripts/results/trainers.json, an entry a text and size, and trainers.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mws_hf.atomic import write_text
from mws_hf.cards.markdown import markdown_table
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


def seconds(command: list[str]) -> float | str:
    """How long a process took, or the last line of what it complained of."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    taken = time.perf_counter() - began
    return taken if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1][:90]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--python", type=Path, required=True, help="that has the rivals")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    size, text, found = str(given.vocab_size), str(given.text.resolve()), {}
    ours = [sys.executable, "-m", "mws_hf", "train"]
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            name: [*ours, text, "--vocab-size", size, "-q", "-o", f"{folder}/o", *more] for name, more in OURS.items()
        }
        commands |= {
            name: [str(given.python), "-c", HEAD + code, text, f"{folder}/theirs", size, DEFAULT_PATTERN]
            for name, code in THEIRS.items()
        }
        for _ in range(given.rounds):
            for name, command in commands.items():
                found.setdefault(name, []).append(seconds(command))
                print(name, found[name][-1], flush=True)
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    megabytes = f"{given.text.stat().st_size / 1e6:.1f} MB"
    kept[f"{megabytes}, {given.vocab_size:,} entries"] = {"rounds": given.rounds, "seconds": found}
    write_text(RESULTS, json.dumps(kept, indent=1) + "\n")
    write_text(RESULTS.with_suffix(".md"), "# Trainers\n\n" + "\n".join(map(section, kept, kept.values())))


def section(name: str, cell: dict[str, Any]) -> str:
    """Markdown of one text: a row a trainer, the median of its rounds and how that compares with `mws train`."""
    middle = {
        each: statistics.median(times)
        for each, taken in cell["seconds"].items()
        if (times := [one for one in taken if isinstance(one, float)])
    }
    ours = middle[next(iter(OURS))]
    rows = [
        [each, f"{middle[each]:.1f}", f"{middle[each] / ours:.2f}"] if each in middle else [each, str(taken[0]), ""]
        for each, taken in cell["seconds"].items()
    ]
    table = markdown_table(["trainer", "seconds", "times `mws train`"], rows)
    return f"## {name}\n\nMedians of {cell['rounds']} rounds, by `scripts/trainers.py`.\n\n{table}\n"


if __name__ == "__main__":
    main()
