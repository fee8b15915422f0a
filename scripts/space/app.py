"""The page of `mws demo` as a Hugging Face Space.

It shows the tokenizers named in the Space's variable MWS_TOKENIZERS (Hub names, separated by spaces), or those that lie
in folders of `tokenizers/` beside this file.
"""

from __future__ import annotations

import os
from pathlib import Path

from mws_hf.demo.app import page, serve, wait
from mws_hf.demo.tokens import open_all

FOLDER = Path(__file__).parent / "tokenizers"

if __name__ == "__main__":
    named = os.environ.get("MWS_TOKENIZERS", "").split()
    blocks = page(open_all(named or sorted(str(file.parent) for file in FOLDER.glob("*/tokenizer.json"))))
    print(serve(blocks, host=os.environ.get("GRADIO_SERVER_NAME")), flush=True)  # a Space sets it to 0.0.0.0
    wait(blocks)
