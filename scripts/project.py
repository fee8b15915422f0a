"""Set up the project's virtual environment and run a job in it; this script needs only Python 3.11 or newer.

    python3 scripts/project.py demo         train a tokenizer with default settings and load it with AutoTokenizer
    python3 scripts/project.py site         build the documentation site in out/site
    python3 scripts/project.py test         run lint, type checks, doctests, the daily tests, and try-wheel
    python3 scripts/project.py test-all     run all tests before a release: test, and also library versions, clusters, a
                                            browser, other programs, and the source distribution
    python3 scripts/project.py lowest       run the daily tests with the oldest libraries that pyproject.toml allows
    python3 scripts/project.py wheel FOLDER      build a wheel for this Python that contains the compiled kernels
    python3 scripts/project.py try-wheel [FILE]  run every block of README, as printed, in a copy of this checkout; then
                                                 run README and the quick start in empty folders that contain only a
                                                 wheel, by default a new one. The copy and the wheel have separate
                                                 environments.

The environment is the folder `.venv` next to pyproject.toml, or the folder that the variable MWS_VENV names.
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
PROCESSOR = {
    "NUMBA_CPU_NAME": "x86-64-v3",  # Intel processors since 2013, AMD processors since 2015
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,"
    "+ssse3,+xsave",
}
"""The processor that the kernels in a wheel are compiled for, as settings of numba.

On any other processor, numba compiles the kernels at their first use.
"""
PLATFORM = "manylinux_2_17_x86_64"
COMPILE = """
import json, os
from mws_hf.kernels.jit import PROCESSOR_FILE, SHIPPED
os.environ["NUMBA_CACHE_DIR"] = str(SHIPPED)
from mws_hf.commands.warmup import warm_up
from numba.core.registry import cpu_target
warm_up()
(SHIPPED / PROCESSOR_FILE).write_text(json.dumps(cpu_target.target_context.codegen().magic_tuple()), encoding="utf-8")
"""

DEMO_CORPUS = """
from pathlib import Path
from pydoc_data.topics import topics
Path("out").mkdir(exist_ok=True)
Path("out/demo.txt").write_text("\\n".join(topics.values()), encoding="utf-8")
"""
DEMO = """
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("out/demo")
text = "The hedgehog \N{HEDGEHOG} unpacked 25 books."
assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
print("AutoTokenizer loads out/demo, and decode(encode(text)) == text")
"""

BLOCKS = """
import contextlib, glob, io, os, re, subprocess, sys, time
from pathlib import Path
def possible(line):
    place = line.removeprefix("pip install ").split("#")[0].strip().strip("'").split("[")[0]
    return os.path.exists("pyproject.toml") if place == "." else bool(glob.glob(place)) or "mws" not in place
text, done, space = Path(sys.argv[1]).read_text("utf-8"), int(sys.argv[3]), {"__name__": "__main__"}
for number, (kind, code) in enumerate(re.findall(r"^```(python|bash|text)\\n(.*?)^```", text, re.S | re.M)):
    begun, again = time.monotonic(), number < done
    if kind == "python":
        with contextlib.redirect_stdout(io.StringIO() if again else sys.stdout):
            exec(compile(code, sys.argv[1], "exec"), space)
    elif kind == "bash" and not again:
        subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=True)
    elif kind == "text" and not again and code.startswith("pip install "):
        for line in filter(possible, code.splitlines()):
            subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True)
    elif not again:
        continue
    if not again:
        print(f"{time.monotonic() - begun:6.1f} s  {code.splitlines()[0][:80]}", file=sys.stderr, flush=True)
    if kind == "text" and not again:  # libraries check only once what is installed, so continue in a new process
        os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], *sys.argv[1:3], str(number + 1)])
"""
"""A program that runs the blocks of a page in the current folder, one after another, and prints how long each took.

