"""Keep imports from a former package working for one version, after a function has taken its name."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def stand_in(former: str, function: Callable[..., Any], package: str, renamed: Mapping[str, str] | None = None) -> None:
    """Replace a former package by a function, with the names and modules of the new package as attributes.

    Args:
        former: name of the module that calls this function, such as ``mws_hf.evaluate``.
        function: the function that now has this name.
        package: name of the package that now contains the modules, such as ``mws_hf.scoring``.
        renamed: the present names of modules, by their former names.
    """
    message = f"{former} is a function and no longer a package: import names and modules from {package}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    successor = import_module(package)
    modules = {}
    for module in iter_modules(successor.__path__):
        with contextlib.suppress(ModuleNotFoundError):  # an optional library is not installed, such as torch
            modules[module.name] = import_module(f"{package}.{module.name}")
    modules |= {old: modules[new] for old, new in (renamed or {}).items()}
    names = {name: getattr(successor, name) for name in getattr(successor, "__all__", ())}
    vars(function).update(modules | names)
    sys.modules |= {f"{former}.{name}": module for name, module in modules.items()}
    sys.modules[former] = function  # type: ignore[assignment]
