"""Provide texts for comparing tokenizers: lines in several languages, and strings that programs often handle wrongly.

The texts are part of the package, so that you can check and export a tokenizer without a corpus.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

NATURAL = (
    "Переписывающаяся с подругой девочка перечитывала письма, не замечая, что за окном уже стемнело.",
    "— Что вы! — воскликнул он и, помолчав, добавил: «Это было в 1917 году»…",
    "Подводники безработицы не боятся; цена выросла на 12,5 % — до 1 234 567 рублей.",
    "П'ять хвилин по тому об’єкт зник, а п’яниця з подвір'я дивився на сузір'я.",
    "Evlerimizdekilerden Ankara'da kalanlar İstanbul'a döndü; ışık söndü.",
    "Käsittämättömyyksistään huolimatta juoksentelisinkohan, hän mietti syysaamuna.",
    "Megszentségteleníthetetlenségeskedéseitekért nem haragszunk, mondta az öregúr.",
    "Nejneobhospodařovávatelnější pole leželo ladem; příští jaro ho zorají.",
    "Die Donaudampfschifffahrtsgesellschaft fährt übrigens nicht mehr – schade!",
    "Don't you think they've misunderstood? It's I'LL who'd re-read the XMLHttpRequest's docs.",
    "हिन्दी में नमस्ते कहते हैं, क्षत्रिय की बात १२३ है।",
    "The café’s naïve résumé: 3.14, 1e-9, x_1 = f(x) + [a, b]; see https://example.org/?q=1&r=%20",
    "def f(x):\n    return {'a': x ** 2}  # comment\n\n\tclass A: pass\r\n",
    "漢字かな交じり文、한국어 문장, ภาษาไทย, ქართული, հայերեն, עברית, العَرَبِيّة",
)
"""Lines of text in languages with rich morphology and in other scripts, and of code."""

ADVERSARIAL = (
    *(
        " ",
        "  ",
        "\n",
        "\t\t",
        "\r\n\r\n",
        " \n \n",
        "a  b   c    d",
        "x\n\n\n\ny",
        "   \n   z",
        "\u00a0x\u2028y\u3000z",
    ),
    *("\ufeff", "\ufeffBOM first", "in\ufeffside", "end\ufeff", "\ufffd", "a\ufffd\ufffdb", "\u200b\u200d\u00ad"),
    *("👨‍👩‍👧‍👦 🇺🇦 👍🏽 \U0001f3f4\U000e0067\U000e007f", "e\u0301 и\u0306 й Z̸̡̢͉a̷", "ﬁ ß ẞ İ ı K Å ǅ", "١٢٣ ①② Ⅷ x²"),
    *("\x00\x01\x1f\x7f\x80\x9f", "\ue000\uf8ff\U000f0000\U0010ffff", "\uffff\ufdd0", "\u0378\u0530\U0001fffe"),
    *("\u088f a\u0c5c \ua7ce\U00010940\U00016ea0", "𠀀𪛟 𝔘𝔫 \U0001fae8", "<0x41><0xD0> <0xFF>", "Ġa Ċ Ã© â", "▁a ▁▁"),
    *("'s'S'll'LL're'Re'd'm't've", "’s ’ll don’t", "ABCabcABC camelCaseWord HTTPServer", "!!!???...---===", "a\\c//d"),
    *("1234567890 12 123 1234", "ababababababababababab", "а" * 300, " " * 100 + "x", "\n" * 50),
)
"""White space, byte order marks, unassigned and new code points, text that looks like byte tokens, and the like."""


def sample_texts() -> list[str]:
    """List the built-in texts and 200 random strings of Unicode; the list is always the same, and no text is empty.

    >>> len(sample_texts()) > 200, all(sample_texts())
    (True, True)
    """
    return [text for text in (*NATURAL, *ADVERSARIAL, *_random_texts(200)) if text]


def texts_with(tokens: Iterable[str]) -> list[str]:
    """Write a text for each token, with the token at its start, after a space, and between letters.

    >>> texts_with(["<s>", "</s>"])
    ['<s> <s> b<s>c', '</s> </s> b</s>c']
    """
    return [f"{token} {token} b{token}c" for token in tokens]


def _random_texts(number: int) -> list[str]:
    """Return strings of random characters, the same in every process."""
    choose = random.Random(1)
    points = [*range(0x20, 0xD800), *range(0xE000, 0x30000)]
    return [
        "".join(
            chr(choose.choice(points)) if choose.random() < 0.3 else choose.choice(" абвеöğ'\n.,1—Aa")
            for _ in range(choose.randint(1, 30))
        )
        for _ in range(number)
    ]
