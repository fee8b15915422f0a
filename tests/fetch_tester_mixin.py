"""Fetch the tokenizer test mixins of the installed transformers from its source archive on PyPI; nothing is vendored.

Usage: python tests/fetch_tester_mixin.py [FOLDER]

Prints the folder that holds the `tests` folder with the mixins. A folder that has them already is not fetched again.
Exit code 3: the registry could not be reached (the caller may skip).
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import transformers

MIXINS = ("test_tokenization_common.py", "test_tokenizers_backend_mixin.py", "test_sentencepiece_backend_mixin.py")
UNREACHABLE = 3


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "mws_hf" / f"transformers-{transformers.__version__}"


def download(folder: Path) -> Path | None:
    """Download the source archive with pip; return None if pip fails."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "transformers"]
    wanted = f"transformers=={transformers.__version__}"
    done = subprocess.run([*command, "--dest", str(folder), wanted], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.strip()[-2000:], file=sys.stderr)
        return None
    return next(folder.glob("transformers-*.tar.gz"))


def extract(archive: Path, tests: Path) -> None:
    """Write the mixin modules, and the text file that their setUpClass opens."""
    (tests / "fixtures").mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            name = Path(member.name)
            if name.name in MIXINS and name.parent.name == "tests":
                source = tar.extractfile(member)
                if source is not None:
                    (tests / name.name).write_bytes(source.read())
    (tests / "fixtures" / "sample_text.txt").write_text(
        "This is a sample text.\n\nIt has two lines.\n", encoding="utf-8"
    )


def main() -> int:
    # the mixins look for their fixtures in the nearest parent folder called "tests"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder()
    tests = folder / "tests"
    if not (tests / "fixtures" / "sample_text.txt").is_file():
        with tempfile.TemporaryDirectory() as scratch:
            archive = download(Path(scratch))
            if archive is None:
                return UNREACHABLE
            extract(archive, tests)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
