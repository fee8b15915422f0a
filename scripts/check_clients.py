"""Do other programs read a tokenizer directory as AutoTokenizer does: JavaScript libraries, streaming decoders.

    python scripts/check_clients.py out/my-tokenizer --text 'corpus/*.txt'

Encodes lines of the texts, hard cases and random Unicode with AutoTokenizer, and compares, id by id and text by text:

* transformers.js 3 and 4 and @huggingface/tokenizers, installed by npm into --work (Node.js 18 or later is needed);
* `tokenizers.decoders.DecodeStream`, one id at a time, as inference servers stream;
* `convert_tokens_to_string`, as the slower streaming path of vLLM does.

Writes scripts/results/clients.md; exit code 1 when anything differs. Special tokens are not added.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream
from transformers import AutoTokenizer

import mws_hf
from mws_hf.atomic import write_text
from mws_hf.corpus.files import expand_paths
from mws_hf.corpus.readers import read_lines
from mws_hf.errors import MwSError

PACKAGES = ("@huggingface/transformers@3.8.1", "@huggingface/transformers@4.3.1", "@huggingface/tokenizers@0.2.0")
CHECK = Path(__file__).parent / "clients" / "check.mjs"
HARD = (
    "Don't stop: it's we'll THEY'VE 's 'S 'll x'Re ’s",
    "п'ять слов’я об’єкт",
    "  two   spaces\n\n\nlines\r\n\ttab ",
    "1234567 12,5% — «цитата»… „so“ ‘a’",
    "漢字かな交じり文 한국어 ไทย हिन्दी नमस्ते ქართული հայերեն",
    "😀👨‍👩‍👧‍👦 e\u0301 й и\u0306 ﬁ ſ K Å",
    "\u00a0\u2028x\u200b\ufeff\u0000",
    " ",
    "\n",
    "<|endoftext|> a <|endoftext|>",
)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="directories with tokenizer.json")
    parser.add_argument("--text", nargs="*", default=[], help="files whose first lines are encoded")
    parser.add_argument("--lines", type=int, default=500, help="of each file")
    parser.add_argument("--random", type=int, default=500, help="random strings")
    parser.add_argument("--work", type=Path, default=Path("out/clients"), help="scratch folder, for npm")
    parser.add_argument("--output", type=Path, default=Path("scripts/results/clients.md"))
    return parser.parse_args(arguments)


def texts(names: list[str], lines: int, n_random: int) -> list[str]:
    """What is encoded: the same texts for the same arguments."""
    found = list(HARD)
    for name in expand_paths(names) if names else []:
        for _, line in zip(range(lines), read_lines(name), strict=False):
            found.append(line.rstrip("\n"))
    choose = random.Random(1)
    points = [*range(0x20, 0xD800), *range(0xE000, 0x30000)]
    for _ in range(n_random):
        size = choose.randint(1, 30)
        found.append(
            "".join(
                chr(choose.choice(points)) if choose.random() < 0.4 else choose.choice(" абeö'\n.,1—")
                for _ in range(size)
            )
        )
    return [text for text in found if text]


def javascript(package: str, work: Path, folder: Path, cases: Path) -> dict[str, Any]:
    """What `clients/check.mjs` prints, run in a folder where npm has put the package."""
    home = work / package.replace("/", "-").strip("@")
    home.mkdir(parents=True, exist_ok=True)
    library = package.rsplit("@", 1)[0]
    if not (home / "node_modules" / library).is_dir():
        write_text(home / "package.json", '{"type": "module", "private": true}\n')
        npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", package]
        subprocess.run(npm, cwd=home, check=True, stdout=subprocess.DEVNULL)
    shutil.copy(CHECK, home / CHECK.name)  # imports are looked up from where the module stands
    node = ["node", CHECK.name, library, str(folder.resolve()), str(cases.resolve())]
    done = subprocess.run(node, cwd=home, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        raise MwSError(f"{package} cannot read {folder}: {done.stderr.strip()[-500:]}")
    return dict(json.loads(done.stdout))


def decoding(decode: Callable[[list[int]], str], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How many of the rows a decoder does not restore."""
    wrong = [row["text"] for row in rows if decode(row["ids"]) != row["text"]]
    return {"wrong_ids": None, "wrong_text": len(wrong), "first": wrong[0] if wrong else None}


def streamed(backend: Tokenizer, ids: list[int]) -> str:
    stream = DecodeStream(skip_special_tokens=False)
    return "".join(stream.step(backend, number) or "" for number in ids)


def check(folder: Path, wanted: list[str], work: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Client and result for one tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = [{"text": text, "ids": tokenizer(text, add_special_tokens=False)["input_ids"]} for text in wanted]
    cases = work / "cases.json"
    write_text(cases, json.dumps(rows))
    yield "AutoTokenizer, decode", decoding(tokenizer.decode, rows)
    yield "tokenizers DecodeStream", decoding(lambda ids: streamed(tokenizer.backend_tokenizer, ids), rows)
    yield (
        "convert_tokens_to_string",
        decoding(lambda ids: tokenizer.convert_tokens_to_string(tokenizer.convert_ids_to_tokens(ids)), rows),
    )
    for package in PACKAGES:
        yield package, javascript(package, work, folder, cases)


def main() -> int:
    options = parse()
    wanted = texts(options.text, options.lines, options.random)
    options.work.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Clients",
        "",
        f"mws_hf {mws_hf.__version__}, Python {platform.python_version()}; {len(wanted):,} texts a tokenizer: "
        f"lines of text, hard cases, random Unicode. Wrong means different from AutoTokenizer.",
        "",
        "| tokenizer | client | wrong ids | wrong text |",
        "|---|---|---:|---:|",
    ]
    wrong = 0
    for folder in options.folders:
        for client, result in check(folder, wanted, options.work):
            ids = "–" if result["wrong_ids"] is None else result["wrong_ids"]
            lines.append(f"| {folder.name} | {client} | {ids} | {result['wrong_text']} |")
            print(lines[-1], flush=True)
            if result["first"] is not None:
                wrong += 1
                print(f"first: {result['first']!r}", file=sys.stderr)
    write_text(options.output, "\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (MwSError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
