"""Train the default recipe on word counts and score it on gold; what is tried lies in `parts`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from mws_hf import WordCounts
from mws_hf.evaluate import read_gold, segment_words
from mws_hf.evaluate.boundaries import WordTable, summarize, word_table
from mws_hf.evaluate.significance import bootstrap_f1, difference, interval
from mws_hf.research.compare.cache import ResultCache, counts_digest
from mws_hf.research.compare.plan import Job, SystemSpec
from mws_hf.research.compare.run import TrainedSystem
from mws_hf.text.special import DEFAULT_SPECIAL_TOKENS
from mws_hf.tokenizer.opened import open_tokenizer

_MARK = regex.compile(r"\p{M}")


@dataclass(frozen=True)
class Recipe:
    """The system ``mws`` of `mws compare`: contextual, composition 0, all other settings at their defaults.

    Attributes:
        vocab_size: entries of the vocabulary.
        work: folder where trained tokenizers are kept, by their content.
    """

    vocab_size: int
    work: Path

    def tokenizer(self, counts: WordCounts) -> tuple[Path, dict[str, Any]]:
        """The directory trained on these counts, and facts about its training."""
        cache = ResultCache(self.work / "tokenizers", counts_digest(counts), DEFAULT_SPECIAL_TOKENS)
        job = Job(SystemSpec("mws-morphs"), self.vocab_size)
        TrainedSystem(counts, cache, self.vocab_size).train(job)
        facts = cache.read(job, "training") or {}
        return cache.directory(job), {"types": len(counts), "entries": facts["n_tokens"], "seconds": facts["seconds"]}


def scored(counts: WordCounts, golds: Sequence[Path], recipe: Recipe, base: WordCounts | None = None) -> dict[str, Any]:
    """Train, and score each gold file: micro F1 with its 95 % interval.

    Args:
        counts: what to train on.
        golds: gold files, for scoring alone.
        recipe: what to train.
        base: counts to compare with: rows then hold `delta`, F1 less that of training on these, and its interval.
    """
    started = time.process_time()
    directory, facts = recipe.tokenizer(counts)
    beside = None if base is None else recipe.tokenizer(base)[0]
    rows = []
    for path in golds:
        tables = [_table(each, path) for each in (directory, beside) if each is not None]
        f1s = bootstrap_f1(tables)
        scores = summarize(tables[0])
        low, high = interval(f1s[0])
        row = {"gold": path.stem, "words": scores.words, "precision": scores.precision, "recall": scores.recall}
        row |= {"f1": scores.f1, "f1_low": low, "f1_high": high}
        if len(tables) == 2:
            found = difference(tables[0], tables[1], f1s[0], f1s[1])
            row |= {"delta": found.f1, "delta_low": found.low, "delta_high": found.high}
        rows.append(row)
    return {**facts, "cpu_seconds": time.process_time() - started, "rows": rows}


def _table(directory: Path, gold: Path) -> WordTable:
    entries = read_gold(gold).words
    return word_table(entries, segment_words(directory, [entry.word for entry in entries]))


def intact(directory: Path, words: Sequence[str]) -> dict[str, Any]:
    """What must hold for any word in any script: encoding loses nothing and no token begins with a combining mark.

    Returns:
        The number of words, how many of them `decode(encode(text)) == text` failed for (bare, after a space, and all
        in one text with other characters between), and how many have a cut before a combining mark; some examples.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(directory))
    texts = [
        *words,
        *(" " + word for word in words),
        "\t 😀\r\n".join(words[:1000]),
        "e\u0301\u0301 \u0301x 漢字 \u200d",
    ]
    lost = [t for t in texts if tokenizer.decode(tokenizer(t, add_special_tokens=False)["input_ids"]) != t]
    cuts = segment_words(open_tokenizer(directory, by_class=True), list(words))
    torn = [pieces for pieces in cuts if any(_MARK.match(piece) for piece in pieces[1:])]
    several = [pieces for pieces in cuts if len(pieces) > 1]
    return {
        "words": len(words),
        "not_restored": len(lost),
        "marks_torn_off": len(torn),
        "torn_examples": ["·".join(pieces) for pieces in torn[:5]],
        "tokens_per_word": sum(map(len, cuts)) / max(1, len(cuts)),
        "examples": ["·".join(pieces) for pieces in several[:: max(1, len(several) // 8)][:8]],
    }
