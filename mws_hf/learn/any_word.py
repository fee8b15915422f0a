"""Answer for any word, among the training types or not, where its boundaries lie; and keep the evidence in a file.

The types and their posteriors are kept. Words that are not among them are judged by the context view alone. Its
regression is fitted to the posteriors of the types, whichever views gave them. It reads the contexts of the new word
among the contexts of the types.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mws_hf.corpus.blocks import arrow_integers
from mws_hf.errors import MwSError, brief
from mws_hf.kernels import Doubles
from mws_hf.kernels.arithmetic import sigmoid
from mws_hf.kernels.threads import side_by_side
from mws_hf.learn.evidence.context_view import add_log_odds, fit_contexts
from mws_hf.learn.evidence.contexts import CONTEXT_LENGTHS, collect_contexts, trie_view
from mws_hf.learn.evidence.forms import find_words, fold, inner_positions, split_graphemes
from mws_hf.learn.evidence.posteriors import Evidence
from mws_hf.learn.words import CodePoints, concatenated, utf8_sizes
from mws_hf.tokenizer.training_record import merges_digest

if TYPE_CHECKING:
    from mws_hf.tokenizer.opened import Opened

MAX_TYPES = 200_000
"""Types that are kept and compared with: more add size and time, and nothing to words that are not among them."""
_FIT_SAMPLE = 20_000
_FORMAT = "1"


class AnyWord:
    """Boundary evidence that answers for any word; the context view judges words that are not among the types."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._weights: tuple[Doubles, Doubles] | None = None
        self._guessed: dict[str, Evidence] = {}

    def knows(self, pretoken: str) -> bool:
        """Return whether a pre-token is a word among the training types."""
        return self._evidence.word(pretoken) is not None

    def word(self, pretoken: str) -> list[float] | None:
        """Answer as `Evidence.word` does, whether a word is among the types or not; None: it is no word."""
        found = self._evidence.word(pretoken)
        places = find_words([pretoken])
        if found is not None or not places.is_word[0]:
            return found
        letters = fold(pretoken[places.begins[0] :])
        if letters not in self._guessed:
            in_code = None if self._evidence.in_code is None else np.ones(1)
            self._guessed[letters] = Evidence(CodePoints.of([letters]), self._guess(letters), in_code=in_code)
        return self._guessed[letters].word(pretoken)

    def _guess(self, letters: str) -> Doubles:
        """Compute the posteriors of the context view for a word that is not among the types."""
        listed = _most_frequent(self._evidence)
        types = concatenated([listed.code_points, CodePoints.of([letters])])
        graphemes = split_graphemes(types)
        corpus, last = graphemes.corpus, graphemes.last
        n = len(listed.probabilities)
        targets = listed.probabilities[last[:n]].astype(np.float32)
        found = np.zeros(len(last) - n)
        if not len(targets) or not inner_positions(corpus.starts)[: len(targets)].any():
            return found
        tries = side_by_side(lambda backwards: trie_view(corpus, backwards), (False, True))
        contexts = collect_contexts(corpus, CONTEXT_LENGTHS, tries)
        if self._weights is None:
            self._weights = fit_contexts(corpus, contexts, targets, _FIT_SAMPLE)
        log_odds = np.zeros(len(corpus.symbols))
        add_log_odds(contexts, len(corpus) - 1, corpus.starts[-2:], *self._weights, log_odds)
        cuts = sigmoid(log_odds[corpus.starts[-2] :])
        cuts[-1] = 0.0
        found[last[n:]] = cuts
        return found


def _most_frequent(evidence: Evidence) -> Evidence:
    """Keep the evidence of at most `MAX_TYPES` types, the most frequent ones where their counts are known."""
    if len(evidence.code_points) <= MAX_TYPES:
        return evidence
    times = evidence.times
    rows = np.arange(MAX_TYPES) if times is None else np.sort(np.argsort(-times, kind="stable")[:MAX_TYPES])
    sizes = np.diff(evidence.starts)
    kept = np.zeros(len(sizes), bool)
    kept[rows] = True
    return replace(
        evidence,
        code_points=evidence.code_points.take(rows),
        probabilities=evidence.probabilities[np.repeat(kept, sizes)],
        in_code=None if evidence.in_code is None else evidence.in_code[rows],
        times=None if times is None else times[rows],
        weights=None,
        prices=None,
    )


def _table(evidence: Evidence) -> pa.Table:
    """Lay evidence out as rows, one a type by its letters, with a byte in per cent for each place inside it.

    The `MAX_TYPES` most frequent types are kept.
    """
    kept = _most_frequent(evidence)
    points, starts = kept.code_points.points, kept.starts
    n_bytes = np.concatenate([[0], np.cumsum(utf8_sizes(points))])
    text = points.tobytes().decode("utf-32-le").encode()
    types = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(n_bytes[starts]), pa.py_buffer(text))
    order = pc.sort_indices(types)  # neighbours share letters, which packs well
    percent = np.rint(kept.probabilities[inner_positions(starts)] * 100).astype(np.uint8)
    rows = pa.Array.from_buffers(
        pa.large_binary(), len(types), [None, pa.py_buffer(starts - np.arange(len(starts))), pa.py_buffer(percent)]
    )
    columns: dict[str, Any] = {
        "type": types.take(order).cast(pa.string()),
        "percent": rows.take(order).cast(pa.binary()),
    }
    if kept.in_code is not None:
        columns["in_code"] = arrow_integers(np.rint(kept.in_code * 100).astype(np.uint8)).take(order)
    return pa.table(columns)


def evidence_bytes(evidence: Evidence, merges: str) -> bytes:
    """Write evidence as a Parquet file.

    `merges` is the `merges_digest` of the tokenizer that was learnt from the evidence; the file serves no other.
    """
    out = io.BytesIO()
    encodings = {"type": "DELTA_BYTE_ARRAY", "percent": "DELTA_LENGTH_BYTE_ARRAY"}
    table = _table(evidence).replace_schema_metadata({"mws_hf.evidence": _FORMAT, "mws_hf.merges": merges})
    pq.write_table(table, out, compression="zstd", use_dictionary=False, column_encoding=encodings)
    return out.getvalue()


def read_evidence(opened: Opened) -> AnyWord | None:
    """Read the evidence beside a tokenizer; None where there is none, or where it belongs to other merges."""
    path = opened.evidence_file
    if path is None:
        return None
    try:
        table = pq.read_table(path)
        metadata = table.schema.metadata or {}
        if metadata.get(b"mws_hf.merges", b"").decode() != merges_digest(opened.backend):
            return None
        types = CodePoints.of(table["type"].to_pylist())
        percent = np.frombuffer(b"".join(table["percent"].to_pylist()), np.uint8)
        probabilities = np.zeros(len(types.points))
        probabilities[inner_positions(types.starts)] = percent / 100
        in_code = table["in_code"].to_numpy() / 100 if "in_code" in table.column_names else None
        if percent.max(initial=0) > 100:
            raise ValueError("more than 100 per cent")
    except Exception as error:  # pyarrow's own, by kind of damage
        raise MwSError(f"{path}: damaged ({brief(error)}); train again, or delete it") from error
    return AnyWord(Evidence(types, probabilities, in_code=in_code))
