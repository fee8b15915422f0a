"""The Gradio app of the page: three panels whose content the other modules of this room make. It asks no other server.

The same `page` runs on one's own machine (`mws demo`) and as a Hugging Face Space (scripts/space).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mws_hf.demo.comparison import comparison_html
from mws_hf.demo.text_view import text_html
from mws_hf.demo.tokens import Opened
from mws_hf.demo.word_view import TrainingEvidence, word_html
from mws_hf.errors import MwSError

STYLE = Path(__file__).with_name("style.css")
_TITLE = "How tokenizers cut text"
_OWN_SERVER_ONLY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'"
)


def page(tokenizers: Sequence[Opened], known: TrainingEvidence | None = None) -> Any:
    """The page of one or more tokenizers of different names as `gradio.Blocks`; with the evidence known, if any.

    Raises:
        MwSError: gradio is not installed, or there is no tokenizer.
    """
    gradio = load_gradio()
    if not tokenizers:
        raise MwSError("nothing to show: give at least one tokenizer directory")
    named = {opened.name: opened for opened in tokenizers}
    with gradio.Blocks(title=_TITLE, analytics_enabled=False) as blocks:
        gradio.Markdown(f"# {_TITLE}")
        with gradio.Tab("Text"):
            _panel(gradio, "text", lambda text: text_html(tokenizers, text or ""), "Text", 4)
        with gradio.Tab("Word"):
            _panel(gradio, "word", lambda word: word_html(tokenizers, word or "", known), "Word", 1)
        if len(tokenizers) > 1:
            with gradio.Tab("Compare"):
                _compare(gradio, named)
    return blocks


def _panel(gradio: Any, name: str, draw: Any, label: str, lines: int) -> None:
    """A box to type in, and what `draw` makes of it after each key."""
    box = gradio.Textbox(label=label, lines=lines, max_lines=8 if lines > 1 else 1, elem_id=f"mws-{name}")
    shown = gradio.HTML(draw(""), elem_id=f"mws-{name}-shown", apply_default_css=False, js_on_load=None)
    box.change(draw, box, shown, trigger_mode="always_last", show_progress="hidden", api_visibility="private")


def _compare(gradio: Any, named: Mapping[str, Opened]) -> None:
    names = list(named)
    with gradio.Row():
        first = gradio.Dropdown(names, value=names[0], label="First", filterable=False)
        second = gradio.Dropdown(names, value=names[1], label="Second", filterable=False)
    box = gradio.Textbox(label="Text", lines=4, max_lines=8, elem_id="mws-compare")

    def draw(one: str, other: str, text: str | None) -> str:
        return comparison_html(named[one], named[other], text or "")

    inputs = [first, second, box]
    shown = gradio.HTML(
        draw(names[0], names[1], ""), elem_id="mws-compare-shown", apply_default_css=False, js_on_load=None
    )
    for changed in (first.change, second.change, box.change):
        changed(draw, inputs, shown, trigger_mode="always_last", show_progress="hidden", api_visibility="private")


def serve(blocks: Any, port: int | None = None, *, open_browser: bool = False) -> str:
    """Begin to serve a page, on this machine alone unless the environment names another GRADIO_SERVER_NAME.

    Without a port the first free one from 7860 on is taken. Returns the page's address.

    Raises:
        MwSError: the port is taken.
    """
    gradio = load_gradio()
    from starlette.middleware import Middleware

    theme = gradio.themes.Base(
        font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"], neutral_hue="slate"
    )
    try:
        _, address, _ = blocks.launch(
            server_port=port,
            inbrowser=open_browser,
            share=False,
            quiet=True,
            prevent_thread_lock=True,
            ssr_mode=False,
            run_history=False,
            footer_links=[],
            theme=theme,
            css=STYLE.read_text(encoding="utf-8"),
            app_kwargs={"middleware": [Middleware(_Guarded)]},
        )
    except OSError as error:
        raise MwSError(f"the page cannot be served ({error}); choose another --port") from error
    return str(address)


def wait(blocks: Any) -> None:
    """Return when a served page has ended, or end it at Ctrl-C."""
    try:
        while blocks.is_running:
            time.sleep(0.2)
    except KeyboardInterrupt:
        blocks.close(verbose=False)


class _Guarded:
    """ASGI middleware: tells the browser to ask no other server, whatever Gradio's own scripts would fetch."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", []), (b"content-security-policy", _OWN_SERVER_ONLY.encode())]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, guarded if scope["type"] == "http" else send)


def load_gradio() -> Any:
    """Gradio with its telemetry off, which it asks about while it is imported; MwSError where it is not installed."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import gradio
    except ImportError:
        raise MwSError("the page needs Gradio: pip install 'mws-hf[demo]'") from None
    return gradio
