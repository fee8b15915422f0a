"""Read and check the JSON files of a tokenizer.

No code in a folder is run. The library `tokenizers` loads some files that crash it later: by a panic, by endless
padding, or by ids that take all memory. `read_spec` raises an error for such files, whichever command reads them; the
rules are in `spec_checks`.
"""

from __future__ import annotations

import json
import logging
import os
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.atomic import check_not_broken_link, json_text
from mws_hf.errors import MissingTokenizerError, MwSError, first_line, library_failure, pointer_problem, printable
from mws_hf.text.valid_text import SURROGATE
from mws_hf.tokenizer.layout import (
    ADDED_FILE,
    MODEL_FILE,
    NOTEBOOK_FILES,
    TEMPLATE_FILES,
    TOKENIZER_FILE,
    FileKind,
    files,
    matching,
)
from mws_hf.tokenizer.links import file_inside
from mws_hf.tokenizer.shapes import ROLE_NAMES, SHAPES, check_shape

_logger = logging.getLogger(__name__)


def load_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        MwSError: the file cannot be read, is only a pointer of Git LFS, or is damaged; then the message has the line.
    """
    text = _text_of(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise MwSError(
            f"{path}:{error.lineno}: not valid JSON ({error.msg}): truncated or damaged; save again"
        ) from error
    except RecursionError as error:
        raise MwSError(f"{path}: nested too deeply to be a tokenizer's file; save it again") from error
    except ValueError as error:  # a number of more digits than Python reads
        raise MwSError(f"{path}: a number that cannot be read ({first_line(error)}); save it again") from error


def _text_of(path: Path) -> str:
    """Read a text file, with line feeds as line ends; the MwSError of one that is not UTF-8 names the byte."""
    check_not_broken_link(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MwSError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if problem := pointer_problem(content[:1024]):
        raise MwSError(f"{path}: {problem}")
    if content.startswith(BOM_UTF8):  # with it, neither tokenizers nor transformers reads the file
        raise MwSError(f"{path}: begins with a byte order mark; save it as UTF-8 without one")
    if not content.strip():
        raise MwSError(f"{path}: is empty; save it again")
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise MwSError(f"{path}: byte {error.start} is not UTF-8; save the file again, as UTF-8") from error


def load_settings(path: Path) -> dict[str, Any]:
    """Read a file of settings, such as tokenizer_config.json; return an empty dict if there is no such file.

    Raises:
        MwSError: it cannot be read, is damaged, or has a value whose type differs from `shapes.SHAPES`.
    """
    settings = load_json(path) if os.path.lexists(path) else {}
    if not isinstance(settings, dict):
        raise MwSError(f"{path}: not a JSON object of settings; save the tokenizer again")
    if found := SURROGATE.search(json_text(settings)):  # transformers could not use it
        raise MwSError(f"{path}: contains the lone surrogate {found[0]!r}, which is not Unicode text; save it again")
    check_shape(settings, SHAPES.get(path.name, {}), str(path))
    return settings


def check_settings(directory: Path) -> None:
    """Raise MwSError if a file of settings in a folder is damaged or has a value of a wrong type."""
    for name in SHAPES:
        if name != MODEL_FILE:
            load_settings(directory / name)


def read_spec(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a tokenizer.json as JSON, check it with `check_spec`, and return it.

    Raises:
        MwSError: it cannot be read, is damaged, or `spec_checks.check_spec` does not accept it; the message names it.
    """
    from mws_hf.tokenizer.spec_checks import check_spec  # a training reads no tokenizer.json

    spec = load_json(Path(file))
    try:
        return check_spec(spec)
    except MwSError as error:
        raise MwSError(f"{file}: {error}") from error


def open_file(file: str | os.PathLike[str]) -> Tokenizer:
    """Load a tokenizer.json without its BPE-dropout; other modules call `opened.open_tokenizer`.

    Raises:
        MissingTokenizerError: its vocabulary is empty.
        MwSError: it is damaged, or `tokenizers` cannot read it.
    """
    spec = read_spec(file)
    if not spec["model"]["vocab"]:
        raise MissingTokenizerError(f"{file}: its vocabulary is empty; give a trained tokenizer")
    try:
        content = Path(file).read_text(encoding="utf-8")  # `from_file` takes no path whose bytes are not UTF-8
        return without_dropout(Tokenizer.from_str(content), file)
    except BaseException as error:  # the library raises only Exception, and its panics are not even that
        if library_failure(error) is None:
            raise
        raise MwSError(
            f"{file}: this version of tokenizers cannot read it ({first_line(error)}); save it again"
        ) from error


