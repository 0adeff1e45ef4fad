"""Which ids are one person's, without reading all of them for every message?

What was read is kept by its version, of which each look makes sure. A text that cannot be read is
no empty one: with other ids the same person would begin another conversation.
"""

from collections import OrderedDict
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import URL, Connection

from domain.json_text import NotJson, parse
from domain.lanes.project_aliases import PLATFORM, read_project_aliases
from domain.lanes.whatsapp import NO_ALIASES, Aliases
from domain.refusals import InvalidValue, SettingsUnreadable
from infrastructure.setting_rows import Change, Name, Stored, replaced, stamp_of, stored

IDS_KEPT: Final = 200_000
"""Of all projects together; the newest one asked for is kept whatever its size."""

Stamp: TypeAlias = tuple[int, int]


class _Read(NamedTuple):
    stamp: Stamp
    aliases: Aliases


class _Kept:
    """What was read, by database and project."""

    def __init__(self) -> None:
        self._lock: Final = Lock()
        self._read: Final[OrderedDict[tuple[URL, str], _Read]] = OrderedDict()
        self._ids = 0

    def find(self, whose: tuple[URL, str], stamp: Stamp) -> Aliases | None:
        with self._lock:
            found = self._read.get(whose)
            if found is None or found.stamp != stamp:
                return None
            self._read.move_to_end(whose)
            return found.aliases

    def keep(self, whose: tuple[URL, str], found: _Read) -> None:
        with self._lock:
            before = self._read.pop(whose, None)
            self._read[whose] = found
            self._ids += _size(found) - (0 if before is None else _size(before))
            while self._ids > IDS_KEPT and len(self._read) > 1:
                _, oldest = self._read.popitem(last=False)
                self._ids -= _size(oldest)


_KEPT: Final = _Kept()
_READING: Final = Lock()
"""A long text takes a second, and whoever waits for it has it then."""


def aliases_of(connection: Connection, project_id: str) -> Aliases:
    """Return who is whom on the platform whose people have several ids; ask for no other.

    Raises:
        SettingsUnreadable: what is stored cannot be read.
    """
    stamp = stamp_of(connection, _of(project_id))
    if not stamp[0]:
        return NO_ALIASES
    whose = (connection.engine.url, project_id)
    known = _KEPT.find(whose, stamp)
    if known is not None:
        return known
    with _READING:
        known = _KEPT.find(whose, stamp)
        if known is not None:
            return known
        found = stored(connection, _of(project_id))
        aliases = read_stored_aliases(found)
        _KEPT.keep(whose, _Read(_stamp(found), aliases))
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
        raise SettingsUnreadable("who is whom") from error


def replace_aliases(
    connection: Connection, project_id: str, new: tuple[Aliases, bytes], change: Change
) -> Stored:
    """Have these aliases, and the text that they were read from, stand in place of all others.

    Raises:
        VersionMoved: they are not at the version that the caller saw.
        Contended: another writer came first.
    """
    aliases, value = new
    name = _of(project_id)
    found = replaced(connection, name, stored(connection, name), value, change)
    # Should it not be committed, nothing else will ever have this time and this version.
    _KEPT.keep((connection.engine.url, project_id), _Read(_stamp(found), aliases))
    return found


def _of(project_id: str) -> Name:
    return Name(project_id, "lane-aliases")


def _stamp(found: Stored) -> Stamp:
    return found.version, found.changed_at or 0


def _size(found: _Read) -> int:
    return len(found.aliases.people)


__all__ = [
    "PLATFORM",
    "aliases_of",
    "read_stored_aliases",
    "replace_aliases",
    "stored_aliases",
]
