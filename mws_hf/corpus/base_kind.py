"""The interface that every kind of input has: the base class of the classes in `mws_hf.corpus.kinds`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import ClassVar

import pyarrow as pa

from mws_hf.corpus.blocks import BLOCK_BYTES, Block, arrow_blocks
from mws_hf.corpus.columns import GroupBatch
from mws_hf.corpus.files import Reading
from mws_hf.corpus.octets import HEAD_BYTES, Advance, open_binary, read_blocks


class Kind(ABC):
    """A file, a folder or a value that contains text, and how its documents are read.

    Attributes:
        title: the name of the kind in messages.
        suffixes: the endings of the names of such files, without the ending of a compressed file.
        is_packable: whether such a file can be compressed as a whole.
        has_columns: whether the text is one of several columns or fields.
        has_groups: whether a column can name the group of each row.
        is_text: whether the file is plain text, in which a document can be a line or the whole file.
        is_word_list: whether lists of words, one per line, are read from such files.
        is_stored: whether `advance` is called with bytes of the file as stored; the bytes of other kinds are unknown.
        place: the name of the file, or another name of the source in errors.
        how: the encoding, and the column of the text.
    """

    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    is_packable: ClassVar[bool] = True
    has_columns: ClassVar[bool] = True
    has_groups: ClassVar[bool] = True
    is_text: ClassVar[bool] = False
    is_stored: ClassVar[bool] = True

    def __init__(self, place: str, how: Reading) -> None:
        self.place, self.how = place, how

    @property
    def is_word_list(self) -> bool:
        """Whether lists of words, one per line, are read from files of this name."""
        return self.is_text

    @abstractmethod
    def check(self, columns: Sequence[str | None]) -> None:
        """Check the input before any work: the first record of JSON lines and the header of a table are read."""

    @abstractmethod
    def arrays(self, advance: Advance | None, size: int) -> Iterator[pa.LargeStringArray]:
        """Read the documents as Arrow strings; if they come one by one, an array has at least `size` characters."""

    def groups(self, group_column: str, advance: Advance | None) -> Iterator[GroupBatch]:
        """Read the documents by group in each batch of rows."""
        raise NotImplementedError

    def texts(self) -> Iterator[str]:
        """Read the documents in order."""
        return chain.from_iterable(batch.to_pylist() for batch in self.arrays(None, BLOCK_BYTES))

    def blocks(
        self, *, division: bytes | None, advance: Advance | None = None, size: int = BLOCK_BYTES
    ) -> Iterator[Block]:
        """Read the documents as blocks; `blocks.text_blocks` describes the arguments."""
        return arrow_blocks(self.arrays(advance, size), self.place)

    def head(self) -> bytes:
        """Read the first bytes of the content, by which two files with the same text are recognized."""
        with open_binary(self.place) as stream:
            return next(read_blocks(stream, HEAD_BYTES), b"")
