"""Define the interface of every kind of input: the base class of the classes in `mws_hf.corpus.kinds`."""

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
    """A file, a folder or a value that contains text, with methods that read its documents.

    Attributes:
        title: the name of the kind in messages.
        suffixes: the suffixes of the names of such files, without the suffix of a compressed file.
        is_packable: whether such a file can be compressed as a whole.
        has_columns: whether the text is one of several columns or fields.
        has_groups: whether a column can name the group of each row.
        is_text: whether the file is plain text, in which a document can be a line or the whole file.
        is_word_list: whether lists of words, one per line, are read from such files.
        is_stored: whether `advance` is called with the number of bytes taken from the file as stored; for other kinds
            this number is unknown.
        place: the name of the file, or the name of another source, for errors.
        how: the encoding, and the column that contains the text.
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
        """Check the input before any work: the first record of JSON lines and the header of a table are read.

        Args:
            columns: the columns that must exist and contain text; None stands for `DEFAULT_COLUMN`.

        Raises:
            MwSError: the input is not of this kind, or a column is missing or does not contain text.
        """

    @abstractmethod
    def arrays(self, advance: Advance | None, size: int) -> Iterator[pa.LargeStringArray]:
        """Read the documents as arrays of Arrow strings.

        Args:
            advance: called while reading, for a progress bar (see `is_stored`).
            size: minimum number of characters in an array, if the documents are read one by one and not in batches.
        """

    def groups(self, group_column: str, advance: Advance | None) -> Iterator[GroupBatch]:
        """Read the documents with their groups; `group_column` contains the group of each row."""
        raise NotImplementedError

    def texts(self) -> Iterator[str]:
        """Read the documents in order."""
        return chain.from_iterable(batch.to_pylist() for batch in self.arrays(None, BLOCK_BYTES))

    def blocks(
        self, *, division: bytes | None, advance: Advance | None = None, size: int = BLOCK_BYTES
    ) -> Iterator[Block]:
        """Read the documents as blocks; the arguments are those of `blocks.text_blocks`."""
        return arrow_blocks(self.arrays(advance, size), self.place)

    def head(self) -> bytes:
        """Read the first bytes of the unpacked content, by which two files with the same text are recognized."""
        with open_binary(self.place) as stream:
            return next(read_blocks(stream, HEAD_BYTES), b"")
