"""Encoders side by side: one text file to token ids on disk by one tokenizer.json of ours, whole processes, in turn.

    python scripts/encoders.py DIR corpus.txt --python VENV/bin/python --one VENV/bin/python [--rounds 3]

DIR holds a tokenizer of the default pattern. VENV of --python has gigatoken with awkward and tokie by pip, that of
--one has tokenizers 1.0; what is lacking is named. Every line is a document. `mws encode` and those that are given
lines by Python keep the line end, those that read the file themselves drop it. The ids of the first lines are compared
with those of the `tokenizers` installed here. Writes scripts/results/encoders.json, an entry a text, and encoders.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
import tokenizers
from race import in_turn, keep

from mws_hf.encode import EncodedCorpus
from mws_hf.tokenizer.opened import open_tokenizer

RESULTS = Path(__file__).parent / "results" / "encoders.json"
HEAD = "import sys, numpy as np; json, text, out = sys.argv[1:4]\n"
LINES = 'lines = open(text, encoding="utf-8", newline="\\n").readlines()\n'
PIECES = "np.concatenate([np.array(each, np.uint16) for each in found])"
THEIRS = {
    "gigatoken encode_files": """
import awkward, gigatoken
found = gigatoken.Tokenizer(json).encode_files(gigatoken.TextFileSource([text], separator="\\n"))
np.save(out, np.asarray(awkward.flatten(found)).astype(np.uint16))""",
    "tokie encode_files": """
from tokie import Tokenizer
ids, ends = Tokenizer.from_json(json).encode_files([text], b"\\n")
np.save(out, ids.astype(np.uint16))""",
}
ONE = {
    "tokenizers 1.0 encode_batch": f"""
from tokenizers import Tokenizer
{LINES}tokenizer, found = Tokenizer.from_file(json), []
for at in range(0, len(lines), 10_000):
    batch = tokenizer.encode_batch(lines[at : at + 10_000], add_special_tokens=False)
    found += [each.ids_array for each in batch]
np.save(out, {PIECES})""",
}
DROP_THE_END = ("gigatoken encode_files", "tokie encode_files")
OURS = "mws encode"
COMPARED = 20_000
"""Lines whose ids are compared."""


def expected(directory: Path, text: Path, ends: bool) -> np.ndarray:
    """The ids that `tokenizers` gives here for the first lines of a text, with their ends or without."""
    backend = open_tokenizer(directory).backend
    with text.open(encoding="utf-8", newline="\n") as lines:
        each = [line if ends else line.removesuffix("\n") for line in islice(lines, COMPARED)]
    return np.concatenate([row.ids for row in backend.encode_batch_fast(each, add_special_tokens=False)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path, help="folder of a tokenizer with fewer than 65,536 entries")
    parser.add_argument("text", type=Path)
    parser.add_argument("--python", type=Path, required=True, help="that has the rivals")
    parser.add_argument("--one", type=Path, required=True, help="that has tokenizers 1.0")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    file, text = str(given.tokenizer / "tokenizer.json"), str(given.text.resolve())
    with tempfile.TemporaryDirectory() as folder:
        ours = [sys.executable, "-m", "mws_hf", "encode", str(given.tokenizer), text, "-o", f"{folder}/ours", "-q"]
        commands = {OURS: [*ours, "--separator", "none", "--no-resume"]}
        programs = [(given.python, *each) for each in THEIRS.items()] + [(given.one, *each) for each in ONE.items()]
        for k, (python, name, code) in enumerate(programs):
            commands[name] = [str(python), "-c", HEAD + code, file, text, f"{folder}/{k}.npy"]
        subprocess.run(commands[OURS], check=True, capture_output=True)  # kernels are compiled before
        found = in_turn(commands, given.rounds)
        corpus = EncodedCorpus.open(f"{folder}/ours")
        got = {OURS: corpus.tokens(0, corpus.n_tokens)}
        for name, command in list(commands.items())[1:]:
            got |= {name: np.load(command[-1])} if Path(command[-1]).exists() else {}
    right = {ends: expected(given.tokenizer, given.text, ends) for ends in (True, False)}
    same = {
        name: np.array_equal(ids[: len(right[name not in DROP_THE_END])], right[name not in DROP_THE_END])
        for name, ids in got.items()
    }
    note = f"Ids of the first {COMPARED:,} lines are those of `tokenizers` {tokenizers.__version__}"
    others = [name for name, equal in same.items() if not equal]
    note += f", but not all of {', '.join(others)}." if others else "."
    cell = {"rounds": given.rounds, "notes": [note], "seconds": found}
    entry = f"{given.text.stat().st_size / 1e6:.1f} MB, {corpus.n_tokens:,} ids"
    keep(RESULTS, "Encoders", entry, cell, ("encoder", "seconds", "times `mws encode`"))


if __name__ == "__main__":
    main()
