"""The examples that the page offers: a sentence and a word in languages of many kinds, made for this page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mws_hf.demo.tokens import Opened


@dataclass(frozen=True)
class Example:
    """A language by its own name, a sentence in it, and a word with several morphs."""

    language: str
    text: str
    word: str


EXAMPLES = (
    Example("English", "The unbelievable friendships of neighbours outlasted their disagreements.", "unbelievable"),
    Example("Русский", "Переписывающаяся с подругой девочка перечитывала письма.", "переписывающаяся"),
    Example("Українська", "Підводники переписувалися з учителями, не помічаючи сутінок.", "переписувалися"),
    Example("Suomi", "Taloissammekin juoksenneltiin syysaamuina kirjastoista kauppoihin.", "taloissammekin"),
    Example("Türkçe", "Evlerimizdekilerden Ankara'da kalanlar arkadaşlarını özlüyorlardı.", "evlerimizdekilerden"),
    Example(
        "Magyar", "A barátságainkról beszélgettünk a házaitokban, ahol megérkezésünkkor énekeltek.", "barátságainkról"
    ),
    Example("Čeština", "Nejneuvěřitelnější přátelství přetrvala i sousedské nedorozumění.", "nejneuvěřitelnější"),
    Example("Deutsch", "Die Freundschaften der Nachbarskinder überdauerten alle Streitigkeiten.", "Freundschaften"),
    Example("עברית", "הילדים כתבו מכתבים לחבריהם וקראו אותם שוב.", "מכתביהם"),
    Example("Code", "def get_user_name(self, userId):\n    return self.userNames[userId]", "getUserNames"),
)


def first_example(tokenizers: Sequence[Opened]) -> Example:
    """Choose the example to begin with: the one in which the first tokenizer's tokens hold the most characters.

    A tokenizer's tokens are longest in the language that it was learnt from.
    """
    encoded = tokenizers[0].encoder.encode([example.text for example in EXAMPLES])
    sizes = [len(example.text) / len(each.ids) for example, each in zip(EXAMPLES, encoded, strict=True)]
    return EXAMPLES[max(range(len(EXAMPLES)), key=sizes.__getitem__)]
