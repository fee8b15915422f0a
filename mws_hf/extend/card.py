"""Model cards of extended and trimmed tokenizers: the base, what was done, what that changes; it measures nothing."""

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


_TRIMMED = """\
---
library_name: transformers
tags:
- tokenizer
- mws-hf
---
# {name}

The tokenizer of {base} without {gone:,} entries, trimmed by [mws-hf](https://pypi.org/project/mws-hf/) to the texts
below. Text that {base} cuts into kept entries alone is cut as before; all other text stays lossless. It is a stock
`tokenizer.json`: no plug-in is needed to use it.

```python
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
```

Ids are others than those of {base}: `ids.json` has what became of each, and `mws transplant` fits a model to them.

| fact | value |
|---|---|
| base | {base} |
| trimmed to | {source} |
| entries | {entries} |
| merges | {merges} |
| kept | {kept} |
| dropped | {dropped} |
| command | `{command}` |
{lengths}
The license of {base} holds for what is taken from it.
"""


def extension_card(name: str, base: str, source: str, command: str, found: Mapping[str, Any]) -> str:
    """The card's text; `found` are the facts of `report.facts`.

    >>> found = {"new_tokens": 5, "word_types": 90, "vocabulary": 305, "retired_tokens": [], "texts": {}}
    >>> card = extension_card("my-qwen", "Qwen/Qwen3-0.6B", "a.txt", "mws extend ...", found)
    >>> "| new tokens | 5 |" in card, "Every old id and merge is where it was." in card
    (True, True)
    """
    retired, trimmed = len(found["retired_tokens"]), found.get("trimmed")
    kept = "Every old id and merge is where it was."
    if retired:
        words = len(found["retired_words"])
        gone = f"{retired:,} unused tokens ({words:,} of them whole words)"
        kept = f"Ids of {gone} went to new ones; every other id is where it was."
    if trimmed:
        dropped = sum(trimmed["dropped"].values())
        least = f"{dropped:,} entries that the texts use least"
        kept = f"Before, {least} were dropped: `ids.json` has the new ids of the others."
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


def trimmed_card(name: str, base: str, source: str, command: str, found: Mapping[str, Any]) -> str:
    """The card's text; `found` are the facts of `trim_report.trim_facts`.

    >>> found = {"entries": [900, 500], "merges": [600, 220], "kept": {}, "dropped": {"unused": 400}, "texts": {}}
    >>> "| entries | 500 of 900 |" in trimmed_card("small", "openai-community/gpt2", "a.txt", "mws trim ...", found)
    True
    """
    (before, after), (merges_before, merges_after) = found["entries"], found["merges"]
    return _TRIMMED.format(
        name=name,
        base=_cell(base),
        gone=before - after,
        entries=f"{after:,} of {before:,}",
        merges=f"{merges_after:,} of {merges_before:,}",
        kept=", ".join(f"{number:,} {reason}" for reason, number in found["kept"].items()),
        dropped=", ".join(f"{number:,} {reason}" for reason, number in found["dropped"].items()) or "none",
        source=_cell(source),
        command=_cell(command),
        lengths=_lengths(found["texts"]) if found["texts"] else "",
    )


def _lengths(texts: Mapping[str, Mapping[str, Any]]) -> str:
    rows = "".join(
        f"| {_cell(name)} | {text['tokens'][0]:,} | {text['tokens'][1]:,} | {text['uses_lost']:.2%} "
        f"| {text['unigram_bits_per_byte'][0]:.4f} | {text['unigram_bits_per_byte'][1]:.4f} |\n"
        for name, text in texts.items()
    )
    return (
        "\n| text | tokens, base | now | uses lost | unigram bits per byte, base | now |\n"
        f"|---|---|---|---|---|---|\n{rows}"
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