def without_dropout(backend: Tokenizer, name: str | os.PathLike[str]) -> Tokenizer:
    """Switch off the BPE-dropout of a saved tokenizer, with a warning, and return the tokenizer.

    With BPE-dropout, each call gives different ids, so that no result could be reproduced. `mws encode --dropout` drops
    merges by a seed instead.

    Args:
        backend: the tokenizer, which is changed.
        name: its file or name, for the warning.
    """
    if share := getattr(backend.model, "dropout", None):
        _logger.warning(
            "%s: has a BPE-dropout of %g, which would give different ids at every call; it is not used here "
            "(`mws check DIR --repair` removes it from the file)",
            printable(name),
            share,
        )
        backend.model.dropout = None
    return backend


def content_of(token: Any) -> Any:
    """Return the text of a token, which a configuration may contain as an object with a "content"."""
    return token.get("content") if isinstance(token, Mapping) else token


def roles_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of the tokens that settings name by roles, such as ``eos_token`` or ``image_token``."""
    found = {role: content_of(token) for role, token in settings.items() if role.endswith("_token")}
    found = {role: token for role, token in found.items() if token is not None and not isinstance(token, bool)}
    return {**{name: content_of(token) for name, token in tokens_by_name(settings).items()}, **found}


def tokens_by_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the special tokens with their own names in settings, such as ``image_token``, as they are described there.

    transformers 4 reads them only from the object ``extra_special_tokens``. transformers 5 reads that, too, but writes
    each name as a separate key, and after a second save all of them again as ``model_specific_special_tokens``.
    """
    objects = [settings.get(key) for key in ("extra_special_tokens", "model_specific_special_tokens")]
    named = {name: token for each in objects if isinstance(each, Mapping) for name, token in each.items()}
    named |= {key: token for key, token in settings.items() if key.endswith("_token") and key not in ROLE_NAMES}
    return {name: token for name, token in named.items() if isinstance(content_of(token), str)}


def check_directory(name: str | os.PathLike[str]) -> None:
    """Raise MwSError with the reason if a local tokenizer cannot be loaded.

    Args:
        name: a folder, or a file in it; a path that does not exist is not checked.
    """
    path = Path(name)
    if not os.path.exists(path):
        return
    directory = path if path.is_dir() else path.parent
    check_settings(directory)
    if not os.path.lexists(directory / TOKENIZER_FILE):
        raise_no_vocabulary(str(directory))
    open_file(directory / TOKENIZER_FILE)


def raise_no_vocabulary(name: str | None, place: Path | None = None) -> None:
    """Raise MissingTokenizerError for a path without a vocabulary; the message names files of other programs there.

    Without this error, transformers 5 would make an empty tokenizer.

    Args:
        name: the name of the tokenizer as it was given; if it is None or empty, the function returns.
        place: the path; by default the folder of that name.
    """
    if not name:
        return
    place = place or Path(name)
    found = (
        files(place, FileKind.FOREIGN) if os.path.isdir(place) else [Path(place.name)] if os.path.isfile(place) else []
    )
    if beside := ", ".join(str(path) for path in found if path.name not in (ADDED_FILE, *NOTEBOOK_FILES)):
        raise MissingTokenizerError(
            f"{name}: {beside} is a file of another program; convert it to a tokenizer.json with "
            "transformers.convert_slow_tokenizer, or take one from the model's page on the Hub (commands such as "
            "`mws segment` also read a single SentencePiece .model)"
        )
    on_hub = name.count("/") == 1 and not os.path.exists(place)  # its other files are not known here
    no_other = "" if on_hub else " and no vocabulary in another form"
    raise MissingTokenizerError(
        f"{name}: has no tokenizer.json{no_other}; give a folder that save_pretrained or `mws train` wrote, or a "
        "SentencePiece .model (read a notebook's vocabulary.json and merges.json with mws_hf.import_notebook)"
    )


def chat_templates(folder: Path, settings: Mapping[str, Any]) -> dict[str, str]:
    """Read the chat templates of a folder by name; the main one is "default".

    If there are files of templates, those in the config are ignored.

    Args:
        folder: the folder.
        settings: its tokenizer_config.json.

    Raises:
        MwSError: a file cannot be read or is not UTF-8, or is a link that `links.file_inside` does not follow.
    """
    listed = settings.get("chat_template")
    if found_files := matching(folder, TEMPLATE_FILES):
        return {
            file.stem if len(file.parts) > 1 else "default": _text_of(file_inside(folder, file)) for file in found_files
        }
    if isinstance(listed, list):
        listed = {each.get("name"): each.get("template") for each in listed if isinstance(each, Mapping)}
    found = listed if isinstance(listed, Mapping) else {"default": listed}
    return {name: text for name, text in found.items() if isinstance(name, str) and isinstance(text, str)}
