"""How are the rows of many sessions, in whatever order, told session by session in bounded memory?

They are read once, line by line, into a file that SQLite keeps sorted by session; what is no row is
named with its line on the way.
"""

import csv
import io
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import BinaryIO, Final, Self

from domain.json_text import NotJson, dump, parse
from infrastructure.imports.claude_lines import DEEPEST_LINE, JsonObject, without_lone_surrogates
from infrastructure.imports.formats import ROW_COLUMNS
from infrastructure.imports.rows import COLUMNS, EXTRA, BadRow, Row, row_of, row_of_cells
from infrastructure.imports.translation import Loss

LONGEST_LINE: Final = 16 * 2**20
BATCH: Final = 500
HEARD_EVERY: Final = 5_000
_BOM: Final = b"\xef\xbb\xbf"
_HEADER: Final = {name.encode() for name in ROW_COLUMNS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spooled:
    """One session's rows: how many there are, and the digest of each beginning of them."""

    session_id: str
    rows: int


class RowSpool:
    """The rows of one file, by session. Close it when done.

    Attributes:
        lines: How many lines were read.
        unused: Columns that no event carries.
    """

    def __init__(self, lose: Callable[[Loss], None]) -> None:
        self._lose: Final = lose
        self._folder: Final = TemporaryDirectory(prefix="turnlog-import-")
        self._rows: Final = sqlite3.connect(
            Path(self._folder.name) / "rows.db", isolation_level=None, check_same_thread=False
        )
        self._rows.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-8192;"
            "CREATE TABLE rows (session TEXT, line INTEGER, digest BLOB, body BLOB,"
            " PRIMARY KEY (session, line)) WITHOUT ROWID; BEGIN"
        )
        self._waiting: list[tuple[str, int, bytes, bytes]] = []
        self.lines = 0
        self.unused: Final[set[str]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._rows.close()
        self._folder.cleanup()

    def read(self, file: BinaryIO, heard: Callable[[int], None] = lambda _: None) -> None:
        """Read a whole file, JSON Lines or CSV; `heard` is told of lines now and then."""
        first = file.readline(LONGEST_LINE)
        file.seek(0)
        cells = first.removeprefix(_BOM).split(b",")
        is_csv = {name.strip(b' "\r\n') for name in cells} >= _HEADER
        for number, value in _cells(file, self._lose) if is_csv else self._objects(file):
            self._add(number, value)
            if number // HEARD_EVERY != self.lines // HEARD_EVERY:
                heard(number)
            self.lines = max(self.lines, number)
        self._flush()
        heard(self.lines)

    def sessions(self) -> Iterator[Spooled]:
        """Yield the sessions that there are rows of."""
        for session, rows in self._rows.execute(
            "SELECT session, count(*) FROM rows GROUP BY session ORDER BY session"
        ):
            yield Spooled(session_id=session, rows=rows)

    def digests(self, session_id: str, counts: set[int]) -> dict[int, str]:
        """Return the SHA-256 of so many rows of a session, in their order."""
        digest = sha256()
        found: dict[int, str] = {}
        rows = self._rows.execute(
            "SELECT digest FROM rows WHERE session = ? ORDER BY line", (session_id,)
        )
        for count, (each,) in enumerate(rows, 1):
            digest.update(each)
            if count in counts:
                found[count] = digest.hexdigest()
        return found

    def rows(self, session_id: str) -> Iterator[tuple[Row, bytes]]:
        """Yield a session's rows in the file's order, each with its digest."""
        for line, digest, body in self._rows.execute(
            "SELECT line, digest, body FROM rows WHERE session = ? ORDER BY line", (session_id,)
        ):
            value = parse(body, max_depth=DEEPEST_LINE)
            if isinstance(value, dict):
                yield row_of(value, line), digest

    def _add(self, number: int, value: JsonObject) -> None:
        try:
            row = row_of(value, number)
        except BadRow as error:
            self._lose(Loss(line=number, code=str(error), detail=""))
            return
        self.unused.update(key for key in value if key not in COLUMNS | EXTRA)
        body = dump(value)
        self._waiting.append((row.session_id, number, sha256(body).digest()[:16], body))
        if len(self._waiting) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        self._rows.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", self._waiting)
        self._waiting.clear()

    def _objects(self, file: BinaryIO) -> Iterator[tuple[int, JsonObject]]:
        for number, line, is_whole in _lines(file, self._lose):
            mended, replaced = without_lone_surrogates(line)
            if replaced:
                self._lose(Loss(line=number, code="lone-surrogate", detail=str(replaced)))
            try:
                value = parse(mended, max_depth=DEEPEST_LINE)
            except NotJson as error:
                code = "unreadable-line" if is_whole else "incomplete-last-line"
                self._lose(Loss(line=number, code=code, detail=error.code))
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                self._lose(Loss(line=number, code="unreadable-line", detail="not-an-object"))


def _lines(file: BinaryIO, lose: Callable[[Loss], None]) -> Iterator[tuple[int, bytes, bool]]:
    """Yield each line that is not blank, with its number and whether it has an end."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        is_whole = line.endswith(b"\n")
        if not is_whole and len(line) == LONGEST_LINE:
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
            lose(Loss(line=number, code="line-too-long", detail=""))
            continue
        text = line.strip(b" \t\r\n")
        if number == 1:
            text = text.removeprefix(_BOM)
        if text:
            yield number, text, is_whole


def _cells(file: BinaryIO, lose: Callable[[Loss], None]) -> Iterator[tuple[int, JsonObject]]:
    csv.field_size_limit(LONGEST_LINE)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    try:
        reader = csv.reader(text)
        header = [name.strip() for name in next(reader)]
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error:
                lose(Loss(line=reader.line_num, code="unreadable-line", detail="csv"))
                continue
            if not any(cells):
                continue
            if len(cells) != len(header):
                lose(Loss(line=reader.line_num, code="unreadable-line", detail="columns"))
                continue
            yield reader.line_num, row_of_cells(dict(zip(header, cells, strict=True)))
    finally:
        text.detach()
