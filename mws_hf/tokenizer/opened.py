"""Open any tokenizer or segmenter as an `Opened`; code that comes with a tokenizer is never run.

The content of a path decides about its kind. A folder or a JSON file is a tokenizer of `tokenizers`. Any other file is
a SentencePiece model, a Morfessor model saved as text, or a table of segmentations; if it is none of these, the
functions raise MwSError.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from mws_hf.errors import MwSError, brief
from mws_hf.text.valid_text import each_text
from mws_hf.tokenizer.file import load_settings, open_file, raise_no_vocabulary, read_spec, roles_in, without_dropout
from mws_hf.tokenizer.layout import CONFIG_FILE, EVIDENCE_FILE, MODEL_FILE, TOKENIZER_FILE, FileKind, is_kind
from mws_hf.tokenizer.segmenting import Isolated, Segmenter
from mws_hf.tokenizer.training_record import kinds_by_rank, kinds_in, read_record

if TYPE_CHECKING:
    from mws_hf.tokenizer.explain import Explanation, Tables, WordEvidence

_MORFESSOR = re.compile(rb"(#[^\n]*\n|\s)*\d+ [^\t\n]*(\n|$)")
_TIKTOKEN = re.compile(rb"[A-Za-z0-9+/]+=* 0\r?\n[A-Za-z0-9+/]+=* 1\r?\n")


@dataclass(frozen=True)
class Opened(Segmenter):
    """A tokenizer or a segmenter of words, with the files that it was read from.

    Attributes:
        place: the folder or file that it was read from; None if it is not known.
        end_token: the token that ends a text, used if there is no tokenizer_config.json.
    """

    place: Path | None = None
    end_token: str | None = None

    @property
    def folder(self) -> Path | None:
        """The folder that contains it; None if it is not known."""
        return self.place.parent if self.place is not None and self.place.is_file() else self.place

    @property
    def of_transformers(self) -> Any:
        """The tokenizer as an object of transformers; of the standard class if its own code was not run."""
        if not isinstance(self.live, Tokenizer):
            return self.live
        from transformers import PreTrainedTokenizerFast  # noqa: PLC0415  (seconds to import, and seldom needed)

        return PreTrainedTokenizerFast.from_pretrained(self.folder, local_files_only=True)

    @property
    def eos_token(self) -> str | None:
        """The token that ends a text, if it is known."""
        if not isinstance(self.live, Tokenizer):
            return getattr(self.live, "eos_token", None)
        config = None if self.folder is None else self.folder / CONFIG_FILE
        return self.end_token if config is None else roles_in(load_settings(config)).get("eos_token", self.end_token)

    @cached_property
    def _whole_record(self) -> dict[str, Any]:
        """The training metadata from memory or from the folder; {} if there are none of these merges."""
        training = getattr(self.live, "training", None)
        if training is not None and hasattr(training, "settings"):
            return {"settings": training.settings}
        folder = self._folder_with_record
        return {} if folder is None else read_record(folder, self.backend)

    @cached_property
    def _folder_with_record(self) -> Path | None:
        """The folder, after its training metadata were downloaded if it is in the Hub's cache."""
        if self.is_segmenter:
            return None
        if getattr(self.live, "home", None) is not None and self.folder is not None:
            from mws_hf.tokenizer.places import fetch_record

            fetch_record(self.folder)  # transformers fetched only the files that its class needs
        return self.folder

    @property
    def record(self) -> dict[str, Any] | None:
        """The settings of its training; None if there are no training metadata of these merges."""
        settings = self._whole_record.get("settings")
        return settings if isinstance(settings, dict) else None

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds of its last merges in order, with the number of merges of each kind; [] if they are not known."""
        return kinds_in(self._whole_record)

    @property
    def evidence_file(self) -> Path | None:
        """The file of boundary probabilities, which `learn.evidence_file.read_evidence` reads; None if absent."""
        file = None if self._folder_with_record is None else self._folder_with_record / EVIDENCE_FILE
        return file if file is not None and file.is_file() else None

    @cached_property
    def made_by(self) -> dict[str, tuple[int, str]]:
        """The rank and kind, such as "morph", of the first merge that makes each token; "" if the kind is unknown."""
        kinds = enumerate(kinds_by_rank(self.kinds, len(self.spec.merges)))
        made = [(left + right, made) for (left, right), made in zip(self.spec.merges, kinds, strict=True)]
        return dict(reversed(made))

    @cached_property
    def _tracing_tables(self) -> Tables:
        """The vocabulary and merges, which are read only once for all explanations."""
        from mws_hf.tokenizer.explain import tracing_tables

        return tracing_tables(self.backend)

    def explain(self, words: Sequence[str], evidence: WordEvidence | None = None) -> list[Explanation]:
        """Explain why words are segmented as they are inside a sentence.

        Args:
            words: the words, without the space before them.
            evidence: the boundary probabilities of its training, such as `learn.evidence_file.read_evidence` reads.

        Returns:
            The explanation of each word.

        Raises:
            MwSError: the model does not merge, or a word contains an added token.
        """
        from mws_hf.tokenizer.explain import Explanation, trace

        traced = [trace(self.backend, f" {word}", self._tracing_tables) for word in words]
        return Explanation.of_words(traced, evidence)


def open_tokenizer(source: Any, *, by_class: bool = False, name: str | None = None) -> Opened:
    """Open a tokenizer or a segmenter of words.

    Args:
        source: one of these:

            - a folder with a tokenizer.json, or with only a SentencePiece model;
            - a tokenizer.json, a SentencePiece model, or a Morfessor model saved as text (``morfessor-train -S``);
            - a file in a format of `mws_hf.corpus.segmentations`;
            - the name of a pretrained tokenizer, or of a repository on the Hub;
            - an object of `tokenizers` or transformers;
            - a function that returns the segments of a word.
        by_class: use the class that tokenizer_config.json names, which may segment differently from tokenizer.json. A
            class whose code is in the folder is never run.
        name: its name in messages and tables; by default the source as it was given, or the type of an object.

    Returns:
        The tokenizer or segmenter; `source` itself if it is an `Opened`.

    Raises:
        MwSError: there is no such tokenizer, the source is not a tokenizer, or its files are damaged.
    """
    if isinstance(source, Opened):
        return source
    if isinstance(source, (str, os.PathLike)):
        from mws_hf.tokenizer.places import tokenizer_place  # here, because objects in memory do not need it

        place = tokenizer_place(source)
        called = name or os.fspath(source) or "."
        return _open_directory(place, called, by_class) if place.is_dir() else _open_file(place, called)
    called = name or type(source).__name__
    if isinstance(source, Tokenizer):
        if not source.get_vocab_size():
            raise_no_vocabulary(f"a {called}")
        return Opened(called, live=source)
    if hasattr(source, "all_special_tokens") and len(source) <= len(source.all_special_tokens):
        raise_no_vocabulary(f"a {called}")
    if hasattr(source, "backend_tokenizer") or hasattr(source, "convert_tokens_to_ids"):
        home = getattr(source, "home", None) or getattr(source, "name_or_path", "")
        return Opened(called, source, place=Path(home) if home and Path(home).is_dir() else None)
    if callable(source):
        return Opened(called, segment_function=lambda words: [source(word) for word in words])
    raise MwSError(f"{called} is not a type of tokenizer; give a folder, a tokenizer.json or a tokenizer object")


def segment_words(source: Any, words: Sequence[str], *, isolated: Isolated = "space") -> list[tuple[str, ...]]:
    """Segment each word with any tokenizer or segmenter that `open_tokenizer` opens; see `Opened.segment_words`.

    Args:
        source: the tokenizer or segmenter, which is opened by its class.
        words: the words.
        isolated: "space" segments a word as after a space, "none" as at the beginning of a text.

    Returns:
        The pieces of each word, which spell it.

    Raises:
        MwSError: a word is not a str or has a lone surrogate, or `open_tokenizer` or `Opened.segment_words` raises it.
    """
    return open_tokenizer(source, by_class=True).segment_words(list(each_text(words, "words")), isolated)


def _open_directory(place: Path, name: str, by_class: bool) -> Opened:
    """Open the tokenizer of a folder; raise MwSError if it has none, or a damaged one."""
    file, config = place / TOKENIZER_FILE, place / CONFIG_FILE
    if os.path.lexists(file):  # a broken link, too, so that the error names it
        if not by_class or not os.path.lexists(config) or "auto_map" in load_settings(config):
            return Opened(name, open_file(file), place=place)
        read_spec(file)  # whatever class reads it
    elif not config.is_file() and not (place / MODEL_FILE).is_file():
        found = [path for path in sorted(place.glob("*.model")) if path.name != "tiktoken.model"]
        if len(found) == 1:
            return _open_file(found[0], name)
        raise_no_vocabulary(name, place)
    from transformers import AutoTokenizer  # noqa: PLC0415  (seconds to import, and seldom needed)

    try:
        tokenizer = AutoTokenizer.from_pretrained(os.fspath(place), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # it raises whatever its parts raise
        reason = f"{name}: AutoTokenizer cannot open it ({brief(error)})"
        if file.is_file():
            open_file(file)  # which may say more
            settings = " or ".join(each for each in (CONFIG_FILE, MODEL_FILE) if (place / each).is_file())
            raise MwSError(f"{reason}; repair {settings}, or give only the file: {file}") from error
        only = next((f", or give only the file: {path}" for path in sorted(place.glob("*.model"))), "")
        raise MwSError(f"{reason}; it needs a tokenizer.json{only}") from error
    if hasattr(tokenizer, "backend_tokenizer"):
        without_dropout(tokenizer.backend_tokenizer, file)
    needed = getattr(type(tokenizer), "vocab_files_names", {}).values()
    absent = needed and not any((place / each).is_file() for each in needed)
    if absent or set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise_no_vocabulary(name, place)  # without a vocabulary, transformers makes a tokenizer of special tokens only
    return Opened(name, tokenizer, place=place)


def _open_file(place: Path, name: str) -> Opened:
    """Open a file by its first bytes and its name; raise MwSError if it is of no known kind."""
    from mws_hf.tokenizer import foreign

    head = foreign.first_bytes(place)
    if head.startswith(foreign.PICKLES):
        raise MwSError(
            f"{place}: is a pickle, and opening a pickle can run code; save the Morfessor model as text: morfessor -l "
            f"{place} -S FILE"
        )
    named_sp = place.suffix in (".model", ".spm")
    if _TIKTOKEN.match(head) or (is_kind(place.name, FileKind.FOREIGN) and not named_sp):
        raise_no_vocabulary(str(place), place)
    if place.suffix == ".json" or head.lstrip().startswith(b"{"):
        return Opened(name, open_file(place), place=place)
    if _MORFESSOR.match(head):
        return Opened(name, place=place, segment_function=foreign.morfessor(place))
    if named_sp or (head.startswith(b"\n") and b"\0" in head):
        backend = foreign.sentence_piece(place)
        end_token = foreign.END if backend.token_to_id(foreign.END) is not None else None
        return Opened(name, backend, place=place, end_token=end_token)
    return Opened(name, place=place, segment_function=foreign.segmentations(place))
