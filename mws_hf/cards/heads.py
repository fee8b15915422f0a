"""The head of a model card: title, what the tokenizer is, how to load it, its facts; one function a kind of tokenizer.

Every head is laid out by `_head`; the functions only say what stands in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mws_hf.cards.facts import CardFacts
from mws_hf.text.markdown import markdown_table

PACKAGE = "[mws-hf](https://pypi.org/project/mws-hf/)"
"""How a card names this package; a head holds it where the tokenizer is one of ours."""
_STOCK = "It is a stock `tokenizer.json`: no plug-in is needed to use it."
_LOADING = """\
```python
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
```"""


def head(facts: CardFacts, settings: Mapping[str, Any], vocabulary: int) -> str:
    """Write the head of a card.

    Args:
        facts: what is said of the tokenizer; its name must be given.
        settings: of its training, as the record keeps them; empty where it was not learnt by this package.
        vocabulary: number of its entries.
    """
    if facts.extended:
        return extended_head(facts)
    if facts.trimmed:
        return trimmed_head(facts)
    return training_head(facts, settings, vocabulary) if settings else plain_head(facts, vocabulary)


def plain_head(facts: CardFacts, vocabulary: int) -> str:
    """Write the head of a tokenizer of which nothing more is known."""
    return _head(facts, f"A tokenizer of {vocabulary:,} entries.", {"trained on": facts.data})


def training_head(facts: CardFacts, settings: Mapping[str, Any], vocabulary: int) -> str:
    r"""Write the head of a tokenizer that was learnt by this package.

    >>> settings = {"criterion": "contextual", "alphabet": "bytes", "merges": {"morph": 0, "composition": 9}}
    >>> print(training_head(CardFacts(name="ru", data="a|b.txt"), settings, 300))  # doctest: +ELLIPSIS
    # ru
    <BLANKLINE>
    A byte-level BPE tokenizer whose merges join frequent neighbours, learnt without labels by [mws-hf]...
    | trained on | a\|b.txt |
    ...
    """
    by_bytes, merges = settings.get("alphabet") == "bytes", settings.get("merges") or {}
    kind = "byte-level" if by_bytes else "byte-fallback"
    follow = "follow morphemes" if merges.get("morph") else "join frequent neighbours"
    fits = _label_fits(settings)
    used = sum(fit["used"] for fit in fits.values())
    labels = f"with {used:,} words cut by hand" if fits else "without labels"
    rows = {
        "criterion": settings.get("criterion"),
        "trained on": facts.data,
        "distinct pre-tokens": settings.get("word_types"),
        "vocabulary": vocabulary,
        "characters built from bytes" if by_bytes else "of these: alphabet": settings.get("characters"),
        "morph merges": merges.get("morph"),
        "compositions of frequent neighbours": merges.get("composition"),
        **{f"labelled words{f' of {group}' if group else ''}": _described(fit) for group, fit in fits.items()},
        "merges hardly used by its training text": told_rare(settings.get("rare_entries")),
        "command": _code(facts.command),
    }
    groups = settings.get("groups")
    form = settings.get("normalization")
    return _head(
        facts,
        f"A {kind} BPE tokenizer whose merges {follow}, learnt {labels} by {PACKAGE}. {_STOCK}",
        rows,
        tables=["On its training text, by group:", _group_table(groups)] if groups else [],
        closing=f"`decode(encode(x)) == x` holds for every Unicode string{f' in {form.upper()}' if form else ''}.",
    )


def extended_head(facts: CardFacts) -> str:
    """Write the head of a tokenizer that `mws extend` made.

    >>> found = {"base": "Qwen/Qwen3-0.6B", "new_tokens": 5, "vocabulary": 305, "texts": {}}
    >>> text = extended_head(CardFacts(name="my-qwen", extended=found))
    >>> "| new tokens | 5 |" in text, "Every old id and merge is where it was." in text
    (True, True)
    """
    found = facts.extended
    base, kept = found["base"], "Every old id and merge is where it was."
    if retired := found.get("retired_tokens"):
        gone = f"{retired:,} unused tokens ({found['retired_words']:,} of them whole words)"
        kept = f"Ids of {gone} went to new ones; every other id is where it was."
    if dropped := found.get("dropped_before"):
        least = f"{dropped:,} entries that the texts use least"
        kept = f"Before, {least} were dropped: `ids.json` has the new ids of the others."
    rows = {
        "base": base,
        "trained on": facts.data,
        "distinct pre-tokens": found.get("word_types"),
        "new tokens": found["new_tokens"],
        "ids": found["vocabulary"],
        "command": _code(facts.command),
    }
    texts = found["texts"]
    header = ["text", *_pair("tokens per word"), *_pair("bytes per token"), "words cut otherwise"]
    changes = [
        [name, *map("{:.3f}".format, text["tokens_per_word"]), *map("{:.2f}".format, text["bytes_per_token"]),
         f"{text['words_changed']:.1%}"]
        for name, text in texts.items()
    ]  # fmt: skip
    return _head(
        facts,
        f"The tokenizer of {base} with {found['new_tokens']:,} tokens added by {PACKAGE}, whose merges follow "
        f"morphemes. {kept} {_STOCK}",
        rows,
        use=f"A model of {base} needs rows for the new tokens before it is trained further: `mws transplant`.",
        tables=[markdown_table(header, changes)] if changes else [],
        closing=_license_of(base),
    )


def trimmed_head(facts: CardFacts) -> str:
    """Write the head of a tokenizer that `mws trim` made.

    >>> found = {"entries": [900, 500], "merges": [600, 220], "kept": {}, "dropped": {"unused": 400}, "texts": {}}
    >>> "| entries | 500 of 900 |" in trimmed_head(CardFacts(name="small", trimmed={"base": "gpt2", **found}))
    True
    """
    found = facts.trimmed
    base, (before, after), (merges_before, merges_after) = found["base"], found["entries"], found["merges"]
    rows = {
        "base": base,
        "trimmed to": facts.data,
        "entries": f"{after:,} of {before:,}",
        "merges": f"{merges_after:,} of {merges_before:,}",
        "kept": ", ".join(f"{number:,} {reason}" for reason, number in found["kept"].items()),
        "dropped": ", ".join(f"{number:,} {reason}" for reason, number in found["dropped"].items()) or "none",
        "command": _code(facts.command),
    }
    header = ["text", "tokens, base", "now", "uses lost", *_pair("unigram bits per byte")]
    lengths = [
        [name, *map("{:,}".format, text["tokens"]), f"{text['uses_lost']:.2%}",
         *map("{:.4f}".format, text["unigram_bits_per_byte"])]
        for name, text in found["texts"].items()
    ]  # fmt: skip
    return _head(
        facts,
        f"The tokenizer of {base} without {before - after:,} entries, trimmed by {PACKAGE} to the texts below. Text "
        f"that {base} cuts into kept entries alone is cut as before; all other text stays lossless. {_STOCK}",
        rows,
        use=f"Ids are others than those of {base}: `ids.json` has what became of each, and `mws transplant` fits a "
        "model to them.",
        tables=[markdown_table(header, lengths)] if lengths else [],
        closing=_license_of(base),
    )


def _head(
    facts: CardFacts,
    about: str,
    rows: Mapping[str, Any],
    *,
    use: str = "",
    tables: Sequence[str] = (),
    closing: str = "",
) -> str:
    """Lay out a head: title, a paragraph, the code that loads it, how to use it, facts, tables, a last sentence, notes.

    A row whose value is None or empty is left out; whole numbers are written with commas.
    """
    cells = [
        [title, f"{value:,}" if isinstance(value, int) else str(value)]
        for title, value in rows.items()
        if value not in (None, "")
    ]
    parts = [
        *(f"# {facts.name}", about, _LOADING.format(name=facts.name), use),
        markdown_table(["fact", "value"], cells, numbers=False) if cells else "",
        *(*tables, closing, *facts.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def told_rare(rare_entries: Mapping[str, float] | None) -> str:
    """Say in words the shares of `group_facts.training_facts`; nothing where there are none.

    >>> told_rare({"unused": 0.012, "under_5": 0.04})
    '4.0 % fewer than 5 times, 1.2 % never'
    """
    if not rare_entries:
        return ""
    return f"{rare_entries['under_5']:.1%} fewer than 5 times, {rare_entries['unused']:.1%} never".replace("%", " %")


def _label_fits(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what came of labelled words by group; "" is the group of words that belong to none."""
    found = settings.get("label_fit") or {}
    return {"": found} if "given" in found else found


def _described(fit: Mapping[str, Any]) -> str:
    from mws_hf.learn.evidence.labels import LabelFit  # a card with labels alone needs it

    return LabelFit(**fit).describe()


def _group_table(groups: Mapping[str, Mapping[str, float]]) -> str:
    header = ["group", "weight", "distinct pre-tokens", "tokens per word", "bytes per token", "vocabulary of its own"]
    rows = [
        [name, f"{found['weight']:g}", f"{found['types']:,}", f"{found['tokens_per_word']:.2f}",
         f"{found['bytes_per_token']:.2f}", f"{found['own_vocabulary']:.1%}"]
        for name, found in groups.items()
    ]  # fmt: skip
    return markdown_table(header, rows)


def _pair(measure: str) -> tuple[str, str]:
    """Write the titles of a measure before and after."""
    return f"{measure}, base", "now"


def _code(command: str) -> str:
    return f"`{command}`" if command else ""


def _license_of(base: str) -> str:
    return f"The license of {base} holds for what is taken from it."
