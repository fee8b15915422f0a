"""Check whether other programs (clients) read the folder of a tokenizer as `tokenizers` does: same ids, same text.

    python scripts/checks/clients.py out/characters out/bytes --text '../shared/data/text/*.txt.gz'

Each client encodes and decodes lines of the texts, the samples of `mws_hf.text.sample_texts` and random Unicode,
without special tokens. Python clients are installed with pip into virtual environments below --work (llama-cpp-python
is compiled, which takes minutes), JavaScript clients with npm (Node.js 18 or later). vLLM and SGLang are installed
without the packages that only a GPU needs. llama.cpp and tiktoken read the files that `mws export` writes, if the
export is exact. llama.cpp also reads the file that its own converter writes.

The script writes scripts/results/clients.md and clients.json, with a reason for each client that cannot be installed.
The exit code is 1 if a client accepts a tokenizer and returns other ids.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import Tokenizer

import mws_hf
from mws_hf.atomic import write_text
from mws_hf.corpus.files import expand_paths
from mws_hf.corpus.octets import stored_lines
from mws_hf.errors import MwSError
from mws_hf.text.markdown import markdown_table
from mws_hf.text.sample_texts import NATURAL, sample_texts

PACKAGES = ("@huggingface/transformers@3.8.1", "@huggingface/transformers@4.3.1", "@huggingface/tokenizers@0.2.0")
CHECKS = Path(__file__).resolve().parent
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


class Client(NamedTuple):
    """A Python client.

    Attributes:
        name: its name in the table.
        environment: the name of its virtual environment below --work.
        requirements: the packages that pip installs there.
        call: the function of clients_python.py that opens a tokenizer with it.
        reads: its input: "directory", a format of `mws export`, or "convert_hf_to_gguf".
        bare: packages that pip installs first, without their dependencies.
    """

    name: str
    environment: str
    requirements: tuple[str, ...]
    call: str
    reads: str = "directory"
    bare: tuple[str, ...] = ()


LLAMA_CPP = "llama-cpp-python==0.3.36"
TORCH = "torch==2.13.0"
"""The version of torch in most environments, so that pip downloads only one."""

LLAMA_CONFIG = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 64},
    **{"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "rms_norm_eps": 1e-5},
    **{"max_position_embeddings": 128},
}
VLLM_NEEDS = ("transformers>=5.16.1,<5.21", "psutil", "pyzmq", "urllib3")
SGLANG_NEEDS = (
    *("torchvision==0.29.2", "transformers==5.19.0", "orjson", "psutil", "pybase64", "requests", "triton", "pillow"),
    *("starlette", "msgspec", "pyzmq", "ipython", "aiohttp", "dill", "sentencepiece"),
)
"""The packages that the tokenizer modules of vLLM and SGLang import; their other requirements are for GPUs and servers.
"""

CLIENTS = (
    Client("tokenizers", "clients", ("tokenizers",), "tokenizers"),
    *(
        Client(f"tokenizers {version}", f"tokenizers-{version}", (f"tokenizers=={version}",), "tokenizers")
        for version in ("0.21.4", "0.22.2", "1.0.0rc3")
    ),
    Client("tokenizers, DecodeStream", "clients", ("tokenizers",), "decode_stream"),
    *(
        Client(f"transformers {version}", f"transformers-{version}", (requirement, "jinja2"), "transformers")
        for version, requirement in [
            *((number, f"transformers=={number}") for number in ("4.51.3", "4.57.6", "5.0.0")),
            ("5.x", "transformers>=5.23,<6"),
        ]
    ),
    Client("transformers, convert_tokens_to_string", "transformers-5.x", (), "convert_tokens_to_string"),
    Client("kitoken", "clients", ("kitoken",), "kitoken"),
    Client("fastokens", "clients", ("fastokens",), "fastokens"),
    Client("llguidance", "clients", ("llguidance",), "llguidance"),
    Client("gigatoken", "clients", ("gigatoken",), "gigatoken"),
    Client("tokie", "clients", ("tokie",), "tokie"),
    Client("vLLM", "vllm", (TORCH, *VLLM_NEEDS), "vllm", bare=("vllm==0.33.0",)),
    Client("SGLang", "sglang", SGLANG_NEEDS, "sglang", bare=("sglang==0.5.23",)),
    Client("xgrammar", "vllm", (TORCH, *VLLM_NEEDS, "xgrammar==0.2.8"), "xgrammar"),
    Client("OpenVINO tokenizers", "clients", ("openvino-tokenizers", "transformers"), "openvino"),
    Client("onnxruntime-extensions", "clients", ("onnxruntime-extensions",), "onnxruntime_extensions"),
    Client("tiktoken, mws export", "clients", ("tiktoken",), "tiktoken", "tiktoken"),
    Client("llama.cpp, mws export", "clients", (LLAMA_CPP,), "llama_cpp", "gguf"),
    Client("llama.cpp, its own converter", "clients", (LLAMA_CPP,), "llama_cpp", "convert_hf_to_gguf"),
)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="folders with a tokenizer.json")
    parser.add_argument("--text", nargs="*", default=[], help="text files whose first lines are encoded")
    parser.add_argument("--lines", type=int, default=60, help="number of lines that are read from each file")
    parser.add_argument("--only", nargs="*", default=[], help="only programs whose names begin with one of these")
    parser.add_argument("--work", type=Path, default=Path("out/clients"), help="folder for pip and npm packages")
    parser.add_argument("--output", type=Path, default=Path("scripts/results/clients.md"), help="page to write")
    return parser.parse_args(arguments)


def texts(names: list[str], lines: int) -> dict[str, bool]:
    """Collect the texts to encode, and map each to whether it is running text; equal arguments give equal texts."""
    found = {}
    for name in expand_paths(names) if names else []:
        for _, line in zip(range(lines), stored_lines(name), strict=False):
            found[line.rstrip("\r\n")] = True
    found |= {text: text in NATURAL for text in sample_texts() if text not in found}
    found.pop("", None)
    return found


def environment(home: Path) -> Path:
    """Return the Python of a virtual environment, after creating the environment if it does not exist."""
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(home)
    return python


def pip(python: Path, *arguments: str) -> None:
    """Run pip for an environment.

    Raises:
        NotInstalledError: pip failed.
    """
    done = subprocess.run([*PIP, "--python", str(python), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise NotInstalledError(done.stderr.strip()[-300:])


class NotInstalledError(Exception):
    """A failure of pip, with the end of its error message."""


def exported(folder: Path, reads: str, work: Path) -> tuple[Path | None, str]:
    """Return the path that a client reads: the directory or an export of it.

    If the export fails, the path is None and the second value is the reason.
    """
    place = work / f"{folder.name}.{reads}"
    if reads == "directory":
        return folder.resolve(), ""
    if reads == "convert_hf_to_gguf":
        command = converter(folder, work, place)
    else:
        command = [sys.executable, "-m", "mws_hf", "export", str(folder), "--format", reads, "-o", str(place)]
        command += ["--force"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    return (place.resolve(), "") if done.returncode == 0 else (None, done.stderr.strip()[-300:])


def converter(folder: Path, work: Path, output: Path) -> list[str]:
    """Return the command that converts a tokenizer folder with llama.cpp's own converter.

    The converter comes from the source package of llama-cpp-python. It reads a copy of the folder to which the config
    of a Llama model is added, because the converter supports most kinds of tokenizers for this model type.
    """
    home, copy = work / "llama.cpp", work / f"{folder.name}.llama"
    python = environment(home)
    pip(python, "install", TORCH, "transformers>=5.19,<5.21", "sentencepiece", "numpy", "pyyaml", "requests", "tqdm")
    if not (home / "convert_hf_to_gguf.py").exists():
        pip(python, "download", "--no-deps", "--no-binary", "llama-cpp-python", "-d", str(home), LLAMA_CPP)
        with tarfile.open(next(home.glob("*.tar.gz"))) as package:
            for member in package.getmembers():
                _, _, member.name = member.name.partition("/vendor/llama.cpp/")
                if member.name.startswith(("convert_hf_to_gguf.py", "conversion/", "gguf-py/")):
                    package.extract(member, home, filter="data")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    output.unlink(missing_ok=True)
    size = len(json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
    (copy / "config.json").write_text(json.dumps(LLAMA_CONFIG | {"vocab_size": size}), encoding="utf-8")
    return [str(part) for part in (python, home / "convert_hf_to_gguf.py", copy, "--vocab-only", "--outfile", output)]


def run_child(command: list[str], folder: Path) -> dict[str, Any]:
    """Run clients_python.py or clients_javascript.mjs, and return the result that it prints."""
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HF_"))}
    outside |= {"HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", env=outside)
    if done.returncode != 0:
        return {"refused": done.stderr.strip()[-300:]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def python_client(client: Client, folder: Path, cases: Path, work: Path) -> dict[str, Any]:
    """Return the result of a Python client, after installing it in its environment."""
    try:
        python = environment(work / client.environment)
        for wanted in (("--no-deps", *client.bare) if client.bare else (), client.requirements):
            if wanted:
                pip(python, "install", *wanted)
        place, refusal = exported(folder, client.reads, work)
    except NotInstalledError as error:
        return {"absent": str(error)}
    if place is None:
        return {"refused": refusal}
    command = [str(python.absolute()), str(CHECKS / "clients_python.py"), client.call, str(place), str(cases)]
    return run_child(command, work)


def javascript(package: str, folder: Path, cases: Path, work: Path) -> dict[str, Any]:
    """Return the result of a JavaScript package, after installing it with npm in a separate folder."""
    home = work / package.replace("/", "-").strip("@")
    home.mkdir(parents=True, exist_ok=True)
    library = package.rsplit("@", 1)[0]
    if shutil.which("npm") is None:
        return {"absent": "npm is not installed"}
    if not (home / "node_modules" / library).is_dir():
        write_text(home / "package.json", '{"type": "module", "private": true}\n')
        npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", package]
        done = subprocess.run(npm, cwd=home, capture_output=True, text=True)
        if done.returncode != 0:
            return {"absent": done.stderr.strip()[-300:]}
    shutil.copy(CHECKS / "clients_javascript.mjs", home)  # Node.js resolves imports from the module's folder
    return run_child(["node", "clients_javascript.mjs", library, str(folder.resolve()), str(cases)], home)


def check(folder: Path, wanted: dict[str, bool], work: Path, only: list[str]) -> dict[str, dict[str, Any]]:
    """Return the result of each client for one tokenizer, by the client's name."""
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    rows = [
        {"text": text, "natural": natural, "ids": backend.encode(text, add_special_tokens=False).ids}
        for text, natural in wanted.items()
    ]
    cases = (work / "cases.json").resolve()
    write_text(cases, json.dumps(rows))
    chosen = [client for client in CLIENTS if client.name.startswith(tuple(only or [""]))]
    found = {client.name: python_client(client, folder, cases, work) for client in chosen}
    scripts = [package for package in PACKAGES if package.startswith(tuple(only or [""]))]
    return found | {package: javascript(package, folder, cases, work) for package in scripts}


