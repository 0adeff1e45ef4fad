"""Which ids are one person's, without reading all of them for every message?

What was read is kept by its version, of which each look makes sure. A text that cannot be read is
no empty one: with other ids the same person would begin another conversation.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Pool

from domain.json_text import NotJson, parse
from domain.lanes.project_aliases import PLATFORM, read_project_aliases
from domain.lanes.whatsapp import NO_ALIASES, Aliases
from domain.refusals import InvalidValue, SettingsUnreadable
from infrastructure.setting_rows import Change, Name, Stored, replaced, stamp_of, stored

IDS_KEPT: Final = 400_000
"""Of all projects together; the newest one asked for is kept whatever its size."""


class _Read(NamedTuple):
    stamp: tuple[int, int]
    aliases: Aliases


class _Kept:
    """What was read from one database."""

    def __init__(self) -> None:
        self._lock: Final = Lock()
        self._read: Final[OrderedDict[str, _Read]] = OrderedDict()
        self._ids = 0

    def find(self, project_id: str, stamp: tuple[int, int]) -> Aliases | None:
        with self._lock:
            found = self._read.get(project_id)
            if found is None or found.stamp != stamp:
                return None
            self._read.move_to_end(project_id)
            return found.aliases

    def keep(self, project_id: str, found: _Read) -> None:
        with self._lock:
            before = self._read.pop(project_id, None)
            self._read[project_id] = found
            self._ids += _size(found) - (0 if before is None else _size(before))
            while self._ids > IDS_KEPT and len(self._read) > 1:
                _, oldest = self._read.popitem(last=False)
                self._ids -= _size(oldest)


_KEPT: Final[WeakKeyDictionary[Pool, _Kept]] = WeakKeyDictionary()


def aliases_of(connection: Connection, project_id: str) -> Aliases:
    """Return who is whom on the platform whose people have several ids; ask for no other.

    Raises:
        SettingsUnreadable: what is stored cannot be read.
    """
    stamp = stamp_of(connection, _of(project_id))
    if not stamp[0]:
        return NO_ALIASES
    kept = _KEPT.setdefault(connection.engine.pool, _Kept())
    known = kept.find(project_id, stamp)
    if known is not None:
        return known
    found = stored(connection, _of(project_id))
    aliases = read_stored_aliases(found)
    kept.keep(project_id, _Read((found.version, found.changed_at or 0), aliases))
    return aliases


def stored_aliases(connection: Connection, project_id: str) -> Stored:
    """Return what is stored, and who changed it when."""
    return stored(connection, _of(project_id))


def read_stored_aliases(found: Stored) -> Aliases:
    """Return who is whom by a stored text.

    Raises:
        SettingsUnreadable: it cannot be read.
    """
    try:
        return read_project_aliases(parse(found.value))
    except (NotJson, InvalidValue) as error:
        raise SettingsUnreadable("the ids of people") from error


def replace_aliases(
    connection: Connection, project_id: str, value: bytes, change: Change
) -> Stored:
    """Have these aliases, which were read before, stand in place of all others.

    Raises:
        VersionMoved: they are not at the version that the caller saw.
        Contended: another writer came first.
    """
    name = _of(project_id)
    return replaced(connection, name, stored(connection, name), value, change)


def _of(project_id: str) -> Name:
    return Name(project_id, "lane-aliases")


def _size(found: _Read) -> int:
    return len(found.aliases.people)


__all__ = [
    "PLATFORM",
    "aliases_of",
    "read_stored_aliases",
    "replace_aliases",
    "stored_aliases",
]
