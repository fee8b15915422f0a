"""What must hold before anything is measured, and what the measurements start from; tasks that are not timed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmark.encoding import TOKENIZER, lines_of
from benchmark.job import Job, Run, Task
from benchmark.learning import CLASSIC_COUNTS, CONTEXTUAL_COUNTS

TRICKY = [
    "Ёжик 🦔 прочитал 25 книг — и не устал.\r\n",
    " \u00a0\t  два  пробела\u2028п'ять don't ANKARA'DA \n\n",
    "漢字かな한국어 עברית العربية हिन्दी ไทย e\u0301 и\u0306 👩‍👩‍👧‍👦 🇷🇺\n",
    "<0x41><|endoftext \x1f\x7f\u200b\ufeff\ufffd\U0010ffff\n",
    "а" * 3000 + "1" * 50 + " " * 300 + "!" * 70 + "\n",
]


class Difference(Exception):
    """A fast path that does not give what the slow one gives; the message says where."""


def set_up(job: Job) -> Run:
    """Count the text under the classic and the default pattern and train the tokenizer that encoding uses."""
    from mws_hf import MwSTrainer
    from mws_hf.corpus.counting import count_files
    from mws_hf.text.pattern import GPT4_PATTERN

    def run() -> dict[str, Any]:
        shared = Path(job.shared)
        counts = count_files(job.text)
        counts.save(shared / CONTEXTUAL_COUNTS)
        tokenizer = MwSTrainer(vocab_size=job.vocab_size, show_progress=False).train_from_counts(counts)
        tokenizer.save_pretrained(shared / TOKENIZER)
        classic = count_files(job.text, pattern=GPT4_PATTERN)
        classic.save(shared / CLASSIC_COUNTS)
        return {"types": len(counts), "classic_types": len(classic), "entries": len(tokenizer)}

    return run


def validate(job: Job) -> Run:
    """All checks on one text; each returns what it compared and raises `Difference`."""
    return lambda: {"checked": [check(job) for check in (counting, classic, frequency, encoding)]}


def counting(job: Job) -> str:
    """Our counts against the `regex` module and a Counter, each named pattern."""
    from mws_hf.corpus.counting import count_files
    from mws_hf.text.pattern import NAMED_PATTERNS, split

    text = Path(job.text).read_bytes().decode("utf-8")
    for name, pattern in NAMED_PATTERNS.items():
        expected = Counter(split(text, pattern))
        found = dict(count_files(job.text, pattern=pattern).items())
        if found != expected:
            word = min(w for w in {*found, *expected} if found.get(w) != expected.get(w))
            raise Difference(f"{name}: {word!r} counted {found.get(word)} times, by regex {expected.get(word)}")
    return f"counts of {len(text):,} characters equal regex + Counter under each named pattern"


def _small_corpus(job: Job, n_types: int, weighted: bool) -> Any:
    from mws_hf.corpus.counting import count_files
    from mws_hf.learn.words import SymbolCorpus
    from mws_hf.text.pattern import GPT4_PATTERN

    counts = count_files(job.text, pattern=GPT4_PATTERN)
    items = [(word, min(count, 200)) for word, count in counts.items()][:n_types]
    return SymbolCorpus.from_words([word for word, _ in items], [count for _, count in items] if weighted else None)


def classic(job: Job, n_types: int = 1500, n_merges: int = 60) -> str:
    """The classic engine against the full rescan on a small list, types and weighted."""
    from mws_hf.learn.classic.learner import learn_classic
    from mws_hf.learn.classic.reference import learn_classic_reference

    for weighted in (False, True):
        corpus = _small_corpus(job, n_types, weighted)
        _same("classic", learn_classic(corpus, n_merges).merges, learn_classic_reference(corpus, n_merges).merges)
    return f"{n_merges} classic merges of {n_types} words equal the full rescan, as types and weighted"


def frequency(job: Job, n_types: int = 10_000, n_merges: int = 1000) -> str:
    """The engine under word weights against BpeTrainer, up to the first string that the latter learns twice."""
    from tokenizers import Tokenizer, models, trainers

    from mws_hf.learn.engine.segmentation import Segmentation
    from mws_hf.research.baselines.feed import train_on_counts

    corpus = _small_corpus(job, n_types, weighted=True)
    words = {corpus.word(w): int(corpus.weights[w]) for w in range(len(corpus))}
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=len(corpus.alphabet) + n_merges, show_progress=False)
    train_on_counts(tokenizer, trainer, words)
    theirs = [(left, right) for left, right in json.loads(tokenizer.to_str())["model"]["merges"]]
    products = [left + right for left, right in theirs]
    seen: set[str] = set()
    unique = next((i for i, p in enumerate(products) if p in seen or seen.add(p)), len(theirs))  # type: ignore[func-returns-value]
    _same("frequency", Segmentation(corpus).learn(None, unique).merges, theirs[:unique])
    return f"{unique} frequency merges of {len(corpus)} words equal BpeTrainer"


def _same(name: str, ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> None:
    if ours != theirs:
        rank = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
        where = f"rank {rank}: {ours[rank]} instead of {theirs[rank]}" if rank is not None else "their number"
        raise Difference(f"{name} merges differ from the reference: {where}")


def encoding(job: Job) -> str:
    """Bulk ids against `encode_batch`, and decoding, on the text and on awkward lines, for both criteria."""
    from tokenizers import Tokenizer

    from mws_hf import MwSTrainer
    from mws_hf.encode.bulk import encode_corpus

    text = Path(job.output) / "text.txt"
    text.write_text("".join([*TRICKY, *lines_of(job.text)]), encoding="utf-8", newline="")
    lines = lines_of(str(text))
    for criterion in ("classic", "contextual"):
        folder = Path(job.output) / criterion
        trainer = MwSTrainer(criterion=criterion, vocab_size=job.vocab_size, composition="fill", show_progress=False)
        trainer.train(job.text).save_pretrained(folder)
        backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
        corpus = encode_corpus(folder, text, folder / "ids", separator=None)
        for start in range(0, len(lines), 10_000):
            batch = lines[start : start + 10_000]
            expected = [encoding.ids for encoding in backend.encode_batch(batch, add_special_tokens=False)]
            _same_ids(batch, expected, [corpus[start + k].tolist() for k in range(len(batch))], criterion)
            _lossless(batch, backend.decode_batch(expected, skip_special_tokens=False), criterion)
    return f"ids of {len(lines):,} lines equal encode_batch and decode to the same text, both criteria"


def _same_ids(lines: list[str], expected: list[list[int]], found: list[list[int]], criterion: str) -> None:
    for line, theirs, ours in zip(lines, expected, found, strict=True):
        if theirs != ours:
            raise Difference(
                f"{criterion}: bulk ids of {line[:80]!r} are {ours[:12]}..., by encode_batch {theirs[:12]}..."
            )


def _lossless(lines: list[str], decoded: list[str], criterion: str) -> None:
    for line, text in zip(lines, decoded, strict=True):
        if line != text:
            raise Difference(f"{criterion}: {line[:80]!r} decodes to {text[:80]!r}")


TASKS = {"set-up": Task(set_up), "validate": Task(validate)}