def cell(result: dict[str, Any]) -> str:
    """Format a result for the table as: texts with wrong ids (of these, running text) / texts that are not restored.

    >>> cell({"wrong_ids": 3, "natural": 1, "wrong_text": 0}), cell({"refused": "RuntimeError: Unknown"})
    ('3 (1) / 0', 'refuses')
    """
    if "absent" in result:
        return "not installed"
    if "refused" in result:
        return "refuses"
    ids = "–" if result["wrong_ids"] is None else f"{result['wrong_ids']} ({result['natural']})"
    return f"{ids} / {result['wrong_text']}"


def report(results: dict[str, dict[str, dict[str, Any]]], wanted: dict[str, bool]) -> str:
    """Write the page with one row per client and one column per tokenizer."""
    names = list(dict.fromkeys(client for found in results.values() for client in found))
    lines = [
        "# Tokenizers in other programs",
        "",
        f"Measured by `python scripts/checks/clients.py` with mws_hf {mws_hf.__version__} and Python "
        f"{platform.python_version()}, on {len(wanted):,} texts per tokenizer. {sum(wanted.values()):,} of them are "
        "running text, and the others are hard cases and random Unicode. Each cell has the number of texts whose ids "
        "differ from those of `tokenizers` (in brackets: of running text), and after the slash the number of texts "
        "that are not restored when these ids are decoded. `clients.json` has the reasons of refusals and the first "
        "text that differs.",
        "",
        markdown_table(["client", *results], ([name, *(cell(of[name]) for of in results.values())] for name in names)),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Check all tokenizers with all clients, and write the page; return 1 if a client returns other ids."""
    options = parse()
    wanted = texts(options.text, options.lines)
    options.work.mkdir(parents=True, exist_ok=True)
    results = {}
    for folder in options.folders:
        results[folder.name] = check(folder, wanted, options.work, options.only)
        for client, result in results[folder.name].items():
            print(f"{folder.name}\t{client}\t{cell(result)}", flush=True)
    write_text(options.output, report(results, wanted))
    write_text(options.output.with_suffix(".json"), json.dumps(results, indent=1, ensure_ascii=True) + "\n")
    return any(result.get("wrong_ids") for found in results.values() for result in found.values())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (MwSError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
