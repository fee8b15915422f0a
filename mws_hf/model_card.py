"""The model card (README.md) of a trained tokenizer directory; it states facts of the run and measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mws_hf.atomic import write_text

if TYPE_CHECKING:
    from mws_hf.learn.trainer import LearntVocabulary

_TEMPLATE = """\
---
library_name: transformers
tags:
- tokenizer
- morphology
- mws-hf
---
# {name}

A byte-fallback BPE tokenizer whose merges follow morphemes, learnt without labels by
[mws-hf](https://pypi.org/project/mws-hf/). It is a stock `tokenizer.json`: no plug-in is needed to use it.

```python
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
```

| fact | value |
|---|---|
| criterion | {criterion} |
| trained on | {source} |
| distinct pre-tokens | {types:,} |
| vocabulary | {vocabulary:,} |
| of these: alphabet | {alphabet:,} |
| morph merges | {morphs:,} |
| compositions of frequent neighbours | {compositions:,} |
| command | `{command}` |
{examples}
`decode(encode(x)) == x` holds for every Unicode string{caveat}.
"""


def model_card(
    name: str,
    vocab_size: int,
    report: LearntVocabulary,
    *,
    criterion: str,
    source: str,
    command: str,
    examples: Sequence[tuple[str, Sequence[str]]] = (),
    normalization: str | None = None,
) -> str:
    """The card's text.

    Args:
        name: directory or Hub name of the tokenizer.
        vocab_size: its entries.
        report: what training found.
        criterion: "contextual" or "classic".
        source: the training words, in words.
        command: the command that made it.
        examples: (word, morphs) pairs to show.
        normalization: the normalization, which makes the round trip hold for normalized text only.
    """
    rows = "".join(f"| {word} | {'·'.join(morphs)} |\n" for word, morphs in examples)
    return _TEMPLATE.format(
        name=name,
        criterion=criterion,
        source=source,
        types=report.n_types,
        vocabulary=vocab_size,
        alphabet=len(report.alphabet),
        morphs=report.n_morphs,
        compositions=report.n_compositions,
        command=command,
        examples=f"\n| word | tokens |\n|---|---|\n{rows}" if rows else "",
        caveat=f" in {normalization.upper()}" if normalization else "",
    )


def write_model_card(directory: str | Path, text: str) -> None:
    """Write the card as README.md of `directory`, unless somebody wrote another one there."""
    path = Path(directory) / "README.md"
    if not path.exists() or "mws-hf" in path.read_text(encoding="utf-8"):
        write_text(path, text)
