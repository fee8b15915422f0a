"""Compare the ids and the decoded text that another program returns with the results of `tokenizers`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

from mws_hf.errors import MwSError, quoted
from mws_hf.tokenizer.spec import without_limits


class IdComparison(NamedTuple):
    """The result of `compare_ids`.

    Attributes:
        texts: number of texts that were compared.
        ids: the texts for which the program gives different ids.
        decoded: the texts whose ids it decodes to a different text.
    """

    texts: int
    ids: list[str]
    decoded: list[str]

    def raise_if_different(self, reader: str) -> None:
        """Raise MwSError with the first text if there is a difference, so that no inexact file is written.

        Args:
            reader: the name of the other program.
        """
        for kind, wrong in (("ids", self.ids), ("decoded text", self.decoded)):
            if wrong:
                raise MwSError(
                    f"{reader} would give different {kind} on {len(wrong):,} of {self.texts:,} texts, "
                    f"for example {quoted(wrong[0])}; use a program that reads tokenizer.json"
                )

    def refuse(self, reader: str) -> None:
        """Call `raise_if_different`; this is its former name, kept for one version."""
        warnings.warn("IdComparison.refuse is now raise_if_different", DeprecationWarning, stacklevel=2)
        self.raise_if_different(reader)


def compare_ids(
    backend: Tokenizer,
    texts: Sequence[str],
    encode: Callable[[str], Sequence[int]],
    decode: Callable[[list[int]], str] | None = None,
) -> IdComparison:
    """Compare the ids, and the decoded text, that another program returns with the results of `tokenizers`.

    Args:
        backend: the tokenizer of `tokenizers`, whose truncation and padding are not used.
        texts: the texts to encode. Special tokens that they contain are encoded as such; none are added around them.
        encode: returns the ids that the other program gives to a text.
        decode: returns the text that it makes of ids; None if decoding is not compared.

    Returns:
        The texts with different ids, and those with different decoded text.
    """
    backend = without_limits(backend)
    ids = {text: backend.encode(text, add_special_tokens=False).ids for text in texts}
    wrong_ids = [text for text in texts if list(encode(text)) != ids[text]]
    wrong_text = [
        text for text in texts if decode and decode(ids[text]) != backend.decode(ids[text], skip_special_tokens=False)
    ]
    return IdComparison(len(texts), wrong_ids, wrong_text)
