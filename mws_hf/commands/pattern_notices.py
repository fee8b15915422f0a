"""What `mws train` says about the split pattern before anybody is hurt: words it cuts, programs that cannot run it."""

from __future__ import annotations

from mws_hf.corpus.apostrophes import cut_at_apostrophes
from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.text.pattern import WORD_PATTERN, named
from mws_hf.tokenizer.client_facts import TOKENIZERS_ONE, refusing, runs_in_one
from mws_hf.tokenizer.stock import IS_ONE

TOLD_FROM = 0.002
"""Share of the words with a cut inner apostrophe from which it is told."""


def refuse_unrunnable(pattern: str) -> None:
    """Stop a training whose tokenizer the installed `tokenizers` could not run.

    Raises:
        MwSError: it is 1.0, and does not know the split pattern.
    """
    if IS_ONE and not runs_in_one(pattern):
        raise MwSError(
            f"{TOKENIZERS_ONE} is installed here and cannot run this split pattern: give --pattern o200k or llama3 "
            "(which splits as GPT-4's does), or pip install 'tokenizers<1'"
        )


def pattern_notices(counts: WordCounts, chosen: bool = True) -> list[str]:
    """Return lines about the split pattern that words were counted with; none where there is nothing to say.

    Args:
        counts: words.
        chosen: whether somebody asked for the pattern; of a criterion's own it is not told who cannot run it.

    >>> from mws_hf.text.pattern import O200K_PATTERN
    >>> pattern_notices(WordCounts.from_mapping({" слово": 3}, pattern=O200K_PATTERN))
    []
    """
    known = named(counts.pattern)
    name = "this split pattern" if known is None else f"split pattern {known[0]}"
    found = []
    if chosen and TOKENIZERS_ONE in refusing(counts.pattern).get("refuses", []):
        digits = "" if known is None or known[1] == "threes" else f" with --digits {known[1]}"
        found.append(
            f"{TOKENIZERS_ONE} cannot run {name}{digits}: it loads the tokenizer, then stops at the first text; it "
            "runs --pattern o200k (the contextual default) and llama3, the latter also with --digits single"
        )
    cut = cut_at_apostrophes(counts)
    if cut.share > TOLD_FROM:
        costs = refusing(WORD_PATTERN)
        found.append(
            f"at least {100 * cut.share:.1f} % of the words have an inner apostrophe, and {name} cuts them there "
            f"(…{cut.example}); --pattern words keeps them whole, but {', '.join(costs['refuses'])} refuse it and "
            f"{', '.join(costs['wrong'])} cuts it otherwise"
        )
    return found
