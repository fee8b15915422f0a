"""The way from counts to a saved tokenizer, step by step: words, merges, tables, backend, record, `TrainedTokenizer`.

`MwSTrainer` and the retraining of a tokenizer go this way. `MwSTokenizerFast` wraps the result for users of
transformers, which is not needed here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from mws_hf.errors import MwSError
from mws_hf.portable import Held
from mws_hf.text.pattern import cut_by
from mws_hf.text.special import special_settings
from mws_hf.tokenizer.backend import build_backend, tokenizer_tables
from mws_hf.tokenizer.file import save_backend
from mws_hf.tokenizer.layout import EVIDENCE_FILE
from mws_hf.tokenizer.layout import RECORD_FILE as FILE
from mws_hf.tokenizer.training_record import merges_digest, record_bytes

if TYPE_CHECKING:
    from mws_hf.corpus.groups import GroupedCounts
    from mws_hf.learn.evidence.posteriors import Evidence
    from mws_hf.learn.settings import Settings
    from mws_hf.learn.vocabulary import LearnedVocabulary


def words_of(settings: Settings, counts: Any) -> GroupedCounts:
    """Read the counts that a user gives, as `corpus.word_list.as_grouped_counts` takes them.

    Raises:
        MwSError: pattern or normalization differ from the counts'.
    """
    from mws_hf.corpus.word_list import as_grouped_counts  # inference must not load the learner

    pattern, normalization = settings.split_pattern, settings.normalization
    groups = as_grouped_counts(counts, pattern=pattern, normalization=normalization)
    if groups.pattern != pattern or groups.normalization != normalization:
        raise MwSError(
            f"the counts were made with {cut_by(groups.pattern, groups.normalization)}, but training asks for "
            f"{cut_by(pattern, normalization)}; count again, or pass pattern= and normalization= of the counts"
        )
    return groups


def carry_out(settings: Settings, groups: GroupedCounts, evidence: Evidence | None = None) -> TrainedTokenizer:
    """Go the whole way, from counts to a tokenizer that can be saved."""
    from mws_hf.learn.vocabulary import learn

    return finish(settings, learn(groups, settings, evidence=evidence), groups)


def finish(settings: Settings, learned: LearnedVocabulary, groups: GroupedCounts | None = None) -> TrainedTokenizer:
    """Build a tokenizer of what was learnt; its record has figures about the words where they are given."""
    backend, merges = build(settings, learned)
    training = recorded(settings, learned, backend, groups)
    return TrainedTokenizer(backend, special_settings(settings.special_tokens), training, merges_digest(merges))


def build(settings: Settings, learned: LearnedVocabulary) -> tuple[Tokenizer, Sequence[tuple[str, str]]]:
    """Build the `tokenizers` backend of what was learnt; returns it and its merges."""
    vocab, merges = tables(settings, learned)
    pattern, normalization, special = settings.split_pattern, settings.normalization, settings.special_tokens
    return build_backend(vocab, merges, pattern, normalization, special), merges


def tables(settings: Settings, learned: LearnedVocabulary) -> tuple[dict[str, int], Sequence[tuple[str, str]]]:
    """Write alphabet and merges as the vocabulary and merges of a BPE."""
    return tokenizer_tables(settings.special_tokens, learned.alphabet, learned.merges, settings.alphabet_kind)


def recorded(
    settings: Settings, learned: LearnedVocabulary, backend: Tokenizer, groups: GroupedCounts | None = None
) -> Training:
    """Put together settings and evidence, and what the tokenizer built does to the words, where they are given."""
    table = _laid_out(learned.evidence)
    sizes = {"word_types": learned.n_types, "characters": len(learned.alphabet)}
    facts: dict[str, Any] = {}
    if groups is not None:
        from mws_hf.cards.group_facts import training_facts  # only now, for it imports the encoder

        facts = training_facts(backend, groups, settings.weights)
    return Training(settings.record | learned.record | sizes | facts, Held(learned.evidence), table)


def _laid_out(evidence: Evidence | None) -> Held:
    """Begin to lay evidence out for its file, in a thread beside what else the record takes."""
    if evidence is None:
        return Held()
    from mws_hf.learn.any_word import evidence_table  # inference must not load the learner

    beside = ThreadPoolExecutor(1)
    table = beside.submit(evidence_table, evidence)
    beside.shutdown(wait=False)
    return Held(table)


@dataclass(frozen=True)
class Training:
    """Settings and figures of a training, and what holds its boundary evidence (`posteriors.Evidence`) or None.

    `table` holds that evidence laid out for its file, as a future. A copied or pickled tokenizer leaves both behind.
    """

    settings: dict[str, Any]
    evidence: Held
    table: Held

    def files(self, merges: str) -> dict[str, bytes]:
        """Return the files to save beside a tokenizer with this digest of merges: record and, if known, evidence."""
        files = {FILE: record_bytes(self.settings, merges)}
        if self.table.value is not None:
            from mws_hf.learn.any_word import evidence_bytes  # inference must not load the learner

            files[EVIDENCE_FILE] = evidence_bytes(self.table.value.result(), merges)
        return files


@dataclass(frozen=True)
class TrainedTokenizer:
    """A tokenizer just learnt: backend, special tokens by role (``eos_token``), facts, digest of its merges."""

    backend: Tokenizer
    roles: Mapping[str, Any]
    training: Training
    merges: str

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the directory that `MwSTokenizerFast.save_pretrained` writes, but for its card, or change nothing.

        Raises:
            MwSError: the directory cannot be written, or another run is writing it.
        """
        save_backend(directory, self.backend, self.roles, self.training.files(self.merges))
