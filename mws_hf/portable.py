"""Provide the methods that both tokenizer classes share (segment, explain, save, load), and the class `Training`."""

from __future__ import annotations

import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload
from weakref import WeakKeyDictionary

from tokenizers import Tokenizer

from mws_hf.atomic import staged
from mws_hf.errors import MwSError
from mws_hf.text.symbols import check_added_tokens
from mws_hf.text.valid_text import check_texts, each_text
from mws_hf.tokenizer.file import check_directory, check_settings, load_json, read_spec
from mws_hf.tokenizer.layout import ADDED_FILE, CONFIG_FILE, EVIDENCE_FILE, MAP_FILE, RECORD_FILE, STALE, TOKENIZER_FILE
from mws_hf.tokenizer.saving import MODEL_INPUT_NAMES, check_template_names, write_files
from mws_hf.tokenizer.shapes import ROLE_NAMES
from mws_hf.tokenizer.spec import Spec, without_limits
from mws_hf.tokenizer.training_record import merges_digest, record_bytes

if TYPE_CHECKING:
    from mws_hf.corpus.counts import WordCounts
    from mws_hf.learn.evidence.posteriors import Evidence
    from mws_hf.learn.settings import Settings
    from mws_hf.learn.vocabulary import LearnedVocabulary
    from mws_hf.tokenizer.explain import Explanation, WordEvidence
    from mws_hf.tokenizer.opened import Opened

logger = logging.getLogger(__name__)
# transformers 4 warns that a saved tokenizer names another class, the standard one; ours read the whole tokenizer.json
logging.getLogger("transformers.tokenization_utils_base").addFilter(
    lambda record: not str(record.msg).endswith(("from is 'MwSTokenizer'.", "from is 'MwSTokenizerFast'."))
)


@dataclass(frozen=True, eq=False)
class Training:
    """The settings, figures and boundary probabilities of a training.

    A tokenizer that is copied or pickled does not keep the boundary probabilities.

    Attributes:
        settings: settings and figures, as mws_training.json contains them.
        evidence: the boundary probabilities; None if there are none.
    """

    settings: dict[str, Any]
    evidence: Evidence | None = None

    @classmethod
    def of(cls, settings: Settings, learned: LearnedVocabulary, backend: Tokenizer, counts: WordCounts) -> Training:
        """Collect the settings, the boundary probabilities, and figures of the new tokenizer on its training text.

        Args:
            settings: the settings of the training.
            learned: the result of the training.
            backend: the new tokenizer.
            counts: the word counts that it was trained on.

        Returns:
            The settings and figures, as mws_training.json will contain them, and the boundary probabilities.
        """
        from mws_hf.cards.training_figures import training_facts  # imported here, because it imports the encoder

        sizes = {"word_types": learned.n_types, "characters": len(learned.alphabet)}
        facts = training_facts(backend, counts, settings.weights)
        return cls(settings.record | learned.record | sizes | facts, learned.evidence)

    def __reduce__(self) -> tuple[type[Training], tuple[dict[str, Any]]]:
        return Training, (self.settings,)

    def files(self, digest: str) -> dict[str, bytes]:
        """Return the files to save next to a tokenizer: training metadata and, if known, boundary probabilities.

        Args:
            digest: the `merges_digest` of the tokenizer, which shows later that the files belong to it.

        Returns:
            The content of each file, by its name.
        """
        files = {RECORD_FILE: record_bytes(self.settings, digest)}
        if self.evidence is not None:
            from mws_hf.learn.evidence_file import evidence_bytes  # inference must not load the learner

            files[EVIDENCE_FILE] = evidence_bytes(self.evidence, digest)
        return files


