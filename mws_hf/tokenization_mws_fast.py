"""Provide the fast tokenizer class for transformers (`MwSTokenizerFast`), and functions that load one in other ways."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

from mws_hf.errors import MissingTokenizerError, MwSError
from mws_hf.portable import DEFAULTS, PortableMixin, Training, home_of
from mws_hf.text.symbols import BYTE_TOKENS, Alphabet
from mws_hf.text.valid_text import check_texts
from mws_hf.tokenizer.backend import base_vocab, build_backend, is_byte_level, pattern_of, tokenizer_tables
from mws_hf.tokenizer.file import raise_no_vocabulary, without_dropout
from mws_hf.tokenizer.leading_space import is_put_by_normalizer, settle_leading_space
from mws_hf.tokenizer.spec import PARTS, Spec, bpe_model, capitals_of, set_part, share_parts, without_limits

_SPACE_FIRST = pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="always", split=False)


class WorkingCopies:
    """Copies of one tokenizer, each used by one call at a time, so that calls do not change the tokenizer itself.

    A tokenizer that is pickled or copied begins without copies.

    Attributes:
        handed_out: whether other code got the backend since the added tokens were last compared.
    """

    def __init__(self) -> None:
        self._free: list[tuple[Tokenizer, Any]] = []
        self._added: dict[int, AddedToken] = {}
        self._changes = self._next_id = 0
        self.handed_out = True

    def __reduce__(self) -> tuple[type[WorkingCopies], tuple[()]]:
        return WorkingCopies, ()

    @contextlib.contextmanager
    def lend(self, backend: Tokenizer) -> Iterator[Tokenizer]:
        """Lend a copy that has the current model, parts and added tokens of `backend`."""
        state = self._state(backend)
        try:
            lent, known = self._free.pop()
        except IndexError:  # all copies are in use
            lent, known = backend, None
        if known is None or known != state:
            lent = without_limits(backend)
        else:
            lent.model = backend.model
            share_parts(lent, backend, PARTS[1:])  # setting a normalizer takes long if there are many added tokens
        try:
            yield lent
        finally:
            self._free.append((lent, state))

    def _state(self, backend: Tokenizer) -> Any:
        """Return the part of the state that cannot be assigned to a copy; None if it cannot be compared."""
        try:
            normalizer = backend.normalizer.__getstate__() if backend.normalizer is not None else None
        except Exception:  # a normalizer written in Python; the library raises only Exception
            return None
        # comparing thousands of added tokens takes longer than encoding a text, so first check whether a new id is used
        if self.handed_out or backend.id_to_token(self._next_id) is not None:
            self.handed_out, added = False, backend.get_added_tokens_decoder()
            self._changes += added != self._added
            self._added, self._next_id = added, max([backend.get_vocab_size(False) - 1, *added]) + 1
        return normalizer, [getattr(backend, part) is None for part in PARTS], self._changes


class MwSTokenizerFast(PortableMixin, PreTrainedTokenizerFast):
    """The fast tokenizer class of MwS: a `transformers.PreTrainedTokenizerFast` that also retrains with MwS.

    Offsets, word ids, padding, truncation, chat templates, added tokens and pickling work as in the standard class.
    These points differ:

    * `save_pretrained` writes all files or none, and every library loads the folder without mws_hf.
    * `train_new_from_iterator` learns MwS merges.
    * A call never changes the tokenizer. Threads can share one, and the truncation or padding of a call is not saved.
    * Words that are given one by one (`is_split_into_words=True`, for example to label words) are segmented as they are
      after a space in running text, including the first word. The standard class does so only if the tokenizer was
      saved with `add_prefix_space=True`. `word_ids()` and offsets refer to the given words.
    * A BPE-dropout in a loaded tokenizer.json is not used, and a warning says so, as in `MwSTokenizer`.
    * An error for a lone surrogate contains its position.

    Args:
        vocab: the id of each token (see `build_backend`); by default only the byte tokens.
        merges: (left, right) pairs in the order of their ranks.
        **kwargs: arguments of `transformers.PreTrainedTokenizerFast`, and these:

            * Special tokens such as `eos_token` are added to the vocabulary if they are not in it. The id of
              `unk_token` is never returned for a text, because unknown characters become bytes.
            * `clean_up_tokenization_spaces=True` removes spaces before punctuation in decoded text. Recent versions of
              transformers ignore it in this class, with a warning.
            * `tokenizer_object` (of `tokenizers`) or `tokenizer_file` (the path of a tokenizer.json) is used instead of
              `vocab`, `merges`, `pattern`, `normalization` and `capitals`.
            * `pattern`, `normalization` and `capitals` are described at `build_backend`.
            * `add_prefix_space` puts a space before the text, and after each added token, unless there is one already.
              The setting is saved in tokenizer.json, and decoded text contains that space. A tokenizer that itself puts
              a word mark before the text, such as the tokenizer of Llama 2, is not changed.

    Raises:
        MwSError: the vocabulary and merges are inconsistent, another argument of `build_backend` is not valid, there is
            no such file, or a special token would not be decoded to itself.

    >>> merges = [("о", "н"), (" ", "он")]
    >>> tokenizer = MwSTokenizerFast(vocab=base_vocab((), " но", merges), merges=merges)
    >>> tokenizer.tokenize("но он")
    ['н', 'о', ' он']
    """

    slow_tokenizer_class = None
    model = models.BPE

    # tokenizer_object and tokenizer_file stay in **kwargs, because transformers copies named parameters to init_kwargs
    def __init__(
        self,
        vocab: dict[str, int] | None = None,
        merges: Iterable[tuple[str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        options = {key: kwargs.pop(key) for key in ("pattern", "normalization", "capitals") if key in kwargs}
        kwargs.pop("fix_mistral_regex", None)  # there is nothing to repair, and 5.0 raises an error for it
        if (file := kwargs.get("tokenizer_file")) is not None:
            kwargs["tokenizer_file"] = file = os.fspath(file)  # transformers takes only a string
        if kwargs.get("tokenizer_object") is None and file is not None and not os.path.isfile(file):
            raise MissingTokenizerError(f"{file}: no such file; give the path of a tokenizer.json")
        if kwargs.get("tokenizer_object") is None and file is None:
            if vocab is None:
                raise_no_vocabulary(kwargs.get("name_or_path"))
            kwargs["tokenizer_object"] = build_backend(vocab or base_vocab(), merges or (), **options)
        self._copies, self.home = WorkingCopies(), home_of(file)
        super().__init__(**DEFAULTS | kwargs)
        if file is not None:
            without_dropout(self._tokenizer, file)
        self.add_prefix_space = settle_leading_space(self._tokenizer, kwargs.get("add_prefix_space"))

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The tokenizer of the library `tokenizers`; you may change it."""
        self._copies.handed_out = True
        return self._tokenizer

    @property
    def is_byte_level(self) -> bool:  # type: ignore[override]
        """Whether tokens are written in the byte alphabet, which `convert_tokens_to_string` converts to text."""
        return is_byte_level(self._tokenizer)

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Keep all of tokenizer.json, because transformers 5 would drop its pattern and normalizer."""
        file = kwargs.get("tokenizer_file")
        if file is not None and os.path.isfile(file):
            return kwargs
        native: dict[str, Any] = super().convert_to_native_format(trust_remote_code=trust_remote_code, **kwargs)
        return native

    @classmethod
    def _patch_mistral_regex(cls, tokenizer: Any, *_: Any, **__: Any) -> Any:
        """Keep the split pattern, which transformers would report as incorrect, or replace, next to some models."""
        return tokenizer

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        self._copies.handed_out = True
        return super()._add_tokens(new_tokens, special_tokens)

    def _encode_plus(self, *args: Any, **kwargs: Any) -> Any:
        return self._encode_on_copy("_encode_plus", *args, **kwargs)

    def _batch_encode_plus(self, *args: Any, **kwargs: Any) -> Any:
        return self._encode_on_copy("_batch_encode_plus", *args, **kwargs)

    def _encode_on_copy(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Encode with a method of transformers, which sets truncation, padding, etc. only on a working copy.

        Words that are given one by one are segmented as after a space. An error for a lone surrogate contains its
        position.
        """
        own = self._tokenizer
        try:
            if not _sets_backend(own, kwargs):
                return getattr(super(), method)(*args, **kwargs)
            words_given = bool(kwargs.get("is_split_into_words")) and not settle_leading_space(own, None)
            # a copy that is lent again keeps its normalizer, which puts the space in some tokenizers
            is_in_normalizer = words_given and is_put_by_normalizer(own)
            with contextlib.nullcontext(without_limits(own)) if is_in_normalizer else self._copies.lend(own) as backend:
                if is_in_normalizer:
                    settle_leading_space(backend, True)
                elif words_given:
                    steps = [] if backend.pre_tokenizer is None else [backend.pre_tokenizer]
                    backend.pre_tokenizer = pre_tokenizers.Sequence([_SPACE_FIRST, *steps])
                return getattr(super(MwSTokenizerFast, self._with(_tokenizer=backend)), method)(*args, **kwargs)
        except TypeError:
            check_texts((*args, *kwargs.values()))
            raise

    def train_new_from_iterator(
        self,
        text_iterator: Iterable[str] | Iterable[list[str]],
        vocab_size: int,
        length: int | None = None,
        new_special_tokens: list[str | AddedToken] | None = None,
        special_tokens_map: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> MwSTokenizerFast:
        """Train a new MwS tokenizer on other text, with the settings of this one.

        The new tokenizer keeps the special and other added tokens, chat template, alphabet, split pattern, normalizer,
        post-processor, sides of padding and truncation, model_max_length and model_input_names. It learns with the
        default settings of `mws_hf.MwSTrainer`, unless you give others.

        Args:
            text_iterator: strings, batches (lists) of strings, or a dataset, table or records with a column ``text``.
            vocab_size: number of tokens, with special and byte tokens, but without ordinary added tokens, which get the
                ids after them. If it is too small, a warning is logged and no merges are learned.
            length: number of texts, which only the progress bar uses.
            new_special_tokens: special tokens to add.
            special_tokens_map: new names of special tokens, by their old names.
            **kwargs: arguments of `mws_hf.MwSTrainer` (`criterion`, `composition`, `min_frequency`, ...), except
                `pattern`, `normalization`, `capitals`, `alphabet` and `special_tokens`.

        Returns:
            The new tokenizer.

        Raises:
            MwSError: one of these is true:

                * An item is not text, or there is no word to learn from.
                * An argument is unknown, out of range, or one of those that cannot be changed.
                * The pre-tokenizer is not a split by a pattern.
                * The post-processor adds a special token that the new tokenizer lacks.
        """
        from mws_hf.corpus.counting import count_documents  # inference must not load the learner
        from mws_hf.learn.setting_rules import COUNT, check_names, check_range
        from mws_hf.learn.settings import SETTINGS, Settings, read_settings
        from mws_hf.learn.vocabulary import learn

        check_range("vocab_size", vocab_size, COUNT)
        check_names("train_new_from_iterator", kwargs, SETTINGS)
        if not isinstance(new_special_tokens, list | tuple | None):
            raise MwSError(f"new_special_tokens={new_special_tokens!r} is not a list; give one, such as ['<|user|>']")
        new = self._retrained_on_nothing(vocab_size, new_special_tokens, special_tokens_map)
        special = [token.content for _, token in sorted(new.backend_tokenizer.get_added_tokens_decoder().items())]
        kind: Alphabet = "bytes" if is_byte_level(self.backend_tokenizer) else "characters"
        if kwargs.pop("alphabet", kind) != kind:
            raise MwSError(
                f"alphabet cannot be changed, because retraining keeps the alphabet of this tokenizer ({kind!r}); use "
                "MwSTrainer"
            )
        fixed = ("pattern", "digits", "normalization", "capitals", "special_tokens")
        if given := [name for name in fixed if name in kwargs]:
            raise MwSError(
                f"{given[0]} cannot be changed, because retraining keeps the value of this tokenizer; use MwSTrainer"
            )
        bare = Tokenizer.from_str(self.backend_tokenizer.to_str())
        settle_leading_space(bare, False)
        texts, pattern = _normalized(text_iterator, bare), pattern_of(bare)
        least = len(special) + len(BYTE_TOKENS)  # a smaller size learns no merges, as in classes of transformers
        size = max(vocab_size, least) if vocab_size > 0 else vocab_size
        kept = {"alphabet": kind, "pattern": pattern, "capitals": "marker" if capitals_of(bare) else None}
        settings = read_settings(Settings, **kwargs, **kept, vocab_size=size, special_tokens=special)
        counted = count_documents(
            texts, pattern=pattern, special_tokens=special, length=length, show_progress=settings.show_progress
        )
        learned = learn(counted, settings)
        vocab, merges = tokenizer_tables(special, learned.alphabet, learned.merges, kind)
        new._tokenizer = _with_model(new.backend_tokenizer, bpe_model(vocab, merges, in_bytes=kind == "bytes"))
        self._restore_settings(new, special_tokens_map or {})
        plain = without_limits(new.backend_tokenizer)
        settle_leading_space(plain, False)
        new.training = Training.of(settings, learned, plain, counted)
        return new

    def _retrained_on_nothing(
        self, vocab_size: int, new_special_tokens: list[Any] | None, special_tokens_map: dict[str, str] | None
    ) -> MwSTokenizerFast:
        """Let transformers retrain without text, which sets special tokens, post-processor and init arguments.

        transformers would add the tokens of the file again, and those with a new name again by their old name.
        """
        init = {key: value for key, value in self.init_kwargs.items() if key != "added_tokens_decoder"}
        state = {**vars(self), "init_kwargs": init}
        holders = ("init_kwargs", "_special_tokens_map", "_extra_special_tokens")  # the last one is in transformers 5
        worker = self._with(
            **{name: _renamed(state[name], special_tokens_map or {}) for name in holders if name in state}
        )
        new: MwSTokenizerFast = super(MwSTokenizerFast, worker).train_new_from_iterator(
            iter(()),
            vocab_size,
            length=0,
            new_special_tokens=new_special_tokens,
            special_tokens_map=special_tokens_map,
            show_progress=False,
        )
        return new

    def _restore_settings(self, new: MwSTokenizerFast, names: Mapping[str, str]) -> None:
        """Restore attributes, ordinary added tokens and ids that transformers loses in retraining."""
        for kept in ("chat_template", "model_max_length", "padding_side", "truncation_side", "model_input_names"):
            setattr(new, kept, copy.deepcopy(getattr(self, kept)))
        plain = [token for token in self.added_tokens_decoder.values() if not token.special]
        new.add_tokens(plain)
        if (processor := Spec.of(self.backend_tokenizer).raw["post_processor"]) is not None:
            from mws_hf.surgery.ids import renumbered_processor  # imported here, because only retraining needs it

            placed = renumbered_processor(processor, lambda token, _: _known_id(new.backend_tokenizer, token), names)
            set_part(new.backend_tokenizer, "post_processor", placed)
        padding = new.backend_tokenizer.padding
        if padding is not None:
            padding["pad_id"] = new.backend_tokenizer.token_to_id(padding["pad_token"])
            new.backend_tokenizer.enable_padding(**padding)


def import_notebook(
    source: str | os.PathLike[str] | tuple[str | os.PathLike[str], str | os.PathLike[str]],
    special_tokens: Iterable[str] | None = None,
    pattern: str | None = None,
    repair: bool = False,
) -> MwSTokenizerFast:
    """Read the files of the original notebook as a tokenizer with the same ids, so that embeddings keep their meaning.

    Characters that merges use but that have no id, and the 256 byte tokens, get new ids after the old ones. Ids without
    a token get ``<|unused0|>``, ``<|unused1|>``, etc. Only one thing changes: a special token that is written in a text
    is encoded as that token (``split_special_tokens=True`` switches this off).

    Args:
        source: a folder, or the paths of vocabulary.json and merges.json.
        special_tokens: the special tokens; by default the tokens that no merge makes, such as ``[EOS]``.
        pattern: the split pattern of the training; by default the pattern that `export_notebook` wrote into
            merges.json or, if it wrote no pattern, GPT-4's pattern, which the notebook uses.
        repair: whether to keep only the last of repeated merges, as the notebook's encoder did. If it is False,
            repeated merges are an error.

    Returns:
        The tokenizer.

    Raises:
        MwSError: one of these is true:

            * A file is missing, damaged or malformed.
            * Two tokens have the same id.
            * A merge is repeated, or uses a part that no earlier merge makes.
            * A special token is not in the vocabulary, or a merge makes it.
    """
    from mws_hf.tokenizer.notebook import read_notebook

    backend, roles = read_notebook(source, special_tokens, pattern, repair)
    return MwSTokenizerFast(tokenizer_object=backend, **roles)


def pretrained(name: str | os.PathLike[str]) -> MwSTokenizerFast:
    """Load a pretrained tokenizer of this project by its name.

    Args:
        name: the name, such as "mws-ru-32k"; `mws pretrained` lists all.

    Returns:
        The tokenizer.

    Raises:
        MwSError: there is no such tokenizer, or the installation lacks its files.
    """
    from mws_hf.tokenizer.places import pretrained_folder

    loaded: MwSTokenizerFast = MwSTokenizerFast.from_pretrained(pretrained_folder(name))
    return loaded


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value with the special tokens in it renamed; lists and dicts are copied."""
    if isinstance(value, dict):
        return {key: _renamed(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each, names) for each in value]
    if isinstance(value, AddedToken) and value.content in names:
        return AddedToken(**{**value.__getstate__(), "content": names[value.content]})
    return names.get(value, value) if isinstance(value, str) else value


def _with_model(backend: Tokenizer, model: Mapping[str, Any]) -> Tokenizer:
    """Return a tokenizer with another model, in the form of tokenizer.json, that contains all its added tokens.

    Assigning a model would leave the added tokens with the ids that they have under the old model.
    """
    spec = Spec.of(backend).raw
    added = [{**token, "id": model["vocab"][token["content"]]} for token in spec["added_tokens"]]
    changed = Spec({**spec, "model": model, "added_tokens": added}).open()
    changed.encode_special_tokens = backend.encode_special_tokens
    return changed


def _known_id(backend: Tokenizer, token: str) -> int:
    """Return the id of a special token that a post-processor names; raise MwSError if it is not a token."""
    number = backend.token_to_id(token)
    if number is None:
        raise MwSError(
            f"the post-processor adds {token!r}, which would not be a token; keep it among the special tokens"
        )
    return number


def _sets_backend(backend: Tokenizer, options: Mapping[str, Any]) -> bool:
    """Return whether transformers would change a backend for a call with these options."""
    special = options.get("split_special_tokens")
    return (
        bool(options.get("is_split_into_words"))
        or options.get("padding_strategy", PaddingStrategy.DO_NOT_PAD) != PaddingStrategy.DO_NOT_PAD
        or options.get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE) != TruncationStrategy.DO_NOT_TRUNCATE
        or backend.padding is not None
        or backend.truncation is not None
        or (special is not None and special != backend.encode_special_tokens)
    )


def _normalized(texts: Any, backend: Tokenizer) -> Iterator[str]:
    """Yield each text of any value that `iterate_documents` reads, after the normalizer has changed it."""
    from mws_hf.corpus.columns import iterate_documents  # inference must not load pyarrow

    for text in iterate_documents(texts):
        check_texts(text)
        yield text if backend.normalizer is None else backend.normalizer.normalize_str(text)
