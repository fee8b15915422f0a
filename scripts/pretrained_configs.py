"""The pretrained tokenizers of `model_cards/`: the name, languages, size, license and baselines of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.systems import UNIGRAM
from pretrained_sources import GOLD

TURKISH = "tekken"
"""The split pattern of Mistral, which is GPT-4o's without English contractions and with single digits."""


@dataclass(frozen=True)
class Config:
    """A tokenizer to train.

    Attributes:
        name: its name and the name of its folder.
        groups: the language groups of its words, or only "lexicon" for the pymorphy3 dictionary.
        size: its vocabulary size.
        share_alike: whether its training text may be under a share-alike license.
        options: further arguments of `MwSTrainer`.
    """

    name: str
    groups: tuple[str, ...]
    size: int
    share_alike: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_lexicon(self) -> bool:
        """Whether its words come from the pymorphy3 dictionary."""
        return self.groups == ("lexicon",)

    @property
    def languages(self) -> list[str]:
        """The language codes for the Hub."""
        return ["ru"] if self.of_lexicon else list(self.groups)

    @property
    def pattern(self) -> str:
        """The split pattern; `TURKISH` keeps Turkish suffixes whole, which GPT-4o's splits like English."""
        return TURKISH if "tr" in self.groups else "o200k"

    @property
    def license(self) -> str:
        """The license of the vocabulary."""
        return "cc-by-sa-4.0" if self.share_alike else "cc-by-4.0"

    @property
    def gold(self) -> list[str]:
        """The reference segmentations that it is measured on: all sets of its language, or one per language."""
        most = 1 if len(self.groups) > 1 or self.of_lexicon else None
        return [name for each in self.languages for name in GOLD.get(each, ())[:most]]


LETTERS = {
    **{"ru": "russian", "uk": "ukrainian", "fi": "finnish", "tr": "turkish"},
    **{"hu": "hungarian", "cs": "czech", "de": "german", "en": "english"},
}
"""The named alphabet of each language, which its tokenizer contains in addition to `EVERYDAY`."""

MONOLINGUAL = tuple(LETTERS)
"""The languages that have monolingual tokenizers."""
EIGHT_LANGUAGES = ("ru", "uk", "fi", "tr", "hu", "cs", "de", "en")
"""The groups of the tokenizer for eight languages, whose order affects the result.

The tuple is written out, so that a new monolingual tokenizer does not change it.
"""
CONFIGS = (
    *(
        Config(f"mws-{language}-{size}k", (language,), size * 1000, share_alike=language == "tr")
        for language in MONOLINGUAL
        for size in (16, 32)
    ),
    Config("mws-ru-en-code-64k", ("ru", "en", "code"), 64_000),
    Config("mws-ru-uk-64k", ("ru", "uk"), 64_000),
    Config("mws-eight-languages-64k", EIGHT_LANGUAGES, 64_000),
    Config("mws-ru-morphs-8k", ("lexicon",), 8_000, share_alike=True, options={"composition": 0}),
)
UNIGRAM_TYPES = 100_000
"""The number of pre-tokens that Unigram learns from, which takes most of the time."""
BASELINES = {"BPE": ("bpe-byte", None), "Unigram": (UNIGRAM, UNIGRAM_TYPES)}
"""The baselines: the system in `compare.baselines`, and the number of most frequent pre-tokens to learn from.

The number is None for all pre-tokens.
"""
KEPT_BPE = {"mws-eight-languages-64k": "bpe-eight-languages-64k"}
"""Tokenizers whose BPE baseline is saved, too, and the name of its folder; `scripts/space` shows both."""
