"""Set up the project's virtual environment and run a job in it; needs nothing but Python 3.11 or newer.

    python3 scripts/project.py demo    train a Russian tokenizer and load it with AutoTokenizer
    python3 scripts/project.py test    lint, types, doctests and the tests of every day
    python3 scripts/project.py test-all    also versions, clusters, a browser, clients, the wheel: before a release
    python3 scripts/project.py try-wheel FILE    install a built wheel in an environment of its own and train with it

The environment is `.venv` beside this project's pyproject.toml, or the folder named by MWS_VENV.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = Path(os.environ.get("MWS_VENV", ROOT / ".venv")).resolve()
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
BIN = ENVIRONMENT / SCRIPTS
LARGEST_PACKAGE = 15_000_000

DEMO = """
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("out/russian-mws")
for word in ("переписывающаяся", "подводник", "безработица", "читательницами", "краснолицый"):
    tokens = [tokenizer.decode([i]) for i in tokenizer(" " + word)["input_ids"]]
    print(f"{word:20} {'·'.join(tokens).strip()}")
text = "Ёжик 🦔 прочитал 25 книг — и не устал."
assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
print("AutoTokenizer loaded out/russian-mws; decode(encode(text)) == text")
"""

LOADED = """
import sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
text = "built, installed, trained \\U0001f994"
assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
"""


def run(*command: str | Path) -> None:
    """Run a command of the environment from the project's root; stop with its exit code if it fails."""
    print("+", *command, file=sys.stderr, flush=True)
    code = subprocess.call([str(part) for part in command], cwd=ROOT)
    if code:
        sys.exit(code)


def install(extra: str) -> None:
    """Make the environment if it is absent and install the project in it, editable."""
    if not (BIN / "python").exists() and not (BIN / "python.exe").exists():
        venv.create(ENVIRONMENT, with_pip=True)
    run(BIN / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f".{extra}")


def demo() -> None:
    """Train on the 3.05 million Russian forms of pymorphy3's dictionary and show segmentations."""
    install("")
    options = ("--lexicon", "ru", "--vocab-size", "8000", "--composition", "0")  # a lexicon has no counts to compose by
    run(BIN / "mws", "train", *options, "--output", "out/russian-mws")
    run(BIN / "python", "-c", DEMO)


def package() -> None:
    """Build wheel and sdist, both small, and train with the wheel."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch, "dist")
        run(BIN / "python", "-m", "build", "--outdir", built)
        run(BIN / "python", "-m", "twine", "check", "--strict", *sorted(built.iterdir()))
        if swollen := [file.name for file in built.iterdir() if file.stat().st_size > LARGEST_PACKAGE]:
            sys.exit(f"{', '.join(swollen)}: over {LARGEST_PACKAGE:,} bytes; leave data out (see pyproject.toml)")
        try_wheel(next(built.glob("*.whl")))


def try_wheel(wheel: str | Path) -> None:
    """Train with a wheel in an environment that has nothing else of ours."""
    with tempfile.TemporaryDirectory() as scratch:
        clean = Path(scratch, "venv")
        venv.create(clean, with_pip=True)
        python = clean / SCRIPTS / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", Path(wheel).resolve())
        text = Path(scratch, "corpus.txt")
        shutil.copyfile(ROOT / "README.md", text)
        run(clean / SCRIPTS / "mws", "train", text, "--vocab-size", "600", "--output", Path(scratch, "trained"))
        run(python, "-c", LOADED, Path(scratch, "trained"))


def test(*folders: str) -> None:
    """Run lint, types, doctests and tests: those of the folders given, else those that `pyproject.toml` names."""
    install("[dev]")
    run(BIN / "ruff", "check", ".")
    run(BIN / "ruff", "format", "--check", ".")
    run(BIN / "mypy")
    run(BIN / "python", "-m", "pytest", "-n", "2", "--dist", "worksteal", *folders)


def test_all() -> None:
    """Run the tests of all tiers with all their examples, then build the wheel and try it."""
    os.environ["MWS_TESTS"] = "full"
    test("tests", "mws_hf")
    package()


if __name__ == "__main__":
    jobs = {"demo": demo, "test": test, "test-all": test_all}
    if len(sys.argv) == 3 and sys.argv[1] == "try-wheel":
        try_wheel(sys.argv[2])
    elif len(sys.argv) == 2 and sys.argv[1] in jobs:
        jobs[sys.argv[1]]()
    else:
        sys.exit(f"usage: python3 {sys.argv[0]} {'|'.join(jobs)}|try-wheel FILE")
