"""Training tasks, from a text file to a saved tokenizer, and counting alone; each imports its library in `prepare`."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from benchmark.job import Job, Run, Task, script


def digest(path: Path) -> str:
    """A short checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def train_command(job: Job, options: tuple[str, ...] = ()) -> list[str]:
    """`mws train` as a user starts it."""
    return [sys.executable, "-m", "mws_hf", *_arguments(job), *options]


def _arguments(job: Job) -> list[str]:
    return ["train", job.text, "--vocab-size", str(job.vocab_size), "--output", job.output, "--quiet", "--json"]


def mws(job: Job, options: tuple[str, ...] = ()) -> Run:
    """`mws train`, the command itself; imports done beforehand are those it makes while it works."""
    import mws_hf.commands.train
    import mws_hf.corpus.counting
    import mws_hf.learn.classic.learner
    import mws_hf.learn.compositions
    import mws_hf.learn.contextual
    import mws_hf.trainer  # noqa: F401
    from mws_hf.commands.app import app

    def run() -> dict[str, Any]:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            app([*_arguments(job), *options], prog_name="mws", standalone_mode=False)
        told = json.loads(printed.getvalue())
        made = digest(Path(job.output) / "tokenizer.json")
        return {"entries": told["vocab_size"], "morphs": told["morph_merges"], "digest": made}

    return run


def rust(job: Job, kind: str) -> Run:
    """A trainer of `tokenizers` under the same split pattern; it reads the file itself, the fastest way it has."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    from mws_hf.text.pattern import GPT4_PATTERN

    size = {"vocab_size": job.vocab_size, "show_progress": False}
    model, trainer = {
        "bpe": lambda: (models.BPE(), trainers.BpeTrainer(**size)),
        "wordpiece": lambda: (
            models.WordPiece(unk_token="[UNK]"),
            trainers.WordPieceTrainer(special_tokens=["[UNK]"], **size),
        ),
        "unigram": lambda: (
            models.Unigram(),
            trainers.UnigramTrainer(unk_token="<unk>", special_tokens=["<unk>"], **size),
        ),
        "count": lambda: (models.WordLevel(unk_token="?"), trainers.WordLevelTrainer(**{**size, "vocab_size": 0})),
        "count-bpe": lambda: (models.BPE(), trainers.BpeTrainer(**{**size, "vocab_size": 0})),
    }[kind]()
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(GPT4_PATTERN), "isolated")

    def run() -> dict[str, Any]:
        tokenizer.train([job.text], trainer)
        if not kind.startswith("count"):
            tokenizer.save(str(Path(job.output) / "tokenizer.json"))
        return {"entries": tokenizer.get_vocab_size()}

    return run


def sentencepiece(job: Job, kind: str) -> Run:
    """SentencePiece on the file, without normalization (it would cost it time) and without leaving out long lines."""
    import sentencepiece as spm

    def run() -> dict[str, Any]:
        prefix = str(Path(job.output) / "spm")
        spm.SentencePieceTrainer.train(
            input=job.text,
            model_prefix=prefix,
            model_type=kind,
            vocab_size=job.vocab_size,
            hard_vocab_limit=False,
            byte_fallback=True,
            normalization_rule_name="identity",
            max_sentence_length=1 << 30,
            num_threads=os.cpu_count() or 1,
            minloglevel=2,
        )
        with open(f"{prefix}.vocab", encoding="utf-8", newline="\n") as lines:
            return {"entries": sum(1 for _ in lines)}

    return run


def count_mws(job: Job) -> Run:
    """Our counting, to the sorted word counts in memory."""
    from mws_hf.corpus.counting import count_files
    from mws_hf.text.pattern import GPT4_PATTERN

    def run() -> dict[str, Any]:
        counts = count_files(job.text, pattern=GPT4_PATTERN)
        return {"types": len(counts), "digest": f"{len(counts)}-{int(counts.counts.sum())}"}

    return run


def count_regex(job: Job) -> Run:
    """The usual way in Python: the `regex` module and a Counter, line by line."""
    import regex

    from mws_hf.text.pattern import GPT4_PATTERN

    def run() -> dict[str, Any]:
        find = regex.compile(GPT4_PATTERN).findall
        counts: Counter[str] = Counter()
        with open(job.text, encoding="utf-8", newline="\n") as lines:
            for line in lines:
                counts.update(find(line))
        return {"types": len(counts)}

    return run


_CLASSIC = ("--criterion", "classic", "--composition", "fill")
TASKS = {
    "train/mws-classic": Task(partial(mws, options=_CLASSIC), partial(train_command, options=_CLASSIC), ours=True),
    "train/mws-contextual": Task(mws, train_command, ours=True),
    "train/tokenizers-bpe": Task(partial(rust, kind="bpe"), script),
    "train/tokenizers-wordpiece": Task(partial(rust, kind="wordpiece"), script),
    "train/tokenizers-unigram": Task(partial(rust, kind="unigram"), script),
    "train/sentencepiece-bpe": Task(partial(sentencepiece, kind="bpe"), script),
    "train/sentencepiece-unigram": Task(partial(sentencepiece, kind="unigram"), script),
    "count/mws": Task(count_mws, ours=True),
    "count/tokenizers": Task(partial(rust, kind="count")),
    "count/tokenizers-bpe": Task(partial(rust, kind="count-bpe")),
    "count/regex": Task(count_regex),
}
