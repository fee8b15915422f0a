"""`mws map`: how two tokenizers spell each other's tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from mws_hf.atomic import check_output
from mws_hf.commands import options
from mws_hf.commands.outputs import counted, refuse_overwriting


def map_(
    old: Annotated[str, typer.Argument(help="A tokenizer directory, file or Hub name, such as a teacher's.")],
    new: Annotated[str, typer.Argument(help="Another one, such as a student's.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .safetensors file to write.")],
    as_json: options.Json = False,
) -> None:
    """Write how two tokenizers spell each other's tokens, for distillation: ids of the pieces and their bytes.

    For example:

        mws map meta-llama/Llama-3.2-1B out/student -o map.safetensors
    """
    refuse_overwriting([output], old, new)
    check_output(output, folder=False)
    from mws_hf.extend.token_map import map_tokens, vocabulary_digest
    from mws_hf.tokenizer.file import load_backend

    first, second = (load_backend(name)[0] for name in (old, new))
    found = map_tokens(first, second)
    found.save(output, old=old, new=new, old_sha256=vocabulary_digest(first), new_sha256=vocabulary_digest(second))
    shared = len(found.shared[0])
    result: dict[str, str | int] = {"file": str(output), "shared": shared}
    lines = [f"{output}: {counted(shared, 'shared token')}"]
    for name, other, side in (("new", "old", found.new_in_old), ("old", "new", found.old_in_new)):
        tokens, pieces, without = len(side), len(side.ids), side.without_pieces
        result |= {f"{name}_tokens": tokens, f"{name}_pieces": pieces, f"{name}_without_pieces": without}
        lines.append(f"{tokens:,} {name} ids by {pieces:,} pieces of the {other} tokenizer, {without:,} without any")
    typer.echo(json.dumps(result) if as_json else "\n".join(lines))
