"""Copy the files and folders next to a model's weights to a transplanted model, or report why they cannot be copied."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from mws_hf.cards.card import is_untouched
from mws_hf.errors import MwSError
from mws_hf.surgery.model_tables import tensors_of, vocabulary_tables
from mws_hf.tokenizer.file import load_json, load_settings
from mws_hf.tokenizer.layout import MODEL_FILE, FileKind, files, is_kind
from mws_hf.tokenizer.links import copy_inside, file_inside

ADAPTER_FILE = "adapter_config.json"
_MERGE = "merge it first: peft.PeftModel.from_pretrained(...).merge_and_unload().save_pretrained(DIR)"
_REPLACED = (FileKind.TOKENIZER, FileKind.SETTINGS, FileKind.FOREIGN, FileKind.RECORD, FileKind.CHANGE, FileKind.MODEL)
"""Files that are not copied: those of the old tokenizer, and settings of the model, which are rewritten."""
_TOKEN_FIELDS = ("trainable_token_indices", "token_indices")
"""Fields of an adapter's settings that contain ids: those of LoRA and of TrainableTokensConfig."""


def check_no_adapter(model: Path) -> None:
    """Raise MwSError if a LoRA adapter is in the model's folder, because transformers loads both together."""
    if (model / ADAPTER_FILE).is_file():
        raise MwSError(f"{model / ADAPTER_FILE}: transformers loads this adapter together with the weights; {_MERGE}")


def check_no_token_adapter(model: Any) -> None:
    """Raise MwSError if an adapter of a model in memory depends on the old vocabulary in a way that cannot be changed.

    It contains ids of single tokens, or norms over all embeddings (DoRA).
    """
    adapters = getattr(model, "peft_config", None)
    for name, settings in adapters.items() if isinstance(adapters, Mapping) else ():
        merge = "merge it first: model.merge_and_unload()"
        if field := _token_field(vars(settings)):
            raise MwSError(
                f"{type(model).__name__}: its adapter {name!r} has {field}, which are ids of the old tokenizer; {merge}"
            )
        if getattr(settings, "use_dora", False) and any(".lora_embedding_A." in key for key in model.state_dict()):
            raise MwSError(
                f"{type(model).__name__}: its adapter {name!r} applies DoRA to the embeddings, by the norms of "
                f"all old rows; {merge}"
            )


def _token_field(settings: Mapping[str, Any]) -> str | None:
    """Return the field of an adapter's settings that contains ids of tokens, or None."""
    return next((field for field in _TOKEN_FIELDS if settings.get(field)), None)


def copy_companions(model: Path, stage: Path, written: Collection[str]) -> list[str]:
    """Copy the files next to a model's weights and its old tokenizer.

    Files and whole folders are copied unless they depend on the old vocabulary: another tokenizer, weights with a row
    for each token, or weights in a format that is not read here.

    Args:
        model: the folder of the model.
        stage: the folder to copy to.
        written: files of the model that the caller writes to `stage`, such as the shards of its weights.

    Returns:
        The names of the files and folders that are not copied.

    Raises:
        MwSError: a folder that the model needs to load depends on the old vocabulary, or is outside of the model's
            folder.
    """
    parts, settings = _required_folders(model), load_settings(model / MODEL_FILE)
    replaced = {*map(Path, written), *files(model, *_REPLACED)}
    left = []
    for path in sorted(model.iterdir()):
        names = [name for name in _names_below(path, model) if name not in replaced]
        bound = ((name, _old_vocabulary(model, name, settings, parts)) for name in names)
        name, reason = next(((name, reason) for name, reason in bound if reason), (None, None))
        if name is None:
            for each in names:
                copy_inside(model, each, stage)
        elif path.name in parts:
            raise MwSError(f"{model / name}: {reason}, and modules.json needs it; this model cannot be transplanted")
        else:
            left.append(f"{path.name}/" if path.is_dir() else path.name)
    return left


def _names_below(path: Path, model: Path) -> list[Path]:
    """List a file, or the files in a folder, by their paths within the model's folder, without hidden files.

    A model card that this package wrote is not listed, because it describes the old tokenizer.
    """
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    names = [each.relative_to(model) for each in found if each.is_file() or each.is_symlink()]
    return [
        name
        for name in names
        if not any(part.startswith(".") for part in name.parts) and not (len(name.parts) == 1 and is_untouched(path))
    ]


def _old_vocabulary(model: Path, name: Path, settings: Mapping[str, Any], parts: Collection[str]) -> str | None:
    """Return the reason why a file depends on the old vocabulary, for a message; None if it does not depend on it."""
    if is_kind(name.name, FileKind.TOKENIZER, FileKind.FOREIGN):
        return "belongs to another tokenizer"
    if name.name == ADAPTER_FILE and (field := _token_field(load_settings(file_inside(model, name)))):
        return f"has ids of the old tokenizer ({field})"
    if not is_kind(name.name, FileKind.WEIGHTS):
        return None
    if len(name.parts) > 1 and name.suffix == ".safetensors":
        tables = vocabulary_tables(tensors_of(file_inside(model, name)), settings)
        return f"has a row for each token of the vocabulary ({tables[0].name})" if tables else None
    return None if name.parts[0] in parts else "contains weights that are not loaded"


def _required_folders(model: Path) -> set[str]:
    """Return the folders that modules.json and router_config.json name, which sentence-transformers needs.

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "modules.json").write_text(json.dumps([{"path": ""}, {"path": "1_Pooling"}]), encoding="utf-8")
    >>> _required_folders(folder)
    {'1_Pooling'}
    """
    found = set()
    for file in (model / name for name in ("modules.json", "router_config.json")):
        for path in map(Path, _strings(load_json(file)) if file.is_file() else ()):
            if path.is_absolute() or ".." in path.parts:
                raise MwSError(f"{file}: needs {str(path)!r}, which is outside of the model; copy it into the model")
            found |= set(path.parts[:1])
    return found


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, except the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(each)
