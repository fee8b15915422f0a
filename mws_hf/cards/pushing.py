"""Upload a tokenizer directory to the Hugging Face Hub; the uploaded card names the tokenizer as it is called there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from mws_hf.cards.readme import FILE as CARD
from mws_hf.cards.readme import card_for_hub
from mws_hf.errors import MwSError, first_line
from mws_hf.tokenizer.file import TOKENIZER_FILE, check_directory
from mws_hf.tokenizer.hub import answers

FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "stock_tokenizer.py"),
    *("chat_template.jinja", "additional_chat_templates/*.jinja", "mws_training.json", "mws_evidence.pq"),
    *("vocabulary.json", "merges.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model"),
    *(CARD, "LICENSE*", "NOTICE*"),
)
"""What is uploaded of a directory; nothing else, for it may hold a corpus, weights or secrets as well."""
_MODEL_FILES = ("config.json", "generation_config.json", "*.safetensors*", "pytorch_model*.bin*", "*.gguf")
_TOKENS = "https://huggingface.co/settings/tokens"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def push(directory: Path, repository: str, *, private: bool = False) -> str:
    """Upload the files of a tokenizer to a repository, ``user/repo``, made if absent; return its address."""
    check_directory(directory)
    if not (directory / TOKENIZER_FILE).is_file():
        raise MwSError(f"{directory}: holds no {TOKENIZER_FILE}; give a directory written by save_pretrained")
    if not _NAME.fullmatch(repository) or ".." in repository or "--" in repository:
        raise MwSError(f"{repository!r}: give a Hub name of the form user/repo (letters, digits, '-', '_', '.')")
    from huggingface_hub import CommitOperationAdd, HfApi, constants, get_token
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    if constants.HF_HUB_OFFLINE:
        raise MwSError("the Hub is not asked while HF_HUB_OFFLINE is set; unset it")
    if not get_token():
        raise MwSError(f"no Hub token: run `hf auth login`, or set HF_TOKEN; make one that may write at {_TOKENS}")
    if not answers():
        raise MwSError(f"{constants.ENDPOINT} does not answer; check the network, or HF_ENDPOINT if you have set it")
    api = HfApi()
    try:
        url = api.create_repo(repository, private=private or None, exist_ok=True)
        if private and not api.repo_info(repository).private:
            raise MwSError(f"{repository} is there and public; make it private in its settings, or leave out --private")
        paths = matching_files(directory, FILES)
        files = [CommitOperationAdd(path, _content(directory / path, directory, repository)) for path in paths]
        api.create_commit(repository, files, commit_message="Upload tokenizer")
    except HfHubHTTPError as error:
        raise MwSError(_explained(error, repository)) from error
    except MwSError:
        raise
    except Exception as error:  # requests, httpx or its successor, by version; whatever it is, it was the network
        raise MwSError(f"the upload to {repository} broke off ({first_line(error)}); try again") from error
    return str(url)


def matching_files(directory: Path, patterns: Iterable[str]) -> list[str]:
    """List the files of a directory that patterns name, as sorted paths relative to the directory with ``/``."""
    found = (path for pattern in patterns for path in directory.glob(pattern) if path.is_file())
    return sorted({path.relative_to(directory).as_posix() for path in found})


def model_files(directory: Path) -> list[str]:
    """List the files of a model that lie beside its tokenizer and that `push` does not upload."""
    return matching_files(directory, _MODEL_FILES)


def _content(file: Path, directory: Path, repository: str) -> bytes:
    content = file.read_bytes()
    if file != directory / CARD:
        return content
    try:
        return card_for_hub(content.decode().replace("\r\n", "\n"), directory, repository).encode()
    except UnicodeDecodeError:
        return content


def _explained(error: Exception, repository: str) -> str:
    """Explain a refusal of the Hub in one line, with its remedy."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 401:
        return f"the Hub does not accept your token: it is wrong or expired; make a new one at {_TOKENS}"
    if status == 403:
        return (
            f"your token may not write to {repository}: check the name, and at {_TOKENS} that it has the right to "
            f"write ({first_line(error)})"
        )
    if status == 404:
        return f"{repository}: the Hub finds no such user or repository, or hides it from you; check the name"
    return f"the Hub refused the upload to {repository}: {first_line(error)}"
