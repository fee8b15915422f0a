"""The model card of a tokenizer learnt in Python: made from what it knows of itself, kept beside it and pushed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mws_hf.cards.card import trained_card
from mws_hf.cards.facts import CardFacts
from mws_hf.cards.readme import FILE, generated_text, marked, write_card


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
        words: words to show cut; by default some of its training.
    """
    backend = tokenizer.backend_tokenizer if hasattr(tokenizer, "backend_tokenizer") else tokenizer.to_backend()
    facts = CardFacts(data=data or "", languages=tuple(languages), license=license or "", words=tuple(words))
    return trained_card(name, backend, facts, _settings(tokenizer) or {}).to_markdown()


def keep_own_card(tokenizer: Any, directory: Path) -> None:
    """Write the card of a tokenizer that was just learnt beside it, unless a card of another hand is there."""
    path = directory / FILE
    if _settings(tokenizer) is not None and (not path.exists() or generated_text(path) is not None):
        write_card(directory, card_of(tokenizer, directory.resolve().name))


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
    """Return the settings of the training; None for a tokenizer that was loaded, and for the slow class."""
    training = getattr(tokenizer, "training", None)
    return None if training is None else training.settings


def has_card_by_hand(repository: str, token: Any) -> bool:
    """Tell whether a repository of the Hub has a card that this package has not written."""
    from huggingface_hub import hf_hub_download

    try:
        return generated_text(Path(hf_hub_download(repository, FILE, token=token))) is None
    except Exception:  # no such repository or file, or the Hub's own errors, which pushing itself will tell
        return False
