"""The model card of an extended tokenizer: its base, what was added, and what that changes; it measures nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEMPLATE = """\
---
library_name: transformers
tags:
- tokenizer
- morphology
- mws-hf
---
# {name}

The tokenizer of {base} with {new:,} tokens added by [mws-hf](https://pypi.org/project/mws-hf/), whose merges follow
morphemes. {kept} It is a stock `tokenizer.json`: no plug-in is needed to use it.

```python
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
```

A model of {base} needs rows for the new tokens before it is trained further: `mws transplant`.

| fact | value |
|---|---|
| base | {base} |
| trained on | {source} |
| distinct pre-tokens | {types:,} |
| new tokens | {new:,} |
| ids | {ids:,} |
| command | `{command}` |
{changes}
The license of {base} holds for what is taken from it.
"""


def extension_card(name: str, base: str, source: str, command: str, found: Mapping[str, Any]) -> str:
    """The card's text; `found` are the facts of `report.facts`.

    >>> found = {"new_tokens": 5, "word_types": 90, "vocabulary": 305, "retired_tokens": [], "texts": {}}
    >>> card = extension_card("my-qwen", "Qwen/Qwen3-0.6B", "a.txt", "mws extend ...", found)
    >>> "| new tokens | 5 |" in card, "Every old id and merge is where it was." in card
    (True, True)
    """
    retired = len(found["retired_tokens"])
    kept = (
        f"Ids of {retired:,} unused tokens went to new ones; every other id is where it was."
        if retired
        else "Every old id and merge is where it was."
    )
    return _TEMPLATE.format(
        name=name,
        base=_cell(base),
        new=found["new_tokens"],
        kept=kept,
        source=_cell(source),
        types=found["word_types"],
        ids=found["vocabulary"],
        command=_cell(command),
        changes=_changes(found["texts"]) if found["texts"] else "",
    )


def _changes(texts: Mapping[str, Mapping[str, Any]]) -> str:
    rows = "".join(
        f"| {_cell(name)} | {text['tokens_per_word'][0]:.3f} | {text['tokens_per_word'][1]:.3f} "
        f"| {text['bytes_per_token'][0]:.2f} | {text['bytes_per_token'][1]:.2f} | {text['words_changed']:.1%} |\n"
        for name, text in texts.items()
    )
    return (
        "\n| text | tokens per word, base | now | bytes per token, base | now | words cut otherwise |\n"
        f"|---|---|---|---|---|---|\n{rows}"
    )


def _cell(text: str) -> str:
    """A text within a table."""
    return text.replace("|", "\\|")
