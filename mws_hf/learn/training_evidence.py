"""Deprecated module, kept for one version: it returns names from their new modules, with a warning."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

_MODULES = {
    "AnyWord": "any_word",
    "GroupEvidence": "group_evidence",
    "evidence_bytes": "evidence_file",
    "find_evidence": "group_evidence",
    "join_groups": "group_evidence",
    "read_evidence": "evidence_file",
    "script_lists": "script_lists",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"mws_hf.learn.{_MODULES[name]}"
    warnings.warn(f"import {name} from {module}", DeprecationWarning, stacklevel=2)
    return getattr(import_module(module), name)
