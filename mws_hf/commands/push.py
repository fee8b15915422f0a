"""`mws push`: upload a tokenizer and its card to the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mws_hf.errors import MwSError


def push(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A tokenizer directory.")],
    repository: Annotated[str, typer.Argument(metavar="USER/REPO", help="Its name on the Hub; made if absent.")],
    private: Annotated[bool, typer.Option("--private", help="Make the repository private.")] = False,
    message: Annotated[str, typer.Option("--message", "-m", help="Message of the commit.")] = "Upload tokenizer",
) -> None:
    """Upload a tokenizer and its card; nothing else that lies in the directory.

    Log in first with `hf auth login`, or set HF_TOKEN. `mws card` writes the card.

    For example:

        mws push out/russian me/russian-mws

        mws push out/russian me/russian-mws --private --message "32,000 entries"
    """
    if not directory.is_dir():
        raise MwSError(f"{directory}: no such tokenizer directory; train one with `mws train ... --output {directory}`")
    from mws_hf.pushing import push as upload

    address = upload(directory, repository, private=private, message=message)
    if not (directory / "README.md").is_file():
        typer.echo(f"{directory}: has no card; `mws card {directory}` writes one, then push again", err=True)
    typer.echo(address)
