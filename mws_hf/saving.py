"""Saving a newly trained backend as a tokenizer directory without transformers, whose import takes seconds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, processors

from mws_hf.atomic import staged
from mws_hf.portable import STALE_FILES, STOCK_MODULE, STOCK_SOURCE, portable_config, write_config
from mws_hf.training_record import write_record

_NO_LIMIT = int(1e30)  # transformers' word for a model_max_length that nobody set


def save_backend(
    directory: str | os.PathLike[str],
    backend: Tokenizer,
    roles: Mapping[str, Any],
    settings: dict[str, Any] | None = None,
) -> None:
    """Write the directory that `MwSTokenizerFast.save_pretrained` writes, without transformers, or change nothing.

    Files of an older tokenizer that loaders would read as well (`STALE_FILES`) are removed, as there.

    Args:
        directory: made if absent.
        backend: from `MwSTrainer.backend`.
        roles: which special token is what: ``{"eos_token": "<|endoftext|>", ...}``.
        settings: of the training (`MwSTrainer.record`); None leaves no record.

    Raises:
        MwSError: the directory cannot be written, or another run is writing it.
    """
    plain = {"unk_token": None, "bos_token": None, "eos_token": None, "pad_token": None, "model_max_length": _NO_LIMIT}
    backend = Tokenizer.from_str(backend.to_str())
    backend.post_processor = processors.TemplateProcessing(single="$A:0", pair="$A:0 $B:1")  # adds nothing; v5 sets it
    with staged(Path(directory), STALE_FILES) as stage:
        (stage / "tokenizer.json").write_text(backend.to_str(pretty=True), encoding="utf-8", newline="\n")
        write_config(stage / "tokenizer_config.json", portable_config({**plain, **roles}))
        (stage / f"{STOCK_MODULE}.py").write_text(STOCK_SOURCE, encoding="utf-8")
        if settings is not None:
            write_record(stage, settings, backend)
