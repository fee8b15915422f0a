"""A trained tokenizer as one value: the backend, the roles of special tokens, and what is known of its training.

Training makes it (`MwSTrainer.trained`), `save` writes it as a directory, and `MwSTokenizerFast` wraps it for those who
go on in Python. No transformers is needed here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mws_hf.portable import save_backend
from mws_hf.stock import Tokenizer
from mws_hf.training_record import Training


@dataclass(frozen=True)
class TrainedTokenizer:
    """A tokenizer that was just learnt.

    Attributes:
        backend: of the `tokenizers` library.
        roles: which special token is what: ``{"eos_token": "<|endoftext|>", ...}``.
        training: settings, figures and evidence.
    """

    backend: Tokenizer
    roles: Mapping[str, Any]
    training: Training

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the directory that `MwSTokenizerFast.save_pretrained` writes, but for its card, or change nothing.

        Raises:
            MwSError: the directory cannot be written, or another run is writing it.
        """
        save_backend(directory, self.backend, self.roles, self.training.files(self.backend))
