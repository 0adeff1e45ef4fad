"""How often does SQLite ask the system to flush a file, and what if that fails?

Seen in the library itself: the function that opens files is wrapped, and gives what it opened a
flush of ours, which counts and passes on. What is counted is thus what SQLite did, not what it was
set to do.
"""

import _sqlite3
import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

WAL: Final = 0x80000  # SQLITE_OPEN_WAL
FAILED: Final = 1034  # SQLITE_IOERR_FSYNC
_Sync: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_Open: Final = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_void_p,
)


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods`, of any version up to 3."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("before", ctypes.c_void_p * 4),  # xClose, xRead, xWrite, xTruncate
        ("sync", ctypes.c_void_p),
        ("after", ctypes.c_void_p * 13),
    )


class _System(ctypes.Structure):
    """The beginning of `sqlite3_vfs`."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("open", ctypes.c_void_p),
    )


_KEPT: Final[list[Any]] = []  # a file that is open calls these as long as it is open


@dataclass(slots=True)
class Flushes:
    """What was flushed of write-ahead logs; `failing` has flushes fail."""

    count: int = 0
    failing: bool = False
    opened: int = field(default=0)


@contextmanager
def counted_flushes() -> Generator[Flushes]:
    """Count the flushes of every write-ahead log that is opened in the block."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_System)
    system = library.sqlite3_vfs_find(None).contents
    real = system.open
    assert real is not None
    flushes = Flushes()

    def open_(vfs: int, name: int, file: int, flags: int, out: int) -> int:
        code = int(_Open(real)(vfs, name, file, flags, out))
        if code == 0 and flags & WAL:
            flushes.opened += 1
            _watch(file, flushes)
        return code

    watching = _Open(open_)
    _KEPT.append(watching)
    system.open = ctypes.cast(watching, ctypes.c_void_p).value
    try:
        yield flushes
    finally:
        system.open = real


def _watch(file: int, flushes: Flushes) -> None:
    """Give an open file a flush of ours."""
    methods = ctypes.cast(file, ctypes.POINTER(ctypes.POINTER(_Methods)))
    mine = _Methods.from_buffer_copy(methods.contents.contents)
    real = _Sync(mine.sync)

    def sync(file: int, flags: int) -> int:
        if flushes.failing:
            return FAILED
        flushes.count += 1
        return int(real(file, flags))

    watching = _Sync(sync)
    mine.sync = ctypes.cast(watching, ctypes.c_void_p).value
    _KEPT.extend((mine, watching, real))
    methods[0] = ctypes.pointer(mine)
