"""Show how several tokenizers split a text, side by side: a Hugging Face Space, or `python app.py DIR ...`.

It shows the tokenizers named on the command line, in the Space's variable MWS_TOKENIZERS (Hub names, separated by
spaces), or in folders of `tokenizers/` next to this file. Otherwise it shows the tokenizer of eight languages that
comes with mws_hf.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
import gradio
from transformers import AutoTokenizer

import mws_hf

EXAMPLES = (
    "The unbelievable friendships of neighbors outlasted their disagreements.",
    "Переписывающаяся с подругой девочка перечитывала письма.",
    "Taloissammekin juoksenneltiin syysaamuina kirjastoista kauppoihin.",
    "Evlerimizdekilerden Ankara'da kalanlar arkadaşlarını özlüyorlardı.",
    "A barátságainkról beszélgettünk a házaitokban, ahol megérkezésünkkor énekeltek.",
)
MAX_CHARACTERS = 20_000  # characters of a text


def tokenizers() -> dict[str, Any]:
    """Open the tokenizers to show, by name."""
    beside = sorted(str(file.parent) for file in (Path(__file__).parent / "tokenizers").glob("*/tokenizer.json"))
    if places := sys.argv[1:] or os.environ.get("MWS_TOKENIZERS", "").split() or beside:
        return {place: AutoTokenizer.from_pretrained(place) for place in places}
    return {"mws-eight-languages-64k": mws_hf.pretrained("mws-eight-languages-64k")}


def tokens_of(tokenizer: Any, text: str) -> list[tuple[str, str]]:
    """Split a text into its tokens, each with its id; tokens that share a character are shown together.

    The parts spell the text, whatever the offsets of its tokens are.
    """
    encoded = tokenizer(text[:MAX_CHARACTERS], add_special_tokens=False, return_offsets_mapping=True)
    shown: list[tuple[str, str]] = []
    end = 0
    for number, (start, stop) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
        if shown and start < end:
            shown[-1] = (shown[-1][0] + text[end:stop], f"{shown[-1][1]} {number}")
        else:
            shown.append((text[end:stop], str(number)))
        end = max(end, stop)
    return shown


def page(opened: dict[str, Any]) -> gradio.Blocks:
    """Build the page: a box to type in, and for each tokenizer its tokens in colors with their ids."""
    with gradio.Blocks(title="How tokenizers split text", analytics_enabled=False) as blocks:
        gradio.Markdown("# How tokenizers split text\nEach color is one token, and its id is below it.")
        box = gradio.Textbox(EXAMPLES[0], label="Text", lines=3, max_length=MAX_CHARACTERS)
        gradio.Examples(list(EXAMPLES), box)
        shown = [gradio.HighlightedText(tokens_of(each, EXAMPLES[0]), label=name) for name, each in opened.items()]
        box.change(lambda text: [tokens_of(each, text or "") for each in opened.values()], box, shown)
    return blocks


if __name__ == "__main__":
    page(tokenizers()).launch()
