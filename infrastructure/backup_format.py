"""What does a backup hold, and is it whole?

One file for both databases: gzipped lines of JSON. The first is the manifest; then come the tables,
each with its columns, its rows as arrays, and a line with their count and SHA-256; the last line
has the SHA-256 of all before it. Bytes are base64, but for event ids. Written and read row by row,
so that memory does not grow with the log.
"""

import gzip
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn, Self, cast

from sqlalchemy import LargeBinary, Table

from infrastructure import tables as t
from infrastructure.event_ids import packed, spelt

FORMAT: Final = 1
_LEVEL: Final = 3  # most of the size for a third of the time


class BadBackup(Exception):
    """The file is no backup, or not what was written; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDamage:
    """A session that was damaged in the database already when the backup was taken."""

    project_id: str
    session_id: str
    version: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What was backed up.

    Attributes:
        schema: The schema's revision.
        taken_at: Microseconds since 1970.
        store_id, incarnation, base: As in the table `store`.
        head_position: The highest position of the log; 0 if it is empty.
        counts: Rows of each table.
        damaged: What was not as it had been written, already then.
    """

    schema: str
    taken_at: int
    store_id: str
    incarnation: int
    base: int
    head_position: int
    counts: Mapping[str, int]
    damaged: Sequence[KnownDamage] = ()

    @property
    def rows(self) -> int:
        """Return the rows of all tables."""
        return sum(self.counts.values())


def backed_up_tables() -> Sequence[Table]:
    """Return what is not folded from the log, and what tells where each chain ends: heads, lanes.

    Whatever has generations is a follower's, and is folded again. A lease is worth nothing to a
    store that begins again: whoever holds it knows the store of before.
    """
    folded = {table.name for table in (*t.VIEWS, *t.LANE_VIEWS, t.runs)}
    folded -= {t.heads.name, t.lanes.name}
    return [
        table
        for table in t.metadata.sorted_tables
        if table.name not in folded and "generation" not in table.columns
    ]


def write_backup(
    out: BinaryIO,
    manifest: Manifest,
    rows_of: Callable[[Table], AbstractContextManager[Iterable[Sequence[Any]]]],
    progress: Callable[[int], None],
) -> None:
    """Write a whole backup; `progress` hears how many rows are written."""
    done = 0
    with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=_LEVEL, mtime=0) as file:
        lines = _Lines(file)
        lines.write({"turnlog_backup": FORMAT, **asdict(manifest)})
        for table in backed_up_tables():
            texts = _texts(table)
            lines.write({"table": table.name, "columns": [c.name for c in table.columns]})
            section, count = sha256(), 0
            with rows_of(table) as rows:
                for row in rows:
                    values = [
                        texts[place].written(value)
                        if place in texts and value is not None
                        else value
                        for place, value in enumerate(row)
                    ]
                    section.update(lines.write(values))
                    count += 1
                    done += 1
                    progress(done)
            lines.write({"rows": count, "sha256": section.hexdigest()})
        lines.write({"end": True, "sha256": lines.digest.hexdigest()})


class Row(NamedTuple):
    """One row, and about how many bytes it has."""

    table: Table
    values: Mapping[str, Any]
    size: int


