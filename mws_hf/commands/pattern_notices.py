"""What `mws train` says about the split pattern before anybody is hurt: words it cuts, programs that cannot run it.

The counts alone tell which words a pattern cut at an inner apostrophe: an apostrophe directly before a letter begins a
pre-token only where a letter or digit stands before it, or at the start of a line. After a space or a symbol it goes
with these. Some words are not seen: those that GPT-4o's pattern cuts after what looks like an English ending, as
``Ankara'd|a``: so the share is a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mws_hf.corpus.columns import integers
from mws_hf.corpus.counts import WordCounts
from mws_hf.errors import MwSError
from mws_hf.text.pattern import WORD_PATTERN, named
from mws_hf.tokenizer.client_facts import TOKENIZERS_ONE, refusing, runs_in_one
from mws_hf.tokenizer.stock import IS_ONE

_WORD = r"^[^\r\n\p{L}\p{N}]?\p{L}"
_REST = r"^['’]\p{L}"


class ApostropheCuts(NamedTuple):
    """Words cut at an inner apostrophe.

    Attributes:
        share: of all running words, 0 to 1; a lower bound.
        example: the commonest second part, such as ``'ять``; "" where there is none.
    """

    share: float
    example: str


def cut_at_apostrophes(counts: WordCounts) -> ApostropheCuts:
    """Find the words whose inner apostrophe the pattern of the counts has cut.

    >>> counts = WordCounts.from_mapping({" п": 3, "'ять": 3, " слово": 7, "'": 2, " слово's": 1}, pattern="...")
    >>> cut_at_apostrophes(counts)
    ApostropheCuts(share=0.2727272727272727, example="'ять")
    """
    rests = _matching(counts, _REST)
    words = counts.counts[_matching(counts, _WORD) & ~rests].sum()
    if words == 0 or not rests.any():
        return ApostropheCuts(0.0, "")
    rows = np.flatnonzero(rests)
    commonest = int(rows[np.argmax(counts.counts[rows])])
    return ApostropheCuts(float(counts.counts[rests].sum() / words), str(counts.strings[commonest].as_py()))


def _matching(counts: WordCounts, expression: str) -> npt.NDArray[np.bool_]:
    found = pc.match_substring_regex(counts.strings, expression)
    return integers(pc.cast(found, pa.uint8())).astype(bool)


TOLD_FROM = 0.002
"""Share of the words with a cut inner apostrophe from which it is reported."""


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


def pattern_notices(counts: WordCounts) -> list[str]:
    """Return lines about the split pattern that words were counted with; none where there is nothing to say.

    >>> from mws_hf.text.pattern import O200K_PATTERN
    >>> pattern_notices(WordCounts.from_mapping({" слово": 3}, pattern=O200K_PATTERN))
    []
    """
    known = named(counts.pattern)
    name = "this split pattern" if known is None else f"split pattern {known[0]}"
    found = []
    if TOKENIZERS_ONE in refusing(counts.pattern).get("refuses", []):
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
