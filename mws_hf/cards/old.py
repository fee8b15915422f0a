"""Cards of versions before 0.3, which were the only place that kept the facts of a training: source, command, license.

`mws card` renews such a card with its head word for word and what its metadata says, so that nobody loses them. Cards
of later versions are never read; this module may go when no directory of those versions is in use.
"""

from __future__ import annotations

import re

from mws_hf.cards.facts import CardFacts

_TITLE = re.compile(r"\A# (.*)")
_SOURCE = re.compile(r"^\| trained on \| .*$", re.MULTILINE)
_WORDS = re.compile(r"\| word \| tokens \|\n\|---\|---:?\|\n((?:\|.*\|\n)+)\n?")


def old_facts(card: str) -> CardFacts:
    r"""Read name, languages, license and example words from an old generated card.

    >>> old_facts("---\nlicense: mit\n---\n# cats\n\n| word | tokens |\n|---|---|\n| cats | cat·s |\n").told()
    {'name': 'cats', 'license': 'mit', 'words': ('cats',)}
    """
    from huggingface_hub import ModelCard

    data = ModelCard(card).data.to_dict()
    languages = data.get("language") or []
    title, words = _TITLE.search(_body(card)), _WORDS.search(card)
    return CardFacts(
        name=title[1] if title else "",
        languages=(languages,) if isinstance(languages, str) else tuple(languages),
        license=data.get("license") or "",
        words=tuple(row.split(" | ")[0].removeprefix("| ") for row in words[1].splitlines()) if words else (),
    )


def old_head(card: str, facts: CardFacts) -> str:
    """Copy an old generated card up to its first section, without its words, with the name and data of `facts`."""
    own, body = old_facts(card).name, _WORDS.sub("", _body(card))
    body = _TITLE.sub(lambda _: f"# {facts.name}", body)
    body = body.replace(f'from_pretrained("{own}")', f'from_pretrained("{facts.name}")')
    body = _SOURCE.sub(lambda row: f"| trained on | {facts.data} |" if facts.data else row[0], body)
    return body.strip("\n")


def _body(card: str) -> str:
    return card.split("\n---\n", 1)[-1].split("\n## ", 1)[0]
