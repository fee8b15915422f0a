"""The files of a saved directory that let any client load it with the same ids."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mws_hf.atomic import staged
from mws_hf.errors import MwSError
from mws_hf.tokenizer.backend import find_surrogate
from mws_hf.tokenizer.file import CONFIG_FILE, TOKENIZER_FILE
from mws_hf.tokenizer.stock import Tokenizer

if TYPE_CHECKING:
    pass

STOCK_MODULE = "stock_tokenizer"
STOCK_CLASS = "PreTrainedTokenizerFast"
STOCK_SOURCE = '''\
"""Nothing here is needed: this is the stock class of transformers under its own name.

transformers 5.10 and later replace the tokenizer next to a config.json of some model types (qwen2, qwen3_5, siglip2,
...) by that model's class, with wrong ids, unless tokenizer_config.json names an "auto_map". Without
trust_remote_code=True this file is never read; with it, it gives the same tokenizer.
"""

import transformers


class PreTrainedTokenizerFast(transformers.PreTrainedTokenizerFast):
    """transformers.PreTrainedTokenizerFast, so that saving again writes a name every version knows."""
'''
_REFERENCE = f"{STOCK_MODULE}.{STOCK_CLASS}"
_PRIVATE = "backend is_local local_files_only tokenizer_file special_tokens_pattern token_type_ids_pattern".split()
_IN_TOKENIZER_JSON = "added_tokens_decoder"
_NO_LIMIT = int(1e30)  # transformers' word for a model_max_length that nobody set
STALE_FILES = (
    *("added_tokens.json", "special_tokens_map.json", "chat_template.jinja", "additional_chat_templates/*.jinja"),
    *("vocabulary.json", "merges.json"),
)
"""What a loader reads beside tokenizer.json and tokenizer_config.json; an older save's would contradict the new one."""


def portable_config(config: dict[str, Any]) -> dict[str, Any]:
    """Rewrite a tokenizer_config.json so that transformers 4.51 to 5.x load it alike, with no plug-in.

    * ``tokenizer_class`` is the one name every version knows.
    * A list of ``extra_special_tokens`` (v5) becomes ``additional_special_tokens``: v4 stops at the list.
    * ``auto_map`` keeps v5 from replacing the class by the one of config.json's model type (see `STOCK_SOURCE`). Both
      entries are strings, because ``use_fast=False`` in v4 reads the first. Known limit: the stock class, loaded
      without trust_remote_code, saves the entry but not the module; loading that copy with trust_remote_code=True
      stops with an OSError that names the file, a loud error in place of silently wrong ids.
    * Model inputs and clean-up are explicit: v4's defaults differ.
    * Added tokens are left to tokenizer.json, so that two files cannot disagree after an interrupted save.

    >>> portable_config({"tokenizer_class": "MwSTokenizer", "extra_special_tokens": ["<|user|>"]})["tokenizer_class"]
    'PreTrainedTokenizerFast'
    """
    result = {key: value for key, value in config.items() if key not in (*_PRIVATE, _IN_TOKENIZER_JSON)}
    result["tokenizer_class"] = STOCK_CLASS
    extra = result.get("extra_special_tokens")
    if isinstance(extra, list):
        result["additional_special_tokens"] = result.pop("extra_special_tokens")
    elif extra == {}:  # v4 writes it, and 5.10 then forgets the additional tokens
        del result["extra_special_tokens"]
    if uses_stock_module(result):
        result["auto_map"] = {"AutoTokenizer": [_REFERENCE, _REFERENCE]}
    result.setdefault("model_input_names", ["input_ids", "attention_mask"])
    result.setdefault("clean_up_tokenization_spaces", False)
    return result


def uses_stock_module(config: dict[str, Any]) -> bool:
    """Return whether `config` names no code of its own (a user's registered class is left alone)."""
    entry = config.get("auto_map")
    references = entry.get("AutoTokenizer") if isinstance(entry, dict) else entry
    return not references or _REFERENCE in str(references)


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    """Write a tokenizer_config.json in a fixed order."""
    path.write_text(json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def save_backend(
    directory: str | os.PathLike[str],
    backend: Tokenizer,
    roles: Mapping[str, Any],
    more: Mapping[str, bytes] | None = None,
) -> None:
    """Write a tokenizer as the directory that `MwSTokenizerFast.save_pretrained` writes, without transformers.

    A failure changes nothing. A tokenizer that was just learnt has `mws_hf.trained.TrainedTokenizer.save`.

    Args:
        directory: made if absent; files of an older tokenizer in it that loaders would read go (`STALE_FILES`).
        backend: the tokenizer.
        roles: which special token is what: ``{"eos_token": "<|endoftext|>", ...}``.
        more: further files by name, such as those of a training.

    Raises:
        MwSError: the directory cannot be written, or another run is writing it.
    """
    plain = {"unk_token": None, "bos_token": None, "eos_token": None, "pad_token": None, "model_max_length": _NO_LIMIT}
    with staged(Path(directory), STALE_FILES) as stage:
        (stage / TOKENIZER_FILE).write_text(backend.to_str(pretty=True), encoding="utf-8", newline="\n")
        write_config(stage / CONFIG_FILE, portable_config({**plain, **roles}))
        (stage / f"{STOCK_MODULE}.py").write_text(STOCK_SOURCE, encoding="utf-8")
        for name, content in (more or {}).items():
            (stage / name).write_bytes(content)


def surrogate_error(inputs: Any) -> MwSError | None:
    r"""Return the error for the first lone surrogate in a text or nested lists of texts; None when there is none.

    >>> surrogate_error(["fine", "a\ud83d"])
    MwSError("text 'a\\ud83d': lone surrogate U+D83D at position 1; not Unicode text, mend it where...
    """
    if isinstance(inputs, str):
        place = find_surrogate(inputs)
        if place is None:
            return None
        around = inputs[max(0, place - 20) : place + 20]
        return MwSError(
            f"text {around!r}: lone surrogate U+{ord(inputs[place]):04X} at position {place}; not Unicode text, "
            "mend it where it is read (errors='replace') or with text.encode('utf-8', 'replace').decode()"
        )
    if isinstance(inputs, list | tuple):
        return next((error for error in map(surrogate_error, inputs) if error is not None), None)
    return None
