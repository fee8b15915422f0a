"""The `mws` commands, one module each: parse arguments, call the library, print the result."""

from __future__ import annotations

import os

# transformers advises everyone without PyTorch to install it; no command needs it
os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
