"""The panel of a text: the tokens of each tokenizer in colours, and figures. Pure functions from text to HTML."""

from __future__ import annotations

import html
import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from mws_hf.demo.tokens import Opened, Token, tokens_of
from mws_hf.demo.writing import direction, in_reading_order, visible
from mws_hf.evaluate.running_text import WORD, TextScores, score_text
from mws_hf.text.pattern import compiled

COLOURS = 6
MOST_CHARACTERS = 200_000
"""Characters of a text that are encoded; what is pasted beyond is left out, and the page says so."""
MOST_TYPED = 2_000_000
"""Characters that the page's boxes take."""
MOST_DRAWN = 1500
"""Tokens that are drawn, all tokenizers together; a browser grows slow with many more."""
MOST_LISTED = 200
"""Tokens listed in the table below a drawing."""


def text_html(tokenizers: Sequence[Opened], text: str) -> str:
    """Write the panel: a note on text that was left out, and a card for each tokenizer."""
    if not text:
        return note("Type or paste some text: its tokens appear here.")
    text, said = shortened(text)
    share = max(100, MOST_DRAWN // len(tokenizers))
    cards = "".join(tokenizer_card(opened, text, share) for opened in tokenizers)
    return f'<div class="mws">{said}{note(text_size(text))}<div class="mws-cards">{cards}</div></div>'


def text_size(text: str) -> str:
    """Measure a text in figures that depend on no tokenizer.

    >>> text_size("но она")
    '6 characters, 11 bytes, 2 words, 5.0 bytes per word'
    """
    words = [match.group() for match in compiled(WORD).finditer(text)]
    said = f"{len(text):,} characters, {len(text.encode()):,} bytes"
    if not words:
        return said
    return f"{said}, {len(words):,} words, {len(''.join(words).encode()) / len(words):.1f} bytes per word"


def shortened(text: str) -> tuple[str, str]:
    """Cut a text to the length that is encoded, with a note where it is longer; lone surrogates become U+FFFD."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) <= MOST_CHARACTERS:
        return text, ""
    return text[:MOST_CHARACTERS], note(f"Only the first {MOST_CHARACTERS:,} of {len(text):,} characters are used.")


def tokenizer_card(opened: Opened, text: str, most: int) -> str:
    """Write the card of a tokenizer: figures of the whole text, its first `most` tokens in colours, a table of some."""
    encoded = opened.encoder.encode([text])[0]
    tokens = tokens_of(opened, text, encoded, most)
    total = len(encoded.ids)
    cut = note(f"The first {most:,} of {total:,} tokens are drawn; the figures are of all.") if total > most else ""
    scores = score_text(opened.encoder, [text]) if total else None
    figures = figures_html(scores) if scores else ""
    return (
        f'<section class="mws-card"><h3>{html.escape(opened.name)}</h3>{figures}'
        f"{tokens_html(opened, tokens, text)}{cut}{_table(opened, tokens)}</section>"
    )


def figures_html(scores: TextScores) -> str:
    """Write the measures of a text in a line; measures of words are left out where there is no word."""
    figures = [("tokens", f"{scores.tokens:,}"), ("bytes per token", f"{scores.bytes_per_token:.2f}")]
    if not math.isnan(scores.fertility):
        figures.insert(1, ("tokens per word", f"{scores.fertility:.2f}"))
        figures.append(("words whole", f"{scores.whole_words:.0%}"))
    cells = "".join(f"<span><b>{value}</b> {name}</span>" for name, value in figures)
    return f'<p class="mws-figures">{cells}</p>'


def tokens_html(opened: Opened, tokens: Sequence[Token], text: str) -> str:
    """Write tokens in colours, in the directions of their scripts; characters that no token holds stand uncoloured."""
    base = "rtl" if direction(text) == "rtl" else "ltr"
    about = _about_words(tokens, text)
    place = {id(token): at for at, token in enumerate(tokens)}
    ends = [0, *accumulate((token.end for token in tokens), max)]

    def draw(token: Token) -> str:
        at = place[id(token)]
        gap = text[ends[at] : token.start] if token.end > token.start else ""
        return visible(gap) + chip(token, at, opened, about[at])

    drawn = in_reading_order(tokens, text, draw, base)
    return f'<div class="mws-tokens" dir="{base}">{drawn}</div>'


def chip(token: Token, place: int, opened: Opened, more: str = "") -> str:
    """Write a token as a coloured span that tells its id and merge when pointed at."""
    shown = f"<i>{token.shown}</i>" if token.in_bytes else visible(token.shown)
    title = html.escape(f"{describe(token, opened)}{more}", quote=True)
    return f'<span class="mws-t mws-c{place % COLOURS}" title="{title}">{shown}</span>'


def describe(token: Token, opened: Opened) -> str:
    """Describe id and merge of a token in words."""
    return f"id {token.number} · {made_by(token, opened)}"


def made_by(token: Token, opened: Opened) -> str:
    """Describe the merge that made a token and its kind, in words; or the nature of a token that no merge made.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [("о", "н")]
    >>> toy = Opened("toy", build_backend(base_vocab((), "он", merges), merges), [("morph", 1)])
    >>> made_by(Token(7, 0, 2, "он", False, 0), toy), made_by(Token(5, 0, 1, "н", False, None), toy)
    ('merge 0, morph', 'made by no merge')
    """
    if token.rank is None:
        added = opened.backend.get_added_tokens_decoder()
        return "an added token" if token.number in added else "made by no merge"
    kind = opened.kind(token.rank)
    return f"merge {token.rank}, {kind}" if kind else f"merge {token.rank}"


def _about_words(tokens: Sequence[Token], text: str) -> list[str]:
    """Count, for each token, the tokens and bytes of the word it belongs to; empty outside words."""
    end = tokens[-1].end if tokens else 0
    words = [match.span() for match in compiled(WORD).finditer(text, 0, min(len(text), end + 100))]
    starts = [start for start, _ in words]
    owner: list[int | None] = []
    for token in tokens:
        at = bisect_right(starts, max(token.start, token.end - 1)) - 1
        owner.append(at if at >= 0 and token.start < words[at][1] else None)
    counts = [0] * len(words)
    for word in owner:
        if word is not None:
            counts[word] += 1
    said = []
    for word in owner:
        if word is None:
            said.append("")
            continue
        size = len(text[slice(*words[word])].encode())
        said.append(f" · word of {counts[word]} token{'s' * (counts[word] != 1)}, {size} bytes")
    return said


def _table(opened: Opened, tokens: Sequence[Token]) -> str:
    rows = "".join(
        f"<tr><td>{chip(token, at, opened)}</td><td>{token.number}</td><td>{made_by(token, opened)}</td></tr>"
        for at, token in enumerate(tokens[:MOST_LISTED])
    )
    which = f"the first {MOST_LISTED}" if len(tokens) > MOST_LISTED else "all"
    return (
        f"<details><summary>Ids and merges ({which})</summary><table><thead><tr><th>token</th><th>id</th>"
        f"<th>made by</th></tr></thead><tbody>{rows}</tbody></table></details>"
    )


def note(text: str) -> str:
    """Write a remark to the reader."""
    return f'<p class="mws-note">{html.escape(text)}</p>'
