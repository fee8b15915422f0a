"""`MwSTokenizerFast`: the tokenizer class on the Rust backend, the one to use; it holds no learning code."""

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

from mws_hf.errors import MwSError
from mws_hf.portable import DEFAULTS, PortableMixin, Training, home_of
from mws_hf.text.symbols import BYTE_TOKENS, Alphabet
from mws_hf.tokenizer.backend import (
    base_vocab,
    build_backend,
    check_texts,
    is_byte_level,
    pattern_of,
    tokenizer_tables,
)
from mws_hf.tokenizer.file import refuse_empty, without_dropout
from mws_hf.tokenizer.spec import PARTS, Spec, bpe_model, set_part, settle_leading_space, share_parts, without_limits

_SPACE_FIRST = pre_tokenizers.Metaspace(replacement=" ", prepend_scheme="always", split=False)


class WorkingCopies:
    """Copies of one tokenizer, each lent to one call at a time; a pickled or copied tokenizer makes its own.

    `handed_out`: whether somebody was given the backend since the added tokens were last compared, one by one.
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
        """Lend a copy that has the present model, parts and added tokens of `backend`."""
        state = self._state(backend)
        try:
            copy, known = self._free.pop()
        except IndexError:  # as many calls at once as there are copies
            copy, known = backend, None
        if known is None or known != state:
            copy = without_limits(backend)
        else:
            copy.model = backend.model
            share_parts(copy, backend, PARTS[1:])  # setting a normalizer takes long where many tokens are added
        try:
            yield copy
        finally:
            self._free.append((copy, state))

    def _state(self, backend: Tokenizer) -> Any:
        """Return what a copy cannot take over by assignment; None where that cannot be compared."""
        try:
            normalizer = backend.normalizer.__getstate__() if backend.normalizer is not None else None
        except Exception:  # one written in Python; the bindings raise nothing narrower
            return None
        # thousands of added tokens take longer to compare than a text to encode; the next one would get the next id
        if self.handed_out or backend.id_to_token(self._next_id) is not None:
            self.handed_out, added = False, backend.get_added_tokens_decoder()
            self._changes += added != self._added
            self._added, self._next_id = added, max([backend.get_vocab_size(False) - 1, *added]) + 1
        return normalizer, [getattr(backend, part) is None for part in PARTS], self._changes


class MwSTokenizerFast(PortableMixin, PreTrainedTokenizerFast):
    """A stock fast tokenizer that saves portably and retrains as MwS.

    Everything of `transformers.PreTrainedTokenizerFast` works: offsets, word ids, padding, truncation, chat templates,
    added tokens, pickling. Unlike the stock class it names a lone surrogate's position, saves atomically, and learns
    MwS merges in `train_new_from_iterator`. No call changes the tokenizer that it is called on: threads may share one,
    and what a call asks for (truncation, padding) is never saved. Words given one by one (`is_split_into_words=True`,
    as for labels of words) are cut as after a space in running text, the first one too, as RoBERTa's are; `word_ids()`
    and offsets are those of the words given. The stock class does so only where `add_prefix_space=True` was saved.
    A BPE-dropout that a loaded tokenizer.json contains is left out with a warning, as in `MwSTokenizer`.

    Args:
        vocab: token -> id (see `build_backend`); the byte tokens alone when absent.
        merges: (left, right) pairs in rank order.
        **kwargs: those of `transformers.PreTrainedTokenizerFast`. Special tokens are added to the vocabulary when they
            are not in it; `unk_token` is never produced, thanks to byte fallback. `clean_up_tokenization_spaces=True`
            would drop spaces before punctuation when decoding. `tokenizer_object` or `tokenizer_file` replace `vocab`
            and `merges`; `pattern` and `normalization` go to `build_backend`; `add_prefix_space` puts a space before
            the text and after each added token where none stands (see `leading_space`), is saved in tokenizer.json,
            and decoding gives that space back.

    Raises:
        MwSError: the vocabulary and merges are inconsistent.

    >>> merges = [("о", "н"), (" ", "он")]
    >>> tokenizer = MwSTokenizerFast(vocab=base_vocab((), " но", merges), merges=merges)
    >>> tokenizer.tokenize("но он")
    ['н', 'о', ' он']
    """

    slow_tokenizer_class = None
    model = models.BPE

    # tokenizer_object and tokenizer_file stay in **kwargs: transformers wants every named parameter in init_kwargs
    def __init__(
        self,
        vocab: dict[str, int] | None = None,
        merges: Iterable[tuple[str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        options = {key: kwargs.pop(key) for key in ("pattern", "normalization") if key in kwargs}
        kwargs.pop("fix_mistral_regex", None)  # there is nothing to mend, and 5.0 stops at it
        if kwargs.get("tokenizer_object") is None and kwargs.get("tokenizer_file") is None:
            if vocab is None:
                refuse_empty(kwargs.get("name_or_path"))
            kwargs["tokenizer_object"] = build_backend(vocab or base_vocab(), merges or (), **options)
        self._copies, self.home = WorkingCopies(), home_of(kwargs.get("tokenizer_file"))
        super().__init__(**DEFAULTS | kwargs)
        if file := kwargs.get("tokenizer_file"):
            without_dropout(self._tokenizer, file)
        self.add_prefix_space = settle_leading_space(self._tokenizer, kwargs.get("add_prefix_space"))

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The tokenizer of `tokenizers`, which whoever has it may change."""
        self._copies.handed_out = True
        return self._tokenizer

    @property
    def is_byte_level(self) -> bool:  # type: ignore[override]
        """Whether tokens are written in the byte alphabet; `convert_tokens_to_string` makes text of them."""
        return is_byte_level(self._tokenizer)

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Keep tokenizer.json whole: v5 would take vocabulary and merges from it and drop pattern and normalizer."""
        file = kwargs.get("tokenizer_file")
        if file is not None and os.path.isfile(file):
            return kwargs
        native: dict[str, Any] = super().convert_to_native_format(trust_remote_code=trust_remote_code, **kwargs)
        return native

    @classmethod
    def _patch_mistral_regex(cls, tokenizer: Any, *_: Any, **__: Any) -> Any:
        """Keep the split pattern: transformers would call it incorrect beside some models, or put Mistral's there."""
        return tokenizer

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        self._copies.handed_out = True
        return super()._add_tokens(new_tokens, special_tokens)

    def _encode_plus(self, *args: Any, **kwargs: Any) -> Any:
        return self._at_work("_encode_plus", *args, **kwargs)

    def _batch_encode_plus(self, *args: Any, **kwargs: Any) -> Any:
        return self._at_work("_batch_encode_plus", *args, **kwargs)

    def _at_work(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Encode with a method of transformers, which sets truncation, padding and more on a working copy alone.

        Words given one by one are cut as after a space; a lone surrogate is reported with its place.
        """
        own = self._tokenizer
        try:
            if not _sets_backend(own, kwargs):
                return getattr(super(), method)(*args, **kwargs)
            with self._copies.lend(own) as backend:
                if kwargs.get("is_split_into_words") and not settle_leading_space(backend, None):
                    then = [] if backend.pre_tokenizer is None else [backend.pre_tokenizer]
                    backend.pre_tokenizer = pre_tokenizers.Sequence([_SPACE_FIRST, *then])
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
        """Learn a new MwS tokenizer with this one's settings: special tokens, template, pattern, normalizer, padding.

        Its alphabet stays too, characters or bytes.

        Args:
            text_iterator: strings or batches of strings.
            vocab_size: number of tokens wanted, special and byte tokens included; too small a number for these and the
                alphabet gives a warning and no merges.
            length: number of items, for the progress display.
            new_special_tokens: more special tokens.
            special_tokens_map: renames special tokens, old -> new.
            **kwargs: those of `mws_hf.MwSTrainer` (`criterion`, `composition`, `min_frequency`, ...) but `pattern`,
                `normalization` and `alphabet`.

        Raises:
            MwSError: the pre-tokenizer is not a split by a pattern, or an argument is unknown or out of range.
        """
        from mws_hf.corpus.counting import count_documents  # inference must not load the learner
        from mws_hf.learn.setting_rules import COUNT, check_range
        from mws_hf.learn.settings import Settings, read_settings
        from mws_hf.learn.vocabulary import learn

        check_range("vocab_size", vocab_size, COUNT)
        new = self._retrained_on_nothing(vocab_size, new_special_tokens, special_tokens_map)
        special = [token.content for _, token in sorted(new.backend_tokenizer.get_added_tokens_decoder().items())]
        kind: Alphabet = "bytes" if is_byte_level(self.backend_tokenizer) else "characters"
        if kwargs.pop("alphabet", kind) != kind:
            raise MwSError(f"alphabet: this tokenizer is one of {kind}, and retraining keeps it; use MwSTrainer")
        if own := [name for name in ("pattern", "digits", "normalization", "special_tokens") if name in kwargs]:
            raise MwSError(f"{own[0]}: retraining keeps that of this tokenizer; use MwSTrainer")
        bare = Tokenizer.from_str(self.backend_tokenizer.to_str())
        settle_leading_space(bare, False)
        texts, pattern = _normalized(text_iterator, bare), pattern_of(bare)
        least = len(special) + len(BYTE_TOKENS)  # a smaller number makes no merges, as transformers' own classes do
        size = max(vocab_size, least) if vocab_size > 0 else vocab_size
        settings = read_settings(
            Settings, **kwargs, vocab_size=size, special_tokens=special, alphabet=kind, pattern=pattern
        )
        counted = count_documents(
            texts, pattern=pattern, special_tokens=special, length=length, show_progress=settings.show_progress
        )
        learned = learn(counted, settings)
        model = bpe_model(*tokenizer_tables(special, learned.alphabet, learned.merges, kind), in_bytes=kind == "bytes")
        new.backend_tokenizer.model = Spec({"model": model}).open().model  # all else is this tokenizer's
        self._restore_settings(new, special_tokens_map or {})
        plain = without_limits(new.backend_tokenizer)
        settle_leading_space(plain, False)
        new.training = Training.of(settings, learned, plain, counted)
        return new

    def _retrained_on_nothing(
        self, vocab_size: int, new_special_tokens: list[Any] | None, special_tokens_map: dict[str, str] | None
    ) -> MwSTokenizerFast:
        """Let transformers do its bookkeeping (special tokens, post-processor, init arguments) on an empty corpus."""
        new: MwSTokenizerFast = super().train_new_from_iterator(
            iter(()),
            vocab_size,
            length=0,
            new_special_tokens=new_special_tokens,
            special_tokens_map=special_tokens_map,
            show_progress=False,
        )
        return new

    def _restore_settings(self, new: MwSTokenizerFast, names: Mapping[str, str]) -> None:
        """Mend what transformers' retraining loses: template, plain added tokens, ids of padding and post-processor."""
        new.chat_template = copy.deepcopy(self.chat_template)
        plain = [token for token in self.added_tokens_decoder.values() if not token.special]
        new.add_tokens([token for token in plain if token.content not in new.get_vocab()])
        if (processor := Spec.of(self.backend_tokenizer).raw["post_processor"]) is not None:
            from mws_hf.surgery.ids import renumbered_processor  # retraining alone needs it

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
    """Read the notebook's artifact as a tokenizer that keeps every id, so that trained embeddings keep their meaning.

    New ids follow the old ones: characters that merges use without an id, the 256 byte tokens, and fillers
    ``<|unused0|>`` for holes. One thing changes: a special token typed in text is now recognized
    (``split_special_tokens=True`` restores the old behaviour).

    Args:
        source: a directory, or the paths of vocabulary.json and merges.json.
        special_tokens: by default the tokens that no merge makes, such as ``[EOS]``.
        pattern: the split pattern it was trained with; by default the one that `export_notebook` wrote into
            merges.json, or else the notebook's, which is GPT-4's.
        repair: keep the last of repeated merges, as the notebook's encoder did, instead of refusing them.

    Raises:
        MwSError: a file is missing, damaged or malformed; ids collide; merges are repeated, cyclic or use a part that
            no earlier merge makes; a special token is absent from the vocabulary or made by merges.
    """
    from mws_hf.tokenizer.notebook import read_notebook

    backend, roles = read_notebook(source, special_tokens, pattern, repair)
    return MwSTokenizerFast(tokenizer_object=backend, **roles)


def pretrained(name: str) -> MwSTokenizerFast:
    """Load a trained tokenizer of this project by name.

    Args:
        name: such as "mws-ru-32k"; `mws pretrained` lists them.

    Raises:
        MwSError: there is no such tokenizer, or the installation lacks its files.
    """
    from mws_hf.tokenizer.places import pretrained_folder

    loaded: MwSTokenizerFast = MwSTokenizerFast.from_pretrained(pretrained_folder(name))
    return loaded


def _known_id(backend: Tokenizer, token: str) -> int:
    """Return the id of a special token that a post-processor names; MwSError where there is none."""
    number = backend.token_to_id(token)
    if number is None:
        raise MwSError(f"the post-processor adds {token!r}, which would be no token; keep it among the special tokens")
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


def _normalized(texts: Iterable[str] | Iterable[list[str]], backend: Tokenizer) -> Iterator[str]:
    """Yield single texts as the backend's normalizer, whichever it is, leaves them."""
    for item in texts:
        for text in [item] if isinstance(item, str) else item:
            yield text if backend.normalizer is None else backend.normalizer.normalize_str(text)
