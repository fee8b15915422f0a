"""A trained tokenizer as one value: the backend, the roles of special tokens, and the facts of its training.

Training makes it (`MwSTrainer.trained`), `save` writes it as a directory, and `MwSTokenizerFast` wraps it for users of
transformers. transformers is not needed here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mws_hf.tokenizer.explain import Held
from mws_hf.tokenizer.portable import save_backend
from mws_hf.tokenizer.stock import Tokenizer
from mws_hf.tokenizer.training_record import EVIDENCE_FILE, FILE, record_bytes

if TYPE_CHECKING:
    from mws_hf.learn.vocabulary import LearnedVocabulary


@dataclass(frozen=True)
class Training:
    """The facts of a training that are saved beside its tokenizer.

    Attributes:
        settings: settings and figures of the training, as a record keeps them.
        evidence: holds the boundary evidence (`learn.contextual.Evidence`), or None where there is none; a copied or
            pickled tokenizer leaves it behind.
    """

    settings: dict[str, Any]
    evidence: Held

    @classmethod
    def of(cls, learned: LearnedVocabulary, record: dict[str, Any]) -> Training:
        """Put together settings, figures and evidence of a training.

        Args:
            learned: its result: merges of each kind, labels, sizes of word list and alphabet, evidence.
            record: its settings, from `learn.settings.to_record`.
        """
        sizes = {"word_types": learned.n_types, "characters": len(learned.alphabet)}
        return cls(record | learned.record | sizes, Held(learned.evidence))

    def files(self, backend: Tokenizer) -> dict[str, bytes]:
        """Return the files to save beside the tokenizer, by name: the record and, where there is any, the evidence."""
        files = {FILE: record_bytes(self.settings, backend)}
        if self.evidence.value is not None:
            from mws_hf.learn.any_word import evidence_bytes  # inference must not load the learner

            files[EVIDENCE_FILE] = evidence_bytes(self.evidence.value, backend)
        return files


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