class Backup:
    """A backup that is read once, from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self._file: Final = path.open("rb")
        self._lines: Final = _Read(path.name, self._file)
        try:
            self.manifest: Final = self._manifest()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def rows(self) -> Iterator[Row]:
        """Yield each row, table by table.

        Raises:
            BadBackup: it is not what was written; only at the end is it known to be.
        """
        wanted = {table.name: table for table in backed_up_tables()}
        while True:
            expected = self._lines.digest.hexdigest()
            line = self._lines.mapping()
            if "end" in line:
                break
            table = wanted.pop(str(line.get("table")), None)
            if table is None or line.get("columns") != [c.name for c in table.columns]:
                self._lines.bad("a table that this build does not know, or has otherwise")
            yield from self._section(table)
        if line.get("sha256") != expected:
            self._lines.bad("the checksum of the whole is another")
        if wanted:
            self._lines.bad(f"the table {min(wanted)} is missing")
        self._lines.end()

    def _section(self, table: Table) -> Iterator[Row]:
        lines, names = self._lines, [column.name for column in table.columns]
        texts = _texts(table)
        section, count = sha256(), 0
        while True:
            lines.where = f"table {table.name}, row {count + 1}"
            line, value = lines.next()
            if not isinstance(value, list):
                break
            found = list(cast("Sequence[Any]", value))
            if len(found) != len(names):
                lines.bad("a row has another number of values")
            section.update(line)
            count += 1
            for place, text in texts.items():
                found[place] = self._bytes(found[place], text)
            yield Row(table, dict(zip(names, found, strict=True)), len(line))
        lines.where = f"table {table.name}"
        if value != {"rows": count, "sha256": section.hexdigest()}:
            lines.bad("its checksum or its number of rows is another")
        if self.manifest.counts.get(table.name) != count:
            lines.bad("the manifest has another number of rows")

    def _bytes(self, value: object, text: "_Text") -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, str):
            self._lines.bad(f"a value is no {text.name}")
        try:
            return text.read(value)
        except ValueError:
            self._lines.bad(f"a value is no {text.name}")

    def _manifest(self) -> Manifest:
        line = self._lines.mapping()
        form = line.pop("turnlog_backup", None)
        if form != FORMAT:
            self._lines.bad(
                "no backup of turnlog" if form is None else "a backup of a later turnlog"
            )
        try:
            damaged = [KnownDamage(**each) for each in line.pop("damaged")]
            return Manifest(**line, damaged=damaged)
        except (TypeError, KeyError):
            self._lines.bad("the manifest is not one that this build knows")


class _Lines:
    """Lines that are written, and their digest so far."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file: Final = file
        self.digest: Final = sha256()

    def write(self, value: object) -> bytes:
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._file.write(line)
        self.digest.update(line)
        return line


class _Read:
    """Lines that are read, their digest so far, and where they are."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self._name: Final = name
        self._file: Final = gzip.GzipFile(fileobj=file, mode="rb")
        self.digest: Final = sha256()
        self.where = "manifest"

    def next(self) -> tuple[bytes, object]:
        line = self._line()
        if not line.endswith(b"\n"):
            self.bad("it ends too soon")
        try:
            value = json.loads(line)
        except ValueError:
            self.bad("a line is no JSON")
        self.digest.update(line)
        return line, value

    def mapping(self) -> dict[str, Any]:
        _, value = self.next()
        if not isinstance(value, dict):
            self.bad("a line is another than was expected")
        return cast("dict[str, Any]", value)

    def end(self) -> None:
        if self._line():
            self.bad("something follows its end")

    def bad(self, what: str) -> NoReturn:
        raise BadBackup(f"{self._name} cannot be restored: {self.where}: {what}")

    def _line(self) -> bytes:
        try:
            return self._file.readline()
        except EOFError:
            self.bad("it ends too soon")
        except (gzip.BadGzipFile, zlib.error):
            self.bad("it is damaged, or no backup of turnlog")


class _Text(NamedTuple):
    """How bytes are written as text."""

    name: str
    written: Callable[[bytes], str]
    read: Callable[[str], bytes]


def _encoded(value: bytes) -> str:
    return b64encode(value).decode()


_BASE64: Final = _Text("base64", _encoded, partial(b64decode, validate=True))
_ID: Final = _Text("event id", spelt, packed)


def _texts(table: Table) -> Mapping[int, _Text]:
    """Return how the bytes in each column that has some are written: event ids as everywhere."""
    return {
        place: _ID if column is t.events.c.event_id else _BASE64
        for place, column in enumerate(table.columns)
        if isinstance(column.type, LargeBinary)
    }
