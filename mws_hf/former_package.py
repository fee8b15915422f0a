"""Imports from a package that is a function now, for one version."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def stand_in(former: str, function: Callable[..., Any], package: str, renamed: Mapping[str, str] | None = None) -> None:
    """Put a function in the place of a former package, with the names and modules of its successor as attributes.

    Args:
        former: name of the module that calls this function, such as ``mws_hf.evaluate``.
        function: what the name means from now on.
        package: name of the package that has the modules now, such as ``mws_hf.scoring``.
        renamed: former names of modules that have another name now -> the name.
    """
    message = f"{former} is a function and no longer a package: import names and modules from {package}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    successor = import_module(package)
    modules = {}
    for each in iter_modules(successor.__path__):
        with contextlib.suppress(ModuleNotFoundError):  # its library is not installed, such as torch
            modules[each.name] = import_module(f"{package}.{each.name}")
    modules |= {old: modules[new] for old, new in (renamed or {}).items()}
    names = {name: getattr(successor, name) for name in getattr(successor, "__all__", ())}
    vars(function).update(modules | names)
    sys.modules |= {f"{former}.{name}": module for name, module in modules.items()}
    sys.modules[former] = function  # type: ignore[assignment]
