"""Read folders that `save_to_disk` of the `datasets` library wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mws_hf.errors import MwSError, first_line


def refuse_splits(folder: str) -> None:
    """Raise MwSError for a folder of several splits, of which one may be the test set; it names one to give."""
    file = Path(folder, "dataset_dict.json")
    try:
        names = json.loads(file.read_text(encoding="utf-8"))["splits"] if file.is_file() else []
    except (OSError, ValueError, KeyError, TypeError):
        return  # the `datasets` library says what is wrong with it
    if len(names) > 1:
        places = os.path.join(folder, str(names[0]))
        raise MwSError(f"{folder}: a dataset of {len(names)} splits ({', '.join(map(str, names))}); give one: {places}")


def load_folder(name: str) -> Any:
    """Load the dataset, or dict of one, that `save_to_disk` wrote to a folder.

    Raises:
        MwSError: the `datasets` library is missing, or cannot read the folder, or it holds several splits.
    """
    refuse_splits(name)
    try:
        from datasets import load_from_disk
    except ImportError as error:
        raise MwSError(f"{name}: folders of datasets need: pip install 'mws-hf[datasets]'") from error
    try:
        return load_from_disk(name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MwSError(
            f"{name}: not a folder that `save_to_disk` wrote, or a damaged one ({first_line(error)})"
        ) from error
