"""The Gradio app of the page, with examples to try, and the guard before its server. It asks no other server.

The same `page` runs on one's own machine (`mws demo`) and as a Hugging Face Space (scripts/space).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from mws_hf.demo.tokens import Opened
from mws_hf.demo.views import MOST_TYPED, comparison_html, text_html
from mws_hf.demo.word_view import TrainingEvidence, word_html
from mws_hf.errors import MwSError


class Example(NamedTuple):
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
    """Choose the example in which the first tokenizer's tokens are longest: the language that it was learnt from."""
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
    """Build the page of tokenizers of different names as `gradio.Blocks`; with the evidence that is known, if any."""
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
                named = {opened.name: opened for opened in tokenizers}

                def compare(one: str, other: str, typed: str | None) -> str:
                    return comparison_html(named[one], named[other], typed or "")

                compared = _panel(gradio, "Compare", compare, first.text, {}, list(named))
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


def _panel(
    gradio: Any, name: str, draw: Any, first: str, examples: Mapping[str, str], chosen: Sequence[str] = ()
) -> Any:
    """Build a box to type in, with examples or with two names to choose, and what `draw` shows; return the box."""
    lines, most = (1, 1) if name == "Word" else (3, 8)
    place, inputs = name.lower(), []
    gradio.Markdown(_ABOUT[name], elem_classes="mws-about")
    if chosen:
        with gradio.Row():
            for label, value in zip(("First", "Second"), chosen, strict=False):
                inputs.append(gradio.Dropdown(list(chosen), value=value, label=label, filterable=False))
    box = gradio.Textbox(
        first, label="Word" if name == "Word" else "Text", lines=lines, max_lines=most, max_length=MOST_TYPED,
        elem_id=f"mws-{place}",
    )  # fmt: skip
    inputs.append(box)
    if examples:
        with gradio.Row(elem_classes="mws-examples"):
            for language, example in examples.items():
                button = gradio.Button(language, size="sm", min_width=0)
                button.click(lambda example=example: example, None, box, **_QUIET)
    drawn = draw(*chosen[:2], first)
    shown = gradio.HTML(drawn, elem_id=f"mws-{place}-shown", apply_default_css=False, js_on_load=None)
    for changed in inputs:
        changed.change(draw, inputs, shown, **_QUIET)
    return box


def serve(blocks: Any, port: int | None = None, host: str | None = None) -> str:
    """Begin to serve a page to this machine alone, or on `host`, another address of it; return the page's address."""
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
    """Import Gradio with its telemetry off, about which it asks while it is imported."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import gradio
    except ImportError:
        raise MwSError("the page needs Gradio: pip install gradio") from None
    return gradio


LOCAL = ("127.0.0.1", "localhost", "::1")  # names of this machine that no other server can have
_EVERYWHERE = ("0.0.0.0", "::", "")  # what a server listens on that answers on every address of the machine
_MOST_BYTES = 8_000_000  # of a request; a text of two million characters is at most as long
_POSTED = ("/queue/join", "/cancel", "/reset")
_POLICY = (
    b"default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    b"object-src 'none'; base-uri 'self'; form-action 'self'"
)
_UNFRAMED = b"; frame-ancestors 'self'"


class Guard:
    """ASGI middleware that refuses requests the page itself never makes, and tells the browser to ask no other server.

    The server answers to the address `host` and the names of this machine, and to any name where it was asked to listen
    everywhere (a Space, whose page is also shown inside another).
    """

    def __init__(self, app: Any, host: str) -> None:
        everywhere = host in _EVERYWHERE
        self._app = app
        self._hosts = None if everywhere else {*LOCAL, host.lower()}
        self._header = (b"content-security-policy", _POLICY if everywhere else _POLICY + _UNFRAMED)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request in the form of ASGI."""

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), self._header]}
            await send(message)

        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif refused := refusal(scope, self._hosts):
            await _refuse(send, *refused)
        else:
            await self._app(scope, receive, guarded)


def refusal(scope: Any, hosts: Collection[str] | None) -> tuple[int, str] | None:
    """Give the HTTP status and the reason for which a request is not answered; `hosts` are names to answer to, or any.

    A page on one's own machine can be asked by any web page that the browser shows (a form posted to 127.0.0.1, a name
    that resolves to it). So a request must name this server as its Host, come from the page itself or from no page
    (Origin), post only to the addresses that the page posts to, and be small. Files are never taken.
    """
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    host, origin = headers.get(b"host", "").lower(), headers.get(b"origin")
    own = {host} if hosts is not None else {host, headers.get(b"x-forwarded-host", host).lower()}  # behind a proxy
    if hosts is not None and (_address(f"//{host}").hostname or "") not in hosts:
        return 403, "this page is served to its own machine alone"
    if origin is not None and _address(origin).netloc.lower() not in own:
        return 403, "another web page may not use this one"
    if scope["method"] not in ("GET", "HEAD"):
        posted = scope["method"] == "POST" and scope["path"].rstrip("/").endswith(_POSTED)
        if not posted or not headers.get(b"content-type", "").startswith("application/json"):
            return 403, "the page takes text that is typed into it, and no files"
        length = headers.get(b"content-length", "")  # the server lets no more through
        if not length.isdecimal() or len(length) > 9 or int(length) > _MOST_BYTES:
            return 413, f"the page takes at most {_MOST_BYTES:,} bytes at once"
    return None


def _address(url: str) -> SplitResult:
    """Split an address; empty where it is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


async def _refuse(send: Any, status: int, why: str) -> None:
    body = why.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))  # what was sent is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
