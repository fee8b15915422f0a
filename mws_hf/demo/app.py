"""The Gradio app of the page: three panels with the content of this room's other modules. It asks no other server.

The same `page` runs on one's own machine (`mws demo`) and as a Hugging Face Space (scripts/space).

It offers examples made for it: a sentence and a word in languages of many kinds.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mws_hf.demo.comparison import comparison_html
from mws_hf.demo.guard import LOCAL, Guard
from mws_hf.demo.text_view import MOST_TYPED, text_html
from mws_hf.demo.tokens import Opened
from mws_hf.demo.word_view import TrainingEvidence, word_html
from mws_hf.errors import MwSError


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


STYLE = Path(__file__).with_name("style.css")
_TITLE = "How tokenizers cut text"
_ABOUT = {
    "page": "A language model does not read letters, it reads **tokens**: pieces of text, each with a number. Where a "
    "tokenizer cuts decides what a model can see. Type below, or choose an example.",
    "Text": "Each colour is one token. Point at a token for its number and the merge that made it.",
    "Word": "How each tokenizer cuts one word (the strips below the letters), and the merges that lead there, first to "
    "last. Where training words are known, a bar tells how likely a morph ends after the letter.",
    "Compare": "How long one text becomes with two tokenizers, and the words that they cut differently.",
}


def page(tokenizers: Sequence[Opened], known: TrainingEvidence | None = None) -> Any:
    """Build the page of one or more tokenizers of different names as `gradio.Blocks`; with the evidence known, if any.

    Raises:
        MwSError: gradio is not installed, or there is no tokenizer.
    """
    gradio = load_gradio()
    if not tokenizers:
        raise MwSError("nothing to show: give at least one tokenizer directory")
    first = first_example(tokenizers)
    with gradio.Blocks(title=_TITLE, analytics_enabled=False) as blocks:
        gradio.Markdown(f"# {_TITLE}\n\n{_ABOUT['page']}")
        with gradio.Tab("Text") as text_tab:
            texts = {example.language: example.text for example in EXAMPLES}
            text = _panel(gradio, "Text", lambda typed: text_html(tokenizers, typed or ""), first.text, texts)
        with gradio.Tab("Word") as word_tab:
            words = {example.language: example.word for example in EXAMPLES}
            word = _panel(gradio, "Word", lambda typed: word_html(tokenizers, typed or "", known), first.word, words)
        compared = text
        if len(tokenizers) > 1:
            with gradio.Tab("Compare") as compare_tab:
                compared = _compare(gradio, {opened.name: opened for opened in tokenizers}, first.text)
        carry = _CARRY.replace("FIRST", json.dumps(first.text))
        word_tab.select(None, [text, compared, word], word, js=_WORD.replace("CARRY", carry), **_QUIET)
        if len(tokenizers) > 1:
            compare_tab.select(None, [text, compared], compared, js=_TEXT.replace("CARRY", carry), **_QUIET)
            text_tab.select(None, [compared, text], text, js=_TEXT.replace("CARRY", carry), **_QUIET)
    return blocks


_QUIET: dict[str, Any] = {"trigger_mode": "always_last", "show_progress": "hidden", "api_visibility": "private"}

# What is typed in one tab is there in the next, without asking the server, whose answer could come after further keys.
_CARRY = "window.mws ??= {shared: FIRST, wordOf: FIRST}"
_TEXT = """(other, own) => {
  const kept = CARRY;
  if (other === kept.shared) return own;
  return kept.shared = other;
}"""
_WORD = r"""(text, compared, word) => {
  const kept = CARRY, now = compared === kept.shared ? text : compared;
  if (now === kept.wordOf) return word;
  kept.wordOf = now;
  const words = now.match(/[\p{L}\p{M}\p{N}'’]+/gu) ?? [];
  return words.reduce((one, other) => other.length > one.length ? other : one, "");
}"""


def _panel(gradio: Any, name: str, draw: Any, first: str, examples: Mapping[str, str]) -> Any:
    """Build a box to type in, with examples to choose, and a panel that `draw` fills after each key; return the box."""
    many, place = name == "Text", name.lower()
    gradio.Markdown(_ABOUT[name], elem_classes="mws-about")
    box = gradio.Textbox(
        first, label=name, lines=3 if many else 1, max_lines=8 if many else 1, max_length=MOST_TYPED,
        elem_id=f"mws-{place}",
    )  # fmt: skip
    with gradio.Row(elem_classes="mws-examples"):
        for language, example in examples.items():
            button = gradio.Button(language, size="sm", min_width=0)
            button.click(lambda example=example: example, None, box, **_QUIET)
    shown = gradio.HTML(draw(first), elem_id=f"mws-{place}-shown", apply_default_css=False, js_on_load=None)
    box.change(draw, box, shown, **_QUIET)
    return box


def _compare(gradio: Any, named: Mapping[str, Opened], first_text: str) -> Any:
    """Build two names to choose and a box to type in; return the box."""
    names = list(named)
    gradio.Markdown(_ABOUT["Compare"], elem_classes="mws-about")
    with gradio.Row():
        first = gradio.Dropdown(names, value=names[0], label="First", filterable=False)
        second = gradio.Dropdown(names, value=names[1], label="Second", filterable=False)
    box = gradio.Textbox(first_text, label="Text", lines=3, max_lines=8, max_length=MOST_TYPED, elem_id="mws-compare")

    def draw(one: str, other: str, text: str | None) -> str:
        return comparison_html(named[one], named[other], text or "")

    inputs = [first, second, box]
    shown = gradio.HTML(
        draw(names[0], names[1], first_text), elem_id="mws-compare-shown", apply_default_css=False, js_on_load=None
    )
    for changed in (first.change, second.change, box.change):
        changed(draw, inputs, shown, **_QUIET)
    return box


def serve(blocks: Any, port: int | None = None, host: str | None = None) -> str:
    """Begin to serve a page; return its address.

    Args:
        blocks: the page, from `page`.
        port: number of the port; by default the first free one from 7860 on.
        host: an address of this machine to serve on; None for this machine alone, "0.0.0.0" for everybody.

    Raises:
        MwSError: the port is taken, or the address is not this machine's.
    """
    gradio = load_gradio()
    from starlette.middleware import Middleware

    host = host or LOCAL[0]
    theme = gradio.themes.Base(
        font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"], neutral_hue="slate"
    )
    try:
        _, address, _ = blocks.launch(
            server_name=host,
            server_port=port,
            share=False,
            quiet=True,
            prevent_thread_lock=True,
            ssr_mode=False,
            run_history=False,
            footer_links=[],
            theme=theme,
            css=STYLE.read_text(encoding="utf-8"),
            app_kwargs={"middleware": [Middleware(Guard, host=host)]},
        )
    except OSError as error:
        which = "every port from 7860 on" if port is None else f"port {port}"
        raise MwSError(f"the page cannot be served: {which} is taken or forbidden; choose another --port") from error
    return str(address)


def wait(blocks: Any) -> None:
    """Wait until a served page has ended, or end it at Ctrl-C."""
    try:
        while blocks.is_running:
            time.sleep(0.2)
    except KeyboardInterrupt:
        blocks.close(verbose=False)


def load_gradio() -> Any:
    """Import Gradio with its telemetry off; raises MwSError where it is not installed.

    Gradio asks about telemetry while it is imported.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import gradio
    except ImportError:
        raise MwSError("the page needs Gradio: pip install gradio") from None
    return gradio
