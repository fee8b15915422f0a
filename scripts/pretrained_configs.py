"""The pretrained tokenizers of `model_cards/`: name, languages, size and license of each, and its baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.systems import UNIGRAM
from pretrained_sources import GOLD

TURKISH = "tekken"
"""Mistral's split pattern: GPT-4o's without English contractions, and with single digits."""


@dataclass(frozen=True)
class Config:
    """A tokenizer to train: the groups of its words, its size, and whether its text may be share-alike."""

    name: str
    groups: tuple[str, ...]
    size: int
    share_alike: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_lexicon(self) -> bool:
        """Whether words come from the pymorphy3 dictionary."""
        return self.groups == ("lexicon",)

    @property
    def languages(self) -> list[str]:
        """Codes for the Hub."""
        return ["ru"] if self.of_lexicon else list(self.groups)

    @property
    def pattern(self) -> str:
        """The split pattern: `TURKISH` keeps every Turkish suffix whole, which GPT-4o's default splits like English."""
        return TURKISH if "tr" in self.groups else "o200k"

    @property
    def license(self) -> str:
        """The license of the vocabulary."""
        return "cc-by-sa-4.0" if self.share_alike else "cc-by-4.0"

    @property
    def gold(self) -> list[str]:
        """The reference segmentations it is measured on: all of one language, the first of each of several."""
        most = 1 if len(self.groups) > 1 or self.of_lexicon else None
        return [name for each in self.languages for name in GOLD.get(each, ())[:most]]


LETTERS = {
    **{"ru": "russian", "uk": "ukrainian", "fi": "finnish", "tr": "turkish"},
    **{"hu": "hungarian", "cs": "czech", "de": "german", "en": "english"},
}
"""The named alphabet of each language, which its tokenizer contains besides `EVERYDAY`."""

MONOLINGUAL = tuple(LETTERS)
"""The languages that get tokenizers of their own."""
IN_THE_MIXTURE = ("ru", "uk", "fi", "tr", "hu", "cs", "de", "en")
"""The groups of the tokenizer of eight languages. Another language above does not change it; their order does."""
CONFIGS = (
    *(
        Config(f"mws-{language}-{size}k", (language,), size * 1000, share_alike=language == "tr")
        for language in MONOLINGUAL
        for size in (16, 32)
    ),
    Config("mws-ru-en-code-64k", ("ru", "en", "code"), 64_000),
    Config("mws-ru-uk-64k", ("ru", "uk"), 64_000),
    Config("mws-eight-languages-64k", IN_THE_MIXTURE, 64_000),
    Config("mws-ru-morphs-8k", ("lexicon",), 8_000, share_alike=True, options={"composition": 0}),
)
UNIGRAM_TYPES = 100_000
RIVALS = {"BPE": ("bpe-byte", None), "Unigram": (UNIGRAM, UNIGRAM_TYPES)}
"""The baselines: system of `compare.baselines`, and how many of the most frequent pre-tokens it learns from."""
KEPT_BPE = {"mws-eight-languages-64k": "bpe-eight-languages-64k"}
"""Tokenizers whose BPE is kept too, in a folder of this name: the page of `scripts/space` shows both."""
