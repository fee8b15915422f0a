"""What llama.cpp's own `convert_hf_to_gguf.py --vocab-only` makes of a tokenizer beside a model of type llama.

The converter comes out of the source package of llama-cpp-python on PyPI, at run time, into the scratch folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

CONFIG = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 64},
    **{"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "rms_norm_eps": 1e-5},
    **{"max_position_embeddings": 128},
}
"""Of a model as README's examples make them, and the type for which the converter tries most kinds of vocabulary."""

REQUIREMENTS = ("transformers>=5.19,<5.21", "sentencepiece", "numpy", "pyyaml", "requests", "tqdm")
_PARTS = ("convert_hf_to_gguf.py", "conversion/", "gguf-py/")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


class NotInstalledError(Exception):
    """What pip complains about."""


def converted(folder: Path, work: Path, package: str, torch: str) -> tuple[Path | None, str]:
    """The GGUF file that the converter writes, or None and the last thing it said.

    Args:
        folder: the tokenizer directory; it is copied, for a config.json is put beside it.
        work: the scratch folder.
        package: llama-cpp-python and its version, as pip wants it.
        torch: the same of PyTorch.

    Raises:
        NotInstalledError: pip could not bring the converter or what it imports.
    """
    home = work / "llama.cpp"
    python = _installed(home, package, torch)
    copy, output = work / f"{folder.name}.llama", work / f"{folder.name}.converted.gguf"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    output.unlink(missing_ok=True)
    size = len(json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
    (copy / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": size}), encoding="utf-8")
    command = [python, home / "convert_hf_to_gguf.py", copy, "--vocab-only", "--outfile", output]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, encoding="utf-8")
    return (output.resolve(), "") if done.returncode == 0 else (None, done.stderr.strip()[-300:])


def _installed(home: Path, package: str, torch: str) -> Path:
    """The python that runs the converter; the converter itself is put into `home`."""
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home)
    _run([*_PIP, "--python", str(python), "install", torch, *REQUIREMENTS])
    if not (home / _PARTS[0]).exists():
        _run([*_PIP, "download", "--no-deps", "--no-binary", "llama-cpp-python", "-d", str(home), package])
        _extract(next(home.glob("*.tar.gz")), home)
    return python


def _run(pip: list[str]) -> None:
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotInstalledError(done.stderr.strip()[-300:])


def _extract(archive: Path, home: Path) -> None:
    with tarfile.open(archive) as package:
        for member in package.getmembers():
            _, _, name = member.name.partition("/vendor/llama.cpp/")
            if name.startswith(_PARTS):
                member.name = name
                package.extract(member, home, filter="data")
