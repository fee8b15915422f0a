"""A release: its tag, version, changelog and citation agree, and the workflow publishes only a tested wheel."""

import re
import shutil
import subprocess
import sys

import pytest

import mws_hf
from tests.paths import ROOT

FILES = ("pyproject.toml", "mws_hf/__init__.py", "CITATION.cff", "CHANGELOG.md", "scripts/release.py")
TAG = f"v{mws_hf.__version__}"


@pytest.fixture
def copy(tmp_path):
    """Copy the files that contain the version, so that a test can change them."""
    for file in FILES:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / file, tmp_path / file)
    return tmp_path


def check(root, tag):
    return subprocess.run(
        [sys.executable, root / "scripts" / "release.py", tag], capture_output=True, encoding="utf-8", check=False
    )


def test_the_tag_of_this_version_agrees_with_every_file_and_gives_the_notes():
    done = check(ROOT, TAG)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("###") or "\n### " in done.stdout
    assert "## [0.1" not in done.stdout


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("pyproject.toml", f'version = "{TAG[1:]}"', 'version = "9.9.9"'),
        ("mws_hf/__init__.py", TAG[1:], "9.9.9"),
        ("CITATION.cff", f"version: {TAG[1:]}", "version: 9.9.9"),
        ("CITATION.cff", 'date-released: "2', 'date-released: "3'),
        ("CHANGELOG.md", f"## [{TAG[1:]}] - ", "## [9.9.9] - "),
    ],
)
def test_a_file_with_another_version_stops_the_release(copy, file, old, new):
    text = (copy / file).read_text(encoding="utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    done = check(copy, TAG)
    assert done.returncode == 1 and file in done.stderr and not done.stdout


@pytest.mark.parametrize("tag", ["v9.9.9", TAG[1:], "v1.0"])
def test_another_tag_stops_it(tag):
    done = check(ROOT, tag)
    assert done.returncode == 1 and done.stderr and "Traceback" not in done.stderr


def test_the_workflow_publishes_a_tag_without_a_token_after_the_wheel_was_tried():
    yaml = pytest.importorskip("yaml")
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    flow = yaml.safe_load(text)
    build, publish = flow["jobs"]["build"], flow["jobs"]["publish"]
    assert flow[True] == {"push": {"tags": ["v*"]}}  # YAML parses the key `on` as true
    assert publish["needs"] == "build" and publish["environment"]["name"] == "pypi"
    assert publish["permissions"] == {"id-token": "write"} and flow["permissions"] == {"contents": "read"}
    assert publish["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert "password" not in text and "secrets." not in text
    runs = [step["run"] for step in build["steps"] if "run" in step]
    order = ["scripts/release.py", "-m build", "twine check --strict", "project.py try-wheel"]
    places = [next(i for i, run in enumerate(runs) if part in run) for part in order]
    assert places == sorted(places)
    for script in re.findall(r"scripts/\w+\.py", text):
        assert (ROOT / script).is_file()