_EXPLAINED: WeakKeyDictionary[Any, tuple[int, Opened, WordEvidence | None]] = WeakKeyDictionary()
"""For each tokenizer that explained a word: its number of tokens, the opened backend and the boundary probabilities.

They are not attributes, so that copies and fingerprints of a tokenizer do not contain them. They are computed again if
the backend has changed.
"""
DEFAULTS = {
    **dict.fromkeys(("unk_token", "bos_token", "eos_token", "pad_token")),
    "clean_up_tokenization_spaces": False,
}
"""The values that both classes give to transformers if the user gives none; all of them are saved."""
_CHANGEABLE = {
    "padding_side": "right",
    "truncation_side": "right",
    "split_special_tokens": False,
    "model_input_names": [*MODEL_INPUT_NAMES],
}
"""Attributes that can be changed after loading, which transformers would not save, and their defaults."""


def home_of(tokenizer_file: str | os.PathLike[str] | None) -> str | None:
    """Return the absolute path of the folder that contains a tokenizer.json; None if there is no file."""
    return None if tokenizer_file is None else os.path.abspath(os.path.dirname(tokenizer_file))


class PortableMixin:
    """The methods of both tokenizer classes: `segment`, `explain`, `save_pretrained`, `from_pretrained` and others."""

    vocab_files_names = {"tokenizer_file": TOKENIZER_FILE}
    model_input_names = [*MODEL_INPUT_NAMES]
    is_byte_level: bool
    home: str | None = None
    """Absolute path of the folder that the tokenizer was read from; None if it was not read from a folder."""
    training: Training | None = None
    """Settings and figures of the training; None for a tokenizer that was loaded."""

    @overload
    def segment(self, text: str) -> list[str]: ...
    @overload
    def segment(self, text: list[str]) -> list[list[str]]: ...
    def segment(self, text: str | list[str]) -> list[str] | list[list[str]]:
        """Segment the words of a text as they are segmented inside a sentence, after a space.

        For example, ``tokenizer.segment("читательницами")`` may return ``["чита", "тельн", "иц", "ами"]``. White space
        before a word belongs to its first token (``[..., " до", "ма"]``), so that the tokens spell the text without the
        white space at its ends.

        Args:
            text: a text, or a list of texts.

        Returns:
            The tokens of the text as readable strings; for a list, a list of tokens for each text.

        Raises:
            MwSError: a text is not a str, or contains a lone surrogate.
        """
        from mws_hf.tokenizer.opened import open_tokenizer

        found = open_tokenizer(self).segment(list(each_text([text] if isinstance(text, str) else text)))
        return found[0] if isinstance(text, str) else found

    @overload
    def explain(self, word: str) -> Explanation: ...
    @overload
    def explain(self, word: list[str]) -> list[Explanation]: ...
    def explain(self, word: str | list[str]) -> Explanation | list[Explanation]:
        """Explain why a word is segmented as it is; print the result to read it.

        The result contains the merges that fired. If the folder of the tokenizer has the boundary probabilities of its
        training (`mws train`, and `save_pretrained` after a training, write them), it also contains the probability of
        a morph boundary after each letter, for words that did not occur in training, too.

        Args:
            word: a word, or a list of words.

        Returns:
            The explanation; for a list, a list of explanations.

        Raises:
            MwSError: the word contains an added token, is not a str, or has a lone surrogate; or the file of boundary
                probabilities is damaged.
        """
        words = list(each_text([word] if isinstance(word, str) else word, "words"))
        own: Any = self
        kept = _EXPLAINED.get(self)
        try:
            found = kept[1].explain(words, kept[2]) if kept is not None and kept[0] == len(own) else None
        except MwSError:  # the merges may have changed
            found = None
        if found is None:
            from mws_hf.tokenizer.opened import open_tokenizer

            opened, evidence = open_tokenizer(self.to_backend()), self._kept_evidence()
            _EXPLAINED[self] = len(own), opened, evidence
            found = opened.explain(words, evidence)
        return found[0] if isinstance(word, str) else found

    def _kept_evidence(self) -> WordEvidence | None:
        """Return the boundary probabilities from the training, or from the saved file; None without either."""
        from mws_hf.learn.any_word import AnyWord  # inference must not load the learner
        from mws_hf.learn.evidence_file import read_evidence
        from mws_hf.tokenizer.opened import open_tokenizer

        if self.training is not None and self.training.evidence is not None:
            return AnyWord(self.training.evidence)
        return read_evidence(open_tokenizer(self))

    def to_backend(self) -> Tokenizer:
        """Return a tokenizer of `tokenizers` with the same ids."""
        own: Any = self
        return cast("Tokenizer", own.backend_tokenizer)

    def _with(self, **changed: Any) -> Any:
        """Return a shallow copy with some attributes changed, for one call, so that threads can share the tokenizer."""
        worker = object.__new__(type(self))
        worker.__dict__.update(self.__dict__, **changed)
        return worker

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        """Raise MwSError for tokens that would not be decoded to themselves; transformers adds all tokens with this."""
        contents = [str(token) for token in new_tokens]
        check_texts(contents)
        if self.is_byte_level:
            check_added_tokens(contents)
        parent: Any = super()
        return int(parent._add_tokens(new_tokens, special_tokens=special_tokens))

    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
        push_to_hub: bool = False,
        **kwargs: Any,
    ) -> tuple[str, ...]:
        """Save all files, or change nothing; every library can load the folder with the same ids, without mws_hf.

        Files of an older tokenizer that libraries would also read (`layout.STALE`) are removed; all others stay. After
        a training, a model card is written, too, unless the folder has one that a person edited.

        Special tokens with names of their own (``extra_special_tokens={"image_token": "<image>"}``) and named chat
        templates are written into tokenizer_config.json, where transformers 4.51 to 5.x find them.

        Args:
            save_directory: the folder; it is created if it does not exist.
            legacy_format: an argument of transformers, which has no effect.
            filename_prefix: an argument of transformers, which must be empty, because no library finds files with a
                prefix.
            push_to_hub: whether to upload the files to the Hub, too; the upload starts after everything is saved.
            **kwargs: `save_jinja_files`, and arguments of `push_to_hub` (`repo_id`, `private`, `token`,
                `commit_message`). `repo_id` is by default the name of the folder. `save_jinja_files` is False by
                default if a chat template has a name; with True, transformers 4.51 does not find that template, and
                `mws check` reports it.

        Returns:
            The paths of the saved files, except for the model card.

        Raises:
            MwSError: the folder cannot be written, another run is writing to it, there is a prefix, the name of a
                chat template cannot be the name of a file, a special token would not be decoded to itself, or a part
                of the tokenizer is written in Python. Errors of the upload are raised by transformers.
        """
        from mws_hf.cards.card import stage_card

        if filename_prefix:
            raise MwSError(
                f"filename_prefix={filename_prefix!r} must be empty, because no library finds files with a prefix; "
                "save to a separate folder instead"
            )
        directory = Path(save_directory)
        own: Any = self
        if isinstance(own.chat_template, dict) and own.chat_template.keys() != {"default"}:
            check_template_names(own.chat_template)
            kwargs.setdefault("save_jinja_files", False)
        local = {key: kwargs[key] for key in ("save_jinja_files",) if key in kwargs}
        parent: Any = super()
        with staged(directory, STALE) as stage:
            try:
                files = parent.save_pretrained(str(stage), **local)
            except Exception as error:
                if type(error) is Exception:  # the Rust library raises no other type when it cannot write
                    Spec.of(self.to_backend())  # which raises MwSError for parts that are written in Python
                    raise MwSError(f"{directory}: cannot be written ({error}); choose another folder") from error
                raise
            written = tuple(str(directory / Path(file).relative_to(stage)) for file in files)
            stage_card(self, stage, directory)
        if push_to_hub:
            kwargs.setdefault("repo_id", Path(os.path.abspath(directory)).name)
            with tempfile.TemporaryDirectory() as scratch:
                parent.save_pretrained(scratch, push_to_hub=True, **kwargs)
        return written

    def _upload_modified_files(
        self, working_dir: str | os.PathLike[str], repo_id: str, files_timestamps: dict[str, float], **kwargs: Any
    ) -> Any:
        """Upload as transformers does, in one commit, with a model card unless the Hub has one that a person edited."""
        from mws_hf.cards.card import write_hub_card
        from mws_hf.tokenizer.layout import CARD_FILE

        if not write_hub_card(self, Path(working_dir), repo_id, kwargs.get("revision"), kwargs.get("token")):
            files_timestamps = {**files_timestamps, CARD_FILE: float("inf")}  # as one that has not changed
        parent: Any = super()
        return parent._upload_modified_files(working_dir, repo_id, files_timestamps, **kwargs)

    def create_model_card(self, name: str | None = None, **facts: Any) -> str:
        """Return the text of a model card; after a training, `save_pretrained` and `push_to_hub` write one.

        Args:
            name: the name by which the tokenizer can be loaded, such as ``user/repo``; by default the name by which it
                was loaded.
            **facts: statements for the card: ``data`` (a description of the training text), ``languages`` (their
                codes), ``license``, and ``words`` whose tokens are shown; see `mws_hf.cards.card.card_of`.

        Returns:
            The card in Markdown, with its YAML header.

        Raises:
            MwSError: ``languages`` or ``words`` is not a list of strings.
        """
        from mws_hf.cards.card import card_of

        return card_of(self, name or getattr(self, "name_or_path", "") or "tokenizer", **facts)

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        """Let transformers write its files, then rewrite tokenizer_config.json and write the other files."""
        own, parent = cast("Any", self), cast("Any", super())
        files = parent._save_pretrained(save_directory, file_names, legacy_format, filename_prefix)
        backend = self._with_named_tokens(self.to_backend())
        more = self._kept_files() if self.training is None else self.training.files(merges_digest(backend))
        # limits of earlier calls, which other programs would apply
        if backend.truncation is not None or backend.padding is not None:
            backend = without_limits(backend)
        directory = Path(save_directory)
        # files of transformers 4, whose content is also in tokenizer.json and its config; they would become stale
        for name in (ADDED_FILE, MAP_FILE):
            (directory / name).unlink(missing_ok=True)
        config = load_json(directory / CONFIG_FILE)
        if isinstance(config.get("extra_special_tokens"), dict):  # transformers 4 keeps names that were set to None
            del config["extra_special_tokens"]
        config["model_specific_special_tokens"] = self._tokens_by_name()
        for name, usual in _CHANGEABLE.items():
            if getattr(own, name) != usual:
                config[name] = getattr(own, name)
        written = write_files(directory, backend, config, more)
        return tuple(file for file in dict.fromkeys((*files, *map(str, written))) if Path(file).is_file())

    def _with_named_tokens(self, backend: Tokenizer) -> Tokenizer:
        """Return a backend that contains all special tokens, also those that are only named, as by ``pad_token = ...``.

        transformers adds them when it loads the folder, and other programs read them only from tokenizer.json.
        """
        own: Any = self
        added = {token.content for token in backend.get_added_tokens_decoder().values()}
        roles = {token: role for role, token in own.special_tokens_map.items() if isinstance(token, str)}
        for token in [token for token in own.all_special_tokens if token not in added]:
            role = roles.get(token, "special token")
            if self.is_byte_level:
                check_added_tokens([token], role)
            backend = without_limits(backend)
            backend.add_special_tokens([token])
            logger.warning(
                "%s %r is a special token only in the saved tokenizer (id %d); call add_special_tokens before you save",
                role, token, backend.token_to_id(token),
            )  # fmt: skip
        return backend

    def _get_padding_truncation_strategies(self, *args: Any, **kwargs: Any) -> Any:
        """Raise MwSError if a pad token that is only named is used for padding; transformers raises a TypeError."""
        own, parent = cast("Any", self), cast("Any", super())
        try:
            return parent._get_padding_truncation_strategies(*args, **kwargs)
        except TypeError as error:
            if own.pad_token is None or own.pad_token_id is not None:
                raise
            raise MwSError(
                f"pad_token {own.pad_token!r} is not a token of this tokenizer; add it with "
                f"add_special_tokens({{'pad_token': {own.pad_token!r}}}), and then resize the embeddings of the model"
            ) from error

    def _tokens_by_name(self) -> dict[str, str]:
        """Return the special tokens that have names of their own, such as ``image_token``."""
        named = cast("Any", self).special_tokens_map.items()
        return {name: token for name, token in named if name not in ROLE_NAMES and isinstance(token, str)}

    def _kept_files(self) -> dict[str, bytes]:
        """Return the files of the training from the folder of a loaded tokenizer, if its merges have not changed.

        They contain the labeled words, which `mws evaluate` leaves out of reference segmentations.
        """
        from mws_hf.tokenizer.links import file_inside
        from mws_hf.tokenizer.opened import open_tokenizer

        opened = open_tokenizer(self)
        if opened.folder is None or opened.record is None:
            return {}
        names = [name for name in (RECORD_FILE, EVIDENCE_FILE) if (opened.folder / name).is_file()]
        return {name: file_inside(opened.folder, name).read_bytes() for name in names}

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], *inputs: Any, **kwargs: Any) -> Any:
        """Load a folder or a Hub repository as transformers does, or a pretrained tokenizer of this project.

        A name such as "mws-hu-32k" loads the same tokenizer as `mws_hf.pretrained`. Only names of the form
        ``user/repo``, and a few old ones such as ``gpt2``, are looked up on the Hub. If the Hub does not answer, the
        cache is used.

        Args:
            pretrained_model_name_or_path: a folder, a Hub repository, or the name of a pretrained tokenizer.
            *inputs: arguments of `from_pretrained` in transformers.
            **kwargs: arguments of `from_pretrained` in transformers.

        Returns:
            The tokenizer, an object of this class.

        Raises:
            OSError: there is no such folder or Hub repository, or the Hub cannot be used and the cache does not contain
                the repository. If this is known without a request, the error is a `MissingTokenizerError`, which is
                also an MwSError.
            MwSError: a local folder contains no tokenizer, or a damaged one.
        """
        from mws_hf.tokenizer.places import check_loadable, hub_trouble, local_name, not_in_cache, trouble_in

        parent: Any = super()
        pretrained_model_name_or_path = local_name(pretrained_model_name_or_path)
        check_loadable(pretrained_model_name_or_path, kwargs.get("subfolder"))
        trouble = hub_trouble(pretrained_model_name_or_path, kwargs)
        if trouble or os.path.isfile(pretrained_model_name_or_path):  # transformers takes a file for a repository
            kwargs["local_files_only"] = True
        folder = Path(pretrained_model_name_or_path, kwargs.get("subfolder") or "")
        if os.path.lexists(file := folder / TOKENIZER_FILE):
            read_spec(file)  # some damaged files crash the library
            check_settings(folder)  # transformers would raise unspecific errors for values of a wrong type
        try:
            return parent.from_pretrained(pretrained_model_name_or_path, *inputs, **kwargs)
        except MwSError as error:
            if trouble:
                raise not_in_cache(pretrained_model_name_or_path, trouble, kwargs.get("cache_dir")) from error
            raise
        except Exception as error:  # of any kind; if a file is damaged, the message should name it
            hidden = error.__context__  # some versions replace our error with one about a missing protobuf
            if isinstance(hidden, MwSError) and not trouble:
                raise hidden from None
            check_directory(folder)
            trouble = trouble or trouble_in(error)
            if trouble and isinstance(error, OSError):
                raise not_in_cache(pretrained_model_name_or_path, trouble, kwargs.get("cache_dir")) from error
            raise
