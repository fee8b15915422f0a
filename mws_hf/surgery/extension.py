"""Append new merges to a pretrained tokenizer, and if asked for, replace its unused tokens; nothing else changes.

Strings that must be tokens get merges after the learned ones.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from mws_hf.corpus.counts import WordCounts
from mws_hf.corpus.word_list import as_word_counts
from mws_hf.errors import MwSError
from mws_hf.kernels import Longs
from mws_hf.learn.limits import Apart
from mws_hf.learn.setting_rules import Range, check_names, check_range, descriptions_of
from mws_hf.learn.settings import read_settings
from mws_hf.surgery.base import Base, IdMap, Rewritten, open_base
from mws_hf.surgery.new_tokens import ExtensionSettings, LearnedTokens, learn_tokens, pre_tokens, protect
from mws_hf.surgery.trim import check_used, count_uses, last_merges, never_removed, prune
from mws_hf.text.capitals import restore_capitals
from mws_hf.text.phrases import counted
from mws_hf.text.symbols import BYTE_TOKENS, check_order, check_required
from mws_hf.text.valid_text import each_text
from mws_hf.tokenizer.layout import RECORD_FILE
from mws_hf.tokenizer.merging import merges_for
from mws_hf.tokenizer.spec import Spec
from mws_hf.tokenizer.training_record import added_record

_logger = logging.getLogger(__name__)


def check_strings(base: Base, texts: Iterable[str]) -> list[str]:
    """Return strings in the symbols of the base.

    Raises:
        MwSError: a string is empty or too long, or the pre-tokenizer splits it.
    """
    pipeline, spelled = base.pipeline(), []
    for text in texts:
        check_required(text)
        pieces = pre_tokens(base, pipeline, text)
        if len(pieces) != 1:
            parts = "|".join(pieces)
            raise MwSError(
                f"{text!r} cannot become a token: the pattern of the tokenizer splits it ({parts}); give its parts"
            )
        spelled.append(base.spell(pieces[0]))
    return spelled


def with_strings(base: Base, learned: LearnedTokens, strings: list[str], n_tokens: int) -> LearnedTokens:
    """Add merges that build strings; if there would be more than `n_tokens` tokens, the last learned ones are left out.

    Args:
        base: the tokenizer that is extended.
        learned: the tokens that were learned.
        strings: the strings, in the symbols of the base.
        n_tokens: maximum number of new tokens, including those that build the strings.

    Raises:
        MwSError: the strings alone need more than `n_tokens` tokens.
    """
    n_learned = n_tokens
    while n_learned >= 0:
        part = learned.first(n_learned)
        known = {*base.vocab, *part.symbols}
        symbols = [] if base.byte_level else sorted({c for string in strings for c in string if c not in known})
        merges = merges_for(strings, [*base.merges, *part.merges], known)
        more = len(part.tokens) + len(symbols) + len(merges) - n_tokens
        if more <= 0:
            found = {**part.found, "required": len(merges)}
            return LearnedTokens([*part.symbols, *symbols], [*part.merges, *merges], found, part.n_types)
        n_learned -= more
    raise MwSError(f"the required strings need more than {counted(n_tokens, 'new token')}; add more tokens")


@dataclass(frozen=True)
class Extension(Rewritten):
    """A base and the tokens that were appended to it.

    Attributes:
        base: the tokenizer that was extended.
        learned: the new tokens and the steps that made them.
        ids: the id of each new token.
        retired: tokens that were replaced, with the ids that they had, ascending; empty without `replace`.
        spec: the new tokenizer.json; `tokenizer` is loaded from it.
    """

    base: Base
    learned: LearnedTokens
    ids: dict[str, int]
    retired: dict[str, int]
    spec: dict[str, Any]

    @property
    def old_ids(self) -> IdMap:
        """The new id of each id of the base as it was before any trimming; None for removed tokens."""
        retired = set(self.retired.values())
        ids = {number: None if number in retired else number for number in range(self.base.next_id)}
        if self.base.before is None:
            return ids
        return {old: None if between is None else ids[between] for old, between in self.base.before.items()}

    @property
    def records(self) -> Mapping[str, Any]:
        """The training metadata of the new merges."""
        return {RECORD_FILE: added_record(self.tokenizer, len(self.learned.merges), self.learned.found)}


def extend(
    tokenizer: str | os.PathLike[str] | Tokenizer | Any,
    counts: WordCounts | Mapping[str, int],
    n_tokens: int,
    *,
    replace: Iterable[str] | None = None,
    protected: Iterable[str] = (),
    required: Iterable[str] = (),
    show_progress: bool = False,
    **settings: Any,
) -> Extension:
    """Learn tokens from the words of a corpus and append them to a pretrained tokenizer.

    A text in which no new token and no replaced one occurs is encoded as before.

    Args:
        tokenizer: a folder with tokenizer.json or such a file, a Hub name, a `tokenizers.Tokenizer`, or a fast
            tokenizer of transformers; its model must be a BPE, byte-level or with byte fallback. Also an open `Base`.
        counts: words of the new language and how often each occurs, split by any pattern; a dict is read by
            `corpus.word_list.count_mapping`.
        n_tokens: number of tokens to add; fewer are added if the corpus does not have so many.
        replace: texts whose tokens must stay; new tokens get the ids of tokens that these texts do not use. With None
            no token is replaced.
        protected: texts that must be segmented as before, such as the language of the base; merges that would apply in
            them are not learned. Other texts may be segmented differently.
        required: strings that must be tokens; they are among the `n_tokens`. A whole word that equals such a string is
            one token, even in `protected` texts. A space before a word belongs to its token.
        show_progress: whether to draw progress bars on standard error, if it is a terminal.
        **settings: attributes of `new_tokens.ExtensionSettings`.

    Returns:
        The extended tokenizer, whose method `save` writes a folder.

    Raises:
        MwSError: the tokenizer is missing, damaged or not such a BPE; there are no words; `n_tokens` or a setting is
            out of range; a string cannot become a token; the counts have a marker for capitals, and the tokenizer does
            not write it; `replace`, `protected` or `required` is not a list of str.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> merges = [(" ", "w"), ("a", "l")]
    >>> base = build_backend(base_vocab([], " abdegiklnprstw", merges), merges)
    >>> words = {" walked": 9, " walking": 7, " walks": 5, " talked": 6, " talks": 4, " talking": 3}
    >>> larger = extend(base, words, 4, composition=0).tokenizer
    >>> base.encode(" walks").tokens, larger.get_vocab_size() - base.get_vocab_size()
    ([' w', 'al', 'k', 's'], 4)
    """
    check_range("n_tokens", n_tokens, Range(1, whole=True))
    check_names("extend", settings, descriptions_of(ExtensionSettings))
    check_order("required", required)
    required, protected = each_text(required, "required"), each_text(protected, "protected")
    texts = None if replace is None else each_text(replace, "replace")
    counts = as_word_counts(counts).union
    base = open_base(tokenizer)
    if counts.splitter.marks_capitals and not Spec(base.spec).capitals:
        raise MwSError(
            "the counts have a marker for capitals, which the tokenizer does not write, so the new tokens would not "
            "fit its text; count the text again without --capitals"
        )
    chosen = read_settings(ExtensionSettings, **settings)
    if chosen.keep_apart:
        _check_kept_apart(base, chosen.apart)
    strings, guard = check_strings(base, required), protect(base, protected)
    learned = learn_tokens(base, counts, n_tokens, chosen, guard, show_progress)
    learned = with_strings(base, learned, strings, n_tokens) if strings else learned
    if len(learned.tokens) < n_tokens:
        _logger.warning(
            "the corpus has enough words for only %s of %s tokens; give more text to get more tokens",
            f"{len(learned.tokens):,}",
            f"{n_tokens:,}",
        )
    retired = {} if texts is None else retire(base, learned, check_used(count_uses(base, texts)), strings)
    return append_tokens(base, learned, retired)


def _check_kept_apart(base: Base, apart: Apart) -> None:
    """Raise MwSError for an entry that the normalizer of a tokenizer changes; a marker for capitals does not count."""
    pipeline, capitals = base.pipeline(), Spec(base.spec).capitals
    apart.check_normalized(lambda entry: restore_capitals("".join(pre_tokens(base, pipeline, entry)), capitals))


def words_among(base: Base, tokens: Iterable[str]) -> list[str]:
    """List the texts of the tokens that are a space and two or more letters.

    >>> from mws_hf.tokenizer.backend import base_vocab, build_backend
    >>> words_among(open_base(build_backend(base_vocab([], " ab"), [])), [" ab", "ab", " a", " b1"])
    [' ab']
    """
    texts = map(base.read, tokens)
    return [text for text in texts if text[:1] == " " and len(text) > 2 and text[1:].isalpha()]


def append_tokens(base: Base, learned: LearnedTokens, retired: Mapping[str, int]) -> Extension:
    """Append learned tokens to a base without its retired ones, and check each id of the result.

    Args:
        base: the tokenizer.
        learned: the tokens to append.
        retired: the tokens to remove, with their ids, which the first new tokens get.

    Raises:
        MwSError: `tokenizers` gives a token a different id than expected.
    """
    free = list(retired.values())
    numbers = [*free, *range(base.next_id, base.next_id + max(0, len(learned.tokens) - len(free)))]
    ids = dict(zip(learned.tokens, numbers, strict=False))
    # an added token outside of the vocabulary gets its size as id, which new tokens would change
    behind = {token["content"]: token["id"] for token in base.spec.get("added_tokens", [])}
    vocab = {**base.spec["model"]["vocab"], **behind, **ids}
    vocab = {token: number for token, number in vocab.items() if token not in retired}
    if retired:
        vocab = dict(sorted(vocab.items(), key=lambda item: item[1]))
    kept, before = base.merges_among(vocab), base.spec["model"]["merges"]
    as_strings = bool(before) and isinstance(before[0], str)  # as before tokenizers 0.20
    new = [" ".join(pair) if as_strings else list(pair) for pair in learned.merges]
    spec = {**base.spec, "model": {**base.spec["model"], "vocab": vocab, "merges": [*kept, *new]}}
    extension = Extension(base, learned, ids, dict(retired), spec)
    extension.check_ids({token: number for token, number in base.vocab.items() if token not in retired} | ids)
    return extension


def retire(base: Base, learned: LearnedTokens, uses: Longs, required: Iterable[str] = ()) -> dict[str, int]:
    """Choose tokens to retire, at most as many as were learned.

    These are unused tokens that are not part of a remaining token (`prune`); symbols that no merge builds stay. A text
    without retired tokens is encoded as before. If there are too few unused tokens, fewer are retired.

    Args:
        base: the tokenizer.
        learned: the tokens that will be appended; their parts are not retired.
        uses: int64, shape (largest id + 1,): occurrences of each token in the texts that must stay.
        required: strings that must be tokens, in the symbols of the base; those that are tokens already are not
            retired.

    Returns:
        The retired tokens with their ids, ascending.
    """
    kept = never_removed(base).union(required, BYTE_TOKENS, *learned.merges)
    made = last_merges(base).keys() - kept
    remaining = prune(base, uses, base.vocab.keys() - made, len(base.vocab) - len(learned.tokens), 1)
    retired = {token: base.vocab[token] for token in sorted(base.vocab.keys() - remaining, key=base.vocab.__getitem__)}
    if words := words_among(base, retired):
        _logger.warning(
            "%d of %d replaced tokens are whole words that the given texts do not use, such as %s; if a language must "
            "stay as it is, give more text of it",
            len(words), len(retired), ", ".join(map(repr, words[-3:])),
        )  # fmt: skip
    return retired


def merges_of(base: Base, tokens: Container[str]) -> list[tuple[str, str]]:
    """List the merges of a base that build or use one of these tokens."""
    return [pair for pair in base.merges if any(token in tokens for token in (*pair, "".join(pair)))]
