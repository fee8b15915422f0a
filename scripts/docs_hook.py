"""What `mkdocs build` adds to the pages: pictures from scripts/results, and the help of every command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from mkdocs.structure.files import File, Files
from typer.testing import CliRunner

from mws_hf.commands.app import COMMANDS, app

RESULTS = Path(__file__).parent / "results"
PLACE_OF_COMMANDS = "<!-- the help of every command -->"


def on_files(files: Files, config: Any) -> Files:
    """Let pages show pictures of scripts/results as results/NAME.png."""
    for picture in sorted(RESULTS.glob("*.png")):
        files.append(File.generated(config, f"results/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of every command where the page asks for it."""
    if PLACE_OF_COMMANDS not in markdown:
        return markdown
    sections = [f"## mws {name}\n\n```text\n{help_of(name)}\n```\n" for name in COMMANDS]
    return markdown.replace(PLACE_OF_COMMANDS, "\n".join(sections))


def help_of(command: str) -> str:
    """What `mws COMMAND --help` prints."""
    result = CliRunner().invoke(app, [command, "--help"], prog_name="mws", env={"COLUMNS": "100"})
    if result.exit_code:
        raise typer.Exit(result.exit_code)
    return str(result.stdout).strip()