Of the lines with `pip install`, it runs those whose folder or wheel exists.
"""


def run(*command: str | Path) -> None:
    """Run a command in the project's root; if it fails, exit with its exit code."""
    print("+", *command, file=sys.stderr, flush=True)
    code = subprocess.call([str(part) for part in command], cwd=ROOT)
    if code:
        sys.exit(code)


def install(extra: str) -> None:
    """Create the environment if it does not exist, and install the project in it in editable mode.

    pip does not compile the modules of the libraries (PIP_COMPILE), which would take a minute. Python compiles a module
    when it is first imported, and caches it, because processes of this script do not inherit PYTHONDONTWRITEBYTECODE.
    """
    python = make_environment(ENVIRONMENT)
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f".{extra}")


def demo() -> None:
    """Train with default settings on English text that comes with Python, and show how words are split."""
    install("")
    run(BIN / "python", "-c", DEMO_CORPUS)
    run(BIN / "mws", "train", "out/demo.txt", "--vocab-size", "4000", "--output", "out/demo", "--force")
    run(BIN / "mws", "segment", "out/demo", "unpacking", "rewriting", "unchanged")
    run(BIN / "mws", "segment", "mws-ru-32k", "переписывающаяся", "безработица")  # a pretrained tokenizer
    run(BIN / "python", "-c", DEMO)


def site() -> None:
    """Build the documentation site in out/site with the packages of the extra `docs`."""
    install("[docs]")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    run(BIN / "python", "-m", "mkdocs", "build", "--strict")
    print(ROOT / "out/site/index.html")


