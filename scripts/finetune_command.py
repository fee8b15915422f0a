"""The command line that finetune_trainer.py and finetune_sft.py share; it trains nothing itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def run(finetune: Callable[..., float], description: str | None, data: str, what: str) -> None:
    """Read the arguments, fine-tune, print the mean loss.

    Args:
        finetune: called with model directory, data file, output directory, and `max_steps`.
        description: the text of ``--help``.
        data: name of the data argument.
        what: what that file holds.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_dir", type=Path)
    parser.add_argument("data", type=Path, metavar=data, help=what)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--max-steps", type=int, default=200)
    options = parser.parse_args()
    print(f"loss {finetune(options.model_dir, options.data, options.output, max_steps=options.max_steps):.3f}")
