"""Names that the parts of this room had when they lay at the top of the package: each still means the same module."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

_ELSEWHERE = {
    "mws_hf.lm.checkpoint": "mws_hf.extend.checkpoint",
    "mws_hf.lm.embeddings": "mws_hf.extend.embeddings",
}


def keep_name(old: str, new: str) -> None:
    """Let `old`, which is being imported, mean the package `new`, and ``old.part`` the module ``new.part``.

    No module is loaded twice, so that classes are the same under both names.

    >>> import mws_hf.baselines.bpe, mws_hf.research.baselines.bpe
    >>> mws_hf.baselines.bpe is mws_hf.research.baselines.bpe
    True
    """
    sys.meta_path.insert(0, _OldNames(old, new))
    sys.modules[old] = importlib.import_module(new)


class _OldNames(MetaPathFinder, InspectLoader):
    """Finds the modules below an old name; also for ``python -m``, which asks for the code of one."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = f"{old}.", f"{new}."

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self._old) or (found := importlib.util.find_spec(self._place(fullname))) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=found.origin)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self._place(module.__name__))

    def get_source(self, fullname: str) -> str | None:
        """Tell no source: who reads it is to find it under the name it has now."""
        return None

    def get_code(self, fullname: str) -> CodeType | None:
        spec = importlib.util.find_spec(self._place(fullname))
        return spec.loader.get_code(spec.name) if spec and isinstance(spec.loader, InspectLoader) else None

    def _place(self, fullname: str) -> str:
        return _ELSEWHERE.get(fullname) or self._new + fullname.removeprefix(self._old)
