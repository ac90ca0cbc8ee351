"""Passages in columns: read from common files, saved so that processes share them.

A corpus file enters (JSON lines, compressed or not, or Parquet); a sized, indexable
:class:`Corpus` leaves. A saved corpus is memory-mapped: opening it costs nothing, and
all processes of a machine hold one copy.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast, overload

import pyarrow as pa
import pyarrow.parquet as pq

from environments.errors import DataFileError, MissingDataError

_SCHEMA = pa.schema([("id", pa.large_string()), ("contents", pa.large_string())])
FILE_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage in Search-R1's form.

    Attributes:
        id: Unique within the corpus.
        contents: The title in double quotes, a newline, the text.
    """

    id: str
    contents: str

    @property
    def title(self) -> str:
        """The first line without its quotes; empty when there is but one line."""
        title, newline, _ = self.contents.partition("\n")
        return title.strip().removeprefix('"').removesuffix('"') if newline else ""

    @property
    def text(self) -> str:
        """What follows the title."""
        title, newline, text = self.contents.partition("\n")
        return text.strip() if newline else title.strip()


class Corpus(Sequence[Passage]):
    """Passages in a fixed order.

    Args:
        table: Columns ``id`` and ``contents``, both ``large_string``.
    """

    def __init__(self, table: pa.Table) -> None:
        table = table.select(_SCHEMA.names).cast(_SCHEMA).combine_chunks()
        self._table = table
        self._ids, self._contents = (
            column.chunk(0) if column.num_chunks else pa.array([], pa.large_string())
            for column in table.columns
        )

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Corpus:
        """The corpus of some passages, in their order."""
        pairs = [(passage.id, passage.contents) for passage in passages]
        columns = {"id": [p[0] for p in pairs], "contents": [p[1] for p in pairs]}
        return cls(pa.table(columns, schema=_SCHEMA))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Corpus:
        """Read a corpus file.

        Each row holds ``contents``, or ``title`` and ``text``; ``id`` is the row's
        number unless given.

        Raises:
            MissingDataError: There is no such file.
            DataFileError: It is of another format, or a row lacks its contents.
        """
        file = Path(path).expanduser()
        return cls.of(
            _passage(row, number, file) for number, row in enumerate(read_rows(file))
        )

    @classmethod
    def open(cls, path: Path) -> Corpus:
        """Map what :meth:`save` wrote; nothing is read before it is asked for."""
        return cls(pa.ipc.open_file(pa.memory_map(str(path))).read_all())

    def save(self, path: Path) -> None:
        """Write an Arrow file of one batch."""
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as file:
            file.write_table(self._table, max_chunksize=max(1, len(self)))

    def contents(self) -> Iterator[str]:
        """The contents of every passage."""
        return (value.as_py() for value in self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    @overload
    def __getitem__(self, index: int) -> Passage: ...
    @overload
    def __getitem__(self, index: slice) -> list[Passage]: ...
    def __getitem__(self, index: int | slice) -> Passage | list[Passage]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Passage(
            id=self._ids[index].as_py(), contents=self._contents[index].as_py()
        )


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet or JSON-lines file, the latter plain, gz, bz2 or xz.

    Raises:
        MissingDataError: There is no such file.
        DataFileError: It is of another format, or a line is no JSON object.
    """
    if not path.is_file():
        raise MissingDataError(f"there is no file {path}")
    if not path.name.endswith(FILE_ENDINGS):
        raise DataFileError(
            f"{path}: unknown format; give one of {', '.join(FILE_ENDINGS)}"
        )
    if path.suffix == ".parquet":
        for batch in pq.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
        return
    with _open(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _json_object(line, f"{path}:{number}")


def _open(path: Path) -> IO[bytes]:
    """A plain or compressed file for reading; the caller closes it."""
    match path.suffix:
        case ".gz":
            return cast(IO[bytes], gzip.open(path, "rb"))
        case ".bz2":
            return bz2.open(path, "rb")
        case ".xz":
            return lzma.open(path, "rb")
    return path.open("rb")


def _json_object(line: bytes, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataFileError(f"{place}: no JSON: {error}") from error
    if not isinstance(row, dict):
        raise DataFileError(f"{place}: a JSON object is wanted, not {row!r:.80}")
    return row


def _passage(row: Mapping[str, Any], number: int, path: Path) -> Passage:
    contents = row.get("contents")
    if contents is None and isinstance(row.get("text"), str):
        contents = f'"{row.get("title", "")}"\n{row["text"]}'
    if not isinstance(contents, str):
        raise DataFileError(
            f"{path}, row {number}: neither `contents` nor `text` in {sorted(row)}"
        )
    given = row.get("id")
    return Passage(id=str(number if given is None else given), contents=contents)
