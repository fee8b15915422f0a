"""The model card of a tokenizer learnt in Python: made from what it knows of itself, kept beside it and pushed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mws_hf.model_card import FILE, is_untouched, marked, unmarked, write_model_card


def card_of(
    tokenizer: Any,
    name: str,
    *,
    data: str | None = None,
    languages: Sequence[str] = (),
    license: str | None = None,
    words: Sequence[str] = (),
) -> str:
    """Write the text of a card.

    Args:
        tokenizer: of one of our classes.
        name: what it is loaded by, such as ``user/repo``.
        data: what it was trained on, and under which license, in words.
        languages: codes such as ``"ru"``.
        license: identifier such as ``"cc-by-4.0"``.
        words: words to show cut.
    """
    from mws_hf.measured_card import Measured, measured_card, plain_head

    settings = _settings(tokenizer) or {}
    return measured_card(
        Measured(
            name=name,
            head=plain_head(name, len(tokenizer), data, settings),
            ours=bool(settings),
            examples=[(word, tokenizer.segment(word)) for word in words],
            languages=languages,
            license=license,
        )
    )


def keep_card(tokenizer: Any, directory: Path) -> None:
    """Write the card of a tokenizer that was just learnt beside it, unless a card of another hand is there."""
    path = directory / FILE
    if _settings(tokenizer) is not None and (not path.exists() or is_untouched(path)):
        write_model_card(directory, card_of(tokenizer, directory.resolve().name))


def push_card(tokenizer: Any, repository: str, token: Any, by_hand: bool) -> None:
    """Upload the card of a tokenizer that was just learnt, unless the repository had one of another hand before."""
    if _settings(tokenizer) is None or by_hand:
        return
    from huggingface_hub import HfApi

    text = marked(card_of(tokenizer, repository)).encode()
    HfApi(token=token).upload_file(
        path_or_fileobj=text, path_in_repo=FILE, repo_id=repository, commit_message="Model card of the tokenizer"
    )


def _settings(tokenizer: Any) -> dict[str, Any] | None:
    """What a tokenizer was just learnt with; None of one that was loaded, and of the slow class."""
    return getattr(tokenizer, "training_settings", None)


def has_card_by_hand(repository: str, token: Any) -> bool:
    """Whether a repository of the Hub has a card that this package has not written."""
    from huggingface_hub import hf_hub_download

    try:
        return unmarked(Path(hf_hub_download(repository, FILE, token=token)).read_text(encoding="utf-8")) is None
    except Exception:  # no such repository or file, or the Hub's own errors, which pushing itself will tell
        return False
