"""Write a rank file for tiktoken, with the few lines of Python that load it."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from mws_hf.atomic import staged
from mws_hf.errors import MwSError
from mws_hf.export.exactness import ByteTables, IdComparison, byte_tables, compare_ids, refuse_differences
from mws_hf.text.byte_alphabet import bytes_of
from mws_hf.tokenizer.stock import Tokenizer

RANKS_FILE = "ranks.tiktoken"
MODULE_FILE = "load_tiktoken.py"
_MODULE = '''\
"""Loads the tokenizer beside this file: `from load_tiktoken import encoding`, `encoding.encode(text)`."""

import base64
from pathlib import Path

import tiktoken

# not by load_tiktoken_bpe, which keeps a copy by path and would go on reading a file that was since replaced
lines = map(bytes.split, Path(__file__).with_name({ranks!r}).read_bytes().splitlines())
encoding = tiktoken.Encoding(
    name={name!r},
    pat_str={pattern!r},
    mergeable_ranks={{base64.b64decode(token): int(rank) for token, rank in lines}},
    special_tokens={special!r},
)
'''


def write_tiktoken(
    backend: Tokenizer, output: str | os.PathLike[str], texts: list[str], name: str
) -> IdComparison | None:
    """Write a folder with a rank file and its loader that gives the same ids in tiktoken, or nothing.

    The ids of the tokenizer, a byte-level one, grow with the ranks of its merges; both must agree on the texts. Returns
    the comparison, or None where tiktoken is not installed.

    Raises:
        MwSError: the tokenizer cannot be carried exactly.
    """
    tables = byte_tables(backend)
    ranks = _ranks(tables)
    special = {token.content: number for number, token in tables.added.items()}
    found = _read_back(backend, ranks, special, tables.pattern, texts)
    if found is not None:
        refuse_differences(found, "tiktoken", "keep to clients that read tokenizer.json")
    with staged(Path(output), head=MODULE_FILE) as stage:
        lines = [f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()]
        (stage / RANKS_FILE).write_text("".join(lines), encoding="ascii", newline="\n")
        module = _MODULE.format(name=name, pattern=tables.pattern, ranks=RANKS_FILE, special=special)
        (stage / MODULE_FILE).write_text(module, encoding="utf-8", newline="\n")
    return found


def _ranks(tables: ByteTables) -> dict[bytes, int]:
    """Return token -> id, without added tokens; tiktoken takes ids for ranks, so MwSError where the orders differ."""
    places = {token: number for number, token in enumerate(tables.tokens)}
    made = [places[left + right] for left, right in tables.merges]
    if made != sorted(made):
        raise MwSError(
            "tiktoken takes ids for merge ranks, and here a later merge has a smaller id (as in an export from "
            "characters, which keeps ids); train with --byte-level"
        )
    return {bytes_of(token): number for number, token in enumerate(tables.tokens) if number not in tables.added}


def _read_back(
    backend: Tokenizer, ranks: dict[bytes, int], special: dict[str, int], pattern: str, texts: list[str]
) -> IdComparison | None:
    try:
        import tiktoken
    except ImportError:
        return None
    encoding = tiktoken.Encoding("mws", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    return compare_ids(backend, texts, lambda text: encoding.encode(text, allowed_special="all"), encoding.decode)
