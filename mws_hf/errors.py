"""The one exception type for mistakes a user can make and mend, and the exit code of an interrupted command."""

from __future__ import annotations

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended: 128 + SIGINT."""


class MwSError(ValueError):
    """A user-facing error: the message says what was wrong, where (file:line when there is one), and what to do.

    The command line prints the message and exits with code 2, without a traceback.

    >>> raise MwSError("words.tsv:3: count 'x' is not an integer; write word<TAB>count")
    Traceback (most recent call last):
        ...
    mws_hf.errors.MwSError: words.tsv:3: count 'x' is not an integer; write word<TAB>count
    """


class MissingTokenizerError(MwSError, OSError):
    """There is no tokenizer at the place named; an OSError too, as transformers documents for `from_pretrained`."""
