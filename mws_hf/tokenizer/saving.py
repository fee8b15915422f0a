"""Write the files of a tokenizer so that every library, and transformers from version 4.51 on, can load them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mws_hf.atomic import json_text, staged
from mws_hf.errors import MwSError
from mws_hf.tokenizer.file import tokens_by_name
from mws_hf.tokenizer.layout import CONFIG_FILE, MAP_FILE, RECORD_FILE, STALE, STOCK_FILE, TOKENIZER_FILE
from mws_hf.tokenizer.shapes import LEARNED_MERGES

MODEL_INPUT_NAMES = ("input_ids", "attention_mask")
"""What a tokenizer returns by default."""
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
_REFERENCE = f"{Path(STOCK_FILE).stem}.{STOCK_CLASS}"
_LEFT_OUT = {
    *("added_tokens_decoder", "backend", "is_local", "local_files_only", "tokenizer_file", "special_tokens_pattern"),
    *("token_type_ids_pattern", "model_specific_special_tokens"),
}
_NO_LIMIT = int(1e30)  # the value that transformers writes if nobody set model_max_length


def portable_config(config: dict[str, Any]) -> dict[str, Any]:
    """Rewrite a tokenizer_config.json so that transformers 4.51 to 5.x load the same tokenizer without mws_hf.

    * ``tokenizer_class`` gets the only name that every version has.
    * A list of ``extra_special_tokens`` (version 5) becomes ``additional_special_tokens``, because version 4 raises an
      error for the list.
    * Special tokens with names of their own become the object ``extra_special_tokens``, which all versions read.
    * ``auto_map`` prevents version 5 from using the class of the model type in config.json instead (see
      `STOCK_SOURCE`). It has two strings, because version 4 reads the first one with ``use_fast=False``. One limit
      remains: the standard class, if it was loaded without trust_remote_code, saves this setting but not the module.
      Loading that copy with trust_remote_code=True raises an OSError that names the missing file.
    * ``model_input_names`` and ``clean_up_tokenization_spaces`` are written, because version 4 has other defaults.
    * Added tokens are removed, because tokenizer.json contains them, and two lists could disagree.

    >>> portable_config({"tokenizer_class": "MwSTokenizer", "extra_special_tokens": ["<|user|>"]})["tokenizer_class"]
    'PreTrainedTokenizerFast'
    """
    named = tokens_by_name(config)
    result = {key: value for key, value in config.items() if key not in _LEFT_OUT and key not in named}
    result["tokenizer_class"] = STOCK_CLASS
    extra = result.pop("extra_special_tokens", None)
    if isinstance(extra, list):
        result["additional_special_tokens"] = extra
    if named:  # an empty object, which v4 writes, would make 5.10 forget the additional tokens
        result["extra_special_tokens"] = named
    if uses_stock_module(result):
        result["auto_map"] = {"AutoTokenizer": [_REFERENCE, _REFERENCE]}
    result.setdefault("model_input_names", [*MODEL_INPUT_NAMES])
    result.setdefault("clean_up_tokenization_spaces", False)
    return result


def uses_stock_module(config: dict[str, Any]) -> bool:
    """Return whether a configuration names our module or no code, and not a class that a user registered."""
    entry = config.get("auto_map")
    references = entry.get("AutoTokenizer") if isinstance(entry, dict) else entry
    return not references or _REFERENCE in str(references)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return the text of a tokenizer_config.json or of training metadata, with sorted names."""
    return json_text(settings, indent=2, sort_keys=True) + "\n"


def config_files(config: dict[str, Any]) -> dict[str, str]:
    """Return `portable_config` of a configuration as a file, and the files that it needs next to it, by name.

    If some special tokens have names of their own and others have none, special_tokens_map.json repeats those without,
    because transformers 5.10 would forget them.
    """
    config = portable_config(config)
    files = {CONFIG_FILE: settings_text(config)}
    if uses_stock_module(config):
        files[STOCK_FILE] = STOCK_SOURCE
    if "extra_special_tokens" in config and (others := config.get("additional_special_tokens")):
        files[MAP_FILE] = settings_text({"additional_special_tokens": others})
    return files


def write_files(folder: Path, backend: Tokenizer, config: dict[str, Any], more: Mapping[str, bytes]) -> list[Path]:
    """Write tokenizer.json, its `config_files` and more files into a folder.

    With training metadata, the configuration contains the hash of the learned merges. The standard class keeps it when
    it saves, so that `mws check` finds that the metadata are missing.

    Args:
        folder: an existing folder.
        backend: the tokenizer.
        config: the content of tokenizer_config.json, which is rewritten by `portable_config`.
        more: the content of more files by name.

    Returns:
        The paths of all files.
    """
    if RECORD_FILE in more:
        config = {**config, LEARNED_MERGES: json.loads(more[RECORD_FILE])["merges"]}
    files = {TOKENIZER_FILE: backend.to_str(pretty=True).encode()}
    files |= {name: text.encode() for name, text in config_files(config).items()}
    files |= more
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]


def save_backend(
    directory: str | os.PathLike[str],
    backend: Tokenizer,
    roles: Mapping[str, Any],
    more: Mapping[str, bytes] | None = None,
) -> None:
    """Write a tokenizer as the folder that `MwSTokenizerFast.save_pretrained` writes, without transformers.

    If it fails, nothing in the folder changes. To save a new training, call `mws_hf.trainer.TrainedTokenizer.save`.

    Args:
        directory: the folder; it is created if it does not exist. Files of an older tokenizer that loaders would
            read are removed (`layout.STALE`).
        backend: the tokenizer.
        roles: the special token of each role: ``{"eos_token": "<|endoftext|>", ...}``.
        more: the content of more files by name, such as the training metadata.

    Raises:
        MwSError: the folder cannot be written, or another run is writing to it.
    """
    plain = {"unk_token": None, "bos_token": None, "eos_token": None, "pad_token": None, "model_max_length": _NO_LIMIT}
    with staged(Path(directory), STALE) as stage:
        write_files(stage, backend, {**plain, **roles}, more or {})


def check_template_names(names: Iterable[str]) -> None:
    """Raise MwSError if a name of a chat template contains a folder, because programs write it as NAME.jinja."""
    for name in names:
        if name != Path(name).name or "\\" in name:
            raise MwSError(f"chat template {name!r}: programs write a file of this name; rename it without / and \\")


def template_setting(templates: Mapping[str, str]) -> str | list[dict[str, str]]:
    """Return the value of ``chat_template`` in tokenizer_config.json that every version reads.

    `templates` are chat templates by name; the main one is "default".
    """
    if templates.keys() == {"default"}:
        return templates["default"]
    return [{"name": name, "template": text} for name, text in templates.items()]