def package() -> None:
    """Build a wheel and a source distribution, check their size, and try the wheel with compiled kernels."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch, "dist")
        run(BIN / "python", "-m", "build", "--outdir", built)
        run(BIN / "python", "-m", "twine", "check", "--strict", *sorted(built.iterdir()))
        if swollen := [file.name for file in built.iterdir() if file.stat().st_size > LARGEST_PACKAGE]:
            sys.exit(
                f"{', '.join(swollen)}: more than {LARGEST_PACKAGE:,} bytes; exclude data files (see pyproject.toml)"
            )
        if sys.platform == "linux":
            try_wheel(wheel(scratch))


def wheel(folder: str | Path) -> Path:
    """Build a wheel for this Python and `PLATFORM` whose kernels are compiled for `PROCESSOR`; return its path.

    The compiled kernels work only with the numba version of the environment. With any other version, the kernels are
    compiled at the first training.
    """
    install("[dev]")
    python, folder = BIN / "python", Path(folder).resolve()
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    with tempfile.TemporaryDirectory() as scratch:
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", scratch, ROOT)
        run(python, "-m", "wheel", "unpack", "--dest", scratch, next(Path(scratch).glob("*.whl")))
        tree = next(each for each in Path(scratch).iterdir() if each.is_dir())
        places = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([python, "-c", COMPILE], cwd=scratch, env=os.environ | PROCESSOR | places, check=True)
        folder.mkdir(parents=True, exist_ok=True)
        run(python, "-m", "wheel", "pack", "--dest-dir", scratch, tree)
        tags = ("--python-tag", tag, "--abi-tag", tag, "--platform-tag", PLATFORM)
        run(python, "-m", "wheel", "tags", "--remove", *tags, next(Path(scratch).glob("*-none-any.whl")))
        return Path(shutil.move(next(Path(scratch).glob(f"*-{PLATFORM}.whl")), folder))


def try_wheel(wheel: str | Path | None = None) -> None:
    """Run README in a copy of the checkout, and README and the quick start with a wheel, by default a new one."""
    with tempfile.TemporaryDirectory() as scratch:
        copy, built = Path(scratch, "mws_hf"), Path(scratch, "dist")
        listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\0")
        for name in files:
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
        of_copy = Path(scratch, "venv")
        if (copy / "pyproject.toml").is_file():  # outside of a Git checkout, no files are listed
            run_page("README.md", copy, of_copy)
        if wheel is None:
            run(make_environment(of_copy), "-m", "pip", "--quiet", "wheel", "--no-deps", "--wheel-dir", built, ROOT)
            wheel = next(built.glob("*.whl"))
        if (size := Path(wheel).stat().st_size) > LARGEST_PACKAGE:
            sys.exit(
                f"{wheel} has {size:,} bytes, more than {LARGEST_PACKAGE:,}; exclude data files (see pyproject.toml)"
            )
        for page in ("README.md", "docs/quickstart.md"):
            empty = Path(scratch, Path(page).stem)
            empty.mkdir()
            shutil.copy(wheel, empty)
            run_page(page, empty, Path(scratch, "clean"))


def make_environment(folder: Path) -> Path:
    """Create an environment if it does not exist, and return its Python."""
    python = folder / SCRIPTS / "python"
    if not python.exists() and not python.with_suffix(".exe").exists():
        venv.create(folder, with_pip=True)
    return python


def run_page(page: str, folder: Path, environment: Path) -> None:
    """Run the blocks of a page in a folder and an environment."""
    print("+", page, "in", folder, file=sys.stderr, flush=True)
    python = make_environment(environment)
    search = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    settings = {"PATH": search, "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1", "PIP_QUIET": "1"}
    variables = {**os.environ, **settings, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    variables.pop("PYTHONPATH", None)
    code = subprocess.call([python, "-c", BLOCKS, ROOT / page, BLOCKS, "0"], cwd=folder, env=variables)
    if code:
        sys.exit(code)


def test(*folders: str) -> None:
    """Run lint, type checks and tests, and try the wheel at the same time.

    The tests are those in the given folders, or by default those that `pyproject.toml` lists.
    """
    install("[dev]")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        command = [sys.executable, str(Path(__file__).resolve()), "try-wheel"]
        wheel = subprocess.Popen(command, stdout=log, stderr=log)  # it waits for the disk half of the time
        try:
            run(BIN / "ruff", "check", ".")
            run(BIN / "ruff", "format", "--check", ".")
            run(BIN / "mypy")
            run(BIN / "python", "-m", "pytest", "-n", "2", "--dist", "worksteal", *folders)
            code = wheel.wait()
        finally:
            wheel.kill()
        log.seek(0)
        print(log.read(), file=sys.stderr)
        if code:
            sys.exit(code)


def test_all() -> None:
    """Run all tests with all their examples, then build the wheel and try it."""
    os.environ["MWS_TESTS"] = "full"
    test("tests", "mws_hf")
    package()


def lowest() -> None:
    """Run the daily tests with the oldest release of each library that pyproject.toml allows."""
    with tempfile.TemporaryDirectory() as scratch:
        python = make_environment(Path(scratch, "venv"))
        run(python, "-m", "pip", "install", "--quiet", "uv")
        uv = (python, "-m", "uv", "pip", "install", "--quiet", "--python", python)
        run(*uv, "--resolution", "lowest-direct", "--editable", ".[baselines,plot,datasets,uk]")
        run(*uv, "pytest", "pytest-xdist", "hypothesis", "parameterized", "protobuf")
        run(python, "-m", "pytest", "-n", "2", "--dist", "worksteal", "tests/unit", "tests/process")


if __name__ == "__main__":
    os.environ["PIP_COMPILE"] = "0"  # to compile all modules of all libraries takes a minute; see `install`
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each process of a job would compile all that it imports
    jobs = {"demo": demo, "site": site, "test": test, "test-all": test_all, "lowest": lowest}
    if len(sys.argv) in (2, 3) and sys.argv[1] == "try-wheel":
        try_wheel(*sys.argv[2:])
    elif len(sys.argv) == 3 and sys.argv[1] == "wheel":
        print(wheel(sys.argv[2]))
    elif len(sys.argv) == 2 and sys.argv[1] in jobs:
        jobs[sys.argv[1]]()
    else:
        sys.exit(f"usage: python3 {sys.argv[0]} {'|'.join(jobs)}|try-wheel [FILE]|wheel FOLDER")
